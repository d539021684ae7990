//! What a layout costs: predicted, emulated and measured.
//!
//! ```text
//!   advise     which layout of given disks suits a load
//!   calibrate  times a disk from outside and fits a profile
//!   disk       emulated disks in virtual time: mechanics, caches, queues
//!   layout     stacks of storage as plain data
//!   stack      a layout, built: mapping, mirrors, loops, links; and loads on it
//!   filesystem ext2 and ext3 with their kernel, on an emulated disk
//!   workload   the operation streams of the programs that people measure with
//!   predict    what a volume will do, by formula; random cases to judge that by
//!   raid       what requests cost an array, counted
//!   experiment questions as data, their runs, and verdicts on claims
//!   report     one page of HTML from lines of results
//!   measure    the real data path on this machine, beside the emulation
//!   stats      pairs, intervals, verdicts
//!   audit      rules that find impossible numbers in published results
//!   trace      what a device was asked, when, and what for
//! ```
//!
//! Everything in virtual time is exact and the same on every machine: times are integer
//! nanoseconds, and no function of the platform's mathematics library decides one.

pub mod advise;
pub mod audit;
pub mod calibrate;
pub mod component;
pub mod disk;
pub mod error;
pub mod experiment;
pub mod filesystem;
pub mod layout;
pub mod measure;
mod parallel;
pub mod predict;
pub mod raid;
pub mod report;
pub mod settings;
pub mod stack;
pub mod stats;
pub mod trace;
pub mod workload;
