//! What people may lose: volumes that a change makes smaller or takes away, whatever the command
//! is called.
//!
//! ```text
//!   groups as they are ─┐                ┌─▶ in use and gone       refused
//!                       ├─▶ smaller, gone ┼─▶ in use and smaller    a question, in stock's words
//!   the plan's groups  ─┘                └─▶ a file system is cut  refused, with both sizes
//! ```
//!
//! Every change comes through here, so that no command can forget it: `lvreduce`, `lvresize`,
//! `undo`, `vgcfgrestore` and those to come. That a volume which nobody uses is taken away is
//! agreed to by the command's own name and questions.
//!
//! A file system that cannot be looked at, because its volume cannot be read here, is not cut
//! either, unless people insist ([`FileSystems::Ignored`]).

use lvm2::model::{LvId, Relations, Role, SegmentType, VolumeGroup};
use lvm2::plan::{Change, GroupChange, Message, display_size};
use lvm2::{Bytes, Sectors, Uuid};

use super::request::{Agreement, FileSystems, Ownership, Question, Request};
use crate::activate::{Activator, Options};
use crate::filesystem::{Content, End, FileSystem};
use crate::host::Host;
use crate::scan::{FoundVg, Scan};
use crate::{Error, Kind, Result};

/// A volume that has less than before.
#[derive(Debug, Clone)]
pub(super) struct Loss<'s> {
    group: &'s FoundVg,
    lv: LvId,
    /// What is left of it; `None`: nothing.
    left: Option<Sectors>,
    /// Whether a reshape takes it.
    is_reshaped: bool,
}

/// Volumes that somebody serves.
#[derive(Debug, Clone, Default)]
pub(super) struct InUse {
    /// The process.
    pub(super) pid: u32,
    pub(super) volumes: Vec<Uuid>,
}

impl Loss<'_> {
    fn name(&self) -> String {
        let volume = self.group.model.lv(self.lv);
        format!("{}/{}", self.group.name, volume.name())
    }

    fn uuid(&self) -> Uuid {
        self.group.model.lv(self.lv).uuid
    }
}

/// What the change takes from volumes that are no parts of others.
pub(super) fn losses<'s>(groups: &[&'s FoundVg], change: &Change) -> Vec<Loss<'s>> {
    let mut found = Vec::new();
    if change.groups.is_empty() {
        return found;
    }
    let after = after(change);
    for group in groups {
        let vg = &group.model;
        let is_written = change.groups.iter().any(|written| match written {
            GroupChange::Commit(written) | GroupChange::Erase(written) => written.uuid == vg.uuid,
        });
        if !is_written {
            continue;
        }
        let relations = Relations::of(vg);
        for (lv, volume) in vg.lvs() {
            if relations.role(vg, lv) != Role::Whole {
                continue;
            }
            let size = lasting(vg, lv).unwrap_or_default();
            let then = after.iter().find_map(|vg| {
                let id = vg.lv_by_uuid(&volume.uuid)?;
                Some((lasting(vg, id)?, vg.lv(id).size(vg.extent_size)?))
            });
            let left = then.map(|(left, _)| left);
            let is_reshaped = then.is_some_and(|(left, whole)| left < whole);
            if left.is_none_or(|left| left < size) {
                found.push(Loss {
                    group,
                    lv,
                    left,
                    is_reshaped,
                });
            }
        }
    }
    found
}

/// How much of a volume is left when what has begun is over: less than there is, where a reshape
/// takes images away.
fn lasting(vg: &VolumeGroup, lv: LvId) -> Option<Sectors> {
    let size = vg.lv(lv).size(vg.extent_size)?;
    let Some(SegmentType::Raid(raid)) = vg.lv(lv).first() else {
        return Some(size);
    };
    let data = |images| raid.level.data_images(images, raid.copies()) as u64;
    let images = raid.images.len();
    let (all, left) = (data(images), data(images - raid.leaving(vg)));
    Some(Sectors(size.0 / all.max(1) * left.min(all)))
}

/// The groups as the change leaves them; a volume may have gone to another one.
fn after(change: &Change) -> Vec<&VolumeGroup> {
    let mut last: Vec<&GroupChange> = Vec::new();
    for group in &change.groups {
        let (GroupChange::Commit(vg) | GroupChange::Erase(vg)) = group;
        last.retain(|other| {
            let (GroupChange::Commit(other) | GroupChange::Erase(other)) = other;
            other.uuid != vg.uuid
        });
        last.push(group);
    }
    let left = last.into_iter().filter_map(|group| match group {
        GroupChange::Commit(vg) => Some(vg),
        GroupChange::Erase(_) => None,
    });
    let left: Vec<&VolumeGroup> = left.collect();
    for (place, vg) in left.iter().enumerate() {
        let before = &left[..place];
        assert!(
            before.iter().all(|other| other.uuid != vg.uuid),
            "a group ends once"
        );
    }
    left
}

/// Fails where a volume in use is taken away.
pub(super) fn require_unused(losses: &[Loss<'_>], in_use: &InUse) -> Result<()> {
    let gone = |loss: &&Loss<'_>| loss.left.is_none() && in_use.volumes.contains(&loss.uuid());
    let Some(loss) = losses.iter().find(gone) else {
        return Ok(());
    };
    let what = format!(
        "Logical volume {} in use: process {} serves it; stop that first",
        loss.name(),
        in_use.pid
    );
    Err(Error::new(Kind::Refused, what))
}

/// What is asked of volumes in use that become smaller, or told where that was agreed to; nothing
/// where their file systems were made smaller first.
pub(super) fn confirm(
    losses: &[Loss<'_>],
    in_use: &InUse,
    request: &Request,
) -> (Vec<Question>, Vec<Message>) {
    let (mut questions, mut messages) = (Vec::new(), Vec::new());
    if matches!(
        request.file_systems,
        FileSystems::Resized | FileSystems::Foreseen
    ) {
        return (questions, messages);
    }
    for loss in losses {
        let Some(left) = loss.left.filter(|_| in_use.volumes.contains(&loss.uuid())) else {
            continue;
        };
        let warning = format!(
            "Reducing active and open logical volume to {}.\n\
             THIS MAY DESTROY YOUR DATA (filesystem etc.)",
            display_size(left)
        );
        if request.agreement == Agreement::Given {
            messages.push(Message::warning(warning));
            continue;
        }
        let name = loss.name();
        let warning = warning.replace('\n', "\n  ");
        questions.push(Question {
            text: format!("  WARNING: {warning}\nDo you really want to reduce {name}? [y/n]: "),
            refusal: format!("Logical volume {name} NOT reduced."),
        });
    }
    (questions, messages)
}

/// Fails where a volume becomes smaller than a file system in it.
pub(super) fn require_whole_file_systems(
    losses: &[Loss<'_>],
    request: &Request,
    scan: &Scan,
    host: &Host,
) -> Result<()> {
    if matches!(
        request.file_systems,
        FileSystems::Ignored | FileSystems::Foreseen
    ) {
        return Ok(());
    }
    for loss in losses {
        let Some(left) = loss.left else { continue };
        let size = left.to_bytes().unwrap_or(Bytes(u64::MAX));
        let found = content(loss, request, scan, host).map_err(|error| {
            let what = format!(
                "{} is not reduced: whether a file system in it would be cut cannot be read; \
                 --fs ignore reduces it all the same",
                loss.name()
            );
            Error::new(Kind::Refused, what).because(error)
        })?;
        if let Some(cut) = found.iter().find(|found| found.is_cut_at(size)) {
            return Err(Error::new(Kind::Refused, refusal(loss, cut, left)));
        }
    }
    Ok(())
}

/// The file systems in a volume, as it is now.
fn content(
    loss: &Loss<'_>,
    request: &Request,
    scan: &Scan,
    host: &Host,
) -> Result<Vec<FileSystem>> {
    let found = read_volume(scan, host, &request.ownership, (loss.group, loss.lv))?;
    Ok(found.found)
}

/// What is in a volume, as it is now. Whoever owns the group may look at one that is being moved,
/// too: nobody else changes where it is.
pub fn read_volume(
    scan: &Scan,
    host: &Host,
    ownership: &Ownership,
    (group, lv): (&FoundVg, LvId),
) -> Result<Content> {
    let is_ours = ownership.is_of(group.uuid);
    let mut activator = Activator::new(scan, host).among_ours(is_ours);
    let active = activator.activate(group, lv, Options::default())?;
    read_content(&active.volume).map_err(|error| {
        let what = format!("cannot read {}/{}", group.name, group.model.lv(lv).name());
        Error::new(Kind::Device, what).because(error)
    })
}

/// What is on a device. A place that cannot be read is an error: something may be there.
pub fn read_content(device: &dyn block::Device) -> block::Result<Content> {
    let mut io = block::BlockingDevice::open(device)?;
    let size = Bytes(io.info().size);
    let mut failure = None;
    let found = crate::filesystem::content(size, |at, length| {
        let read = io.read(block::Range::new(at.0, length as u64));
        read.map_err(|error| failure = Some(error)).ok()
    });
    failure.map_or(Ok(found), Err)
}

/// Stock's sentences (2.03.17 and later), and the way around.
fn refusal(loss: &Loss<'_>, cut: &FileSystem, left: Sectors) -> String {
    let (name, kind) = (loss.name(), cut.name);
    let volume = loss.group.model.lv(loss.lv);
    let whole = volume.size(loss.group.model.extent_size);
    let size = match cut.end {
        End::At(end) => end.whole_sectors(),
        End::Open => whole.unwrap_or_default(),
    };
    let remedy = match kind {
        "xfs" => "and not supported (xfs)",
        "crypto_LUKS" => "(see cryptsetup resize)",
        "swap" => "(see mkswap)",
        "btrfs" => "(see btrfs filesystem resize or lvreduce --resizefs)",
        _ => "(see resize2fs or lvreduce --resizefs)",
    };
    let way = if loss.is_reshaped {
        "lvextend the volume first, and it keeps its size"
    } else {
        "--fs ignore cuts it all the same"
    };
    format!(
        "File system {kind} found on {name}.\nFile system size ({}) is larger than the requested \
         size ({}).\nFile system reduce is required {remedy}; {way}.",
        display_size(size),
        display_size(left)
    )
}
