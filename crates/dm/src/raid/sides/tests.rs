//! Rows are of one side or of none, and no step reaches what counts.

use super::{Reshape, row_len};
use crate::raid::superblock::Extended;
use crate::raid::{Geometry, Parity, Rotation, Scheme};

const CHUNK: u64 = 4096;
const ROWS: u64 = 24;

fn geometry(rotation: Rotation, legs: usize, chunk: u64) -> Geometry {
    let scheme = Scheme::Parity(Parity::One, rotation);
    Geometry::new(scheme, legs, chunk, ROWS * CHUNK).expect("it can be")
}

/// Arrays that become others, each from its start, with so many chunks of room on each leg.
fn reshapes(room: u64) -> Vec<(Reshape, u64)> {
    let plain = geometry(Rotation::LeftSymmetric, 4, CHUNK);
    let mut all = Vec::new();
    for (to, backwards) in [
        (geometry(Rotation::LeftSymmetric, 5, CHUNK), false),
        (geometry(Rotation::LeftSymmetric, 7, CHUNK), false),
        (geometry(Rotation::LeftSymmetric, 3, CHUNK), true),
        (geometry(Rotation::Last, 4, CHUNK), false),
        (geometry(Rotation::Last, 4, CHUNK), true),
        (geometry(Rotation::LeftSymmetric, 4, 2 * CHUNK), false),
        (geometry(Rotation::LeftSymmetric, 4, 2 * CHUNK), true),
        (geometry(Rotation::LeftSymmetric, 4, CHUNK / 2), true),
    ] {
        let room = room * CHUNK;
        let (data_start, new_start) = if backwards { (0, room) } else { (room, 0) };
        let reshape = Reshape {
            from: plain,
            to,
            position: if backwards { to.size() } else { 0 },
            backwards,
            new_start,
            says: Some(Extended::at_rest((5, 2), 8)),
        };
        all.push((reshape, data_start));
    }
    all
}

/// From the start to the end each step writes where no old row is that counts before it, and each
/// byte that is kept in sync is an old row's, a new one's or nobody's.
#[test]
fn steps_end_where_old_rows_begin() {
    for room in [2, 3, 7] {
        for (mut reshape, data_start) in reshapes(room) {
            let what = format!("{reshape:?}");
            let legs = reshape.from.legs().max(reshape.to.legs());
            assert_eq!(reshape.obstacle(legs, data_start), None, "{what}");
            let mut steps = 0;
            while !reshape.is_over() {
                let next = reshape.next(data_start).expect("there is room");
                let before = reshape;
                reshape.position = next;
                assert_ne!(next, before.position, "{what}");
                let (from, to) = (before.new_edge(), reshape.new_edge());
                let written = from.min(to) + before.new_start..from.max(to) + before.new_start;
                let old = before.old_edge();
                let counts = if before.backwards {
                    data_start..data_start + old
                } else {
                    data_start + old..data_start + ROWS * CHUNK
                };
                let meets = written.start < counts.end && counts.start < written.end;
                assert!(!meets, "{what}: {written:?} is written, {counts:?} counts");
                for sync in (0..ROWS * CHUNK).step_by(512) {
                    let side = reshape.side(sync, data_start);
                    let is_new = side.is_some_and(|side| side.start == before.new_start);
                    let begins = if before.backwards {
                        sync >= reshape.new_edge()
                    } else {
                        sync < reshape.new_edge()
                    };
                    assert_eq!(is_new, begins, "{what}: {sync}");
                }
                steps += 1;
                assert!(steps < 10_000, "{what} ends");
            }
            let row = row_len(&reshape.to);
            assert!(reshape.position.is_multiple_of(row), "{what}");
        }
    }
}

/// What is not gone on with is refused, and says why.
#[test]
fn what_is_not_gone_on_with_says_why() {
    let (plain, data_start) = reshapes(2)[0];
    let legs = plain.to.legs();
    let why = |reshape: Reshape, data_start| reshape.obstacle(legs, data_start).unwrap_or("");
    let cases = [
        (
            why(
                Reshape {
                    says: None,
                    ..plain
                },
                data_start,
            ),
            "md",
        ),
        (why(plain, 0), "no room"),
        (
            why(
                Reshape {
                    position: CHUNK,
                    ..plain
                },
                data_start,
            ),
            "inside a row",
        ),
        (
            why(
                Reshape {
                    from: plain.to,
                    to: plain.from,
                    ..plain
                },
                data_start,
            ),
            "wrong end",
        ),
        (
            why(
                Reshape {
                    from: plain.to,
                    to: plain.from,
                    position: plain.to.size(),
                    backwards: true,
                    ..plain
                },
                data_start,
            ),
            "does not know",
        ),
        (
            why(
                Reshape {
                    to: Geometry::new(Scheme::near_copies(2), legs, CHUNK, ROWS * CHUNK)
                        .expect("it can be"),
                    ..plain
                },
                data_start,
            ),
            "copies",
        ),
    ];
    for (said, expected) in cases {
        assert!(said.contains(expected), "{said:?} has {expected:?}");
    }
}
