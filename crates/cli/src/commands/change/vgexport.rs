//! `vgexport` and `vgimport`: a group that nobody uses until another machine takes it in.

use ashlar::apply::{Request, Tolerated};
use ashlar::live::any_owner;
use lvm2::model::VgFlag;
use lvm2::plan::group::{export_group, import_group};

use super::activation::served;
use super::arguments::{CHANGE, FORCE};
use super::groups::{ALL, Unnamed, each, named};
use super::run::run;
use super::selection::SELECT;
use super::work::{Work, inactive, planned};
use crate::args::{Arguments, Command, Error, Example, flags};

/// `vgexport`
pub(super) const EXPORT: Command = Command {
    name: "vgexport",
    summary: "Make volume groups unknown to this machine",
    operands: "[VG|@TAG ...]",
    description: "Marks groups as exported: nobody uses or changes them until vgimport is run on \
        the machine that has their disks then.",
    flags: &[&[ALL, SELECT], CHANGE, flags::COMMON],
    examples: &[Example {
        line: "vgexport vg0",
        does: "prepares a group for a move",
    }],
    run,
};

/// `vgimport`
pub(super) const IMPORT: Command = Command {
    name: "vgimport",
    summary: "Make exported volume groups known to this machine",
    operands: "[VG|@TAG ...]",
    description: "Takes exported groups into use.",
    flags: &[&[ALL, FORCE, SELECT], CHANGE, flags::COMMON],
    examples: &[Example {
        line: "vgimport vg0",
        does: "takes a group in that came with its disks",
    }],
    run,
};

/// Exports each.
pub(super) fn export(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let names = chosen(arguments, &[], work, |is_exported| !is_exported)?;
    let sysfs = work.host().sysfs.clone();
    each(&names, work, |name, work| {
        let request = work.request_of(&[name]);
        require_inactive(name, work)?;
        work.change(&request, |scan, author| {
            let found = scan.find_group(name)?;
            inactive(&sysfs, found)?;
            planned(export_group(&found.model, author))
        })
        .map(drop)
    });
    Ok(())
}

/// Fails while volumes of a group are active.
fn require_inactive(name: &str, work: &Work<'_>) -> Result<(), Error> {
    if !any_owner() {
        return Ok(());
    }
    let scan = work.scan()?;
    match scan.find_group(name) {
        Ok(found) if served(found, work)?.is_any() => Err(Error::failed(format!(
            "Volume group \"{}\" has active logical volumes",
            found.name
        ))),
        _ => Ok(()),
    }
}

/// Imports each.
pub(super) fn import(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let system_id = work.host().config.system_id();
    let mut tolerated = vec![Tolerated::Exported];
    if arguments.has(&FORCE) {
        tolerated.push(Tolerated::Missing);
        work.warn("Volume groups with missing PVs will be imported with --force.");
    }
    let names = chosen(arguments, &tolerated, work, |_| true)?;
    each(&names, work, |name, work| {
        let request = Request {
            tolerated: tolerated.clone(),
            ..work.request_of(&[name])
        };
        work.change(&request, |scan, author| {
            let vg = &scan.find_group(name)?.model;
            planned(import_group(vg, system_id.as_deref(), author))
        })
        .map(drop)
    });
    Ok(())
}

/// The groups that are named; of all, those that fit, exported or not.
fn chosen(
    arguments: &Arguments,
    tolerated: &[Tolerated],
    work: &mut Work<'_>,
    wanted: impl Fn(bool) -> bool,
) -> Result<Vec<String>, Error> {
    let names = named(arguments, Unnamed::Nothing, tolerated, work)?;
    if !arguments.has(&ALL) {
        return Ok(names);
    }
    let scan = work.scan()?;
    let fits = |name: &String| {
        scan.find_group(name)
            .is_ok_and(|group| wanted(group.model.flags.has(VgFlag::Exported)))
    };
    Ok(names.into_iter().filter(fits).collect())
}
