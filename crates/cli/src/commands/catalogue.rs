//! All commands.

use super::{
    attach, cat, change, cp, demo, detach, explain, help, history, lab, lvdisplay, lvs, lvscan,
    owners, pvck, pvdisplay, pvs, pvscan, serve, stop, vgcfgbackup, vgdisplay, vgs, vgscan,
};
use crate::args::Command;

/// What only looks.
const LOOKING: &[&Command] = &[
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
    &vgcfgbackup::COMMAND,
    &history::COMMAND,
];

/// What uses volumes, and the rest.
const USING: &[&Command] = &[
    &change::plan::COMMAND,
    &cat::COMMAND,
    &cp::COMMAND,
    &attach::COMMAND,
    &detach::COMMAND,
    &serve::COMMAND,
    &owners::COMMAND,
    &stop::COMMAND,
    &explain::COMMAND,
    &lab::COMMAND,
    &demo::COMMAND,
    &help::COMMAND,
];

const COUNT: usize = LOOKING.len() + change::COMMANDS.len() + USING.len();

/// All commands, in the order of the overview.
pub(super) const ALL: &[&Command] = &joined();

const fn joined() -> [&'static Command; COUNT] {
    let mut all = [LOOKING[0]; COUNT];
    let groups = [LOOKING, change::COMMANDS, USING];
    let (mut at, mut group) = (0, 0);
    while group < groups.len() {
        let mut index = 0;
        while index < groups[group].len() {
            all[at] = groups[group][index];
            at += 1;
            index += 1;
        }
        group += 1;
    }
    all
}

/// The command called `name`.
pub(super) fn find(name: &str) -> Option<&'static Command> {
    ALL.iter().copied().find(|command| command.name == name)
}
