//! Random calls against a map, and whole runs.

use std::collections::BTreeMap;

use proptest::prelude::{ProptestConfig, any, prop, prop_assert, prop_assert_eq, proptest};

use super::calls::small;
use crate::disk::catalog;
use crate::disk::drive::Drive;
use crate::disk::rotation::Angle;
use crate::filesystem::options::{Index, Journaling, Options};
use crate::filesystem::postmark;
use crate::filesystem::{Elevator, FileSystem, Node};
use crate::workload::postmark::{Counts, Operation, Settings, Stream};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Random calls against a map of names and sizes; what must hold is looked at after each. At
    /// the end everything is deleted, and all is free.
    #[test]
    fn calls_against_a_map(
        steps in prop::collection::vec((0_u32..12, 0_u32..40, 0_u64..200_000), 1..150),
        linear in any::<bool>(),
        ordered in any::<bool>(),
    ) {
        let mut system = small(&Options {
            index: if linear { Index::Linear } else { Index::Tree },
            journaling: if ordered { Journaling::Ordered } else { Journaling::None },
            ..Options::default()
        });
        let free = system.free();
        let mut files: BTreeMap<String, u64> = BTreeMap::new();
        for (what, number, bytes) in steps {
            let name = number.to_string();
            let size = files.get(&name).copied();
            match (what, size) {
                (0..=3, None) => {
                    let file = system.create(Node::ROOT, &name).unwrap();
                    system.write(file, 0, bytes).unwrap();
                    system.close(file);
                    files.insert(name, bytes);
                }
                (0..=3, Some(size)) => {
                    let file = system.open(Node::ROOT, &name).unwrap();
                    system.write(file, size, bytes).unwrap();
                    system.close(file);
                    files.insert(name, size + bytes);
                }
                (4, Some(size)) => {
                    let file = system.open(Node::ROOT, &name).unwrap();
                    system.write(file, size / 2, 1).unwrap();
                    system.fsync(file);
                    system.close(file);
                    files.insert(name, size.max(size / 2 + 1));
                }
                (5 | 6, Some(size)) => {
                    let file = system.open(Node::ROOT, &name).unwrap();
                    prop_assert_eq!(system.read(file, 0, u64::MAX / 2), size);
                    system.close(file);
                }
                (7 | 8, Some(_)) => {
                    system.delete(Node::ROOT, &name).unwrap();
                    files.remove(&name);
                }
                (9, _) => system.sleep(bytes * 50_000),
                (10, _) => system.sync(),
                (_, None) => prop_assert!(system.open(Node::ROOT, &name).is_err()),
                (_, Some(size)) => prop_assert_eq!(system.stat(Node::ROOT, &name).unwrap(), size),
            }
            system.check();
        }
        let mut names: Vec<String> = files.keys().cloned().collect();
        names.push("lost+found".to_owned());
        names.sort();
        prop_assert_eq!(system.readdir(Node::ROOT).unwrap(), names);
        for name in files.keys() {
            system.delete(Node::ROOT, name).unwrap();
        }
        system.sync();
        system.check();
        let grown = system.blocks(Node::ROOT).len() as u64 - 1;
        prop_assert_eq!(system.free(), (free.0 - grown, free.1));
    }
}

fn on_a_drive(settings: &Settings, options: Options) -> (postmark::Outcome, FileSystem) {
    let profile = catalog::find("wd800bd-like").unwrap();
    let drive = Drive::new(profile, Angle::default()).unwrap();
    let elevator = Elevator::new(Box::new(drive), 1);
    let mut system = FileSystem::new(Box::new(elevator), options).unwrap();
    let outcome = postmark::run(&mut system, settings).unwrap();
    system.check();
    (outcome, system)
}

/// A run is the same twice; its sums are its time; it does what the stream says.
#[test]
fn a_run_is_the_same_twice() {
    let settings = Settings {
        number: 800,
        transactions: 1500,
        size: (1000, 40_000),
        ..Settings::default()
    };
    let options = Options {
        memory_bytes: 8 << 20,
        ..Options::default()
    };
    let (first, system) = on_a_drive(&settings, options.clone());
    let (second, _) = on_a_drive(&settings, options);
    assert_eq!(first, second);
    first.account.check();
    assert_eq!(first.elapsed_ns, first.account.elapsed_ns);
    assert_eq!(
        first.report.counts,
        Counts::of(Stream::new(&settings).unwrap())
    );
    assert!(first.account.misses > 0 && first.account.commits > 0);
    let names = system.directories[&2].names();
    assert_eq!(names.count(), 1, "only lost+found is left");
}

/// With a log that is too small for the load it is emptied again and again, and nothing stops.
#[test]
fn a_small_log_is_emptied() {
    let settings = Settings {
        number: 3000,
        transactions: 3000,
        size: (100, 3000),
        ..Settings::default()
    };
    let options = Options {
        log_blocks: 1024,
        ..Options::default()
    };
    let (outcome, _) = on_a_drive(&settings, options);
    assert!(outcome.account.checkpoints > 0);
}

/// Steps of `PostMark`, each made into calls by hand as it is drawn.
fn by_hand(system: &mut FileSystem, settings: &Settings) {
    let write = |system: &mut FileSystem, node: Node, mut at: u64, bytes: u64| {
        for bytes in settings.writes(bytes) {
            system.write(node, at, bytes).unwrap();
            at += bytes;
        }
        system.close(node);
    };
    let mut parents = vec![Node::ROOT];
    if settings.subdirectories > 1 {
        let numbers = 0..settings.subdirectories;
        let make = |number| system.mkdir(Node::ROOT, &format!("s{number}")).unwrap();
        parents = numbers.map(make).collect();
    }
    for step in Stream::new(settings).unwrap() {
        let parent = parents[step.file.subdirectory.unwrap_or(0) as usize];
        let name = step.file.number.to_string();
        match step.operation {
            Operation::Create { bytes } => {
                let node = system.create(parent, &name).unwrap();
                write(system, node, 0, bytes);
            }
            Operation::Append { at, bytes } => {
                let node = system.open(parent, &name).unwrap();
                write(system, node, at, bytes);
            }
            Operation::Read { bytes } => {
                let node = system.open(parent, &name).unwrap();
                let mut at = 0;
                for bytes in settings.reads(bytes) {
                    at += system.read(node, at, bytes);
                }
                system.close(node);
            }
            Operation::Delete { .. } => system.delete(parent, &name).unwrap(),
        }
    }
}

/// As a program it takes the same nanoseconds and the same requests as by hand.
#[test]
fn postmark_as_a_program_is_postmark_by_hand() {
    for subdirectories in [0, 5] {
        let settings = Settings {
            number: 600,
            transactions: 1200,
            size: (1000, 40_000),
            subdirectories,
            ..Settings::default()
        };
        let (outcome, system) = on_a_drive(&settings, Options::default());
        let profile = catalog::find("wd800bd-like").unwrap();
        let drive = Drive::new(profile, Angle::default()).unwrap();
        let elevator = Elevator::new(Box::new(drive), 1);
        let mut hand = FileSystem::new(Box::new(elevator), Options::default()).unwrap();
        by_hand(&mut hand, &settings);
        assert_eq!(system.now_ns(), hand.now_ns());
        assert_eq!(system.account(), hand.account());
        if subdirectories == 0 {
            assert_eq!(outcome.account, hand.account());
        }
    }
}
