//! `explain`: where the time of a volume's requests goes, predicted and emulated.
//!
//! `command.rs` is the command, `mapping.rs` reads what the volume lies on, `stack.rs` makes it a
//! stack on disks that were named, `shown.rs` prints.

mod command;
mod mapping;
mod shown;
mod stack;

pub(super) use command::COMMAND;
pub(super) use stack::workload;
