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
