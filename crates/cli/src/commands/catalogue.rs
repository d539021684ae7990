//! All commands.

use super::{
    attach, detach, help, lvdisplay, lvs, lvscan, pvdisplay, pvs, pvscan, serve, vgdisplay, vgs,
    vgscan,
};
use crate::args::Command;

/// All commands, in the order of the overview.
pub(super) const ALL: &[&Command] = &[
    &pvs::COMMAND,
    &vgs::COMMAND,
    &lvs::COMMAND,
    &pvdisplay::COMMAND,
    &vgdisplay::COMMAND,
    &lvdisplay::COMMAND,
    &pvscan::COMMAND,
    &vgscan::COMMAND,
    &lvscan::COMMAND,
    &attach::COMMAND,
    &detach::COMMAND,
    &serve::COMMAND,
    &help::COMMAND,
];

/// The command called `name`.
pub(super) fn find(name: &str) -> Option<&'static Command> {
    ALL.iter().copied().find(|command| command.name == name)
}
