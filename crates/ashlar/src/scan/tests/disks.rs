//! Scans of the golden disks, healthy and damaged in every way that the format implies.

use crate::scan::{AreaContent, Content, Duplicate, FindingKind, Presence, Restriction, Scan};
use crate::tests::fixture::{Folder, heads, texts};

fn restrictions(scan: &Scan) -> Vec<Restriction> {
    scan.groups
        .iter()
        .flat_map(|group| group.restrictions.clone())
        .collect()
}

/// The golden group is found whole.
#[test]
fn the_golden_disks_are_one_healthy_group() {
    let folder = Folder::golden();
    let scan = folder.scan();
    assert_eq!(scan.findings, [], "nothing is wrong");
    assert_eq!(scan.devices.len(), 5);
    assert_eq!(scan.physical_volumes.len(), 5);
    let [group] = &scan.groups[..] else {
        panic!("there is one group")
    };
    assert_eq!(group.name, "vg0");
    assert_eq!(group.seqno, group.model.seqno);
    assert_eq!(group.missing_count(), 0);
    assert!(group.model.lv_by_name("linear1").is_some());
    assert!(restrictions(&scan).is_empty());
    for (index, pv) in scan.physical_volumes.iter().enumerate() {
        assert_eq!(pv.group, Some(group.uuid));
        assert_eq!(pv.label_sector.0, 1);
        assert_eq!(pv.extension_version(), 2);
        assert_eq!(pv.used_areas().count(), 1);
        assert_eq!(
            scan.device(pv.device).content,
            Content::PhysicalVolume(crate::scan::PvIndex(index))
        );
        assert!(pv.area_free_min().expect("has an area").0 > 900);
    }
}

/// Asserts that exactly the findings of one kind were made, and that one says `words`.
#[track_caller]
fn says(scan: &Scan, kind: FindingKind, words: &[&str]) {
    let texts = texts(scan, kind);
    let all: Vec<_> = scan.findings.iter().map(ToString::to_string).collect();
    assert!(!texts.is_empty(), "no {kind:?} among {all:#?}");
    for word in words {
        assert!(
            texts.iter().any(|text| text.contains(word)),
            "no {word:?} in {all:#?}"
        );
    }
}

#[track_caller]
fn only(scan: &Scan, kind: FindingKind, words: &[&str]) {
    says(scan, kind, words);
    let others: Vec<_> = scan
        .findings
        .iter()
        .filter(|finding| finding.kind != kind)
        .collect();
    assert!(others.is_empty(), "{others:#?}");
}

const LABEL: u64 = 512;
const AREA: u64 = 4096;

/// A disk that is not there leaves a group that knows what it misses.
#[test]
fn a_missing_disk_is_named() {
    let folder = Folder::golden();
    folder.remove("a2.img");
    let scan = folder.scan();
    only(
        &scan,
        FindingKind::MissingPv,
        &[
            "WARNING: VG vg0 is missing PV",
            "WARNING: Couldn't find device with uuid",
            "last written to",
            "without it, lost: stripe3, stripe2x; with fewer images: raid1x3, raid4,",
            "plan vgreduce --removemissing --force vg0 shows",
        ],
    );
    assert_eq!(scan.groups[0].missing_count(), 1);
    assert_eq!(scan.groups[0].members[2].presence, Presence::Missing);
    assert_eq!(restrictions(&scan), [Restriction::Partial]);
}

/// A damaged label takes its volume away and nothing else.
#[test]
fn a_damaged_label_is_named() {
    let folder = Folder::golden();
    folder.write("a1.img", LABEL + 100, b"x");
    let scan = folder.scan();
    says(
        &scan,
        FindingKind::DamagedLabel,
        &["a1.img: the label in sector 1", "pvcreate --uuid"],
    );
    says(&scan, FindingKind::MissingPv, &["vg0"]);
    assert_eq!(scan.groups[0].missing_count(), 1);
    assert_eq!(scan.devices[1].content, Content::Unreadable);
}

/// A label that wipefs took away is none.
#[test]
fn a_wiped_label_is_not_damage() {
    let folder = Folder::new();
    folder.disk("a.img", &heads()[0]);
    let wipefs = std::process::Command::new("wipefs")
        .args(["-q", "-a"])
        .arg(folder.path("a.img"))
        .status();
    assert!(wipefs.expect("wipefs runs").success());
    let scan = folder.scan();
    assert_eq!(scan.findings, []);
    assert_eq!(scan.devices[0].content, Content::Other);
}

/// A second label is reported and not used.
#[test]
fn a_second_label_is_reported() {
    let folder = Folder::golden();
    let mut label = lvm2::ondisk::Label::scan(&heads()[0])
        .label
        .expect("has one");
    label.sector = 3;
    folder.write("a1.img", 3 * 512, &label.encode().expect("fits"));
    let scan = folder.scan();
    only(
        &scan,
        FindingKind::SecondLabel,
        &["a1.img: sector 3 holds another label"],
    );
    assert!(scan.groups[0].restrictions.is_empty());
}

/// A damaged area header, and a damaged text: the other disks' copies serve.
#[test]
fn a_damaged_area_is_named_and_the_others_serve() {
    for (at, kind, words) in [
        (
            AREA + 60,
            FindingKind::DamagedArea,
            "metadata area 1: the header of the metadata area",
        ),
        (
            AREA + 4,
            FindingKind::DamagedArea,
            "does not begin with LVM2's magic",
        ),
    ] {
        let folder = Folder::golden();
        folder.write("a0.img", at, b"x");
        let scan = folder.scan();
        only(&scan, kind, &[words, "vgck --updatemetadata"]);
        assert!(matches!(
            scan.physical_volumes[0].areas[0].content,
            AreaContent::Damaged(_)
        ));
        assert!(scan.groups[0].restrictions.is_empty());
        assert_eq!(scan.groups[0].missing_count(), 0);
    }
    let folder = Folder::golden();
    let (_, header) = folder.text("a0.img");
    let text = header.committed.expect("has a text").offset.0;
    folder.write("a0.img", AREA + text + 1000, b"\x01");
    let scan = folder.scan();
    only(
        &scan,
        FindingKind::DamagedText,
        &["a0.img: metadata area 1: the text", "checksum"],
    );
    assert_eq!(scan.groups[0].missing_count(), 0);
}

/// An area that holds the version before is stale.
#[test]
fn an_older_area_is_stale() {
    let folder = Folder::golden();
    let seqno = folder.scan().groups[0].seqno;
    let next = format!("seqno = {}\n", seqno + 1);
    for disk in ["a0.img", "a1.img", "a2.img", "a3.img"] {
        folder.rewrite(disk, |text| {
            text.replacen(&format!("seqno = {seqno}\n"), &next, 1)
        });
    }
    let scan = folder.scan();
    let words = [
        &format!("a4.img: metadata area 1 holds version {seqno} of VG vg0")[..],
        "vgck",
    ];
    only(&scan, FindingKind::StaleArea, &words);
    assert_eq!(scan.groups[0].seqno, seqno + 1);
    assert!(scan.groups[0].restrictions.is_empty());
}

/// The same sequence number with another text is listed and never written.
#[test]
fn different_texts_with_one_number_disagree() {
    let folder = Folder::golden();
    folder.rewrite("a0.img", |text| text.replacen("golden", "silver", 1));
    let scan = folder.scan();
    only(
        &scan,
        FindingKind::Disagreement,
        &["VG vg0 has 2 different versions", "a0.img"],
    );
    assert_eq!(restrictions(&scan), [Restriction::Disagreement]);
    assert!(
        scan.groups[0].text.windows(6).any(|word| word == b"golden"),
        "most areas win"
    );
}

/// A disk that its group no longer lists is outdated.
#[test]
fn a_removed_disk_that_comes_back_is_outdated() {
    let folder = Folder::golden();
    let seqno = folder.scan().groups[0].seqno;
    let uuid = folder.scan().physical_volumes[4].uuid;
    let other = format!("{}", lvm2::Uuid::from_random(&[7; 32]));
    for disk in ["a0.img", "a1.img", "a2.img", "a3.img"] {
        folder.rewrite(disk, |text| {
            text.replace(&uuid.to_string(), &other).replacen(
                &format!("seqno = {seqno}"),
                &format!("seqno = {}", seqno + 1),
                1,
            )
        });
    }
    let scan = folder.scan();
    says(
        &scan,
        FindingKind::OutdatedPv,
        &[
            "outdated PV",
            "a4.img",
            "has been removed in current VG vg0",
        ],
    );
    assert_eq!(scan.physical_volumes[4].outdated, Some(scan.groups[0].uuid));
    assert_eq!(scan.physical_volumes[4].group, None);
    assert_eq!(scan.orphans().count(), 0);
}

/// A disk that was copied is found twice; the first serves, and nothing is changed.
#[test]
fn a_copied_disk_is_a_duplicate() {
    let folder = Folder::golden();
    folder.disk("copy.img", &heads()[1]);
    let scan = folder.scan();
    only(
        &scan,
        FindingKind::DuplicatePv,
        &[
            "Not using device",
            "copy.img for PV",
            "a1.img too",
            "pvchange --uuid --all",
        ],
    );
    assert_eq!(scan.physical_volumes[1].duplicate, Duplicate::Chosen);
    assert_eq!(scan.physical_volumes[5].duplicate, Duplicate::Unchosen);
    assert_eq!(restrictions(&scan), [Restriction::DuplicatePvs]);
}

/// A clone that was left behind loses against the disk that moved on, wherever it stands.
#[test]
fn a_stale_clone_is_not_chosen() {
    let folder = Folder::golden();
    let seqno = folder.scan().groups[0].seqno;
    folder.disk("z0.img", &heads()[0]);
    for disk in ["z0.img", "a1.img", "a2.img", "a3.img", "a4.img"] {
        let next = format!("seqno = {}", seqno + 1);
        folder.rewrite(disk, |text| {
            text.replacen(&format!("seqno = {seqno}"), &next, 1)
        });
    }
    let scan = folder.scan();
    says(&scan, FindingKind::DuplicatePv, &["z0.img too"]);
    assert_eq!(scan.physical_volumes[0].duplicate, Duplicate::Unchosen);
}

/// Groups of the same name are told apart by UUID.
#[test]
fn two_groups_of_one_name_are_both_listed() {
    let folder = Folder::golden();
    let scan = folder.scan();
    let (group, pvs) = (scan.groups[0].uuid, &scan.physical_volumes);
    let renamed = |seed: u8| lvm2::Uuid::from_random(&[seed; 32]);
    let twins: Vec<_> = pvs
        .iter()
        .zip(1..)
        .map(|(pv, seed)| (pv.uuid, renamed(seed)))
        .collect();
    for (number, (_, new)) in twins.iter().enumerate() {
        let name = format!("b{number}.img");
        folder.disk(&name, &heads()[number]);
        folder.rewrite(&name, |text| {
            let text = text.replace(&group.to_string(), &renamed(99).to_string());
            twins.iter().fold(text, |text, (old, new)| {
                text.replace(&old.to_string(), &new.to_string())
            })
        });
        let mut label = lvm2::ondisk::Label::scan(&heads()[number])
            .label
            .expect("one");
        label.pv.uuid = *new;
        folder.write(&name, LABEL, &label.encode().expect("fits"));
    }
    let scan = folder.scan();
    only(
        &scan,
        FindingKind::DuplicateName,
        &["2 VGs have the name vg0", "vgrename UUID"],
    );
    assert_eq!(scan.groups.len(), 2);
    assert_eq!(
        restrictions(&scan),
        [Restriction::AmbiguousName, Restriction::AmbiguousName]
    );
    let error = scan.find_group("vg0").expect_err("is ambiguous");
    assert!(
        error.to_string().contains("or one of their UUIDs"),
        "{error}"
    );
    let uuid = group.to_string();
    assert_eq!(scan.find_group(&uuid).expect("is found").uuid, group);
}

/// What a text says about who may use its group becomes a restriction.
#[test]
fn groups_of_others_are_marked() {
    let cases: [(&str, &str, Restriction); 6] = [
        (
            "flags = []",
            "flags = []\nsystem_id = \"other\"",
            Restriction::Foreign {
                system_id: "other".into(),
                own: None,
            },
        ),
        (
            "flags = []",
            "flags = []\nlock_type = \"sanlock\"",
            Restriction::Shared {
                lock_type: "sanlock".into(),
            },
        ),
        (
            "\"RESIZEABLE\"",
            "\"RESIZEABLE\", \"CLUSTERED\"",
            Restriction::Clustered,
        ),
        (
            "\"RESIZEABLE\"",
            "\"RESIZEABLE\", \"EXPORTED\"",
            Restriction::Exported,
        ),
        (
            "\"RESIZEABLE\", \"READ\", \"WRITE\"",
            "\"RESIZEABLE\", \"READ\"",
            Restriction::ReadOnly,
        ),
        (
            "\"RESIZEABLE\"",
            "\"RESIZEABLE\", \"FUTURE\"",
            Restriction::Unsound(
                "volume group vg0: it has the unknown status flag \"FUTURE\"".into(),
            ),
        ),
    ];
    for (from, to, expected) in cases {
        let folder = Folder::golden();
        for number in 0..5 {
            folder.rewrite(&format!("a{number}.img"), |text| text.replacen(from, to, 1));
        }
        assert_eq!(restrictions(&folder.scan()), [expected]);
    }
    let folder = Folder::golden();
    for number in 0..5 {
        let text = |text: String| text.replacen("flags = []", "flags = []\nsystem_id = \"me\"", 1);
        folder.rewrite(&format!("a{number}.img"), text);
    }
    let mut host = crate::host::Host::without_config();
    host.config
        .add_text("local { extra_system_ids = [ \"me\" ] }")
        .expect("parses");
    assert_eq!(restrictions(&folder.scan_with(&host)), []);
}

/// An image that was cut off is named, and read as far as it goes.
#[test]
fn a_truncated_image_is_named() {
    let folder = Folder::golden();
    let file = std::fs::File::options()
        .write(true)
        .open(folder.path("a3.img"))
        .expect("opens");
    file.set_len(40 << 20).expect("shrinks");
    let scan = folder.scan();
    only(
        &scan,
        FindingKind::TruncatedPv,
        &["a3.img has size of 81920 sectors which is smaller"],
    );
    file.set_len(6000).expect("shrinks");
    let scan = folder.scan();
    says(&scan, FindingKind::DamagedArea, &["a3.img"]);
    file.set_len(0).expect("shrinks");
    let scan = folder.scan();
    only(&scan, FindingKind::MissingPv, &["vg0"]);
}

/// A physical volume that came back after it was missing is not relied on.
#[test]
fn a_returned_disk_counts_as_missing() {
    let folder = Folder::golden();
    for number in 0..5 {
        folder.rewrite(&format!("a{number}.img"), |text| {
            let at = text.find("pv1 {").expect("is there");
            let (head, tail) = text.split_at(at);
            format!(
                "{head}{}",
                tail.replacen("flags = []", "flags = [\"MISSING\"]", 1)
            )
        });
    }
    let scan = folder.scan();
    only(
        &scan,
        FindingKind::ReturnedPv,
        &["a1.img was missing", "--restoremissing vg0"],
    );
    assert_eq!(scan.groups[0].missing_count(), 1);
    assert_eq!(
        scan.groups[0].members[1].presence,
        Presence::Returned(crate::scan::PvIndex(1))
    );
}

/// A used volume whose group cannot be found says so.
#[test]
fn a_used_disk_without_metadata_is_not_taken_for_free() {
    let folder = Folder::new();
    let mut head = heads()[0].clone();
    head[AREA as usize..].fill(0);
    folder.disk("x.img", &head);
    let scan = folder.scan();
    says(
        &scan,
        FindingKind::UsedFlag,
        &["x.img is marked in use but no VG was found using it"],
    );
    assert_eq!(scan.groups.len(), 0);
    assert_eq!(scan.orphans().count(), 1);
}

/// Files that are no physical volumes are quietly something else.
#[test]
fn other_files_are_passed_over() {
    let folder = Folder::golden();
    std::fs::write(folder.path("README"), "hello").expect("writes");
    std::fs::write(folder.path("empty"), "").expect("writes");
    std::fs::write(folder.path("q.qcow2"), b"QFI\xfb....").expect("writes");
    let scan = folder.scan();
    assert_eq!(scan.findings, []);
    assert_eq!(scan.devices.len(), 8);
}

/// A disk image with a golden disk's metadata in partition 2, made by sfdisk.
fn partitioned(folder: &Folder, label: &str) {
    let path = folder.path("disk.img");
    let file = std::fs::File::create(&path).expect("creates");
    file.set_len(200 << 20).expect("has the size");
    let script = format!("label: {label}\nstart=2048, size=8192\nstart=10240, size=196608\n");
    let mut sfdisk = std::process::Command::new("sfdisk")
        .args(["-q", "--no-reread", "--no-tell-kernel"])
        .arg(&path)
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("sfdisk (Debian package fdisk) runs");
    let mut input = sfdisk.stdin.take().expect("is piped");
    std::io::Write::write_all(&mut input, script.as_bytes()).expect("writes");
    drop(input);
    assert!(
        sfdisk.wait().expect("ends").success(),
        "sfdisk makes a {label} table"
    );
    folder.write("disk.img", 10240 * 512, &heads()[0]);
}

/// Partitions in an image are devices, in both kinds of table.
#[test]
fn partitions_in_an_image_are_looked_into() {
    for label in ["dos", "gpt"] {
        let folder = Folder::golden();
        folder.remove("a0.img");
        partitioned(&folder, label);
        let scan = folder.scan();
        assert_eq!(scan.findings, [], "{label}");
        assert_eq!(scan.groups[0].missing_count(), 0);
        let names: Vec<_> = scan
            .devices
            .iter()
            .map(|device| device.name.as_str())
            .collect();
        assert!(
            names[5].ends_with("disk.img:1") && names[6].ends_with("disk.img:2"),
            "{names:?}"
        );
        assert_eq!(scan.devices[4].content, Content::Partitions);
        assert_eq!(scan.devices[6].size.0, 96 << 20);
        assert_eq!(scan.physical_volumes[4].device, crate::scan::DeviceIndex(6));
    }
}

/// A label on a disk with partitions is not used, as with stock.
#[test]
fn a_label_beside_partitions_is_refused() {
    let folder = Folder::new();
    partitioned(&folder, "dos");
    folder.write("disk.img", 512, &heads()[1][512..8192]);
    let scan = folder.scan();
    says(
        &scan,
        FindingKind::SecondLabel,
        &["disk.img has partitions; its label is not used"],
    );
    assert_eq!(scan.physical_volumes.len(), 1);
}

/// A table that is damaged is named.
#[test]
fn a_damaged_table_is_named() {
    let folder = Folder::new();
    partitioned(&folder, "gpt");
    folder.write("disk.img", 512, &[0; 512]);
    let scan = folder.scan();
    assert_eq!(scan.physical_volumes.len(), 1, "the copy at the end serves");
    folder.write("disk.img", (200 << 20) - 512, &[0; 512]);
    let scan = folder.scan();
    only(
        &scan,
        FindingKind::DamagedTable,
        &["disk.img: the partition table cannot be used"],
    );
    partitioned(&folder, "dos");
    let file = std::fs::File::options()
        .write(true)
        .open(folder.path("disk.img"))
        .expect("opens");
    file.set_len(50 << 20).expect("shrinks");
    only(
        &folder.scan(),
        FindingKind::DamagedTable,
        &["disk.img: partition 2", "does not fit"],
    );
}
