//! Requests: reads from one image, writes and flushes to all.

use std::time::Duration;

use block::{Completion, Error, Kind, Operation as Asked, Range, Request, Unmap};

use super::Mirror;
use super::control::{Step, Steps};
use super::health::{ImageState, Verdict};
use super::map::Hold;
use super::operation::{Flushing, Gather, ImageSet, Operation, Reading, Writing};
use super::regions::Held;
use crate::map::{Ended, Map, Returned};

impl Mirror {
    pub(super) fn request(&mut self, request: Request, now: Duration, steps: &mut Steps) {
        self.requests_in_flight += 1;
        self.copies.asked = Some(now);
        match request.operation {
            Asked::Read => self.begin_read(request, (ImageSet::default(), None), steps),
            Asked::Flush => self.begin_flush(request, now, steps),
            Asked::Discard if !self.discards => self.done(request, Ok(()), steps),
            _ => self.begin_write(request, now, steps),
        }
    }

    fn done(&mut self, request: Request, result: block::Result<()>, steps: &mut Steps) {
        self.requests_in_flight -= 1;
        steps.push(Step::Done(request.complete(result)));
    }

    /// A request came back from images that were asked without the home.
    pub(super) fn returned(&mut self, returned: Returned<Hold>, now: Duration, steps: &mut Steps) {
        self.requests_in_flight += 1;
        let image = match returned.hold {
            Hold::Read(image) => image,
            Hold::Write(_) => return self.write_returned(returned, now, steps),
        };
        self.regions.map().end_read(image);
        let mut tried = ImageSet::default();
        if returned.error.is_some() {
            self.images[image].errors += 1;
            tried.insert(image);
        }
        self.begin_read(returned.request, (tried, returned.error), steps);
    }

    /// Reads from an image that was not tried; if there is none, fails as the last one did.
    fn begin_read(
        &mut self,
        request: Request,
        (tried, error): (ImageSet, Option<Error>),
        steps: &mut Steps,
    ) {
        let Some(image) = self.choose(request.range, tried) else {
            let error = error.unwrap_or_else(|| self.nobody_holds(request.range));
            return self.done(request, Err(error), steps);
        };
        let range = request.range;
        let mut reading = Reading {
            request,
            tried,
            image,
        };
        let buffer = std::mem::take(&mut reading.request.buffer);
        let buffer = self.whole(buffer, range);
        let id = self.operations.insert(Operation::Read(reading));
        self.reads_from(image, range);
        let request = Request::read(id as u64, range.start(), buffer);
        self.ask(image, request, steps);
    }

    /// A write came back that not all images have done; it goes on as if the home had asked them.
    fn write_returned(&mut self, returned: Returned<Hold>, now: Duration, steps: &mut Steps) {
        let piece = returned.request.range;
        for region in self.regions.of(piece) {
            self.regions.adopt(region);
        }
        if self.regions.map().end(returned.hold) == Ended::Awaited {
            self.regions.reap(now);
        }
        let mut gather = Gather::default();
        for leg in returned.legs.iter() {
            let place = |image: &ImageState| image.device == Some(leg);
            let image = self.images.iter().position(place).expect("it was asked");
            if returned.good >> leg & 1 == 1 {
                gather.good.insert(image);
            } else {
                gather.bad.insert(image);
            }
        }
        let id = self.operations.insert(Operation::Write(Writing {
            request: returned.request,
            piece,
            blocked: 0,
            first: 0,
            gather: Gather::default(),
            error: None,
        }));
        gather.error = returned.error;
        let verdict = if gather.error.is_some() {
            self.judge(gather)
        } else {
            // Nobody knows which of them have done it, and nobody wants to.
            let what = format!("{}: a write was given up", self.config.name);
            Verdict::Failed(Error::new(Kind::Io, what))
        };
        self.write_judged(id, verdict, now, steps);
    }

    fn reads_from(&mut self, image: usize, range: Range) {
        self.reads.begin(image, range);
        self.regions.map().begin_read(image);
    }

    pub(super) fn read_answered(&mut self, id: usize, answer: Completion, steps: &mut Steps) {
        let Operation::Read(reading) = self.operations.get_mut(id) else {
            unreachable!("it is a read");
        };
        let image = reading.image;
        self.regions.map().end_read(image);
        let range = reading.request.range;
        if let Err(error) = answer.result {
            reading.tried.insert(image);
            let tried = reading.tried;
            self.images[image].errors += 1;
            if let Some(other) = self.choose(range, tried) {
                let Operation::Read(reading) = self.operations.get_mut(id) else {
                    unreachable!("it is a read");
                };
                reading.image = other;
                self.reads_from(other, range);
                let buffer = self.whole(answer.buffer, range);
                let request = Request::read(id as u64, range.start(), buffer);
                self.ask(other, request, steps);
                return;
            }
            return self.end_read(id, answer.buffer, Err(error), steps);
        }
        self.end_read(id, answer.buffer, Ok(()), steps);
    }

    /// A buffer for a read of `range`: a device that failed may have kept the one it got.
    fn whole(&mut self, buffer: block::Buffer, range: Range) -> block::Buffer {
        if buffer.len() as u64 == range.len() {
            return buffer;
        }
        self.pool.get(range.len() as usize)
    }

    fn end_read(
        &mut self,
        id: usize,
        buffer: block::Buffer,
        result: block::Result<()>,
        steps: &mut Steps,
    ) {
        let Operation::Read(mut reading) = self.operations.remove(id) else {
            unreachable!("it is a read");
        };
        reading.request.buffer = buffer;
        self.done(reading.request, result, steps);
    }

    /// The image to read `range` from, of those that have not been tried.
    ///
    /// Where all images hold the same, the one that did not fail, was read last up to here, or has
    /// least to do; elsewhere the first one that is in sync, always the same.
    pub(super) fn choose(&self, range: Range, tried: ImageSet) -> Option<usize> {
        let usable = |image: &usize| self.images[*image].is_live() && !tried.contains(*image);
        let mut images = (0..self.images.len()).filter(usable);
        if !self.regions.is_range_in_sync(range) {
            return images.find(|image| self.images[*image].in_sync);
        }
        if !self.regions.is_settled(range) {
            return images.min_by_key(|image| (!self.images[*image].in_sync, *image));
        }
        let (mut all, mut well) = (0, 0);
        for image in images {
            all |= 1 << image;
            well |= u32::from(self.images[image].errors == 0) << image;
        }
        let images = if well == 0 { all } else { well };
        self.reads.choose(self.regions.map(), images, range)
    }

    fn nobody_holds(&self, range: Range) -> Error {
        let what = format!(
            "{}: no image that is there holds {range:?} as it was written last; bring the missing \
             image back",
            self.config.name
        );
        Error::new(Kind::Io, what)
    }

    fn begin_write(&mut self, request: Request, now: Duration, steps: &mut Steps) {
        if let Some(failure) = self.drops.failure() {
            // Nothing that is written could ever be answered.
            let failure = failure.clone();
            return self.done(request, Err(failure), steps);
        }
        let piece = Range::new(request.range.start(), 0);
        let id = self.operations.insert(Operation::Write(Writing {
            request,
            piece,
            blocked: 0,
            first: 0,
            gather: Gather::default(),
            error: None,
        }));
        self.begin_piece(id, now, steps);
    }

    /// Takes hold of the next piece's regions; writes it when all are open.
    fn begin_piece(&mut self, id: usize, now: Duration, steps: &mut Steps) {
        let most = match self.operations.write(id).request.operation {
            Asked::Write => u64::MAX,
            _ => self
                .limits
                .zeroed_regions
                .saturating_mul(self.config.region_size),
        };
        let write = self.operations.write(id);
        let start = write.piece.end();
        let piece = Range::new(start, (write.request.range.end() - start).min(most));
        write.piece = piece;
        let regions = self.regions.of(piece);
        if let Some(failure) = self.journal.failure() {
            let failure = failure.clone();
            if regions.clone().any(|region| self.regions.needs_log(region)) {
                let write = self.operations.write(id);
                write.piece = Range::new(start, 0);
                write.error = Some(failure);
                return self.end_write(id, steps);
            }
        }
        let (mut blocked, mut marked) = (0, Vec::new());
        for region in regions {
            match self.regions.hold(region, id) {
                Held::Free => continue,
                Held::Waits => {}
                Held::Mark => marked.push(region),
            }
            blocked += 1;
        }
        self.operations.write(id).blocked = blocked;
        if blocked == 0 {
            self.issue(id, now, steps);
        }
        self.mark(&marked, now, steps);
    }

    /// One of the regions that a write waits for is open.
    pub(super) fn unblock(&mut self, id: usize, now: Duration, steps: &mut Steps) {
        let write = self.operations.write(id);
        write.blocked -= 1;
        if write.blocked > 0 {
            return;
        }
        if write.error.is_some() {
            self.piece_done(id, now, steps);
        } else {
            self.issue(id, now, steps);
        }
    }

    /// Writes a piece to all images.
    fn issue(&mut self, id: usize, now: Duration, steps: &mut Steps) {
        if self.images.iter().any(|image| !image.is_live()) {
            // Somebody misses this write.
            for region in self.regions.of(self.operations.write(id).piece) {
                self.regions.set_in_sync(region, false);
            }
        }
        if self.is_running() && self.has_all() {
            // The next one needs no home.
            for region in self.regions.of(self.operations.write(id).piece) {
                self.regions.grant(region);
            }
        }
        let live: Vec<usize> = self.live_images().collect();
        let write = self.operations.write(id);
        let Some((first, others)) = live.split_first() else {
            write.error = Some(Error::new(Kind::Io, "no image is left"));
            return self.piece_done(id, now, steps);
        };
        write.first = *first;
        write.gather = Gather {
            out: live.len() as u32,
            ..Gather::default()
        };
        let (piece, durability) = (write.piece, write.request.durability);
        let operation = match write.request.operation {
            Asked::Discard => Asked::WriteZeroes(Unmap::Allowed),
            other => other,
        };
        let buffer = std::mem::take(&mut write.request.buffer);
        let ask = |buffer| Request {
            tag: id as u64,
            operation,
            range: piece,
            durability,
            buffer,
        };
        for image in others {
            self.ask(*image, ask(buffer.share()), steps);
        }
        self.ask(*first, ask(buffer), steps);
    }

    pub(super) fn write_answered(
        &mut self,
        id: usize,
        image: usize,
        answer: Completion,
        now: Duration,
        steps: &mut Steps,
    ) {
        let write = self.operations.write(id);
        if write.first == image {
            write.request.buffer = answer.buffer;
        }
        if !write.gather.note(image, answer.result) {
            return;
        }
        let gather = std::mem::take(&mut write.gather);
        let verdict = self.judge(gather);
        self.write_judged(id, verdict, now, steps);
    }

    fn write_judged(&mut self, id: usize, verdict: Verdict, now: Duration, steps: &mut Steps) {
        match verdict {
            Verdict::Done => self.answer_when_recorded(id, now, steps),
            Verdict::Failed(error) => {
                for region in self.regions.of(self.operations.write(id).piece) {
                    // The images may differ now.
                    self.regions.set_in_sync(region, false);
                }
                self.operations.write(id).error = Some(error);
                self.piece_done(id, now, steps);
            }
        }
    }

    /// A piece was written, or not; goes on with the next one.
    fn piece_done(&mut self, id: usize, now: Duration, steps: &mut Steps) {
        let piece = self.operations.write(id).piece;
        for region in self.regions.of(piece) {
            self.regions.release(region, now);
        }
        let write = self.operations.write(id);
        if write.error.is_some() || piece.end() == write.request.range.end() {
            self.end_write(id, steps);
        } else {
            self.begin_piece(id, now, steps);
        }
    }

    fn end_write(&mut self, id: usize, steps: &mut Steps) {
        let Operation::Write(write) = self.operations.remove(id) else {
            unreachable!("it is a write");
        };
        let result = write.error.map_or(Ok(()), Err);
        self.done(write.request, result, steps);
    }

    fn begin_flush(&mut self, request: Request, now: Duration, steps: &mut Steps) {
        let flushing = Flushing {
            request,
            gather: Gather::default(),
        };
        let id = self.operations.insert(Operation::Flush(flushing));
        let out = self.flush_images(id, steps);
        let Operation::Flush(flushing) = self.operations.get_mut(id) else {
            unreachable!("it is a flush");
        };
        flushing.gather.out = out;
        if out == 0 {
            self.answer_when_recorded(id, now, steps);
        }
    }

    pub(super) fn flush_answered(
        &mut self,
        id: usize,
        image: usize,
        answer: Completion,
        now: Duration,
        steps: &mut Steps,
    ) {
        let Operation::Flush(flushing) = self.operations.get_mut(id) else {
            unreachable!("it is a flush");
        };
        if !flushing.gather.note(image, answer.result) {
            return;
        }
        let gather = std::mem::take(&mut flushing.gather);
        match self.judge(gather) {
            Verdict::Done => self.answer_when_recorded(id, now, steps),
            Verdict::Failed(error) => self.end_flush(id, Err(error), steps),
        }
    }

    fn end_flush(&mut self, id: usize, result: block::Result<()>, steps: &mut Steps) {
        let Operation::Flush(flushing) = self.operations.remove(id) else {
            unreachable!("it is a flush");
        };
        self.done(flushing.request, result, steps);
    }

    /// Goes on with a request that waited for lost images to be called out of sync.
    pub(super) fn recorded(
        &mut self,
        id: usize,
        result: block::Result<()>,
        now: Duration,
        steps: &mut Steps,
    ) {
        match self.operations.get_mut(id) {
            Operation::Flush(_) => self.end_flush(id, result, steps),
            Operation::Write(write) => {
                write.error = result.err();
                self.piece_done(id, now, steps);
            }
            other => unreachable!("{other:?} does not wait for that"),
        }
    }
}
