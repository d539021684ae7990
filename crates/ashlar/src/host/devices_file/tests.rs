//! Which devices a devices file lists, and what becomes of it when it is written.

use lvm2::Uuid;

use super::{DevicesFile, Listable, Stamp};
use crate::Kind;
use crate::host::DeviceId;

const TEXT: &str = "# LVM uses devices listed in this file.\nVERSION=1.1.3\n\
    IDTYPE=sys_wwid IDNAME=naa.1 DEVNAME=/dev/sda PVID=x PART=2\n\
    IDTYPE=devname IDNAME=/dev/vdb DEVNAME=/dev/vdb PVID=.\n";
const STAMP: Stamp<'_> = Stamp {
    command: "pvcreate",
    pid: 7,
    time: 1_795_228_529,
    system_id: None,
};

fn disk(partition: u32) -> Listable {
    let id = DeviceId {
        kind: "sys_wwid".into(),
        name: "naa.1".into(),
    };
    Listable {
        id: Some(id),
        partition,
        node: "/dev/sdx".into(),
    }
}

fn uuid() -> Uuid {
    Uuid::from_random(&[0; lvm2::UUID_LEN])
}

/// What is written, without the lines about who wrote it.
fn written(file: &DevicesFile) -> Vec<String> {
    let bytes = file.to_bytes(&STAMP).expect("it may be written");
    let text = String::from_utf8(bytes).expect("only text was read");
    text.lines().skip(2).map(str::to_owned).collect()
}

#[test]
fn devices_are_listed_by_id_and_partition_or_by_name() {
    let file = DevicesFile::parse(TEXT.as_bytes());
    let id = disk(2).id;
    assert!(file.lists(id.as_ref(), Some(2), &["/dev/sdx2"]));
    assert!(
        !file.lists(id.as_ref(), None, &["/dev/sdx"]),
        "the disk is not its partition"
    );
    assert!(file.lists(None, None, &["/dev/disk/x", "/dev/vdb"]));
    assert!(!file.lists(None, None, &["/dev/vdc"]));
}

#[test]
fn a_file_that_is_not_there_allows_everything() {
    let none = DevicesFile::read("/nonexistent/system.devices".as_ref());
    assert!(none.expect("not an error").is_none());
}

#[test]
fn what_is_added_moves_to_the_end_and_what_changes_stays() {
    // Proves: adding replaces the entry of the same partition only, and puts it last; a change of
    // the physical volume keeps its place; each write counts.
    let mut file = DevicesFile::parse(TEXT.as_bytes());
    let digits = uuid().to_string().replace('-', "");
    assert!(file.set_pv(&disk(2), None));
    assert!(!file.set_pv(&disk(3), Some(uuid())));
    let first = "IDTYPE=sys_wwid IDNAME=naa.1 DEVNAME=/dev/sda PVID=. PART=2";
    let second = "IDTYPE=devname IDNAME=/dev/vdb DEVNAME=/dev/vdb PVID=.";
    assert_eq!(written(&file), ["VERSION=1.1.4", first, second]);
    file.add(&disk(2), Some(uuid()));
    let moved = format!("IDTYPE=sys_wwid IDNAME=naa.1 DEVNAME=/dev/sdx PVID={digits} PART=2");
    assert_eq!(written(&file), ["VERSION=1.1.4", second, &moved]);
    file.add(&disk(0), Some(uuid()));
    let whole = format!("IDTYPE=sys_wwid IDNAME=naa.1 DEVNAME=/dev/sdx PVID={digits}");
    assert_eq!(written(&file), ["VERSION=1.1.4", second, &moved, &whole]);
    let nameless = Listable {
        id: None,
        partition: 1,
        node: "/dev/vdb".into(),
    };
    file.add(&nameless, Some(uuid()));
    let named = format!("IDTYPE=devname IDNAME=/dev/vdb DEVNAME=/dev/vdb PVID={digits} PART=1");
    assert_eq!(written(&file), ["VERSION=1.1.4", &moved, &whole, &named]);
}

#[test]
fn a_device_is_listed_under_the_name_that_it_has_now() {
    // Proves: a new name of a listed device reaches its entry, and no other.
    let mut file = DevicesFile::parse(TEXT.as_bytes());
    file.set_node(&disk(2));
    file.set_node(&disk(1));
    let lines = written(&file);
    assert!(
        lines[1].contains("DEVNAME=/dev/sdx PVID=x PART=2"),
        "{lines:?}"
    );
    assert!(lines[2].contains("DEVNAME=/dev/vdb "), "{lines:?}");
}

#[test]
fn the_lines_about_the_writer_are_stocks() {
    // Proves: comment, time and system ID stand as stock writes them.
    let stamp = Stamp {
        system_id: Some("here"),
        ..STAMP
    };
    let bytes = DevicesFile::default()
        .to_bytes(&stamp)
        .expect("it may be written");
    assert_eq!(
        String::from_utf8_lossy(&bytes),
        "# LVM uses devices listed in this file.\n\
         # Created by LVM command pvcreate pid 7 at Sat Nov 21 02:35:29 2026\n\
         SYSTEMID=here\nVERSION=1.1.1\n"
    );
}

#[test]
fn bytes_that_are_no_text_and_kinds_that_are_not_known_stay() {
    // Proves: values are kept byte for byte; what is no entry, or unknown in it, goes.
    let kept = b"IDTYPE=later IDNAME=\xff\"' DEVNAME=/dev/\xfe PVID=p PART=4\n";
    let mut text = b"# \xff\nHASH=1\nIDNAME=only\n".to_vec();
    text.extend_from_slice(kept);
    let bytes = DevicesFile::parse(&text)
        .to_bytes(&STAMP)
        .expect("it may be written");
    assert!(bytes.ends_with(&[&b"VERSION=1.1.1\n"[..], kept].concat()));
}

#[test]
fn files_of_other_versions_are_not_written() {
    // Proves: a larger major version, and what is none, keeps us from writing; a larger minor one
    // and a count at its end do not.
    let next = |version: &str| {
        let file = DevicesFile::parse(format!("VERSION={version}\n").as_bytes());
        let bytes = file.to_bytes(&STAMP).map_err(|error| error.kind())?;
        let text = String::from_utf8(bytes).expect("text");
        Ok(text.lines().last().expect("a line").to_owned())
    };
    for bad in ["2.1.5", "abc", "1.1", "1.x.3", "1.1.", "-1.1.1"] {
        assert_eq!(next(bad), Err(Kind::Unsupported), "{bad}");
    }
    assert_eq!(next("1.9.5").as_deref(), Ok("VERSION=1.1.6"));
    assert_eq!(next("0.0.0").as_deref(), Ok("VERSION=1.1.1"));
    assert_eq!(next("").as_deref(), Ok("VERSION=1.1.1"));
    assert_eq!(next("1.1.4294967295").as_deref(), Ok("VERSION=1.1.0"));
}
