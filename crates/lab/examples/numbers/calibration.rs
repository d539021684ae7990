//! Calibrating emulated disks: how far off what comes back is.

use ashlar_lab::calibrate::{Calibration, Options, Writes, calibrate};
use ashlar_lab::disk::catalog;
use ashlar_lab::disk::device::DiskDevice;
use ashlar_lab::disk::drive::Drive;
use ashlar_lab::disk::profile::Profile;
use ashlar_lab::disk::rotation::Angle;
use ashlar_lab::disk::seek::Arm;
use block::clock::Clock;

use super::Result;
use super::row::{Effort, Goal, Unit, row, worse};

/// Drives that are calibrated.
const DRIVES: [(&str, Writes); 3] = [
    ("HP 97560", Writes::Never),
    ("Seagate Cheetah 9LP ST39102LW", Writes::Never),
    ("wd800bd-like", Writes::Permitted),
];

pub(crate) fn rows(effort: Effort) -> Result<()> {
    let (mut rotation, mut others, mut counts): (f64, f64, f64) = (0.0, 0.0, 0.0);
    let drives = &DRIVES[..effort.of(DRIVES.len(), 1)];
    for &(name, writes) in drives {
        let truth = catalog::find(name)?;
        let clock = Clock::virtual_time();
        let drive = Drive::new(truth.clone(), Angle::new(7_000_000_000))?;
        let device = DiskDevice::new("emulated", drive, clock.clone());
        let options = Options { writes, seed: 3 };
        let found = calibrate(&device, &clock, options, &mut |_, _| {})?;
        let revolution_ns = 60e9 / f64::from(truth.mechanics.rpm);
        rotation = worse(rotation, found.revolution_ns.estimate, revolution_ns);
        others = others.max(parameters(&found, &truth)?);
        counts += miscounted(&found, &truth);
    }
    let of = format!("of {} drives", drives.len());
    let case = format!("calibration, rotation, worst {of}");
    row(&case, Unit::Percent, rotation * 100.0, Goal::AtMost(0.1));
    let case = format!("calibration, seeks, command, bus, cache, worst {of}");
    row(&case, Unit::Percent, others * 100.0, Goal::AtMost(5.0));
    let case = format!("calibration, wrong numbers of heads, zones, sectors, segments {of}");
    row(&case, Unit::Number, counts, Goal::AtMost(0.0));
    Ok(())
}

/// The largest error of what is no count.
fn parameters(found: &Calibration, truth: &Profile) -> Result<f64> {
    let mut worst = 0.0;
    for (value, truth) in [
        (
            found.profile.overheads.read_hit.after_read_ns as f64,
            truth.overheads.read_hit.after_read_ns as f64,
        ),
        (found.block_ns.estimate, truth.bus.read_block_ns as f64),
        (
            f64::from(found.profile.cache.segment_blocks),
            f64::from(truth.cache.segment_blocks),
        ),
        (
            f64::from(found.profile.layout.cylinders),
            f64::from(truth.layout.cylinders),
        ),
    ] {
        worst = worse(worst, value, truth);
    }
    let arm = |profile: &Profile| {
        let seek = &profile.mechanics.seek;
        Arm::new(seek, truth.layout.cylinders, 0, 0)
    };
    let (real, fitted) = (arm(truth)?, arm(&found.profile)?);
    for point in &found.seeks {
        let time_ns = real.seek_ns(point.distance).max(truth.mechanics.settle_ns) as f64;
        worst = worse(worst, point.time_ns.estimate, time_ns);
        worst = worse(worst, fitted.seek_ns(point.distance) as f64, time_ns);
    }
    Ok(worse(
        worst,
        fitted.average_seek_ns() as f64,
        real.average_seek_ns() as f64,
    ))
}

/// How many counts are not the drive's.
fn miscounted(found: &Calibration, truth: &Profile) -> f64 {
    let seen: Vec<u64> = found.zones.iter().map(|zone| zone.per_track).collect();
    let zones = truth.layout.zones.iter();
    let real: Vec<u64> = zones.map(|zone| u64::from(zone.per_track)).collect();
    let same = [
        found.profile.layout.heads == truth.layout.heads,
        found.profile.cache.segments == truth.cache.segments,
        seen == real,
    ];
    same.iter().filter(|same| !**same).count() as f64
}
