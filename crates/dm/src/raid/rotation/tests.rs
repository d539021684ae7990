//! Rows against pictures.

use super::{Parity, Rotation, Row};

/// Rows as pictures draw them: the number of each data chunk, or the parity.
fn picture(rotation: Rotation, parity: Parity, legs: usize, rows: u64) -> Vec<String> {
    let row = |number: u64| {
        let row = rotation.row(number, legs, parity);
        let first = number as usize * row.data_count();
        let cell = |leg: usize| match row.index(leg) {
            Some(index) => (first + index).to_string(),
            None if leg == row.p => "P".into(),
            None => "Q".into(),
        };
        (0..legs).map(cell).collect::<Vec<_>>().join(" ")
    };
    (0..rows).map(row).collect()
}

/// The layouts of one parity are those of the pictures in SNIA's and the kernel's documents.
#[test]
fn one_parity_turns_as_drawn() {
    let drawn = |rotation| picture(rotation, Parity::One, 4, 5);
    assert_eq!(
        drawn(Rotation::LeftAsymmetric),
        ["0 1 2 P", "3 4 P 5", "6 P 7 8", "P 9 10 11", "12 13 14 P"]
    );
    assert_eq!(
        drawn(Rotation::RightAsymmetric),
        ["P 0 1 2", "3 P 4 5", "6 7 P 8", "9 10 11 P", "P 12 13 14"]
    );
    assert_eq!(
        drawn(Rotation::LeftSymmetric),
        ["0 1 2 P", "4 5 P 3", "8 P 6 7", "P 9 10 11", "12 13 14 P"]
    );
    assert_eq!(
        drawn(Rotation::RightSymmetric),
        ["P 0 1 2", "5 P 3 4", "7 8 P 6", "9 10 11 P", "P 12 13 14"]
    );
    assert_eq!(drawn(Rotation::First)[4], "P 12 13 14");
    assert_eq!(drawn(Rotation::Last)[3], "9 10 11 P");
}

/// The layouts of two parities are those of the pictures: DDF's, and md's own.
#[test]
fn two_parities_turn_as_drawn() {
    let drawn = |rotation| picture(rotation, Parity::Two, 5, 5);
    assert_eq!(
        drawn(Rotation::ZeroRestart),
        [
            "P Q 0 1 2",
            "3 P Q 4 5",
            "6 7 P Q 8",
            "9 10 11 P Q",
            "Q 12 13 14 P"
        ]
    );
    assert_eq!(
        drawn(Rotation::NRestart),
        [
            "0 1 2 P Q",
            "3 4 P Q 5",
            "6 P Q 7 8",
            "P Q 9 10 11",
            "Q 12 13 14 P"
        ]
    );
    assert_eq!(
        drawn(Rotation::NContinue),
        [
            "0 1 2 Q P",
            "4 5 Q P 3",
            "8 Q P 6 7",
            "Q P 9 10 11",
            "P 12 13 14 Q"
        ]
    );
    assert_eq!(
        drawn(Rotation::LeftSymmetric)[..3],
        ["Q 0 1 2 P", "3 4 5 P Q", "7 8 P Q 6"]
    );
    assert_eq!(
        drawn(Rotation::RightSymmetric)[..3],
        ["P Q 0 1 2", "5 P Q 3 4", "7 8 P Q 6"]
    );
    assert_eq!(
        drawn(Rotation::LeftAsymmetric)[..3],
        ["Q 0 1 2 P", "3 4 5 P Q", "6 7 P Q 8"]
    );
    assert_eq!(drawn(Rotation::Last)[4], "12 13 14 P Q");
    assert_eq!(drawn(Rotation::First)[4], "P Q 12 13 14");
}

/// What one parity does on all but the last leg, with the second one there.
#[test]
fn the_sixes_are_fives_with_a_leg_of_q() {
    for (six, five) in [
        (Rotation::LeftAsymmetric6, Rotation::LeftAsymmetric),
        (Rotation::RightAsymmetric6, Rotation::RightAsymmetric),
        (Rotation::LeftSymmetric6, Rotation::LeftSymmetric),
        (Rotation::RightSymmetric6, Rotation::RightSymmetric),
        (Rotation::First6, Rotation::First),
    ] {
        let fives = picture(five, Parity::One, 5, 7);
        let with_q: Vec<_> = fives.iter().map(|row| format!("{row} Q")).collect();
        assert_eq!(picture(six, Parity::Two, 6, 7), with_q);
    }
}

/// In each row of any array each leg has one part, and data count in Q by different powers.
#[test]
fn each_leg_has_one_part_in_each_row() {
    for rotation in Rotation::all() {
        for parity in [Parity::One, Parity::Two] {
            if !rotation.suits(parity) {
                continue;
            }
            for legs in parity.count() + 2..9 {
                for number in 0..3 * legs as u64 {
                    check(&rotation.row(number, legs, parity), legs);
                }
            }
        }
    }
}

fn check(row: &Row, legs: usize) {
    let data: Vec<_> = (0..row.data_count()).map(|index| row.leg(index)).collect();
    let mut all: Vec<_> = data.iter().copied().chain([row.p]).chain(row.q).collect();
    all.sort_unstable();
    assert_eq!(all, (0..legs).collect::<Vec<_>>(), "{row:?}");
    for (index, leg) in data.iter().enumerate() {
        assert_eq!(row.index(*leg), Some(index), "{row:?}");
    }
    if row.q.is_some() {
        let mut powers: Vec<_> = data.iter().map(|leg| row.power(*leg)).collect();
        powers.sort_unstable();
        powers.dedup();
        assert_eq!(powers.len(), data.len(), "{row:?}");
        assert!(powers.iter().all(|power| *power < legs), "{row:?}");
    }
}

/// Data count by their places behind Q in md's own layouts, and by their legs in DDF's.
#[test]
fn powers_begin_behind_q_or_at_leg_0() {
    let powers = |rotation: Rotation, number| {
        let row = rotation.row(number, 5, Parity::Two);
        let data = (0..5).filter(|leg| row.index(*leg).is_some());
        data.map(|leg| (leg, row.power(leg))).collect::<Vec<_>>()
    };
    // 7 8 P Q 6
    assert_eq!(powers(Rotation::LeftSymmetric, 2), [(0, 1), (1, 2), (4, 0)]);
    // 6 7 P Q 8
    assert_eq!(powers(Rotation::ZeroRestart, 2), [(0, 0), (1, 1), (4, 4)]);
}

/// Numbers of md's are read as they are written.
#[test]
fn numbers_name_rotations() {
    for rotation in Rotation::all() {
        assert_eq!(Rotation::from_md(rotation.md()), Some(rotation));
    }
    assert_eq!(Rotation::from_md(6), None);
}
