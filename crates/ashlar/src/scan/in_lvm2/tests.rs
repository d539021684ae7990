//! The lines about old texts, of areas in several orders.

use super::old_texts;

/// Each area that is not the newest so far is named beside the one that is; those with its
/// number are not.
#[test]
fn old_texts_are_compared_in_their_order() {
    let newer_first = old_texts("vg", &[("a", 2), ("b", 1), ("c", 2)]);
    assert_eq!(
        newer_first,
        [
            "WARNING: ignoring metadata seqno 1 on b for seqno 2 on a for VG vg.",
            "WARNING: Inconsistent metadata found for VG vg.",
            "See vgck --updatemetadata to correct inconsistency.",
        ]
    );
    let newer_last = old_texts("vg", &[("a", 2), ("b", 2), ("c", 7), ("d", 7)]);
    assert_eq!(
        newer_last[0],
        "WARNING: ignoring metadata seqno 2 on a for seqno 7 on c for VG vg."
    );
    assert_eq!(newer_last.len(), 3);
    assert!(old_texts("vg", &[("a", 2), ("b", 2)]).is_empty());
}
