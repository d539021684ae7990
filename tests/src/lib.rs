//! The bench on which the end-to-end tests work: commands, golden disks, loop devices, stock LVM2.
//!
//! ```text
//!   tool       run a command to its end, within a time limit      ashlar().args([…]).succeed()
//!   daemon     run a command beside the test, ended with it       Daemon::start(tool, ready)
//!   golden     the golden disks, unpacked; what they must hold    Golden::shared()
//!   raid_sets  arrays that the kernel left in the middle of something   RaidSet::shared("dirty")
//!   scratch    a folder that goes away                            Scratch::new("name")
//!   loops      a loop device that goes away                       LoopDevice::attach(path, access)
//!   disks      blank disks for the program and for stock LVM2     Disks::new("name", [8 << 20; 4])
//!   group      a volume group that the program makes and serves    Group::new("name", 3, 64 << 20)
//!   image      an image, and commands that see it alone        DiskImage::new("name", 8 << 20)
//!   killed     the program, killed at a system call           killing("fsync", 3, &record)
//!   made       volume groups made for a test                     Made::many(10_000)
//!   recorded   the calls of a server, as strace saw them        Recording::of(pid, &file)
//!   stock      LVM2 of the distribution on chosen devices only    Stock::on(&loops)
//!   apart      a script in a mount namespace of its own        apart(folder, "mount …")
//!   kernel     a stock kernel, in an emulated machine             Kernel::new("name").disk(&a)
//!   damaged    damaged groups here and in stock: what is left      Campaign { cases, seed }.run(…)
//!   judge      command lines here and in stock: what differs    Campaign { cases, seed, … }.run(…)
//!   verifier   does a server keep its word about what was written? Load::new(journal).run(…)
//! ```
//!
//! Everything that is made is a value that unmakes it when dropped, also when a test panics. What
//! a killed run left behind is cleared by the next one. A test that needs root or a tool fails
//! without it; nothing here skips.

mod apart;
mod daemon;
pub mod damaged;
mod disks;
mod golden;
mod group;
mod image;
pub mod judge;
mod kernel;
mod killed;
mod loops;
mod made;
mod raid_sets;
pub mod recorded;
mod scratch;
mod stock;
mod tool;
mod unpack;
pub mod verifier;

pub use apart::apart;
pub use daemon::Daemon;
pub use disks::Disks;
pub use golden::{Golden, Volume, sha256};
pub use group::{Group, Mounted, kill_server};
pub use image::DiskImage;
pub use kernel::{BOOTS_MAX, Collected, Dialogue, DiskSet, Kernel, Outcome, Sum};
pub use killed::{killing, was_killed};
pub use loops::{Access, LoopDevice, is_over};
pub use made::Made;
pub use raid_sets::{RAID_SETS, RaidDisk, RaidSet, RaidVolume, make_raid_set};
pub use scratch::Scratch;
pub use stock::Stock;
pub use tool::{
    Finished, LIMIT, Tool, ashlar, ashlar_path, assert_fuse_for_all, assert_root, copy_ashlar,
    wait_until,
};
