//! What a change writes beside the metadata, and what it keeps of it in files.

use lvm2::Bytes;
use lvm2::ondisk::{AreaUse, Label, PvUse};
use lvm2::plan::group::{GroupAttribute, change_group};
use lvm2::plan::{AreaChange, Before, Change, Piece};

use super::bench::{Bench, in_group};
use crate::apply::backup::{archive, backup, forget};
use crate::apply::{Quiet, Request, find_pv};
use crate::host::Config;
use crate::scan::Scan;
use crate::{Error, Kind};

const MIB: u64 = 1 << 20;

/// The group once more, as a next version.
fn again(scan: &Scan, author: &mut lvm2::plan::Author<'_>) -> crate::Result<Change> {
    let group = scan.find_group("vg0")?;
    let changes = [GroupAttribute::AddTag("again")];
    Ok(change_group(&group.model, &changes, &[], author)?)
}

/// Before the commit pieces are copied, filled and written, on their own disks, to the last byte
/// and no further, whatever their places and however long they are.
#[test]
fn contents_are_written_where_they_belong() {
    let bench = Bench::new();
    bench.create_group();
    let scan = bench.scan();
    let uuid = |disk| {
        scan.pv(find_pv(&scan, &bench.name(disk)).expect("is there"))
            .uuid
    };
    let on = |disk, start, length| Piece {
        pv: uuid(disk),
        start: Bytes(start),
        length: Bytes(length),
    };
    let (a, b) = ("disks/a.img", "disks/b.img");
    let (start, length) = (8 * MIB, 2 * MIB + 1536);
    for disk in [a, b] {
        bench
            .folder
            .write(disk, 4 * MIB, &vec![9; 28 * MIB as usize]);
    }
    bench.folder.write(a, 5 * MIB, &vec![0; MIB as usize]);
    let fill = |byte, piece| Before::Fill {
        pieces: vec![piece],
        byte,
    };
    let steps = [
        fill(7, on(b, start + 1, length)),
        fill(0, on(a, start, length)),
        fill(0, on(a, 12 * MIB + 3, 700)),
        Before::Write {
            piece: on(b, 16 * MIB, 3),
            bytes: vec![1, 2, 3],
        },
        // Zeros between others.
        Before::Copy {
            from: on(a, 4 * MIB, 3 * MIB - 512),
            to: on(a, 20 * MIB, 3 * MIB - 512),
        },
    ];
    bench
        .change(&in_group("fill"), &mut Quiet::yes(), |scan, author| {
            let mut change = again(scan, author)?;
            change.before.extend(steps.iter().cloned());
            Ok(change.into())
        })
        .expect("is written");
    let mut wanted = [a, b].map(|_| vec![9; 28 * MIB as usize]);
    let mut put = |disk: usize, start: u64, length: u64, byte: u8| {
        let start = (start - 4 * MIB) as usize;
        wanted[disk][start..start + length as usize].fill(byte);
    };
    put(1, start + 1, length, 7);
    put(0, start, length, 0);
    put(0, 12 * MIB + 3, 700, 0);
    for byte in 1..4 {
        put(1, 16 * MIB + u64::from(byte) - 1, 1, byte);
    }
    put(0, 5 * MIB, MIB, 0);
    put(0, 21 * MIB, MIB, 0);
    for (disk, wanted) in [a, b].into_iter().zip(wanted) {
        let bytes = std::fs::read(bench.folder.path(disk)).expect("is read");
        assert!(
            bytes[4 * MIB as usize..32 * MIB as usize] == wanted,
            "{disk}"
        );
    }
}

/// What is to be filled on a disk that is not there ends the change before its commit.
#[test]
fn contents_of_missing_disks_are_refused() {
    let bench = Bench::new();
    bench.create_group();
    let piece = Piece {
        pv: lvm2::Uuid::from_random(&[1; 32]),
        start: Bytes(8 * MIB),
        length: Bytes(512),
    };
    let filled = bench.change(&in_group("fill"), &mut Quiet::yes(), |scan, author| {
        let mut change = again(scan, author)?;
        let pieces = vec![piece];
        change.before.push(Before::Fill { pieces, byte: 0 });
        Ok(change.into())
    });
    let error = filled.expect_err("is missing");
    assert_eq!(error.kind(), Kind::Missing, "{error}");
    assert_eq!(bench.scan().find_group("vg0").expect("is there").seqno, 1);
}

/// A group is not written where none of its members has an area for it, whatever other disks have.
#[test]
fn the_last_areas_are_not_set_aside() {
    let bench = Bench::new();
    bench.folder.disk("disks/c.img", &[]);
    bench
        .create_pvs_of(
            &["disks/a.img", "disks/b.img", "disks/c.img"],
            &mut Quiet::yes(),
        )
        .expect("are made");
    bench.create_group_of_pvs();
    let set_aside = |disks: &[&str]| -> Result<(), Error> {
        let request = Request {
            changes_pvs: true,
            ..in_group("pvchange --metadataignore y")
        };
        let done = bench.change(&request, &mut Quiet::yes(), |scan, author| {
            let mut change = again(scan, author)?;
            for disk in disks {
                let pv = scan.pv(find_pv(scan, &bench.name(disk))?).uuid;
                let (area, usage) = (0, AreaUse::Ignored);
                change.areas.push(AreaChange { pv, area, usage });
            }
            Ok(change.into())
        });
        done.map(drop)
    };
    let error = set_aside(&["disks/a.img", "disks/b.img"]).expect_err("are the last");
    assert_eq!(error.kind(), Kind::Missing);
    let text = error.to_string();
    assert!(
        text.contains("Nowhere to store metadata for volume group vg0"),
        "{text}"
    );
    set_aside(&["disks/a.img"]).expect("one is left");
    assert_eq!(bench.scan().find_group("vg0").expect("is there").seqno, 2);
}

/// A label keeps the size that it says, whatever the text does, as by stock: `pvresize` changes the
/// text alone.
#[test]
fn the_next_change_keeps_sizes_of_labels() {
    let bench = Bench::new();
    bench.create_group();
    let sizes = || {
        let scan = bench.scan();
        let pvs = scan.physical_volumes.iter();
        pvs.map(|pv| (pv.header.device_size, pv.header.usage()))
            .collect::<Vec<_>>()
    };
    let before = sizes();
    let head = std::fs::read(bench.folder.path("disks/b.img")).expect("is read");
    let mut label = Label::scan(&head[..2048]).label.expect("is there");
    label.pv.device_size = Bytes(64 * MIB);
    let sector = label.encode().expect("fits");
    bench.folder.write("disks/b.img", 512, &sector);
    let changed = sizes();
    assert_ne!(changed, before);
    bench
        .create_volume(&in_group("lvcreate"), &mut Quiet::yes())
        .expect("is made");
    assert_eq!(sizes(), changed);
    assert!(changed.iter().all(|(_, usage)| *usage == PvUse::Used));
}

/// Archives are numbered one by one for each group, and so many stay however old they are, or so
/// long however many they are; the backup is one file, which goes with the group.
#[test]
fn backups_are_kept_as_configured() {
    let bench = Bench::new();
    bench.create_group();
    let scan = bench.scan();
    let model = &scan.find_group("vg0").expect("is there").model;
    let folder = bench.folder.path("kept");
    std::fs::create_dir(&folder).expect("is made");
    let config = |text: &str| {
        let mut config = Config::read(folder.clone()).expect("is empty");
        if !text.is_empty() {
            config.add_text(text).expect("is good");
        }
        config
    };
    let names = |sub: &str| {
        let entries = std::fs::read_dir(folder.join(sub)).into_iter().flatten();
        let name = |entry: std::fs::DirEntry| entry.file_name().into_string().expect("is text");
        let mut names: Vec<String> = entries.flatten().map(name).collect();
        names.sort();
        names
    };
    let numbers = || {
        let names = names("archive").into_iter();
        let number = |name: String| name.split('-').next().map(str::to_owned);
        names.filter_map(number).collect::<Vec<_>>()
    };
    let mut other = (**model).clone();
    other.name = "vg0_1".to_owned();
    let keep = |text: &str, vg| assert!(archive(&config(text), vg, "why".to_owned()).is_none());
    keep("backup/archive=0", model);
    assert_eq!(numbers(), [""; 0]);
    keep("backup/retain_min=1", &other);
    for _ in 0..4 {
        keep("backup/retain_min=1", model);
    }
    let all = ["vg0_00000", "vg0_00001", "vg0_00002", "vg0_00003"];
    assert_eq!(numbers()[..4], all, "they are young");
    keep("backup/retain_min=9 backup/retain_days=0", model);
    assert_eq!(numbers().len(), 6, "they are few");
    keep("backup/retain_min=2 backup/retain_days=0", model);
    assert_eq!(numbers(), ["vg0_00004", "vg0_00005", "vg0_1_00000"]);
    let (on, off) = (config(""), config("backup/backup=0"));
    let message = backup(&off, model, "why".to_owned()).expect("that is said");
    assert!(message.text.ends_with("NOT backed up."), "{}", message.text);
    assert_eq!(names("backup"), [""; 0]);
    assert!(backup(&on, model, "why".to_owned()).is_none());
    assert_eq!(names("backup"), ["vg0"]);
    let is_said = forget(&off, model).is_some();
    assert_eq!(is_said, model.lv_count() > 0, "what is lost is said");
    assert_eq!(names("backup"), ["vg0"]);
    assert!(forget(&on, model).is_none());
    assert_eq!(names("backup"), [""; 0]);
    std::fs::create_dir(folder.join("backup/vg0")).expect("is made");
    let message = backup(&on, model, "why".to_owned()).expect("a folder is in the way");
    assert!(message.text.contains("is not kept in"), "{}", message.text);
    assert_eq!(names("backup"), ["vg0"], "nothing half written stays");
}
