//! Programs on devices of which each time is known, and against a follower of names and sizes.

use super::calls::small;
use crate::component::Component;
use crate::disk::capped::{Cap, Capped};
use crate::disk::drive::Model;
use crate::disk::server::{Law, Server, ServerProfile};
use crate::filesystem::program::{Outcome, run};
use crate::filesystem::{AccessTime, FileSystem, Options};
use crate::workload::program::tests::follow;
use crate::workload::program::{
    Access, AccessKind, Bonnie, BonnieStyle, Call, Copying, Dd, Directory, Ending, File, IoZone,
    Path, Program, Warmth,
};

const MS: u64 = 1_000_000;

/// One request after the other, a millisecond each.
fn server() -> Box<dyn Model> {
    let profile = ServerProfile {
        blocks: 1 << 19,
        mean_ns: MS,
        law: Law::Constant,
    };
    Box::new(Server::new(profile, 1).unwrap())
}

/// Any number of requests at a time, a millisecond each.
fn crowd() -> Box<dyn Model> {
    let cap = Cap {
        blocks: 1 << 19,
        operations: None,
        bytes: None,
        burst_ns: 0,
        latency_ns: MS,
    };
    Box::new(Capped::new(cap).unwrap())
}

fn on(device: Box<dyn Model>, program: impl IntoIterator<Item = Call>) -> Outcome {
    let options = Options {
        log_blocks: 1024,
        memory_bytes: 8 << 20,
        access_time: AccessTime::Ignored,
        ..Options::default()
    };
    let mut system = FileSystem::new(device, options).unwrap();
    let outcome = run(&mut system, program).unwrap();
    system.check();
    outcome.total.account.check();
    outcome
}

fn programs() -> Vec<Program> {
    let mut bonnie = Bonnie::new(BonnieStyle::Bonnie, 12 << 20);
    bonnie.seeks = 200;
    let mut plus = Bonnie::new(BonnieStyle::PlusPlus, 4 << 20);
    (plus.seeks, plus.files, plus.ending) = (100, 300, Ending::Synced);
    let dd = |path| {
        Program::Dd(Dd {
            bytes: 10 << 20,
            block: 64 << 10,
            path,
            copying: Copying::Both,
            ending: Ending::Closed,
        })
    };
    let iozone = |path, warmth| {
        Program::IoZone(IoZone {
            files: vec![64 << 10, 1 << 20],
            records: vec![4 << 10, 64 << 10],
            path,
            warmth,
            ending: Ending::Closed,
        })
    };
    vec![
        Program::Bonnie(bonnie),
        Program::Bonnie(plus),
        dd(Path::Buffered),
        dd(Path::Direct),
        iozone(Path::Buffered, Warmth::Cold),
        iozone(Path::Direct, Warmth::Warm),
    ]
}

#[test]
fn what_was_done_is_what_was_asked_and_the_same_twice() {
    for program in programs() {
        let outcome = on(server(), program.stream(5).unwrap());
        assert_eq!(outcome, on(server(), program.stream(5).unwrap()));
        let mut asked = follow(program.stream(5).unwrap());
        asked.retain(|phase| !phase.name.is_empty());
        assert_eq!(outcome.phases.len(), asked.len());
        let mut elapsed_ns = 0;
        for (phase, asked) in outcome.phases.iter().zip(&asked) {
            let done = &phase.measured;
            assert_eq!(
                (
                    phase.name.as_str(),
                    done.calls,
                    done.read_bytes,
                    done.written_bytes
                ),
                (asked.name.as_str(), asked.calls, asked.read, asked.written)
            );
            assert!(done.account.processor_ns >= asked.think_ns);
            elapsed_ns += done.elapsed_ns;
        }
        assert_eq!(outcome.total.elapsed_ns, elapsed_ns);
    }
}

#[test]
fn direct_reads_wait_for_each_request() {
    // Opened from a cold memory: a block of the directory, one of the inodes, then twelve reads.
    let program = Program::Dd(Dd {
        bytes: 12 * 4096,
        block: 4096,
        path: Path::Direct,
        copying: Copying::Read,
        ending: Ending::Closed,
    });
    let outcome = on(server(), program.stream(1).unwrap());
    let account = &outcome.total.account;
    let waited = |class| account.class(class).waited_ns;
    assert_eq!(waited(Component::Directory), MS);
    assert_eq!(waited(Component::Metadata), MS);
    assert_eq!(waited(Component::FileData), 12 * MS);
    assert_eq!(outcome.total.elapsed_ns, 14 * MS + account.processor_ns);
    assert_eq!((account.hits, account.misses), (0, 0), "past the cache");
}

#[test]
fn several_seekers_wait_at_the_same_time() {
    // One server: a millisecond for each place, whoever waits. No limit: three at a time.
    let file = File(0);
    let (parent, name) = (Directory::ROOT, "f".to_owned());
    let access = |place: u64| Access {
        file,
        at: place * 16 * 4096,
        bytes: 4096,
        kind: AccessKind::Read,
    };
    let calls = |callers| {
        let create = Call::Create {
            parent,
            name: name.clone(),
            file,
        };
        let accesses = (0..60).map(access).collect();
        vec![
            create,
            Call::Write {
                file,
                at: 0,
                bytes: 4 << 20,
            },
            Call::DropCaches,
            // The block that lists the file's blocks.
            Call::Read {
                file,
                at: 1 << 20,
                bytes: 4096,
            },
            Call::phase("seeks"),
            Call::Together { callers, accesses },
            Call::Close { file },
        ]
    };
    let elapsed = |device, callers| {
        let outcome = on(device, calls(callers));
        (outcome.total.elapsed_ns, outcome.total.account)
    };
    for callers in [1, 3] {
        let (elapsed_ns, account) = elapsed(server(), callers);
        let most = 60 * MS + account.processor_ns;
        assert!(
            (59 * MS..=most).contains(&elapsed_ns),
            "{callers}: {elapsed_ns}"
        );
    }
    let (elapsed_ns, account) = elapsed(crowd(), 1);
    assert!(
        (59 * MS..=60 * MS + account.processor_ns).contains(&elapsed_ns),
        "{elapsed_ns}"
    );
    let (elapsed_ns, account) = elapsed(crowd(), 3);
    assert!(
        (19 * MS..=20 * MS + account.processor_ns).contains(&elapsed_ns),
        "{elapsed_ns}"
    );
}

#[test]
fn calls_that_cannot_be_are_refused_with_their_number() {
    let file = File(3);
    let refused = |call: Call, wanted: &str| {
        let mut system = small(&Options::default());
        let error = run(&mut system, [Call::Sync, call])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("call 2") && error.contains(wanted),
            "{error} says {wanted}"
        );
    };
    refused(Call::Close { file }, "file number 3 is not open");
    refused(
        Call::Read {
            file,
            at: 0,
            bytes: 1,
        },
        "file number 3 is not open",
    );
    let directory = Directory(9);
    refused(Call::List { directory }, "there is no directory number 9");
    let (parent, name) = (Directory::ROOT, "x".to_owned());
    refused(Call::Delete { parent, name }, "there is no 'x'");
}

#[test]
fn what_is_aside_is_not_measured() {
    let think = |ns| Call::Think { ns };
    let calls = [
        think(5),
        Call::phase("a"),
        think(7),
        Call::Aside,
        think(11),
        Call::phase("b"),
        think(13),
    ];
    let outcome = run(&mut small(&Options::default()), calls).unwrap();
    let phases: Vec<(&str, u64)> = outcome
        .phases
        .iter()
        .map(|phase| (phase.name.as_str(), phase.measured.elapsed_ns))
        .collect();
    assert_eq!(phases, [("a", 7), ("b", 13)]);
    assert_eq!(outcome.total.elapsed_ns, 20);
    assert_eq!(outcome.phase("b").unwrap().start_ns, 23);
}
