//! Arrays that are read: made naively in memory, then robbed of legs.

mod alive;
mod made;
mod repair;
mod scrub;
mod successor;
mod takeover;
mod torn;

use std::time::Duration;

use block::sim::Random;
use block::{BlockingDevice, Device, Range};

use super::{Array, LegState, Parity, Rotation, Scheme};
use crate::home::Home;
use made::{CHUNK, Made};

const LIMIT: Duration = Duration::from_secs(10);

/// Every layout, with enough legs for it.
fn schemes() -> Vec<(Scheme, usize)> {
    let mut all = vec![(Scheme::Mirror, 2), (Scheme::Mirror, 3)];
    for rotation in Rotation::all() {
        all.push((Scheme::Parity(Parity::Two, rotation), 5));
        if rotation.suits(Parity::One) {
            all.push((Scheme::Parity(Parity::One, rotation), 3));
            all.push((Scheme::Parity(Parity::One, rotation), 4));
        }
    }
    for (layout, legs) in [
        (0x102, 4),
        (0x102, 3),
        (0x103, 5),
        (0x201, 4),
        (0x1_0201, 3),
        (0x4_0201, 6),
    ] {
        all.push((Scheme::from_md(10, layout).expect("a layout"), legs));
    }
    all
}

/// All sets of at most `count` of `legs` legs.
fn losses(legs: usize, count: usize) -> Vec<Vec<usize>> {
    let sets = (0..1_usize << legs).filter(|set| set.count_ones() as usize <= count);
    let members = |set: usize| (0..legs).filter(|leg| set >> leg & 1 == 1).collect();
    sets.map(members).collect()
}

/// Reads some ranges, short and long, and all.
fn assert_reads(made: &Made, home: &Home<Array>, what: &str) {
    let mut device = BlockingDevice::open(&home.face(0).expect("a face")).expect("it opens");
    let size = made.content.len() as u64;
    let mut random = Random::new(size);
    let mut ranges = vec![Range::new(0, size)];
    for _ in 0..24 {
        let start = random.below(size / 512);
        let len = 1 + random.below((size / 512 - start).min(3 * CHUNK / 512));
        ranges.push(Range::new(start * 512, len * 512));
    }
    for range in ranges {
        let read = device
            .read(range)
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        let expected = &made.content[range.start() as usize..range.end() as usize];
        assert!(read == expected, "{what}: {range:?} differs");
    }
}

/// Whole and without any legs that it may lose, every array reads what was written.
#[test]
fn every_layout_reads_without_the_legs_that_it_may_lose() {
    for (scheme, legs) in schemes() {
        let made = Made::new(scheme, legs);
        for lost in losses(legs, scheme.redundancy(legs).min(2)) {
            let what = format!("{scheme:?} of {legs} without {lost:?}");
            assert_reads(&made, &made.without(&lost), &what);
        }
    }
}

/// Where a leg does not answer, the others do; where they cannot, the error names what is missing
/// and nothing else fails.
#[test]
fn what_a_leg_does_not_answer_is_made_up() {
    for (scheme, legs) in schemes() {
        let made = Made::new(scheme, legs);
        for bad in 0..legs {
            let home = made.with_failing(bad);
            let what = format!("{scheme:?} of {legs}, leg {bad} fails");
            assert_reads(&made, &home, &what);
            let status = home.status(LIMIT).expect("it runs");
            let failed = status.legs.iter().position(|(_, errors)| *errors > 0);
            assert!(failed.is_none_or(|leg| leg == bad), "{what}");
        }
    }
    let five = Scheme::Parity(Parity::One, Rotation::LeftSymmetric);
    let made = Made::new(five, 3);
    let home = made.without(&[0]);
    let mut device = BlockingDevice::open(&home.face(0).expect("a face")).expect("it opens");
    assert!(device.read(Range::new(0, 4096)).is_ok());
    let two = made.without(&[0, 1]);
    let mut device = BlockingDevice::open(&two.face(0).expect("a face")).expect("it opens");
    // Row 0 is D D P, row 1 is D P D: what leg 2 holds is there.
    let error = device.read(Range::new(0, CHUNK)).expect_err("it is lost");
    let said = error.to_string();
    assert!(
        said.contains("leg-0") && said.contains("leg-1 is missing"),
        "{said}"
    );
    let there = device
        .read(Range::new(2 * CHUNK, CHUNK))
        .expect("leg 2 holds it");
    assert!(there == made.content[2 * CHUNK as usize..3 * CHUNK as usize]);
}

/// Legs that fail at different places of what is read at once have it together: each piece comes
/// from one that has it. Where all of a row fail nothing is made up.
#[test]
fn legs_that_fail_at_different_places_have_all_of_it() {
    for (scheme, legs) in schemes() {
        let made = Made::new(scheme, legs);
        if matches!(scheme, Scheme::Copies(_)) {
            // Their copies are at other places than they are.
            continue;
        }
        // Four rows between two bad places.
        let bad = |leg: usize| Range::new((1 + 4 * leg as u64) % 21 * CHUNK + 512, 1024);
        let places: Vec<Range> = (0..legs).map(bad).collect();
        let what = format!("{scheme:?} of {legs}");
        assert_reads(&made, &made.with_bad_places(&places), &what);
        let same = vec![Range::new(5 * CHUNK, 512); legs];
        let home = made.with_bad_places(&same);
        let mut device = BlockingDevice::open(&home.face(0).expect("a face")).expect("it opens");
        assert!(
            device
                .read(Range::new(0, made.content.len() as u64))
                .is_err(),
            "{what}"
        );
    }
}

/// A leg that the others went on without, or that is older, is not read: it holds other bytes, and
/// none of them is seen.
#[test]
fn an_outdated_leg_is_not_believed() {
    for (scheme, legs) in schemes() {
        for how in [made::Age::Older, made::Age::CalledFailed] {
            let mut made = Made::new(scheme, legs);
            let old = 1;
            made.outdate(old, how);
            let home = made.whole();
            let what = format!("{scheme:?} of {legs}, {how:?}");
            assert_reads(&made, &home, &what);
            let status = home.status(LIMIT).expect("it runs");
            assert!(
                matches!(&status.legs[old].0, LegState::Untrusted(why) if !why.is_empty()),
                "{what}: {status:?}"
            );
        }
    }
}

/// A leg that is being rebuilt is read as far as it was, and not behind that.
#[test]
fn a_leg_is_read_as_far_as_it_was_rebuilt() {
    for (scheme, legs) in schemes() {
        for until in [0, 512, CHUNK, 2 * CHUNK + 1024] {
            let mut made = Made::new(scheme, legs);
            made.rebuilt_until(1, until);
            let what = format!("{scheme:?} of {legs}, {until} bytes are rebuilt");
            assert_reads(&made, &made.whole(), &what);
        }
    }
}

/// Where parity was never brought in sync nothing is made up from it; what is there is read.
#[test]
fn parity_that_was_never_computed_is_not_used() {
    let five = Scheme::Parity(Parity::One, Rotation::LeftSymmetric);
    let mut made = Made::new(five, 3);
    made.synced_until(2 * CHUNK);
    assert_reads(&made, &made.whole(), "not in sync, and whole");
    let home = made.without(&[0]);
    let mut device = BlockingDevice::open(&home.face(0).expect("a face")).expect("it opens");
    // Row 0: chunks 0 and 1 on legs 0 and 1. Row 2: P on leg 0.
    assert!(device.read(Range::new(0, CHUNK)).is_ok(), "in sync");
    assert!(
        device.read(Range::new(4 * CHUNK, CHUNK)).is_ok(),
        "it is on a leg that is there"
    );
    let error = device
        .read(Range::new(6 * CHUNK, CHUNK))
        .expect_err("it cannot be made up");
    assert!(
        error.to_string().contains("never brought in sync"),
        "{error}"
    );
}

/// Copies that may differ are read from one leg, so that what was read once stays.
#[test]
fn copies_that_may_differ_are_read_from_the_first_leg() {
    let mut made = Made::new(Scheme::Mirror, 3);
    made.synced_until(0);
    let size = made.content.len();
    for leg in [1, 2] {
        made.data[leg] = vec![0xee; size];
    }
    assert_reads(&made, &made.whole(), "never in sync");
    let mut made = Made::new(Scheme::Mirror, 3);
    made.dirty(0..2);
    for leg in [1, 2] {
        made.data[leg][..2 * made::REGION as usize].fill(0xee);
    }
    assert_reads(&made, &made.whole(), "two regions are dirty");
}

/// A leg that was away when others were written is not read there, though only their bitmaps know;
/// elsewhere it is. With another leg missing it is all that there is, as it is for the kernel.
#[test]
fn writes_that_a_leg_missed_are_known_from_bitmaps() {
    for (scheme, legs) in schemes() {
        let mut made = Made::new(scheme, legs);
        made.blind(1, 1..3);
        let home = made.whole();
        let what = format!("{scheme:?} of {legs}, leg 1 missed writes");
        assert_reads(&made, &home, &what);
        let status = home.status(LIMIT).expect("it runs");
        assert_eq!(
            status.legs[1].0,
            LegState::Valid { until: u64::MAX },
            "{what}"
        );
        let said = status.remarks.join("\n");
        assert!(
            said.contains("leg 1 may have missed writes in 2"),
            "{what}: {said}"
        );
    }
    // Where nothing was in sync yet, bits say nothing: the first copy is right, and each data leg.
    let five = Scheme::Parity(Parity::One, Rotation::LeftSymmetric);
    for (scheme, legs) in [(Scheme::Mirror, 2), (five, 3)] {
        let mut made = Made::new(scheme, legs);
        made.dirty(1..3);
        made.forget(0);
        made.synced_until(0);
        let what = format!("{scheme:?}, whose leg 0 knows of no write, was never in sync");
        assert_reads(&made, &made.whole(), &what);
    }
    let mut made = Made::new(Scheme::Mirror, 2);
    made.blind(1, 1..3);
    let home = made.without(&[0]);
    let mut device = BlockingDevice::open(&home.face(0).expect("a face")).expect("it opens");
    assert!(device.read(Range::new(0, 4 * made::REGION)).is_ok());
}

/// What contradicts itself is no array, with a reason; what is only too little is.
#[test]
fn contradictions_are_refused() {
    let five = Scheme::Parity(Parity::One, Rotation::LeftSymmetric);
    let said = |made: &Made| {
        let error = Made::start(&made.config(), made.legs()).map(drop);
        error.expect_err("it is refused").to_string()
    };
    let mut made = Made::new(five, 3);
    made.change(|one| one.layout = 0);
    assert!(
        said(&made).contains("layout 0, not 5 with 2"),
        "{}",
        said(&made)
    );
    let mut made = Made::new(five, 3);
    made.change(|one| one.stripe_sectors *= 2);
    assert!(said(&made).contains("chunks of"), "{}", said(&made));
    let mut made = Made::new(five, 3);
    made.change(|one| one.device_count = 4);
    assert!(said(&made).contains("4 legs, not 3"), "{}", said(&made));
    let mut made = Made::new(five, 3);
    made.change_of(1, |one| one.failed.insert(2));
    assert!(said(&made).contains("contradict"), "{}", said(&made));
    for far in [1 << 20, (1 << 55) - 1] {
        let mut made = Made::new(five, 3);
        made.begin_at(far);
        assert!(
            said(&made).contains("its data begin at byte"),
            "{}",
            said(&made)
        );
    }
    let made = Made::new(five, 3);
    let mut config = made.config();
    config.described.region_size = 0;
    let refused = Made::start(&config, made.legs()).map(drop);
    let error = refused.expect_err("regions of nothing");
    assert!(error.to_string().contains("regions of 0 bytes"), "{error}");
    let mut made = Made::new(five, 3);
    made.change(|one| one.array_position = 0);
    let status = made.whole().status(LIMIT).expect("it runs");
    assert!(
        matches!(status.legs[1].0, LegState::Untrusted(_)),
        "doubled places"
    );
}

/// Nothing is written: writes are refused, and flushes have nothing to do.
#[test]
fn an_array_is_only_read() {
    let made = Made::new(Scheme::Mirror, 2);
    let home = made.whole();
    let face = home.face(0).expect("a face");
    assert!(face.info().read_only);
    let mut device = BlockingDevice::open(&face).expect("it opens");
    assert!(device.write_at(&[1; 512], 0).is_err());
    device.flush().expect("there is nothing to flush");
}
