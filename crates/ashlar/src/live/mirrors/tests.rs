//! What is concluded from what a mirror says of itself.

use super::known;

/// What a mirror says counts only where it is enough.
#[test]
fn what_is_known_is_kept() {
    let known = |legs: &str, regions: &str| {
        known(&format!(
            "images={legs} in_sync={regions} dirty=0 copying=0 log=core"
        ))
    };
    assert_eq!(known("AA", "16/16"), Some(16));
    assert_eq!(known("AR", "16/16"), Some(16));
    assert_eq!(known("AA", "15/16"), Some(0));
    assert_eq!(known("AS", "16/16"), Some(0));
    assert_eq!(known("AD", "3/16"), Some(0));
    assert_eq!(known("SA", "3/16"), None);
    assert_eq!(known("DA", "16/16"), None);
    assert_eq!(known("", "16"), None);
}
