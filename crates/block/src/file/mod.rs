//! Files and block devices.
//!
//! [`FileDevice::open`] asks the kernel what it can about a file, once (`probe.rs`), and chooses a
//! way for each direction:
//!
//! | what it is                        | reads                      | writes       |
//! |-----------------------------------|----------------------------|--------------|
//! | a file on tmpfs, ramfs, hugetlbfs | here and now               | here and now |
//! | a file or disk that does direct I/O | engine, past the page cache | the same   |
//! | any other file                    | page cache now, else engine | engine      |
//!
//! Here and now is best where nothing ever waits: a page copy costs 0.4 µs, an engine 10. Direct
//! I/O wants aligned memory: requests whose buffer is not go through an aligned one.
//!
//! A request becomes one or more calls (`steps.rs` decides, purely), for instance a write and an
//! `fdatasync`; `queue.rs` makes them.
//!
//! What a medium may lose as a whole is looked for below the file, on the disk on which its file
//! system is (`medium.rs`): the system call tells only for disks.
//!
//! A file that others truncate is not made longer again: what lies behind its end cannot be read
//! or written any more, until it is opened again.
//!
//! Does not: lock files, grow or shrink them, or notice that others let them grow. Sparse files
//! stay sparse: zeros are punched where that is allowed.

mod device;
mod extents;
mod lock;
mod medium;
mod probe;
mod queue;
mod steps;

pub use crate::Access;
pub use device::{Caching, Claim, FileDevice, FileOptions};
pub use lock::{LockMode, LockOutcome, is_byte_locked, lock_byte, unlock_byte};

#[cfg(test)]
mod tests;
