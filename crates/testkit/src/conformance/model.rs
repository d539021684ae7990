//! What each byte of a device may be, and a source of repeatable choices.

use block::{ExtentKind, Range};

/// Numbers that look random and repeat with their seed (splitmix64).
#[derive(Debug, Clone)]
pub(super) struct Choices(u64);

impl Choices {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// `len` bytes that say where they come from.
    pub(super) fn bytes(&mut self, len: u64) -> Vec<u8> {
        let words = (0..len.div_ceil(8)).flat_map(|_| self.next().to_le_bytes());
        let mut bytes: Vec<u8> = words.collect();
        bytes.truncate(len as usize);
        bytes
    }
}

/// One entry per byte; `None` where it may be anything.
pub(super) struct Model {
    bytes: Vec<Option<u8>>,
}

impl Model {
    pub(super) fn new(content: Vec<u8>) -> Self {
        Self {
            bytes: content.into_iter().map(Some).collect(),
        }
    }

    pub(super) fn write(&mut self, start: u64, bytes: &[u8]) {
        let known = &mut self.bytes[start as usize..][..bytes.len()];
        for (known, byte) in known.iter_mut().zip(bytes) {
            *known = Some(*byte);
        }
    }

    pub(super) fn zero(&mut self, range: Range) {
        self.of(range).fill(Some(0));
    }

    pub(super) fn forget(&mut self, range: Range) {
        self.of(range).fill(None);
    }

    /// Asserts that `read` may be what `range` holds.
    pub(super) fn compare(&self, range: Range, read: &[u8]) {
        let known = &self.bytes[range.start() as usize..range.end() as usize];
        let pairs = known.iter().zip(read).enumerate();
        for (at, (known, read)) in pairs {
            let Some(known) = known else { continue };
            assert_eq!(
                read,
                known,
                "byte {at} of a read of {} bytes at byte {} is wrong",
                range.len(),
                range.start()
            );
        }
    }

    /// Asserts that a run that the device says is of `kind` may be so.
    pub(super) fn compare_kind(&self, range: Range, kind: ExtentKind) {
        if kind == ExtentKind::Data {
            return;
        }
        let known = &self.bytes[range.start() as usize..range.end() as usize];
        assert!(
            known.iter().all(|byte| byte.unwrap_or(0) == 0),
            "{range:?} is said to be a {kind:?}, but holds data"
        );
    }

    fn of(&mut self, range: Range) -> &mut [Option<u8>] {
        &mut self.bytes[range.start() as usize..range.end() as usize]
    }
}
