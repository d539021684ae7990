//! `md create`: a new array.

use ashlar::apply::{Answer, find_device, header_now};
use ashlar::dm::raid::FirstSync;
use ashlar::dm::raid::md::Place;
use ashlar::live::Console;
use ashlar::md::{Held, NewArray, NewBitmap, Shape, create as make, held};
use ashlar::scan::{DeviceIndex, Scan};

use super::command::FORCE;
use super::member::sync;
use crate::args::{Arguments, Error, Flag, bytes, flags};
use crate::commands::Session;
use crate::commands::change::Terminal;
use crate::output::{Form, Units};

const LEVEL: Flag = Flag::value(
    "level",
    "linear|0|1|4|5|6|10",
    "create: the level, as to mdadm; raid5 and stripe and mirror mean the same as 5, 0 and 1.",
);
const METADATA: Flag = Flag::value(
    "metadata",
    "0.90|1.0|1.1|1.2",
    "create: the format of superblocks, 1.2 unless given. 1.0 and 0.90 stand at the end, so that \
     a leg of level 1 looks like the array.",
);
const CHUNK: Flag = Flag::value(
    "chunk",
    "Size",
    "create: how much of the array stands on one leg in a row, 512k unless given.",
);
const LAYOUT: Flag = Flag::value(
    "layout",
    "Name",
    "create: where parity stands (la, ra, ls, rs: ls unless given), or the copies of level 10 (n2, \
     f2, o2, n3, ...: n2 unless given).",
);
const LEGS: Flag = Flag::value(
    "raiddevices",
    "Number",
    "create: how many of the devices are legs.",
);
const SPARES: Flag = Flag::value(
    "sparedevices",
    "Number",
    "create: how many of the devices, the last ones, are spares.",
);
const BITMAP: Flag = Flag::value(
    "bitmap",
    "internal|none",
    "create: whether a bitmap says what was being written, so that after a cut, and for a leg \
     that was away, only that is copied; internal unless given.",
);
const REGION: Flag = Flag::value(
    "bitmapchunk",
    "Size",
    "create: how much a bit of the bitmap is about.",
);
const ASSUME_CLEAN: Flag = Flag::switch(
    "assumeclean",
    "create: copies and parity of what is on the devices go together; nothing is brought in sync.",
);

/// The flags of `create`.
pub(super) const FLAGS: &[Flag] = &[
    LEVEL,
    METADATA,
    CHUNK,
    LAYOUT,
    LEGS,
    SPARES,
    BITMAP,
    REGION,
    ASSUME_CLEAN,
];

const CHUNK_DEFAULT: u64 = 512 << 10;

pub(super) fn create(
    name: &str,
    devices: &[String],
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let name = name.strip_prefix("md:").unwrap_or(name);
    if devices.is_empty() {
        return Err(Error::usage(
            "md create: name the array and its devices, as in: ashlar md create --level 1 data \
             a.img b.img",
        ));
    }
    let mut new = new_array(name, devices.len(), arguments)?;
    let disks = session.disks(arguments)?;
    new.created = header_now(&disks.host.config)
        .creation_time
        .unwrap_or_default();
    let indexes = devices.iter().map(|name| find_device(&disks.scan, name));
    let indexes: Vec<DeviceIndex> = indexes.collect::<Result<_, _>>()?;
    for (number, index) in indexes.iter().enumerate() {
        if indexes[..number].contains(index) {
            let device = &devices[number];
            return Err(Error::usage(format!("md create: {device} is named twice")));
        }
    }
    // Whether it can be is known before anything is asked.
    let sizes = indexes.iter().map(|index| disks.scan.device(*index).size.0);
    let sizes: Vec<u64> = sizes.collect();
    let planned = new.format(&sizes, || [0; 16]);
    planned.map_err(|error| Error::failed(format!("md:{name}: {error}")))?;
    for index in &indexes {
        permit(&disks.scan, *index, arguments)?;
    }
    if arguments.has(&flags::TEST) {
        session.tell(&format!("md:{name} was not made: this is a test."));
        return Ok(());
    }
    let made = make(&disks.scan, &indexes, &new)?;
    let size = Units::default().show(made.size, Form::Short);
    session.line(&format!(
        "Array \"md:{name}\" created: {size} on {} devices.",
        devices.len()
    ))?;
    session.out().flush()?;
    let has_copies = !matches!(new.shape.level, 0 | -1);
    if !has_copies || new.first == FirstSync::Assumed {
        return Ok(());
    }
    sync(name, devices, arguments, session)
}

/// What the options say.
fn new_array(name: &str, count: usize, arguments: &Arguments) -> Result<NewArray, Error> {
    let level = arguments
        .value(&LEVEL)
        .ok_or_else(|| Error::usage("md create: say which --level: linear, 0, 1, 4, 5, 6 or 10"))?;
    let level = parse_level(level)?;
    let place = parse_place(arguments.value(&METADATA).unwrap_or("1.2"))?;
    let size = |flag: &Flag| {
        let text = arguments.value(flag);
        let size = text.map(|text| bytes(text, 'k'));
        size.transpose()
            .map_err(|error| Error::usage(format!("--{}: {error}", flag.long)))
    };
    let number = |flag: &Flag| {
        let text = arguments.value(flag);
        let number = text.map(str::parse::<usize>).transpose();
        number.map_err(|_| Error::usage(format!("--{}: that is no number", flag.long)))
    };
    let chunk = match level {
        1 | -1 => 0,
        _ => size(&CHUNK)?.unwrap_or(CHUNK_DEFAULT),
    };
    let legs = match (number(&LEGS)?, number(&SPARES)?) {
        (Some(legs), None) => legs,
        (Some(legs), Some(spares)) if legs.checked_add(spares) == Some(count) => legs,
        (Some(legs), Some(spares)) => {
            return Err(Error::usage(format!(
                "{legs} legs and {spares} spares, and {count} devices"
            )));
        }
        (None, spares) => count.saturating_sub(spares.unwrap_or_default()),
    };
    let has_copies = !matches!(level, 0 | -1);
    let bitmap = match (arguments.value(&BITMAP), size(&REGION)?) {
        (Some("none"), None) => NewBitmap::None,
        (None, None) if !has_copies => NewBitmap::None,
        (None | Some("internal"), region) => NewBitmap::Internal(region),
        (Some(other), _) => {
            return Err(Error::usage(format!(
                "--bitmap {other}: there are internal and none, and --bitmap-chunk is about one"
            )));
        }
    };
    Ok(NewArray {
        place,
        uuid: ashlar::md::new_identity(),
        name: match place {
            Place::EndOld => String::new(),
            _ => name.to_owned(),
        },
        created: 0,
        shape: Shape {
            level,
            layout: parse_layout(level, arguments.value(&LAYOUT))?,
            chunk,
        },
        legs,
        // Without copies nothing can be out of sync.
        first: if arguments.has(&ASSUME_CLEAN) || !has_copies {
            FirstSync::Assumed
        } else {
            FirstSync::Due
        },
        bitmap,
    })
}

/// Where superblocks of a format are.
fn parse_place(text: &str) -> Result<Place, Error> {
    Ok(match text {
        "0.90" | "0" | "0.9" => Place::EndOld,
        "1.0" => Place::End,
        "1.1" => Place::Start,
        "1.2" | "1" | "default" => Place::SecondBlock,
        other => {
            return Err(Error::usage(format!(
                "--metadata {other}: there are 0.90, 1.0, 1.1 and 1.2"
            )));
        }
    })
}

/// A level as people write it.
pub(super) fn parse_level(text: &str) -> Result<i32, Error> {
    let number = text.strip_prefix("raid").unwrap_or(text);
    Ok(match number {
        "linear" => -1,
        "0" | "stripe" | "striped" => 0,
        "1" | "mirror" => 1,
        "4" => 4,
        "5" => 5,
        "6" => 6,
        "10" => 10,
        _ => {
            return Err(Error::usage(format!(
                "--level {text}: there are linear, 0, 1, 4, 5, 6 and 10"
            )));
        }
    })
}

/// The number of a layout in md.
pub(super) fn parse_layout(level: i32, text: Option<&str>) -> Result<Option<u32>, Error> {
    let unknown = |text: &str| {
        Err(Error::usage(format!(
            "--layout {text}: level {level} has none"
        )))
    };
    match (level, text) {
        (5 | 6, text) => match text.unwrap_or("ls") {
            "la" | "left-asymmetric" => Ok(Some(0)),
            "ra" | "right-asymmetric" => Ok(Some(1)),
            "ls" | "left-symmetric" => Ok(Some(2)),
            "rs" | "right-symmetric" => Ok(Some(3)),
            other => unknown(other),
        },
        (10, text) => {
            let text = text.unwrap_or("n2");
            let copies = text.get(1..).and_then(|copies| copies.parse::<u32>().ok());
            let copies = copies.filter(|copies| (2..=255).contains(copies));
            match (text.chars().next(), copies) {
                (Some('n'), Some(copies)) => Ok(Some(1 << 8 | copies)),
                (Some('f'), Some(copies)) => Ok(Some(copies << 8 | 1)),
                (Some('o'), Some(copies)) => Ok(Some(1 << 16 | copies << 8 | 1)),
                _ => unknown(text),
            }
        }
        (_, Some(text)) => unknown(text),
        // How stripes over legs of several sizes follow one another: as kernels since 3.14 do it.
        (0, None) => Ok(Some(2)),
        (4, None) => Ok(Some(0)),
        (_, None) => Ok(None),
    }
}

/// Asks whether what a device holds may go.
pub(super) fn permit(scan: &Scan, device: DeviceIndex, arguments: &Arguments) -> Result<(), Error> {
    let name = &scan.device(device).name;
    let what = match held(scan, device)? {
        Held::Nothing => return Ok(()),
        Held::Something(what) => what,
        Held::Used(what) if arguments.has(&FORCE) => what,
        Held::Used(what) => {
            return Err(Error::failed(format!(
                "{name} holds {what}: nothing was written; if that may go, say so with --force"
            )));
        }
        Held::Unusable(why) => {
            return Err(Error::failed(format!("{name} cannot be used: {why}")));
        }
    };
    let is_agreed = arguments.has(&flags::YES)
        || (arguments.count(&flags::QUIET) < 2
            && Terminal.ask(&format!("{name} holds {what}. Write over it? [y/n]: "))
                == Answer::Yes);
    if is_agreed {
        return Ok(());
    }
    Err(Error::failed(format!(
        "{name} holds {what}: nothing was written"
    )))
}
