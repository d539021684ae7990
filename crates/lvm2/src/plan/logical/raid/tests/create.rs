//! Tests: new arrays.

use std::collections::BTreeSet;

use super::bench::{create, empty, group, is_zeroed, lengths, options, places, region, shown};
use crate::model::{AllocationPolicy, LvFlag, RaidLevel, VolumeGroup};
use crate::plan::change::Before;
use crate::plan::logical::{Initial, NewKind, NewVolume, RaidOptions, create_volume};
use crate::plan::samples::{assert_sound, by_author, done, id, refusal};
use crate::plan::size::{SizeArgument, parse_size};
use crate::{Bytes, Sectors};

/// What stock wrote.
const STOCK: &str = include_str!("../../../../../../../tests/fixtures/texts/raid-created.txt");

/// Runs a command as stock was given it.
fn replay(vg: &VolumeGroup, line: &str) -> VolumeGroup {
    let mut words = line.split_whitespace().skip(1);
    let mut options = RaidOptions::of(RaidLevel::Raid1);
    let (mut name, mut size, mut policy, mut pvs) = ("", "", None, Vec::new());
    let mut is_typed = false;
    while let Some(word) = words.next() {
        let mut next = || words.next().expect("it has a value");
        let sectors = |text: &str, unit| parse_size(text, unit).expect("a size").whole_sectors();
        match word {
            "--type" => {
                options.level = RaidLevel::from_name(next()).expect("a level");
                is_typed = true;
            }
            "-n" => name = next(),
            "-l" => size = next(),
            "-i" => options.stripes = Some(next().parse().expect("a number")),
            "-m" => options.copies = Some(next().parse::<usize>().expect("a number") + 1),
            "-R" => options.region_size = Some(sectors(next(), 'm')),
            "--nosync" => options.initial = Initial::NoSync,
            "--minrecoveryrate" => options.rates.min = Some(next().parse().expect("KiB")),
            "--maxrecoveryrate" => {
                options.rates.max = u32::try_from(sectors(next(), 'k').0 / 2).ok();
            }
            "--alloc" => policy = AllocationPolicy::from_name(next()),
            "vg" => {}
            word if word.starts_with("-m") => {
                options.copies = Some(word[2..].parse::<usize>().expect("a number") + 1);
            }
            word => {
                let letter = word.strip_prefix("/dev/vd").expect("a device").as_bytes()[0];
                pvs.push(usize::from(letter - b'a'));
            }
        }
    }
    if !is_typed && options.stripes.is_some() {
        options.level = RaidLevel::Raid10;
    }
    let places = places(vg, &pvs);
    let new = NewVolume {
        name: Some(name),
        kind: NewKind::Raid(options),
        policy,
        places: (!pvs.is_empty()).then_some(&places),
        ..NewVolume::linear(SizeArgument::from_extents(size).expect("it is a size"))
    };
    done(by_author(|author| create_volume(vg, &new, author)))
}

#[test]
fn new_arrays_are_written_as_stock_writes_them() {
    // Proves: keys, their order, names, flags, sizes and places of 23 arrays of all families.
    let mut arrays = 0;
    for section in STOCK.split("== ").skip(1) {
        let mut vg = empty();
        let mut expected = BTreeSet::new();
        for line in section.lines().skip(1) {
            match line.strip_prefix("$ ") {
                Some(line) => {
                    vg = replay(&vg, line);
                    arrays += 1;
                }
                None => {
                    expected.insert(line.to_owned());
                }
            }
        }
        let made = shown(&vg);
        let missing: Vec<_> = expected.difference(&made).collect();
        let more: Vec<_> = made.difference(&expected).collect();
        assert!(
            missing.is_empty() && more.is_empty(),
            "{missing:#?} {more:#?}"
        );
    }
    assert_eq!(arrays, 23);
}

#[test]
fn metadata_and_the_first_bytes_are_zeroed() {
    // Proves: all of each metadata and 4 KiB of each image, and that signatures are looked for.
    let change = create(&empty(), "a", "6", options("raid6")).expect("there is space");
    assert_sound(&change);
    for number in 0..5 {
        assert!(is_zeroed(&change, &format!("a_rmeta_{number}"), 1 << 20));
        assert!(is_zeroed(&change, &format!("a_rimage_{number}"), 4096));
        assert!(!is_zeroed(&change, &format!("a_rimage_{number}"), 8192));
    }
    let vg = change.vg().expect("a group");
    let lv = vg.lv(id(vg, "a")).uuid;
    assert!(change.before.contains(&Before::WipeSignatures { lv }));
    // Chunk 3 of five images in two rows: behind parity.
    let second = crate::plan::pieces(vg, id(vg, "a"), Bytes(3 * 65536), Bytes(512));
    assert_eq!(
        second.expect("it lies somewhere")[0].start.0 % (1 << 20),
        65536
    );
}

#[test]
fn shares_of_free_space_leave_room_for_metadata() {
    // Proves: the sizes that stock gives, by a machine with it.
    let size = |level: &str, stripes: Option<usize>, size: &str| {
        let options = RaidOptions {
            stripes,
            ..options(level)
        };
        let vg = done(create(&empty(), "a", size, options));
        vg.lv(id(&vg, "a")).extents().0
    };
    assert_eq!(size("raid1", None, "100%FREE"), 251);
    assert_eq!(size("raid5", Some(3), "100%FREE"), 375);
    assert_eq!(size("raid10", Some(3), "50%VG"), 126);
    assert_eq!(size("raid6", Some(3), "10%FREE"), 51);
    assert_eq!(size("raid0", None, "100%FREE"), 504);
    assert_eq!(size("raid0_meta", Some(3), "100%FREE"), 375);
}

#[test]
fn metadata_is_as_long_as_its_bitmap_needs() {
    // Proves: stock's lengths with extents of 4 KiB and of 512 KiB, and its smaller regions.
    let with = |level: &str, region: Option<u64>| RaidOptions {
        region_size: region.map(Sectors),
        ..options(level)
    };
    let small = group(8, 16000);
    let vg = done(create(&small, "a", "10240", with("raid1", Some(8))));
    assert_eq!(lengths(&vg, "a", 0), (10240, 3));
    let vg = done(create(&vg, "b", "2048", with("raid5", None)));
    assert_eq!(lengths(&vg, "b", 2), (1024, 3));
    let half = group(1024, 126);
    for asked in [None, Some(1 << 20)] {
        let vg = done(create(&half, "a", "3", with("raid1", asked)));
        assert_eq!(region(&vg, "a"), 2048);
    }
    // No bitmap has more than 2^21 bits.
    let large = group(1 << 23, 4000);
    let vg = done(create(&large, "a", "2000", with("raid1", None)));
    assert_eq!(region(&vg, "a"), 8192);
}

#[test]
fn what_no_array_is_like_is_refused() {
    // Proves: stock's sentences.
    let refused = |options: RaidOptions| refusal(create(&empty(), "a", "6", options));
    let with = |level: &str, copies: Option<usize>, stripes: Option<usize>| RaidOptions {
        copies,
        stripes,
        ..options(level)
    };
    let cases = [
        (
            with("raid1", Some(1), None),
            "--mirrors must be at least 1 with segment type raid1.",
        ),
        (
            with("raid1", Some(2), Some(2)),
            "Stripes argument cannot be used with segment type, raid1",
        ),
        (
            with("raid5", Some(2), None),
            "Mirror argument cannot be used with segment type, raid5",
        ),
        (
            with("raid5", None, Some(1)),
            "Minimum of 2 stripes required for raid5.",
        ),
        (
            with("raid6", None, Some(2)),
            "Minimum of 3 stripes required for raid6.",
        ),
        (
            with("raid10", Some(3), Some(2)),
            "RAID10 currently supports only 2-way mirroring (i.e. '-m 1')",
        ),
        (
            RaidOptions {
                initial: Initial::NoSync,
                ..options("raid6")
            },
            "nosync option prohibited on RAID6.",
        ),
    ];
    for (options, sentence) in cases {
        assert_eq!(refused(options), sentence);
    }
    let few = refused(with("raid5", None, Some(8)));
    let said = "Insufficient suitable allocatable extents for logical volume a: 18 more required";
    assert!(few.starts_with(said), "{few}");
}

#[test]
fn nothing_is_synchronised_where_that_is_said() {
    // Proves: the flag, and that RAID 0, which has nothing to be synchronised, is without it.
    let new = |level: &str| RaidOptions {
        initial: Initial::NoSync,
        ..options(level)
    };
    let is_flagged = |level: &str| {
        let vg = done(create(&empty(), "a", "6", new(level)));
        vg.lv(id(&vg, "a")).flags.has(LvFlag::NotSynced)
    };
    assert!(is_flagged("raid5") && is_flagged("raid10"));
    assert!(!is_flagged("raid0") && !is_flagged("raid0_meta"));
}
