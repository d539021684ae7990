//! What is explored: disks, the commands that prepare them, and the command that is cut off.

use lvm::plan::initialise::AreaCount;

use super::commands::Command;

/// A command on prepared disks.
#[derive(Debug, Clone)]
pub struct Case {
    pub(super) disks: usize,
    pub(super) setup: Vec<Command>,
    /// A command before it that was killed when its headers were written and not flushed.
    pub(super) killed: Option<Command>,
    /// Whether the first disk missed the last command of the setup.
    pub(super) staleness: Staleness,
    pub(super) command: Command,
}

/// Whether the areas of the first disk hold an older version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Staleness {
    None,
    FirstDisk,
}

/// How many disks, and how many areas on each, the cases are made for.
pub const CASES: [(usize, AreaCount); 6] = [
    (1, AreaCount::One),
    (1, AreaCount::Two),
    (2, AreaCount::One),
    (2, AreaCount::Two),
    (3, AreaCount::One),
    (3, AreaCount::Two),
];

/// The first disks, by count.
const FIRST: [&[usize]; 4] = [&[], &[0], &[0, 1], &[0, 1, 2]];
/// The last disk, by count.
const LAST: [&[usize]; 4] = [&[], &[0], &[1], &[2]];

impl Case {
    fn new(disks: usize, setup: &[Command], command: Command) -> Self {
        Self {
            disks,
            setup: setup.to_vec(),
            killed: None,
            staleness: Staleness::None,
            command,
        }
    }

    /// All cases of so many disks with so many areas each.
    pub fn all(disks: usize, areas: AreaCount) -> Vec<Self> {
        use Command as C;
        let pvs: Vec<C> = (0..disks).map(|disk| C::PvCreate(disk, areas)).collect();
        let with = |more: &[C]| [&pvs, more].concat();
        let vg = C::VgCreate("vg0", FIRST[disks]);
        let (a, b) = (C::LvCreate("vg0", "a", 4), C::LvCreate("vg0", "b", 2));
        let case = |setup: &[C], command| Self::new(disks, setup, command);
        let mut cases = vec![
            case(&[], C::PvCreate(0, areas)),
            case(&pvs, C::PvCreate(0, areas)),
            case(&pvs, C::PvRemove(0)),
            case(&pvs, vg),
        ];
        for command in [
            C::VgTag("vg0"),
            C::VgRename("vg0", "vg1"),
            C::VgExport("vg0"),
            C::VgRemove("vg0"),
            C::PvUnallocatable(0),
            C::LvCreate("vg0", "c", 3),
            C::LvExtend("vg0", "a", 9),
            C::LvReduce("vg0", "a", 1),
            C::LvRemove("vg0", "a"),
            C::LvRename("vg0", "a", "c"),
            C::LvReadOnly("vg0", "a"),
        ] {
            cases.push(case(&with(&[vg, a, b]), command));
        }
        cases.push(case(&with(&[vg, C::VgExport("vg0")]), C::VgImport("vg0")));
        let mut killed = case(&with(&[vg, a]), b);
        killed.killed = Some(C::LvReduce("vg0", "a", 2));
        cases.push(killed);
        if disks > 1 {
            cases.extend(Self::on_several(disks, &pvs));
        }
        cases
    }

    fn on_several(disks: usize, pvs: &[Command]) -> Vec<Self> {
        use Command as C;
        let with = |more: &[C]| [pvs, more].concat();
        let vg = C::VgCreate("vg0", FIRST[disks]);
        let a = C::LvCreate("vg0", "a", 4);
        let last = disks - 1;
        let small = C::VgCreate("vg0", FIRST[last]);
        let other = C::VgCreate("vg1", LAST[disks]);
        let case = |setup: &[C], command| Self::new(disks, setup, command);
        let mut stale = case(
            &with(&[vg, a, C::LvRename("vg0", "a", "b")]),
            C::VgRemove("vg0"),
        );
        stale.staleness = Staleness::FirstDisk;
        // Extents on a disk without metadata: no flush of a text covers them.
        let mut bare = pvs.to_vec();
        bare[1] = C::PvCreate(1, AreaCount::None);
        bare.extend([vg, C::PvUnallocatable(0)]);
        vec![
            case(&with(&[vg]), C::LvStriped("vg0", "s", 4, 2)),
            case(&with(&[small, a]), C::VgExtend("vg0", LAST[disks])),
            case(&with(&[vg, a]), C::VgReduce("vg0", last)),
            case(&with(&[vg, a]), C::PvIgnoreAreas(0)),
            case(&with(&[vg, a]), C::VgSplit("vg0", "vg1", last)),
            case(&with(&[small, other, a]), C::VgMerge("vg0", "vg1")),
            stale,
            case(&bare, C::LvCreate("vg0", "a", 4)),
        ]
    }
}
