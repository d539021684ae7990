//! The decoder takes what the kernel sends and survives what it would not.

use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, proptest};

use super::{Durability, Incoming, Operation, Reply, decode, reply_header};

/// A request as the kernel would send it.
fn request(opcode: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = ((40 + body.len()) as u32).to_ne_bytes().to_vec();
    bytes.extend(opcode.to_ne_bytes());
    bytes.extend(99_u64.to_ne_bytes());
    bytes.extend([0; 24]);
    bytes.extend(body);
    bytes
}

#[test]
fn reads_and_writes_are_decoded() {
    // Offset and length come from their places, and a write must carry all its data.
    let mut body = 0_u64.to_ne_bytes().to_vec();
    body.extend(4096_u64.to_ne_bytes());
    body.extend(512_u32.to_ne_bytes());
    body.extend([0; 20]);
    let bytes = request(15, &body);
    let read = Operation::Read {
        offset: 4096,
        len: 512,
    };
    assert_eq!(
        decode(&bytes, bytes.len()),
        Some(Incoming {
            unique: 99,
            operation: read
        })
    );
    let short = request(16, &body);
    assert_eq!(
        decode(&short, short.len()).unwrap().operation,
        Operation::Malformed
    );
    body.extend([7; 512]);
    let whole = request(16, &body);
    let write = Operation::Write {
        offset: 4096,
        len: 512,
        durability: Durability::Volatile,
    };
    assert_eq!(decode(&whole[..80], whole.len()).unwrap().operation, write);
}

#[test]
fn synchronous_writes_are_told_apart() {
    // What was opened with O_DSYNC or O_SYNC, or came with RWF_DSYNC, is to be durable when it is
    // answered; the flag stands where the kernel puts it, and no other flag means that.
    let with = |flags: i32| {
        // Handle and offset; length, flags of the write and the lock's owner; flags of the file.
        let mut body = [0_u64, 4096].map(u64::to_ne_bytes).concat();
        body.extend([0_u32, u32::MAX, 0, 0].map(u32::to_ne_bytes).concat());
        body.extend(flags.to_ne_bytes());
        body.extend([0xff; 4]);
        let bytes = request(16, &body);
        match decode(&bytes, bytes.len()).unwrap().operation {
            Operation::Write { durability, .. } => durability,
            other => panic!("{other:?}"),
        }
    };
    for flags in [libc::O_DSYNC, libc::O_SYNC, libc::O_SYNC | libc::O_RDWR] {
        assert_eq!(with(flags), Durability::Fua, "{flags:#x}");
    }
    let others = libc::O_RDWR | libc::O_DIRECT | libc::O_APPEND | libc::O_NONBLOCK;
    assert_eq!(with(others), Durability::Volatile);
}

#[test]
fn answers_have_the_lengths_that_the_kernel_expects() {
    // The kernel refuses an answer whose length is not the one of its structure.
    assert_eq!(
        Reply::init(7, 36, u64::MAX, 1 << 17).unwrap().bytes().len(),
        64
    );
    assert_eq!(Reply::init(8, 0, 0, 0).unwrap().bytes().len(), 8);
    assert!(Reply::init(7, 8, 0, 0).is_none());
    let file = super::Attributes {
        size: 5,
        mode: 0o600,
        owner: 0,
        group: 0,
        block_size: 512,
        time: 0,
    };
    assert_eq!(Reply::attributes(&file).bytes().len(), 104);
    assert_eq!(Reply::open().bytes().len(), 16);
    assert_eq!(Reply::stat_fs(1).bytes().len(), 80);
    assert_eq!(reply_header(1, None, 8)[..4], 24_u32.to_ne_bytes());
}

/// Joins integers of a body.
fn body(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

#[test]
fn all_operations_are_decoded() {
    // Numbers come from their places, and each operation has its number in the kernel's header.
    let (four, eight) = (
        |value: u32| value.to_ne_bytes(),
        |value: u64| value.to_ne_bytes(),
    );
    let attributes = |valid| body(&[&four(valid), &[9; 12], &eight(4096), &[9; 64]]);
    let init = |flags, more| body(&[&four(7), &four(36), &four(99), &four(flags), &four(more)]);
    let decoded = |flags| Operation::Init {
        major: 7,
        minor: 36,
        flags,
        read_ahead_max: 99,
    };
    let allocate = Operation::Allocate {
        offset: 512,
        len: 1024,
        mode: 3,
    };
    let (offset, whence) = (512, 4);
    let size = Some(4096);
    for (opcode, body, wanted) in [
        (1, vec![], Operation::Lookup),
        (2, vec![], Operation::Silent),
        (36, vec![], Operation::Silent),
        (42, vec![], Operation::Silent),
        (3, vec![], Operation::GetAttributes),
        (4, attributes(8), Operation::SetAttributes { size }),
        (4, attributes(!8), Operation::SetAttributes { size: None }),
        (14, four(5).to_vec(), Operation::Open { flags: 5 }),
        (17, vec![], Operation::StatFs),
        (18, vec![], Operation::Acknowledge),
        (25, vec![], Operation::Acknowledge),
        (34, vec![], Operation::Acknowledge),
        (38, vec![], Operation::Acknowledge),
        (20, vec![], Operation::Sync),
        (26, init(1, 2), decoded(1)),
        (26, init(1 << 30, 2), decoded(1 << 30 | 2 << 32)),
        (
            43,
            body(&[&[9; 8], &eight(512), &eight(1024), &four(3)]),
            allocate,
        ),
        (
            46,
            body(&[&[9; 8], &eight(512), &four(4)]),
            Operation::Seek { offset, whence },
        ),
        (50, vec![], Operation::Unknown),
    ] {
        let bytes = request(opcode, &body);
        let found = decode(&bytes, bytes.len()).expect("a whole header");
        assert_eq!((found.unique, found.operation), (99, wanted), "{opcode}");
        let cut = decode(&bytes, bytes.len() + 1).expect("a whole header");
        assert_eq!(cut.operation, Operation::Malformed, "{opcode}");
    }
}

#[test]
fn answers_say_what_was_agreed() {
    // Only flags that both know are agreed on, the older minor version counts, and a kernel that
    // is too old is refused.
    let number = |reply: &Reply, at: usize| {
        let bytes = reply.bytes()[at..].first_chunk().expect("four bytes");
        u32::from_ne_bytes(*bytes)
    };
    let wanted = 1 | 1 << 5 | 1 << 15 | 1 << 22 | 1 << 30;
    for (minor, flags, agreed) in [
        (31, u64::MAX, (31, wanted, 1 << 4)),
        (36, 1 << 5, (36, 1 << 5, 0)),
        (40, 1 << 36 | 2, (36, 0, 1 << 4)),
    ] {
        let reply = Reply::init(7, minor, flags, 4096).expect("new enough");
        let found = (number(&reply, 4), number(&reply, 12), number(&reply, 32));
        assert_eq!(found, agreed, "{minor}");
        assert_eq!((number(&reply, 0), number(&reply, 8)), (7, 4096));
        let pages = number(&reply, 28) & 0xffff;
        assert_eq!((number(&reply, 20), pages), (1 << 20, 256));
        // How many requests wait in the background, and from how many on the kernel is slower.
        assert_eq!(number(&reply, 16), u32::from_ne_bytes([128, 0, 96, 0]));
    }
    for (major, minor) in [(7, 30), (6, 99)] {
        assert!(Reply::init(major, minor, 0, 0).is_none(), "{major}.{minor}");
    }
    let newer = Reply::init(8, 0, 0, 0).expect("it asks again");
    assert_eq!((number(&newer, 0), number(&newer, 4)), (7, 36));
    assert_eq!(number(&Reply::open(), 8), 1 | 1 << 5 | 1 << 6);
    assert_eq!(number(&Reply::written(4096), 0), 4096);
    assert_eq!(Reply::offset(1 << 40).bytes(), (1_u64 << 40).to_ne_bytes());
    assert_eq!(number(&Reply::stat_fs(4096), 0), 8);
    let errno = std::num::NonZeroU32::new(5);
    assert_eq!(reply_header(1, errno, 0)[4..8], (-5_i32).to_ne_bytes());
    assert_eq!(reply_header(9, None, 0)[8..], 9_u64.to_ne_bytes());
    let file = super::Attributes {
        size: 1025,
        mode: 0o640,
        owner: 3,
        group: 4,
        block_size: 512,
        time: 6,
    };
    let reply = Reply::attributes(&file);
    assert_eq!((number(&reply, 24), number(&reply, 32)), (1025, 3));
    assert_eq!(number(&reply, 76), libc::S_IFREG | 0o640);
    assert_eq!((number(&reply, 84), number(&reply, 88)), (3, 4));
}

proptest! {
    #[test]
    fn no_bytes_break_the_decoder(opcode in 0..60_u32, body in vec(any::<u8>(), 0..200)) {
        // Any body of any operation decodes to something.
        let bytes = request(opcode, &body);
        for cut in 0..=bytes.len() {
            prop_assert!(decode(&bytes[..cut], cut).is_some() == (cut >= 40));
        }
    }
}
