//! Numbers of XFS and of jbd's log, which begin with the highest byte.

pub(super) fn half(bytes: &[u8], at: usize) -> u64 {
    u64::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    half(bytes, at) << 16 | half(bytes, at + 2)
}

pub(super) fn long(bytes: &[u8], at: usize) -> u64 {
    word(bytes, at) << 32 | word(bytes, at + 4)
}
