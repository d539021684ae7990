//! What clients share is divided, never given twice, and comes back.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{OWN, PART, Share, Shared};

const MIB: usize = 1 << 20;

fn left(shared: &Shared) -> usize {
    shared.left.load(Ordering::Relaxed)
}

#[test]
fn everybody_has_a_little_and_nobody_has_all() {
    // Proves: what every client has is never refused; of the rest one gets a quarter at most, later
    // ones less; all comes back.
    let shared = Shared::new(64 * MIB);
    let mut greedy = Share::of(&shared);
    assert!(greedy.ask(0, OWN));
    assert_eq!(left(&shared), 64 * MIB, "that is not shared");
    assert!(greedy.ask(0, OWN + 64 * MIB / PART));
    assert!(!greedy.ask(0, OWN + 64 * MIB / PART + 1));
    assert_eq!(greedy.size(), OWN + 16 * MIB, "it keeps what it had");
    let mut others: Vec<Share> = (0..100).map(|_| Share::of(&shared)).collect();
    let mut before = greedy.size();
    for other in &mut others {
        let most = (0..=before)
            .rev()
            .step_by(MIB / 8)
            .find(|most| other.ask(0, *most));
        let most = most.expect("a little is never refused");
        assert!((OWN - MIB / 8..=before).contains(&most), "{most}");
        before = most.max(OWN);
    }
    assert!(left(&shared) > 0);
    drop((greedy, others));
    assert_eq!(left(&shared), 64 * MIB);
}

#[test]
fn what_is_not_used_goes_to_others_when_it_is_scarce() {
    // Proves: while much is left a client keeps what it took; once more than half is taken its next
    // question gives back what it does not use, and it is refused where it has more than others
    // could get, until it uses less.
    let shared = Shared::new(64 * MIB);
    let mut first = Share::of(&shared);
    assert!(first.ask(0, OWN + 16 * MIB));
    assert!(first.ask(0, MIB));
    assert_eq!(first.size(), OWN + 16 * MIB);
    let mut others: Vec<Share> = (0..2).map(|_| Share::of(&shared)).collect();
    for (other, wanted) in others.iter_mut().zip([12 * MIB, 9 * MIB]) {
        assert!(other.ask(0, OWN + wanted));
    }
    assert!(!first.ask(OWN + 13 * MIB, 2 * MIB));
    assert_eq!(first.size(), OWN + 13 * MIB, "that is in use");
    assert_eq!(left(&shared), 30 * MIB);
    assert!(first.ask(OWN + 8 * MIB, 2 * MIB));
    assert_eq!(first.size(), OWN + 10 * MIB);
    assert!(first.ask(0, 0));
    assert_eq!(first.size(), OWN + 10 * MIB, "half is left again");
    assert_eq!(left(&shared), 33 * MIB);
}

#[test]
fn nothing_is_given_twice() {
    // Proves: clients on several threads that take and give back never have more than there is.
    let shared = Shared::new(8 * MIB);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let shared = Arc::clone(&shared);
            scope.spawn(move || {
                let mut share = Share::of(&shared);
                for turn in 0..10_000 {
                    let bytes = (turn * 7919 + thread * 104_729) % (4 * MIB);
                    share.ask(OWN + bytes / 2, bytes);
                    assert!(left(&shared) + share.taken <= 8 * MIB);
                }
            });
        }
    });
    assert_eq!(left(&shared), 8 * MIB);
}

#[test]
fn who_rests_keeps_nothing_from_others() {
    // Proves: a client that has nothing to do gives back what it does not use as soon as anybody
    // else has something; alone it may keep it.
    let shared = Shared::new(64 * MIB);
    let mut first = Share::of(&shared);
    assert!(first.ask(0, OWN + 8 * MIB));
    first.settle(0);
    assert_eq!(first.size(), OWN + 8 * MIB);
    let mut second = Share::of(&shared);
    assert!(second.ask(0, OWN + MIB));
    first.settle(OWN + 3 * MIB);
    assert_eq!((first.size(), left(&shared)), (OWN + 3 * MIB, 60 * MIB));
    first.settle(MIB);
    assert_eq!((first.size(), left(&shared)), (OWN, 63 * MIB));
}
