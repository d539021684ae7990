//! Integers in the byte order of whoever wrote them.

/// Which byte of an integer is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// The lowest.
    Little,
    /// The highest.
    Big,
}

/// Bytes with integers in them. All that is asked for lies within.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) order: ByteOrder,
}

impl Fields<'_> {
    pub(super) fn array<const LEN: usize>(self, at: usize) -> [u8; LEN] {
        self.bytes[at..at + LEN].try_into().expect("so many bytes")
    }

    pub(super) fn short(self, at: usize) -> u16 {
        match self.order {
            ByteOrder::Little => u16::from_le_bytes(self.array(at)),
            ByteOrder::Big => u16::from_be_bytes(self.array(at)),
        }
    }

    pub(super) fn word(self, at: usize) -> u32 {
        match self.order {
            ByteOrder::Little => u32::from_le_bytes(self.array(at)),
            ByteOrder::Big => u32::from_be_bytes(self.array(at)),
        }
    }

    pub(super) fn signed(self, at: usize) -> i32 {
        self.word(at).cast_signed()
    }

    pub(super) fn long(self, at: usize) -> u64 {
        match self.order {
            ByteOrder::Little => u64::from_le_bytes(self.array(at)),
            ByteOrder::Big => u64::from_be_bytes(self.array(at)),
        }
    }
}

/// The same, to be written.
pub(super) struct FieldsMut<'a> {
    pub(super) bytes: &'a mut [u8],
    pub(super) order: ByteOrder,
}

impl FieldsMut<'_> {
    pub(super) fn array(&mut self, at: usize, value: &[u8]) {
        self.bytes[at..at + value.len()].copy_from_slice(value);
    }

    pub(super) fn short(&mut self, at: usize, value: u16) {
        match self.order {
            ByteOrder::Little => self.array(at, &value.to_le_bytes()),
            ByteOrder::Big => self.array(at, &value.to_be_bytes()),
        }
    }

    pub(super) fn word(&mut self, at: usize, value: u32) {
        match self.order {
            ByteOrder::Little => self.array(at, &value.to_le_bytes()),
            ByteOrder::Big => self.array(at, &value.to_be_bytes()),
        }
    }

    pub(super) fn signed(&mut self, at: usize, value: i32) {
        self.word(at, value.cast_unsigned());
    }

    pub(super) fn long(&mut self, at: usize, value: u64) {
        match self.order {
            ByteOrder::Little => self.array(at, &value.to_le_bytes()),
            ByteOrder::Big => self.array(at, &value.to_be_bytes()),
        }
    }
}

/// The sum of all words, with what is carried: md's checksum, the field for it taken as zero. Two
/// bytes at the end are a word.
pub(super) fn checksum(fields: Fields<'_>, sum_at: usize) -> u32 {
    debug_assert!(sum_at.is_multiple_of(4), "the sum is a word");
    let len = fields.bytes.len();
    let words = (0..len / 4).filter(|word| word * 4 != sum_at);
    let mut sum: u64 = words.map(|word| u64::from(fields.word(word * 4))).sum();
    if len % 4 == 2 {
        sum += u64::from(fields.short(len - 2));
    }
    (sum as u32).wrapping_add((sum >> 32) as u32)
}
