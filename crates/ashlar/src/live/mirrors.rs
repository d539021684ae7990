//! A mirror in use that gets another size.
//!
//! The mirror that runs is suspended: all that it knows stands in its log. One of the new size is
//! started from the same log, held: it writes nothing, so it can still be dropped if the commit
//! fails. When the commit is done it goes on, and new regions are copied; the old one ends
//! without writing. All else about it must be as it was: its images, its regions, its log.
//!
//! Where the log is in memory, the old mirror is asked what it knows. If everything was in sync it
//! stays so; otherwise all is copied again from the first leg, which must be a good one.

use std::time::Duration;

use dm::home::Home;
use dm::mirror::{self, Control, ImageHealth};
use lvm2::model::{Area, LvId, Mirror, SegmentType, VolumeGroup};

use super::stack::has_mirror;
use crate::activate::{MirrorStart, RunningMirror};
use crate::{Error, Kind, Result};

/// How long a mirror may take to say how it is, or to claim its log.
const REPLY_MAX: Duration = Duration::from_secs(30);

/// Whether a mirror becomes one that differs only in its size.
pub(super) fn is_resized(old: (&VolumeGroup, LvId), new: (&VolumeGroup, LvId)) -> bool {
    let (Some(before), Some(after)) = (only_mirror(old), only_mirror(new)) else {
        return false;
    };
    let parts = |vg: &VolumeGroup, mirror: &Mirror| {
        let images = mirror.images.iter().map(|image| match image {
            Area::Lv { lv, start } => Some((vg.lv(*lv).uuid, *start)),
            Area::Pv { .. } => None,
        });
        let images: Option<Vec<_>> = images.collect();
        images.map(|images| (images, mirror.log.map(|log| vg.lv(log).uuid)))
    };
    let same = parts(old.0, before);
    same.is_some()
        && same == parts(new.0, after)
        && before.region_size == after.region_size
        && is_plain(old.0, before)
        && is_plain(new.0, after)
}

fn only_mirror((vg, lv): (&VolumeGroup, LvId)) -> Option<&Mirror> {
    match vg.lv(lv).segments.as_slice() {
        [segment] => match &segment.kind {
            SegmentType::Mirror(mirror) => Some(mirror),
            _ => None,
        },
        _ => None,
    }
}

/// Whether no part of a mirror is a mirror: what is held answers nobody.
fn is_plain(vg: &VolumeGroup, mirror: &Mirror) -> bool {
    let images = mirror.images.iter().filter_map(|image| match image {
        Area::Lv { lv, .. } => Some(*lv),
        Area::Pv { .. } => None,
    });
    !images.chain(mirror.log).any(|part| has_mirror(vg, part))
}

/// How the mirror begins that takes the place of `old`, which is suspended.
pub(super) fn in_place_of(
    name: &str,
    mirror: &Mirror,
    old: &[Home<mirror::Mirror>],
) -> Result<MirrorStart> {
    let mut in_sync = 0;
    for home in old.iter().filter(|_| mirror.log.is_none()) {
        let status = home.status(REPLY_MAX);
        let status = status.map_err(|error| {
            let what = format!("{name} does not say how it is, so nothing was changed");
            Error::new(Kind::Device, what).because(error)
        })?;
        in_sync = known(&status).ok_or_else(|| {
            let what = format!(
                "{name} in use: its first image is out of sync or lost, and its log is in memory; \
                 stop it before its size is changed"
            );
            Error::new(Kind::Refused, what)
        })?;
    }
    Ok(MirrorStart::InPlace { in_sync })
}

/// The regions that are in sync for certain, by what a mirror says of itself; `None`: its first
/// image is not in sync.
fn known(status: &mirror::Status) -> Option<u64> {
    status.images.first().filter(|image| image.is_used())?;
    let is_settled = status.in_sync == status.regions;
    let all_used = status.images.iter().copied().all(ImageHealth::is_used);
    Some(if is_settled && all_used {
        status.regions
    } else {
        0
    })
}

/// Lets held mirrors go on. One that cannot write its log says so to whoever writes to it.
pub(super) fn activate(mirrors: &[RunningMirror]) {
    for mirror in mirrors {
        let _ = mirror.home.control(Control::Activate, REPLY_MAX);
    }
}

#[cfg(test)]
mod tests;
