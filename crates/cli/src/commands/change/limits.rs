//! Values that the kernel limits: minor numbers, and the regions of mirrors.
//!
//! They are refused when they are read, in stock's words and with its exit status, before anything
//! is looked for: what is out of range would be written, and no kernel could activate it.

use lvm2::Sectors;
use lvm2::plan::logical::AttributeChange;
use lvm2::plan::size::parse_size;

use super::arguments::{Choice, choice, invalid, number};
use super::volumes::{MAJOR, MINOR, PERSISTENT, REGION_SIZE};
use super::work::Work;
use crate::args::{Arguments, Error};

/// Device numbers of the kernel have 20 bits for the minor number.
const MINOR_MAX: u64 = (1 << 20) - 1;

/// The minor number that a new volume keeps.
pub(super) fn new_minor(arguments: &Arguments, work: &mut Work<'_>) -> Result<Option<u32>, Error> {
    let is_given = arguments.has(&MINOR) || arguments.has(&MAJOR);
    match choice(arguments, &PERSISTENT)? {
        Some(Choice::No) if is_given => Err(Error::failed(
            "Options --major and --minor are incompatible with -Mn.",
        )),
        Some(Choice::Yes) if !arguments.has(&MINOR) => Err(Error::failed(
            "Please specify minor number with --minor when using -My.",
        )),
        _ => minor(arguments, work),
    }
}

/// What `-M` changes of a volume, if it was given.
pub(super) fn changed_minor(
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<Option<AttributeChange<'static>>, Error> {
    let given = [MINOR, MAJOR].into_iter().find(|flag| arguments.has(flag));
    for (flag, shown) in [(&MAJOR, "-j|--major"), (&MINOR, "--minor")] {
        if arguments.count(flag) > 1 {
            return Err(Error::failed(format!(
                "Option {shown} may not be repeated."
            )));
        }
    }
    match (choice(arguments, &PERSISTENT)?, given) {
        (Some(Choice::No), Some(flag)) => Err(Error::usage(format!(
            "Command does not accept option: --{}.",
            flag.long
        ))),
        (Some(Choice::No), None) => Ok(Some(AttributeChange::Minor(None))),
        (None, None) => Ok(None),
        (Some(Choice::Yes), Some(_)) if arguments.has(&MINOR) => {
            let minor = minor(arguments, work)?;
            Ok(Some(AttributeChange::Minor(minor)))
        }
        _ => Err(Error::usage(
            "A minor number is kept with --persistent y and --minor Number, both of them.",
        )),
    }
}

fn minor(arguments: &Arguments, work: &mut Work<'_>) -> Result<Option<u32>, Error> {
    if let Some(major) = number::<u64>(arguments, &MAJOR)? {
        let major = major.min(i32::MAX as u64);
        work.warn(&format!(
            "Ignoring supplied major number {major} - kernel assigns major numbers dynamically. \
             Using major number 0 instead."
        ));
    }
    let Some(asked) = number::<u64>(arguments, &MINOR)? else {
        return Ok(None);
    };
    let minor = u32::try_from(asked).ok().filter(|_| asked <= MINOR_MAX);
    // As stock shows a number that it cannot hold.
    let shown = asked.min(i32::MAX as u64);
    let outside = || Error::failed(format!("Minor number {shown} outside range 0-{MINOR_MAX}."));
    minor.map(Some).ok_or_else(outside)
}

/// `-R`: what one note of a mirror's log covers, if it was given.
pub(super) fn region_size(arguments: &Arguments) -> Result<Option<Sectors>, Error> {
    let text = arguments.value(&REGION_SIZE);
    let parsed = text.map(|text| {
        let bytes = parse_size(text.trim_start_matches('+'), 'm');
        let bytes = bytes.map_err(|_| invalid(&REGION_SIZE, text))?;
        Ok(bytes.whole_sectors())
    });
    parsed.transpose()
}

/// The same of what is new: where it was not given, what `activation/raid_region_size` says, in
/// KiB.
pub(super) fn new_region_size(
    arguments: &Arguments,
    work: &Work<'_>,
) -> Result<Option<Sectors>, Error> {
    let kib = work.host().config.integer("activation/raid_region_size");
    let kib = kib.and_then(|kib| u64::try_from(kib).ok());
    let set = kib.map(|kib| Sectors(kib.saturating_mul(2)));
    Ok(region_size(arguments)?.or(set))
}
