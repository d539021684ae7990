//! Slots are found by the numbers that servers repeat, which may be any.

use super::{Cookie, Slot, Slots, Stage};
use block::{Buffer, Request};

fn slot(tag: u64) -> Slot {
    Slot {
        request: Request::read(tag, 0, Buffer::zeroed(8)),
        pieces: 1,
        received: 0,
        error: None,
        stage: Stage::Last,
    }
}

/// A cookie is read back as it was written, and its halves do not mix.
#[test]
fn cookies_come_back() {
    for (slot, piece, wire) in [
        (0, 0, 0),
        (1, 0, 1),
        (0, 1, 1 << 32),
        (u32::MAX, 2, (2 << 32) | 0xffff_ffff),
        (3, u32::MAX, (0xffff_ffff << 32) | 3),
    ] {
        let cookie = Cookie { slot, piece };
        assert_eq!(cookie.to_wire(), wire);
        assert_eq!(Cookie::from_wire(wire), cookie);
    }
}

/// Slots are counted and used again; what is not there is not found.
#[test]
fn slots_are_used_again() {
    let mut slots = Slots::default();
    let numbers = [7, 8, 9].map(|tag| slots.insert(slot(tag)));
    assert_eq!((numbers, slots.len()), ([0, 1, 2], 3));
    assert!(slots.get_mut(3).is_none() && slots.remove(3).is_none());
    assert_eq!(slots.remove(1).expect("it is there").request.tag, 8);
    assert_eq!(slots.len(), 2);
    assert!(slots.get_mut(1).is_none() && slots.remove(1).is_none());
    assert_eq!(slots.insert(slot(10)), 1, "its place is free");
    assert_eq!(slots.get_mut(1).expect("it is there").request.tag, 10);
    let mut tags: Vec<u64> = std::iter::from_fn(|| slots.pop())
        .map(|slot| slot.request.tag)
        .collect();
    tags.sort_unstable();
    assert_eq!((tags, slots.len()), (vec![7, 9, 10], 0));
}

/// The data of a write come back to it, and to nobody else.
#[test]
fn data_come_back() {
    let mut slots = Slots::default();
    let mut whole = slot(1);
    let data = whole.request.buffer.split_off(0);
    let number = slots.insert(whole);
    slots.give_back(number + 1, Buffer::zeroed(3));
    assert_eq!(
        slots
            .get_mut(number)
            .expect("is there")
            .request
            .buffer
            .len(),
        0
    );
    slots.give_back(number, data);
    assert_eq!(
        slots
            .get_mut(number)
            .expect("is there")
            .request
            .buffer
            .len(),
        8
    );
}
