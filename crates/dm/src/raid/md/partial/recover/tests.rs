//! Parity after a cut, held against that of the data, in memory.

use block::{Range, parity};
use proptest::prelude::{any, prop_assert, prop_assert_eq};
use proptest::proptest;

use super::{Logs, Outcome, Recovery};
use crate::Result;
use crate::crc32c::crc32c;
use crate::raid::geometry::{Geometry, Scheme};
use crate::raid::md::partial::{Entry, HEADER, Header};
use crate::raid::rotation::{Parity, Rotation};

const LEGS: usize = 4;
const CHUNK: u64 = 8192;
const ROWS: u64 = 8;
const LOG: u64 = HEADER + 64 * 1024;
const SIGNATURE: u32 = 0xfeed_beef;

/// Legs and their logs, in memory.
#[derive(Debug, Clone)]
struct Memory {
    data: Vec<Vec<u8>>,
    logs: Vec<Vec<u8>>,
}

impl Logs for Memory {
    fn log(&mut self, leg: usize, range: Range) -> Result<Vec<u8>> {
        Ok(self.logs[leg][range.start() as usize..range.end() as usize].to_vec())
    }

    fn read(&mut self, leg: usize, range: Range) -> Result<Vec<u8>> {
        Ok(self.data[leg][range.start() as usize..range.end() as usize].to_vec())
    }

    fn write(&mut self, leg: usize, start: u64, bytes: &[u8]) -> Result<()> {
        self.data[leg][start as usize..start as usize + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

fn geometry() -> Geometry {
    let scheme = Scheme::Parity(Parity::One, Rotation::LeftSymmetric);
    Geometry::new(scheme, LEGS, CHUNK, ROWS * CHUNK).expect("an array")
}

/// Legs that go together, with empty logs.
fn made(seed: u8) -> Memory {
    let len = (ROWS * CHUNK) as usize;
    let byte = |leg: usize, at: usize| (at / 3 * 7 + leg * 31) as u8 ^ seed ^ (at >> 9) as u8;
    let mut data: Vec<Vec<u8>> = (0..LEGS)
        .map(|leg| (0..len).map(|at| byte(leg, at)).collect())
        .collect();
    for row in 0..ROWS {
        let p = geometry().row(row).p;
        let range = (row * CHUNK) as usize..((row + 1) * CHUNK) as usize;
        let mut sum = vec![0; CHUNK as usize];
        for leg in (0..LEGS).filter(|leg| *leg != p) {
            parity::xor_into(&mut sum, &data[leg][range.clone()]);
        }
        data[p][range].copy_from_slice(&sum);
    }
    let mut memory = Memory {
        data,
        logs: vec![vec![0; LOG as usize]; LEGS],
    };
    (0..LEGS).for_each(|leg| memory.put(leg, 0, 1, Vec::new(), &[]));
    memory
}

impl Memory {
    fn put(&mut self, leg: usize, at: u64, generation: u64, entries: Vec<Entry>, partial: &[u8]) {
        let header = Header {
            signature: SIGNATURE,
            generation,
            entries,
        };
        let mut bytes = header.encode();
        bytes.extend_from_slice(partial);
        let at = at as usize;
        self.logs[leg][at..at + bytes.len()].copy_from_slice(&bytes);
    }

    /// The entry of a write to chunks of a row, and its partial parity.
    fn entry(
        &self,
        row: u64,
        chunks: std::ops::Range<usize>,
        (from, len): (u64, u64),
    ) -> (Entry, Vec<u8>) {
        let map = geometry().row(row);
        let start = (row * CHUNK + from) as usize;
        let mut partial = Vec::new();
        if chunks.len() < LEGS - 1 {
            partial = vec![0; len as usize];
            for index in (0..LEGS - 1).filter(|index| !chunks.contains(index)) {
                let data = &self.data[map.leg(index)];
                parity::xor_into(&mut partial, &data[start..start + len as usize]);
            }
        }
        let entry = Entry {
            sector: (row * (LEGS as u64 - 1) * CHUNK + chunks.start as u64 * CHUNK + from) / 512,
            parity_len: partial.len() as u32,
            data_len: (len * chunks.len() as u64) as u32,
            leg: map.p as u32,
            sum: crc32c(&partial),
        };
        (entry, partial)
    }

    fn is_right(&self, row: u64) -> bool {
        let range = (row * CHUNK) as usize..((row + 1) * CHUNK) as usize;
        range.into_iter().all(|at| {
            let all = self.data.iter().map(|leg| leg[at]);
            all.fold(0, |sum, byte| sum ^ byte) == 0
        })
    }

    fn recover(&mut self, missing: Option<usize>) -> Outcome {
        let legs = (0..LEGS).map(|leg| (Some(leg) != missing).then_some((u64::MAX, LOG)));
        let recovery = Recovery {
            geometry: geometry(),
            signature: SIGNATURE,
            legs: legs.collect(),
        };
        recovery.run(self).expect("memory can be read")
    }
}

fn outcome(recovered: usize, mismatches: usize) -> Outcome {
    Outcome {
        recovered,
        mismatches,
    }
}

proptest! {
    #[test]
    fn rows_that_were_cut_go_together_again(
        row in 0..ROWS,
        first in 0..LEGS - 1,
        count in 1..LEGS,
        (from, len) in (0..16_u64, 1..17_u64),
        torn in proptest::collection::vec(any::<bool>(), LEGS * 16),
        missing in proptest::option::of(0..LEGS),
    ) {
        // Proves: whichever sectors of a write are there, parity is that of the data afterwards;
        // and what a leg that is missing held, and was not written, is made up from the others.
        let chunks = first..(first + count).min(LEGS - 1);
        let (from, len) = (from * 512, (len * 512).min(CHUNK - from * 512));
        let mut memory = made(3);
        let map = geometry().row(row);
        let (entry, partial) = memory.entry(row, chunks.clone(), (from, len));
        memory.put(map.p, 0, 2, vec![entry], &partial);
        let before = memory.clone();
        let mut written: Vec<usize> = chunks.map(|index| map.leg(index)).collect();
        written.push(map.p);
        for leg in &written {
            for sector in from / 512..(from + len) / 512 {
                if torn[leg * 16 + sector as usize] {
                    let at = (row * CHUNK + sector * 512) as usize;
                    memory.data[*leg][at..at + 512].fill(0x5a);
                }
            }
        }
        let done = memory.recover(missing);
        if missing == Some(map.p) {
            // Its log is missing as well, and so is what it would be needed for.
            prop_assert_eq!(done, outcome(0, 0));
            return Ok(());
        }
        prop_assert_eq!(done, outcome(1, 0));
        let Some(missing) = missing else {
            prop_assert!(memory.is_right(row));
            return Ok(());
        };
        if !written.contains(&missing) {
            prop_assert_eq!(&memory.data[missing], &before.data[missing]);
            prop_assert!(memory.is_right(row), "it is made up right");
        }
        let others = (0..ROWS).filter(|other| *other != row);
        prop_assert!(others.into_iter().all(|row| memory.is_right(row)));
    }

    #[test]
    fn any_log_is_looked_at(
        entries in proptest::collection::vec(
            (0..1000_u64, any::<u32>(), any::<u32>(), 0..5_u32, any::<bool>()), 0..8
        ),
        small in any::<bool>(),
    ) {
        // Proves: nothing that an entry may say panics, and nothing but parity is written.
        let mut memory = made(7);
        let before = memory.clone();
        let of = |(sector, parity, data, leg, is_round)| Entry {
            sector: if small { sector } else { u64::MAX - sector },
            parity_len: if is_round { parity % 40 * 512 } else { parity },
            data_len: if is_round { data % 80 * 512 } else { data },
            leg,
            sum: 0,
        };
        let entries: Vec<Entry> = entries.into_iter().map(of).collect();
        let count = entries.len();
        memory.put(1, 0, 2, entries, &[]);
        let done = memory.recover(None);
        prop_assert_eq!(done.recovered + done.mismatches, count);
        for row in 0..ROWS {
            let p = geometry().row(row).p;
            for leg in (0..LEGS).filter(|leg| *leg != p) {
                let at = (row * CHUNK) as usize..((row + 1) * CHUNK) as usize;
                prop_assert_eq!(&memory.data[leg][at.clone()], &before.data[leg][at]);
            }
        }
    }
}

#[test]
fn the_last_header_counts() {
    // Proves: of headers behind one another the one with the most generations counts, and one of
    // another array, or of an older round, ends the search.
    let mut memory = made(1);
    let map = geometry().row(2);
    let (old, old_partial) = memory.entry(2, 0..1, (0, 4096));
    // What was not written then has changed since: the first header would do harm.
    for at in (2 * CHUNK) as usize..(2 * CHUNK) as usize + 4096 {
        memory.data[map.leg(1)][at] ^= 0xff;
        memory.data[map.p][at] ^= 0xff;
    }
    let (new, new_partial) = memory.entry(2, 0..1, (0, 4096));
    memory.put(map.p, 0, 5, vec![old], &old_partial);
    memory.put(map.p, HEADER + 4096, 6, vec![new], &new_partial);
    let mut stale = memory.clone();
    assert_eq!(memory.recover(None), outcome(1, 0));
    assert!(memory.is_right(2));
    stale.put(map.p, HEADER + 4096, 4, vec![new], &new_partial);
    assert_eq!(stale.recover(None), outcome(1, 0));
    assert!(!stale.is_right(2), "the header of generation 5 counted");
}

#[test]
fn what_does_not_add_up_is_counted() {
    // Proves: a leg without a header, partial parity that is torn, and an entry that is never
    // recovered are told, and other entries are recovered all the same.
    let mut memory = made(9);
    let map = geometry().row(3);
    let (good, partial) = memory.entry(3, 0..1, (0, 512));
    let torn = Entry {
        sum: good.sum ^ 1,
        ..good
    };
    let both = [&partial[..], &partial[..]].concat();
    memory.put(map.p, 0, 2, vec![torn, good], &both);
    assert_eq!(memory.recover(None), outcome(1, 1));
    let never = Entry::never(0, map.p as u32);
    memory.put(map.p, 0, 3, vec![good, never], &partial);
    assert_eq!(memory.recover(None), outcome(1, 1));
    memory.logs[(map.p + 1) % LEGS].fill(0);
    assert_eq!(memory.recover(None), outcome(1, 2));
}
