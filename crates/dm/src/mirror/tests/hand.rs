//! A mirror whose devices answer by hand: each request waits until its test says how it ends.

use std::time::Duration;

use block::{Buffer, Durability, Error, Kind, Operation, Range, Request};

use super::{KIB, header};
use crate::machine::Machine;
use crate::map::{Ended, Map};
use crate::mirror::control::{Event, Step, Steps};
use crate::mirror::{ImageHealth, LogPlace, Mirror, MirrorConfig, MirrorImage, Notice, Reads};

mod moving;

const REGION: u64 = 16 * KIB;
/// Regions whose bits fill a block of the log.
const PER_BLOCK: u64 = 512 * 8;
const LOG: usize = 2;

struct Hand {
    mirror: Mirror,
    steps: Steps,
    /// What the devices were asked and have not answered.
    asked: Vec<(usize, Request)>,
    /// The tags of requests that were answered.
    done: Vec<u64>,
    now: Duration,
    /// Which timers are wanted, and when.
    timers: Vec<(Duration, u64)>,
    /// What was told.
    told: Vec<Notice>,
    /// Whether orders were obeyed.
    obeyed: Vec<bool>,
}

impl Hand {
    /// Two images, and a log in memory or on a disk. It has just been told to start.
    fn start(size: u64, region_size: u64, log: LogPlace) -> Self {
        Self::start_with(size, region_size, |config| config.log = log)
    }

    /// The same, with more changes to what it is made of.
    fn start_with(size: u64, region_size: u64, change: impl FnOnce(&mut MirrorConfig)) -> Self {
        let images = vec![MirrorImage::present(10, 0), MirrorImage::present(11, 1)];
        let mut config = MirrorConfig::new("mirror", size, region_size, images);
        change(&mut config);
        let infos = [("a", size), ("b", size), ("log", 64 * KIB)];
        let infos = infos.map(|(name, size)| block::Info::new(name, size));
        let mut hand = Self {
            mirror: Mirror::new(config, &infos).expect("is good"),
            steps: Steps::default(),
            asked: Vec::new(),
            done: Vec::new(),
            now: Duration::ZERO,
            timers: Vec::new(),
            told: Vec::new(),
            obeyed: Vec::new(),
        };
        hand.tell(Event::Start);
        hand
    }

    /// Two images that are in sync, and a log that is claimed.
    fn new(regions: u64) -> Self {
        let mut hand = Self::start(regions * REGION, REGION, LogPlace::Disk(LOG));
        while let Some(at) = hand.asked.iter().position(|(leg, _)| *leg == LOG) {
            let request = &mut hand.asked[at].1;
            if request.operation == Operation::Read {
                request.buffer.fill(0xff);
                request.buffer[..1024].copy_from_slice(&header(regions, &[])[..1024]);
            }
            hand.answer(at);
        }
        assert!(hand.asked.is_empty(), "there is nothing to copy");
        hand
    }

    fn tell(&mut self, event: Event) {
        self.mirror.event(event, self.now, &mut self.steps);
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Sub { leg, request } => self.asked.push((leg, request)),
                Step::Done(answer) => self.done.push(answer.tag),
                Step::Timer { at, key } => self.timers.push((at, key)),
                Step::Notice(notice) => self.told.push(notice),
                Step::Obeyed { result, .. } => self.obeyed.push(result.is_ok()),
                _ => {}
            }
        }
    }

    /// The request at this place is done.
    fn answer(&mut self, at: usize) {
        self.answer_with(at, Ok(()));
    }

    /// The request at this place cannot be done.
    fn fail(&mut self, at: usize) {
        self.answer_with(at, Err(Error::new(Kind::Io, "a bad place")));
    }

    fn answer_with(&mut self, at: usize, result: block::Result<()>) {
        let (leg, request) = self.asked.remove(at);
        let answer = request.complete(result);
        self.tell(Event::Answer { leg, answer });
    }

    /// Nothing happens until the next timer.
    fn wait(&mut self) {
        let next = (0..self.timers.len()).min_by_key(|place| self.timers[*place]);
        let (at, key) = self.timers.remove(next.expect("it waits for a time"));
        self.now = self.now.max(at);
        self.tell(Event::Timer(key));
    }

    fn write(&mut self, tag: u64, start: u64) {
        self.write_long(tag, start, 512);
    }

    fn write_long(&mut self, tag: u64, start: u64, len: u64) {
        let buffer = Buffer::zeroed(len as usize);
        let request = Request::write(tag, start, Durability::Volatile, buffer);
        self.tell(Event::Request { face: 0, request });
    }

    fn read(&mut self, tag: u64, start: u64) {
        let request = Request::read(tag, start, Buffer::zeroed(512));
        self.tell(Event::Request { face: 0, request });
    }

    /// The log answers the first thing that it was asked.
    fn answer_log(&mut self) {
        let of_log = self.asked.iter().position(|(leg, _)| *leg == LOG);
        self.answer(of_log.expect("the log was asked"));
    }

    /// Which devices are asked, sorted.
    fn legs(&self) -> Vec<usize> {
        let mut legs: Vec<usize> = self.asked.iter().map(|(leg, _)| *leg).collect();
        legs.sort_unstable();
        legs
    }
}

/// A round of the log that is several writes is over with the last of them: until then nothing of
/// what it marks is written.
#[test]
fn all_of_a_round_is_waited_for() {
    let mut hand = Hand::new(3 * PER_BLOCK);
    hand.write(1, 0);
    assert_eq!(hand.legs(), [LOG], "the first round");
    hand.write(2, REGION);
    hand.write(3, 2 * PER_BLOCK * REGION);
    assert_eq!(hand.legs(), [LOG], "who comes now waits for the next one");
    hand.answer_log();
    assert_eq!(hand.legs(), [0, 1, LOG, LOG], "the second round");
    hand.answer_log();
    assert_eq!(hand.legs(), [0, 1, LOG]);
    hand.answer_log();
    assert_eq!(hand.legs(), [0, 0, 0, 1, 1, 1]);
}

/// While a region is written, reads of it all go to one image: from several they could show the
/// new bytes and then the old ones again.
#[test]
fn a_region_that_is_written_is_read_from_one_image() {
    let mut hand = Hand::new(4);
    hand.write(1, 0);
    hand.answer(0);
    assert_eq!(
        hand.legs(),
        [0, 1],
        "the log is written, the images are being"
    );
    hand.asked.clear();
    for tag in 2..6 {
        hand.read(tag, 4096);
    }
    assert_eq!(hand.legs(), [0; 4]);
    hand.asked.clear();
    for tag in 6..10 {
        hand.read(tag, 2 * REGION);
    }
    assert!(hand.legs().contains(&1), "elsewhere they are shared");
    assert!(hand.done.is_empty());
}

/// A mirror in which all is in sync and clean has nothing to make durable when it is suspended.
#[test]
fn clean_mirrors_are_suspended_at_once() {
    let mut hand = Hand::new(4);
    hand.tell(Event::Suspend);
    assert!(hand.asked.is_empty(), "{:?} are asked", hand.legs());
}

/// An image that could not read something is asked last, though the other one has more to do.
#[test]
fn images_that_fail_are_read_last() {
    let mut hand = Hand::new(4);
    hand.read(1, 0);
    assert_eq!(hand.legs(), [0]);
    hand.fail(0);
    assert_eq!(hand.legs(), [1]);
    hand.answer(0);
    assert_eq!(hand.done, [1]);
    for tag in 2..6 {
        hand.read(tag, 2 * REGION);
    }
    assert_eq!(hand.legs(), [1; 4]);
}

/// A region is copied in pieces; the last one ends where the mirror does.
#[test]
fn copies_end_with_the_mirror() {
    let mut hand = Hand::start(300 * KIB, 512 * KIB, LogPlace::Core);
    let mut copied = Vec::new();
    while let Some((leg, request)) = hand.asked.first() {
        if request.operation != Operation::Flush {
            copied.push((*leg, request.operation, request.range));
        }
        hand.answer(0);
    }
    let pieces = [(0, 256 * KIB), (256 * KIB, 44 * KIB)];
    let wanted = pieces.map(|(start, len)| {
        let range = Range::new(start, len);
        [(0, Operation::Read, range), (1, Operation::Write, range)]
    });
    assert_eq!(copied, wanted.concat());
}

/// Regions that are being written are passed over, however many they are: a free one behind them
/// is found although nothing else happens.
#[test]
fn copies_go_on_behind_long_writes() {
    let mut hand = Hand::start(80 * REGION, REGION, LogPlace::Core);
    while !hand.asked.is_empty() {
        // So that all rest, and none is copied at first.
        hand.fail(0);
    }
    hand.write_long(1, 0, 75 * REGION);
    let write = std::mem::take(&mut hand.asked);
    assert_eq!(write.len(), 2);
    while hand.asked.is_empty() {
        hand.wait();
    }
    let (leg, copy) = &hand.asked[0];
    assert_eq!((*leg, copy.operation), (0, Operation::Read));
    assert_eq!(copy.range, Range::new(75 * REGION, REGION));
    assert!(hand.done.is_empty(), "the write goes on");
}

/// While others ask something, what is moved leaves them half of the time, in short pieces.
#[test]
fn copies_leave_time_to_others() {
    let long = Duration::from_millis(10);
    let moving = || {
        Hand::start_with(512 * KIB, 512 * KIB, |config| {
            config.primary = crate::mirror::Primary::Source;
        })
    };
    let mut hand = moving();
    hand.read(1, 0);
    let request = hand.asked.pop().expect("it is asked");
    hand.now += long;
    hand.answer(0);
    hand.answer(0);
    assert!(hand.asked.is_empty(), "the next piece waits");
    let (at, _) = hand.timers.iter().max().expect("for a time");
    assert_eq!(*at, hand.now + long);
    hand.asked.push(request);
    hand.answer(0);
    hand.wait();
    assert_eq!(hand.legs(), [0], "the next piece");
    // 10 ms at 8 MiB/s, whole pieces of 8 KiB.
    assert_eq!(hand.asked[0].1.range.len(), 80 * KIB);
    hand.now += 10 * long;
    hand.answer(0);
    hand.answer(0);
    assert_eq!(
        hand.asked[0].1.range.len(),
        176 * KIB,
        "others have stopped"
    );
    hand.answer(0);
    hand.answer(0);
    assert!(hand.asked.is_empty(), "it was the last one");

    let mut alone = moving();
    alone.now += long;
    alone.answer(0);
    alone.answer(0);
    assert_eq!(alone.legs(), [0], "nobody else wants anything");
}

/// What is moved does not rest where somebody waits for the region.
#[test]
fn copies_hurry_for_who_waits() {
    let mut hand = Hand::start_with(512 * KIB, 512 * KIB, |config| {
        config.primary = crate::mirror::Primary::Source;
    });
    hand.read(1, 0);
    // It is not answered, so others are there all the time.
    hand.asked.pop().expect("it is asked");
    hand.now += Duration::from_millis(10);
    hand.answer(0);
    hand.answer(0);
    hand.write(2, 0);
    assert!(hand.asked.is_empty(), "the next piece waits, and the write");
    hand.wait();
    assert_eq!(hand.asked[0].1.range.len(), 80 * KIB, "as it was before");
    hand.answer(0);
    hand.answer(0);
    assert_eq!(
        hand.asked[0].1.range.len(),
        176 * KIB,
        "no rest, no short piece"
    );
    hand.answer(0);
    hand.answer(0);
    assert_eq!(hand.legs(), [0, 1], "the write goes on");
}

/// Copying makes room for requests that the home does not hear of.
#[test]
fn copies_see_requests_that_need_no_home() {
    let mut hand = Hand::start(32 * REGION, REGION, LogPlace::Core);
    assert_eq!(hand.mirror.status().copying, 4);
    let map = hand.mirror.map();
    let read = Request::read(1, 0, Buffer::zeroed(512));
    let route = map.route(0, &read, &mut Reads::default());
    let route = route.expect("the first image has all");
    while hand.mirror.status().copying > 1 {
        hand.answer(0);
    }
    for _ in 0..6 {
        hand.answer(0);
        assert!(hand.mirror.status().copying <= 1, "somebody reads");
    }
    assert_eq!(map.end(route.hold), Ended::Quiet);
    hand.now += Duration::from_secs(1);
    for _ in 0..4 {
        hand.answer(0);
    }
    assert_eq!(hand.mirror.status().copying, 4);
}

/// A write that needs no home keeps its region dirty, and the log bit 0, until it has ended.
#[test]
fn regions_stay_dirty_under_writes_that_need_no_home() {
    let mut hand = Hand::new(4);
    let write = |tag| Request::write(tag, 0, Durability::Volatile, Buffer::zeroed(512));
    let map = hand.mirror.map();
    let route = |tag| map.route(0, &write(tag), &mut Reads::default());
    assert!(route(0).is_err(), "the region is clean");
    hand.tell(Event::Request {
        face: 0,
        request: write(1),
    });
    while !hand.asked.is_empty() {
        hand.answer(0);
    }
    let held = route(2).expect("it is dirty").hold;
    for _ in 0..3 {
        hand.wait();
        assert!(hand.asked.is_empty(), "nothing rests");
    }
    assert_eq!(map.end(held), Ended::Quiet);
    hand.wait();
    let held = route(3).expect("it is still dirty").hold;
    while !hand.asked.is_empty() {
        hand.answer(0);
    }
    assert_eq!(
        hand.mirror.status().dirty,
        1,
        "it was written while images were flushed"
    );
    assert_eq!(map.end(held), Ended::Quiet);
    for _ in 0..2 {
        hand.wait();
        while !hand.asked.is_empty() {
            hand.answer(0);
        }
    }
    assert_eq!(hand.mirror.status().dirty, 0);
    assert!(route(4).is_err(), "it is clean");
}

/// A copy counts as soon as it is durable on both images, and no earlier: without waiting for a
/// time, and without a log.
#[test]
fn copies_count_when_they_are_durable() {
    for log in [LogPlace::Core, LogPlace::Disk(LOG)] {
        let mut hand = Hand::start(2 * REGION, REGION, log);
        while hand.asked.iter().any(|(leg, _)| *leg == LOG) {
            hand.answer_log();
        }
        let mut flushed = Vec::new();
        while hand.mirror.health().images[1] == ImageHealth::OutOfSync {
            let (leg, request) = hand.asked.first().expect("nothing waits for a time");
            match request.operation {
                Operation::Flush if *leg != LOG => flushed.push(*leg),
                Operation::Write if *leg != LOG => flushed.clear(),
                _ => {}
            }
            hand.answer(0);
        }
        assert_eq!(flushed, [0, 1], "{log:?}");
        assert_eq!(hand.now, Duration::ZERO);
    }
}

/// What is copied when a mirror of this size starts over a log that has a one for each of so many
/// regions.
fn copied(size: u64, known: u64) -> Vec<u64> {
    let mut hand = Hand::start(size, REGION, LogPlace::Disk(LOG));
    while let Some(at) = hand.asked.iter().position(|(leg, _)| *leg == LOG) {
        let request = &mut hand.asked[at].1;
        if request.operation == Operation::Read {
            request.buffer[..1536].copy_from_slice(&header(known, &[0xff; 8]));
        }
        hand.answer(at);
    }
    let starts = hand.asked.iter().map(|(_, request)| request.range.start());
    starts.map(|start| start / REGION).collect()
}

/// What a log does not know is copied: regions behind its count, of which a last one that the
/// mirror does not fill is one, since the mirror may grow within it.
#[test]
fn what_the_log_does_not_know_is_copied() {
    assert_eq!(copied(4 * REGION, 4), [0; 0]);
    assert_eq!(copied(4 * REGION - 512, 3), [3]);
    assert_eq!(copied(5 * REGION - 512, 4), [4]);
    assert_eq!(copied(3 * REGION - 512, 4), [0; 0], "it has become smaller");
}
