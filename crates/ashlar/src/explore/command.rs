//! The commands that are explored, and what each asks for.
//!
//! One variant for each command that writes metadata; `plans.rs` has what they do. A test holds
//! this list against the plans that there are, so that none is forgotten.

use std::cell::Cell;
use std::sync::Arc;

use block::Device;
use lvm2::Uuid;
use lvm2::model::RaidLevel;
use lvm2::plan::group::{GroupAttribute, PartialVolumes};
use lvm2::plan::initialise::AreaCount;
use lvm2::plan::logical::{AttributeChange, Initial, MirrorLog};
use lvm2::plan::physical::PvAttribute;
use lvm2::plan::size::ResizeTo;

use super::arrays::ArrayStep;
use crate::Result;
use crate::apply::{
    Disks, Environment, NamedDisks, Outcome, Plan, Quiet, Request, Session, Tolerated,
};
use crate::commit::FlushPolicy;
use crate::host::Host;

/// A name of a group or volume.
type Name = &'static str;

/// A command; names of disks are numbers, and sizes are extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    PvCreate(usize, AreaCount),
    PvRemove(usize),
    /// Of `vg0`, as its other disks say.
    PvRepair(usize),
    /// To so many sectors.
    PvResize(usize, u64),
    /// To its front.
    PvPack(usize),
    /// To what is needed.
    PvShorten(usize),
    PvChange(usize, PvAttribute<'static>),
    VgCreate(Name, &'static [usize]),
    VgExtend(Name, &'static [usize]),
    VgExtendMissing(Name, usize),
    VgReduce(Name, usize),
    VgReduceMissing(Name, PartialVolumes),
    VgRemove(Name),
    VgRename(Name, Name),
    VgChange(Name, GroupAttribute<'static>),
    /// Tags of so many bytes in all.
    VgFill(Name, usize),
    VgExport(Name),
    VgImport(Name),
    VgSplit(Name, Name, usize),
    /// Into a group that there is.
    VgSplitInto(Name, Name, usize),
    VgMerge(Name, Name),
    /// From the oldest text that there is of so many versions ago.
    VgCfgRestore(Name, u32),
    /// Back by so many versions.
    Undo(Name, u32),
    /// Back, of a group that was removed.
    Revive(Name),
    VgCkUpdate(Name),
    LvCreate(Name, Name, u64, Shape),
    LvResize(Name, Name, u64, ResizeTo),
    LvRemove(Name, Name),
    LvRename(Name, Name, Name),
    LvChange(Name, Name, AttributeChange<'static>),
    /// To so many copies.
    LvConvert(Name, Name, usize, MirrorLog),
    LvRepair(Name, Name),
    /// A mirror in use lost its first copy: the second one comes first.
    LvOrder(Name, Name),
    /// One copy, under another name.
    LvSplit(Name, Name, Name),
    LvResync(Name, Name),
    LvArray(Name, Name, ArrayStep),
    /// Of an origin, with a name, so large.
    LvSnapshot(Name, Name, Name, u64),
    /// An origin and what becomes the store.
    LvJoin(Name, Name, Name),
    LvSplitSnapshot(Name, Name),
    LvMerge(Name, Name),
    LvEndMerge(Name, Name),
    /// What lies on a disk, in pieces of so many extents.
    PvMove(Name, usize, u64),
    /// The next piece is moved; nobody copied it, so of this volume nothing is known.
    PieceMoved(Name, Name),
    PvMoveAbort(Name),
    /// The first pass, in pieces of so many extents.
    Defrag(Name, u64),
    /// What lies on a disk behind so many extents moves in front of them, or away.
    PvRoom(usize, u64),
}

/// What a new volume is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Linear,
    Striped(usize),
    Mirror(usize, MirrorLog, Initial),
    /// Of so many stripes or copies.
    Raid(RaidLevel, usize, Initial),
    Zero,
    Error,
}

/// Where and how a command runs.
pub(super) struct World<'w> {
    pub(super) host: &'w Host,
    pub(super) devices: &'w [Arc<dyn Device>],
    /// The same, as the command opens them.
    pub(super) disks: &'w dyn Disks,
    pub(super) flush_policy: FlushPolicy,
    pub(super) environment: Environment,
    /// UUIDs are counted from here.
    pub(super) first: u64,
}

/// More UUIDs than a command takes.
const REST: u64 = 500;
/// When all commands are run: texts of two runs are the same.
const TIME: u64 = 1_795_000_000;

/// The disks with their names.
pub(super) fn named(devices: &[Arc<dyn Device>]) -> Vec<(String, Arc<dyn Device>)> {
    let named = devices.iter().enumerate();
    named
        .map(|(number, device)| (name(number), Arc::clone(device)))
        .collect()
}

pub(super) fn name(disk: usize) -> String {
    format!("disk{disk}")
}

pub(super) fn uuid(number: u64) -> Uuid {
    let text = format!("{number:0>width$}", width = lvm2::UUID_LEN);
    text.parse().expect("digits are letters of a UUID")
}

impl Command {
    /// Runs the command where nobody else is. UUIDs are counted from `first`.
    pub(super) fn run(
        self,
        host: &Host,
        devices: &[Arc<dyn Device>],
        flush_policy: FlushPolicy,
        first: u64,
    ) -> Result<Outcome> {
        self.run_in(&World {
            host,
            devices,
            disks: &NamedDisks::new(named(devices)),
            flush_policy,
            environment: Environment::Nothing,
            first,
        })
    }

    /// Runs the command.
    pub(super) fn run_in(self, world: &World<'_>) -> Result<Outcome> {
        self.with(world, |session, request, plan| {
            session.change(request, plan)
        })
    }

    /// How many flushes a plan promises where nobody else is.
    #[cfg(test)]
    pub(super) fn foreseen(
        self,
        host: &Host,
        devices: &[Arc<dyn Device>],
        first: u64,
    ) -> Result<usize> {
        let world = World {
            host,
            devices,
            disks: &NamedDisks::new(named(devices)),
            flush_policy: FlushPolicy::Strict,
            environment: Environment::Nothing,
            first,
        };
        let preview = |session: &mut Session<'_>, request: &Request, plan: &mut Plan<'_>| {
            session.preview(request, plan)
        };
        Ok(self.with(&world, preview)?.flushes)
    }

    fn with<R>(
        self,
        world: &World<'_>,
        work: impl FnOnce(&mut Session<'_>, &Request, &mut Plan<'_>) -> Result<R>,
    ) -> Result<R> {
        let mut prompt = Quiet::yes();
        // What ends an interrupted command is planned before: it has other UUIDs.
        let count = Cell::new(world.first + REST);
        let mut uuids = || {
            count.set(count.get() + 1);
            uuid(count.get())
        };
        let mut session = Session::new(world.host, world.disks, &mut prompt);
        session.flush_policy = world.flush_policy;
        session.environment = world.environment;
        session.time = Some(TIME);
        session.uuids = Some(&mut uuids);
        work(&mut session, &self.request(), &mut |scan, author| {
            // A plan that is made again is the same one.
            count.set(world.first);
            self.plan(scan, world.devices, author)
        })
    }

    fn request(self) -> Request {
        let mut request = Request {
            command: format!("{self:?}"),
            ..Request::default()
        };
        request.groups.extend(self.group().map(str::to_owned));
        match self {
            Self::PvCreate(..)
            | Self::PvRemove(_)
            | Self::PvRepair(_)
            | Self::VgExtend(..)
            | Self::VgReduce(..)
            | Self::VgRemove(_)
            | Self::VgCfgRestore(..)
            | Self::Undo(..) => request.changes_pvs = true,
            Self::VgCreate(to, _)
            | Self::Revive(to)
            | Self::VgRename(_, to)
            | Self::VgSplit(_, to, _) => {
                request.new_group = Some(to.to_owned());
                request.changes_pvs = true;
            }
            Self::VgMerge(_, other) | Self::VgSplitInto(_, other, _) => {
                request.groups.push(other.to_owned());
                request.changes_pvs = true;
            }
            Self::VgReduceMissing(..)
            | Self::VgExtendMissing(..)
            | Self::LvRepair(..)
            | Self::LvArray(_, _, ArrayStep::Repair)
            | Self::LvOrder(..) => {
                request.tolerated = vec![Tolerated::Missing];
            }
            Self::VgImport(_) => request.tolerated = vec![Tolerated::Exported],
            _ => {}
        }
        request
    }

    /// The group that there is and that it changes first.
    pub(super) fn group(self) -> Option<Name> {
        match self {
            Self::PvCreate(..)
            | Self::PvRemove(_)
            | Self::PvRepair(_)
            | Self::VgCreate(..)
            | Self::Revive(_) => None,
            // The disks of these are in this group in all cases.
            Self::PvResize(..)
            | Self::PvChange(..)
            | Self::PvPack(_)
            | Self::PvShorten(_)
            | Self::PvRoom(..) => Some("vg0"),
            Self::VgExtend(name, _)
            | Self::VgExtendMissing(name, _)
            | Self::VgReduce(name, _)
            | Self::VgReduceMissing(name, _)
            | Self::VgRemove(name)
            | Self::VgRename(name, _)
            | Self::VgChange(name, _)
            | Self::VgExport(name)
            | Self::VgFill(name, _)
            | Self::VgImport(name)
            | Self::VgSplit(name, ..)
            | Self::VgSplitInto(name, ..)
            | Self::VgMerge(name, _)
            | Self::VgCfgRestore(name, _)
            | Self::Undo(name, _)
            | Self::VgCkUpdate(name)
            | Self::LvCreate(name, ..)
            | Self::LvResize(name, ..)
            | Self::LvRemove(name, _)
            | Self::LvRename(name, ..)
            | Self::LvChange(name, ..)
            | Self::LvRepair(name, _)
            | Self::LvOrder(name, _)
            | Self::LvSplit(name, ..)
            | Self::LvResync(name, _)
            | Self::LvArray(name, ..)
            | Self::LvSnapshot(name, ..)
            | Self::LvJoin(name, ..)
            | Self::LvSplitSnapshot(name, _)
            | Self::LvMerge(name, _)
            | Self::LvEndMerge(name, _)
            | Self::PvMove(name, ..)
            | Self::PieceMoved(name, _)
            | Self::PvMoveAbort(name)
            | Self::Defrag(name, _)
            | Self::LvConvert(name, ..) => Some(name),
        }
    }

    /// The volume whose content is given up: it becomes the store of a snapshot, or is moved.
    pub(super) fn gives_up(self) -> Option<Name> {
        match self {
            Self::LvJoin(_, _, store) => Some(store),
            Self::PieceMoved(_, volume) => Some(volume),
            _ => None,
        }
    }

    /// Whether it makes areas ignored.
    pub(super) fn sets_areas_aside(self) -> bool {
        matches!(
            self,
            Self::PvChange(_, PvAttribute::Areas(_)) | Self::VgChange(_, GroupAttribute::Copies(_))
        )
    }

    /// The command as people type it, without its arguments.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::PvCreate(..) => "pvcreate",
            Self::PvRemove(_) => "pvremove",
            Self::PvRepair(_) => "pvck --repair",
            Self::PvResize(..) => "pvresize",
            Self::PvPack(_) | Self::PvShorten(_) => "image minimise",
            Self::PvChange(..) => "pvchange",
            Self::VgCreate(..) => "vgcreate",
            Self::VgExtend(..) => "vgextend",
            Self::VgExtendMissing(..) => "vgextend --restoremissing",
            Self::VgReduce(..) => "vgreduce",
            Self::VgReduceMissing(..) => "vgreduce --removemissing",
            Self::VgRemove(_) => "vgremove",
            Self::VgRename(..) => "vgrename",
            Self::VgChange(..) | Self::VgFill(..) => "vgchange",
            Self::VgExport(_) => "vgexport",
            Self::VgImport(_) => "vgimport",
            Self::VgSplit(..) | Self::VgSplitInto(..) => "vgsplit",
            Self::VgMerge(..) => "vgmerge",
            Self::VgCfgRestore(..) => "vgcfgrestore",
            Self::Undo(..) | Self::Revive(_) => "undo",
            Self::VgCkUpdate(_) => "vgck --updatemetadata",
            Self::LvCreate(..) => "lvcreate",
            Self::LvResize(.., ResizeTo::Larger) => "lvextend",
            Self::LvResize(.., ResizeTo::Smaller) => "lvreduce",
            Self::LvResize(.., ResizeTo::Either) => "lvresize",
            Self::LvRemove(..) => "lvremove",
            Self::LvRename(..) => "lvrename",
            Self::LvChange(..) => "lvchange",
            Self::LvConvert(..) => "lvconvert",
            Self::LvRepair(..) => "lvconvert --repair",
            Self::LvOrder(..) => "serve",
            Self::LvSplit(..) => "lvconvert --splitmirrors",
            Self::LvResync(..) => "lvchange --resync",
            Self::LvArray(_, _, step) => step.word(),
            Self::LvSnapshot(..) => "lvcreate --snapshot",
            Self::LvJoin(..) => "lvconvert --snapshot",
            Self::LvSplitSnapshot(..) => "lvconvert --splitsnapshot",
            Self::LvMerge(..) => "lvconvert --merge",
            Self::LvEndMerge(..) => "the end of a merge",
            Self::PvMove(..) => "pvmove",
            Self::PieceMoved(..) => "a piece of a move",
            Self::PvMoveAbort(..) => "pvmove --abort",
            Self::Defrag(..) => "defrag",
            Self::PvRoom(..) => "pvresize --move",
        }
    }
}
