//! `vgdisplay`: each volume group as a list of labels and values, or in one line.

use lvm2::Extents;
use lvm2::model::{VgFlag, VolumeGroup};

use super::Session;
use super::display::{Values, check_form, write_access};
use super::report::{Request, plan};
use super::rows::of_groups;
use super::selected::{self, Groups};
use super::{lvdisplay, pvdisplay, vgs};
use crate::args::{Arguments, Command, Error, Example, flags};
use crate::output::{Group, View};

/// `vgdisplay`
pub(super) const COMMAND: Command = Command {
    name: "vgdisplay",
    summary: "Show volume groups in detail",
    operands: "[VG|@TAG ...]",
    description: "Shows each volume group as a list of labels and values; with -v also its volumes \
        and disks. With -s one line with the sizes. With -c one line, the values separated by \
        colons: name, access, status, number, most, current and open volumes, largest volume, \
        most, current and present disks, size in KiB, extent size in KiB, extents in all, in use \
        and free, UUID. With -C the table that vgs prints.",
    flags: &[
        &[
            flags::SHORT,
            flags::COLON,
            flags::COLUMNS,
            flags::ACTIVE_VGS,
        ],
        flags::REPORT,
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "vgdisplay vg0",
            does: "shows one volume group",
        },
        Example {
            line: "vgdisplay -v vg0",
            does: "shows its volumes and disks, too",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    // As in stock, first.
    session.units(arguments)?;
    check_form(arguments, &[flags::SHORT, flags::COLON, flags::ACTIVE_VGS])?;
    if arguments.has(&flags::COLON) && arguments.has(&flags::SHORT) {
        return Err(Error::usage("Option -c is not allowed with option -s"));
    }
    if arguments.has(&flags::ACTIVE_VGS) && !arguments.operands().is_empty() {
        let what = "Option -A is not allowed with volume group names";
        return Err(Error::usage(what));
    }
    if arguments.has(&flags::COLUMNS) {
        return vgs::run(arguments, session);
    }
    let values = Values::of(arguments, session)?;
    let Request::Report(plan) = plan(vgs::VGS, arguments, session)? else {
        return Ok(());
    };
    selected::require_names(arguments, Groups::Only)?;
    let view = session.live_view(arguments)?;
    for named in selected::groups(&view, arguments, Groups::Only, session)? {
        let group = named.group;
        let rows = std::slice::from_ref(&named);
        if !plan.is_met(|push| of_groups(&view, plan.subject, rows, true, push))? {
            continue;
        }
        if arguments.has(&flags::ACTIVE_VGS) && group.active_count() == 0 {
            continue;
        }
        if arguments.has(&flags::COLON) {
            session.line(&colons(group))?;
        } else if arguments.has(&flags::SHORT) {
            session.line(&short(group, &values))?;
        } else {
            show(session, &view, group, &values)?;
            if arguments.has(&flags::VERBOSE) {
                details(session, &view, group, &values)?;
            }
        }
    }
    Ok(())
}

fn free(group: &Group) -> u64 {
    group
        .vg
        .extent_count()
        .0
        .saturating_sub(group.allocated_total())
}

/// The number that stock keeps the flags in.
fn status_bits(vg: &VolumeGroup) -> u32 {
    let bit = |flag, bit| if vg.flags.has(flag) { bit } else { 0 };
    bit(VgFlag::Exported, 0x2)
        | bit(VgFlag::Resizeable, 0x4)
        | bit(VgFlag::NoAutoactivate, 0x10)
        | bit(VgFlag::Read, 0x100)
        | if vg.is_writable() { 0x200 } else { 0 }
}

fn colons(group: &Group) -> String {
    let vg = &group.vg;
    let kib = |extents: u64| group.sectors(Extents(extents)) / 2;
    format!(
        "{}:{}:{}:-1:{}:{}:{}:-1:{}:{}:{}:{}:{}:{}:{}:{}:{}",
        vg.name,
        if vg.is_writable() { "r/w" } else { "r" },
        status_bits(vg),
        vg.max_lv,
        group.visible_count(),
        group.open_count(),
        vg.max_pv,
        vg.pv_count(),
        vg.pv_count() - group.missing_count(),
        kib(vg.extent_count().0),
        vg.extent_size.0 / 2,
        vg.extent_count().0,
        group.allocated_total(),
        free(group),
        vg.uuid,
    )
}

fn short(group: &Group, values: &Values) -> String {
    let size = |extents: u64| values.size(group.sectors(Extents(extents)));
    format!(
        "\"{}\" {:<9} [{:<9} used / {} free]",
        group.vg.name,
        size(group.vg.extent_count().0),
        size(group.allocated_total()),
        size(free(group)),
    )
}

fn show(session: &mut Session, view: &View, group: &Group, values: &Values) -> Result<(), Error> {
    let vg = &group.vg;
    let found = vg.pvs().filter_map(|(pv, _)| group.found(pv));
    let areas: usize = found
        .map(|found| view.scan.pv(found).good_areas().count())
        .sum();
    let size = |extents: u64| values.size(group.sectors(Extents(extents)));
    let exported = if vg.flags.has(VgFlag::Exported) {
        "exported/"
    } else {
        ""
    };
    let resizable = if vg.flags.has(VgFlag::Resizeable) {
        ""
    } else {
        "NOT "
    };
    session.line("--- Volume group ---")?;
    let mut put = |label: &str, value: String| session.line(&format!("{label:21} {value}"));
    put("VG Name", vg.name.clone())?;
    put("System ID", vg.system_id.clone().unwrap_or_default())?;
    put("Format", "lvm2".into())?;
    put("Metadata Areas", areas.to_string())?;
    put("Metadata Sequence No", vg.seqno.to_string())?;
    put(
        "VG Access",
        if vg.is_writable() {
            write_access(true)
        } else {
            "read"
        }
        .into(),
    )?;
    put("VG Status", format!("{exported}{resizable}resizable"))?;
    if vg.flags.has(VgFlag::Clustered) {
        put("Clustered", "yes".into())?;
        put(
            "Shared",
            if vg.flags.has(VgFlag::Shared) {
                "yes"
            } else {
                "no"
            }
            .into(),
        )?;
    }
    put("MAX LV", vg.max_lv.to_string())?;
    put("Cur LV", group.visible_count().to_string())?;
    put("Open LV", group.open_count().to_string())?;
    put("Max PV", vg.max_pv.to_string())?;
    put("Cur PV", vg.pv_count().to_string())?;
    put(
        "Act PV",
        (vg.pv_count() - group.missing_count()).to_string(),
    )?;
    put("VG Size", size(vg.extent_count().0))?;
    put("PE Size", values.size(vg.extent_size.0))?;
    put("Total PE", vg.extent_count().0.to_string())?;
    let used = group.allocated_total();
    put("Alloc PE / Size", format!("{used} / {}", size(used)))?;
    put(
        "Free  PE / Size",
        format!("{} / {}", free(group), size(free(group))),
    )?;
    put("VG UUID", vg.uuid.to_string())?;
    Ok(session.line(" ")?)
}

fn details(
    session: &mut Session,
    view: &View,
    group: &Group,
    values: &Values,
) -> Result<(), Error> {
    lvdisplay::show_all(session, view, group, values)?;
    session.line("--- Physical volumes ---")?;
    for (pv, _) in group.vg.pvs() {
        pvdisplay::show_short(session, view, group, pv)?;
    }
    Ok(())
}
