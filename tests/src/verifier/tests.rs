//! The verifier finds what it is there to find: servers that lose something, seeded here.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use block::{
    Answers, Completion, Device, Driver, Durability as Asked, Error, Info, Kind, Operation, Queue,
    Request,
};
use nbd::server::{Access, Export, Exports, Listener, Server};

use super::history::Durability;
use super::{
    BLOCK, Content, Event, FileLink, History, Journal, Load, NbdLink, Report, Survivors,
    check_files, fill, moment, shows_a_moment, write_files,
};
use crate::scratch::Scratch;

const BLOCKS: u64 = 256;
/// Every so many writes a seeded fault strikes.
const EVERY: u64 = 40;
/// One of so many flushes is done all the same: several are in flight at once, and one covers
/// for the next.
const HONEST_FLUSHES: u64 = 16;
/// Cuts that a fault may stay hidden for: one in two or three shows it, by when the answers of the
/// moment arrive and what a flush has just covered. The first that does ends the load.
const CUTS_MAX: usize = 200;
/// Requests of a load that shall find nothing.
const REQUESTS: u64 = 3000;
/// Requests that a fault may stay hidden for without a cut: a block that keeps what was zeroed is
/// usually written again before it is read, so that of 3000 requests one load in a hundred sees
/// none. Here, too, the first find ends the load.
const REQUESTS_MAX: u64 = 300_000;

/// What a faulty server does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Nothing.
    None,
    /// It answers some writes without doing them.
    LosesWrites,
    /// It does some writes one block further on.
    Misdirects,
    /// It does half of a block of some writes.
    Tears,
    /// It answers some flushes without doing them.
    SkipsFlushes,
    /// It takes FUA for a decoration.
    IgnoresFua,
    /// It answers zeroing with success and leaves the old bytes.
    KeepsWhatIsZeroed,
}

/// A disk with a volatile cache, and a fault.
struct FaultyServer {
    fault: Fault,
    count: AtomicU64,
    state: Mutex<State>,
}

struct State {
    power: Power,
    /// Requests so far.
    requests: u64,
    /// What a read finds.
    visible: Vec<u8>,
    /// What is there after the power was cut.
    durable: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Power {
    On,
    Off,
}

struct FaultyQueue {
    device: Arc<FaultyServer>,
    answers: Answers,
}

impl FaultyServer {
    fn strikes(&self, fault: Fault) -> bool {
        if self.fault != fault {
            return false;
        }
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        match fault {
            Fault::SkipsFlushes => !count.is_multiple_of(HONEST_FLUSHES),
            _ => count % EVERY == EVERY - 1,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn do_it(&self, request: &mut Request) -> block::Result<()> {
        let State {
            power,
            requests,
            visible,
            durable,
        } = &mut *self.state();
        *requests += 1;
        if *power == Power::Off {
            return Err(Error::new(Kind::Gone, "the power is off"));
        }
        let mut start = request.range.start() as usize;
        let mut end = request.range.end() as usize;
        match request.operation {
            Operation::Read => request.buffer.copy_from_slice(&visible[start..end]),
            Operation::Write => {
                if self.strikes(Fault::LosesWrites) {
                    return Ok(());
                }
                if self.strikes(Fault::Misdirects) && end + BLOCK <= visible.len() {
                    (start, end) = (start + BLOCK, end + BLOCK);
                }
                let len = if self.strikes(Fault::Tears) {
                    end - start - BLOCK / 2
                } else {
                    end - start
                };
                visible[start..start + len].copy_from_slice(&request.buffer[..len]);
            }
            Operation::WriteZeroes(_) if self.strikes(Fault::KeepsWhatIsZeroed) => {}
            Operation::WriteZeroes(_) | Operation::Discard => visible[start..end].fill(0),
            Operation::Flush => {
                if !self.strikes(Fault::SkipsFlushes) {
                    durable.copy_from_slice(visible);
                }
            }
        }
        if request.durability == Asked::Fua && self.fault != Fault::IgnoresFua {
            durable[start..end].copy_from_slice(&visible[start..end]);
        }
        Ok(())
    }
}

/// The device that the server sees.
struct Shown(Arc<FaultyServer>);

impl Device for Shown {
    fn info(&self) -> Info {
        let mut info = Info::new("faulty", BLOCKS * BLOCK as u64);
        info.fua = true;
        info.durable = true;
        info
    }

    fn open_queue(&self, driver: &Driver) -> block::Result<Box<dyn Queue>> {
        Ok(Box::new(FaultyQueue {
            device: Arc::clone(&self.0),
            answers: Answers::new(driver),
        }))
    }
}

impl Queue for FaultyQueue {
    fn submit(&mut self, mut request: Request) {
        let result = self.device.do_it(&mut request);
        self.answers.push(Completion {
            tag: request.tag,
            result,
            buffer: request.buffer,
        });
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.answers.drain_into(done);
    }

    fn in_flight(&self) -> usize {
        self.answers.len()
    }
}

fn serve(socket: &Path, device: Arc<FaultyServer>) -> Server {
    let exports = Exports::new();
    let export = Export {
        name: "faulty".to_owned(),
        description: String::new(),
        access: Access::ReadWrite,
        device: Arc::new(Shown(device)),
    };
    exports.add(export).expect("a new name");
    let server = Server::new(exports).expect("a server");
    let _ = std::fs::remove_file(socket);
    let listener = Listener::unix(socket).expect("a socket");
    server.listen(listener).expect("it listens");
    server
}

/// Loads a server with this fault; `cuts` times the server goes away, and with it, if `survivors`
/// says so, what was not flushed. Then it does `requests` more, at least.
fn verdict(fault: Fault, survivors: Survivors, cuts: usize, requests: u64) -> Report {
    let scratch = Scratch::new("verifier");
    let (socket, path) = (scratch.join("s"), scratch.join("journal"));
    let device = Arc::new(FaultyServer {
        fault,
        count: AtomicU64::new(0),
        state: Mutex::new(State {
            power: Power::On,
            requests: 0,
            visible: vec![0; BLOCKS as usize * BLOCK],
            durable: vec![0; BLOCKS as usize * BLOCK],
        }),
    });
    let journal = Journal::create(&path, 11, BLOCKS, survivors);
    let stop = AtomicBool::new(false);
    let mut server = serve(&socket, Arc::clone(&device));
    let connect = || {
        let link = || NbdLink::connect(&socket, "faulty");
        Ok(vec![link()?, link()?])
    };
    thread::scope(|scope| {
        let load = scope.spawn(|| Load::new(journal).run(connect, &stop));
        let work = |requests: u64| {
            let end = device.state().requests + requests;
            while device.state().requests < end && !load.is_finished() {
                thread::sleep(Duration::from_millis(1));
            }
        };
        for _ in 0..cuts {
            work(500);
            // What a server does at its end must not help.
            device.state().power = Power::Off;
            server.stop(Duration::ZERO);
            drop(server);
            {
                let mut state = device.state();
                if survivors == Survivors::Flushed {
                    state.visible = state.durable.clone();
                }
                state.power = Power::On;
            }
            server = serve(&socket, Arc::clone(&device));
        }
        work(requests);
        stop.store(true, Ordering::Relaxed);
        load.join().expect("a load ends")
    })
}

/// An honest server passes, through cuts that take what was not flushed, and the load was one.
#[test]
fn an_honest_server_passes() {
    for survivors in [Survivors::Answered, Survivors::Flushed] {
        let report = verdict(Fault::None, survivors, 4, REQUESTS);
        assert_eq!(report.problems, [""; 0]);
        let counts = [report.writes, report.fua, report.flushes, report.cuts];
        assert!(counts.iter().all(|&count| count > 0), "{report:?}");
    }
}

/// Every seeded fault is found.
#[test]
fn seeded_faults_are_found() {
    for fault in [
        Fault::LosesWrites,
        Fault::Misdirects,
        Fault::Tears,
        Fault::KeepsWhatIsZeroed,
    ] {
        let report = verdict(fault, Survivors::Answered, 0, REQUESTS_MAX);
        assert!(!report.problems.is_empty(), "{fault:?}: {report:?}");
    }
    for fault in [Fault::SkipsFlushes, Fault::IgnoresFua] {
        let report = verdict(fault, Survivors::Flushed, CUTS_MAX, REQUESTS);
        assert!(!report.problems.is_empty(), "{fault:?}: {report:?}");
    }
}

/// A server that forgets what was not flushed is wrong when only its process was killed.
#[test]
fn a_killed_process_may_lose_nothing() {
    let mut history = History::new(5, 4, Survivors::Answered);
    write(&mut history, 1, Durability::Volatile);
    history.apply(Event::Cut);
    assert_eq!(history.judge(2, &noise(2, 1)), Ok(1));
    history.judge(2, &[0; BLOCK]).expect_err("it was answered");
}

/// What a cut may leave: the flushed version, everything later, and nothing older; and what was
/// read stays.
#[test]
fn versions_are_cut_at_the_flush() {
    let mut history = History::new(5, 4, Survivors::Flushed);
    write(&mut history, 1, Durability::Volatile);
    write(&mut history, 2, Durability::Volatile);
    history.apply(Event::Flush { id: 3 });
    write(&mut history, 4, Durability::Volatile);
    history.apply(Event::Answered { id: 3 });
    history.judge(2, &noise(2, 2)).expect_err("4 is the newest");
    history.apply(Event::Cut);
    history.judge(2, &noise(2, 1)).expect_err("2 was flushed");
    assert_eq!(history.judge(2, &noise(2, 4)), Ok(4));
    assert_eq!(history.judge(2, &noise(2, 2)), Ok(2));
    history.apply(Event::Read {
        block: 2,
        version: 2,
    });
    history.judge(2, &noise(2, 4)).expect_err("2 was read");
    write(&mut history, 5, Durability::Fua);
    history.apply(Event::Cut);
    history.judge(2, &noise(2, 2)).expect_err("5 is durable");
    assert_eq!(history.judge(2, &noise(2, 5)), Ok(5));
}

/// A file is a device too, and its journal, read again, allows the same.
#[test]
fn a_journal_is_replayed() {
    let scratch = Scratch::new("verifier");
    let path = scratch.join("journal");
    let file = scratch.sparse("file", 64 * BLOCK as u64);
    let journal = Journal::create(&path, 3, 64, Survivors::Answered);
    let stop = AtomicBool::new(false);
    let report = thread::scope(|scope| {
        let load =
            scope.spawn(|| Load::new(journal).run(|| Ok(vec![FileLink::open(&file)?]), &stop));
        thread::sleep(Duration::from_millis(100));
        stop.store(true, Ordering::Relaxed);
        load.join().expect("a load ends")
    });
    assert_eq!(report.problems, [""; 0]);
    let (history, mut bytes) = (
        Journal::replay(&path),
        std::fs::read(&file).expect("the file"),
    );
    let judge = |bytes: &[u8]| {
        let blocks = (0..).zip(bytes.chunks_exact(BLOCK));
        blocks
            .filter(|(block, bytes)| history.judge(*block, bytes).is_err())
            .count()
    };
    assert_eq!(judge(&bytes), 0);
    bytes[5 * BLOCK + 100] ^= 1;
    bytes[9 * BLOCK..10 * BLOCK].copy_from_slice(&noise(9, u64::MAX));
    assert_eq!(judge(&bytes), 2);
}

/// A snapshot shows blocks that were there together while it was made, or is found out.
#[test]
fn moments_that_never_were_are_found() {
    let scratch = Scratch::new("verifier");
    let path = scratch.join("journal");
    let mut journal = Journal::create(&path, 5, 2, Survivors::Answered);
    // Versions 1 and 3 of block 0, 2 and 4 of block 1; the last one was never answered, and lost.
    for (id, first) in [(1, 0), (2, 1), (3, 0), (4, 1)] {
        journal.add(Event::Write {
            id,
            first,
            count: 1,
            content: Content::Noise,
            durability: Durability::Volatile,
        });
        if id < 4 {
            journal.add(Event::Answered { id });
        }
    }
    let shows = |versions: [u64; 2], window: std::ops::RangeInclusive<usize>| {
        let block = |block: usize| match versions[block] {
            0 => vec![0; BLOCK],
            version => noise(block as u64, version),
        };
        let bytes = [block(0), block(1)].concat();
        shows_a_moment(&path, &window, &bytes).is_ok()
    };
    assert_eq!(moment(&path), 7);
    assert!(shows([0, 0], 0..=7) && shows([1, 0], 0..=7) && shows([1, 2], 0..=7));
    assert!(shows([3, 2], 0..=7) && shows([3, 4], 0..=7));
    assert!(!shows([0, 2], 0..=7) && !shows([3, 0], 0..=7) && !shows([1, 4], 0..=7));
    assert!(!shows([1, 2], 7..=7) && !shows([3, 2], 0..=4));
    journal.add(Event::Cut);
    journal.add(Event::Read {
        block: 1,
        version: 2,
    });
    assert!(shows([3, 2], 9..=9) && !shows([3, 4], 0..=9));
}

/// Files that were flushed are found, and missed when they are gone, older, or changed.
#[test]
fn missing_files_are_found() {
    let scratch = Scratch::new("verifier");
    let (folder, journal) = (scratch.join("files"), scratch.join("journal"));
    std::fs::create_dir(&folder).expect("a directory");
    write_files(&folder, &journal, 1, 60).expect("files are written");
    assert_eq!(check_files(&folder, &journal, 1), Ok(60));
    for damaged in ["3", "lines"] {
        let path = folder.join(damaged);
        let bytes = std::fs::read(&path).expect("it was written");
        std::fs::write(&path, &bytes[..bytes.len() - 1]).expect("it is cut");
        assert_eq!(
            check_files(&folder, &journal, 1).map_err(|p| p.len()),
            Err(1)
        );
        std::fs::write(&path, &bytes).expect("it is mended");
    }
    std::fs::remove_file(folder.join("4")).expect("it was there");
    assert_eq!(
        check_files(&folder, &journal, 1).map_err(|p| p.len()),
        Err(1)
    );
}

fn write(history: &mut History, id: u64, durability: Durability) {
    history.apply(Event::Write {
        id,
        first: 2,
        count: 1,
        content: Content::Noise,
        durability,
    });
    history.apply(Event::Answered { id });
}

fn noise(block: u64, version: u64) -> Vec<u8> {
    let mut bytes = vec![0; BLOCK];
    fill(&mut bytes, 5, block, version, Content::Noise);
    bytes
}
