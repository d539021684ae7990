//! Sequential streams: what one part costs a drive that has just served the one before.
//!
//! ```text
//!   read, media slower     the head never stops: a part takes its passage
//!   read, host slower      the head runs ahead until the segment is full, stops, and is called
//!                          again when the host has caught up: a few turns for each segment
//!   no read-ahead, writes  the next command comes after its first sector has passed: the passage
//!                          and a whole number of turns
//!   the nearest first      the head takes every s-th of those that wait, and the ones between in
//!                          the next turns: of W that wait, 2 W / (s + 1) in a turn
//! ```

mod arriving;
mod written;

pub(super) use arriving::{Arriving, FEW, Gaps, Moments, arriving};

use super::footprint::Part;
use super::mechanics::{Came, Cost, Mechanics, Way};
use super::random::{host_read, queued_read};
use crate::disk::profile::{ReadAhead, Release, Scheduler, WritePolicy};
use crate::disk::seek::Direction;

/// Blocks over which the rate of a long passage is averaged.
const PASSAGE: u64 = 4096;

/// Places of the disk at which it is.
const PLACES: usize = 24;

/// How parts follow each other on a drive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    /// The share of reads.
    pub(super) reads: f64,
    /// Commands that are at the drive at a time; less than 1 where they come of themselves.
    pub(super) depth: f64,
    /// Time between parts on this drive beyond what it takes for one, since others have their turn.
    pub(super) away: f64,
    /// What a request that is alone spends elsewhere before the next one comes.
    pub(super) aside: f64,
    /// Blocks that come before others have their turn, and the parts that those get then, for each
    /// request under way.
    pub(super) run: f64,
    pub(super) rest: f64,
    /// The share of parts before which the arm moves to another piece of the disk, and how long.
    pub(super) jumps: f64,
    pub(super) jump: f64,
    /// The share of the commands at the drive that it may choose from for one piece of the disk.
    pub(super) near: f64,
    /// For one request at a time: the disks that it uses, and how many requests there are from one
    /// of a disk to the next.
    pub(super) wide: f64,
    pub(super) turns: f64,
    /// The share of parts that end with their track.
    pub(super) edges: f64,
}

/// What a part costs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Pace {
    /// The time of a part where the drive sets the pace.
    pub(super) period: f64,
    /// The time of a part that finds its data, or its place in the cache.
    pub(super) host: f64,
    /// The passage of a part.
    pub(super) media: f64,
    /// A part that has to be positioned for, after a pause.
    pub(super) cold: f64,
    /// The share of parts that are cold after pauses.
    pub(super) colds: f64,
    /// What the next parts wait, for each, since the head is still on its way to a write that was
    /// reported before; not in `period`.
    pub(super) passed: f64,
}

impl Pace {
    /// A share `apart` of the other pace, the rest of this one.
    pub(super) fn mixed(&self, other: &Self, apart: f64) -> Self {
        let mix = |this: f64, other: f64| this + apart * (other - this);
        Self {
            period: mix(self.period, other.period),
            host: mix(self.host, other.host),
            media: mix(self.media, other.media),
            cold: mix(self.cold, other.cold),
            colds: mix(self.colds, other.colds),
            passed: mix(self.passed, other.passed),
        }
    }
}

/// The average over the places of a stream.
pub(super) fn pace(mechanics: &Mechanics<'_>, parts: &[Part], stream: Stream) -> Pace {
    let step = (parts.len() / PLACES).max(1);
    let ends = |part: &&Part| {
        let last = part.start + part.count - 1;
        mechanics.geometry.locate(last).run == 1
    };
    let stream = Stream {
        edges: parts.iter().filter(ends).count() as f64 / parts.len() as f64,
        ..stream
    };
    let mut sum = Pace::default();
    let mut count = 0.0;
    for part in parts.iter().step_by(step) {
        let pace = Place::new(mechanics, *part, stream).pace(stream);
        sum.period += pace.period;
        sum.host += pace.host;
        sum.media += pace.media;
        sum.cold += pace.cold;
        sum.colds += pace.colds;
        sum.passed += pace.passed;
        count += 1.0;
    }
    Pace {
        period: sum.period / count,
        host: sum.host / count,
        media: sum.media / count,
        cold: sum.cold / count,
        colds: sum.colds / count,
        passed: sum.passed / count,
    }
}

struct Place<'a> {
    mechanics: &'a Mechanics<'a>,
    came: Came,
    open: bool,
    read: Way,
    write: Way,
    count: f64,
    /// The passage of a part, switches and all.
    media: f64,
    /// Blocks and passage of a track.
    track: f64,
}

impl<'a> Place<'a> {
    fn new(mechanics: &'a Mechanics<'a>, part: Part, stream: Stream) -> Self {
        let blocks = mechanics.geometry.blocks();
        let long = part.count.max(PASSAGE).min(blocks);
        let start = part.start.min(blocks - long);
        let passage = mechanics.way(Part { start, count: long }, Direction::Read);
        Self {
            came: if stream.depth > 1.0 {
                Came::Busy
            } else {
                Came::Idle
            },
            open: stream.depth < 1.0,
            read: mechanics.way(part, Direction::Read),
            write: mechanics.way(part, Direction::Write),
            count: part.count as f64,
            media: passage.media / long as f64 * part.count as f64,
            track: f64::from(mechanics.geometry.locate(part.start).per_track),
            mechanics,
        }
    }

    fn pace(&self, stream: Stream) -> Pace {
        let reads = self.reads(stream);
        let writes = self.writes(stream);
        let share = stream.reads;
        // What comes after another kind finds its sector passed.
        let mixed = 2.0 * share * (1.0 - share);
        let cold_read = match self.mechanics.profile.cache.write_policy {
            // What is written meanwhile goes on in order.
            WritePolicy::BehindWhenIdle => {
                let moved = stream.jumps;
                (1.0 - moved) * self.read_behind(stream) + moved * self.turned_read(stream)
            }
            _ => self.passed_read(stream),
        };
        let cold_read = cold_read + stream.jumps * stream.jump;
        // So does what comes back to another piece and finds nothing read ahead there. The head has
        // read ahead there as long as the host was slower, where there is a segment for each.
        let cache = &self.mechanics.profile.cache;
        let segments = cache
            .segments
            .saturating_sub(usize::from(cache.separate_write_segment.is_yes()));
        let missing = if segments > 1 {
            (self.media / (reads.host + stream.aside)).min(1.0)
        } else {
            1.0
        };
        // A drive that chooses stays with a piece until nothing for it waits; half of what comes
        // meanwhile is for it.
        let queue = &self.mechanics.profile.queue;
        let waiting = stream.depth.min(queue.depth as f64);
        let jumps = if queue.scheduler != Scheduler::Fcfs && waiting > 1.0 {
            stream.jumps.min(1.0 / (2.0 * waiting))
        } else {
            stream.jumps
        };
        let moved = (reads.cold + stream.jump - reads.period).max(0.0) * jumps * missing;
        // And a read that comes while the head is on its way to what is cached, or has to leave it:
        // it goes there where no other read waits, and half as often where the cache is full.
        let behind = cache.write_policy == WritePolicy::Behind && cache.combine_writes.is_yes();
        let cold_read = if behind {
            let alone = (1.0 - share).powf((stream.depth - 1.0).max(0.0));
            let away = self.mechanics.turn / 2.0 + self.settle(Direction::Write);
            cold_read + f64::midpoint(1.0, alone) * away
        } else {
            cold_read
        };
        let read = reads.period
            + (cold_read - reads.period).max(0.0) * mixed / share.max(1e-9) / 2.0
            + moved * share;
        // A write into the cache finds its sector passed too; who comes after it waits for that.
        let chooses = queue.scheduler == Scheduler::Sptf && waiting > 1.0;
        let passed = if cache.write_policy == WritePolicy::BehindWhenIdle && !chooses {
            let follows = 1.0 - (self.count / stream.run).min(1.0);
            let wrote = self.turned_write(stream);
            (wrote - writes.period).max(0.0) * mixed / 2.0 * follows
        } else {
            0.0
        };
        Pace {
            period: share * read + (1.0 - share) * writes.period,
            host: share * reads.host + (1.0 - share) * writes.host,
            media: self.media,
            cold: share * reads.cold + (1.0 - share) * writes.cold,
            colds: share * reads.colds + (1.0 - share) * writes.colds,
            passed,
        }
    }

    /// Blocks that are read ahead of the host.
    fn ahead(&self) -> f64 {
        let cache = &self.mechanics.profile.cache;
        if cache.segments == 0 {
            return 0.0;
        }
        let segment = f64::from(cache.segment_blocks);
        match cache.read_ahead {
            ReadAhead::None => 0.0,
            ReadAhead::TrackEnd => self.track / 2.0,
            ReadAhead::CylinderEnd => self.track * f64::from(self.mechanics.geometry.heads()) / 2.0,
            ReadAhead::Segment if cache.read_ahead_max > 0 => f64::from(cache.read_ahead_max),
            ReadAhead::Segment | ReadAhead::WholeTracks => segment,
        }
    }

    fn settle(&self, direction: Direction) -> f64 {
        self.mechanics.arm.begin_ns((0, 0), (0, 0), direction) as f64
    }

    /// A read that follows another command and is not in the cache: a whole number of turns.
    fn turned_read(&self, stream: Stream) -> f64 {
        let settle = self.settle(Direction::Read);
        self.turned(settle + stream.aside, |wait| {
            self.mechanics
                .read(&self.read, settle, wait, self.came, stream.reads)
        })
    }

    /// A read that has waited for the end of a write into the cache: its overhead is over then, and
    /// only a head that need not settle finds the next sector.
    fn read_behind(&self, stream: Stream) -> f64 {
        let settle = self.settle(Direction::Read);
        let turn = self.mechanics.turn;
        let wait = (settle / turn).ceil() * turn - settle;
        let cost = self
            .mechanics
            .read(&self.read, settle, wait, Came::Busy, stream.reads);
        cost.busy
    }

    /// The same where the drive may choose another one first.
    fn passed_read(&self, stream: Stream) -> f64 {
        let turned = self.turned_read(stream);
        let settle = self.settle(Direction::Read);
        let cost = self
            .mechanics
            .read(&self.read, settle, 0.0, self.came, stream.reads);
        if self.leaves_late(self.tail(&cost), settle) {
            return turned;
        }
        let besides = cost.busy - cost.medium + cost.overhead + settle;
        self.chosen(besides, stream)
            .map_or(turned, |time| time.min(turned))
    }

    /// Whether the head comes too late to what the drive takes for the nearest: that is the first
    /// command behind `tail` and settling, but the head, which reads on, leaves only at the end of
    /// the sector that passes.
    fn leaves_late(&self, tail: f64, settle: f64) -> bool {
        let cache = &self.mechanics.profile.cache;
        let sector = self.mechanics.turn / self.track;
        if cache.stop_in_sector.is_yes() || self.ahead() < 1.0 {
            return false;
        }
        let leaves = (tail / sector).ceil() * sector;
        let nearest = ((tail + settle) / (self.count * sector)).ceil() * self.count * sector;
        // As in the drive, a few nanoseconds are not late.
        nearest + 16.0 < leaves + settle
    }

    /// The time of a command where the drive takes the nearest of several first.
    fn chosen(&self, besides: f64, stream: Stream) -> Option<f64> {
        let queue = &self.mechanics.profile.queue;
        let waiting = stream.depth.min(queue.depth as f64);
        let chooses = queue.scheduler == Scheduler::Sptf && waiting > 1.0;
        chooses.then(|| self.wave(besides, waiting * stream.near))
    }

    /// The time from one command to the next, where the first sector of the next comes when the
    /// last one of this has passed, and again a turn later; `settle` is what comes between beyond
    /// the costs.
    fn turned(&self, settle: f64, cost: impl Fn(f64) -> Cost) -> f64 {
        let turn = self.mechanics.turn;
        let mut period = 0.0;
        let mut wait = 0.0;
        for _ in 0..3 {
            let found = cost(wait);
            let tail = found.busy - found.medium;
            let before = tail + found.overhead + settle;
            wait = (before / turn).ceil() * turn - before;
            period = found.busy;
        }
        period
    }

    /// The passage and as many turns as the time that the head needs besides.
    fn turns(&self, besides: f64, media: f64) -> f64 {
        let turn = self.mechanics.turn;
        media + (besides / turn).ceil().max(0.0) * turn
    }

    /// The time of a read that is in the cache. What the controller needs for a command is only
    /// hidden while it serves others.
    fn found(&self, stream: Stream) -> f64 {
        let host = host_read(self.mechanics, self.count, self.came, stream.reads);
        match self.came {
            Came::Idle => host,
            Came::Busy => {
                let queued = queued_read(self.mechanics, self.count, stream.reads);
                host.max(queued / self.served(stream, host).max(1.0))
            }
        }
    }

    fn reads(&self, stream: Stream) -> Pace {
        let host = self.found(stream);
        let turn = self.mechanics.turn;
        let settle = self.settle(Direction::Read);
        let cost = self
            .mechanics
            .read(&self.read, settle, turn / 2.0, self.came, stream.reads);
        let (cold, overhead) = (cost.response, cost.overhead);
        let ahead = self.ahead();
        if ahead < 1.0 || self.loses(&cost, stream) || self.scatters(&cost, stream) {
            let period = if stream.away > 0.0 {
                cold
            } else {
                let passed = self.passed_read(stream);
                // What waits here must be done before the others are.
                let idles = stream.reads >= 1.0 && passed <= stream.rest * host;
                let lost = if idles { self.lost(stream.run) } else { 1.0 };
                lost * passed + (1.0 - lost) * host
            };
            return Pace {
                period,
                host: cold,
                media: self.media,
                cold,
                colds: 1.0,
                passed: 0.0,
            };
        }
        let away = stream.away + stream.aside;
        let base = host.max(self.media - stream.aside) + self.stops(stream, host);
        let mut period = base;
        let mut colds = 0.0;
        for _ in 0..20 {
            let between = period + away;
            let surplus = 1.0 - self.media / between.max(1.0);
            if self.open && self.count > ahead {
                colds = 1.0;
                break;
            }
            if surplus <= 0.0 || host + away <= self.media {
                break;
            }
            colds = (self.count / ahead * surplus).min(1.0);
            let resumes = self.mechanics.profile.cache.resume_on_hit.is_yes()
                && ahead / self.count * between > turn + settle;
            let pause = if resumes {
                0.0
            } else if stream.away > 0.0 {
                (cold - host).max(0.0)
            } else {
                // The head comes back after a whole number of turns.
                let called = ahead / self.count * (host + stream.aside);
                let idle = called + overhead + settle;
                (idle / turn).ceil() * turn - called
            };
            let next = host + pause.max(0.0) * colds;
            period = f64::midpoint(period, next.max(base.min(self.media)));
        }
        Pace {
            period,
            host,
            media: self.media,
            cold,
            colds,
            passed: 0.0,
        }
    }

    /// The commands of those at the drive that are served. LOOK goes on in one direction as long as
    /// there is something: where the head reads ahead of the host into the next cylinder, it never
    /// turns for what is left in this one, until two are left that follow it.
    fn served(&self, stream: Stream, host: f64) -> f64 {
        let looks = self.mechanics.profile.queue.scheduler == Scheduler::Look;
        if looks && host > self.media && self.ahead() >= 1.0 {
            stream.depth.min(2.0)
        } else {
            stream.depth
        }
    }

    /// The share of parts that lose a turn since they come too early. When others had their turn
    /// meanwhile, the cache holds what was read ahead of it: a part of the run, or of all further
    /// runs until it is used up, which then is not read ahead of again.
    fn lost(&self, run: f64) -> f64 {
        let ahead = self.ahead();
        if !run.is_finite() {
            1.0
        } else if ahead < run {
            1.0 - ahead / run
        } else {
            run / (run + ahead)
        }
    }

    /// Whether the next command comes before its first block was read ahead: the head then starts
    /// anew, though it was on the way there.
    fn loses(&self, cost: &Cost, stream: Stream) -> bool {
        let profile = self.mechanics.profile;
        let sector = self.mechanics.turn / self.track;
        let tail = self.tail(cost) + stream.aside;
        !self.open && !profile.cache.almost_hits.is_yes() && tail < sector * 0.999
    }

    /// Whether a drive that takes the nearest first leaves the stream: the head has passed where
    /// the next command begins, so that one further on that it can still reach is nearer.
    fn scatters(&self, cost: &Cost, stream: Stream) -> bool {
        let queue = &self.mechanics.profile.queue;
        let waiting = (stream.depth.min(queue.depth as f64) - 1.0) * stream.near;
        let besides = self.tail(cost) + self.settle(Direction::Read);
        queue.scheduler == Scheduler::Sptf && waiting * self.media > besides
    }

    /// From the last sector of a read to the next command.
    fn tail(&self, cost: &Cost) -> f64 {
        let queued = self.came == Came::Busy;
        let end = match self.mechanics.profile.queue.release {
            Release::AtMediumDone if queued => cost.medium,
            _ => cost.response,
        };
        end - cost.medium
    }

    /// What a part loses where reading ahead ends with the track or cylinder.
    fn stops(&self, stream: Stream, host: f64) -> f64 {
        let cache = &self.mechanics.profile.cache;
        let settle = self.settle(Direction::Read);
        let cost = self
            .mechanics
            .read(&self.read, settle, 0.0, self.came, stream.reads);
        let sector = self.mechanics.turn / self.track;
        let skew = (self.media / self.count - sector) * self.track;
        let tail = self.tail(&cost) + stream.aside;
        let tracks = match cache.read_ahead {
            ReadAhead::TrackEnd => 1.0,
            ReadAhead::CylinderEnd => f64::from(self.mechanics.geometry.heads()),
            // After a part that ends with its track the head is on its way to the next one, and is
            // called there anew.
            _ if tail < skew && host <= self.media && !self.open && !cache.almost_hits.is_yes() => {
                let lost = (settle / self.mechanics.turn).ceil();
                return lost * self.mechanics.turn * stream.edges;
            }
            _ => return 0.0,
        };
        let need = tail + cost.overhead + settle;
        let lost = ((need - skew) / self.mechanics.turn).ceil().max(0.0) * self.mechanics.turn;
        lost * self.count / (self.track * tracks)
    }

    /// The time of a part where the head needs `besides` between two, and `waiting` can be chosen
    /// from. It takes each that it can still reach, every `step`-th, and comes back for the others
    /// turn by turn; what came in one turn is worked off in the next `step` ones, so that on
    /// average half of it waits.
    fn wave(&self, besides: f64, waiting: f64) -> f64 {
        let step = (besides / self.media).ceil() + 1.0;
        let turned = self.turns(besides, self.media);
        let in_a_turn = (2.0 * waiting / (step + 1.0)).max(1.0);
        (self.mechanics.turn / in_a_turn)
            .max(step * self.media)
            .min(turned)
    }
}
