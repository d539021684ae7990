//! Where bytes of a volume lie on devices: for what must be written before a commit.
//!
//! ```text
//!     volume    |0       4 KiB|                      bytes that must be zero
//!     mirror    |image 0 …      |image 1 …           all copies of them
//!     devices   pv0 at 9 MiB     pv1 at 5 MiB
//! ```
//!
//! Works for what is made of extents, and of mirrors and arrays of them: that is all that we
//! create. Of an array it is the data; what is written there makes its parity wrong. Other types
//! are refused; their bytes are not where their extents are.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::change::Piece;
use super::draft::refused;
use crate::model::{Area, LvFlag, LvId, Raid, RaidFamily, Segment, SegmentType, VolumeGroup};
use crate::{Bytes, Error, Kind, Result};

/// Volumes on volumes: deeper than this is damage.
const DEPTH_MAX: usize = 16;
/// Chunks of an array that are looked up at once: what is asked for is a few KiB.
const CHUNKS_MAX: u64 = 1 << 16;

/// Every place where the `length` bytes from `start` of a volume lie.
pub fn pieces(vg: &VolumeGroup, lv: LvId, start: Bytes, length: Bytes) -> Result<Vec<Piece>> {
    let mut found = Vec::new();
    walk(
        vg,
        lv,
        start.0,
        start.0.saturating_add(length.0),
        0,
        &mut found,
    )?;
    found.sort();
    let mut joined: Vec<Piece> = Vec::new();
    for piece in found {
        match joined.last_mut() {
            Some(last) if last.pv == piece.pv && last.start + last.length == piece.start => {
                last.length += piece.length;
            }
            _ => joined.push(piece),
        }
    }
    Ok(joined)
}

/// All of a volume.
pub(super) fn all_pieces(vg: &VolumeGroup, lv: LvId) -> Result<Vec<Piece>> {
    let size = vg
        .lv(lv)
        .size(vg.extent_size)
        .and_then(crate::Sectors::to_bytes);
    pieces(vg, lv, Bytes::ZERO, size.ok_or_else(too_large)?)
}

fn walk(
    vg: &VolumeGroup,
    lv: LvId,
    start: u64,
    end: u64,
    depth: usize,
    found: &mut Vec<Piece>,
) -> Result<()> {
    if depth > DEPTH_MAX {
        return Err(refused(format!(
            "Logical volume {} stands on too many layers",
            vg.lv(lv).name()
        )));
    }
    let extent = vg.extent_size.to_bytes().ok_or_else(too_large)?.0;
    for segment in &vg.lv(lv).segments {
        let first = segment.start.0.checked_mul(extent).ok_or_else(too_large)?;
        let last = segment.end().0.checked_mul(extent).ok_or_else(too_large)?;
        let (from, to) = (start.max(first), end.min(last));
        if from >= to {
            continue;
        }
        for (area, inner) in spread(vg, lv, segment, from - first, to - first)? {
            let (from, to) = inner;
            match area {
                Area::Pv { pv, start } => {
                    let volume = vg.pv(pv);
                    let base = volume.extent_start(start, vg.extent_size);
                    let base = base
                        .and_then(crate::Sectors::to_bytes)
                        .ok_or_else(too_large)?;
                    found.push(Piece {
                        pv: volume.uuid,
                        start: base + Bytes(from),
                        length: Bytes(to - from),
                    });
                }
                Area::Lv { lv, start } => {
                    let base = start.0.checked_mul(extent).ok_or_else(too_large)?;
                    walk(vg, lv, base + from, base + to, depth + 1, found)?;
                }
            }
        }
    }
    Ok(())
}

/// Where a range of a segment lies on its areas: bytes from the area's start.
fn spread(
    vg: &VolumeGroup,
    lv: LvId,
    segment: &Segment,
    from: u64,
    to: u64,
) -> Result<Vec<(Area, (u64, u64))>> {
    match &segment.kind {
        SegmentType::Zero | SegmentType::Error => Ok(Vec::new()),
        SegmentType::Mirror(mirror) => {
            // Of a move one place is right, whatever the other one holds.
            let is_move = vg.lv(lv).flags.has(LvFlag::Pvmove);
            let is_moved = mirror.extents_moved == Some(segment.length);
            let right = |index: usize| !is_move || index == usize::from(is_moved);
            let images = mirror.images.iter().enumerate();
            let images = images.filter(|(index, _)| right(*index));
            Ok(images.map(|(_, area)| (*area, (from, to))).collect())
        }
        SegmentType::Striped(striped) if striped.areas.len() == 1 => {
            Ok(vec![(striped.areas[0], (from, to))])
        }
        SegmentType::Striped(striped) => {
            let count = striped.areas.len() as u64;
            let size = striped.stripe_size.to_bytes().ok_or_else(too_large)?.0;
            let row = size
                .checked_mul(count)
                .filter(|row| *row > 0)
                .ok_or_else(too_large)?;
            // Each area holds one run of it: full stripes between the first row and the last.
            let on_area = |index: u64, at: u64| {
                let within = (at % row).saturating_sub(index * size).min(size);
                at / row * size + within
            };
            let parts = (0..count).map(|index| {
                let run = (on_area(index, from), on_area(index, to));
                (striped.areas[index as usize], run)
            });
            Ok(parts.filter(|(_, (from, to))| from < to).collect())
        }
        SegmentType::Raid(raid) => spread_array(raid, from, to),
        // As they are; what its journal holds is elsewhere, too.
        SegmentType::Integrity(parts) => {
            let (lv, start) = (parts.origin, segment.start);
            Ok(vec![(Area::Lv { lv, start }, (from, to))])
        }
        kind => Err(refused(format!(
            "The bytes of logical volume {} cannot be found: it has a segment of type {}",
            vg.lv(lv).name(),
            kind.name()
        ))),
    }
}

/// Where a range of an array's data lies on its images.
fn spread_array(raid: &Raid, from: u64, to: u64) -> Result<Vec<(Area, (u64, u64))>> {
    assert!(from < to, "a range has bytes");
    let on_image = |index: usize, start: u64, length: u64| {
        let lv = raid.images[index].data;
        let start_of = crate::Extents::ZERO;
        (
            Area::Lv {
                lv,
                start: start_of,
            },
            (start, start + length),
        )
    };
    if raid.level.family() == RaidFamily::Raid1 {
        let images = 0..raid.images.len();
        return Ok(images
            .map(|image| on_image(image, from, to - from))
            .collect());
    }
    let chunk = raid.stripe_size.to_bytes().ok_or_else(too_large)?.0;
    if chunk == 0 || (to - from) / chunk > CHUNKS_MAX {
        return Err(refused("A range of an array is too long to be found"));
    }
    let mut found = Vec::new();
    let mut at = from;
    while at < to {
        let (number, within) = (at / chunk, at % chunk);
        let length = (chunk - within).min(to - at);
        let place = raid
            .level
            .chunk_place(number, raid.images.len(), raid.copies() as usize)
            .ok_or_else(|| refused("An array has too few images"))?;
        for (image, row) in place.places {
            let start = row
                .checked_mul(chunk)
                .and_then(|start| start.checked_add(within));
            found.push(on_image(image, start.ok_or_else(too_large)?, length));
        }
        at += length;
    }
    Ok(found)
}

fn too_large() -> Error {
    Error::new(Kind::Limit, "A place is beyond what 64 bits can count")
}

#[cfg(test)]
mod tests;
