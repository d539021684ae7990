//! Each item once, in order, whoever made it.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::map;

#[test]
fn items_stay_in_order_and_are_made_once() {
    for count in [0, 1, 2, 1000] {
        let items: Vec<usize> = (0..count).collect();
        let calls = AtomicUsize::new(0);
        let made = map(&items, |item| {
            calls.fetch_add(1, Ordering::Relaxed);
            item * 3
        });
        let wanted: Vec<usize> = items.iter().map(|item| item * 3).collect();
        assert_eq!((made, calls.into_inner()), (wanted, count));
    }
}

#[test]
#[should_panic(expected = "the third")]
fn a_panic_is_passed_on() {
    map(&[1, 2, 3, 4], |item| assert_ne!(*item, 3, "the third"));
}
