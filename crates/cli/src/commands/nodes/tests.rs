//! The words for how nodes are, against those that a stock kernel showed.

use ashlar::live::{ImageStatus, Merging, MirrorStatus, SnapshotInUse};
use dm::mirror::ImageHealth;
use lvm2::model::{LogicalVolume, Raid, RaidImage, RaidLevel, VolumeGroup};
use lvm2::{Sectors, Uuid};

use super::status::{array, in_store};
use super::target::{Argument, Below, level};

fn uuid() -> Uuid {
    Uuid::from_random(&[7; 32])
}

fn raid(level: RaidLevel, count: usize) -> Raid {
    let mut group = VolumeGroup::new("vg0", uuid(), Sectors(8192));
    let data = group.add_lv(LogicalVolume::new("image", uuid()));
    let image = RaidImage {
        meta: None,
        data: data.expect("the name is free"),
    };
    Raid {
        level,
        data_copies: None,
        region_size: Sectors(4096),
        stripe_size: Sectors(128),
        write_behind: None,
        min_recovery_rate: None,
        max_recovery_rate: None,
        data_offset: None,
        images: vec![image; count],
    }
}

fn said(in_sync: u64, states: &[ImageHealth]) -> MirrorStatus {
    let image = |state: &ImageHealth| ImageStatus {
        lv: uuid(),
        name: String::new(),
        state: *state,
        mismatches: None,
    };
    MirrorStatus {
        lv: uuid(),
        in_sync,
        regions: 8,
        images: states.iter().map(image).collect(),
    }
}

#[test]
fn arrays_say_how_their_legs_are() {
    // Proves: the letters, counts and words are those that a stock kernel shows of an array that is
    // whole, new, being filled, and degraded.
    let good = ImageHealth::Good;
    let of = |in_sync, states: &[ImageHealth]| {
        let raid = raid(RaidLevel::Raid5, states.len());
        array(&raid, 8192, Some(&said(in_sync, states)))
    };
    assert_eq!(of(8, &[good; 3]), "raid5_ls 3 AAA 8192/8192 idle 0 0 -");
    assert_eq!(of(6, &[good; 3]), "raid5_ls 3 aaa 6144/8192 resync 0 0 -");
    let filled = [good, ImageHealth::OutOfSync, good];
    assert_eq!(of(2, &filled), "raid5_ls 3 AaA 2048/8192 recover 0 0 -");
    let lost = [good, good, ImageHealth::Lost];
    assert_eq!(of(8, &lost), "raid5_ls 3 AAD 8192/8192 idle 0 0 -");
    let striped = raid(RaidLevel::Raid0Meta, 2);
    assert_eq!(array(&striped, 64, None), "raid0 2 AA 64/64 idle 0 0 -");
    assert_eq!(array(&raid(RaidLevel::Raid1, 2), 64, None), "raid1 2 -");
    assert_eq!(level(RaidLevel::Raid6), "raid6_zr");
    assert_eq!(level(RaidLevel::Raid6Nr), "raid6_nr");
}

#[test]
fn snapshots_say_how_full_they_are() {
    // Proves: sectors are counted, as by the kernel, and a store that is lost says so.
    let store = SnapshotInUse {
        lv: uuid(),
        used: 400 * 512,
        metadata: 16 * 512,
        size: 8192 * 512,
        is_invalid: false,
        merge: Merging::No,
        fill_rate: None,
        is_full_soon: false,
    };
    assert_eq!(in_store(Some(store)), "400/8192 16");
    let invalid = SnapshotInUse {
        is_invalid: true,
        ..store
    };
    assert_eq!(in_store(Some(invalid)), "Invalid");
    let failed = SnapshotInUse {
        merge: Merging::Failed,
        ..store
    };
    assert_eq!(in_store(Some(failed)), "Merge failed");
    assert_eq!(in_store(None), "-");
}

#[test]
fn images_stand_in_tables_by_paths_of_one_word() {
    // Proves: disks have numbers, images paths in which a space ends no word, and parts the path
    // that they would have.
    let disk = |name: &str, number| Argument::Below("", Below::Disk(name.to_owned(), number));
    assert_eq!(disk("/dev/sda", Some((8, 0))).text(), "8:0");
    assert_eq!(disk("my disks\\a", None).text(), "my\\ disks\\\\a");
    let part = Argument::Below("meta_device:", Below::Node("vg0-a_imeta".to_owned()));
    assert_eq!(part.text(), "meta_device:/dev/mapper/vg0-a_imeta");
}
