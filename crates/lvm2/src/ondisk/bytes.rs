//! Little-endian integers at places in a sector.
//!
//! Reading past the end is `None`, not a panic: places may come from the disk. Writing is ours:
//! a place past the end is a bug.

/// The 32-bit integer at `at`.
pub(super) fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(read(bytes, at)?))
}

/// The 64-bit integer at `at`.
pub(super) fn read_u64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(read(bytes, at)?))
}

/// The `N` bytes at `at`.
pub(super) fn read<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// Puts `new` at `at`.
pub(super) fn write(bytes: &mut [u8], at: usize, new: &[u8]) {
    bytes[at..at + new.len()].copy_from_slice(new);
}
