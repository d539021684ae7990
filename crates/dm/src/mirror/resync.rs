//! Copies regions that are not in sync, from an image in sync to all others.
//!
//! A few regions at a time, piece by piece; writes to a region that is being copied wait until it
//! is done. A copied region is dirty, so it becomes clean with the others, after a flush: a cut
//! before that costs a second copy and nothing else. That is also how the work is resumed: what is
//! left to do is what the log says.
//!
//! While others ask something only one region is copied at a time; and, where extents are moved,
//! after each piece nothing is for as long as the piece took: what others ask waits for one piece
//! at most, and disks are theirs half of the time. Such a piece is short, so that it takes hardly
//! longer than what others ask; it is longer where the disks take their time for anything. A region
//! that somebody waits for is copied at once. (A mirror that is not in sync lacks redundancy,
//! so it hurries.) `copy_rate` limits how fast it goes in any case. Nothing is copied while an
//! image is lost or missing: no region could be in sync.

use std::collections::VecDeque;
use std::time::Duration;

use block::{Completion, Durability, Operation as Asked, Range, Request};

use super::Mirror;
use super::config::CopyStart;
use super::control::{Step, Steps};
use super::health::Verdict;
use super::moving::Told;
use super::operation::{Copying, Gather, ImageSet, Operation};
use super::regions::Recovered;

/// The timer of this module.
pub(super) const COPY_TIMER: u64 = 2;
/// Regions that are copied at a time.
const COPIES_MAX: usize = 4;
/// How long nothing is copied after a region could not be.
const PAUSE: Duration = Duration::from_secs(10);
/// How long to wait for a region that nobody writes to.
const BUSY_PAUSE: Duration = Duration::from_millis(100);

/// Where others are to hardly notice, a piece has so many bytes at least, and is a multiple of it;
const SHORT_MIN: u64 = 8 << 10;
/// and at most as many as come to this rate, in bytes per second, for the time of the last one:
/// little of that was for its bytes then, with any disk.
const SHORT_RATE: u64 = 8 << 20;

/// For how long after a request others are taken to ask more.
const OTHERS: Duration = Duration::from_millis(50);

/// The state of copying.
#[derive(Debug, Default)]
pub(super) struct Copies {
    pub(super) in_flight: usize,
    /// When others asked something last.
    pub(super) asked: Option<Duration>,
    /// Nothing is copied before.
    free_at: Duration,
    timer: bool,
    /// Copies that wait for their next piece, in order.
    paused: VecDeque<usize>,
    /// How long the last short piece took.
    took: Duration,
    /// What was said of a move.
    pub(super) told: Told,
}

impl Mirror {
    fn may_copy(&self) -> bool {
        let is_wanted = self.config.copy_start == CopyStart::AtOnce;
        is_wanted && self.is_running() && self.all_live() && self.journal.failure().is_none()
    }

    /// Begins copies, as many as may run.
    pub(super) fn pump_copies(&mut self, now: Duration, steps: &mut Steps) {
        if !self.may_copy() {
            let paused = std::mem::take(&mut self.copies.paused);
            for id in paused {
                self.end_copy(id, Recovered::GivenUp, now, steps);
            }
            return;
        }
        if self.regions.all_in_sync() {
            return self.tell_copied(steps);
        }
        self.copies.told.copied = false;
        if self.copies.free_at > now {
            return self.arm_copy_timer(self.copies.free_at, steps);
        }
        let most = self.copies_max(now);
        while self.copies.in_flight - self.copies.paused.len() < most
            && let Some(id) = self.copies.paused.pop_front()
        {
            self.read_piece(id, now, steps);
        }
        while self.copies.in_flight < most && self.copies.free_at <= now {
            let Some(region) = self.regions.begin_recovery() else {
                if self.copies.in_flight == 0 {
                    self.arm_copy_timer(now.saturating_add(BUSY_PAUSE), steps);
                }
                return;
            };
            self.begin_copy(region, now, steps);
        }
    }

    pub(super) fn copy_timer_fired(&mut self) {
        self.copies.timer = false;
    }

    /// Whether the disks are wanted by others, too.
    fn is_shared(&mut self, now: Duration) -> bool {
        if self.regions.map().was_asked() {
            self.copies.asked = Some(now);
        }
        let asked = self.copies.asked;
        self.requests_in_flight > 0 || asked.is_some_and(|asked| now < asked + OTHERS)
    }

    fn copies_max(&mut self, now: Duration) -> usize {
        if self.is_shared(now) { 1 } else { COPIES_MAX }
    }

    fn arm_copy_timer(&mut self, at: Duration, steps: &mut Steps) {
        if !self.copies.timer {
            self.copies.timer = true;
            let key = COPY_TIMER;
            steps.push(Step::Timer { at, key });
        }
    }

    fn begin_copy(&mut self, region: u64, now: Duration, steps: &mut Steps) {
        let start = region * self.config.region_size;
        let end = (start + self.config.region_size).min(self.config.size);
        let yields = self.yields(region, now);
        let len = self.piece_len(yields);
        let id = self.operations.insert(Operation::Copy(Copying {
            region,
            end,
            piece: Range::new(start, len.min(end - start)),
            tried: ImageSet::default(),
            source: 0,
            begun: now,
            gather: Gather::default(),
            buffer: block::Buffer::empty(),
        }));
        self.copies.in_flight += 1;
        self.read_piece(id, now, steps);
    }

    /// Whether what others ask comes before the copying of a region.
    fn yields(&mut self, region: u64, now: Duration) -> bool {
        self.is_move() && self.is_shared(now) && !self.regions.is_awaited(region)
    }

    /// Bytes that are copied at a time.
    fn piece_len(&self, yields: bool) -> u64 {
        if !yields {
            return self.limits.copy_piece;
        }
        let bytes = self.copies.took.as_nanos() * u128::from(SHORT_RATE) / 1_000_000_000;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let whole = bytes - bytes % SHORT_MIN;
        whole.max(SHORT_MIN).min(self.limits.copy_piece)
    }

    fn read_piece(&mut self, id: usize, now: Duration, steps: &mut Steps) {
        if let Some(rate) = self.config.copy_rate.filter(|rate| *rate > 0) {
            let bytes = u128::from(self.operations.copy(id).piece.len());
            let nanoseconds = bytes * 1_000_000_000 / u128::from(rate);
            let cost = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
            self.copies.free_at = self.copies.free_at.max(now).saturating_add(cost);
        }
        let copy = self.operations.copy(id);
        copy.begun = now;
        let (piece, tried) = (copy.piece, copy.tried);
        let mut buffer = std::mem::take(&mut copy.buffer);
        let Some(source) = self.choose(piece, tried) else {
            self.tell_stuck(piece, steps);
            self.copies.free_at = now.saturating_add(PAUSE);
            return self.end_copy(id, Recovered::GivenUp, now, steps);
        };
        self.operations.copy(id).source = source;
        if buffer.len() as u64 != piece.len() {
            buffer = self.pool.get(piece.len() as usize);
        }
        let request = Request::read(id as u64, piece.start(), buffer);
        self.ask(source, request, steps);
    }

    pub(super) fn copy_answered(
        &mut self,
        id: usize,
        image: usize,
        answer: Completion,
        now: Duration,
        steps: &mut Steps,
    ) {
        let copy = self.operations.copy(id);
        if copy.gather.out == 0 {
            return self.piece_read(id, answer, now, steps);
        }
        if copy.buffer.is_empty() {
            copy.buffer = answer.buffer;
        }
        if !copy.gather.note(image, answer.result) {
            return;
        }
        let mut gather = std::mem::take(&mut copy.gather);
        gather.good.insert(copy.source);
        let verdict = self.judge(gather);
        if !matches!(verdict, Verdict::Done) || !self.may_copy() {
            return self.end_copy(id, Recovered::GivenUp, now, steps);
        }
        self.piece_copied(id, now, steps);
    }

    fn piece_read(&mut self, id: usize, answer: Completion, now: Duration, steps: &mut Steps) {
        let copy = self.operations.copy(id);
        let (piece, source) = (copy.piece, copy.source);
        if answer.result.is_err() {
            copy.tried.insert(source);
            copy.buffer = answer.buffer;
            self.images[source].errors += 1;
            return self.read_piece(id, now, steps);
        }
        if !self.may_copy() {
            return self.end_copy(id, Recovered::GivenUp, now, steps);
        }
        let targets: Vec<usize> = self
            .live_images()
            .filter(|image| *image != source)
            .collect();
        let copy = self.operations.copy(id);
        copy.buffer = block::Buffer::empty();
        copy.gather = Gather {
            out: targets.len() as u32,
            ..Gather::default()
        };
        let Some((last, others)) = targets.split_last() else {
            return self.piece_copied(id, now, steps);
        };
        let write = |buffer| Request {
            tag: id as u64,
            operation: Asked::Write,
            range: piece,
            durability: Durability::Volatile,
            buffer,
        };
        for target in others {
            let mut buffer = self.pool.get(answer.buffer.len());
            buffer.copy_from_slice(&answer.buffer);
            self.ask(*target, write(buffer), steps);
        }
        self.ask(*last, write(answer.buffer), steps);
    }

    fn piece_copied(&mut self, id: usize, now: Duration, steps: &mut Steps) {
        let region = self.operations.copy(id).region;
        let yields = self.yields(region, now);
        if yields {
            let took = now.saturating_sub(self.operations.copy(id).begun);
            self.copies.took = took;
            self.copies.free_at = self.copies.free_at.max(now.saturating_add(took));
        }
        let len = self.piece_len(yields);
        let copy = self.operations.copy(id);
        let at = copy.piece.end();
        if at == copy.end {
            return self.end_copy(id, Recovered::Copied, now, steps);
        }
        copy.piece = Range::new(at, len.min(copy.end - at));
        copy.tried = ImageSet::default();
        if self.copies.free_at > now {
            self.copies.paused.push_back(id);
        } else {
            self.read_piece(id, now, steps);
        }
    }

    fn end_copy(&mut self, id: usize, how: Recovered, now: Duration, steps: &mut Steps) {
        let Operation::Copy(copy) = self.operations.remove(id) else {
            unreachable!("it is a copy");
        };
        self.copies.in_flight -= 1;
        for waiter in self.regions.end_recovery(copy.region, how, now) {
            self.unblock(waiter, now, steps);
        }
    }
}
