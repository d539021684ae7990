//! `ashlar undo`: a group as an older version has it that is still on its disks.

use lvm::model::VolumeGroup;
use lvm::ondisk::Standing;
use lvm::plan::undo;
use manager::apply::Question;
use manager::history::{Version, history};
use manager::scan::{FoundVg, Scan};
use manager::{Error as Failure, Kind};

use super::arguments::{CHANGE, FORCE, FS};
use super::groups::plain;
use super::run::run;
use super::work::{Work, planned};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};

const TO: Flag = Flag::value(
    "to",
    "Number",
    "The version to go back to, as `ashlar history' counts; without it the one before the newest.",
);

/// `undo`
pub(super) const COMMAND: Command = Command {
    name: "undo",
    summary: "Go back to an older version of a volume group",
    operands: "VG",
    description: "Writes an older version of the metadata, one that is still on the disks, as a \
        new one. Every version in between is looked at first: where an extent of a volume that \
        would come back has since belonged to another one, undo refuses, and says which. What was \
        in extents that were free in between is not known; undo warns then, and asks. Volumes in \
        use are made smaller only after a question, and never taken away; one whose file system \
        would be cut is refused, unless --fs ignore is said.",
    flags: &[&[TO, FS, FORCE], CHANGE, flags::COMMON],
    examples: &[
        Example {
            line: "ashlar undo vg0",
            does: "takes the last change back",
        },
        Example {
            line: "ashlar plan undo vg0 --to 40",
            does: "shows what going back to version 40 would do",
        },
    ],
    run,
};

/// Goes back.
pub(super) fn core(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let [name] = arguments.operands() else {
        return Err(Error::usage(
            "undo: name one volume group, as in: ashlar undo vg0",
        ));
    };
    let name = plain(name);
    let to = super::arguments::number::<u32>(arguments, &TO)?;
    let request = work.request_of(&[name]);
    work.change(&request, |scan, author| {
        let group = scan.find_group(name)?;
        let versions = versions(scan, group, to)?;
        let mut planned = planned(undo(&versions, author))?;
        let is_doubtful = planned
            .change
            .texts(lvm::plan::Level::Warning)
            .next()
            .is_some();
        if is_doubtful {
            planned.questions.push(Question {
                text: format!(
                    "Go back to version {} all the same? [y/n]: ",
                    versions[0].seqno
                ),
                refusal: format!("Volume group \"{}\" not changed", group.name),
            });
        }
        Ok(planned)
    })?;
    Ok(())
}

/// All versions from the wanted one to the present one, the oldest first.
fn versions(scan: &Scan, group: &FoundVg, to: Option<u32>) -> manager::Result<Vec<VolumeGroup>> {
    let refused = |what: String| Err(Failure::new(Kind::Refused, what));
    let Some(to) = to.or(group.seqno.checked_sub(1)) else {
        return refused(format!("VG {} has no older version", group.name));
    };
    if to >= group.seqno {
        return refused(format!(
            "Version {to} of VG {} is not older than the present one, {}",
            group.name, group.seqno
        ));
    }
    let mut found = history(scan, group).versions;
    // What was only prepared never counted.
    found.retain(|version| version.standing != Standing::Precommitted);
    let mut versions = Vec::new();
    for seqno in to..group.seqno {
        let mut same = found.iter().filter(|other| other.seqno == u64::from(seqno));
        let one = same.next();
        match (one, same.next()) {
            (Some(version), None) => versions.push(model(version, &group.name)?),
            (None, _) => {
                return refused(format!(
                    "Version {seqno} of VG {} is not on its disks any more, so that it is not \
                     known what happened in between; `ashlar history {}' lists those that are",
                    group.name, group.name
                ));
            }
            (Some(_), Some(_)) => {
                return refused(format!(
                    "There are different texts of version {seqno} of VG {}, and it is not known \
                     which of them counted",
                    group.name
                ));
            }
        }
    }
    versions.push((*group.model).clone());
    Ok(versions)
}

fn model(version: &Version, name: &str) -> manager::Result<VolumeGroup> {
    match &version.group {
        Ok(group) => Ok((**group).clone()),
        Err(error) => {
            let what = format!(
                "Version {} of VG {name} cannot be understood: {error}",
                version.seqno
            );
            Err(Failure::new(Kind::Damaged, what))
        }
    }
}
