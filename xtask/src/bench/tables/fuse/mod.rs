//! FUSE under a loop device: `ashlar attach` against qemu-storage-daemon's FUSE export.
//!
//! `nodes` makes the two block device nodes, over the same bytes and with the same settings of the
//! loop device; `cases` says what is asked of them.

mod cases;
mod nodes;

pub(super) use cases::TABLE;
