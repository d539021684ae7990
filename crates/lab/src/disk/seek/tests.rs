//! Seek curves against published points and closed forms.

use super::{Arm, Direction, Eq7, SeekCurve};
use crate::error::Kind;

const EQ7: Eq7 = Eq7 {
    split: 384,
    root_base_ns: 3_240_000.0,
    root_ns: 400_000.0,
    line_base_ns: 8_000_000.0,
    line_ns: 8_000.0,
};

/// The published points of the HP 97560.
#[test]
fn equation_seven_gives_the_published_times() {
    let curve = SeekCurve::Eq7(EQ7);
    assert_eq!(curve.time_ns(0, 1962), 0);
    assert_eq!(curve.time_ns(1, 1962), 3_640_000);
    assert_eq!(curve.time_ns(100, 1962), 7_240_000);
    assert_eq!(curve.time_ns(1000, 1962), 16_000_000);
}

/// Lee and Katz's curve goes through its one-cylinder time and keeps its average and full stroke.
#[test]
fn three_points_keep_their_average() {
    let curve = SeekCurve::ThreePoint {
        single_ns: 2_000_000,
        average_ns: 9_000_000,
        full_ns: 18_000_000,
    };
    let arm = Arm::new(&curve, 10_000, 0, 0).unwrap();
    assert_eq!(arm.seek_ns(1), 2_000_000);
    let near = |time: u64, wanted: f64| (time as f64 / wanted - 1.0).abs() < 0.01;
    assert!(
        near(arm.average_seek_ns(), 9e6),
        "average {}",
        arm.average_seek_ns()
    );
    assert!(
        near(arm.seek_ns(9_999), 18e6),
        "full {}",
        arm.seek_ns(9_999)
    );
}

/// Between measured points the time is on the line, beyond them the line goes on.
#[test]
fn tables_are_linear() {
    let curve = SeekCurve::Table(vec![(1, 1000), (3, 3000), (10, 2300)]);
    let times: Vec<u64> = [1, 2, 3, 5, 10, 20]
        .iter()
        .map(|&distance| curve.time_ns(distance, 100))
        .collect();
    assert_eq!(times, [1000, 2000, 3000, 2800, 2300, 1300]);
}

/// A move takes the longer of seek and head switch; only writes settle, and only after a move.
#[test]
fn moves_settle() {
    let arm = Arm::new(&SeekCurve::Constant(500), 10, 800, 300).unwrap();
    let arm = arm.writing(70, 20).unwrap();
    let read = |from, to| arm.reach_ns(from, to, Direction::Read);
    assert_eq!(read((1, 0), (1, 0)), 0);
    assert_eq!(read((1, 0), (2, 0)), 500);
    assert_eq!(read((1, 0), (2, 1)), 800);
    assert_eq!(arm.begin_ns((1, 0), (2, 1), Direction::Write), 870);
    assert_eq!(arm.reach_ns((1, 0), (2, 1), Direction::Write), 820);
    assert_eq!(arm.reach_ns((1, 0), (1, 0), Direction::Write), 0);
    assert_eq!(arm.begin_ns((1, 0), (1, 0), Direction::Read), 300);
    assert_eq!(arm.begin_ns((1, 0), (2, 0), Direction::Read), 500);
}

/// The average over all pairs, against the plain double loop.
#[test]
fn the_average_is_over_all_pairs() {
    let arm = Arm::new(&SeekCurve::Eq7(EQ7), 300, 0, 0).unwrap();
    let mut sum = 0_u64;
    for from in 0..300_u32 {
        for to in 0..300 {
            sum += arm.seek_ns(from.abs_diff(to));
        }
    }
    assert_eq!(arm.average_seek_ns(), sum / 90_000);
}

/// Curves that no arm has are refused.
#[test]
fn impossible_curves_are_refused() {
    let slow = Arm::new(&SeekCurve::Constant(2_000_000_000), 10, 0, 0);
    let shuffled = Arm::new(&SeekCurve::Table(vec![(3, 1), (2, 2)]), 10, 0, 0);
    let switch = Arm::new(&SeekCurve::Constant(1), 10, 2_000_000_000, 0);
    for arm in [slow, shuffled, switch] {
        assert_eq!(arm.unwrap_err().kind(), Kind::Impossible);
    }
}
