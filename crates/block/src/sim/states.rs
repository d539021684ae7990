//! Every disk content that a power cut in the middle of a history could leave.
//!
//! The history is cut into epochs: between two moments at which something becomes certain (a flush
//! or a write with FUA is answered, or a promise is marked). A cut anywhere in an epoch leaves
//! what was durable before it and any subset of the other writes that have begun by its end: to
//! cut before a write began is to lose it. So one set of subsets per epoch covers all its moments.
//!
//! Up to [`Limits::subsets_max`] such writes, all subsets are taken; beyond that all prefixes, all
//! losses of one and of two, and [`Limits::seeded`] subsets chosen by the seed. In addition each
//! write of several blocks is torn, in three surroundings: all others kept, all others lost, and
//! those before it kept. In the same surroundings, where physical blocks are larger, one of those
//! that such a write touches is lost with all that was in it. Equal states (the same writes
//! applied, the same promises made) come once.

use std::collections::HashSet;
use std::fmt;

use super::disk::{store, store_part};
use super::log::Event;
use super::random::mix;
use super::{Image, Log, Random};
use crate::Range;

/// What a physical block holds that was lost: it may be anything.
const DESTROYED: u8 = 0xd7;

/// How many states are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Up to so many unflushed writes all subsets are taken (2^12 of them for 12).
    pub subsets_max: usize,
    /// Beyond that, so many subsets are chosen by the seed, per epoch.
    pub seeded: usize,
    /// A torn write is cut at up to so many places, and kept before or behind the cut.
    pub tears_max: usize,
    /// Bytes of a logical block, which is written whole or not at all.
    pub block: u32,
    /// Bytes of a physical block. If it is larger, one that a write of several logical blocks
    /// touches may be lost with all that is in it.
    pub physical_block: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            subsets_max: 12,
            seeded: 1000,
            tears_max: 16,
            block: 512,
            physical_block: 512,
        }
    }
}

/// What a cut left.
#[derive(Debug, Clone)]
pub struct State {
    /// What each disk holds.
    pub images: Vec<Image>,
    /// How many promises ([`Log::mark`]) had been made before the cut.
    pub marks: usize,
    /// How this came about.
    pub cut: Cut,
}

/// Where the power was cut, in words that repeat it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The event that was not reached, counted from 0.
    pub event: usize,
    /// The writes, counted from 0, that were not durable and are kept all the same.
    pub kept: Vec<usize>,
    /// The writes that are lost.
    pub lost: Vec<usize>,
    /// A write of which only this part of the disk is kept.
    pub torn: Option<(usize, Range)>,
    /// A physical block that is lost, and the write in which that happened.
    pub destroyed: Option<(usize, Range)>,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            event, kept, lost, ..
        } = self;
        write!(f, "cut before event {event}, kept {kept:?}, lost {lost:?}")?;
        if let Some((write, range)) = self.torn {
            write!(f, ", of write {write} only {range:?}")?;
        }
        if let Some((write, range)) = self.destroyed {
            write!(f, ", in write {write} all of {range:?}")?;
        }
        Ok(())
    }
}

/// All states of a log, one after the other.
pub fn states(log: &Log, limits: Limits, seed: u64) -> States<'_> {
    assert!(limits.subsets_max < 32, "all subsets must be countable");
    States {
        log,
        limits,
        random: Random::new(seed),
        next_event: 0,
        marks: 0,
        base: log.disks.clone(),
        settled: 0,
        durable: vec![false; log.writes.len()],
        pending: Vec::new(),
        choices: Box::new(std::iter::empty()),
        seen: HashSet::new(),
        over: false,
    }
}

/// See [`states`].
pub struct States<'log> {
    log: &'log Log,
    limits: Limits,
    random: Random,
    /// The event at which the present epoch ends.
    next_event: usize,
    marks: usize,
    /// The disks with all writes before `settled`, each of which is durable.
    base: Vec<Image>,
    settled: usize,
    durable: Vec<bool>,
    /// Writes that have begun and are not durable, in order.
    pending: Vec<usize>,
    choices: Box<dyn Iterator<Item = Choice>>,
    seen: HashSet<(u64, u64)>,
    over: bool,
}

/// Which of the pending writes are kept, by their place among them.
#[derive(Debug, Clone, Copy)]
enum Kept {
    Mask(u64),
    First(usize),
    AllBut(usize, usize),
    Seeded(u64),
}

#[derive(Debug, Clone, Copy)]
struct Choice {
    kept: Kept,
    /// The place of a torn write, and the part of the disk that it reached.
    torn: Option<(usize, Range)>,
    /// The place of a write, and the physical block that was lost in it.
    destroyed: Option<(usize, Range)>,
}

impl Iterator for States<'_> {
    type Item = State;

    fn next(&mut self) -> Option<State> {
        loop {
            if let Some(choice) = self.choices.next() {
                let cut = self.cut(choice);
                if self.seen.insert(self.key(&cut)) {
                    return Some(self.state(cut));
                }
            } else if !self.next_epoch() {
                return None;
            }
        }
    }
}

impl States<'_> {
    /// Goes on to the end of the next epoch; whether there is one.
    fn next_epoch(&mut self) -> bool {
        if self.over {
            return false;
        }
        if self.next_event > 0 {
            self.pass_boundary();
        }
        while let Some(event) = self.log.events.get(self.next_event) {
            match event {
                Event::Began(write) => self.pending.push(*write),
                Event::Ended { durable: false, .. } => {}
                Event::Ended { .. } | Event::Flushed { .. } | Event::Mark => break,
            }
            self.next_event += 1;
        }
        self.over = self.next_event == self.log.events.len();
        self.choices = self.choices();
        // The event at the boundary is passed when the epoch is over.
        self.next_event += 1;
        true
    }

    /// What the event between two epochs makes certain.
    fn pass_boundary(&mut self) {
        match &self.log.events[self.next_event - 1] {
            Event::Ended { write, .. } => self.settle(&[*write]),
            Event::Flushed { covers } => self.settle(covers),
            Event::Mark => self.marks += 1,
            Event::Began(_) => unreachable!("an epoch does not end there"),
        }
    }

    fn settle(&mut self, writes: &[usize]) {
        for write in writes {
            self.durable[*write] = true;
        }
        self.pending.retain(|write| !self.durable[*write]);
        while self.durable.get(self.settled) == Some(&true) {
            let write = &self.log.writes[self.settled];
            store(&mut self.base[write.disk], write.range, &write.data);
            self.settled += 1;
        }
    }

    fn choices(&mut self) -> Box<dyn Iterator<Item = Choice>> {
        let count = self.pending.len();
        let whole: Box<dyn Iterator<Item = Kept>> = if count <= self.limits.subsets_max {
            Box::new((0..1_u64 << count).map(Kept::Mask))
        } else {
            let mut random = self.random.fork();
            let seeded = self.limits.seeded;
            let pairs = (0..count).flat_map(move |a| (a..count).map(move |b| Kept::AllBut(a, b)));
            let prefixes = (0..=count).map(Kept::First);
            let seeded = (0..seeded).map(move |_| Kept::Seeded(random.number()));
            Box::new(prefixes.chain(pairs).chain(seeded))
        };
        let whole = whole.map(|kept| Choice {
            kept,
            torn: None,
            destroyed: None,
        });
        let tears = self.tears().into_iter().flat_map(move |(at, part)| {
            let torn = Some((at, part));
            let everything = [Kept::First(count), Kept::First(0), Kept::First(at)];
            let destroyed = None;
            everything.map(|kept| Choice {
                kept,
                torn,
                destroyed,
            })
        });
        let destroyed = self.destroyed().into_iter().flat_map(move |(at, block)| {
            let destroyed = Some((at, block));
            let everything = [Kept::First(count), Kept::First(0), Kept::First(at)];
            everything.map(|kept| Choice {
                kept,
                torn: None,
                destroyed,
            })
        });
        Box::new(whole.chain(tears).chain(destroyed))
    }

    /// The ways in which pending writes of several blocks tear.
    fn tears(&self) -> Vec<(usize, Range)> {
        let block = u64::from(self.limits.block);
        let mut tears = Vec::new();
        for (at, write) in self.pending.iter().enumerate() {
            let range = self.log.writes[*write].range;
            let cuts = (range.len() / block).saturating_sub(1);
            let taken = cuts.min(self.limits.tears_max as u64);
            for index in 0..taken {
                // Spread over all cuts, the first and the last among them.
                let cut = 1 + index * cuts.saturating_sub(1) / taken.saturating_sub(1).max(1);
                let middle = cut * block;
                tears.push((at, Range::new(range.start(), middle)));
                let rest = Range::new(range.start() + middle, range.len() - middle);
                tears.push((at, rest));
            }
        }
        tears
    }

    /// The physical blocks that are lost with pending writes of several logical ones: the first
    /// and the last that each of them touches.
    fn destroyed(&self) -> Vec<(usize, Range)> {
        let (block, physical) = (self.limits.block, u64::from(self.limits.physical_block));
        let mut lost = Vec::new();
        if self.limits.physical_block <= block {
            return lost;
        }
        for (at, write) in self.pending.iter().enumerate() {
            let range = self.log.writes[*write].range;
            if range.len() <= u64::from(block) {
                continue;
            }
            let first = range.start() - range.start() % physical;
            let last = (range.end() - 1) - (range.end() - 1) % physical;
            lost.push((at, Range::new(first, physical)));
            if last != first {
                lost.push((at, Range::new(last, physical)));
            }
        }
        lost
    }

    fn cut(&self, choice: Choice) -> Cut {
        let torn = choice.torn.map(|(at, part)| (self.pending[at], part));
        let destroyed = choice.destroyed.map(|(at, part)| (self.pending[at], part));
        let (mut kept, mut lost) = (Vec::new(), Vec::new());
        for (at, write) in self.pending.iter().enumerate() {
            if torn.or(destroyed).is_some_and(|(one, _)| one == *write) {
                continue;
            }
            let keep = match choice.kept {
                Kept::Mask(mask) => mask >> at & 1 == 1,
                Kept::First(count) => at < count,
                Kept::AllBut(a, b) => at != a && at != b,
                Kept::Seeded(seed) => mix(seed ^ at as u64) & 1 == 1,
            };
            if keep { &mut kept } else { &mut lost }.push(*write);
        }
        let event = self.next_event - 1;
        Cut {
            event,
            kept,
            lost,
            torn,
            destroyed,
        }
    }

    /// Tells states apart: the promises, and the writes that were applied.
    fn key(&self, cut: &Cut) -> (u64, u64) {
        let durable = (self.settled..self.durable.len()).filter(|write| self.durable[*write]);
        let mut applied: Vec<usize> = durable.chain(cut.kept.iter().copied()).collect();
        applied.sort_unstable();
        let mut first = self.settled;
        let mut rest = Vec::new();
        for write in applied {
            if write == first {
                first += 1;
            } else {
                rest.push(write as u64);
            }
        }
        rest.push(first as u64);
        rest.push(self.marks as u64);
        if let Some((write, part)) = cut.torn.or(cut.destroyed) {
            let kind = u64::from(cut.torn.is_some());
            rest.extend([write as u64, part.start(), part.len(), kind]);
        }
        let hash = |seed| {
            let fold = |hash: u64, item: &u64| mix(hash.rotate_left(17) ^ *item);
            rest.iter().fold(seed, fold)
        };
        (hash(1), hash(2))
    }

    fn state(&self, cut: Cut) -> State {
        let mut images = self.base.clone();
        for (index, write) in self.log.writes.iter().enumerate().skip(self.settled) {
            let image = &mut images[write.disk];
            if self.durable[index] || cut.kept.binary_search(&index).is_ok() {
                store(image, write.range, &write.data);
            } else if let Some((_, part)) = cut.torn.filter(|(torn, _)| *torn == index) {
                store_part(image, write.range, &write.data, part);
            }
        }
        if let Some((write, part)) = cut.destroyed {
            let garbage = vec![DESTROYED; part.len() as usize];
            images[self.log.writes[write].disk].write(part.start(), &garbage);
        }
        State {
            images,
            marks: self.marks,
            cut,
        }
    }
}
