//! The golden mirror, healthy and with parts of it gone, out of sync or overwritten.

use std::fs;
use std::time::{Duration, Instant};

use block::{BlockingDevice, Kind as BlockKind, Range};
use dm::home::Home;
use dm::mirror::{ImageHealth, Mirror};
use dm::volume::Access;
use lvm2::model::Area;

use crate::activate::tests::{activate, checksum, manifest};
use crate::activate::{Activated, Activator, MissingPolicy, Nodes, Options, Running};
use crate::apply::HostDisks;
use crate::host::{DeviceSource, DeviceSpec, Host};
use crate::live::LiveGroup;
use crate::scan;
use crate::tests::fixture::Folder;
use crate::{Kind, Result};

const NAME: &str = "vg0/mirror2";
/// Where the images and the log are.
const IMAGES: [&str; 2] = ["a0.img", "a1.img"];
const LOG: &str = "a4.img";
const REGION: u64 = 2 << 20;
/// How long a copy may take.
const PATIENCE: Duration = Duration::from_mins(1);

fn write() -> Options {
    Options {
        access: Access::ReadWrite,
        ..Options::default()
    }
}

fn open(folder: &Folder, options: Options) -> Result<Activated> {
    activate(&folder.scan(), NAME, options)
}

fn golden() -> String {
    manifest()["mirror2"].0.clone()
}

/// Takes the group, writes, and flushes.
fn write_at(folder: &Folder, start: u64, value: u8) {
    let disks = HostDisks {
        source: DeviceSource::Listed(vec![DeviceSpec {
            path: folder.path(""),
        }]),
        options: scan::Options::default(),
    };
    let group = LiveGroup::take(&Host::without_config(), &disks, "vg0").expect("is free");
    let used = group.open("mirror2", MissingPolicy::default());
    let used = used.expect("is activated");
    let mut device = BlockingDevice::open(&used.volume).expect("opens");
    device.write_at(&[value; 4096], start).expect("writes");
    device.flush().expect("flushes");
    drop(device);
    used.close().expect("ends");
}

/// The images of the mirror, in the order of the newest text.
fn images(folder: &Folder) -> Vec<String> {
    let scan = folder.scan();
    let group = scan.find_group("vg0").expect("the group");
    let model = &group.model;
    let lv = model.lv(model.lv_by_name("mirror2").expect("the mirror"));
    let areas = lv.segments[0].areas().iter();
    let name = |area: &Area| match area {
        Area::Lv { lv, .. } => model.lv(*lv).name().to_owned(),
        Area::Pv { .. } => unreachable!("images are volumes"),
    };
    areas.map(name).collect()
}

fn read_at(folder: &Folder, start: u64) -> block::Result<u8> {
    let active = open(folder, Options::default()).expect("is activated");
    let mut device = BlockingDevice::open(&active.volume).expect("opens");
    device.read(Range::new(start, 4096)).map(|bytes| bytes[7])
}

fn mirror_of(active: &Activated) -> &Home<Mirror> {
    match &active.standing_on[0].machine {
        Running::Mirror { home, .. } => home,
        Running::Origin { .. } | Running::Array { .. } | Running::Checksums { .. } => {
            panic!("it is a mirror")
        }
    }
}

/// Returns when both images of the mirror hold the same.
fn wait_for_copies(active: &Activated) {
    let end = Instant::now() + PATIENCE;
    loop {
        let status = mirror_of(active).status(PATIENCE);
        let status = status.expect("it says how it is");
        let is_good = status.images == [ImageHealth::Good; 2];
        if is_good && (status.in_sync, status.regions) == (3, 3) {
            return;
        }
        assert!(Instant::now() < end, "it is still {status:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A disk that is somewhere else for a while.
struct Away<'a> {
    folder: &'a Folder,
    elsewhere: Folder,
    disk: &'a str,
}

impl<'a> Away<'a> {
    fn take(folder: &'a Folder, disk: &'a str) -> Self {
        let elsewhere = Folder::new();
        fs::rename(folder.path(disk), elsewhere.path(disk)).expect("is moved");
        Self {
            folder,
            elsewhere,
            disk,
        }
    }

    fn give_back(self) {
        let (from, to) = (self.elsewhere.path(self.disk), self.folder.path(self.disk));
        fs::rename(from, to).expect("is moved back");
    }
}

/// The mirror has its content with each disk gone in turn, and says what it lacks.
#[test]
fn any_disk_may_be_gone() {
    let folder = Folder::golden_whole();
    let active = open(&folder, Options::default()).expect("is healthy");
    assert!(active.gaps.is_empty(), "{:?}", active.gaps);
    assert_eq!(checksum(&active.volume).expect("reads"), golden());
    for (disk, lacks) in [
        (IMAGES[0], "an image"),
        (IMAGES[1], "an image"),
        (LOG, "its log"),
    ] {
        let away = Away::take(&folder, disk);
        let active = open(&folder, Options::default()).expect(disk);
        assert_eq!(active.gaps.len(), 1, "{:?}", active.gaps);
        let start = format!("{NAME} lacks {lacks}: ");
        assert!(active.gaps[0].starts_with(&start), "{:?}", active.gaps);
        assert_eq!(checksum(&active.volume).expect("reads"), golden(), "{disk}");
        let complete = Options {
            missing: MissingPolicy::Complete,
            ..Options::default()
        };
        let error = open(&folder, complete).expect_err("is not complete");
        assert_eq!(error.kind(), Kind::Missing, "{error}");
        away.give_back();
    }
    let away = Away::take(&folder, LOG);
    let error = open(&folder, write()).expect_err("without its log");
    assert_eq!(error.kind(), Kind::Missing);
    assert!(error.to_string().contains("lacks its log"), "{error}");
    away.give_back();
}

/// Either leg's disk may hold nonsense from the first byte to the last.
#[test]
fn a_disk_may_be_overwritten() {
    for disk in IMAGES {
        let folder = Folder::golden_whole();
        let size = fs::metadata(folder.path(disk)).expect("is there").len();
        folder.write(disk, 0, &vec![0x5a; size as usize]);
        let active = open(&folder, Options::default()).expect(disk);
        assert_eq!(checksum(&active.volume).expect("reads"), golden(), "{disk}");
    }
}

/// What is written is on both images.
#[test]
fn writes_reach_both_legs() {
    let folder = Folder::golden_whole();
    write_at(&folder, REGION, 0xee);
    for disk in IMAGES {
        let gone = Away::take(&folder, disk);
        assert_eq!(read_at(&folder, REGION).expect("reads"), 0xee, "{disk}");
        gone.give_back();
    }
}

/// A leg that missed a write is never read as if in sync: not alone, not beside the other; then
/// it is copied to.
#[test]
fn images_out_of_sync_are_not_read() {
    for (out_of_sync, other) in [(0, 1), (1, 0)] {
        let folder = Folder::golden_whole();
        let before = read_at(&folder, REGION).expect("reads");
        let missed = Away::take(&folder, IMAGES[out_of_sync]);
        write_at(&folder, REGION, !before);
        missed.give_back();
        let good = Away::take(&folder, IMAGES[other]);
        let error = read_at(&folder, REGION).expect_err("is out of sync");
        assert_eq!(error.kind(), BlockKind::Io, "{error}");
        read_at(&folder, 2 * REGION).expect("is in sync");
        let error = open(&folder, write()).expect_err("is out of sync");
        assert!(error.to_string().contains("are out of date"), "{error}");
        good.give_back();
        assert_eq!(read_at(&folder, REGION).expect("reads"), !before);
        // Activated for writing, the mirror copies by itself.
        wait_for_copies(&open(&folder, write()).expect("is activated"));
        let good = Away::take(&folder, IMAGES[other]);
        assert_eq!(read_at(&folder, REGION).expect("is copied"), !before);
        good.give_back();
    }
}

/// Before a write is answered that the first copy misses, the text has another one in front, on
/// all disks that are there; with the second one gone nothing is written down.
#[test]
fn a_missing_first_leg_comes_last() {
    const NAMES: [&str; 2] = ["mirror2_mimage_0", "mirror2_mimage_1"];
    for (lost, first) in [(0, NAMES[1]), (1, NAMES[0])] {
        let folder = Folder::golden_whole();
        let before = folder.scan().find_group("vg0").expect("the group").seqno;
        let away = Away::take(&folder, IMAGES[lost]);
        write_at(&folder, REGION, 0x77);
        let after = folder.scan().find_group("vg0").expect("the group").seqno;
        assert_eq!(images(&folder)[0], first);
        assert_eq!(after > before, lost == 0, "{before} {after}");
        write_at(&folder, REGION, 0x78);
        away.give_back();
        assert_eq!(images(&folder)[0], first);
        assert_eq!(read_at(&folder, REGION).expect("reads"), 0x78);
        let again = folder.scan().find_group("vg0").expect("the group").seqno;
        assert_eq!(again, after, "it is written once");
    }
}

/// Where nobody can write down that the first copy is outdated, nothing is written.
#[test]
fn without_an_owner_a_missing_first_leg_takes_no_writes() {
    let folder = Folder::golden_whole();
    let away = Away::take(&folder, IMAGES[0]);
    let active = open(&folder, write()).expect("is activated");
    let mut device = BlockingDevice::open(&active.volume).expect("opens");
    let error = device.write_at(&[7; 4096], REGION).expect_err("is refused");
    assert!(error.to_string().contains("does not own"), "{error}");
    // What failed first may have been written; from then on nothing is.
    device.read(Range::new(REGION, 4096)).expect("reads on");
    device.write_at(&[8; 4096], 0).expect_err("is refused, too");
    let bytes = device.read(Range::new(0, 4096)).expect("reads on");
    assert_ne!(bytes, [8; 4096]);
    away.give_back();
}

/// A mirror that runs is not started again: who activates it once more stands on the same one.
#[test]
fn two_users_stand_on_one_mirror() {
    let folder = Folder::golden_whole();
    let scan = folder.scan();
    let group = scan.find_group("vg0").expect("the group");
    let lv = group.find_lv("mirror2").expect("the mirror");
    let host = Host::without_config();
    let mut activator = Activator::new(&scan, &host);
    let one = activator
        .activate(group, lv, write())
        .expect("is activated");
    let mut device = BlockingDevice::open(&one.volume).expect("opens");
    device.write_at(&[3; 4096], REGION).expect("writes");

    let nodes = Nodes::new(one.standing_on.clone());
    let mut activator = Activator::new(&scan, &host).among(nodes);
    let other = activator
        .activate(group, lv, write())
        .expect("is activated");
    let said = mirror_of(&other).status(PATIENCE).expect("answers");
    assert_eq!(said.dirty, 1, "it knows what was written through the other");
    let mut other = BlockingDevice::open(&other.volume).expect("opens");
    assert_eq!(
        other.read(Range::new(REGION, 4096)).expect("reads"),
        [3; 4096]
    );

    let read_only = activator.activate(group, lv, Options::default());
    read_only.expect("reading is no more than writing");
}
