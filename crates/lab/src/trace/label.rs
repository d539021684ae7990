//! What each place of a volume is for, from the layout of the file system on it.
//!
//! ```text
//!   Source (bytes of a volume) ──▸ ext, xfs ──▸ Map: areas, each of a class
//!   Map before the run, Map after it ──▸ Labels ──▸ the label of each request
//! ```
//!
//! A place may be freed and used again while a trace is taken. Its label is what it is for at the
//! end; where it was free then, what it was for at the beginning; and it says *sometimes* unless
//! both agree. What was made and removed within the run is free in both maps; the journal of ext3
//! and ext4 says then which of it was metadata, and the rest that was written was data. What the
//! journal holds no longer, since it is used in turn, counts for data too.

mod areas;
mod big_endian;
mod ext;
mod extents;
mod journal;
mod map;
mod reading;
mod source;
mod superblock;
mod xfs;
mod xfs_inode;
mod xfs_superblock;

pub use map::{Area, FileSystem, Labels, Map, Touched};
pub use source::Source;
