//! What the metadata of an image in sync begins with, where an array gets new metadata.

use dm::raid::{Described, Geometry, head_in_sync, head_of_reshape};
use lvm2::model::Raid;
use lvm2::plan::logical::{ArrayHead, ReshapeHead};

use crate::arrays::scheme;

/// The bytes from the start of the metadata on: a superblock, and a bitmap without a mark.
///
/// # Panics
///
/// The array keeps no state, or cannot be: the plan has seen to that.
pub fn array_head(head: &ArrayHead) -> Vec<u8> {
    let described = described(&head.raid, head.image_size.0);
    let bytes = head_in_sync(&described, head.size.0, head.place);
    bytes.expect("its bitmap has been there before")
}

/// The same of an array that begins to become another one.
///
/// # Panics
///
/// The same.
pub fn reshape_head(head: &ReshapeHead) -> Vec<u8> {
    let after = described(&head.raid, head.image_size.0);
    let before = described(&head.before, head.image_size.0);
    assert_eq!(before.geometry.size(), head.size.0, "it was as large");
    let bytes = head_of_reshape(&after, &before.geometry, head.space.0, head.place);
    bytes.expect("its bitmap has been there before")
}

fn described(raid: &Raid, image_size: u64) -> Described {
    let in_bytes = |sectors: lvm2::Sectors| sectors.to_bytes().map_or(0, |bytes| bytes.0);
    let scheme = scheme(raid).expect("an array with redundancy");
    let chunk = in_bytes(raid.stripe_size);
    let geometry = Geometry::new(scheme, raid.images.len(), chunk, image_size);
    let geometry = geometry.expect("an array that can be");
    Described::new(geometry, in_bytes(raid.region_size))
}
