//! The table of what is served: the one in the documents, and what activation really does.

mod samples;

use std::fmt::Write;

use dm::volume::Access;
use lvm2::model::{Flag, LvFlag, TypeFlag, VolumeGroup, from_text};

use self::samples::{HIDDEN, MIRROR, PLAIN, linear_at, lv, sample, with_flag, with_status};
use super::condition::{Condition, Ruling};
use super::decide::conditions;
use crate::Result;
use crate::activate::tests::activate;
use crate::activate::{MissingPolicy, Options};
use crate::tests::fixture::{Folder, heads};

const DOCUMENT: &str = include_str!("../../../../../docs/format.md");
/// What stands in front of the table there.
const MARK: &str = "| found at a volume | read as | written |\n|---|---|---|\n";
/// A whole text with these volumes on the first golden disk.
fn text(volumes: &str) -> String {
    static DISK: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let golden = DISK.get_or_init(|| {
        let folder = Folder::golden();
        folder.text("a0.img").0
    });
    let head = golden.split("pv1 {").next().expect("has a second disk");
    let (_, tail) = golden.split_once("contents =").expect("has a header");
    format!("{head}}}\n\nlogical_volumes {{\n{volumes}}}\n}}\ncontents ={tail}")
}

fn try_to(volumes: &str, name: &str, access: Access) -> Result<()> {
    let folder = Folder::new();
    folder.disk("a0.img", &heads()[0]);
    folder.rewrite("a0.img", |_| text(volumes));
    let options = Options {
        access,
        missing: MissingPolicy::default(),
    };
    activate(&folder.scan(), name, options).map(drop)
}

fn model(volumes: &str) -> VolumeGroup {
    let text = text(volumes);
    let tree = lvm2::text::parse(text.as_bytes()).expect("is a text");
    from_text(&tree).unwrap_or_else(|error| panic!("{error}\n{volumes}"))
}

fn name_in(volumes: &str) -> &str {
    let names = ["lv", "lv_vorigin", "lv_pmspare"];
    let has = |name: &&&str| volumes.contains(&format!("{name} {{\n"));
    names.iter().rev().find(has).expect("has the volume")
}

fn cell(ruling: Ruling) -> String {
    match ruling {
        Ruling::Served(what) => what.to_owned(),
        Ruling::Refused(why) => format!("**refused**: {why}"),
        Ruling::NotYet => "**refused**: the type is not served yet".to_owned(),
    }
}

/// The table in the documents is the one that the code has, row by row.
#[test]
fn the_documents_have_this_table() {
    let mut table = String::new();
    for condition in Condition::ALL {
        let rule = condition.rule();
        let (read, write) = (cell(rule.read), cell(rule.write));
        writeln!(table, "| {} | {read} | {write} |", rule.what).expect("is written");
    }
    let (_, behind) = DOCUMENT
        .split_once(MARK)
        .expect("docs/format.md has the table");
    let found = behind.split("\n\n").next().expect("ends").trim_end();
    assert!(
        found == table.trim_end(),
        "docs/format.md has to have:\n{table}"
    );
}

/// Each row holds: a group with that condition is activated, or refused in the row's words, for
/// reading and for writing.
#[test]
fn activation_does_what_the_table_says() {
    for condition in Condition::ALL {
        let volumes = sample(*condition);
        let name = name_in(&volumes);
        let model = model(&volumes);
        let lv = model.lv_by_name(name).expect("is there");
        let found = &conditions(&model, lv, Access::ReadOnly)[0].1;
        assert!(
            found.contains(condition),
            "{condition:?} is not among {found:?}"
        );
        let rule = condition.rule();
        // What other conditions of the sample refuse is in their own rows.
        let readable = found.iter().all(|found| found.rule().read.kind().is_none());
        let writable = readable
            && found
                .iter()
                .all(|found| found.rule().write.kind().is_none());
        let full = format!("vg0/{name}");
        let read = try_to(&volumes, &full, Access::ReadOnly);
        let written = try_to(&volumes, &full, Access::ReadWrite);
        // Groups in which something is unknown are not written at all.
        let is_sound = !lvm2::model::has_errors(&lvm2::model::check(&model));
        assert_eq!(read.is_ok(), readable, "{condition:?} is read: {read:?}");
        assert_eq!(
            written.is_ok(),
            writable && is_sound,
            "{condition:?} is written: {written:?}"
        );
        // Of several that refuse the first one is named.
        let mut refusing = found
            .iter()
            .filter(|found| found.rule().read.kind().is_some());
        if refusing.next() == Some(condition) {
            let text = read.expect_err("is refused").to_string();
            let why = match rule.read {
                Ruling::Refused(why) => why,
                _ => "which is not served yet",
            };
            assert!(text.contains(why), "{condition:?}: {text}");
        }
        if let (Ruling::Refused(why), Err(error), true) = (rule.write, written, readable) {
            let text = error.to_string();
            let is_first = found
                .iter()
                .find(|found| found.rule().write.kind().is_some())
                .is_some_and(|first| first == condition);
            assert!(
                !is_first || !is_sound || text.contains(why),
                "{condition:?}: {text}"
            );
        }
    }
}

/// What is found below a volume counts for it: an image to be rebuilt, a move.
#[test]
fn what_is_below_counts() {
    let moved = lv(
        "pvmove0",
        "\"READ\", \"WRITE\", \"PVMOVE\", \"LOCKED\"",
        "",
        &format!("{MIRROR}\nextents_moved = 2\nmirrors = [\"pv0\", 0, \"pv0\", 9]"),
    );
    let body = linear_at(0).replace("pv0", "pvmove0");
    let volumes = lv("lv", PLAIN, "", &body) + &moved;
    try_to(&volumes, "vg0/lv", Access::ReadOnly).expect("a move can be read");
    try_to(&volumes, "vg0/lv", Access::ReadWrite).expect("and written");
    let error = try_to(&volumes, "vg0/pvmove0", Access::ReadWrite).expect_err("not written");
    assert!(error.to_string().contains("pvmove --abort"), "{error}");
    let rebuilt = sample(Condition::Mirror);
    let at = rebuilt.find("i1 {\n").expect("has an image");
    let (head, tail) = rebuilt.split_at(at);
    let tail = tail.replacen(HIDDEN, &format!("{HIDDEN}, \"REBUILD\""), 1);
    let error = try_to(&format!("{head}{tail}"), "vg0/lv", Access::ReadOnly).expect_err("rebuilt");
    assert!(error.to_string().contains("it stands on vg0/i1"), "{error}");
}

/// Every flag and suffix that the model knows leads to a rule, wherever it stands.
#[test]
fn every_flag_and_suffix_has_a_rule() {
    for flag in LvFlag::ALL {
        let both = match flag.place() {
            lvm2::model::Place::Status => format!("{PLAIN}, \"{}\"", flag.name()),
            lvm2::model::Place::Compatible => PLAIN.to_owned(),
        };
        let volumes = match flag.place() {
            lvm2::model::Place::Status => with_status(&both),
            lvm2::model::Place::Compatible => with_flag(&format!("\"{}\"", flag.name())),
        };
        let model = model(&volumes);
        let lv = model.lv_by_name("lv").expect("is there");
        let found = conditions(&model, lv, Access::ReadOnly)[0].1.len();
        let is_usual = matches!(flag, LvFlag::Read | LvFlag::Write | LvFlag::Visible);
        assert_eq!(found > 1, !is_usual, "{}", flag.name());
    }
    for suffix in TypeFlag::ALL {
        let with = format!("\"striped+{}\"", suffix.name());
        let volumes = with_status(PLAIN).replace("\"striped\"", &with);
        let error = try_to(&volumes, "vg0/lv", Access::ReadOnly).expect_err(suffix.name());
        assert!(error.to_string().contains("has a suffix"), "{error}");
    }
}

/// Of a move, what is copied whole is read from its new place, and the rest from the old one.
#[test]
fn a_move_is_read_where_it_is_right() {
    const EXTENT: u64 = 1 << 20;
    for (moved, expected) in [(0, 0x11), (1, 0x11), (2, 0x22)] {
        let folder = Folder::new();
        folder.disk("a0.img", &heads()[0]);
        let volumes = lv("lv", PLAIN, "", &linear_at(0).replace("pv0", "pvmove0"))
            + &sample(Condition::Move)
                .replacen("lv {", "pvmove0 {", 1)
                .replace("extents_moved = 0", &format!("extents_moved = {moved}"));
        folder.rewrite("a0.img", |_| text(&volumes));
        for (extent, byte) in [(0, 0x11), (9, 0x22)] {
            folder.write("a0.img", (1 + extent) * EXTENT, &[byte; 512]);
        }
        let active = activate(&folder.scan(), "vg0/lv", Options::default()).expect("is read");
        let mut device = block::BlockingDevice::open(&active.volume).expect("opens");
        let bytes = device.read(block::Range::new(0, 512)).expect("reads");
        assert_eq!(bytes[7], expected, "{moved} extents are moved");
    }
}
