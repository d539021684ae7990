//! One calibration: the steps in their order, and the profile made of what they learnt.

use block::Device;
use block::clock::Clock;

use super::cache::{self, CacheFit};
use super::fit::{CurveFit, fit_eq7};
use super::probe::Probe;
use super::rotation;
use super::seeks::{self, Move};
use super::tracks::{self, Heads, Track};
use super::zones::{self, Cylinders, ZoneFit};
use crate::disk::geometry::{Layout, Sparing, Zone};
use crate::disk::profile::{
    AfterEach, Bus, Cache, Habit, Mechanics, Overheads, Profile, Queue, ReadAhead, WritePolicy,
};
use crate::disk::seek::SeekCurve;
use crate::error::{Error, Kind, Result};
use crate::stats::Interval;

/// Blocks that are written to learn of the write cache.
const WRITES: u64 = 16;

/// Whether a calibration may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Writes {
    /// It only reads.
    #[default]
    Never,
    /// It writes a few blocks with what they hold.
    Permitted,
}

/// What to do.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Whether to write.
    pub writes: Writes,
    /// Chooses the places.
    pub seed: u64,
}

/// Told of each step: its name, and how far it came, of a thousand.
pub type Progress<'a> = dyn FnMut(&str, u64) + 'a;

/// A seek that was timed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeekPoint {
    /// Cylinders.
    pub distance: u32,
    /// Its time, in nanoseconds.
    pub time_ns: Interval,
}

/// What was learnt of a disk.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// All of it, as a model takes it.
    pub profile: Profile,
    /// The time of a revolution, in nanoseconds.
    pub revolution_ns: Interval,
    /// The answer to a read of one block in the cache.
    pub hit_ns: Interval,
    /// What each further block takes to the host.
    pub block_ns: Interval,
    /// To settle on the track where the head is.
    pub settle_ns: Interval,
    /// To another head of the cylinder; not less than settling, however short the switch.
    pub head_switch_ns: Interval,
    /// Tracks by length.
    pub zones: Vec<ZoneFit>,
    /// Timed seeks.
    pub seeks: Vec<SeekPoint>,
    /// Eq. 7 through them.
    pub curve: CurveFit,
    /// What is not certain.
    pub remarks: Vec<String>,
    /// Requests that were made.
    pub requests: u64,
    /// How long it took, by the disk's clock.
    pub elapsed_ns: u64,
}

/// Times `device` by `clock`, which is its own if it is emulated.
pub fn calibrate(
    device: &dyn Device,
    clock: &Clock,
    options: Options,
    progress: &mut Progress<'_>,
) -> Result<Calibration> {
    let mut probe = Probe::open(device, clock.clone(), options.seed)?;
    let begun_ns = probe.now_ns();
    progress("cache", 0);
    let cache = cache::learn(&mut probe)?;
    progress("rotation", 0);
    let revolution_ns = rotation::learn(&mut probe)?;
    let turn_ns = revolution_ns.estimate;
    progress("heads", 0);
    let (track, heads) = tracks::heads(&mut probe, turn_ns, 0)?;
    let zones = zones::learn(&mut probe, turn_ns, &mut |part| progress("zones", part))?;
    let cylinders = Cylinders::new(&zones, heads.count);
    let switches = switches(&mut probe, turn_ns, &heads, &track)?;
    let moves = seeks::learn(&mut probe, turn_ns, &cylinders, heads.count, &mut |part| {
        progress("seeks", part);
    })?;
    let writes = match options.writes {
        Writes::Never => None,
        Writes::Permitted => Some(write_policy(&mut probe, turn_ns)?),
    };
    let learnt = Learnt {
        name: device.info().name,
        revolution_ns,
        cache,
        heads,
        switches,
        moves,
        writes,
    };
    let mut calibration = learnt.finish(zones, &cylinders)?;
    calibration.requests = probe.requests;
    calibration.elapsed_ns = probe.now_ns() - begun_ns;
    Ok(calibration)
}

/// To the track itself and to the next one of the cylinder, from command to answer, with a sector.
fn switches(
    probe: &mut Probe,
    turn_ns: f64,
    heads: &Heads,
    track: &Track,
) -> Result<[(Interval, f64); 2]> {
    let at = |index: u64| Track {
        next: heads.cylinder + (index + 1) * track.per_track,
        ..*track
    };
    let last = u64::from(heads.count) - 1;
    let source = at(last).next - 1;
    let here = seeks::reach(probe, turn_ns, source, &at(last))?;
    let other = if heads.count > 1 {
        seeks::reach(probe, turn_ns, source, &at(0))?
    } else {
        here
    };
    Ok([(here, track.sector_ns), (other, track.sector_ns)])
}

fn write_policy(probe: &mut Probe, turn_ns: f64) -> Result<WritePolicy> {
    let mut fast = 0;
    for _ in 0..WRITES {
        let place = probe.somewhere();
        if (probe.rewrite(place)?.took_ns() as f64) < turn_ns / 4.0 {
            fast += 1;
        }
        probe.flush()?;
    }
    Ok(if fast > WRITES / 2 {
        WritePolicy::Behind
    } else {
        WritePolicy::Through
    })
}

struct Learnt {
    name: String,
    revolution_ns: Interval,
    cache: CacheFit,
    heads: Heads,
    switches: [(Interval, f64); 2],
    moves: Vec<Move>,
    writes: Option<WritePolicy>,
}

impl Learnt {
    /// What is left of an answer without the command, the sector and its way to the host.
    fn moved(&self, (answer, sector_ns): (Interval, f64)) -> Interval {
        let spent = self.cache.hit_ns.estimate + sector_ns;
        answer.map(|time| (time - spent).max(0.0))
    }

    fn finish(self, zones: Vec<ZoneFit>, cylinders: &Cylinders) -> Result<Calibration> {
        let settle_ns = self.moved(self.switches[0]);
        let head_switch_ns = self.moved(self.switches[1]);
        let seeks: Vec<SeekPoint> = self
            .moves
            .iter()
            .map(|one| SeekPoint {
                distance: one.distance as u32,
                time_ns: self.moved((one.answer_ns, one.sector_ns)),
            })
            .collect();
        let points: Vec<(u32, f64)> = seeks
            .iter()
            .skip(1)
            .map(|point| (point.distance, point.time_ns.estimate.max(1.0)))
            .collect();
        let curve = fit_eq7(&points).ok_or_else(|| {
            Error::new(
                Kind::Unsupported,
                "it has too few cylinders for a seek curve",
            )
        })?;
        let first_ns = seeks[0].time_ns.estimate as u64;
        let profile = Profile {
            source: "calibrated from outside".to_owned(),
            layout: self.layout(&zones, cylinders),
            mechanics: Mechanics {
                rpm: (60e9 / self.revolution_ns.estimate + 0.5) as u32,
                seek: SeekCurve::Listed {
                    first_ns: vec![first_ns],
                    beyond: Box::new(SeekCurve::Eq7(curve.curve)),
                },
                head_switch_ns: head_switch_ns.estimate as u64,
                settle_ns: settle_ns.estimate as u64,
                write_settle_ns: 0,
                write_switch_ns: 0,
                write_seek_min_ns: 0,
            },
            overheads: self.overheads(),
            cache: self.cache(),
            bus: Bus {
                read_block_ns: self.cache.block_ns.estimate as u64,
                write_block_ns: self.cache.block_ns.estimate as u64,
                hold_for_read: Habit::Yes,
            },
            queue: Queue::default(),
            name: self.name.clone(),
        };
        profile.validate()?;
        Ok(Calibration {
            profile,
            remarks: self.remarks(&settle_ns, &head_switch_ns),
            revolution_ns: self.revolution_ns,
            hit_ns: self.cache.hit_ns,
            block_ns: self.cache.block_ns,
            settle_ns,
            head_switch_ns,
            zones,
            seeks,
            curve,
            requests: 0,
            elapsed_ns: 0,
        })
    }

    fn layout(&self, zones: &[ZoneFit], cylinders: &Cylinders) -> Layout {
        let skew = |time_ns: f64, per_track: u64| {
            let sectors = time_ns / self.revolution_ns.estimate * per_track as f64;
            (sectors * 1000.0).max(0.0) as u64
        };
        let zones = zones
            .iter()
            .zip(cylinders.of_zones())
            .map(|(zone, (first, last))| Zone {
                first_cylinder: first as u32,
                last_cylinder: last as u32,
                per_track: zone.per_track as u32,
                track_skew_millisectors: skew(self.heads.track_skew_ns, zone.per_track),
                cylinder_skew_millisectors: skew(self.heads.cylinder_skew_ns, zone.per_track),
                ..Zone::default()
            });
        Layout {
            heads: self.heads.count,
            cylinders: cylinders.count as u32,
            zones: zones.collect(),
            sparing: Sparing::None,
            ..Layout::default()
        }
    }

    fn overheads(&self) -> Overheads {
        let command_ns = self.cache.hit_ns.estimate - self.cache.block_ns.estimate;
        let each = AfterEach::both(command_ns.max(0.0) as u64);
        Overheads {
            read_hit: each,
            read_miss: each,
            write_hit: each,
            write_miss: each,
            ..Overheads::default()
        }
    }

    fn cache(&self) -> Cache {
        let present = self.cache.present;
        Cache {
            segments: if present { self.cache.segments } else { 0 },
            segment_blocks: self.cache.segment_blocks.max(1) as u32,
            read_ahead: if self.cache.ahead > 0 {
                ReadAhead::Segment
            } else {
                ReadAhead::None
            },
            read_ahead_max: if self.cache.ahead + 1 < self.cache.segment_blocks {
                self.cache.ahead as u32
            } else {
                0
            },
            write_policy: self.writes.unwrap_or_default(),
            ..Cache::default()
        }
    }

    fn remarks(&self, settle_ns: &Interval, head_switch_ns: &Interval) -> Vec<String> {
        let mut remarks = Vec::new();
        let mut remark = |what: &str| remarks.push(what.to_owned());
        if !self.heads.certain {
            remark("all tracks follow each other alike: it is taken for a disk of one head");
        }
        if !self.cache.present {
            remark("no read cache was seen: the command's time counts for the seek");
        }
        if head_switch_ns.low <= settle_ns.high {
            remark("a head switch is not longer than settling: it may be any time up to that");
        }
        if self.writes.is_none() {
            remark("writes were not timed: the profile writes through, and settles as for reads");
        }
        remarks
    }
}
