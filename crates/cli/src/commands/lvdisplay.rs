//! `lvdisplay`: each logical volume as a list of labels and values, or one line of colons.

use lvm2::model::{AllocationPolicy, LvFlag, LvId, Part, RaidFamily, ReadAhead, SegmentType};

use super::Session;
use super::display::{Values, check_form, write_access};
use super::report::{Request, plan};
use super::rows::of_groups;
use super::selected::{self, Groups, Named};
use super::{lvs, segments};
use crate::args::{Arguments, Command, Error, Example, flags};
use crate::output::fields::path_or_name;
use crate::output::report::printable;
use crate::output::{Group, State, View};

/// `lvdisplay`
pub(super) const COMMAND: Command = Command {
    name: "lvdisplay",
    summary: "Show logical volumes in detail",
    operands: "[VG|VG/LV|@TAG ...]",
    description: "Shows each volume as a list of labels and values; with -m also its segments and \
        the disks below them. With -c one line for each volume, the values separated by colons: \
        path, group, access, status, number, open count, sectors, extents, allocated extents, \
        allocation policy, read-ahead, major and minor number. With -C the table that lvs prints.",
    flags: &[
        &[
            flags::ALL,
            flags::MAPS,
            flags::COLON,
            flags::COLUMNS,
            flags::SEGMENTS,
            flags::HISTORY,
        ],
        flags::REPORT,
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "lvdisplay vg0/root",
            does: "shows one volume",
        },
        Example {
            line: "lvdisplay -m vg0",
            does: "shows all volumes of a group with their disks",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    // As in stock, first.
    session.units(arguments)?;
    check_form(arguments, &[flags::MAPS, flags::COLON])?;
    if arguments.has(&flags::COLON) && arguments.has(&flags::MAPS) {
        return Err(Error::usage("Options -c and -m are incompatible."));
    }
    if arguments.has(&flags::COLUMNS) {
        return lvs::run(arguments, session);
    }
    let values = Values::of(arguments, session)?;
    let Request::Report(plan) = plan(lvs::LVS, arguments, session)? else {
        return Ok(());
    };
    selected::require_names(arguments, Groups::WithVolumes)?;
    let view = session.live_view(arguments)?;
    let named = selected::groups(&view, arguments, Groups::WithVolumes, session)?;
    for named in named {
        let all = arguments.has(&flags::ALL);
        let mut volumes = named.volumes(all);
        // Also where it is named.
        volumes.retain(|lv| all || named.group.is_visible(*lv));
        for lv in volumes {
            let rows = [Named::only(named.group, lv)];
            if !plan.is_met(|push| of_groups(&view, plan.subject, &rows, true, push))? {
                continue;
            }
            if arguments.has(&flags::COLON) {
                session.line(&colons(named.group, lv))?;
                continue;
            }
            show(session, named.group, lv, &values)?;
            if arguments.has(&flags::MAPS) {
                segments::show(session, &view, named.group, lv, &values)?;
            }
        }
    }
    Ok(())
}

fn colons(group: &Group, lv: LvId) -> String {
    let volume = group.vg.lv(lv);
    let access = if volume.is_writable() { 3 } else { 1 };
    // The number that stock has for it; of the other policies it says nothing.
    let policy = match volume.allocation {
        Some(AllocationPolicy::Contiguous) => 2,
        _ => 0,
    };
    let read_ahead = match volume.read_ahead {
        ReadAhead::Auto => -1,
        ReadAhead::None => 0,
        ReadAhead::Sectors(sectors) => i64::from(sectors),
    };
    let active = group.state(lv).active();
    let is_active = u8::from(active.is_some());
    let is_open = u8::from(active.is_some_and(|active| active.is_open));
    let number = active.and_then(|active| active.place.as_ref()?.number);
    let number = number.map(|(major, minor)| format!("{major}:{minor}"));
    format!(
        "{path}:{vg}:{access}:{is_active}:-1:{is_open}:{sectors}:{extents}:-1:{policy}:\
         {read_ahead}:{number}",
        path = path_or_name(group, lv),
        vg = group.vg.name,
        number = number.as_deref().unwrap_or("-1:-1"),
        sectors = group.lv_sectors(lv),
        extents = volume.extents().0,
    )
}

/// Prints one volume as a list of labels and values.
pub(super) fn show(
    session: &mut Session,
    group: &Group,
    lv: LvId,
    values: &Values,
) -> Result<(), Error> {
    let volume = group.vg.lv(lv);
    session.line("--- Logical volume ---")?;
    let pool = matches!(volume.first(), Some(SegmentType::ThinPool(_)));
    let mut put = |label: &str, value: &str| session.line(&format!("{label:22} {value}"));
    if group.is_visible(lv) {
        if values.shows_full_paths {
            put("LV Name", &path_or_name(group, lv))?;
        } else {
            if !pool {
                put("LV Path", &path_or_name(group, lv))?;
            }
            put("LV Name", volume.name())?;
        }
    } else {
        put("Internal LV Name", volume.name())?;
    }
    put("VG Name", &group.vg.name)?;
    put("LV UUID", &volume.uuid.to_string())?;
    put("LV Write Access", write_access(volume.is_writable()))?;
    let host = printable(volume.creation_host.as_deref().unwrap_or_default());
    let time = volume
        .creation_time
        .map(|time| values.time(time))
        .unwrap_or_default();
    put("LV Creation host, time", &format!("{host}, {time}"))?;
    relations(session, group, lv)?;
    sizes(session, group, lv, values)?;
    settings(session, group, lv)
}

/// Origins, snapshots and pools.
fn relations(session: &mut Session, group: &Group, lv: LvId) -> Result<(), Error> {
    let name = |lv: LvId| group.vg.lv(lv).name();
    let mut put = |label: &str, value: &str| session.line(&format!("{label:22} {value}"));
    if group.relations.is_origin(lv) {
        put("LV snapshot status", "source of")?;
        for snapshot in group.relations.snapshots(&group.vg, lv) {
            let state = snapshot_state(group, snapshot.cow);
            put("", &format!("{} [{state}]", name(snapshot.cow)))?;
        }
    } else if let Some(snapshot) = group.relations.snapshot_of_cow(&group.vg, lv) {
        let state = snapshot_state(group, lv);
        let status = format!("{state} destination for {}", name(snapshot.origin));
        put("LV snapshot status", &status)?;
    }
    match group.vg.lv(lv).first() {
        Some(SegmentType::Thin(thin)) => {
            put("LV Pool name", name(thin.pool))?;
            if let Some(origin) = thin.origin {
                put("LV Thin origin name", name(origin))?;
            }
            if let Some(origin) = thin.external_origin {
                put("LV External origin name", name(origin))?;
            }
            if let Some(merge) = thin.merge {
                put("LV merging to", name(merge))?;
            }
        }
        Some(SegmentType::ThinPool(pool)) => {
            put("LV Pool metadata", name(pool.metadata))?;
            put("LV Pool data", name(pool.data))?;
        }
        Some(SegmentType::CachePool(pool)) => {
            put("LV Pool metadata", name(pool.metadata))?;
            put("LV Pool data", name(pool.data))?;
        }
        Some(SegmentType::VdoPool(pool)) => put("LV VDO Pool data", name(pool.data))?,
        Some(SegmentType::Vdo(vdo)) => put("LV VDO Pool name", name(vdo.pool))?,
        _ => {}
    }
    let used = group.relations.component_use(lv);
    if let Some(used) = used.filter(|used| used.part == Part::CacheOrigin) {
        put("LV origin of Cache LV", name(used.by))?;
    }
    Ok(())
}

/// One that overflowed is as one that is not active, as in stock.
fn snapshot_state(group: &Group, store: LvId) -> &'static str {
    let active = group.state(store).active();
    let snapshot = active.and_then(|active| active.snapshot);
    match snapshot {
        Some(snapshot) if !snapshot.is_invalid => "active",
        _ => "INACTIVE",
    }
}

fn sizes(session: &mut Session, group: &Group, lv: LvId, values: &Values) -> Result<(), Error> {
    let volume = group.vg.lv(lv);
    let snapshot = group.relations.snapshot_of_cow(&group.vg, lv);
    // The size of a snapshot is its origin's; how much it can hold is said below.
    let sized = snapshot.map_or(lv, |snapshot| snapshot.origin);
    let mut put = |label: &str, value: String| session.line(&format!("{label:22} {value}"));
    match group.state(lv) {
        State::Inactive => put("LV Status", "NOT available".into())?,
        State::Unknown => put("LV Status", "unknown".into())?,
        State::Active(active) => {
            put("LV Status", "available".into())?;
            put("# open", u8::from(active.is_open).to_string())?;
        }
    }
    put("LV Size", values.size(group.lv_sectors(sized)))?;
    put("Current LE", group.vg.lv(sized).extents().0.to_string())?;
    if let Some(snapshot) = snapshot {
        put("COW-table size", values.size(group.lv_sectors(lv)))?;
        put("COW-table LE", volume.extents().0.to_string())?;
        put("Snapshot chunk size", values.size(snapshot.chunk_size.0))?;
    }
    let copies = match volume.first() {
        Some(SegmentType::Mirror(mirror)) => mirror.images.len(),
        Some(SegmentType::Raid(raid)) => match raid.level.family() {
            RaidFamily::Raid1 | RaidFamily::Raid10 => raid.images.len(),
            _ => 0,
        },
        _ => 0,
    };
    if copies > 0 {
        put("Mirrored volumes", copies.to_string())?;
    }
    put("Segments", volume.segments.len().to_string())?;
    Ok(())
}

fn settings(session: &mut Session, group: &Group, lv: LvId) -> Result<(), Error> {
    let volume = group.vg.lv(lv);
    let mut put = |label: &str, value: &str| session.line(&format!("{label:22} {value}"));
    put(
        "Allocation",
        volume.allocation.map_or("inherit", |policy| policy.name()),
    )?;
    let read_ahead = match volume.read_ahead {
        ReadAhead::Auto => "auto".to_owned(),
        ReadAhead::None => "0".to_owned(),
        ReadAhead::Sectors(sectors) => sectors.to_string(),
    };
    put("Read ahead sectors", &read_ahead)?;
    if volume.flags.has(LvFlag::FixedMinor) {
        if let Some(major) = volume.major.filter(|major| *major >= 0) {
            put("Persistent major", &major.to_string())?;
        }
        put("Persistent minor", &volume.minor.unwrap_or(-1).to_string())?;
    }
    let place = group
        .state(lv)
        .active()
        .and_then(|active| active.place.as_ref());
    if let Some((major, minor)) = place.and_then(|place| place.number) {
        put("Block device", &format!("{major}:{minor}"))?;
    }
    Ok(session.line(" ")?)
}

/// Prints every volume of a group that people see, for `vgdisplay -v`.
pub(super) fn show_all(
    session: &mut Session,
    _: &View,
    group: &Group,
    values: &Values,
) -> Result<(), Error> {
    for lv in super::rows::volumes(group, false) {
        show(session, group, lv, values)?;
    }
    Ok(())
}
