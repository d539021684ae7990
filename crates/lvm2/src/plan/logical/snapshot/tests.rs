//! Tests: new snapshots, beside the golden ones and stock's rules.

use super::{CHUNK_SIZE_DEFAULT, NewSnapshot, create_snapshot};
use crate::model::samples::{every_type, golden, hidden, linear, lv, read, text};
use crate::model::{AllocationPolicy, LvFlag, Relations, SegmentType, VolumeGroup, to_text};
use crate::plan::change::{Before, Change, Level, VolumeChange};
use crate::plan::logical::{
    Along, NewKind, NewVolume, Permission, Skip, Stripes, Zeroing, remove_volumes,
};
use crate::plan::places::Places;
use crate::plan::samples::{assert_sound, by_author, done, id, layout, texts};
use crate::plan::size::SizeArgument;
use crate::text::Style;
use crate::{Bytes, Kind, Result, Sectors};

fn extents(text: &str) -> SizeArgument {
    SizeArgument::from_extents(text).expect("it is a size")
}

fn new<'a>(origin: &'a str, size: &str) -> NewSnapshot<'a> {
    NewSnapshot {
        origin,
        chunk_size: CHUNK_SIZE_DEFAULT,
        store: NewVolume {
            name: Some("snap"),
            ..NewVolume::linear(extents(size))
        },
    }
}

fn create(vg: &VolumeGroup, new: &NewSnapshot<'_>) -> Result<Change> {
    by_author(|author| create_snapshot(vg, new, author))
}

fn refusal(vg: &VolumeGroup, new: &NewSnapshot<'_>) -> String {
    create(vg, new).expect_err("it is refused").context
}

/// A group with a linear volume of 20 extents of 1 MiB.
fn one() -> VolumeGroup {
    read(&text(&[linear("data", 0, 0, 20)]))
}

/// What the text says of a volume, without identity and time.
fn written(vg: &VolumeGroup, name: &str) -> Vec<String> {
    let text = String::from_utf8(to_text(vg, Style::Raw)).expect("it is text");
    let mut lines = text
        .lines()
        .skip_while(|line| *line != format!("{name} {{"));
    let mut depth = 0;
    let mut found = Vec::new();
    for line in &mut lines {
        depth += line.matches('{').count();
        depth -= line.matches('}').count();
        let differs = ["id = ", "creation_time", "creation_host"];
        if !differs.iter().any(|start| line.starts_with(start)) {
            found.push(line.to_owned());
        }
        if depth == 0 {
            break;
        }
    }
    assert!(!found.is_empty(), "{name}");
    found
}

#[test]
fn snapshots_are_written_as_by_stock() {
    // Proves: where the golden group loses its snapshots and gets them anew in the same places, its
    // text is the same as that which stock has written, but for identities and times.
    let golden = golden();
    let mut vg = done(by_author(|author| {
        remove_volumes(&golden, &["snap1", "snap2"], Along::Nothing, author)
    }));
    for (name, chunk, place) in [("snap1", 8, "pv0:61-64"), ("snap2", 32, "pv0:65-68")] {
        let (pv, _) = vg.pvs().next().expect("there is one");
        let find = |name: &str| (name == "pv0").then_some(pv);
        let places = Places::parse(&vg, &[place], find).expect("it is a place");
        let mut wanted = new("origin", "4");
        wanted.chunk_size = Sectors(chunk);
        wanted.store.name = Some(name);
        wanted.store.places = Some(&places);
        vg = done(create(&vg, &wanted));
    }
    for name in ["origin", "snap1", "snap2", "snapshot0", "snapshot1"] {
        assert_eq!(written(&vg, name), written(&golden, name));
    }
    let names = |vg: &VolumeGroup| -> Vec<String> {
        let mut names: Vec<_> = vg.lvs().map(|(_, lv)| lv.name().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&vg), names(&golden));
}

#[test]
fn a_store_is_empty_and_its_origin_reloaded() {
    // Proves: the first 4 KiB of the store are zero before the commit, and nothing is looked for in
    // it; the origin's table changes, so that nobody may have the origin active without copying;
    // what is told.
    let change = create(&one(), &new("data", "3")).expect("there is space");
    assert_sound(&change);
    let [Before::Fill { pieces, byte: 0 }] = &change.before[..] else {
        panic!("zeros are missing, or something else is written");
    };
    assert_eq!(
        (pieces.len(), pieces[0].start, pieces[0].length),
        (1, Bytes(21 << 20), Bytes(4096))
    );
    let vg = change.vg().expect("a group");
    let (data, snap) = (vg.lv(id(vg, "data")), vg.lv(id(vg, "snap")));
    let reload = VolumeChange::Reload {
        lv: data.uuid,
        name: "data".to_owned(),
    };
    let activate = VolumeChange::Activate {
        lv: snap.uuid,
        name: "snap".to_owned(),
    };
    assert_eq!(change.volumes, [reload, activate]);
    assert_eq!(
        texts(&change, Level::Note),
        ["Logical volume \"snap\" created."]
    );
    assert_eq!(
        layout(vg),
        [
            "data: 0+20 linear pv0:0",
            "snap: 0+3 linear pv0:20",
            "snapshot0: 0+20 snapshot"
        ]
    );
    let relations = Relations::of(vg);
    assert!(relations.is_visible(vg, id(vg, "snap")));
    assert!(!relations.is_visible(vg, id(vg, "snapshot0")));
    assert_eq!(vg.seqno, 2);
}

#[test]
fn numbers_and_names_follow_each_other() {
    // Proves: the holder's number is one more than the highest, the snapshot's own name is the next
    // of all volumes', and reserved or taken names are refused.
    let mut vg = one();
    for (snapshot, holder) in [("lvol0", "snapshot0"), ("lvol1", "snapshot1")] {
        let mut nameless = new("data", "2");
        nameless.store.name = None;
        vg = done(create(&vg, &nameless));
        let relations = Relations::of(&vg);
        let parent = relations.parent(id(&vg, snapshot)).expect("it is held");
        assert_eq!(vg.lv(parent).name(), holder);
    }
    let vg = done(by_author(|author| {
        remove_volumes(&vg, &["lvol0"], Along::Nothing, author)
    }));
    let vg = done(create(&vg, &new("data", "2")));
    assert!(vg.lv_by_name("snapshot0").is_none() && vg.lv_by_name("snapshot2").is_some());
    for (name, why) in [
        ("snapshot7", "\"snapshot\" are reserved"),
        ("snap", "already exists"),
    ] {
        let mut named = new("data", "2");
        named.store.name = Some(name);
        let refusal = refusal(&vg, &named);
        assert!(refusal.contains(why), "{refusal}");
    }
}

#[test]
fn sizes_are_those_of_stock() {
    // Proves: a store is no larger than its origin can fill, which is told; shares of the origin
    // have room for all entries; a store that can keep nothing is refused.
    let size = |size: &str, chunk: u64| {
        let mut wanted = new("data", size);
        wanted.chunk_size = Sectors(chunk);
        let change = create(&one(), &wanted).expect("there is space");
        let vg = change.vg().expect("a group");
        let told = texts(&change, Level::Note);
        (vg.lv(id(vg, "snap")).extents().0, told[0].clone())
    };
    let created = "Logical volume \"snap\" created.";
    // 5,120 chunks, 21 areas and a header.
    assert_eq!(size("21", 8), (21, created.to_owned()));
    assert_eq!(
        size("50", 8),
        (
            21,
            "Reducing COW size 50.00 MiB down to maximum usable size 21.00 MiB.".to_owned()
        )
    );
    assert_eq!(size("100%ORIGIN", 8), (21, created.to_owned()));
    assert_eq!(size("50%ORIGIN", 8), (11, created.to_owned()));
    assert_eq!(size("5%VG", 8), (15, created.to_owned()));
    // Chunks of 512 KiB: a header and an area are an extent.
    assert_eq!(size("100%ORIGIN", 1024), (21, created.to_owned()));
    let mut large = new("data", "1");
    large.chunk_size = Sectors(1024);
    assert_eq!(
        refusal(&one(), &large),
        "Snapshot volume cannot be smaller than 3 chunks (2 extents, 1.50 MiB)."
    );
    assert_eq!(
        refusal(&one(), &new("data", "5%LV")),
        "Please express size as %FREE, %ORIGIN, %PVS or %VG."
    );
    let full = read(&text(&[
        linear("data", 0, 0, 100),
        linear("b", 1, 0, 100),
        linear("c", 2, 0, 99),
    ]));
    let error = create(&full, &new("data", "2")).expect_err("there is no space");
    assert_eq!(error.kind, Kind::Space, "{error}");
}

#[test]
fn options_are_those_of_the_store() {
    // Proves: permission, tags, policy, places and stripes go to the store; it is zeroed although
    // it is read-only and nobody asked for it; the holder has nothing of them.
    let tags = ["one".to_owned()];
    let mut wanted = new("data", "4");
    wanted.store = NewVolume {
        kind: NewKind::Striped(Stripes {
            count: 2,
            size: Some(Sectors(16)),
        }),
        permission: Permission::ReadOnly,
        skip: Skip::Yes,
        policy: Some(AllocationPolicy::Contiguous),
        tags: &tags,
        zeroing: Zeroing::Nothing,
        ..wanted.store
    };
    let change = create(&one(), &wanted).expect("there is space");
    assert_eq!(change.before.len(), 1);
    let vg = done(Ok(change));
    let store = vg.lv(id(&vg, "snap"));
    assert!(!store.is_writable() && store.flags.has(LvFlag::ActivationSkip));
    assert!(!store.flags.has(LvFlag::Visible));
    assert_eq!(
        (store.allocation, &store.tags[..]),
        (wanted.store.policy, &tags[..])
    );
    assert_eq!(store.segments[0].areas().len(), 2);
    let holder = vg.lv(id(&vg, "snapshot0"));
    assert!(holder.is_writable() && holder.flags.has(LvFlag::Visible));
    assert!(holder.tags.is_empty() && holder.allocation.is_none());
    assert!(holder.creation_time.is_some() && holder.creation_host.is_some());
}

#[test]
fn some_volumes_have_no_snapshots() {
    // Proves: what stock refuses as an origin is refused in its words; a mirror is warned of.
    let vg = every_type();
    let refused = |name: &str| refusal(&vg, &new(name, "2"));
    let unknown = refused("or");
    assert!(unknown.contains("unknown type"), "{unknown}");
    let golden = golden();
    for (name, what) in [
        ("snap1", "snapshots"),
        ("raid1_rimage_0", "hidden volumes"),
        ("mirror2_mimage_0", "hidden volumes"),
        ("snapshot0", "hidden volumes"),
        ("pool", "thin pool type volumes"),
    ] {
        assert_eq!(
            refusal(&golden, &new(name, "2")),
            format!("Snapshots of {what} are not supported."),
            "{name}"
        );
    }
    assert_eq!(
        refusal(&golden, &new("nosuch", "2")),
        "Snapshot origin LV nosuch not found in Volume group vg0."
    );
    let merging = read(&text(&[
        linear("data", 0, 0, 4),
        hidden(
            "cow",
            2,
            "striped",
            "stripe_count = 1 stripes = [\"pv1\", 0]",
        ),
        hidden(
            "snapshot0",
            4,
            "snapshot",
            "chunk_size = 8 origin = \"data\" merging_store = \"cow\"",
        ),
    ]));
    assert_eq!(
        refusal(&merging, &new("data", "2")),
        "Snapshots of an origin that has a merging snapshot are not supported."
    );
    let locked = text(&[linear("data", 0, 0, 4).replace("\"VISIBLE\"", "\"VISIBLE\", \"LOCKED\"")]);
    assert_eq!(
        refusal(&read(&locked), &new("data", "2")),
        "Snapshots of locked volumes are not supported."
    );
    let change = create(&golden, &new("mirror2", "1")).expect("mirrors have snapshots");
    assert_eq!(texts(&change, Level::Warning).len(), 3);
    for chunk in [4, 12, 2048] {
        let mut wanted = new("data", "2");
        wanted.chunk_size = Sectors(chunk);
        let error = create(&one(), &wanted).expect_err("no such chunks");
        assert_eq!(error.kind, Kind::Request, "{error}");
    }
    let zero = read(&text(&[lv("z", 4, "zero", "")]));
    let vg = done(create(&zero, &new("z", "2")));
    assert!(matches!(
        vg.lv(id(&vg, "snapshot0")).first(),
        Some(SegmentType::Snapshot(_))
    ));
}
