//! Headers: where their fields are, and that other bytes are none.

use proptest::prelude::{any, prop_assert_eq};
use proptest::proptest;

use super::{Entry, HEADER, Header};
use crate::crc32c::crc32c;

fn header() -> Header {
    Header {
        signature: 0x1234_5678,
        generation: 9,
        entries: vec![
            Entry {
                sector: 0x100,
                parity_len: 4096,
                data_len: 8192,
                leg: 2,
                sum: 7,
            },
            Entry::never(8, 1),
        ],
    }
}

#[test]
fn headers_are_read_as_they_are_written() {
    // Proves: where the fields are, by the kernel's structure.
    let bytes = header().encode();
    assert_eq!(bytes.len() as u64, HEADER);
    assert!(bytes[..512].iter().all(|byte| *byte == 0xff));
    assert_eq!(bytes[512..516], 0x1234_5678_u32.to_le_bytes());
    assert_eq!(bytes[520..528], 9_u64.to_le_bytes());
    assert_eq!(bytes[528..532], 2_u32.to_le_bytes());
    assert_eq!(bytes[536..544], 0x100_u64.to_le_bytes());
    assert_eq!(bytes[544..548], 4096_u32.to_le_bytes());
    assert_eq!(bytes[552..556], 2_u32.to_le_bytes());
    assert_eq!(Header::decode(&bytes), Some(header()));
    assert_eq!(Header::ENTRIES_MAX, 148);
}

#[test]
fn more_entries_than_fit_are_no_header() {
    // Proves: a count with a right sum is held against the room that there is.
    let mut bytes = header().encode();
    bytes[528..532].copy_from_slice(&149_u32.to_le_bytes());
    bytes[532..536].fill(0);
    let sum = crc32c(&bytes);
    bytes[532..536].copy_from_slice(&sum.to_le_bytes());
    assert_eq!(Header::decode(&bytes), None);
}

proptest! {
    #[test]
    fn what_changed_is_no_header(at in 0..HEADER as usize, bit in 0..8) {
        // Proves: a header in which a bit has changed is none.
        let mut bytes = header().encode();
        bytes[at] ^= 1_u8 << bit;
        prop_assert_eq!(Header::decode(&bytes), None);
    }

    #[test]
    fn any_bytes_are_looked_at(bytes in proptest::collection::vec(any::<u8>(), 0..5000)) {
        // Proves: no bytes make reading them panic.
        let _ = Header::decode(&bytes);
    }
}
