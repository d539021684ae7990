//! `vgremove`: a group is gone; its physical volumes stay.

use ashlar::apply::{Planned, Question, Request, Tolerated, clearing_outdated};
use ashlar::live::any_owner;
use ashlar::scan::FoundVg;
use lvm2::model::Relations;
use lvm2::plan::group::{VolumesOf, remove_group};

use super::activation::{end_group, served};
use super::arguments::{CHANGE, FORCE};
use super::groups::{Unnamed, each, named};
use super::lvremove::pool_question;
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
    let tolerated = vec![Tolerated::Absent];
    let names = named(arguments, Unnamed::Nothing, &tolerated, work)?;
    let is_forced = arguments.has(&FORCE);
    each(&names, work, |name, work| {
        let is_asked = end(name, arguments, work)?;
        let request = Request {
            changes_pvs: true,
            tolerated: tolerated.clone(),
            ..work.request_of(&[name])
        };
        work.change(&request, |scan, _| {
            let found = scan.find_group(name)?;
            let question = question(found).filter(|_| !is_asked);
            let vg = &found.model;
            let of_pools = vg.lvs().filter_map(|(id, _)| pool_question(vg, id));
            let questions = question.into_iter().chain(of_pools);
            let removed = planned(remove_group(&found.model, VolumesOf::Remove))?;
            Ok(Planned {
                questions: questions.filter(|_| !is_forced).collect(),
                ..clearing_outdated(scan, found, removed)
            })
        })
        .map(drop)
    });
    Ok(())
}

/// What is asked before a group goes with its volumes.
fn question(found: &FoundVg) -> Option<Question> {
    let vg = &found.model;
    let relations = Relations::of(vg);
    let visible = vg.lvs().filter(|(id, _)| relations.is_visible(vg, *id));
    let count = visible.count();
    let missing = found.members.iter();
    let missing = missing.filter(|member| member.presence.usable().is_none());
    let warning = match missing.count() {
        0 => String::new(),
        missing => format!(
            "  WARNING: {missing} physical volumes are currently missing from the system.\n"
        ),
    };
    (count > 0).then(|| Question {
        text: format!(
            "{warning}Do you really want to remove volume group \"{}\" containing {count} logical \
             volumes? [y/n]: ",
            vg.name
        ),
        refusal: format!("Volume group \"{}\" not removed", vg.name),
    })
}

/// Ends the owner of a group, if it has one, with the volumes that are active; whether people were
/// asked for the group by then.
fn end(name: &str, arguments: &Arguments, work: &mut Work<'_>) -> Result<bool, Error> {
    if work.is_test() || work.is_shown() || !any_owner() {
        return Ok(false);
    }
    let scan = work.scan()?;
    let Ok(found) = scan.find_group(name) else {
        return Ok(false);
    };
    let served = served(found, work)?;
    let vg = &found.model;
    let mut active = vg.lvs().filter(|(_, lv)| served.has(lv.uuid));
    let Some((_, first)) = active.next() else {
        return Ok(false);
    };
    if !arguments.has(&FORCE) {
        if let Some(question) = question(found).filter(|asked| !work.agrees(&asked.text)) {
            return Err(Error::failed(question.refusal));
        }
        for lv in std::iter::once(first).chain(active.map(|(_, lv)| lv)) {
            let volume = format!("{}/{}", vg.name, lv.name());
            let question =
                format!("Do you really want to remove active logical volume {volume}? [y/n]: ");
            if !work.agrees(&question) {
                return Err(Error::failed(format!(
                    "Logical volume {volume} not removed."
                )));
            }
        }
    }
    end_group(found, arguments, work)?;
    Ok(true)
}
