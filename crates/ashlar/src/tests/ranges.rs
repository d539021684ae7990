//! Ranges for properties that are proven of lists of them.

use block::Range;

/// The ranges of a list of lengths, gaps and runs in turn: in order, and apart.
pub(crate) fn ranges(lengths: &[u64]) -> Vec<Range> {
    let mut at = 0;
    let pairs = lengths.chunks_exact(2).map(|pair| {
        let range = Range::new(at + pair[0], pair[1]);
        at = range.end();
        range
    });
    pairs.collect()
}
