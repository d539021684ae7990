//! The commands, as plans over what was found, on disks that are called `disk0`, `disk1`, ….

use std::collections::BTreeSet;
use std::sync::Arc;

use block::Device;
use lvm::model::VolumeGroup;
use lvm::ondisk::AreaUse;
use lvm::plan::Author;
use lvm::plan::group::{
    GroupAttribute, NewGroup, SplitInto, SplitOff, VolumesOf, change_group, create_group,
    export_group, extend_group, import_group, merge_groups, reduce_group, remove_group,
    rename_group, split_group,
};
use lvm::plan::initialise::{AreaCount, NewPv};
use lvm::plan::logical::{
    Along, AttributeChange, NewKind, NewVolume, Permission, Resize, Stripes, change_volume,
    create_volume, remove_volumes, rename_volume, resize_volume,
};
use lvm::plan::physical::{Allocatable, PvAttribute, change_pv};
use lvm::plan::size::{ResizeTo, SizeArgument};
use lvm::{Sectors, UUID_LEN, Uuid};

use crate::apply::{
    NamedDisks, NewLabel, Outcome, Planned, Quiet, Request, Session, Surroundings, Tolerated,
    area_states, find_device, find_pv, free_member, plan_device, require_no_member,
};
use crate::commit::Discipline;
use crate::host::Host;
use crate::scan::Scan;
use crate::{Error, Kind, Result};

/// A command; names of disks are numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    PvCreate(usize, AreaCount),
    PvRemove(usize),
    PvUnallocatable(usize),
    PvIgnoreAreas(usize),
    VgCreate(&'static str, &'static [usize]),
    VgExtend(&'static str, &'static [usize]),
    VgReduce(&'static str, usize),
    VgRemove(&'static str),
    VgRename(&'static str, &'static str),
    VgTag(&'static str),
    VgExport(&'static str),
    VgImport(&'static str),
    VgSplit(&'static str, &'static str, usize),
    VgMerge(&'static str, &'static str),
    LvCreate(&'static str, &'static str, u64),
    LvStriped(&'static str, &'static str, u64, usize),
    LvExtend(&'static str, &'static str, u64),
    LvReduce(&'static str, &'static str, u64),
    LvRemove(&'static str, &'static str),
    LvRename(&'static str, &'static str, &'static str),
    LvReadOnly(&'static str, &'static str),
}

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

impl Command {
    /// Runs the command. UUIDs are counted from `first`.
    pub(super) fn run(
        self,
        host: &Host,
        devices: &[Arc<dyn Device>],
        discipline: Discipline,
        first: u64,
    ) -> Result<Outcome> {
        let disks = NamedDisks::new(named(devices));
        let mut talk = Quiet::yes();
        let mut count = first;
        let mut uuids = || {
            count += 1;
            uuid(count)
        };
        let mut session = Session::new(host, &disks, &mut talk);
        session.discipline = discipline;
        session.surroundings = Surroundings::Nothing;
        session.time = Some(TIME);
        session.uuids = Some(&mut uuids);
        session.change(&self.request(), &mut |scan, author| self.plan(scan, author))
    }

    fn request(self) -> Request {
        let mut request = Request {
            command: format!("{self:?}"),
            ..Request::default()
        };
        let group = |name: &str| vec![name.to_owned()];
        match self {
            Self::PvCreate(..) | Self::PvRemove(_) => request.changes_pvs = true,
            Self::PvUnallocatable(_) | Self::PvIgnoreAreas(_) => request.groups = group("vg0"),
            Self::VgCreate(name, _) => {
                request.new_group = Some(name.to_owned());
                request.changes_pvs = true;
            }
            Self::VgExtend(name, _) | Self::VgReduce(name, _) | Self::VgRemove(name) => {
                request.groups = group(name);
                request.changes_pvs = true;
            }
            Self::VgRename(name, to) | Self::VgSplit(name, to, _) => {
                request.groups = group(name);
                request.new_group = Some(to.to_owned());
                request.changes_pvs = true;
            }
            Self::VgMerge(name, other) => {
                request.groups = vec![name.to_owned(), other.to_owned()];
                request.changes_pvs = true;
            }
            Self::VgImport(name) => {
                request.groups = group(name);
                request.tolerated = vec![Tolerated::Exported];
            }
            Self::VgTag(name)
            | Self::VgExport(name)
            | Self::LvCreate(name, ..)
            | Self::LvStriped(name, ..)
            | Self::LvExtend(name, ..)
            | Self::LvReduce(name, ..)
            | Self::LvRemove(name, _)
            | Self::LvRename(name, ..)
            | Self::LvReadOnly(name, _) => request.groups = group(name),
        }
        request
    }

    fn plan(self, scan: &Scan, author: &mut Author<'_>) -> Result<Planned> {
        match self {
            Self::PvCreate(disk, areas) => new_pv(scan, disk, areas, author),
            Self::PvRemove(disk) => {
                let device = find_device(scan, &name(disk))?;
                require_no_member(scan, device)?;
                Ok(Planned {
                    removed: vec![device],
                    ..Planned::default()
                })
            }
            Self::VgCreate(vg, disks) => {
                let members = members(scan, disks)?;
                let new = NewGroup {
                    extent_size: Sectors(EXTENT_SECTORS),
                    ..NewGroup::new(vg, &members)
                };
                done(create_group(&new, author))
            }
            Self::VgExtend(vg, disks) => {
                let members = members(scan, disks)?;
                let group = scan.find_group(vg)?;
                let areas = area_states(scan, group);
                done(extend_group(&group.model, &members, &areas, author))
            }
            Self::VgReduce(vg, disk) => {
                let group = scan.find_group(vg)?;
                let uuid = scan.pv(find_pv(scan, &name(disk))?).uuid;
                let pv = group.model.pv_by_uuid(&uuid).ok_or_else(not_there)?;
                let areas = area_states(scan, group);
                done(reduce_group(&group.model, &[pv], &areas, author))
            }
            Self::VgSplit(vg, to, disk) => {
                let group = scan.find_group(vg)?;
                let uuid = scan.pv(find_pv(scan, &name(disk))?).uuid;
                let pvs: BTreeSet<_> = group.model.pv_by_uuid(&uuid).into_iter().collect();
                let off = SplitOff::Pvs(&pvs);
                done(split_group(&group.model, SplitInto::New(to), off, author))
            }
            Self::VgMerge(vg, from) => {
                let (to, from) = (scan.find_group(vg)?, scan.find_group(from)?);
                done(merge_groups(&to.model, &from.model, author))
            }
            Self::PvUnallocatable(disk) => change_disk(
                scan,
                disk,
                PvAttribute::Allocatable(Allocatable::No),
                author,
            ),
            Self::PvIgnoreAreas(disk) => {
                change_disk(scan, disk, PvAttribute::Areas(AreaUse::Ignored), author)
            }
            other => {
                let group = scan.find_group(other.group())?;
                other.plan_in(&group.model, scan, author)
            }
        }
    }

    /// The plans that need one group and nothing else.
    fn plan_in(self, vg: &VolumeGroup, scan: &Scan, author: &mut Author<'_>) -> Result<Planned> {
        let resize = |volume, extents, direction| Resize {
            volume,
            size: SizeArgument::extents(extents),
            direction,
            stripes: None,
            stripe_size: None,
            places: None,
            policy: None,
            cling_tags: &[],
        };
        done(match self {
            Self::VgRemove(_) => remove_group(vg, VolumesOf::Remove),
            Self::VgRename(_, to) => rename_group(vg, to, author),
            Self::VgTag(name) => {
                let areas = area_states(scan, scan.find_group(name)?);
                change_group(vg, &[GroupAttribute::AddTag("tagged")], &areas, author)
            }
            Self::VgExport(_) => export_group(vg, author),
            Self::VgImport(_) => import_group(vg, None, author),
            Self::LvCreate(_, name, extents) => {
                let new = NewVolume {
                    name: Some(name),
                    ..NewVolume::linear(SizeArgument::extents(extents))
                };
                create_volume(vg, &new, author)
            }
            Self::LvStriped(_, name, extents, count) => {
                let stripes = Stripes {
                    count,
                    size: Some(Sectors(8)),
                };
                let new = NewVolume {
                    name: Some(name),
                    kind: NewKind::Striped(stripes),
                    ..NewVolume::linear(SizeArgument::extents(extents))
                };
                create_volume(vg, &new, author)
            }
            Self::LvExtend(_, name, extents) => {
                resize_volume(vg, &resize(name, extents, ResizeTo::Larger), author)
            }
            Self::LvReduce(_, name, extents) => {
                resize_volume(vg, &resize(name, extents, ResizeTo::Smaller), author)
            }
            Self::LvRemove(_, name) => remove_volumes(vg, &[name], Along::Nothing, author),
            Self::LvRename(_, name, to) => rename_volume(vg, name, to, author),
            Self::LvReadOnly(_, name) => {
                let change = AttributeChange::Permission(Permission::ReadOnly);
                change_volume(vg, name, &[change], author)
            }
            _ => unreachable!("the caller plans these"),
        })
    }

    fn group(self) -> &'static str {
        match self {
            Self::VgRemove(name)
            | Self::VgRename(name, _)
            | Self::VgTag(name)
            | Self::VgExport(name)
            | Self::VgImport(name)
            | Self::LvCreate(name, ..)
            | Self::LvStriped(name, ..)
            | Self::LvExtend(name, ..)
            | Self::LvReduce(name, ..)
            | Self::LvRemove(name, _)
            | Self::LvRename(name, ..)
            | Self::LvReadOnly(name, _) => name,
            _ => unreachable!("it is not about one group alone"),
        }
    }
}

/// When all commands are run: texts of two runs are the same.
const TIME: u64 = 1_795_000_000;
/// Extents of 64 KiB: many of them on small disks.
pub(super) const EXTENT_SECTORS: u64 = 128;

pub(super) fn uuid(number: u64) -> Uuid {
    let text = format!("{number:0>UUID_LEN$}");
    text.parse().expect("digits are letters of a UUID")
}

fn done(change: lvm::Result<lvm::plan::Change>) -> Result<Planned> {
    change.map(Planned::from).map_err(|error| {
        let kind = match error.kind {
            lvm::Kind::Space => Kind::Space,
            lvm::Kind::Request => Kind::Request,
            _ => Kind::Refused,
        };
        Error::new(kind, error.context)
    })
}

fn not_there() -> Error {
    Error::new(Kind::NotFound, "the disk is not in the group")
}

fn members(scan: &Scan, disks: &[usize]) -> Result<Vec<lvm::plan::group::Member>> {
    let member = |disk: &usize| free_member(scan, find_pv(scan, &name(*disk))?);
    disks.iter().map(member).collect()
}

fn new_pv(scan: &Scan, disk: usize, areas: AreaCount, author: &mut Author<'_>) -> Result<Planned> {
    let device = find_device(scan, &name(disk))?;
    require_no_member(scan, device)?;
    let new = NewPv {
        areas,
        area_size: Some(Sectors(128)),
        alignment: Some(Sectors(128)),
        size_min: Sectors(512),
        ..NewPv::new(author.uuid())
    };
    let layout = new.lay_out(&plan_device(scan, device))?;
    Ok(Planned {
        new: vec![NewLabel { device, layout }],
        ..Planned::default()
    })
}

fn change_disk(
    scan: &Scan,
    disk: usize,
    what: PvAttribute<'_>,
    author: &mut Author<'_>,
) -> Result<Planned> {
    let group = scan.find_group("vg0")?;
    let uuid = scan.pv(find_pv(scan, &name(disk))?).uuid;
    let pv = group.model.pv_by_uuid(&uuid).ok_or_else(not_there)?;
    let areas = area_states(scan, group);
    done(change_pv(&group.model, pv, &[what], &areas, author))
}
