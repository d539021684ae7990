//! What disks promise, and what they hold, found out without the machine.

use block::Range;
use block::sim::Image;

use super::fault::SeededFault;
use super::keeps::Keeps;
use super::shape::Shape;
use crate::explore::SECTOR;
use crate::raid::bitmap::{Bitmap, Dirty};
use crate::raid::update::only;
use crate::raid::view::LegSet;
use crate::raid::{Bits, Described, FirstSync, LegFound, Position, Superblock};

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
    /// Whether a superblock was torn, as those of md's old format may be.
    pub(super) is_torn: bool,
    /// By region: copies and parity may not be right.
    pub(super) doubt: Vec<bool>,
}

/// What stands beside a leg.
type Found = (Superblock, Option<Bitmap>);

/// What stands beside each leg.
fn found(shape: &Shape, images: &[Image]) -> Result<Vec<Option<Found>>, String> {
    let keeping = shape.keeps.keeping(shape, images);
    let described = Described::new(shape.geometry, shape.region);
    let read = |leg: usize| {
        let bytes = images[2 * leg + 1].bytes(Range::new(0, shape.meta_len()));
        let is_blank = bytes[..SECTOR as usize].iter().all(|byte| *byte == 0);
        match keeping.found(leg, &described, &bytes) {
            _ if is_blank => Ok(None),
            LegFound::Holds(superblock, Bits::Bitmap(bitmap) | Bits::Resting(bitmap)) => {
                Ok(Some((*superblock, Some(bitmap))))
            }
            LegFound::Holds(superblock, Bits::None) => Ok(Some((*superblock, None))),
            // Of the old format a superblock is several sectors, and the legs' roles are not in the
            // one that has the checksum.
            LegFound::Damaged(_) if shape.keeps.tears() => Ok(None),
            LegFound::Holds(_, Bits::Damaged(why)) | LegFound::Damaged(why) => Err(why),
            LegFound::Missing | LegFound::New(_) | LegFound::Blank => Ok(None),
        }
    };
    (0..shape.legs()).map(read).collect()
}

impl Record {
    /// Of these disks.
    pub(super) fn read(shape: &Shape, images: &[Image]) -> Result<Self, String> {
        let found = found(shape, images)?;
        let superblocks: Vec<Option<Superblock>> = found
            .iter()
            .map(|found| Some(found.as_ref()?.0.clone()))
            .collect();
        let is_blank = |leg: usize| {
            let bytes = images[2 * leg + 1].bytes(Range::new(0, SECTOR));
            bytes.iter().all(|byte| *byte == 0)
        };
        let mut unread = (0..shape.legs()).filter(|leg| found[*leg].is_none());
        let is_torn = unread.any(|leg| !is_blank(leg));
        let there = superblocks.iter().flatten();
        let Some(newest) = there.max_by_key(|one| one.events) else {
            return Ok(Self {
                is_used: false,
                whole: shape.all(),
                current: shape.all(),
                unmarked: 0,
                is_split: false,
                is_torn,
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
            is_torn,
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
                record.add_doubt(shape, leg, (one, found[leg].as_ref()))?,
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
        (superblock, found): (&Superblock, Option<&Found>),
    ) -> Result<Dirty, String> {
        let bitmap = match found.and_then(|(_, bitmap)| bitmap.clone()) {
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
            None if shape.keeps == Keeps::Mapper => {
                return Err(format!("leg {leg} has a superblock and no bitmap"));
            }
            // Nothing is being written.
            None => {
                return Dirty::clean(shape.region, shape.sync_size())
                    .map_err(|error| error.to_string());
            }
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
