//! All commands that change metadata.

use super::work::Core;
use super::{lvchange, lvconvert, lvcreate, lvremove, lvrename, lvresize, pvcreate, vgcreate};
use crate::args::Command;

/// The commands, with what runs under their names.
const CORES: &[(&Command, Core)] = &[
    (&pvcreate::COMMAND, pvcreate::core),
    (&vgcreate::COMMAND, vgcreate::core),
    (&lvcreate::COMMAND, lvcreate::core),
    (&lvresize::EXTEND, lvresize::extend),
    (&lvresize::REDUCE, lvresize::reduce),
    (&lvresize::RESIZE, lvresize::either),
    (&lvremove::COMMAND, lvremove::core),
    (&lvrename::COMMAND, lvrename::core),
    (&lvchange::COMMAND, lvchange::core),
    (&lvconvert::COMMAND, lvconvert::core),
];

/// The commands, for the table of all.
pub(in crate::commands) const COMMANDS: &[&Command] = &commands();

const fn commands() -> [&'static Command; CORES.len()] {
    let mut all = [CORES[0].0; CORES.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = CORES[at].0;
        at += 1;
    }
    all
}

/// The command called `name` and its core.
pub(super) fn find(name: &str) -> Option<(&'static Command, Core)> {
    CORES
        .iter()
        .copied()
        .find(|(command, _)| command.name == name)
}
