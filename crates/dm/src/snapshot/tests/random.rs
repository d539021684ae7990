//! Long histories beside a naive model.

use block::Range;
use block::sim::Random;

use super::hand::{CHUNK, CHUNKS, Hand, SIZE, STORE, config, first};
use crate::snapshot::Stored;

/// A history of requests to all faces, answered in any order; each sector is written by one request
/// at a time, so that what it holds afterwards is known.
fn history(seed: u64, snapshots: usize) {
    let mut random = Random::new(seed);
    let mut config = config(snapshots);
    for (index, snapshot) in config.snapshots.iter_mut().flatten().enumerate() {
        // Chunks of several sizes, and room for all of them.
        snapshot.chunk = CHUNK << random.below(3).min(index as u64);
        snapshot.store_size = 3 * STORE * CHUNK;
    }
    let mut hand = Hand::of(config.clone());
    hand.origin.limits.piece = CHUNK << random.below(5);
    let content: Vec<u8> = (0..CHUNKS).map(first).collect();
    let mut faces = vec![Some(content); snapshots + 1];
    for _ in 0..random.below(40) + 5 {
        batch(&mut hand, &mut faces, &mut random);
        for (face, wanted) in faces.iter().flatten().enumerate() {
            assert_eq!(
                &sectors(&hand.bytes(face, SIZE)),
                wanted,
                "seed {seed}: face {face}"
            );
        }
    }
    for (leg, wanted) in faces.iter().flatten().enumerate().skip(1) {
        assert_eq!(
            &{
                hand.flush(leg);
                hand.settle();
                through(&hand, leg)
            },
            wanted,
            "seed {seed}: what is stored of {leg}"
        );
    }
}

/// What face 0 or a snapshot holds, as one byte per sector; all bytes of a sector are alike.
fn sectors(bytes: &[u8]) -> Vec<u8> {
    let sectors = bytes.chunks(512);
    let value = |sector: &[u8]| {
        assert!(
            sector.iter().all(|byte| *byte == sector[0]),
            "no sector is torn"
        );
        sector[0]
    };
    sectors.map(value).collect()
}

/// What is on the disks of a snapshot, without asking the machine.
fn through(hand: &Hand, leg: usize) -> Vec<u8> {
    let mut bytes = hand.disks[0].content().bytes(Range::new(0, SIZE));
    let store = hand.disks[leg].content();
    let Stored::Changes(changes) = hand.stored(leg, SIZE) else {
        return sectors(&bytes);
    };
    for run in changes.runs {
        let kept = store.bytes(Range::new(run.start, run.range.len()));
        bytes[run.range.start() as usize..run.range.end() as usize].copy_from_slice(&kept);
    }
    sectors(&bytes)
}

/// Several requests at once.
fn batch(hand: &mut Hand, faces: &mut [Option<Vec<u8>>], random: &mut Random) {
    let mut busy = vec![vec![false; CHUNKS as usize]; faces.len()];
    let mut wanted = Vec::new();
    let mut reads = Vec::new();
    for _ in 0..=random.below(6) {
        let face = random.index(faces.len());
        let Some(content) = &faces[face] else {
            continue;
        };
        let sector = random.below(CHUNKS);
        let count = (1 + random.below(9)).min(CHUNKS - sector);
        let range = sector as usize..(sector + count) as usize;
        if random.chance(1, 4) {
            let tag = hand.read(face, sector, count);
            reads.push((tag, face, range, content.clone()));
        } else if !busy[face][range.clone()].contains(&true) {
            busy[face][range.clone()].fill(true);
            let is_zero = random.chance(1, 6);
            let byte = if is_zero { 0 } else { random.below(255) as u8 };
            let tag = if is_zero {
                hand.zero(face, sector, count)
            } else {
                hand.write(face, sector, count, byte)
            };
            wanted.push((tag, face, range, byte));
        }
        while random.chance(1, 2) && !hand.asked.is_empty() {
            hand.answer(random.index(hand.asked.len()));
        }
    }
    while !hand.asked.is_empty() {
        hand.answer(random.index(hand.asked.len()));
    }
    for (tag, face, range, content) in reads {
        let bytes = hand
            .answered(tag)
            .expect("it is answered")
            .expect("it is read");
        for (value, sector) in sectors(&bytes).into_iter().zip(range) {
            let is_known = busy[face][sector] || value == content[sector];
            assert!(
                is_known,
                "sector {sector} of face {face} was read as {value}"
            );
        }
    }
    for (tag, face, range, byte) in wanted {
        hand.answered(tag)
            .expect("it is answered")
            .expect("it is written");
        faces[face].as_mut().expect("it is there")[range].fill(byte);
    }
}

/// Faces and stores hold what a model of single sectors holds, whatever was asked in whatever order
/// it was answered.
#[test]
fn histories_are_like_a_plain_model() {
    for seed in 0..400 {
        history(seed, 1 + (seed % 3) as usize);
    }
}
