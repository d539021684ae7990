//! The commands that meet, and what they find: commands that want the same disk, the same name or
//! the same extents, or of which one changes what the other has decided by.

use lvm2::ondisk::AreaUse;
use lvm2::plan::group::GroupAttribute as G;
use lvm2::plan::initialise::AreaCount;
use lvm2::plan::physical::PvAttribute as P;
use lvm2::plan::size::ResizeTo;

use super::super::command::Command as C;
use super::super::command::{Command, Shape};

/// Two commands on disks that others have prepared.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) disks: usize,
    pub(super) setup: Vec<Command>,
    pub(super) commands: [Command; 2],
}

/// The first two disks are in the group, the third is free.
const BOTH: C = C::VgCreate("vg0", &[0, 1]);
const FREE: &[usize] = &[2];
const EXTEND: C = C::VgExtend("vg0", FREE);

impl Pair {
    /// The commands as people type them.
    pub(super) fn words(&self) -> String {
        format!(
            "{} beside {}",
            self.commands[0].word(),
            self.commands[1].word()
        )
    }

    /// All of them; what stands at the end of the list keeps the numbers of the others.
    pub(super) fn all() -> Vec<Self> {
        let linear = |name, extents| C::LvCreate("vg0", name, extents, Shape::Linear);
        let (a, b) = (linear("a", 4), linear("b", 2));
        let (c, d) = (linear("c", 3), linear("d", 3));
        let striped = C::LvCreate("vg0", "s", 4, Shape::Striped(2));
        let tag = C::VgChange("vg0", G::AddTag("before"));
        let own = C::VgCreate("vg1", FREE);
        let grown = C::LvResize("vg0", "a", 9, ResizeTo::Larger);
        let shrunk = C::LvResize("vg0", "a", 1, ResizeTo::Smaller);
        let new = C::PvCreate(2, AreaCount::One);
        let split = C::VgSplit("vg0", "vg1", 1);
        let in_other = C::LvCreate("vg1", "c", 3, Shape::Linear);
        let pair = |setup: &[C], one, other| {
            let pvs = (0..3).map(|disk| C::PvCreate(disk, AreaCount::One));
            Self {
                disks: 3,
                setup: pvs.chain(setup.iter().copied()).collect(),
                commands: [one, other],
            }
        };
        vec![
            pair(&[BOTH, a], c, EXTEND),
            pair(&[BOTH, a], C::PvRemove(2), EXTEND),
            pair(&[BOTH, a], C::VgRename("vg0", "vg1"), c),
            pair(&[BOTH, a, tag], C::Undo("vg0", 1), grown),
            pair(&[BOTH, a], c, d),
            pair(&[BOTH, a], C::VgReduce("vg0", 1), striped),
            pair(&[BOTH, a], own, EXTEND),
            pair(&[BOTH, a], new, EXTEND),
            pair(&[BOTH, a], C::VgRemove("vg0"), EXTEND),
            pair(&[BOTH, a], C::VgRemove("vg0"), c),
            pair(&[BOTH, a], split, striped),
            pair(&[BOTH, a, own], C::VgMerge("vg0", "vg1"), in_other),
            pair(&[BOTH, a], C::PvChange(0, P::NewUuid), c),
            pair(&[BOTH, a], C::VgChange("vg0", G::NewUuid), EXTEND),
            pair(&[BOTH, a, tag], C::VgCfgRestore("vg0", 1), shrunk),
            pair(&[BOTH, a], C::VgReduce("vg0", 1), C::PvRemove(1)),
            pair(&[BOTH, a], C::VgExport("vg0"), grown),
            pair(&[BOTH, a], C::VgRename("vg0", "vg1"), own),
            pair(&[BOTH, a], C::PvChange(0, P::Areas(AreaUse::Ignored)), c),
            pair(&[BOTH, a], own, new),
            pair(&[BOTH, a], C::PvRemove(2), new),
            pair(&[BOTH, a], C::VgReduce("vg0", 1), C::VgExtend("vg0", FREE)),
            pair(&[BOTH, tag, C::VgRemove("vg0")], C::Revive("vg0"), own),
            pair(
                &[BOTH, a, b],
                C::LvRemove("vg0", "a"),
                C::LvRename("vg0", "a", "c"),
            ),
        ]
    }
}
