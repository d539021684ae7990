//! Ranges say truly whether they are cut at blocks.

use super::Range;

#[test]
fn blocks_are_powers_of_two_or_not() {
    // Both ends count, for blocks that are divided by a mask and for others.
    for block in [1, 3, 512, 1000, 4096, 65536 * 3] {
        for start in [0, 1, 3, 511, 512, 999, 1000, 3000, 4096, 65536 * 3] {
            for len in [0, 1, 3, 512, 1000, 1024, 4096, 65536 * 6] {
                let aligned = start % block == 0 && len % block == 0;
                let range = Range::new(start, len);
                assert_eq!(range.is_aligned(block), aligned, "{range:?} by {block}");
            }
        }
    }
}
