//! Changes of volumes in use: a command extends, reduces, replaces, converts an array while it is
//! written, and the process is killed or the power goes.
//!
//! A history is one change, by its name and a seed: how large all is, what is asked, in which order
//! the disks answer, in which of its stages the process is killed. At many of its moments the power
//! is cut besides; a text that is being written is found old or new. What is left is started by
//! what the text says, with all legs, with one less where the level survives that and there is a
//! journal wherever parity is needed, or with a lost one back; it is read, written on, maybe cut
//! once more, left alone until it is whole, and read without any leg that it may lose.
//!
//! What goes away is written by others as soon as the text is durable, and nobody may reach it any
//! more; what comes was theirs, and says that it belongs to the array.
//!
//! `campaign.rs` runs histories, `kinds.rs` are the changes, `text.rs` is what metadata say of a
//! volume, `life.rs` a volume in use, `plain.rs` one without a state, `mirrored.rs` a mirror,
//! `course.rs` carries a change out, `after.rs` looks at what is left, `fault.rs` are mistakes.

mod after;
mod campaign;
mod course;
mod fault;
mod kinds;
mod life;
mod mirrored;
mod plain;
mod text;

pub use campaign::changes;
pub use fault::ChangeFault;

#[cfg(test)]
mod tests;
