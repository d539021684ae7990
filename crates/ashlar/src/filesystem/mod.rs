//! File systems in volumes: how much of the volume they need, read from their superblocks.
//!
//! ```text
//!   ext2, ext3, ext4   blocks × block size           little-endian, at byte 1024
//!   XFS                blocks × block size           big-endian, at byte 0
//!   btrfs              the size of this device       little-endian, at byte 65536
//!   swap               (last page + 1) × page size   either order, at byte 1024
//!   LUKS1, LUKS2       all that there is: what is encrypted cannot be seen
//! ```
//!
//! Pure: bytes come through a function. They are validated, never believed; what makes no sense is
//! no file system. Several may be found, where one was made over another; whoever cuts a volume
//! asks all of them.
//!
//! Does not look at checksums, second copies, or what lies in the blocks.

mod identity;
mod superblock;

pub use identity::{Btrfs, Content, Swap, content};
pub use superblock::{End, FileSystem, file_systems};

#[cfg(test)]
mod tests;
