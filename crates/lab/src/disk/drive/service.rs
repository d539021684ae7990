//! What a command costs, from its arrival to its report.
//!
//! ```text
//!   read hit    overhead ─ transfer ─ report
//!   read miss   overhead ─ leave the bus ┐            ┌ get it back ─ transfer ─ report
//!                        └ seek ─ rotate ┴ read ──────┴──── read ahead until called away
//!   write       overhead ─ transfer ─ report (behind) ─ leave the bus ─ ... ─ report (through)
//!                        └ seek ─ rotate ─ write what has arrived ──────────┘
//! ```
//!
//! A transfer moves blocks in order, none before it was read, each taking the bus for its time. A
//! command that came while the head was busy has spent its overhead meanwhile; it then starts when
//! the head is free, and gets the bus back first.

use super::media::{Arrival, Stream};
use super::{Dirty, Drive, Operation, Served, Waiting};
use crate::disk::profile::{AfterEach, Release, WritePolicy, ZeroLatency};
use crate::disk::seek::Direction;

impl Drive {
    /// Serves a command that is taken up at `now_ns`.
    pub(super) fn serve(&mut self, now_ns: u64, waiting: Waiting) {
        match waiting.command.operation {
            Operation::Read => self.read(now_ns, waiting),
            Operation::Write if self.profile.cache.write_policy == WritePolicy::Through => {
                self.write_through(now_ns, waiting);
            }
            Operation::Write => self.write_behind(now_ns, waiting),
            Operation::WriteThrough => self.write_through(now_ns, waiting),
            Operation::Flush => self.flush(now_ns, waiting),
        }
    }

    fn after(&self, times: AfterEach) -> u64 {
        match self.last {
            Direction::Read => times.after_read_ns,
            Direction::Write => times.after_write_ns,
        }
    }

    fn read(&mut self, now_ns: u64, waiting: Waiting) {
        let (start, count) = (waiting.command.start, u64::from(waiting.command.count));
        let end = start + count;
        let reached = self.settle(now_ns);
        let mut hit = self.segments.find(start, end);
        if hit.is_none() && self.profile.cache.almost_hits.is_yes() && reached == Some(start) {
            hit = self.stream.as_ref().and_then(|stream| stream.segment);
        }
        match hit {
            Some(segment) => self.read_hit(now_ns, waiting, segment),
            None => self.read_miss(now_ns, waiting),
        }
        self.last = Direction::Read;
    }

    /// When a transfer can begin on a bus that the drive keeps, or has to get back.
    fn transfer_from(&self, now_ns: u64, waiting: &Waiting, overhead_ns: u64, left_ns: u64) -> u64 {
        let overheads = &self.profile.overheads;
        if now_ns <= waiting.arrival_ns {
            now_ns + overhead_ns + overheads.data_preparation_ns
        } else {
            now_ns.max(waiting.arrival_ns + left_ns)
                + overheads.reselect_first_ns
                + overheads.data_preparation_ns
        }
    }

    /// Takes the bus for a transfer that would end at `done_ns`; when it ends.
    fn transfer_until(&mut self, now_ns: u64, done_ns: u64, length_ns: u64) -> u64 {
        self.bus.take(now_ns, done_ns - length_ns, length_ns) + length_ns
    }

    fn read_hit(&mut self, now_ns: u64, waiting: Waiting, segment: usize) {
        let overheads = self.profile.overheads;
        let (start, count) = (waiting.command.start, u64::from(waiting.command.count));
        let end = start + count;
        self.segments.touch(segment);
        let miss_ns = self.after(overheads.read_miss);
        let left_ns = miss_ns + self.after(overheads.disconnect_read);
        let hit_ns = self.after(overheads.read_hit);
        let from = self.transfer_from(now_ns, &waiting, hit_ns, left_ns);
        let ready = now_ns.max(waiting.arrival_ns + miss_ns);
        let block_ns = self.profile.bus.read_block_ns;
        let whole = self.segments.get(segment).end >= end;
        let ahead = self.read_ahead_limit(segment, start, end);
        let filling = self
            .stream
            .as_ref()
            .is_some_and(|stream| stream.segment == Some(segment) && stream.active(now_ns));
        let resumes = !whole
            || (self.profile.cache.resume_on_hit.is_yes()
                && now_ns >= self.head_free_ns
                && ahead > self.segments.get(segment).end);
        if resumes && !filling {
            let next = self.segments.get(segment).end;
            self.begin_stream(Direction::Read, now_ns, ready, next);
        } else if self.busy_elsewhere(now_ns, segment) && now_ns >= self.head_free_ns {
            self.stop(now_ns);
        }
        let mut done = from + count * block_ns;
        if let Some(stream) = self.stream.as_mut()
            && (filling || resumes)
        {
            stream.segment = Some(segment);
            stream.reach(end, ahead);
            stream.extend_to(&self.mechanism, end);
            let rotation = &self.mechanism.rotation;
            done = stream.piped_ns(rotation, (start, end), from, block_ns);
            stream.trim();
        }
        let done = self.transfer_until(now_ns, done, count * block_ns);
        let done = done + overheads.complete_read_ns;
        self.front_free_ns = done;
        if !whole {
            self.head_free_ns = done;
        }
        self.discard(segment, end);
        self.report(done, waiting.command.tag, Served::Cache);
    }

    /// Whether the head reads ahead into another segment.
    fn busy_elsewhere(&self, now_ns: u64, segment: usize) -> bool {
        self.stream.as_ref().is_some_and(|stream| {
            stream.direction() == Direction::Read
                && stream.segment != Some(segment)
                && stream.active(now_ns)
        })
    }

    fn read_miss(&mut self, now_ns: u64, waiting: Waiting) {
        let overheads = self.profile.overheads;
        let cache = self.profile.cache;
        let (start, count) = (waiting.command.start, u64::from(waiting.command.count));
        let end = start + count;
        let miss_ns = self.after(overheads.read_miss);
        let ready = now_ns.max(waiting.arrival_ns + miss_ns);
        let left = waiting.arrival_ns + miss_ns + self.after(overheads.disconnect_read);
        self.begin_stream(Direction::Read, now_ns, ready, start);
        let segment = self.segments.take_for_read(start);
        let ahead = segment.map_or(end, |segment| self.read_ahead_limit(segment, start, end));
        let mut stream = self.stream.take().expect("a stream was begun");
        stream.segment = segment;
        stream.reach(end, ahead);
        stream.extend_to(&self.mechanism, end);
        let rotation = &self.mechanism.rotation;
        if let Some(segment) = segment
            && cache.keep_free_blocks.is_yes()
        {
            let front = start - self.mechanism.geometry.track_of(start).0;
            let kept = stream.passed_before_first(rotation).min(front);
            self.segments
                .open_at(segment, start - kept.min(self.segments.size()));
            let (first, next) = self.mechanism.geometry.track_of(start);
            if ahead <= next {
                stream.turn_round(&self.mechanism.rotation, first);
            }
        }
        let share = u64::from(cache.read_watermark_thousandths);
        let mark = (count.min(self.segments.size().max(1)) * share / 1000).max(1);
        let marked = stream.done_ns(rotation, start + mark);
        let from = left.max(marked) + overheads.reselect_first_ns + overheads.data_preparation_ns;
        let block_ns = self.profile.bus.read_block_ns;
        let mut done = stream.piped_ns(rotation, (start, end), from, block_ns);
        let medium = stream.done_ns(rotation, end);
        if !self.profile.bus.hold_for_read.is_yes() && done == medium + block_ns && count > mark {
            // The bus was given up for want of data, and must be had back for the last of it.
            done += overheads.reselect_first_ns + overheads.data_preparation_ns;
        }
        stream.extend_to(&self.mechanism, end + u64::from(cache.read_ahead_min));
        let least = stream.done_ns(
            &self.mechanism.rotation,
            end + u64::from(cache.read_ahead_min),
        );
        self.stream = Some(stream);
        if let Some(segment) = segment {
            self.discard(segment, end);
        }
        let done = self.transfer_until(now_ns, done, count * block_ns);
        let done = done + overheads.complete_read_ns;
        self.release(done, medium.max(least));
        self.report(done, waiting.command.tag, Served::Medium);
    }

    /// Drops what the host was given, where the drive does.
    fn discard(&mut self, segment: usize, end: u64) {
        if self.profile.cache.discard_delivered.is_yes() {
            self.segments.discard(segment, end);
        }
    }

    /// The head is done with a command at `medium_ns`, which is reported at `done_ns`.
    fn release(&mut self, done_ns: u64, medium_ns: u64) {
        self.head_free_ns = match self.profile.queue.release {
            Release::AtCompletion => done_ns.max(medium_ns),
            Release::AtMediumDone => medium_ns,
        };
        self.front_free_ns = self.head_free_ns;
    }

    /// Brings the segment that the head fills up to date; the block after the last one read.
    fn settle(&mut self, now_ns: u64) -> Option<u64> {
        let stream = self.stream.as_mut()?;
        if stream.direction() != Direction::Read {
            return None;
        }
        let reached = stream.read_by(&self.mechanism, now_ns);
        if let (Some(segment), Some(first)) = (stream.segment, stream.front(now_ns)) {
            self.segments.open_at(segment, first);
        }
        if let (Some(segment), Some(end)) = (stream.segment, reached) {
            self.segments.grow(segment, end);
        }
        reached
    }

    /// The segment that the head reads into is needed for something else.
    fn detach(&mut self, now_ns: u64) {
        if now_ns >= self.head_free_ns {
            self.stop(now_ns);
        } else if let Some(stream) = self.stream.as_mut() {
            stream.detach();
        }
    }

    /// Calls the head away from what it reads ahead; when it can leave.
    fn stop(&mut self, now_ns: u64) -> u64 {
        self.settle(now_ns);
        let within = self.profile.cache.stop_in_sector.is_yes();
        let Some(stream) = self.stream.as_mut() else {
            return now_ns;
        };
        let track = stream.track_at(now_ns);
        let leave = stream.leave_ns(&self.mechanism.rotation, now_ns, within);
        let direction = stream.direction();
        let next = stream.next();
        let head = stream.head();
        self.head.seek_ns += head.seek_ns;
        self.head.rotation_ns += head.rotation_ns;
        self.head.transfer_ns += head.transfer_ns;
        *stream = Stream::new(direction, ZeroLatency::No, track, leave, next);
        leave
    }

    /// Lets the head begin something else at block `next`, not before `ready_ns`.
    fn begin_stream(&mut self, direction: Direction, now_ns: u64, ready_ns: u64, next: u64) {
        let leave = self.stop(now_ns);
        let track = self.track_at(now_ns);
        let cache = &self.profile.cache;
        let zero_latency = match direction {
            Direction::Read => cache.zero_latency_read,
            Direction::Write => cache.zero_latency_write,
        };
        let begin = leave.max(ready_ns);
        self.stream = Some(Stream::new(direction, zero_latency, track, begin, next));
    }

    /// The least time of the seek of a write: none if it goes on where the last write ended.
    fn least_seek(&self, start: u64) -> u64 {
        if self.last_write_end == Some(start) {
            0
        } else {
            self.profile.mechanics.write_seek_min_ns
        }
    }

    fn write_through(&mut self, now_ns: u64, waiting: Waiting) {
        let overheads = self.profile.overheads;
        let (start, count) = (waiting.command.start, u64::from(waiting.command.count));
        let end = start + count;
        let elsewhere = self.last == Direction::Write && self.last_write_end != Some(start);
        let extra = overheads
            .extra_disconnect
            .filter(|_| elsewhere && now_ns <= waiting.arrival_ns);
        let miss_ns = self.after(overheads.write_miss);
        let mut from = self.transfer_from(
            now_ns,
            &waiting,
            miss_ns,
            miss_ns + overheads.disconnect_write_ns,
        );
        let mut ready = now_ns.max(waiting.arrival_ns + miss_ns);
        let mut leave_ns = overheads.disconnect_write_ns;
        let mut reselect_ns = overheads.reselect_first_ns;
        if let Some(extra) = extra {
            let away = extra.command_ns + extra.disconnect_ns + extra.away_ns;
            let back = overheads.reselect_first_ns + overheads.data_preparation_ns;
            from = now_ns + away + back;
            ready = now_ns + extra.command_ns + extra.seek_delta_ns;
            leave_ns = extra.second_disconnect_ns;
            reselect_ns = overheads.reselect_other_ns;
        }
        let block_ns = self.profile.bus.write_block_ns;
        let data = Arrival {
            first: start,
            start_ns: self.bus.take(now_ns, from, count * block_ns),
            block_ns,
            hold_ns: 0,
        };
        let least = self.least_seek(start);
        let data = match overheads.extra_disconnect {
            Some(extra) => data.held_until(start + extra.least_of(count) - 1),
            None => data,
        };
        self.begin_stream(Direction::Write, now_ns, ready, start);
        let mut stream = self.stream.take().expect("a stream was begun");
        stream.write_to(&self.mechanism, end, data, least);
        let medium = stream.end_ns();
        self.stream = Some(stream);
        self.segments.take_for_write(start, end);
        let left = data.start_ns + count * block_ns + leave_ns;
        let done = medium.max(left) + reselect_ns;
        let done = done + overheads.complete_write_ns;
        self.release(done, medium);
        self.wrote(end);
        self.report(done, waiting.command.tag, Served::Medium);
    }

    fn wrote(&mut self, end: u64) {
        self.last = Direction::Write;
        self.last_write_end = Some(end);
    }

    fn write_behind(&mut self, now_ns: u64, waiting: Waiting) {
        let overheads = self.profile.overheads;
        let (start, count) = (waiting.command.start, u64::from(waiting.command.count));
        let end = start + count;
        let hit_ns = self.after(overheads.write_hit);
        let left_ns = hit_ns + overheads.disconnect_write_ns;
        let from = self.transfer_from(now_ns, &waiting, hit_ns, left_ns);
        let block_ns = self.profile.bus.write_block_ns;
        let from = self.bus.take(now_ns, from, count * block_ns);
        let data = Arrival {
            first: start,
            start_ns: from,
            block_ns,
            hold_ns: 0,
        };
        let ready = now_ns.max(waiting.arrival_ns + hit_ns);
        let busy = now_ns < self.head_free_ns;
        self.settle(now_ns);
        let filled = self.stream.as_ref().and_then(|stream| stream.segment);
        let lost = filled.filter(|&segment| self.segments.overlaps(segment, start, end));
        let taken = self.segments.take_for_write(start, end);
        if lost.is_some() || (filled.is_some() && taken == filled) {
            self.detach(now_ns);
        }
        if self.fills_while_busy() {
            let command = waiting.command;
            let place = waiting.place;
            self.dirty.push(Dirty {
                start,
                count: command.count,
                place,
                data,
            });
        } else {
            if busy {
                let stream = self.stream.as_mut().expect("an append has a stream");
                stream.write_to(&self.mechanism, end, data, 0);
                stream.trim();
            } else {
                let least = self.least_seek(start);
                self.begin_stream(Direction::Write, now_ns, ready, start);
                let stream = self.stream.as_mut().expect("a stream was begun");
                stream.write_to(&self.mechanism, end, data, least);
            }
            self.head_free_ns = self.stream.as_ref().map_or(now_ns, Stream::end_ns);
        }
        let sent = (from + count * block_ns).max(self.room_ns(end));
        let done = sent + overheads.complete_write_ns;
        self.front_free_ns = done;
        self.wrote(end);
        self.report(done, waiting.command.tag, Served::Cache);
    }

    /// When the segment has room for all blocks up to `end` of what the head is writing: a host
    /// that is faster than the medium hands over the last of them when all but a segment's worth
    /// are written.
    fn room_ns(&self, end: u64) -> u64 {
        let written = end.saturating_sub(self.segments.size());
        match &self.stream {
            Some(stream) if !self.fills_while_busy() => {
                stream.done_ns(&self.mechanism.rotation, written)
            }
            _ => 0,
        }
    }

    /// Writes cached data back.
    pub(super) fn destage(&mut self, now_ns: u64, dirty: Dirty) {
        if !self.goes_on(now_ns, dirty.start) {
            self.begin_stream(Direction::Write, now_ns, now_ns, dirty.start);
        }
        let stream = self.stream.as_mut().expect("a stream was begun");
        stream.write_to(&self.mechanism, dirty.end(), dirty.data, 0);
        stream.trim();
        self.head_free_ns = stream.end_ns();
        self.destaging_until_ns = self.head_free_ns;
    }

    /// Nothing is dirty and the head is free: what was written is on the medium.
    fn flush(&mut self, now_ns: u64, waiting: Waiting) {
        let overheads = &self.profile.overheads;
        let done = now_ns.max(waiting.arrival_ns + self.after(overheads.write_hit))
            + overheads.complete_write_ns;
        self.front_free_ns = done;
        self.report(done, waiting.command.tag, Served::Medium);
    }
}
