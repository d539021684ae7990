//! Logical volumes as the command line names them, and the options that their commands share.

use ashlar::scan::{FoundVg, Scan};
use lvm2::model::{
    AllocationPolicy, LvId, RaidFamily, ReadAhead, Relations, Segment, SegmentType, VolumeGroup,
    name,
};
use lvm2::plan::logical::{Autoactivation, Permission, Skip};
use lvm2::plan::places::Places;
use lvm2::plan::size::{Amount, Sign, SizeArgument};

use super::arguments::{ALLOC, Choice, choice, invalid};
use super::finder::Finder;
use super::work::Work;
use crate::args::{Arguments, Error, Flag, LvName, Target, split_target};

/// `-C`
pub(super) const CONTIGUOUS: Flag = Flag::value(
    "contiguous",
    "y|n",
    "The same as --alloc contiguous, or inherit.",
)
.short('C');
/// `-p`
pub(super) const PERMISSION: Flag =
    Flag::value("permission", "rw|r", "Whether the volume may be written.").short('p');
/// `-r`
pub(super) const READ_AHEAD: Flag = Flag::value(
    "readahead",
    "auto|none|Number",
    "How many sectors are read in advance, where the kernel serves the volume.",
)
.short('r');
/// `-M`
pub(super) const PERSISTENT: Flag = Flag::value(
    "persistent",
    "y|n",
    "Whether the volume has the same minor number wherever the kernel serves it; with --minor.",
)
.short('M');
/// `--minor`
pub(super) const MINOR: Flag = Flag::value("minor", "Number", "That minor number.");
/// `-j`
pub(super) const MAJOR: Flag = Flag::value(
    "major",
    "Number",
    "Accepted for scripts: the kernel chooses major numbers.",
)
.short('j');
/// `-k`
pub(super) const SKIP: Flag = Flag::value(
    "setactivationskip",
    "y|n",
    "Whether the volume is left out when volumes are activated.",
)
.short('k');
/// `-K`
pub(super) const IGNORE_SKIP: Flag = Flag::switch(
    "ignoreactivationskip",
    "Activate also volumes that are marked to be skipped (--setactivationskip y).",
)
.short('K');
/// `--setautoactivation`
pub(super) const AUTOACTIVATION: Flag = Flag::value(
    "setautoactivation",
    "y|n",
    "Whether the volume is activated when the machine starts.",
);
/// `-L`
pub(super) const SIZE: Flag = Flag::value(
    "size",
    "Size",
    "The size, or with a sign the difference; MiB where there is no unit. Rounded to whole \
     extents.",
)
.short('L');
/// `-l`
pub(super) const EXTENTS: Flag = Flag::value(
    "extents",
    "Number[%{VG|FREE|PVS|LV|ORIGIN}]",
    "The size in extents, or as a share: of the group, of what is free in it or on the devices \
     that are named, or of the volume.",
)
.short('l');
/// `-i`
pub(super) const STRIPES: Flag = Flag::value(
    "stripes",
    "Number",
    "Over how many devices the volume is spread in turn.",
)
.short('i');
/// `-I`
pub(super) const STRIPE_SIZE: Flag = Flag::value(
    "stripesize",
    "Size",
    "How much lies on one device before it is the next one's turn; KiB where there is no unit.",
)
.short('I');
/// `--nosync`
pub(super) const NO_SYNC: Flag = Flag::switch(
    "nosync",
    "Take the copies of a new volume for equal as they are, or its parity for right; not of raid6.",
);
/// `--type`
pub(super) const TYPE: Flag = Flag::value(
    "type",
    "linear|striped|raid*|mirror|zero|error",
    "What the volume is made of: raid0, raid0_meta, raid1, raid4, raid5, raid6 or raid10, or one \
     of the layouts of raid5 and raid6, such as raid5_la.",
);
/// `-m`
pub(super) const MIRRORS: Flag = Flag::value(
    "mirrors",
    "Number",
    "How many copies there are beside the first.",
)
.short('m');
/// `--mirrorlog`
pub(super) const MIRROR_LOG: Flag = Flag::value(
    "mirrorlog",
    "core|disk|mirrored",
    "Where a mirror notes which of its regions are in sync: in memory, so that everything is \
     synchronised again each time; on a disk; or on two.",
);
/// `--corelog`
pub(super) const CORE_LOG: Flag = Flag::switch("corelog", "The same as --mirrorlog core.");
/// `-R`
pub(super) const REGION_SIZE: Flag = Flag::value(
    "regionsize",
    "Size",
    "How much one note of a mirror's log covers, or one bit of an array's bitmap; MiB where there \
     is no unit.",
)
.short('R');

/// `-c`
pub(super) const CHUNK_SIZE: Flag = Flag::value(
    "chunksize",
    "Size",
    "The unit in which a snapshot keeps what changes: a power of two from 4 to 512 KiB, 4 KiB \
     unless it is said; KiB where there is no unit.",
)
.short('c');

/// What stock knows and what means nothing here.
pub(super) const ACCEPTED: &[Flag] = &[
    Flag::switch("noudevsync", "Accepted for scripts; there is no udev here."),
    Flag::switch(
        "ignoremonitoring",
        "Accepted for scripts; nobody monitors volumes.",
    ),
    Flag::value(
        "monitor",
        "y|n",
        "Accepted for scripts; nobody monitors volumes.",
    ),
    Flag::value("poll", "y|n", "Accepted for scripts; nothing is polled."),
];

/// The one volume that a word names: `vg/lv`, or `lv` where the environment names a group.
pub(super) fn single(word: &str) -> Result<LvName, Error> {
    let (group, lv) = path(word).map_err(Error::usage)?;
    require_valid_name("Logical volume name", &lv)?;
    match group.or_else(default_group) {
        Some(vg) => require_group_name(&vg).map(|()| LvName { vg, lv }),
        None => Err(Error::usage("Please specify a logical volume path.")),
    }
}

/// The group that the path of a volume names, if it does, and the volume. The error is stock's
/// sentence about what is no path.
pub(super) fn path(word: &str) -> Result<(Option<String>, String), String> {
    let invalid = || format!("\"{word}\": Invalid path for Logical Volume.");
    if let Target::Lv(LvName { vg, lv }) = split_target(word)
        && word.starts_with("/dev/mapper/")
    {
        return Ok((Some(vg), lv));
    }
    let plain = word
        .strip_prefix("/dev/")
        .map(|rest| rest.trim_start_matches('/'));
    match plain.unwrap_or(word).split_once('/') {
        None if plain.is_some() => Err(invalid()),
        None => Ok((None, word.to_owned())),
        Some((group, rest)) => {
            let lv = rest.trim_start_matches('/');
            if lv.contains('/') || group.is_empty() && !lv.is_empty() {
                return Err(invalid());
            }
            Ok((Some(group.to_owned()), lv.to_owned()))
        }
    }
}

/// Refuses a name of a group that cannot be one, in stock's words.
pub(super) fn require_group_name(group: &str) -> Result<(), Error> {
    name::validate(group, name::NameOf::VolumeGroup).map_err(|_| {
        Error::failed(format!(
            "Volume group name \"{group}\" has invalid characters.\n\
             Cannot process volume group {group}"
        ))
    })
}

/// `LVM_VG_NAME`: the group that is meant where none is named.
pub(super) fn default_group() -> Option<String> {
    let name = std::env::var("LVM_VG_NAME").ok()?;
    let plain = name.strip_prefix("/dev/").unwrap_or(&name);
    (!plain.is_empty()).then(|| plain.to_owned())
}

/// Refuses a name for a volume that is none, or reserved, in stock's words; `what` begins them.
pub(super) fn require_name(what: &str, asked: &str) -> Result<(), Error> {
    if let Some(sentence) = name::reservation(asked) {
        return Err(Error::usage(sentence));
    }
    require_valid_name(what, asked)
}

/// The same of a name that a volume may already have.
pub(super) fn require_valid_name(what: &str, asked: &str) -> Result<(), Error> {
    name::validate(asked, name::NameOf::LogicalVolume)
        .map_err(|error| Error::usage(format!("{what} \"{asked}\" is invalid: {}", error.context)))
}

/// The tags behind a flag.
pub(super) fn tags(arguments: &Arguments, flag: &Flag) -> Result<Vec<String>, Error> {
    let plain = |tag: &str| tag.strip_prefix('@').unwrap_or(tag).to_owned();
    let tags: Vec<String> = arguments.values(flag).map(plain).collect();
    for tag in &tags {
        name::validate_tag(tag).map_err(|_| invalid(flag, tag))?;
    }
    Ok(tags)
}

/// How extents are to be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allocation {
    /// As the group says.
    Inherited,
    /// Like this.
    Policy(AllocationPolicy),
}

impl Allocation {
    /// The policy, if it is one of its own.
    pub(super) fn own(self) -> Option<AllocationPolicy> {
        match self {
            Self::Inherited => None,
            Self::Policy(policy) => Some(policy),
        }
    }
}

/// `--alloc` and `-C`, if they were given.
pub(super) fn allocation(arguments: &Arguments) -> Result<Option<Allocation>, Error> {
    if let Some(name) = arguments.value(&ALLOC) {
        return match (name, AllocationPolicy::from_name(name)) {
            ("inherit", _) => Ok(Some(Allocation::Inherited)),
            (_, Some(policy)) => Ok(Some(Allocation::Policy(policy))),
            (_, None) => Err(Error::usage(format!(
                "Unrecognised allocation policy {name}\n{}",
                invalid(&ALLOC, name)
            ))),
        };
    }
    Ok(choice(arguments, &CONTIGUOUS)?.map(|choice| match choice {
        Choice::Yes => Allocation::Policy(AllocationPolicy::Contiguous),
        Choice::No => Allocation::Inherited,
    }))
}

/// The policy for this command alone, where one was given.
pub(super) fn policy(arguments: &Arguments) -> Result<Option<AllocationPolicy>, Error> {
    Ok(allocation(arguments)?.and_then(Allocation::own))
}

/// `-p`
pub(super) fn permission(arguments: &Arguments) -> Result<Option<Permission>, Error> {
    match arguments.value(&PERMISSION) {
        None => Ok(None),
        Some("r" | "R") => Ok(Some(Permission::ReadOnly)),
        Some("rw" | "wr" | "RW") => Ok(Some(Permission::ReadWrite)),
        Some(other) => Err(invalid(&PERMISSION, other)),
    }
}

/// `-r`, rounded to whole pages as by stock.
pub(super) fn read_ahead(
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<Option<ReadAhead>, Error> {
    match arguments.value(&READ_AHEAD) {
        None => Ok(None),
        Some("auto") => Ok(Some(ReadAhead::Auto)),
        Some("none") => Ok(Some(ReadAhead::None)),
        Some(text) => {
            // A plain number counts sectors.
            let size = lvm2::plan::size::parse_size(text, 's');
            let size = size.map_err(|_| {
                let why = invalid(&READ_AHEAD, text);
                Error::usage(format!("Size requires number argument.\n{why}"))
            })?;
            let sectors = u32::try_from(size.whole_sectors().0);
            let sectors = sectors.map_err(|_| invalid(&READ_AHEAD, text))?;
            if sectors == 0 {
                return Ok(Some(ReadAhead::None));
            }
            let page = u32::try_from(rustix::param::page_size() / 512).unwrap_or(8);
            let rounded = (sectors - sectors % page).max(page);
            if rounded != sectors {
                work.warn(&format!(
                    "Overriding readahead to {rounded} sectors, a multiple of {}K page size.",
                    page / 2
                ));
            }
            Ok(Some(ReadAhead::Sectors(rounded)))
        }
    }
}

/// `-k`
pub(super) fn skip(arguments: &Arguments) -> Result<Option<Skip>, Error> {
    let said = choice(arguments, &SKIP)?;
    Ok(said.map(|choice| match choice {
        Choice::Yes => Skip::Yes,
        Choice::No => Skip::No,
    }))
}

/// `--setautoactivation`
pub(super) fn autoactivation(arguments: &Arguments) -> Result<Option<Autoactivation>, Error> {
    let said = choice(arguments, &AUTOACTIVATION)?;
    Ok(said.map(|choice| match choice {
        Choice::Yes => Autoactivation::Yes,
        Choice::No => Autoactivation::No,
    }))
}

/// Which signs a size may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signs {
    /// A plus, which says nothing: the size of something new.
    New,
    /// A plus.
    Plus,
    /// A minus.
    Minus,
    /// Both.
    Both,
}

/// What `-L` or `-l` says, if one of them was given.
pub(super) fn size(arguments: &Arguments, signs: Signs) -> Result<Option<SizeArgument>, Error> {
    let (flag, text, parsed) = match (arguments.value(&SIZE), arguments.value(&EXTENTS)) {
        (None, None) => return Ok(None),
        (Some(text), Some(extents)) => {
            let is_zero = |size: lvm2::Result<SizeArgument>| size.is_ok_and(|size| is_zero(&size));
            return Err(Error::usage(
                if is_zero(SizeArgument::from_extents(extents)) {
                    "--extents may not be zero."
                } else if is_zero(SizeArgument::from_size(text)) {
                    "--size may not be zero."
                } else if signs == Signs::New {
                    "Please specify either size or extents (not both)."
                } else {
                    "Please specify either size or extents but not both."
                },
            ));
        }
        (Some(text), None) => (SIZE, text, SizeArgument::from_size(text)),
        (None, Some(text)) => (EXTENTS, text, SizeArgument::from_extents(text)),
    };
    let because = |why: &str| Error::syntax(format!("{why}\n{}", invalid(&flag, text)));
    let is_number = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    let mut parsed = parsed.map_err(|_| match text.split_once('%') {
        Some((_, share)) => because(&format!("Specified %{share} is unknown.")),
        None if flag.long == SIZE.long && !is_number(text.trim_start_matches(['+', '-'])) => {
            because("Size requires number argument.")
        }
        None => because("Can't parse size argument."),
    })?;
    let what = if flag.long == SIZE.long {
        "Size"
    } else {
        "Extents"
    };
    let sign = match parsed.sign {
        Sign::Minus if matches!(signs, Signs::New | Signs::Plus) => "negative",
        Sign::Plus if signs == Signs::Minus => "positive",
        _ => "",
    };
    if !sign.is_empty() {
        return Err(because(&format!("{what} may not be {sign}.")));
    }
    if signs == Signs::New {
        parsed.sign = Sign::Absolute;
    }
    if is_zero(&parsed) {
        return Err(Error::usage(format!("--{} may not be zero.", flag.long)));
    }
    Ok(Some(parsed))
}

fn is_zero(size: &SizeArgument) -> bool {
    match size.amount {
        Amount::Size(size) => size.0 == 0,
        Amount::Extents(extents) => extents.0 == 0,
        Amount::Percent(percent, _) => percent == 0,
    }
}

/// The places that the words name, or all where there are none.
pub(super) fn places(
    scan: &Scan,
    group: &FoundVg,
    finder: &Finder,
    words: &[String],
) -> ashlar::Result<Option<Places>> {
    let find = |name: &str| finder.member(scan, group, name);
    named(words, |names| Places::parse(&group.model, names, find))
}

/// The same, where new extents are to lie.
pub(super) fn new_places(
    scan: &Scan,
    group: &FoundVg,
    finder: &Finder,
    words: &[String],
) -> ashlar::Result<Option<Places>> {
    let find = |name: &str| finder.member(scan, group, name);
    named(words, |names| {
        Places::for_extents(&group.model, names, find)
    })
}

fn named(
    words: &[String],
    parse: impl FnOnce(&[&str]) -> lvm2::Result<Places>,
) -> ashlar::Result<Option<Places>> {
    if words.is_empty() {
        return Ok(None);
    }
    let names: Vec<&str> = words.iter().map(String::as_str).collect();
    parse(&names).map(Some).map_err(ashlar::Error::from)
}

/// The type of a volume, as stock's refusals name it.
pub(super) fn type_shown(vg: &VolumeGroup, id: LvId) -> String {
    if Relations::of(vg).snapshot_of_cow(vg, id).is_some() {
        return "snapshot".to_owned();
    }
    match vg.lv(id).segments.first().map(Segment::type_name) {
        Some("thin-pool") => "thinpool".to_owned(),
        Some("cache-pool") => "cachepool".to_owned(),
        Some("vdo-pool") => "vdopool".to_owned(),
        other => other.unwrap_or_default().to_owned(),
    }
}

/// The copies of a volume: 1 where it is no mirror and no array of copies.
pub(super) fn copies(vg: &VolumeGroup, id: LvId) -> usize {
    match vg.lv(id).first() {
        Some(SegmentType::Mirror(mirror)) => mirror.images.len(),
        Some(SegmentType::Raid(raid)) => match raid.level.family() {
            RaidFamily::Raid1 => raid.images.len(),
            RaidFamily::Raid10 => raid.copies() as usize,
            _ => 1,
        },
        _ => 1,
    }
}
