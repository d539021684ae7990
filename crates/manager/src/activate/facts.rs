//! What is known of the copies of a mirror that is not active, from its log.

use block::{BlockingDevice, Range};
use lvm::Bytes;
use lvm::model::{Area, LvId, SegmentType};
use target::mirror::{believed_legs, is_in_sync};

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
    let Some(log) = mirror.log else {
        return Ok(MirrorFacts::FirstIsRight);
    };
    let size = volume.size(group.model.extent_size);
    let size = size.and_then(lvm::Sectors::to_bytes).unwrap_or(Bytes(0)).0;
    let region = mirror.region_size.to_bytes().map_or(0, |bytes| bytes.0);
    let regions = size.div_ceil(region.max(1));
    let opened = Activator::new(scan, host).activate(group, log, Options::default())?;
    let unread = |error: block::Error| {
        let what = format!("cannot read the log of {}/{}", group.name, volume.name());
        Error::new(Kind::Device, what).because(error)
    };
    let mut io = BlockingDevice::open(&opened.volume).map_err(unread)?;
    // More than the volume has is not read, whatever the group says.
    let length = target::mirror::log_length(regions).min(io.info().size);
    let bytes = io.read(Range::new(0, length)).map_err(unread)?;
    if is_in_sync(&bytes, regions) {
        return Ok(MirrorFacts::InSync);
    }
    let first = match mirror.images.first() {
        Some(Area::Lv { lv, .. }) => identity(group.model.lv(*lv).uuid),
        _ => return Ok(MirrorFacts::FirstIsRight),
    };
    let believed = believed_legs(&bytes);
    Ok(if believed.is_empty() || believed.contains(&first) {
        MirrorFacts::FirstIsRight
    } else {
        MirrorFacts::FirstIsStale
    })
}
