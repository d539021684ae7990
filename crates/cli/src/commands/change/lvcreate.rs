//! `lvcreate`: a new logical volume.

use lvm2::Sectors;
use lvm2::model::name::{NameOf, validate};
use lvm2::model::{LogicalVolume, RaidLevel, ReadAhead, VolumeGroup};
use lvm2::plan::logical::{
    Autoactivation, Initial, MirrorLog, MirrorOptions, NewKind, NewSnapshot, NewVolume, Permission,
    Skip, Start, Stripes, Zeroing, create_snapshot, create_volume,
};
use lvm2::plan::size::{SizeArgument, rounding};
use lvm2::plan::{Author, Change, display_size};

use super::activation::{ACTIVATE, Activation, activate_new, asked, freeze};
use super::arguments::{
    ADD_TAG, ALLOC, CHANGE, Choice, FORCE, ZERO, choice, invalid, number, refuse, size as size_of,
};
use super::arrays::{MAX_RATE, MIN_RATE, level, new_array};
use super::checksums::{self, INTEGRITY};
use super::convert_array::makes_arrays;
use super::groups::{changeable_group, found_group};
use super::limits::{new_minor, new_region_size};
use super::new_snapshot::{self, Wanted, wanted};
use super::not_done;
use super::not_made;
use super::profiles::{METADATA_PROFILE, profile};
use super::run::run;
use super::volumes::{
    ACCEPTED, AUTOACTIVATION, CHUNK_SIZE, CONTIGUOUS, CORE_LOG, EXTENTS, IGNORE_SKIP, MAJOR, MINOR,
    MIRROR_LOG, MIRRORS, NO_SYNC, PERMISSION, PERSISTENT, READ_AHEAD, REGION_SIZE, SIZE, SKIP,
    STRIPE_SIZE, STRIPES, Signs, TYPE, autoactivation, default_group, new_places, path, permission,
    policy, read_ahead, require_name, size, skip, tags,
};
use super::work::{Work, planned};
use super::zeros::require_nonzero;
use crate::args::{Arguments, Command, Error, Example, Flag, flags};

/// As many stripes as LVM2 takes, and the smallest of its stripe sizes.
pub(super) const STRIPES_MAX: usize = 128;
/// The largest stripe that stock can count: 512 GiB.
const STRIPE_SIZE_MAX: Sectors = Sectors(1 << 30);
const STRIPE_SIZE_MIN: Sectors = Sectors(8);
/// The size of stripes where it is not said; no larger than an extent.
const STRIPE_SIZE_DEFAULT: Sectors = Sectors(128);

/// `-n`
pub(super) const NAME: Flag = Flag::value(
    "name",
    "LV",
    "The volume's name; without it lvol0, lvol1 and so on.",
)
.short('n');
/// `-W`
pub(super) const WIPE: Flag = Flag::value(
    "wipesignatures",
    "y|n",
    "Whether signatures of file systems and the like are looked for and wiped.",
)
.short('W');
/// `-s`
pub(super) const SNAPSHOT: Flag = Flag::switch(
    "snapshot",
    "A snapshot of a volume: lvcreate makes one of the volume that is named in the place of the \
     group, lvconvert one of the first volume, with the second one as its store. The same as \
     --type snapshot.",
)
.short('s');

/// `lvcreate`
pub(super) const COMMAND: Command = Command {
    name: "lvcreate",
    summary: "Create a logical volume",
    operands: "VG|ORIGIN [PV[:PE[-PE]]|@TAG ...]",
    description: "Takes free extents of a group for a new volume: one behind the other, in stripes \
        over several devices (-i), with copies on different devices (-m), or with parity (--type \
        raid5, raid6). Copies are kept by RAID 1, and with stripes by RAID 10, unless --type \
        mirror or lvm.conf says otherwise. They are made equal when the volume is first used. Its \
        first bytes are zeroed and signatures in it wiped before the volume is there, so that \
        nothing old is found in it.\
        \n\nAn array has images on devices of their own, each with its metadata: as many as -i \
        says and one for the parity of raid4 and raid5, two for raid6; twice as many for raid10.\
        \n\nWith -s it makes a snapshot of a volume: what the volume holds now stays readable \
        under another name while the volume goes on. The size is that of the store, on extents of \
        its own, which keeps what is overwritten; no more is taken than the origin can fill, and \
        when it is full the snapshot is lost, the origin is not. It may be made while the volume \
        is served. \
        \n\nDevices behind the group are the only ones that are used, with their extents or parts \
        of them.",
    flags: &[
        &[
            NAME,
            SIZE,
            EXTENTS,
            TYPE,
            STRIPES,
            STRIPE_SIZE,
            MIRRORS,
            MIRROR_LOG,
            CORE_LOG,
            REGION_SIZE,
            NO_SYNC,
            MIN_RATE,
            MAX_RATE,
            INTEGRITY,
            checksums::MODE,
            checksums::BLOCK,
            ALLOC,
            CONTIGUOUS,
            PERMISSION,
            READ_AHEAD,
            ADD_TAG,
            SNAPSHOT,
            CHUNK_SIZE,
            ZERO,
            WIPE,
            ACTIVATE,
            SKIP,
            IGNORE_SKIP,
            AUTOACTIVATION,
            PERSISTENT,
            MINOR,
            MAJOR,
            FORCE,
            METADATA_PROFILE,
        ],
        CHANGE,
        ACCEPTED,
        not_done::VOLUMES,
        not_done::NEW,
        not_done::SETTINGS,
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "lvcreate -L 1g -n data vg0",
            does: "makes a volume of 1 GiB",
        },
        Example {
            line: "lvcreate -i 3 -I 64k -l 100%FREE -n fast vg0",
            does: "spreads a volume of all that is free over three devices",
        },
        Example {
            line: "lvcreate -m 1 -L 1g -n safe vg0",
            does: "makes a volume with two copies",
        },
        Example {
            line: "lvcreate --type raid5 -i 3 -L 3g -n large vg0",
            does: "spreads a volume over four devices, of which one may be lost",
        },
        Example {
            line: "lvcreate -s -l 20%ORIGIN -n monday vg0/data",
            does: "keeps what vg0/data holds now, until a fifth of it has changed",
        },
    ],
    run,
};

/// Makes the volume.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    refuse_not_done(arguments, work)?;
    let mut snapshot = wanted(arguments)?;
    let (group, name) = match &snapshot {
        Some(wanted) => (wanted.group.clone(), wanted.name.clone()),
        None => names(arguments)?,
    };
    require_nonzero(arguments)?;
    let size = new_size(arguments, snapshot.as_ref(), work)?;
    let kind = kind(arguments, work)?;
    if let (Some(wanted), Some(size)) = (&mut snapshot, new_snapshot::chunk_size(arguments)?) {
        wanted.chunk_size = size;
    }
    let permission = permission(arguments)?.unwrap_or(Permission::ReadWrite);
    let (tags, cling_tags) = (tags(arguments, &ADD_TAG)?, work.host().config.cling_tags());
    let mut template = NewVolume {
        name: name.as_deref(),
        kind,
        policy: policy(arguments)?,
        cling_tags: &cling_tags,
        permission,
        read_ahead: read_ahead(arguments, work)?.unwrap_or(ReadAhead::Auto),
        minor: kept_minor(arguments, &group, work)?,
        skip: skip(arguments)?.unwrap_or(Skip::No),
        autoactivation: autoactivation(arguments)?.unwrap_or(Autoactivation::Yes),
        tags: &tags,
        profile: profile(arguments),
        zeroing: zeroing(arguments, work, permission)?,
        start: start(arguments)?,
        ..NewVolume::linear(size)
    };
    require_group(&group, work)?;
    let rounded = rounded(&group, snapshot.as_ref(), &size, work)?;
    let finder = work.finder();
    let words = &arguments.operands()[arguments.operands().len().min(1)..];
    fill(&mut template.kind, &group, words.len(), work)?;
    let request = work.request_of(&[&group]);
    let frozen = match &snapshot {
        Some(wanted) => freeze(&group, &wanted.origin, work)?,
        None => None,
    };
    let mut before = Vec::new();
    let made = work.change(&request, |scan, author| {
        let found = scan.find_group(&group)?;
        before = found.model.lvs().map(|(_, lv)| lv.uuid).collect();
        let places = new_places(scan, found, &finder, words)?;
        let new = NewVolume {
            places: places.as_ref(),
            ..template.clone()
        };
        planned(create(&found.model, new, snapshot.as_ref(), author))
    });
    drop(frozen);
    // Where it is made the plan says so.
    if let (Err(_), Some(text)) = (&made, rounded) {
        work.note(&text);
    }
    let made = made?;
    if matches!(asked(arguments)?, Some(Activation::Yes | Activation::Auto)) {
        let groups = made.iter().flat_map(|outcome| &outcome.groups);
        for vg in groups {
            let is_new = |lv: &LogicalVolume| !before.contains(&lv.uuid);
            activate_new(vg, is_new, arguments, work)?;
        }
    }
    Ok(())
}

/// An array with stripes of which nothing was said goes onto all disks, where settings want that.
fn fill(kind: &mut NewKind, group: &str, named: usize, work: &Work<'_>) -> Result<(), Error> {
    let config = &work.host().config;
    if let NewKind::Raid(options) = kind
        && config.flag("allocation/raid_stripe_all_devices", false)
    {
        let all = found_group(&*work.scan()?, group)?.members.len();
        options.fill(if named > 0 { named } else { all });
    }
    Ok(())
}

/// A new volume, or the snapshot whose store it is.
fn create(
    vg: &VolumeGroup,
    new: NewVolume<'_>,
    snapshot: Option<&Wanted>,
    author: &mut Author<'_>,
) -> lvm2::Result<Change> {
    let Some(wanted) = snapshot else {
        return create_volume(vg, &new, author);
    };
    let new = NewSnapshot {
        origin: &wanted.origin,
        chunk_size: wanted.chunk_size,
        store: new,
    };
    create_snapshot(vg, &new, author)
}

/// What is said of the size before it is known whether the volume can be made.
fn rounded(
    group: &str,
    snapshot: Option<&Wanted>,
    size: &SizeArgument,
    work: &Work<'_>,
) -> Result<Option<String>, Error> {
    let scan = work.scan()?;
    let model = &found_group(&scan, group)?.model;
    if snapshot.is_some_and(|wanted| model.lv_by_name(&wanted.origin).is_none()) {
        return Ok(None);
    }
    Ok(rounding(size, model.extent_size).map(|message| message.text))
}

/// Whether it is active afterwards.
fn start(arguments: &Arguments) -> Result<Start, Error> {
    Ok(match asked(arguments)? {
        None | Some(Activation::Yes | Activation::Auto) => Start::Active,
        Some(Activation::No) => Start::Inactive,
    })
}

/// What is said of the size.
fn new_size(
    arguments: &Arguments,
    snapshot: Option<&Wanted>,
    work: &Work<'_>,
) -> Result<SizeArgument, Error> {
    let asked = size(arguments, Signs::New);
    match (asked?, snapshot) {
        (Some(size), _) => Ok(size),
        (None, None) => Err(Error::usage("Please specify either size or extents.")),
        (None, Some(wanted)) => {
            require_group(&wanted.group, work)?;
            let what = "Please specify either size or extents with snapshots.";
            Err(Error::failed(what))
        }
    }
}

/// The minor number that it keeps, of which nothing is said before the group is there.
fn kept_minor(
    arguments: &Arguments,
    group: &str,
    work: &mut Work<'_>,
) -> Result<Option<u32>, Error> {
    let flags = [&PERSISTENT, &MINOR];
    if flags.into_iter().any(|flag| arguments.has(flag)) {
        require_group(group, work)?;
    }
    new_minor(arguments, work)
}

/// Refuses what is not made here, by name; where stock would not make it either, as stock does.
fn refuse_not_done(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let not_done = [not_done::NEW, not_done::VOLUMES, not_done::SETTINGS];
    let refused = refuse(arguments, &not_done);
    let Err(error) = refused.and_then(|()| refuse_types(arguments)) else {
        return Ok(());
    };
    not_made::require_options(arguments)?;
    not_made::require_pool_options(arguments)?;
    not_done::require_names(arguments)?;
    let group = not_made::group(arguments)?;
    require_nonzero(arguments)?;
    not_made::require_pool(arguments)?;
    size(arguments, Signs::New)?;
    let stripes = asked_stripes(arguments, work)?;
    if stripes.count > 1 && stripes.size.is_none() && !not_made::is_vdo(arguments) {
        default_stripe_size(work)?;
    }
    require_redundant(arguments, None)?;
    not_made::require_chunks(arguments)?;
    not_done::require_settings(arguments)?;
    if let Some(group) = group {
        require_group(&group, work)?;
    }
    Err(error)
}

/// Fails where the group is not there or may not be changed, before what is wrong with its volume
/// is said.
fn require_group(group: &str, work: &Work<'_>) -> Result<(), Error> {
    let scan = work.scan()?;
    changeable_group(&scan, group, &[]).map(drop)
}

/// The name of the group in which a volume is to be made.
pub(super) fn group(arguments: &Arguments) -> Result<String, Error> {
    Ok(match wanted(arguments)? {
        Some(wanted) => wanted.group,
        None => names(arguments)?.0,
    })
}

/// The group and the new volume's name, which may have the group in front.
fn names(arguments: &Arguments) -> Result<(String, Option<String>), Error> {
    let (of_name, name) = match arguments.value(&NAME).map(path) {
        None => (None, None),
        Some(Err(why)) => return Err(Error::usage(why)),
        Some(Ok((group, name))) => (group, Some(name)),
    };
    if let Some(name) = &name {
        require_name("Logical volume name", name)?;
    }
    let of_operand = arguments.operands().first().map(|word| operand(word));
    let of_operand = of_operand.transpose()?;
    if let (Some(one), Some(other)) = (&of_name, &of_operand)
        && one != other
    {
        return Err(Error::usage(format!(
            "Inconsistent volume group names given: \"{one}\" and \"{other}\""
        )));
    }
    let group = of_operand.or(of_name).or_else(default_group);
    let group = group.ok_or_else(|| Error::usage("Please provide a volume group name."))?;
    Ok((group, name))
}

/// The group that the first word names.
pub(super) fn operand(word: &str) -> Result<String, Error> {
    let below_dev = word.strip_prefix("/dev/");
    let plain = below_dev.map_or(word, |rest| rest.trim_start_matches('/'));
    if plain.contains('/') {
        return Err(Error::usage("Volume group name expected (no slash)"));
    }
    validate(plain, NameOf::VolumeGroup)
        .map_err(|_| Error::usage(format!("Volume group name {plain} has invalid characters")))?;
    Ok(plain.to_owned())
}

/// What the volume is made of.
fn kind(arguments: &Arguments, work: &mut Work<'_>) -> Result<NewKind, Error> {
    let mirrors: Option<usize> = number(arguments, &MIRRORS)?;
    let copies = mirrors.filter(|copies| *copies > 0);
    if makes_raid1(arguments, work) {
        require_no_log(arguments)?;
    }
    let mut stripes = asked_stripes(arguments, work)?;
    let array = match (arguments.value(&TYPE), copies) {
        (Some(name), _) => level(name),
        (None, Some(_)) if !makes_arrays(work) => None,
        (None, Some(_)) if stripes.count > 1 => striped_copies(work),
        (None, Some(_)) => Some(RaidLevel::Raid1),
        (None, None) => None,
    };
    if let Some(level) = array {
        require_no_log(arguments)?;
        let default = match (level, stripes.size) {
            (RaidLevel::Raid1, _) | (_, Some(_)) => None,
            _ => Some(default_stripe_size(work)?),
        };
        let mut kind = new_array(arguments, work, level);
        if let Ok(NewKind::Raid(options)) = &mut kind {
            match level {
                RaidLevel::Raid1 => options.stripe_size = None,
                _ => options.stripe_size = options.stripe_size.or(default),
            }
        }
        return kind;
    }
    if mirrors == Some(0) {
        require_no_log(arguments)?;
    }
    for flag in [&MIN_RATE, &MAX_RATE, &INTEGRITY] {
        if arguments.has(flag) {
            return Err(Error::usage(format!(
                "--{} is supported only with raids.",
                flag.long
            )));
        }
    }
    require_redundant(arguments, copies)?;
    if stripes.count > 1 && stripes.size.is_none() {
        stripes.size = Some(default_stripe_size(work)?);
    }
    plain_kind(arguments, work, (stripes, mirrors))
}

/// How the volume is spread, as far as it is said.
fn asked_stripes(arguments: &Arguments, work: &mut Work<'_>) -> Result<Stripes, Error> {
    let mut stripes = Stripes {
        count: number(arguments, &STRIPES)?.unwrap_or(1),
        size: size_of(arguments, &STRIPE_SIZE, 'k')?,
    };
    let ignored = if not_made::is_vdo(arguments) {
        Some("for vdo devices")
    } else if stripes.count == 1 && makes_raid1(arguments, work) {
        Some("for raid1 devices")
    } else {
        let is_single = stripes.count == 1 && !makes_stripes(arguments);
        is_single.then_some("with single stripe")
    };
    if let Some(why) = ignored
        && stripes.size.take().is_some()
    {
        work.note(&format!("Ignoring stripesize argument {why}."));
    }
    require_stripes(stripes)?;
    Ok(stripes)
}

/// Whether the copies are those of an array of which each is whole.
fn makes_raid1(arguments: &Arguments, work: &Work<'_>) -> bool {
    let is_mirrored = arguments
        .value(&MIRRORS)
        .is_some_and(|copies| copies != "0");
    match arguments.value(&TYPE) {
        Some(name) => level(name) == Some(RaidLevel::Raid1),
        None => is_mirrored && makes_arrays(work),
    }
}

/// Whether a type has stripes that nobody counted.
fn makes_stripes(arguments: &Arguments) -> bool {
    let level = arguments.value(&TYPE).and_then(level);
    let copies = arguments.value(&MIRRORS).unwrap_or_default();
    level.is_some() || !copies.trim_start_matches(['+', '0']).is_empty()
}

/// The size of stripes where it is not said (`metadata/stripesize`, in KiB), which is told.
fn default_stripe_size(work: &mut Work<'_>) -> Result<Sectors, Error> {
    let kib = work.host().config.integer("metadata/stripesize");
    let kib = kib.and_then(|kib| u64::try_from(kib).ok());
    let size = kib.map_or(STRIPE_SIZE_DEFAULT, |kib| Sectors(kib.saturating_mul(2)));
    work.note(&format!("Using default stripesize {}.", display_size(size)));
    if size < STRIPE_SIZE_MIN || !size.0.is_power_of_two() {
        let what = format!("Invalid stripe size {}.", display_size(size));
        return Err(Error::usage(what));
    }
    Ok(size)
}

/// Refuses what only copies and parity have.
fn require_redundant(arguments: &Arguments, copies: Option<usize>) -> Result<(), Error> {
    if copies.is_some() || arguments.value(&TYPE) == Some("mirror") {
        return Ok(());
    }
    let flags = [&NO_SYNC, &REGION_SIZE];
    match flags.into_iter().find(|flag| arguments.has(flag)) {
        None => Ok(()),
        Some(flag) => Err(Error::usage(format!(
            "--{} is supported only with mirrors or raids.",
            flag.long
        ))),
    }
}

/// What keeps copies with stripes where nothing is said; `None`: a mirror.
fn striped_copies(work: &Work<'_>) -> Option<RaidLevel> {
    let chosen = work.host().config.string("global/raid10_segtype_default");
    (chosen != Some("mirror")).then_some(RaidLevel::Raid10)
}

/// Where arrays are made because nothing was said, an option of mirrors is refused as in stock.
fn require_no_log(arguments: &Arguments) -> Result<(), Error> {
    if arguments.has(&TYPE) {
        return Ok(());
    }
    match [&MIRROR_LOG, &CORE_LOG]
        .into_iter()
        .find(|flag| arguments.has(flag))
    {
        None => Ok(()),
        Some(flag) => Err(Error::usage(format!(
            "--{} is supported only with mirrors.",
            flag.long
        ))),
    }
}

/// The same of what is no array.
fn plain_kind(
    arguments: &Arguments,
    work: &mut Work<'_>,
    (stripes, mirrors): (Stripes, Option<usize>),
) -> Result<NewKind, Error> {
    let region_size = new_region_size(arguments, work)?;
    let log = mirror_log(arguments)?;
    let mirror = |copies: usize| -> Result<NewKind, Error> {
        let options = MirrorOptions {
            legs: copies.saturating_add(1),
            log: log.unwrap_or(MirrorLog::Disk),
            region_size,
            initial: if arguments.has(&NO_SYNC) {
                Initial::NoSync
            } else {
                Initial::Synchronise
            },
        };
        options
            .check()
            .map(|()| NewKind::Mirror(options, stripes))
            .map_err(|error| Error::usage(error.context))
    };
    let plain = match arguments.value(&TYPE) {
        None => match mirrors {
            Some(copies) if copies > 0 => return mirror(copies),
            _ => NewKind::Striped(stripes),
        },
        Some("mirror") if mirrors == Some(0) => {
            let what = "--mirrors must be at least 1 with segment type mirror.";
            return Err(Error::usage(what));
        }
        Some("mirror") => return mirror(mirrors.unwrap_or(1)),
        Some("linear") if stripes.count > 1 => {
            return Err(Error::usage(format!(
                "Command does not accept option: --stripes {}.",
                stripes.count
            )));
        }
        Some("linear" | "striped" | "snapshot") => NewKind::Striped(stripes),
        Some("zero") => NewKind::Zero,
        Some("error") => NewKind::Error,
        Some(other) => return Err(unknown_type(other)),
    };
    if mirrors == Some(0) {
        work.note("Redundant mirrors argument: default is 0");
    }
    if mirrors.is_some_and(|copies| copies > 0) || log.is_some() {
        return Err(Error::usage(
            "Only a mirror has copies and a log: --type mirror.",
        ));
    }
    Ok(plain)
}

/// Refuses stripes that cannot be, in stock's words and with its status.
fn require_stripes(stripes: Stripes) -> Result<(), Error> {
    if stripes.count == 0 {
        return Err(Error::usage("--stripes may not be zero."));
    }
    if stripes.size == Some(Sectors::ZERO) {
        return Err(Error::usage("--stripesize may not be zero."));
    }
    if !(1..=STRIPES_MAX).contains(&stripes.count) {
        return Err(Error::usage(format!(
            "Number of stripes ({}) must be between 1 and {STRIPES_MAX}.",
            shown(stripes.count)
        )));
    }
    match stripes.size {
        Some(size) if size > STRIPE_SIZE_MAX => Err(Error::usage(format!(
            "Stripe size cannot be larger than {}.",
            display_size(STRIPE_SIZE_MAX)
        ))),
        Some(size) if size < STRIPE_SIZE_MIN || !size.0.is_power_of_two() => Err(Error::usage(
            format!("Invalid stripe size {}.", display_size(size)),
        )),
        _ => Ok(()),
    }
}

/// A number as stock shows one that is too large for it: in 32 bits, of which one is a sign.
fn shown(count: usize) -> i32 {
    u32::try_from(count).unwrap_or(u32::MAX).cast_signed()
}

/// Whether there are volumes of this type which we do not make.
pub(super) fn is_known_type(name: &str) -> bool {
    let known = [
        "snapshot",
        "thin",
        "cache",
        "vdo",
        "writecache",
        "integrity",
    ];
    known.iter().any(|known| name.starts_with(known))
}

/// Refuses types that are not made here, by name.
pub(super) fn refuse_types(arguments: &Arguments) -> Result<(), Error> {
    match arguments.value(&TYPE) {
        Some(name) if name != "snapshot" && is_known_type(name) => Err(unknown_type(name)),
        _ => Ok(()),
    }
}

/// An error about a type that we do not make.
pub(super) fn unknown_type(name: &str) -> Error {
    if is_known_type(name) {
        return Error::failed(format!(
            "--type {name} is not supported: leave it out, or use LVM2 for this."
        ));
    }
    Error::usage(format!(
        "WARNING: Unrecognised segment type {name}\n{}",
        invalid(&TYPE, name)
    ))
}

/// `--mirrorlog` and `--corelog`
pub(super) fn mirror_log(arguments: &Arguments) -> Result<Option<MirrorLog>, Error> {
    match arguments.value(&MIRROR_LOG) {
        None if arguments.has(&CORE_LOG) => Ok(Some(MirrorLog::Core)),
        None => Ok(None),
        Some("core") => Ok(Some(MirrorLog::Core)),
        Some("disk") => Ok(Some(MirrorLog::Disk)),
        Some("mirrored") => Ok(Some(MirrorLog::Mirrored)),
        Some(other) => Err(invalid(&MIRROR_LOG, other)),
    }
}

/// Whether old content goes. What cannot be written keeps it, as in stock.
fn zeroing(
    arguments: &Arguments,
    work: &Work<'_>,
    permission: Permission,
) -> Result<Zeroing, Error> {
    let zero = choice(arguments, &ZERO)?;
    let wipe = choice(arguments, &WIPE)?;
    let default = "allocation/wipe_signatures_when_zeroing_new_lvs";
    let wipes = match wipe {
        None => work.host().config.flag(default, true),
        Some(choice) => choice == Choice::Yes,
    };
    Ok(match zero {
        Some(Choice::No) => Zeroing::Nothing,
        None if permission == Permission::ReadOnly => Zeroing::Nothing,
        _ if wipes => Zeroing::ZeroAndWipe,
        _ => Zeroing::ZeroOnly,
    })
}
