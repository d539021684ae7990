//! What the legs of an array of md's keep of it, in the words of the machine that writes it.
//!
//! The machine knows superblocks as device-mapper keeps them: which legs failed, how far a leg is
//! recovered, what was never in sync. md's say the same, by device: each has a number, and a role
//! for each number. What else stands there stays as it was when the array was opened.
//!
//! | md | the machine |
//! |---|---|
//! | no number has this leg as its role | the leg failed |
//! | it was being written when power went | what the bitmap says is in doubt; without one, all |
//! | in sync up to some place | what lies behind is in doubt, in both cases |
//! | in sync, and a leg is away | what the bitmap says is what that leg lacks |
//!
//! md does not tell what was never in sync from what was being written; so nothing here is the
//! former. What failed while it was written has the role "failed", what was not there none. A leg
//! of the old format that is filled is a spare until it holds all: there is no place to say how
//! far it is. The facts are those of `drivers/md/md.c` (`super_1_sync`, `super_90_sync`).

mod new;
mod old;

use super::claim::{Claim, Guard, Role};
use super::partial::signature;
use super::places::Place;
use super::superblock1::Superblock1;
use super::superblock090::Superblock090;
use crate::raid::assembly::{Bits, Described, LegFound};
use crate::raid::bitmap::{self, Bitmap, Dirty};
use crate::raid::geometry::Scheme;
use crate::raid::keeping::{Activity, Said};
use crate::raid::superblock::{FailedDevices, Position, Superblock};
use crate::{Error, Kind, Result};

const SECTOR: u64 = 512;

/// How an array's legs keep what is said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its legs, by their positions; `None`: it is missing.
    pub legs: Vec<Option<KeptLeg>>,
    /// What the freshest superblock says.
    pub freshest: KeptSuperblock,
    /// How the bitmap is, but for its regions; `None`: there is none.
    pub bitmap: Option<KeptBitmap>,
    /// When the array was opened, in seconds since 1970.
    pub opened: u64,
}

/// A leg.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptLeg {
    /// Bytes of its device.
    pub device: u64,
    /// What it said when the array was opened, or is to say.
    pub superblock: KeptSuperblock,
}

/// A superblock, in one of the formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptSuperblock {
    /// 1.0, 1.1 and 1.2.
    New(Box<Superblock1>),
    /// 0.90.
    Old(Box<Superblock090>),
}

/// What a bitmap says besides its regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptBitmap {
    /// Seconds between two looks for regions that can be taken off.
    pub daemon_sleep: u32,
    /// Writes that may not be on legs that are written late.
    pub write_behind: u32,
    /// Sectors that are kept free for it; 0: not said.
    pub sectors_reserved: u32,
}

impl From<&Bitmap> for KeptBitmap {
    fn from(bitmap: &Bitmap) -> Self {
        Self {
            daemon_sleep: bitmap.daemon_sleep,
            write_behind: bitmap.write_behind,
            sectors_reserved: bitmap.sectors_reserved,
        }
    }
}

impl KeptSuperblock {
    /// Reads what is at a place of a device of so many bytes; `None`: no superblock.
    ///
    /// # Errors
    ///
    /// It is damaged, not understood, or says what cannot be on such a device.
    pub fn decode(bytes: &[u8], place: Place, device: u64) -> Result<Option<Self>> {
        if place == Place::EndOld {
            let old = Superblock090::decode(bytes, device)?;
            return Ok(old.map(|old| Self::Old(Box::new(old))));
        }
        let new = Superblock1::decode(bytes, place, device)?;
        Ok(new.map(|new| Self::New(Box::new(new))))
    }

    /// What is written at its place.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::New(new) => new.encode(),
            Self::Old(old) => old.encode(),
        }
    }

    /// What it says, on a device of so many bytes on which it was found.
    pub fn claim(&self, device: u64) -> Claim {
        match self {
            Self::New(new) => new.claim(),
            Self::Old(old) => old.claim(device),
        }
    }

    /// Says from now on, in seconds since 1970, that nothing is being written: the bytes of that.
    pub fn rest(&mut self, now: u64) -> Vec<u8> {
        match self {
            Self::New(new) => {
                new.resync_offset = u64::MAX;
                new.events = new.events.saturating_add(1);
                new.updated = now;
            }
            Self::Old(_) => unreachable!("it has no logs that could say so"),
        }
        self.encode()
    }

    /// Where it is.
    pub fn place(&self) -> Place {
        match self {
            Self::New(new) => new.place,
            Self::Old(_) => Place::EndOld,
        }
    }
}

impl Kept {
    /// What the bytes beside a leg say.
    pub(in crate::raid) fn found(
        &self,
        leg: usize,
        described: &Described,
        bytes: &[u8],
    ) -> LegFound {
        match self.read(leg, described, bytes) {
            Ok((superblock, bits)) => LegFound::Holds(Box::new(superblock), bits),
            Err(error) => LegFound::Damaged(error.to_string()),
        }
    }

    fn read(&self, leg: usize, described: &Described, bytes: &[u8]) -> Result<(Superblock, Bits)> {
        let damaged = |what: &str| Error::new(Kind::Damaged, what);
        let Some((superblock, bits)) = bytes.split_at_checked(bitmap::START as usize) else {
            return Err(damaged("what is beside its data is cut off"));
        };
        let Some(own) = self.legs.get(leg).and_then(Option::as_ref) else {
            return Err(damaged("it was not there when the array was opened"));
        };
        let place = own.superblock.place();
        let read = KeptSuperblock::decode(superblock, place, own.device)?;
        let claim = read
            .map(|read| read.claim(own.device))
            .ok_or_else(|| damaged("its superblock is gone"))?;
        let known = own.superblock.claim(own.device);
        if (claim.uuid, claim.number) != (known.uuid, known.number) {
            return Err(damaged("it is of another array by now"));
        }
        let bits = self.bits(&claim, described, bits)?;
        Ok((as_the_machine_says(leg, &claim, described), bits))
    }

    /// What is in doubt.
    fn bits(&self, claim: &Claim, described: &Described, bytes: &[u8]) -> Result<Bits> {
        let size = described.geometry.sync_size();
        if self.bitmap.is_none() {
            let Position::Sector(sector) = claim.resync else {
                return Ok(Bits::None);
            };
            let mut dirty = Dirty::clean(described.region_size, size)?;
            let first = sector.saturating_mul(SECTOR) / described.region_size;
            (first..dirty.regions()).for_each(|region| dirty.set(region));
            let bitmap = Bitmap {
                // Nobody knows what a leg lacks that was away.
                events_cleared: u64::MAX,
                ..Bitmap::new(size, claim.events, dirty)
            };
            return Ok(Bits::Bitmap(bitmap));
        }
        Ok(match Bitmap::decode(bytes) {
            Ok(Some(bitmap)) => match Self::misfit(&bitmap, claim, described) {
                None if claim.resync == Position::End => Bits::Resting(bitmap),
                None => Bits::Bitmap(bitmap),
                Some(why) => Bits::Damaged(why),
            },
            Ok(None) => Bits::Damaged("there is none".into()),
            Err(error) => Bits::Damaged(error.to_string()),
        })
    }

    /// Why a bitmap is not that of this array, if it is not.
    fn misfit(bitmap: &Bitmap, claim: &Claim, described: &Described) -> Option<String> {
        let size = described.geometry.sync_size();
        if bitmap.uuid != claim.uuid {
            return Some("it is another array's".into());
        }
        let theirs = (bitmap.sync_size, bitmap.dirty.region());
        (theirs != (size, described.region_size)).then(|| {
            format!(
                "it has regions of {} bytes for {} bytes, not {} for {size}",
                theirs.1, theirs.0, described.region_size
            )
        })
    }

    /// The bitmap as it is kept.
    pub(in crate::raid) fn bitmap(&self, bitmap: Bitmap) -> Bitmap {
        let Some(kept) = self.bitmap else {
            return bitmap;
        };
        Bitmap {
            uuid: self.uuid(),
            daemon_sleep: kept.daemon_sleep,
            write_behind: kept.write_behind,
            sectors_reserved: kept.sectors_reserved,
            ..bitmap
        }
    }

    /// What the headers of its logs of partial parity are signed with; `None`: it has none.
    pub(in crate::raid) fn log_signature(&self) -> Option<u32> {
        let KeptSuperblock::New(freshest) = &self.freshest else {
            return None;
        };
        let claim = freshest.claim();
        matches!(claim.guard, Guard::PartialParity(_)).then(|| signature(&claim.uuid))
    }

    fn uuid(&self) -> [u8; 16] {
        let legs = self.legs.iter().flatten();
        let mut uuids = legs.map(|leg| leg.superblock.claim(leg.device).uuid);
        uuids.next().expect("a leg is there")
    }

    /// The superblock of a leg, with what is said.
    pub(in crate::raid) fn superblock(&self, leg: usize, said: &Said<'_>) -> Vec<u8> {
        let own = self.legs[leg].as_ref().expect("it is there");
        match &own.superblock {
            KeptSuperblock::New(new) => self.new_superblock(leg, new, said).encode(),
            KeptSuperblock::Old(old) => self.old_superblock(leg, old, said).encode(),
        }
    }

    /// When a superblock that is written now is.
    fn updated(&self, said: &Said<'_>) -> u64 {
        self.opened.saturating_add(said.now.as_secs())
    }

    /// What was in sync, if no more is said than this.
    fn resync(said: &Said<'_>) -> Position {
        match said.activity {
            Activity::Written => Position::Sector(0),
            Activity::Resting => said.superblock.array_resync_offset,
        }
    }
}

/// What a device says, as device-mapper's superblock would.
fn as_the_machine_says(leg: usize, claim: &Claim, described: &Described) -> Superblock {
    let geometry = described.geometry;
    let (level, layout) = match claim.shape.scheme() {
        Ok(scheme) if scheme == geometry.scheme() => scheme.md(),
        _ => (
            claim.shape.level.cast_unsigned(),
            claim.shape.layout.unwrap_or_default(),
        ),
    };
    let legs = 0..geometry.legs();
    let failed: FailedDevices = legs
        .filter(|leg| !claim.roles.contains(&Role::Leg(*leg as u32)))
        .collect();
    Superblock {
        device_count: claim.device_count,
        array_position: leg as u32,
        events: claim.events,
        failed,
        disk_recovery_offset: claim.recovery.unwrap_or(Position::End),
        array_resync_offset: Position::End,
        level,
        layout,
        stripe_sectors: match geometry.scheme() {
            Scheme::Mirror => 0,
            _ => (claim.shape.chunk / SECTOR) as u32,
        },
        extended: None,
    }
}

#[cfg(test)]
mod tests;
