//! What texts and plans say: command lines, places, times, signatures.

use lvm2::Bytes;
use lvm2::plan::{Change, GroupChange};

use crate::apply::author::{after, before};
use crate::apply::reproducible::{forget_places, without_folders};
use crate::apply::{find_signatures, header_now};
use crate::host::Config;
use crate::tests::fixture::Folder;

const MD: [u8; 4] = [0xfc, 0x4e, 0x2b, 0xa9];

fn dated() -> Config {
    let mut config = Config::empty();
    let text = "ashlar/source_date_epoch=12345";
    config.add_text(text).expect("is good");
    config
}

#[test]
fn command_lines_lose_their_folders_only_where_times_are_fixed() {
    // Proves: absolute paths keep their last part, wherever they end; other words stay.
    let line = "vgcreate --devices=/tmp/x/a.img,/tmp/x/b.img:/y/c vg d/e /etc/";
    let short = "vgcreate --devices=a.img,b.img:c vg d/e ";
    assert_eq!(without_folders(line), short);
    let said = |config: &Config| after(config, line);
    assert_eq!(
        said(&dated()),
        format!("Created *after* executing '{short}'")
    );
    let plain = Config::empty();
    assert_eq!(said(&plain), format!("Created *after* executing '{line}'"));
    assert_eq!(before(line), format!("Created *before* executing '{line}'"));
}

#[test]
fn texts_say_when_and_by_whom_they_were_written() {
    // Proves: the fixed time is taken where there is one, and the clock's otherwise.
    let fixed = header_now(&dated());
    assert_eq!(fixed.creation_time, Some(12345));
    assert_eq!(fixed.host_detail, None);
    let now = header_now(&Config::empty());
    assert!(now.creation_time > Some(1_700_000_000), "{now:?}");
    let host = now.creation_host.expect("a name");
    assert!(now.host_detail.expect("a machine").contains(&host));
}

#[test]
fn places_are_forgotten_where_they_differ_between_machines() {
    // Proves: an image keeps its name without the folder and its ID; a node of the machine goes,
    // and the ID with it.
    let scan = Folder::golden().scan();
    let mut vg = (*scan.groups[0].model).clone();
    let ids: Vec<_> = vg.pvs().map(|(id, _)| id).collect();
    let places = ["/tmp/x/a.img", "/dev/loop3", "b.img"];
    for (id, place) in ids.iter().zip(places) {
        let pv = vg.pv_mut(*id);
        pv.device = Some(place.to_owned());
        (pv.device_id_type, pv.device_id) = (Some("kind".into()), Some("id".into()));
    }
    let mut change = Change {
        groups: vec![GroupChange::Erase(vg.clone()), GroupChange::Commit(vg)],
        ..Change::default()
    };
    forget_places(&mut change);
    let [GroupChange::Erase(old), GroupChange::Commit(new)] = &change.groups[..] else {
        panic!("other groups than before");
    };
    assert_eq!(
        old.pv(ids[0]).device.as_deref(),
        Some(places[0]),
        "it is not written"
    );
    let left = |number: usize| {
        let pv = new.pv(ids[number]);
        (pv.device.as_deref(), pv.device_id.as_deref())
    };
    assert_eq!(left(0), (Some("a.img"), Some("id")));
    assert_eq!(left(1), (None, None));
    assert_eq!(left(2), (Some("b.img"), Some("id")));
}

/// What is found on a disk of `size` bytes with these bytes at these places.
fn signatures(size: usize, parts: &[(usize, &[u8])]) -> Vec<(&'static str, u64)> {
    let mut disk = vec![0; size];
    for (at, bytes) in parts {
        disk[*at..*at + bytes.len()].copy_from_slice(bytes);
    }
    let read = |at: Bytes, length: usize| {
        let at = at.0 as usize;
        Some(disk[at..at + length].to_vec())
    };
    let found = find_signatures(Bytes(size as u64), read);
    let places = found.iter().map(|found| (found.name, found.offset.0));
    places.collect()
}

#[test]
fn signatures_at_the_end_are_where_their_owners_put_them() {
    // Proves: places at the end are counted from the last whole unit, and what does not fit on the
    // disk is not looked for.
    let size = 0x31234;
    let raid = ("linux_raid_member", 0x20000);
    assert_eq!(signatures(size, &[(0x20000, &MD)]), [raid]);
    assert_eq!(signatures(size, &[(0x30000, &MD)]), []);
    assert_eq!(
        signatures(size, &[(0x2f000, &MD)]),
        [("linux_raid_member", 0x2f000)]
    );
    assert_eq!(signatures(4, &[(0, &MD)]), [("linux_raid_member", 0)]);
    assert_eq!(signatures(3, &[]), []);
}

#[test]
fn a_boot_sector_belongs_to_what_lies_in_it() {
    // Proves: the mark of a boot sector counts by itself, and behind it, but not with a file system
    // in its sector; other signatures are found side by side.
    let boot: (usize, &[u8]) = (0x1fe, &[0x55, 0xaa]);
    assert_eq!(signatures(0x8000, &[boot]), [("dos", 0x1fe)]);
    let gpt: (usize, &[u8]) = (0x200, b"EFI PART");
    assert_eq!(
        signatures(0x8000, &[boot, gpt]),
        [("gpt", 0x200), ("dos", 0x1fe)]
    );
    let fat: (usize, &[u8]) = (0x52, b"FAT32   ");
    assert_eq!(signatures(0x8000, &[boot, fat]), [("vfat", 0x52)]);
    let end: (usize, &[u8]) = (0x6000, &MD);
    let both = [("linux_raid_member", 0), ("linux_raid_member", 0x6000)];
    assert_eq!(signatures(0x8000, &[(0, &MD), end]), both);
}
