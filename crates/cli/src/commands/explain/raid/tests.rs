//! Pictures are those of `docs/raid.md`, and cells say what was counted.

use dm::raid::{Geometry, Parity, Rotation, Scheme};
use lab::raid::MeanCost;

use super::{Counted, requests, rows, told};

/// The rows of an array with chunks of 4 KiB, as lines.
fn picture(scheme: Scheme, legs: usize) -> Vec<String> {
    let geometry = Geometry::new(scheme, legs, 4096, 4096 * 2 * legs as u64);
    let rows = rows(&geometry.expect("an array"));
    rows.iter().map(|row| row.join(" ")).collect()
}

/// Each kind of layout is drawn, one turn of it.
#[test]
fn layouts_are_drawn() {
    let five = |rotation| Scheme::Parity(Parity::One, rotation);
    let symmetric = picture(five(Rotation::LeftSymmetric), 3);
    assert_eq!(symmetric, ["0 1 P", "3 P 2", "P 4 5"]);
    let first = picture(five(Rotation::First), 3);
    assert_eq!(first, ["P 0 1", "P 2 3", "P 4 5"]);
    let six = Scheme::Parity(Parity::Two, Rotation::ZeroRestart);
    assert_eq!(picture(six, 5)[..2], ["P Q 0 1 2", "3 P Q 4 5"]);
    let ten = picture(Scheme::near_copies(2), 4);
    assert_eq!(ten[..2], ["0 0 1 1", "2 2 3 3"]);
    let odd = picture(Scheme::near_copies(2), 3);
    assert_eq!(odd, ["0 0 1", "1 2 2", "3 3 4"]);
    assert_eq!(picture(Scheme::Mirror, 2), ["all all"]);
    // More than can be looked at is not drawn, and long turns are cut.
    assert!(picture(five(Rotation::Last), 17).is_empty());
    assert_eq!(picture(five(Rotation::Last), 16).len(), 8);
}

/// What is asked and what it costs, in words.
#[test]
fn cells_say_what_was_counted() {
    let cell = Counted::from(MeanCost {
        reads: 4.0 / 3.0,
        writes: 2.0,
        read_bytes: 4096.0,
        written_bytes: 8192.0,
    });
    assert_eq!(told(Some(cell)), "1.33 + 2, 12 KiB");
    assert_eq!(told(None), "lost");
    let words = |chunk| -> Vec<String> {
        let all = requests(chunk, &[]).into_iter();
        all.map(|(words, _, _)| words).collect()
    };
    let small = [
        "read 4 KiB",
        "read 8 KiB, a row",
        "write 4 KiB",
        "write 8 KiB, a row",
    ];
    assert_eq!(words(Some((4096, 8192))), small);
    assert_eq!(words(Some((65536, 131_072))).len(), 6);
    assert_eq!(words(None), ["read 4 KiB", "write 4 KiB"]);
}
