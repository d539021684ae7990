//! Goes through what has a certain status, in one direction, around what is lost.

use std::collections::VecDeque;

use super::map::{Map, Status};
use super::{Direction, Options};
use crate::Range;

/// How much is looked at a time, in bytes: a multiple of every large read and every block.
const WINDOW: u64 = 256 << 20;

/// A walk over the runs of one status. The map may change meanwhile, where the walk has been.
pub(super) struct Walk {
    status: Status,
    direction: Direction,
    /// Where it goes on.
    at: u64,
    /// What of the last window is to be handed out.
    ranges: VecDeque<Range>,
}

impl Walk {
    pub(super) fn new(map: &Map, status: Status, direction: Direction) -> Self {
        let at = match direction {
            Direction::Forward => 0,
            Direction::Reverse => map.size(),
        };
        let ranges = VecDeque::new();
        Self {
            status,
            direction,
            at,
            ranges,
        }
    }

    /// The next range of the status that is not lost.
    pub(super) fn next(&mut self, map: &Map, options: &Options<'_>) -> Option<Range> {
        loop {
            let next = match self.direction {
                Direction::Forward => self.ranges.pop_front(),
                Direction::Reverse => self.ranges.pop_back(),
            };
            if next.is_some() {
                return next;
            }
            let window = self.window(map)?;
            debug_assert!(
                !window.is_empty() && window.end() <= map.size(),
                "it gets on"
            );
            let mut start = window.start();
            for lost in (options.lost)(window).into_iter().chain([end_of(window)]) {
                debug_assert!(lost.end() >= start, "what is lost is told in order");
                if start < lost.start() {
                    self.ranges
                        .push_back(Range::new(start, lost.start() - start));
                }
                start = lost.end();
            }
        }
    }

    fn window(&mut self, map: &Map) -> Option<Range> {
        match self.direction {
            Direction::Forward => {
                let run = map.next(self.status, self.at)?;
                let end = run.end().min(run.start() - run.start() % WINDOW + WINDOW);
                self.at = end;
                Some(Range::new(run.start(), end - run.start()))
            }
            Direction::Reverse => {
                let run = map.previous(self.status, self.at)?;
                let start = run.start().max((run.end() - 1) - (run.end() - 1) % WINDOW);
                self.at = start;
                Some(Range::new(start, run.end() - start))
            }
        }
    }

    /// Goes on behind `to`, in the walk's direction; what was handed out counts no more.
    pub(super) fn jump(&mut self, to: u64) {
        match self.direction {
            Direction::Forward => {
                self.at = self.at.max(to);
                self.ranges.retain(|range| range.end() > to);
            }
            Direction::Reverse => {
                self.at = self.at.min(to);
                self.ranges.retain(|range| range.start() < to);
            }
        }
    }
}

fn end_of(range: Range) -> Range {
    Range::new(range.end(), 0)
}
