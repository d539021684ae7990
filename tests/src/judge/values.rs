//! Values of options, and names: mostly such as make sense, some that are wrong.
//!
//! Kinds are those that stock prints (`Size[m|UNIT]`, `VG|LV|Tag`). Paths lie in the bench's folder
//! or nowhere; devices are the bench's or do not exist.

use super::forms::Choice;
use super::random::Random;

/// What a line may name.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    pub(super) groups: Vec<String>,
    /// `group/volume`, also hidden ones.
    pub(super) volumes: Vec<String>,
    pub(super) tags: Vec<String>,
    /// Nodes of the disks that are there.
    pub(super) disks: Vec<String>,
    /// Identities of groups, volumes and disks.
    pub(super) ids: Vec<String>,
    /// Where files may be written.
    pub(super) folder: String,
}

/// So many values of a hundred are wrong on purpose.
const ODD: usize = 20;
const NO_DEVICE: &str = "/dev/nothing";

const SIZES: &[&str] = &[
    "4m", "8m", "12M", "1", "16", "4k", "64k", "128k", "1m", "2m", "32m", "100s", "4096b", "1g",
    "64", "8",
];
const ODD_SIZES: &[&str] = &[
    "0",
    "-1",
    "-4m",
    "+4m",
    "",
    "4x",
    "4mm",
    "m",
    "0.5m",
    "1.5",
    "4 m",
    "9999999999999999p",
    "18446744073709551616",
    "3k",
    "513b",
    "1e",
    "1r",
    "0x10",
    "4m,8m",
    "1g1m",
];
const NUMBERS: &[&str] = &["1", "2", "3", "4", "8", "16", "0"];
const ODD_NUMBERS: &[&str] = &[
    "-1",
    "+1",
    "",
    "x",
    "1x",
    "99999999999999999999",
    "4294967296",
    "1.5",
    "2147483648",
    "00",
    "65536",
    "255",
];
const PERCENTS: &[&str] = &[
    "1",
    "2",
    "3",
    "50%FREE",
    "100%FREE",
    "10%VG",
    "50%PVS",
    "30%vg",
    "10%free",
    "25%ORIGIN",
];
const ODD_PERCENTS: &[&str] = &[
    "0",
    "-1",
    "5%",
    "%FREE",
    "200%FREE",
    "100%VG",
    "5%foo",
    "0%FREE",
    "",
    "1k",
    "+1",
    "50%ORIGINS",
    "99999999999",
    "1.5",
];
const ODD_NAMES: &[&str] = &[
    "missing",
    "vg/missing",
    "missing/a",
    "",
    "-",
    ".",
    "..",
    "a b",
    "vg//a",
    "/dev/vg",
    "/vg/a",
    "/dev/vg/a",
    "vg/a/b",
    "@",
    "@t",
    "@nobody",
    "snapshot0",
    "pvmove0",
    "lv_tmeta",
    "é",
    "a:b",
    "vg/a_rimage_0",
    "/dev/missing/a",
    "//",
    "+a",
    "#x",
];
const FIELDS: &[&str] = &[
    "vg_name,lv_name",
    "all",
    "+lv_tags",
    "pv_all",
    "vg_all",
    "lv_all",
    "seg_all",
    "+devices",
    "name",
    "uuid",
    "pv_name,vg_name",
    "vg_attr,lv_attr",
    "size,free",
    "+seg_pe_ranges",
    "-attr",
    "lv_layout,lv_role",
    "+vg_seqno,vg_tags",
    "pvseg_all",
    "pv_used,pv_mda_count",
    "#lv_tags",
];
const ODD_FIELDS: &[&str] = &[
    "help",
    "bogus",
    "",
    ",",
    "+",
    "vg_name,,lv_name",
    "lv_",
    "-bogus",
];
const SORTS: &[&str] = &[
    "name",
    "-size",
    "vg_name,lv_name",
    "lv_size,-lv_name",
    "pv_name",
    "-pv_size",
];
const SELECTS: &[&str] = &[
    "lv_size>4m",
    "name=~a",
    "vg_name=vg",
    "lv_tags=t",
    "size>=1g",
    "vg_name=~.*",
    "pv_name=~loop",
    "lv_name=a||lv_name=b",
    "vg_tags={t}",
    "lv_attr=~^-",
    "!(lv_size=4m)",
    "segtype=linear",
    "vg_extent_size=4m",
    "lv_active=active",
    "pv_free>0",
];
const ODD_SELECTS: &[&str] = &[
    "",
    "bogus=1",
    "lv_size",
    "lv_size>",
    "(lv_size>1",
    "lv_size>x",
    "name=~[",
    "help",
    "&&",
    "lv_name=a extra",
    "lv_size=~4",
];
const UNITS: &[&str] = &[
    "b", "k", "m", "g", "h", "r", "s", "H", "K", "3k", "t", "4m", "R",
];
const ODD_UNITS: &[&str] = &[
    "x",
    "",
    "kk",
    "0k",
    "-1k",
    "1",
    "hh",
    "1.5m",
    "99999999999999e",
];
const TYPES: &[&str] = &[
    "linear",
    "striped",
    "mirror",
    "raid1",
    "raid0",
    "raid4",
    "raid5",
    "raid6",
    "raid10",
    "thin",
    "thin-pool",
    "snapshot",
    "zero",
    "error",
    "cache",
    "cache-pool",
    "raid5_ls",
    "bogus",
    "",
    "Linear",
    "raid",
    "raid0_meta",
    "writecache",
    "vdo",
];
const CONFIGS: &[&str] = &[
    "global/units=k",
    "report/aligned=0",
    "log/prefix=\"\"",
    "devices/pv_min_size=512",
    "report/separator=\":\"",
    "global/suffix=0",
    "backup/backup=1",
    "bogus/x=1",
    "x",
    "",
    "allocation/cling_tag_list=[\"@*\"]",
    "report/headings=0",
    "global{units=m}",
    "global/units=1",
];

/// A value for an option, or none where it takes none.
pub(super) fn of(choice: &Choice, names: &Names, random: &mut Random) -> Option<String> {
    let kind = choice.takes.as_deref()?;
    let odd = random.percent(ODD);
    let pair = match choice.long.as_str() {
        "options" => (FIELDS, ODD_FIELDS),
        "sort" => (SORTS, ODD_FIELDS),
        "select" => (SELECTS, ODD_SELECTS),
        "units" => (UNITS, ODD_UNITS),
        "type" if odd => (TYPES, TYPES),
        "config" => (CONFIGS, CONFIGS),
        "systemid" => (&["host1", "", "other"][..], &["a b", "@x", "localhost"][..]),
        "separator" => (&[":", ",", " "][..], &["", "::", "a", "'"][..]),
        "lockopt" | "journal" => (&["auto", "command", "all"][..], &["bogus", ""][..]),
        "locktype" => (&["none", "sanlock", "dlm"][..], &["bogus", ""][..]),
        "settings" => (
            &["mda_num=1", "mda_offset=4096 mda_size=1044480", "seqno=2"][..],
            &["", "x", "mda_offset=0"][..],
        ),
        "file" | "restorefile" => return Some(file(names, random)),
        "uuid" => return Some(id(names, random)),
        "name" | "basevgname" if kind == "String" => return Some(new_name(random)),
        _ => return Some(kind_of(kind, names, random, odd)),
    };
    Some(random.pick(if odd { pair.1 } else { pair.0 }).to_owned())
}

/// A name that follows.
pub(super) fn operand(what: &str, names: &Names, random: &mut Random) -> String {
    let odd = random.percent(ODD / 2);
    kind_of(what, names, random, odd)
}

fn kind_of(kind: &str, names: &Names, random: &mut Random, odd: bool) -> String {
    for (sign, signs) in [
        ("[+|-]", &["+", "-", ""][..]),
        ("[+]", &["+", ""]),
        ("[-]", &["-", ""]),
    ] {
        if let Some(rest) = kind.strip_prefix(sign) {
            let sign = random.pick(signs);
            return format!("{sign}{}", kind_of(rest, names, random, odd));
        }
    }
    let (good, bad) = match kind {
        _ if kind.starts_with("Size") => (SIZES, ODD_SIZES),
        _ if kind.starts_with("Number[PERCENT") => (PERCENTS, ODD_PERCENTS),
        _ if kind.starts_with("[Number]") => (UNITS, ODD_UNITS),
        "Number" => (NUMBERS, ODD_NUMBERS),
        "y|n" => (&["y", "n"][..], &["", "x", "yes", "1", "0", "Y", "yy"][..]),
        _ => return named(kind, names, random, odd),
    };
    random.pick(if odd { bad } else { good }).to_owned()
}

/// One of several kinds, or a name, or a word that stands for itself.
fn named(kind: &str, names: &Names, random: &mut Random, odd: bool) -> String {
    if odd {
        return match random.below(8) {
            0 => "n".repeat(if random.percent(50) { 127 } else { 128 }),
            1 => id(names, random),
            _ => random.pick(ODD_NAMES).to_owned(),
        };
    }
    let kinds: Vec<&str> = kind.split('|').filter(|one| *one != "Select").collect();
    let kind = random.pick(&kinds);
    let or = |list: &[String], other: &str, random: &mut Random| {
        let list: Vec<&str> = list.iter().map(String::as_str).collect();
        if list.is_empty() {
            other.to_owned()
        } else {
            random.pick(&list).to_owned()
        }
    };
    match kind {
        "VG_new" | "LV_new" if random.percent(80) => new_name(random),
        "VG" | "VG_new" => or(&names.groups, "vg", random),
        "Tag" if random.percent(60) => format!("@{}", or(&names.tags, "t", random)),
        "Tag" => or(&names.tags, "t", random),
        "String" => new_name(random),
        "Number" => random.pick(NUMBERS).to_owned(),
        _ if kind.starts_with("PV") => disk(kind, &or(&names.disks, NO_DEVICE, random), random),
        _ if kind.starts_with("LV") => {
            let full = or(&names.volumes, "vg/a", random);
            match random.below(6) {
                0 => format!("/dev/{full}"),
                1 => full.rsplit('/').next().unwrap_or_default().to_owned(),
                _ => full,
            }
        }
        word => word.to_owned(),
    }
}

/// A disk, sometimes with extents or a letter.
fn disk(kind: &str, node: &str, random: &mut Random) -> String {
    if kind.contains('[') {
        return format!("{node}{}", random.pick(&["", ":y", ":n", ":t", ":x"]));
    }
    let ranges = [
        ":0", ":0-3", ":1+2", ":5-", ":3-1", ":999", ":x", ":0-1:4-5",
    ];
    match random.below(12) {
        0 => format!("{node}{}", random.pick(&ranges)),
        1 => NO_DEVICE.to_owned(),
        _ => node.to_owned(),
    }
}

fn new_name(random: &mut Random) -> String {
    let names = [
        "new", "vgnew", "lvnew", "new2", "a", "vg/new", "n_1", "lvol7", "x", "vg", "t", "abc.d",
    ];
    random.pick(&names).to_owned()
}

fn id(names: &Names, random: &mut Random) -> String {
    let other = "abcdef-0000-1111-2222-3333-4444-abcdef";
    let ids: Vec<&str> = names.ids.iter().map(String::as_str).collect();
    match random.below(6) {
        0 => other.replace('-', ""),
        1 | 2 => other.to_owned(),
        3 => "bogus".to_owned(),
        _ if ids.is_empty() => other.to_owned(),
        _ => random.pick(&ids).to_owned(),
    }
}

/// Files that lines may read or write: in the bench's folder, and none.
fn file(names: &Names, random: &mut Random) -> String {
    let name = random.pick(&[
        "group.vg",
        "group.vg",
        "group.vg",
        "new.vg",
        "missing/x",
        "%s.vg",
        "empty",
    ]);
    format!("{}/{name}", names.folder)
}
