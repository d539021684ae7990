//! All commands.

use super::{
    attach, cat, cp, demo, detach, help, history, lvdisplay, lvs, lvscan, pvck, pvdisplay, pvs,
    pvscan, serve, vgcfgbackup, vgck, vgdisplay, vgs, vgscan,
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
    &pvck::COMMAND,
    &vgck::COMMAND,
    &vgcfgbackup::COMMAND,
    &history::COMMAND,
    &cat::COMMAND,
    &cp::COMMAND,
    &attach::COMMAND,
    &detach::COMMAND,
    &serve::COMMAND,
    &demo::COMMAND,
    &help::COMMAND,
];

/// The command called `name`.
pub(super) fn find(name: &str) -> Option<&'static Command> {
    ALL.iter().copied().find(|command| command.name == name)
}
