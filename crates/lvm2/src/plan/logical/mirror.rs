//! The hidden parts of a mirror: images and log, their names, sizes and first contents.
//!
//! ```text
//!     m              type mirror, over
//!       m_mimage_0   a copy
//!       m_mimage_1   a copy
//!       m_mlog       the log; itself a mirror of m_mlog_mimage_0 and _1 where it is mirrored
//! ```
//!
//! The log begins with a header of one sector; its bits begin at sector 2, one for each region,
//! and a 1 means that the copies are the same there. A new log must be written before the commit
//! that names it: zeros, so that everything is synchronised, or ones for `--nosync`.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::options::{Initial, MirrorLog};
use crate::model::{
    AllocationMap, Area, LogicalVolume, LvFlag, LvId, PvId, Segment, SegmentType, VolumeGroup,
};
use crate::plan::author::Author;
use crate::plan::change::{Before, Piece};
use crate::plan::display::display_size;
use crate::plan::draft::{Draft, refused, wrong};
use crate::plan::places::FreeSpace;
use crate::plan::{allocate, ranges, segments};
use crate::{Bytes, Error, Extents, Kind, Result, SECTOR_SIZE, Sectors};

/// Bytes of a mirror log's header.
pub const MIRROR_LOG_HEADER_SIZE: usize = SECTOR_SIZE as usize;
/// Where the log's bits begin.
const LOG_BITS: Sectors = Sectors(2);
/// The log's bits are read in words of so many.
const LOG_WORD_BITS: u64 = 32;
const LOG_MAGIC: u32 = 0x4d69_5272;
const LOG_VERSION: u32 = 2;
/// The kernel counts the regions itself when it first sees the log.
const LOG_REGIONS_UNKNOWN: u64 = u64::MAX;
/// What a note covers where nothing was said.
const REGION_SIZE_DEFAULT: Sectors = Sectors(4096);
/// A region is a page at least, and no machine has smaller pages than 4 KiB.
const REGION_SIZE_MIN: Sectors = Sectors(8);
/// The kernel's mirror takes no more.
pub(super) const LEGS_MAX: usize = 8;
/// Copies of a mirrored log.
const LOG_LEGS: usize = 2;

/// What a new log says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogContents {
    /// Nothing is in sync.
    Nothing,
    /// Everything is.
    Everything,
}

impl LogContents {
    pub(super) fn of(initial: Initial) -> Self {
        match initial {
            Initial::Synchronise => Self::Nothing,
            Initial::NoSync => Self::Everything,
        }
    }

    /// The header sector, and the byte of which all else consists.
    pub fn bytes(self) -> ([u8; MIRROR_LOG_HEADER_SIZE], u8) {
        let byte = match self {
            Self::Nothing => 0,
            Self::Everything => 0xff,
        };
        // Behind its fields stock leaves what the log was filled with.
        let mut header = [byte; MIRROR_LOG_HEADER_SIZE];
        header[..4].copy_from_slice(&LOG_MAGIC.to_le_bytes());
        header[4..8].copy_from_slice(&LOG_VERSION.to_le_bytes());
        header[8..16].copy_from_slice(&LOG_REGIONS_UNKNOWN.to_le_bytes());
        (header, byte)
    }
}

/// The region size of a mirror of `extents`; stock says so where it is not what was asked for.
pub(super) fn region_size(
    draft: &mut Draft,
    asked: Option<Sectors>,
    extents: Extents,
) -> Result<Sectors> {
    let size = asked.unwrap_or(REGION_SIZE_DEFAULT);
    if !size.0.is_power_of_two() {
        return Err(wrong(format!(
            "Region size {} is not a power of 2",
            display_size(size)
        )));
    }
    // Regions must fill the volume: no more than the largest power of 2 that divides it.
    let total = extents
        .to_sectors(draft.vg.extent_size)
        .ok_or_else(|| Error::new(Kind::Limit, "The mirror is too large"))?;
    assert!(total > Sectors::ZERO, "a mirror has extents");
    let most = Sectors(1 << total.0.trailing_zeros());
    if most < REGION_SIZE_MIN {
        return Err(refused(format!(
            "A mirror of {} would have regions of {}, and no kernel takes regions that are smaller \
             than a page: choose a size that is a multiple of {}",
            display_size(total),
            display_size(most),
            display_size(REGION_SIZE_MIN)
        )));
    }
    if most < size {
        draft.note(format!(
            "Using reduced mirror region size of {}",
            display_size(most)
        ));
        return Ok(most);
    }
    Ok(size)
}

/// The extents of a log for `extents` of data.
pub(super) fn log_extents(extents: Extents, region: Sectors, extent_size: Sectors) -> Extents {
    assert!(
        region > Sectors::ZERO && extent_size > Sectors::ZERO,
        "both have a length"
    );
    let data = extents.0.saturating_mul(extent_size.0);
    let regions = data.div_ceil(region.0);
    let bytes = regions
        .div_ceil(LOG_WORD_BITS)
        .saturating_mul(LOG_WORD_BITS / 8);
    let sectors = LOG_BITS + Sectors(bytes.div_ceil(SECTOR_SIZE));
    Extents(sectors.0.div_ceil(extent_size.0))
}

/// A hidden volume for a part of `parent`.
pub(super) fn hidden(
    name: String,
    author: &mut Author<'_>,
    segments: Vec<Segment>,
) -> LogicalVolume {
    let mut lv = LogicalVolume::new(name, author.uuid());
    lv.flags.insert(LvFlag::Read);
    lv.flags.insert(LvFlag::Write);
    lv.creation_time = Some(author.time);
    lv.creation_host = Some(author.host.clone());
    lv.segments = segments;
    lv
}

/// Adds an image of `parent` under the first number that is free.
pub(super) fn add_image(
    vg: &mut VolumeGroup,
    parent: &str,
    author: &mut Author<'_>,
    segments: Vec<Segment>,
) -> Result<LvId> {
    let name = (0..=vg.lv_count())
        .map(|number| format!("{parent}_mimage_{number}"))
        .find(|name| vg.lv_by_name(name).is_none())
        .expect("there are more numbers than volumes");
    let image = hidden(name, author, segments);
    vg.add_lv(image)
}

/// The physical volumes on which a volume stands, through all of its parts.
pub(in crate::plan) fn pvs_below(vg: &VolumeGroup, lv: LvId) -> BTreeSet<PvId> {
    let mut found = BTreeSet::new();
    for_each_area_below(vg, lv, &mut |pv, _| {
        found.insert(pv);
    });
    found
}

/// The extents of physical volumes that a volume has, its parts included.
pub(super) fn extents_below(vg: &VolumeGroup, lv: LvId) -> Extents {
    let mut found = Extents::ZERO;
    for_each_area_below(vg, lv, &mut |_, length| found += length);
    found
}

fn for_each_area_below(vg: &VolumeGroup, lv: LvId, look: &mut dyn FnMut(PvId, Extents)) {
    let mut left = vec![lv];
    let mut seen = BTreeSet::new();
    while let Some(lv) = left.pop() {
        if !seen.insert(lv) {
            continue;
        }
        for segment in &vg.lv(lv).segments {
            for area in segment.areas() {
                if let Area::Pv { pv, .. } = area {
                    look(*pv, segment.area_length().unwrap_or_default());
                }
            }
            segment.for_each_reference(|part, role| {
                if role.is_component() {
                    left.push(part);
                }
            });
        }
    }
}

/// Adds a log for the mirror `parent` and notes what it must hold before the commit.
pub(super) fn add_log(
    draft: &mut Draft,
    space: &mut FreeSpace,
    author: &mut Author<'_>,
    parent: &str,
    log: (MirrorLog, LogContents),
    length: Extents,
    legs: &BTreeSet<PvId>,
) -> Result<Option<LvId>> {
    let (kind, contents) = log;
    assert!(length > Extents::ZERO, "a log has extents");
    let name = format!("{parent}_mlog");
    let lv = match kind {
        MirrorLog::Core => return Ok(None),
        MirrorLog::Disk => {
            let place = take_log(space, length, legs, parent)?;
            let only = segments::striped(&[place], Sectors::ZERO);
            let volume = hidden(
                name,
                author,
                vec![segments::segment(Extents::ZERO, length, only)],
            );
            draft.vg.add_lv(volume)?
        }
        MirrorLog::Mirrored => {
            let mut avoid = legs.clone();
            let mut images = Vec::new();
            for _ in 0..LOG_LEGS {
                let place = take_log(space, length, &avoid, parent)?;
                avoid.insert(place.0);
                let only = segments::striped(&[place], Sectors::ZERO);
                let list = vec![segments::segment(Extents::ZERO, length, only)];
                images.push(add_image(&mut draft.vg, &name, author, list)?);
            }
            let region = region_size(draft, None, length)?;
            let kind = segments::mirror_of(&images, None, region);
            let list = vec![segments::segment(Extents::ZERO, length, kind)];
            let volume = hidden(name, author, list);
            draft.vg.add_lv(volume)?
        }
    };
    write_log(draft, lv, contents)?;
    Ok(Some(lv))
}

fn take_log(
    space: &mut FreeSpace,
    length: Extents,
    legs: &BTreeSet<PvId>,
    parent: &str,
) -> Result<(PvId, Extents)> {
    allocate::allocate_log(space, length, legs).ok_or_else(|| {
        let context = format!(
            "Insufficient suitable allocatable extents for the log of logical volume {parent}: {} \
             more required; use --mirrorlog core",
            length.0
        );
        Error::new(Kind::Space, context)
    })
}

fn write_log(draft: &mut Draft, log: LvId, contents: LogContents) -> Result<()> {
    let (header, byte) = contents.bytes();
    let pieces = ranges::all_pieces(&draft.vg, log)?;
    let size = Bytes(header.len() as u64);
    assert!(!pieces.is_empty(), "a log lies somewhere");
    draft.before.push(Before::Fill { pieces, byte });
    for start in ranges::pieces(&draft.vg, log, Bytes::ZERO, size)? {
        draft.before.push(Before::Write {
            piece: Piece {
                length: size,
                ..start
            },
            bytes: header.to_vec(),
        });
    }
    Ok(())
}

/// What a mirror is made of, where it is one of whole volumes.
pub(super) struct Parts {
    pub(super) images: Vec<LvId>,
    pub(super) log: Option<LvId>,
    pub(super) region_size: Sectors,
}

/// The parts of a mirror that we may change: one segment over whole volumes.
pub(super) fn parts(vg: &VolumeGroup, lv: LvId) -> Result<Option<Parts>> {
    let volume = vg.lv(lv);
    let [segment] = volume.segments.as_slice() else {
        return Ok(None);
    };
    let SegmentType::Mirror(mirror) = &segment.kind else {
        return Ok(None);
    };
    let image = |area: &Area| match area {
        Area::Lv { lv, start } if *start == Extents::ZERO => Some(*lv),
        _ => None,
    };
    let images: Option<Vec<LvId>> = mirror.images.iter().map(image).collect();
    let images = images
        .filter(|_| mirror.extents_moved.is_none())
        .ok_or_else(|| {
            refused(format!(
                "Logical volume {} is a move of extents, not a mirror of volumes",
                volume.name()
            ))
        })?;
    Ok(Some(Parts {
        images,
        log: mirror.log,
        region_size: mirror.region_size,
    }))
}

/// Removes a log and what it is made of.
pub(super) fn remove_log(vg: &mut VolumeGroup, log: LvId) -> Result<()> {
    let images = parts(vg, log)?.map_or_else(Vec::new, |parts| parts.images);
    vg.remove_lv(log);
    for image in images {
        vg.remove_lv(image);
    }
    Ok(())
}

/// The free extents of a whole group.
pub(super) fn all_free_extents(vg: &VolumeGroup) -> Extents {
    let map = AllocationMap::of(vg);
    vg.pvs().map(|(id, _)| map.free_count(id)).sum()
}

/// The free extents of a whole group that may be allocated.
pub(super) fn free_extents(vg: &VolumeGroup) -> Extents {
    let map = AllocationMap::of(vg);
    let free = vg.pvs().filter(|(_, pv)| pv.is_allocatable());
    free.map(|(id, _)| map.free_count(id)).sum()
}
