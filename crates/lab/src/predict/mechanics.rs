//! What one command costs a drive's head and bus, by its profile alone.
//!
//! ```text
//!   read     overhead ─ seek ─ rotate ─ pass the sectors, track by track ─ last of the transfer
//!   write    overhead ─ seek ─ rotate ─ pass what has come over the bus ─ report
//! ```
//!
//! The way from the first sector to the last does not depend on where the platter was, since skews
//! are part of the map; so a cost is a sum of independent terms, each known or averaged over
//! samples. Times are nanoseconds, as `f64`.

use super::footprint::Part;
use crate::disk::geometry::Geometry;
use crate::disk::profile::{AfterEach, Profile, Release, ZeroLatency};
use crate::disk::rotation::CIRCLE;
use crate::disk::seek::{Arm, Direction};
use crate::error::Result;

/// Tracks that are walked one by one; what is longer goes on at their rate.
const WALKED_MAX: usize = 64;

/// A drive as the predictor knows it.
#[derive(Debug)]
pub(super) struct Mechanics<'a> {
    pub(super) profile: &'a Profile,
    pub(super) geometry: Geometry,
    pub(super) arm: Arm,
    /// A revolution.
    pub(super) turn: f64,
}

/// Consecutive sectors of one track.
#[derive(Debug, Clone, Copy)]
struct Run {
    count: f64,
    /// The time of one sector.
    sector: f64,
    /// From the end of the run before to the begin of this one.
    gap: f64,
}

/// A part, ready to be costed.
#[derive(Debug, Clone)]
pub(super) struct Way {
    /// Where it begins.
    pub(super) from: (u32, u32),
    /// Where it ends.
    pub(super) to: (u32, u32),
    pub(super) count: f64,
    runs: Vec<Run>,
    /// From begin to end on the medium.
    pub(super) media: f64,
}

/// What a command costs; all times but `busy` and `response` add up to the response.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Cost {
    pub(super) overhead: f64,
    pub(super) seek: f64,
    pub(super) rotation: f64,
    pub(super) transfer: f64,
    /// Until the head is free.
    pub(super) busy: f64,
    /// Until it is reported.
    pub(super) response: f64,
    /// Until the medium is done.
    pub(super) medium: f64,
}

/// Whether a command came while the drive had others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    Idle,
    Busy,
}

impl<'a> Mechanics<'a> {
    pub(super) fn new(profile: &'a Profile) -> Result<Self> {
        let mechanics = &profile.mechanics;
        Ok(Self {
            geometry: profile.layout.clone().build()?,
            arm: mechanics.arm(profile.layout.cylinders)?,
            turn: CIRCLE as f64 / f64::from(mechanics.rpm),
            profile,
        })
    }

    /// The way of the head over a part.
    pub(super) fn way(&self, part: Part, direction: Direction) -> Way {
        let place = self.geometry.locate(part.start);
        let from = (place.cylinder, place.head);
        let mut way = Way {
            from,
            to: from,
            count: part.count as f64,
            runs: Vec::new(),
            media: 0.0,
        };
        let (mut at, end) = (part.start, part.start + part.count);
        let mut angle = place.angle.units() as f64;
        while at < end && way.runs.len() < WALKED_MAX {
            let place = self.geometry.locate(at);
            let to = (place.cylinder, place.head);
            let rpm = f64::from(self.profile.mechanics.rpm);
            let mut gap = 0.0;
            if at > part.start {
                let moved = self.arm.reach_ns(way.to, to, direction) as f64;
                let turned = place.angle.units() as f64 - angle - moved * rpm;
                // A nanosecond of rounding is not a revolution.
                let wait = (turned + 32.0 * rpm).rem_euclid(CIRCLE as f64) - 32.0 * rpm;
                gap = moved + wait / rpm;
            }
            let count = u64::from(place.run).min(end - at);
            let sector = self.turn / f64::from(place.per_track);
            let run = Run {
                count: count as f64,
                sector,
                gap,
            };
            way.media += gap + run.count * sector;
            way.runs.push(run);
            angle =
                place.angle.units() as f64 + run.count * CIRCLE as f64 / f64::from(place.per_track);
            angle = angle.rem_euclid(CIRCLE as f64);
            way.to = to;
            at += count;
        }
        if at < end {
            let walked = (at - part.start) as f64;
            let last = way.runs.last_mut().expect("tracks were walked");
            let rest = (end - at) as f64;
            last.sector =
                (last.count * last.sector + way.media / walked * rest) / (last.count + rest);
            last.count += rest;
            way.media *= way.count / walked;
            let place = self.geometry.locate(end - 1);
            way.to = (place.cylinder, place.head);
        }
        way
    }

    /// What one block more takes: on the medium or over the bus, whichever is slower.
    pub(super) fn per_block(&self) -> f64 {
        let middle = self.geometry.locate(self.geometry.blocks() / 2).per_track;
        let bus = self.profile.bus.read_block_ns as f64;
        bus.max(self.turn / f64::from(middle))
    }

    /// An overhead, after a share of `reads` among the commands before.
    pub(super) fn after(times: AfterEach, reads: f64) -> f64 {
        times.after_read_ns as f64 * reads + times.after_write_ns as f64 * (1.0 - reads)
    }

    /// From (cylinder, head) to the begin of a way: seek, switch, settling.
    pub(super) fn seek(&self, from: (u32, u32), way: &Way, direction: Direction) -> f64 {
        self.arm.begin_ns(from, way.from, direction) as f64
    }

    /// A read that is not in the cache, after `seek` and `wait` for its first sector.
    pub(super) fn read(&self, way: &Way, seek: f64, wait: f64, came: Came, reads: f64) -> Cost {
        let overheads = &self.profile.overheads;
        let bus = &self.profile.bus;
        let block = bus.read_block_ns as f64;
        let miss = Self::after(overheads.read_miss, reads);
        let (ready, left) = match came {
            Came::Idle => (miss, miss + Self::after(overheads.disconnect_read, reads)),
            Came::Busy => (0.0, 0.0),
        };
        let back = (overheads.reselect_first_ns + overheads.data_preparation_ns) as f64;
        let start = ready + seek + wait;
        let mut media = way.media;
        let mut whole = true;
        let mut first = way.runs[0].sector;
        if self.profile.cache.zero_latency_read == ZeroLatency::Yes && way.runs.len() == 1 {
            let passed = (self.turn - wait) / way.runs[0].sector;
            if wait > 0.0 && passed < way.count {
                media = passed.max(1.0) * way.runs[0].sector;
                whole = false;
                first = first.min(media);
            }
        }
        let mark = way
            .count
            .min(f64::from(self.profile.cache.segment_blocks).max(1.0));
        let mark = mark * f64::from(self.profile.cache.read_watermark_thousandths) / 1000.0;
        let marked = start + first + (mark - 1.0).max(0.0) * way.runs[0].sector;
        let from = left.max(marked) + back;
        let mut done = from + way.count * block;
        let (mut at, mut read) = (0.0, start);
        for run in &way.runs {
            read += run.gap;
            done = done.max(read + run.sector + (way.count - at) * block);
            read += run.count * run.sector;
            at += run.count;
            if whole {
                done = done.max(read + (way.count - at + 1.0) * block);
            }
        }
        done = done.max(start + media + block);
        if !bus.hold_for_read.is_yes()
            && done <= start + media + block * 1.01
            && way.count > mark.max(1.0)
        {
            done += back;
        }
        done += overheads.complete_read_ns as f64;
        let medium = start + media;
        let busy = match self.profile.queue.release {
            Release::AtCompletion => done.max(medium),
            Release::AtMediumDone => medium,
        };
        Cost {
            overhead: ready,
            seek,
            rotation: wait,
            transfer: done - ready - seek - wait,
            busy,
            response: done,
            medium,
        }
    }

    /// A write that is reported when it is on the medium.
    pub(super) fn write(&self, way: &Way, seek: f64, wait: f64, came: Came, reads: f64) -> Cost {
        let overheads = &self.profile.overheads;
        let block = self.profile.bus.write_block_ns as f64;
        let prepare = overheads.data_preparation_ns as f64;
        let reselect = overheads.reselect_first_ns as f64;
        let miss = Self::after(overheads.write_miss, reads);
        let (mut ready, mut from) = match came {
            Came::Idle => (miss, miss + prepare),
            Came::Busy => (0.0, reselect + prepare),
        };
        let mut leave = overheads.disconnect_write_ns as f64;
        let mut hold = 0.0;
        if let Some(extra) = overheads.extra_disconnect
            && came == Came::Idle
            && reads < 0.5
        {
            let away = extra.command_ns + extra.disconnect_ns + extra.away_ns;
            from = away as f64 + reselect + prepare;
            ready = (extra.command_ns + extra.seek_delta_ns) as f64;
            leave = extra.second_disconnect_ns as f64;
            hold = from + extra.least_of(way.count as u64) as f64 * block;
        }
        let settled = ready + seek;
        let medium = self.put(way, settled, wait, from, block, hold);
        let left = from + way.count * block + leave;
        let done = medium.max(left) + reselect + overheads.complete_write_ns as f64;
        let busy = match self.profile.queue.release {
            Release::AtCompletion => done,
            Release::AtMediumDone => medium,
        };
        Cost {
            overhead: ready,
            seek,
            rotation: wait,
            transfer: done - settled - wait,
            busy,
            response: done,
            medium,
        }
    }

    /// When a write is on the medium: the head settles at `settled`, `wait` before the first
    /// sector; block i comes at `from` + (i + 1) · `block`, not before `hold`.
    pub(super) fn put(
        &self,
        way: &Way,
        settled: f64,
        wait: f64,
        from: f64,
        block: f64,
        hold: f64,
    ) -> f64 {
        let turn = self.turn;
        let arrival = |index: f64| (from + (index + 1.0) * block).max(hold);
        if arrival(way.count - 1.0) <= settled {
            if self.profile.cache.zero_latency_write == ZeroLatency::Yes
                && way.runs.len() == 1
                && wait + way.media > turn
            {
                return settled + turn;
            }
            return settled + wait + way.media;
        }
        let mut at = 0.0;
        let mut time = settled + wait;
        for run in &way.runs {
            time += run.gap;
            let mut done = 0.0;
            let mut turns = 0;
            while done < run.count {
                let comes = arrival(at + done);
                if comes > time {
                    time += ((comes - time) / turn).ceil() * turn;
                }
                let ahead = time - arrival(at + done);
                let fit = if block <= run.sector {
                    run.count - done
                } else {
                    // As many as come before the head does.
                    let most = (run.count - done).max(1.0);
                    ((ahead / (block - run.sector)).floor() + 1.0).clamp(1.0, most)
                };
                done += fit;
                time += fit * run.sector;
                turns += 1;
                if turns > 10_000 {
                    break;
                }
            }
            at += run.count;
        }
        time
    }
}
