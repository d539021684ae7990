//! `lvchange --syncaction`: what `ashlar scrub` does, as stock spells it.
//!
//! Stock begins a check in the kernel and ends; what was found is a count in its reports. Here the
//! command goes through the volume, says what it finds, and fails where it finds something. With
//! `repair` it asks whether that is to be put right, does so, and goes through it again.

use ashlar::scrub::{Event, Options, Subject, Summary, scrub};

use super::chosen::chosen;
use super::work::Work;
use crate::args::{Arguments, Error, Flag};
use crate::commands::scrub::{Repair, finding, summary};

/// `--syncaction`
pub(super) const SYNC_ACTION: Flag = Flag::value(
    "syncaction",
    "check|repair",
    "check: compare the legs of RAID volumes, as `ashlar scrub' does, until all is compared. \
     repair: show what would be written, ask, and do that, as `ashlar scrub --repair' does.",
);

/// Compares the legs of the volumes that the command names.
pub(super) fn check(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let repairs = match arguments.value(&SYNC_ACTION) {
        Some("check") => false,
        Some("repair") => true,
        other => {
            return Err(Error::usage(format!(
                "Invalid argument for --syncaction: {}: use check or repair.",
                other.unwrap_or_default()
            )));
        }
    };
    if arguments.operands().is_empty() {
        return Err(Error::usage(
            "Please name the volumes whose legs are compared.",
        ));
    }
    for volume in chosen(arguments, work)? {
        let name = format!("{}/{}", volume.group, volume.name);
        if work.is_shown() || work.is_test() {
            work.note(&format!(
                "Nothing is written: the legs of {name} are compared."
            ));
            continue;
        }
        let done = if repairs {
            repair(&name, work)
        } else {
            one(&name, &mut Repair::default(), work).map(|found| tell(&name, &found, work))
        };
        if let Err(error) = done {
            work.fail_later(&error.to_string());
        }
    }
    Ok(())
}

/// Repairs what is found, if that is agreed to, and looks again.
fn repair(name: &str, work: &mut Work<'_>) -> Result<(), Error> {
    let mut found = Repair::default();
    let summary = one(name, &mut found, work)?;
    if found.is_empty() {
        tell(name, &summary, work);
        return Ok(());
    }
    for line in found.plan(name) {
        work.note(&line);
    }
    if !work.agrees(&format!("Repair {name} like this? [y/n]: ")) {
        tell(name, &summary, work);
        return Ok(());
    }
    work.look_again();
    let scan = work.scan()?;
    let (group, id) = scan.find_volume(name)?;
    let lv = group.model.lv(id);
    let live = work.take(group.uuid)?;
    found.carry_out(&live, (lv.name(), lv.uuid), None, &mut |_, _| Ok(()))?;
    drop(live);
    let summary = one(name, &mut Repair::default(), work)?;
    tell(name, &summary, work);
    Ok(())
}

/// Compares the legs of a volume, and tells what it finds.
fn one(name: &str, repair: &mut Repair, work: &mut Work<'_>) -> Result<Summary, Error> {
    // A check of another volume may have taken hours.
    work.look_again();
    let (scan, host) = (work.scan()?, work.host().clone());
    let subject = Subject::volume(&scan, &host, name)?;
    for gap in &subject.gaps {
        work.warn(gap);
    }
    let found = scrub(&subject, Options::default(), &mut |event| {
        if let Event::Found(one) = event {
            repair.note(one);
            for line in finding(name, one) {
                work.note(&line);
            }
        }
        Ok::<_, Error>(())
    })?;
    Ok(found)
}

/// Tells what came of it; fails later where something was found.
fn tell(name: &str, found: &Summary, work: &mut Work<'_>) {
    let lines = summary(name, found);
    let mut lines = lines.iter();
    match lines.next() {
        Some(first) if !found.is_clean() || found.checked == 0 => work.fail_later(first),
        Some(first) => work.note(first),
        None => {}
    }
    lines.for_each(|line| work.note(line));
}
