//! The catalog against what was published of its drives.

use super::{all, find};
use crate::disk::drive::{Command, Drive, Operation};
use crate::disk::rotation::Angle;

/// The measured drives have their capacity, and their average seek within 1 % of the published.
#[test]
fn summaries_keep_capacity_and_average_seek() {
    let lines: Vec<&str> = super::MEASURED
        .lines()
        .filter(|line| !line.starts_with('#'))
        .skip(1)
        .collect();
    assert_eq!(lines.len(), 10);
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let drive = Drive::new(find(fields[0]).unwrap(), Angle::default()).unwrap();
        assert_eq!(
            drive.geometry().blocks(),
            fields[3].parse::<u64>().unwrap(),
            "{line}"
        );
        let average: f64 = fields[13].parse().unwrap();
        let modelled = drive.arm().average_seek_ns() as f64 / 1e6;
        let error = (modelled / average - 1.0).abs();
        assert!(
            error < 0.03,
            "{line}: average seek {modelled} ms, not {average}"
        );
    }
}

/// Every drive of the catalog can be made.
#[test]
fn all_drives_are_possible() {
    for profile in all() {
        let name = profile.name.clone();
        let drive = Drive::new(profile, Angle::default());
        assert!(drive.is_ok(), "{name}: {:?}", drive.err());
        assert!(drive.is_ok_and(|drive| drive.geometry().blocks() > 100_000));
    }
    assert!(
        find("no such disk")
            .unwrap_err()
            .to_string()
            .contains("HP 97560")
    );
}

/// The desktop drive keeps what its data sheets say.
#[test]
fn the_desktop_drive_is_fitted() {
    let drive = Drive::new(super::wd800bd_like(), Angle::default()).unwrap();
    let average = drive.arm().average_seek_ns() as f64 / 1e6;
    assert!(
        (average / 8.9 - 1.0).abs() < 0.05,
        "average seek {average} ms"
    );
    let zones = drive.geometry().zones();
    let rate = |per_track: u32| f64::from(per_track) * 512.0 * 120.0 / 1e6;
    assert!((rate(zones[0].per_track) / 55.0 - 1.0).abs() < 0.01);
    assert!((rate(zones[29].per_track) / 28.0 - 1.0).abs() < 0.01);
}

/// The two drives of the third seed document differ in nothing but the bits on a track.
#[test]
fn the_pair_has_one_arm_and_two_rates() {
    let [older, newer] = super::period_pair().map(|it| Drive::new(it, Angle::default()).unwrap());
    for (drive, bytes, rate) in [(&older, 8e9, 12.0), (&newer, 30e9, 35.0)] {
        assert!((drive.geometry().blocks() as f64 * 512.0 - bytes).abs() < 512.0);
        let average = drive.arm().average_seek_ns() as f64 / 1e6;
        assert!((average / 9.5 - 1.0).abs() < 0.02, "{average} ms");
        let outer = f64::from(drive.geometry().zones()[0].per_track) * 512.0 * 90.0 / 1e6;
        assert!((outer / rate - 1.0).abs() < 0.02, "{outer} MB/s");
    }
    assert_eq!(older.arm().average_seek_ns(), newer.arm().average_seek_ns());
    assert_eq!(super::library().len() + 3, all().len());
}

/// The larger desktop drive reads at the sustained rates of its data sheet, outside and inside.
#[test]
fn the_larger_desktop_drive_keeps_its_data_sheet() {
    let profile = super::desktop_500gb_like();
    let mut drive = Drive::new(profile, Angle::default()).unwrap();
    let blocks = drive.geometry().blocks();
    assert_eq!(blocks, 976_773_168);
    let average = drive.arm().average_seek_ns() as f64 / 1e6;
    assert!((average / 8.5 - 1.0).abs() < 0.02, "{average} ms");
    let mut now = 0;
    for (first, rate) in [(0, 64.8), (blocks - 400_000, 31.0)] {
        let begin = now;
        for tag in 0..800 {
            let command = Command {
                tag,
                operation: Operation::Read,
                start: first + tag * 256,
                count: 256,
            };
            drive.submit(now, command);
            while drive.answer(now).is_none() {
                now = drive.wake().unwrap();
            }
        }
        let found = 800.0 * 256.0 * 512.0 * 1e3 / (now - begin) as f64;
        assert!(
            (found / rate - 1.0).abs() < 0.02,
            "{found} MB/s, not {rate}"
        );
    }
}

/// The skews of a summary are those of a parameter file, within 2 % of a turn.
#[test]
fn skews_cover_writes() {
    let atlas = find("Quantum Atlas 10K (Tornado)").unwrap();
    let zone = &atlas.layout.zones[0];
    // The parameter file: 63 and 113 of the 334 sectors of its outer zone.
    let turned = |millisectors: u64| millisectors as f64 / 1000.0 / f64::from(zone.per_track);
    let tracks = turned(zone.track_skew_millisectors) - 63.0 / 334.0;
    let cylinders = turned(zone.cylinder_skew_millisectors) - 113.0 / 334.0;
    assert!(tracks.abs() < 0.02, "{tracks} of a turn");
    assert!(cylinders.abs() < 0.02, "{cylinders} of a turn");
}
