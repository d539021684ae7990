//! A live volume group: one whose volumes are served, by exactly one process.
//!
//! ```text
//!   Owner ── the open, locked physical volumes     (byte "owner" of each, block devices alone)
//!         ── what is active: volumes by their UUID
//! ```
//!
//! An [`Owner`] takes a group when volumes of it are first opened for writing, and holds it until
//! it is closed: others neither serve nor write it, and their changes of its metadata are refused.
//! Who only reads owns nothing.
//!
//! When it is closed, what was written is flushed, mirrors mark their regions clean, and only then
//! the locks go. A killed owner needs no cleaning up here: the kernel drops its locks, and what was
//! not flushed was never promised.

mod owner;

pub use owner::Owner;

#[cfg(test)]
mod tests;
