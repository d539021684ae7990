//! `lvconvert`: from a linear volume to a mirror and back, more or fewer copies, another log.
//! Arrays are in `convert_array.rs`.

use ashlar::activate::{MirrorFacts, current_images, mirror_facts};
use ashlar::apply::{Planned, Question, Tolerated};
use ashlar::scan::{FoundVg, Scan};
use lvm2::model::{LvId, SegmentType};
use lvm2::plan::logical::{
    Conversion, ImageStates, Initial, MirrorState, Split, convert_mirrors, repair_volume,
    split_mirror,
};

use super::arguments::{ALLOC, CHANGE, FORCE, ZERO, invalid, refuse};
use super::checksums::{self, INTEGRITY};
use super::chosen::missing;
use super::convert_array::{self, CHUNK, REPLACE, is_array, split_count};
use super::convert_reshape::{self, MORE_STRIPES};
use super::convert_snapshot::{
    self, MERGE, MERGE_SNAPSHOT, SPLIT_SNAPSHOT, join, joins, split_off,
};
use super::convert_subject::{
    Subject, is_of_type, require_convertible, require_kind, require_places, require_shown,
    split_words, subjects,
};
use super::groups::found_group;
use super::limits::{new_region_size, region_size};
use super::lvcreate::{SNAPSHOT, mirror_log, refuse_types, unknown_type};
use super::merging::{self, BACKGROUND, INTERVAL, merge_and_follow};
use super::not_done;
use super::run::run;
use super::volumes::{
    ACCEPTED, CHUNK_SIZE, CORE_LOG, MIRROR_LOG, NO_SYNC, REGION_SIZE, TYPE, copies, path, places,
    policy, require_name, type_shown,
};
use super::work::{Work, failed, planned};
use crate::args::{Arguments, Command, Error, Example, Flag, LvName, Target, flags, split_target};
use crate::commands::Session;

pub(super) const MIRRORS: Flag = Flag::value(
    "mirrors",
    "[+|-]Number",
    "How many copies there are to be beside the first, or how many more or fewer.",
)
.short('m');
pub(super) const REPAIR: Flag = Flag::switch(
    "repair",
    "Let a mirror go on without the copies and the log that are on missing devices; of an array, \
     put other images, on the devices that are named or on any, in the place of those that are \
     lost. Refused where all copies that are left are out of date.",
);
pub(super) const USE_OUTDATED: Flag = Flag::value(
    "useoutdated",
    "Image",
    "Let the mirror go on with this image although it is out of date or not known to be in sync, \
     as m_mimage_1: what was written last is lost. Only where no other image is left. May be given \
     for several mirrors.",
);
pub(super) const SPLIT: Flag = Flag::value(
    "splitmirrors",
    "1",
    "Make a copy of a mirror in sync a volume by itself, with the name of --name: the one on the \
     devices that are named, else the last one. One at a time.",
);
const NAME: Flag = Flag::value("name", "LV", "The name of the copy that is split off.").short('n');
const USE_POLICIES: Flag = Flag::switch(
    "usepolicies",
    "Accepted for scripts: lost copies are not replaced by themselves.",
);

pub(super) const TRACK: Flag = Flag::switch(
    "trackchanges",
    "With --splitmirrors 1, of raid1: the copy becomes a volume that can only be read, under its \
     name, as data_rimage_1. When it is merged (--merge) it gets what was written meanwhile, and \
     nothing else is copied.",
);
pub(super) const MERGE_MIRRORS: Flag = Flag::switch(
    "mergemirrors",
    "Merge an image of raid1 that was split off with --trackchanges; --merge does that, too.",
);

/// `lvconvert`
pub(super) const COMMAND: Command = Command {
    name: "lvconvert",
    summary: "Give a logical volume copies or take them, make it the store of a snapshot, and back",
    operands: "LV [PV[:PE[-PE]]|@TAG ...] | -s ORIGIN STORE | --merge SNAPSHOT|@TAG...",
    description: "Gives a volume more copies, on devices that are named or on any, or takes copies \
        away: those on the devices that are named, else the last ones. New copies are made equal \
        to the first while the volume is served next. --mirrorlog changes where a mirror notes \
        what is in sync. --splitmirrors makes a copy a volume of its own.\n\n\
        Copies are kept by RAID 1 unless --type mirror or lvm.conf says otherwise. --type also \
        turns a mirror into raid1 and back, striped volumes, raid0 and raid0_meta into each other \
        and into raid4, raid5_n, raid6_n_6 and raid10, those back, raid5 into raid6 and back, and \
        raid1 of two images into raid5 and back: parity and copies come and go, and no data \
        moves. Where that takes several steps the first one is done, and said; repeat the command. \
        raid4, raid5 and raid6 get more stripes (--stripes), other chunks (--stripesize) and other \
        layouts (--type raid5_rs) by a reshape: it begins with the command, and goes on while the \
        array is served; what it gains is there when the same is asked once more behind the \
        end, or the array is opened anew. Other reshapes are named, and not done here. An array \
        must be in sync where its first copy or its parity goes, where images are added to it or \
        replaced, where one is split off, and where its level changes. All of this may be done \
        while the array is served.\n\n\
        With --repair a mirror whose devices are missing goes on with what is left of it, and an \
        array gets other images. --raidintegrity gives the images of an array checksums, or takes \
        them, while nobody uses it; they are computed while it is served next. Images that \
        --repair, --replace and -m put there have checksums where the others do; what else is \
        done here is not done with them: take them away, and make new ones afterwards.\n\n\
        -s makes a volume the store of a snapshot of another one; what it held is lost, after a \
        question. --splitsnapshot makes a volume of a snapshot's store. --merge gives an origin \
        back what a snapshot of it holds; where the origin is served it waits for the end, and \
        ended early it leaves a merge that goes on.",
    flags: &[
        &[
            MIRRORS,
            TYPE,
            MIRROR_LOG,
            CORE_LOG,
            REGION_SIZE,
            CHUNK,
            MORE_STRIPES,
            NO_SYNC,
            REPAIR,
            USE_OUTDATED,
            REPLACE,
            SPLIT,
            TRACK,
            INTEGRITY,
            checksums::MODE,
            checksums::BLOCK,
            MERGE_MIRRORS,
            NAME,
            SNAPSHOT,
            CHUNK_SIZE,
            ZERO,
            SPLIT_SNAPSHOT,
            MERGE,
            MERGE_SNAPSHOT,
            ALLOC,
            INTERVAL,
            BACKGROUND,
            USE_POLICIES,
            FORCE,
        ],
        CHANGE,
        ACCEPTED,
        not_done::NEW,
        not_done::SETTINGS,
        not_done::CONVERSIONS,
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "lvconvert -m 1 vg0/data",
            does: "gives a volume a second copy",
        },
        Example {
            line: "lvconvert --type raid6 vg0/five",
            does: "gives an array with parity a second one, on another device",
        },
        Example {
            line: "lvconvert --replace /dev/sdb vg0/data /dev/sdd",
            does: "moves an image of an array from one device to another",
        },
        Example {
            line: "lvconvert --raidintegrity y vg0/data",
            does: "gives the images of an array a checksum for each block",
        },
        Example {
            line: "lvconvert --splitmirrors 1 --name copy vg0/data",
            does: "makes a second volume of the last copy",
        },
        Example {
            line: "lvconvert --splitmirrors 1 --trackchanges vg0/data",
            does: "sets the last copy of raid1 aside, to be read as vg0/data_rimage_1",
        },
        Example {
            line: "lvconvert -m 0 vg0/data /dev/sdb",
            does: "takes the copy on one device away",
        },
        Example {
            line: "lvconvert -s vg0/data vg0/spare",
            does: "takes a snapshot of vg0/data, with vg0/spare as its store",
        },
        Example {
            line: "lvconvert --splitsnapshot vg0/monday",
            does: "ends a snapshot, and keeps its store",
        },
        Example {
            line: "lvconvert --merge vg0/monday",
            does: "makes the origin what it was when the snapshot was taken",
        },
    ],
    run: run_command,
};

/// As all commands that change metadata; a merge is followed to its end.
fn run_command(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let merges = [&MERGE, &MERGE_MIRRORS, &MERGE_SNAPSHOT];
    if merges.into_iter().any(|flag| arguments.has(flag)) {
        merge_and_follow(arguments, session)
    } else {
        run(arguments, session)
    }
}

/// What is asked for about the number of copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Count {
    /// As many as there are.
    Same,
    /// So many in all.
    Exactly(usize),
    /// So many more.
    More(usize),
    /// So many fewer.
    Fewer(usize),
}

impl Count {
    pub(super) fn of(self, now: usize, name: &str) -> Result<usize, Error> {
        let legs = match self {
            Self::Same => Some(now),
            Self::Exactly(legs) => Some(legs),
            Self::More(more) => now.checked_add(more),
            Self::Fewer(fewer) => now.checked_sub(fewer).filter(|legs| *legs > 0),
        };
        legs.ok_or_else(|| {
            Error::failed(format!(
                "Unable to reduce images by specified amount - only {now} in {name}"
            ))
        })
    }
}

/// Converts the volumes that are meant.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let merges_one = arguments.has(&MERGE_SNAPSHOT) || arguments.has(&not_done::MERGE_THIN);
    if merges_one && arguments.operands().len() > 1 {
        return Err(Error::failed("One LV position arg is required."));
    }
    if joins(arguments) && !arguments.has(&SPLIT_SNAPSHOT) {
        return join(arguments, work);
    }
    if arguments.has(&SPLIT)
        && let Some(name) = arguments.value(&NAME)
    {
        let (_, name) = path(name).map_err(Error::usage)?;
        require_name("Logical volume name", &name)?;
    }
    let (named, words) = split_words(arguments)?;
    let all = subjects(arguments, work, &named)?;
    for one in &all {
        match convert_one(arguments, work, one, words) {
            Err(error) if all.len() > 1 => work.fail_later(&error.to_string()),
            result => result?,
        }
    }
    Ok(())
}

/// Converts a volume.
fn convert_one(
    arguments: &Arguments,
    work: &mut Work<'_>,
    subject: &Subject,
    words: &[String],
) -> Result<(), Error> {
    let volume = &subject.volume;
    if !is_of_type(arguments, work, subject)? {
        return Ok(());
    }
    let is_merged = arguments.has(&MERGE) || arguments.has(&MERGE_MIRRORS);
    require_kind(arguments, work, volume)?;
    require_shown(arguments, work, volume)?;
    if !is_merged {
        require_places(work, volume, words)?;
    }
    require_convertible(arguments, work, volume)?;
    if is_merged {
        return merging::merge(arguments, work, volume);
    }
    refuse(
        arguments,
        &[not_done::NEW, not_done::SETTINGS, not_done::CONVERSIONS],
    )?;
    refuse_types(arguments)?;
    if arguments.has(&MERGE_SNAPSHOT) {
        return convert_snapshot::merge(work, volume);
    }
    if arguments.has(&SPLIT_SNAPSHOT) {
        return split_off(work, volume);
    }
    if arguments.has(&REPAIR) {
        if is_array(work, volume)? {
            return convert_array::repair(arguments, work, volume, words);
        }
        return repair(arguments, work, volume);
    }
    if arguments.has(&REPLACE) {
        return convert_array::replace(arguments, work, volume, words);
    }
    if arguments.has(&USE_OUTDATED) {
        return Err(Error::usage("--useoutdated belongs to --repair."));
    }
    if arguments.has(&SPLIT) {
        return split(arguments, work, volume, words);
    }
    if arguments.has(&INTEGRITY) {
        return checksums::convert(arguments, work, volume);
    }
    checksums::wanted(arguments)?;
    if convert_reshape::convert(arguments, work, volume, words)? {
        return Ok(());
    }
    if convert_array::convert(arguments, work, volume, words)? {
        return Ok(());
    }
    convert(arguments, work, volume, words)
}

/// Gives a volume another number of copies, or another log.
fn convert(
    arguments: &Arguments,
    work: &mut Work<'_>,
    volume: &LvName,
    words: &[String],
) -> Result<(), Error> {
    let (asked, new) = (region_size(arguments)?, new_region_size(arguments, work)?);
    let log = mirror_log(arguments)?;
    let now = present(work, volume)?;
    let region_size = if now.copies == 1 { new } else { asked };
    let count = count(arguments)?;
    let legs = count.of(now.copies, &volume.lv)?;
    if now.copies == 1 && arguments.value(&TYPE).is_none() && legs == 1 && log.is_some() {
        return Err(not_permitted(volume, &now.kind));
    }
    if now.copies > 1 && legs == now.copies && log.is_none() {
        // As in stock: there is nothing to do, and that is no failure.
        return Ok(());
    }
    let policy = policy(arguments)?;
    let initial = if arguments.has(&NO_SYNC) {
        Initial::NoSync
    } else {
        Initial::Synchronise
    };
    let finder = work.finder();
    let host = work.host().clone();
    let request = work.request_of(&[&volume.vg]);
    work.change(&request, |scan, author| {
        let found = scan.find_group(&volume.vg)?;
        let id = found.model.lv_by_name(&volume.lv);
        let id = id.ok_or_else(|| missing(&volume.vg, &volume.lv))?;
        let places = places(scan, found, &finder, words)?;
        let conversion = Conversion {
            volume: &volume.lv,
            legs,
            log,
            region_size,
            initial,
            places: places.as_ref(),
            policy,
            state: state(scan, &host, found, id)?,
        };
        planned(convert_mirrors(&found.model, &conversion, author))
    })?;
    if legs > now.copies {
        work.note("Conversion starts after activation.");
    }
    Ok(())
}

/// A volume as it is before.
pub(super) struct Present {
    copies: usize,
    pub(super) kind: String,
}

pub(super) fn present(work: &Work<'_>, volume: &LvName) -> Result<Present, Error> {
    let scan = work.scan()?;
    let group = found_group(&scan, &volume.vg)?;
    let id = group.model.lv_by_name(&volume.lv);
    let id = id.ok_or_else(|| failed(&missing(&volume.vg, &volume.lv)))?;
    Ok(Present {
        copies: copies(&group.model, id),
        kind: type_shown(&group.model, id),
    })
}

pub(super) fn not_permitted(volume: &LvName, kind: &str) -> Error {
    let name = format!("{}/{}", volume.vg, volume.lv);
    Error::failed(format!(
        "Command on LV {name} does not accept LV type {kind}.\nCommand not permitted on LV {name}."
    ))
}

/// `-m`
pub(super) fn asked_copies(arguments: &Arguments) -> Result<Option<Count>, Error> {
    let number = |text: &str, digits: &str| -> Result<usize, Error> {
        let number: u64 = digits.parse().map_err(|_| invalid(&MIRRORS, text))?;
        // What stock reads as a number below zero.
        let is_below = i32::try_from(number).is_err();
        match usize::try_from(number) {
            Ok(number) if !is_below => Ok(number),
            _ => Err(Error::failed(
                "Unable to reduce images by specified amount.",
            )),
        }
    };
    Ok(match arguments.value(&MIRRORS) {
        None => None,
        Some(text) => Some(match text.as_bytes().first() {
            Some(b'+') => Count::More(number(text, &text[1..])?),
            Some(b'-') => Count::Fewer(number(text, &text[1..])?),
            _ => Count::Exactly(number(text, text)?.saturating_add(1)),
        }),
    })
}

/// `-m` and `--type`
fn count(arguments: &Arguments) -> Result<Count, Error> {
    let asked = asked_copies(arguments)?;
    match (arguments.value(&TYPE), asked) {
        (None | Some("mirror"), Some(count)) => Ok(count),
        (Some("linear" | "striped"), None | Some(Count::Exactly(1))) => Ok(Count::Exactly(1)),
        (Some("linear" | "striped"), Some(_)) => {
            Err(Error::usage("Only a mirror has copies: --type mirror."))
        }
        (Some(other), _) => Err(unknown_type(other)),
        (None, None) => {
            let is_about_log = arguments.has(&MIRROR_LOG) || arguments.has(&CORE_LOG);
            if is_about_log {
                return Ok(Count::Same);
            }
            Err(Error::usage(
                "Please say what to make of the volume: -m, --type or --mirrorlog.",
            ))
        }
    }
}

/// Whether the copies of a mirror are the same. What must not happen in any case is refused.
pub(super) fn state(
    scan: &Scan,
    host: &ashlar::host::Host,
    group: &FoundVg,
    id: LvId,
) -> ashlar::Result<MirrorState> {
    if !matches!(group.model.lv(id).first(), Some(SegmentType::Mirror(_))) {
        return Ok(MirrorState::Unknown);
    }
    match mirror_facts(scan, host, group, id)? {
        MirrorFacts::InSync => Ok(MirrorState::InSync),
        MirrorFacts::FirstIsRight => Ok(MirrorState::Unknown),
        MirrorFacts::FirstIsStale => {
            let what = format!(
                "The first copy of {}/{} is not whole, and the others are to be made from it: \
                 serve the volume until its copies are in sync",
                group.name,
                group.model.lv(id).name()
            );
            Err(ashlar::Error::new(ashlar::Kind::Refused, what))
        }
    }
}

/// A copy of an array is set aside to be read.
fn track(
    arguments: &Arguments,
    work: &mut Work<'_>,
    volume: &LvName,
    words: &[String],
) -> Result<(), Error> {
    if arguments.has(&NAME) {
        return Err(Error::usage(
            "--trackchanges leaves the image its name: leave --name out.",
        ));
    }
    if split_count(&SPLIT, arguments.value(&SPLIT))? != 1 {
        return Err(Error::failed(
            "Only one copy is split off at a time: --splitmirrors 1.",
        ));
    }
    convert_array::track(work, volume, words)
}

/// A copy of a mirror becomes a volume of its own.
fn split(
    arguments: &Arguments,
    work: &mut Work<'_>,
    volume: &LvName,
    words: &[String],
) -> Result<(), Error> {
    let other = [&MIRRORS, &TYPE, &MIRROR_LOG, &CORE_LOG];
    if other.into_iter().any(|flag| arguments.has(flag)) {
        return Err(Error::usage(
            "--mirrors/--type mirror/--type raid* and --splitmirrors are mutually exclusive.",
        ));
    }
    if arguments.has(&TRACK) {
        return track(arguments, work, volume, words);
    }
    let name = arguments
        .value(&NAME)
        .ok_or_else(|| Error::usage("Please name the new volume: --splitmirrors 1 --name LV."))?;
    let name = match split_target(name) {
        Target::Vg(plain) => plain,
        Target::Lv(LvName { vg, lv }) if vg == volume.vg => lv,
        _ => return Err(invalid(&NAME, name)),
    };
    require_name("Logical volume name", &name)?;
    let now = present(work, volume)?;
    if is_array(work, volume)? && now.copies > 1 && now.kind == "raid1" {
        let count = split_count(&SPLIT, arguments.value(&SPLIT))?;
        return convert_array::split(work, volume, (count, &name), words);
    }
    if now.copies == 1 {
        return Err(not_permitted(volume, &now.kind));
    }
    match arguments.value(&SPLIT) {
        Some("1") => {}
        Some(count) if count.parse().is_ok_and(|count: usize| count >= now.copies) => {
            return Err(Error::failed(format!(
                "Unable to split off {count} images: {}/{} has {}.",
                volume.vg, volume.lv, now.copies
            )));
        }
        Some(count) if count.parse().is_ok_and(|count: usize| count > 1) => {
            return Err(Error::failed(
                "Only one copy is split off at a time: --splitmirrors 1.",
            ));
        }
        other => return Err(invalid(&SPLIT, other.unwrap_or_default())),
    }
    let finder = work.finder();
    let host = work.host().clone();
    let request = work.request_of(&[&volume.vg]);
    work.change(&request, |scan, author| {
        let found = scan.find_group(&volume.vg)?;
        let id = found.model.lv_by_name(&volume.lv);
        let id = id.ok_or_else(|| missing(&volume.vg, &volume.lv))?;
        let places = places(scan, found, &finder, words)?;
        let split = Split {
            volume: &volume.lv,
            name: &name,
            places: places.as_ref(),
            state: state(scan, &host, found, id)?,
        };
        planned(split_mirror(&found.model, &split, author))
    })?;
    Ok(())
}

/// A mirror goes on with what is left of it.
fn repair(arguments: &Arguments, work: &mut Work<'_>, volume: &LvName) -> Result<(), Error> {
    let outdated: Vec<String> = arguments.values(&USE_OUTDATED).map(image_name).collect();
    let host = work.host().clone();
    let now = present(work, volume)?;
    if now.copies == 1 {
        return Err(not_permitted(volume, &now.kind));
    }
    let mut request = work.request_of(&[&volume.vg]);
    request.tolerated.push(Tolerated::Missing);
    let scan = work.scan()?;
    let group = found_group(&scan, &volume.vg)?;
    let is_whole = |group: &FoundVg| {
        let mut members = group.members.iter();
        members.all(|member| member.presence.usable().is_some())
    };
    if is_whole(group) {
        work.note(&format!(
            "Volume {}/{} is consistent. Nothing to repair.",
            volume.vg, volume.lv
        ));
        return Ok(());
    }
    work.change(&request, |scan, author| {
        let found = scan.find_group(&volume.vg)?;
        let lost = found
            .members
            .iter()
            .filter(|member| member.presence.usable().is_none());
        let lost = lost.map(|member| member.id).collect();
        let states = ImageStates {
            current: current_images(scan, &host, found),
            outdated: outdated.clone(),
        };
        let change = repair_volume(&found.model, &volume.lv, &lost, &states, author);
        planned(change).map(|planned| with_consent(planned, &found.name, &outdated))
    })?;
    Ok(())
}

/// The name of an image, also where it was written as `VG/IMAGE`.
pub(super) fn image_name(text: &str) -> String {
    text.rsplit('/').next().unwrap_or(text).to_owned()
}

/// The plan, asking before images are used that are out of date.
pub(super) fn with_consent(mut planned: Planned, group: &str, outdated: &[String]) -> Planned {
    for image in outdated {
        planned.questions.push(Question {
            text: format!(
                "Image {group}/{image} is out of date: what was written last to its mirror is \
                 LOST if it is used. Use it? [y/n]: "
            ),
            refusal: format!("Image {group}/{image} not used; nothing was changed."),
        });
    }
    planned
}
