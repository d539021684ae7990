//! LVM2's checksum: CRC-32 with a start value of its own and no final inversion.
//!
//! The polynomial is the usual reflected one (0xedb88320), so a table for the usual CRC-32 serves:
//! only the value in front and the inversion behind differ.

/// What LVM2 starts with.
const START: u32 = 0xf597_a6cf;

/// A checksum over bytes that come in pieces, as a text that wraps does.
#[derive(Debug, Clone)]
pub struct Checksum(crc32fast::Hasher);

impl Checksum {
    /// Over nothing yet.
    pub fn new() -> Self {
        Self(crc32fast::Hasher::new_with_initial(!START))
    }

    /// Takes more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The value as it stands on disk.
    pub fn finish(self) -> u32 {
        !self.0.finalize()
    }
}

impl Default for Checksum {
    fn default() -> Self {
        Self::new()
    }
}

/// The checksum of one piece.
pub fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = Checksum::new();
    sum.update(bytes);
    sum.finish()
}

#[cfg(test)]
mod tests;
