//! Takes the power away from moves of extents, at every moment, and looks what is left.
//!
//! A volume of two to four pieces is moved, one piece after the other, while it is read, written,
//! zeroed, discarded and flushed. The piece that is being copied is a mirror, the others are where
//! the metadata say; which these are is all that a cut leaves of the move itself. What users ask
//! goes by the table that counts at the moment, to a window of the source, or of the target, or
//! to the mirror (or past it, as its map allows).
//!
//! ```text
//!   volume     ├─ moved ─┼─ being copied ─┼─ not yet ─┤
//!   is asked     target     the mirror       source
//! ```
//!
//! A history is chosen by its seed: what is asked, in which order the disks answer, when a piece
//! that is copied is finished (or one that is not: that must be refused), what cannot be written
//! down, when the move is aborted or its process killed, and what fails: the target vanishes, or
//! fails a request; some sector of the source does. At about every third step the power is cut,
//! also while it is being written down that a piece is moved: then either is so. What is left is
//! started from the metadata, read twice, and now and then moved to the end.
//!
//! The promises: what was written durably is there, wherever it is by now; what was being written
//! is old or new, and stays what it was read as; a failure of the target is nobody's affair but
//! the move's. What was moved needs its source no more: others write to it as soon as the metadata
//! say so. Where nothing fails, a move comes to its end.
//!
//! `shape.rs` is what all is made of, `window.rs` a piece that is not being copied, `run.rs` the
//! volume, `ask.rs` asks it, `change.rs` is what surrounds a change of the metadata, `mishap.rs`
//! what fails, `fault.rs` the mistakes, `cut.rs` looks at what is left, `history.rs` is one
//! history, `campaign.rs` many.

mod ask;
mod campaign;
mod change;
mod cut;
mod fault;
mod history;
mod mishap;
mod run;
mod shape;
mod window;

pub use campaign::Campaign;
pub use fault::SeededFault;

#[cfg(test)]
mod tests;
