//! Arrays in virtual time: what disks are asked, how long that takes, and that it repeats.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use block::Range;
use block::sim::Random;

use super::{layout, load};
use crate::disk::drive::{Answer, Command, Model, Operation, Spent};
use crate::layout::{Array, Layout, METADATA, Segment};
use crate::raid::{Ask, cost};
use crate::stack::build_behind;

const CHUNK: u64 = 64 << 10;
const BLOCK: u64 = 512;

/// What disks were asked, by their numbers.
type Log = Arc<Mutex<Vec<(usize, Command)>>>;

/// A disk that notes what it is asked.
#[derive(Debug)]
struct Noting {
    number: usize,
    inner: Box<dyn Model>,
    log: Log,
}

impl Model for Noting {
    fn blocks(&self) -> u64 {
        self.inner.blocks()
    }

    fn submit(&mut self, now_ns: u64, command: Command) {
        let mut log = self.log.lock().expect("nobody panicked");
        log.push((self.number, command));
        self.inner.submit(now_ns, command);
    }

    fn wake(&self) -> Option<u64> {
        self.inner.wake()
    }

    fn answer(&mut self, now_ns: u64) -> Option<Answer> {
        self.inner.answer(now_ns)
    }

    fn account(&self, spent: &mut Spent) {
        self.inner.account(spent);
    }
}

/// An array that was written before, asked one thing at a time.
struct Asked {
    model: Box<dyn Model>,
    now_ns: u64,
    log: Log,
}

impl Asked {
    fn new(layout: &Layout) -> Self {
        let log = Log::default();
        let number = Cell::new(0);
        let front = |inner| -> Box<dyn Model> {
            let log = Arc::clone(&log);
            let number = number.replace(number.get() + 1);
            Box::new(Noting { number, inner, log })
        };
        let model = build_behind(layout, 1, front).expect("it can be built");
        let mut asked = Self {
            model,
            now_ns: 0,
            log,
        };
        // From here on legs know that it is written.
        asked.ask(Operation::Write, Range::new(0, 4096));
        asked
    }

    /// What disks were asked for the bytes of the volume, and the nanoseconds that it took.
    fn ask(&mut self, operation: Operation, range: Range) -> (Vec<(usize, Command)>, u64) {
        self.log.lock().expect("nobody panicked").clear();
        let command = Command {
            tag: 7,
            operation,
            start: range.start() / BLOCK,
            count: (range.len() / BLOCK) as u32,
        };
        let begin_ns = self.now_ns;
        self.model.submit(begin_ns, command);
        let end_ns = loop {
            let wake = self.model.wake().expect("it is answered");
            self.now_ns = self.now_ns.max(wake);
            if let Some(answer) = self.model.answer(self.now_ns) {
                break answer.at_ns;
            }
        };
        let log = std::mem::take(&mut *self.log.lock().expect("nobody panicked"));
        let is_data = |one: &(usize, Command)| one.1.start >= METADATA / BLOCK;
        (log.into_iter().filter(is_data).collect(), end_ns - begin_ns)
    }

    /// Reads and writes, and the nanoseconds that they took.
    fn count(&mut self, operation: Operation, start: u64, len: u64) -> (usize, usize, u64) {
        let (log, ns) = self.ask(operation, Range::new(start, len));
        let is_read = |one: &&(usize, Command)| one.1.operation == Operation::Read;
        let reads = log.iter().filter(is_read).count();
        (reads, log.len() - reads, ns)
    }
}

/// An array on servers that need a millisecond for anything.
fn servers(level: &str, legs: usize, begin: u64) -> Layout {
    layout(&format!(
        "[disk.s]\nserver = {{ mean_us = 1000, law = \"constant\", size = \"1G\" }}\n\
         [layout.x]\ndisks = \"s*{legs}\"\n\
         volume = [{{ {level} = \"0..{}\", chunk = \"64K\", size = \"512M\", region = \"1G\",\n\
         begin = {begin} }}]\n",
        legs - 1
    ))
}

fn array(layout: &Layout) -> &Array {
    match &layout.volume[0] {
        Segment::Raid(array) => array,
        other => panic!("an array is expected: {other:?}"),
    }
}

#[test]
fn requests_cost_what_the_books_say() {
    // A small write reads what parity needs and then writes, two rounds; a whole row and copies are
    // written at once, nothing is read; a read takes one leg.
    const MS: u64 = 1_000_000;
    for (level, legs, small, row) in [
        ("raid5", 4, (2, 2, 2 * MS), (0, 4, MS)),
        ("raid5", 6, (2, 2, 2 * MS), (0, 6, MS)),
        ("raid4", 4, (2, 2, 2 * MS), (0, 4, MS)),
        ("raid6", 8, (3, 3, 2 * MS), (0, 8, MS)),
        ("raid10", 4, (0, 2, MS), (0, 4, MS)),
        ("raid1", 3, (0, 3, MS), (0, 3, MS)),
    ] {
        let layout = servers(level, legs, 0);
        let geometry = array(&layout).geometry().expect("it is sound");
        let width = CHUNK * geometry.data_legs() as u64;
        let mut asked = Asked::new(&layout);
        let at = 5 * width;
        let what = format!("{level} on {legs}");
        assert_eq!(
            asked.count(Operation::Write, at + 8192, 4096),
            small,
            "{what}"
        );
        assert_eq!(asked.count(Operation::Write, at, width), row, "{what}");
        assert_eq!(
            asked.count(Operation::Read, at + 8192, 4096),
            (1, 0, MS),
            "{what}"
        );
    }
}

#[test]
fn disks_are_asked_as_often_as_is_counted() {
    // Random runs of chunks, and parts of chunks, against what `crate::raid` counts.
    for (level, legs) in [
        ("raid1", 2),
        ("raid4", 5),
        ("raid5", 3),
        ("raid5", 5),
        ("raid6", 5),
        ("raid6", 7),
        ("raid10", 4),
        ("raid10", 5),
    ] {
        for begin in [0, CHUNK, 96 << 10] {
            let layout = servers(level, legs, begin);
            let geometry = array(&layout).geometry().expect("it is sound");
            let mut asked = Asked::new(&layout);
            let mut random = Random::new(legs as u64 + begin);
            for _ in 0..40 {
                // In the array: whole chunks, or less than one.
                let first = 2 + random.below(500);
                let range = if random.below(2) == 0 {
                    Range::new(first * CHUNK, (1 + random.below(9)) * CHUNK)
                } else {
                    Range::new(first * CHUNK + random.below(8) * 4096, 8192)
                };
                let here = Range::new(range.start() - begin, range.len());
                for (ask, operation) in
                    [(Ask::Read, Operation::Read), (Ask::Write, Operation::Write)]
                {
                    let (log, _) = asked.ask(operation, here);
                    let is_read = |one: &&(usize, Command)| one.1.operation == Operation::Read;
                    let reads = log.iter().filter(is_read).count() as u64;
                    let blocks: u64 = log.iter().map(|(_, one)| u64::from(one.count)).sum();
                    let cost = cost(&geometry, &[], ask, range).expect("nothing is lost");
                    let what = format!("{level} on {legs} from {begin}: {ask:?} {range:?}");
                    assert_eq!(reads, cost.reads, "{what}: {log:?}");
                    // Of copies, runs of several chunks are cut at places of their own.
                    if !level.starts_with("raid1") {
                        assert_eq!(log.len() as u64, cost.requests(), "{what}: {log:?}");
                    }
                    let bytes = cost.read_bytes + cost.written_bytes;
                    assert_eq!(blocks * BLOCK, bytes, "{what}: {log:?}");
                }
            }
        }
    }
}

#[test]
fn a_read_goes_where_the_arithmetic_says() {
    // The leg and the place of single blocks, behind the metadata; the volume begins in the array.
    for begin in [0, 192 << 10, 96 << 10] {
        let layout = servers("raid5", 4, begin);
        let geometry = array(&layout).geometry().expect("it is sound");
        let mut asked = Asked::new(&layout);
        for place in (0..400).map(|step| step * 20 * 4096) {
            let (log, _) = asked.ask(Operation::Read, Range::new(place, 4096));
            let spot = geometry.spot(begin + place, 0);
            let wanted = (spot.leg, (METADATA + spot.start) / BLOCK);
            let seen: Vec<(usize, u64)> = log.iter().map(|(leg, one)| (*leg, one.start)).collect();
            assert_eq!(seen, [wanted], "byte {place} from {begin}");
        }
    }
}

#[test]
fn what_is_aligned_to_rows_stays_so_only_where_the_volume_begins_with_one() {
    // Rows of 192 KiB. The volume begins with a row, or within one: then each write of a row's
    // length is two parts of rows, both of which read.
    for (begin, is_aligned) in [
        (0, true),
        (192 << 10, true),
        (64 << 10, false),
        (1 << 20, false),
    ] {
        let mut asked = Asked::new(&servers("raid5", 4, begin));
        for row in [3, 10, 11, 500] {
            let (reads, writes, _) = asked.count(Operation::Write, row * 3 * CHUNK, 3 * CHUNK);
            if is_aligned {
                assert_eq!((reads, writes), (0, 4), "row {row} from {begin}");
            } else {
                assert!(
                    reads > 0 && writes > 4,
                    "row {row} from {begin}: {reads}, {writes}"
                );
            }
        }
    }
}

#[test]
fn the_first_write_to_a_region_is_marked() {
    // Marks of regions of 1 MiB are written before, once for each leg; in one large region none is.
    let on = |region: &str| {
        let text = format!(
            "[disk.s]\nserver = {{ mean_us = 100, law = \"constant\", size = \"1G\" }}\n\
             [layout.x]\ndisks = \"s*4\"\n\
             volume = [{{ raid5 = \"0..3\", size = \"96M\", region = \"{region}\" }}]\n"
        );
        let jobs = "[j]\nrw=write\nbs=192k\nsize=96M\n";
        let spent = load(&layout(&text), jobs, 1).spent;
        (spent.parts - spent.state_writes, spent.state_writes)
    };
    let ((data, few), (same, many)) = (on("1G"), on("1M"));
    assert_eq!(data, same, "data is written alike");
    // Of each leg 32 MiB are written.
    assert_eq!(many - few, 4 * 31, "{few}, {many}");
}

#[test]
fn one_seed_gives_an_array_the_same_nanoseconds() {
    // Twice the same, and another seed something else; reads scale as on a striped volume.
    let on = |volume: &str| {
        layout(&format!(
            "[disk.w]\nprofile = \"wd800bd-like\"\n[layout.x]\ndisks = \"w*4\"\n\
             volume = [{{ {volume} = \"0..3\", chunk = \"64K\", size = \"12G\" }}]\n"
        ))
    };
    let jobs = "[j]\nrw=randrw\nbs=16k\nsize=1G\niodepth=8\nruntime=5\ntime_based\nfsync=32\n";
    for level in ["raid1", "raid5", "raid6", "raid10"] {
        let layout = layout(&format!(
            "[disk.w]\nprofile = \"wd800bd-like\"\n[layout.x]\ndisks = \"w*6\"\n\
             volume = [{{ {level} = \"0..5\", chunk = \"64K\", size = \"12G\" }}]\n"
        ));
        let text_of = |seed| {
            let seen = load(&layout, jobs, seed);
            (seen.all().to_text(), seen.spent)
        };
        assert_eq!(text_of(3), text_of(3), "{level}");
        assert_ne!(text_of(3), text_of(4), "{level}");
    }
    let reads = "[j]\nrw=randread\nbs=16k\nsize=12G\niodepth=16\nruntime=20\ntime_based\n";
    let (array, striped) = (load(&on("raid5"), reads, 1), load(&on("raid0"), reads, 1));
    let ratio = array.per_second() / striped.per_second();
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}
