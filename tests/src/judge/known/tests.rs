//! Tests of reasons of differences: each is whole.

use super::known;

/// Each reason is about something and says why.
#[test]
fn reasons_are_whole() {
    let whats = [
        "code", "report", "lacks", "form", "adds", "field", "hang", "stock", "ours", "line",
    ];
    for known in known() {
        let is_what = known.what.split(' ').all(|what| whats.contains(&what));
        assert!(is_what && known.reason.len() > 10, "{known:?}");
    }
}
