//! A volume that is one piece of an image or a disk: the file, and where in it the volume lies.
//!
//! For whoever may make neither a node nor a file of FUSE. Tools that take an offset can use it:
//! `mkfs.ext4 -E offset=…`, `mount -o loop,offset=…`, `e2fsck FILE?offset=…`, qemu's `raw` driver.

use std::path::PathBuf;

use ashlar::scan::{FoundVg, Scan};
use lvm2::model::{Area, LvId, Relations, SegmentType};

use crate::args::Error;

/// Where a volume lies.
pub(super) struct Piece {
    /// The image or the disk.
    pub(super) file: PathBuf,
    /// Its first byte there.
    pub(super) offset: u64,
}

/// The piece that a volume is, if it is one.
pub(super) fn piece(scan: &Scan, group: &FoundVg, id: LvId) -> Result<Piece, Error> {
    let name = format!("{}/{}", group.name, group.model.lv(id).name());
    let refused = |why: &str| {
        Error::failed(format!(
            "{name} {why}, so that it has no place in an image; where /dev/fuse may be used, or by \
             root, it gets a path of its own"
        ))
    };
    if Relations::of(&group.model)
        .seen_through(&group.model, id)
        .is_some()
    {
        return Err(refused("lies in a snapshot's store and in its origin"));
    }
    let mut place: Option<(usize, u64, u64)> = None;
    for segment in &group.model.lv(id).segments {
        let (SegmentType::Striped(_), [Area::Pv { pv, start }]) = (&segment.kind, segment.areas())
        else {
            return Err(refused("is not linear"));
        };
        let member = group.members.iter().find(|member| member.id == *pv);
        let found = member.and_then(|member| member.presence.found());
        let found = found.ok_or_else(|| refused("lies on a missing disk"))?;
        let extent_size = group.model.extent_size;
        let bytes = |sectors: Option<lvm2::Sectors>| {
            let bytes = sectors.and_then(lvm2::Sectors::to_bytes);
            bytes.ok_or_else(|| refused("is too large"))
        };
        let begin = bytes(group.model.pv(*pv).extent_start(*start, extent_size))?.0;
        let length = bytes(segment.length.to_sectors(extent_size))?.0;
        place = match place {
            None => Some((found.0, begin, begin + length)),
            Some((pv, first, end)) if pv == found.0 && end == begin => {
                Some((pv, first, end + length))
            }
            Some(_) => return Err(refused("lies in several pieces")),
        };
    }
    let (pv, begin, _) = place.ok_or_else(|| refused("is empty"))?;
    let location = &scan.device(scan.physical_volumes[pv].device).location;
    let Some(file) = location.path() else {
        return Err(refused("lies behind an NBD server"));
    };
    Ok(Piece {
        file: std::path::absolute(file)?,
        offset: begin + location.window.map_or(0, |window| window.start),
    })
}
