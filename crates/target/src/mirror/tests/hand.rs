//! A mirror whose devices answer by hand: each request waits until its test says how it ends.

use std::time::Duration;

use block::{Buffer, Durability, Request};

use super::{KIB, header};
use crate::machine::{Event, Machine, Step, Steps};
use crate::mirror::{LogPlace, Mirror, MirrorConfig, MirrorImage};

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
}

impl Hand {
    /// Two images that are in sync, and a log that is claimed.
    fn new(regions: u64) -> Self {
        let size = regions * REGION;
        let images = vec![MirrorImage::present(10, 0), MirrorImage::present(11, 1)];
        let mut config = MirrorConfig::new("mirror", size, REGION, images);
        config.log = LogPlace::Disk(LOG);
        let infos = [("a", size), ("b", size), ("log", 64 * KIB)];
        let infos = infos.map(|(name, size)| block::Info::new(name, size));
        let mut hand = Self {
            mirror: Mirror::new(config, &infos).expect("is good"),
            steps: Steps::default(),
            asked: Vec::new(),
            done: Vec::new(),
        };
        hand.tell(Event::Start);
        while let Some(at) = hand.asked.iter().position(|(leg, _)| *leg == LOG) {
            let request = &mut hand.asked[at].1;
            if request.operation == block::Operation::Read {
                request.buffer.fill(0xff);
                request.buffer[..1024].copy_from_slice(&header(regions, &[])[..1024]);
            }
            hand.answer(at);
        }
        assert!(hand.asked.is_empty(), "there is nothing to copy");
        hand
    }

    fn tell(&mut self, event: Event) {
        self.mirror.event(event, Duration::ZERO, &mut self.steps);
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Sub { leg, request } => self.asked.push((leg, request)),
                Step::Done(answer) => self.done.push(answer.tag),
                _ => {}
            }
        }
    }

    /// The request at this place is done.
    fn answer(&mut self, at: usize) {
        let (leg, request) = self.asked.remove(at);
        let answer = request.complete(Ok(()));
        self.tell(Event::Answer { leg, answer });
    }

    fn write(&mut self, tag: u64, start: u64) {
        let buffer = Buffer::zeroed(512);
        let request = Request::write(tag, start, Durability::Volatile, buffer);
        self.tell(Event::Request(request));
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
        let read = Request::read(tag, 4096, Buffer::zeroed(512));
        hand.tell(Event::Request(read));
    }
    assert_eq!(hand.legs(), [0; 4]);
    hand.asked.clear();
    for tag in 6..10 {
        let read = Request::read(tag, 2 * REGION, Buffer::zeroed(512));
        hand.tell(Event::Request(read));
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
