//! Requests: reads from where the bytes are, writes when all that they change is kept.
//!
//! A write looks at what stands in its way, has that done, and looks again until nothing does; so
//! whatever happened meanwhile (a merge went on, a snapshot became invalid) is seen.

use block::{Buffer, Completion, Error, Kind, Operation, Range, Request};

use super::Origin;
use super::control::{Step, Steps};
use super::map::Hold;
use super::member::Gap;
use super::operation::{Port, Serving, Sub, Target, Waiter};
use super::places::Place;
use crate::map::{Ended, Map, Returned};

impl Origin {
    pub(super) fn request(&mut self, face: usize, request: Request, steps: &mut Steps) {
        let port = face.checked_sub(1).map_or(Port::Origin, Port::Snapshot);
        if let Port::Snapshot(index) = port {
            assert!(
                !self.member(index).config.merging,
                "what is merged has no face"
            );
        }
        // Advice; and what is discarded would have to be kept first.
        let is_advice = request.operation == Operation::Discard && self.is_shared();
        let is_nothing = request.operation != Operation::Flush && request.range.is_empty();
        if is_advice || is_nothing {
            return steps.push(Step::Done(request.complete(Ok(()))));
        }
        let id = self.requests.insert(Serving::new(port, request));
        self.wait_for_doubts(Waiter::Request(id));
    }

    /// Goes on with a request that waits for nothing.
    pub(super) fn advance(&mut self, id: usize, steps: &mut Steps) {
        let serving = self.requests.get(id);
        assert!(
            serving.blocked == 0 && serving.out == 0,
            "it waits for nothing"
        );
        let (port, operation) = (serving.port, serving.request.operation);
        if serving.error.is_some() {
            return self.end(id, steps);
        }
        if let Port::Snapshot(index) = port
            && !self.member(index).is_valid()
        {
            let refusal = self.member(index).refusal();
            self.requests.get_mut(id).error = Some(refusal);
            return self.end(id, steps);
        }
        match (operation, port) {
            (Operation::Flush, _) => self.flush(id, steps),
            (Operation::Read, _) => {
                let serving = self.requests.get_mut(id);
                serving.piece = serving.ahead();
                self.issue(id, steps);
            }
            (_, Port::Origin) => self.advance_origin_write(id, steps),
            (_, Port::Snapshot(index)) => self.advance_snapshot_write(id, index, steps),
        }
    }

    /// Writes a piece of the origin when all snapshots have what it overwrites.
    fn advance_origin_write(&mut self, id: usize, steps: &mut Steps) {
        let piece = self.begin_piece(id);
        if let Some(merge) = &mut self.merge {
            if merge.holds(piece) {
                merge.wait(id);
                return self.block(Waiter::Request(id));
            }
            if let Some(error) = merge.refusal(piece, &self.shape.name) {
                self.requests.get_mut(id).error = Some(error);
                return self.end(id, steps);
            }
        }
        let places = self.places(Port::Origin, piece);
        let places = places.into_iter().filter(|place| !place.is_kept);
        let overwritten: Vec<Range> = places.map(|place| place.bytes).collect();
        let waiter = Waiter::Request(id);
        self.block(waiter);
        for range in &overwritten {
            self.protect(*range, waiter, steps);
        }
        if !self.unblock(id) {
            return;
        }
        if overwritten.iter().any(|range| self.reads.overlaps(*range)) {
            // They read what the snapshot does not keep; it does now.
            self.block(waiter);
            return self.reads.wait(waiter);
        }
        if self.await_reads(&overwritten, waiter) {
            return;
        }
        for range in overwritten {
            self.set_free(range);
        }
        self.go_on(id, steps);
    }

    /// Whether somebody reads a part of `ranges` for a snapshot without the home; if so, `waiter`
    /// waits for that.
    pub(super) fn await_reads(&mut self, ranges: &[Range], waiter: Waiter) -> bool {
        let mut is_read = false;
        for range in ranges {
            is_read |= self.map.await_reads(*range, &mut self.awaited);
        }
        if is_read {
            self.block(waiter);
            self.waiters.push(waiter);
        }
        is_read
    }

    /// Some of those who are waited for have ended: who waits looks again.
    pub(super) fn freed(&mut self) {
        self.map.settle(&mut self.awaited);
        for waiter in std::mem::take(&mut self.waiters) {
            self.release(waiter, None);
        }
    }

    /// A range of the origin is about to be overwritten, and no snapshot needs it: the next one to
    /// do that needs no home.
    fn set_free(&mut self, range: Range) {
        if self.merge.is_some() {
            return;
        }
        self.map.set_free(range);
        let Some(units) = self.map.units(range).filter(|units| *units != range) else {
            return;
        };
        let mut members = self.members.iter().flatten();
        let needed = members.any(|member| member.is_protected() && !member.gaps(units).is_empty());
        if !needed && !self.reads.overlaps(units) && !self.map.is_read(units) {
            self.map.set_free(units);
        }
    }

    /// A request came back from a leg that was asked without the home.
    pub(super) fn returned(&mut self, face: usize, returned: Returned<Hold>, steps: &mut Steps) {
        if self.map.end(returned.hold) == Ended::Awaited {
            self.freed();
        }
        let request = returned.request;
        let refusal = || {
            let member = self.members[face.checked_sub(1)?].as_ref()?;
            (!member.is_valid()).then(|| member.refusal())
        };
        let lost = || {
            let what = format!("{}: a write was given up", self.shape.name);
            Error::new(Kind::Io, what)
        };
        let error = returned.error.or_else(refusal).unwrap_or_else(lost);
        steps.push(Step::Done(request.complete(Err(error))));
    }

    /// Writes a piece of a snapshot when its store has a place for all of it.
    fn advance_snapshot_write(&mut self, id: usize, index: usize, steps: &mut Steps) {
        let piece = self.begin_piece(id);
        let waiter = Waiter::Request(id);
        self.block(waiter);
        let (mut copies, mut fills) = (Vec::new(), Vec::new());
        for gap in self.member(index).gaps(piece) {
            let Gap::Missing { old, count } = gap else {
                self.wait_for_gaps(index, &[gap], waiter);
                continue;
            };
            let bytes = self.member(index).bytes(old, count);
            let is_head = bytes.start() < piece.start();
            let is_tail = bytes.end() > piece.end() && (count > 1 || !is_head);
            let partial = [(is_head, old), (is_tail, old + count - 1)];
            for (_, old) in partial.into_iter().filter(|(is_partial, _)| *is_partial) {
                copies.push(self.begin_pending(index, (old, 1), waiter));
            }
            let (head, tail) = (u64::from(is_head), u64::from(is_tail));
            if count > head + tail {
                let chunks = (old + head, count - head - tail);
                fills.push(self.begin_pending(index, chunks, waiter));
            }
        }
        // Any of these may find that there is no room, so that nothing is pending any more.
        for target in fills {
            self.fill_chunks(id, target, steps);
        }
        self.copy(copies, steps);
        if self.unblock(id) {
            self.go_on(id, steps);
        }
    }

    /// Chunks that a write covers become exceptions by being written.
    fn fill_chunks(&mut self, id: usize, target: Target, steps: &mut Steps) {
        let bytes = self.member(target.member).bytes(target.old, target.count);
        let serving = self.requests.get_mut(id);
        assert!(serving.piece.contains(bytes), "all of them is written");
        serving.filled.push(bytes);
        let data = if serving.request.operation == Operation::Write {
            let at = (bytes.start() - serving.piece.start()) as usize;
            let mut data = serving.rest.share().split_off(at);
            data.truncate(bytes.len() as usize);
            data
        } else {
            let mut zeros = self.pool.get(bytes.len() as usize);
            zeros.fill(0);
            zeros
        };
        self.fill(target, &data, steps);
    }

    /// The piece that a write is about to do; if it has none, takes the next one.
    fn begin_piece(&mut self, id: usize) -> Range {
        let serving = self.requests.get(id);
        if !serving.piece.is_empty() {
            return serving.piece;
        }
        let (port, ahead) = (serving.port, serving.ahead());
        assert!(!ahead.is_empty(), "a write that is over is answered");
        let members = || self.members.iter().flatten();
        let chunk = match port {
            Port::Origin => members().map(|member| member.geometry.chunk).max(),
            Port::Snapshot(index) => Some(self.member(index).geometry.chunk),
        };
        let most = self.limits.piece.max(chunk.unwrap_or(0));
        let mut end = (ahead.start() / most)
            .saturating_add(1)
            .saturating_mul(most);
        if port == Port::Origin && self.merging().is_none() {
            let kept = members().filter(|member| member.is_protected());
            // What needs no copies takes no memory.
            let until = kept.map(|member| member.held_until(ahead)).min();
            end = end.max(until.unwrap_or(ahead.end()));
        }
        let end = end.min(ahead.end());
        let piece = Range::new(ahead.start(), end - ahead.start());
        let serving = self.requests.get_mut(id);
        serving.piece = piece;
        serving.filled.clear();
        piece
    }

    /// Takes back the block that a request had while it looked around; whether it is free.
    fn unblock(&mut self, id: usize) -> bool {
        let serving = self.requests.get_mut(id);
        serving.blocked -= 1;
        serving.blocked == 0
    }

    /// Nothing stands in the way of a piece any more.
    fn go_on(&mut self, id: usize, steps: &mut Steps) {
        if self.requests.get(id).error.is_some() {
            return self.end(id, steps);
        }
        self.issue(id, steps);
    }

    /// Asks the legs for a piece.
    fn issue(&mut self, id: usize, steps: &mut Steps) {
        let serving = self.requests.get(id);
        let (port, piece) = (serving.port, serving.piece);
        let is_write = serving.request.operation != Operation::Read;
        let filled = serving.filled.clone();
        for place in self.places(port, piece) {
            for (bytes, is_filled) in cut(place.bytes, &filled) {
                if is_filled {
                    let serving = self.requests.get_mut(id);
                    let buffer = serving.take(bytes.len());
                    serving.parts.push(buffer);
                    continue;
                }
                let is_lost = is_write && port != Port::Origin && !place.is_kept;
                assert!(!is_lost, "a snapshot's writes go to its store");
                self.issue_part(id, &place.part(bytes), steps);
            }
        }
        if self.requests.get(id).out == 0 {
            self.piece_done(id, steps);
        }
    }

    fn issue_part(&mut self, id: usize, place: &Place, steps: &mut Steps) {
        let serving = self.requests.get_mut(id);
        let buffer = serving.take(place.bytes.len());
        let part = serving.parts.len();
        serving.parts.push(Buffer::empty());
        serving.out += 1;
        let request = Request {
            tag: 0,
            operation: serving.request.operation,
            range: Range::new(place.start, place.bytes.len()),
            durability: serving.request.durability,
            buffer,
        };
        let (port, is_read) = (serving.port, request.operation == Operation::Read);
        let sub = Sub::Part { request: id, part };
        let tag = self.ask(place.leg, sub, request, steps);
        if port != Port::Origin && is_read && !place.is_kept {
            self.reads.begin(tag, place.bytes);
        } else if port == Port::Origin && !is_read && place.is_kept {
            self.kept_writes.begin(tag, place.bytes);
        }
    }

    fn flush(&mut self, id: usize, steps: &mut Steps) {
        let legs = match self.requests.get(id).port {
            Port::Snapshot(index) => vec![self.member(index).config.store],
            Port::Origin => {
                let merging = self.merging().map(|index| self.member(index).config.store);
                [self.shape.origin].into_iter().chain(merging).collect()
            }
        };
        let serving = self.requests.get_mut(id);
        serving.out = legs.len();
        serving.parts.resize_with(legs.len(), Buffer::empty);
        for (part, leg) in legs.into_iter().enumerate() {
            let sub = Sub::Part { request: id, part };
            self.ask(leg, sub, Request::flush(0), steps);
        }
    }

    pub(super) fn part_answered(
        &mut self,
        (id, part): (usize, usize),
        answer: Completion,
        steps: &mut Steps,
    ) {
        let serving = self.requests.get_mut(id);
        serving.parts[part] = answer.buffer;
        serving.out -= 1;
        if let Err(error) = answer.result {
            serving.is_torn |= serving.parts[part].is_empty();
            serving.error.get_or_insert(error);
        }
        if let Port::Snapshot(index) = serving.port
            && !self.member(index).is_valid()
        {
            // What it read from the origin may be newer than the snapshot.
            let refusal = self.member(index).refusal();
            self.requests.get_mut(id).error.get_or_insert(refusal);
        }
        if self.requests.get(id).out == 0 {
            self.piece_done(id, steps);
        }
    }

    /// A piece is over; the next one follows.
    fn piece_done(&mut self, id: usize, steps: &mut Steps) {
        let serving = self.requests.get_mut(id);
        serving.join();
        serving.piece = Range::new(serving.piece.end(), 0);
        let is_over = serving.ahead().is_empty() || serving.request.operation == Operation::Flush;
        if is_over || serving.error.is_some() {
            return self.end(id, steps);
        }
        self.ready.push_back(Waiter::Request(id));
    }

    fn end(&mut self, id: usize, steps: &mut Steps) {
        let (request, result) = self.requests.remove(id).end();
        steps.push(Step::Done(request.complete(result)));
    }

    /// `waiter` waits for one more thing.
    pub(super) fn block(&mut self, waiter: Waiter) {
        match waiter {
            Waiter::Request(id) => self.requests.get_mut(id).blocked += 1,
            Waiter::Merge => self.merge_mut().block(),
        }
    }

    /// One of the things that `waiter` waited for is over, or cannot be.
    pub(super) fn release(&mut self, waiter: Waiter, error: Option<Error>) {
        let is_free = match waiter {
            Waiter::Request(id) => {
                let serving = self.requests.get_mut(id);
                serving.blocked -= 1;
                if let Some(error) = error {
                    serving.error.get_or_insert(error);
                }
                serving.blocked == 0
            }
            Waiter::Merge => self.merge_mut().unblock(error),
        };
        if is_free {
            self.ready.push_back(waiter);
        }
    }
}

/// `range` cut where `filled` (in order) begins and ends, and which parts are of it.
fn cut(range: Range, filled: &[Range]) -> Vec<(Range, bool)> {
    let mut parts = Vec::new();
    let mut at = range.start();
    for filled in filled
        .iter()
        .filter_map(|filled| filled.intersection(range))
    {
        assert!(filled.start() >= at, "they are in order");
        if filled.start() > at {
            parts.push((Range::new(at, filled.start() - at), false));
        }
        parts.push((filled, true));
        at = filled.end();
    }
    if at < range.end() {
        parts.push((Range::new(at, range.end() - at), false));
    }
    parts
}
