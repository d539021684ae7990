//! What is explored: disks, the commands that prepare them, and the command that is cut off.

use std::collections::BTreeSet;

use lvm2::Sectors;
use lvm2::model::{AllocationPolicy, RaidLevel, ReadAhead};
use lvm2::ondisk::AreaUse;
use lvm2::plan::group::{GroupAttribute as G, MetadataCopies, PartialVolumes, Resizing};
use lvm2::plan::initialise::AreaCount;
use lvm2::plan::logical::{
    ArrayState, AttributeChange as L, Autoactivation, Form, Initial, MirrorLog, Permission, Skip,
    Takeover,
};
use lvm2::plan::physical::{Allocatable, PvAttribute as P};
use lvm2::plan::size::ResizeTo;

use super::arrays::ArrayStep;
use super::blocks::Blocks;
use super::command::Command as C;
use super::command::{Command, Shape};
use super::rings::Rings;

/// A command on prepared disks.
#[derive(Debug, Clone)]
pub struct Case {
    /// Which of [`Case::all`] it is.
    number: usize,
    areas: AreaCount,
    pub(super) disks: usize,
    pub(super) blocks: Blocks,
    pub(super) setup: Vec<Command>,
    /// A command before it that was killed when its headers were written and not flushed.
    pub(super) killed: Option<Command>,
    pub(super) mishap: Mishap,
    pub(super) command: Command,
}

/// What happened to the disks before the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mishap {
    None,
    /// The first disk missed the last command of the setup: its areas hold an older version.
    FirstStale,
    /// The last disk was away during the last command of the setup, and is back as it was.
    LastAway,
    /// The last disk was overwritten.
    LastLost,
    /// Stock wrote the text: it lies in the middle of the ring.
    InTheMiddle,
    /// Both of the first and the last.
    FirstStaleLastLost,
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

const TAG: C = C::VgChange("vg0", G::AddTag("before"));

fn linear(name: &'static str, extents: u64) -> C {
    C::LvCreate("vg0", name, extents, Shape::Linear)
}

fn mirror(log: MirrorLog, initial: Initial) -> C {
    C::LvCreate("vg0", "m", 3, Shape::Mirror(2, log, initial))
}

impl Case {
    fn new(disks: usize, setup: &[Command], command: Command) -> Self {
        Self {
            number: 0,
            areas: AreaCount::One,
            disks,
            blocks: Blocks::Small,
            setup: setup.to_vec(),
            killed: None,
            mishap: Mishap::None,
            command,
        }
    }

    /// On one disk, to be numbered.
    pub(super) fn on_one_disk(
        (areas, blocks): (AreaCount, Blocks),
        setup: &[Command],
        command: Command,
    ) -> Self {
        Self {
            areas,
            blocks,
            ..Self::new(1, setup, command)
        }
    }

    /// Gives it a number among those of as many disks and areas.
    pub(super) fn set_number(&mut self, number: usize) {
        self.number = number;
    }

    /// `2.1.17`: on two disks with one area each, the case number 17; `2.1.17.4k` with physical
    /// blocks of 4 KiB, `2.1.17.4kn` also with logical ones.
    pub fn name(&self) -> String {
        let areas = match self.areas {
            AreaCount::Two => 2,
            _ => 1,
        };
        let suffix = self.blocks.suffix();
        format!("{}.{areas}.{}{suffix}", self.disks, self.number)
    }

    /// The case with this name.
    pub fn named(name: &str) -> Option<Self> {
        let cases = CASES
            .iter()
            .flat_map(|(disks, areas)| Self::all(*disks, *areas));
        let mut cases = cases.flat_map(Self::on_all_blocks);
        cases.find(|case| case.name() == name).or_else(|| {
            let rings = Rings::of(AreaCount::One).unwrap_or_default();
            let mut cases = rings.cases.into_iter();
            cases.find(|case| case.name() == name)
        })
    }

    /// The same on disks whose physical blocks have 4 KiB, and are lost as a whole.
    pub fn on_large_blocks(mut self) -> Self {
        self.blocks = Blocks::LargePhysical;
        self
    }

    /// The same on disks that write 4 KiB at once, and nothing less.
    pub fn on_large_logical_blocks(mut self) -> Self {
        self.blocks = Blocks::LargeLogical;
        self
    }

    /// The case on disks with each kind of blocks.
    pub fn on_all_blocks(self) -> [Self; 3] {
        let large = self.clone().on_large_blocks();
        [self.clone(), large, self.on_large_logical_blocks()]
    }

    /// The command that is cut off, as people type it.
    pub fn command(&self) -> &'static str {
        self.command.word()
    }

    /// All commands that are explored, as people type them.
    pub fn explored() -> BTreeSet<&'static str> {
        let cases = CASES
            .iter()
            .flat_map(|(disks, areas)| Self::all(*disks, *areas));
        let words = cases.filter_map(|case| case.command().split(' ').next());
        words.collect()
    }

    /// All cases of so many disks with so many areas each.
    pub fn all(disks: usize, areas: AreaCount) -> Vec<Self> {
        let pvs: Vec<C> = (0..disks).map(|disk| C::PvCreate(disk, areas)).collect();
        let with = |more: &[C]| [&pvs, more].concat();
        let vg = C::VgCreate("vg0", FIRST[disks]);
        let (a, b) = (linear("a", 4), linear("b", 2));
        let case = |setup: &[C], command| Self::new(disks, setup, command);
        let mut cases = vec![
            case(&[], C::PvCreate(0, areas)),
            case(&pvs, C::PvCreate(0, areas)),
            case(&pvs, C::PvRemove(0)),
            case(&pvs, vg),
            case(&with(&[vg, C::VgExport("vg0")]), C::VgImport("vg0")),
            case(&with(&[vg, a, TAG, b]), C::Undo("vg0", 1)),
            case(&with(&[vg, a, TAG, b]), C::VgCfgRestore("vg0", 2)),
        ];
        let of_group = on_group()
            .into_iter()
            .chain(on_disk(areas))
            .chain(on_volumes());
        cases.extend(of_group.map(|command| case(&with(&[vg, a, b]), command)));
        for (setup, attribute) in undone() {
            cases.push(case(&with(&[vg, setup]), attribute));
        }
        let mut killed = case(&with(&[vg, a]), b);
        killed.killed = Some(C::LvResize("vg0", "a", 2, ResizeTo::Smaller));
        cases.push(killed);
        if disks > 1 {
            cases.extend(Self::on_several(disks, &pvs));
            cases.extend(Self::mirrors(disks, &pvs));
        }
        // Behind all others, whose numbers stay. Without volumes: the removal discards their data.
        let removed = with(&[vg, TAG, C::VgRemove("vg0")]);
        cases.push(case(&removed, C::Revive("vg0")));
        cases.extend(Self::with_two_mishaps(disks, &pvs));
        cases.extend(Self::minimised(areas, &pvs));
        cases.extend(Self::snapshots(&pvs));
        if disks > 1 {
            cases.extend(Self::moves(&pvs));
            cases.extend(Self::arrays(&pvs));
        }
        if disks > 1 && areas == AreaCount::One {
            cases.push(case(&with(&[vg, a, b]), C::PvRepair(0)));
        }
        for (number, case) in cases.iter_mut().enumerate() {
            (case.number, case.areas) = (number, areas);
        }
        cases
    }

    /// Where a physical volume becomes as short as it can be, or begins to.
    fn minimised(areas: AreaCount, pvs: &[Command]) -> Vec<Self> {
        let disks = pvs.len();
        let vg = C::VgCreate("vg0", FIRST[disks]);
        let (a, b, gone) = (linear("a", 4), linear("b", 2), C::LvRemove("vg0", "a"));
        let case = |setup: &[C], command| Self::new(disks, setup, command);
        // The second volume moves to where the first one was.
        let mut cases = vec![case(&[pvs, &[vg, a, b, gone]].concat(), C::PvPack(0))];
        cases.push(case(
            &[pvs, &[vg, a, b, gone]].concat(),
            C::Defrag("vg0", 1),
        ));
        if areas == AreaCount::One {
            cases.push(case(&[pvs, &[vg, a, b, gone]].concat(), C::PvRoom(0, 5)));
            cases.push(case(&[pvs, &[vg, a, b]].concat(), C::PvShorten(0)));
        }
        if disks > 1 {
            let setup = [bare(pvs, vg), vec![a, b, gone]].concat();
            cases.push(case(&setup, C::PvPack(1)));
        }
        cases
    }

    /// Moves, from their beginning to both ends.
    fn moves(pvs: &[Command]) -> Vec<Self> {
        let disks = pvs.len();
        let (vg, a) = (C::VgCreate("vg0", FIRST[disks]), linear("a", 4));
        let (begun, moved) = (C::PvMove("vg0", 0, 3), C::PieceMoved("vg0", "a"));
        let aborted = C::PvMoveAbort("vg0");
        let case =
            |setup: &[C], command| Self::new(disks, &[pvs, &[vg, a], setup].concat(), command);
        vec![
            case(&[], begun),
            case(&[begun], moved),
            case(&[begun], aborted),
            case(&[begun, moved], moved),
        ]
    }

    /// Snapshots, and what becomes of them.
    fn snapshots(pvs: &[Command]) -> Vec<Self> {
        let disks = pvs.len();
        let (vg, a, b) = (
            C::VgCreate("vg0", FIRST[disks]),
            linear("a", 4),
            linear("b", 2),
        );
        let taken = C::LvSnapshot("vg0", "a", "t", 2);
        let case =
            |setup: &[C], command| Self::new(disks, &[pvs, &[vg, a], setup].concat(), command);
        let mut cases = vec![
            case(&[], taken),
            case(&[taken], C::LvSnapshot("vg0", "a", "u", 3)),
            case(&[b], C::LvJoin("vg0", "a", "b")),
            case(&[taken], C::LvSplitSnapshot("vg0", "t")),
            case(&[taken], C::LvMerge("vg0", "t")),
            case(&[taken, C::LvMerge("vg0", "t")], C::LvEndMerge("vg0", "t")),
            case(&[taken], C::LvRemove("vg0", "t")),
            case(&[taken], C::LvRename("vg0", "a", "c")),
            case(&[taken], C::LvResize("vg0", "t", 4, ResizeTo::Larger)),
            case(&[taken], C::LvResize("vg0", "t", 1, ResizeTo::Smaller)),
            case(&[taken], C::LvResize("vg0", "a", 6, ResizeTo::Larger)),
            case(&[taken], C::Undo("vg0", 1)),
        ];
        if disks > 1 {
            // The store is on a disk without metadata: no flush of a text covers its zeros.
            cases.push(Self::new(disks, &[bare(pvs, vg), vec![a]].concat(), taken));
        }
        cases
    }

    fn on_several(disks: usize, pvs: &[Command]) -> Vec<Self> {
        let with = |more: &[C]| [pvs, more].concat();
        let vg = C::VgCreate("vg0", FIRST[disks]);
        let a = linear("a", 4);
        let last = disks - 1;
        let small = C::VgCreate("vg0", FIRST[last]);
        let other = C::VgCreate("vg1", LAST[disks]);
        let ignored = C::PvChange(0, P::Areas(AreaUse::Ignored));
        let one_copy = C::VgChange("vg0", G::Copies(MetadataCopies::Exactly(1)));
        let case = |setup: &[C], command| Self::new(disks, setup, command);
        let mishap = |mishap, setup: &[C], command| Self {
            mishap,
            ..Self::new(disks, setup, command)
        };
        let bare = bare(pvs, vg);
        let striped = C::LvCreate("vg0", "s", 4, Shape::Striped(2));
        let stale = with(&[vg, a, C::LvRename("vg0", "a", "b")]);
        let missing = C::VgReduceMissing("vg0", PartialVolumes::Remove);
        let extend = C::VgExtend("vg0", LAST[disks]);
        vec![
            case(&with(&[vg]), striped),
            case(
                &with(&[vg, striped]),
                C::LvResize("vg0", "s", 8, ResizeTo::Larger),
            ),
            case(&with(&[small, a]), extend),
            case(&with(&[small, a, extend]), C::Undo("vg0", 1)),
            case(&with(&[small, a, extend]), C::VgCfgRestore("vg0", 1)),
            case(&with(&[vg, a]), C::VgReduce("vg0", last)),
            case(&with(&[vg, a]), ignored),
            case(
                &with(&[vg, a, ignored]),
                C::PvChange(0, P::Areas(AreaUse::Used)),
            ),
            case(&with(&[vg, a]), one_copy),
            case(
                &with(&[vg, a, ignored]),
                C::VgChange("vg0", G::Copies(MetadataCopies::All)),
            ),
            case(&with(&[vg, a]), C::VgSplit("vg0", "vg1", last)),
            case(&with(&[vg, a, one_copy]), C::VgSplit("vg0", "vg1", 0)),
            case(&with(&[vg, a, one_copy]), C::VgSplit("vg0", "vg1", last)),
            case(&with(&[small, other, a]), C::VgMerge("vg0", "vg1")),
            case(
                &with(&[small, other, a]),
                C::VgSplitInto("vg0", "vg1", last - 1),
            ),
            case(&with(&[small, a]), C::VgRename("vg0", "vg1")),
            case(&bare, linear("a", 4)),
            case(&bare, C::PvChange(1, P::NewUuid)),
            mishap(Mishap::FirstStale, &stale, C::VgRemove("vg0")),
            mishap(Mishap::FirstStale, &stale, C::VgCkUpdate("vg0")),
            mishap(Mishap::LastLost, &with(&[vg, a]), missing),
        ]
        .into_iter()
        .chain(Self::with_old_disks(disks, pvs))
        .collect()
    }

    /// Where a disk has an older version: the others went on without a commit reaching it, or
    /// without it.
    fn with_old_disks(disks: usize, pvs: &[Command]) -> Vec<Self> {
        let with = |more: &[C]| [pvs, more].concat();
        let (vg, a) = (C::VgCreate("vg0", FIRST[disks]), linear("a", 4));
        let case = |mishap, setup: &[C], command| Self {
            mishap,
            ..Self::new(disks, &with(setup), command)
        };
        let remove = C::VgReduceMissing("vg0", PartialVolumes::Remove);
        let stale = [vg, a, TAG];
        let mut cases = vec![case(Mishap::FirstStale, &stale, C::Undo("vg0", 1))];
        // The group went on without the last disk, which is back.
        let outdated = [vg, a, remove];
        let cleared = [C::VgCkUpdate("vg0"), TAG, C::LvRemove("vg0", "a")];
        cases.extend(cleared.map(|command| case(Mishap::LastAway, &outdated, command)));
        cases
    }

    /// Where a disk has an older version, and another one is lost or the group is removed.
    fn with_two_mishaps(disks: usize, pvs: &[Command]) -> Vec<Self> {
        let vg = C::VgCreate("vg0", FIRST[disks]);
        let a = linear("a", 4);
        let remove = C::VgReduceMissing("vg0", PartialVolumes::Remove);
        let case = |mishap, setup: &[C], command| Self {
            mishap,
            ..Self::new(disks, &[pvs, setup].concat(), command)
        };
        let mut cases = Vec::new();
        if disks > 1 {
            // What is outdated would be a group again.
            let removed = C::VgRemove("vg0");
            cases.push(case(Mishap::LastAway, &[vg, a, remove], removed));
        }
        if disks > 2 {
            let mirror = mirror(MirrorLog::Disk, Initial::NoSync);
            let both = Mishap::FirstStaleLastLost;
            cases.extend([
                case(both, &[vg, mirror, TAG], C::LvRepair("vg0", "m")),
                case(both, &[vg, mirror, TAG], remove),
                case(both, &[vg, a, TAG], remove),
            ]);
        }
        cases
    }

    fn mirrors(disks: usize, pvs: &[Command]) -> Vec<Self> {
        use MirrorLog::{Core, Disk};
        let vg = C::VgCreate("vg0", FIRST[disks]);
        let with = |more: &[C]| [pvs, &[vg], more].concat();
        let case = |setup: &[C], command| Self::new(disks, &with(setup), command);
        let convert = |legs, log| C::LvConvert("vg0", "m", legs, log);
        let m = linear("m", 3);
        let core = mirror(Core, Initial::Synchronise);
        let mut cases = vec![
            case(&[], core),
            case(&[], mirror(Core, Initial::NoSync)),
            case(&[m], convert(2, Core)),
            case(&[core], convert(1, Core)),
            case(&[core], C::LvResize("vg0", "m", 5, ResizeTo::Larger)),
            case(&[core], C::LvRemove("vg0", "m")),
            case(&[mirror(Core, Initial::NoSync)], C::LvOrder("vg0", "m")),
            case(&[core], C::LvSplit("vg0", "m", "n")),
            case(&[mirror(Core, Initial::NoSync)], C::LvResync("vg0", "m")),
        ];
        if disks > 2 {
            let disk = mirror(Disk, Initial::Synchronise);
            let missing = C::VgReduceMissing("vg0", PartialVolumes::Remove);
            // A log is not put where a copy is.
            let mut lost = case(&[mirror(Disk, Initial::NoSync)], missing);
            lost.mishap = Mishap::LastLost;
            let mut repaired = lost.clone();
            repaired.command = C::LvRepair("vg0", "m");
            let mut reordered = lost.clone();
            reordered.command = C::LvOrder("vg0", "m");
            let away = [mirror(Disk, Initial::NoSync), C::LvRepair("vg0", "m")];
            let mut back = case(&away, C::VgExtendMissing("vg0", disks - 1));
            back.mishap = Mishap::LastAway;
            let mut unwanted = back.clone();
            unwanted.command = missing;
            cases.extend([
                reordered,
                case(&[], disk),
                case(&[], mirror(MirrorLog::Mirrored, Initial::Synchronise)),
                case(&[], mirror(Disk, Initial::NoSync)),
                case(&[m], convert(2, Disk)),
                case(&[disk], convert(1, Disk)),
                case(&[disk], convert(2, Core)),
                case(&[core], convert(2, Disk)),
                case(&[core], convert(3, Core)),
                case(&[disk], C::LvResize("vg0", "m", 5, ResizeTo::Larger)),
                case(&[disk], C::LvRename("vg0", "m", "n")),
                case(&[disk], C::LvSplit("vg0", "m", "n")),
                case(&[disk], C::LvResync("vg0", "m")),
                lost,
                repaired,
                back,
                unwanted,
            ]);
        }
        cases
    }
}

impl Case {
    /// Whether images have checksums, which need larger disks.
    pub(super) fn has_checksums(&self) -> bool {
        let mut commands = self.setup.iter().chain([&self.command]);
        commands.any(|command| matches!(command, C::LvArray(_, _, ArrayStep::Checksums)))
    }

    /// Those that need three disks.
    fn wide_arrays(pvs: &[Command]) -> Vec<Self> {
        use ArrayStep as S;
        use RaidLevel::{Raid0, Raid0Meta, Raid1, Raid4, Raid5Ls, Raid5N};
        let disks = pvs.len();
        let vg = C::VgCreate("vg0", FIRST[disks]);
        let case = |setup: &[C], command| Self::new(disks, &[pvs, &[vg], setup].concat(), command);
        let make = |shape| C::LvCreate("vg0", "r", 4, shape);
        let step = |step| C::LvArray("vg0", "r", step);
        let array = |level, width| make(Shape::Raid(level, width, Initial::Synchronise));
        let level = |level| step(S::Level(Form::Raid(level)));
        let (striped, two) = (make(Shape::Striped(2)), array(Raid1, 2));
        let zero = step(S::TakeOver(Takeover::Raid0(Raid0)));
        let (three, five) = (array(Raid1, 3), array(Raid5N, 2));
        let moved = [two, step(S::Replace(0)), step(S::Rebuilt(0))];
        let missing = C::VgReduceMissing("vg0", PartialVolumes::Remove);
        let lost = |setup: &[C], command| Self {
            mishap: Mishap::LastLost,
            ..case(setup, command)
        };
        vec![
            case(&[], array(Raid5Ls, 2)),
            case(&[array(Raid5Ls, 2)], step(S::Reshape)),
            case(&[array(Raid5Ls, 2)], step(S::Fewer(1))),
            case(&[array(Raid5Ls, 2)], step(S::Checksums)),
            case(
                &[array(Raid5Ls, 2), step(S::Checksums)],
                step(S::NoChecksums),
            ),
            case(&[two], step(S::Copies(3))),
            case(&[three], step(S::Copies(2))),
            case(&[three], step(S::Track)),
            case(&[three, step(S::Track)], step(S::Merge)),
            case(&[two], step(S::Replace(0))),
            case(&[striped], level(Raid4)),
            case(&[striped, zero], level(Raid4)),
            case(&[array(Raid4, 2)], level(Raid5N)),
            case(&[five], level(Raid4)),
            case(&[five], level(Raid0Meta)),
            case(&[five], C::LvResize("vg0", "r", 8, ResizeTo::Larger)),
            lost(&[three], missing),
            lost(&[five], missing),
            // Its first image lies on the last disk.
            lost(&moved, step(S::Repair)),
        ]
    }

    /// Images with checksums that come, go and grow.
    fn checksums(pvs: &[Command]) -> Vec<Self> {
        use ArrayStep as S;
        let disks = pvs.len();
        let vg = C::VgCreate("vg0", FIRST[disks]);
        let step = |step| C::LvArray("vg0", "r", step);
        let case = |copies: usize, setup: &[C], command| {
            let shape = Shape::Raid(RaidLevel::Raid1, copies, Initial::Synchronise);
            let made = [vg, C::LvCreate("vg0", "r", 4, shape), step(S::Checksums)];
            Self::new(disks, &[pvs, &made, setup].concat(), command)
        };
        // Its first image lies on the last disk.
        let moved = [step(S::Replace(0)), step(S::Rebuilt(0))];
        vec![
            case(2, &[], step(S::Copies(3))),
            case(3, &[], step(S::Copies(2))),
            case(2, &[], step(S::Replace(0))),
            case(2, &[], C::LvResize("vg0", "r", 6, ResizeTo::Larger)),
            Self {
                mishap: Mishap::LastLost,
                ..case(2, &moved, step(S::Repair))
            },
        ]
    }

    /// Arrays, and what becomes of them.
    fn arrays(pvs: &[Command]) -> Vec<Self> {
        use ArrayStep as S;
        use RaidLevel::{Raid0, Raid0Meta, Raid1, Raid5Ls};
        use Takeover as T;
        let disks = pvs.len();
        let vg = C::VgCreate("vg0", FIRST[disks]);
        let (make, step) = (
            |shape| C::LvCreate("vg0", "r", 4, shape),
            |step| C::LvArray("vg0", "r", step),
        );
        let array = |level, width| make(Shape::Raid(level, width, Initial::Synchronise));
        let mirror = make(Shape::Mirror(2, MirrorLog::Core, Initial::NoSync));
        let case = |setup: &[C], command| Self::new(disks, &[pvs, &[vg], setup].concat(), command);
        let (plain, striped, two) = (
            make(Shape::Linear),
            make(Shape::Striped(2)),
            array(Raid1, 2),
        );
        let level = |level| step(S::Level(Form::Raid(level)));
        let zero = step(S::TakeOver(T::Raid0(Raid0)));
        let to_mirror = T::Mirror(MirrorLog::Core, ArrayState::InSync);
        let mut cases = vec![
            case(&[], make(Shape::Raid(Raid1, 2, Initial::NoSync))),
            case(&[], array(Raid0, 2)),
            case(&[two], step(S::Tune)),
            case(&[two], step(S::Regions)),
            case(&[two], step(S::Copies(1))),
            case(&[plain], step(S::Copies(2))),
            case(&[plain, step(S::Copies(2))], step(S::Rebuilt(1))),
            case(&[two], step(S::Rebuild(1))),
            case(&[two], step(S::Resync)),
            case(&[two], step(S::ResetFailed)),
            case(&[two], step(S::Split)),
            case(&[two], step(S::TakeOver(to_mirror))),
            case(&[mirror], step(S::TakeOver(T::Raid1(None)))),
            case(&[striped], zero),
            case(&[striped, zero], step(S::TakeOver(T::Striped))),
            case(&[striped, zero], step(S::TakeOver(T::Raid0(Raid0Meta)))),
            case(&[two], level(Raid5Ls)),
            case(&[two], C::LvResize("vg0", "r", 6, ResizeTo::Larger)),
            case(&[two], C::LvResize("vg0", "r", 2, ResizeTo::Smaller)),
            case(&[two], C::LvRename("vg0", "r", "s")),
            case(&[two], C::LvRemove("vg0", "r")),
        ];
        if disks > 2 {
            cases.extend(Self::wide_arrays(pvs));
            cases.extend(Self::checksums(pvs));
        }
        cases
    }
}

/// Extents go to a disk without metadata: no flush of a text covers them.
fn bare(pvs: &[Command], vg: Command) -> Vec<Command> {
    let mut bare = pvs.to_vec();
    bare[1] = C::PvCreate(1, AreaCount::None);
    bare.extend([vg, C::PvChange(0, P::Allocatable(Allocatable::No))]);
    bare
}

/// On a group with the volumes `a` and `b`.
fn on_group() -> Vec<Command> {
    let mut commands = vec![
        C::VgRename("vg0", "vg1"),
        C::VgExport("vg0"),
        C::VgRemove("vg0"),
        C::VgCkUpdate("vg0"),
    ];
    let attributes = [
        G::AddTag("t"),
        G::NewUuid,
        G::Resizing(Resizing::Forbidden),
        G::MaxLv(9),
        G::MaxPv(9),
        G::ExtentSize(Sectors(64)),
        G::Allocation(Some(AllocationPolicy::Cling)),
        G::SystemId(Some("here")),
        G::Autoactivation(Autoactivation::No),
        G::Profile(Some("thin-performance")),
    ];
    commands.extend(attributes.map(|attribute| C::VgChange("vg0", attribute)));
    commands
}

fn on_disk(areas: AreaCount) -> Vec<Command> {
    // A second area is at the end, and stays on the disk.
    let sectors = match areas {
        AreaCount::Two => 4096,
        _ => 3072,
    };
    let attributes = [P::Allocatable(Allocatable::No), P::AddTag("t"), P::NewUuid];
    let mut commands = vec![C::PvResize(0, sectors)];
    commands.extend(attributes.map(|attribute| C::PvChange(0, attribute)));
    commands
}

fn on_volumes() -> Vec<Command> {
    let mut commands = vec![
        linear("c", 3),
        C::LvCreate("vg0", "z", 3, Shape::Zero),
        C::LvCreate("vg0", "e", 3, Shape::Error),
        C::LvResize("vg0", "a", 9, ResizeTo::Larger),
        C::LvResize("vg0", "a", 1, ResizeTo::Smaller),
        C::LvResize("vg0", "a", 5, ResizeTo::Either),
        C::LvRemove("vg0", "a"),
        C::LvRename("vg0", "a", "c"),
    ];
    let attributes = [
        L::Permission(Permission::ReadOnly),
        L::ReadAhead(ReadAhead::None),
        L::Allocation(Some(AllocationPolicy::Contiguous)),
        L::Skip(Skip::Yes),
        L::Autoactivation(Autoactivation::No),
        L::Profile(Some("thin-performance")),
        L::Minor(Some(7)),
        L::AddTag("t"),
    ];
    commands.extend(attributes.map(|attribute| C::LvChange("vg0", "a", attribute)));
    commands
}

/// What takes back something that was done before.
fn undone() -> [(Command, Command); 3] {
    [
        (
            linear("a", 1),
            C::LvChange("vg0", "a", L::RemoveTag("before")),
        ),
        (TAG, C::VgChange("vg0", G::RemoveTag("before"))),
        (
            C::PvChange(0, P::AddTag("before")),
            C::PvChange(0, P::RemoveTag("before")),
        ),
    ]
}
