//! `md add` and `md remove`: devices that come and go.

use ashlar::apply::find_device;
use ashlar::md::{Coming, add as join, bring_in_sync, coming, find, remove as leave};

use super::create::permit;
use crate::args::{Arguments, Error, flags};
use crate::commands::Session;
use crate::commands::cp::{Bar, Signals};

pub(super) fn add(
    name: &str,
    device: &str,
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let disks = session.disks(arguments)?;
    let place = find(&disks.scan, name)?;
    let index = find_device(&disks.scan, device)?;
    let found = disks.scan.device(index);
    let array = &place.name;
    match coming(place, &found.location)? {
        Coming::There => {
            return Err(Error::failed(format!("{device} is of {array} already")));
        }
        Coming::Waiting => {
            session.line(&format!("{device} waits as a spare of {array}."))?;
            return Ok(());
        }
        // What it held is the array's, or was.
        Coming::Spare | Coming::Returns(_) => {}
        Coming::New | Coming::Unfit => permit(&disks.scan, index, arguments)?,
    }
    if arguments.has(&flags::TEST) {
        session.tell(&format!("{array} was not changed: this is a test."));
        return Ok(());
    }
    let is_back = matches!(coming(place, &found.location)?, Coming::Returns(_));
    let (signals, mut bar) = (Signals::watch()?, None);
    let joined = join(&disks.scan, place, index, &mut |done, all| {
        signals.check()?;
        show(&mut bar, done, all);
        Ok::<(), Error>(())
    });
    clear(bar);
    match joined? {
        Some(leg) if is_back => {
            session.line(&format!(
                "{device} is leg {leg} of {array} again, and in sync."
            ))?;
        }
        Some(leg) => session.line(&format!("{device} is leg {leg} of {array}, and in sync."))?,
        None => session.line(&format!("{device} waits as a spare of {array}."))?,
    }
    Ok(())
}

pub(super) fn remove(
    name: &str,
    device: &str,
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let disks = session.disks(arguments)?;
    let place = find(&disks.scan, name)?;
    let found = disks.scan.device(find_device(&disks.scan, device)?);
    if arguments.has(&flags::TEST) {
        session.tell(&format!("{} was not changed: this is a test.", place.name));
        return Ok(());
    }
    let (signals, mut bar) = (Signals::watch()?, None);
    let left = leave(place, found, &mut |done, all| {
        signals.check()?;
        show(&mut bar, done, all);
        Ok::<(), Error>(())
    });
    clear(bar);
    left?;
    session.line(&format!(
        "{device} is no device of {} any more.",
        place.name
    ))?;
    Ok(())
}

/// Brings a new array in sync.
pub(super) fn sync(
    name: &str,
    devices: &[String],
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let disks = session.disks(arguments)?;
    let index = find_device(&disks.scan, &devices[0])?;
    let location = &disks.scan.device(index).location;
    // The old format has no names.
    let arrays = ashlar::md::places(&disks.scan);
    let place = arrays.into_iter().find(|place| {
        let mut members = place.members.iter();
        members.any(|member| member.location == *location)
    });
    let place = place.ok_or_else(|| Error::failed(format!("md:{name} is gone")))?;
    let (signals, mut bar) = (Signals::watch()?, None);
    let synced = bring_in_sync(place, &mut |done, all| {
        signals.check()?;
        show(&mut bar, done, all);
        Ok::<(), Error>(())
    });
    clear(bar);
    synced?;
    session.line(&format!("Array \"{}\" is in sync.", place.name))?;
    Ok(())
}

fn show(bar: &mut Option<Bar>, done: u64, all: u64) {
    let bar = bar.get_or_insert_with(|| Bar::new(all));
    bar.show(done, all.saturating_sub(done), String::new);
}

fn clear(bar: Option<Bar>) {
    if let Some(bar) = bar {
        bar.clear();
    }
}
