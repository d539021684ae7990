//! `lvconvert` of arrays: copies, images that are replaced, types that become each other.

use std::collections::BTreeSet;

use lvm2::model::{LvId, PvId, RaidFamily, RaidLevel};
use lvm2::plan::logical::{
    ArraySplit, CopiesChange, MirrorLog, Replacement, Takeover, change_copies, repair_array,
    replace_images, split_copies, take_over,
};

use super::arguments::invalid;
use super::arrays::{level, level_of, state};
use super::limits::region_size;
use super::lvconvert::{Count, asked_copies, state as mirror_state};
use super::lvcreate::mirror_log;
use super::volumes::{TYPE, missing, places, policy};
use super::work::{Finder, Work, failed, planned};
use crate::args::{Arguments, Error, Flag, LvName};
use ashlar::apply::Tolerated;
use ashlar::scan::{FoundVg, Scan};

/// `--replace`
pub(super) const REPLACE: Flag = Flag::value(
    "replace",
    "PV",
    "RAID: put other images, on the devices that are named behind the volume or on any, in the \
     place of those on this device. May be given several times.",
);

/// What becomes of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// Another type over the same extents.
    Type(Takeover),
    /// Copies in an array.
    Copies(Count),
}

/// The volume that is meant, in what is found under the locks.
fn find<'s>(scan: &'s Scan, volume: &LvName) -> ashlar::Result<(&'s FoundVg, LvId)> {
    let found = scan.find_group(&volume.vg)?;
    let id = found.model.lv_by_name(&volume.lv);
    let id = id.ok_or_else(|| missing(&volume.vg, &volume.lv))?;
    Ok((found, id))
}

/// Whether a volume is an array now.
pub(super) fn is_array(work: &Work<'_>, volume: &LvName) -> Result<bool, Error> {
    let scan = work.scan()?;
    let (found, id) = find(&scan, volume).map_err(|error| failed(&error))?;
    Ok(level_of(found, id).is_some())
}

/// Converts a volume that is an array, or becomes one; `false`: it is neither.
pub(super) fn convert(
    arguments: &Arguments,
    work: &mut Work<'_>,
    volume: &LvName,
    words: &[String],
) -> Result<bool, Error> {
    let scan = work.scan()?;
    let (found, id) = find(&scan, volume).map_err(|error| failed(&error))?;
    let now = level_of(found, id);
    let is_mirror = super::volumes::copies(&found.model, id) > 1 && now.is_none();
    let copies = match now {
        Some(RaidLevel::Raid1) => super::volumes::copies(&found.model, id),
        _ => 1,
    };
    let Some(aim) = aim(arguments, work, (now, is_mirror, copies))? else {
        return Ok(false);
    };
    match aim {
        Aim::Type(to) => become_type(work, volume, to)?,
        Aim::Copies(count) => {
            let wanted = count.of(copies, &volume.lv)?;
            let name = format!("{}/{}", volume.vg, volume.lv);
            if wanted == copies && copies > 1 {
                work.warn(&format!("{name} already has image count of {wanted}."));
                work.note(&format!("Logical volume {name} successfully converted."));
                return Ok(true);
            }
            set_copies(arguments, work, (volume, wanted), words)?;
            if wanted > copies {
                work.note("Conversion starts after activation.");
            }
        }
    }
    Ok(true)
}

/// What the arguments ask of a volume: its level, whether it is a mirror, and its copies.
fn aim(
    arguments: &Arguments,
    work: &Work<'_>,
    (now, is_mirror, copies): (Option<RaidLevel>, bool, usize),
) -> Result<Option<Aim>, Error> {
    let count = asked_copies(arguments)?;
    let log = mirror_log(arguments)?;
    let is_raid1 = now == Some(RaidLevel::Raid1);
    let name = arguments.value(&TYPE);
    let to = name.and_then(level);
    Ok(match (name, to) {
        (Some(_), Some(RaidLevel::Raid1)) if is_mirror => {
            Some(Aim::Type(Takeover::Raid1(region_size(arguments)?)))
        }
        (Some(_), Some(RaidLevel::Raid1)) => {
            Some(Aim::Copies(count.unwrap_or(Count::Exactly(copies.max(2)))))
        }
        (Some(_), Some(to)) if to.family() == RaidFamily::Raid0 => {
            Some(Aim::Type(Takeover::Raid0(to)))
        }
        (Some(name), Some(_)) => {
            return Err(Error::failed(format!(
                "Conversion to {name} is not done here, since most need a reshape: use LVM2 for \
                 this."
            )));
        }
        (Some("striped"), _) if now.is_some() && !is_raid1 => Some(Aim::Type(Takeover::Striped)),
        (Some("linear" | "striped"), _) if is_raid1 => Some(Aim::Copies(Count::Exactly(1))),
        (Some("mirror"), _) if now.is_some() => {
            let log = log.unwrap_or(MirrorLog::Disk);
            // What is known of the array is asked for under the locks.
            let unknown = lvm2::plan::logical::ArrayState::OutOfSync;
            Some(Aim::Type(Takeover::Mirror(log, unknown)))
        }
        (None, _) if now.is_some() => count.map(Aim::Copies),
        (None, _) if !is_mirror && log.is_none() && makes_arrays(work) => count.map(Aim::Copies),
        _ => None,
    })
}

/// Whether copies are kept by arrays where nothing is said.
pub(super) fn makes_arrays(work: &Work<'_>) -> bool {
    work.host().config.string("global/mirror_segtype_default") != Some("mirror")
}

fn become_type(work: &mut Work<'_>, volume: &LvName, to: Takeover) -> Result<(), Error> {
    let host = work.host().clone();
    let request = work.request_of(&[&volume.vg]);
    work.change(&request, |scan, author| {
        let (found, id) = find(scan, volume)?;
        let to = match to {
            Takeover::Mirror(log, _) => Takeover::Mirror(log, state(scan, &host, found, id)?),
            // The others are made from the first one.
            Takeover::Raid1(_) => {
                mirror_state(scan, &host, found, id)?;
                to
            }
            to => to,
        };
        planned(take_over(&found.model, &volume.lv, to, author))
    })
    .map(drop)
}

fn set_copies(
    arguments: &Arguments,
    work: &mut Work<'_>,
    (volume, copies): (&LvName, usize),
    words: &[String],
) -> Result<(), Error> {
    let (region_size, policy) = (region_size(arguments)?, policy(arguments)?);
    let (finder, host) = (work.finder(), work.host().clone());
    let request = work.request_of(&[&volume.vg]);
    work.change(&request, |scan, author| {
        let (found, id) = find(scan, volume)?;
        let places = places(scan, found, &finder, words)?;
        let change = CopiesChange {
            volume: &volume.lv,
            copies,
            region_size,
            places: places.as_ref(),
            policy,
            state: state(scan, &host, found, id)?,
        };
        planned(change_copies(&found.model, &change, author))
    })
    .map(drop)
}

/// `--splitmirrors` of an array.
pub(super) fn split(
    work: &mut Work<'_>,
    volume: &LvName,
    (count, name): (usize, &str),
    words: &[String],
) -> Result<(), Error> {
    let (finder, host) = (work.finder(), work.host().clone());
    let request = work.request_of(&[&volume.vg]);
    work.change(&request, |scan, author| {
        let (found, id) = find(scan, volume)?;
        let places = places(scan, found, &finder, words)?;
        let split = ArraySplit {
            volume: &volume.lv,
            count,
            name,
            places: places.as_ref(),
            state: state(scan, &host, found, id)?,
        };
        planned(split_copies(&found.model, &split, author))
    })
    .map(drop)
}

/// The physical volumes that values name.
pub(super) fn named(
    scan: &Scan,
    group: &FoundVg,
    finder: &Finder,
    names: &[String],
) -> ashlar::Result<BTreeSet<PvId>> {
    let find = |name: &String| {
        let pv = finder.member(scan, group, name);
        pv.ok_or_else(|| {
            let what = format!(
                "Physical Volume \"{name}\" not found in Volume Group \"{}\".",
                group.name
            );
            ashlar::Error::new(ashlar::Kind::NotFound, what)
        })
    };
    names.iter().map(find).collect()
}

/// `--replace`
pub(super) fn replace(
    arguments: &Arguments,
    work: &mut Work<'_>,
    volume: &LvName,
    words: &[String],
) -> Result<(), Error> {
    if asked_copies(arguments)?.is_some() || arguments.has(&TYPE) {
        return Err(Error::usage(
            "--replace takes devices, and neither --mirrors nor --type.",
        ));
    }
    let policy = policy(arguments)?;
    let names: Vec<String> = arguments.values(&REPLACE).map(str::to_owned).collect();
    let (finder, host) = (work.finder(), work.host().clone());
    let request = work.request_of(&[&volume.vg]);
    work.change(&request, |scan, author| {
        let (found, id) = find(scan, volume)?;
        let (pvs, places) = (
            named(scan, found, &finder, &names)?,
            places(scan, found, &finder, words)?,
        );
        let replacement = Replacement {
            volume: &volume.lv,
            pvs: &pvs,
            places: places.as_ref(),
            policy,
            state: state(scan, &host, found, id)?,
        };
        planned(replace_images(&found.model, &replacement, author))
    })
    .map(drop)
}

/// `--repair` of an array: other images in the place of those that are lost.
pub(super) fn repair(
    arguments: &Arguments,
    work: &mut Work<'_>,
    volume: &LvName,
    words: &[String],
) -> Result<(), Error> {
    let policy = policy(arguments)?;
    let (finder, host) = (work.finder(), work.host().clone());
    let mut request = work.request_of(&[&volume.vg]);
    request.tolerated.push(Tolerated::Missing);
    let changed = work.change(&request, |scan, author| {
        let (found, id) = find(scan, volume)?;
        let lost = found
            .members
            .iter()
            .filter(|member| member.presence.usable().is_none());
        let lost: BTreeSet<PvId> = lost.map(|member| member.id).collect();
        let places = places(scan, found, &finder, words)?;
        let replacement = Replacement {
            volume: &volume.lv,
            pvs: &BTreeSet::new(),
            places: places.as_ref(),
            policy,
            state: state(scan, &host, found, id)?,
        };
        planned(repair_array(&found.model, &replacement, &lost, author))
    });
    match changed {
        Err(error) if error.to_string().ends_with("Nothing to repair.") => {
            // As in stock: that is no failure.
            work.note(&error.to_string());
            Ok(())
        }
        changed => changed.map(drop),
    }
}

/// How many copies `--splitmirrors` names.
pub(super) fn split_count(flag: &Flag, text: Option<&str>) -> Result<usize, Error> {
    let text = text.unwrap_or_default();
    text.parse().map_err(|_| invalid(flag, text))
}
