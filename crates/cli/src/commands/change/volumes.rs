//! Logical volumes as the command line names them, and the options that their commands share.

use std::collections::BTreeSet;

use ashlar::apply::Tolerated;
use ashlar::scan::{FoundVg, Restriction, Scan};
use lvm2::Uuid;
use lvm2::model::{
    AllocationPolicy, LvId, RaidFamily, ReadAhead, Relations, Segment, SegmentType, VolumeGroup,
    name,
};
use lvm2::plan::logical::{Autoactivation, Permission, Skip};
use lvm2::plan::places::Places;
use lvm2::plan::size::{Amount, Sign, SizeArgument};

use super::activation::require_usable;
use super::arguments::{ALLOC, Choice, choice, invalid};
use super::finder::Finder;
use super::groups::permitted;
use super::selection::{About, Asked, asked};
use super::work::{Work, failed, missing as missing_group};
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

/// A volume that the operands name.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    /// The name of its group.
    pub(super) group: String,
    /// Its name.
    pub(super) name: String,
    /// Its identity, by which it is known even if it is renamed meanwhile.
    pub(super) uuid: Uuid,
}

impl Chosen {
    /// Group and volume in what is found under the locks.
    pub(super) fn find<'s>(&self, scan: &'s Scan) -> ashlar::Result<(&'s FoundVg, LvId)> {
        let group = scan.find_group(&self.group)?;
        let found = group.model.lvs().find(|(_, lv)| lv.uuid == self.uuid);
        let (id, _) = found.ok_or_else(|| missing(&self.group, &self.name))?;
        Ok((group, id))
    }
}

/// Stock's sentence about a volume that is not there.
pub(super) fn missing(group: &str, name: &str) -> ashlar::Error {
    let what = format!("Failed to find logical volume \"{group}/{name}\"");
    ashlar::Error::new(ashlar::Kind::NotFound, what)
}

/// The volumes that the operands name: `VG`, `VG/LV`, `@tag`. What is not there is told, and makes
/// the command fail at its end.
pub(super) fn chosen(arguments: &Arguments, work: &mut Work<'_>) -> Result<Vec<Chosen>, Error> {
    let criteria = match asked(arguments, About::Volumes, work)? {
        Asked::Operands => None,
        Asked::Criteria(criteria) => Some(criteria),
        Asked::Help => return Ok(Vec::new()),
    };
    if arguments.operands().is_empty() && criteria.is_none() {
        return Err(Error::usage(
            "Please name volumes, as VG/LV, VG or @tag; --help says more.",
        ));
    }
    // What is no path is said before anything is looked at.
    let words = arguments.operands().iter();
    let mut named = words.filter(|word| !word.starts_with('@'));
    if let Some(wrong) = named.find_map(|word| place_of(word).err()) {
        return Err(Error::failed(wrong));
    }
    let scan = work.scan()?;
    let mut all: Vec<Chosen> = Vec::new();
    let mut missing_groups: Vec<String> = Vec::new();
    if arguments.operands().is_empty() {
        let groups = scan.groups.iter();
        all.extend(groups.flat_map(|found| volumes(found, |_| true)));
    }
    let mut has_tags = false;
    let whole = whole_groups(arguments);
    for word in arguments.operands() {
        let found = match split_target(word) {
            // Of a group that is named as a whole nothing else is looked for.
            Target::Lv(name) if whole.contains(&name.vg) => continue,
            Target::Tag(tag) if name::validate_tag(&tag).is_err() => {
                work.error(&format!("Skipping invalid tag {word}."));
                continue;
            }
            Target::Tag(tag) => {
                has_tags = true;
                Ok(tagged(&scan, &tag))
            }
            _ => of_word(&scan, word, |found| is_refused(found, arguments)),
        };
        match found {
            Ok(found) => {
                let is_new = |one: &Chosen| all.iter().all(|other| other.uuid != one.uuid);
                let new: Vec<Chosen> = found.into_iter().filter(is_new).collect();
                all.extend(new);
            }
            Err(Missing::Group(text)) => missing_groups.push(text),
            Err(Missing::Other(text)) => work.fail_later(&text),
        }
    }
    // Beside tags, which stand for what is in any group, nothing is said of one that is not there.
    if !has_tags {
        for text in missing_groups {
            work.fail_later(&text);
        }
    }
    if let Some(criteria) = criteria {
        criteria.retain(&mut all, &scan)?;
    }
    Ok(all)
}

/// Takes away the volumes of groups that may not be changed, and says so once of each; where only a
/// tag names what others own, nothing.
pub(super) fn retain_changeable(
    volumes: &mut Vec<Chosen>,
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let tolerated = tolerated(arguments);
    let scan = work.scan()?;
    let mut words = arguments.operands().iter();
    let is_named = words.any(|word| !word.starts_with('@'));
    for group in groups_in_play(volumes, arguments, &scan) {
        let found = scan.find_group(&group).map_err(|error| failed(&error))?;
        let Err(error) = permitted(found, tolerated) else {
            continue;
        };
        volumes.retain(|one| one.group != group);
        match found.restrictions.first() {
            Some(Restriction::Clustered) if !is_named => {
                work.error(&format!(
                    "Skipping clustered VG {group}.\nSee lvmlockd(8) for changing a clvm/clustered \
                     VG to a shared VG."
                ));
            }
            Some(
                Restriction::Foreign { .. } | Restriction::Exported | Restriction::Shared { .. },
            ) if !is_named => {}
            _ => work.fail_later(&error.to_string()),
        }
    }
    Ok(())
}

/// The groups that a command looks into: those of its volumes, those that its words name, and all
/// where a tag is looked for.
pub(super) fn groups_in_play(
    volumes: &[Chosen],
    arguments: &Arguments,
    scan: &Scan,
) -> BTreeSet<String> {
    let words = arguments.operands();
    let has_tags = words.iter().any(|word| word.starts_with('@'));
    let named = words.iter().filter_map(|word| match split_target(word) {
        Target::Vg(group) => Some(group),
        Target::Lv(name) => Some(name.vg),
        Target::Tag(_) => None,
    });
    let mut names: BTreeSet<String> = named.collect();
    names.extend(volumes.iter().map(|one| one.group.clone()));
    let groups = scan.groups.iter().map(|group| group.name.clone());
    groups
        .filter(|name| has_tags || names.contains(name))
        .collect()
}

/// What of a group does not matter to the command.
fn tolerated(arguments: &Arguments) -> &'static [Tolerated] {
    let is_strict = ["resync", "rebuild"]
        .iter()
        .any(|long| arguments.has_long(long));
    if is_strict { &[] } else { &[Tolerated::Absent] }
}

/// The groups that are named as wholes.
fn whole_groups(arguments: &Arguments) -> Vec<String> {
    let of_word = |word: &String| match split_target(word) {
        Target::Vg(group) => Some(group),
        _ => None,
    };
    arguments.operands().iter().filter_map(of_word).collect()
}

/// The volumes that a word names, as far as they are there.
pub(super) fn named_volumes(scan: &Scan, word: &str) -> Vec<Chosen> {
    match split_target(word) {
        Target::Tag(tag) => tagged(scan, &tag),
        _ => of_word(scan, word, |_| false).unwrap_or_default(),
    }
}

/// Whether the command does nothing with a group, which is said of it.
fn is_refused(found: &FoundVg, arguments: &Arguments) -> bool {
    let of_activity = ["activate", "refresh"];
    if of_activity.iter().any(|long| arguments.has_long(long)) {
        require_usable(found).is_err()
    } else {
        permitted(found, tolerated(arguments)).is_err()
    }
}

/// Why a word names nothing.
enum Missing {
    /// There is no such group.
    Group(String),
    /// Something else.
    Other(String),
}

/// The group that a word names, which is no tag, and the volume in it, if it names one.
fn place_of(word: &str) -> Result<(String, Option<String>), String> {
    match split_target(word) {
        Target::Vg(group) if !word.contains('/') || word.starts_with("/dev/") => Ok((group, None)),
        _ => match path(word)? {
            (Some(group), lv) if !group.is_empty() => {
                Ok((group, Some(lv).filter(|lv| !lv.is_empty())))
            }
            _ => Err(format!("\"{word}\": Invalid path for Logical Volume.")),
        },
    }
}

/// The volumes that a word names, which is no tag; nothing is missing in groups that are refused.
fn of_word(
    scan: &Scan,
    word: &str,
    is_refused: impl Fn(&FoundVg) -> bool,
) -> Result<Vec<Chosen>, Missing> {
    let (group, name) = place_of(word).map_err(Missing::Other)?;
    require_group_name(&group).map_err(|error| Missing::Group(error.to_string()))?;
    let found = match scan.find_group(&group) {
        Ok(found) => found,
        Err(error) if error.kind() == ashlar::Kind::NotFound => {
            return Err(Missing::Group(missing_group(&group, &error).to_string()));
        }
        Err(error) => return Err(Missing::Other(error.to_string())),
    };
    let Some(name) = name else {
        return Ok(volumes(found, |_| true));
    };
    match found.model.lv_by_name(&name) {
        Some(id) => Ok(vec![one_of(found, id)]),
        None if is_refused(found) => Ok(Vec::new()),
        None => Err(Missing::Other(missing(&group, &name).to_string())),
    }
}

/// A volume of a group.
pub(super) fn one_of(group: &FoundVg, id: LvId) -> Chosen {
    let lv = group.model.lv(id);
    Chosen {
        group: group.name.clone(),
        name: lv.name().to_owned(),
        uuid: lv.uuid,
    }
}

/// The volumes of a group that people see.
pub(super) fn volumes(group: &FoundVg, is_wanted: impl Fn(LvId) -> bool) -> Vec<Chosen> {
    let relations = Relations::of(&group.model);
    let ids = group.model.lvs().map(|(id, _)| id);
    ids.filter(|id| relations.is_visible(&group.model, *id) && is_wanted(*id))
        .map(|id| one_of(group, id))
        .collect()
}

fn tagged(scan: &Scan, tag: &str) -> Vec<Chosen> {
    let groups = scan.groups.iter();
    groups.flat_map(|group| with_tag(group, tag)).collect()
}

/// The volumes of a group with a tag; all where it has the tag itself.
pub(super) fn with_tag(group: &FoundVg, tag: &str) -> Vec<Chosen> {
    let has = |tags: &[String]| tags.iter().any(|own| own == tag);
    let model = &group.model;
    let whole = has(&model.tags);
    volumes(group, |id| whole || has(&model.lv(id).tags))
}

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
    if words.is_empty() {
        return Ok(None);
    }
    let names: Vec<&str> = words.iter().map(String::as_str).collect();
    let find = |name: &str| finder.member(scan, group, name);
    Places::parse(&group.model, &names, find)
        .map(Some)
        .map_err(ashlar::Error::from)
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
