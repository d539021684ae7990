//! `ashlar undo`: a group as an older version has it that is still on its disks.

use std::ops::RangeInclusive;

use ashlar::apply::{Question, Request};
use ashlar::history::{Newest, Past, Version, history, past};
use ashlar::scan::{Duplicate, FoundVg, Scan};
use ashlar::{Error as Failure, Kind};
use lvm2::model::VolumeGroup;
use lvm2::ondisk::Standing;
use lvm2::plan::{Message, revive, undo};

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
        would come back has since belonged to another one, or its volume was moved away from it \
        (pvmove, image minimise), undo refuses, and says which. What was in extents that were free \
        in between because their volume was removed or became smaller is not known; undo warns \
        then, and asks. A group \
        that was removed comes back, too, and one whose newest metadata is damaged everywhere. \
        Volumes in use are made smaller only after a question, and never taken away; one whose \
        file system would be cut is refused, unless --fs ignore is said.",
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
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let [name] = arguments.operands() else {
        return Err(Error::usage(
            "undo: name one volume group, as in: ashlar undo vg0",
        ));
    };
    let name = plain(name);
    let to = super::arguments::number::<u32>(arguments, &TO)?;
    if is_past(work, name)? {
        return revive_past(work, name, to);
    }
    let request = work.request_of(&[name]);
    work.change(&request, |scan, author| {
        let group = scan.find_group(name)?;
        let versions = versions(scan, group, to)?;
        let mut planned = planned(undo(&versions, author))?;
        let is_doubtful = planned
            .change
            .texts(lvm2::plan::Level::Warning)
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

/// Whether a group is not there, and older texts of it are.
fn is_past(work: &Work<'_>, name: &str) -> Result<bool, Error> {
    let scan = work.scan()?;
    if scan.find_group(name).map_err(|error| error.kind()).err() != Some(Kind::NotFound) {
        return Ok(false);
    }
    let found = past(&scan, name).map_err(|error| super::work::failed(&error))?;
    Ok(found.is_some())
}

/// Brings back a group that was removed, or whose newest text is damaged everywhere.
fn revive_past(work: &mut Work<'_>, name: &str, to: Option<u32>) -> Result<(), Error> {
    let request = Request {
        new_group: Some(name.to_owned()),
        changes_pvs: true,
        ..work.request()
    };
    work.change(&request, |scan, author| {
        let found = past(scan, name)?.ok_or_else(|| {
            Failure::new(Kind::NotFound, format!("Volume group \"{name}\" not found"))
        })?;
        let versions = past_versions(&found, name, to)?;
        require_free(scan, &found, &versions)?;
        let unknown = unknown(&found, versions.last().map_or(0, |last| last.seqno));
        let mut planned = planned(revive(&versions, unknown, author))?;
        if found.newest == Newest::Damaged {
            let last = versions.last().map_or(0, |last| last.seqno);
            let text = format!(
                "The newest metadata of volume group {name} is damaged on all of its physical \
                 volumes: what was changed after version {last} is lost."
            );
            planned.change.messages.insert(0, Message::warning(text));
        }
        planned.questions.push(Question {
            text: format!(
                "Go back to version {} all the same? [y/n]: ",
                versions[0].seqno
            ),
            refusal: format!("Volume group \"{name}\" not brought back"),
        });
        Ok(planned)
    })?;
    Ok(())
}

/// How many versions may have followed `last`: one at least where the newest is damaged, and as
/// many as the numbers in damaged texts say, within reason.
fn unknown(found: &Past, last: u32) -> u32 {
    const UNKNOWN_MAX: u64 = 1000;
    if found.newest != Newest::Damaged {
        return 0;
    }
    let highest = found.history.versions.iter().map(|version| version.seqno);
    let more = highest.max().unwrap_or(0).saturating_sub(u64::from(last));
    more.clamp(1, UNKNOWN_MAX) as u32
}

/// All versions from the wanted one, or else the newest, to the newest that is known.
fn past_versions(found: &Past, name: &str, to: Option<u32>) -> ashlar::Result<Vec<VolumeGroup>> {
    let good = found
        .history
        .versions
        .iter()
        .filter(|version| version.standing != Standing::Precommitted && version.group.is_ok());
    let newest = good.map(|version| version.seqno).max().unwrap_or(0);
    let newest = u32::try_from(newest).unwrap_or(u32::MAX);
    let first = to.unwrap_or(newest);
    if first > newest {
        let what =
            format!("Version {first} of VG {name} is not on its disks; {newest} is the last");
        return Err(Failure::new(Kind::Refused, what));
    }
    known(&found.history.versions, first..=newest, name)
}

/// Fails where a physical volume of the group is not there, or was something else's meanwhile.
fn require_free(scan: &Scan, found: &Past, versions: &[VolumeGroup]) -> ashlar::Result<()> {
    let refused = |what: String| Err(Failure::new(Kind::Refused, what));
    let (Some(target), Some(last)) = (versions.first(), versions.last()) else {
        return Ok(());
    };
    for (_, pv) in target.pvs() {
        let mut places = scan.physical_volumes.iter().enumerate();
        let place =
            places.find(|(_, there)| there.uuid == pv.uuid && there.duplicate == Duplicate::Unique);
        let Some((index, there)) = place else {
            return refused(format!(
                "Physical volume {} of volume group {} is not there, or twice: name its device",
                pv.uuid, target.name
            ));
        };
        let device = &scan.device(there.device).name;
        if let Some(group) = there.group.and_then(|group| scan.group(group)) {
            return refused(format!(
                "Physical volume {device} is in volume group {} now",
                group.name
            ));
        }
        let since = found.others.iter().find(|(pv, _, time)| {
            pv.0 == index && (*time).unwrap_or(u64::MAX) >= last.header.creation_time.unwrap_or(0)
        });
        if let Some((_, other, _)) = since {
            return refused(format!(
                "Physical volume {device} was in volume group {other} since: it may have been \
                 written to"
            ));
        }
    }
    Ok(())
}

/// All versions from the wanted one to the present one, the oldest first.
fn versions(scan: &Scan, group: &FoundVg, to: Option<u32>) -> ashlar::Result<Vec<VolumeGroup>> {
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
    let found = history(scan, group).versions;
    let mut versions = known(&found, to..=group.seqno - 1, &group.name)?;
    versions.push((*group.model).clone());
    Ok(versions)
}

/// The versions with these numbers, each of which has to be there once.
fn known(
    found: &[Version],
    numbers: RangeInclusive<u32>,
    name: &str,
) -> ashlar::Result<Vec<VolumeGroup>> {
    let refused = |what: String| Err(Failure::new(Kind::Refused, what));
    let mut versions = Vec::new();
    for seqno in numbers {
        // What was only prepared never counted.
        let mut same = found.iter().filter(|other| {
            other.seqno == u64::from(seqno) && other.standing != Standing::Precommitted
        });
        let one = same.next();
        match (one, same.next()) {
            (Some(version), None) => versions.push(model(version, name)?),
            (None, _) => {
                return refused(format!(
                    "Version {seqno} of VG {name} is not on its disks any more, so that it is not \
                     known what happened in between; `ashlar history {name}' lists those that are"
                ));
            }
            (Some(_), Some(_)) => {
                return refused(format!(
                    "There are different texts of version {seqno} of VG {name}, and it is not \
                     known which of them counted"
                ));
            }
        }
    }
    Ok(versions)
}

fn model(version: &Version, name: &str) -> ashlar::Result<VolumeGroup> {
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
