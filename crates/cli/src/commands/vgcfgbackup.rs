//! `vgcfgbackup`: the metadata of volume groups, as text files for people and `vgcfgrestore`.

use std::io::Write;
use std::path::{Path, PathBuf};

use ashlar::apply::header_now;
use ashlar::host::Config;
use ashlar::{Readers, replace_file};
use lvm2::model::{Header, Segment, SegmentType, VolumeGroup, to_text};
use lvm2::text::Style;

use super::Session;
use super::selected::{self, Groups};
use crate::args::{Arguments, Command, Error, Example, flags, source_date};
use crate::output::{Group, View};

/// `vgcfgbackup`
pub(super) const COMMAND: Command = Command {
    name: "vgcfgbackup",
    summary: "Write the metadata of volume groups into files",
    operands: "[VG ...]",
    description: "Writes the metadata of each volume group, as text, into a file of its own: in \
        the backup directory of LVM2's configuration (/etc/lvm/backup), or where -f says. %s in \
        that name stands for the group's; without it, several groups would overwrite each other, \
        so only one is then written.",
    flags: &[
        &[
            flags::FILE,
            flags::FOREIGN,
            flags::READ_ONLY,
            flags::PARTIAL,
            flags::IGNORE_LOCKING_FAILURE,
            flags::REPORT_FORMAT,
        ],
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "vgcfgbackup vg0",
            does: "saves the metadata of one group",
        },
        Example {
            line: "vgcfgbackup -f /root/%s.vg",
            does: "saves that of all groups",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    selected::require_names(arguments, Groups::Only)?;
    let mut disks = session.disks(arguments)?;
    disks.host.config.overrides.source_date = source_date()?;
    let folder = disks.host.config.backup_dir();
    let view = View::new(disks.scan);
    let named = selected::groups(&view, arguments, Groups::Only, session)?;
    let pattern = arguments.value(&flags::FILE);
    let is_one_file = pattern.is_some_and(|pattern| !pattern.contains("%s"));
    for (number, named) in named.into_iter().enumerate() {
        if is_one_file && number > 0 {
            return Err(Error::failed(
                "VGs must be backed up into different files. Use %s in filename for VG name.",
            ));
        }
        let vg = &named.group.vg;
        let name = &vg.name;
        if named.group.missing_count() > 0 && pattern.is_none() {
            let what = "No backup taken: specify filename with -f to backup with missing PVs.";
            session.fail_later(what);
            continue;
        }
        let mut types = named.group.vg.lvs().flat_map(|(_, lv)| &lv.segments);
        let is_unknown = |segment: &Segment| matches!(segment.kind, SegmentType::Unknown(_));
        if types.any(is_unknown) && pattern.is_none() {
            let what = "No backup taken: specify filename with -f to backup with unknown segments.";
            session.fail_later(what);
            continue;
        }
        let content = text(&view, named.group, arguments, &disks.host.config);
        if pattern == Some("-") {
            session.out().write_all(&content)?;
            continue;
        }
        let path = match pattern {
            Some(pattern) => PathBuf::from(pattern.replace("%s", name)),
            None => folder.join(name),
        };
        let parent = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        if pattern.is_some() && parent.is_some_and(|folder| !folder.is_dir()) {
            session.fail_later("Couldn't create temporary text file name.");
            continue;
        }
        let written = if arguments.has(&flags::TEST) {
            Ok(())
        } else {
            write(&path, &content)
        };
        match written {
            Ok(()) => {
                session.line(&format!("Volume group \"{name}\" successfully backed up."))?;
            }
            Err(error) => {
                let path = path.display();
                session.fail_later(&format!("Could not back up {name} to {path}: {error}"));
            }
        }
    }
    Ok(())
}

/// The text to be written: what the disks say, with today's names of the devices. What is missing
/// is not marked: the text is to be restored when it is there again.
fn text(view: &View, group: &Group, arguments: &Arguments, config: &Config) -> Vec<u8> {
    let mut vg: VolumeGroup = (*group.vg).clone();
    for (pv, _) in group.vg.pvs() {
        if group.found(pv).is_some() {
            vg.pv_mut(pv).device = Some(view.pv_name(group, pv).to_owned());
        }
    }
    vg.header = Header {
        description: Some(arguments.line().to_owned()),
        extra: std::mem::take(&mut vg.header.extra),
        ..header_now(config)
    };
    to_text(&vg, Style::Backup)
}

/// Writes beside the file and then takes its place, so that an old backup is never lost to a
/// half-written new one. As with stock only the owner may read it.
fn write(path: &Path, text: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    replace_file(path, &path.with_file_name(name), Readers::Owner, |out| {
        out.write_all(text)
    })
}
