//! What legs keep of an array, superblock and bitmap, and the rounds in which it is written.
//!
//! A round writes what has changed to all legs that count, in this order:
//!
//! ```text
//!   bitmaps, with their events ─▸ all answered ─▸ superblocks ─▸ all answered ─▸ who waited
//! ```
//!
//! A bitmap whose events are fewer than the superblock's is not believed, and then all regions are
//! dirty; so bitmaps are first. What changes while a round runs goes into the next one. All is
//! written with FUA: what was answered is durable. Superblocks are written, with more events, where
//! something about a leg or the array has changed, and not for a mark.
//!
//! The first round comes before the first write, so that an array that is only read is not changed:
//! it tells which legs are not there. One that became smaller is told so at once. A round that was
//! cut short leaves legs with one event less, which are believed; two such rounds would leave some
//! with two less, which are not. So the round that says something new follows one that gives all
//! legs the same events, where some may have fewer: at first, as nobody knows whether what is read
//! is durable, and after a leg did not do it. By that round an array that nobody has used gets
//! superblocks with no events.
//!
//! What a leg did not do, and is needed all the same, it gets with the next round.
//!
//! Where superblocks say whether an array is written (md's do), the claim is also that: it ends
//! with a round when nothing was written for a while and all of it is durable, and at the end.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::bitmap::{Bitmap, START};
use super::keeping::{Activity, Keeping, Said};
use super::superblock::{FailedDevices, Position, Superblock};
use super::update::{members, only};
use super::view::LegSet;

/// What is written at once at least.
const BLOCK: usize = 4096;
/// Where bits begin in a bitmap.
const BITS_AT: u64 = 256;
/// Where events are in a bitmap, and those of the last region that became clean.
const EVENTS_AT: usize = 24;
const CLEARED_AT: usize = 32;
/// Where the mark of the journal is.
const MARK: std::ops::Range<usize> = super::journal::MARK_AT..super::journal::MARK_AT + 4;
/// Bytes of the bitmap that one write writes at most.
const RUN_MAX: usize = 1 << 20;

/// See the module.
#[derive(Debug)]
pub(super) struct Record {
    /// What all legs say alike, as it is written next.
    pub(super) superblock: Superblock,
    /// The bitmap, as whole blocks.
    image: Vec<u8>,
    /// Bytes of it that legs keep.
    room: usize,
    /// Blocks of it that have changed.
    changed: BTreeSet<usize>,
    /// Legs that get all of it.
    fresh: LegSet,
    /// Regions that are marked in the image, and not durably.
    marking: Vec<u64>,
    /// Whether superblocks have to be written.
    supers: bool,
    /// Whether a leg is away, and that is not durable.
    is_loss_unsaid: bool,
    /// Whether the first round is over.
    pub(super) claim: Claim,
    /// What superblocks call failed that have the present events, if some leg may have fewer.
    uneven: Option<FailedDevices>,
    /// Whether superblocks were not written to a leg, and are with the next round.
    again: bool,
    stage: Stage,
    round: u64,
    /// Who waits for which round.
    waiting: VecDeque<(u64, usize)>,
    /// Legs that joined, and the round that says so.
    joined: Vec<(u64, usize)>,
}

/// Whether legs were told that the array is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// They were not.
    Not,
    Underway,
    Held,
}

/// What a round is at.
#[derive(Debug)]
enum Stage {
    Idle,
    Bitmaps(Round),
    Superblocks(Round),
}

/// A round.
#[derive(Debug, Default)]
struct Round {
    /// Writes that were not answered.
    out: usize,
    marks: Vec<u64>,
    supers: bool,
    says_loss: bool,
    claims: bool,
    level: Level,
    /// What superblocks call failed.
    said: FailedDevices,
    /// Legs that did not write, and those that were asked.
    failed: LegSet,
    asked: LegSet,
}

/// Something to write to the metadata of a leg.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) leg: usize,
    pub(super) start: u64,
    pub(super) bytes: Vec<u8>,
}

/// A round that is over.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// Regions whose marks are durable.
    pub(super) marks: Vec<u64>,
    /// Who waited.
    pub(super) waiters: Vec<usize>,
    /// Legs that did not write, and those that did.
    pub(super) failed: LegSet,
    pub(super) good: LegSet,
    pub(super) level: Level,
    /// Legs of which it says for the first time that they are there.
    pub(super) joined: Vec<usize>,
}

/// What a round is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Level {
    /// To say what is new.
    #[default]
    Kept,
    /// To give all legs the same events.
    Raised,
}

impl Record {
    /// Of an array whose superblocks are to say this, and whose bitmap is to be like this; the
    /// newest ones call these legs failed.
    pub(super) fn new(superblock: Superblock, bitmap: &Bitmap, failed: FailedDevices) -> Self {
        let mut image = bitmap.encode();
        image.resize(image.len().next_multiple_of(BLOCK), 0);
        Self {
            superblock,
            room: image.len(),
            image,
            changed: BTreeSet::new(),
            fresh: LegSet::MAX,
            marking: Vec::new(),
            supers: false,
            is_loss_unsaid: false,
            claim: Claim::Not,
            uneven: Some(failed),
            again: false,
            stage: Stage::Idle,
            round: 0,
            waiting: VecDeque::new(),
            joined: Vec::new(),
        }
    }

    /// The same, of whose bitmap legs keep so many bytes: all that count, or none.
    #[must_use]
    pub(super) fn within(mut self, room: u64) -> Self {
        self.room = self.image.len().min(room as usize);
        self
    }

    /// All legs say this from the next round on. Where it has no events, they have metadata that
    /// nobody has used.
    pub(super) fn renew(&mut self, superblock: Superblock, bitmap: &Bitmap) {
        assert!(self.is_idle(), "nothing is being written");
        let (claim, round) = (self.claim, self.round);
        let mark = self.image[MARK].try_into().expect("four bytes");
        let failed = superblock.failed;
        let is_used = superblock.events > 0;
        let is_even = self.uneven.is_none() && claim == Claim::Held && is_used;
        let room = self.room;
        assert_eq!(room, self.image.len(), "legs keep all of it");
        let uneven = (!is_even).then_some(failed);
        *self = Self {
            uneven,
            claim,
            round,
            supers: claim != Claim::Not,
            // Who is away now may not be in what was said.
            is_loss_unsaid: claim != Claim::Not,
            ..Self::new(superblock, bitmap, failed)
        };
        self.set_mark(u32::from_le_bytes(mark));
    }

    /// Bitmaps have this mark from the next round on; only such journals count.
    pub(super) fn set_mark(&mut self, mark: u32) {
        self.image[MARK].copy_from_slice(&mark.to_le_bytes());
        self.fresh = LegSet::MAX;
    }

    /// Tells legs that the array is written, with the next round.
    pub(super) fn claim(&mut self) {
        if self.claim == Claim::Not {
            self.claim = Claim::Underway;
            self.supers = true;
            self.is_loss_unsaid = true;
        }
    }

    /// Tells legs that nothing is being written any more, with the next round.
    pub(super) fn rest(&mut self) {
        assert_eq!(self.claim, Claim::Held, "it was written");
        self.claim = Claim::Not;
        self.supers = true;
    }

    /// Superblocks are written with the next round.
    pub(super) fn change(&mut self) {
        self.supers = true;
    }

    /// A leg is away: who knows nothing of it must not be believed any more.
    pub(super) fn lose(&mut self, leg: usize) {
        self.superblock.failed.insert(leg);
        self.joined.retain(|(_, other)| *other != leg);
        self.fresh &= !only(leg);
        self.supers = true;
        self.is_loss_unsaid = true;
    }

    /// A leg is there, and gets all.
    pub(super) fn join(&mut self, leg: usize) {
        self.superblock.failed.remove(leg);
        self.joined.push((self.round + 1, leg));
        self.fresh |= only(leg);
        self.supers = true;
    }

    /// Whether the legs that count have superblocks with the same events, and the next round adds
    /// to them.
    pub(super) fn is_even(&self) -> bool {
        self.uneven.is_none() && !self.again && matches!(self.stage, Stage::Idle)
    }

    /// Whether a leg is away, and that is being written, or about to be.
    pub(super) fn is_saying_loss(&self) -> bool {
        self.is_loss_unsaid() && !self.is_idle()
    }

    /// Whether something must not be answered before the next round.
    pub(super) fn is_loss_unsaid(&self) -> bool {
        let is_being_said = match &self.stage {
            Stage::Idle => false,
            Stage::Bitmaps(round) | Stage::Superblocks(round) => round.says_loss,
        };
        self.is_loss_unsaid || is_being_said
    }

    fn bit(region: u64) -> (usize, u8) {
        let at = BITS_AT + region / 8;
        (at as usize, 1 << (region % 8))
    }

    /// Marks a region, in the next round.
    pub(super) fn mark(&mut self, region: u64) {
        let (at, bit) = Self::bit(region);
        if self.image[at] & bit == 0 {
            self.image[at] |= bit;
            self.changed.insert(at / BLOCK);
        }
        self.marking.push(region);
    }

    /// Takes marks off, in the next round.
    pub(super) fn clear(&mut self, region: u64) {
        let (at, bit) = Self::bit(region);
        assert!(self.image[at] & bit != 0, "it is marked");
        self.image[at] &= !bit;
        self.changed.insert(at / BLOCK);
        let events = self.superblock.events.to_le_bytes();
        if self.image[CLEARED_AT..CLEARED_AT + 8] != events {
            self.image[CLEARED_AT..CLEARED_AT + 8].copy_from_slice(&events);
            self.changed.insert(0);
        }
    }

    /// `waiter` goes on when all that is said now is durable.
    pub(super) fn wait(&mut self, waiter: usize) {
        self.waiting.push_back((self.round + 1, waiter));
    }

    /// Whether a round should begin.
    pub(super) fn wants_round(&self) -> bool {
        let has_news = !self.changed.is_empty() || self.supers || !self.waiting.is_empty();
        matches!(self.stage, Stage::Idle) && has_news
    }

    /// Whether nothing is being written, or about to be.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.stage, Stage::Idle) && !self.wants_round()
    }

    /// Begins a round with these legs.
    pub(super) fn begin(&mut self, legs: LegSet) -> Vec<Written> {
        assert!(matches!(self.stage, Stage::Idle), "one round at a time");
        self.round += 1;
        self.supers |= std::mem::take(&mut self.again);
        let level = match self.uneven {
            Some(_) if self.supers => Level::Raised,
            _ => Level::Kept,
        };
        if self.supers {
            self.superblock.events += u64::from(level == Level::Kept);
            let events = self.superblock.events.to_le_bytes();
            self.image[EVENTS_AT..EVENTS_AT + 8].copy_from_slice(&events);
            self.changed.insert(0);
        }
        let mut written = Vec::new();
        let changed = std::mem::take(&mut self.changed);
        let blocks = self.room.div_ceil(BLOCK);
        for leg in members(legs) {
            let all = self.fresh & only(leg) != 0;
            let runs = if all {
                runs((0..blocks).collect())
            } else {
                runs(changed.range(..blocks).copied().collect())
            };
            written.extend(runs.into_iter().map(|run| {
                let bytes = run.start * BLOCK..(run.end * BLOCK).min(self.room);
                Written {
                    leg,
                    start: START + bytes.start as u64,
                    bytes: self.image[bytes].to_vec(),
                }
            }));
        }
        self.fresh &= !legs;
        self.stage = Stage::Bitmaps(Round {
            out: written.len(),
            marks: std::mem::take(&mut self.marking),
            supers: std::mem::take(&mut self.supers),
            says_loss: std::mem::take(&mut self.is_loss_unsaid),
            claims: self.claim == Claim::Underway,
            level,
            said: FailedDevices::default(),
            failed: 0,
            asked: legs,
        });
        written
    }

    fn running(&mut self) -> Option<&mut Round> {
        match &mut self.stage {
            Stage::Idle => None,
            Stage::Bitmaps(round) | Stage::Superblocks(round) => Some(round),
        }
    }

    /// A leg answered.
    pub(super) fn answered(&mut self, leg: usize, is_done: bool) {
        let round = self.running().expect("a round runs");
        round.out = round.out.checked_sub(1).expect("it was asked");
        if !is_done {
            round.failed |= only(leg);
        }
    }

    /// What is next in the present round, if nothing is out: more to write, or its end. Each leg is
    /// recovered so far, and keeps what is said in this way.
    pub(super) fn go_on(
        &mut self,
        keeping: &Keeping,
        (recovered, now): (&[Position], Duration),
    ) -> Option<Result<Vec<Written>, Ended>> {
        let round = self.running()?;
        if round.out > 0 {
            return None;
        }
        match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Bitmaps(mut round) if round.supers => {
                let legs = round.asked & !round.failed;
                round.said = match (round.level, self.uneven) {
                    (Level::Raised, Some(failed)) => failed,
                    _ => self.superblock.failed,
                };
                let said = Said {
                    superblock: &Superblock {
                        failed: round.said,
                        ..self.superblock.clone()
                    },
                    recovered,
                    activity: match self.claim {
                        Claim::Not => Activity::Resting,
                        Claim::Underway | Claim::Held => Activity::Written,
                    },
                    now,
                };
                let written = superblocks(legs, keeping, &said);
                round.out = written.len();
                self.stage = Stage::Superblocks(round);
                Some(Ok(written))
            }
            Stage::Bitmaps(round) | Stage::Superblocks(round) => Some(Err(self.end(round))),
            Stage::Idle => unreachable!("a round runs"),
        }
    }

    fn end(&mut self, round: Round) -> Ended {
        let good = round.asked & !round.failed;
        if round.says_loss && good == 0 {
            self.is_loss_unsaid = true;
        }
        if round.failed != 0 {
            self.fresh |= round.failed;
            self.again |= round.supers;
            if round.supers && round.level == Level::Kept {
                self.uneven = Some(round.said);
            }
        } else if round.level == Level::Raised {
            self.uneven = None;
        }
        if round.claims && round.level == Level::Kept && good != 0 {
            self.claim = Claim::Held;
        }
        let number = self.round;
        let mut waiters = Vec::new();
        while let Some((_, waiter)) = self.waiting.pop_front_if(|(when, _)| *when <= number) {
            waiters.push(waiter);
        }
        let says = |(when, leg): &mut (u64, usize)| {
            *when <= number && round.level == Level::Kept && good & only(*leg) != 0
        };
        let joined = self.joined.extract_if(.., says).map(|(_, leg)| leg);
        Ended {
            joined: joined.collect(),
            marks: round.marks,
            waiters,
            failed: round.failed,
            good,
            level: round.level,
        }
    }

    /// All legs have the same events: what is new is said, and then who waited goes on.
    pub(super) fn say_all(&mut self, waiters: Vec<usize>) {
        self.supers = true;
        self.is_loss_unsaid = true;
        for waiter in waiters {
            self.wait(waiter);
        }
    }
}

fn superblocks(legs: LegSet, keeping: &Keeping, said: &Said<'_>) -> Vec<Written> {
    let superblocks = members(legs).map(|leg| {
        let mut bytes = keeping.superblock(leg, said);
        bytes.resize(BLOCK, 0);
        let start = 0;
        Written { leg, start, bytes }
    });
    superblocks.collect()
}

/// Blocks that follow one another, together, as long as they may be.
fn runs(blocks: Vec<usize>) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for block in blocks {
        match runs.last_mut() {
            Some(run) if run.end == block && run.len() < RUN_MAX / BLOCK => run.end += 1,
            _ => runs.push(block..block + 1),
        }
    }
    runs
}
