//! What is known of the copies of a mirror that is not active, from its log.
//!
//! Where a log cannot be read, and where it stands on a device that is missing or was, nothing is
//! known but that the first copy is right: so it is whoever serves the mirror.

use std::collections::BTreeSet;

use block::{BlockingDevice, Range};
use dm::mirror::{in_sync_images, is_in_sync};
use lvm2::Bytes;
use lvm2::model::{Area, LvFlag, LvId, Mirror, SegmentType};

use super::activator::{Activator, Options};
use super::mirror::identity;
use crate::host::Host;
use crate::scan::{FoundVg, Scan};
use crate::{Error, Kind, Result};

/// What is known of the copies of a mirror.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MirrorFacts {
    /// They are the same.
    InSync,
    /// Where they differ the first one is right.
    FirstIsRight,
    /// Where they differ the first one is wrong: it was away while others were written.
    FirstIsStale,
}

/// Reads the log of a mirror. Without one nothing is known, and the first copy counts.
pub fn mirror_facts(scan: &Scan, host: &Host, group: &FoundVg, lv: LvId) -> Result<MirrorFacts> {
    let volume = group.model.lv(lv);
    let Some(SegmentType::Mirror(mirror)) = volume.first() else {
        let what = format!("{}/{} is no mirror", group.name, volume.name());
        return Err(Error::new(Kind::Request, what));
    };
    let Some((bytes, regions)) = log_of(scan, host, group, lv, mirror)? else {
        return Ok(MirrorFacts::FirstIsRight);
    };
    if is_in_sync(&bytes, regions) {
        return Ok(MirrorFacts::InSync);
    }
    let first = match mirror.images.first() {
        Some(Area::Lv { lv, .. }) => identity(group.model.lv(*lv).uuid),
        _ => return Ok(MirrorFacts::FirstIsRight),
    };
    let in_sync = in_sync_images(&bytes);
    Ok(if in_sync.is_empty() || in_sync.contains(&first) {
        MirrorFacts::FirstIsRight
    } else {
        MirrorFacts::FirstIsStale
    })
}

/// The images of a group's mirrors that hold what was written last: those that `cat` would read.
/// What cannot be found out is not claimed.
pub fn current_images(scan: &Scan, host: &Host, group: &FoundVg) -> BTreeSet<LvId> {
    let mut current = BTreeSet::new();
    for (id, lv) in group.model.lvs() {
        if let Some(SegmentType::Mirror(mirror)) = lv.first() {
            current.extend(current_of(scan, host, group, id, mirror));
        }
    }
    current
}

fn current_of(scan: &Scan, host: &Host, group: &FoundVg, lv: LvId, mirror: &Mirror) -> Vec<LvId> {
    let images = mirror.images.iter().filter_map(|area| match area {
        Area::Lv { lv, .. } => Some(*lv),
        Area::Pv { .. } => None,
    });
    let images: Vec<LvId> = images.collect();
    let first = images.first().copied().into_iter().collect();
    if mirror.log.is_none() {
        // Never synchronised, and written by nobody who lost one: all are right.
        let is_assumed = group.model.lv(lv).flags.has(LvFlag::NotSynced);
        return if is_assumed { images } else { first };
    }
    let Ok(Some((bytes, regions))) = log_of(scan, host, group, lv, mirror) else {
        return first;
    };
    if is_in_sync(&bytes, regions) {
        return images;
    }
    let in_sync = in_sync_images(&bytes);
    if in_sync.is_empty() {
        return first;
    }
    let is_in_sync_image = |image: &LvId| in_sync.contains(&identity(group.model.lv(*image).uuid));
    images.into_iter().filter(is_in_sync_image).collect()
}

/// The beginning of a mirror's log, and how many regions it is about; `None` where it has none.
fn log_of(
    scan: &Scan,
    host: &Host,
    group: &FoundVg,
    lv: LvId,
    mirror: &Mirror,
) -> Result<Option<(Vec<u8>, u64)>> {
    let volume = group.model.lv(lv);
    let Some(log) = mirror.log else {
        return Ok(None);
    };
    let size = volume.size(group.model.extent_size);
    let size = size.and_then(lvm2::Sectors::to_bytes).unwrap_or(Bytes(0)).0;
    let region = mirror.region_size.to_bytes().map_or(0, |bytes| bytes.0);
    let regions = size.div_ceil(region.max(1));
    let opened = Activator::new(scan, host).activate(group, log, Options::default())?;
    let unread = |error: block::Error| {
        let what = format!("cannot read the log of {}/{}", group.name, volume.name());
        Error::new(Kind::Device, what).because(error)
    };
    let mut io = BlockingDevice::open(&opened.volume).map_err(unread)?;
    // More than the volume has is not read, whatever the group says.
    let length = dm::mirror::log_length(regions).min(io.info().size);
    let bytes = io.read(Range::new(0, length)).map_err(unread)?;
    Ok(Some((bytes, regions)))
}
