//! The second half of the demo: a group of its own, from empty files to the verdict of stock LVM2.
//!
//! ```text
//!   steps       the order, and what each step is called
//!   world       the folders, the sizes, and the commands as they are typed
//!   build       six disks, a group, three volumes
//!   fill        patterns, written and compared
//!   background  work on a thread that can be waited for
//!   load        somebody who writes without a pause, and remembers what was answered
//!   served      `ashlar serve` in a process of its own
//!   grow        a volume is extended while it is written over NBD
//!   mounted     another one while a file system on it is mounted and written
//!   back        it gets a snapshot, is overwritten, and gets back what it held
//!   emptied     a disk is emptied while a volume on it is written
//!   loss        a mirror loses a disk while it is written
//!   dies        a disk of a RAID 5 dies while it is written, and another takes its place
//!   stolen      a computer is stolen, and the leg of its mirror that was elsewhere is enough
//!   cut         the power fails in the middle of commits
//!   chart       one disk, linear and striped, on slow disks
//!   cost        what layers cost, by a few of the lab's experiments
//!   judge       stock LVM2 looks at the disks
//!   page        the tour as a picture and as a page
//! ```
//!
//! Commands run as processes of this same program, so what is shown is what is typed. Their
//! backups go to a private folder. A server ends with its demo, also when that is killed: it runs
//! for as long as a `cat` whose input the demo holds.

mod back;
mod background;
mod build;
mod chart;
mod cost;
mod cut;
mod dies;
mod emptied;
mod fill;
mod grow;
mod judge;
mod load;
mod loss;
mod mounted;
mod page;
mod served;
mod steps;
mod stolen;
mod world;

pub(super) use page::{Seen, own_folder, write};
pub(super) use steps::steps;
pub(crate) use world::Pace;
pub(super) use world::World;
