//! `vgimportclone`: makes a group of its own of copies of disks.
//!
//! ```text
//!   only the copies are seen:  [vgimport]  pvchange --uuid  vgchange --uuid  vgrename
//! ```
//!
//! Each is a change of its own. Where power is lost between them the copies are a group that is
//! whole, and the same command goes on. While a process serves the group nothing is done: of two
//! groups with one identity it could not be said which it serves.

use std::collections::BTreeSet;

use ashlar::apply::{DeviceList, Naming};
use ashlar::host::{DeviceSource, DeviceSpec};
use ashlar::live::Client;
use ashlar::scan::{DeviceIndex, FindingKind, FoundPv, FoundVg, Options, Scan, scan};
use lvm2::model::VgFlag;
use lvm2::model::name::{NAME_LEN_MAX, NameOf, validate};

use super::Session;
use super::catalogue::find;
use super::lvmdevices::AllDevices;
use super::session::Disks;
use super::warnings::group_behind;
use crate::args::{Arguments, Command, Error, Example, Flag, flags, parse};

const BASE: Flag = Flag::value(
    "basevgname",
    "VG",
    "The name of the new group, with a number behind it where that is taken; without it the old \
     name with a number.",
)
.short('n');
const IMPORT: Flag = Flag::switch("import", "Import the copy of an exported group.").short('i');
const IMPORT_DEVICES: Flag = Flag::switch("importdevices", "List the copies in the devices file.");

/// `vgimportclone`
pub(super) const COMMAND: Command = Command {
    name: "vgimportclone",
    summary: "Make a volume group of its own of copies of disks",
    operands: "PV ...",
    description: "Gives copies of all disks of a volume group new identities and the group a new \
        name, so that it can be used beside the one that was copied.",
    flags: &[&[BASE, IMPORT, IMPORT_DEVICES], flags::COMMON],
    examples: &[Example {
        line: "vgimportclone -n copy /dev/sdc /dev/sdd",
        does: "makes the group copy of copies of two disks",
    }],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    if arguments.operands().is_empty() {
        return Err(Error::form(
            "No command with matching syntax recognised.  Run 'vgimportclone --help' for more \
             information.",
        ));
    }
    // Of two that are one another's copies stock's command says nothing.
    let disks = session.quiet_disks(arguments)?;
    let is_listed = disks.host.config.devices_file().is_some();
    if arguments.has(&IMPORT_DEVICES) && !is_listed {
        session.tell("Devices file not enabled, ignoring importdevices.");
    }
    let devices = devices(&disks.scan, arguments)?;
    let copies = copies(&disks.scan, &devices).inspect_err(|_| {
        // As in stock, which has looked at these devices alone.
        session.tell_found(&disks, arguments, |finding| {
            let is_here = finding.device.is_some_and(|found| devices.contains(&found));
            let is_copy = finding.kind == FindingKind::DuplicatePv;
            is_here && !is_copy && group_behind(finding).is_none()
        });
    })?;
    if let Some(name) = arguments
        .value(&BASE)
        .filter(|name| name.len() > NAME_LEN_MAX)
    {
        return Err(Error::failed(format!("Base vg name {name} is too long.")));
    }
    let (name, is_exported) = {
        let alone = alone(&disks, &copies)?;
        let group = only_group(&alone, copies.len())?;
        if Client::find(group.uuid)?.is_some() {
            return Err(Error::failed(format!(
                "Volume group {} is served by a process of this machine; stop it first.",
                group.name
            )));
        }
        (group.name.clone(), group.model.flags.has(VgFlag::Exported))
    };
    if is_exported && !arguments.has(&IMPORT) {
        let what = format!("VG {name} is exported, use the --import option.");
        return Err(Error::failed(what));
    }
    let new = new_name(&disks.scan, &name, arguments)?;
    let mut step =
        |command: &str, words: &[&str]| step(command, words, &copies, arguments, session);
    if is_exported {
        step("vgimport", &[&name])?;
    }
    step("pvchange", &["--uuid", "--all"])?;
    step("vgchange", &["--uuid", &name])?;
    step("vgrename", &[&name, &new])?;
    if arguments.has(&IMPORT_DEVICES) && is_listed {
        list(&copies, arguments, session)?;
    }
    Ok(())
}

/// The devices that the operands name.
fn devices(scan: &Scan, arguments: &Arguments) -> Result<Vec<DeviceIndex>, Error> {
    let find = |word: &String| {
        let found = scan.find_device(word, None);
        found.ok_or_else(|| Error::failed(format!("Failed to find device {word}.")))
    };
    arguments.operands().iter().map(find).collect()
}

/// The names of these devices, which are physical volumes.
fn copies(scan: &Scan, devices: &[DeviceIndex]) -> Result<Vec<String>, Error> {
    let mut all: Vec<String> = Vec::new();
    let mut uuids = BTreeSet::new();
    for &found in devices {
        let name = scan.device(found).name.clone();
        let mut pvs = scan.physical_volumes.iter();
        let pv = pvs.find(|pv| pv.device == found);
        // Of two copies of one disk the second is none, as in stock.
        let is_new = |pv: &FoundPv| uuids.insert(pv.header.uuid) || all.contains(&name);
        if !pv.is_some_and(is_new) {
            let what = format!("Failed to find PVID for device {name}.");
            return Err(Error::failed(what));
        }
        if !all.contains(&name) {
            all.push(name);
        }
    }
    Ok(all)
}

/// What is on these devices, without all others.
fn alone(disks: &Disks, copies: &[String]) -> Result<Scan, Error> {
    let specs: Result<Vec<DeviceSpec>, _> =
        copies.iter().map(|name| DeviceSpec::parse(name)).collect();
    let source = DeviceSource::Listed(specs?);
    Ok(scan(&disks.host, &source, &Options::default())?)
}

/// The group of these devices, which are all of its disks.
fn only_group(scan: &Scan, count: usize) -> Result<&FoundVg, Error> {
    let [group] = &scan.groups[..] else {
        return Err(Error::failed(if scan.groups.is_empty() {
            "The devices hold no volume group."
        } else {
            "Devices must be from the same VG."
        }));
    };
    let mut pvs = scan.physical_volumes.iter();
    if pvs.len() != count || pvs.any(|pv| scan.group_of(pv).is_none()) {
        return Err(Error::failed("Devices must be from the same VG."));
    }
    if group.members.len() > count {
        let name = &group.name;
        let what = format!("Cannot change VG {name} while PVs are missing.");
        return Err(Error::failed(what));
    }
    Ok(group)
}

/// A name that no group has.
fn new_name(scan: &Scan, old: &str, arguments: &Arguments) -> Result<String, Error> {
    let taken: BTreeSet<&str> = scan.groups.iter().map(|group| &*group.name).collect();
    let base = arguments.value(&BASE);
    let stem = base.unwrap_or(old);
    validate(stem, NameOf::VolumeGroup).map_err(|error| Error::usage(error.to_string()))?;
    let plain = base.map(str::to_owned).into_iter();
    let numbered = (1_u32..).map(|number| format!("{stem}{number}"));
    let is_free = |name: &String| !taken.contains(&**name);
    let free = plain.chain(numbered).find(is_free);
    Ok(free.expect("there are more numbers than groups"))
}

/// Runs a command that sees the copies alone, and says only what goes wrong.
fn step(
    name: &str,
    words: &[&str],
    copies: &[String],
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let command = find(name).expect("it is there");
    let mut all = arguments.options(&[
        &BASE,
        &IMPORT,
        &IMPORT_DEVICES,
        &flags::DEVICES,
        &flags::YES,
        &flags::QUIET,
    ]);
    all.extend(["-qq".to_owned(), "--yes".to_owned()]);
    all.extend(copies.iter().map(|copy| format!("--devices={copy}")));
    all.extend(words.iter().map(|word| (*word).to_owned()));
    let inner = parse(command, &all)?;
    session.begin(command, &inner);
    let done = (command.run)(&inner, session);
    session.begin(&COMMAND, arguments);
    done
}

/// Lists the copies in the devices file.
fn list(copies: &[String], arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let all = AllDevices::of(arguments, session)?;
    let (mut list, _) = DeviceList::change(all.path.clone(), &all.host, || all.scan())?;
    for copy in copies {
        if !list.add(copy, Naming::Lasting) {
            session.fail_later(&format!("No device found for {copy}."));
        }
    }
    list.write(&all.host, session.command())?;
    Ok(())
}
