//! Going through the orders of all pairs, and counting what was found.

use std::collections::{HashSet, VecDeque};
use std::fmt;

use block::sim::{Limits, Random, states};

use super::super::campaign::{Patience, prepared};
use super::super::judge::Counts;
use super::super::parallel::in_order;
use super::pairs::Pair;
use super::play::{Bench, Locks, SeededFault, Story};
use super::serial::Serial;
use super::stage::Script;
use crate::Result;
use crate::host::Host;

/// Orders with several changes from one command to the other that are tried for each pair.
const SEEDED: usize = 200;
/// Such orders have up to so many changes.
const CHANGES_MAX: u64 = 6;

/// What is wrong with an interleaving, if something is.
type Judged = std::result::Result<(), String>;

/// Which orders of which pairs.
#[derive(Debug, Clone)]
pub struct Races {
    /// Only the pair with this number, of [`Races::names`]; all if `None`.
    pub pair: Option<usize>,
    /// How many orders.
    pub effort: Effort,
    /// For what is chosen by chance.
    pub seed: u64,
    /// A mistake that is made on purpose; the first broken promise ends it then.
    pub fault: Option<SeededFault>,
}

/// How many orders of a pair are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Every single change of turns, and `SEEDED` orders with several.
    All,
    /// So many of these, by the seed.
    Some(usize),
}

/// What was seen.
#[derive(Debug, Clone, Default)]
pub struct RaceReport {
    /// Pairs of commands.
    pub pairs: u64,
    /// Orders in which two commands were run.
    pub orders: u64,
    /// How many of them the disks could tell apart; of each of these every cut was made.
    pub histories: u64,
    /// States that a cut left.
    pub states: u64,
    /// What the orders came to.
    pub ends: Counts,
    /// Broken promises.
    pub broken: u64,
    /// The first of them: the number of its pair, and what was found.
    pub first: Option<(usize, String)>,
}

impl fmt::Display for RaceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} pairs, {} orders, {} histories, {} states:",
            self.pairs, self.orders, self.histories, self.states
        )?;
        for (end, count) in &self.ends {
            write!(f, " {count} {end};")?;
        }
        write!(f, " {} broken", self.broken)
    }
}

impl RaceReport {
    fn add(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.orders += other.orders;
        self.histories += other.histories;
        self.states += other.states;
        for (end, count) in other.ends {
            *self.ends.entry(end).or_default() += count;
        }
        self.broken += other.broken;
        self.first = self.first.take().or(other.first);
    }
}

impl Races {
    /// The pairs, as people type them, in the order of their numbers.
    pub fn names() -> Vec<String> {
        Pair::all().iter().map(Pair::words).collect()
    }

    /// Runs them, on two threads beside those of the commands.
    pub fn run(&self) -> Result<RaceReport> {
        let pairs = Pair::all().into_iter().enumerate();
        let pairs = pairs.filter(|(number, _)| self.pair.is_none_or(|only| only == *number));
        let work: Vec<(usize, Pair)> = pairs.collect();
        let mut report = RaceReport::default();
        let explore = |(number, pair): &(usize, Pair)| {
            let mut part = self.explore(pair)?;
            if let Some((first, _)) = &mut part.first {
                *first = *number;
            }
            Ok(part)
        };
        in_order(&work, explore, |part: Result<RaceReport>| {
            report.add(part?);
            Ok(report.broken == 0 || self.patience() == Patience::All)
        })?;
        Ok(report)
    }

    fn patience(&self) -> Patience {
        match self.fault {
            Some(_) => Patience::First,
            None => Patience::All,
        }
    }

    fn explore(&self, pair: &Pair) -> Result<RaceReport> {
        let host = Host::without_config();
        let before = prepared(&host, pair.disks, &pair.setup)?;
        let serial = Serial::of(&host, pair, &before)?;
        let mut known = HashSet::new();
        let mut report = RaceReport {
            pairs: 1,
            ..RaceReport::default()
        };
        let locks = match self.fault {
            Some(fault) => vec![fault.locks()],
            None => vec![Locks::All, Locks::Bytes],
        };
        for locks in locks {
            let bench = Bench::new(pair, &before, locks, self.fault)?;
            for script in self.scripts(&bench)? {
                let story = bench.play(script.clone())?;
                report.orders += 1;
                if let Err(what) = self.judge(&serial, &story, &mut known, &mut report) {
                    report.broken += 1;
                    let words = pair.words();
                    let text = || format!("{words}, locks {locks:?}, {script:?}: {what}");
                    report.first.get_or_insert_with(|| (0, text()));
                    if self.patience() == Patience::First {
                        return Ok(report);
                    }
                }
            }
        }
        Ok(report)
    }

    /// Judges an interleaving; if its history is new, also every cut of it.
    fn judge(
        &self,
        serial: &Serial<'_>,
        story: &Story,
        known: &mut HashSet<(u64, Vec<usize>)>,
        report: &mut RaceReport,
    ) -> Judged {
        let end = serial.judge_end(story)?;
        *report.ends.entry(end).or_default() += 1;
        if !known.insert((story.log.fingerprint(), story.succeeded.clone())) {
            return Ok(());
        }
        report.histories += 1;
        for state in states(&story.log, Limits::default(), self.seed) {
            report.states += 1;
            let verdict = serial.judge_cut(&state, &story.succeeded);
            verdict.map_err(|what| format!("{}: {what}", state.cut))?;
        }
        Ok(())
    }

    /// The orders that are tried.
    fn scripts(&self, bench: &Bench<'_>) -> Result<Vec<Script>> {
        let mut scripts = Vec::new();
        let mut steps = 0;
        for first in 0..2 {
            let script = |changes: VecDeque<u64>| Script { first, changes };
            steps = bench.play(script(VecDeque::new()))?.steps;
            scripts.extend((1..=steps).map(|at| script(VecDeque::from([at]))));
        }
        let mut random = Random::new(self.seed);
        for _ in 0..SEEDED {
            let count = 2 + random.below(CHANGES_MAX - 1);
            let mut changes: Vec<u64> = (0..count).map(|_| 1 + random.below(steps)).collect();
            changes.sort_unstable();
            scripts.push(Script {
                first: random.index(2),
                changes: changes.into(),
            });
        }
        if let Effort::Some(count) = self.effort {
            for last in (1..scripts.len()).rev() {
                scripts.swap(last, random.index(last + 1));
            }
            scripts.truncate(count);
        }
        Ok(scripts)
    }
}
