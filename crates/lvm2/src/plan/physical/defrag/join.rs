//! A place on its physical volume where a column lies in one piece.
//!
//! ```text
//!     column    runs 0-3 at 10, 4-5 at 2, 6-9 at 20
//!     bases     10 (the first run stays), -2 (no), 14 (the last one stays), and free runs
//! ```
//!
//! A column begins at a *base*: extents that are there already stay. All of its place must be free
//! or its own. Where its own extents are in the way, those whose target is free move first, and the
//! others in later passes; where that takes too many, the base is none.

use alloc::vec::Vec;

use super::columns::{Column, Run};
use super::space::{Holes, Space};
use crate::Extents;
use crate::model::ExtentRange;
use crate::plan::physical::pvmove::Relocation;

/// The most passes in which a column gets past itself.
const PASSES_MAX: usize = 16;

/// Which of the possible places is the best one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefer {
    /// The one to which fewest extents must be moved.
    Cheapest,
    /// The foremost one where something stays, else the foremost one.
    Front,
}

/// How a column gets to a place.
#[derive(Debug, Clone)]
pub(super) struct Course {
    /// What moves first.
    pub(super) moves: Vec<Relocation>,
    /// How many passes it takes, this one included.
    pub(super) passes: usize,
}

/// How a column gets to its best place; `None` where it has none.
pub(super) fn join(space: &Space, column: &Column, prefer: Prefer) -> Option<Course> {
    let holes = space.on(column.pv);
    let anchored = column.runs.iter();
    let anchored = anchored.filter_map(|run| run.start.checked_sub(run.offset));
    let fitting = holes.iter().filter(|hole| hole.length >= column.length);
    let fitting = fitting.map(|hole| (hole.start, hole.length));
    let mut bases: Vec<(Extents, Extents)> = anchored.map(|base| (base, Extents::ZERO)).collect();
    bases.extend(fitting);
    let cost = |base: Extents| -> Extents {
        let away = column.runs.iter();
        let away = away.filter(|run| base + run.offset != run.start);
        away.map(|run| run.length).sum()
    };
    bases.sort_by_key(|(base, hole)| match prefer {
        Prefer::Cheapest => (cost(*base), *hole, *base),
        Prefer::Front => (Extents(u64::from(*hole > Extents::ZERO)), *base, *hole),
    });
    let mut courses = bases.iter();
    courses.find_map(|(base, _)| course(&holes, column, *base))
}

/// How a column gets to a base; `None` if it does not.
pub(super) fn course(holes: &Holes, column: &Column, base: Extents) -> Option<Course> {
    let mut holes = holes.clone();
    let mut runs = column.runs.clone();
    let mut first = None;
    let mut passes = 0;
    let mut all = holes.clone();
    for run in &runs {
        all.give(run.place());
    }
    let place = ExtentRange {
        start: base,
        length: column.length,
    };
    if !all.has(place) {
        return None;
    }
    for _ in 0..PASSES_MAX {
        let away = runs.iter().any(|run| base + run.offset != run.start);
        if !away {
            break;
        }
        let moves = step(&holes, column, &mut runs, base);
        if moves.is_empty() {
            return None;
        }
        for one in &moves {
            debug_assert!(holes.has(one.target()), "extents move to free ones");
            holes.take(one.target());
        }
        for one in &moves {
            holes.give(one.from);
        }
        let sum: Extents = runs.iter().map(|run| run.length).sum();
        debug_assert_eq!(sum, column.length, "no extent is lost on the way");
        passes += 1;
        first.get_or_insert(moves);
    }
    let is_there = runs.iter().all(|run| base + run.offset == run.start);
    let moves = first.filter(|_| is_there)?;
    Some(Course { moves, passes })
}

/// What can move now; the runs are cut, and where they are then.
fn step(holes: &Holes, column: &Column, runs: &mut Vec<Run>, base: Extents) -> Vec<Relocation> {
    let mut moves = Vec::new();
    let mut left = Vec::new();
    for run in core::mem::take(runs) {
        let target = ExtentRange {
            start: base + run.offset,
            length: run.length,
        };
        if target.start == run.start {
            left.push(run);
            continue;
        }
        let mut at = run.offset;
        let end = run.offset + run.length;
        let piece = |from: Extents, to: Extents, start| Run {
            offset: from,
            start,
            length: to - from,
        };
        let stays = |from: Extents, to: Extents| piece(from, to, run.start + (from - run.offset));
        for part in holes.within(target) {
            // Stripes are not cut.
            let from = match part.start - base {
                from if from == run.offset => from,
                from => from.round_up(column.unit).unwrap_or(end),
            };
            let to = match part.end() - base {
                to if to == end => to,
                to => to.round_down(column.unit),
            };
            if from >= to || from < at {
                continue;
            }
            if at < from {
                left.push(stays(at, from));
            }
            moves.push(Relocation {
                pv: column.pv,
                from: stays(from, to).place(),
                to: (column.pv, base + from),
            });
            left.push(piece(from, to, base + from));
            at = to;
        }
        if at < end {
            left.push(stays(at, end));
        }
    }
    *runs = left;
    moves
}
