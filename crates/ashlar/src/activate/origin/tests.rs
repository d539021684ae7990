//! The golden origin and its snapshots, written by their owner.

use std::sync::Barrier;

use block::{BlockingDevice, Range};

use super::assign;
use crate::activate::tests::{activate, checksum, manifest};
use crate::activate::{MissingPolicy, Options};
use crate::apply::HostDisks;
use crate::host::{DeviceSource, DeviceSpec, Host};
use crate::live::LiveGroup;
use crate::scan;
use crate::tests::fixture::Folder;
use crate::{Kind, Result};

const DISK: &str = "a0.img";
/// Where the store of `snap1` begins on it.
const STORE: u64 = (1 + 61) << 20;

fn take(folder: &Folder) -> LiveGroup {
    let path = folder.path("");
    let disks = HostDisks {
        source: DeviceSource::Listed(vec![DeviceSpec { path }]),
        options: scan::Options::default(),
    };
    LiveGroup::take(&Host::without_config(), &disks, "vg0").expect("is free")
}

fn golden(name: &str) -> String {
    manifest()[name].0.clone()
}

/// What a volume holds for those who only read, without an owner.
fn read(folder: &Folder, name: &str) -> String {
    let active = activate(&folder.scan(), &format!("vg0/{name}"), Options::default());
    checksum(&active.expect("is activated").volume).expect("reads")
}

fn refusal(folder: &Folder, name: &str) -> (Kind, String) {
    let opened: Result<_> = take(folder).open(name, MissingPolicy::default());
    let error = opened.expect_err("is refused");
    (error.kind(), error.to_string())
}

/// What is written to the origin leaves its snapshots as they are, and the other way round; those
/// who read later without an owner see the same.
#[test]
fn writes_stay_apart() {
    let folder = Folder::golden_whole();
    let group = take(&folder);
    let open = |name: &str| group.open(name, MissingPolicy::default()).expect("opens");
    let (origin, snap1, snap2) = (open("origin"), open("snap1"), open("snap2"));
    let mut device = BlockingDevice::open(&origin.volume).expect("opens");
    for megabyte in 0..block::Device::info(&origin.volume).size >> 20 {
        let at = (megabyte << 20) + 4096 * megabyte;
        device.write_at(&[7; 6144], at).expect("writes");
    }
    device.flush().expect("flushes");
    for (name, snapshot) in [("snap1", &snap1), ("snap2", &snap2)] {
        assert_eq!(
            checksum(&snapshot.volume).expect("reads"),
            golden(name),
            "{name}"
        );
    }
    let written = checksum(&origin.volume).expect("reads");
    assert_ne!(written, golden("origin"));

    let mut device = BlockingDevice::open(&snap1.volume).expect("opens");
    device.write_at(&[9; 512], 3 << 20).expect("writes");
    device.flush().expect("flushes");
    let changed = checksum(&snap1.volume).expect("reads");
    assert_ne!(changed, golden("snap1"));
    drop(device);
    for used in [origin, snap1, snap2] {
        used.close().expect("ends");
    }
    drop(group);
    let all = ["origin", "snap1", "snap2"].map(|name| read(&folder, name));
    assert_eq!(all, [written, changed, golden("snap2")]);
}

/// Opened again and again by several threads, an origin and its snapshots are one state.
#[test]
fn faces_of_one_state_are_opened_at_once() {
    let folder = Folder::golden_whole();
    let group = take(&folder);
    let start = Barrier::new(4);
    std::thread::scope(|scope| {
        for (number, name) in ["origin", "snap1", "snap2", "origin"]
            .into_iter()
            .enumerate()
        {
            let (group, start) = (&group, &start);
            scope.spawn(move || {
                start.wait();
                for round in 0..8 {
                    let used = group.open(name, MissingPolicy::default()).expect("opens");
                    let mut device = BlockingDevice::open(&used.volume).expect("opens");
                    let at = (1 << 20) + 4096 * (8 * number as u64 + round);
                    device
                        .write_at(&[number as u8 + 1; 4096], at)
                        .expect("writes");
                    device.flush().expect("flushes");
                    drop(device);
                    used.close().expect("ends");
                }
            });
        }
    });
    let used = ["origin", "snap1", "snap2"].map(|name| {
        let used = group.open(name, MissingPolicy::default()).expect("opens");
        let mut device = BlockingDevice::open(&used.volume).expect("opens");
        let of = |thread: u64| Range::new((1 << 20) + 4096 * 8 * thread, 8 * 4096);
        let bytes = [0, 1, 2, 3].map(|thread| device.read(of(thread)).expect("reads"));
        bytes.map(|bytes| bytes.iter().all(|byte| *byte == bytes[0]).then(|| bytes[0]))
    });
    assert_eq!(
        [used[0][0], used[0][3]],
        [Some(1), Some(4)],
        "the origin's own"
    );
    assert_eq!(
        [used[1][1], used[2][2]],
        [Some(2), Some(3)],
        "the snapshots' own"
    );
    assert!(
        used[1][0] != Some(1) && used[2][3] != Some(4),
        "the origin's are not theirs"
    );
}

/// Who only reads would see what the owner changes as what it was, so it is sent to the owner.
#[test]
fn snapshots_that_are_served_are_read_there() {
    let folder = Folder::golden_whole();
    let group = take(&folder);
    let read = |name: &str| activate(&folder.scan(), &format!("vg0/{name}"), Options::default());
    let error = read("snap1").expect_err("may change");
    assert_eq!(error.kind(), Kind::Locked);
    assert!(
        error.to_string().contains("ashlar attach vg0/snap1"),
        "{error}"
    );
    read("origin").expect("is read as it is");
    drop(group);
    let reader = read("snap1").expect("nobody serves it");
    let path = folder.path("");
    let disks = HostDisks {
        source: DeviceSource::Listed(vec![DeviceSpec { path }]),
        options: scan::Options::default(),
    };
    let host = Host::without_config();
    let error = LiveGroup::take(&host, &disks, "vg0").expect_err("it is being read");
    assert_eq!(error.kind(), Kind::Locked);
    let volume = reader.volume.clone();
    drop(reader);
    LiveGroup::take(&host, &disks, "vg0").expect_err("it may still be read");
    drop(volume);
    LiveGroup::take(&host, &disks, "vg0").expect("nobody reads any more");
}

/// Without its store a snapshot cannot follow, so its origin is not written either.
#[test]
fn an_origin_waits_for_its_stores() {
    let folder = Folder::golden_whole();
    folder.write(DISK, STORE + 8, &[2]);
    for name in ["origin", "snap1", "snap2"] {
        let (kind, text) = refusal(&folder, name);
        assert_eq!(kind, Kind::Damaged);
        assert!(text.contains("vg0/snap1"), "{text}");
    }
    folder.write(DISK, STORE + 4, &[0]);
    folder.write(DISK, STORE + 8, &[1]);
    let (kind, text) = refusal(&folder, "snap1");
    assert_eq!(kind, Kind::Refused);
    assert!(
        text.starts_with("vg0/snap1 is an invalid snapshot"),
        "{text}"
    );
    let group = take(&folder);
    let used = group
        .open("origin", MissingPolicy::default())
        .expect("needs it no more");
    used.close().expect("ends");
}

/// Who has a place keeps it.
#[test]
fn faces_keep_their_numbers() {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|letter| {
        let text = letter.repeat(32);
        text.parse::<lvm2::Uuid>().expect("a UUID")
    });
    let mut slots = Vec::new();
    assign(&mut slots, vec![b, a]);
    assert_eq!(slots, [Some(a), Some(b)]);
    assign(&mut slots, vec![b, c]);
    assert_eq!(slots, [None, Some(b), Some(c)], "not at the same time");
    assign(&mut slots, vec![b]);
    assert_eq!(slots, [None, Some(b), None]);
    assign(&mut slots, vec![d, b, a]);
    assert_eq!(slots, [Some(a), Some(b), Some(d)]);
}
