//! Moves of extents that we began, ended by stock LVM2 on a stock kernel; and stock's own, as we
//! understand them.
//!
//! ```text
//!   here      groups are made and filled; of some a move is begun, and its first piece copied
//!   the boot  stock takes our texts, and begins moves in the other groups; each group says what it
//!             holds; then stock ends every move, or aborts it
//!   here      each move ends as it does for us, and nothing that the groups hold has changed
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use lvm2::model::{AllocationPolicy, Area, Place, Segment, VolumeGroup, from_text, to_text};
use lvm2::plan::Author;
use lvm2::plan::physical::{MoveMode, MoveRequest, abort_move, begin_move, moves, piece_moved};
use lvm2::plan::places::Places;
use lvm2::text::{Style, parse};
use lvm2::{Extents, Uuid};
use tests::{Kernel, Outcome, Scratch, sha256};

use super::group::{Group, file, images, pattern};

const MIB: u64 = 1 << 20;
/// Disks of each group; extents are moved away from the first one.
const DISKS: usize = 4;

/// Whose move it is, how it goes on, and how it ends.
struct Case {
    group: &'static str,
    is_ours: bool,
    mode: MoveMode,
    is_aborted: bool,
}

const fn case(group: &'static str, is_ours: bool, mode: MoveMode, is_aborted: bool) -> Case {
    Case {
        group,
        is_ours,
        mode,
        is_aborted,
    }
}

const CASES: [Case; 8] = [
    case("ours_ended", true, MoveMode::Pieces, false),
    case("ours_aborted", true, MoveMode::Pieces, true),
    case("ours_whole_ended", true, MoveMode::Atomic, false),
    case("ours_whole_aborted", true, MoveMode::Atomic, true),
    case("stock_ended", false, MoveMode::Pieces, false),
    case("stock_aborted", false, MoveMode::Pieces, true),
    case("stock_whole_ended", false, MoveMode::Atomic, false),
    case("stock_whole_aborted", false, MoveMode::Atomic, true),
];

/// What is looked into, with its size in MiB.
const VOLUMES: [(&str, u64); 6] = [("a", 8), ("b", 3), ("s", 8), ("m", 4), ("o", 4), ("o1", 4)];

/// `begin GROUP PV` and `end GROUP PV` with more options; `look` and `say` tell the test.
const SCRIPT: &str = r#"
set -e
modprobe -a dm_mirror dm_snapshot
say() { echo "--- $1 $2"; vgcfgbackup -f /tmp/text $1 >/dev/null; cat /tmp/text; echo "---"; }
look() { for volume in a b s m o o1; do collect $1/$volume/$2 /dev/$1/$volume; done; }
stop() { for one in $(ps | grep '[p]vmove' | awk '{print $1}'); do kill -9 $one || true; done; }
take() { vgcfgrestore -f /job/$1.cfg $1; vgck $1; vgchange -ay --poll n $1; }
begin() { vgchange -ay --poll n $1; shift; pvmove -b -i +1000 "$@"; }
middle() { lvs -a -o name,attr,move_pv,devices $1; say $1 middle; look $1 middle; }
end() { group=$1; shift; pvmove -i 1 "$@"; vgck $group; say $group end; look $group end; }
"#;

/// What a group is made of: linear volumes, one of two segments; stripes; a mirror; a snapshot.
fn make(scratch: &Scratch, name: &'static str) -> Group {
    let group = Group::create(name, images(scratch, name, DISKS, 40));
    let first = &names(&group)[..];
    let volume = |words: &str, disks: &[usize]| {
        let words = words.split(' ');
        let tool = group
            .ashlar_on(first)
            .args(words.map(|word| word.replace("VG", name)));
        tool.args(disks.iter().map(|disk| &first[*disk])).succeed();
    };
    volume("lvcreate -y -n a -L 6m VG", &[0]);
    volume("lvcreate -y -n b -L 3m VG", &[0]);
    volume("lvextend -y -L 8m VG/a", &[0]);
    volume("lvcreate -y -n s -i 2 -L 8m VG", &[0, 1]);
    volume(
        "lvcreate -y -n m --type mirror -m 1 --mirrorlog disk -L 4m VG",
        &[0, 1, 2],
    );
    volume("lvcreate -y -n o -L 4m VG", &[0]);
    volume("lvcreate -y -s -n o1 -L 6m -c 4k VG/o", &[1]);
    for (volume, mib) in VOLUMES.iter().filter(|(volume, _)| *volume != "o1") {
        let bytes = pattern(&format!("{name}/{volume}"), mib * MIB);
        group.fill(volume, &file(scratch, &format!("{name}-{volume}"), &bytes));
    }
    group
}

fn names(group: &Group) -> Vec<String> {
    let images = group.images.iter();
    images.map(|image| image.display().to_string()).collect()
}

/// The group as its text says.
fn model(scratch: &Scratch, group: &Group) -> VolumeGroup {
    let text = scratch.join(format!("{}-text", group.name));
    let tool = group.ashlar_on(&names(group)).args(["vgcfgbackup", "-f"]);
    tool.arg(&text).arg(group.name).succeed();
    read(&std::fs::read(&text).expect("it was written"))
}

fn read(text: &[u8]) -> VolumeGroup {
    from_text(&parse(text).expect("it parses")).expect("it is a group")
}

fn by_author<T>(act: impl FnOnce(&mut Author<'_>) -> T) -> T {
    let mut number = 0;
    let mut uuids = || {
        number += 1;
        format!("{number:0>32}")
            .parse()
            .expect("digits are letters")
    };
    act(&mut Author {
        generator: "Ashlar".to_owned(),
        description: "a test".to_owned(),
        host: "tester".to_owned(),
        host_detail: None,
        time: 1_795_000_000,
        uuids: &mut uuids,
    })
}

/// Begins a move in pieces of three extents. The first piece of one that goes in pieces is moved:
/// its target holds the data, and its source something else.
fn begin(group: &Group, vg: &VolumeGroup, mode: MoveMode) -> VolumeGroup {
    let find = |key: &str| vg.pvs().find(|(_, pv)| pv.key == key).map(|(pv, _)| pv);
    let source = Places::parse(vg, &["pv0"], find).expect("it is there");
    let request = MoveRequest {
        source: &source,
        volume: None,
        targets: None,
        policy: None,
        mode,
        piece_max: Extents(3),
        region_size: None,
    };
    let (change, mover) = by_author(|author| begin_move(vg, &request, author)).expect("it can");
    let begun = change.vg().expect("a group").clone();
    if mode == MoveMode::Atomic {
        return begun;
    }
    let id = begun.lv_by_uuid(&mover).expect("it is there");
    let piece = &begun.lv(id).segments[0];
    let [from, to] = [0, 1].map(|copy| place(group, &begun, piece.areas()[copy]));
    let mut bytes = vec![0; (piece.length.0 * MIB) as usize];
    let open = |image: &Path| File::options().read(true).write(true).open(image);
    let source = open(from.0).expect("the image");
    source
        .read_exact_at(&mut bytes, from.1)
        .expect("it lies within");
    let target = open(to.0).expect("the image");
    target.write_all_at(&bytes, to.1).expect("it lies within");
    source
        .write_all_at(&vec![0xee; bytes.len()], from.1)
        .expect("it lies within");
    let change = by_author(|author| piece_moved(&begun, &mover, Extents(0), author));
    change.expect("it is moved").vg().expect("a group").clone()
}

/// The image on which an area lies, and where.
fn place<'a>(group: &'a Group, vg: &VolumeGroup, area: Area) -> (&'a Path, u64) {
    let Area::Pv { pv, start } = area else {
        panic!("{area:?} is no extent");
    };
    let sectors = vg
        .pv(pv)
        .extent_start(start, vg.extent_size)
        .expect("a place");
    (&group.images[pv.index()], sectors.0 * 512)
}

/// How a move ends by our plans.
fn end(vg: &VolumeGroup, mover: &Uuid, is_aborted: bool) -> VolumeGroup {
    if is_aborted {
        let change = by_author(|author| abort_move(vg, mover, author));
        return change
            .expect("it is aborted")
            .vg()
            .expect("a group")
            .clone();
    }
    let mut vg = vg.clone();
    while let Some(one) = moves(&vg).into_iter().find(|one| one.uuid == *mover) {
        let start = one.running.expect("there is a piece").start;
        let change = by_author(|author| piece_moved(&vg, mover, start, author));
        vg = change.expect("it is moved").vg().expect("a group").clone();
    }
    vg
}

/// The volumes with their flags and segments, by name.
fn shape(vg: &VolumeGroup) -> Vec<String> {
    let area = |area: &Area| match area {
        Area::Pv { pv, start } => format!("{}:{}", vg.pv(*pv).key, start.0),
        Area::Lv { lv, start } => format!("{}:{}", vg.lv(*lv).name(), start.0),
    };
    let segment = |one: &Segment| {
        let moved = match &one.kind {
            lvm2::model::SegmentType::Mirror(mirror) => mirror.extents_moved,
            _ => None,
        };
        let areas: Vec<String> = one.areas().iter().map(area).collect();
        let (start, length) = (one.start.0, one.length.0);
        let kind = one.type_name();
        format!("{start}+{length} {kind} {} {moved:?}", areas.join(" "))
    };
    let mut lines: Vec<String> = vg
        .lvs()
        .map(|(_, lv)| {
            let flags: Vec<&str> = lv.flags.names(Place::Status).collect();
            let segments: Vec<String> = lv.segments.iter().map(segment).collect();
            let policy = lv.allocation.map(AllocationPolicy::name);
            format!(
                "{} {flags:?} {policy:?}: {}",
                lv.name(),
                segments.join(", ")
            )
        })
        .collect();
    lines.sort();
    lines
}

/// The texts that stock said, by group and moment.
fn texts(outcome: &Outcome) -> BTreeMap<(String, String), VolumeGroup> {
    let mut found = BTreeMap::new();
    let mut current: Option<((String, String), String)> = None;
    for line in outcome.output.lines() {
        match line.strip_prefix("---").map(str::trim) {
            Some("") => {
                let (key, text) = current.take().expect("one was begun");
                found.insert(key, read(text.as_bytes()));
            }
            Some(key) => {
                let (group, moment) = key.split_once(' ').expect("two words");
                current = Some(((group.to_owned(), moment.to_owned()), String::new()));
            }
            None => {
                if let Some((_, text)) = &mut current {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
    }
    found
}

#[test]
fn moves_go_on_on_the_other_side() {
    // Proves, in one boot: moves that we began, in pieces or as a whole, with pieces that are moved
    // already, are taken by stock as they are, and ended or aborted as we would; the volumes hold
    // what they held, under way and afterwards. Moves that stock began are listed by us, and ended
    // and aborted as it does.
    let scratch = Scratch::new("kernel-moves");
    let mut machine = Kernel::new("moves");
    let mut lines = vec![SCRIPT.to_owned()];
    let mut begun = BTreeMap::new();
    for (number, case) in CASES.iter().enumerate() {
        let group = make(&scratch, case.group);
        let vg = model(&scratch, &group);
        let (name, source) = (case.group, Kernel::device(number * DISKS));
        let atomic = if case.mode == MoveMode::Atomic {
            "--atomic"
        } else {
            ""
        };
        if case.is_ours {
            let moving = begin(&group, &vg, case.mode);
            machine = machine.file(&format!("{name}.cfg"), &to_text(&moving, Style::Backup));
            begun.insert(name, moving);
            lines.push(format!("take {name}; middle {name}"));
        } else {
            lines.push(format!(
                "begin {name} {atomic} {source}; middle {name}; stop"
            ));
        }
        let abort = if case.is_aborted { "--abort" } else { "" };
        lines.push(format!("end {name} {abort} {source}"));
        machine = machine.disks(&group.images);
    }
    let outcome = machine.succeed(&lines.join("\n"));
    let texts = texts(&outcome);
    for case in &CASES {
        let text = |moment: &str| &texts[&(case.group.to_owned(), moment.to_owned())];
        let middle = text("middle");
        if case.is_ours {
            assert_eq!(shape(middle), shape(&begun[case.group]), "{}", case.group);
        }
        let [one] = &moves(middle)[..] else {
            panic!("{}: {outcome}", case.group);
        };
        let keys = one.sources.iter().map(|pv| &middle.pv(*pv).key[..]);
        assert_eq!(
            (keys.collect::<Vec<_>>(), one.mode),
            (vec!["pv0"], case.mode)
        );
        let expected = end(middle, &one.uuid, case.is_aborted);
        assert_eq!(
            shape(text("end")),
            shape(&expected),
            "{}: {outcome}",
            case.group
        );
        for (volume, mib) in VOLUMES {
            // The snapshot is older than what its origin holds.
            let bytes = match volume {
                "o1" => vec![0; (mib * MIB) as usize],
                _ => pattern(&format!("{}/{volume}", case.group), mib * MIB),
            };
            for moment in ["middle", "end"] {
                let name = format!("{}/{volume}/{moment}", case.group);
                assert_eq!(
                    outcome.collected[&name].sha256,
                    sha256(&bytes),
                    "{name}: {outcome}"
                );
            }
        }
    }
}
