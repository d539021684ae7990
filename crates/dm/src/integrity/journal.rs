//! The journal: what was written and may not be in its place yet, with its checksums.
//!
//! It is a ring of sections. One is written at a time, whole; each of its sectors ends with a
//! commit id that says which section and sector it is, and in which of four rounds through the ring
//! it was written. So a section counts if all of its sectors are of the round that is due there:
//!
//! ```text
//!   section     0    1    2    3    4    5         rounds: … 3, 0, 1, 2, 3, 0 …
//!   round       2    2    2?   1    1    1         the last one was 2, in section 2
//!                         │    └─ looked at first: it is the oldest
//!                         └─ cut short: some of its sectors are of round 1, so it ends here
//!
//!   counts      3, 4, 5, 0, 1: in this order, so that what is newer wins
//! ```
//!
//! What a section held before was put in its place, durably, before it is written again: nothing is
//! lost with one that was cut short. To put everything in its place once more changes nothing.
//! A ring is emptied from its oldest section on, and its newest one goes last: were the power cut
//! in between, nothing old would count in front of something new.
//!
//! Hostile bytes: a commit id of no round, an entry of half a block, a checksum that is not that of
//! its data, mean that the journal cannot be believed, as with the kernel.

use std::collections::BTreeMap;

use super::places::{COMMIT, ENTRY_HEAD, ENTRY_SECTORS, Places, SECTOR, SECTOR_DATA};
use super::sums::{TAG, tag};
use crate::{Error, Kind, Result};

/// Rounds through the ring that are told apart.
const ROUNDS: u8 = 4;
const ROUND_IDS: [u64; ROUNDS as usize] = [
    0x1111_1111_1111_1111,
    0x2222_2222_2222_2222,
    0x3333_3333_3333_3333,
    0x4444_4444_4444_4444,
];
/// The upper half of an entry's sector where it holds nothing.
const UNUSED: u64 = u32::MAX as u64;

/// Which round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Round(u8);

impl Round {
    /// The one of a ring that nobody has written to.
    pub(super) const FIRST: Self = Self(0);

    pub(super) fn next(self) -> Self {
        Self((self.0 + 1) % ROUNDS)
    }

    fn previous(self) -> Self {
        Self((self.0 + ROUNDS - 1) % ROUNDS)
    }

    fn of(number: usize) -> Self {
        assert!(number < usize::from(ROUNDS), "there are four");
        Self(number as u8)
    }

    fn place(self) -> usize {
        usize::from(self.0)
    }
}

/// Where a block is in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    section: u64,
    entry: u64,
}

/// What a journal holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The newest of each block that counts.
    pub blocks: BTreeMap<u64, Slot>,
    pub(super) next: Next,
}

/// How a ring goes on when all that it holds is in place, durably.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// This section is written next, as one of this round.
    Section(u64, Round),
    /// Something was cut short: it is emptied first. This section is the oldest, and empty ones
    /// are of this round.
    Emptied(u64, Round),
}

fn commit_id(section: u64, sector: u64, round: Round) -> [u8; COMMIT] {
    (ROUND_IDS[round.place()] ^ (section << 32 | sector)).to_le_bytes()
}

/// What the bytes of a journal hold.
///
/// # Errors
///
/// They are damaged.
///
/// # Panics
///
/// They are not as many as the places say.
pub fn look(places: &Places, journal: &[u8]) -> Result<Found> {
    assert_eq!(journal.len() as u64, places.journal_len(), "all of it");
    let reader = Reader { places, journal };
    let rounds = reader.rounds()?;
    let last = last_of(&rounds)?;
    let mut due = last.previous();
    let is_used = |round: Round| rounds[round.place()].is_some();
    // What was being emptied when the power was cut.
    let is_emptied = !is_used(due) && is_used(due.previous());
    let newest = rounds[last.place()].expect("the last one is used");
    let oldest = (newest + 1) % places.sections;
    if oldest == 0 {
        due = due.next();
    }
    let mut blocks = BTreeMap::new();
    let mut section = oldest;
    let mut whole = 0;
    while whole < places.sections && !is_emptied && reader.is_whole(section, due) {
        reader.entries(section, &mut blocks)?;
        whole += 1;
        section += 1;
        if section == places.sections {
            (section, due) = (0, due.next());
        }
    }
    let next = if whole == places.sections {
        assert_eq!(section, oldest, "it went round once");
        Next::Section(oldest, due)
    } else {
        Next::Emptied(oldest, last.previous().previous())
    };
    Ok(Found { blocks, next })
}

/// The last round that was begun, of those that are used.
fn last_of(rounds: &[Option<u64>; ROUNDS as usize]) -> Result<Round> {
    let is_used = |number: usize| rounds[number].is_some();
    let all = 0..usize::from(ROUNDS);
    let highest = usize::from(ROUNDS) - 1;
    let free = if is_used(highest) {
        all.clone().find(|number| !is_used(*number))
    } else {
        // Behind the last one: what is below was used before it.
        let last = all.clone().rev().find(|number| is_used(*number));
        last.map(|number| number + 1)
    };
    let free = free.ok_or_else(|| damaged("its journal is of four rounds at once"))?;
    Ok(Round::of(free).previous())
}

/// A block as the journal has it.
pub(super) fn content(places: &Places, journal: &[u8], slot: Slot, into: &mut [u8]) {
    assert_eq!(into.len() as u64, places.block, "it is one block");
    Reader { places, journal }.content(slot, into);
}

struct Reader<'a> {
    places: &'a Places,
    journal: &'a [u8],
}

impl Reader<'_> {
    fn section(&self, section: u64) -> &[u8] {
        let len = self.places.section_len() as usize;
        &self.journal[section as usize * len..][..len]
    }

    fn round(section: u64, sector: u64, id: &[u8]) -> Option<Round> {
        let all = (0..usize::from(ROUNDS)).map(Round::of);
        all.into_iter()
            .find(|round| commit_id(section, sector, *round) == id)
    }

    /// The last section in which each round occurs.
    fn rounds(&self) -> Result<[Option<u64>; ROUNDS as usize]> {
        let mut rounds = [None; ROUNDS as usize];
        for section in 0..self.places.sections {
            for (sector, bytes) in sectors(self.section(section)) {
                let round = Self::round(section, sector, &bytes[SECTOR_DATA..]);
                let round = round.ok_or_else(|| {
                    damaged(&format!(
                        "sector {sector} of section {section} of its journal is damaged"
                    ))
                })?;
                rounds[round.place()] = Some(section);
            }
        }
        Ok(rounds)
    }

    fn is_whole(&self, section: u64, round: Round) -> bool {
        let is_of = |(sector, bytes): (u64, &[u8])| {
            bytes[SECTOR_DATA..] == commit_id(section, sector, round)
        };
        sectors(self.section(section)).all(is_of)
    }

    fn entry(&self, slot: Slot) -> &[u8] {
        let start = entry_start(self.places, slot.entry);
        &self.section(slot.section)[start..][..self.places.entry]
    }

    /// Notes the blocks of a section.
    fn entries(&self, section: u64, blocks: &mut BTreeMap<u64, Slot>) -> Result<()> {
        let places = self.places;
        let mut block = vec![0; places.block as usize];
        for entry in 0..places.section_entries {
            let slot = Slot { section, entry };
            let bytes = self.entry(slot);
            let sector = u64::from_le_bytes(*bytes.first_chunk().expect("an entry has a head"));
            if sector >> 32 == UNUSED {
                continue;
            }
            let sectors = places.block / SECTOR;
            if !sector.is_multiple_of(sectors) {
                return Err(damaged(&format!(
                    "its journal has half a block at sector {sector}"
                )));
            }
            if sector / sectors >= places.blocks {
                // It was larger once.
                continue;
            }
            self.content(slot, &mut block);
            let at = ENTRY_HEAD + COMMIT * sectors as usize;
            if bytes[at..at + TAG] != tag(sector, &block) {
                return Err(damaged(&format!(
                    "its journal has another checksum than data at sector {sector}"
                )));
            }
            blocks.insert(sector / sectors, slot);
        }
        Ok(())
    }

    fn content(&self, slot: Slot, into: &mut [u8]) {
        let places = self.places;
        let entry = self.entry(slot);
        let start = data_start(places, slot.entry);
        let data = &self.section(slot.section)[start..][..into.len()];
        into.copy_from_slice(data);
        for (number, sector) in into.chunks_mut(SECTOR as usize).enumerate() {
            let last = &entry[ENTRY_HEAD + COMMIT * number..][..COMMIT];
            sector[SECTOR_DATA..].copy_from_slice(last);
        }
    }
}

/// A section that holds these blocks, and is of this round.
pub(super) fn section(
    places: &Places,
    (section, round): (u64, Round),
    blocks: &[(u64, &[u8])],
) -> Vec<u8> {
    assert!(section < places.sections, "it is in the ring");
    assert!(
        blocks.len() as u64 <= places.section_entries,
        "there is room"
    );
    let mut bytes = vec![0; places.section_len() as usize];
    for entry in 0..places.section_entries {
        let start = entry_start(places, entry);
        let head = &mut bytes[start..][..places.entry];
        let Some((block, data)) = blocks.get(entry as usize) else {
            head[..ENTRY_HEAD].copy_from_slice(&(UNUSED << 32).to_le_bytes());
            continue;
        };
        let sector = places.sector_of(*block);
        head[..ENTRY_HEAD].copy_from_slice(&sector.to_le_bytes());
        let (sectors, _) = data.as_chunks::<{ SECTOR as usize }>();
        for (number, sector) in sectors.iter().enumerate() {
            head[ENTRY_HEAD + COMMIT * number..][..COMMIT].copy_from_slice(&sector[SECTOR_DATA..]);
        }
        let at = ENTRY_HEAD + COMMIT * sectors.len();
        head[at..at + TAG].copy_from_slice(&tag(sector, data));
        bytes[data_start(places, entry)..][..data.len()].copy_from_slice(data);
    }
    for (sector, bytes) in bytes.chunks_mut(SECTOR as usize).enumerate() {
        bytes[SECTOR_DATA..].copy_from_slice(&commit_id(section, sector as u64, round));
    }
    bytes
}

/// The sections of a ring in the order in which it is emptied: a step is durable before the next.
pub(super) fn emptying(places: &Places, oldest: u64) -> Vec<Vec<u64>> {
    assert!(oldest < places.sections, "it is in the ring");
    let at = |place: u64| (oldest + place) % places.sections;
    let last = places.sections - 1;
    let steps = [vec![oldest], (1..last).map(at).collect(), vec![at(last)]];
    let mut steps = Vec::from(steps);
    steps.retain(|step| !step.is_empty());
    if last == 0 {
        steps.truncate(1);
    }
    steps
}

/// Where an entry is in its section.
fn entry_start(places: &Places, entry: u64) -> usize {
    debug_assert!(entry < places.section_entries, "there are no more");
    let (place, sector) = (entry / ENTRY_SECTORS, entry % ENTRY_SECTORS);
    (sector * SECTOR) as usize + place as usize * places.entry
}

/// Where the data of an entry are in its section.
fn data_start(places: &Places, entry: u64) -> usize {
    (ENTRY_SECTORS * SECTOR + entry * places.block) as usize
}

fn sectors(section: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let sectors = section.chunks(SECTOR as usize).enumerate();
    sectors.map(|(number, bytes)| (number as u64, bytes))
}

fn damaged(what: &str) -> Error {
    Error::new(Kind::Damaged, what)
}

#[cfg(test)]
mod tests;
