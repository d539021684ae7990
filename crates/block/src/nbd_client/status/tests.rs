//! What a server says of its extents, as ours.

use super::merge;
use crate::ExtentKind;
use crate::nbd::StatusExtent;
use crate::nbd::constants::{STATE_HOLE, STATE_ZERO};

/// Neighbours of one kind become one, no longer than what was asked, and as many as were asked.
#[test]
fn extents_are_merged_and_cut() {
    use ExtentKind::{Data, Hole, Zero};
    let both = STATE_HOLE | STATE_ZERO;
    // A hole that does not read as zeros is data; bits that nobody knows mean nothing.
    let said = [
        (512, both),
        (512, both | 1 << 40),
        (1024, STATE_ZERO),
        (512, STATE_HOLE),
        (512, 0),
        (4096, both),
    ];
    let said = said.map(|(len, status)| StatusExtent { len, status });
    let all = [(1024, Hole), (1024, Zero), (1024, Data), (4096, Hole)];
    for (len, count_max, wanted) in [
        (7168, 9, &all[..]),
        (1 << 40, 4, &all[..]),
        (7168, 3, &all[..3]),
        (7168, 1, &all[..1]),
        (7168, 0, &all[..1]),
        (1024, 9, &[(1024, Hole)]),
        (700, 9, &[(700, Hole)]),
        (
            3072 + 5,
            9,
            &[(1024, Hole), (1024, Zero), (1024, Data), (5, Hole)],
        ),
    ] {
        let found = merge(&said, len, count_max).expect("there are some");
        let found: Vec<_> = found.iter().map(|one| (one.len, one.kind)).collect();
        assert_eq!(found, wanted, "{len} {count_max}");
    }
    merge(&[], 512, 1).expect_err("a reply without extents");
    let empty = StatusExtent { len: 0, status: 0 };
    merge(&[empty], 512, 1).expect_err("a reply without a byte");
}
