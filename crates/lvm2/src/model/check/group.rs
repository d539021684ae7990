//! The group itself, its physical volumes, identities, names, tags and flags.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};

use super::{Checker, KEEP_READ_ONLY, RESTORE, Severity};
use crate::model::flags::{Flag, Flags, Place, PvFlag, VgFlag};
use crate::model::name;
use crate::model::pv::PhysicalVolume;
use crate::{Sectors, Uuid};

/// An extent size that is no power of two must be a multiple of this.
const EXTENT_SIZE_UNIT: Sectors = Sectors(256);

pub(super) fn check(checker: &mut Checker<'_>) {
    group(checker);
    flags(checker);
    identities(checker);
    tags(checker);
    let vg = checker.vg;
    for (_, pv) in vg.pvs() {
        physical_volume(checker, pv);
    }
}

fn group(checker: &mut Checker<'_>) {
    let vg = checker.vg;
    let size = vg.extent_size;
    if size == Sectors::ZERO {
        checker.group_error("its extents have no size", RESTORE);
    } else if !size.0.is_power_of_two() && size % EXTENT_SIZE_UNIT != Sectors::ZERO {
        let problem = format!(
            "its extent size of {size} is neither a power of two nor a multiple of 128 KiB"
        );
        checker.group_warning(problem, "change it with vgchange --physicalextentsize");
    }
    if vg.extent_count().0 > u64::from(u32::MAX) {
        checker.group_error("it has more extents than 32 bits can count", RESTORE);
    }
    if vg.pv_count() == 0 {
        checker.group_error("it has no physical volumes", RESTORE);
    }
    if vg.max_pv != 0 && vg.pv_count() as u64 > u64::from(vg.max_pv) {
        let problem = format!(
            "it has {} physical volumes, and {} are allowed",
            vg.pv_count(),
            vg.max_pv
        );
        checker.group_warning(
            problem,
            "raise the limit with vgchange --maxphysicalvolumes",
        );
    }
    let visible = vg
        .lvs()
        .filter(|(id, _)| checker.relations.is_visible(vg, *id))
        .count();
    if vg.max_lv != 0 && visible as u64 > u64::from(vg.max_lv) {
        let problem = format!(
            "it has {visible} logical volumes, and {} are allowed",
            vg.max_lv
        );
        checker.group_warning(problem, "raise the limit with vgchange --logicalvolume");
    }
    if vg.format.as_deref().is_some_and(|format| format != "lvm2") {
        checker.group_warning("its format is not called lvm2", KEEP_READ_ONLY);
    }
}

/// An unknown status flag may mean anything: stock refuses the whole text.
fn flags(checker: &mut Checker<'_>) {
    let vg = checker.vg;
    unknown_flags(checker, &vg.flags, || format!("volume group {}", vg.name));
    for (_, pv) in vg.pvs() {
        unknown_flags(checker, &pv.flags, || pv_object(pv));
        if pv.flags.has(PvFlag::Exported) != vg.flags.has(VgFlag::Exported) {
            let problem = "it is not exported in the same way as its volume group";
            let remedy = "run vgexport or vgimport on the volume group";
            checker.report(Severity::Warning, || pv_object(pv), problem, remedy);
        }
    }
    for (id, lv) in vg.lvs() {
        unknown_flags(checker, &lv.flags, || super::lv_object(vg, id));
    }
}

fn unknown_flags<F: Flag>(
    checker: &mut Checker<'_>,
    flags: &Flags<F>,
    object: impl Fn() -> String,
) {
    for name in flags.unknown(Place::Status) {
        let problem = format!("it has the unknown status flag {name:?}");
        checker.report(Severity::Error, &object, problem, KEEP_READ_ONLY);
    }
    for name in flags.unknown(Place::Compatible) {
        let problem = format!("it has the unknown flag {name:?}, which is ignored");
        checker.report(Severity::Warning, &object, problem, KEEP_READ_ONLY);
    }
}

fn identities(checker: &mut Checker<'_>) {
    let vg = checker.vg;
    let mut seen: BTreeMap<Uuid, String> = BTreeMap::new();
    seen.insert(vg.uuid, format!("volume group {}", vg.name));
    for (_, pv) in vg.pvs() {
        if let Some(other) = seen.insert(pv.uuid, pv_object(pv)) {
            let problem = format!("its UUID {} is that of {other} too", pv.uuid);
            checker.report(Severity::Error, || pv_object(pv), problem, RESTORE);
        }
    }
    let mut seen = BTreeMap::new();
    for (id, lv) in vg.lvs() {
        if let Some(other) = seen.insert(lv.uuid, id) {
            let problem = format!(
                "its UUID {} is that of {} too",
                lv.uuid,
                checker.name(other)
            );
            checker.lv_error(id, problem);
        }
    }
}

fn tags(checker: &mut Checker<'_>) {
    let vg = checker.vg;
    let of_pvs = vg.pvs().flat_map(|(_, pv)| &pv.tags);
    let of_lvs = vg.lvs().flat_map(|(_, lv)| &lv.tags);
    for tag in vg.tags.iter().chain(of_pvs).chain(of_lvs) {
        if let Err(error) = name::validate_tag(tag) {
            checker.group_warning(error.to_string(), "remove the tag with --deltag");
        }
    }
}

fn physical_volume(checker: &mut Checker<'_>, pv: &PhysicalVolume) {
    let Some(end) = pv.extent_start(pv.pe_count, checker.vg.extent_size) else {
        let problem = "its extents go beyond what 64 bits can count";
        checker.report(Severity::Error, || pv_object(pv), problem, RESTORE);
        return;
    };
    if let Some(size) = pv
        .dev_size
        .filter(|size| *size != Sectors::ZERO && end > *size)
    {
        let problem = format!(
            "its extents end at sector {}, and the device has {}",
            end.0, size.0
        );
        let remedy = "enlarge the device, or move data off its end and run pvresize";
        checker.report(Severity::Warning, || pv_object(pv), problem, remedy);
    }
}

fn pv_object(pv: &PhysicalVolume) -> String {
    match &pv.device {
        Some(device) => format!("physical volume {} ({device})", pv.uuid),
        None => format!("physical volume {}", pv.uuid),
    }
}
