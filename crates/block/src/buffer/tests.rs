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
    assert_eq!(pool.shared.idle.lock().unwrap().bytes, 4096);
    let last = pool.get(1);
    drop(pool);
    assert_eq!(last.len(), 1);
}

#[test]
fn a_pool_with_a_limit_keeps_room_for_what_is_used() {
    // Idle memory goes where it would make more than the limit with that which is in use, whether
    // more is used, less is idle, or the limit is lowered.
    let pool = BufferPool::new(1 << 20);
    let idle = || pool.shared.idle.lock().unwrap().bytes;
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
