//! Regions that rest become clean: the images are flushed, then their log bits are set.
//!
//! The flush is what makes the bit true: until then a write may be durable on one image and lost on
//! another. A region that is written while the flush runs stays dirty.
//!
//! When no region is out of sync any more, an image that was is in sync with the next flush of all
//! images, which begins at once: from then on it may take the place of another one.

use std::time::Duration;

use super::Mirror;
use super::control::{Step, Steps};
use super::operation::{Cleaning, Gather, Operation};

/// The timer of this module.
pub(super) const CLEAN_TIMER: u64 = 1;
/// Beyond so many regions with an entry, those that rest are cleaned without waiting.
const ACTIVE_MAX: usize = 4096;

impl Mirror {
    /// Sees to it that resting regions become clean in time.
    pub(super) fn pump_clean(&mut self, now: Duration, steps: &mut Steps) {
        if self.is_cleaning || self.journal.failure().is_some() {
            return;
        }
        if self.promotes() {
            let rest = self.config.clean_after;
            self.clean(now.saturating_sub(rest), now, steps);
        }
        if self.is_cleaning || !self.regions.has_resting() {
            return;
        }
        if self.regions.active_count() > ACTIVE_MAX {
            self.clean(now, now, steps);
        }
        if !self.clean_timer {
            self.clean_timer = true;
            let at = now.saturating_add(self.config.clean_after);
            let key = CLEAN_TIMER;
            steps.push(Step::Timer { at, key });
        }
    }

    /// Whether an image only has to be durable to be in sync.
    fn promotes(&self) -> bool {
        let some_out_of_sync = self.images.iter().any(|image| !image.in_sync);
        some_out_of_sync && !self.is_move() && self.regions.all_in_sync() && self.all_live()
    }

    pub(super) fn clean_timer_fired(&mut self, now: Duration, steps: &mut Steps) {
        self.clean_timer = false;
        if !self.is_cleaning {
            // Half the time is enough, so that a region does not wait for a second round.
            let rest = self.config.clean_after / 2;
            self.clean(now.saturating_sub(rest), now, steps);
        }
    }

    /// Begins to clean what has rested since `before`.
    pub(super) fn clean(&mut self, before: Duration, now: Duration, steps: &mut Steps) {
        let regions = self.regions.resting(before, now);
        let promotes = self.promotes();
        let idle = regions.is_empty() && !promotes;
        if idle || self.journal.failure().is_some() {
            return;
        }
        let cleaning = Cleaning {
            regions,
            promotes,
            gather: Gather::default(),
        };
        // Without a log nothing is said of regions, but an image that counts must be durable.
        let is_said = self.journal.log.is_some() || promotes;
        if !is_said {
            return self.cleaned(cleaning);
        }
        let id = self.operations.insert(Operation::Clean(cleaning));
        let out = self.flush_images(id, steps);
        let Operation::Clean(cleaning) = self.operations.get_mut(id) else {
            unreachable!("it was just made");
        };
        cleaning.gather.out = out;
        self.is_cleaning = true;
    }

    pub(super) fn clean_flush_answered(
        &mut self,
        id: usize,
        image: usize,
        result: block::Result<()>,
    ) {
        let Operation::Clean(cleaning) = self.operations.get_mut(id) else {
            unreachable!("it is such a flush");
        };
        if !cleaning.gather.note(image, result) {
            return;
        }
        let Operation::Clean(mut cleaning) = self.operations.remove(id) else {
            unreachable!("it is such a flush");
        };
        self.is_cleaning = false;
        let gather = std::mem::take(&mut cleaning.gather);
        if gather.bad.is_empty() {
            self.cleaned(cleaning);
        } else {
            // What failed here is lost; what is not in sync any more stays dirty.
            self.judge(gather);
        }
    }

    fn cleaned(&mut self, cleaning: Cleaning) {
        for (region, version) in cleaning.regions {
            if self.regions.clean(region, version)
                && let Some(log) = &mut self.journal.log
            {
                log.set(region, true);
            }
        }
        if cleaning.promotes && self.regions.all_in_sync() && self.all_live() {
            for image in &mut self.images {
                image.in_sync = true;
            }
            self.record_in_sync();
        }
    }
}
