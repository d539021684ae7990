//! All commands that change metadata.

use super::work::Handler;
use super::{
    defrag, image, lvchange, lvconvert, lvcreate, lvremove, lvrename, lvresize, pvchange, pvck,
    pvcreate, pvmove, pvremove, pvresize, undo, vgcfgrestore, vgchange, vgck, vgcreate, vgexport,
    vgextend, vgreduce, vgremove, vgrename, vgsplit,
};
use crate::args::Command;

/// The commands, with what runs under their names.
const HANDLERS: &[(&Command, Handler)] = &[
    (&pvcreate::COMMAND, pvcreate::handler),
    (&pvmove::COMMAND, pvmove::handler),
    (&pvremove::COMMAND, pvremove::handler),
    (&pvresize::COMMAND, pvresize::handler),
    (&pvchange::COMMAND, pvchange::handler),
    (&crate::commands::pvck::COMMAND, pvck::handler),
    (&defrag::COMMAND, defrag::handler),
    (&image::COMMAND, image::handler),
    (&vgcreate::COMMAND, vgcreate::handler),
    (&vgextend::COMMAND, vgextend::handler),
    (&vgreduce::COMMAND, vgreduce::handler),
    (&vgremove::COMMAND, vgremove::handler),
    (&vgrename::COMMAND, vgrename::handler),
    (&vgchange::COMMAND, vgchange::handler),
    (&vgsplit::SPLIT, vgsplit::split),
    (&vgsplit::MERGE, vgsplit::merge),
    (&vgexport::EXPORT, vgexport::export),
    (&vgexport::IMPORT, vgexport::import),
    (&vgcfgrestore::COMMAND, vgcfgrestore::handler),
    (&crate::commands::vgck::COMMAND, vgck::handler),
    (&undo::COMMAND, undo::handler),
    (&lvcreate::COMMAND, lvcreate::handler),
    (&lvresize::EXTEND, lvresize::extend),
    (&lvresize::REDUCE, lvresize::reduce),
    (&lvresize::RESIZE, lvresize::either),
    (&lvremove::COMMAND, lvremove::handler),
    (&lvrename::COMMAND, lvrename::handler),
    (&lvchange::COMMAND, lvchange::handler),
    (&lvconvert::COMMAND, lvconvert::handler),
];

/// Those whose groups are among their operands, by name.
const PLACED_BY_OPERANDS: &[&Command] = &[
    &vgextend::COMMAND,
    &vgreduce::COMMAND,
    &vgrename::COMMAND,
    &vgsplit::SPLIT,
    &vgsplit::MERGE,
    &vgcfgrestore::COMMAND,
    &undo::COMMAND,
    &lvcreate::COMMAND,
    &lvresize::EXTEND,
    &lvresize::REDUCE,
    &lvresize::RESIZE,
    &lvremove::COMMAND,
    &lvrename::COMMAND,
    &lvconvert::COMMAND,
];

/// Whether the operands of the command called `name` say which groups it changes.
pub(super) fn is_placed_by_operands(name: &str) -> bool {
    PLACED_BY_OPERANDS
        .iter()
        .any(|command| command.name == name)
}

/// The commands, for the table of all.
pub(in crate::commands) const COMMANDS: &[&Command] = &commands();

const fn commands() -> [&'static Command; HANDLERS.len()] {
    let mut all = [HANDLERS[0].0; HANDLERS.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = HANDLERS[at].0;
        at += 1;
    }
    all
}

/// The command called `name` and its handler.
pub(super) fn find(name: &str) -> Option<(&'static Command, Handler)> {
    HANDLERS
        .iter()
        .copied()
        .find(|(command, _)| command.name == name)
}
