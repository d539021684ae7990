//! `pvcreate`: devices become physical volumes.

use std::cmp::Ordering;

use ashlar::apply::{NewLabel, Planned, Question, Request, Signatures, plan_device};
use ashlar::host::Config;
use ashlar::scan::{Content, DeviceIndex, Duplicate, FoundDevice, FoundPv, Scan};
use ashlar::{Error as Failure, Kind};
use lvm2::model::VolumeGroup;
use lvm2::ondisk::AreaUse;
use lvm2::plan::initialise::NewPv;
use lvm2::plan::{Message, display_size};
use lvm2::{Sectors, UUID_LEN, Uuid};

use super::arguments::{BOOTLOADER, CHANGE, FORCE, NEW_PV, new_pv, size};
use super::backup_file::read;
use super::pvresize::asks_later;
use super::run::run;
use super::work::{Lists, Work};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};

const UUID: Flag = Flag::value(
    "uuid",
    "UUID",
    "The identity of the physical volume, of one that was lost.",
)
.short('u');
const RESTORE_FILE: Flag = Flag::value(
    "restorefile",
    "File",
    "With --uuid: the backup of the group that the volume belonged to, which says where its \
     extents began.",
);
const NO_RESTORE_FILE: Flag = Flag::switch("norestorefile", "With --uuid: there is no backup.");
const SIZE: Flag = Flag::value(
    "setphysicalvolumesize",
    "Size",
    "The size to use instead of the device's; MiB where there is no unit.",
);

/// `pvcreate`
pub(super) const COMMAND: Command = Command {
    name: "pvcreate",
    summary: "Make physical volumes of devices",
    operands: "PV ...",
    description: "Writes a label and room for metadata onto devices, so that volume groups can use \
        them. What else is on a device is recognised and wiped, if that is agreed to.",
    flags: &[
        &[UUID, RESTORE_FILE, NO_RESTORE_FILE, SIZE],
        NEW_PV,
        CHANGE,
        flags::COMMON,
    ],
    examples: &[Example {
        line: "pvcreate --devices a0.img a0.img",
        does: "makes a physical volume of an image",
    }],
    run,
};

/// Makes each device one, and goes on with the next where one is refused.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    for other in [&NO_RESTORE_FILE, &BOOTLOADER] {
        if arguments.has(&RESTORE_FILE) && arguments.has(other) {
            return Err(Error::form(format!(
                "Command does not accept option combination: --{}  with --restorefile ",
                other.long
            )));
        }
    }
    let uuid = identity_asked(arguments, &work.host().config)?;
    let mut new = new_pv(arguments, work)?;
    work.keep_devices_file(Lists::First)?;
    new.size = size(arguments, &SIZE, 'm')?.filter(|size| *size > Sectors::ZERO);
    if let (Some(uuid), Some(file)) = (uuid, arguments.value(&RESTORE_FILE)) {
        let backup = read(&work.path(file)).map_err(|error| {
            Error::usage(format!(
                "{error}\nFailed to read VG (null) from {file}\nUnable to read volume group from \
                 {file}"
            ))
        })?;
        as_in_backup(&mut new, uuid, &backup, file)?;
    }
    let force = arguments.count(&FORCE);
    let finder = work.finder();
    let is_asked_later = asks_later(work);
    for name in &finder.distinct(&*work.scan()?, arguments.operands()) {
        let request = Request {
            changes_pvs: true,
            ..work.request()
        };
        let Some(agreed) = agreed(work, name, new.size, arguments)? else {
            continue;
        };
        let made = work.change(&request, |scan, author| {
            let device = finder.device(scan, name)?;
            let mut questions = questions(scan, device, new.size, force)?;
            questions.retain(|question| !agreed.contains(question));
            if let Some(uuid) = uuid {
                require_unused(scan, device, uuid)?;
            }
            let new = NewPv {
                uuid: uuid.unwrap_or_else(|| author.uuid()),
                ..new
            };
            let mut label = label(scan, device, &new)?;
            let warnings = warnings(scan, device, new.size);
            if is_asked_later {
                label.layout.messages.splice(0..0, warnings);
            }
            Ok(Planned {
                questions,
                new: vec![label],
                listed: vec![(device, new.uuid)],
                ..Planned::default()
            })
        });
        if let Err(error) = made {
            work.fail_later(&error.to_string());
        }
    }
    Ok(())
}

/// The identity that is to be given again, with all that has to stand beside it.
fn identity_asked(arguments: &Arguments, config: &Config) -> Result<Option<Uuid>, Error> {
    let is_restored = arguments.has(&RESTORE_FILE) || arguments.has(&NO_RESTORE_FILE);
    let needs_file = config.flag("devices/require_restorefile_with_uuid", true);
    if arguments.has(&UUID) && needs_file && !is_restored {
        return Err(Error::usage("--restorefile is required with --uuid"));
    }
    if arguments.has(&UUID) && arguments.operands().len() != 1 {
        return Err(Error::usage("Can only set uuid on one volume at once"));
    }
    if arguments.has(&RESTORE_FILE) && !arguments.has(&UUID) {
        return Err(Error::usage("--uuid is required with --restorefile"));
    }
    arguments.value(&UUID).map(identity).transpose()
}

/// Asks what there is to ask before a device becomes a physical volume, and warns: the questions
/// that were agreed to, or `None` if one was not. Where another process may have to ask, or nobody,
/// the plan does.
fn agreed(
    work: &mut Work<'_>,
    name: &str,
    size: Option<Sectors>,
    arguments: &Arguments,
) -> Result<Option<Vec<Question>>, Error> {
    let (force, is_answered) = (arguments.count(&FORCE), arguments.has(&flags::YES));
    let (scan, finder) = (work.scan()?, work.finder());
    let Ok(device) = finder.device(&scan, name) else {
        // Its turn will tell.
        return Ok(Some(Vec::new()));
    };
    let Ok(questions) = questions(&scan, device, size, force) else {
        return Ok(Some(Vec::new()));
    };
    if asks_later(work) {
        return Ok(Some(Vec::new()));
    }
    // As by stock, each is asked, whatever was said to the first.
    let mut refusal = None;
    for question in &questions {
        if !work.agrees(&question.text) {
            refusal = Some(&question.refusal);
        }
    }
    if let Some(refusal) = refusal {
        work.fail_later(refusal);
        return Ok(None);
    }
    let mut pvs = scan.physical_volumes.iter();
    let pv = pvs.find(|pv| pv.device == device).filter(|_| !is_answered);
    if let Some(group) = pv.and_then(|pv| scan.group_behind(pv)) {
        let (name, group) = (&scan.device(device).name, &group.name);
        work.warn(&format!(
            "Forcing physical volume creation on {name} of volume group \"{group}\"."
        ));
    }
    for warning in warnings(&scan, device, size) {
        work.warn(&warning.text);
    }
    Ok(Some(questions))
}

/// What is asked before a device becomes a physical volume of a size.
fn questions(
    scan: &Scan,
    device: DeviceIndex,
    size: Option<Sectors>,
    force: usize,
) -> ashlar::Result<Vec<Question>> {
    let mut questions: Vec<Question> = permit(scan, device, force)?.into_iter().collect();
    let found = scan.device(device);
    let real = found.size.whole_sectors();
    // As in stock, nobody is asked about a device that is none yet.
    if let Some(asked) = size.filter(|asked| is_one(found) && *asked != real) {
        let name = &found.name;
        questions.push(Question {
            text: format!(
                "WARNING: {name}: device size {} does not match requested size {}. Proceed? \
                 [y/n]: ",
                display_size(real),
                display_size(asked)
            ),
            refusal: format!("{name}: physical volume not initialized."),
        });
    }
    Ok(questions)
}

/// Whether a device is a physical volume already.
fn is_one(device: &FoundDevice) -> bool {
    matches!(device.content, Content::PhysicalVolume(_))
}

/// What is warned of where a physical volume has another size than its device.
fn warnings(scan: &Scan, device: DeviceIndex, size: Option<Sectors>) -> Vec<Message> {
    let found = scan.device(device);
    let (name, real) = (&found.name, found.size.whole_sectors());
    let Some(asked) = size.filter(|asked| *asked != real) else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    // Of what was asked about, stock warns again.
    if is_one(found) {
        let faking = format!("Faking size of PV {name}. Don't write outside real device.");
        warnings.push(Message::warning(faking));
    }
    if asked > real {
        let overriding = format!("{name}: Overriding real size. You could lose data.");
        warnings.push(Message::warning(overriding));
    }
    warnings
}

/// The identity that a text is.
fn identity(text: &str) -> Result<Uuid, Error> {
    let count = text.bytes().filter(|byte| *byte != b'-').count();
    text.parse().map_err(|_| {
        Error::usage(match count.cmp(&UUID_LEN) {
            Ordering::Greater => "Too many characters to be uuid.",
            Ordering::Less => "Couldn't read uuid: incorrect number of characters.",
            Ordering::Equal => "Invalid character in uuid.",
        })
    })
}

/// Extents begin where they began, and the boot loader's area has its size.
fn as_in_backup(
    new: &mut NewPv,
    uuid: Uuid,
    backup: &VolumeGroup,
    file: &str,
) -> Result<(), Error> {
    let Some(id) = backup.pv_by_uuid(&uuid) else {
        return Err(Error::usage(format!(
            "Can't find uuid {uuid} in backup file {file}"
        )));
    };
    let pv = backup.pv(id);
    new.pe_start = Some(pv.pe_start);
    new.bootloader_size = pv.ba_size.unwrap_or_default();
    Ok(())
}

/// A device that becomes a physical volume, and the sentence that says so.
pub(super) fn label(scan: &Scan, device: DeviceIndex, new: &NewPv) -> ashlar::Result<NewLabel> {
    require_allowed(scan, device)?;
    let name = &scan.device(device).name;
    let mut layout = new.lay_out(&plan_device(scan, device)).map_err(|error| {
        let error = ashlar::Error::from(error);
        let text = error.to_string();
        // Stock has not looked at the format by then.
        let is_early = ["Size ", "Data alignment "];
        let format = if is_early.iter().any(|early| text.starts_with(early)) {
            String::new()
        } else {
            format!("Format-specific initialisation of physical volume {name} failed.\n")
        };
        let what = format!("{name}: {error}\n{format}Failed to setup physical volume \"{name}\".");
        Failure::new(error.kind(), what)
    })?;
    layout.messages.push(Message::note(format!(
        "Physical volume \"{name}\" successfully created."
    )));
    Ok(NewLabel {
        device,
        layout,
        others: Signatures::Wiped,
    })
}

/// Fails where a device must not be used at all.
pub(super) fn require_allowed(scan: &Scan, device: DeviceIndex) -> ashlar::Result<()> {
    let device = scan.device(device);
    match &device.content {
        Content::Skipped(reason) => {
            let what = format!("Cannot use {}: {reason}", device.name);
            Err(Failure::new(Kind::Refused, what))
        }
        _ => Ok(()),
    }
}

/// Whether a device may become a physical volume: where it belongs to a group, only with `-ff` and
/// after a question.
pub(super) fn permit(
    scan: &Scan,
    device: DeviceIndex,
    force: usize,
) -> ashlar::Result<Option<Question>> {
    let name = &scan.device(device).name;
    let Some(pv) = scan.physical_volumes.iter().find(|pv| pv.device == device) else {
        return Ok(None);
    };
    if pv.duplicate != Duplicate::Unique {
        let what = format!("Cannot use device {name} with duplicates.");
        return Err(Failure::new(Kind::Refused, what));
    }
    let refusal = format!("{name}: physical volume not initialized.");
    if let Some(group) = scan.group_behind(pv).filter(|_| tells_group(pv)) {
        // As in stock, three times is not twice.
        if force != 2 {
            let what = format!(
                "Can't initialize physical volume \"{name}\" of volume group \"{}\" without \
                 -ff\n{refusal}",
                group.name
            );
            return Err(Failure::new(Kind::Refused, what));
        }
        return Ok(Some(Question {
            text: format!(
                "Really INITIALIZE physical volume \"{name}\" of volume group \"{}\" [y/n]? ",
                group.name
            ),
            refusal,
        }));
    }
    if pv.header.usage() == lvm2::ondisk::PvUse::Used {
        if force != 2 {
            let what = format!(
                "PV {name} is used by a VG but its metadata is missing.\nCan't initialize PV \
                 '{name}' without -ff.\n{refusal}"
            );
            return Err(Failure::new(Kind::Refused, what));
        }
        return Ok(Some(Question {
            text: format!(
                "Really INITIALIZE physical volume \"{name}\" that is marked as belonging to a VG \
                 [y/n]? "
            ),
            refusal,
        }));
    }
    Ok(None)
}

/// Whether a physical volume says itself of which group it is: stock asks no other.
pub(super) fn tells_group(pv: &FoundPv) -> bool {
    let mut headers = pv.areas.iter().filter_map(|area| area.header.as_ref());
    headers.any(|header| header.usage == AreaUse::Used)
}

/// An identity must not be given to two.
fn require_unused(scan: &Scan, device: DeviceIndex, uuid: Uuid) -> ashlar::Result<()> {
    let mut others = scan.physical_volumes.iter();
    match others.find(|pv| pv.uuid == uuid && pv.device != device) {
        None => Ok(()),
        Some(other) => {
            let other = &scan.device(other.device).name;
            let what = format!("UUID {uuid} already in use on \"{other}\".");
            Err(Failure::new(Kind::Refused, what))
        }
    }
}
