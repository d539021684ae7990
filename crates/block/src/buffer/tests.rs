//! Buffers keep what they hold through splits, and pools use blocks again.

use super::{BLOCK_ALIGN, Buffer, BufferPool};

#[test]
fn parts_join_to_the_whole() {
    // A buffer cut twice and joined again holds the same bytes at the same place.
    let bytes: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    let mut buffer = Buffer::copy_of(&bytes);
    let address = buffer.as_ptr();
    let mut rest = buffer.split_off(4096);
    let end = rest.split_off(100);
    assert_eq!(&*buffer, &bytes[..4096]);
    assert_eq!(&*rest, &bytes[4096..4196]);
    rest.unsplit(end);
    buffer.unsplit(rest);
    assert_eq!(&*buffer, &bytes[..]);
    assert_eq!(buffer.as_ptr(), address);
}

#[test]
fn what_is_lent_stays() {
    // Who has a share sees the bytes as they were, whichever of the two is written to; parts of a
    // share are shares; and an owner of whom nothing is lent any more writes in place.
    let mut owner = Buffer::copy_of(&[1; 64]);
    let address = owner.as_ptr();
    let mut share = owner.share();
    let rest = share.split_off(32);
    assert_eq!((share.as_ptr(), rest.len()), (address, 32));
    share[0] = 2;
    assert_ne!(
        share.as_ptr(),
        address,
        "a share is copied when it is written to"
    );
    owner[40] = 3;
    assert_ne!(
        owner.as_ptr(),
        address,
        "and so is its owner, as long as there is one"
    );
    assert_eq!((owner[0], rest[8]), (1, 1));
    let address = owner.as_ptr();
    drop(rest);
    drop(owner.share());
    owner[0] = 4;
    assert_eq!(owner.as_ptr(), address);
}

#[test]
fn the_last_share_gives_its_block_back() {
    // A block of a pool is used again when its last share is gone, on any thread, and not before.
    let pool = BufferPool::new(1 << 20);
    let owner = pool.get(4096);
    let (address, share) = (owner.as_ptr(), owner.share());
    drop(owner);
    assert_ne!(pool.get(4096).as_ptr(), address);
    std::thread::spawn(move || drop(share)).join().unwrap();
    let again: Vec<_> = (0..2).map(|_| pool.get(4096)).collect();
    assert!(again.iter().any(|buffer| buffer.as_ptr() == address));
}

#[test]
#[should_panic(expected = "only parts of one buffer are joined")]
fn a_share_does_not_join_its_owner() {
    // Else two buffers would own the same bytes.
    let mut first = Buffer::copy_of(&[1; 64]);
    let rest = first.split_off(32);
    first.unsplit(rest.share());
}

#[test]
fn a_pool_hands_out_the_same_block() {
    // A block comes back to its pool when its last part is dropped, on any thread.
    let pool = BufferPool::new(1 << 20);
    let mut first = pool.get(5000);
    let address = first.as_ptr();
    assert_eq!(address.align_offset(BLOCK_ALIGN), 0);
    let part = first.split_off(10);
    drop(first);
    let other = pool.get(5000);
    assert_ne!(other.as_ptr(), address, "a part still lives in the block");
    std::thread::spawn(move || drop(part)).join().unwrap();
    drop(other);
    let again: Vec<_> = (0..2).map(|_| pool.get(8192)).collect();
    assert!(again.iter().any(|buffer| buffer.as_ptr() == address));
}

#[test]
fn a_pool_keeps_no_more_than_it_may() {
    // Memory beyond the limit goes back to the allocator, and buffers outlive their pool.
    let pool = BufferPool::new(4096);
    let buffers: Vec<_> = (0..10).map(|_| pool.get(4096)).collect();
    drop(buffers);
    assert_eq!(pool.idle_bytes(), 4096);
    let last = pool.get(1);
    drop(pool);
    assert_eq!(last.len(), 1);
}

#[test]
fn a_pool_with_a_limit_keeps_room_for_what_is_used() {
    // Idle memory goes where it would make more than the limit with that which is in use, whether
    // more is used, less is idle, or the limit is lowered.
    let pool = BufferPool::new(1 << 20);
    let idle = || pool.idle_bytes();
    drop([pool.get(8192), pool.get(4096)]);
    assert_eq!(idle(), 12288);
    pool.limit(16384);
    assert_eq!(idle(), 12288);
    let large = pool.get(16384);
    assert_eq!((idle(), large.footprint()), (0, 16384));
    drop(pool.get(4096));
    assert_eq!(idle(), 0, "all that may be is in use");
    drop(large);
    assert_eq!(idle(), 16384);
    pool.limit(16383);
    assert_eq!(idle(), 0);
    assert_eq!(BufferPool::footprint(5000), pool.get(5000).footprint());
    assert_eq!(BufferPool::footprint(65 << 20), 65 << 20, "not pooled");
    assert_eq!(BufferPool::footprint(0), pool.get(0).footprint());
}

#[test]
#[should_panic(expected = "only parts of one buffer")]
fn strangers_do_not_join() {
    // Joining what was never one buffer is our own bug.
    Buffer::copy_of(&[1]).unsplit(Buffer::copy_of(&[2]));
}
