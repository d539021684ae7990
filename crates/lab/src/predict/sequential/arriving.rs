//! Parts of a stream that come of themselves, after pauses that nobody chose.
//!
//! The platter knows where the last part ended: its sector's end passed the head then, and each
//! turn since. So what a part that finds the drive idle waits for the platter follows from the gap
//! before it, and one that had to wait for another begins right behind that one's end. The two are
//! told apart, since a queue of such parts has a first service that is not like the others.
//!
//! ```text
//!   write, or read without its data   overhead, settling, and until the sector comes round again
//!   read after a write                the same, once what was written is on the medium
//!   read after a read                 in the cache, but for pauses of reading ahead
//!   write into the cache              the transfer
//! ```

use super::{Pace, Place, Stream};
use crate::disk::profile::WritePolicy;
use crate::disk::seek::Direction;
use crate::predict::footprint::Part;
use crate::predict::mechanics::{Came, Mechanics};
use crate::predict::random::{host_read, host_write};
use crate::stats::real::ln;

/// Gaps that are averaged over.
const GAPS: usize = 48;

/// Places of the disk at which it is.
const PLACES: usize = 12;

/// Commands at a drive whose queue is never empty.
pub(in crate::predict) const FEW: f64 = 4.0;

/// The fractional part of the golden ratio.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Mean and second moment of a service.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::predict) struct Moments {
    pub(in crate::predict) mean: f64,
    pub(in crate::predict) square: f64,
}

/// Services of parts that come of themselves.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::predict) struct Arriving {
    /// One that finds the drive idle.
    pub(in crate::predict) first: Moments,
    /// One that waited for another.
    pub(in crate::predict) queued: Moments,
    /// What the controller needs for a command while it serves others: nobody waits for it.
    pub(in crate::predict) delay: f64,
    /// What parts take longer, on average, since the head had stopped, waiting and all, and the
    /// variance of that.
    pub(in crate::predict) slow: f64,
    pub(in crate::predict) spread: f64,
}

impl Moments {
    /// The same with a mean of at most this, all of it shorter.
    pub(in crate::predict) fn at_most(self, mean: f64) -> Self {
        let shorter = (mean / self.mean.max(1.0)).min(1.0);
        Self {
            mean: self.mean * shorter,
            square: self.square * shorter * shorter,
        }
    }

    fn add(&mut self, time: f64, weight: f64) {
        self.mean += time * weight;
        self.square += time * time * weight;
    }
}

/// How parts come.
#[derive(Debug, Clone, Copy)]
pub(in crate::predict) struct Gaps {
    /// The mean gap while it is the disk's turn, and of all its parts.
    pub(in crate::predict) turn: f64,
    pub(in crate::predict) mean: f64,
    /// Parts that follow each other before the next disk has its turn.
    pub(in crate::predict) run: f64,
}

/// The average over the places of a stream.
pub(in crate::predict) fn arriving(
    mechanics: &Mechanics<'_>,
    parts: &[Part],
    stream: Stream,
    gaps: Gaps,
) -> Arriving {
    let step = (parts.len() / PLACES).max(1);
    let weight = 1.0 / parts.iter().step_by(step).count() as f64;
    let mut sum = Arriving::default();
    for part in parts.iter().step_by(step) {
        Place::new(mechanics, *part, stream).arriving(stream, gaps, weight, &mut sum);
    }
    sum
}

impl Place<'_> {
    fn arriving(&self, stream: Stream, gaps: Gaps, weight: f64, sum: &mut Arriving) {
        let share = stream.reads;
        if share >= 1.0 && self.ahead() >= self.count {
            self.reading(stream, gaps, weight, sum);
            return;
        }
        let gap = gaps.turn;
        let warm = self.reads(stream);
        let each = weight / GAPS as f64;
        let cached = self.ahead() >= 1.0;
        let through = self.mechanics.profile.cache.write_policy == WritePolicy::Through;
        let found = |came| host_read(self.mechanics, self.count, came, share);
        let taken = |came| host_write(self.mechanics, self.count, came, share);
        // The last of a write comes when all but a segment's worth of it is written.
        let fits = match self.mechanics.profile.cache.write_policy {
            WritePolicy::BehindWhenIdle => {
                f64::from(self.mechanics.profile.cache.segment_blocks) / self.count
            }
            _ => 1.0,
        };
        let warmth = if cached {
            share * share * (1.0 - stream.jumps) * (1.0 - warm.colds)
        } else {
            0.0
        };
        sum.delay += weight * warmth * (warm.host - found(Came::Busy)).max(0.0);
        if !through {
            let aside = (taken(Came::Idle) - taken(Came::Busy)).max(0.0);
            sum.delay += weight * (1.0 - share) * aside;
        }
        for index in 0..GAPS {
            let gap = -ln((index as f64 + 0.5) / GAPS as f64) * gap;
            let turned = (index as f64 * GOLDEN).fract() * self.mechanics.turn;
            let behind = self.left_behind(stream, turned);
            for (moments, gap) in [(&mut sum.first, gap), (&mut sum.queued, 0.0)] {
                let come =
                    |gap, behind, direction| self.come(stream, (gap, turned), behind, direction);
                if cached {
                    let both = share * share * each;
                    let (stays, moves) = (1.0 - stream.jumps, stream.jumps);
                    let found = if gap > 0.0 {
                        found(Came::Busy)
                    } else {
                        found(Came::Busy).max(self.media)
                    };
                    moments.add(found, warmth * each);
                    moments.add(self.half_found(&warm), both * stays * warm.colds);
                    moments.add(warm.cold, both * moves);
                } else {
                    come(gap, 0.0, Direction::Read).add(moments, share * share * each);
                }
                come(gap, behind, Direction::Read).add(moments, share * (1.0 - share) * each);
                if through {
                    come(gap, 0.0, Direction::Write).add(moments, (1.0 - share) * each);
                } else if fits < 1.0 {
                    let written = come(gap, 0.0, Direction::Write);
                    written
                        .sooner(fits * self.media)
                        .add(moments, (1.0 - share) * each);
                } else {
                    moments.add(taken(Came::Busy), (1.0 - share) * each);
                }
            }
        }
    }

    /// Reads that find their data, but for those that come when the head has stopped: it stops when
    /// it is `ahead` blocks before the host, and has read `ahead / (1 - media / gap)` and the
    /// first by then. What
    /// waits for such a read comes before its own blocks were read ahead, so that each costs a turn
    /// until nothing waits; that busy period has a first service that is not like the others.
    fn reading(&self, stream: Stream, gaps: Gaps, weight: f64, sum: &mut Arriving) {
        let turn = self.mechanics.turn;
        let found = |came| host_read(self.mechanics, self.count, came, 1.0);
        let settle = self.settle(Direction::Read);
        let busy = Stream {
            depth: FEW,
            ..stream
        };
        let queue = Place {
            came: Came::Busy,
            open: false,
            read: self.read.clone(),
            write: self.write.clone(),
            ..*self
        };
        let cost = self
            .mechanics
            .read(&self.read, settle, turn / 2.0, Came::Busy, 1.0);
        let lost = if queue.loses(&cost, busy) {
            queue.passed_read(busy)
        } else {
            found(Came::Busy).max(self.media)
        };
        let cold = |seek: f64| {
            self.mechanics
                .read(&self.read, seek, turn / 2.0, Came::Idle, 1.0)
                .response
        };
        let surplus = (1.0 - self.media / gaps.mean).max(0.0);
        let resumes = self.mechanics.profile.cache.resume_on_hit.is_yes()
            && self.ahead() / self.count * gaps.mean > turn + settle;
        let stops = if resumes {
            0.0
        } else {
            self.count * surplus / (self.ahead() + self.count * surplus)
        };
        let colds = (stops + stream.jumps).clamp(1e-9, 1.0);
        let moved = stream.jumps.min(colds) / colds;
        let cold = (1.0 - moved) * cold(settle) + moved * cold(settle.max(stream.jump));
        // A run of parts that has an end drifts away no further than its root.
        let most = 1.0 - 2.0 / gaps.run.max(1.0).sqrt().clamp(4.0, 40.0);
        let load = (lost / gaps.turn).min(most);
        let begun = cold / gaps.turn;
        let together = 1.0 + begun / (1.0 - load);
        let share = colds * together / (1.0 + colds * (together - 1.0));
        let first = 1.0 / together;
        let square = cold * cold + turn * turn / 12.0;
        let wait = load * lost / (2.0 * (1.0 - load))
            + (square - lost * lost) / gaps.turn / (2.0 * (1.0 - load + begun));
        let slow = first * cold + (1.0 - first) * lost + wait.max(0.0);
        let quick = found(Came::Idle);
        sum.first.add(found(Came::Busy), weight);
        sum.queued.add(found(Came::Busy).max(self.media), weight);
        sum.delay += weight * (quick - found(Came::Busy)).max(0.0);
        sum.slow += weight * share * (slow - quick).max(0.0);
        // Disks that a request uses together stop together; their phases differ.
        sum.spread += weight * share * turn * turn / 12.0;
    }

    /// A read of which the cache holds no more than was read ahead; the rest passes while that is
    /// handed over.
    fn half_found(&self, warm: &Pace) -> f64 {
        let found = if self.count > self.ahead() {
            self.ahead() / self.count
        } else {
            0.0
        };
        (warm.cold - found * self.media).max(warm.host)
    }

    /// How long the head works on a write that was reported from the cache.
    fn left_behind(&self, stream: Stream, wait: f64) -> f64 {
        if self.mechanics.profile.cache.write_policy == WritePolicy::Through {
            return 0.0;
        }
        let settle = self.settle(Direction::Write);
        let cost = self
            .mechanics
            .write(&self.write, settle, wait, Came::Idle, stream.reads);
        let host = host_write(self.mechanics, self.count, Came::Idle, stream.reads);
        (cost.medium - host).max(0.0)
    }

    /// The response of a part that comes `gap` after the one before was reported, whose work on the
    /// medium ends `behind` after that; where the arm moves before it, the platter is anywhere.
    fn come(
        &self,
        stream: Stream,
        (gap, turned): (f64, f64),
        behind: f64,
        direction: Direction,
    ) -> Come {
        let settle = self.settle(direction);
        let cost = |seek: f64, wait: f64| match direction {
            Direction::Read => self
                .mechanics
                .read(&self.read, seek, wait, came(gap), stream.reads),
            Direction::Write => {
                self.mechanics
                    .write(&self.write, seek, wait, came(gap), stream.reads)
            }
        };
        let turn = self.mechanics.turn;
        let begin = gap.max(behind);
        let first = cost(settle, 0.0);
        let since = if behind > 0.0 {
            begin - behind
        } else {
            gap + first.response - first.medium
        };
        let before = since + first.overhead + settle;
        let wait = (before / turn).ceil() * turn - before;
        Come {
            stays: cost(settle, wait).response + begin - gap,
            moves: cost(settle.max(stream.jump), turned).response + begin - gap,
            jumps: stream.jumps,
        }
    }
}

/// Responses where the arm stays and where it moves, which it does for a share.
struct Come {
    stays: f64,
    moves: f64,
    jumps: f64,
}

impl Come {
    fn sooner(self, time: f64) -> Self {
        Self {
            stays: self.stays - time,
            moves: self.moves - time,
            ..self
        }
    }

    fn add(&self, moments: &mut Moments, weight: f64) {
        moments.add(self.stays, (1.0 - self.jumps) * weight);
        moments.add(self.moves, self.jumps * weight);
    }
}

/// Whether a gap leaves the drive idle.
fn came(gap: f64) -> Came {
    if gap > 0.0 { Came::Idle } else { Came::Busy }
}
