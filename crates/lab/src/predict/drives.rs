//! Drives as branches of the network: their laws, given how busy they are.
//!
//! A write that is reported from a cache leaves work behind. Where the cache is full all the time,
//! under a closed load, that work sets the pace, and nothing is written back while the next write
//! comes in; where requests come of themselves, reads find the arm away and writes find only the
//! ones before them on the bus.

use super::explain::Account;
use super::footprint::Part;
use super::mechanics::{Came, Mechanics};
use super::predictor::{Model, READ_RUN};
use super::queue::{Branch, State, Station, in_run};
use super::random::{Law, Waiting, Ways, host_read, host_write};
use super::sequential::{Arriving, FEW, Gaps, Moments, Pace, Stream, arriving, pace};
use super::subject::{Arrivals, Shape};
use crate::disk::profile::WritePolicy;
use crate::stats::real::exp;

impl Model<'_> {
    /// A drive under random commands.
    pub(super) fn random(
        &self,
        mechanics: &Mechanics<'_>,
        ways: &Ways,
        (reads, count): (f64, f64),
        state: &State,
    ) -> Branch {
        let busy = state.utilisation.max(0.01);
        let depth = self.depth();
        let others = depth.map_or(1.0, |depth| (depth as f64 - 1.0) / depth as f64);
        let waiting = Waiting {
            candidates: match depth {
                Some(_) => (state.queue / busy - 1.0).max(1.0),
                None => 1.0 - busy + busy * (state.queue / busy).max(1.0),
            },
            idle: (1.0 - busy * others).clamp(0.0, 1.0),
        };
        let cached = mechanics.profile.cache.write_policy == WritePolicy::Behind;
        if cached && reads < 1.0 {
            return self.cached(mechanics, ways, reads, count, waiting);
        }
        let law = ways.law(mechanics, waiting);
        let early = law.cost.response - law.cost.busy;
        let block = mechanics.per_block();
        if depth.is_some()
            && mechanics.profile.cache.write_policy == WritePolicy::BehindWhenIdle
            && reads < 1.0
        {
            let head = Station {
                background: (-early).max(0.0),
                piece: (-early).max(0.0) / (1.0 - reads),
                room: self.room(1.0),
                ..Station::once(law.cost.response, variation(&law))
            };
            return Branch {
                delay: early.max(0.0),
                stations: vec![head],
                deviation: law.deviation,
                block,
                account: account(&law, 1.0),
                ..Branch::default()
            };
        }
        Branch {
            delay: early,
            stations: vec![Station::once(law.cost.busy, variation(&law))],
            deviation: law.deviation,
            block,
            account: account(&law, 1.0),
            ..Branch::default()
        }
    }

    /// A drive whose writes are reported when they are in its cache.
    fn cached(
        &self,
        mechanics: &Mechanics<'_>,
        ways: &Ways,
        reads: f64,
        count: f64,
        waiting: Waiting,
    ) -> Branch {
        let segments = mechanics.profile.cache.write_segments as f64;
        let host = host_write(mechanics, count, Came::Idle, reads);
        let candidates = match self.depth() {
            None => 2.0,
            Some(1) if reads > 0.5 => (reads / (2.0 * reads - 1.0)).min(segments),
            Some(_) => segments - 1.0,
        };
        let single = ways.destages(mechanics, 1.0);
        let alone = self.depth() == Some(1) && single.cost.busy < host;
        let destage = if alone {
            single
        } else {
            ways.destages(mechanics, candidates.max(1.0))
        };
        let law = if reads > 0.0 {
            ways.reads(mechanics, waiting)
        } else {
            Law::default()
        };
        // Nothing is written back while the next write comes in, where the cache is always full.
        let taken = match self.depth() {
            Some(1) if reads > 0.5 || alone => 0.0,
            Some(_) => host_write(mechanics, count, Came::Busy, reads),
            None => 0.0,
        };
        let (read, written) = self.weights();
        let law_of = if reads > 0.0 { &law } else { &destage };
        let head = Station {
            background: (1.0 - reads) * (destage.cost.busy + taken),
            piece: destage.busy_square / destage.cost.busy.max(1.0) * reads,
            room: if reads > 0.0 {
                0.0
            } else {
                self.room(segments)
            },
            ..Station::weighted(reads * law.cost.busy, variation(law_of), read)
        };
        let write = (1.0 - reads) * host;
        let mut branch = Branch {
            delay: reads * read * (law.cost.response - law.cost.busy).max(0.0),
            stations: vec![head],
            deviation: match self.volume.shape {
                // Only writes wait for the last of several, and these differ by nothing.
                Shape::Mirror => 0.0,
                _ => reads * law.deviation,
            },
            block: mechanics.per_block(),
            account: account(&law, reads * read),
            ..Branch::default()
        };
        branch.account.cache += write * written;
        match self.depth() {
            Some(_) => branch.delay += write * written,
            None => branch.stations.push(Station::weighted(write, 0.0, written)),
        }
        branch
    }

    /// How many times a read and a write count in the mean over a disk's parts, so that this is the
    /// mean over requests: of a mirror a write has a part on each leg, a read on one.
    fn weights(&self) -> (f64, f64) {
        match self.volume.shape {
            Shape::Mirror => {
                let parts = self.footprint.visits.iter().sum::<f64>();
                (parts, parts / self.volume.pieces.len() as f64)
            }
            _ => (1.0, 1.0),
        }
    }

    /// Pieces that fit behind a disk to which requests come by chance: not where all go to all.
    fn room(&self, pieces: f64) -> f64 {
        match self.volume.shape {
            Shape::Mirror => 0.0,
            _ => pieces,
        }
    }

    /// How the parts of a stream follow each other on a disk, if requests come at `rate`.
    fn following(&self, disk: usize, mechanics: &Mechanics<'_>, reads: f64, rate: f64) -> Stream {
        let depth = self.depth();
        let active = self.active(depth.unwrap_or(1) as f64);
        let commands = depth.map_or(0.0, |depth| (depth as f64 * self.wide() / active).max(1.0));
        let visits = self.footprint.visits[disk];
        let between = if rate > 0.0 {
            1.0 / (rate * visits)
        } else {
            0.0
        };
        let turns = self.volume.disks.len() as f64 / active;
        let away = match self.volume.shape {
            Shape::Striped { .. } if turns > 1.05 => between * (1.0 - 1.0 / turns),
            _ => 0.0,
        };
        Stream {
            reads,
            depth: commands,
            away,
            aside: if depth == Some(1) {
                self.aside(disk)
            } else {
                0.0
            },
            run: match self.turn() {
                Some(chunk) if turns > 1.05 => chunk as f64,
                _ => f64::INFINITY,
            },
            rest: self.turn().map_or(0.0, |chunk| {
                let others = self.volume.disks.len() as f64 - 1.0;
                others * chunk as f64 / self.load.blocks as f64 / depth.unwrap_or(1) as f64
            }),
            jumps: self.jumps(disk),
            jump: self.jump(disk, mechanics),
            near: self.near(disk),
            wide: if depth == Some(1) { self.wide() } else { 1.0 },
            turns: if depth == Some(1) {
                turns
            } else {
                f64::INFINITY
            },
            edges: 0.0,
        }
    }

    /// A drive under a sequential stream.
    pub(super) fn sequential(
        &self,
        disk: usize,
        mechanics: &Mechanics<'_>,
        reads: f64,
        rate: f64,
    ) -> Branch {
        let stream = self.following(disk, mechanics, reads, rate);
        let visits = self.footprint.visits[disk];
        // Where others have their turn only now and then, most parts follow one another.
        let apart = match self.volume.shape {
            Shape::Striped { chunk } => (self.load.blocks as f64 / chunk as f64).min(1.0),
            _ => 0.0,
        };
        let found = self.paced(disk, mechanics, stream, apart);
        let block = mechanics.per_block();
        let (head, deviation, aside) = match self.gap(visits) {
            None => {
                // What a cache has taken is answered while the head still works on it.
                let period = found.period + found.passed;
                let cache = &mechanics.profile.cache;
                let early = reads == 0.0 && cache.write_policy != WritePolicy::Through;
                let answered = if early {
                    found.host.min(period)
                } else {
                    period
                };
                let head = Station {
                    background: period - answered,
                    ..Station::once(answered, 0.0)
                };
                (head, 0.0, 0.0)
            }
            Some(gap) => self.coming(disk, mechanics, stream, self.gaps(gap, visits)),
        };
        let service = aside + head.first.map_or(head.service, |first| first.0);
        let transfer = service.min(found.media.max(found.host));
        let account = Account {
            transfer,
            rotation: service - transfer,
            ..Account::default()
        };
        Branch {
            delay: aside,
            stations: vec![head],
            deviation,
            block,
            account,
            burst: self.burst(visits),
            found: hosted(mechanics, reads, self.load.blocks as f64, Came::Busy),
            first: hosted(mechanics, reads, self.load.blocks as f64, Came::Idle) + self.aside(disk),
            ..Branch::default()
        }
    }

    /// The head under parts that come of themselves, the deviation of the time of one that finds it
    /// idle, and what the controller does meanwhile.
    fn coming(
        &self,
        disk: usize,
        mechanics: &Mechanics<'_>,
        stream: Stream,
        gaps: Gaps,
    ) -> (Station, f64, f64) {
        let parts = &self.footprint.disks[disk];
        let Arriving {
            first,
            queued,
            delay,
            slow,
            spread: apart,
        } = arriving(mechanics, parts, stream, gaps);
        // What waits is served no more slowly than under a closed load of a few.
        let few = Stream {
            depth: FEW,
            away: 0.0,
            ..stream
        };
        let period = pace(mechanics, parts, few).period;
        let queued = queued.at_most(period);
        let spread = |of: Moments| (of.square - of.mean.powi(2)).max(0.0);
        let variation = spread(queued) / queued.mean.max(1.0).powi(2);
        // A disk that has all parts has no pause between runs.
        let striped = matches!(self.volume.shape, Shape::Striped { .. });
        let run = if striped && self.footprint.visits[disk] > 0.99 {
            f64::INFINITY
        } else {
            gaps.run
        };
        let gaps = Gaps { run, ..gaps };
        let head = Station {
            first: Some((first.mean, first.square)),
            run,
            ..Station::once(queued.mean, variation)
        };
        let over = match stream.reads {
            0.0 => overflow(mechanics, parts, period, gaps),
            _ => 0.0,
        };
        (head, (spread(first) + apart).sqrt(), delay + slow + over)
    }

    /// How the parts of a stream come that has this gap while it is the disk's turn.
    fn gaps(&self, turn: f64, visits: f64) -> Gaps {
        let (mean, run) = match self.volume.shape {
            Shape::Striped { chunk } if chunk > self.load.blocks => (
                turn / visits.min(1.0),
                (chunk as f64 / self.load.blocks as f64).max(1.0),
            ),
            // Where one leg falls behind, the other one takes the next run.
            Shape::Mirror if self.load.reads == 1000 && visits > 0.99 => {
                (turn, READ_RUN as f64 / self.load.blocks as f64)
            }
            _ => (turn, f64::INFINITY),
        };
        Gaps { turn, mean, run }
    }

    /// The mean gap before a part of a stream that comes of itself, while it is the disk's turn.
    fn gap(&self, visits: f64) -> Option<f64> {
        let gap = match self.load.arrivals {
            Arrivals::Closed { .. } => return None,
            Arrivals::Even { gap_ns }
            | Arrivals::Poisson { gap_ns }
            | Arrivals::Bursty { gap_ns, .. } => gap_ns as f64,
        };
        Some(match self.volume.shape {
            Shape::Linear => gap,
            Shape::Striped { chunk } if chunk > self.load.blocks => gap,
            _ => gap / visits,
        })
    }

    /// The pace of a stream of whose parts a share `apart` comes after a pause.
    fn paced(&self, disk: usize, mechanics: &Mechanics<'_>, stream: Stream, apart: f64) -> Pace {
        let parts = &self.footprint.disks[disk];
        let near = Stream {
            away: 0.0,
            ..stream
        };
        let near: Pace = pace(mechanics, parts, near);
        if stream.away > 0.0 {
            near.mixed(&pace(mechanics, parts, stream), apart)
        } else {
            near
        }
    }

    /// How much faster the parts of a stream come to a disk while it is its turn.
    fn burst(&self, visits: f64) -> f64 {
        match self.volume.shape {
            Shape::Linear => 1.0 / visits,
            Shape::Striped { chunk } if chunk > self.load.blocks => (1.0 / visits).max(1.0),
            _ => 1.0,
        }
    }

    /// The share of a stream's parts before which the arm goes to another piece of the disk.
    fn jumps(&self, disk: usize) -> f64 {
        let pieces = self.volume.pieces.iter();
        let mine = pieces.filter(|piece| piece.disk == disk).count();
        match self.volume.shape {
            Shape::Striped { chunk } if mine > 1 => {
                (self.load.blocks as f64 / chunk as f64).min(1.0)
            }
            _ => 0.0,
        }
    }

    /// The share of a disk's commands that it chooses from: those of one piece, as long as there
    /// are any; of a mirror not those that only another leg has still to serve.
    fn near(&self, disk: usize) -> f64 {
        let pieces = self.volume.pieces.iter();
        let mine = pieces.filter(|piece| piece.disk == disk).count();
        match self.volume.shape {
            Shape::Striped { .. } => 1.0 / mine.max(1) as f64,
            // The last of two takes 4/3 of the mean of each.
            Shape::Mirror => 0.75,
            Shape::Linear => 1.0,
        }
    }

    /// How long that takes.
    fn jump(&self, disk: usize, mechanics: &Mechanics<'_>) -> f64 {
        let mine: Vec<u64> = self
            .volume
            .pieces
            .iter()
            .filter(|piece| piece.disk == disk)
            .map(|piece| piece.start)
            .collect();
        let [first, .., last] = mine[..] else {
            return 0.0;
        };
        let cylinder = |block| mechanics.geometry.locate(block).cylinder;
        let distance = cylinder(first).abs_diff(cylinder(last));
        mechanics.arm.seek_ns(distance) as f64
    }
}

/// What a write of a stream waits for room in a cache which the head empties by one each `period`:
/// for the work that it finds beyond what fits, whose tail is taken for exponential.
fn overflow(mechanics: &Mechanics<'_>, parts: &[Part], period: f64, gaps: Gaps) -> f64 {
    let cache = &mechanics.profile.cache;
    let count = parts.iter().map(|part| part.count).sum::<u64>() as f64 / parts.len() as f64;
    let room = match cache.write_policy {
        WritePolicy::Through => return 0.0,
        WritePolicy::BehindWhenIdle => f64::from(cache.segment_blocks) / count - 1.0,
        WritePolicy::Behind => cache.write_segments as f64,
    };
    if room < 0.0 {
        // Its own service is that of the medium.
        return 0.0;
    }
    let demand = period / gaps.turn;
    let (idle, wait) = if gaps.run.is_finite() {
        let found = in_run(demand, gaps.run);
        (found.idle, found.wait * gaps.turn)
    } else {
        let busy = demand.min(0.98);
        (1.0 - busy, busy * period / (2.0 * (1.0 - busy)))
    };
    wait * exp(-room * period * (1.0 - idle) / wait.max(1e-9))
}

/// The time of a part that needs no head.
fn hosted(mechanics: &Mechanics<'_>, reads: f64, count: f64, came: Came) -> f64 {
    let read = reads * host_read(mechanics, count, came, reads);
    read + (1.0 - reads) * host_write(mechanics, count, came, reads)
}

/// The squared coefficient of variation of the head's service.
fn variation(law: &Law) -> f64 {
    let mean = law.cost.busy.max(1.0);
    (law.busy_square / (mean * mean) - 1.0).max(0.0)
}

/// Where commands of a law spend their time, `share` of all commands.
fn account(law: &Law, share: f64) -> Account {
    Account {
        overhead: law.cost.overhead * share,
        seek: law.cost.seek * share,
        rotation: law.cost.rotation * share,
        transfer: law.cost.transfer * share,
        ..Account::default()
    }
}
