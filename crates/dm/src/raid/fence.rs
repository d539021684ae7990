//! Rounds of flushes: all legs that are written are flushed, and what they hold then is durable.
//!
//! Behind one comes the answer to a flush, the end of marks that rest, the record that a leg holds
//! all again, another generation of the journal, the end of a repair, or of the array. A leg that
//! does not do it is away from then on.

use std::time::Duration;

use block::{Completion, Error, Request};

use super::array::{Array, Steps};
use super::assembly::LegState;
use super::doubt::Doubt;
use super::health::Progress;
use super::jobs::{Gather, Job, Question};
use super::journal::Replay;
use super::record::Claim;
use super::update::{members, only};
use crate::machine::Step;

/// The timer of this module.
pub(super) const CLEAN_TIMER: u64 = 1;
/// How long a region rests before its mark is taken off; what the kernel's bitmaps say, too.
const REST: Duration = Duration::from_secs(5);

/// See the module.
#[derive(Debug)]
pub(super) struct Fence {
    gather: Gather,
    then: Then,
    /// How it went, while that a leg is away is being recorded.
    error: Option<Error>,
}

/// What comes behind a round.
#[derive(Debug)]
pub(super) enum Then {
    /// The answer to the request with this tag.
    Answer(u64),
    /// These regions are clean, if nobody wrote them meanwhile.
    Clean(Vec<(u64, u64)>),
    /// These legs hold all that they should.
    Join(Vec<usize>),
    /// So far is all.
    Progress(Progress),
    /// The journal begins another generation.
    Journal,
    /// What the journal said is on all legs.
    Replay(Replay),
    /// What this order had repaired is.
    Repaired(u64),
    /// Nothing is being written any more.
    Rest,
    /// What this step of a reshape has moved is there.
    Window(usize),
}

impl Array {
    /// Flushes all legs that are written.
    pub(super) fn begin_fence(&mut self, then: Then, steps: &mut Steps) {
        let legs: Vec<usize> = members(self.writable()).collect();
        let id = self.jobs.insert(Job::Fence(Fence {
            gather: Gather {
                out: legs.len(),
                ..Gather::default()
            },
            then,
            error: None,
        }));
        for leg in &legs {
            let (job, slot) = (id, 0);
            let question = Question {
                job,
                leg: *leg,
                slot,
            };
            self.ask(question, Request::flush(0), steps);
        }
        if legs.is_empty() {
            self.finished.push_back(id);
        }
    }

    /// A leg answered a flush.
    pub(super) fn fence_answered(&mut self, question: Question, answer: Completion) {
        let Question { job: id, leg, .. } = question;
        if answer.result.is_err() {
            self.errors[leg] += 1;
        }
        let Job::Fence(fence) = self.jobs.get_mut(id) else {
            unreachable!("it is such a round");
        };
        fence.gather.note(leg, answer.result);
        if fence.gather.out == 0 {
            self.finished.push_back(id);
        }
    }

    /// All legs have answered a round of flushes.
    pub(super) fn fence_finished(&mut self, id: usize, steps: &mut Steps) {
        let Job::Fence(fence) = self.jobs.get_mut(id) else {
            unreachable!("it is such a round");
        };
        let gather = std::mem::take(&mut fence.gather);
        let is_whole = gather.bad == 0;
        let error = self.judge(gather);
        let Job::Fence(fence) = self.jobs.get_mut(id) else {
            unreachable!("it is such a round");
        };
        fence.error.clone_from(&error);
        match &fence.then {
            Then::Answer(_) => {}
            Then::Journal => {
                self.jobs.remove(id);
                return self.journal_flushed(error.as_ref(), is_whole, steps);
            }
            Then::Window(window) => {
                let window = *window;
                self.jobs.remove(id);
                return self.window_flushed(window, error.as_ref());
            }
            Then::Replay(_) => {
                let Job::Fence(fence) = self.jobs.remove(id) else {
                    unreachable!("it is such a round");
                };
                let Then::Replay(replay) = fence.then else {
                    unreachable!("it is for that");
                };
                return self.replay_flushed(replay, error.map_or(Ok(()), Err), steps);
            }
            Then::Clean(_) | Then::Join(_) | Then::Progress(_) | Then::Repaired(_) | Then::Rest => {
                let Job::Fence(fence) = self.jobs.remove(id) else {
                    unreachable!("it is such a round");
                };
                return self.settle(fence.then, is_whole);
            }
        }
        match &mut self.record {
            Some(record) if record.is_loss_unsaid() && record.claim != Claim::Not => {
                record.wait(id);
            }
            _ => self.end_fence(id, None, steps),
        }
    }

    /// Answers a flush.
    pub(super) fn end_fence(&mut self, id: usize, error: Option<Error>, steps: &mut Steps) {
        let Job::Fence(fence) = self.jobs.remove(id) else {
            unreachable!("it is such a round");
        };
        let Then::Answer(tag) = fence.then else {
            unreachable!("only answers wait");
        };
        let result = fence.error.or(error).map_or(Ok(()), Err);
        let completion = Request::flush(tag).complete(result);
        steps.push(Step::Done(completion));
    }

    /// What legs hold is durable, all of them or not.
    fn settle(&mut self, then: Then, is_whole: bool) {
        match then {
            Then::Clean(regions) => {
                self.is_cleaning = false;
                if is_whole && self.is_whole() {
                    self.clean(regions);
                    self.rest_if_idle();
                }
            }
            Then::Join(legs) => {
                self.is_joining = false;
                if !is_whole {
                    self.mending.pause(self.now);
                }
                for leg in legs {
                    self.join(leg, is_whole);
                }
            }
            Then::Progress(progress) => {
                self.is_noting = false;
                if !is_whole {
                    self.mending.pause(self.now);
                }
                if is_whole {
                    // What came into doubt meanwhile is.
                    let now = self.progress().synced;
                    let synced = progress.synced.into_iter().chain(now).min();
                    self.record_progress(Progress { synced, ..progress });
                }
            }
            Then::Repaired(order) => self.mending.orders.flushed(order, is_whole),
            Then::Rest if is_whole && self.wants_rest() => self.rest(),
            Then::Rest => {}
            Then::Answer(_) | Then::Journal | Then::Replay(_) | Then::Window(_) => {
                unreachable!("it has an end of its own");
            }
        }
    }

    /// Whether legs are to be told that nothing is being written any more.
    pub(super) fn wants_rest(&self) -> bool {
        self.config.keeping.tells_rest() && self.is_claimed()
    }

    /// Tells them, if that is so: all is in sync and durable, and nobody has begun to write.
    fn rest_if_idle(&mut self) {
        let progress = self.progress();
        let is_done = progress.synced.is_none() && progress.filled.iter().all(Option::is_none);
        let is_unmarked = self.regions.marked().count() == 0 && self.regions.is_idle();
        if self.wants_rest() && is_done && is_unmarked && self.mending.is_idle() {
            self.rest();
        }
    }

    /// All that legs hold is durable, and nothing is being written.
    fn rest(&mut self) {
        let progress = self.progress();
        self.say_progress(progress);
        self.record.as_mut().expect("it is written").rest();
    }

    fn clean(&mut self, regions: Vec<(u64, u64)>) {
        let record = self.record.as_mut().expect("it is written");
        let view = self.view.as_ref().expect("it has started");
        let doubt = &view.assembly().dirty;
        let size = self.regions.marked().region();
        for (region, version) in regions {
            let range = block::Range::new(region * size, 1);
            if !doubt.overlaps(range) && self.regions.clean(region, version) {
                record.clear(region);
            }
        }
    }

    /// A leg holds all that it should, durably.
    pub(super) fn join(&mut self, leg: usize, is_whole: bool) {
        let view = self.view_mut();
        let assembly = view.assembly_mut();
        let is_filled = assembly.missed[leg] == Doubt::Nowhere;
        if !is_whole || !is_filled || assembly.legs[leg] != LegState::Filling {
            return;
        }
        assembly.legs[leg] = LegState::Valid { until: u64::MAX };
        self.unsaid &= !only(leg);
        self.record.as_mut().expect("it is written").join(leg);
        self.map_changed = true;
    }

    /// Sees to it that marks are taken off in time.
    pub(super) fn pump_clean(&mut self, steps: &mut Steps) {
        if self.regions.is_idle() || !self.is_whole() {
            return;
        }
        if !self.clean_timer {
            self.clean_timer = true;
            let (at, key) = (self.now.saturating_add(REST), CLEAN_TIMER);
            steps.push(Step::Timer { at, key });
        }
    }

    pub(super) fn clean_timer_fired(&mut self, steps: &mut Steps) {
        self.clean_timer = false;
        // Half the time is enough, so that a region does not wait for a second round.
        self.begin_cleaning(self.now.saturating_sub(REST / 2), steps);
    }

    /// Takes marks off that have rested since `before`.
    pub(super) fn begin_cleaning(&mut self, before: Duration, steps: &mut Steps) {
        if self.is_cleaning || !self.is_whole() {
            return;
        }
        let resting = self.regions.resting(before);
        if resting.is_empty() {
            return;
        }
        self.is_cleaning = true;
        self.begin_fence(Then::Clean(resting), steps);
    }
}
