//! `lvcreate`: linear, striped, mirrored volumes, arrays, and those that take no extents.
//!
//! The new volume's first bytes are made zero, and signatures looked for, before the commit names
//! it: a crash in between leaves free extents with zeros in them.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::mirror::{self, LogContents};
use super::options::{
    Autoactivation, Initial, MirrorLog, MirrorOptions, NewKind, Permission, Skip, Start, Stripes,
    Zeroing,
};
use super::raid::{add_array, zero_images};
use crate::model::{
    AllocationPolicy, LogicalVolume, LvFlag, LvId, ReadAhead, Relations, SegmentType, VolumeGroup,
    name,
};
use crate::plan::allocate::{Request, allocate};
use crate::plan::author::Author;
use crate::plan::change::{Before, Change, Message};
use crate::plan::display::display_size;
use crate::plan::draft::{Draft, refused, wrong};
use crate::plan::places::{FreeSpace, Places};
use crate::plan::size::{Exactness, NewSize, Origin, Shape, SizeArgument, Totals};
use crate::plan::{ranges, segments};
use crate::{Bytes, Error, Extents, Kind, Result, Sectors};

/// What `-Z y` makes zero.
const ZEROED: Bytes = Bytes(4096);
const STRIPE_SIZE_DEFAULT: Sectors = Sectors(128);
const STRIPE_SIZE_MIN: Sectors = Sectors(8);
pub(super) const STRIPES_MAX: usize = 128;

/// What `lvcreate` was asked for.
#[derive(Debug, Clone)]
pub struct NewVolume<'a> {
    /// `-n`; without it `lvol0`, or the number behind the highest.
    pub name: Option<&'a str>,
    /// `-L` or `-l`.
    pub size: SizeArgument,
    /// `--type`, `-i`, `-I`, `-m` and what belongs to them.
    pub kind: NewKind,
    /// The physical volumes that were named.
    pub places: Option<&'a Places>,
    /// `--alloc`, `-C`; `None` as the group says.
    pub policy: Option<AllocationPolicy>,
    /// `allocation/cling_tag_list`.
    pub cling_tags: &'a [String],
    /// `-p`.
    pub permission: Permission,
    /// `-r`.
    pub read_ahead: ReadAhead,
    /// `-M y --minor`.
    pub minor: Option<u32>,
    /// `-k`.
    pub skip: Skip,
    /// `--setautoactivation`.
    pub autoactivation: Autoactivation,
    /// `--addtag`.
    pub tags: &'a [String],
    /// `--metadataprofile`.
    pub profile: Option<&'a str>,
    /// `-Z`, `-W`.
    pub zeroing: Zeroing,
    /// `-a`.
    pub start: Start,
}

impl NewVolume<'_> {
    /// A linear volume with every option as it is where nothing is said.
    pub fn linear(size: SizeArgument) -> Self {
        Self {
            name: None,
            size,
            kind: NewKind::LINEAR,
            places: None,
            policy: None,
            cling_tags: &[],
            permission: Permission::ReadWrite,
            read_ahead: ReadAhead::Auto,
            minor: None,
            skip: Skip::No,
            autoactivation: Autoactivation::Yes,
            tags: &[],
            profile: None,
            zeroing: Zeroing::ZeroAndWipe,
            start: Start::Active,
        }
    }
}

/// Creates a logical volume.
pub fn create_volume(
    vg: &VolumeGroup,
    new: &NewVolume<'_>,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let name = new_name(vg, new.name)?;
    require_room(vg)?;
    if let NewKind::Raid(options) = new.kind {
        options.check()?;
    }
    let stripes = checked_stripes(&mut draft, new.kind)?;
    let mut space = free_space(&mut draft, new.places)?;
    let size = new_size(&mut draft, new, stripes, &space, None)?;
    let id = match new.kind {
        NewKind::Zero | NewKind::Error => add_virtual(&mut draft, &name, new, size, author)?,
        NewKind::Striped(_) => {
            add_striped(&mut draft, &name, new, (size, stripes), &mut space, author)?
        }
        NewKind::Mirror(..) => {
            add_mirror(&mut draft, &name, new, (size, stripes), &mut space, author)?
        }
        NewKind::Raid(options) => {
            let what = (size, stripes.1);
            add_array(&mut draft, &name, (new, options), what, &mut space, author)?
        }
    };
    prepare_contents(&mut draft, new, id)?;
    if new.start == Start::Active && new.skip == Skip::No {
        draft.activate.push(id);
    }
    draft.note(format!("Logical volume \"{name}\" created."));
    draft.finish(author)
}

pub(super) fn new_name(vg: &VolumeGroup, asked: Option<&str>) -> Result<String> {
    if let Some(asked) = asked {
        require_free_name(vg, asked)?;
        return Ok(asked.to_owned());
    }
    Ok(numbered_name(vg, "lvol"))
}

/// A name with one more than the highest number, as stock gives it: numbers of removed volumes do
/// not come again, and those of parts count, as of `lvol0_pmspare`.
pub(super) fn numbered_name(vg: &VolumeGroup, prefix: &str) -> String {
    let number = |name: &str| {
        let rest = name.strip_prefix(prefix)?;
        let end = rest.find(|letter: char| !letter.is_ascii_digit());
        rest[..end.unwrap_or(rest.len())].parse().ok()
    };
    let numbers = vg.lvs().filter_map(|(_, lv)| number(lv.name()));
    let next = numbers
        .max()
        .map_or(0, |highest: u32| u64::from(highest) + 1);
    format!("{prefix}{next}")
}

/// Refuses a name that is reserved, taken, or no name, in stock's words.
pub(super) fn require_free_name(vg: &VolumeGroup, asked: &str) -> Result<()> {
    if let Some(sentence) = name::reservation(asked) {
        return Err(wrong(sentence));
    }
    name::validate_chosen(asked).map_err(|error| {
        wrong(format!(
            "Logical volume name \"{asked}\" is invalid: {error}"
        ))
    })?;
    if vg.lv_by_name(asked).is_some() {
        return Err(refused(format!(
            "Logical Volume \"{asked}\" already exists in volume group \"{}\"",
            vg.name
        )));
    }
    Ok(())
}

/// Refuses one volume more than the group may have.
pub(super) fn require_room(vg: &VolumeGroup) -> Result<()> {
    if vg.max_lv != 0 && visible_count(vg) >= u64::from(vg.max_lv) {
        return Err(refused(format!(
            "Maximum number of logical volumes ({}) reached in volume group {}",
            vg.max_lv, vg.name
        )));
    }
    Ok(())
}

/// How many volumes count against the group's limit.
pub(in crate::plan) fn visible_count(vg: &VolumeGroup) -> u64 {
    let relations = Relations::of(vg);
    vg.lvs()
        .filter(|(id, _)| relations.is_visible(vg, *id))
        .count() as u64
}

/// The stripes with their size, as stock accepts and notes them.
pub(super) fn checked_stripes(draft: &mut Draft, kind: NewKind) -> Result<(usize, Sectors)> {
    let stripes = kind.stripes();
    if !(1..=STRIPES_MAX).contains(&stripes.count) {
        return Err(wrong(format!(
            "Number of stripes ({}) must be between 1 and {STRIPES_MAX}.",
            stripes.count
        )));
    }
    if let NewKind::Mirror(options, _) = kind {
        options.check()?;
    }
    if stripes.count == 1 {
        return Ok((1, Sectors::ZERO));
    }
    let size = match stripes.size {
        None => {
            let size = STRIPE_SIZE_DEFAULT.min(draft.vg.extent_size);
            draft.note(format!("Using default stripesize {}.", display_size(size)));
            size
        }
        Some(size) => checked_stripe_size(draft, size)?,
    };
    Ok((stripes.count, size))
}

/// A stripe size as stock accepts it; the largest is an extent.
pub(super) fn checked_stripe_size(draft: &mut Draft, size: Sectors) -> Result<Sectors> {
    if size < STRIPE_SIZE_MIN || !size.0.is_power_of_two() {
        return Err(wrong(format!(
            "Invalid stripe size {}.",
            display_size(size)
        )));
    }
    let most = draft.vg.extent_size;
    if size > most {
        draft.note(format!(
            "Reducing requested stripe size {} to maximum, physical extent size {}.",
            display_size(size),
            display_size(most)
        ));
        return Ok(most);
    }
    Ok(size)
}

/// What may be taken, with warnings where people named places.
///
/// Free is what was free before the change: what the change itself frees is still in use until it
/// is committed, and what is new may be written before that.
pub(super) fn free_space(draft: &mut Draft, places: Option<&Places>) -> Result<FreeSpace> {
    match places {
        None => Ok(FreeSpace::of(&draft.old, &Places::all(&draft.old))),
        Some(places) => FreeSpace::of_named(&draft.old, places, &mut draft.messages),
    }
}

/// The size of a new volume, which may be the store of a snapshot of `origin`.
pub(super) fn new_size(
    draft: &mut Draft,
    new: &NewVolume<'_>,
    stripes: (usize, Sectors),
    space: &FreeSpace,
    origin: Option<Origin>,
) -> Result<NewSize> {
    let vg = &draft.vg;
    let free = mirror::free_extents(vg);
    let totals = Totals {
        extent_size: vg.extent_size,
        vg: vg.extent_count(),
        free,
        pvs: space.total(),
        used: Extents::ZERO,
        origin,
    };
    let shape = Shape {
        copies: new.kind.copies(),
        stripes: stripes.0 as u64,
    };
    let mut size = new
        .size
        .for_new_volume(&totals, shape, &mut draft.messages)?;
    if let (NewKind::Mirror(options, _), Exactness::AtMost) = (new.kind, size.exactness) {
        size.extents = leave_log(&draft.vg, options, size.extents, shape, space.total());
    }
    // Where none are named all count, also those that are full.
    let named = new.places.map(|_| space.places().len());
    let pvs = named.unwrap_or_else(|| draft.vg.pvs().count());
    if stripes.0 > pvs && shape.copies > 0 && policy(&draft.vg, new) != AllocationPolicy::Anywhere {
        let context = format!(
            "Number of stripes ({}) must not exceed number of physical volumes ({pvs})",
            stripes.0
        );
        return Err(no_room(&draft.messages, &context));
    }
    let needed = size.extents.0.saturating_mul(shape.copies);
    // Those of disks from which nothing may be taken are free, too; that there are too few of the
    // others is the allocator's to say.
    let all = mirror::all_free_extents(&draft.vg);
    if size.exactness == Exactness::Exact && needed > all.0 {
        let context = format!(
            "Volume group \"{}\" has insufficient free space ({} extents): {needed} required.",
            draft.vg.name, all.0
        );
        return Err(no_room(&draft.messages, &context));
    }
    Ok(size)
}

/// The refusal of a size, behind what was said of its stripes.
fn no_room(messages: &[Message], context: &str) -> Error {
    let mut said = messages.iter().map(|message| message.text.as_str());
    let said = said.rfind(|text| text.starts_with("Rounding size "));
    let lines: Vec<&str> = said.into_iter().chain([context]).collect();
    Error::new(Kind::Space, lines.join("\n"))
}

/// As many extents as leave room for the log, where a mirror is to take all that is free.
fn leave_log(
    vg: &VolumeGroup,
    options: MirrorOptions,
    extents: Extents,
    shape: Shape,
    free: Extents,
) -> Extents {
    let logs = match options.log {
        MirrorLog::Core => return extents,
        MirrorLog::Disk => 1,
        MirrorLog::Mirrored => 2,
    };
    // The smallest region makes the largest log; it is an extent or less for any real mirror.
    let region = options.region_size.unwrap_or(Sectors(1));
    let log = mirror::log_extents(extents, region, vg.extent_size) * logs;
    let room = free.checked_sub(log).unwrap_or_default();
    let most = Extents(room.0 / shape.copies).round_down(Extents(shape.stripes));
    extents.min(most.max(Extents(shape.stripes)))
}

pub(super) fn policy(vg: &VolumeGroup, new: &NewVolume<'_>) -> AllocationPolicy {
    new.policy.unwrap_or(vg.allocation)
}

/// The volume that people see, without segments.
pub(super) fn visible(
    name: &str,
    new: &NewVolume<'_>,
    author: &mut Author<'_>,
) -> Result<LogicalVolume> {
    let mut lv = LogicalVolume::new(name, author.uuid());
    lv.flags.insert(LvFlag::Read);
    lv.flags.insert(LvFlag::Visible);
    if new.permission == Permission::ReadWrite {
        lv.flags.insert(LvFlag::Write);
    }
    if new.skip == Skip::Yes {
        lv.flags.insert(LvFlag::ActivationSkip);
    }
    if new.autoactivation == Autoactivation::No {
        lv.flags.insert(LvFlag::NoAutoactivate);
    }
    lv.profile = new.profile.map(str::to_owned);
    for tag in new.tags {
        name::validate_tag(tag).map_err(|error| wrong(error.context))?;
        if !lv.tags.contains(tag) {
            lv.tags.push(tag.clone());
        }
    }
    if let Some(minor) = new.minor {
        lv.flags.insert(LvFlag::FixedMinor);
        lv.major = Some(0);
        lv.minor = Some(i64::from(minor));
    }
    lv.creation_time = Some(author.time);
    lv.creation_host = Some(author.host.clone());
    lv.allocation = new.policy;
    lv.read_ahead = new.read_ahead;
    Ok(lv)
}

fn add_virtual(
    draft: &mut Draft,
    name: &str,
    new: &NewVolume<'_>,
    size: NewSize,
    author: &mut Author<'_>,
) -> Result<LvId> {
    let kind = match new.kind {
        NewKind::Zero => SegmentType::Zero,
        _ => SegmentType::Error,
    };
    let mut lv = visible(name, new, author)?;
    lv.segments = vec![segments::segment(Extents::ZERO, size.extents, kind)];
    draft.vg.add_lv(lv)
}

/// The extents of each area.
fn request<'a>(
    draft: &Draft,
    new: &NewVolume<'a>,
    (size, stripes): (NewSize, (usize, Sectors)),
    legs: usize,
) -> Request<'a> {
    assert!(
        size.extents.0.is_multiple_of(stripes.0 as u64),
        "stripes are of one length"
    );
    let length = Extents(size.extents.0 / stripes.0 as u64);
    let mut request = Request::new(length, legs, stripes.0, policy(&draft.vg, new));
    request.exactness = size.exactness;
    request.cling_tags = new.cling_tags;
    request
}

pub(super) fn add_striped(
    draft: &mut Draft,
    name: &str,
    new: &NewVolume<'_>,
    size: (NewSize, (usize, Sectors)),
    space: &mut FreeSpace,
    author: &mut Author<'_>,
) -> Result<LvId> {
    let request = request(draft, new, size, 1);
    let runs = allocate(&draft.vg, space, &request).map_err(|shortage| shortage.error(name))?;
    let (count, stripe_size) = size.1;
    let mut lv = visible(name, new, author)?;
    segments::append(
        &mut lv.segments,
        segments::of_runs(&runs, 0, count, stripe_size, Extents::ZERO),
    );
    draft.vg.add_lv(lv)
}

fn add_mirror(
    draft: &mut Draft,
    name: &str,
    new: &NewVolume<'_>,
    size: (NewSize, (usize, Sectors)),
    space: &mut FreeSpace,
    author: &mut Author<'_>,
) -> Result<LvId> {
    let NewKind::Mirror(options, _) = new.kind else {
        unreachable!("the caller asked for a mirror");
    };
    let request = request(draft, new, size, options.legs);
    let runs = allocate(&draft.vg, space, &request).map_err(|shortage| shortage.error(name))?;
    let (count, stripe_size) = size.1;
    let length: Extents = runs.iter().map(|run| run.length * count as u64).sum();
    let mut lv = visible(name, new, author)?;
    if options.initial == Initial::NoSync {
        lv.flags.insert(LvFlag::NotSynced);
        draft.warn("New mirror won't be synchronised. Don't read what you didn't write!");
    }
    let id = draft.vg.add_lv(lv)?;
    let mut images = Vec::new();
    for leg in 0..options.legs {
        let mut list = Vec::new();
        segments::append(
            &mut list,
            segments::of_runs(&runs, leg, count, stripe_size, Extents::ZERO),
        );
        images.push(mirror::add_image(&mut draft.vg, name, author, list)?);
    }
    let is_as_long = |image: &LvId| draft.vg.lv(*image).extents() == length;
    assert!(images.iter().all(is_as_long), "copies are of one length");
    let region = mirror::region_size(draft, options.region_size, length)?;
    let legs = images
        .iter()
        .flat_map(|image| mirror::pvs_below(&draft.vg, *image))
        .collect();
    let log_length = mirror::log_extents(length, region, draft.vg.extent_size);
    let contents = LogContents::of(options.initial);
    let log = mirror::add_log(
        draft,
        space,
        author,
        name,
        (options.log, contents),
        log_length,
        &legs,
    )?;
    let kind = segments::mirror_of(&images, log, region);
    draft.vg.lv_mut(id).segments = vec![segments::segment(Extents::ZERO, length, kind)];
    Ok(id)
}

pub(super) fn prepare_contents(draft: &mut Draft, new: &NewVolume<'_>, id: LvId) -> Result<()> {
    if matches!(new.kind, NewKind::Zero | NewKind::Error) {
        return Ok(());
    }
    let full_name = format!("{}/{}", draft.vg.name, draft.vg.lv(id).name());
    if new.zeroing == Zeroing::Nothing {
        draft.warn(format!("Logical volume {full_name} not zeroed."));
        return Ok(());
    }
    if new.zeroing == Zeroing::ZeroAndWipe {
        let lv = draft.vg.lv(id).uuid;
        draft.before.push(Before::WipeSignatures { lv });
    }
    let size = draft.vg.lv(id).size(draft.vg.extent_size);
    let size = size.and_then(Sectors::to_bytes).unwrap_or(ZEROED);
    if let NewKind::Raid(_) = new.kind {
        return zero_images(draft, id, ZEROED.min(size));
    }
    let pieces = ranges::pieces(&draft.vg, id, Bytes::ZERO, ZEROED.min(size))?;
    assert!(!pieces.is_empty(), "a volume with contents lies somewhere");
    draft.before.push(Before::Fill { pieces, byte: 0 });
    Ok(())
}

/// The default of a stripe size, for a volume that gets stripes later.
pub(super) fn default_stripe_size(vg: &VolumeGroup) -> Sectors {
    STRIPE_SIZE_DEFAULT.min(vg.extent_size)
}

/// The stripes that were asked for, if they are a possible number.
pub(super) fn require_stripes(stripes: Stripes) -> Result<()> {
    if (1..=STRIPES_MAX).contains(&stripes.count) {
        return Ok(());
    }
    Err(wrong(format!(
        "Number of stripes ({}) must be between 1 and {STRIPES_MAX}.",
        stripes.count
    )))
}
