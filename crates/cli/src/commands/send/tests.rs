//! Ranges widened to whole blocks.

use block::Range;
use proptest::prelude::{prop_assert, proptest};

use super::aligned;

proptest! {
    /// What is widened holds every byte that was there, whole blocks but for the end of the
    /// volume, in order and apart, and no block that has none of them.
    #[test]
    fn ranges_are_widened_to_blocks(
        lengths in proptest::collection::vec(1_u64..40, 0..20),
        tail in 0_u64..9,
    ) {
        const BLOCK: u64 = 8;
        let mut at = 0;
        let pairs = lengths.chunks_exact(2).map(|pair| {
            let range = Range::new(at + pair[0], pair[1]);
            at = range.end();
            range
        });
        let ranges: Vec<Range> = pairs.collect();
        let size = at + tail;
        let wide = aligned(&ranges, BLOCK, size);
        for pair in wide.windows(2) {
            prop_assert!(pair[0].end() < pair[1].start());
        }
        for range in &wide {
            let is_end = range.end() % BLOCK == 0 || range.end() == size;
            prop_assert!(range.start() % BLOCK == 0 && is_end && range.end() <= size);
        }
        let is_in = |list: &[Range], byte: u64| {
            list.iter().any(|range| (range.start()..range.end()).contains(&byte))
        };
        for byte in 0..size {
            let block = byte - byte % BLOCK;
            let wanted = (block..block + BLOCK).any(|byte| is_in(&ranges, byte));
            prop_assert!(is_in(&wide, byte) == wanted, "byte {}", byte);
        }
    }
}
