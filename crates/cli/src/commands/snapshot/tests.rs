//! Lists of ranges put together.

use block::Range;
use proptest::prelude::{prop_assert_eq, proptest};

use super::united;

fn bytes(ranges: &[Range]) -> Vec<bool> {
    let mut all = vec![false; 64];
    for range in ranges {
        all[range.start() as usize..range.end() as usize].fill(true);
    }
    all
}

/// The ranges of a list of lengths: gaps and runs in turn.
fn ranges(lengths: &[u64]) -> Vec<Range> {
    let mut at = 0;
    let pairs = lengths.chunks_exact(2).map(|pair| {
        let range = Range::new(at + pair[0], pair[1]);
        at = range.end();
        range
    });
    pairs.collect()
}

proptest! {
    /// Both lists are there, nothing else is, and no two ranges touch.
    #[test]
    fn lists_are_united(
        one in proptest::collection::vec(1_u64..8, 0..8),
        other in proptest::collection::vec(1_u64..8, 0..8),
    ) {
        let (one, other) = (ranges(&one), ranges(&other));
        let both = united(&one, &other);
        let wanted: Vec<bool> = bytes(&one)
            .into_iter()
            .zip(bytes(&other))
            .map(|(one, other)| one || other)
            .collect();
        prop_assert_eq!(bytes(&both), wanted);
        for pair in both.windows(2) {
            assert!(pair[0].end() < pair[1].start());
        }
    }
}
