//! `ashlar history`: the versions of a volume group's metadata that are still on its disks.

use ashlar::history::{Newest, Version, history, past};
use ashlar::scan::Scan;
use lvm2::ondisk::Standing;

use super::Session;
use super::display::Values;
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::output::report::printable;

const SEQNO: Flag = Flag::value("seqno", "Number", "Print the text of this version.");

/// `history`
pub(super) const COMMAND: Command = Command {
    name: "history",
    summary: "List the older versions of a volume group that are still on its disks",
    operands: "VG",
    description: "Every change of a volume group writes a new text next to the old ones, and tens \
        of them stay readable. Lists them, the newest first: number, time, how many volumes the \
        group had, on how many metadata areas the version is, and the command that wrote it. * \
        marks the version that counts, ? one that cannot be understood any more. A group that was \
        removed has a history until its physical volumes are used again.",
    flags: &[&[SEQNO], flags::COMMON],
    examples: &[
        Example {
            line: "ashlar history vg0",
            does: "lists the versions",
        },
        Example {
            line: "ashlar history vg0 --seqno 40 > vg0-40.txt",
            does: "saves an older version; vgcfgrestore can read it",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let [name] = arguments.operands() else {
        return Err(Error::usage(
            "history: name one volume group, as in: ashlar history vg0",
        ));
    };
    let wanted = arguments.value(&SEQNO).map(|text| {
        text.parse::<u64>()
            .map_err(|_| Error::usage(format!("history: {text} is not a number")))
    });
    let wanted = wanted.transpose()?;
    let scan = session.disks(arguments)?.scan;
    let found = match scan.find_group(name) {
        Ok(group) => history(&scan, group),
        Err(error) => {
            let failed = |error: ashlar::Error| Error::failed(error.to_string());
            let is_absent = error.kind() == ashlar::Kind::NotFound;
            let plain = name.strip_prefix("/dev/").unwrap_or(name);
            let past = if is_absent {
                past(&scan, plain).map_err(failed)?
            } else {
                None
            };
            let past = past.ok_or_else(|| failed(error))?;
            session.tell(match past.newest {
                Newest::Removed => "This group was removed; `ashlar undo' brings it back.",
                Newest::Damaged => {
                    "The newest metadata of this group is damaged on all of its physical volumes; \
                     `ashlar undo' goes back to the version before."
                }
            });
            past.history
        }
    };
    for finding in &found.findings {
        session.tell(&finding.to_string());
    }
    match wanted {
        None => list(session, &scan, &found.versions),
        Some(seqno) => match found.versions.iter().find(|version| version.seqno == seqno) {
            Some(version) => Ok(session.out().write_all(&version.text)?),
            None => Err(Error::failed(format!(
                "Version {seqno} of {name} is not on its disks any more; `ashlar history {name}' \
                 lists those that are."
            ))),
        },
    }
}

fn list(session: &mut Session, scan: &Scan, versions: &[Version]) -> Result<(), Error> {
    let values = Values::default();
    session.line("   Seq Written                   #LV Areas Description")?;
    for version in versions {
        let mark = match (&version.group, version.standing) {
            (Err(_), _) => '?',
            (_, Standing::Committed) => '*',
            (_, Standing::Precommitted) => '+',
            (_, Standing::Old) => ' ',
        };
        let volumes = match &version.group {
            Ok(group) => visible(group).to_string(),
            Err(_) => String::new(),
        };
        let time = version
            .time
            .map(|time| values.time(time))
            .unwrap_or_default();
        let description = printable(version.description.as_deref().unwrap_or_default());
        session.line(&format!(
            "{mark} {:4} {time:25} {volumes:>3} {:>5} {description}",
            version.seqno,
            version.places.len(),
        ))?;
        if session.is_verbose() {
            for place in &version.places {
                let device = &scan.device(scan.pv(place.pv).device).name;
                let (area, offset) = (place.area + 1, place.offset);
                session.line(&format!(
                    "       on {device}, area {area}, at byte {offset}"
                ))?;
            }
        }
    }
    Ok(())
}

fn visible(group: &lvm2::model::VolumeGroup) -> usize {
    let relations = lvm2::model::Relations::of(group);
    group
        .lvs()
        .filter(|(lv, _)| relations.is_visible(group, *lv))
        .count()
}
