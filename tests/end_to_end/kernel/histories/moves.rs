//! Moves of extents, as steps of a history.
//!
//! Only the side that takes the step knows where things lie. So a step has numbers, from which the
//! source and the target follow when it is known which extents are in use.

use std::fmt;

use super::chooser::Chooser;
use super::model::Model;
use super::step::Step;

/// How both sides are asked where things lie.
pub(super) const PLACES: &str = "pvs --segments --noheadings --separator @ \
     -o pv_name,pvseg_start,pvseg_size,lv_name";
/// What both say when there is no place for what should move.
const NO_ROOM: [&str; 3] = [
    "Insufficient suitable allocatable extents",
    "No extents available for allocation",
    "Unable to allocate",
];
/// A range has fewer extents.
const RANGE_MAX: u64 = 9;
/// A move is cut within so many milliseconds, or soon.
const CUT_MS_MAX: [u64; 2] = [600, 4000];

/// Extents are moved.
#[derive(Debug, Clone)]
pub(super) struct Move {
    /// Only those of this volume.
    pub(super) volume: Option<String>,
    pub(super) whole: Whole,
    pub(super) pace: Pace,
    source: u64,
    /// Only a few extents.
    range: Option<(u64, u64)>,
    target: Option<u64>,
}

/// Whether an aborted move leaves all where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    Pieces,
    Atomic,
}

/// Who waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// The step is over when it is.
    Awaited,
    /// It goes on while others write, until it is settled.
    Background,
    /// After so many milliseconds it is cut off, and the disks are handed over.
    Cut(Cut, u64),
}

/// How a move is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// Who copies is killed.
    Killed,
    /// The machine is gone: the power is cut. (We have no power of our own: as above.)
    Power,
}

/// How a move ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Moved,
    Aborted,
}

impl Chooser {
    fn move_of(&mut self, volume: Option<String>, pace: Pace) -> Move {
        let number = |chooser: &mut Self| chooser.random.number();
        Move {
            volume,
            whole: [Whole::Pieces, Whole::Pieces, Whole::Atomic][self.random.index(3)],
            pace,
            source: number(self),
            range: (self.random.chance(1, 3)).then(|| (number(self), number(self))),
            target: (self.random.chance(1, 3)).then(|| number(self)),
        }
    }

    /// A move to its end, or one during which others write.
    pub(super) fn moves(&mut self, model: &Model) -> Option<Vec<Step>> {
        if !model.merging().is_empty() {
            return None;
        }
        let names: Vec<String> = model.volumes.keys().cloned().collect();
        let named = self.random.chance(1, 2);
        let volume = named.then(|| self.one(&names)).flatten();
        if self.random.chance(1, 2) {
            return Some(vec![Step::Move(self.move_of(volume, Pace::Awaited))]);
        }
        let mut steps = vec![Step::Move(self.move_of(volume, Pace::Background))];
        // A write may fill a store: nothing is asked of that one then.
        steps.extend(self.flush(model).into_iter().flatten());
        steps.extend(self.write(model).into_iter().flatten());
        let ending = [Ending::Moved, Ending::Aborted][self.random.index(2)];
        steps.push(Step::Settle(ending));
        Some(steps)
    }

    /// A move that is under way when the disks are handed over; where `to_kernel` takes them it is
    /// none of a store, which no kernel makes active then.
    pub(super) fn cut_move(&mut self, model: &Model, to_kernel: bool) -> Option<Step> {
        if !model.merging().is_empty() {
            return None;
        }
        let has_stores = model.volumes.values().any(|one| one.snapshot.is_some());
        let named = (to_kernel && has_stores) || self.random.chance(1, 3);
        let volume = if named {
            Some(self.plain(model)?)
        } else {
            None
        };
        let how = [Cut::Killed, Cut::Power][self.random.index(2)];
        let longest = CUT_MS_MAX[self.random.index(2)];
        let pace = Pace::Cut(how, self.random.below(longest));
        Some(Step::Move(self.move_of(volume, pace)))
    }

    pub(super) fn ending(&mut self) -> Ending {
        [Ending::Moved, Ending::Moved, Ending::Aborted][self.random.index(3)]
    }
}

/// A run of extents in use.
struct Run<'a> {
    pv: &'a str,
    start: u64,
    len: u64,
}

impl Move {
    /// The command's words for it, where things lie as `places` says; none if nothing can move.
    pub(super) fn words(&self, places: &str) -> Option<String> {
        let mut pvs = Vec::new();
        let mut runs = Vec::new();
        for line in places.lines().filter(|line| line.contains('@')) {
            let fields: Vec<&str> = line.trim().split('@').collect();
            let [pv, start, len, lv] = fields[..] else {
                panic!("a run of extents: {line}");
            };
            let number = |text: &str| text.parse().expect("a number");
            let (start, len) = (number(start), number(len));
            if !pvs.contains(&pv) {
                pvs.push(pv);
            }
            if self.is_wanted(lv.trim_matches(['[', ']'])) {
                runs.push(Run { pv, start, len });
            }
        }
        pvs.sort_unstable();
        runs.sort_by_key(|run| (run.pv, run.start));
        let run = runs.get(index(self.source, runs.len())?)?;
        let mut source = run.pv.to_owned();
        if let Some((first, count)) = self.range {
            let first = run.start + first % run.len;
            let last = (first + count % RANGE_MAX).min(run.start + run.len - 1);
            source = format!("{source}:{first}-{last}");
        }
        let named = self.volume.as_ref();
        let mut words = named.map_or(String::new(), |name| format!("-n {name} "));
        if self.whole == Whole::Atomic {
            words += "--atomic ";
        }
        words += &source;
        pvs.retain(|pv| *pv != run.pv);
        if let Some(number) = self.target {
            words = format!("{words} {}", pvs[index(number, pvs.len())?]);
        }
        Some(words)
    }

    fn is_wanted(&self, lv: &str) -> bool {
        let Some(volume) = &self.volume else {
            return !lv.is_empty();
        };
        lv.strip_prefix(&volume[..])
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("_m"))
    }
}

fn index(number: u64, len: usize) -> Option<usize> {
    (len > 0).then(|| (number % len as u64) as usize)
}

/// Whether a command says that there is no place for what should move.
pub(super) fn has_no_room(said: &str) -> bool {
    NO_ROOM.iter().any(|text| said.contains(text))
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let volume = self.volume.as_deref().unwrap_or("all");
        let Self { whole, pace, .. } = self;
        write!(f, "pvmove of {volume}: {whole:?} {pace:?}")
    }
}
