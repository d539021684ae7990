//! Known drives.
//!
//! [`all`] lists them. Ten are summaries of measured parameter sets: their zones run linearly from
//! the outer to the inner number of sectors, their seek curve is Eq. 7 fitted to the measured one.
//! They are good for averages; where the parameter files are at hand, import them instead. The
//! others are made from data sheets or from published equations, and say so in their `source`.

use std::path::Path;

use super::file;
use super::geometry::{Layout, Sparing, Zone};
use super::profile::{
    AfterEach, Bus, Cache, Habit, Mechanics, Overheads, Profile, Queue, ReadAhead, Release,
    Scheduler, WritePolicy,
};
use super::seek::{Eq7, SeekCurve, settle_of};
use crate::error::{Error, Kind, Result};

/// The measured sets: one line each, milliseconds and counts, as published with their source.
const MEASURED: &str = include_str!("../../fixtures/disks/measured.csv");

/// A head switch of the desktop drives, which their data sheets do not tell.
const HEAD_SWITCH_NS: u64 = 1_000_000;

/// All drives of the catalog.
pub fn all() -> Vec<Profile> {
    let mut profiles = library();
    profiles.extend(period_pair());
    profiles.push(desktop_500gb_like());
    profiles
}

/// The drives that random questions to the predictor are about; the list does not grow, so that a
/// seed stays the same question.
pub fn library() -> Vec<Profile> {
    let mut profiles: Vec<Profile> =
        measured().expect("the list of measured drives is part of the program");
    profiles.push(wd800bd_like());
    profiles.push(hp97560());
    profiles
}

/// The drive of this name, or in this file, which ends in `.toml`.
pub fn find(name: &str) -> Result<Profile> {
    let path = Path::new(name);
    if path
        .extension()
        .is_some_and(|extension| extension == "toml")
    {
        return file::open(path);
    }
    let wanted = all()
        .into_iter()
        .find(|profile| profile.name.eq_ignore_ascii_case(name));
    wanted.ok_or_else(|| {
        let names: Vec<String> = all().into_iter().map(|profile| profile.name).collect();
        Error::new(
            Kind::Unsupported,
            format!(
                "there is no disk '{name}' in the catalog; it has {}, or give a file NAME.toml",
                names.join(", ")
            ),
        )
    })
}

/// What a summary of a drive says.
struct Summary {
    heads: u32,
    cylinders: u32,
    blocks: u64,
    rpm: u32,
    zones: u32,
    outer: u32,
    inner: u32,
}

impl Summary {
    /// Zones of equal width, sectors linear between outer and inner edge, skews that cover the head
    /// switch and the shortest seek, of writes too. So do those of parameter files: on the Atlas
    /// 10K a write switches heads in 0.66 ms and cylinders in 1.73 ms, and the skews of its outer
    /// zone are 1.13 and 2.02 ms; these are within 0.1 ms of them.
    fn layout(&self, head_switch_ns: u64, single_ns: u64) -> Layout {
        let period_ns = 60_000_000_000 / u64::from(self.rpm);
        let margin_ns = period_ns / 20;
        let skew = |time_ns: u64, per_track: u32| {
            let sectors = (time_ns + margin_ns) * u64::from(per_track) / period_ns + 1;
            (sectors % u64::from(per_track)) * 1000
        };
        let mut zones = Vec::new();
        for index in 0..self.zones {
            let edge = |number: u32| {
                (u64::from(self.cylinders) * u64::from(number) / u64::from(self.zones)) as u32
            };
            let steps = (self.zones - 1).max(1);
            let per_track = self.outer - (self.outer - self.inner) * index / steps;
            zones.push(Zone {
                first_cylinder: edge(index),
                last_cylinder: edge(index + 1) - 1,
                per_track,
                track_skew_millisectors: skew(head_switch_ns, per_track),
                cylinder_skew_millisectors: skew(single_ns, per_track),
                ..Zone::default()
            });
        }
        self.fit(&mut zones);
        let sparing = Sparing::SectorsPerZone;
        Layout {
            heads: self.heads,
            cylinders: self.cylinders,
            zones,
            sparing,
            ..Layout::default()
        }
    }

    /// The moving parts of a drive that only data sheets tell of. They give one time from track to
    /// track; that writes are slower they say of the average seek.
    fn desktop_mechanics(&self, seek: SeekCurve, write_settle_ns: i64) -> Mechanics {
        Mechanics {
            rpm: self.rpm,
            settle_ns: settle_of(&seek),
            seek,
            head_switch_ns: HEAD_SWITCH_NS,
            write_settle_ns,
            write_switch_ns: 0,
            write_seek_min_ns: 0,
        }
    }

    /// Makes the zones hold exactly as many blocks as the drive has: tracks get longer until there
    /// are enough, and what is too much is spared in equal shares.
    fn fit(&self, zones: &mut [Zone]) {
        let total =
            |zones: &[Zone]| -> u64 { zones.iter().map(|zone| zone.slots(self.heads)).sum() };
        while total(zones) < self.blocks {
            for zone in zones.iter_mut() {
                zone.per_track += 1;
            }
        }
        let surplus = total(zones) - self.blocks;
        let count = zones.len() as u64;
        for (index, zone) in (0..).zip(zones) {
            zone.spares = surplus / count + u64::from(index < surplus % count);
        }
    }
}

/// The ten measured drives.
fn measured() -> Result<Vec<Profile>> {
    MEASURED
        .lines()
        .filter(|line| !line.starts_with('#'))
        .skip(1)
        .map(measured_line)
        .collect()
}

fn measured_line(line: &str) -> Result<Profile> {
    let wrong = || Error::new(Kind::Syntax, format!("measured.csv: '{line}'"));
    let fields: Vec<&str> = line.split(',').collect();
    let whole = |index: usize| -> Result<u32> {
        fields
            .get(index)
            .and_then(|text| text.parse().ok())
            .ok_or_else(wrong)
    };
    let nano = |index: usize| -> Result<i64> {
        fields
            .get(index)
            .and_then(|text| super::import::milliseconds(text))
            .ok_or_else(wrong)
    };
    let eq7 = Eq7 {
        split: whole(15)?,
        root_base_ns: nano(16)? as f64,
        root_ns: nano(17)? as f64,
        line_base_ns: nano(18)? as f64,
        line_ns: nano(19)? as f64,
    };
    let single_ns = nano(12)?.unsigned_abs();
    let seek = SeekCurve::Listed {
        first_ns: vec![single_ns],
        beyond: Box::new(SeekCurve::Eq7(eq7)),
    };
    let summary = Summary {
        heads: whole(1)?,
        cylinders: whole(2)?,
        blocks: u64::from(whole(3)?),
        rpm: whole(4)?,
        zones: whole(5)?,
        outer: whole(6)?,
        inner: whole(7)?,
    };
    let head_switch_ns = nano(10)?.unsigned_abs();
    let write_settle_ns = nano(11)?;
    let longer_ns = u64::try_from(write_settle_ns).unwrap_or(0);
    Ok(Profile {
        name: fields[0].to_owned(),
        source: "summary of measured parameters (DiskSim validation set)".to_owned(),
        layout: summary.layout(
            (head_switch_ns + longer_ns).max(settle_of(&seek)),
            single_ns + longer_ns,
        ),
        mechanics: Mechanics {
            rpm: summary.rpm,
            settle_ns: settle_of(&seek),
            seek,
            head_switch_ns,
            write_settle_ns,
            write_switch_ns: write_settle_ns,
            write_seek_min_ns: 0,
        },
        overheads: overheads(300_000),
        cache: Cache {
            segments: 4,
            segment_blocks: 512,
            read_ahead: ReadAhead::Segment,
            ..Cache::default()
        },
        bus: bus(50_000),
        queue: Queue::default(),
    })
}

/// The same time for every class of command.
fn overheads(each_ns: u64) -> Overheads {
    Overheads {
        read_hit: AfterEach::both(each_ns),
        read_miss: AfterEach::both(each_ns),
        write_hit: AfterEach::both(each_ns),
        write_miss: AfterEach::both(each_ns),
        ..Overheads::default()
    }
}

fn bus(block_ns: u64) -> Bus {
    Bus {
        read_block_ns: block_ns,
        write_block_ns: block_ns,
        hold_for_read: Habit::Yes,
    }
}

/// A desktop drive of 80 GB from 2003: fitted to data sheets (seek times, average and full stroke
/// for reads; 55 to 28 MB/s over 30 zones) and not validated against a real one.
pub fn wd800bd_like() -> Profile {
    let eq7 = Eq7 {
        split: 13_920,
        root_base_ns: 1_972_000.0,
        root_ns: 25_700.0,
        line_base_ns: 2_824_000.0,
        line_ns: 156.7,
    };
    let seek = SeekCurve::Eq7(eq7);
    // 55 and 28 MB/s at 120 revolutions per second.
    let summary = Summary {
        heads: 2,
        cylinders: 116_000,
        blocks: 156_301_488,
        rpm: 7200,
        zones: 30,
        outer: 895,
        inner: 456,
    };
    Profile {
        name: "wd800bd-like".to_owned(),
        source: "data sheets of the class; spec-fitted, not validated".to_owned(),
        layout: summary.layout(HEAD_SWITCH_NS, seek.time_ns(1, 2)),
        // Writes average 10.9 ms instead of 8.9.
        mechanics: summary.desktop_mechanics(seek, 2_000_000),
        overheads: overheads(300_000),
        cache: Cache {
            segments: 8,
            segment_blocks: 512,
            write_segments: 64,
            read_ahead: ReadAhead::Segment,
            // The bus is faster than the medium: without it a host that reads on at once would
            // find the next block just coming, and wait for a turn; real ones stream.
            almost_hits: Habit::Yes,
            write_policy: WritePolicy::Behind,
            ..Cache::default()
        },
        // 150 MB/s.
        bus: bus(3413),
        queue: Queue {
            scheduler: Scheduler::Look,
            depth: 32,
            age_limit_ns: Some(1_000_000_000),
            release: Release::AtMediumDone,
        },
    }
}

/// Two desktop drives with the same arm and the same speed of rotation, of which one has three
/// times as many bits on a track: the third seed document's older one of 8 GB, 12 MB/s at the outer
/// edge, and its newer one of 30 GB, 35 MB/s. Made to fit these numbers and the data sheets of the
/// years (5400 rpm, seeks of 2, 9.5 and 18 ms), not validated against real ones.
pub fn period_pair() -> [Profile; 2] {
    let eq7 = Eq7 {
        split: 2352,
        root_base_ns: 1_893_000.0,
        root_ns: 107_000.0,
        line_base_ns: 5_592_800.0,
        line_ns: 633.05,
    };
    let drive = |name: &str, heads, blocks, outer, inner| {
        let desktop = wd800bd_like();
        let seek = SeekCurve::Eq7(eq7);
        let summary = Summary {
            heads,
            cylinders: 19_600,
            blocks,
            rpm: 5400,
            zones: 12,
            outer,
            inner,
        };
        Profile {
            name: name.to_owned(),
            source: "the third seed document and data sheets of the class; spec-fitted, not \
                     validated"
                .to_owned(),
            layout: summary.layout(HEAD_SWITCH_NS, seek.time_ns(1, 2)),
            mechanics: summary.desktop_mechanics(seek, 1_000_000),
            // ATA at 66 MB/s.
            bus: bus(7_750),
            ..desktop
        }
    };
    [
        drive("ide-8gb-like", 4, 15_625_000, 260, 139),
        drive("ide-30gb-like", 5, 58_593_750, 760, 436),
    ]
}

/// A desktop drive of 500 GB, as the fourth and fifth seed documents' machines may have had: made
/// to fit what Hitachi published of its Deskstar 7K500 (five platters, 7200 rpm, 8.5 ms for the
/// average seek, 64.8 to 31 MB/s sustained over 30 zones, 16 MB of cache, 300 MB/s). The curve of
/// its seeks is that of [`wd800bd_like`], over its own cylinders and shorter by the ratio of their
/// averages. Not validated against a real one.
pub fn desktop_500gb_like() -> Profile {
    let desktop = wd800bd_like();
    let seek = SeekCurve::Eq7(Eq7 {
        split: 12_840,
        root_base_ns: 1_883_000.0,
        root_ns: 25_560.0,
        line_base_ns: 2_697_000.0,
        line_ns: 162.2,
    });
    // A track of so many blocks takes a turn and a skew, 9.8 ms in all.
    let summary = Summary {
        heads: 10,
        cylinders: 107_000,
        blocks: 976_773_168,
        rpm: 7200,
        zones: 30,
        outer: 1239,
        inner: 592,
    };
    Profile {
        name: "desktop-500gb-like".to_owned(),
        layout: summary.layout(HEAD_SWITCH_NS, seek.time_ns(1, 2)),
        mechanics: summary.desktop_mechanics(seek, 1_000_000),
        cache: Cache {
            segments: 16,
            segment_blocks: 2048,
            ..desktop.cache
        },
        // 300 MB/s.
        bus: bus(1707),
        ..desktop
    }
}

/// A drive for sums by hand: 6,000 rpm (a turn takes 10 ms), 100 sectors per track (0.1 ms each),
/// 2 heads, seeks of 5 ms, head switches of 1 ms with a skew of 20 sectors, overheads of 0.5 ms,
/// a bus of 0.01 ms per block, no cache. Not among [`all`].
pub fn plain() -> Profile {
    let each = AfterEach::both(500_000);
    Profile {
        name: "plain".to_owned(),
        source: "made up".to_owned(),
        layout: Layout {
            heads: 2,
            cylinders: 1000,
            zones: vec![Zone {
                last_cylinder: 999,
                per_track: 100,
                track_skew_millisectors: 20_000,
                cylinder_skew_millisectors: 60_000,
                ..Zone::default()
            }],
            ..Layout::default()
        },
        mechanics: Mechanics {
            rpm: 6000,
            seek: SeekCurve::Constant(5_000_000),
            head_switch_ns: 1_000_000,
            settle_ns: 0,
            write_settle_ns: 0,
            write_switch_ns: 0,
            write_seek_min_ns: 0,
        },
        overheads: Overheads {
            read_hit: each,
            read_miss: each,
            write_hit: each,
            write_miss: each,
            ..Overheads::default()
        },
        cache: Cache {
            segments: 0,
            ..Cache::default()
        },
        bus: Bus {
            read_block_ns: 10_000,
            write_block_ns: 10_000,
            hold_for_read: Habit::Yes,
        },
        queue: Queue::default(),
    }
}

/// The HP 97560 of 1991, by the equations of Ruemmler and Wilkes (1994) as several simulators have
/// them.
pub fn hp97560() -> Profile {
    let eq7 = Eq7 {
        split: 384,
        root_base_ns: 3_240_000.0,
        root_ns: 400_000.0,
        line_base_ns: 8_000_000.0,
        line_ns: 8_000.0,
    };
    let zone = Zone {
        first_cylinder: 0,
        last_cylinder: 1961,
        per_track: 72,
        track_skew_millisectors: 8_000,
        cylinder_skew_millisectors: 18_000,
        ..Zone::default()
    };
    Profile {
        name: "HP 97560".to_owned(),
        source: "published equations (Ruemmler and Wilkes 1994)".to_owned(),
        layout: Layout {
            heads: 19,
            cylinders: 1962,
            zones: vec![zone],
            ..Layout::default()
        },
        mechanics: Mechanics {
            rpm: 4002,
            seek: SeekCurve::Eq7(eq7),
            head_switch_ns: 1_600_000,
            settle_ns: 0,
            write_settle_ns: 0,
            write_switch_ns: 0,
            write_seek_min_ns: 0,
        },
        overheads: overheads(2_200_000),
        cache: Cache {
            segments: 1,
            segment_blocks: 256,
            read_ahead: ReadAhead::Segment,
            read_ahead_max: 128,
            write_policy: WritePolicy::BehindWhenIdle,
            ..Cache::default()
        },
        // SCSI-2 at 10 MB/s.
        bus: bus(51_200),
        queue: Queue::default(),
    }
}

#[cfg(test)]
mod tests;
