//! What is concluded from what a mirror says of itself.

use dm::mirror::ImageHealth::{self, Good, Lost, OutOfSync, ReadErrors};
use dm::mirror::{LogHealth, Status};

use super::known;

/// What a mirror says counts only where it is enough.
#[test]
fn what_is_known_is_kept() {
    let known = |images: &[ImageHealth], in_sync| {
        known(&Status {
            images: images.to_vec(),
            in_sync,
            regions: 16,
            dirty: 0,
            copying: 0,
            log: LogHealth::Memory,
        })
    };
    assert_eq!(known(&[Good, Good], 16), Some(16));
    assert_eq!(known(&[Good, ReadErrors], 16), Some(16));
    assert_eq!(known(&[Good, Good], 15), Some(0));
    assert_eq!(known(&[Good, OutOfSync], 16), Some(0));
    assert_eq!(known(&[Good, Lost], 3), Some(0));
    assert_eq!(known(&[OutOfSync, Good], 3), None);
    assert_eq!(known(&[Lost, Good], 16), None);
    assert_eq!(known(&[], 16), None);
}
