//! Images that fail, and how it is made sure that they are not taken for good later.
//!
//! An image that fails a write or a flush which another one in sync did is lost: it is not used any
//! more. Before anything is answered that it missed, three things happen in order: the other images
//! are flushed (what they hold may have been durable on the lost image alone), the image is taken
//! off the log's record of images in sync, and that record is durable. So whatever power cut
//! follows, either the record is there, or nothing was answered that only the other images hold.
//! Where the metadata name the lost image first, they are changed as a fourth thing (`primary.rs`).
//!
//! If no image in sync did it, nobody is lost: the request fails, and the images may differ.
//!
//! A log in memory remembers nothing; what the metadata say is all that is known of such a
//! mirror when it starts again.

use std::time::Duration;

use block::{Error, Request};

use super::Mirror;
use super::control::{Step, Steps};
use super::journal::Waiter;
use super::operation::{Gather, ImageSet, Operation};

/// What is known of an image.
#[derive(Debug)]
pub(super) struct ImageState {
    pub(super) id: u64,
    pub(super) device: Option<usize>,
    /// It failed.
    pub(super) lost: bool,
    /// It holds what was written last, wherever the images may differ.
    pub(super) in_sync: bool,
    /// Reads that failed.
    pub(super) errors: u64,
}

impl ImageState {
    /// Whether it is there and has not failed.
    pub(super) fn is_live(&self) -> bool {
        self.device.is_some() && !self.lost
    }
}

/// Requests that wait until lost images are recorded as out of sync.
#[derive(Debug, Default)]
pub(super) struct Drops {
    /// Images were lost since the present round began.
    wanted: bool,
    /// Those who wait for the next round.
    next: Vec<usize>,
    /// Those who wait for the present one.
    round: Option<Vec<usize>>,
    /// The image that is being written down as primary; the present round waits for that.
    pub(super) persisting: Option<usize>,
    /// Why nothing can be recorded any more.
    failed: Option<Error>,
}

impl Drops {
    pub(super) fn is_idle(&self) -> bool {
        !self.wanted && self.round.is_none()
    }

    /// Why nothing can be recorded any more.
    pub(super) fn failure(&self) -> Option<&Error> {
        self.failed.as_ref()
    }

    /// From now on nothing is written.
    pub(super) fn fail(&mut self, why: &Error) {
        self.failed.get_or_insert_with(|| why.clone());
    }

    /// Whether a round should begin.
    pub(super) fn wants_round(&self) -> bool {
        self.wanted && self.round.is_none()
    }
}

/// What the answers of several images come to.
#[derive(Debug)]
pub(super) enum Verdict {
    Done,
    Failed(Error),
}

impl Mirror {
    pub(super) fn live_images(&self) -> impl Iterator<Item = usize> {
        let live = |image: &usize| self.images[*image].is_live();
        (0..self.images.len()).filter(live)
    }

    pub(super) fn all_live(&self) -> bool {
        self.images.iter().all(ImageState::is_live)
    }

    /// Asks an image.
    pub(super) fn ask(&self, image: usize, request: Request, steps: &mut Steps) {
        let image = self.images[image].device.expect("it is there");
        steps.push(Step::Sub {
            leg: image,
            request,
        });
    }

    /// Flushes all images for an operation; how many.
    pub(super) fn flush_images(&self, id: usize, steps: &mut Steps) -> u32 {
        let mut count = 0;
        for image in self.live_images() {
            self.ask(image, Request::flush(id as u64), steps);
            count += 1;
        }
        count
    }

    /// Loses the images that did not do what one in sync did.
    pub(super) fn judge(&mut self, gather: Gather) -> Verdict {
        let Some(error) = gather.error else {
            return Verdict::Done;
        };
        let in_sync = |image: usize| self.images[image].in_sync;
        let done = gather.good.iter().any(in_sync);
        let mut lost = ImageSet::default();
        for image in gather.bad.iter().filter(|image| done || !in_sync(*image)) {
            lost.insert(image);
        }
        self.lose(lost);
        if done {
            Verdict::Done
        } else {
            Verdict::Failed(error.within(&self.config.name))
        }
    }

    fn lose(&mut self, images: ImageSet) {
        for image in images
            .iter()
            .filter(|image| self.images[*image].is_live())
            .collect::<Vec<_>>()
        {
            self.images[image].lost = true;
            self.images[image].in_sync = false;
            self.drops.wanted = true;
            self.regions.lose_sync_of_dirty();
        }
    }

    /// Answers a request that was done, once no lost image can be taken for good again.
    pub(super) fn answer_when_recorded(&mut self, id: usize, now: Duration, steps: &mut Steps) {
        if let Some(error) = &self.drops.failed {
            let error = error.clone();
            return self.recorded(id, Err(error), now, steps);
        }
        match &mut self.drops.round {
            _ if self.drops.wanted => self.drops.next.push(id),
            Some(round) => round.push(id),
            None => self.recorded(id, Ok(()), now, steps),
        }
    }

    /// Begins to record lost images, if there are new ones.
    pub(super) fn pump_drops(&mut self, now: Duration, steps: &mut Steps) {
        while self.drops.wants_round() {
            self.drops.wanted = false;
            self.drops.round = Some(std::mem::take(&mut self.drops.next));
            if self.journal.log.is_none() {
                self.drop_recorded(&Ok(()), now, steps);
                continue;
            }
            let id = self
                .operations
                .insert(Operation::DropFlush(Gather::default()));
            let out = self.flush_images(id, steps);
            assert!(out > 0, "the last image in sync is never lost");
            let Operation::DropFlush(gather) = self.operations.get_mut(id) else {
                unreachable!("it was just made");
            };
            gather.out = out;
        }
    }

    pub(super) fn drop_flush_answered(
        &mut self,
        id: usize,
        image: usize,
        result: block::Result<()>,
        now: Duration,
        steps: &mut Steps,
    ) {
        let Operation::DropFlush(gather) = self.operations.get_mut(id) else {
            unreachable!("it is such a flush");
        };
        if !gather.note(image, result) {
            return;
        }
        let Operation::DropFlush(gather) = self.operations.remove(id) else {
            unreachable!("it is such a flush");
        };
        match self.judge(gather) {
            Verdict::Done => {
                self.record_in_sync();
                self.journal.wait(Waiter::Drop);
            }
            Verdict::Failed(error) => self.drop_recorded(&Err(error), now, steps),
        }
    }

    /// Puts the images that are in sync on record.
    pub(super) fn record_in_sync(&mut self) {
        let in_sync = self.images.iter().filter(|image| image.in_sync);
        let ids: Vec<u64> = in_sync.map(|image| image.id).collect();
        if let Some(log) = &mut self.journal.log {
            log.record_images(&ids);
        }
    }

    /// The record says which images are lost; the primary image may have to change.
    pub(super) fn drop_recorded(
        &mut self,
        result: &block::Result<()>,
        now: Duration,
        steps: &mut Steps,
    ) {
        if result.is_ok() && self.primary_is_out_of_sync() {
            self.persist_primary(steps);
            return;
        }
        if result.is_ok() {
            self.report_loss(steps);
        }
        self.end_drop_round(result, now, steps);
    }

    /// When writes begin: where the primary image is out of sync by now, a round without
    /// requests, behind which writes wait.
    pub(super) fn begin_primary_round(&mut self, steps: &mut Steps) {
        if !self.is_running() || !self.primary_is_out_of_sync() {
            return;
        }
        assert!(self.drops.is_idle(), "nothing was lost before the start");
        self.drops.round = Some(Vec::new());
        self.persist_primary(steps);
    }

    /// All is said that had to be, or cannot be.
    pub(super) fn end_drop_round(
        &mut self,
        result: &block::Result<()>,
        now: Duration,
        steps: &mut Steps,
    ) {
        let mut waiters = self.drops.round.take().expect("a round was running");
        if let Err(error) = result {
            self.drops.fail(error);
            self.drops.wanted = false;
            waiters.append(&mut self.drops.next);
        }
        for id in waiters {
            self.recorded(id, result.clone(), now, steps);
        }
    }
}
