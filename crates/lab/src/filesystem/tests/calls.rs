//! Calls of which each outcome is known.

use super::parts::Recorder;
use crate::component::Component;
use crate::disk::drive::Operation;
use crate::filesystem::options::{Barrier, Journaling, Options};
use crate::filesystem::{BLOCK, FileSystem, LogPlace, Node};

pub(super) fn small(options: &Options) -> FileSystem {
    let options = Options {
        log_blocks: 1024,
        memory_bytes: 16 << 20,
        ..options.clone()
    };
    let (recorder, _) = Recorder::new();
    FileSystem::new(Box::new(recorder), options).unwrap()
}

/// What mke2fs leaves free on 20 GiB, with the log where today's mke2fs puts it.
#[test]
fn a_new_file_system_is_as_full_as_a_real_one() {
    let profile = crate::disk::capped::Cap {
        blocks: 20 << 21,
        operations: Some(100),
        bytes: None,
        burst_ns: 0,
        latency_ns: 0,
    };
    let device = crate::disk::capped::Capped::new(profile).unwrap();
    let options = Options {
        log_place: LogPlace::Start,
        ..Options::default()
    };
    let system = FileSystem::new(Box::new(device), options).unwrap();
    assert_eq!(system.free(), (5_116_558, 1_310_709));
    assert_eq!(system.blocks(Node::ROOT), [1539]);
}

/// A file is written, read back from memory, and is gone when deleted.
#[test]
fn a_files_life() {
    let mut system = small(&Options::default());
    let free = system.free();
    let file = system.create(Node::ROOT, "a").unwrap();
    system.write(file, 0, 100_000).unwrap();
    system.close(file);
    assert_eq!(system.stat(Node::ROOT, "a").unwrap(), 100_000);
    let file = system.open(Node::ROOT, "a").unwrap();
    assert_eq!(system.read(file, 0, 1 << 20), 100_000);
    assert_eq!(system.read(file, 100_000, 1), 0);
    system.close(file);
    let account = system.account();
    assert_eq!((account.hits, account.misses), (25, 0));
    assert_eq!(
        account.class(Component::FileData).writes,
        0,
        "nothing is written yet"
    );
    system.sleep(6_000_000_000);
    let account = system.account();
    let data = account.class(Component::FileData);
    assert_eq!(
        data.written_bytes,
        25 * BLOCK,
        "the commit writes the data first"
    );
    assert_eq!(account.commits, 1);
    system.check();
    system.delete(Node::ROOT, "a").unwrap();
    assert_eq!(system.free(), free);
    assert!(system.open(Node::ROOT, "a").is_err());
    system.check();
}

/// Pages, lists and windows of a large file: each page once, and all free again.
#[test]
fn a_large_file_is_contiguous_but_for_its_lists() {
    let mut system = small(&Options::default());
    let free = system.free().0;
    let file = system.create(Node::ROOT, "large").unwrap();
    system.write(file, 0, 40 << 20).unwrap();
    system.close(file);
    let blocks = system.blocks(file).to_vec();
    let jumps = blocks.windows(2).filter(|pair| pair[0] + 1 != pair[1]);
    // After 12 pages, after 1,036, and every 1,024; and the ends of groups and the log.
    assert!(jumps.count() <= 12 + 3);
    assert_eq!(free - system.free().0, 10_240 + 1 + 1 + 9);
    system.check();
    system.delete(Node::ROOT, "large").unwrap();
    assert_eq!(system.free().0, free);
    system.check();
}

/// fsync commits; with barriers it flushes once, without never.
#[test]
fn fsync_commits() {
    for (barrier, flushes) in [(Barrier::Off, 0), (Barrier::On, 1)] {
        let mut system = small(&Options {
            barrier,
            ..Options::default()
        });
        let file = system.create(Node::ROOT, "a").unwrap();
        system.write(file, 0, 10_000).unwrap();
        system.fsync(file);
        let account = system.account();
        assert_eq!((account.commits, account.flushes), (1, flushes));
        assert_eq!(account.class(Component::FileData).written_bytes, 3 * BLOCK);
        // Descriptor, record; inode bitmap, descriptors, table, directory, block bitmap (the
        // directory's inode is in the same block of the table).
        assert_eq!(account.class(Component::Journal).written_bytes, 7 * BLOCK);
        system.check();
    }
}

/// ext2 has no log: sync writes metadata in its place.
#[test]
fn without_a_log() {
    let mut system = small(&Options {
        journaling: Journaling::None,
        ..Options::default()
    });
    let free = system.free();
    let directory = system.mkdir(Node::ROOT, "d").unwrap();
    let file = system.create(directory, "a").unwrap();
    system.write(file, 0, 10_000).unwrap();
    system.close(file);
    system.sync();
    let account = system.account();
    assert_eq!(account.class(Component::Journal).writes, 0);
    assert_eq!(account.class(Component::Directory).written_bytes, 2 * BLOCK);
    assert!(account.class(Component::FreeList).written_bytes >= 2 * BLOCK);
    assert!(system.delete(Node::ROOT, "d").is_err(), "not empty");
    system.delete(directory, "a").unwrap();
    system.delete(Node::ROOT, "d").unwrap();
    assert_eq!(system.free(), free);
    system.check();
}

/// What cannot be is refused.
#[test]
fn refusals() {
    let mut system = small(&Options::default());
    let file = system.create(Node::ROOT, "a").unwrap();
    assert!(system.create(Node::ROOT, "a").is_err());
    assert!(system.write(file, 1, 1).is_err(), "a hole");
    assert!(system.delete(Node::ROOT, "a").is_err(), "it is open");
    assert!(system.create(file, "b").is_err(), "a file is no directory");
    assert!(system.create(Node::ROOT, "x/y").is_err());
    let full = system.write(file, 0, 3 << 30).unwrap_err();
    assert!(full.to_string().contains("no block is free"), "{full}");
    system.check();
}

/// Data of a transaction is answered before the log is asked for, and a barrier flushes between.
#[test]
fn data_before_log() {
    let options = Options {
        log_blocks: 1024,
        memory_bytes: 16 << 20,
        barrier: Barrier::On,
        ..Options::default()
    };
    let (recorder, seen) = Recorder::new();
    let mut system = FileSystem::new(Box::new(recorder), options).unwrap();
    let file = system.create(Node::ROOT, "a").unwrap();
    system.write(file, 0, 1 << 20).unwrap();
    let data = system.blocks(file).to_vec();
    system.fsync(file);
    let seen = seen.lock().unwrap();
    let writes: Vec<_> = seen
        .iter()
        .filter(|command| command.operation != Operation::Read)
        .collect();
    let is_data = |start: u64| data.contains(&((start / 8) as u32));
    let last_data = writes
        .iter()
        .rposition(|command| is_data(command.start))
        .unwrap();
    let flush = writes
        .iter()
        .position(|command| command.operation == Operation::Flush);
    assert_eq!(
        flush,
        Some(writes.len() - 2),
        "the flush is the last but the record"
    );
    assert_eq!(writes.last().unwrap().operation, Operation::WriteThrough);
    assert!(last_data < flush.unwrap() - 1, "log after data");
}
