//! `vgremove`: a group is gone; its physical volumes stay.

use ashlar::apply::{Planned, Question, Request, Tolerated, clearing_outdated};
use lvm2::model::Relations;
use lvm2::plan::group::{VolumesOf, remove_group};

use super::arguments::{CHANGE, FORCE};
use super::groups::{Unnamed, each, named};
use super::run::run;
use super::selection::SELECT;
use super::work::{Work, planned};
use crate::args::{Arguments, Command, Error, Example, flags};

/// `vgremove`
pub(super) const COMMAND: Command = Command {
    name: "vgremove",
    summary: "Remove volume groups",
    operands: "VG|@TAG ...",
    description: "Removes groups, with all their logical volumes after a question. The devices \
        stay physical volumes, free for other groups.",
    flags: &[&[FORCE, SELECT, flags::NO_UDEV_SYNC], CHANGE, flags::COMMON],
    examples: &[Example {
        line: "vgremove vg0",
        does: "removes a group",
    }],
    run,
};

/// Removes each.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let names = named(arguments, Unnamed::Nothing, work)?;
    let is_forced = arguments.has(&FORCE);
    each(&names, work, |name, work| {
        let request = Request {
            changes_pvs: true,
            tolerated: vec![Tolerated::Absent],
            ..work.request_of(&[name])
        };
        work.change(&request, |scan, _| {
            let found = scan.find_group(name)?;
            let vg = &found.model;
            let relations = Relations::of(vg);
            let visible = vg.lvs().filter(|(id, _)| relations.is_visible(vg, *id));
            let count = visible.count();
            let question = Question {
                text: format!(
                    "Do you really want to remove volume group \"{}\" containing {count} logical \
                     volumes? [y/n]: ",
                    vg.name
                ),
                refusal: format!("Volume group \"{}\" not removed", vg.name),
            };
            let is_asked = count > 0 && !is_forced;
            let removed = planned(remove_group(vg, VolumesOf::Remove))?;
            Ok(Planned {
                questions: is_asked.then_some(question).into_iter().collect(),
                ..clearing_outdated(scan, found, removed)
            })
        })
        .map(drop)
    });
    Ok(())
}
