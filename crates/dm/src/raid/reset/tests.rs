//! Which images are believed again, and that they are.

use super::{ResetLeg, reset};
use crate::raid::{
    Bitmap, Bits, Described, Dirty, Doubt, Geometry, LegFound, LegState, Parity, Position,
    Rotation, Scheme, Superblock, assemble,
};

const LEGS: usize = 4;
const CHUNK: u64 = 4096;
const REGION: u64 = 2 * CHUNK;

fn described(scheme: Scheme) -> Described {
    let geometry = Geometry::new(scheme, LEGS, CHUNK, 16 * CHUNK).expect("it can be");
    Described::new(geometry, REGION)
}

fn five() -> Described {
    described(Scheme::Parity(Parity::One, Rotation::LeftSymmetric))
}

/// Legs with so many events, of which the newest went on without all others; each has marked the
/// region of its number.
fn found(described: &Described, events: [u64; LEGS]) -> Vec<LegFound> {
    let newest = events.into_iter().max().expect("there are some");
    let size = described.geometry.sync_size();
    let leg = |leg: usize| {
        let own = events[leg];
        let away = (0..LEGS).filter(|other| events[*other] < newest);
        let superblock = Superblock {
            array_position: leg as u32,
            events: own,
            failed: away.filter(|_| own == newest).collect(),
            ..Superblock::in_sync(&described.geometry, described.geometry.size(), 0)
        };
        let mut dirty = Dirty::clean(REGION, size).expect("few regions");
        dirty.set(leg as u64);
        let bitmap = Bitmap {
            events_cleared: 0,
            ..Bitmap::new(size, own, dirty)
        };
        let bits = Bits::Bitmap(bitmap);
        LegFound::Holds(Box::new(superblock), bits)
    };
    (0..LEGS).map(leg).collect()
}

fn again(described: &Described, found: &[LegFound]) -> Result<Vec<ResetLeg>, String> {
    let size = described.geometry.size();
    let reset = reset("a", described, size, found).map_err(|error| error.to_string())?;
    let mut after = found.to_vec();
    for (leg, head) in after.iter_mut().zip(&reset.heads) {
        if let Some(head) = head {
            *leg = LegFound::of_metadata(head);
        }
    }
    let assembly = assemble("a", described, &after).expect("an array");
    for (leg, state) in reset.legs.iter().zip(&assembly.legs) {
        let is_whole = *state == LegState::Valid { until: u64::MAX };
        assert_eq!(
            is_whole,
            !matches!(leg, ResetLeg::Left(_)),
            "{leg:?}: {state:?}"
        );
    }
    let marked = match &assembly.dirty {
        Doubt::Regions(marked) => marked.count(),
        other => panic!("{other:?}"),
    };
    assert_eq!(marked, reset.marked.0);
    Ok(reset.legs)
}

/// As many are believed as are needed, those that are least behind first, and what they marked is
/// made to go together.
#[test]
fn those_least_behind_count_again() {
    let described = five();
    let legs = again(&described, &found(&described, [20, 20, 17, 17]));
    let two = [
        ResetLeg::Kept,
        ResetLeg::Kept,
        ResetLeg::Again(3),
        ResetLeg::Again(3),
    ];
    assert_eq!(legs.as_deref(), Ok(&two[..]));
    let legs = again(&described, &found(&described, [20, 18, 17, 9])).expect("enough are there");
    assert_eq!(
        legs[..3],
        [ResetLeg::Kept, ResetLeg::Again(2), ResetLeg::Again(3)]
    );
    assert!(matches!(legs[3], ResetLeg::Left(_)));
    let size = described.geometry.size();
    let one = reset("a", &described, size, &found(&described, [20, 18, 17, 9]));
    assert_eq!(one.expect("enough are there").marked, (3, 8));
}

/// Of pairs of copies one of each is enough.
#[test]
fn a_copy_of_each_pair_is_enough() {
    let described = described(Scheme::near_copies(2));
    let legs = again(&described, &found(&described, [20, 20, 12, 17])).expect("enough are there");
    assert!(matches!(legs[2], ResetLeg::Left(_)));
    assert_eq!(legs[3], ResetLeg::Again(3));
}

/// What can be used without it, or cannot be used with it, stays as it is.
#[test]
fn what_needs_none_or_more_stays() {
    let described = five();
    let why = |found: &[LegFound]| again(&described, found).expect_err("it stays");
    let said = why(&found(&described, [20, 20, 20, 17]));
    assert!(said.contains("can be used as it is"), "{said}");
    let mut few = found(&described, [20, 20, 17, 17]);
    few[2] = LegFound::Missing;
    few[3] = LegFound::Blank;
    let said = why(&few);
    assert!(said.contains("2 of 4"), "{said}");
    // One that was being filled lacks more than anybody knows.
    let mut filling = found(&described, [20, 20, 17, 17]);
    for leg in &mut filling[2..] {
        if let LegFound::Holds(own, _) = leg {
            own.disk_recovery_offset = Position::Sector(8);
        }
    }
    let said = why(&filling);
    assert!(said.contains("not enough"), "{said}");
}

/// Where a bitmap is older than its superblock, or marks were taken off since an image was away,
/// all is made to go together.
#[test]
fn marks_that_are_not_known_are_everywhere() {
    let described = five();
    let marked = |leg: usize, change: &dyn Fn(&mut Bitmap)| {
        let mut old = found(&described, [20, 20, 17, 17]);
        if let LegFound::Holds(_, Bits::Bitmap(bitmap)) = &mut old[leg] {
            change(bitmap);
        }
        let reset = reset("a", &described, described.geometry.size(), &old);
        reset.expect("enough are there").marked
    };
    assert_eq!(marked(3, &|bitmap| bitmap.events -= 1), (8, 8));
    assert_eq!(marked(0, &|bitmap| bitmap.events_cleared = 18), (8, 8));
    assert_eq!(marked(0, &|bitmap| bitmap.events_cleared = 17), (4, 8));
}
