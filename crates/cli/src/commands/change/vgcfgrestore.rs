//! `vgcfgrestore`: a group as a backup file has it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ashlar::apply::{Request, Tolerated};
use ashlar::scan::{Duplicate, Scan};
use lvm2::Uuid;
use lvm2::model::name::wrongness;
use lvm2::model::{SegmentType, VolumeGroup};
use lvm2::plan::group::{Insistence, restore_group};

use super::arguments::{CHANGE, FORCE, FS, METADATA_TYPE};
use super::backup_file::read;
use super::groups::plain;
use super::run::run;
use super::work::{Work, inactive, planned};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::commands::display::Values;
use crate::output::report::printable;

const FILE: Flag = Flag::value(
    "file",
    "File",
    "The file to restore from; without it, the newest in the backup directory.",
)
.short('f');
const LIST: Flag = Flag::switch(
    "list",
    "List the files in the archive and backup directories, or tell what the one of --file is.",
)
.short('l');
/// What a restored group may have been.
const TOLERATED: &[Tolerated] = &[
    Tolerated::Missing,
    Tolerated::Unsound,
    Tolerated::Disagreement,
    Tolerated::Exported,
    Tolerated::ReadOnly,
    Tolerated::UnknownSegments,
];

/// `vgcfgrestore`
pub(super) const COMMAND: Command = Command {
    name: "vgcfgrestore",
    summary: "Restore the metadata of a volume group from a file",
    operands: "VG",
    description: "Writes the metadata of a backup file as the newest version of a group. All its \
        physical volumes must be there; pvcreate --uuid --restorefile makes a lost one anew. What \
        is in the volumes does not change: whether it still fits is not known here. Where extents \
        have moved since (pvmove), it is refused without --force. `ashlar undo' goes back to \
        versions that are still on the disks, and checks that.",
    flags: &[
        &[
            FILE,
            LIST,
            FS,
            METADATA_TYPE,
            Flag {
                short: None,
                ..FORCE
            },
        ],
        CHANGE,
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "vgcfgrestore -l vg0",
            does: "lists what could be restored",
        },
        Example {
            line: "vgcfgrestore -f /root/vg0.vg vg0",
            does: "restores from a file",
        },
    ],
    run,
};

/// Restores, or lists.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let file = arguments.value(&FILE).map(|file| work.path(file));
    let name = match (arguments.operands(), &file) {
        ([name], _) => plain(name).to_owned(),
        ([], Some(file)) if arguments.has(&LIST) => return describe(file, work),
        ([_, more, ..], _) => {
            let what = format!("Command does not accept argument: {more}.");
            return Err(Error::form(what));
        }
        _ => {
            let what = "Please specify a *single* volume group to restore.";
            return Err(Error::lacking(arguments.command(), what));
        }
    };
    if wrongness(&name).is_some() {
        return Err(Error::usage(format!(
            "Volume group name \"{name}\" is invalid."
        )));
    }
    if arguments.has(&LIST) {
        return list(&name, file.as_deref(), work);
    }
    let exists = work.scan()?.groups_named(&name).next().is_some();
    let file = file.unwrap_or_else(|| work.host().config.backup_dir().join(&name));
    let backup = read(&file).map_err(|error| {
        let file = file.display();
        Error::failed(format!(
            "{error}\nFailed to read VG {name} from {file}\nRestore failed."
        ))
    })?;
    if backup.name != name {
        return Err(Error::failed(format!(
            "'{}' does not contain volume group '{name}'.\nRestore failed.",
            file.display()
        )));
    }
    let insistence = if arguments.has(&FORCE) {
        Insistence::Forced
    } else {
        Insistence::None
    };
    warn_of_unknown(&backup, work);
    let groups = if exists {
        vec![name.clone()]
    } else {
        Vec::new()
    };
    let request = Request {
        changes_pvs: true,
        tolerated: TOLERATED.to_vec(),
        new_group: (!exists).then(|| name.clone()),
        ..work.request_of(&groups)
    };
    let sysfs = work.host().sysfs.clone();
    let restored = work.change(&request, |scan, author| {
        let current = scan.find_group(&name).ok();
        if let Some(current) = current {
            inactive(&sysfs, current)?;
        }
        let uuid = current.map_or(backup.uuid, |group| group.uuid);
        let present = present(scan, &[uuid, backup.uuid]);
        let current = current.map(|group| &*group.model);
        planned(restore_group(
            &backup, current, &present, insistence, author,
        ))
    });
    restored.map_err(|error| Error::failed(format!("{error}\nRestore failed.")))?;
    Ok(())
}

/// Warns of the types of segments in a file that are not known here.
fn warn_of_unknown(vg: &VolumeGroup, work: &mut Work<'_>) {
    let segments = vg.lvs().flat_map(|(_, lv)| &lv.segments);
    let unknown: BTreeSet<&str> = segments
        .filter_map(|segment| match &segment.kind {
            SegmentType::Unknown(unknown) => Some(unknown.type_name.as_str()),
            _ => None,
        })
        .collect();
    for name in unknown {
        work.warn(&format!("Unrecognised segment type {name}"));
    }
}

/// The physical volumes that a restored group may use: those of no other group.
fn present(scan: &Scan, own: &[Uuid]) -> BTreeSet<Uuid> {
    let mut present = BTreeSet::new();
    for pv in &scan.physical_volumes {
        let is_ours = pv.group.is_none_or(|group| own.contains(&group));
        if pv.duplicate == Duplicate::Unique && is_ours {
            present.insert(pv.uuid);
        }
    }
    present
}

/// What there is in the folders of a group, the oldest first.
fn list(name: &str, file: Option<&Path>, work: &mut Work<'_>) -> Result<(), Error> {
    if let Some(file) = file {
        return describe(file, work);
    }
    let config = &work.host().config;
    let (archives, backup) = (config.archive_dir(), config.backup_dir().join(name));
    let Ok(entries) = std::fs::read_dir(&archives) else {
        let archives = archives.display();
        let what = format!("Couldn't scan the archive directory ({archives}).");
        return Err(Error::failed(what));
    };
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_archive(path, name))
        .collect();
    files.sort();
    if files.is_empty() {
        work.note(&format!("No archives found in {}.", archives.display()));
    }
    files.extend(Some(backup).filter(|path| path.exists()));
    for file in files {
        if let Err(error) = describe(&file, work) {
            work.error(&error.to_string());
        }
    }
    Ok(())
}

/// `Sun Nov 29 20:26:37 2026`, of a time as reports have it.
fn spoken(time: &str) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    let mut words = time.split(' ');
    let (date, clock) = (words.next()?, words.next()?);
    let mut numbers = date.split('-').map(|number| number.parse::<usize>().ok());
    let (year, month, day) = (numbers.next()??, numbers.next()??, numbers.next()??);
    // Days until the month, in a year that begins in March.
    let shifted = (month + 9) % 12;
    let of_year = if month < 3 {
        year.checked_sub(1)?
    } else {
        year
    };
    let days = of_year * 365 + of_year / 4 - of_year / 100 + of_year / 400;
    let weekday = (days + (153 * shifted + 2) / 5 + day + 2) % 7;
    let (weekday, month) = (DAYS[weekday], MONTHS.get(month.checked_sub(1)?)?);
    Some(format!("{weekday} {month} {day:>2} {clock} {year}"))
}

/// Whether a file is an archive of the group: `NAME_NUMBER-SALT.vg`.
fn is_archive(path: &Path, name: &str) -> bool {
    let file = path.file_name().and_then(|file| file.to_str());
    let stem = file.and_then(|file| file.strip_suffix(".vg"));
    let group = stem.and_then(|stem| stem.rsplit_once('_'));
    group.is_some_and(|(group, _)| group == name)
}

fn describe(file: &Path, work: &mut Work<'_>) -> Result<(), Error> {
    if !file.exists() {
        let what = format!("Archive file {} not found.", file.display());
        return Err(Error::failed(what));
    }
    let vg = read(file);
    let vg = vg.map_err(|error| Error::failed(format!("{error}\nUnable to read archive file.")))?;
    warn_of_unknown(&vg, work);
    let time = vg.header.creation_time;
    let time = time.and_then(|time| spoken(&Values::default().time(time)));
    let description = printable(vg.header.description.as_deref().unwrap_or_default());
    work.print(&format!(
        "   \n  File:\t\t{}\n  VG name:    \t{}\n  Description:\t{description}\n  Backup \
         Time:\t{}\n\n",
        file.display(),
        vg.name,
        time.unwrap_or_default()
    ))
}
