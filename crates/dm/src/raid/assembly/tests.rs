//! What is believed, rule by rule, and under random superblocks.

use block::sim::Random;

use super::{Assembly, Bits, Described, Doubt, LegFound, LegState, assemble};
use crate::raid::{
    Bitmap, Dirty, Extended, FailedDevices, Geometry, Parity, Position, Rotation, Scheme,
    Superblock,
};

const LEGS: usize = 4;
const CHUNK: u64 = 4096;

fn described() -> Described {
    let scheme = Scheme::Parity(Parity::One, Rotation::LeftSymmetric);
    let geometry = Geometry::new(scheme, LEGS, CHUNK, 16 * CHUNK).expect("it can be");
    Described::new(geometry, CHUNK)
}

fn superblock(place: usize) -> Superblock {
    Superblock {
        device_count: LEGS as u32,
        array_position: place as u32,
        events: 20,
        failed: FailedDevices::default(),
        disk_recovery_offset: Position::End,
        array_resync_offset: Position::End,
        level: 5,
        layout: 2,
        stripe_sectors: (CHUNK / 512) as u32,
        extended: None,
    }
}

/// Four legs, of which one was changed.
fn found(place: usize, change: impl FnOnce(&mut Superblock)) -> Vec<LegFound> {
    let mut all: Vec<Superblock> = (0..LEGS).map(superblock).collect();
    change(&mut all[place]);
    let hold = |one| LegFound::Holds(Box::new(one), Bits::None);
    all.into_iter().map(hold).collect()
}

fn assembled(found: &[LegFound]) -> Assembly {
    assemble("array", &described(), found).expect("an array")
}

fn is_untrusted(assembly: &Assembly, place: usize) -> bool {
    matches!(assembly.legs[place], LegState::Untrusted(_))
}

const ALL: LegState = LegState::Valid { until: u64::MAX };

/// Legs that agree are believed, in whole.
#[test]
fn legs_that_agree_are_believed() {
    let assembly = assembled(&found(0, |_| {}));
    assert_eq!(assembly.legs, [ALL, ALL, ALL, ALL]);
    assert_eq!((assembly.synced, assembly.events), (u64::MAX, 20));
    assert_eq!(assembly.dirty, Doubt::Nowhere);
    assert_eq!(assembly.remarks, [""; 0]);
}

/// One event less is a writing that was cut short; two less is a leg that was away, and so is one
/// that the others call failed.
#[test]
fn older_legs_are_not_believed() {
    for (less, believed) in [(0, true), (1, true), (2, false), (20, false)] {
        let assembly = assembled(&found(2, |one| one.events -= less));
        assert_eq!(!is_untrusted(&assembly, 2), believed, "{less} events less");
        assert!(!is_untrusted(&assembly, 0), "the newer ones are");
    }
    let mut legs = found(2, |one| one.events -= 1);
    for leg in [0, 1, 3] {
        let LegFound::Holds(one, _) = &mut legs[leg] else {
            unreachable!("they hold superblocks");
        };
        one.failed.insert(2);
    }
    assert!(
        is_untrusted(&assembled(&legs), 2),
        "the others call it failed"
    );
    // What an older one says of the newer ones does not count.
    let assembly = assembled(&found(2, |one| {
        one.events -= 5;
        one.failed.insert(0);
    }));
    assert!(!is_untrusted(&assembly, 0) && is_untrusted(&assembly, 2));
}

/// A leg in another's place, of another array, blank or damaged is not believed, and says why.
#[test]
fn foreign_legs_are_not_believed() {
    type Change = fn(&mut Superblock);
    let changes: [Change; 4] = [
        |one| one.array_position = 1,
        |one| (one.events, one.layout) = (19, 3),
        |one| (one.events, one.device_count) = (19, 5),
        |one| (one.events, one.stripe_sectors) = (19, 64),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let assembly = assembled(&found(3, change));
        assert!(is_untrusted(&assembly, 3), "change {number}");
        assert!(assembly.remarks[0].starts_with("leg 3 is not believed: "));
    }
    for leg in [LegFound::Blank, LegFound::Damaged("noise".into())] {
        let mut legs = found(0, |_| {});
        legs[1] = leg;
        let assembly = assembled(&legs);
        assert!(is_untrusted(&assembly, 1));
        assert_eq!(assembly.legs[0], ALL);
    }
    let mut legs = found(0, |_| {});
    legs[1] = LegFound::New(None);
    assert_eq!(assembled(&legs).legs[1], LegState::Valid { until: 0 });
    legs[1] = LegFound::Missing;
    assert_eq!(assembled(&legs).legs[1], LegState::Missing);
}

/// Positions become bytes: of a leg, and of what is brought in sync.
#[test]
fn positions_are_bytes() {
    let assembly = assembled(&found(1, |one| {
        one.disk_recovery_offset = Position::Sector(24);
    }));
    assert_eq!(assembly.legs[1], LegState::Valid { until: 24 * 512 });
    let assembly = assembled(&found(1, |one| {
        one.array_resync_offset = Position::Sector(16);
    }));
    assert_eq!(assembly.synced, 16 * 512);
}

/// All blank is a new array; nothing at all, or newest ones that contradict each other, is none.
#[test]
fn what_says_nothing_is_new_or_nothing() {
    let blank = vec![LegFound::Blank; LEGS];
    let assembly = assembled(&blank);
    assert_eq!((assembly.synced, assembly.events), (0, 0));
    assert_eq!(assembly.legs, [ALL, ALL, ALL, ALL]);
    let refused = |legs: &[LegFound]| {
        let error = assemble("array", &described(), legs).expect_err("no array");
        error.to_string()
    };
    let damaged = vec![LegFound::Damaged("noise".into()); LEGS];
    assert!(refused(&damaged).contains("leg 0: noise"));
    let contradiction = found(2, |one| one.failed.insert(1));
    assert!(refused(&contradiction).contains("contradict each other"));
    let other = found(2, |one| {
        one.events += 1;
        one.level = 6;
    });
    assert!(refused(&other).contains("level 6 with layout 2, not 5 with 2"));
}

/// A leg that the others went on without, and that is as new as they by itself, is not believed;
/// two that call each other failed contradict each other.
#[test]
fn a_leg_that_was_left_behind_is_no_contradiction() {
    for behind in 0..LEGS {
        let mut legs = found(0, |_| {});
        for (leg, one) in legs.iter_mut().enumerate() {
            let LegFound::Holds(superblock, _) = one else {
                unreachable!("they hold superblocks");
            };
            if leg != behind {
                superblock.failed.insert(behind);
            }
        }
        let assembly = assembled(&legs);
        assert!(is_untrusted(&assembly, behind), "{behind}: {assembly:?}");
    }
    let mut legs = found(0, |one| one.failed.insert(1));
    let LegFound::Holds(superblock, _) = &mut legs[1] else {
        unreachable!("it holds one");
    };
    superblock.failed.insert(0);
    let error = assemble("array", &described(), &legs).expect_err("nobody knows");
    assert!(
        error.to_string().contains("contradict each other"),
        "{error}"
    );
}

/// A bitmap that is older says nothing: anything may be dirty. Of an array that became larger it
/// says what it did, and what came was never in sync.
#[test]
fn bitmaps_that_do_not_fit_are_not_believed() {
    let size = described().geometry.sync_size();
    let with = |size: u64, events: u64| {
        let mut legs = found(0, |_| {});
        let mut dirty = Dirty::clean(CHUNK, size).expect("few regions");
        dirty.set(3);
        let LegFound::Holds(_, bits) = &mut legs[0] else {
            unreachable!("they hold superblocks");
        };
        *bits = Bits::Bitmap(Bitmap::new(size, events, dirty));
        assembled(&legs)
    };
    assert!(matches!(with(size, 20).dirty, Doubt::Regions(_)));
    assert_eq!(with(size, 20).synced, u64::MAX);
    let older = with(size, 19);
    assert_eq!(older.dirty, Doubt::Everywhere);
    assert!(older.remarks[0].contains("bitmap of leg 0"));
    let grown = with(size - CHUNK, 20);
    assert_eq!(
        (&grown.dirty, grown.synced),
        (&with(size, 20).dirty, size - CHUNK)
    );
}

/// A leg that is not believed may have a bitmap of any shape: it is not asked.
#[test]
fn bitmaps_of_other_legs_are_not_asked() {
    let size = described().geometry.sync_size();
    let mut legs = found(1, |one| one.events -= 2);
    for (leg, size) in [(0, size), (1, 4 * CHUNK)] {
        let LegFound::Holds(one, bits) = &mut legs[leg] else {
            unreachable!("they hold superblocks");
        };
        let mut dirty = Dirty::clean(CHUNK, size).expect("few regions");
        if leg == 0 {
            dirty.set(12);
        }
        *bits = Bits::Bitmap(Bitmap::new(size, one.events, dirty));
    }
    let assembly = assembled(&legs);
    assert!(is_untrusted(&assembly, 1));
    assert_eq!(assembly.missed, vec![Doubt::Nowhere; LEGS]);
}

/// Zeros beside a leg that is missing are no new array.
#[test]
fn zeros_beside_missing_legs_are_no_new_array() {
    let mut legs = vec![LegFound::Blank; LEGS];
    legs[0] = LegFound::Missing;
    let error = assemble("array", &described(), &legs).expect_err("no array");
    assert!(
        error.to_string().contains("other legs are missing"),
        "{error}"
    );
}

fn extended(position: u64, delta_disks: i32, backwards: bool) -> Extended {
    Extended {
        is_reshaping: true,
        backwards,
        reshape_position: Position::Sector(position),
        new_level: 5,
        new_layout: 2,
        new_stripe_sectors: (CHUNK / 512) as u32,
        delta_disks,
        array_sectors: 0,
        data_offset: 8,
        new_data_offset: 0,
        sectors: 0,
    }
}

/// A reshape is read by both arithmetics; one that cannot be is refused.
#[test]
fn reshapes_have_two_geometries() {
    let reshaping = |position: u64, delta_disks: i32, backwards: bool| {
        let mut legs = found(0, |_| {});
        for leg in &mut legs {
            let LegFound::Holds(one, _) = leg else {
                unreachable!("they hold superblocks");
            };
            one.layout = 0;
            one.stripe_sectors = 16;
            one.extended = Some(extended(position, delta_disks, backwards));
        }
        assemble("array", &described(), &legs)
    };
    let assembly = reshaping(96, 1, false).expect("an array");
    let reshape = assembly.reshape.expect("it is reshaped");
    assert_eq!(reshape.from.legs(), LEGS - 1);
    assert_eq!(reshape.from.chunk(), 8192);
    assert_eq!(reshape.to, described().geometry);
    assert_eq!((reshape.position, assembly.data_start), (96 * 512, 8 * 512));
    assert!(reshaping(1 << 40, 1, false).is_err(), "behind its end");
    let mut legs = found(0, |_| {});
    for leg in &mut legs {
        let LegFound::Holds(one, _) = leg else {
            unreachable!("they hold superblocks");
        };
        (one.level, one.layout) = (10, 0x102);
        one.extended = Some(extended(0, 0, false));
    }
    let error = assemble("array", &described(), &legs).expect_err("regions count otherwise");
    assert!(error.to_string().contains("counts otherwise"), "{error}");
    assert!(reshaping(96, 4, false).is_err(), "from nothing");
    assert!(reshaping(96, i32::MIN, false).is_err(), "from too much");
}

/// Whatever superblocks say, nothing panics, and a leg that is older by two is never believed.
#[test]
fn random_superblocks_do_no_harm() {
    let mut random = Random::new(3);
    let mut arrays = 0;
    for _ in 0..20_000 {
        let mut all: Vec<Superblock> = (0..LEGS).map(superblock).collect();
        for _ in 0..random.index(4) {
            let one = &mut all[random.index(LEGS)];
            let sector = random.number() >> random.below(64);
            match random.below(8) {
                0..=2 => one.events -= random.below(4),
                3 => one.array_position = random.below(5) as u32,
                4 => one.failed.insert(random.index(LEGS)),
                5 => one.layout = random.below(22) as u32,
                6 => one.disk_recovery_offset = Position::Sector(sector),
                _ => one.array_resync_offset = Position::Sector(sector),
            }
        }
        let newest = all.iter().map(|one| one.events).max().expect("four");
        let hold = |one: &Superblock| LegFound::Holds(Box::new(one.clone()), Bits::None);
        let legs: Vec<LegFound> = all.iter().map(hold).collect();
        let Ok(assembly) = assemble("array", &described(), &legs) else {
            continue;
        };
        arrays += 1;
        for (place, one) in all.iter().enumerate() {
            let is_old = one.events + 1 < newest;
            assert!(!is_old || is_untrusted(&assembly, place), "{all:?}");
        }
    }
    assert!(arrays > 5_000, "{arrays} of them are arrays");
}
