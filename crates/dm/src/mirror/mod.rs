//! Mirrors: the same bytes on several images, and a log of where they may differ.
//!
//! ```text
//!   write ─▸ hold regions ─▸ log bit 0, durable ─▸ all images ─▸ answer
//!                                                      ╲ an image fails: others flushed,
//!                                                        out of sync on record, durable,
//!                                                        primary written down ─▸ answer
//!   rest  ─▸ flush images ─▸ log bit 1
//!   start ─▸ where the bit is 0, one image in sync is read, and copied to the others
//! ```
//!
//! Promises: what a completed flush covers, and what was written with FUA, survives the loss of
//! power and, where another image is in sync, of an image. After a cut every other sector that was
//! being written holds the old or the new content and, once read, keeps it: as long as the images
//! may differ, the same one is read (so if just that one is lost before it has been copied, the
//! other of the two contents may appear). An image that missed a write is not in sync again until
//! it has been copied to, whatever happens in between.
//!
//! The disk log is the kernel's, both ways: it can take over at any point, and so can we. What the
//! kernel cannot know from it is which image is out of sync (`log_image.rs`), so whoever describes
//! the mirror to the kernel is told which image has to be the first one (`primary.rs`).
//!
//! Does not: replace lost images by itself, compare images, or keep a log per image: while an image
//! is missing nothing becomes in sync, and when it comes back all that was written meanwhile is
//! copied. Costs: a durable log write before the first write to a resting region.
//!
//! `config.rs` says what a mirror is made of; `state.rs` is the machine; `requests.rs` serves,
//! `journal.rs` writes the log, `health.rs` loses images, `primary.rs` has it written down,
//! `clean.rs` and `resync.rs` bring regions back in sync; `reload.rs` changes its size,
//! `moving.rs` lets a copy take the place of its source; `map.rs` says what may be asked without
//! the home, `reads.rs` which image is read and `slots.rs` which regions may be written;
//! `regions.rs`, `bits.rs`, `log_image.rs`, `limits.rs` and `operation.rs` are what they know;
//! `control.rs` is what others tell it and hear. `explore/` takes the power away.

mod bits;
mod clean;
mod config;
mod control;
#[cfg(any(test, feature = "explore"))]
pub mod explore;
mod health;
mod journal;
mod limits;
mod log_image;
mod map;
mod moving;
mod operation;
mod primary;
mod reads;
mod regions;
mod reload;
mod requests;
mod resync;
mod slots;
mod state;

pub use block::Access;
pub use config::{
    Content, CopyStart, IMAGES_MAX, LogPlace, MirrorConfig, MirrorImage, Primary, REGIONS_MAX, Sync,
};
pub use control::{Control, ImageHealth, LogHealth, Notice, Status};
pub use log_image::{in_sync_images, is_in_sync, log_length};
pub use map::{Hold, MirrorMap};
pub use primary::ImageOrder;
pub use reads::Reads;
pub use state::Mirror;

#[cfg(test)]
mod tests;
