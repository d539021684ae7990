//! Writes entries of strokes that wait, and heads where a new generation begins.
//!
//! One batch is written at a time, so that entries of a leg follow one another without a gap: who
//! reads them stops at the first that is none.

use block::{Buffer, Completion, Durability, Error, Request};

use super::super::array::{Array, Steps};
use super::super::config::{Consistency, LegContent};
use super::super::doubt::Doubt;
use super::super::fence::Then;
use super::super::jobs::{Gather, Job, Question};
use super::super::md::partial;
use super::super::strokes::Entered;
use super::super::update::{members, only};
use super::super::view::LegSet;
use super::format::{BLOCK, Head, State, append};
use super::state::{Journal, Phase, Tells, Turn, Wanted, needed};

/// What is being written.
#[derive(Debug)]
pub(in super::super) struct Batch {
    what: What,
    gather: Gather,
    /// Bytes that each leg gets.
    added: Vec<u64>,
}

#[derive(Debug)]
enum What {
    /// Entries of these strokes.
    Entries(Vec<usize>),
    /// Heads; whether all legs have been flushed.
    Heads { is_whole: bool },
}

impl Journal {
    /// Whether one has to begin, as far as strokes that have not ended let it.
    #[cfg(any(test, feature = "explore"))]
    pub(in super::super) fn is_about_to_turn(&self) -> bool {
        let is_full = self
            .tails
            .iter()
            .any(|tail| tail + BLOCK >= self.area.len());
        self.must_turn(!is_full)
    }

    /// Whether a new generation has to begin before more entries are written.
    fn must_turn(&self, fits: bool) -> bool {
        let is_waited_for = !self.waiting.is_empty() && (self.phase == Phase::Closed || !fits);
        is_waited_for
            || self.is_stale && !self.waiting.is_empty()
            || self.moving.is_some()
            || !self.joining.is_empty()
            || self.wanted != Wanted::Nothing
    }
}

impl Array {
    /// Whether rows are to be journaled now.
    fn wants_journal(&self) -> bool {
        match self.config.consistency {
            Consistency::Auto => !self.holds_all() || self.is_rebuild_said(),
            Consistency::Journal => true,
            Consistency::None => false,
        }
    }

    /// Whether metadata may say of a leg that it is to be filled. It may hold all by now; but who
    /// starts the array by them believes nothing of it, and nobody tells when they stop saying so.
    fn is_rebuild_said(&self) -> bool {
        let mut legs = self.config.legs.iter();
        legs.any(|leg| leg.content == LegContent::Rebuild)
    }

    /// Whether a stroke that may be written goes through the journal first: from when that is
    /// wanted until nothing counts that was entered.
    pub(in super::super) fn is_journaled(&mut self) -> bool {
        let is_wanted = self.journal.is_some() && self.wants_journal();
        let Some(journal) = &mut self.journal else {
            return false;
        };
        if is_wanted {
            journal.turn_on();
        }
        journal.is_on
    }

    /// Where it is wanted no more, entries end, and then strokes go past it.
    fn leave_journal(&mut self) {
        let is_wanted = self.wants_journal();
        let journal = self.journal.as_mut().expect("it has one");
        if !journal.is_on || is_wanted || !journal.is_idle() {
            return;
        }
        match journal.phase {
            Phase::Open => journal.wanted = Wanted::End,
            _ => journal.is_on = false,
        }
    }

    /// Begins whatever may be begun.
    pub(in super::super) fn pump_journal(&mut self, steps: &mut Steps) {
        if self.journal.is_none() {
            return;
        }
        self.leave_journal();
        let journal = self.journal.as_ref().expect("it has one");
        if !matches!(journal.phase, Phase::Closed | Phase::Open) {
            return;
        }
        let (strokes, needs) = self.batch();
        let view = self.view.as_ref().expect("it has started");
        let is_doubtful = view.assembly().dirty != Doubt::Nowhere;
        let journal = self.journal.as_mut().expect("it has one");
        if journal.must_turn(!strokes.is_empty()) {
            // Entries go that would give a leg what it lacks: that it is away is on record before.
            let record = self.record.as_ref().expect("it is written");
            let is_over = journal.open == 0 && (journal.past == 0 || !journal.is_on);
            if is_over && !record.is_saying_loss() {
                journal.is_stale = false;
                journal.was_doubtful = is_doubtful;
                journal.before = std::mem::replace(&mut journal.phase, Phase::Turning);
                journal.turn = Turn {
                    joining: std::mem::take(&mut journal.joining),
                    moving: journal.moving.take(),
                };
                self.begin_fence(Then::Journal, steps);
            }
        } else if !strokes.is_empty() {
            journal.phase = Phase::Writing;
            journal.waiting.drain(..strokes.len());
            journal.open += strokes.len();
            self.write_entries(strokes, &needs, steps);
        }
    }

    /// The first of the strokes that wait, as many as there is room for, and how many bytes each
    /// leg gets of them.
    fn batch(&self) -> (Vec<usize>, Vec<u64>) {
        let journal = self.journal.as_ref().expect("it has one");
        if journal.is_partial() {
            return self.partial_batch(journal);
        }
        let mut needs = vec![0; journal.tails.len()];
        let mut strokes = Vec::new();
        for id in &journal.waiting {
            let mut more = needs.clone();
            for entered in self.entered(*id) {
                let len = needed(entered.legs, entered.run);
                members(entered.journals).for_each(|leg| more[leg] += len);
            }
            let mut legs = more.iter().zip(&journal.tails);
            if !legs.all(|(need, tail)| tail + need <= journal.area.len()) {
                break;
            }
            needs = more;
            strokes.push(*id);
        }
        (strokes, needs)
    }

    /// What a stroke that waits enters.
    pub(super) fn entered(&self, id: usize) -> Vec<Entered<'_>> {
        let Job::Write(stroke) = self.jobs.get(id) else {
            unreachable!("a stroke waits");
        };
        self.entered_by(stroke)
    }

    fn write_entries(&mut self, strokes: Vec<usize>, needs: &[u64], steps: &mut Steps) {
        let journal = self.journal.as_ref().expect("it has one");
        if let Tells::Partial { signature } = journal.tells {
            let writes = self.partial_writes(signature, &strokes, needs);
            return self.write_batch(What::Entries(strokes), writes, steps);
        }
        let (session, mut number) = (journal.session, journal.number);
        let mut written: Vec<Vec<u8>> = needs
            .iter()
            .map(|need| Vec::with_capacity(need.next_multiple_of(BLOCK) as usize))
            .collect();
        for id in &strokes {
            for entered in self.entered(*id) {
                for leg in members(entered.journals) {
                    let what = (number, entered.run);
                    append(&mut written[leg], session, what, entered.bytes());
                }
                number += 1;
            }
        }
        let tails = journal.tails.clone();
        let area = journal.area;
        let mut writes = Vec::new();
        for (leg, mut bytes) in written.into_iter().enumerate() {
            assert_eq!(bytes.len() as u64, needs[leg], "it was counted");
            if bytes.is_empty() {
                continue;
            }
            bytes.resize(bytes.len().next_multiple_of(BLOCK as usize), 0);
            writes.push((leg, area.start() + tails[leg], bytes));
        }
        self.journal.as_mut().expect("it has one").number = number;
        self.write_batch(What::Entries(strokes), writes, steps);
    }

    fn write_batch(&mut self, what: What, writes: Vec<(usize, u64, Vec<u8>)>, steps: &mut Steps) {
        let mut added = vec![0; self.config.legs.len()];
        for (leg, _, bytes) in &writes {
            added[*leg] = bytes.len() as u64;
        }
        let id = self.jobs.insert(Job::Journal(Batch {
            what,
            gather: Gather {
                out: writes.len(),
                ..Gather::default()
            },
            added,
        }));
        if writes.is_empty() {
            self.finished.push_back(id);
        }
        for (leg, start, bytes) in writes {
            let (job, slot) = (id, 0);
            let buffer = Buffer::copy_of(&bytes);
            let request = Request::write(0, start, Durability::Fua, buffer);
            self.ask_meta(Question { job, leg, slot }, request, steps);
        }
    }

    /// A leg has written its part of a batch, or not.
    pub(in super::super) fn journal_answered(&mut self, question: Question, answer: Completion) {
        let Question { job: id, leg, .. } = question;
        if answer.result.is_err() {
            self.errors[leg] += 1;
        }
        let Job::Journal(batch) = self.jobs.get_mut(id) else {
            unreachable!("a batch is written");
        };
        batch.gather.note(leg, answer.result);
        if batch.gather.out == 0 {
            self.finished.push_back(id);
        }
    }

    /// A batch is durable, or not.
    pub(in super::super) fn journal_finished(&mut self, id: usize, steps: &mut Steps) {
        let Job::Journal(batch) = self.jobs.remove(id) else {
            unreachable!("a batch is written");
        };
        let good = batch.gather.good;
        let error = self.judge(batch.gather);
        match batch.what {
            What::Entries(strokes) => {
                let journal = self.journal.as_mut().expect("it has one");
                assert_eq!(journal.phase, Phase::Writing);
                journal.phase = Phase::Open;
                for leg in members(good) {
                    journal.tails[leg] += batch.added[leg];
                }
                for stroke in strokes {
                    self.stroke_entered(stroke, error.as_ref(), steps);
                }
            }
            What::Heads { is_whole } => self.turned(error.as_ref(), is_whole, steps),
        }
    }

    /// Legs have been flushed: heads say that what was entered before is over.
    pub(in super::super) fn journal_flushed(
        &mut self,
        error: Option<&Error>,
        is_whole: bool,
        steps: &mut Steps,
    ) {
        if error.is_some() {
            return self.turned(error, is_whole, steps);
        }
        let record = self.record.as_ref().expect("it is written");
        if record.is_saying_loss() {
            // It did not do the flush.
            let journal = self.journal.as_mut().expect("it has one");
            assert_eq!(journal.phase, Phase::Turning);
            let Turn { joining, moving } = std::mem::take(&mut journal.turn);
            journal.joining.extend(joining);
            journal.moving = journal.moving.or(moving);
            journal.phase = journal.before;
            journal.is_stale |= journal.is_on;
            return;
        }
        let mut legs = self.recorded();
        let writable = self.writable();
        let journal = self.journal.as_ref().expect("it has one");
        let is_new = journal.before == Phase::Closed || journal.wanted != Wanted::Nothing;
        if journal.is_partial() && !is_new && journal.turn.joining.is_empty() {
            // The next header is over this one.
            return self.turned(None, is_whole, steps);
        }
        let journal = self.journal.as_mut().expect("it has one");
        assert_eq!(journal.phase, Phase::Turning);
        legs |= journal
            .turn
            .joining
            .iter()
            .fold(0, |set: LegSet, leg| set | only(*leg) & writable);
        journal.session.generation += 1;
        let state = match journal.wanted {
            Wanted::End => State::Ended,
            Wanted::Nothing | Wanted::Turn => State::Open,
        };
        let (session, array) = (journal.session, journal.array);
        let head = |leg: usize| match journal.tells {
            Tells::Partial { signature } => {
                partial::empty(signature, session.generation, 2 * BLOCK)
            }
            Tells::All => {
                let leg = leg as u32;
                let head = Head {
                    session,
                    state,
                    array,
                    leg,
                };
                head.encode()
            }
        };
        let start = journal.area.start();
        let heads = members(legs).map(|leg| (leg, start, head(leg)));
        let heads = heads.collect();
        self.write_batch(What::Heads { is_whole }, heads, steps);
    }

    /// A new generation has begun, or cannot.
    fn turned(&mut self, error: Option<&Error>, is_whole: bool, steps: &mut Steps) {
        let journal = self.journal.as_mut().expect("it has one");
        assert_eq!(journal.phase, Phase::Turning);
        let wanted = std::mem::replace(&mut journal.wanted, Wanted::Nothing);
        let Turn { joining, moving } = std::mem::take(&mut journal.turn);
        journal.phase = match (&error, wanted) {
            (None, Wanted::Nothing | Wanted::Turn) => Phase::Open,
            _ => Phase::Closed,
        };
        if let Some(error) = error {
            for id in std::mem::take(&mut journal.waiting) {
                self.stroke_refused(id, error, steps);
            }
        } else {
            journal.tails.fill(BLOCK);
            journal.is_doubtful = journal.was_doubtful;
        }
        if let Some(window) = moving {
            self.window_flushed(window, error);
        }
        let is_whole = is_whole && error.is_none();
        if !joining.is_empty() {
            self.is_joining = false;
            if !is_whole {
                self.mending.pause(self.now);
            }
            for leg in joining {
                self.join(leg, is_whole);
            }
        }
    }
}
