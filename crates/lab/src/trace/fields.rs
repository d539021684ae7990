//! Numbers as bytes: little ones take little room.
//!
//! A number is stored in groups of seven bits, the lowest first; the top bit of a byte says that
//! more follow. Differences that may be negative are folded, so that small ones stay small.

/// Bytes that are taken from the front.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|one| one[0])
    }

    /// A number of at most 64 bits; `None` if the bytes end within it, or it is larger.
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// A difference, added to `base` modulo 2^64.
    pub(super) fn difference(&mut self, base: u64) -> Option<u64> {
        let folded = self.number()?;
        let difference = (folded >> 1) ^ (folded & 1).wrapping_neg();
        Some(base.wrapping_add(difference))
    }
}

pub(super) fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

pub(super) fn put_from_base(bytes: &mut Vec<u8>, number: u64, base: u64) {
    let difference = number.wrapping_sub(base);
    let sign = (difference >> 63).wrapping_neg();
    put_number(bytes, (difference << 1) ^ sign);
}
