//! All commands that change metadata.

use super::work::Core;
use super::{
    lvchange, lvconvert, lvcreate, lvremove, lvrename, lvresize, pvchange, pvcreate, pvremove,
    pvresize, undo, vgcfgrestore, vgchange, vgck, vgcreate, vgexport, vgextend, vgreduce, vgremove,
    vgrename, vgsplit,
};
use crate::args::Command;

/// The commands, with what runs under their names.
const CORES: &[(&Command, Core)] = &[
    (&pvcreate::COMMAND, pvcreate::core),
    (&pvremove::COMMAND, pvremove::core),
    (&pvresize::COMMAND, pvresize::core),
    (&pvchange::COMMAND, pvchange::core),
    (&vgcreate::COMMAND, vgcreate::core),
    (&vgextend::COMMAND, vgextend::core),
    (&vgreduce::COMMAND, vgreduce::core),
    (&vgremove::COMMAND, vgremove::core),
    (&vgrename::COMMAND, vgrename::core),
    (&vgchange::COMMAND, vgchange::core),
    (&vgsplit::SPLIT, vgsplit::split),
    (&vgsplit::MERGE, vgsplit::merge),
    (&vgexport::EXPORT, vgexport::export),
    (&vgexport::IMPORT, vgexport::import),
    (&vgcfgrestore::COMMAND, vgcfgrestore::core),
    (&crate::commands::vgck::COMMAND, vgck::core),
    (&undo::COMMAND, undo::core),
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
