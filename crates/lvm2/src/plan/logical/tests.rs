//! Tests: commands on volumes, one by one, and in long random sequences.

use proptest::prelude::{Strategy, any, prop_assert_ne, prop_oneof, proptest};

use super::{
    Along, AttributeChange, Autoactivation, Conversion, Initial, MirrorLog, MirrorOptions,
    MirrorState, NewKind, NewVolume, Permission, Resize, Skip, Split, Stripes, Zeroing,
    change_volume, convert_mirrors, create_volume, has_first_image, order_images, refused_change,
    remove_volumes, rename_volume, resize_volume, resync_mirror, split_mirror,
};
use crate::model::samples::{every_type, golden, linear, read, text};
use crate::model::{AllocationPolicy, LvFlag, ReadAhead, SegmentType, VolumeGroup};
use crate::plan::change::{Before, Change, Level, VolumeChange};
use crate::plan::group::{Insistence, restore_group};
use crate::plan::places::Places;
use crate::plan::samples::{assert_sound, by_author, done, free, layout, texts};
use crate::plan::size::{ResizeTo, SizeArgument};
use crate::plan::undo;
use crate::{Bytes, Kind, Result, Sectors};

fn empty() -> VolumeGroup {
    read(&text(&[]))
}

fn extents(text: &str) -> SizeArgument {
    SizeArgument::from_extents(text).expect("it is a size")
}

fn named<'a>(name: &'a str, size: &str) -> NewVolume<'a> {
    NewVolume {
        name: Some(name),
        ..NewVolume::linear(extents(size))
    }
}

fn create(vg: &VolumeGroup, new: &NewVolume<'_>) -> Result<Change> {
    by_author(|author| create_volume(vg, new, author))
}

fn mirrored<'a>(name: &'a str, size: &str, legs: usize, log: MirrorLog) -> NewVolume<'a> {
    let options = MirrorOptions {
        legs,
        log,
        region_size: None,
        initial: Initial::Synchronise,
    };
    NewVolume {
        kind: NewKind::Mirror(options, Stripes::LINEAR),
        ..named(name, size)
    }
}

fn resize(vg: &VolumeGroup, volume: &str, size: &str, stripes: Option<usize>) -> Result<Change> {
    let resize = Resize {
        stripes,
        ..Resize::to(volume, extents(size), ResizeTo::Either)
    };
    by_author(|author| resize_volume(vg, &resize, author))
}

fn convert(vg: &VolumeGroup, volume: &str, legs: usize, log: Option<MirrorLog>) -> Result<Change> {
    convert_with(vg, volume, legs, log, MirrorState::Unknown, None)
}

fn convert_with(
    vg: &VolumeGroup,
    volume: &str,
    legs: usize,
    log: Option<MirrorLog>,
    state: MirrorState,
    places: Option<&Places>,
) -> Result<Change> {
    let conversion = Conversion {
        volume,
        legs,
        log,
        region_size: None,
        initial: Initial::Synchronise,
        places,
        policy: None,
        state,
    };
    by_author(|author| convert_mirrors(vg, &conversion, author))
}

fn remove(vg: &VolumeGroup, volume: &str) -> Result<Change> {
    by_author(|author| remove_volumes(vg, &[volume], Along::Nothing, author))
}

#[test]
fn a_linear_volume_is_created() {
    // Proves: extents, flags, what is zeroed before the commit, and what is told.
    let change = create(&empty(), &NewVolume::linear(extents("5"))).expect("there is space");
    assert_sound(&change);
    let vg = change.vg().expect("a group");
    assert_eq!(layout(vg), ["lvol0: 0+5 linear pv0:0"]);
    assert_eq!(vg.seqno, 2);
    assert_eq!(vg.header.description.as_deref(), Some("a test"));
    assert_eq!(
        texts(&change, Level::Note),
        ["Logical volume \"lvol0\" created."]
    );
    let lv = vg.lv(vg.lv_by_name("lvol0").expect("it is there"));
    assert!(lv.flags.has(LvFlag::Visible) && lv.is_writable());
    assert_eq!(change.before[0], Before::WipeSignatures { lv: lv.uuid });
    let Before::Fill { pieces, byte: 0 } = &change.before[1] else {
        panic!("zeros are missing");
    };
    assert_eq!(
        (pieces[0].start, pieces[0].length),
        (Bytes(1 << 20), Bytes(4096))
    );
    let name = "lvol0".to_owned();
    assert_eq!(
        change.volumes,
        [VolumeChange::Activate { lv: lv.uuid, name }]
    );
}

#[test]
fn options_become_flags() {
    // Proves: what stock writes for -p r -k y -C y --addtag --minor --setautoactivation n -r none.
    let tags = ["one".to_owned()];
    let new = NewVolume {
        policy: Some(AllocationPolicy::Contiguous),
        permission: Permission::ReadOnly,
        read_ahead: ReadAhead::None,
        minor: Some(7),
        skip: Skip::Yes,
        autoactivation: Autoactivation::No,
        tags: &tags,
        zeroing: Zeroing::Nothing,
        ..named("x", "3")
    };
    let change = create(&empty(), &new).expect("there is space");
    assert_eq!(
        texts(&change, Level::Warning),
        ["Logical volume vg/x not zeroed."]
    );
    assert!(change.before.is_empty() && change.volumes.is_empty());
    let vg = done(Ok(change));
    let lv = vg.lv(vg.lv_by_name("x").expect("it is there"));
    assert!(!lv.is_writable());
    for flag in [
        LvFlag::ActivationSkip,
        LvFlag::NoAutoactivate,
        LvFlag::FixedMinor,
    ] {
        assert!(lv.flags.has(flag), "{flag:?}");
    }
    assert_eq!((lv.major, lv.minor), (Some(0), Some(7)));
    assert_eq!(lv.allocation, Some(AllocationPolicy::Contiguous));
    assert_eq!(lv.tags, tags);
}

#[test]
fn stripes_grow_and_shrink_as_stock_rounds_them() {
    // Proves: stock's numbers for a volume whose segments have different stripes.
    let vg = done(create(&empty(), &named("a", "3")));
    let change = resize(&vg, "a", "+5", Some(2)).expect("there is space");
    assert_eq!(
        texts(&change, Level::Note),
        [
            "Using default stripesize 64.00 KiB",
            "Rounding size (8 extents) up to stripe boundary size for segment (9 extents).",
            "Size of logical volume vg/a changed from 3.00 MiB (3 extents) to 9.00 MiB (9 \
             extents).",
            "Logical volume vg/a successfully resized.",
        ]
    );
    let vg = done(Ok(change));
    assert_eq!(
        layout(&vg),
        ["a: 0+3 linear pv0:0", "a: 3+6 striped pv0:3 pv1:0"]
    );
    let error = resize(&vg, "a", "+1", None).expect_err("stripes differ");
    assert_eq!(
        error.context,
        "Please specify number of stripes (-i) and stripesize (-I)"
    );
    let change = resize(&vg, "a", "6", None).expect("it can shrink");
    assert_eq!(
        texts(&change, Level::Note)[0],
        "Rounding size (6 extents) up to stripe boundary size for segment (7 extents)."
    );
    let vg = done(Ok(change));
    assert_eq!(
        layout(&vg),
        ["a: 0+3 linear pv0:0", "a: 3+4 striped pv0:3 pv1:0"]
    );
    let change = resize(&vg, "a", "2", None).expect("it can shrink");
    assert_eq!(change.freed.len(), 3, "{:?}", change.freed);
    assert_eq!(layout(&done(Ok(change))), ["a: 0+2 linear pv0:0"]);
}

#[test]
fn growing_goes_on_in_the_last_segment() {
    // Proves: extents right behind the last one join its segment.
    let mut vg = done(create(&empty(), &named("a", "3")));
    vg = done(resize(&vg, "a", "+4", None));
    assert_eq!(layout(&vg), ["a: 0+7 linear pv0:0"]);
    vg = done(create(&vg, &named("b", "10")));
    vg = done(resize(&vg, "a", "+4", None));
    assert_eq!(
        layout(&vg),
        [
            "a: 0+7 linear pv0:0",
            "a: 7+4 linear pv0:17",
            "b: 0+10 linear pv0:7"
        ]
    );
    vg = done(remove(&vg, "b"));
    assert_eq!(free(&vg), 289);
}

#[test]
fn no_space_is_told_in_stocks_words() {
    // Proves: the sentences that scripts look for.
    let full = |size: &str| create(&empty(), &named("a", size)).expect_err("it is too much");
    assert_eq!(
        full("301").context,
        "Volume group \"vg\" has insufficient free space (300 extents): 301 required."
    );
    let vg = done(create(&empty(), &named("a", "200")));
    let error = resize(&vg, "a", "+101", None).expect_err("it is too much");
    assert_eq!(error.kind, Kind::Space);
    assert_eq!(
        error.context,
        "Insufficient free space: 101 extents needed, but only 100 available"
    );
    let error = create(&vg, &mirrored("m", "20", 2, MirrorLog::Core)).expect_err("one PV");
    assert!(
        error.context.starts_with(
            "Insufficient suitable allocatable extents for logical volume m: 40 more required"
        ),
        "{error}"
    );
    for (volume, size, sentence) in [
        (
            "a",
            "200",
            "New size (200 extents) matches existing size (200 extents).",
        ),
        ("b", "1", "Logical volume b not found in volume group vg."),
    ] {
        let error = resize(&vg, volume, size, None).expect_err("it is refused");
        assert_eq!(error.context, sentence);
    }
}

#[test]
fn a_mirror_gets_images_and_a_log() {
    // Proves: names, places, flags, and the log's first contents.
    let change = create(&empty(), &mirrored("m", "6", 2, MirrorLog::Disk)).expect("space");
    let header = change.before.iter().find_map(|before| match before {
        Before::Write { piece, bytes } => Some((piece.start, bytes.clone())),
        _ => None,
    });
    let (start, bytes) = header.expect("the log has a header");
    assert_eq!(start, Bytes(1 << 20));
    assert_eq!(
        &bytes[..16],
        b"rRiM\x02\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"
    );
    let vg = done(Ok(change));
    assert_eq!(
        layout(&vg),
        [
            "m: 0+6 mirror m_mimage_0 m_mimage_1",
            "m_mimage_0: 0+6 linear pv0:0",
            "m_mimage_1: 0+6 linear pv1:0",
            "m_mlog: 0+1 linear pv2:0",
        ]
    );
    let change = create(&empty(), &mirrored("m", "3", 3, MirrorLog::Core)).expect("space");
    assert_eq!(
        texts(&change, Level::Note)[0],
        "Using reduced mirror region size of 1.00 MiB"
    );
    let vg = done(create(
        &empty(),
        &mirrored("m", "8", 2, MirrorLog::Mirrored),
    ));
    assert_eq!(vg.lv_count(), 6);
    let vg = done(by_author(|author| rename_volume(&vg, "m", "n", author)));
    assert!(vg.lv_by_name("n_mlog_mimage_1").is_some());
    assert_eq!(free(&done(remove(&vg, "n"))), 300);
}

#[test]
fn mirrors_grow_and_shrink() {
    // Proves: images follow, on their own physical volumes, and so does the log.
    let options = MirrorOptions {
        legs: 2,
        log: MirrorLog::Disk,
        region_size: Some(Sectors(1)),
        initial: Initial::NoSync,
    };
    let new = NewVolume {
        kind: NewKind::Mirror(options, Stripes::LINEAR),
        ..named("m", "8")
    };
    let mut vg = done(create(&empty(), &new));
    let id = vg.lv_by_name("m").expect("it is there");
    assert!(vg.lv(id).flags.has(LvFlag::NotSynced));
    vg.extent_size = Sectors(16);
    vg = done(resize(&vg, "m", "+70", None));
    assert_eq!(
        layout(&vg)[1..3],
        [
            "m_mimage_0: 0+78 linear pv0:0",
            "m_mimage_1: 0+78 linear pv1:0"
        ]
    );
    vg = done(resize(&vg, "m", "4", None));
    assert_eq!(layout(&vg)[0], "m: 0+4 mirror m_mimage_0 m_mimage_1");
}

#[test]
fn mirrors_are_made_and_unmade() {
    // Proves: linear to mirror and back is the same volume; logs come new; the first copy stays
    // unless all are known to be the same.
    let vg = done(create(&empty(), &named("a", "8")));
    let two = convert(&vg, "a", 2, None).expect("there is space");
    assert!(two.freed.is_empty());
    let two = done(Ok(two));
    assert_eq!(
        layout(&two),
        [
            "a: 0+8 mirror a_mimage_0 a_mimage_1",
            "a_mimage_0: 0+8 linear pv0:0",
            "a_mimage_1: 0+8 linear pv1:0",
            "a_mlog: 0+1 linear pv2:0",
        ]
    );
    let back = done(convert(&two, "a", 1, None));
    assert_eq!(layout(&back), ["a: 0+8 linear pv0:0"]);
    let three = convert(&two, "a", 3, Some(MirrorLog::Core)).expect("there is space");
    assert_eq!(three.freed.len(), 1, "the old log");
    let three = done(Ok(three));
    assert_eq!(
        layout(&three)[0],
        "a: 0+8 mirror a_mimage_0 a_mimage_1 a_mimage_2"
    );
    let first = vg
        .pvs()
        .next()
        .and_then(|(_, pv)| pv.device.clone())
        .expect("a name");
    let id = vg.pvs().next().expect("a physical volume").0;
    let place = Places::parse(&three, &[&first], |_| Some(id)).expect("a place");
    let error = convert_with(&three, "a", 2, None, MirrorState::Unknown, Some(&place))
        .expect_err("the first copy may be the only good one");
    assert!(
        error
            .context
            .starts_with("Unable to remove primary mirror image"),
        "{error}"
    );
    let rest = done(convert_with(
        &three,
        "a",
        2,
        None,
        MirrorState::InSync,
        Some(&place),
    ));
    assert_eq!(layout(&rest)[0], "a: 0+8 mirror a_mimage_1 a_mimage_2");
    let logged = done(convert(&rest, "a", 2, Some(MirrorLog::Disk)));
    assert!(logged.lv_by_name("a_mlog").is_some());
    convert(&logged, "a", 2, None).expect_err("nothing would change");
}

#[test]
fn a_copy_is_split_off() {
    // Proves: the last copy gets the name and keeps its identity; the others go on, or are plain.
    let vg = done(create(&empty(), &mirrored("m", "8", 3, MirrorLog::Core)));
    let split = |vg: &VolumeGroup, state, name: &str| {
        let split = Split {
            volume: "m",
            name,
            places: None,
            state,
        };
        by_author(|author| split_mirror(vg, &split, author))
    };
    let error = split(&vg, MirrorState::Unknown, "n").expect_err("it may hold something else");
    assert!(error.context.contains("not in-sync"), "{error}");
    let error = split(&vg, MirrorState::InSync, "m").expect_err("the name is taken");
    assert!(error.context.contains("already exists"), "{error}");
    let image = vg.lv_by_name("m_mimage_2").expect("a copy");
    let two = split(&vg, MirrorState::InSync, "n").expect("it is in sync");
    assert_sound(&two);
    assert!(two.freed.is_empty());
    let two = done(Ok(two));
    let new = two.lv_by_name("n").expect("a volume");
    assert_eq!(two.lv(new).uuid, vg.lv(image).uuid);
    assert!(two.lv(new).flags.has(LvFlag::Visible) && two.lv(new).is_writable());
    assert_eq!(layout(&two)[0], "m: 0+8 mirror m_mimage_0 m_mimage_1");
    let one = done(split(&two, MirrorState::InSync, "o"));
    assert_eq!(layout(&one)[0], "m: 0+8 linear pv0:0");
    split(&one, MirrorState::InSync, "p").expect_err("it is no mirror");
}

#[test]
fn the_only_copy_of_a_mirror_stays() {
    // Proves: a mirror with one image, which a text may hold, is not left without any.
    let mut vg = done(create(&empty(), &mirrored("m", "8", 2, MirrorLog::Core)));
    let [m, second] = ["m", "m_mimage_1"].map(|name| vg.lv_by_name(name).expect("is there"));
    if let SegmentType::Mirror(mirror) = &mut vg.lv_mut(m).segments[0].kind {
        mirror.images.truncate(1);
    }
    vg.remove_lv(second);
    let split = Split {
        volume: "m",
        name: "n",
        places: None,
        state: MirrorState::InSync,
    };
    let error = by_author(|author| split_mirror(&vg, &split, author)).expect_err("it is the last");
    assert!(error.context.contains("it has only one"), "{error}");
}

#[test]
fn copies_are_made_equal_again() {
    // Proves: a new log on other extents, in which nothing is in sync; without one, no flag.
    let options = |log| {
        let mut volume = mirrored("m", "8", 2, log);
        if let NewKind::Mirror(mirror, _) = &mut volume.kind {
            mirror.initial = Initial::NoSync;
        }
        volume
    };
    let resync = |vg: &VolumeGroup| by_author(|author| resync_mirror(vg, "m", author));
    for (log, freed) in [(MirrorLog::Disk, 1), (MirrorLog::Core, 0)] {
        let vg = done(create(&empty(), &options(log)));
        let change = resync(&vg).expect("it is a mirror");
        assert_sound(&change);
        assert_eq!(change.freed.len(), freed);
        let after = done(Ok(change));
        let m = after.lv_by_name("m").expect("is there");
        assert!(!after.lv(m).flags.has(LvFlag::NotSynced));
        assert_eq!(after.lv_by_name("m_mlog").is_some(), freed == 1);
    }
    let vg = done(create(&empty(), &named("m", "8")));
    resync(&vg).expect_err("it is no mirror");
}

#[test]
fn what_is_in_use_stays() {
    // Proves: parts, pools and unknown types are refused, by name.
    let vg = golden();
    for name in ["mirror2_mimage_0", "mirror2_mlog", "raid1_rimage_0"] {
        let error = remove(&vg, name).expect_err("it is a part");
        assert_eq!(error.kind, Kind::Refused, "{name}");
        resize(&vg, name, "+1", None).expect_err("it is a part");
    }
    let error = remove(&every_type(), "linear").expect_err("there are unknown types");
    assert!(error.context.contains("unknown type"), "{error}");
    done(remove(&vg, "mirror2"));
    done(remove(&vg, "raid1"));
}

#[test]
fn names_are_checked() {
    // Proves: reserved, taken and impossible names, in stock's words.
    let vg = done(create(&empty(), &named("a", "1")));
    let refusal = |name: &str| create(&vg, &named(name, "1")).expect_err(name).context;
    assert_eq!(
        refusal("a"),
        "Logical Volume \"a\" already exists in volume group \"vg\""
    );
    assert!(refusal("..").starts_with("Logical volume name \"..\" is invalid"));
    assert_eq!(
        refusal("x_mimage"),
        "Names including \"_mimage\" are reserved. Please choose a different LV name."
    );
    let rename = |from: &str, to: &str| by_author(|author| rename_volume(&vg, from, to, author));
    assert_eq!(
        rename("b", "c").expect_err("no b").context,
        "Existing logical volume \"b\" not found in volume group \"vg\""
    );
    rename("a", "a").expect_err("the same");
    let change = rename("a", "b").expect("it is free");
    assert_eq!(
        texts(&change, Level::Note),
        ["Renamed \"a\" to \"b\" in volume group \"vg\""]
    );
    assert!(matches!(change.volumes[..], [VolumeChange::Rename { .. }]));
}

#[test]
fn properties_change() {
    // Proves: each property, and stock's refusals of what is so already.
    let vg = done(create(&empty(), &named("a", "1")));
    let apply = |change| by_author(|author| change_volume(&vg, "a", &[change], author));
    let error = apply(AttributeChange::Permission(Permission::ReadWrite)).expect_err("it is");
    assert_eq!(error.context, "Logical volume vg/a is already writable.");
    let change = apply(AttributeChange::Permission(Permission::ReadOnly)).expect("it was not");
    assert!(matches!(change.volumes[..], [VolumeChange::Reload { .. }]));
    let cling = Some(AllocationPolicy::Cling);
    let vg = done(apply(AttributeChange::Allocation(cling)));
    let apply = |change| by_author(|author| change_volume(&vg, "a", &[change], author));
    let error = apply(AttributeChange::Allocation(cling)).expect_err("it is");
    assert_eq!(
        error.context,
        "Allocation policy of logical volume vg/a is already cling."
    );
    let vg = done(apply(AttributeChange::AddTag("x")));
    assert_eq!(vg.lv(vg.lv_by_name("a").expect("there")).tags, ["x"]);
}

#[test]
fn a_change_is_refused_alone() {
    // Proves: of several changes those are known that are refused whatever else is asked for.
    let vg = done(create(&empty(), &named("a", "1")));
    let why = |change| refused_change(&vg, "a", change).map(|error| error.context);
    assert_eq!(
        why(AttributeChange::Minor(None)).as_deref(),
        Some("Minor number is already not persistent for vg/a.")
    );
    assert_eq!(why(AttributeChange::AddTag("t")), None);
    assert_eq!(why(AttributeChange::Permission(Permission::ReadOnly)), None);
}

#[test]
fn a_volume_with_holes_is_read_in_one() {
    // Proves: the sample used above is what it says.
    assert_eq!(free(&read(&text(&[linear("a", 0, 0, 10)]))), 290);
}

/// A command of a random sequence.
#[derive(Debug, Clone)]
enum Step {
    Create(u8, u64, usize, AllocationPolicy),
    Mirror(u8, u64, usize, u8),
    Resize(u8, u64, Option<usize>),
    Convert(u8, usize, u8),
    Remove(u8),
    Rename(u8, u8),
}

fn log(number: u8) -> MirrorLog {
    [MirrorLog::Core, MirrorLog::Disk, MirrorLog::Mirrored][usize::from(number % 3)]
}

fn step() -> impl Strategy<Value = Step> {
    let policy = proptest::sample::select(AllocationPolicy::ALL.to_vec());
    prop_oneof![
        (0..6_u8, 1..60_u64, 1..4_usize, policy).prop_map(|(n, e, s, p)| Step::Create(n, e, s, p)),
        (0..6_u8, 1..40_u64, 2..4_usize, any::<u8>())
            .prop_map(|(name, size, legs, log)| Step::Mirror(name, size, legs, log)),
        (0..6_u8, 1..90_u64, proptest::option::of(1..4_usize))
            .prop_map(|(name, size, stripes)| Step::Resize(name, size, stripes)),
        (0..6_u8, 1..4_usize, any::<u8>()).prop_map(|(n, legs, log)| Step::Convert(n, legs, log)),
        (0..6_u8).prop_map(Step::Remove),
        (0..6_u8, 0..6_u8).prop_map(|(from, to)| Step::Rename(from, to)),
    ]
}

fn take(vg: &VolumeGroup, step: &Step) -> Result<Change> {
    let name = |number: u8| format!("v{number}");
    match step {
        Step::Create(number, size, stripes, policy) => {
            let stripes = Stripes {
                count: *stripes,
                size: None,
            };
            let (name, size) = (name(*number), size.to_string());
            let new = NewVolume {
                kind: NewKind::Striped(stripes),
                policy: Some(*policy),
                ..named(&name, &size)
            };
            create(vg, &new)
        }
        Step::Mirror(number, size, legs, kind) => create(
            vg,
            &mirrored(&name(*number), &size.to_string(), *legs, log(*kind)),
        ),
        Step::Resize(number, size, stripes) => {
            resize(vg, &name(*number), &size.to_string(), *stripes)
        }
        Step::Convert(number, legs, kind) => convert(vg, &name(*number), *legs, Some(log(*kind))),
        Step::Remove(number) => remove(vg, &name(*number)),
        Step::Rename(from, to) => {
            by_author(|author| rename_volume(vg, &name(*from), &name(*to), author))
        }
    }
}

/// Nothing that must be written before a commit may lie on what is in use until then.
fn assert_only_free_is_written(vg: &VolumeGroup, change: &Change) {
    let map = crate::model::AllocationMap::of(vg);
    for before in &change.before {
        let pieces = match before {
            Before::Fill { pieces, .. } => pieces.clone(),
            Before::Write { piece, .. } => vec![*piece],
            Before::Copy { .. } | Before::WipeSignatures { .. } => continue,
        };
        for piece in pieces {
            let id = vg.pv_by_uuid(&piece.pv).expect("it is in the group");
            let extent = vg.extent_size.to_bytes().expect("it is small").0;
            let start = vg.pv(id).pe_start.to_bytes().expect("it is small").0;
            let first = (piece.start.0 - start) / extent;
            let last = (piece.start.0 + piece.length.0 - 1 - start) / extent;
            for number in first..=last {
                let owner = map.owner(id, crate::Extents(number));
                assert!(owner.is_none(), "{before:?} writes into {owner:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn random_commands_leave_sound_groups(steps in proptest::collection::vec(step(), 1..40)) {
        // Proves: whatever was done, the group is without errors, its text comes back, and nothing
        // in use is written before a commit.
        let mut vg = empty();
        for step in &steps {
            match take(&vg, step) {
                Ok(change) => {
                    assert_sound(&change);
                    assert_only_free_is_written(&vg, &change);
                    vg = change.vg().expect("a group").clone();
                }
                Err(error) => prop_assert_ne!(error.kind, Kind::Model, "{:?}: {}", step, error),
            }
        }
    }
}

#[test]
fn a_lost_copy_comes_last() {
    // Proves: another copy becomes the first one and nothing else changes; a log in memory says
    // nothing of the others any more; a backup of before keeps the order, an undo is refused.
    for (log, name) in [(MirrorLog::Disk, "disk"), (MirrorLog::Core, "core")] {
        let mut new = mirrored(name, "6", 2, log);
        let NewKind::Mirror(options, _) = &mut new.kind else {
            unreachable!("it is a mirror");
        };
        options.initial = Initial::NoSync;
        let before = done(create(&empty(), &new));
        let uuid = |name: &str| {
            let id = before.lv_by_name(name).expect("is there");
            before.lv(id).uuid
        };
        let images = [1, 0].map(|number| uuid(&format!("{name}_mimage_{number}")));
        let mirror = uuid(name);
        assert!(!has_first_image(&before, mirror, images[0]));
        assert_eq!(has_first_image(&before, mirror, images[1]), name == "disk");
        let change = by_author(|author| order_images(&before, mirror, &images, author));
        let change = change.expect("is possible");
        assert_sound(&change);
        assert_eq!(change.freed, []);
        let after = done(Ok(change));
        assert!(has_first_image(&after, mirror, images[0]));
        let assumed = |vg: &VolumeGroup| {
            let id = vg.lv_by_uuid(&mirror).expect("is there");
            vg.lv(id).flags.has(LvFlag::NotSynced)
        };
        assert_eq!((assumed(&before), assumed(&after)), (true, name == "disk"));
        let present = after.pvs().map(|(_, pv)| pv.uuid).collect();
        let restored = by_author(|author| {
            restore_group(&before, Some(&after), &present, Insistence::None, author)
        });
        let restored = done(restored);
        assert_eq!(layout(&restored), layout(&after));
        assert_eq!(assumed(&restored), assumed(&after));
        let undone = by_author(|author| undo(&[before.clone(), after.clone()], author));
        assert_eq!(undone.expect_err("is refused").kind, Kind::Refused);
    }
}

#[test]
fn no_log_says_that_outdated_images_are_in_sync() {
    // Proves: --nosync adds an image to a mirror only where its images are known to be the same.
    let vg = done(create(&empty(), &mirrored("a", "6", 2, MirrorLog::Disk)));
    let add = |state| {
        let conversion = Conversion {
            volume: "a",
            legs: 3,
            log: None,
            region_size: None,
            initial: Initial::NoSync,
            places: None,
            policy: None,
            state,
        };
        by_author(|author| convert_mirrors(&vg, &conversion, author))
    };
    let error = add(MirrorState::Unknown).expect_err("an image may be out of date");
    assert!(error.to_string().contains("leave --nosync out"), "{error}");
    assert_sound(&add(MirrorState::InSync).expect("all are the same"));
}

#[test]
fn an_origin_hears_of_its_snapshots() {
    // Proves: where a snapshot goes, its origin's table changes with it, so that nobody goes on
    // copying for it; other volumes stay as they are.
    let change = remove(&golden(), "snap1").expect("it goes");
    let names = |wanted: fn(&VolumeChange) -> Option<&String>| -> Vec<&str> {
        let found = change.volumes.iter().filter_map(wanted);
        found.map(String::as_str).collect()
    };
    let reloaded = names(|change| match change {
        VolumeChange::Reload { name, .. } => Some(name),
        _ => None,
    });
    assert_eq!(reloaded, ["origin"]);
    let gone = names(|change| match change {
        VolumeChange::Deactivate { name, .. } => Some(name),
        _ => None,
    });
    assert_eq!(gone, ["snap1", "snapshot0"]);
}
