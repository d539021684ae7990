//! A volume as a stack of the lab: its mapping, on disks that were named or assumed.

use std::path::Path;

use ashlar::activate::decide;
use ashlar::scan::{FoundVg, Scan};
use dm::volume::Access;
use lab::layout::{Buses, Disk, Layout};
use lab::workload::short;
use lvm2::model::PvId;

use super::mapping::Mapping;
use super::stores::{Store, stores};
use crate::args::Error;

/// What a disk is taken for that nobody named.
pub(super) const ASSUMED: &str = "wd800bd-like";
/// What one lookup costs, as it was measured.
const MAPPING_NS: u64 = 20;

/// A volume and what it lies on.
pub(super) struct Stack {
    pub(super) layout: Layout,
    /// The names of the disks, in the order of the layout.
    pub(super) disks: Vec<String>,
    /// Those that nobody named.
    pub(super) assumed: Vec<String>,
    /// Its snapshots that are at work.
    pub(super) stores: Vec<Store>,
}

impl Stack {
    /// Of the volume called `name`; `words` say what its disks are.
    pub(super) fn of(scan: &Scan, name: &str, words: &[&str]) -> Result<Self, Error> {
        let (group, lv) = scan
            .find_volume(name)
            .map_err(|error| Error::failed(error.to_string()))?;
        let mapping = Mapping::of(&group.model, &group.name, lv)?;
        decide(&group.model, &group.name, lv, Access::ReadOnly)
            .map_err(|error| Error::failed(error.to_string()))?;
        let choices = Choices::of(words);
        let (mut disks, mut names, mut assumed) = (Vec::new(), Vec::new(), Vec::new());
        for pv in &mapping.disks {
            let known = Known::of(scan, group, *pv);
            let word = choices.of_pv(&known);
            if word.is_none() {
                assumed.push(known.name.clone());
            }
            let word = word.unwrap_or(ASSUMED);
            let disk = Disk::from_word(word, Some(known.bytes)).map_err(failed)?;
            let size = disk.size().map_err(failed)?;
            if size < known.bytes {
                return Err(Error::failed(format!(
                    "{} has {} bytes, and {word} only {size}: name a larger disk with --disk \
                     {}=PROFILE",
                    known.name, known.bytes, known.name
                )));
            }
            disks.push(disk);
            names.push(known.name);
        }
        choices.all_used(group, scan)?;
        let layout = Layout {
            name: format!("{}/{}", group.name, group.model.lv(lv).name()),
            disks,
            buses: Buses::Own,
            volume: mapping.segments,
            mapping_ns: MAPPING_NS,
            loops: Vec::new(),
            link: None,
        };
        layout.validate().map_err(failed)?;
        Ok(Self {
            layout,
            disks: names,
            assumed,
            stores: stores(group, lv),
        })
    }
}

/// What is known of a physical volume.
struct Known {
    name: String,
    uuid: String,
    /// Bytes that its disk has at least.
    bytes: u64,
}

impl Known {
    fn of(scan: &Scan, group: &FoundVg, id: PvId) -> Self {
        let model = group.model.pv(id);
        let member = group.member(id).and_then(|member| member.presence.found());
        let device = member.map(|index| scan.device(scan.pv(index).device));
        let extents = model
            .extent_start(model.pe_count, group.model.extent_size)
            .and_then(lvm2::Sectors::to_bytes)
            .map_or(0, |bytes| bytes.0);
        let (name, bytes) = if let Some(device) = device {
            (device.name.clone(), device.size.0)
        } else {
            // It is missing: what the metadata says of it has to do.
            let size = model.dev_size.and_then(lvm2::Sectors::to_bytes);
            let name = model.device.clone();
            (
                name.unwrap_or_else(|| model.uuid.to_string()),
                size.map_or(0, |size| size.0),
            )
        };
        Self {
            name,
            uuid: model.uuid.to_string(),
            bytes: bytes.max(extents),
        }
    }

    /// Whether a person who writes `word` means it: its device, the last part of that, its UUID.
    fn is(&self, word: &str) -> bool {
        let last = self.name.rsplit('/').next().unwrap_or(&self.name);
        word == self.name || word == last || word == self.uuid
    }
}

/// What a physical volume's disk is called.
pub(super) fn disk_name(scan: &Scan, group: &FoundVg, pv: PvId) -> String {
    Known::of(scan, group, pv).name
}

/// What was said about disks.
struct Choices<'a> {
    /// Physical volume and word.
    named: Vec<(&'a str, &'a str)>,
    others: Option<&'a str>,
}

impl<'a> Choices<'a> {
    /// `PV=WORD`, or a word for all others. A word may have an equals sign behind a colon.
    fn of(words: &[&'a str]) -> Self {
        let mut choices = Self {
            named: Vec::new(),
            others: None,
        };
        for word in words {
            let colon = word.find(':').unwrap_or(word.len());
            match word.find('=').filter(|at| *at < colon) {
                Some(at) => choices.named.push((&word[..at], &word[at + 1..])),
                None => choices.others = Some(word),
            }
        }
        choices
    }

    fn of_pv(&self, known: &Known) -> Option<&'a str> {
        let named = self.named.iter().find(|(pv, _)| known.is(pv));
        named.map(|(_, word)| *word).or(self.others)
    }

    /// Fails where a name is that of no physical volume of the group.
    fn all_used(&self, group: &FoundVg, scan: &Scan) -> Result<(), Error> {
        let all: Vec<Known> = group
            .members
            .iter()
            .map(|member| Known::of(scan, group, member.id))
            .collect();
        for (pv, _) in &self.named {
            if !all.iter().any(|known| known.is(pv)) {
                let names: Vec<&str> = all.iter().map(|known| known.name.as_str()).collect();
                return Err(Error::failed(format!(
                    "--disk {pv}=…: {} has no such physical volume; it has {}",
                    group.name,
                    names.join(", ")
                )));
            }
        }
        Ok(())
    }
}

/// The text of a job file, or what a name or a short form stands for.
pub(in crate::commands) fn workload(word: &str) -> Result<String, Error> {
    if Path::new(word).is_file() {
        let bytes = std::fs::read(word)
            .map_err(|error| Error::failed(format!("{word} cannot be read: {error}")))?;
        return String::from_utf8(bytes)
            .map_err(|_| Error::failed(format!("{word} is not text: a job file of fio is")));
    }
    short::job_file(word).map_err(|error| Error::failed(format!("workload: {error}")))
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::failed(error.to_string())
}
