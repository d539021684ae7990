//! Ranges as extents, against a list of bytes.

use block::Range;
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use super::{CHANGED, extents};

proptest! {
    /// The extents begin where the range does, say of each byte what the list says, are as long as
    /// they can be, and no more than were asked for; without a limit they cover the range.
    #[test]
    fn extents_are_what_is_listed(
        lengths in proptest::collection::vec(1_u64..8, 0..12),
        start in 0_u64..50,
        len in 1_u64..60,
        count_max in 1_usize..6,
    ) {
        let mut at = 0;
        let pairs = lengths.chunks_exact(2).map(|pair| {
            let range = Range::new(at + pair[0], pair[1]);
            at = range.end();
            range
        });
        let changed: Vec<Range> = pairs.collect();
        let range = Range::new(start, len);
        let is_changed =
            |byte: u64| changed.iter().any(|range| (range.start()..range.end()).contains(&byte));
        for count_max in [count_max, usize::MAX] {
            let found = extents(&changed, range, count_max);
            prop_assert!(!found.is_empty() && found.len() <= count_max);
            let mut at = start;
            for extent in &found {
                prop_assert!(extent.len > 0);
                for byte in at..at + extent.len {
                    prop_assert_eq!(extent.status == CHANGED, is_changed(byte));
                }
                at += extent.len;
            }
            prop_assert!(at <= range.end());
            prop_assert!(at == range.end() || found.len() == count_max);
            for pair in found.windows(2) {
                prop_assert!(pair[0].status != pair[1].status);
            }
        }
    }
}
