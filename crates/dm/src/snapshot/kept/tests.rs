//! What queues find of a store, against what is in it.

use block::Range;
use block::sim::Random;

use super::{Kept, PARTS_MAX, Whereabouts};
use crate::snapshot::exceptions::Exceptions;
use crate::snapshot::store::EntryRun;

const CHUNK: u64 = 1024;
const COUNT: u64 = 5000;

/// A range is where the exceptions say, or here and there.
#[test]
fn it_says_what_the_exceptions_say() {
    let mut random = Random::new(7);
    let (kept, mut exceptions) = (Kept::new(CHUNK, COUNT), Exceptions::default());
    let mut new = 2;
    for _ in 0..600 {
        let (old, count) = (random.below(COUNT - 4), 1 + random.below(4));
        if exceptions.stretch(old, count).new.is_none()
            && exceptions.stretch(old, count).count == count
        {
            exceptions.insert(old, new, count);
            kept.insert(EntryRun { new, old, count });
            new += count + random.below(2);
        }
        let start = random.below(COUNT * CHUNK - 4096) / 512 * 512;
        let range = Range::new(start, 512 * (1 + random.below(8)));
        let first = start / CHUNK;
        let count = range.end().div_ceil(CHUNK) - first;
        let stretch = exceptions.stretch(first, count);
        let wanted = match stretch.new {
            _ if stretch.count < count => Whereabouts::Both,
            None => Whereabouts::Origin,
            Some(new) => Whereabouts::Store(new * CHUNK + start % CHUNK),
        };
        let found = kept.find(range);
        // Two runs of the exceptions may follow each other in the store.
        let is_more = wanted == Whereabouts::Both && matches!(found, Whereabouts::Store(_));
        assert!(
            found == wanted || is_more,
            "{range:?}: {found:?}, not {wanted:?}"
        );
    }
}

/// What would need too much memory is closed, and says nothing any more.
#[test]
fn it_has_a_limit() {
    let part = super::PART as u64;
    let kept = Kept::new(CHUNK, (PARTS_MAX as u64 + 1) * part);
    for place in 0..=PARTS_MAX as u64 {
        assert!(kept.is_open());
        let (new, old) = (2 + place, place * part);
        kept.insert(EntryRun { new, old, count: 1 });
    }
    assert!(!kept.is_open());
    assert!(
        !Kept::new(512, 1 << 40).is_open(),
        "nor is there room for all places"
    );
}
