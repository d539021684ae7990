//! Lists of ranges put together, and what differs between the golden moments.

use block::Range;
use proptest::prelude::{prop_assert_eq, proptest};

use crate::Kind;
use crate::activate::Activator;
use crate::host::Host;
use crate::tests::fixture::Folder;
use crate::tests::ranges::ranges;

use super::{Changed, Moment, Permanence, united};

fn bytes(ranges: &[Range]) -> Vec<bool> {
    let mut all = vec![false; 64];
    for range in ranges {
        all[range.start() as usize..range.end() as usize].fill(true);
    }
    all
}

proptest! {
    /// Both lists are there, nothing else is, and no two ranges touch.
    #[test]
    fn lists_are_united(
        one in proptest::collection::vec(1_u64..8, 0..8),
        other in proptest::collection::vec(1_u64..8, 0..8),
    ) {
        let (one, other) = (ranges(&one), ranges(&other));
        let both = united(&one, &other);
        let wanted: Vec<bool> = bytes(&one)
            .into_iter()
            .zip(bytes(&other))
            .map(|(one, other)| one || other)
            .collect();
        prop_assert_eq!(bytes(&both), wanted);
        for pair in both.windows(2) {
            assert!(pair[0].end() < pair[1].start());
        }
    }
}

/// What is changed is less than all, within the older moment; what the newer one has beyond that
/// is to be read, too.
#[test]
fn what_has_grown_is_to_be_read() {
    let changed = Changed {
        origin_name: "vg0/data".to_owned(),
        since_size: 40,
        size: 60,
        chunk: 10,
        ranges: vec![Range::new(0, 10), Range::new(30, 10)],
    };
    assert_eq!(changed.to_read(), [Range::new(0, 10), Range::new(30, 30)]);
    let shrunk = Changed {
        size: 40,
        ..changed
    };
    assert_eq!(shrunk.to_read(), shrunk.ranges);
}

/// A snapshot is a moment of its origin, known by the volume that joins it; what is no snapshot is
/// its own moment, and nothing is known of where two strangers differ.
#[test]
fn moments_of_the_golden_group() {
    let folder = Folder::golden_whole();
    let scan = folder.scan();
    let host = Host::without_config();
    let (group, origin) = scan.find_volume("vg0/origin").expect("is there");
    let (_, snap1) = scan.find_volume("vg0/snap1").expect("is there");
    let (_, snap2) = scan.find_volume("vg0/snap2").expect("is there");
    let (_, linear) = scan.find_volume("vg0/linear1").expect("is there");
    let moment = Moment::of(group, snap1);
    let volume = group.model.lv(origin).uuid;
    assert_eq!((&*moment.name, moment.volume), ("vg0/snap1", volume));
    assert!(moment.uuid != group.model.lv(snap1).uuid && !moment.is_volume());
    assert_eq!(moment.permanence, Permanence::Passing);
    assert_eq!(Moment::find(group, moment.uuid), Some(snap1));
    assert!(Moment::of(group, origin).is_volume());

    let mut activator = Activator::new(&scan, &host);
    let to_origin = activator.changed(group, snap1, origin).expect("is known");
    let between = activator.changed(group, snap1, snap2).expect("is known");
    let back = activator.changed(group, snap2, snap1).expect("is known");
    assert_eq!(between.ranges, back.ranges);
    let is_in = |range: &Range| between.ranges.iter().any(|other| other.contains(*range));
    assert!(to_origin.ranges.iter().all(is_in));
    for (since, of) in [(snap1, linear), (origin, snap1), (linear, linear)] {
        let error = activator.changed(group, since, of).expect_err("is unknown");
        assert_eq!(error.kind(), Kind::Request);
    }
}
