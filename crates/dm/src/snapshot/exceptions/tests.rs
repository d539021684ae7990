//! The map beside a plain one.

use std::collections::BTreeMap;

use proptest::prelude::{any, prop_assert_eq, proptest};

use super::{Exceptions, Stretch};

proptest! {
    /// Runs say of each chunk what a map of single chunks says, whatever was put in and taken out.
    #[test]
    fn runs_are_like_single_chunks(
        steps in proptest::collection::vec((0_u64..60, 0_u64..60, 1_u64..6, any::<bool>()), 1..60),
    ) {
        let (mut runs, mut plain) = (Exceptions::default(), BTreeMap::new());
        for (old, new, count, is_taken) in steps {
            let held = |chunk: u64| plain.get(&chunk).copied();
            let start = held(old);
            let is_row = start.is_some_and(|new| {
                (0..count).all(|at| held(old + at) == Some(new + at))
            });
            if is_taken && is_row {
                runs.remove(old, count);
                (old..old + count).for_each(|chunk| { plain.remove(&chunk); });
            } else if (old..old + count).all(|chunk| held(chunk).is_none()) {
                runs.insert(old, new, count);
                plain.extend((0..count).map(|at| (old + at, new + at)));
            }
            runs.check();
            prop_assert_eq!(runs.count(), plain.len() as u64);
            let mut seen = BTreeMap::new();
            for (first, Stretch { new, count }) in runs.stretches(0, 70) {
                seen.extend((0..count).filter_map(|at| new.map(|new| (first + at, new + at))));
            }
            prop_assert_eq!(&seen, &plain);
        }
    }
}

/// Stretches are as long as they can be, and no longer than is asked.
#[test]
fn stretches_are_long() {
    let mut runs = Exceptions::default();
    runs.insert(10, 5, 2);
    runs.insert(12, 7, 3);
    let stretch = |new, count| Stretch { new, count };
    assert_eq!(runs.stretch(0, 100), stretch(None, 10));
    assert_eq!(runs.stretch(0, 4), stretch(None, 4));
    assert_eq!(runs.stretch(11, 100), stretch(Some(6), 4));
    assert_eq!(runs.stretch(11, 1), stretch(Some(6), 1));
    assert_eq!(runs.stretch(15, 9), stretch(None, 9));
}
