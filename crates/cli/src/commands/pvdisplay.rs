//! `pvdisplay`: each physical volume as a list of labels and values, or in one line.

use ashlar::scan::PvIndex;
use lvm2::Extents;
use lvm2::model::{PvFlag, PvId, VgFlag};

use super::Session;
use super::display::{Values, check_form};
use super::pvs;
use super::report::{Request, plan};
use super::rows::of_devices;
use super::selected::{self, Chosen};
use crate::args::{Arguments, Command, Error, Example, flags};
use crate::output::{Group, View};

/// `pvdisplay`
pub(super) const COMMAND: Command = Command {
    name: "pvdisplay",
    summary: "Show physical volumes in detail",
    operands: "[DEVICE|@TAG ...]",
    description: "Shows each physical volume as a list of labels and values; with -m also which \
        volume uses which of its extents. With -s only the free space. With -c one line, the \
        values separated by colons: device, group, sectors, number, status, status, number, extent \
        size in KiB, extents in all, free and in use, UUID. With -C the table that pvs prints.",
    flags: &[
        &[
            flags::ALL,
            flags::MAPS,
            flags::SHORT,
            flags::COLON,
            flags::COLUMNS,
            flags::SEGMENTS,
        ],
        flags::REPORT,
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "pvdisplay /dev/sdb",
            does: "shows one physical volume",
        },
        Example {
            line: "pvdisplay -m",
            does: "shows what lies on which extents of every disk",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    // As in stock, first.
    session.units(arguments)?;
    check_form(arguments, &[flags::MAPS, flags::SHORT, flags::COLON])?;
    if arguments.has(&flags::COLUMNS) {
        return pvs::run(arguments, session);
    }
    if arguments.has(&flags::COLON) && arguments.has(&flags::MAPS) {
        return Err(Error::usage("Option -c not allowed with option -m"));
    }
    if arguments.has(&flags::COLON) && arguments.has(&flags::SHORT) {
        return Err(Error::usage("Option -c is not allowed with option -s"));
    }
    if arguments.has(&flags::ALL) {
        return Err(Error::usage("Incompatible options selected"));
    }
    let values = Values::of(arguments, session)?;
    let planned = plan(pvs::PVS, arguments, session);
    if planned.is_err() && !arguments.operands().is_empty() {
        // As in stock, criteria that are none are met by nothing.
        let view = session.view(arguments)?;
        let _ = selected::devices(&view, arguments, session);
    }
    let Request::Report(plan) = planned? else {
        return Ok(());
    };
    selected::require_tags(arguments)?;
    let view = session.view(arguments)?;
    let detailed = !arguments.has(&flags::SHORT);
    for chosen in selected::devices(&view, arguments, session) {
        if !plan.is_met(|push| of_devices(&view, plan.subject, &[chosen], push))? {
            continue;
        }
        if let Chosen::Member(group, pv) = chosen
            && group.vg.flags.has(VgFlag::Exported)
            && detailed
        {
            let (name, vg) = (view.pv_name(group, pv), &group.vg.name);
            let line = format!("Physical volume \"{name}\" of volume group \"{vg}\" is exported");
            session.line(&line)?;
        }
        match chosen {
            Chosen::Member(group, pv) if arguments.has(&flags::COLON) => {
                session.line(&colons(&view, group, pv))?;
            }
            Chosen::Member(group, pv) if arguments.has(&flags::SHORT) => {
                let free = values.size(group.sectors(Extents(free(group, pv))));
                let name = view.pv_name(group, pv);
                session.line(&format!("Device \"{name}\" has a capacity of {free}"))?;
            }
            Chosen::Member(group, pv) => {
                show(session, &view, group, pv, &values)?;
                if arguments.has(&flags::MAPS) {
                    maps(session, group, pv)?;
                }
            }
            Chosen::Label(found) => orphan(arguments, session, &view, found, &values)?,
            Chosen::Device(_) => {}
        }
    }
    Ok(())
}

fn free(group: &Group, pv: PvId) -> u64 {
    group
        .vg
        .pv(pv)
        .pe_count
        .0
        .saturating_sub(group.allocated(pv))
}

/// Sectors of the device; of a missing one, what the metadata says.
fn device_sectors(view: &View, group: &Group, pv: PvId) -> u64 {
    match (group.vg.pv(pv).dev_size, group.found(pv)) {
        (Some(size), _) => size.0,
        (None, Some(found)) => view.scan.device(view.scan.pv(found).device).size.0 / 512,
        (None, None) => 0,
    }
}

/// The bits in which stock keeps the flags of a physical volume.
const EXPORTED: u32 = 0x2;
const ALLOCATABLE: u32 = 0x8;
const MISSING: u32 = 0x80_0000;

fn colons(view: &View, group: &Group, pv: PvId) -> String {
    let model = group.vg.pv(pv);
    let bit = |set: bool, bit: u32| if set { bit } else { 0 };
    let allocatable = bit(model.flags.has(PvFlag::Allocatable), ALLOCATABLE);
    let exported = bit(group.vg.flags.has(VgFlag::Exported), EXPORTED);
    let status = allocatable | exported | bit(group.is_missing(pv), MISSING);
    format!(
        "{}:{}:{}:-1:{status}:{allocatable}:-1:{}:{}:{}:{}:{}",
        view.pv_name(group, pv),
        group.vg.name,
        device_sectors(view, group, pv),
        group.vg.extent_size.0 / 2,
        model.pe_count.0,
        free(group, pv),
        group.allocated(pv),
        model.uuid,
    )
}

fn show(
    session: &mut Session,
    view: &View,
    group: &Group,
    pv: PvId,
    values: &Values,
) -> Result<(), Error> {
    let model = group.vg.pv(pv);
    let data = group.sectors(model.pe_count);
    let size = device_sectors(view, group, pv);
    // What is too little for an extent; stock then counts what is before the first one, too.
    let rest = size.saturating_sub(data);
    let unusable = if rest > model.pe_start.0 { rest } else { 0 };
    let allocatable = match (model.flags.has(PvFlag::Allocatable), free(group, pv)) {
        (true, 0) => "yes (but full)",
        (true, _) => "yes ",
        (false, _) => "NO",
    };
    let exported = if group.vg.flags.has(VgFlag::Exported) {
        " (exported)"
    } else {
        ""
    };
    session.line("--- Physical volume ---")?;
    let mut put = |label: &str, value: String| session.line(&format!("{label:21} {value}"));
    put("PV Name", view.pv_name(group, pv).to_owned())?;
    put("VG Name", format!("{}{exported}", group.vg.name))?;
    put(
        "PV Size",
        format!(
            "{} / not usable {}",
            values.size(size),
            values.size(unusable)
        ),
    )?;
    put("Allocatable", allocatable.to_owned())?;
    put("PE Size", values.size(group.vg.extent_size.0))?;
    put("Total PE", model.pe_count.0.to_string())?;
    put("Free PE", free(group, pv).to_string())?;
    put("Allocated PE", group.allocated(pv).to_string())?;
    put("PV UUID", model.uuid.to_string())?;
    Ok(session.line(" ")?)
}

/// Which volume uses which extents.
fn maps(session: &mut Session, group: &Group, pv: PvId) -> Result<(), Error> {
    session.line("--- Physical Segments ---")?;
    for run in group.pv_segments(pv) {
        let last = (run.start + run.length).saturating_sub(1);
        session.line(&format!("Physical extent {} to {last}:", run.start))?;
        match run.used_by {
            Some((lv, index)) => {
                let volume = group.vg.lv(lv);
                let segment = &volume.segments[index];
                let end = segment.end().0.saturating_sub(1);
                let name = volume.name();
                session.line(&format!("  Logical volume\t/dev/{}/{name}", group.vg.name))?;
                session.line(&format!("  Logical extents\t{} to {end}", segment.start.0))?;
            }
            None => session.line("  FREE")?,
        }
    }
    Ok(session.line(" ")?)
}

/// A physical volume that no group uses.
fn orphan(
    arguments: &Arguments,
    session: &mut Session,
    view: &View,
    found: PvIndex,
    values: &Values,
) -> Result<(), Error> {
    let label = view.scan.pv(found);
    let device = view.scan.device(label.device);
    let sectors = device.size.0 / 512;
    let (name, size, uuid) = (&device.name, values.size(sectors), label.uuid);
    if arguments.has(&flags::SHORT) {
        return Ok(session.line(&format!("Device \"{name}\" has a capacity of {size}"))?);
    }
    session.line(&format!(
        "\"{name}\" is a new physical volume of \"{size}\""
    ))?;
    if arguments.has(&flags::COLON) {
        let line = format!("{name}::{sectors}:-1:0:0:-1:0:0:0:0:{uuid}");
        return Ok(session.line(&line)?);
    }
    session.line("--- NEW Physical volume ---")?;
    let mut put = |label: &str, value: &str| session.line(&format!("{label:21} {value}"));
    put("PV Name", name)?;
    put("VG Name", "")?;
    put("PV Size", &size)?;
    put("Allocatable", "NO")?;
    put("PE Size", &values.size(0))?;
    put("Total PE", "0")?;
    put("Free PE", "0")?;
    put("Allocated PE", "0")?;
    put("PV UUID", &uuid.to_string())?;
    session.line(" ")?;
    if arguments.has(&flags::MAPS) {
        session.line(" ")?;
    }
    Ok(())
}

/// The few lines of `vgdisplay -v`.
pub(super) fn show_short(
    session: &mut Session,
    view: &View,
    group: &Group,
    pv: PvId,
) -> Result<(), Error> {
    let model = group.vg.pv(pv);
    let not = if model.flags.has(PvFlag::Allocatable) {
        ""
    } else {
        "NOT "
    };
    let counts = format!("{} / {}", model.pe_count.0, free(group, pv));
    session.line(&format!(
        "PV Name               {}     ",
        view.pv_name(group, pv)
    ))?;
    session.line(&format!("PV UUID               {}", model.uuid))?;
    session.line(&format!("PV Status             {not}allocatable"))?;
    session.line(&format!("Total PE / Free PE    {counts}"))?;
    Ok(session.line(" ")?)
}
