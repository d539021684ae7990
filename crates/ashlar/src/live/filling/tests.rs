//! Tests: rates of stores that fill, in a clock of the test's own.

use std::time::Duration;

use lvm2::Uuid;
use lvm2::plan::logical::ExtendPolicy;

use super::{Fillings, SOON};
use crate::live::{Merging, SnapshotInUse};

const MIB: u64 = 1 << 20;

fn rate(fillings: &Fillings) -> Option<u64> {
    let mut store = store(8192, MIB);
    fillings.complete(&mut store);
    store.fill_rate
}

fn uuid() -> Uuid {
    "000000-0000-0000-0000-0000-0000-000001"
        .parse()
        .expect("a UUID")
}

fn store(used: u64, size: u64) -> SnapshotInUse {
    SnapshotInUse {
        lv: uuid(),
        used,
        metadata: 8192,
        size,
        is_invalid: false,
        merge: Merging::No,
        fill_rate: None,
        is_full_soon: false,
    }
}

/// A look each second from `start` on, at a store that has `used(second)` bytes in it: the seconds
/// at which people are told.
fn looks(
    fillings: &mut Fillings,
    seconds: std::ops::Range<u64>,
    size: u64,
    used: impl Fn(u64) -> u64,
) -> Vec<u64> {
    let mut told = Vec::new();
    for second in seconds {
        let soon = fillings.look(Duration::from_secs(second), &[store(used(second), size)]);
        told.extend(soon.iter().map(|_| second));
    }
    told
}

#[test]
fn a_steady_rate_is_known_at_once_and_forgotten_in_minutes() {
    // Proves: nothing is known after one look; a steady rate is exact from the second on, however
    // long it lasts; when it ends it falls by two thirds in two minutes, and ends at nothing.
    let mut fillings = Fillings::default();
    let size = 1 << 40;
    looks(&mut fillings, 0..1, size, |_| 8192);
    assert_eq!(rate(&fillings), None);
    looks(&mut fillings, 1..2, size, |second| 8192 + second * MIB);
    let seen = rate(&fillings).expect("two looks");
    assert!(seen.abs_diff(MIB) <= 1, "{seen}");
    looks(&mut fillings, 2..600, size, |second| 8192 + second * MIB);
    let seen = rate(&fillings).expect("many looks");
    assert!(seen.abs_diff(MIB) <= 1, "{seen}");
    let end = 8192 + 599 * MIB;
    looks(&mut fillings, 600..720, size, |_| end);
    let seen = rate(&fillings).expect("many looks");
    assert!((MIB * 36 / 100..MIB * 38 / 100).contains(&seen), "{seen}");
    looks(&mut fillings, 720..3600, size, |_| end);
    assert_eq!(rate(&fillings), Some(0));
    assert_eq!(store(end, size).time_to_full(), None, "it does not fill");
}

#[test]
fn a_rate_does_not_depend_on_how_often_is_looked() {
    // Proves: looks that come late, as on a busy machine, weigh as much as the time between them.
    let mut often = Fillings::default();
    let mut seldom = Fillings::default();
    let used = |second: u64| second.min(60) * 3 * MIB;
    for second in 0..=180 {
        let look = [store(used(second), 1 << 40)];
        often.look(Duration::from_secs(second), &look);
        if second % 30 == 0 {
            seldom.look(Duration::from_secs(second), &look);
        }
    }
    let rates = [&often, &seldom].map(|one| rate(one).expect("it was seen"));
    assert!(rates[0].abs_diff(rates[1]) < MIB / 100, "{rates:?}");
}

#[test]
fn people_are_told_once_and_again_after_it_was_extended() {
    // Proves: who fills a store within ten minutes is told of once, not in the first seconds; a
    // store that is extended and fills as fast again is told of again; one that lasts longer is
    // not, nor one that grows by itself; a store with less in it begins anew.
    let mut fillings = Fillings::default();
    let fills = |second: u64| second * MIB;
    assert_eq!(looks(&mut fillings, 0..100, 400 * MIB, fills), [10]);
    let mut said = store(99 * MIB, 400 * MIB);
    fillings.complete(&mut said);
    assert!(said.is_nearly_full(), "reports hear of it");
    let mut growing = Fillings::new(ExtendPolicy::new(70, 20));
    assert!(looks(&mut growing, 0..100, 400 * MIB, fills).is_empty());
    let larger = looks(&mut fillings, 100..200, 100 * SOON.as_secs() * MIB, fills);
    assert!(larger.is_empty(), "{larger:?}");
    let smaller = looks(&mut fillings, 200..300, 500 * MIB, fills);
    assert_eq!(smaller, [200]);
    looks(&mut fillings, 300..301, 500 * MIB, |_| MIB);
    assert_eq!(rate(&fillings), None);
    fillings.look(Duration::from_secs(301), &[]);
    assert!(fillings.all.is_empty(), "it is gone");
}

#[test]
fn a_store_says_how_it_fills() {
    // Proves: the words and the time follow the numbers, and what is nearly full is told as such:
    // by its share, or by its time; an invalid one is not.
    let mut one = store(25 * MIB, 100 * MIB);
    assert_eq!(one.filling(), "25% full");
    assert!(!one.is_nearly_full());
    one.fill_rate = Some(MIB);
    assert_eq!(one.time_to_full(), Some(Duration::from_secs(75)));
    let text = one.warning("vg0/monday", "vg0/data");
    assert!(
        text.contains("25% full, and fills by 1.00 MiB/s: it has room for about 75 seconds"),
        "{text}"
    );
    one.fill_rate = Some(1024);
    assert_eq!(one.time_to_full(), Some(Duration::from_mins(1280)));
    assert!(
        one.filling().ends_with("about 21 hours"),
        "{}",
        one.filling()
    );
    assert!(!one.is_nearly_full());
    let mut full = store(80 * MIB, 100 * MIB);
    assert!(full.is_nearly_full());
    full.is_invalid = true;
    assert!(!full.is_nearly_full());
}
