//! One suite over every device: what [`block::Device`] promises, checked from outside.
//!
//! [`check`] writes all over a device and compares it with a model that keeps one byte of
//! knowledge per byte; [`check_read_only`] only reads. Both panic with what was violated and the
//! seed. Tests of any crate call them; the device should have a few MiB, because all of it is
//! read, and nothing else may use it meanwhile.
//!
//! `asker.rs` asks and waits, `model.rs` knows what bytes may be, `checks.rs` is the list.

mod asker;
mod checks;
mod model;

pub use checks::{check, check_read_only, check_with_engine};
