//! What the explored commands do: plans over what was found.

use std::collections::BTreeSet;
use std::sync::Arc;

use block::{BlockingDevice, Device, Range};
use lvm2::model::{PvId, VolumeGroup, from_text};
use lvm2::ondisk::versions;
use lvm2::plan::group::{
    AreaState, GroupAttribute, Insistence, NewGroup, SplitInto, SplitOff, VolumesOf, change_group,
    create_group, export_group, extend_group, import_group, merge_groups, reduce_group,
    remove_group, remove_missing, rename_group, restore_group, restore_missing, split_group,
};
use lvm2::plan::initialise::{AreaCount, NewPv};
use lvm2::plan::logical::{
    Along, CHUNK_SIZE_DEFAULT, Conversion, ImageStates, Initial, Join, MergeStart, MirrorOptions,
    MirrorState, NewKind, NewSnapshot, NewVolume, Resize, Split, StoreHead, Stripes, change_volume,
    convert_mirrors, create_snapshot, create_volume, end_merge, join_snapshot, order_images,
    remove_volumes, rename_volume, repair_volume, resize_volume, resync_mirror, split_mirror,
    split_snapshot, start_merge,
};
use lvm2::plan::physical::{
    DefragScope, MoveMode, MoveRequest, PvSize, abort_move, begin_move, begin_relocation,
    begin_room, change_pv, moves, pack_pv, piece_moved, plan_defrag, resize_pv, shorten_pv,
};
use lvm2::plan::places::Places;
use lvm2::plan::repair::{FoundArea, PvRepair};
use lvm2::plan::size::{ResizeTo, SizeArgument};
use lvm2::plan::{Author, Change, revive, undo};
use lvm2::text::parse;
use lvm2::{Extents, Sectors};

use super::arrays;
use super::command::{Command, Shape, name};
use crate::activate::current_images;
use crate::apply::{
    NewLabel, Planned, Signatures, area_states, clearing_outdated, find_device, find_pv,
    free_member, plan_device, require_no_member, update_metadata,
};
use crate::host::Host;
use crate::scan::{FoundPv, FoundVg, Presence, Scan};
use crate::{Error, Kind, Result};

/// Extents of 64 KiB: many of them on small disks.
const EXTENT: Sectors = Sectors(128);
/// The disks are smaller than LVM2's physical volumes have to be.
const SIZE_MIN: Sectors = Sectors(512);
/// What notes of a mirror's log cover: regions of an extent.
const REGION: Sectors = Sectors(128);
/// Nothing is in the stores of snapshots.
const STORE_USED: Sectors = Sectors::ZERO;
/// Letters of a tag that fills a group: LVM2 takes 1,024.
const TAG: usize = 1000;

type Devices<'d> = &'d [Arc<dyn Device>];

impl Command {
    pub(super) fn plan(
        self,
        scan: &Scan,
        devices: Devices<'_>,
        author: &mut Author<'_>,
    ) -> Result<Planned> {
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
            Self::PvRepair(disk) => repaired(scan, disk),
            Self::VgCreate(vg, disks) => {
                let members = members(scan, disks)?;
                let new = NewGroup {
                    extent_size: EXTENT,
                    ..NewGroup::new(vg, &members)
                };
                done(create_group(&new, author))
            }
            Self::VgRemove(vg) => {
                let group = scan.find_group(vg)?;
                let removed = done(remove_group(&group.model, VolumesOf::Remove))?;
                Ok(clearing_outdated(scan, group, removed))
            }
            Self::Revive(vg) => done(revive(&[newest(scan, vg, devices)?], 0, author)),
            Self::VgCkUpdate(vg) => update_metadata(scan, scan.find_group(vg)?, None, author),
            other => {
                let name = other.group().expect("it has one");
                let group = scan.find_group(name)?;
                if let Some(change) = other.of_volumes(&group.model, author) {
                    return done(change);
                }
                other.of_group(scan, group, devices, author)
            }
        }
    }

    /// The commands on groups and physical volumes.
    fn of_group(
        self,
        scan: &Scan,
        group: &FoundVg,
        devices: Devices<'_>,
        author: &mut Author<'_>,
    ) -> Result<Planned> {
        let vg = &*group.model;
        let areas = area_states(scan, group);
        let pv = |disk: usize| {
            let found = scan.pv(find_pv(scan, &name(disk))?);
            let id = vg.pv_by_uuid(&found.uuid).ok_or_else(not_there)?;
            Ok::<_, Error>((id, found))
        };
        done(match self {
            Self::PvResize(disk, sectors) => {
                let (id, found) = pv(disk)?;
                let size = PvSize {
                    device: scan.device(found.device).size.whole_sectors(),
                    asked: Some(Sectors(sectors)),
                    least: SIZE_MIN,
                };
                resize_pv(vg, id, &found.header, size, author)
            }
            Self::PvRoom(disk, extents) => make_room(scan, vg, pv(disk)?, Extents(extents), author),
            Self::PvPack(disk) => pack(vg, pv(disk)?, author),
            Self::PvShorten(disk) => shorten(scan, vg, pv(disk)?, author),
            Self::PvChange(disk, what) => change_pv(vg, pv(disk)?.0, &[what], &areas, author),
            Self::VgExtend(_, disks) => extend_group(vg, &members(scan, disks)?, &areas, author),
            Self::VgExtendMissing(_, disk) => {
                restore_missing(vg, &BTreeSet::from([pv(disk)?.0]), author)
            }
            Self::VgReduce(_, disk) => reduce_group(vg, &[pv(disk)?.0], &areas, author),
            Self::VgReduceMissing(_, partial) => {
                let states = states(scan, group);
                remove_missing(vg, &missing(group), partial, &states, &areas, author)
            }
            Self::LvArray(_, volume, step) => step.plan(vg, volume, &missing(group), author),
            Self::LvRepair(_, volume) => {
                repair_volume(vg, volume, &missing(group), &states(scan, group), author)
            }
            Self::VgSplit(_, to, disk) => {
                split(vg, pv(disk)?.0, SplitInto::named(to), &areas, author)
            }
            Self::VgSplitInto(_, to, disk) => {
                let other = scan.find_group(to)?;
                let areas = [areas, area_states(scan, other)].concat();
                let into = SplitInto::Existing(&other.model);
                split(vg, pv(disk)?.0, into, &areas, author)
            }
            Self::VgMerge(_, from) => merge_groups(vg, &scan.find_group(from)?.model, author),
            Self::VgRename(_, to) => rename_group(vg, to, author),
            Self::VgChange(_, what) => change_group(vg, &[what], &areas, author),
            Self::VgFill(_, bytes) => {
                let tags = tags(bytes);
                let tags: Vec<_> = tags.iter().map(|tag| GroupAttribute::AddTag(tag)).collect();
                change_group(vg, &tags, &areas, author)
            }
            Self::VgExport(_) => export_group(vg, author),
            Self::VgImport(_) => import_group(vg, None, author),
            Self::VgCfgRestore(_, back) => {
                let backup = past(scan, group, devices, back)?.swap_remove(0);
                let present = scan.physical_volumes.iter().map(|pv| pv.uuid).collect();
                restore_group(&backup, Some(vg), &present, Insistence::None, author)
            }
            Self::Undo(_, back) => undo(&past(scan, group, devices, back)?, author),
            _ => unreachable!("the caller plans these"),
        })
    }

    /// The commands on logical volumes; `None` for others.
    fn of_volumes(self, vg: &VolumeGroup, author: &mut Author<'_>) -> Option<lvm2::Result<Change>> {
        Some(match self {
            Self::LvCreate(_, name, extents, shape) => {
                let new = NewVolume {
                    name: Some(name),
                    kind: kind(shape),
                    ..NewVolume::linear(SizeArgument::extents(extents))
                };
                create_volume(vg, &new, author)
            }
            Self::LvResize(_, name, extents, direction) => {
                resize_volume(vg, &resize(name, extents, direction), author)
            }
            Self::LvRemove(_, name) => remove_volumes(vg, &[name], Along::Nothing, author),
            Self::LvRename(_, name, to) => rename_volume(vg, name, to, author),
            Self::LvChange(_, name, what) => change_volume(vg, name, &[what], author),
            Self::LvOrder(_, volume) => {
                let image = |name: String| vg.lv_by_name(&name).map(|id| vg.lv(id).uuid);
                let mirror = image(volume.to_owned()).expect("the case has it");
                let second = image(format!("{volume}_mimage_1")).expect("the case has it");
                order_images(vg, mirror, &[second], author)
            }
            Self::LvConvert(_, volume, legs, log) => {
                let conversion = Conversion {
                    volume,
                    legs,
                    log: (legs > 1).then_some(log),
                    region_size: (legs > 1).then_some(REGION),
                    initial: Initial::Synchronise,
                    places: None,
                    policy: None,
                    state: match legs {
                        1 => MirrorState::InSync,
                        _ => MirrorState::Unknown,
                    },
                };
                convert_mirrors(vg, &conversion, author)
            }
            Self::LvSplit(_, volume, name) => {
                let split = Split {
                    volume,
                    name,
                    places: None,
                    state: MirrorState::InSync,
                };
                split_mirror(vg, &split, author)
            }
            Self::LvResync(_, volume) => resync_mirror(vg, volume, author),
            other => {
                return other
                    .of_snapshots(vg, author)
                    .or_else(|| other.of_moves(vg, author));
            }
        })
    }

    /// The commands on snapshots; `None` for others.
    fn of_snapshots(
        self,
        vg: &VolumeGroup,
        author: &mut Author<'_>,
    ) -> Option<lvm2::Result<Change>> {
        Some(match self {
            Self::LvSnapshot(_, origin, name, extents) => {
                let new = NewSnapshot {
                    origin,
                    chunk_size: CHUNK_SIZE_DEFAULT,
                    store: NewVolume {
                        name: Some(name),
                        ..NewVolume::linear(SizeArgument::extents(extents))
                    },
                };
                create_snapshot(vg, &new, author)
            }
            Self::LvJoin(_, origin, store) => {
                let join = Join {
                    origin,
                    store,
                    chunk_size: CHUNK_SIZE_DEFAULT,
                    head: StoreHead::Zeroed,
                };
                join_snapshot(vg, &join, author)
            }
            Self::LvSplitSnapshot(_, name) => split_snapshot(vg, name, author),
            Self::LvMerge(_, name) => start_merge(vg, name, MergeStart::Later, author),
            Self::LvEndMerge(_, name) => {
                let store = vg.lv(vg.lv_by_name(name).expect("it is there")).uuid;
                end_merge(vg, &store, author)
            }
            _ => return None,
        })
    }

    /// The commands on moves; `None` for others.
    fn of_moves(self, vg: &VolumeGroup, author: &mut Author<'_>) -> Option<lvm2::Result<Change>> {
        let under_way = || moves(vg).into_iter().next().expect("it is under way");
        Some(match self {
            Self::PvMove(_, disk, piece) => begin(vg, disk, Extents(piece), author),
            Self::PieceMoved(..) => {
                let one = under_way();
                let piece = one.running.expect("there is more");
                piece_moved(vg, &one.uuid, piece.start, author)
            }
            Self::PvMoveAbort(_) => abort_move(vg, &under_way().uuid, author),
            Self::Defrag(_, piece) => {
                let plan = plan_defrag(vg, DefragScope::GroupToStart).expect("it is planned");
                let pass = plan.passes.first().expect("there is something to do");
                let begun = begin_relocation(vg, pass, Extents(piece), author);
                begun.map(|(change, _)| change)
            }
            _ => return None,
        })
    }
}

/// Begins a move of what lies on the disk with this number.
fn begin(
    vg: &VolumeGroup,
    disk: usize,
    piece_max: Extents,
    author: &mut Author<'_>,
) -> lvm2::Result<Change> {
    let source = Places::parse(vg, &["source"], |_| vg.pvs().nth(disk).map(|(id, _)| id))?;
    let request = MoveRequest {
        source: &source,
        volume: None,
        targets: None,
        policy: None,
        mode: MoveMode::Pieces,
        piece_max,
        region_size: Some(REGION),
    };
    begin_move(vg, &request, author).map(|(change, _)| change)
}

fn split(
    vg: &VolumeGroup,
    pv: PvId,
    into: SplitInto<'_>,
    areas: &[AreaState],
    author: &mut Author<'_>,
) -> lvm2::Result<Change> {
    let off = BTreeSet::from([pv]);
    split_group(vg, into, SplitOff::Pvs(&off), areas, author)
}

/// Begins to free what lies behind so many extents.
fn make_room(
    scan: &Scan,
    vg: &VolumeGroup,
    (id, found): (PvId, &FoundPv),
    extents: Extents,
    author: &mut Author<'_>,
) -> lvm2::Result<Change> {
    let size = PvSize {
        device: scan.device(found.device).size.whole_sectors(),
        asked: vg.pv(id).extent_start(extents, vg.extent_size),
        least: SIZE_MIN,
    };
    let begun = begin_room(vg, id, (&found.header, size), Extents(1), author);
    begun.map(|(change, _)| change)
}

fn pack(vg: &VolumeGroup, pv: (PvId, &FoundPv), author: &mut Author<'_>) -> lvm2::Result<Change> {
    pack_pv(vg, pv.0, &pv.1.header, author).map(|(change, _)| change)
}

fn shorten(
    scan: &Scan,
    vg: &VolumeGroup,
    (id, found): (PvId, &FoundPv),
    author: &mut Author<'_>,
) -> lvm2::Result<Change> {
    let lengths = (scan.device(found.device).size.whole_sectors(), SIZE_MIN);
    shorten_pv(vg, id, &found.header, lengths, author).map(|(change, _)| change)
}

/// Tags that have `bytes` letters together, and that nobody else makes.
fn tags(bytes: usize) -> Vec<String> {
    let lengths = (0..bytes).step_by(TAG).map(|at| TAG.min(bytes - at));
    let tags = lengths.enumerate();
    tags.map(|(number, width)| format!("{:x>width$}", format!("{bytes}.{number}")))
        .collect()
}

fn missing(group: &FoundVg) -> BTreeSet<PvId> {
    let missing = group.members.iter();
    let missing = missing.filter(|member| member.presence == Presence::Missing);
    missing.map(|member| member.id).collect()
}

/// What the logs of mirrors say.
fn states(scan: &Scan, group: &FoundVg) -> ImageStates {
    ImageStates {
        current: current_images(scan, &Host::without_config(), group),
        outdated: Vec::new(),
    }
}

fn kind(shape: Shape) -> NewKind {
    match shape {
        Shape::Linear => NewKind::LINEAR,
        Shape::Striped(count) => NewKind::Striped(Stripes {
            count,
            size: Some(Sectors(8)),
        }),
        Shape::Mirror(legs, log, initial) => {
            let options = MirrorOptions {
                legs,
                log,
                region_size: Some(REGION),
                initial,
            };
            NewKind::Mirror(options, Stripes::LINEAR)
        }
        Shape::Raid(level, width, initial) => arrays::kind(level, width, initial),
        Shape::Zero => NewKind::Zero,
        Shape::Error => NewKind::Error,
    }
}

fn resize(volume: &str, extents: u64, direction: ResizeTo) -> Resize<'_> {
    Resize {
        store_used: Some(STORE_USED),
        ..Resize::to(volume, SizeArgument::extents(extents), direction)
    }
}

fn done(change: lvm2::Result<Change>) -> Result<Planned> {
    Ok(Planned::from(change?))
}

fn not_there() -> Error {
    Error::new(Kind::NotFound, "the disk is not in the group")
}

fn members(scan: &Scan, disks: &[usize]) -> Result<Vec<lvm2::plan::group::Member>> {
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
        size_min: SIZE_MIN,
        ..NewPv::new(author.uuid())
    };
    let layout = new.lay_out(&plan_device(scan, device))?;
    Ok(Planned {
        new: vec![NewLabel {
            device,
            layout,
            others: Signatures::Wiped,
        }],
        ..Planned::default()
    })
}

/// The headers and the text of a member, as whoever has a backup writes them.
fn repaired(scan: &Scan, disk: usize) -> Result<Planned> {
    let group = scan.find_group("vg0")?;
    let device = find_device(scan, &name(disk))?;
    let mut found = scan.physical_volumes.iter();
    let areas = found.find(|pv| pv.device == device).map(|pv| &pv.areas);
    let areas = areas.into_iter().flatten().map(|area| FoundArea {
        span: area.span,
        header: area.header,
    });
    let areas: Vec<FoundArea> = areas.collect();
    let (pv, _) = group.model.pvs().nth(disk).expect("all disks are in it");
    let repair = PvRepair {
        device: &name(disk),
        device_size: scan.device(device).size,
        group: &group.model,
        pv,
        areas: &areas,
        label: None,
    };
    Ok(Planned {
        new: vec![NewLabel {
            device,
            layout: repair.both(&group.text)?,
            others: Signatures::Kept,
        }],
        ..Planned::default()
    })
}

/// The versions of a group from `back` ago to now, the oldest first, as its areas still hold them.
fn past(scan: &Scan, group: &FoundVg, devices: Devices<'_>, back: u32) -> Result<Vec<VolumeGroup>> {
    let mut found: Vec<VolumeGroup> = Vec::new();
    let members = scan.physical_volumes.iter();
    for pv in members.filter(|pv| pv.group == Some(group.uuid)) {
        for text in texts(pv, devices)? {
            let Ok(vg) = parse(&text).and_then(|tree| from_text(&tree)) else {
                continue;
            };
            let is_wanted = vg.uuid == group.uuid && vg.seqno + back >= group.seqno;
            if is_wanted && found.iter().all(|other| other.seqno != vg.seqno) {
                found.push(vg);
            }
        }
    }
    found.sort_by_key(|vg| vg.seqno);
    Ok(found)
}

/// The newest text of a group that is not there any more.
fn newest(scan: &Scan, name: &str, devices: Devices<'_>) -> Result<VolumeGroup> {
    let mut newest: Option<VolumeGroup> = None;
    for pv in &scan.physical_volumes {
        for text in texts(pv, devices)? {
            let vg = parse(&text).and_then(|tree| from_text(&tree));
            let vg = vg.ok().filter(|vg| vg.name == name);
            newest = newest.into_iter().chain(vg).max_by_key(|vg| vg.seqno);
        }
    }
    newest.ok_or_else(|| Error::new(Kind::NotFound, format!("no older text of {name}")))
}

fn texts(pv: &FoundPv, devices: Devices<'_>) -> Result<Vec<Vec<u8>>> {
    let failed = |error| Error::new(Kind::Device, "cannot read").because(error);
    let mut io = BlockingDevice::open(&*devices[pv.device.0]).map_err(failed)?;
    let mut texts = Vec::new();
    for header in pv.areas.iter().filter_map(|area| area.header.as_ref()) {
        let range = Range::new(header.start.0, header.size.0);
        let bytes = io.read(range).map_err(failed)?;
        for version in versions(&bytes, header) {
            let at = version.location.offset.0 as usize;
            let text = bytes.get(at..at + version.location.size.0 as usize);
            texts.extend(text.map(|text| text.strip_suffix(&[0]).unwrap_or(text).to_vec()));
        }
    }
    Ok(texts)
}
