//! Changes of image files.

use block::file::LockMode;
use lvm2::Bytes;
use lvm2::model::{PvFlag, from_text};
use lvm2::ondisk::{Label, PvUse};
use lvm2::plan::Level;
use lvm2::plan::group::{GroupAttribute, change_group};
use lvm2::plan::logical::{Along, remove_volumes};
use lvm2::text::parse;

use super::bench::{Bench, in_group};
use crate::apply::{
    Answer, Planned, Quiet, Request, TestMode, Tolerated, find_device, find_signatures,
    require_no_member, update_metadata,
};
use crate::lock::{LockByte, StockName, lock_pvs, lock_stock};
use crate::scan::Scan;
use crate::{Error, Kind, Result};

/// From empty images to a volume, with backup and archive as stock keeps them.
#[test]
fn images_become_a_group_with_a_volume() {
    let bench = Bench::new();
    bench.create_group();
    let mut prompt = Quiet::yes();
    bench
        .create_volume(&in_group("lvcreate -l 2 -n data vg0"), &mut prompt)
        .expect("is made");
    let told: Vec<&str> = prompt
        .messages
        .iter()
        .map(|message| message.text.as_str())
        .collect();
    assert_eq!(told, ["Logical volume \"data\" created."]);
    let scan = bench.scan();
    let (group, _) = scan.find_volume("vg0/data").expect("is there");
    assert_eq!((group.seqno, group.members.len()), (2, 2));
    assert_eq!(scan.findings, [], "nothing is wrong");
    for pv in &scan.physical_volumes {
        let area = &pv.areas[0];
        let text = area.header.expect("is good").committed.expect("is there");
        let at = area.span.offset.0 + text.offset.0;
        assert!(
            at >= 8192 && at.is_multiple_of(4096),
            "the text at byte {at} shares no block with its header, though this is no disk"
        );
    }
    let backup = std::fs::read(bench.folder.path("lvm/backup/vg0")).expect("is kept");
    let kept = from_text(&parse(&backup).expect("is a text")).expect("is a group");
    assert_eq!(kept.seqno, 2);
    let text = String::from_utf8(backup).expect("is UTF-8");
    let sentence = "description = \"Created *after* executing 'lvcreate -l 2 -n data vg0'\"";
    assert!(text.contains(sentence), "{text}");
    let archives = std::fs::read_dir(bench.folder.path("lvm/archive")).expect("is there");
    let names: Vec<String> = archives
        .map(|entry| {
            entry
                .expect("is read")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert!(
        names.len() == 1 && names[0].starts_with("vg0_00000-"),
        "{names:?}"
    );
    let locks = std::fs::read_dir(bench.folder.path("locks")).expect("is there");
    assert_eq!(locks.count(), 0, "no lock is left");
}

/// Test mode plans and says, and writes nothing.
#[test]
fn test_mode_writes_nothing() {
    let bench = Bench::new();
    bench.create_group();
    let before = std::fs::read(bench.folder.path("disks/a.img")).expect("is read");
    let request = Request {
        test: TestMode::On,
        ..in_group("lvcreate -t")
    };
    let mut prompt = Quiet::yes();
    let outcome = bench
        .create_volume(&request, &mut prompt)
        .expect("is possible");
    assert_eq!(outcome.groups[0].lv_count(), 1);
    let told: Vec<&str> = prompt
        .messages
        .iter()
        .map(|message| message.text.as_str())
        .collect();
    assert!(
        told.iter().any(|text| text.ends_with("created.")),
        "{told:?}"
    );
    assert!(before == std::fs::read(bench.folder.path("disks/a.img")).expect("is read"));
}

/// Signatures are asked about, and wiped if people agree.
#[test]
fn signatures_are_wiped_after_a_question() {
    let bench = Bench::new();
    bench.folder.write("disks/a.img", 0x438, &[0x53, 0xef]);
    let mut no = Quiet {
        answer: Answer::No,
        messages: Vec::new(),
    };
    let error = bench.create_pvs(&mut no).expect_err("is refused");
    assert_eq!(error.kind(), Kind::Request);
    assert!(
        error.to_string().starts_with("Aborted wiping of ext4."),
        "{error}"
    );
    assert!(bench.scan().physical_volumes.is_empty());
    bench.create_group();
    let data = 1 << 20;
    bench.folder.write("disks/a.img", data, b"XFSB");
    let error = bench
        .create_volume(&in_group("lvcreate"), &mut no)
        .expect_err("is refused");
    assert!(
        error.to_string().contains("Aborted wiping of xfs"),
        "{error}"
    );
    let mut yes = Quiet::yes();
    bench
        .create_volume(&in_group("lvcreate"), &mut yes)
        .expect("is made");
    assert_eq!(yes.messages[0].level, Level::Note);
    assert_eq!(
        yes.messages[0].text,
        "Wiping xfs signature on /dev/vg0/data."
    );
}

/// What people agreed to lose is recognised by nobody any more: the bytes that tell it are zeros,
/// at either end of the disk, and those around them are as they were.
#[test]
fn wiped_signatures_are_gone() {
    let bench = Bench::new();
    let end = (96 << 20) - 0x10000;
    let signatures: [(u64, &[u8]); 2] = [(0x438, &[0x53, 0xef]), (end, &[0xfc, 0x4e, 0x2b, 0xa9])];
    for (at, bytes) in signatures {
        bench.folder.write("disks/a.img", at - 2, &[9; 8]);
        bench.folder.write("disks/a.img", at, bytes);
    }
    bench.create_pvs(&mut Quiet::yes()).expect("are made");
    let disk = std::fs::read(bench.folder.path("disks/a.img")).expect("is read");
    let found = find_signatures(Bytes(disk.len() as u64), |at, length| {
        Some(disk[at.0 as usize..][..length].to_vec())
    });
    let names = found.iter().map(|found| found.name);
    assert_eq!(names.collect::<Vec<_>>(), ["LVM2_member"]);
    assert_eq!(disk[end as usize - 2..][..8], [9, 9, 0, 0, 0, 0, 9, 9]);
}

/// What may not be changed is refused with what to do.
#[test]
fn refusals_name_the_remedy() {
    let bench = Bench::new();
    bench.create_group();
    let error = bench.create_pvs(&mut Quiet::yes()).expect_err("are in use");
    assert!(
        error
            .to_string()
            .contains("of volume group \"vg0\" without -ff"),
        "{error}"
    );
    bench.folder.rewrite("disks/a.img", |text| {
        text.replace("flags = []", "flags = []\nsystem_id = \"other\"")
            .replace("seqno = 1", "seqno = 2")
    });
    let refused = |bench: &Bench| -> Error {
        bench
            .create_volume(&in_group("lvcreate"), &mut Quiet::yes())
            .expect_err("is refused")
    };
    let error = refused(&bench);
    assert!(
        error.to_string().contains("with system ID other"),
        "{error}"
    );
    let bench = Bench::new();
    bench.create_group();
    bench.folder.remove("disks/b.img");
    let error = refused(&bench);
    assert_eq!(error.kind(), Kind::Missing);
    assert!(
        error.to_string().contains("while PVs are missing"),
        "{error}"
    );
}

/// Whoever serves the group, and stock, are respected.
#[test]
fn locks_of_others_are_respected() {
    let bench = Bench::new();
    bench.create_group();
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(bench.folder.path("disks/a.img"))
        .expect("opens");
    let files = [("a", file)];
    let limit = std::time::Duration::from_secs(1);
    let served = lock_pvs(&files, LockByte::Owner, LockMode::Exclusive, limit).expect("is free");
    let error = bench
        .create_volume(&in_group("lvcreate"), &mut Quiet::yes())
        .expect_err("is served");
    assert_eq!(error.kind(), Kind::Locked);
    drop(served);
    let dir = bench.folder.path("locks");
    let name = StockName::Group("vg0".to_owned());
    let stock = lock_stock(&dir, &name, LockMode::Shared, limit).expect("is free");
    let waiting = std::thread::scope(|scope| {
        let change = scope.spawn(|| bench.create_volume(&in_group("lvcreate"), &mut Quiet::yes()));
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert!(!change.is_finished(), "it waits for the lock");
        drop(stock);
        change.join().expect("ends")
    });
    waiting.expect("goes on when the lock is free");
}

/// What asks for the label of `a.img` to be taken away, as `pvremove` plans it.
fn removal(bench: &Bench, scan: &Scan) -> Result<Planned> {
    let device = find_device(scan, &bench.name("disks/a.img"))?;
    require_no_member(scan, device)?;
    Ok(Planned {
        removed: vec![device],
        ..Planned::default()
    })
}

/// A label is not taken from a disk that somebody serves: its bytes are locked first.
#[test]
fn a_served_disk_keeps_its_label() {
    let bench = Bench::new();
    bench.create_pvs(&mut Quiet::yes()).expect("are made");
    let options = std::fs::File::options().read(true).write(true).clone();
    let file = options.open(bench.folder.path("disks/a.img"));
    let files = [("a", file.expect("opens"))];
    let limit = std::time::Duration::from_secs(1);
    let served = lock_pvs(&files, LockByte::Owner, LockMode::Exclusive, limit).expect("is free");
    let request = Request {
        changes_pvs: true,
        ..Request::default()
    };
    let remove = || bench.change(&request, &mut Quiet::yes(), |scan, _| removal(&bench, scan));
    let error = remove().expect_err("is served");
    assert_eq!(error.kind(), Kind::Locked, "{error}");
    assert_eq!(bench.scan().physical_volumes.len(), 2);
    drop(served);
    remove().expect("is free");
    assert_eq!(bench.scan().physical_volumes.len(), 1);
}

/// A disk that joins a group between the decision and the locks keeps its label: what is found
/// under the locks is decided anew, and refused.
#[test]
fn a_disk_that_joined_meanwhile_keeps_its_label() {
    let bench = Bench::new();
    bench.create_pvs(&mut Quiet::yes()).expect("are made");
    let mut decisions = 0;
    // As for a user who cannot take stock's locks: nothing keeps the other command waiting.
    let request = Request::default();
    let removed = bench.change(&request, &mut Quiet::yes(), |scan, _| {
        decisions += 1;
        let planned = removal(&bench, scan)?;
        if decisions == 1 {
            bench.create_group_of_pvs();
        }
        Ok(planned)
    });
    let error = removed.expect_err("belongs to a group by now");
    assert!(
        error.to_string().contains("of volume group \"vg0\""),
        "{error}"
    );
    assert_eq!(decisions, 2);
    let scan = bench.scan();
    assert_eq!(scan.findings, []);
    assert_eq!(scan.find_group("vg0").expect("is there").members.len(), 2);
}

/// A change repairs what an interrupted one left: stale areas, missing use flags.
#[test]
fn the_next_change_repairs() {
    let bench = Bench::new();
    bench.create_group();
    let stale = std::fs::read(bench.folder.path("disks/b.img")).expect("is read");
    bench
        .create_volume(&in_group("lvcreate"), &mut Quiet::yes())
        .expect("is made");
    std::fs::write(bench.folder.path("disks/b.img"), &stale).expect("is written");
    assert!(!bench.scan().findings.is_empty(), "the area is stale");
    bench
        .change(&in_group("vgchange"), &mut Quiet::yes(), |scan, author| {
            let group = scan.find_group("vg0")?;
            let changes = [GroupAttribute::AddTag("t")];
            Ok(change_group(&group.model, &changes, &[], author)?.into())
        })
        .expect("is changed");
    let scan = bench.scan();
    assert_eq!(scan.findings, []);
    let model = &scan.find_group("vg0").expect("is there").model;
    assert!(model.pvs().all(|(_, pv)| !pv.flags.has(PvFlag::Missing)));
}

/// A label that does not say that it is used, since a cut came before that, says so after the next
/// change of its group.
#[test]
fn the_next_change_repairs_labels() {
    let bench = Bench::new();
    bench.create_pvs(&mut Quiet::yes()).expect("are made");
    let unused = std::fs::read(bench.folder.path("disks/b.img")).expect("is read");
    bench.create_group_of_pvs();
    bench.folder.write("disks/b.img", 512, &unused[512..1024]);
    let usages = || {
        let scan = bench.scan();
        let pvs = scan.physical_volumes.iter();
        pvs.map(|pv| pv.header.usage()).collect::<Vec<_>>()
    };
    assert!(usages().contains(&PvUse::Free));
    bench
        .create_volume(&in_group("lvcreate"), &mut Quiet::yes())
        .expect("is made");
    assert_eq!(usages(), [PvUse::Used; 2]);
}

/// A label says that its disk is used, and its group is not to be seen here: it goes on saying so
/// when the physical volumes beside it come into a group.
#[test]
fn labels_of_lost_groups_are_left_alone() {
    let bench = Bench::new();
    bench.create_three_pvs();
    let head = std::fs::read(bench.folder.path("disks/c.img")).expect("is read");
    let mut label = Label::scan(&head[..2048]).label.expect("is there");
    label.pv.set_usage(PvUse::Used);
    let sector = label.encode().expect("fits");
    bench.folder.write("disks/c.img", 512, &sector);
    bench.create_group_of_pvs();
    let scan = bench.scan();
    let pvs = scan.physical_volumes.iter();
    let found = pvs.map(|pv| (pv.group.is_some(), pv.header.usage()));
    let used = [true, true, false].map(|is_member| (is_member, PvUse::Used));
    assert_eq!(found.collect::<Vec<_>>(), used);
}

/// With `devices/issue_discards` what a removed volume had is discarded, and nothing else is;
/// without it nothing is.
#[test]
fn removed_volumes_are_discarded() {
    for is_wanted in [false, true] {
        let mut bench = Bench::new();
        let text = format!("devices/issue_discards={}", u8::from(is_wanted));
        bench.host.config.add_text(&text).expect("is good");
        bench.create_group();
        bench
            .create_volume(&in_group("lvcreate"), &mut Quiet::yes())
            .expect("is made");
        let extent = 4 << 20;
        // The volume has the first two extents of a disk, behind the metadata.
        let starts = [1 << 20, (1 << 20) + extent, (1 << 20) + 2 * extent];
        for disk in ["disks/a.img", "disks/b.img"] {
            for at in starts {
                bench.folder.write(disk, at, &[7; 4096]);
            }
        }
        bench
            .change(&in_group("lvremove"), &mut Quiet::yes(), |scan, author| {
                let group = scan.find_group("vg0")?;
                Ok(remove_volumes(&group.model, &["data"], Along::Nothing, author)?.into())
            })
            .expect("is removed");
        let zeros = ["disks/a.img", "disks/b.img"].map(|disk| {
            let content = std::fs::read(bench.folder.path(disk)).expect("is read");
            starts.map(|at| content[at as usize] == 0)
        });
        let discarded = [is_wanted, is_wanted, false];
        assert_eq!(zeros, [discarded, [false; 3]]);
    }
}

/// Of two texts with the same sequence number, people say which one counts.
#[test]
fn a_disagreement_is_decided_by_people() {
    let bench = Bench::new();
    bench.create_group();
    bench.folder.rewrite("disks/b.img", |text| {
        text.replace("flags = []\n", "flags = []\ntags = [\"b\"]\n")
    });
    let update = |keep: Option<String>| {
        let request = Request {
            tolerated: vec![Tolerated::Disagreement],
            ..in_group("vgck --updatemetadata")
        };
        bench.change(&request, &mut Quiet::yes(), |scan, author| {
            let group = scan.find_group("vg0")?;
            update_metadata(scan, group, keep.as_deref(), author)
        })
    };
    let error = bench
        .create_volume(&in_group("lvcreate"), &mut Quiet::yes())
        .expect_err("is refused");
    assert!(
        error.to_string().contains("vgck --updatemetadata vg0"),
        "{error}"
    );
    let error = update(None).expect_err("nobody said which");
    assert_eq!(error.kind(), Kind::Ambiguous);
    update(Some(bench.name("disks/b.img"))).expect("is decided");
    let scan = bench.scan();
    assert_eq!(scan.findings, []);
    let group = scan.find_group("vg0").expect("is there");
    assert_eq!(
        (group.seqno, group.model.tags.as_slice()),
        (2, &["b".to_owned()][..])
    );
}
