//! The command: its options, and the order of what is gathered.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use ashlar::scan::Source;

use super::bundle::Bundle;
use super::parts::{ADVANCED, ALWAYS, SYSTEM, UDEV};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::commands::Session;
use crate::output::report::{Instant, Zone};

/// `-a`
const ADVANCED_TOO: Flag = Flag::switch(
    "advanced",
    "Gather what commands say that look at all disks: vgscan, pvscan, lvs, pvs, vgs, vgck.",
)
.short('a');
/// `-c`
const CLUSTERED: Flag =
    Flag::switch("clustered", "Accepted for scripts; there is no cluster.").short('c');
/// `-d`
const DIRECTORY: Flag = Flag::value(
    "directory",
    "Directory",
    "Leave all in this directory, which is made or is empty, and make no archive.",
)
.short('d');
/// `-l`
const LVMETAD: Flag =
    Flag::switch("lvmetad", "Accepted for scripts; there is no lvmetad.").short('l');
/// `-m`
const METADATA: Flag = Flag::switch(
    "metadata",
    "Gather the bytes in front of the first extent of each physical volume: its label, header and \
     metadata.",
)
.short('m');
/// `-p`
const LVMPOLLD: Flag =
    Flag::switch("lvmpolld", "Accepted for scripts; there is no lvmpolld.").short('p');
/// `-s`
const SYSTEM_TOO: Flag = Flag::switch(
    "system",
    "Gather what lsblk, the journal and systemd say of the machine.",
)
.short('s');
/// `-u`
const UDEV_TOO: Flag = Flag::switch("udev", "Gather udev's rules and what it knows.").short('u');

/// The most that is gathered of a physical volume.
const FRONT_MAX: u64 = 64 << 20;

/// Of a date and a time.
const STAMP_DIGITS: usize = 14;

/// `lvmdump`
pub(in crate::commands) const COMMAND: Command = Command {
    name: "lvmdump",
    summary: "Gather what a report of an error needs in an archive",
    operands: "",
    description: "Makes lvmdump-HOST-TIME.tgz in the home directory, which only its owner may \
        read: versions, which volumes are active and who serves them, the configuration with the \
        backups of metadata, processes, variables of the environment that concern it, the end of \
        the system's log and of Ashlar's own, and lists of devices. No data of any volume is in \
        it; look through it before you give it away all the same. What could not be gathered \
        stands in lvmdump.log in it.",
    flags: &[
        &[
            ADVANCED_TOO,
            METADATA,
            SYSTEM_TOO,
            UDEV_TOO,
            DIRECTORY,
            CLUSTERED,
            LVMETAD,
            LVMPOLLD,
        ],
        // As in stock, -d is the directory.
        &[
            flags::DEVICES,
            flags::PV_TIMEOUT,
            flags::TLS_CERTIFICATES,
            flags::DEVICES_FILE,
            flags::CONFIG,
            flags::COMMAND_PROFILE,
            flags::HELP,
            flags::LONG_HELP,
            flags::VERSION,
        ],
    ],
    examples: &[
        Example {
            line: "lvmdump -am",
            does: "gathers also what looks at all disks, and their metadata",
        },
        Example {
            line: "lvmdump -d /tmp/dump",
            does: "leaves it in a directory",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    arguments.no_operands()?;
    let config = session.config(arguments)?;
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    let home = home.map_or_else(|| PathBuf::from("/"), PathBuf::from);
    let name = format!("lvmdump-{}-{}", host(), stamp());
    let folder = match arguments.value(&DIRECTORY) {
        Some(folder) => std::path::absolute(folder)?,
        None => home.join(&name),
    };
    let own = [
        &ADVANCED_TOO,
        &METADATA,
        &SYSTEM_TOO,
        &UDEV_TOO,
        &DIRECTORY,
        &CLUSTERED,
        &LVMETAD,
        &LVMPOLLD,
    ];
    let shared = arguments.options(&own);
    let mut bundle = Bundle::new(&folder, shared, config.system_dir(), session)?;
    let warning = "WARNING! Running as non-privileged user, dump is likely incomplete!";
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        bundle.tell(warning, session)?;
    }
    bundle.tell(
        &format!("Creating dump directory: {}", folder.display()),
        session,
    )?;
    if arguments.has(&ADVANCED_TOO) {
        bundle.gather(ADVANCED, session)?;
    }
    bundle.gather(ALWAYS, session)?;
    bundle.environment();
    if arguments.has(&METADATA) {
        metadata(&mut bundle, arguments, session)?;
    }
    if arguments.has(&SYSTEM_TOO) {
        bundle.gather(SYSTEM, session)?;
    }
    if arguments.has(&UDEV_TOO) {
        bundle.gather(UDEV, session)?;
    }
    if arguments.value(&DIRECTORY).is_none() {
        let archive = home.join(format!("{name}.tgz"));
        let what = format!("Creating report tarball in {}...", archive.display());
        bundle.tell(&what, session)?;
        bundle.pack(&archive)?;
    }
    if !is_root {
        session.line(warning)?;
    }
    Ok(())
}

/// What is in front of the first extent of each physical volume.
fn metadata(
    bundle: &mut Bundle,
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    bundle.tell("Gathering LVM metadata from Physical Volumes...", session)?;
    let scan = session.quiet_disks(arguments)?.scan;
    for pv in &scan.physical_volumes {
        let device = scan.device(pv.device);
        bundle.tell(&format!("  {}", device.name), session)?;
        let data = pv.header.data_areas.first();
        let front = data.map_or(FRONT_MAX, |area| area.offset.0);
        let length = front.min(FRONT_MAX).min(device.size.0) as usize;
        let read =
            Source::open(&device.location, &device.name).and_then(|source| source.read(0, length));
        match read {
            Ok(bytes) => {
                let name = device.name.rsplit('/').next().unwrap_or_default();
                // Two may have one name, in different folders.
                let name = format!("metadata/{name}-{}", pv.uuid);
                bundle.write(&name, &bytes);
            }
            Err(error) => bundle.note(&error.to_string()),
        }
    }
    Ok(())
}

fn host() -> String {
    let name = rustix::system::uname();
    let name = name.nodename().to_string_lossy().into_owned();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    name.chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect()
}

/// The time in UTC, as digits.
fn stamp() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.map_or(0, |now| now.as_secs());
    let shown = Zone::default().show(Instant(seconds.cast_signed()));
    let digits = shown.chars().filter(char::is_ascii_digit);
    digits.take(STAMP_DIGITS).collect()
}
