//! The model against five real drives.

use std::io::Read;
use std::path::Path;

use super::{Comparison, Request, compare, parse, run};
use crate::disk::drive::Drive;
use crate::disk::import::{Files, profile};
use crate::disk::rotation::Angle;
use crate::error::Kind;

fn fixture(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/disks")
        .join(file);
    let packed =
        std::fs::File::open(&path).unwrap_or_else(|_| panic!("{} is missing", path.display()));
    let mut text = String::new();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed).expect("a zstd file");
    decoder.read_to_string(&mut text).expect("text");
    text
}

fn measured(name: &str) -> (Drive, Vec<Request>) {
    let files = Files::read(name, |file| Ok(fixture(&format!("{file}.zst")))).unwrap();
    let drive = Drive::new(profile(&files).unwrap(), Angle::default()).unwrap();
    let requests = parse(name, &fixture(&format!("{name}.trace.zst"))).unwrap();
    (drive, requests)
}

/// The model is nearer to the real drive than 1.5 times what `DiskSim` says of itself, and its
/// mean is within 1 %.
fn judge(name: &str, published_ms: f64) {
    let (mut drive, requests) = measured(name);
    let outcomes = run(&mut drive, &requests).unwrap();
    let all = compare(&requests, &outcomes, |_| true);
    let demerit_ms = all.demerit_ns / 1e6;
    assert!(
        demerit_ms < 1.5 * published_ms,
        "{name}: demerit {demerit_ms} ms"
    );
    assert!(
        all.mean_error().abs() < 0.01,
        "{name}: the mean is off by {}",
        all.mean_error()
    );
    drive.check();
}

#[test]
fn the_cheetah_is_like_the_real_one() {
    judge("cheetah9LP", 0.107);
}

#[test]
fn the_atlas_is_like_the_real_one() {
    judge("atlas10k", 0.268);
}

#[test]
fn the_barracuda_is_like_the_real_one() {
    judge("barracuda", 0.349);
}

#[test]
fn the_c2247a_is_like_the_real_one() {
    judge("hp_c2247a", 0.090);
}

#[test]
fn the_c2490a_is_like_the_real_one() {
    judge("hp_c2490a", 0.254);
}

/// The same drive and trace give the same nanoseconds twice, and these: any change of the model
/// shows here.
#[test]
fn a_replay_is_bit_identical() {
    let (mut drive, requests) = measured("cheetah9LP");
    let mut again = drive.sibling(Angle::default());
    let first = run(&mut drive, &requests).unwrap();
    let digest = first.iter().fold(0_u64, |digest, outcome| {
        digest.wrapping_mul(0x0100_0000_01b3) ^ outcome.response_ns
    });
    assert_eq!(
        digest, 16_168_413_851_866_086_394,
        "if the model was meant to change, so must this number"
    );
    assert_eq!(first, run(&mut again, &requests).unwrap());
}

/// The demerit figure of two distributions that differ by a constant is that constant.
#[test]
fn the_demerit_of_a_shift_is_the_shift() {
    let mut measured: Vec<u64> = (0..1000).map(|index| index * 7919 % 1000).collect();
    let mut modelled: Vec<u64> = measured.iter().rev().map(|time| time + 25).collect();
    let comparison = Comparison::of(&mut measured, &mut modelled);
    assert!((comparison.demerit_ns - 25.0).abs() < 1e-9);
    assert!((comparison.mean_error() - 25.0 / 499.5).abs() < 1e-12);
}

/// Traces that are cut short or edited are refused, naming line and field.
#[test]
fn broken_traces_are_named() {
    let good = "R Hit 100 4 663.5 45422.0\n";
    assert_eq!(parse("t", good).unwrap()[0].response_ns, 663_500);
    for (line, field) in [
        ("R Hit 100 4 663.0", "think time"),
        ("X Hit 100 4 663.0 1.0", "first field"),
        ("R Maybe 100 4 663.0 1.0", "second field"),
        ("R Hit ten 4 663.0 1.0", "first block"),
        ("R Hit 100 0 663.0 1.0", "0 blocks"),
        ("R Hit 100 4 -3.0 1.0", "time"),
    ] {
        let error = parse("t.trace", &format!("{good}{line}\n")).unwrap_err();
        assert_eq!(error.kind(), Kind::Syntax);
        let message = error.to_string();
        assert!(
            message.contains("t.trace line 2") && message.contains(field),
            "{message}"
        );
    }
}
