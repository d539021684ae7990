//! `lvchange --syncaction`: what `ashlar scrub` does, as stock spells it.
//!
//! Stock begins a check in the kernel and ends; what was found is a count in its reports. Here the
//! command goes through the volume, says what it finds, and fails where it finds something.

use ashlar::scrub::{Event, Options, Subject, scrub};

use super::volumes::chosen;
use super::work::Work;
use crate::args::{Arguments, Error, Flag};
use crate::commands::scrub::{finding, summary};

/// `--syncaction`
pub(super) const SYNC_ACTION: Flag = Flag::value(
    "syncaction",
    "check|repair",
    "check: compare the legs of RAID volumes, as `ashlar scrub' does, until all is compared. \
     repair is not done yet.",
);

/// Compares the legs of the volumes that the command names.
pub(super) fn check(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    match arguments.value(&SYNC_ACTION) {
        Some("check") => {}
        Some("repair") => {
            return Err(Error::failed(
                "lvchange --syncaction repair is not done yet: what was found is repaired by LVM2",
            ));
        }
        other => {
            return Err(Error::usage(format!(
                "Invalid argument for --syncaction: {}: use check or repair.",
                other.unwrap_or_default()
            )));
        }
    }
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
        if let Err(error) = one(&name, work) {
            work.fail_later(&error.to_string());
        }
    }
    Ok(())
}

fn one(name: &str, work: &mut Work<'_>) -> Result<(), Error> {
    let (scan, host) = (work.scan()?, work.host().clone());
    let subject = Subject::volume(&scan, &host, name)?;
    for gap in &subject.gaps {
        work.warn(gap);
    }
    let found = scrub(&subject, Options::default(), &mut |event| {
        if let Event::Found(one) = event {
            for line in finding(name, one) {
                work.note(&line);
            }
        }
        Ok::<_, Error>(())
    })?;
    let lines = summary(name, &found);
    let mut lines = lines.iter();
    match lines.next() {
        Some(first) if !found.is_clean() || found.checked == 0 => work.fail_later(first),
        Some(first) => work.note(first),
        None => {}
    }
    lines.for_each(|line| work.note(line));
    Ok(())
}
