//! What disks promise, and what they hold, found out without the machine.

use block::Range;
use block::sim::Image;

use super::fault::SeededFault;
use super::shape::Shape;
use crate::explore::SECTOR;
use crate::raid::bitmap::{Bitmap, Dirty, START};
use crate::raid::update::only;
use crate::raid::view::LegSet;
use crate::raid::{FirstSync, Position, Superblock};

/// What superblocks and bitmaps say.
#[derive(Debug, Clone)]
pub(super) struct Record {
    /// Whether there is a superblock.
    pub(super) is_used: bool,
    /// Legs that hold all that they should.
    pub(super) whole: LegSet,
    /// Legs that have a superblock which is as new as the others.
    pub(super) current: LegSet,
    /// Legs that lack a mark which others have.
    pub(super) unmarked: LegSet,
    /// Whether the newest superblocks call other legs failed than one another.
    pub(super) is_split: bool,
    /// By region: copies and parity may not be right.
    pub(super) doubt: Vec<bool>,
}

impl Record {
    /// Of these disks.
    pub(super) fn read(shape: &Shape, images: &[Image]) -> Result<Self, String> {
        let metas = (0..shape.legs()).map(|leg| &images[2 * leg + 1]);
        let superblock = |image: &Image| {
            let bytes = image.bytes(Range::new(0, SECTOR));
            Superblock::decode(&bytes).map_err(|error| error.to_string())
        };
        let superblocks = metas.map(superblock).collect::<Result<Vec<_>, _>>()?;
        let there = superblocks.iter().flatten();
        let Some(newest) = there.max_by_key(|one| one.events) else {
            return Ok(Self {
                is_used: false,
                whole: shape.all(),
                current: shape.all(),
                unmarked: 0,
                is_split: false,
                doubt: vec![shape.first == FirstSync::Due; shape.regions() as usize],
            });
        };
        let mut others = superblocks.iter().flatten();
        let mut record = Self {
            is_used: newest.events > 0,
            whole: 0,
            current: 0,
            unmarked: 0,
            is_split: others.any(|one| one.events == newest.events && one.failed != newest.failed),
            doubt: vec![false; shape.regions() as usize],
        };
        let mut marked = Vec::new();
        for (leg, one) in superblocks.iter().enumerate() {
            let Some(one) = one else {
                if newest.events == 0 {
                    record.current |= only(leg);
                    record.whole |= only(leg);
                }
                continue;
            };
            if one.events + 1 < newest.events || newest.failed.contains(leg) {
                continue;
            }
            record.current |= only(leg);
            if one.disk_recovery_offset == Position::End {
                record.whole |= only(leg);
            }
            marked.push((
                leg,
                record.add_doubt(shape, leg, one, &images[2 * leg + 1])?,
            ));
        }
        let count = |regions: &Dirty| regions.count();
        let most = marked.iter().map(|(_, regions)| count(regions)).max();
        for (leg, regions) in &marked {
            if Some(count(regions)) < most {
                record.unmarked |= only(*leg);
            }
        }
        Ok(record)
    }

    fn add_doubt(
        &mut self,
        shape: &Shape,
        leg: usize,
        superblock: &Superblock,
        meta: &Image,
    ) -> Result<Dirty, String> {
        let bytes = meta.bytes(Range::new(START, shape.meta_len() - START));
        let bitmap = Bitmap::decode(&bytes).map_err(|error| error.to_string())?;
        let bitmap = match bitmap {
            Some(bitmap) if bitmap.is_current(superblock.events) => bitmap,
            // Other mistakes are to be found by what they do.
            _ if !matches!(shape.fault, None | Some(SeededFault::BitmapLate)) => {
                self.doubt.fill(true);
                let full = Dirty::full(shape.region, shape.sync_size());
                return full.map_err(|error| error.to_string());
            }
            Some(_) => {
                return Err(format!(
                    "the bitmap of leg {leg} is older than its superblock"
                ));
            }
            None => return Err(format!("leg {leg} has a superblock and no bitmap")),
        };
        let synced = superblock.array_resync_offset.bytes();
        for (region, doubt) in self.doubt.iter_mut().enumerate() {
            let end = ((region as u64 + 1) * shape.region).min(shape.sync_size());
            *doubt |= end > synced || bitmap.dirty.is_dirty(region as u64);
        }
        Ok(bitmap.dirty)
    }
}

/// Fills in the parities of a row, of which the legs' bytes are these.
pub(super) fn add_parity(shape: &Shape, row: u64, data: &mut [Vec<u8>]) {
    let (who, chunk) = (shape.geometry.row(row), shape.geometry.chunk());
    let (start, end) = ((row * chunk) as usize, ((row + 1) * chunk) as usize);
    let legs: Vec<usize> = (0..who.data_count()).map(|index| who.leg(index)).collect();
    let sum = |at: usize| legs.iter().fold(0, |sum, leg| sum ^ data[*leg][at]);
    let p: Vec<u8> = (start..end).map(sum).collect();
    data[who.p][start..end].copy_from_slice(&p);
    let Some(q) = who.q else { return };
    let powers = (0..shape.legs()).rev();
    let by_power: Vec<Option<usize>> = powers
        .map(|power| legs.iter().copied().find(|leg| who.power(*leg) == power))
        .collect();
    let sum = |at: usize| {
        by_power.iter().fold(0, |sum: u8, leg| {
            let doubled = (sum << 1) ^ if sum >> 7 == 1 { 0x1d } else { 0 };
            doubled ^ leg.map_or(0, |leg| data[leg][at])
        })
    };
    let sums: Vec<u8> = (start..end).map(sum).collect();
    data[q][start..end].copy_from_slice(&sums);
}

/// Whether parity is right everywhere; where not, if so.
pub(super) fn check_parity(shape: &Shape, data: &[Vec<u8>]) -> Result<(), String> {
    let chunk = shape.geometry.chunk();
    let mut right = data.to_vec();
    for row in 0..shape.geometry.leg_size() / chunk {
        add_parity(shape, row, &mut right);
        let who = shape.geometry.row(row);
        let run = (row * chunk) as usize..((row + 1) * chunk) as usize;
        for leg in [Some(who.p), who.q].into_iter().flatten() {
            if right[leg][run.clone()] != data[leg][run.clone()] {
                return Err(format!("the parity of row {row} on leg {leg} is not right"));
            }
        }
    }
    Ok(())
}

/// Whether these legs hold `content`, each copy of it that is theirs, where it is known; where not,
/// if so.
pub(super) fn check_copies(
    shape: &Shape,
    legs: LegSet,
    (data, content): (&[Vec<u8>], &[Option<Vec<u8>>]),
) -> Result<(), String> {
    for (expected, sector) in content.iter().zip(0..) {
        let Some(expected) = expected else { continue };
        for copy in 0..shape.geometry.copies() {
            let spot = shape.geometry.spot(sector * SECTOR, copy);
            let at = spot.start as usize;
            let is_asked = legs & only(spot.leg) != 0;
            if is_asked && data[spot.leg][at..at + SECTOR as usize] != **expected {
                return Err(format!("sector {sector} is not so on leg {}", spot.leg));
            }
        }
    }
    Ok(())
}
