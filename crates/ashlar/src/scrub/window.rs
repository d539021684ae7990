//! What is read together: units, until so many bytes are to be read, as few runs of each leg.

use block::Range;
use dm::raid::scrub::{Course, Unit};

/// Bytes of all legs in a window, after which it is full.
const WINDOW: u64 = 8 << 20;
/// Bytes of a run, at most: what a request carries.
pub(super) const RUN_MAX: u64 = 512 << 10;

/// Units that are read together.
#[derive(Debug)]
pub(super) struct Window {
    /// Each with the runs that its members are in, in their order; none if it is not read.
    pub(super) units: Vec<(Unit, Vec<usize>)>,
    /// The leg, and which bytes of it.
    pub(super) runs: Vec<(usize, Range)>,
}

impl Window {
    /// What of `course` comes next; `None`: it is at its end. Legs in `gone` are not read.
    pub(super) fn next(course: &mut Course, gone: &[bool]) -> Option<Self> {
        let mut window = Self {
            units: Vec::new(),
            runs: Vec::new(),
        };
        // The last run of each leg.
        let mut last: Vec<Option<usize>> = vec![None; gone.len()];
        let (mut bytes, mut covered) = (0, 0);
        while bytes < WINDOW && covered < WINDOW * gone.len() as u64 {
            let Some(mut unit) = course.next() else {
                break;
            };
            covered += unit.covers;
            let lost = unit.members.extract_if(.., |member| gone[member.leg]);
            let lost: Vec<usize> = lost.map(|member| member.leg).collect();
            unit.left_out.extend(lost);
            if unit.unchecked.is_some() {
                window.units.push((unit, Vec::new()));
                continue;
            }
            let mut places = Vec::with_capacity(unit.members.len());
            for member in &unit.members {
                let range = Range::new(member.start, unit.len);
                bytes += range.len();
                places.push(window.add(&mut last, member.leg, range));
            }
            window.units.push((unit, places));
        }
        (!window.units.is_empty()).then_some(window)
    }

    /// The run that these bytes of a leg are in.
    fn add(&mut self, last: &mut [Option<usize>], leg: usize, range: Range) -> usize {
        assert!(range.len() <= RUN_MAX, "a unit is no longer than a run");
        if let Some(place) = last[leg] {
            let run = self.runs[place].1;
            if run.end() == range.start() && run.len() + range.len() <= RUN_MAX {
                self.runs[place].1 = Range::new(run.start(), run.len() + range.len());
                return place;
            }
        }
        self.runs.push((leg, range));
        last[leg] = Some(self.runs.len() - 1);
        self.runs.len() - 1
    }

    /// Bytes that are read of the leg of which most are.
    pub(super) fn load(&self, legs: usize) -> u64 {
        let mut loads = vec![0; legs];
        for (leg, run) in &self.runs {
            loads[*leg] += run.len();
        }
        loads.into_iter().max().unwrap_or(0)
    }
}
