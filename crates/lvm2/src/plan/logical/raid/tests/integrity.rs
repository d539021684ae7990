//! Tests: images with checksums against what stock writes, and back.

use super::bench::{create, empty, group, is_zeroed, options, places, whole};
use crate::Sectors;
use crate::model::samples::read;
use crate::model::{IntegrityMode, RaidLevel, VolumeGroup, to_text};
use crate::plan::logical::{
    ChecksumOptions, NewKind, NewVolume, RaidOptions, add_checksums, create_volume,
    remove_checksums,
};
use crate::plan::samples::{assert_sound, by_author, done, id, refusal};
use crate::plan::size::SizeArgument;
use crate::text::Style;

/// What stock said of the set `integrity` of `tests/fixtures/raid`, with its text at the end.
const STOCK: &str = include_str!("../../../../../../../tests/fixtures/raid/integrity.view.txt");
const PLAIN: ChecksumOptions = ChecksumOptions {
    mode: IntegrityMode::Journal,
    block_size: 512,
};

/// A volume of `VOLUMES`: its name, mode, size of blocks, level, extents, and its disks.
type Volume = (
    &'static str,
    IntegrityMode,
    u32,
    &'static str,
    &'static str,
    &'static [usize],
);

/// As the maker of the set makes them.
const VOLUMES: [Volume; 6] = {
    use IntegrityMode::{Bitmap, Journal};
    [
        ("clean_j1", Journal, 512, "raid1", "3", &[0, 1]),
        ("clean_b4k", Bitmap, 4096, "raid1", "3", &[2, 3]),
        ("clean_j5", Journal, 512, "raid5_ls", "4", &[4, 5, 6]),
        ("cut_j4k", Journal, 4096, "raid1", "3", &[7, 0]),
        ("cut_b1", Bitmap, 512, "raid1", "3", &[1, 2]),
        ("busy_j1", Journal, 512, "raid1", "3", &[3, 4]),
    ]
};

fn made(vg: &VolumeGroup, (name, mode, block_size, level, size, pvs): Volume) -> VolumeGroup {
    let is_mirror = level == "raid1";
    let options = RaidOptions {
        stripes: (!is_mirror).then_some(2),
        stripe_size: (!is_mirror).then_some(Sectors(16)),
        region_size: Some(Sectors(128)),
        checksums: Some(ChecksumOptions { mode, block_size }),
        ..RaidOptions::of(RaidLevel::from_name(level).expect("a level"))
    };
    let places = places(vg, pvs);
    let new = NewVolume {
        name: Some(name),
        kind: NewKind::Raid(options),
        places: Some(&places),
        ..NewVolume::linear(SizeArgument::from_extents(size).expect("it is a size"))
    };
    done(by_author(|author| create_volume(vg, &new, author)))
}

#[test]
fn images_get_checksums_as_stock_makes_them() {
    // Proves: names, their order, keys, flags, sizes and places of both modes and both sizes of
    // blocks; but that stock has computed the checksums since.
    let text = &STOCK[STOCK.find("\nintegrity {").expect("the text")..];
    let stock = read(text);
    let pvs: Vec<u64> = stock.pvs().map(|(_, pv)| pv.pe_count.0).collect();
    let mut vg = group(1024, pvs[0]);
    for volume in VOLUMES {
        vg = made(&vg, volume);
    }
    let names = |vg: &VolumeGroup| -> Vec<String> {
        vg.lvs().map(|(_, lv)| lv.name().to_owned()).collect()
    };
    let raw = |vg: &VolumeGroup| String::from_utf8(to_text(vg, Style::Raw)).expect("it is text");
    let (ours, theirs) = (raw(&vg), raw(&stock));
    for name in names(&stock) {
        let (made, expected) = (whole(&ours, &name), whole(&theirs, &name));
        assert_eq!(made.replace(" recalculate = 1", ""), expected, "{name}");
        let is_new = made.contains("type = \"integrity\"");
        assert_eq!(made.contains("recalculate"), is_new, "{name}");
    }
    assert_eq!(vg.lv_count(), stock.lv_count());
}

#[test]
fn checksums_are_given_and_taken_away() {
    // Proves: of an array of each level, behind what was allocated since; the superblock's place is
    // zeros before, and without checksums the group is what it was.
    for level in ["raid1", "raid4", "raid5", "raid6", "raid10"] {
        let vg = done(create(&empty(), "r", "12", options(level)));
        let change = by_author(|author| add_checksums(&vg, "r", PLAIN, author)).expect("room");
        assert_sound(&change);
        let with = change.vg().expect("a group");
        assert!(is_zeroed(&change, "r_rimage_1_imeta", 4096), "{level}");
        let images = with.lvs().filter(|(_, lv)| lv.name().ends_with("_iorig"));
        assert_eq!(
            with.lv_count(),
            vg.lv_count() + 2 * images.count(),
            "{level}"
        );
        let lv = with.lv(id(with, "r_rimage_1_imeta"));
        assert_eq!(lv.extents().0, 8, "{level}");
        let said = refusal(by_author(|author| add_checksums(with, "r", PLAIN, author)));
        assert!(said.contains("r_rimage_0 has checksums"), "{said}");
        let without = done(by_author(|author| remove_checksums(with, "r", author)));
        let lines = |vg: &VolumeGroup| {
            let text = String::from_utf8(to_text(vg, Style::Raw)).expect("it is text");
            let all = vg.lvs().map(|(_, lv)| whole(&text, lv.name()));
            all.collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(lines(&without), lines(&vg), "{level}");
        let said = refusal(by_author(|author| remove_checksums(&vg, "r", author)));
        assert!(said.contains("no checksums"), "{said}");
    }
}

#[test]
fn what_gets_no_checksums_is_refused() {
    // Proves: levels without redundancy, sizes of blocks that there are not, and no room on the
    // disk of an image are refused by name.
    let add = |vg: &VolumeGroup, options: ChecksumOptions| {
        refusal(by_author(|author| add_checksums(vg, "r", options, author)))
    };
    let vg = done(create(&empty(), "r", "4", options("raid0")));
    assert!(add(&vg, PLAIN).contains("raid0"));
    let vg = done(create(&empty(), "r", "4", options("raid1")));
    let odd = ChecksumOptions {
        block_size: 8192,
        ..PLAIN
    };
    assert!(add(&vg, odd).contains("Invalid integrity block size"));
    let vg = done(create(&empty(), "r", "58", options("raid1")));
    let said = add(&vg, PLAIN);
    assert!(said.contains("nsufficient"), "{said}");
    let new = RaidOptions {
        checksums: Some(PLAIN),
        ..options("raid0")
    };
    let said = new.check().expect_err("it has no redundancy").to_string();
    assert!(said.contains("raid1,4,5,6,10"), "{said}");
}

#[test]
fn metadata_are_as_long_as_stock_makes_them() {
    // Proves: the sizes of `_imeta` that stock gives, by the size of the data.
    for (mib, expected) in [
        (1, 8),
        (499, 8),
        (500, 12),
        (512, 12),
        (513, 16),
        (1024, 20),
        (1025, 44),
        (4096, 68),
        (4097, 100),
    ] {
        let extents = crate::plan::checksums::metadata_extents(crate::Extents(mib), Sectors(2048));
        assert_eq!(extents.expect("it is countable").0, expected, "{mib} MiB");
    }
}
