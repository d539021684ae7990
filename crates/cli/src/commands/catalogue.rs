//! All commands.

use super::{attach, detach, help, lvs, lvscan, pvs, pvscan, vgs, vgscan};
use crate::args::Command;

/// All commands, in the order of the overview.
pub(super) const ALL: &[&Command] = &[
    &pvs::COMMAND,
    &vgs::COMMAND,
    &lvs::COMMAND,
    &pvscan::COMMAND,
    &vgscan::COMMAND,
    &lvscan::COMMAND,
    &attach::COMMAND,
    &detach::COMMAND,
    &help::COMMAND,
];

/// The command called `name`.
pub(super) fn find(name: &str) -> Option<&'static Command> {
    ALL.iter().copied().find(|command| command.name == name)
}
