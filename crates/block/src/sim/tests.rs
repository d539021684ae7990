//! The simulated disk keeps the contract, badly; states are all there, and nothing else.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Disk, Faults, Image, Limits, Log, Random, Recorder, SimDevice, states};
use crate::clock::Clock;
use crate::memory::MemoryDevice;
use crate::{BlockingDevice, Buffer, Device, Driver, Durability, Kind, Operation, Range, Request};

const BLOCK: u64 = 512;

fn disk(faults: Faults) -> Disk {
    Disk::new("sim", Image::new(16 * BLOCK), 512, faults, 7)
}

fn write(block: u64, blocks: usize, value: u8, durability: Durability) -> Request {
    let buffer = Buffer::copy_of(&vec![value; blocks * 512]);
    Request::write(0, block * BLOCK, durability, buffer)
}

fn ask(disk: &mut Disk, request: Request) -> crate::Result<Buffer> {
    let ticket = disk.begin(request);
    let answer = disk.finish(ticket);
    answer.result.map(|()| answer.buffer)
}

/// The first byte of each block.
fn blocks(image: &Image) -> Vec<u8> {
    (0..image.size() / BLOCK)
        .map(|block| image.bytes(Range::new(block * BLOCK, 1))[0])
        .collect()
}

/// An image holds what a plain vector holds, and copies do not see later writes.
#[test]
fn images_are_like_vectors() {
    let mut random = Random::new(3);
    let size = 3 << 20;
    let mut image = Image::new(size + 512);
    let mut plain = vec![0_u8; image.size() as usize];
    let mut copies = Vec::new();
    for step in 0..300 {
        let len = [1, 100, 4096, 70_000][random.index(4)];
        let start = random.below(image.size() - len + 1);
        let span = start as usize..(start + len) as usize;
        if random.chance(1, 4) {
            image.zero(Range::new(start, len));
            plain[span].fill(0);
        } else {
            let bytes = vec![step as u8; len as usize];
            image.write(start, &bytes);
            plain[span].copy_from_slice(&bytes);
        }
        if step % 100 == 50 {
            copies.push((image.clone(), plain.clone()));
        }
    }
    copies.push((image, plain));
    for (image, plain) in copies {
        assert!(image.bytes(Range::new(0, image.size())) == plain);
        assert!(image == Image::from_bytes(&plain));
        let written: usize = image.pages().map(|(_, page)| page.len()).sum();
        assert!(written <= plain.len());
    }
}

/// What was flushed, or written with FUA, survives every cut; the rest is lost in every way.
#[test]
fn cuts_lose_what_is_not_durable() {
    let mut disk = disk(Faults::default());
    ask(&mut disk, write(0, 4, 1, Durability::Volatile)).unwrap();
    ask(&mut disk, Request::flush(0)).unwrap();
    ask(&mut disk, write(0, 2, 2, Durability::Volatile)).unwrap();
    ask(&mut disk, write(3, 1, 3, Durability::Fua)).unwrap();
    disk.begin(write(8, 1, 4, Durability::Fua));
    assert_eq!(blocks(&disk.durable())[..9], [1, 1, 1, 3, 0, 0, 0, 0, 0]);
    let mut random = Random::new(1);
    let mut seen = HashSet::new();
    for _ in 0..400 {
        let left = blocks(&disk.cut(&mut random));
        assert_eq!((left[2], left[3]), (1, 3));
        seen.insert((left[0], left[1], left[8]));
    }
    let all = [(1, 1), (1, 2), (2, 1), (2, 2)];
    let all = all.iter().flat_map(|(a, b)| [(*a, *b, 0), (*a, *b, 4)]);
    assert_eq!(seen, all.collect());
}

/// A flush covers what was answered before it began, and no more.
#[test]
fn flushes_cover_what_was_answered() {
    let mut disk = disk(Faults::default());
    let late = disk.begin(write(0, 1, 9, Durability::Volatile));
    let flush = disk.begin(Request::flush(0));
    disk.finish(late);
    disk.finish(flush).result.unwrap();
    assert_eq!(blocks(&disk.durable())[0], 0);
    assert_eq!(blocks(disk.content())[0], 9);
}

/// Each fault does what it says.
#[test]
fn faults_happen() {
    let mut faults = Faults::default();
    faults.unreadable.insert(2);
    faults.failing.insert(2, Kind::Io);
    faults.vanishing = Some(7);
    let mut disk = disk(faults);
    let read = || Request::read(0, 2 * BLOCK, Buffer::zeroed(512));
    let kind = |result: crate::Result<Buffer>| result.unwrap_err().kind();
    assert_eq!(kind(ask(&mut disk, read())), Kind::Io, "a latent error");
    let failing = write(2, 1, 1, Durability::Volatile);
    assert_eq!(kind(ask(&mut disk, failing)), Kind::Io, "the second");
    assert_eq!(kind(ask(&mut disk, read())), Kind::Io, "still");
    ask(&mut disk, write(2, 1, 1, Durability::Volatile)).unwrap();
    assert_eq!(ask(&mut disk, read()).unwrap()[0], 1, "written again");
    ask(
        &mut disk,
        Request::bare(0, Operation::Discard, Range::new(0, 16 * BLOCK)),
    )
    .unwrap();
    assert_eq!(kind(ask(&mut disk, read())), Kind::Gone);
    assert!(disk.is_gone());
}

/// A write that fails leaves the medium as it was; with a residue it may be there all the same.
#[test]
fn failed_writes_may_be_there() {
    let mut seen = HashSet::new();
    for seed in 0..200 {
        for residue in [false, true] {
            let mut faults = Faults {
                residue,
                ..Faults::default()
            };
            faults.failing.insert(1, Kind::Io);
            let mut one = Disk::new("sim", Image::new(2 * BLOCK), 512, faults, seed);
            let ticket = one.begin(write(0, 2, 1, Durability::Fua));
            let before = blocks(&one.cut(&mut Random::new(seed + 1000)));
            assert!(one.finish(ticket).result.is_err());
            let after = blocks(one.content());
            assert!(residue || (before == [0, 0] && after == [0, 0]));
            seen.insert((before, after[0]));
        }
    }
    for torn in [[0, 0], [1, 0], [0, 1], [1, 1]] {
        assert!(seen.contains(&(torn.to_vec(), 0)) && seen.contains(&(torn.to_vec(), 1)));
    }
}

/// Lost and misdirected writes are acknowledged.
#[test]
fn disks_lie() {
    let lost = Faults {
        lost_per_million: 1_000_000,
        ..Faults::default()
    };
    let mut one = disk(lost);
    ask(&mut one, write(3, 1, 5, Durability::Fua)).unwrap();
    assert_eq!(blocks(one.content()), [0; 16]);
    let elsewhere = Faults {
        misdirected_per_million: 1_000_000,
        ..Faults::default()
    };
    let mut one = disk(elsewhere);
    for _ in 0..4 {
        ask(&mut one, write(3, 1, 5, Durability::Fua)).unwrap();
    }
    let left = blocks(one.content());
    let hits = left.iter().enumerate().filter(|(_, value)| **value == 5);
    assert!(hits.count() > 1, "{left:?}");
}

/// Virtual time passes as the latency says, without anybody sleeping.
#[test]
fn slow_disks_take_virtual_time() {
    let hour = 3_600_000_000_000;
    let slow = Faults {
        latency_ns: hour,
        ..Faults::default()
    };
    let clock = Clock::virtual_time();
    let device = SimDevice::new(disk(slow), clock.clone());
    let mut blocking = BlockingDevice::open(&device).unwrap();
    blocking.write_at(&[1; 512], 0).unwrap();
    blocking.flush().unwrap();
    assert_eq!(clock.now_ns(), 2 * hour);
    let driver = Driver::new().unwrap();
    let mut queue = device.open_queue(&driver).unwrap();
    queue.submit(Request::flush(1));
    drop(queue);
    assert_eq!(device.disk().in_flight().count(), 0);
}

/// The states of a few writes are exactly the subsets, between what is certain.
#[test]
fn states_are_the_subsets() {
    let mut log = Log::new(vec![Image::new(4 * BLOCK), Image::new(4 * BLOCK)]);
    let block = |value| vec![value; 512];
    log.write(0, 0, &block(1), Durability::Volatile);
    log.write(1, 0, &block(2), Durability::Volatile);
    log.flush(0);
    log.write(0, 512, &block(3), Durability::Fua);
    log.mark();
    log.write(1, 0, &[block(4), block(4)].concat(), Durability::Volatile);
    let mut seen = HashSet::new();
    let mut count = 0;
    for state in states(&log, Limits::default(), 1) {
        let (a, b) = (blocks(&state.images[0]), blocks(&state.images[1]));
        count += 1;
        seen.insert((a[0], a[1], b[0], b[1], state.marks));
    }
    let mut expected = HashSet::new();
    // Before the flush; then until the FUA write; then the mark; then a write of two blocks.
    for b in [0, 2] {
        expected.extend([(0, 0, b, 0, 0), (1, 0, b, 0, 0), (1, 3, b, 0, 0)]);
        expected.extend([(1, 3, b, 0, 1), (1, 3, b, 4, 1)]);
        expected.extend([(1, 3, 4, 0, 1), (1, 3, 4, 4, 1)]);
    }
    assert_eq!(seen, expected);
    assert!(count >= seen.len());
}

/// Where physical blocks are larger, one that a write of several logical blocks touches may be
/// lost with what was in it before; one logical block is written or not.
#[test]
fn physical_blocks_are_lost() {
    let old = vec![9; 4 * 4096];
    let mut log = Log::new(vec![Image::from_bytes(&old)]);
    log.write(0, 4096 + 512, &vec![1; 4096], Durability::Volatile);
    log.write(0, 12288, &[2; 512], Durability::Volatile);
    let limits = Limits {
        physical_block: 4096,
        ..Limits::default()
    };
    let mut lost = HashSet::new();
    for state in states(&log, limits, 1) {
        let Some((write, block)) = state.cut.destroyed else {
            continue;
        };
        let bytes = state.images[0].bytes(block);
        assert!(
            bytes
                .iter()
                .all(|byte| *byte == bytes[0] && ![1, 2, 9].contains(byte))
        );
        let beside = state.images[0].bytes(Range::new(0, 4096));
        assert!(beside.iter().all(|byte| *byte == 9));
        lost.insert((write, block.start(), block.len()));
    }
    assert_eq!(lost, HashSet::from([(0, 4096, 4096), (0, 8192, 4096)]));
}

/// Beyond the limit there are prefixes, losses of one and two, and seeded ones; all repeatable.
#[test]
fn many_writes_are_sampled() {
    let mut log = Log::new(vec![Image::new(64 * BLOCK)]);
    for block in 0..40 {
        log.write(0, block * BLOCK, &[1; 512], Durability::Volatile);
    }
    let all: Vec<_> = states(&log, Limits::default(), 5).collect();
    assert!(all.len() >= 41 + 40 * 41 / 2 - 5 + 990, "{}", all.len());
    let again = states(&log, Limits::default(), 5);
    assert!(all.iter().zip(again).all(|(a, b)| a.cut == b.cut));
    let last = all.iter().find(|state| state.cut.lost.is_empty()).unwrap();
    assert_eq!(last.images, log.end_state());
}

/// A recorded device does what it did, and its log knows what a flush covered.
#[test]
fn histories_are_recorded() {
    let recorder = Recorder::default();
    let memory = Arc::new(MemoryDevice::new("memory", 8 * BLOCK));
    let device = recorder.record(memory).unwrap();
    let mut blocking = BlockingDevice::open(&*device).unwrap();
    blocking.write_at(&[1; 512], 0).unwrap();
    blocking.flush().unwrap();
    blocking.write_at(&[2; 1024], 512).unwrap();
    recorder.mark();
    let log = recorder.log();
    assert_eq!((log.write_count(), log.flush_count()), (2, 1));
    let left: HashSet<Vec<u8>> = states(&log, Limits::default(), 1)
        .map(|state| blocks(&state.images[0])[..3].to_vec())
        .collect();
    let whole = [[0, 0, 0], [1, 0, 0], [1, 2, 0], [1, 0, 2], [1, 2, 2]];
    assert_eq!(left, whole.iter().map(|blocks| blocks.to_vec()).collect());
    let planted = log.without_flush(0);
    assert_eq!(planted.flush_count(), 0);
    let lost = states(&planted, Limits::default(), 1);
    assert!(
        lost.into_iter()
            .any(|state| blocks(&state.images[0])[..3] == [0, 2, 2])
    );
}
