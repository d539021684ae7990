//! Locks: against stock LVM2 on this machine, and against other Ashlars that see the same disks.
//!
//! ```text
//!   order      lock                       against
//!   1          P_global    (flock)        stock, where its locking_dir can be written
//!   2          D_<file>    (flock)        stock, while the devices file may be written
//!   3          V_<vg>      (flock)        stock
//!   4          byte "owner" of each PV    another owner; held as long as volumes are served
//!   5          byte "commit" of each PV   another commit; held for one commit
//!   6          qemu's bytes of each PV    a virtual machine, qemu-img, qemu-nbd; as long as 4 or 5
//! ```
//!
//! Byte locks are taken on the open files through which metadata is written, on all visible
//! physical volumes in the order of the files (device and inode), so that two who want the same
//! ones do not wait for each other in a circle. After locking, the metadata has to be read again:
//! it may have changed while the lock was waited for.
//!
//! Nothing waits for ever: every wait has a limit, after which the error names who holds the lock
//! where the kernel tells, and ends when the process is asked to end. Everything is close-on-exec,
//! and the kernel drops all of it with the process. Looking takes no lock; who reads volumes takes
//! what qemu's readers take.
//!
//! Does not: lock what cannot be locked (NBD, NFS); those need `--assume-exclusive`.

mod bytes;
mod holder;
mod interrupt;
mod owned;
mod qemu;
mod record;
mod stock;
mod target;
mod wait;

pub(crate) use bytes::lock_owner;
pub(crate) use record::is_same;
#[cfg(any(test, feature = "explore"))]
pub(crate) use wait::{Turns, with_turns};

pub use bytes::{LockByte, PvLocks, lock_pvs};
pub use interrupt::Interrupt;
pub use owned::{FileId, OwnedGroup};
pub use qemu::{ImageLocks, ImageUse, lock_images};
pub use record::claim_record;
pub use stock::{StockLock, StockName, lock_stock};
pub use target::HeldTarget;

#[cfg(test)]
mod tests;
