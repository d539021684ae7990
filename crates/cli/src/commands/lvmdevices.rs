//! `lvmdevices`: the devices file, looked at and corrected.

use std::path::PathBuf;

use ashlar::apply::{DeviceList, Difference, Naming};
use ashlar::host::{Config, DeviceSource, DevicesFileChoice, Host, Listed};
use ashlar::scan::{Options, Scan, scan};
use lvm2::Uuid;

use super::Session;
use crate::args::{Arguments, Command, Error, Example, Flag, flags};

const CHECK: Flag = Flag::switch("check", "Tell what of the file is not so any more.");
const UPDATE: Flag = Flag::switch("update", "Correct what of the file is not so any more.");
const ADD_DEVICE: Flag = Flag::value("adddev", "Device", "List this device.");
const DELETE_DEVICE: Flag = Flag::value(
    "deldev",
    "Device|Name",
    "Take this device away; with --deviceidtype the one with this name (IDNAME).",
);
const ADD_PV: Flag = Flag::value(
    "addpvid",
    "UUID",
    "List the device with this physical volume.",
);
const DELETE_PV: Flag = Flag::value(
    "delpvid",
    "UUID",
    "Take the device with this physical volume away.",
);
const ID_TYPE: Flag = Flag::value(
    "deviceidtype",
    "String",
    "The kind of name by which a device is listed (IDTYPE): devname for its node, else what it \
     has.",
);

/// `lvmdevices`
pub(super) const COMMAND: Command = Command {
    name: "lvmdevices",
    summary: "Show and change which devices this host uses",
    operands: "",
    description: "The devices file lists the devices that the commands of this host use. Without \
        options its entries are shown. pvcreate, vgcreate and vgextend list what they name.",
    flags: &[
        &[
            CHECK,
            UPDATE,
            ADD_DEVICE,
            DELETE_DEVICE,
            ADD_PV,
            DELETE_PV,
            ID_TYPE,
        ],
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "lvmdevices --adddev /dev/sdb",
            does: "lists a disk",
        },
        Example {
            line: "lvmdevices --update",
            does: "corrects names of disks that came back under others",
        },
    ],
    run,
};

/// Kinds of names that stock knows.
const ID_TYPES: [&str; 8] = [
    "crypt_uuid",
    "devname",
    "loop_file",
    "lvmlv_uuid",
    "md_uuid",
    "mpath_uuid",
    "sys_serial",
    "sys_wwid",
];

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let actions = [CHECK, UPDATE, ADD_DEVICE, DELETE_DEVICE, ADD_PV, DELETE_PV];
    let mut given = actions.iter().filter(|flag| arguments.has(flag));
    let action = given.next().map(|flag| flag.long);
    // With a type, a device was meant, and what is beside it is wrong.
    let of_type = [ADD_DEVICE.long, DELETE_DEVICE.long];
    let is_typed = arguments.has(&ID_TYPE) && !action.is_some_and(|long| of_type.contains(&long));
    let wrong = given.next().map(|second| match (is_typed, action) {
        (true, Some(first)) if of_type.contains(&second.long) => first,
        _ => second.long,
    });
    if let Some(wrong) = wrong {
        let what = format!("Command does not accept option: --{wrong}.");
        return Err(Error::form(what));
    }
    let all = AllDevices::of(arguments, session)?;
    if matches!(action, None | Some("check")) {
        let list = DeviceList::look(all.path.clone(), &all.host, &all.scan()?)?;
        let list = list.ok_or_else(|| Error::failed("Devices file does not exist."))?;
        return match action {
            None => show(&list, session),
            Some(_) if tell(&list, session) => {
                Err(Error::failed("Updates needed for devices file."))
            }
            Some(_) => Ok(()),
        };
    }
    let adds = arguments.has(&ADD_DEVICE) || arguments.has(&ADD_PV);
    if !adds && !all.path.exists() {
        return Err(Error::failed("Devices file does not exist."));
    }
    let (mut list, _) = DeviceList::change(all.path.clone(), &all.host, || all.scan())?;
    let is_test = arguments.has(&flags::TEST);
    if !arguments.has(&UPDATE) {
        tell_absent(&list, session);
    }
    let is_changed = match action {
        Some("update") => update(&mut list, session)?,
        Some("adddev") => add(&mut list, arguments, session)?,
        Some("deldev") => delete(&mut list, arguments, session)?,
        Some("addpvid") => {
            let pv = uuid(arguments, &ADD_PV)?;
            let node = list.add_pv(pv).ok_or_else(|| {
                let pv = plain(pv);
                Error::failed(format!("PVID {pv} not found on any devices."))
            })?;
            session.line(&format!("Found PVID {} on {node}.", plain(pv)))?;
            true
        }
        _ => {
            let pv = plain(uuid(arguments, &DELETE_PV)?);
            if !list.remove(|entry, _| entry.pv.as_ref() == Some(&pv)) {
                return Err(Error::failed("PVID not found in devices file."));
            }
            true
        }
    };
    if is_changed && !is_test {
        let version = list.write(&all.host, session.command())?;
        if arguments.has(&UPDATE) {
            session.line(&format!("Updated devices file to version {version}"))?;
        }
    }
    Ok(())
}

/// All devices of the host, listed or not.
pub(super) struct AllDevices {
    /// The devices file.
    pub(super) path: PathBuf,
    /// The host, as if it had no devices file.
    pub(super) host: Host,
    source: DeviceSource,
}

impl AllDevices {
    /// As the options ask for.
    ///
    /// # Errors
    ///
    /// The configuration switches devices files off.
    pub(super) fn of(arguments: &Arguments, session: &mut Session) -> Result<Self, Error> {
        let config = session.config(arguments)?;
        let path = config.devices_file();
        let path = path.ok_or_else(|| Error::failed("Devices file not enabled."))?;
        let mut config = Config::clone(&config);
        config.overrides.devices_file = Some(DevicesFileChoice::Nothing);
        let listed: Vec<&str> = arguments.values(&flags::DEVICES).collect();
        Ok(Self {
            path,
            host: Host::with_config(config),
            source: DeviceSource::from_environment(&listed)?,
        })
    }

    /// Looks at them.
    pub(super) fn scan(&self) -> Result<Scan, Error> {
        Ok(scan(&self.host, &self.source, &Options::default())?)
    }
}

fn tell_absent(list: &DeviceList, session: &mut Session) {
    for difference in list.differences() {
        if let Difference::Absent(entry) = difference {
            session.tell(&absent(&entry));
        }
    }
}

fn show(list: &DeviceList, session: &mut Session) -> Result<(), Error> {
    tell_absent(list, session);
    for (entry, node) in list.entries() {
        let Listed {
            kind,
            name,
            node: listed,
            pv,
            partition,
        } = &entry;
        let node = node.unwrap_or("none");
        let (listed, pv) = (or_none(listed.as_deref()), or_none(pv.as_deref()));
        let part = match partition {
            0 => String::new(),
            partition => format!(" PART={partition}"),
        };
        session.line(&format!(
            "Device {node} IDTYPE={kind} IDNAME={name} DEVNAME={listed} PVID={pv}{part}"
        ))?;
    }
    Ok(())
}

/// Tells what differs; whether there is something to be corrected.
fn tell(list: &DeviceList, session: &mut Session) -> bool {
    let mut is_outdated = false;
    for difference in list.differences() {
        let text = match difference {
            Difference::Absent(entry) => {
                session.tell(&absent(&entry));
                continue;
            }
            Difference::Pv {
                node,
                found,
                listed,
            } => {
                let (found, listed) = (or_none(found.as_deref()), or_none(listed.as_deref()));
                format!("Device {node} has PVID {found} (devices file {listed})")
            }
            Difference::Node { node, listed } => {
                let listed = or_none(listed.as_deref());
                format!("Device {node} has updated name (devices file {listed})")
            }
        };
        is_outdated = true;
        session.tell(&text);
    }
    is_outdated
}

fn absent(entry: &Listed) -> String {
    format!(
        "Devices file {} {} PVID {} last seen on {} not found.",
        entry.kind,
        entry.name,
        or_none(entry.pv.as_deref()),
        or_none(entry.node.as_deref())
    )
}

fn or_none(text: Option<&str>) -> &str {
    text.unwrap_or("none")
}

fn update(list: &mut DeviceList, session: &mut Session) -> Result<bool, Error> {
    let is_outdated = tell(list, session);
    if is_outdated {
        list.update();
    } else {
        session.line("No update for devices file is needed.")?;
    }
    Ok(is_outdated)
}

fn add(list: &mut DeviceList, arguments: &Arguments, session: &mut Session) -> Result<bool, Error> {
    let node = arguments.value(&ADD_DEVICE).unwrap_or_default();
    let own = list.kind_of(node).map(str::to_owned);
    let own = own.ok_or_else(|| Error::failed(format!("No device found for {node}.")))?;
    let mut naming = Naming::Lasting;
    match arguments.value(&ID_TYPE) {
        Some("devname") => naming = Naming::Node,
        Some(wanted) if !ID_TYPES.contains(&wanted) => {
            session.tell(&format!(
                "WARNING: ignoring unknown device_id type {wanted}."
            ));
        }
        Some(wanted) if wanted != own => session.tell(&format!(
            "WARNING: ignoring deviceidtype {wanted} which is not available for device."
        )),
        _ => {}
    }
    Ok(list.add(node, naming))
}

fn delete(
    list: &mut DeviceList,
    arguments: &Arguments,
    session: &mut Session,
) -> Result<bool, Error> {
    let name = arguments.value(&DELETE_DEVICE).unwrap_or_default();
    let kind = arguments.value(&ID_TYPE);
    match (kind, name.starts_with("/dev/")) {
        (Some(_), true) => {
            session.tell("WARNING: to remove a device by name, do not include --deviceidtype.");
        }
        (None, false) => {
            session.tell("WARNING: to remove a device by device id, include --deviceidtype.");
        }
        _ => {}
    }
    let is_removed = list.remove(|entry, node| match kind {
        Some(kind) => entry.kind == kind && entry.name == name,
        None => node.or(entry.node.as_deref()) == Some(name),
    });
    if !is_removed {
        return Err(Error::failed(format!("No devices file entry for {name}.")));
    }
    Ok(true)
}

/// A UUID, with or without hyphens.
fn uuid(arguments: &Arguments, flag: &Flag) -> Result<Uuid, Error> {
    let text = arguments.value(flag).unwrap_or_default();
    let plain = text.replace('-', "");
    let invalid = || Error::failed("Invalid PVID.");
    let bytes = plain.as_bytes().try_into().map_err(|_| invalid())?;
    Uuid::from_bytes(bytes).map_err(|_| invalid())
}

fn plain(uuid: Uuid) -> String {
    uuid.to_string().replace('-', "")
}
