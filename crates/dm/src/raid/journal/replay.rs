//! Finds what was entered and may not be on all legs, and writes it once more.
//!
//! ```text
//!   bitmaps' marks and heads ─▸ agree? ─▸ metadata flushed ─▸ entries read ─▸ superblocks say who
//!                                  ╰ no: nothing to do              is away ─▸ legs get the newest
//!                                                of each sector ─▸ flushed ─▸ the next mark
//! ```
//!
//! It writes like anybody: a leg that is not there lacks what it writes, and must not be believed
//! afterwards. So superblocks say first who is away, beside the mark that still counts; and nothing
//! else is written before the next mark is durable on all legs, by which these entries are over.
//!
//! It comes before the start of an array that is written, and before anything that would end the
//! journal: until the next mark is durable it may be done again. What is seen after a process was
//! killed may be in caches only; so metadata are flushed before anything follows from them.

use std::collections::{BTreeMap, VecDeque};

use block::{Buffer, Completion, Durability, Error, Range, Request};

use super::super::array::{Array, Steps};
use super::super::assembly::LegState;
use super::super::bitmap::START;
use super::super::fence::Then;
use super::super::jobs::{Gather, Job, Question};
use super::super::update::{members, only};
use super::super::view::LegSet;
use super::format::{BLOCK, Bounds, Entry, Head, Session, State};
use super::state::{SECTOR, area, array_of, bounds};

/// Where bitmaps have the mark: the number of nodes of a cluster, which arrays of device-mapper's
/// never are.
pub(in super::super) const MARK_AT: usize = 68;
/// Bytes that are asked of a leg at once at most.
const RUN_MAX: u64 = 1 << 20;
/// More generations nobody has begun.
const GENERATION_MAX: u64 = u64::MAX >> 1;
/// Runs that are written at once.
const WRITES_MAX: usize = 32;
/// What a question of the first stage is about.
const SLOT_BITMAP: usize = 0;
const SLOT_HEAD: usize = 1;

/// See the module.
#[derive(Debug)]
pub(in super::super) struct Replay {
    stage: Stage,
    area: Range,
    array: u64,
    /// Legs that are asked, and those of them that hold all that they should.
    legs: LegSet,
    whole: LegSet,
    marks: BTreeMap<usize, u32>,
    heads: BTreeMap<usize, Head>,
    /// What was read of the entries of legs.
    journals: BTreeMap<usize, Vec<u8>>,
    /// What is to be written: leg, first byte of its data, bytes.
    writes: VecDeque<(usize, u64, Vec<u8>)>,
    gather: Gather,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Heads,
    Flushing(Session),
    Entries(Session),
    /// Superblocks say who is away.
    Telling,
    Writing,
    /// Bitmaps get the next mark.
    Marking,
}

impl Replay {
    /// The session whose entries count; `None`: none do.
    fn session(&self) -> Option<Session> {
        let mut whole = members(self.whole).map(|leg| self.marks.get(&leg));
        let mark = *whole.next()??;
        if mark == 0 || !whole.all(|other| other == Some(&mark)) {
            return None;
        }
        let newest = self
            .counting(mark)
            .max_by_key(|head| head.session.generation)?;
        (newest.state == State::Open).then_some(newest.session)
    }

    /// Heads of this array with a mark, each on the leg that it is of.
    fn counting(&self, mark: u32) -> impl Iterator<Item = &Head> {
        let heads = self.heads.iter().filter(move |(leg, head)| {
            let is_here = head.leg as usize == **leg && head.array == self.array;
            is_here && head.session.mark == mark
        });
        heads.map(|(_, head)| head)
    }

    /// What legs get, sector by sector as the last entry about it says, in runs; none goes over an
    /// edge.
    fn plan(
        &self,
        session: Session,
        bounds: &Bounds,
        edges: &[u64],
    ) -> VecDeque<(usize, u64, Vec<u8>)> {
        let journals = self.journals.values();
        let mut entries: Vec<Entry<'_>> = journals
            .flat_map(|journal| Entry::read_all(journal, session, bounds))
            .collect();
        entries.sort_by_key(|entry| entry.number);
        let mut newest: BTreeMap<(usize, u64), &[u8]> = BTreeMap::new();
        for entry in &entries {
            for (leg, bytes) in entry.legs() {
                let sectors = bytes.chunks_exact(SECTOR as usize).zip(0..);
                for (bytes, sector) in sectors {
                    newest.insert((leg, entry.run.start() + sector * SECTOR), bytes);
                }
            }
        }
        let mut writes: VecDeque<(usize, u64, Vec<u8>)> = VecDeque::new();
        for ((leg, start), bytes) in newest {
            match writes.back_mut() {
                Some((last, from, run))
                    if *last == leg
                        && *from + run.len() as u64 == start
                        && (run.len() as u64) < RUN_MAX
                        && !edges.contains(&start) =>
                {
                    run.extend_from_slice(bytes);
                }
                _ => writes.push_back((leg, start, bytes.to_vec())),
            }
        }
        writes
    }
}

impl Array {
    /// Looks for what was entered and not ended; whether there may be something.
    pub(in super::super) fn begin_replay(&mut self, steps: &mut Steps) -> bool {
        if self.config.keeping.log_signature().is_some() {
            // Whoever opened it has looked.
            return false;
        }
        let room = self.meta_room.unwrap_or(0);
        let Some(area) = area(&self.config, room).filter(|_| self.record.is_some()) else {
            return false;
        };
        let legs = self.recorded();
        let view = self.view.as_ref().expect("it has started");
        let is_whole = |leg: &usize| {
            let state = &view.assembly().legs[*leg];
            *state == LegState::Valid { until: u64::MAX }
        };
        let whole = members(legs).filter(is_whole);
        let whole = whole.fold(0, |set, leg| set | only(leg));
        let id = self.jobs.insert(Job::Replay(Replay {
            stage: Stage::Heads,
            area,
            array: array_of(&self.config),
            legs,
            whole,
            marks: BTreeMap::new(),
            heads: BTreeMap::new(),
            journals: BTreeMap::new(),
            writes: VecDeque::new(),
            gather: Gather {
                out: 2 * legs.count_ones() as usize,
                ..Gather::default()
            },
        }));
        for leg in members(legs) {
            for (slot, start) in [(SLOT_BITMAP, START), (SLOT_HEAD, area.start())] {
                let request = Request::read(0, start, Buffer::zeroed(BLOCK as usize));
                self.ask_meta(Question { job: id, leg, slot }, request, steps);
            }
        }
        if legs == 0 {
            self.finished.push_back(id);
        }
        true
    }

    /// A leg answered.
    pub(in super::super) fn replay_answered(
        &mut self,
        question: Question,
        answer: Completion,
        steps: &mut Steps,
    ) {
        let Question { job: id, leg, slot } = question;
        if answer.result.is_err() {
            self.errors[leg] += 1;
        }
        let mut replay = self.take_replay(id);
        let bytes = &answer.buffer;
        match replay.stage {
            _ if answer.result.is_err() => {}
            Stage::Heads if slot == SLOT_BITMAP => {
                let mark = bytes[MARK_AT..MARK_AT + 4].try_into();
                let mark = u32::from_le_bytes(mark.expect("four bytes"));
                replay.marks.insert(leg, mark);
            }
            Stage::Heads => {
                if let Some(head) = Head::decode(bytes) {
                    replay.heads.insert(leg, head);
                }
            }
            Stage::Entries(_) => {
                let journal = replay.journals.entry(leg).or_default();
                journal.extend_from_slice(bytes);
            }
            Stage::Flushing(_) | Stage::Writing => {}
            Stage::Telling | Stage::Marking => unreachable!("the record asks"),
        }
        let is_done = answer.result.is_ok();
        replay.gather.note(leg, answer.result);
        if is_done && self.is_loading() {
            match replay.stage {
                Stage::Entries(_) => self.read_on(id, &mut replay, leg, steps),
                Stage::Writing => self.write_on(id, &mut replay, steps),
                _ => {}
            }
        }
        if replay.gather.out == 0 {
            self.finished.push_back(id);
        }
        self.put(id, Job::Replay(replay));
    }

    fn take_replay(&mut self, id: usize) -> Replay {
        match self.take_job(id) {
            Job::Replay(replay) => replay,
            other => unreachable!("{other:?} is no replay"),
        }
    }

    /// All legs have answered what a stage asked.
    pub(in super::super) fn replay_finished(&mut self, id: usize, steps: &mut Steps) {
        let Job::Replay(mut replay) = self.jobs.remove(id) else {
            unreachable!("it is one");
        };
        if !self.is_loading() {
            // It was stopped: another one does it.
            return;
        }
        let gather = std::mem::take(&mut replay.gather);
        for leg in members(gather.bad) {
            replay.legs &= !only(leg);
            replay.whole &= !only(leg);
            replay.marks.remove(&leg);
            replay.heads.remove(&leg);
            replay.journals.remove(&leg);
        }
        if let Some(error) = self.judge(gather) {
            return self.replayed(Err(error), steps);
        }
        if replay.stage == Stage::Heads {
            self.come_after(&replay);
        }
        match replay.stage {
            Stage::Heads => {
                let Some(session) = replay.session() else {
                    self.mark_next();
                    return self.replayed(Ok(()), steps);
                };
                // What is written until its entries are over leaves it as it is.
                self.record
                    .as_mut()
                    .expect("it is written")
                    .set_mark(session.mark);
                self.replay_stage(replay, Stage::Flushing(session), steps);
            }
            Stage::Flushing(session) => {
                self.replay_stage(replay, Stage::Entries(session), steps);
            }
            Stage::Entries(session) => {
                let reshape = self.reshape();
                let before = reshape.as_ref().map(|reshape| &reshape.from);
                let bounds = bounds(&self.config, before);
                let edges = reshape.map(|reshape| [reshape.new_edge(), reshape.old_edge()]);
                replay.writes = replay.plan(session, &bounds, &edges.unwrap_or_default());
                if replay.writes.is_empty() {
                    self.mark_next();
                    return self.replayed(Ok(()), steps);
                }
                self.record.as_mut().expect("it is written").claim();
                self.replay_tells = true;
                self.replay_waits(replay, Stage::Telling);
            }
            Stage::Writing => self.begin_fence(Then::Replay(replay), steps),
            Stage::Telling | Stage::Marking => unreachable!("the record ends them"),
        }
    }

    /// Waits for a round of the record.
    fn replay_waits(&mut self, replay: Replay, stage: Stage) {
        let id = self.jobs.insert(Job::Replay(Replay { stage, ..replay }));
        self.record.as_mut().expect("it is written").wait(id);
    }

    /// The record says what this waited for, or cannot.
    pub(in super::super) fn replay_recorded(
        &mut self,
        id: usize,
        error: Option<Error>,
        steps: &mut Steps,
    ) {
        let Job::Replay(replay) = self.jobs.remove(id) else {
            unreachable!("it is one");
        };
        if !self.is_loading() {
            return;
        }
        match (replay.stage, error) {
            (_, Some(error)) => self.replayed(Err(error), steps),
            (Stage::Telling, None) => self.replay_stage(replay, Stage::Writing, steps),
            (Stage::Marking, None) => self.replayed(Ok(()), steps),
            (stage, None) => unreachable!("{stage:?} does not wait"),
        }
    }

    /// What was written once more is durable, or cannot be.
    pub(in super::super) fn replay_flushed(
        &mut self,
        replay: Replay,
        result: Result<(), Error>,
        steps: &mut Steps,
    ) {
        if result.is_err() || !self.is_loading() {
            return self.replayed(result, steps);
        }
        self.mark_next();
        self.replay_waits(replay, Stage::Marking);
    }

    /// Bitmaps get the mark of the journal that is to be written.
    fn mark_next(&mut self) {
        let record = self.record.as_mut().expect("it is written");
        // Zero is none: others cannot be told from this one's any more.
        let mark = self.journal.as_ref().map_or(0, super::Journal::mark);
        record.set_mark(mark);
    }

    /// The journal of this session is to be another one than any that was found.
    fn come_after(&mut self, replay: &Replay) {
        let (Some(journal), Some(record)) = (&mut self.journal, &self.record) else {
            return;
        };
        let heads = replay
            .heads
            .values()
            .filter(|head| head.array == replay.array);
        let generation = heads.map(|head| head.session.generation).max();
        let generation = generation.unwrap_or(0);
        if generation > GENERATION_MAX {
            // Nobody has written so often.
            self.journal = None;
            return;
        }
        journal.come_after(generation, record.superblock.events);
    }

    fn replay_stage(&mut self, mut replay: Replay, stage: Stage, steps: &mut Steps) {
        replay.stage = stage;
        let id = self.jobs.insert(Job::Busy);
        match stage {
            Stage::Flushing(_) => {
                for leg in members(replay.legs) {
                    replay.gather.out += 1;
                    let question = Question {
                        job: id,
                        leg,
                        slot: 0,
                    };
                    self.ask_meta(question, Request::flush(0), steps);
                }
            }
            Stage::Entries(session) => {
                let counting: Vec<usize> = replay
                    .counting(session.mark)
                    .filter(|head| head.session == session)
                    .map(|head| head.leg as usize)
                    .collect();
                for leg in counting {
                    self.read_on(id, &mut replay, leg, steps);
                }
            }
            Stage::Writing => {
                while replay.gather.out < WRITES_MAX && !replay.writes.is_empty() {
                    self.write_on(id, &mut replay, steps);
                }
            }
            Stage::Heads | Stage::Telling | Stage::Marking => unreachable!("it waits otherwise"),
        }
        if replay.gather.out == 0 {
            self.finished.push_back(id);
        }
        self.put(id, Job::Replay(replay));
    }

    /// Reads more of the entries of a leg, if there are more.
    fn read_on(&mut self, id: usize, replay: &mut Replay, leg: usize, steps: &mut Steps) {
        let have = replay.journals.get(&leg).map_or(0, Vec::len) as u64;
        let left = replay.area.len() - BLOCK - have;
        if left == 0 {
            return;
        }
        let start = replay.area.start() + BLOCK + have;
        let buffer = Buffer::zeroed(left.min(RUN_MAX) as usize);
        replay.gather.out += 1;
        let question = Question {
            job: id,
            leg,
            slot: 0,
        };
        self.ask_meta(question, Request::read(0, start, buffer), steps);
    }

    /// Writes the next run that a leg can get.
    fn write_on(&mut self, id: usize, replay: &mut Replay, steps: &mut Steps) {
        while let Some((leg, start, bytes)) = replay.writes.pop_front() {
            let view = self.view.as_ref().expect("it has started");
            let is_somebodys = view.side(start).is_some();
            if self.writable() & only(leg) == 0 || !is_somebodys {
                continue;
            }
            let place = self.on_leg(Range::new(start, bytes.len() as u64));
            let buffer = Buffer::copy_of(&bytes);
            let durability = Durability::Volatile;
            replay.gather.out += 1;
            let question = Question {
                job: id,
                leg,
                slot: 0,
            };
            let request = Request::write(0, place.start(), durability, buffer);
            return self.ask(question, request, steps);
        }
    }

    /// What was entered is on all legs, durably, or cannot be.
    pub(in super::super) fn replayed(&mut self, result: Result<(), Error>, steps: &mut Steps) {
        let result = result.map_err(|error| {
            error.within("what its journal says cannot be written; it can be read (-r)")
        });
        self.begin_running(result, steps);
    }
}
