//! `lvextend`, `lvreduce`, `lvresize`: another size for a volume.

use ashlar::activate::Activator;
use ashlar::apply::{Planned, shrunk_records};
use ashlar::scan::{FoundVg, Scan};
use lvm2::Sectors;
use lvm2::model::{LvId, Relations, VolumeGroup};
use lvm2::plan::logical::{ExtendPolicy, NewExtents, Resize, resize_volume, size_by_policy};
use lvm2::plan::places::{FreeSpace, Places};
use lvm2::plan::size::{Amount, Base, ResizeTo, Sign, SizeArgument};

use super::arguments::{
    ALLOC, CHANGE, FORCE, FS_MODE, FS_RESIZE, NO_FSCK, RESIZE_FS, number, size as size_of,
};
use super::arrays::{AtWork, level};
use super::chosen::missing;
use super::file_system;
use super::groups::changeable_group;
use super::lvcreate::{is_known_type, unknown_type};
use super::run::run;
use super::volumes::{
    ACCEPTED, CONTIGUOUS, EXTENTS, MIRRORS, NO_SYNC, SIZE, STRIPE_SIZE, STRIPES, Signs, TYPE,
    copies, new_places, policy, single, size,
};
use super::work::{Work, failed, planned};
use super::zeros::require_nonzero;
use crate::args::{Arguments, Command, Error, Example, Flag, LvName, flags};
use crate::commands::Session;

const POOL_METADATA_SIZE: Flag = Flag::value(
    "poolmetadatasize",
    "Size",
    "Refused: only thin pools have metadata of their own.",
);
const USE_POLICIES: Flag = Flag::switch(
    "usepolicies",
    "Extend the store of a snapshot if more of it is in use than \
     activation/snapshot_autoextend_threshold says, by activation/snapshot_autoextend_percent. Who \
     serves its origin does that by itself.",
);
const NO_POLICIES: Flag = Flag::switch("usepolicies", "Refused: lvextend does that.");

const LARGER: &[Flag] = &[
    SIZE,
    EXTENTS,
    STRIPES,
    STRIPE_SIZE,
    ALLOC,
    CONTIGUOUS,
    MIRRORS,
    TYPE,
    NO_SYNC,
    RESIZE_FS,
    NO_FSCK,
    FS_RESIZE,
    FS_MODE,
    FORCE,
    POOL_METADATA_SIZE,
];
const SMALLER: &[Flag] = &[SIZE, EXTENTS, RESIZE_FS, NO_FSCK, FS_RESIZE, FS_MODE, FORCE];

/// `lvextend`
pub(super) const EXTEND: Command = Command {
    name: "lvextend",
    summary: "Make a logical volume larger",
    operands: "LV [PV[:PE[-PE]]|@TAG ...]",
    description: "Adds extents behind the end of a volume, in as many stripes as its last segment \
        has unless -i says otherwise; a mirror or an array grows in all of its copies or \
        images; an array with checksums grows while nobody uses it. Without a size, all \
        that is free on the devices that are named is added. Of a snapshot its store grows, as far \
        as its origin can fill it; an origin grows, and its snapshots keep their size.",
    flags: &[LARGER, &[USE_POLICIES], CHANGE, ACCEPTED, flags::COMMON],
    examples: &[
        Example {
            line: "lvextend -L +1g vg0/data",
            does: "adds 1 GiB",
        },
        Example {
            line: "lvextend -r -L +1g vg0/data",
            does: "adds 1 GiB, and makes the file system in it as large",
        },
        Example {
            line: "lvextend -l +100%FREE vg0/data",
            does: "adds all that is free",
        },
        Example {
            line: "lvextend --use-policies vg0/monday",
            does: "extends a snapshot if lvm.conf says that it is too full",
        },
    ],
    run: run_extend,
};

/// `lvreduce`
pub(super) const REDUCE: Command = Command {
    name: "lvreduce",
    summary: "Make a logical volume smaller",
    operands: "LV",
    description: "Takes extents off the end of a volume; what they held is lost. A volume whose \
        file system (ext2, ext3, ext4, XFS, btrfs), swap or LUKS would be cut is not reduced: -r \
        makes ext2, ext3, ext4, btrfs and swap smaller first, --fs ignore cuts them. Of a snapshot \
        its store becomes smaller, and no smaller than what it holds; an origin does not.\n\n\
        With -r the file system gets its size in front of the volume, so that it is never larger \
        than the volume, whatever interrupts the command; the same command again does the rest. A \
        volume that is not attached is attached meanwhile. Where a tool fails, the volume is not \
        reduced.",
    flags: &[SMALLER, &[NO_POLICIES], CHANGE, ACCEPTED, flags::COMMON],
    examples: &[
        Example {
            line: "lvreduce -r -L -512m vg0/data",
            does: "makes the file system smaller by 512 MiB, then the volume",
        },
        Example {
            line: "ashlar plan lvreduce -r -L 1g vg0/data",
            does: "shows what that would run, without doing it",
        },
    ],
    run: run_reduce,
};

/// `lvresize`
pub(super) const RESIZE: Command = Command {
    name: "lvresize",
    summary: "Make a logical volume larger or smaller",
    operands: "LV [PV[:PE[-PE]]|@TAG ...]",
    description: "What lvextend or lvreduce does, as the size asks for.",
    flags: &[LARGER, &[NO_POLICIES], CHANGE, ACCEPTED, flags::COMMON],
    examples: &[Example {
        line: "lvresize -L 2g vg0/data",
        does: "gives the volume 2 GiB",
    }],
    run: run_either,
};

fn run_extend(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    run_command(arguments, session, ResizeTo::Larger)
}

fn run_reduce(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    run_command(arguments, session, ResizeTo::Smaller)
}

fn run_either(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    run_command(arguments, session, ResizeTo::Either)
}

/// With the file system, or as all commands that change metadata.
fn run_command(
    arguments: &Arguments,
    session: &mut Session,
    direction: ResizeTo,
) -> Result<(), Error> {
    require_nonzero(arguments)?;
    require_one_size(arguments)?;
    if file_system::is_wanted(arguments) {
        file_system::resize(arguments, session, direction)
    } else {
        run(arguments, session)
    }
}

/// Makes it larger.
pub(super) fn extend(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    resize(arguments, work, ResizeTo::Larger)
}

/// Makes it smaller.
pub(super) fn reduce(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    resize(arguments, work, ResizeTo::Smaller)
}

/// Either of them.
pub(super) fn either(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    resize(arguments, work, ResizeTo::Either)
}

/// What goes with no group is refused before one is looked for.
fn require_fitting(arguments: &Arguments, direction: ResizeTo) -> Result<(), Error> {
    if arguments.has(&USE_POLICIES) && direction != ResizeTo::Larger {
        return Err(Error::usage(
            "Command does not accept option: --usepolicies.",
        ));
    }
    let stripes = number::<usize>(arguments, &STRIPES)?;
    if arguments.value(&TYPE) == Some("linear") && stripes.is_some_and(|stripes| stripes > 1) {
        return Err(Error::usage("Cannot use stripes with linear type."));
    }
    Ok(())
}

/// Refuses the size of a pool's metadata of what is no pool, in stock's words.
fn require_pool(arguments: &Arguments, found: &FoundVg, name: &str) -> ashlar::Result<()> {
    let vg = &found.model;
    let is_pool = |id: LvId| match vg.lv(id).segments.first() {
        Some(segment) => segment.type_name() == "thin-pool",
        None => false,
    };
    let is_of_pool = vg.lv_by_name(name).is_some_and(|id| {
        is_pool(id)
            || Relations::of(vg)
                .used_by(id)
                .iter()
                .any(|used| is_pool(used.by))
    });
    if is_of_pool || !arguments.has(&POOL_METADATA_SIZE) {
        return Ok(());
    }
    let what = "--poolmetadatasize can be used only with thin pools.";
    Err(ashlar::Error::new(ashlar::Kind::Refused, what))
}

/// A size is said in one way, which is asked before anything is looked at.
fn require_one_size(arguments: &Arguments) -> Result<(), Error> {
    if arguments.has(&SIZE) && arguments.has(&EXTENTS) {
        size(arguments, Signs::Both).map(drop)
    } else {
        Ok(())
    }
}

fn resize(arguments: &Arguments, work: &mut Work<'_>, direction: ResizeTo) -> Result<(), Error> {
    if !file_system::is_wanted(arguments) {
        return change_size(arguments, work, direction);
    }
    if work.is_shown() {
        return file_system::foresee(arguments, work, direction);
    }
    // Who serves the volume cannot wait for tools that use it.
    Err(Error::failed(
        "The file system is resized by the command where it is typed, not by the process that owns \
         the group: leave --resizefs out on the control socket.",
    ))
}

/// Changes the size of the volume alone.
pub(super) fn change_size(
    arguments: &Arguments,
    work: &mut Work<'_>,
    direction: ResizeTo,
) -> Result<(), Error> {
    require_nonzero(arguments)?;
    require_one_size(arguments)?;
    let [volume, words @ ..] = arguments.operands() else {
        return Err(Error::usage("Please specify a logical volume path."));
    };
    let volume = single(volume)?;
    require_fitting(arguments, direction)?;
    require_resizable(arguments, work, &volume, words)?;
    let policy_of_stores = arguments.has(&USE_POLICIES).then(|| extension(work));
    let size = match policy_of_stores {
        None => amount(arguments, words, direction)?,
        // It is known when it is known how full the store is.
        Some(_) => SizeArgument::extents(0),
    };
    let mirrors: Option<usize> = number(arguments, &MIRRORS)?;
    let cling_tags = work.host().config.cling_tags();
    let template = Resize {
        volume: &volume.lv,
        size,
        direction,
        kind: kind(arguments)?,
        stripes: number(arguments, &STRIPES)?,
        stripe_size: size_of(arguments, &STRIPE_SIZE, 'k')?,
        places: None,
        policy: policy(arguments)?,
        cling_tags: &cling_tags,
        store_used: None,
    };
    let finder = work.finder();
    let host = work.host().clone();
    let request = work.request_of(&[&volume.vg]);
    let running = running(work, &volume);
    let at_work = work.arrays()?;
    work.change(&request, |scan, author| {
        let found = scan.find_group(&volume.vg)?;
        require_copies(found, &volume.lv, mirrors)?;
        let places = new_places(scan, found, &finder, words)?;
        let is_ours = request.ownership.is_of(found.uuid);
        let mut reader = Activator::new(scan, &host).among_ours(is_ours);
        let mut resize = Resize {
            store_used: match running {
                Some(used) => Some(used),
                None if policy_of_stores.is_some() => in_use(&mut reader, found, &volume.lv)?,
                None => used(&mut reader, found, &volume.lv, direction)?,
            },
            places: places.as_ref(),
            ..template.clone()
        };
        if let Some(policy) = policy_of_stores {
            let id = found.model.lv_by_name(&volume.lv);
            let id = id.ok_or_else(|| missing(&volume.vg, &volume.lv))?;
            let used = resize.store_used.and_then(Sectors::to_bytes);
            match size_by_policy(&found.model, id, used, policy)? {
                Some(size) => resize.size = size,
                None => return Ok(Planned::default()),
            }
        }
        let planned = planned(resize_volume(&found.model, &resize, author))?;
        told_of_size(planned, (scan, found), &volume.lv, &at_work)
    })?;
    Ok(())
}

/// Fails where group or volume are not there or may not be changed, or words name no extents,
/// before anything else is wrong.
fn require_resizable(
    arguments: &Arguments,
    work: &Work<'_>,
    volume: &LvName,
    words: &[String],
) -> Result<(), Error> {
    let scan = work.scan()?;
    let found = changeable_group(&scan, &volume.vg, &[])?;
    let checked = require_copies(found, &volume.lv, None)
        .and_then(|()| new_places(&scan, found, &work.finder(), words))
        .and_then(|places| require_room(found, places.as_ref()))
        .and_then(|()| require_pool(arguments, found, &volume.lv));
    checked.map_err(|error| failed(&error))
}

/// Fails where no physical volume that was named has anything free.
fn require_room(found: &FoundVg, places: Option<&Places>) -> ashlar::Result<()> {
    if let Some(places) = places {
        FreeSpace::of_named(&found.model, places, &mut Vec::new())?;
    }
    Ok(())
}

/// Fails where the volume is not there, or is to have another number of copies.
fn require_copies(found: &FoundVg, name: &str, mirrors: Option<usize>) -> ashlar::Result<()> {
    let Some(id) = found.model.lv_by_name(name) else {
        let group = &found.name;
        let what = format!("Logical volume {name} not found in volume group {group}.");
        return Err(ashlar::Error::new(ashlar::Kind::NotFound, what));
    };
    if mirrors.is_none_or(|asked| asked.checked_add(1) == Some(copies(&found.model, id))) {
        return Ok(());
    }
    let what = "Cannot vary number of mirrors in LV yet.";
    Err(ashlar::Error::new(ashlar::Kind::Refused, what))
}

/// The same plan; where it makes an array larger that nobody uses, images are told first how large
/// it is.
fn told_of_size(
    mut planned: Planned,
    (scan, found): (&Scan, &FoundVg),
    volume: &str,
    at_work: &AtWork,
) -> ashlar::Result<Planned> {
    if let Some(id) = found.model.lv_by_name(volume)
        && grows(&found.model, id, &planned)
        && !at_work.has(&found.model.lv(id).uuid)
    {
        let first = shrunk_records(scan, found, id)?;
        planned.change.before.extend(first);
    }
    Ok(planned)
}

/// Whether a plan makes a volume larger.
fn grows(before: &VolumeGroup, id: LvId, planned: &Planned) -> bool {
    let uuid = before.lv(id).uuid;
    let after = planned.change.vg();
    let after = after.and_then(|after| Some(after.lv(after.lv_by_uuid(&uuid)?).extents()));
    after.is_some_and(|after| after > before.lv(id).extents())
}

/// The policy by which stores grow; stock's warning where it is set too low.
fn extension(work: &mut Work<'_>) -> ExtendPolicy {
    const THRESHOLD: &str = "activation/snapshot_autoextend_threshold";
    let config = &work.host().config;
    let (policy, threshold) = (config.snapshot_extension(), config.integer(THRESHOLD));
    if let Some(threshold) = threshold.filter(|threshold| *threshold < 50) {
        work.warn(&format!(
            "Snapshot autoextend threshold {threshold}% is set below the minimum, 50%."
        ));
    }
    policy
}

/// The same of one whose origin is at work in this process.
fn running(work: &Work<'_>, volume: &LvName) -> Option<Sectors> {
    let scan = work.scan().ok()?;
    let group = scan.find_group(&volume.vg).ok()?;
    let store = group.model.lv_by_name(&volume.lv)?;
    work.store_used(group.model.lv(store).uuid)
}

/// How much of a snapshot's store is in use, where it may become smaller.
fn used(
    reader: &mut Activator<'_>,
    group: &FoundVg,
    volume: &str,
    direction: ResizeTo,
) -> ashlar::Result<Option<Sectors>> {
    let store = group.model.lv_by_name(volume);
    let (Some(store), ResizeTo::Smaller | ResizeTo::Either) = (store, direction) else {
        return Ok(None);
    };
    let used = reader.store_used(group, store);
    if direction == ResizeTo::Smaller {
        return used;
    }
    // It may be that it grows.
    Ok(used.unwrap_or_default())
}

/// How much of a snapshot's store is in use.
fn in_use(
    reader: &mut Activator<'_>,
    group: &FoundVg,
    volume: &str,
) -> ashlar::Result<Option<Sectors>> {
    match group.model.lv_by_name(volume) {
        Some(store) => reader.store_used(group, store),
        None => Ok(None),
    }
}

/// `--type`: what the new extents are made of.
fn kind(arguments: &Arguments) -> Result<Option<NewExtents>, Error> {
    let Some(name) = arguments.value(&TYPE) else {
        return Ok(None);
    };
    let kind = match name {
        "linear" | "striped" => NewExtents::Plain,
        "mirror" => NewExtents::Mirror,
        "zero" => NewExtents::Zero,
        "error" => NewExtents::Error,
        name if level(name).is_some() => NewExtents::Raid(level(name).expect("it was asked for")),
        // As in stock, what may grow by itself is asked first.
        other if is_known_type(other) && arguments.has(&USE_POLICIES) => return Ok(None),
        other if is_known_type(other) => {
            return Err(Error::failed(format!(
                "VolumeType does not match ({other})."
            )));
        }
        other => return Err(unknown_type(other)),
    };
    Ok(Some(kind))
}

/// What the size is to be, or by how much it is to change.
fn amount(
    arguments: &Arguments,
    words: &[String],
    direction: ResizeTo,
) -> Result<SizeArgument, Error> {
    let signs = match direction {
        ResizeTo::Larger => Signs::Plus,
        ResizeTo::Smaller => Signs::Minus,
        ResizeTo::Either => Signs::Both,
    };
    let size = match size(arguments, signs)? {
        Some(size) => size,
        // All of the devices that are named.
        None if !words.is_empty() && direction != ResizeTo::Smaller => SizeArgument {
            sign: Sign::Plus,
            amount: Amount::Percent(100, Base::Pvs),
        },
        // Of a pool, which is refused as such.
        None if arguments.has(&POOL_METADATA_SIZE) => SizeArgument::extents(0),
        None => return Err(Error::usage("Please specify either size or extents.")),
    };
    if direction == ResizeTo::Smaller && !words.is_empty() {
        return Err(Error::usage(
            "Please name one logical volume, and no devices.",
        ));
    }
    Ok(size)
}
