//! A stock kernel as judge: a small emulated machine that runs a script over given disks.
//!
//! ```text
//!   Kernel::new("name").disk(a).copy(b).script("vgchange -ay …; collect lv /dev/vg0/lv")
//!     │  qemu, without the host's kernel      image: the distribution's kernel, LVM2, busybox
//!     ▼
//!   Outcome { code, output, console, collected }     and what it wrote on disk a
//! ```
//!
//! Emulated code is ten to thirty times slower than the machine, a boot takes some seconds: tests
//! put all they want to know into as few boots as they can, and a whole run of the tests may boot
//! [`BOOTS_MAX`] times. A [`Dialogue`] is one boot for many scripts. See `tests/kernel/README.md`
//! for what a script finds there.

mod archive;
mod boot;
mod dialogue;
mod image;
mod sums;

pub use boot::{BOOTS_MAX, Collected, Kernel, Outcome};
pub use dialogue::Dialogue;
pub use sums::{DiskSet, Sum};
