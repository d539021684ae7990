//! A mirror that moves extents: its source is right until somebody says otherwise.

use block::Operation;

use super::{Hand, REGION};
use crate::machine::Machine;
use crate::mirror::control::Event;
use crate::mirror::{Control, CopyStart, ImageHealth, LogPlace, Notice, Primary};

const SOURCE: usize = 0;
const TARGET: usize = 1;

/// A move of some regions, of which nothing is copied.
fn begun(regions: u64) -> Hand {
    Hand::start_with(regions * REGION, REGION, |config| {
        config.primary = Primary::Source;
    })
}

/// All is copied.
fn copied(regions: u64) -> Hand {
    let mut hand = begun(regions);
    while !hand.asked.is_empty() {
        hand.answer(0);
    }
    assert_eq!(hand.told, [Notice::Copied]);
    hand
}

fn finish(hand: &mut Hand) {
    hand.tell(Event::Control {
        id: 1,
        control: Control::Finish,
    });
}

/// Where the only request that there is goes.
fn only(hand: &Hand, leg: usize) -> usize {
    let mut places = (0..hand.asked.len()).filter(|at| hand.asked[*at].0 == leg);
    places.next().expect("it is asked")
}

/// Where the extents are not set aside yet nothing is asked of them, until the order comes.
#[test]
fn nothing_is_copied_before_it_may_be() {
    let mut hand = Hand::start_with(2 * REGION, REGION, |config| {
        config.primary = Primary::Source;
        config.copy_start = CopyStart::WhenTold;
    });
    assert!(hand.asked.is_empty());
    hand.read(1, 0);
    assert_eq!(hand.legs(), [SOURCE]);
    hand.answer(0);
    let control = Control::Copy;
    hand.tell(Event::Control { id: 1, control });
    assert_eq!(hand.obeyed, [true]);
    while !hand.asked.is_empty() {
        hand.answer(0);
    }
    assert_eq!(hand.told, [Notice::Copied]);
}

/// The copy counts when it is durable, and not before.
#[test]
fn a_copy_is_flushed_before_it_counts() {
    let mut hand = copied(8);
    finish(&mut hand);
    let flushes = |hand: &Hand| {
        let mut all = hand.asked.iter();
        all.all(|(_, request)| request.operation == Operation::Flush)
    };
    assert!(flushes(&hand));
    assert_eq!(hand.legs(), [SOURCE, TARGET]);
    let source = only(&hand, SOURCE);
    hand.answer(source);
    assert!(hand.obeyed.is_empty(), "the target is not durable");
    hand.answer(0);
    assert_eq!(hand.obeyed, [true]);
}

/// What is not copied whole does not count, nor does what cannot be made durable on either.
#[test]
fn what_is_not_a_copy_does_not_count() {
    let mut hand = begun(8);
    finish(&mut hand);
    assert_eq!(hand.obeyed, [false], "there is more to copy");
    for leg in [SOURCE, TARGET] {
        let mut hand = copied(8);
        finish(&mut hand);
        let bad = only(&hand, leg);
        hand.fail(bad);
        hand.answer(0);
        assert_eq!(hand.obeyed, [false], "leg {leg} is not durable");
    }
    let mut other = Hand::start(8 * REGION, REGION, LogPlace::Core);
    while !other.asked.is_empty() {
        other.answer(0);
    }
    assert!(other.told.is_empty(), "it is no move");
    finish(&mut other);
    assert_eq!(other.obeyed, [false]);
}

/// Writes go to both where that is copied, and to the source alone counts: the target may fail
/// them, and is lost; then the move stands still and says so.
#[test]
fn a_target_that_fails_is_lost_and_nothing_else() {
    let mut hand = copied(8);
    hand.write(1, 0);
    assert_eq!(hand.legs(), [SOURCE, TARGET]);
    let target = only(&hand, TARGET);
    hand.fail(target);
    hand.answer(0);
    assert_eq!(hand.done, [1]);
    assert_eq!(hand.told.last(), Some(&Notice::Lost(vec![TARGET])));
    let images = hand.mirror.status().images;
    assert_eq!(images, [ImageHealth::Good, ImageHealth::Lost]);
    finish(&mut hand);
    assert_eq!(hand.obeyed, [false]);
}

/// What the source does not do fails, however good the copy is: after a cut the source is right.
#[test]
fn a_source_is_never_lost() {
    let mut hand = copied(8);
    hand.timers.sort_unstable();
    while !hand.timers.is_empty() {
        hand.wait();
    }
    hand.write(1, 0);
    let source = only(&hand, SOURCE);
    hand.fail(source);
    hand.answer(0);
    assert_eq!(hand.done, [1]);
    let images = hand.mirror.status().images;
    assert_eq!(images, [ImageHealth::Good, ImageHealth::OutOfSync]);
    assert_eq!(hand.told, [Notice::Copied], "no other image is described");
    while !hand.asked.is_empty() {
        hand.answer(0);
    }
    assert_eq!(
        hand.told,
        [Notice::Copied, Notice::Copied],
        "it is copied once more, and said again"
    );
}

/// A sector that no image can read keeps the move from its end, which is said once.
#[test]
fn what_cannot_be_read_is_told() {
    let mut hand = begun(1);
    for _ in 0..2 {
        hand.fail(0);
        assert!(matches!(hand.told[..], [Notice::Stuck(_)]));
        while hand.asked.is_empty() {
            hand.wait();
        }
    }
    while !hand.asked.is_empty() {
        hand.answer(0);
    }
    assert!(matches!(hand.told[..], [Notice::Stuck(_), Notice::Copied]));
}
