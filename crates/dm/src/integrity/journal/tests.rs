//! Journals: written naively round and round, cut short anywhere, and what counts of them.

use std::collections::BTreeMap;

use block::sim::Random;

use super::{Next, Round, content, emptying, look, section};
use crate::integrity::places::Places;
use crate::integrity::places::tests::superblock;

const BLOCKS: u64 = 300;

/// A ring that is written as it should be, and what was written.
#[derive(Clone)]
struct Ring {
    places: Places,
    bytes: Vec<u8>,
    /// What is in place, durably.
    placed: BTreeMap<u64, u8>,
    /// What is in the ring, oldest first: a section's blocks and their bytes.
    held: Vec<(u64, BTreeMap<u64, u8>)>,
    next: (u64, Round),
}

impl Ring {
    fn new(log2_block: u8, sections: u32) -> Self {
        let places = Places::new(
            &superblock(log2_block, sections),
            BLOCKS << (9 + log2_block),
            1 << 30,
        );
        let places = places.expect("it fits");
        let empty = (0..places.sections).flat_map(|at| section(&places, (at, Round::FIRST), &[]));
        Self {
            bytes: empty.collect(),
            places,
            placed: BTreeMap::new(),
            held: Vec::new(),
            next: (0, Round::FIRST.next()),
        }
    }

    /// The next section with some blocks.
    fn some(&self, random: &mut Random) -> (Vec<u8>, BTreeMap<u64, u8>) {
        let count = 1 + random.below(self.places.section_entries.min(20));
        let blocks = (0..count).map(|_| (random.below(BLOCKS), random.below(256) as u8));
        let blocks: BTreeMap<u64, u8> = blocks.collect();
        let datas: Vec<(u64, Vec<u8>)> = blocks
            .iter()
            .map(|(block, byte)| (*block, vec![*byte; self.places.block as usize]))
            .collect();
        let datas: Vec<(u64, &[u8])> = datas.iter().map(|(at, data)| (*at, &data[..])).collect();
        (section(&self.places, self.next, &datas), blocks)
    }

    /// Sectors of the next section that were written; `None`: all of them.
    fn write(&mut self, bytes: &[u8], random: Option<&mut Random>) {
        let at = self.next.0;
        let len = self.places.section_len() as usize;
        // What it held is in place before.
        self.held.retain(|(section, blocks)| {
            if *section == at {
                self.placed.extend(blocks.clone());
            }
            *section != at
        });
        let place = &mut self.bytes[at as usize * len..][..len];
        let Some(random) = random else {
            return place.copy_from_slice(bytes);
        };
        for (old, new) in place.chunks_mut(512).zip(bytes.chunks(512)) {
            if random.below(2) == 0 {
                old.copy_from_slice(new);
            }
        }
    }

    fn commit(&mut self, blocks: BTreeMap<u64, u8>) {
        self.held.push((self.next.0, blocks));
        self.next.0 += 1;
        if self.next.0 == self.places.sections {
            self.next = (0, self.next.1.next());
        }
    }

    /// What is there when all that counts was put in place.
    fn replayed(&self) -> BTreeMap<u64, u8> {
        let found = look(&self.places, &self.bytes).expect("it is sound");
        let mut all = self.placed.clone();
        let mut block = vec![0; self.places.block as usize];
        for (at, slot) in &found.blocks {
            content(&self.places, &self.bytes, *slot, &mut block);
            assert!(
                block.iter().all(|byte| *byte == block[0]),
                "a block is whole"
            );
            all.insert(*at, block[0]);
        }
        all
    }

    /// What is said of how it goes on is how it does.
    fn goes_on(&self) {
        let found = look(&self.places, &self.bytes).expect("it is sound");
        assert_eq!(found.next, Next::Section(self.next.0, self.next.1));
    }

    /// Whoever comes next and empties it, if that is said, loses nothing, and the next one goes on.
    fn empties_as_it_says(&mut self, all: &BTreeMap<u64, u8>, random: &mut Random) {
        let found = look(&self.places, &self.bytes).expect("it is sound");
        if let Next::Emptied(oldest, round) = found.next {
            for step in emptying(&self.places, oldest) {
                self.empty(&step, round, all, random);
            }
            self.next = (0, round.next());
            self.goes_on();
        }
    }

    /// Empties some sections, whatever is cut short of that: `all` counts.
    fn empty(&mut self, step: &[u64], round: Round, all: &BTreeMap<u64, u8>, random: &mut Random) {
        let mut after = self.bytes.clone();
        let len = self.places.section_len() as usize;
        for at in step {
            let empty = section(&self.places, (*at, round), &[]);
            after[*at as usize * len..][..len].copy_from_slice(&empty);
        }
        let before = self.bytes.clone();
        for _ in 0..8 {
            let sectors = self.bytes.chunks_mut(512).zip(after.chunks(512));
            for (old, new) in sectors {
                if random.below(2) == 0 {
                    old.copy_from_slice(new);
                }
            }
            assert_eq!(self.replayed(), *all, "{step:?} were emptied");
            self.bytes.clone_from(&before);
        }
        self.bytes = after;
    }

    fn expected(&self) -> BTreeMap<u64, u8> {
        let mut all = self.placed.clone();
        for (_, blocks) in &self.held {
            all.extend(blocks.clone());
        }
        all
    }
}

fn shapes() -> [(u8, u32); 6] {
    [(0, 1), (0, 2), (0, 5), (3, 1), (3, 3), (2, 4)]
}

/// After any number of rounds everything that was written counts, the newest of each block; and
/// where a section was cut short, everything but that section.
#[test]
fn what_was_written_counts() {
    for (log2_block, sections) in shapes() {
        let mut random = Random::new(u64::from(sections) * 8 + u64::from(log2_block));
        let mut ring = Ring::new(log2_block, sections);
        assert!(ring.replayed().is_empty(), "a new one holds nothing");
        for step in 0..8 * sections {
            let (bytes, blocks) = ring.some(&mut random);
            let whole = ring.bytes.clone();
            let (placed, held) = (ring.placed.clone(), ring.held.clone());
            ring.write(&bytes, Some(&mut random));
            assert_eq!(
                ring.replayed(),
                ring.expected(),
                "{sections}: cut in step {step}"
            );
            (ring.bytes, ring.placed, ring.held) = (whole, placed, held);
            ring.write(&bytes, None);
            ring.commit(blocks);
            assert_eq!(
                ring.replayed(),
                ring.expected(),
                "{sections}: behind step {step}"
            );
            ring.goes_on();
        }
    }
}

/// While a ring is emptied, oldest section first and newest last, all of it counts or nothing does,
/// wherever that is cut; and what comes behind it counts again.
#[test]
fn an_emptied_ring_never_brings_back_what_is_old() {
    for (log2_block, sections) in shapes() {
        let mut random = Random::new(77 + u64::from(sections));
        for filled in 0..=2 * sections {
            let mut ring = Ring::new(log2_block, sections);
            for _ in 0..filled {
                let (bytes, blocks) = ring.some(&mut random);
                ring.write(&bytes, None);
                ring.commit(blocks);
            }
            // All is in place.
            let all = ring.expected();
            ring.placed.clone_from(&all);
            let (oldest, due) = ring.next;
            let last = if oldest == 0 { due.previous() } else { due };
            let round = last.previous().previous();
            for step in emptying(&ring.places, oldest) {
                ring.empty(&step, round, &all, &mut random);
                ring.clone().empties_as_it_says(&all, &mut random);
            }
            ring.held.clear();
            ring.next = (0, round.next());
            ring.goes_on();
            for _ in 0..3 {
                let (bytes, blocks) = ring.some(&mut random);
                ring.write(&bytes, None);
                ring.commit(blocks);
                assert_eq!(ring.replayed(), ring.expected());
            }
        }
    }
}

/// What is no journal is refused: a sector of no round, another checksum, half a block.
#[test]
fn damaged_journals_are_refused() {
    let mut ring = Ring::new(3, 3);
    let mut random = Random::new(5);
    let (bytes, blocks) = ring.some(&mut random);
    ring.write(&bytes, None);
    ring.commit(blocks);
    assert!(look(&ring.places, &ring.bytes).is_ok());
    // A commit id, data of entry 0, its checksum, its sector.
    for at in [511, 4096, 8 + 64, 0] {
        let mut bytes = ring.bytes.clone();
        bytes[at] ^= 1;
        assert!(look(&ring.places, &bytes).is_err(), "byte {at}");
    }
    // An entry of a block that is not there any more is left out.
    let mut places = ring.places.clone();
    places.blocks = 0;
    assert!(look(&places, &ring.bytes).expect("sound").blocks.is_empty());
}
