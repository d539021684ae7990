//! A trace replayed in virtual time: what would other disks have made of it?
//!
//! ```text
//!   submitted = answer of the request it waited for + the time it let pass   (or as recorded)
//! ```
//!
//! Requests that waited keep their thinking time; the others keep their own. A barrier goes out
//! when all writes are answered that were answered before it in the recording, and a request that
//! came after the answer of a barrier comes after it again. So a slower disk stretches the run, a
//! faster one shortens it down to the thinking.
//!
//! The model sees what the data path would send: a flush before a write with a preflush, a durable
//! write for FUA, writes for zeros, nothing for a discard.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::record::{Certainty, Class, Operation, Record, Trace};
use crate::component::Component;
use crate::disk::drive::{Command, Model, Operation as Order};
use crate::disk::replay::Comparison;
use crate::error::{Error, Kind, Result};

/// Blocks of one command; longer requests are split.
const COMMAND_MAX: u64 = 1 << 16;
/// A journal commits this often, by default, in nanoseconds.
const COMMIT_NS: u64 = 5_000_000_000;

/// When a request was submitted and answered in a replay, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// Submitted.
    pub submitted_ns: u64,
    /// Answered.
    pub answered_ns: u64,
}

/// What requests of one kind took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    /// Requests.
    pub count: u64,
    /// Their blocks of 512 bytes.
    pub blocks: u64,
    /// The sum of their response times.
    pub response_ns: u128,
    /// The time that passed while they were the oldest outstanding request: shares of all kinds add
    /// up to the time in which anything was outstanding.
    pub busy_ns: u64,
}

/// What a replay came to.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// By record.
    pub moments: Vec<Moment>,
    /// From the first submission to the last answer.
    pub elapsed_ns: u64,
    /// The same in the recording.
    pub recorded_ns: u64,
    /// By class.
    pub classes: BTreeMap<Class, Share>,
    /// How far the distribution of response times is from the recorded one; `None` if the recording
    /// has none.
    pub comparison: Option<Comparison>,
    /// What a reader should not conclude.
    pub limits: Vec<String>,
}

impl Outcome {
    /// What the requests of a component of Eq. 1 took.
    pub fn component(&self, component: Component) -> Share {
        let own = self
            .classes
            .iter()
            .filter(|(class, _)| class.component() == Some(component));
        own.fold(Share::default(), |mut sum, (_, share)| {
            sum.count += share.count;
            sum.blocks += share.blocks;
            sum.response_ns += share.response_ns;
            sum.busy_ns += share.busy_ns;
            sum
        })
    }
}

/// Replays `trace` on `model`, which nothing was asked of before; fails if it has not all the
/// blocks.
pub fn replay(trace: &Trace, model: &mut dyn Model) -> Result<Outcome> {
    trace.validate()?;
    for (index, record) in trace.records.iter().enumerate() {
        if record.start + record.count > model.blocks() {
            return Err(Error::new(
                Kind::Impossible,
                format!(
                    "request {} of the trace of {} ends at block {}, but the disk has {}",
                    index + 1,
                    trace.header.device,
                    record.start + record.count,
                    model.blocks()
                ),
            ));
        }
    }
    let mut run = Run::new(&trace.records);
    run.finish(model);
    let moments = run.moments;
    let first_ns = moments
        .iter()
        .map(|moment| moment.submitted_ns)
        .min()
        .unwrap_or(0);
    let last_ns = moments
        .iter()
        .map(|moment| moment.answered_ns)
        .max()
        .unwrap_or(0);
    let recorded = trace
        .records
        .iter()
        .map(|record| record.end_ns().unwrap_or(record.time_ns));
    let begun_ns = trace.records.first().map_or(0, |record| record.time_ns);
    Ok(Outcome {
        classes: classes(&trace.records, &moments),
        comparison: compare(&trace.records, &moments),
        limits: limits(trace),
        elapsed_ns: last_ns - first_ns,
        recorded_ns: recorded.max().unwrap_or(0).saturating_sub(begun_ns),
        moments,
    })
}

/// What a request still waits for.
#[derive(Debug, Clone, Copy, Default)]
struct Pending {
    /// Requests whose answers must come first.
    missing: u32,
    /// Not before this.
    earliest_ns: u64,
    /// Commands whose answers are missing.
    commands: u32,
}

struct Run<'a> {
    records: &'a [Record],
    moments: Vec<Moment>,
    pending: Vec<Pending>,
    /// By request: those that wait for it, each with the time to let pass.
    waiters: Vec<Vec<(usize, u64)>>,
    /// Requests that may go, by time and number.
    ready: BinaryHeap<Reverse<(u64, usize)>>,
}

impl<'a> Run<'a> {
    fn new(records: &'a [Record]) -> Self {
        let mut run = Self {
            records,
            moments: vec![Moment::default(); records.len()],
            pending: vec![Pending::default(); records.len()],
            waiters: vec![Vec::new(); records.len()],
            ready: BinaryHeap::new(),
        };
        for (index, record) in records.iter().enumerate() {
            match record.after.map(|after| index - after as usize) {
                Some(before) => {
                    let end_ns = records[before].end_ns().unwrap_or(records[before].time_ns);
                    run.waiters[before].push((index, record.time_ns.saturating_sub(end_ns)));
                    run.pending[index].missing += 1;
                }
                None => run.pending[index].earliest_ns = record.time_ns,
            }
        }
        run.add_barriers();
        for (index, pending) in run.pending.iter().enumerate() {
            if pending.missing == 0 {
                run.ready.push(Reverse((pending.earliest_ns, index)));
            }
        }
        run
    }

    /// Lets each barrier wait for the writes that were answered before it in the recording, but not
    /// for those that an earlier barrier waited for.
    fn add_barriers(&mut self) {
        let mut answered: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        for (index, record) in self.records.iter().enumerate() {
            if record.operation == Operation::Flush || record.preflush {
                while let Some(&Reverse((end_ns, before))) = answered.peek()
                    && end_ns <= record.time_ns
                {
                    answered.pop();
                    self.waiters[before].push((index, 0));
                    self.pending[index].missing += 1;
                }
            }
            let writes = matches!(record.operation, Operation::Write | Operation::WriteZeroes);
            if let Some(end_ns) = record.end_ns().filter(|_| writes) {
                answered.push(Reverse((end_ns, index)));
            }
        }
    }

    fn finish(&mut self, model: &mut dyn Model) {
        let mut now_ns = 0;
        loop {
            let next = self.ready.peek().map(|ready| ready.0.0.max(now_ns));
            let wake = model.wake().map(|wake| wake.max(now_ns));
            match (next, wake) {
                (Some(next), None) => now_ns = next,
                (Some(next), Some(wake)) => now_ns = next.min(wake),
                (None, Some(wake)) => now_ns = wake,
                (None, None) => break,
            }
            while let Some(answer) = model.answer(now_ns) {
                self.answered(answer.tag as usize, answer.at_ns);
            }
            while let Some(&Reverse((at_ns, index))) = self.ready.peek()
                && at_ns <= now_ns
            {
                self.ready.pop();
                self.submit(model, now_ns, index);
            }
        }
        let left = self
            .pending
            .iter()
            .filter(|pending| pending.missing > 0)
            .count();
        assert_eq!(left, 0, "a request waits for earlier ones only");
    }

    fn submit(&mut self, model: &mut dyn Model, now_ns: u64, index: usize) {
        let record = self.records[index];
        self.moments[index].submitted_ns = now_ns;
        let mut send = |operation: Order, start: u64, count: u64| {
            let command = Command {
                tag: index as u64,
                operation,
                start,
                count: count as u32,
            };
            self.pending[index].commands += 1;
            model.submit(now_ns, command);
        };
        if record.preflush || record.operation == Operation::Flush {
            send(Order::Flush, 0, 0);
        }
        let order = match record.operation {
            Operation::Read => Some(Order::Read),
            Operation::Write | Operation::WriteZeroes if record.fua => Some(Order::WriteThrough),
            Operation::Write | Operation::WriteZeroes => Some(Order::Write),
            Operation::Discard | Operation::Flush => None,
        };
        let mut at = record.start;
        let end = record.start + record.count;
        while let Some(order) = order
            && at < end
        {
            let count = COMMAND_MAX.min(end - at);
            send(order, at, count);
            at += count;
        }
        if self.pending[index].commands == 0 {
            self.complete(index, now_ns);
        }
    }

    fn answered(&mut self, index: usize, at_ns: u64) {
        self.pending[index].commands -= 1;
        if self.pending[index].commands == 0 {
            self.complete(index, at_ns);
        }
    }

    fn complete(&mut self, index: usize, at_ns: u64) {
        self.moments[index].answered_ns = at_ns;
        for (waiter, think_ns) in std::mem::take(&mut self.waiters[index]) {
            let pending = &mut self.pending[waiter];
            pending.earliest_ns = pending.earliest_ns.max(at_ns.saturating_add(think_ns));
            pending.missing -= 1;
            if pending.missing == 0 {
                self.ready.push(Reverse((pending.earliest_ns, waiter)));
            }
        }
    }
}

/// Counts and times by class.
fn classes(records: &[Record], moments: &[Moment]) -> BTreeMap<Class, Share> {
    let mut classes: BTreeMap<Class, Share> = BTreeMap::new();
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&index| (moments[index].submitted_ns, index));
    let mut busy_until_ns = 0;
    for index in order {
        let (record, moment) = (&records[index], &moments[index]);
        let share = classes.entry(record.label.class).or_default();
        share.count += 1;
        share.blocks += record.count;
        share.response_ns += u128::from(moment.answered_ns - moment.submitted_ns);
        let from_ns = moment.submitted_ns.max(busy_until_ns);
        share.busy_ns += moment.answered_ns.saturating_sub(from_ns);
        busy_until_ns = busy_until_ns.max(moment.answered_ns);
    }
    classes
}

fn compare(records: &[Record], moments: &[Moment]) -> Option<Comparison> {
    let timed = records.iter().zip(moments).filter_map(|(record, moment)| {
        let replayed_ns = moment.answered_ns - moment.submitted_ns;
        Some((record.duration_ns?, replayed_ns))
    });
    let (mut recorded, mut replayed): (Vec<u64>, Vec<u64>) = timed.unzip();
    (!recorded.is_empty()).then(|| Comparison::of(&mut recorded, &mut replayed))
}

/// What a replay of this trace cannot tell.
fn limits(trace: &Trace) -> Vec<String> {
    let records = &trace.records;
    let mut limits = vec![
        "the requests are those of the recorded run: caches, read-ahead and the allocator would \
         have chosen others on another disk, and other memory would have kept more or less"
            .to_owned(),
        "reads made side by side are taken to wait for each other, as their times cannot tell"
            .to_owned(),
    ];
    let end_ns = records
        .iter()
        .map(|record| record.end_ns().unwrap_or(record.time_ns))
        .max();
    let length_ns = end_ns
        .unwrap_or(0)
        .saturating_sub(records.first().map_or(0, |one| one.time_ns));
    if length_ns < 10 * COMMIT_NS {
        let tenths = length_ns / 100_000_000;
        limits.push(format!(
            "it was recorded in {}.{} s, which is {} journal commits of 5 s: it says little of \
             what a longer run does with its journal and its writeback",
            tenths / 10,
            tenths % 10,
            length_ns / COMMIT_NS
        ));
    }
    let mut count = |what: &str, number: usize| {
        if number > 0 {
            limits.push(format!("{number} of {} requests {what}", records.len()));
        }
    };
    let of = |test: &dyn Fn(&Record) -> bool| records.iter().filter(|one| test(one)).count();
    count(
        "have no recorded answer",
        of(&|one| one.duration_ns.is_none()),
    );
    let unsure = |one: &Record| one.count > 0 && one.label.certainty != Certainty::Always;
    count(
        "touch places whose use changed within the run, or several",
        of(&unsure),
    );
    let unlabelled = |one: &Record| one.count > 0 && one.label.class == Class::Unknown;
    count("are not labelled", of(&unlabelled));
    limits
}
