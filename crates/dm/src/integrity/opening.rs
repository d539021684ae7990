//! The start of a device that is written: what was left to do is done before anybody asks for it.
//!
//! ```text
//!   never used      empty journal, or all bits set ─▸ superblock
//!   journal         what it holds ─▸ in place, flushed ─▸ emptied, if something was cut short
//!   bitmap          bits stay as they are: checksums of these blocks are computed later
//!   grown           its superblock says so, and that what came has no checksums
//!   the other mode  journal ─▸ in place, flushed ─▸ superblock: bitmap ─▸ bits
//!                   bitmap ─▸ superblock: nothing computed, if bits are set ─▸ empty journal
//!                                                                         ─▸ superblock: journal
//! ```
//!
//! Each step is durable before the next one, beginning with what the caches hold of whoever was
//! killed; cut anywhere, the next start does what is left.

use std::collections::VecDeque;

use block::{Buffer, Durability, Error};

use super::chain::{Stage, Then};
use super::config::{METADATA, Mode};
use super::device::{Integrity, Phase, Steps};
use super::format::{empty_journal, format};
use super::journal::{self, Found, Next, Round, Slot};
use super::marks::Marks;
use super::places::{Places, SECTOR};
use super::ring::Ring;
use super::superblock::Superblock;
use super::trust::Trust;
use super::writer::{Way, Writer};
use crate::Result;
use crate::machine::Step;

/// Bytes of a journal that are put in place at once.
const REPLAY: u64 = 1 << 20;

/// What is left to do.
#[derive(Debug)]
pub(super) struct Opening {
    /// What a killed process wrote may be in caches only, be it a bit or a section.
    is_flushed: bool,
    replay: VecDeque<(u64, Slot)>,
    stages: VecDeque<Stage>,
}

impl Opening {
    /// Whether the journal holds something.
    pub(super) fn replays(&self) -> bool {
        !self.replay.is_empty()
    }
}

impl Integrity {
    /// What has to be done before it is written.
    pub(super) fn plan_opening(&mut self) -> Result<Writer> {
        let known = self.known();
        let mut stages = VecDeque::new();
        let plan = if let (Some(old), Some(places)) = (&known.superblock, &known.places) {
            Plan {
                old: Some(old),
                superblock: grown(old, places, &known.trust),
                places: places.clone(),
                trust: known.trust.clone(),
            }
        } else {
            let (superblock, places) = format(&self.config, &self.legs)?;
            Plan {
                old: None,
                trust: Trust::new(&superblock, &places, &[]),
                superblock,
                places,
            }
        };
        let found = known.found.iter().flat_map(|found| &found.blocks);
        let replay = found.map(|(at, slot)| (*at, *slot)).collect();
        let had_bitmap = plan.old.is_some_and(|old| old.has_bitmap);
        let (way, superblock, trust) = match (self.config.mode, had_bitmap) {
            (Mode::Journal, false) => plan.journal(known.found.as_ref(), &mut stages),
            (Mode::Journal, true) => plan.journal_from_bitmap(&known.bitmap, &mut stages),
            (Mode::Bitmap, _) => {
                let unit = u64::from(self.legs[METADATA].logical_block.max(SECTOR as u32));
                plan.bitmap(had_bitmap.then_some(&known.bitmap), unit, &mut stages)
            }
        };
        let (until, places) = (trust.until(), plan.places);
        assert!(until <= places.blocks, "no more is computed than there is");
        let known = self.known_mut();
        (known.superblock, known.places) = (Some(superblock.clone()), Some(places));
        (known.trust, known.bitmap) = (trust, Vec::new());
        let opening = Opening {
            is_flushed: false,
            replay,
            stages,
        };
        Ok(Writer::new(superblock, way, opening, until))
    }

    /// Does what is next, or starts.
    pub(super) fn pump_opening(&mut self, steps: &mut Steps) {
        while self.chain.is_none() {
            let Some(writer) = &mut self.writer else {
                return;
            };
            let Some(opening) = &mut writer.opening else {
                return;
            };
            if !std::mem::replace(&mut opening.is_flushed, true) {
                self.begin_stages([Stage::flush()].into(), Then::Opened, steps);
            } else if !opening.replay.is_empty() {
                let blocks = self.replayed();
                self.begin_replay(blocks, steps);
            } else if let Some(stage) = opening.stages.pop_front() {
                self.begin_stages([stage].into(), Then::Opened, steps);
            } else {
                writer.opening = None;
                self.forget_journal();
                self.phase = Phase::Running;
                steps.push(Step::Started(Ok(())));
            }
        }
    }

    /// The next blocks that the journal holds.
    fn replayed(&mut self) -> Vec<(u64, Buffer)> {
        let known = self.known.as_ref().expect("it is loaded");
        let places = known.places.as_ref().expect("it has a superblock");
        let writer = self.writer.as_mut().expect("it is written");
        let opening = writer.opening.as_mut().expect("it is opened");
        let count = ((REPLAY / places.block) as usize).min(opening.replay.len());
        let next = opening.replay.drain(..count);
        let read = next.map(|(block, slot)| {
            let mut bytes = Buffer::zeroed(places.block as usize);
            journal::content(places, &known.journal, slot, &mut bytes);
            (block, bytes)
        });
        read.collect()
    }

    fn forget_journal(&mut self) {
        let known = self.known_mut();
        (known.found, known.journal) = (None, Vec::new());
    }

    pub(super) fn opening_failed(&mut self, error: Error, steps: &mut Steps) {
        self.writer = None;
        let what = "what was left to do for its checksums cannot be done";
        self.start_failed(&crate::Error::device(what, error), steps);
    }
}

/// What a device is, and is to be.
struct Plan<'a> {
    /// What its superblock says, if it has one.
    old: Option<&'a Superblock>,
    /// What it should say, but for how it is written.
    superblock: Superblock,
    places: Places,
    trust: Trust,
}

/// How it is written, what its superblock says then, and who has a checksum.
type Planned = (Way, Superblock, Trust);

impl Plan<'_> {
    /// Whether its superblock says what it should.
    fn is_as_it_was(&self) -> bool {
        self.old == Some(&self.superblock)
    }

    /// With a journal that goes on, or is new.
    fn journal(&self, found: Option<&Found>, stages: &mut VecDeque<Stage>) -> Planned {
        let places = &self.places;
        let next = if let Some(found) = found {
            found.next
        } else {
            stages.push_back(durable(empty_journal(places)));
            Next::Section(0, Round::FIRST.next())
        };
        if let Next::Emptied(oldest, round) = next {
            for step in journal::emptying(places, oldest) {
                let pieces = step.into_iter().map(|section| {
                    let start = places.section_start(section);
                    (start, journal::section(places, (section, round), &[]))
                });
                stages.push_back(durable(pieces));
            }
        }
        if !self.is_as_it_was() {
            stages.push_back(note(&self.superblock));
        }
        let way = Way::Journal(Ring::new(next));
        (way, self.superblock.clone(), self.trust.clone())
    }

    /// With a journal in the place of a bitmap: where bits were set nothing is computed any more.
    fn journal_from_bitmap(&self, bits: &[u8], stages: &mut VecDeque<Stage>) -> Planned {
        let mut superblock = self.superblock.clone();
        if bits.iter().any(|byte| *byte != 0) {
            superblock.recalculated = Some(0);
        }
        stages.push_back(note(&superblock));
        stages.push_back(durable(empty_journal(&self.places)));
        superblock.has_bitmap = false;
        stages.push_back(note(&superblock));
        let trust = Trust::new(&superblock, &self.places, &[]);
        let way = Way::Journal(Ring::new(Next::Section(0, Round::FIRST.next())));
        (way, superblock, trust)
    }

    /// With the bits that there are, or new ones, of which so many bytes are written at once.
    fn bitmap(&self, bits: Option<&Vec<u8>>, unit: u64, stages: &mut VecDeque<Stage>) -> Planned {
        let new = || vec![0; self.places.bitmap_len() as usize];
        let mut marks = Marks::new(&self.places, bits.cloned().unwrap_or_else(new), unit);
        let changed = marks.settle(&self.places, &self.trust);
        let mut superblock = self.superblock.clone();
        superblock.has_bitmap = true;
        let had_bitmap = bits.is_some();
        let bits = Stage::durable(if had_bitmap { changed } else { marks.all() });
        let head = if had_bitmap && self.is_as_it_was() {
            Stage::default()
        } else {
            note(&superblock)
        };
        // A journal is no bitmap before its superblock says so.
        let order = if had_bitmap || self.old.is_none() {
            [bits, head]
        } else {
            [head, bits]
        };
        stages.extend(order);
        (Way::Bitmap(marks), superblock, self.trust.clone())
    }
}

/// The superblock of a device that is as large as it is now.
fn grown(old: &Superblock, places: &Places, trust: &Trust) -> Superblock {
    let mut new = old.clone();
    new.provided_sectors = places.sector_of(places.blocks);
    if old.recalculated.is_some() || trust.until() < places.blocks {
        new.recalculated = Some(places.sector_of(trust.until()));
    }
    new
}

fn note(superblock: &Superblock) -> Stage {
    let mut stage = Stage::default();
    let bytes = Buffer::copy_of(&superblock.encode());
    stage.write(METADATA, 0, (Durability::Fua, bytes));
    stage
}

fn durable(pieces: impl Iterator<Item = (u64, Vec<u8>)>) -> Stage {
    Stage::durable(pieces.map(|(start, bytes)| (start, Buffer::copy_of(&bytes))))
}
