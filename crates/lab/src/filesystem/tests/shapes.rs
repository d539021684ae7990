//! dbench, tar and a compiler on the file system, and the calls that only they make.

use std::collections::BTreeSet;

use super::calls::small;
use crate::disk::capped::{Cap, Capped};
use crate::filesystem::program::{Outcome, run};
use crate::filesystem::{FileSystem, Journaling, Node, Options, Spread};
use crate::workload::dbench::{Dbench, Requests, Writes, parse, stream, synthetic};
use crate::workload::program::Program;
use crate::workload::source::{Building, Ending, Work};

/// A volume of so many MiB, of 200 requests a second.
fn system(mib: u64, options: &Options) -> FileSystem {
    let cap = Cap {
        blocks: mib << 11,
        operations: Some(200),
        bytes: Some(20_000_000),
        burst_ns: 0,
        latency_ns: 0,
    };
    let options = Options {
        log_blocks: 1024,
        ..options.clone()
    };
    FileSystem::new(Box::new(Capped::new(cap).unwrap()), options).unwrap()
}

#[test]
fn a_renamed_file_keeps_its_bytes_and_takes_the_place_of_another() {
    // The other's blocks are free again; no name is lost or there twice; directories stay.
    let mut system = small(&Options::default());
    let inner = system.mkdir(Node::ROOT, "d").unwrap();
    let free = system.free();
    for (parent, name, bytes) in [(Node::ROOT, "a", 9000), (inner, "b", 50_000)] {
        let file = system.create(parent, name).unwrap();
        system.write(file, 0, bytes).unwrap();
        system.close(file);
    }
    system.rename(Node::ROOT, "a", Node::ROOT, "c").unwrap();
    assert!(!system.exists(Node::ROOT, "a").unwrap());
    system.rename(Node::ROOT, "c", inner, "b").unwrap();
    assert_eq!(system.stat(inner, "b").unwrap(), 9000);
    assert!(system.stat(Node::ROOT, "c").is_err());
    system.rename(inner, "b", inner, "b").unwrap();
    assert!(system.rename(Node::ROOT, "d", Node::ROOT, "e").is_err());
    assert!(system.rename(inner, "none", inner, "e").is_err());
    system.check();
    system.delete(inner, "b").unwrap();
    // What was freed can be used once its transaction is committed.
    system.sleep(6_000_000_000);
    assert_eq!(system.free(), free);
    system.check();
}

#[test]
fn before_linux_2_6_each_directory_went_to_the_emptiest_group() {
    // Of eight groups those without copies of the superblock are emptiest: 2, 4 and 6 in turn.
    let groups = |spread| {
        let options = Options {
            spread,
            journaling: Journaling::None,
            ..Options::default()
        };
        let mut system = system(1024, &options);
        let top = system.mkdir(Node::ROOT, "top").unwrap();
        let number = |index: u32| system.mkdir(top, &format!("d{index}")).unwrap().number();
        let numbers: Vec<u32> = (0..7).map(number).collect();
        let group = |number: &u32| system.geometry().group_of_inode(*number);
        numbers.iter().map(group).collect::<BTreeSet<u32>>().len()
    };
    assert_eq!(groups(Spread::Orlov), 1);
    assert_eq!(groups(Spread::Emptiest), 3);
}

#[test]
fn programs_on_the_model_move_the_bytes_they_ask_for() {
    // With and without a journal; books balance; the same seed gives the same nanoseconds.
    let dbench = |writes| {
        Program::Dbench(Dbench {
            requests: Requests::Synthetic(400),
            clients: 2,
            writes,
        })
    };
    let building = |work| Program::Building(Building { files: 60, work });
    let programs = [
        dbench(Writes::Cached),
        dbench(Writes::Synced),
        building(Work::Create(Ending::Synced)),
        building(Work::Extract(Ending::EachSynced)),
        building(Work::Compile { source_ns: 1000 }),
    ];
    for journaling in [Journaling::Ordered, Journaling::None] {
        let options = Options {
            journaling,
            ..Options::default()
        };
        for program in &programs {
            let once = || -> Outcome {
                let mut system = system(1024, &options);
                let outcome = run(&mut system, program.stream(3).unwrap()).unwrap();
                system.check();
                outcome
            };
            let outcome = once();
            assert_eq!(outcome, once(), "{program:?}");
            assert!(outcome.total.read_bytes > 0 && outcome.total.written_bytes > 0);
        }
    }
    let load = synthetic(400, 3);
    let counts = load.counts();
    let mut system = system(1024, &Options::default());
    let outcome = run(&mut system, stream(load, 2).unwrap()).unwrap();
    let total = &outcome.total;
    assert_eq!(
        [total.read_bytes, total.written_bytes],
        [2 * counts.read_bytes, 2 * counts.written_bytes]
    );
}

#[test]
fn a_load_file_runs_on_the_model() {
    // Every call of the fixture is one that the file system takes.
    let load = parse(include_str!("../../workload/dbench/fixtures/client.txt")).unwrap();
    let mut system = system(1024, &Options::default());
    let free = system.free().1;
    run(&mut system, stream(load, 3).unwrap()).unwrap();
    system.check();
    assert_eq!(system.free().1 + 3, free, "the clients' directories stay");
}
