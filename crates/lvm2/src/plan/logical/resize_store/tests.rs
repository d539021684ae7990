//! Tests: sizes of origins and stores.

use crate::model::samples::{hidden_linear, linear, lv, read, text};
use crate::model::{Relations, VolumeGroup};
use crate::plan::change::Level;
use crate::plan::samples::{done, id, refusal, resize, texts};

/// A group of extents of 1 MiB with an origin and the store of its snapshot.
fn two() -> VolumeGroup {
    let fields = "chunk_size = 8 origin = \"data\" cow_store = \"cow\"";
    read(&text(&[
        linear("data", 0, 0, 20),
        hidden_linear("cow", 1, 0, 4),
        lv("snapshot0", 20, "snapshot", fields),
    ]))
}

#[test]
fn sizes_change_within_what_is_used() {
    // Proves: a store grows to what its origin can fill, and no further, without failing; it
    // shrinks to what it holds, and no further, nor where that is not known; an origin grows, its
    // snapshot keeps its size, and never shrinks.
    let vg = two();
    let grown = resize(&vg, "cow", "50", None).expect("it grows");
    assert_eq!(
        texts(&grown, Level::Note)[0],
        "Reached maximum COW size 21.00 MiB (21 extents)."
    );
    let grown = done(Ok(grown));
    assert_eq!(grown.lv(id(&grown, "cow")).extents().0, 21);
    let same = resize(&grown, "cow", "+1", None).expect("that is no failure");
    assert!(same.groups.is_empty());
    assert!(texts(&same, Level::Note)[1].contains("unchanged from 21.00 MiB"));
    assert_eq!(
        refusal(resize(&vg, "cow", "4", None)),
        "New size (4 extents) matches existing size (4 extents)."
    );
    let smaller = |used| resize(&grown, "cow", "2", used);
    assert!(refusal(smaller(None)).contains("is not known"));
    let refused = refusal(smaller(Some(4097)));
    assert!(
        refused.contains("are in use, which are 3 extents"),
        "{refused}"
    );
    let shrunk = done(smaller(Some(4096)));
    assert_eq!(shrunk.lv(id(&shrunk, "cow")).extents().0, 2);
    assert_eq!(
        refusal(resize(&vg, "data", "19", None)),
        "Snapshot origin volumes cannot be reduced in size yet."
    );
    let origin = done(resize(&vg, "data", "25", None));
    let relations = Relations::of(&origin);
    let length = relations.snapshot_length(&origin, id(&origin, "cow"));
    assert_eq!(length.expect("it is a store").0, 20);
    // The store has more to hold now.
    let more = done(resize(&origin, "cow", "+100%ORIGIN", None));
    assert_eq!(more.lv(id(&more, "cow")).extents().0, 26);
}
