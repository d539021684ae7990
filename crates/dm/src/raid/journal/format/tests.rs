//! What is written is read, and nothing else is.

use block::Range;
use block::sim::Random;

use super::{BLOCK, Bounds, Entry, Head, Session, State, append, entry_len};

const BOUNDS: Bounds = Bounds {
    legs: 5,
    leg_size: 64 << 10,
    chunk: 4096,
};
const SESSION: Session = Session {
    mark: 0x1234_5678,
    generation: 7,
};

/// Number, first byte, bytes, and what legs get.
type Written = (u64, u64, u64, Vec<(usize, Vec<u8>)>);

fn chosen(random: &mut Random, number: u64) -> Written {
    let row = random.below(BOUNDS.leg_size / BOUNDS.chunk);
    let from = random.below(8);
    let len = 512 * (1 + random.below(8 - from));
    let mut legs: Vec<usize> = (0..BOUNDS.legs).filter(|_| random.chance(1, 2)).collect();
    if legs.is_empty() {
        legs.push(random.index(BOUNDS.legs));
    }
    let bytes = legs.into_iter().map(|leg| {
        let bytes = (0..len).map(|_| random.number() as u8).collect();
        (leg, bytes)
    });
    let bytes = bytes.collect();
    (number, row * BOUNDS.chunk + 512 * from, len, bytes)
}

fn add(journal: &mut Vec<u8>, (number, start, len, legs): &Written) {
    let before = journal.len() as u64;
    let run = Range::new(*start, *len);
    let bytes = legs.iter().map(|(leg, bytes)| (*leg, &bytes[..]));
    append(journal, SESSION, (*number, run), bytes);
    let added = journal.len() as u64 - before;
    assert_eq!(added, entry_len(legs.len() as u32, *len));
}

/// Entries, some of which were written at once; and where each ends.
fn journal(random: &mut Random, count: u64) -> (Vec<u8>, Vec<Written>, Vec<usize>) {
    let (mut journal, mut written, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..count {
        let one = chosen(random, 10 + 3 * number);
        add(&mut journal, &one);
        ends.push(journal.len());
        written.push(one);
        if random.chance(1, 2) {
            journal.resize(journal.len().next_multiple_of(BLOCK as usize), 0);
        }
    }
    (journal, written, ends)
}

fn assert_same(read: &[Entry<'_>], written: &[Written]) {
    assert_eq!(read.len(), written.len());
    for (read, (number, start, len, legs)) in read.iter().zip(written) {
        assert_eq!(read.number, *number);
        assert_eq!(read.run, Range::new(*start, *len));
        let bytes: Vec<(usize, Vec<u8>)> = read
            .legs()
            .map(|(leg, bytes)| (leg, bytes.to_vec()))
            .collect();
        assert_eq!(bytes, *legs);
    }
}

#[test]
fn what_is_written_is_read() {
    let mut random = Random::new(1);
    for _ in 0..100 {
        let count = random.below(9);
        let (mut bytes, written, _) = journal(&mut random, count);
        assert_same(&Entry::read_all(&bytes, SESSION, &BOUNDS), &written);
        // Older ones behind them are no part of it.
        bytes.resize(bytes.len().next_multiple_of(BLOCK as usize), 0);
        let older = Session {
            generation: SESSION.generation - 1,
            ..SESSION
        };
        let run = Range::new(0, 512);
        append(
            &mut bytes,
            older,
            (999, run),
            [(0, &[1; 512][..])].into_iter(),
        );
        assert_same(&Entry::read_all(&bytes, SESSION, &BOUNDS), &written);
    }
}

/// A byte is another one, or what follows was never written: what is in front of it counts.
#[test]
fn what_is_torn_ends_it() {
    let mut random = Random::new(2);
    for _ in 0..300 {
        let (mut bytes, written, ends) = journal(&mut random, 6);
        let at = random.index(bytes.len());
        let is_cut = random.chance(1, 2);
        if is_cut {
            bytes[at..].fill(0);
        } else {
            bytes[at] ^= 1 << random.below(8);
        }
        let read = Entry::read_all(&bytes, SESSION, &BOUNDS);
        let whole = ends.iter().filter(|end| **end <= at).count();
        // What is between entries, and zeros that were zeros, mean nothing.
        assert!(read.len() >= whole, "{} of {whole}", read.len());
        assert_same(&read, &written[..read.len()]);
    }
}

/// Nobody else's entries count, nor such as cannot be.
#[test]
fn others_entries_are_none() {
    let run = Range::new(4096, 512);
    let sessions = [
        Session {
            mark: SESSION.mark + 1,
            ..SESSION
        },
        Session {
            generation: SESSION.generation + 1,
            ..SESSION
        },
    ];
    for other in sessions {
        let mut bytes = Vec::new();
        append(
            &mut bytes,
            other,
            (1, run),
            [(0, &[1; 512][..])].into_iter(),
        );
        assert!(Entry::read_all(&bytes, SESSION, &BOUNDS).is_empty());
    }
    let impossible = [
        (5, 4096, 512),
        (0, BOUNDS.leg_size, 512),
        (0, 4096 - 512, 1024),
        (0, 100, 512),
        (0, 0, 100),
    ];
    for (leg, start, len) in impossible {
        let (mut bytes, run) = (Vec::new(), Range::new(start, len));
        let content = vec![1; len as usize];
        append(
            &mut bytes,
            SESSION,
            (1, run),
            [(leg, &content[..])].into_iter(),
        );
        assert!(
            Entry::read_all(&bytes, SESSION, &BOUNDS).is_empty(),
            "leg {leg}, {run:?}"
        );
    }
    // Numbers go up: what comes again was copied there.
    let mut bytes = Vec::new();
    for number in [4, 4] {
        append(
            &mut bytes,
            SESSION,
            (number, run),
            [(0, &[1; 512][..])].into_iter(),
        );
    }
    assert_eq!(Entry::read_all(&bytes, SESSION, &BOUNDS).len(), 1);
}

/// Any bytes are some entries or none, with sums that hold, too.
#[test]
fn nonsense_is_refused() {
    let mut random = Random::new(3);
    for _ in 0..2_000 {
        let (mut bytes, ..) = journal(&mut random, 2);
        for _ in 0..=random.below(4) {
            let at = random.index(64);
            bytes[at] = random.number() as u8;
        }
        let len = 64 + random.index(2) * 512;
        let sum = crc32fast::hash(&bytes[8..len]);
        bytes[4..8].copy_from_slice(&sum.to_le_bytes());
        for entry in Entry::read_all(&bytes, SESSION, &BOUNDS) {
            assert!(entry.run.end() <= BOUNDS.leg_size);
            assert!(entry.legs().all(|(leg, _)| leg < BOUNDS.legs));
        }
    }
}

#[test]
fn heads_are_read_and_written() {
    for state in [State::Open, State::Ended] {
        let head = Head {
            session: SESSION,
            state,
            array: 0xfeed_f00d,
            leg: 3,
        };
        let bytes = head.encode();
        assert_eq!(Head::decode(&bytes), Some(head));
        for at in 0..40 {
            let mut other = bytes.clone();
            other[at] ^= 0x10;
            assert_eq!(Head::decode(&other), None, "byte {at}");
        }
        assert_eq!(Head::decode(&bytes[..39]), None);
    }
    assert_eq!(Head::decode(&[0; 4096]), None);
}
