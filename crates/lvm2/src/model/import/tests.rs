//! Texts that cannot be represented are refused with a reason; what is not known is carried.

use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

use crate::model::samples::{self, linear, lv, read, refusal, text};
use crate::model::{LvFlag, PhysicalVolume, SegmentType, from_text, to_text};
use crate::text::{Node, Section, Style, Value, parse};
use crate::{Extents, Sectors};

fn reprint(text: &str) -> String {
    String::from_utf8(to_text(&read(text), Style::Raw)).expect("ASCII stays ASCII")
}

#[test]
fn impossible_times_are_replaced() {
    // Proves: a creation_time that does not fit 63 bits, which old builds of LVM2 wrote, costs
    // nobody the group: it is read as stock reads it, noted, and written right. Any other number
    // that is too large is refused.
    let sound = text(&[linear("a", 0, 0, 4)]);
    assert!(!read(&sound).header.has_invalid_times);
    for time in [
        "9223372036854775808",
        "-99999999999999999999",
        "0xffffffffffffffff",
        "-1",
    ] {
        let with = format!("creation_time = {time} creation_host = \"h\" segment_count");
        let times = sound.replace("segment_count", &with);
        assert_ne!(times, sound, "the volume has a place for it");
        let vg = read(&times);
        assert!(vg.header.has_invalid_times, "{time}");
        let id = vg.lv_by_name("a").expect("it is there");
        assert_eq!(vg.lv(id).creation_time, Some(1_527_120_000), "{time}");
        assert!(!read(&reprint(&times)).header.has_invalid_times, "{time}");
    }
    let other = sound.replace("seqno = 1", "seqno = 9223372036854775808");
    parse(other.as_bytes()).expect_err("no time");
}

#[test]
fn refusals_name_the_place() {
    // Proves: a text that is no volume group is refused, and the message says where and why.
    let a = || linear("a", 0, 0, 4);
    let sound = text(&[a()]);
    for (from, to, words) in [
        ("seqno = 1", "", "volume group vg: seqno is missing"),
        (
            "seqno = 1",
            "seqno = -1",
            "seqno is -1, and cannot be negative",
        ),
        (
            "seqno = 1",
            "seqno = 4294967296",
            "and cannot be more than 4294967295",
        ),
        ("seqno = 1", "seqno = \"1\"", "seqno is not a number"),
        (
            "extent_size = 2048",
            "extent_size = [2048]",
            "extent_size is not a number",
        ),
        (
            "pe_count = 100",
            "pe_count = 1.5",
            "physical volume pv0: pe_count is not a number",
        ),
        (
            "\"pv0\", 0",
            "\"pvX\", 0",
            "volume a: segment1: it refers to \"pvX\", which is not there",
        ),
        ("\"pv0\", 0", "\"pv0\"", "stripes does not name 1 areas"),
        (
            "\"pv0\", 0",
            "0, \"pv0\"",
            "stripes is not a list of names and extents",
        ),
        ("\"pv0\", 0", "\"pv0\", -1", "stripes cannot begin at -1"),
        (
            "stripe_count = 1",
            "stripe_count = 4000000000",
            "segment1: stripe_size is missing",
        ),
        (
            "stripe_count = 1",
            "stripe_count = 0",
            "does not name 0 areas",
        ),
        (
            "segment_count = 1",
            "segment_count = 2",
            "segment_count is 2, and 1 follow",
        ),
        (
            "a {",
            "\"../a\" {",
            "cannot be the name of a logical volume",
        ),
        ("vg {", "\"v/g\" {", "cannot be the name of a volume group"),
        (
            "status = [\"RESIZEABLE\", \"READ\", \"WRITE\"]",
            "",
            "status is missing",
        ),
        (
            "physical_volumes",
            "physical",
            "physical_volumes is missing",
        ),
        (
            "vg {",
            "contents = \"Poem\" vg {",
            "the text's contents are \"Poem\"",
        ),
        ("vg {", "version = 2 vg {", "format version 2"),
    ] {
        assert!(sound.contains(from), "{from}");
        let reason = refusal(&sound.replacen(from, to, 1));
        assert!(reason.contains(words), "{reason:?} does not say {words:?}");
    }
    let twice = text(&[a(), a()]);
    assert!(refusal(&twice).contains("has two logical volumes a"));
    assert!(refusal(&text(&[]).replace("pv1 {", "pv0 {")).contains("two physical volumes pv0"));
    assert!(refusal("").contains("no section"));
    let raid = |fields: &str| refusal(&text(&[lv("r", 4, "raid1", fields)]));
    assert!(raid("device_count = 2 raids = [\"r\"]").contains("raids does not name 2 areas"));
    assert!(raid("device_count = 0 raids = []").contains("raids does not name 0 areas"));
    assert!(raid("stripe_count = 1 device_count = 1").contains("one of them is too many"));
    assert!(raid("raids = []").contains("device_count is missing"));
}

#[test]
fn unknown_entries_keep_their_place() {
    // Proves: keys, sections, flags, types and header keys of the future survive a rewrite.
    let mut lvs = vec![
        linear("a", 0, 0, 4),
        lv("f", 3, "raid1+SHINY", "raids = [\"pv9\", 1]"),
    ];
    lvs[0] = lvs[0]
        .replace("segment_count = 1", "segment_count = 1 colour = \"red\"")
        .replace(
            "stripe_count = 1",
            "stripe_count = 1 depth = [1, 2] inner { x = 1 }",
        )
        .replace("\"VISIBLE\"]", "\"VISIBLE\", \"SHINY\"]")
        .replace("flags = []", "flags = [\"DULL\"]");
    let text = text(&lvs)
        .replace(
            "seqno = 1",
            "first = 0 seqno = 1 mood = \"good\" weather { rain = 0 }",
        )
        .replace("pe_count = 100", "pe_count = 100 wear = 5");
    let printed = reprint(&format!("before = 1\n{text}\nafter = 2\n"));
    for (line, behind) in [
        ("before = 1", "before = 1\nvg {"),
        (
            "first",
            "0000\"\nfirst = 0\nseqno = 1\nmood = \"good\"\nweather {\n\train=0\n}\nformat",
        ),
        ("wear", "pe_count = 100\nwear = 5\n}"),
        ("colour", "segment_count = 1\ncolour = \"red\"\n"),
        (
            "depth",
            "stripe_count = 1\ndepth = [1, 2]\ninner {\n\tx=1\n}\n",
        ),
        (
            "SHINY",
            "status = [\"READ\", \"WRITE\", \"VISIBLE\", \"SHINY\"]\nflags = [\"DULL\"]",
        ),
        ("raid1", "type = \"raid1+SHINY\"\nraids=[\"pv9\",1]\n}"),
        ("after", "after = 2\n"),
    ] {
        let behind = if line == "before = 1" {
            "before = 1\n"
        } else {
            behind
        };
        assert!(
            printed.contains(behind),
            "{line}: {behind:?} is not in\n{printed}"
        );
    }
    assert_eq!(
        reprint(&printed),
        printed,
        "a second rewrite changes nothing"
    );
}

#[test]
fn names_of_disks_stay_where_unknown_types_may_use_them() {
    // Proves: physical volumes are numbered anew, except where that could change a meaning.
    let renamed = |text: String| text.replace("pv0", "pv7");
    let plain = renamed(text(&[linear("a", 0, 0, 4)]));
    assert!(reprint(&plain).contains("\"pv0\", 0"));
    let with_unknown = renamed(text(&[linear("a", 0, 0, 4), lv("f", 3, "future", "")]));
    assert!(reprint(&with_unknown).contains("\"pv7\", 0"));
    let mut vg = read(&with_unknown);
    let uuid = "00000000000000000000000000000new".parse().expect("a UUID");
    vg.add_pv(PhysicalVolume::new(uuid, Sectors(2048), Extents(7)));
    let printed = String::from_utf8(to_text(&vg, Style::Raw)).expect("ASCII");
    assert!(
        printed.contains("pv0 {\nid = \"000000-0000"),
        "a free name is found: {printed}"
    );
}

#[test]
fn changes_reach_the_text() {
    // Proves: volumes can be added, renamed and removed, and references follow.
    let mut vg = samples::every_type();
    let id = vg.lv_by_name("th1").expect("it is there");
    assert!(vg.rename_lv(id, "th2").is_err(), "the name is taken");
    vg.rename_lv(id, "first").expect("the name is free");
    assert_eq!(vg.lv_by_name("th1"), None);
    assert_eq!(vg.historical[0].origin.as_deref(), Some("first"));
    let zero = vg.lv_by_name("z").expect("it is there");
    let removed = vg.remove_lv(zero);
    assert_eq!(vg.lv_by_name("z"), None);
    assert!(vg.lvs().all(|(other, _)| other != zero));
    let count = vg.lv_count();
    let again = vg.add_lv(removed).expect("the name is free again");
    assert_ne!(again, zero, "ids are not used twice");
    assert_eq!(vg.lv_count(), count + 1);
    vg.lv_mut(again).flags.remove(LvFlag::Visible);
    let printed = String::from_utf8(to_text(&vg, Style::Raw)).expect("ASCII");
    assert!(printed.contains("origin = \"first\""));
    assert_eq!(read(&printed), vg);
}

#[test]
fn many_volumes() {
    // Proves: ten thousand volumes are read and printed; see the design for how fast.
    let lvs: Vec<_> = (0..10_000)
        .map(|index| lv(&format!("lv{index}"), 1, "zero", ""))
        .collect();
    let text = text(&lvs);
    let vg = read(&text);
    assert_eq!(vg.lv_count(), 10_000);
    assert_eq!(read(&reprint(&text)), vg);
}

/// Any change to any entry of a text: taken away, doubled, or given another value.
fn mutate(section: &mut Section<'_>, at: &mut usize, change: &Change) -> bool {
    let mut index = 0;
    while index < section.nodes.len() {
        if *at == 0 {
            match change {
                Change::Remove => drop(section.nodes.remove(index)),
                Change::Double => {
                    let node = section.nodes[index].clone();
                    section.nodes.insert(index, node);
                }
                Change::Set(new) => {
                    if let Node::Value { value, .. } = &mut section.nodes[index] {
                        *value = new.clone();
                    }
                }
            }
            return true;
        }
        *at -= 1;
        if let Node::Section(inner) = &mut section.nodes[index]
            && mutate(inner, at, change)
        {
            return true;
        }
        index += 1;
    }
    false
}

#[derive(Debug, Clone)]
enum Change {
    Remove,
    Double,
    Set(Value<'static>),
}

fn changes() -> impl Strategy<Value = Change> {
    let number = prop_oneof![
        any::<i64>().prop_map(Value::Integer),
        (0..9_i64).prop_map(Value::Integer),
        Just(Value::Integer(i64::from(u32::MAX))),
    ];
    let name = prop_oneof![
        Just("r1"),
        Just("tp"),
        Just("pv0"),
        Just("cow"),
        Just(""),
        Just("m")
    ];
    let name = name.prop_map(|name| Value::String(name.into()));
    let value = prop_oneof![number.clone(), name.clone()];
    let list = proptest::collection::vec(value.clone(), 0..5).prop_map(Value::Array);
    prop_oneof![
        Just(Change::Remove),
        Just(Change::Double),
        prop_oneof![value, list, Just(Value::Float("1.5".into()))].prop_map(Change::Set),
    ]
}

proptest! {
    #[test]
    fn damaged_texts_end(at in 0..1500_usize, change in changes(), more in 0..1500_usize) {
        // Proves: whatever is changed in a text, it is refused or read; what is read can be
        // checked and printed, and reads the same again.
        let text = include_str!("../../../../../tests/fixtures/texts/vgx-raw.txt");
        let mut tree = parse(text.as_bytes()).expect("it parses");
        mutate(&mut tree, &mut at.clone(), &change);
        mutate(&mut tree, &mut more.clone(), &change);
        if let Ok(vg) = from_text(&tree) {
            crate::model::check(&vg);
            let map = crate::model::AllocationMap::of(&vg);
            vg.pvs().for_each(|(id, _)| drop(map.runs(id)));
            let printed = to_text(&vg, Style::Backup);
            let again = from_text(&parse(&printed).expect("it parses again")).expect("it reads");
            assert!(to_text(&again, Style::Backup) == printed, "it prints differently");
        }
    }
}

#[test]
fn odd_but_sound() {
    // Proves: what older versions and hands write is understood.
    let old = text(&[linear("a", 0, 0, 4).replace("\"striped\"", "\"linear\"")]);
    let vg = read(&old);
    let id = vg.lv_by_name("a").expect("it is there");
    assert!(
        matches!(vg.lv(id).first(), Some(SegmentType::Striped(_))),
        "it is one area"
    );
    let lone = text(&[linear("a", 0, 0, 4).replace("flags = []", "tags = \"x\"")]);
    let vg = read(&lone);
    assert_eq!(vg.lvs().next().expect("one volume").1.tags, ["x"]);
}
