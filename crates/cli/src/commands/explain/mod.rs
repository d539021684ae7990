//! `explain`: where the time of a volume's requests goes, predicted, emulated and measured.
//!
//! `command.rs` is the command, `mapping.rs` reads what the volume lies on, `stack.rs` makes it a
//! stack on disks that were named, `stores.rs` asks how its snapshots fill, `measured.rs` runs the
//! load on the volume itself, `raid.rs` counts what arrays do, `files.rs` explains a program on a
//! file system, `shown.rs` prints.

mod command;
mod files;
mod mapping;
mod measured;
mod raid;
mod shown;
mod stack;
mod stores;

pub(super) use command::COMMAND;
pub(super) use stack::workload;
