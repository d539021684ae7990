//! Emulated disks are calibrated in virtual time and come back as they are.

use block::clock::Clock;

use super::{Calibration, Options, Writes, calibrate, fit_eq7};
use crate::disk::catalog;
use crate::disk::device::DiskDevice;
use crate::disk::drive::Drive;
use crate::disk::profile::{Profile, WritePolicy};
use crate::disk::rotation::Angle;
use crate::disk::seek::{Arm, Eq7};

fn calibrated(profile: &Profile, writes: Writes) -> Calibration {
    let clock = Clock::virtual_time();
    let drive = Drive::new(profile.clone(), Angle::new(7_000_000_000)).unwrap();
    let device = DiskDevice::new("emulated", drive, clock.clone());
    let options = Options { writes, seed: 3 };
    calibrate(&device, &clock, options, &mut |_, _| {}).unwrap()
}

fn near(what: &str, found: f64, truth: f64, share: f64) {
    let off = found / truth - 1.0;
    assert!(
        off.abs() <= share,
        "{what}: {found} instead of {truth}, {:.2} %",
        off * 100.0
    );
}

/// What every calibration must find.
fn compare(found: &Calibration, truth: &Profile) {
    let name = &truth.name;
    let mechanics = &truth.mechanics;
    let revolution_ns = 60e9 / f64::from(mechanics.rpm);
    near(
        &format!("{name} revolution"),
        found.revolution_ns.estimate,
        revolution_ns,
        0.001,
    );
    assert_eq!(found.profile.mechanics.rpm, mechanics.rpm);
    assert_eq!(found.profile.layout.heads, truth.layout.heads, "{name}");
    let cylinders = f64::from(truth.layout.cylinders);
    near(
        &format!("{name} cylinders"),
        f64::from(found.profile.layout.cylinders),
        cylinders,
        0.01,
    );
    assert_eq!(found.zones.len(), truth.layout.zones.len(), "{name} zones");
    for (zone, real) in found.zones.iter().zip(&truth.layout.zones) {
        assert_eq!(zone.per_track, u64::from(real.per_track), "{name}");
    }
    let command_ns = truth.overheads.read_hit.after_read_ns as f64;
    let found_ns = found.profile.overheads.read_hit.after_read_ns as f64;
    near(&format!("{name} command"), found_ns, command_ns, 0.05);
    near(
        &format!("{name} bus"),
        found.block_ns.estimate,
        truth.bus.read_block_ns as f64,
        0.05,
    );
    assert_eq!(
        found.profile.cache.segments, truth.cache.segments,
        "{name} segments"
    );
    let arm = |profile: &Profile| {
        let seek = &profile.mechanics.seek;
        Arm::new(seek, truth.layout.cylinders, 0, 0).unwrap()
    };
    let (real, fitted) = (arm(truth), arm(&found.profile));
    for point in &found.seeks {
        let distance = point.distance;
        let time_ns = (real.seek_ns(distance) as f64).max(mechanics.settle_ns as f64);
        let what = format!("{name} seek over {distance}");
        near(&what, point.time_ns.estimate, time_ns, 0.05);
        near(
            &format!("{what}, fitted"),
            fitted.seek_ns(distance) as f64,
            time_ns,
            0.05,
        );
    }
    let (real, fitted) = (
        real.average_seek_ns() as f64,
        fitted.average_seek_ns() as f64,
    );
    near(&format!("{name} average seek"), fitted, real, 0.02);
}

#[test]
fn a_measured_disk_comes_back() {
    // Many heads and zones, a cache of four segments with reading ahead.
    let truth = catalog::find("Seagate Cheetah 9LP ST39102LW").unwrap();
    let found = calibrated(&truth, Writes::Never);
    compare(&found, &truth);
    let blocks = f64::from(truth.cache.segment_blocks);
    near(
        "segment",
        f64::from(found.profile.cache.segment_blocks),
        blocks,
        0.05,
    );
    near(
        "settle",
        found.settle_ns.estimate,
        truth.mechanics.settle_ns as f64,
        0.05,
    );
    assert_eq!(found.profile.cache.write_policy, WritePolicy::Through);
}

#[test]
fn an_old_disk_comes_back() {
    // One zone, long sectors, one segment, reading ahead less than the segment.
    let truth = catalog::hp97560();
    let found = calibrated(&truth, Writes::Never);
    compare(&found, &truth);
    let switch_ns = truth.mechanics.head_switch_ns as f64;
    near(
        "head switch",
        found.head_switch_ns.estimate,
        switch_ns,
        0.05,
    );
    assert_eq!(
        found.profile.cache.read_ahead_max,
        truth.cache.read_ahead_max
    );
}

#[test]
fn a_desktop_disk_comes_back() {
    // Two heads, thirty zones, and a write cache, for which a calibration has to write.
    let truth = catalog::wd800bd_like();
    let found = calibrated(&truth, Writes::Permitted);
    compare(&found, &truth);
    assert_eq!(found.profile.cache.write_policy, WritePolicy::Behind);
}

#[test]
fn eq_7_is_found_again() {
    // Points of a curve give the curve; one bad point does not move it.
    let curve = Eq7 {
        split: 1000,
        root_base_ns: 1_500_000.0,
        root_ns: 100_000.0,
        line_base_ns: 3_662_277.0,
        line_ns: 1000.0,
    };
    let time = |distance: u32| match distance {
        0..=1000 => 1_500_000.0 + 100_000.0 * f64::from(distance).sqrt(),
        _ => 3_662_277.0 + 1000.0 * f64::from(distance),
    };
    let mut points: Vec<(u32, f64)> = (0..26)
        .map(|step| 1 + step * step * 12)
        .map(|at| (at, time(at)))
        .collect();
    points[20].1 *= 1.3;
    let fit = fit_eq7(&points).unwrap();
    for (number, truth) in [
        (fit.curve.root_base_ns, curve.root_base_ns),
        (fit.curve.root_ns, curve.root_ns),
        (fit.curve.line_ns, curve.line_ns),
    ] {
        near("coefficient", number, truth, 0.05);
    }
    assert!(fit_eq7(&points[..4]).is_none());
}
