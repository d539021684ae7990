//! Reports and displays of RAID volumes, field by field: beside stock on the same disks, and beside
//! what a stock kernel said of the arrays while they ran (`tests/fixtures/raid/NAME.view.txt`).
//!
//! Stock knows nothing of an array that is not active. Ashlar says of such a one what its
//! superblocks do, where something is not as it should be; what that is stands in `docs/raid.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tests::{Golden, RAID_SETS, RaidSet, Scratch, Tool, assert_root};

use crate::raid;
use crate::reports::{Bench, as_inactive};

/// What superblocks have a part in.
const LIVE: &str = "lv_name,lv_attr,copy_percent,sync_percent,raid_sync_action,\
    raid_mismatch_count,lv_health_status,lv_image_synced,data_offset,new_data_offset";

/// What the metadata say of RAID, in columns.
const TOLD: &str = "lv_name,segtype,lv_layout,lv_role,lv_parent,lv_size,stripes,data_stripes,\
    data_copies,parity_chunks,stripe_size,region_size,seg_start,seg_size_pe,devices,\
    metadata_devices,seg_pe_ranges,seg_le_ranges,seg_metadata_le_ranges,\
    raid_write_behind,raid_min_recovery_rate,raid_max_recovery_rate,raidintegritymode,\
    raidintegrityblocksize,integritymismatches,lv_initial_image_sync,lv_modules";

/// The fields of volumes by their names, as `|` separates them.
fn rows(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut rows = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.trim().split('|').map(str::to_owned);
        let name = words.next().expect("a name");
        let name = name.trim_matches(['[', ']']).to_owned();
        rows.insert(name, words.collect());
    }
    rows
}

fn report(tool: Tool, fields: &str) -> BTreeMap<String, Vec<String>> {
    let words = [
        "lvs",
        "-a",
        "--noheadings",
        "--separator",
        "|",
        "-o",
        fields,
    ];
    rows(&tool.args(words).succeed().text())
}

/// The program on these images, with a folder of its own for what is attached.
fn on(images: &[PathBuf], folder: &Path) -> Tool {
    raid::on(images, folder).env("ASHLAR_RUNTIME_DIR", folder.join("run"))
}

/// All that the metadata say is said as stock says it: of every level, in the middle of rebuilds
/// and reshapes, with all disks and without each.
#[test]
fn what_the_metadata_say_is_reported_as_stock_reports_it() {
    let lines = [
        format!("lvs -a --segments -o {TOLD}"),
        format!("lvs -a -o {TOLD} --reportformat json"),
        "lvs --segments -o lv_name,segtype,devices,seg_pe_ranges,stripe_size".to_owned(),
        "pvs --segments -o +lv_name,seg_start_pe,segtype".to_owned(),
        "pvdisplay -m".to_owned(),
        "lvdisplay -a -m".to_owned(),
        "vgs -o vg_all".to_owned(),
        "vgdisplay -v".to_owned(),
    ];
    for name in RAID_SETS {
        let set = RaidSet::shared(name);
        let all = set.images().len();
        let without: &[&[usize]] = match *name {
            "levels" => &[&[], &[0], &[1], &[4], &[7]],
            _ => &[&[], &[1]],
        };
        assert_eq!(all, 8, "{name}");
        for absent in without {
            let bench = Bench::raid(&set, absent);
            // Stock takes no disk for missing that holds nothing and is back.
            let is_back = |line: &&String| *name != "rebuild" || !line.starts_with(['p', 'v']);
            for line in lines.iter().filter(is_back) {
                bench.compare(line);
            }
            // Of an image stock looks for its array by what is in front of the first underscore.
            if !matches!(*name, "levels" | "integrity") {
                bench.compare("lvs -a --segments -o lv_name,reshape_len,reshape_len_le,seg_start");
            }
        }
    }
}

/// Of arrays with which all is well the rest is said as stock says it, too; of the others no more
/// differs than the columns about that.
#[test]
fn settled_arrays_are_reported_as_stock_reports_them() {
    for name in ["levels", "dirty"] {
        let bench = Bench::raid(&RaidSet::shared(name), &[]);
        bench.compare("lvs");
        bench.compare("lvs -a -v");
        bench.compare("lvs -a -o lv_all --reportformat json");
        bench.compare("lvscan");
    }
    for name in ["degraded", "rebuild", "resync", "reshape"] {
        let set = RaidSet::shared(name);
        let bench = Bench::raid(&set, &[]);
        let line = format!("lvs -a --noheadings --separator | -o {LIVE}");
        let (stock, ours) = bench.both(&line);
        let (stock, ours) = (rows(&as_inactive(&stock.text())), rows(&ours.text()));
        assert_eq!(
            ours.keys().collect::<Vec<_>>(),
            stock.keys().collect::<Vec<_>>()
        );
        let mut differing = 0;
        for (volume, expected) in &stock {
            let found = &ours[volume];
            assert_eq!(found.len(), expected.len(), "{volume}");
            // Letters but for health, what runs, mismatches, images.
            assert_eq!(found[0][..8], expected[0][..8], "{volume}");
            assert_eq!(found[0][9..], expected[0][9..], "{volume}");
            assert_eq!(found[3..5], expected[3..5], "{volume}: {found:?}");
            assert_eq!(found[6], expected[6], "{volume}: {found:?}");
            differing += usize::from(found != expected);
        }
        assert!(
            differing > 0,
            "{name}: there is more to say than stock does"
        );
    }
}

/// What is not as it should be is seen in the default columns, without anybody serving it.
#[test]
fn superblocks_are_told_of() {
    let folder = Scratch::new("raid-reports");
    let seen = |set: &RaidSet, fields: &str| report(on(&set.images(), folder.path()), fields);
    let fields = "lv_name,lv_attr,copy_percent,lv_health_status";
    let degraded = seen(&RaidSet::shared("degraded"), fields);
    for (name, found) in &degraded {
        let (array, part) = name.split_once("_r").unwrap_or((name, ""));
        let is_told = !array.starts_with("blind") && matches!(part, "" | "image_1" | "meta_1");
        let expected = if is_told {
            ('r', "refresh needed")
        } else {
            ('-', "")
        };
        let letter = found[0].chars().nth(8).expect("ten letters");
        assert_eq!((letter, found[2].as_str()), expected, "{name}: {found:?}");
        assert_eq!(found[1], "", "nothing of {name} is being copied");
    }
    for (set, arrays) in [("rebuild", 10), ("resync", 10), ("reshape", 8)] {
        let found = seen(&RaidSet::shared(set), fields);
        let copied = found.values().filter(|found| !found[1].is_empty());
        let share = |found: &Vec<String>| found[1].parse::<f64>().expect("a percentage");
        let shares: Vec<f64> = copied.map(share).collect();
        assert_eq!(shares.len(), arrays, "{set}: {found:?}");
        assert!(shares.iter().all(|share| *share > 0.0 && *share < 100.0));
        let letter = if set == "reshape" { 's' } else { '-' };
        let whole = found.iter().filter(|(name, _)| !name.contains("_r"));
        for (name, found) in whole {
            assert_eq!(found[0].chars().nth(8), Some(letter), "{name}: {found:?}");
        }
    }
    let moved = seen(
        &RaidSet::shared("reshape"),
        "lv_name,data_offset,new_data_offset",
    );
    for (name, found) in moved.iter().filter(|(name, _)| !name.contains("_r")) {
        let starts = [&found[0], &found[1]].map(|start| start.parse::<u64>());
        assert!(starts.iter().all(Result::is_ok), "{name}: {found:?}");
        assert_ne!(found[0], found[1], "{name} moves its data");
    }
    let select = [
        "lvs",
        "--noheadings",
        "-o",
        "lv_name",
        "-S",
        "copy_percent<100",
    ];
    let set = RaidSet::shared("rebuild");
    let text = on(&set.images(), folder.path())
        .args(select)
        .succeed()
        .text();
    assert_eq!(text.lines().count(), 10, "{text}");
}

/// Letters and health of a volume and its parts, from what the kernel's `lvs -a` said.
fn recorded(set: &str) -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/raid/{set}.view.txt"));
    let view = fs::read_to_string(path).expect("a view");
    let lines = view.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next()?.trim_matches(['[', ']']).to_owned();
        let attr = words.next().filter(|attr| attr.len() == 10)?;
        Some((name, attr.to_owned()))
    });
    lines.collect()
}

/// What is attached is shown as stock shows what the kernel runs: which image is in sync, how far
/// copying is, and all of it where nothing is copied.
#[test]
fn attached_arrays_are_shown_as_active_ones() {
    assert_root();
    let folder = Scratch::new("raid-attached");
    let cases = [
        ("rebuild", "repair5"),
        ("rebuild", "twice6"),
        ("resync", "full10"),
        ("levels", "raid5x6"),
        ("levels", "raid0_meta"),
    ];
    for (name, volume) in cases {
        let set = RaidSet::shared(name);
        let images = set.images();
        let volume_path = format!("{name}/{volume}");
        on(&images, folder.path())
            .args(["attach", "-r", &volume_path])
            .succeed();
        let fields = "lv_name,lv_attr,copy_percent,raid_sync_action,lv_image_synced,\
            raid_mismatch_count";
        let found = report(on(&images, folder.path()), fields);
        on(&images, folder.path())
            .args(["detach", &volume_path])
            .succeed();
        let expected = recorded(name);
        let parts = expected.iter().filter(|(known, _)| {
            let rest = known.strip_prefix(volume);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("_rimage"))
        });
        let mut count = 0;
        for (part, attr) in parts {
            let row = &found[part];
            let (ours, theirs) = (row[0].as_bytes(), attr.as_bytes());
            // It is only read, and always open.
            assert_eq!(
                (ours[0], ours[4]),
                (theirs[0], theirs[4]),
                "{part}: {row:?}"
            );
            assert_eq!(
                (ours[6], ours[8]),
                (theirs[6], theirs[8]),
                "{part}: {row:?}"
            );
            let is_synced = if ours[0] == b'i' { "image synced" } else { "" };
            assert_eq!(row[3], is_synced, "{part}: {row:?}");
            // No check has run since it was activated.
            let is_counted = if part == volume { "0" } else { "" };
            assert_eq!(row[4], is_counted, "{part}: {row:?}");
            count += 1;
        }
        assert!(count > 2, "{volume} has images");
        let row = &found[volume];
        assert_eq!(row[2], "idle", "{row:?}");
        match name {
            "levels" if volume == "raid0_meta" => assert_eq!(row[1], "", "{row:?}"),
            "levels" => assert_eq!(row[1], "100.00", "{row:?}"),
            _ => assert!(row[1].parse::<f64>().is_ok_and(|share| share < 100.0)),
        }
    }
}

/// `explain` pictures every array, says how its images are, and counts what requests cost: by the
/// arithmetic of books where it is whole, and as it is without a disk.
#[test]
fn arrays_are_explained() {
    let (golden, folder) = (Golden::shared(), Scratch::new("raid-explained"));
    let images = golden.images();
    let explain = |images: &[PathBuf], name: &str| {
        let tool = on(images, folder.path()).args(["explain", name]);
        tool.succeed().text()
    };
    let line = |text: &str, head: &str| -> String {
        let mut lines = text.lines().map(str::trim_start);
        let line = lines.find(|line| line.starts_with(head));
        let line = line.unwrap_or_else(|| panic!("{head} in {text}"));
        line[head.len()..]
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (name, write) in [
        ("raid1", "0 + 2, 8 KiB"),
        ("raid1x3", "0 + 3, 12 KiB"),
        ("raid4", "1 + 2, 12 KiB"),
        ("raid5", "1 + 2, 12 KiB"),
        ("raid5_la", "1 + 2, 12 KiB"),
        ("raid6", "2 + 3, 20 KiB"),
        ("raid10", "0 + 2, 8 KiB"),
    ] {
        let text = explain(&images, &format!("vg0/{name}"));
        assert!(
            text.contains("in sync") && !text.contains("missing"),
            "{text}"
        );
        let cost = line(&text, "write 4 KiB ");
        assert!(cost.starts_with(write), "{name}: {cost} in {text}");
        assert!(
            line(&text, "read 4 KiB ").starts_with("1 + 0, 4 KiB"),
            "{text}"
        );
    }
    let five = RaidSet::shared("levels");
    let whole = explain(&five.images(), "levels/raid5x6");
    assert!(
        line(&whole, "write 4 KiB ").starts_with("2 + 2, 16 KiB"),
        "{whole}"
    );
    assert!(line(&whole, "rows ").starts_with("0 1 2 3 4 P"), "{whole}");
    let wide = explain(&five.images(), "levels/raid6_wide");
    assert!(
        line(&wide, "write 4 KiB ").starts_with("3 + 3, 24 KiB"),
        "{wide}"
    );
    let row = line(&wide, "write 2 MiB, a row ");
    assert!(row.starts_with("0 + 6, 3 MiB"), "{wide}");
    // Without the second disk, as it is then: a column of its own.
    let left: Vec<PathBuf> = [&images[..1], &images[2..]].concat();
    let text = explain(&left, "vg0/raid5");
    assert!(
        text.contains("raid5_rimage_1 on") && text.contains(": missing"),
        "{text}"
    );
    let read = line(&text, "read 4 KiB ");
    assert_eq!(read, "1 + 0, 4 KiB 1.33 + 0, 5.3 KiB 1.33 + 0, 5.3 KiB");
    let load = [
        "explain",
        "vg0/raid5",
        "--workload",
        "randrw:4k:depth=1",
        "--json",
    ];
    let json = on(&left, folder.path()).args(load).succeed().text();
    assert!(json.contains("\"level\":\"raid5"), "{json}");
    assert_eq!(
        json.matches("\"now\":{").count(),
        json.matches("\"whole\":{").count()
    );
    // What keeps no state is striped, and predicted as such.
    let zero = ["explain", "vg0/raid0", "--workload", "randread:4k:depth=1"];
    let text = on(&images, folder.path()).args(zero).succeed();
    assert!(text.text().contains("stripes of"), "{}", text.text());
}
