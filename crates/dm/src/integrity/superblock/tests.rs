//! Superblocks: what stock leaves is read, written as it was, and nothing else is believed.

use proptest::prelude::{ProptestConfig, any, prop, proptest};

use super::Superblock;

/// One as a stock kernel leaves it beside an image of 4 MiB, whose checksums are all computed.
pub(crate) fn stock() -> Vec<u8> {
    let mut bytes = vec![0; Superblock::LEN];
    bytes[..8].copy_from_slice(b"integrt\0");
    bytes[8] = 2;
    bytes[10] = 4;
    bytes[12] = 11;
    bytes[16..24].copy_from_slice(&8192_u64.to_le_bytes());
    bytes[24] = 2;
    bytes[29] = 15;
    bytes[32..40].copy_from_slice(&8192_u64.to_le_bytes());
    bytes
}

/// What a kernel writes is read field by field, and written byte by byte as it was; zeros are none.
#[test]
fn what_stock_writes_is_read() {
    let read = Superblock::decode(&stock())
        .expect("it is one")
        .expect("not zeros");
    let expected = Superblock {
        version: 2,
        journal_sections: 11,
        provided_sectors: 8192,
        log2_block: 0,
        log2_bit: 15,
        recalculated: Some(8192),
        has_bitmap: false,
        has_padding: false,
    };
    assert_eq!(read, expected);
    assert_eq!(read.encode(), stock());
    assert!(Superblock::decode(&[0; 4096]).expect("zeros").is_none());
}

/// A bitmap raises the version, so that an older kernel does not take it for a journal.
#[test]
fn a_bitmap_raises_the_version() {
    let mut one = Superblock::decode(&stock())
        .expect("it is one")
        .expect("not zeros");
    one.has_bitmap = true;
    assert_eq!((one.encode()[8], one.encode()[24]), (3, 6));
}

/// What is no superblock, or one of which a field means something else, is refused by its field.
#[test]
fn what_is_not_understood_is_refused() {
    let flags = |flag: u8| (24, flag);
    for (at, value) in [
        (0, b'x'),
        (8, 0),
        (8, 6),
        (9, 15),
        (10, 8),
        (12, 0),
        (23, 0xff),
        flags(1),
        flags(16),
        flags(32),
        flags(64),
        (28, 4),
        (29, 49),
    ] {
        let mut bytes = stock();
        bytes[at] = value;
        assert!(Superblock::decode(&bytes).is_err(), "byte {at} is {value}");
    }
    assert!(Superblock::decode(&stock()[..4095]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever bytes are changed: it is read, and then written so that it reads the same, or not.
    #[test]
    fn any_bytes_are_read_or_refused(
        changes in prop::collection::vec((0..64_usize, any::<u8>()), 0..6),
    ) {
        let mut bytes = stock();
        for (at, value) in changes {
            bytes[at] = value;
        }
        if let Ok(Some(read)) = Superblock::decode(&bytes) {
            let again = Superblock::decode(&read.encode()).expect("it was just written");
            let version = again.as_ref().map(|one| one.version);
            let expected = Superblock { version: version.expect("not zeros"), ..read };
            assert_eq!(again, Some(expected));
        }
    }
}
