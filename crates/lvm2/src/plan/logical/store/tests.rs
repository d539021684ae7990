//! Tests: stores that are joined, split off, resized, merged and removed.

use super::{Join, MergeStart, StoreHead, end_merge, join_snapshot, split_snapshot, start_merge};
use crate::model::samples::{golden, hidden_linear, linear, lv, read, text};
use crate::model::{
    LvFlag, ReadAhead, Relations, SegmentType, SnapshotState, VolumeGroup, to_text,
};
use crate::plan::change::{Before, Change, Level, VolumeChange};
use crate::plan::logical::{
    Along, AttributeChange, Permission, change_volume, remove_volumes, rename_volume,
};
use crate::plan::samples::{assert_sound, by_author, done, id, layout, refusal, resize, texts};
use crate::plan::undo;
use crate::text::Style;
use crate::{Bytes, Result, Sectors};

/// A group of extents of 1 MiB with a volume to be an origin, and one to be a store.
fn two() -> VolumeGroup {
    read(&text(&[linear("data", 0, 0, 20), linear("cow", 1, 0, 4)]))
}

const JOIN: Join<'_> = Join {
    origin: "data",
    store: "cow",
    chunk_size: Sectors(8),
    head: StoreHead::Zeroed,
};

fn join(vg: &VolumeGroup, join: &Join<'_>) -> Result<Change> {
    by_author(|author| join_snapshot(vg, join, author))
}

fn split(vg: &VolumeGroup, name: &str) -> Result<Change> {
    by_author(|author| split_snapshot(vg, name, author))
}

fn merge(vg: &VolumeGroup, name: &str) -> Result<Change> {
    by_author(|author| start_merge(vg, name, MergeStart::Later, author))
}

#[test]
fn a_volume_becomes_a_store_and_one_again() {
    // Proves: the head is zeroed before the commit, or kept and warned of; the holder is there and
    // gone again, the store hidden and visible; whoever has the store must give it up, and the
    // origin gets another table; what is told.
    let vg = two();
    let change = join(&vg, &JOIN).expect("it is possible");
    assert_sound(&change);
    let [Before::Fill { pieces, byte: 0 }] = &change.before[..] else {
        panic!("zeros are missing");
    };
    assert_eq!(
        (pieces[0].start, pieces[0].length),
        (Bytes(1 << 20), Bytes(4096))
    );
    let uuid = |name: &str| vg.lv(id(&vg, name)).uuid;
    let (lv, name) = (uuid("data"), "data".to_owned());
    let reload = VolumeChange::Reload { lv, name };
    let (lv, name) = (uuid("cow"), "cow".to_owned());
    let deactivate = VolumeChange::Deactivate { lv, name };
    assert_eq!(change.volumes, [reload.clone(), deactivate.clone()]);
    assert!(texts(&change, Level::Warning)[0].contains("DESTROY"));
    let joined = done(Ok(change));
    assert_eq!(
        layout(&joined),
        [
            "data: 0+20 linear pv0:0",
            "cow: 0+4 linear pv1:0",
            "snapshot0: 0+20 snapshot"
        ]
    );
    assert!(!joined.lv(id(&joined, "cow")).flags.has(LvFlag::Visible));
    let change = split(&joined, "cow").expect("it is possible");
    assert!(change.before.is_empty(), "it keeps what it holds");
    assert_eq!(change.volumes[..2], [reload, deactivate]);
    assert_eq!(
        texts(&change, Level::Note),
        ["Logical Volume vg/cow split from its origin."]
    );
    let apart = done(Ok(change));
    assert_eq!(layout(&apart), layout(&vg));
    assert!(apart.lv(id(&apart, "cow")).flags.has(LvFlag::Visible));
    let kept = Join {
        head: StoreHead::Kept,
        ..JOIN
    };
    let change = join(&apart, &kept).expect("it is possible");
    assert!(change.before.is_empty());
    assert_eq!(texts(&change, Level::Warning)[1], "vg/cow not zeroed.");
}

#[test]
fn not_everything_becomes_a_store() {
    // Proves: stock's refusals in its words, and ours: of what others use.
    let vg = done(join(&two(), &JOIN));
    let golden = golden();
    let of = |origin, store| Join {
        origin,
        store,
        ..JOIN
    };
    for (vg, wanted, why) in [
        (
            &vg,
            of("data", "data"),
            "Unable to use vg/data as both snapshot and origin.",
        ),
        (
            &vg,
            of("data", "cow"),
            "Command on LV vg/cow does not accept LV type snapshot.",
        ),
        (
            &two(),
            of("nosuch", "cow"),
            "Couldn't find origin volume nosuch in Volume group vg.",
        ),
        (
            &two(),
            of("data", "nosuch"),
            "Failed to find logical volume \"vg/nosuch\"",
        ),
        (
            &golden,
            of("linear1", "raid1"),
            "does not accept LV type raid1.",
        ),
        (
            &golden,
            of("linear1", "origin"),
            "it has snapshots of its own",
        ),
        (
            &golden,
            of("snap1", "linear1"),
            "Snapshots of snapshots are not supported.",
        ),
        (
            &golden,
            of("linear1", "raid1_rimage_0"),
            "on hidden LV vg0/raid1_rimage_0.",
        ),
    ] {
        let refused = refusal(join(vg, &wanted));
        assert!(refused.contains(why), "{refused}");
    }
    let large = Join {
        chunk_size: Sectors(2048),
        ..JOIN
    };
    assert!(refusal(join(&two(), &large)).starts_with("Chunk size must be a power of 2"));
    let small = read(&text(&[linear("data", 0, 0, 20), linear("cow", 1, 0, 1)]));
    let large = Join {
        chunk_size: Sectors(1024),
        ..JOIN
    };
    assert!(refusal(join(&small, &large)).contains("smaller than 3 chunks (2 extents, 1.50 MiB)"));
    assert!(refusal(split(&two(), "data")).contains("does not accept LV type linear."));
}

#[test]
fn a_merge_begins_as_by_stock() {
    // Proves: the holder names the store as the one that is merged, and is not called visible, as
    // in the group with all types; from then on nothing else is done with either of them but
    // removing the origin.
    let mut vg = read(&text(&[
        linear("data", 0, 0, 20),
        linear("cow8", 1, 0, 4),
        linear("cow16", 2, 0, 4),
    ]));
    for (store, chunk_size) in [("cow8", Sectors(8)), ("cow16", Sectors(16))] {
        let of = Join {
            store,
            chunk_size,
            ..JOIN
        };
        vg = done(join(&vg, &of));
    }
    let change = merge(&vg, "cow8").expect("it begins");
    assert_sound(&change);
    assert_eq!(
        texts(&change, Level::Note),
        ["Merging of snapshot vg/cow8 will occur on next activation of vg/data."]
    );
    assert_eq!(change.deferred, [vg.lv(id(&vg, "cow8")).uuid]);
    let now = by_author(|author| start_merge(&vg, "cow8", MergeStart::Now, author));
    assert!(now.expect("it begins").deferred.is_empty());
    let merging = done(Ok(change));
    let holder = merging.lv(id(&merging, "snapshot0"));
    assert!(holder.is_writable() && !holder.flags.has(LvFlag::Visible));
    let Some(SegmentType::Snapshot(snapshot)) = holder.first() else {
        panic!("it holds a snapshot");
    };
    assert_eq!(snapshot.state, SnapshotState::Merging);
    let written = String::from_utf8(to_text(&merging, Style::Raw)).expect("it is text");
    assert!(written.contains("origin = \"data\"\nmerging_store = \"cow8\""));
    assert!(!Relations::of(&merging).is_visible(&merging, id(&merging, "cow8")));
    let end = |vg: &VolumeGroup, name: &str| {
        let store = vg.lv(id(vg, name)).uuid;
        by_author(|author| end_merge(vg, &store, author))
    };
    let change = end(&merging, "cow8").expect("it ends");
    assert_sound(&change);
    assert_eq!(
        texts(&change, Level::Note)[0],
        "Merge of snapshot into logical volume vg/data has finished."
    );
    let merged = done(Ok(change));
    assert!(merged.lv_by_name("cow8").is_none() && merged.lv_by_name("snapshot0").is_none());
    assert_eq!(merged.lv(id(&merged, "data")).extents().0, 20);
    assert!(merged.lv_by_name("cow16").is_some(), "its neighbour stays");
    let why = refusal(end(&merging, "cow16"));
    assert!(why.contains("that is being merged"), "{why}");
    for (refused, why) in [
        (merge(&merging, "cow16"), "with merging snapshot vg/cow8."),
        (merge(&merging, "cow8"), "is being merged into its origin"),
        (split(&merging, "cow8"), "is being merged into its origin"),
        (
            resize(&merging, "data", "+1", None),
            "is being merged into it",
        ),
        (
            resize(&merging, "cow8", "+1", None),
            "internal logical volume vg/cow8",
        ),
        (
            by_author(|author| remove_volumes(&merging, &["cow8"], Along::Snapshots, author)),
            "Can't remove merging snapshot logical volume \"cow8\".",
        ),
    ] {
        let refused = refusal(refused);
        assert!(refused.contains(why), "{refused}");
    }
    let rest = by_author(|author| remove_volumes(&merging, &["data"], Along::Snapshots, author));
    assert_eq!(done(rest).lv_count(), 0);
}

#[test]
fn snapshots_are_renamed_and_changed() {
    // Proves: the names of origin and snapshot change in the holder's text too, and a snapshot's
    // permission is its store's.
    let vg = done(join(&two(), &JOIN));
    let vg = done(by_author(|author| {
        rename_volume(&vg, "cow", "monday", author)
    }));
    let vg = done(by_author(|author| {
        rename_volume(&vg, "data", "home", author)
    }));
    let written = String::from_utf8(to_text(&vg, Style::Raw)).expect("it is text");
    assert!(written.contains("origin = \"home\"\ncow_store = \"monday\""));
    let read_only = [AttributeChange::Permission(Permission::ReadOnly)];
    let vg = done(by_author(|author| {
        change_volume(&vg, "monday", &read_only, author)
    }));
    assert!(!vg.lv(id(&vg, "monday")).is_writable());
    assert!(vg.lv(id(&vg, "snapshot0")).is_writable());
    assert!(by_author(|author| rename_volume(&vg, "snapshot0", "x", author)).is_err());
    let read_ahead = [AttributeChange::ReadAhead(ReadAhead::None)];
    let changed = |name| by_author(|author| change_volume(&vg, name, &read_ahead, author));
    assert!(refusal(changed("home")).ends_with("Command not permitted on LV vg/home."));
    done(changed("monday"));
}

#[test]
fn snapshots_take_origins_of_their_own_along() {
    // Proves: where a snapshot is removed, its holder goes; an origin that exists only for it goes
    // too, and not before its last snapshot.
    let hidden = hidden_linear("a_vorigin", 0, 0, 20);
    let holder = |number: u8, store: &str| {
        let fields = format!("chunk_size = 8 origin = \"a_vorigin\" cow_store = \"{store}\"");
        lv(&format!("snapshot{number}"), 20, "snapshot", &fields)
    };
    let vg = read(&text(&[
        hidden,
        hidden_linear("a", 1, 0, 4),
        hidden_linear("b", 2, 0, 4),
        holder(0, "a"),
        holder(1, "b"),
    ]));
    let remove = |vg: &VolumeGroup, name: &str| {
        by_author(|author| remove_volumes(vg, &[name], Along::Nothing, author))
    };
    let one = done(remove(&vg, "a"));
    let names = |vg: &VolumeGroup| -> Vec<String> {
        vg.lvs().map(|(_, lv)| lv.name().to_owned()).collect()
    };
    assert_eq!(names(&one), ["a_vorigin", "b", "snapshot1"]);
    let last = remove(&one, "b").expect("it goes");
    let told = texts(&last, Level::Note);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(done(Ok(last)).lv_count(), 0);
    assert!(split(&vg, "a").is_err() && merge(&vg, "a").is_err());
}

#[test]
fn what_was_a_store_does_not_come_back_as_a_volume() {
    // Proves: what a volume held before it became a store is overwritten, so that this is not
    // undone; a new snapshot is, and one that was split off comes not back, since its origin may
    // have been written in between.
    let first = two();
    let second = done(join(&first, &JOIN));
    let undone = |versions: &[VolumeGroup]| by_author(|author| undo(versions, author));
    let refused = refusal(undone(&[first.clone(), second.clone()]));
    assert!(
        refused.contains("cow was the store of a snapshot in version 2"),
        "{refused}"
    );
    let third = done(split(&second, "cow"));
    assert!(undone(&[first, second.clone(), third.clone()]).is_err());
    let refused = refusal(undone(&[second, third]));
    assert!(refused.contains("a state of their own"), "{refused}");
}
