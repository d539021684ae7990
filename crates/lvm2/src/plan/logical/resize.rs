//! `lvextend`, `lvreduce`, `lvresize`: more extents behind the last one, or fewer.
//!
//! A volume may have other stripes in each segment. New extents continue the last segment's way
//! unless stripes are asked for; where segments differ they must be. A mirror grows and shrinks by
//! its images, each on its own physical volumes; its log grows where it must.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::create;
use super::mirror;
use super::options::EXTENTS_MIN;
use super::raid::{self, array};
use super::reduce;
use super::resize_store::{origin_of, require_no_merge, require_reducible};
use super::resize_stripes::{note_stripes, round_up, round_up_array, stripes_of};
use crate::model::{
    AllocationPolicy, Area, LvFlag, LvId, Part, RaidFamily, RaidLevel, Relations, Segment,
    SegmentType, VolumeGroup,
};
use crate::plan::allocate::{Leg, Request, allocate};
use crate::plan::author::Author;
use crate::plan::change::{Before, Change, Level, Message};
use crate::plan::display::display_size;
use crate::plan::draft::{Draft, refused, require_known_segments, wrong};
use crate::plan::places::{FreeSpace, Places};
use crate::plan::size::{BELOW, Exactness, ResizeTo, Sign, SizeArgument, Totals};
use crate::plan::{ranges, segments};
use crate::{Bytes, Error, Extents, Kind, Result, Sectors};

/// What a refusal has in it where there is nothing to change.
const MATCHES: &str = " matches existing size";

/// What new extents are made of: `--type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewExtents {
    /// Extents of physical volumes, in stripes where they are asked for: `linear`, `striped`.
    Plain,
    /// More of each copy of a mirror.
    Mirror,
    /// More of each image of an array.
    Raid(RaidLevel),
    /// Nothing, which reads as zeros.
    Zero,
    /// Nothing, which cannot be read.
    Error,
}

impl NewExtents {
    /// Stock's name of the type, which does not tell linear from striped.
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "striped",
            Self::Mirror => "mirror",
            Self::Raid(level) => level.name(),
            Self::Zero => "zero",
            Self::Error => "error",
        }
    }

    /// What the last extents of a volume are.
    fn last_of(segments: &[Segment]) -> Self {
        match segments.last().map(|last| &last.kind) {
            Some(SegmentType::Zero) => Self::Zero,
            Some(SegmentType::Error) => Self::Error,
            Some(SegmentType::Mirror(_)) => Self::Mirror,
            Some(SegmentType::Raid(raid)) => Self::Raid(raid.level),
            _ => Self::Plain,
        }
    }

    /// The segment that needs no extents of physical volumes.
    fn without_extents(self) -> Option<SegmentType> {
        match self {
            Self::Plain | Self::Mirror | Self::Raid(_) => None,
            Self::Zero => Some(SegmentType::Zero),
            Self::Error => Some(SegmentType::Error),
        }
    }
}

/// What `lvextend`, `lvreduce` or `lvresize` was asked for.
#[derive(Debug, Clone)]
pub struct Resize<'a> {
    /// The volume's name.
    pub volume: &'a str,
    /// `-L` or `-l`.
    pub size: SizeArgument,
    /// Which of the three commands it is.
    pub direction: ResizeTo,
    /// `--type`; `None` to go on as the last segment.
    pub kind: Option<NewExtents>,
    /// `-i`.
    pub stripes: Option<usize>,
    /// `-I`.
    pub stripe_size: Option<Sectors>,
    /// The physical volumes that were named.
    pub places: Option<&'a Places>,
    /// `--alloc`; `None` as the volume or the group says.
    pub policy: Option<AllocationPolicy>,
    /// `allocation/cling_tag_list`.
    pub cling_tags: &'a [String],
    /// Of the store of a snapshot, how much of it is in use, from its start; `None` where that is
    /// not known.
    pub store_used: Option<Sectors>,
}

impl<'a> Resize<'a> {
    /// To `size`, without an option: it goes on as its last segment does, wherever there is room.
    pub fn to(volume: &'a str, size: SizeArgument, direction: ResizeTo) -> Self {
        Self {
            volume,
            size,
            direction,
            kind: None,
            stripes: None,
            stripe_size: None,
            places: None,
            policy: None,
            cling_tags: &[],
            store_used: None,
        }
    }
}

/// Changes the size of a logical volume.
pub fn resize_volume(
    vg: &VolumeGroup,
    resize: &Resize<'_>,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    match change_size(&mut draft, vg, resize) {
        Ok(Effect::Resized) => draft.finish(author),
        Ok(Effect::Nothing) => Ok(Change {
            messages: draft.messages,
            ..Change::default()
        }),
        Err(error) => Err(after_notes(error, &draft.messages)),
    }
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Resized,
    /// The volume has all that it can use.
    Nothing,
}

/// The same error behind what was told before it, as how a size was rounded.
fn after_notes(mut error: Error, messages: &[Message]) -> Error {
    let notes = messages
        .iter()
        .filter(|message| message.level == Level::Note);
    let lines: Vec<&str> = notes
        .map(|note| note.text.as_str())
        .chain([error.context.as_str()])
        .collect();
    error.context = lines.join("\n");
    error
}

fn change_size(draft: &mut Draft, vg: &VolumeGroup, resize: &Resize<'_>) -> Result<Effect> {
    let id = vg.lv_by_name(resize.volume).ok_or_else(|| {
        wrong(format!(
            "Logical volume {} not found in volume group {}.",
            resize.volume, vg.name
        ))
    })?;
    require_resizable_as(vg, id, Arrays::Accepted, |part| {
        matches!(part, Part::SnapshotOrigin | Part::SnapshotCow)
    })?;
    require_no_merge(vg, id)?;
    let kind = kind_of(draft, id, resize)?;
    let old = vg.lv(id).extents();
    let totals = Totals {
        extent_size: vg.extent_size,
        vg: vg.extent_count(),
        free: mirror::free_extents(vg),
        pvs: match resize.places {
            Some(places) => FreeSpace::of(vg, places).total(),
            None => vg.extent_count(),
        },
        used: mirror::extents_below(vg, id),
        origin: origin_of(vg, id),
    };
    let parts = mirror::parts(vg, id)?;
    let copies = match (&parts, array(vg, id)) {
        (_, Some(array)) => array.copies(),
        (Some(parts), _) => parts.images.len() as u64,
        (None, _) => u64::from(kind.without_extents().is_none()),
    };
    let resized = resize
        .size
        .for_resize(old, &totals, copies, resize.direction, &mut draft.messages)
        .map_err(|error| named(error, vg, id))?;
    let new = resized.extents;
    assert!(new > Extents::ZERO, "no volume is left without extents");
    let is_full = totals.origin.is_some_and(|origin| old >= origin.store_max);
    if new == old && is_full {
        // As in stock: it has all that it can use, and that is no failure.
        report(draft, id, old);
        return Ok(Effect::Nothing);
    }
    if new < old && resize.direction != ResizeTo::Larger {
        require_known_segments(vg)?;
        require_reducible(vg, id, new, resize.store_used)?;
        if resize.places.is_some() {
            draft.note("Ignoring PVs on command line when reducing.");
        }
        reduce::reduce(draft, id, new)?;
    } else if new > old && resize.direction != ResizeTo::Smaller {
        extend(draft, id, (resize, kind), new, resized.exactness)?;
    } else {
        let (resize, new) = ((resize, kind), (new, resized.exactness));
        return Err(refusal(draft, id, resize, new)?);
    }
    report(draft, id, old);
    Ok(Effect::Resized)
}

/// The refusal to take more than there is, with the name of the volume.
fn named(mut error: Error, vg: &VolumeGroup, id: LvId) -> Error {
    if error.context.starts_with(BELOW) {
        let name = format!("Unable to reduce {}/{} below", vg.name, vg.lv(id).name());
        error.context = error.context.replacen("Unable to reduce below", &name, 1);
    }
    error
}

/// Whether a refusal of [`resize_volume`] says that the volume has the size already.
pub fn is_of_that_size(refusal: &str) -> bool {
    refusal.contains("New size (") && refusal.contains(MATCHES)
}

fn no_change(new: Extents, old: Extents, direction: ResizeTo) -> Error {
    let (new, old) = (new.0, old.0);
    refused(match direction {
        _ if new == old => {
            format!("New size ({new} extents){MATCHES} ({old} extents).")
        }
        ResizeTo::Larger => {
            format!("New size given ({new} extents) not larger than existing size ({old} extents)")
        }
        _ => format!("New size given ({new} extents) not less than existing size ({old} extents)"),
    })
}

/// Why a volume does not get a size: what is told of how it would come to that, and that the
/// command is not for it.
fn refusal(
    draft: &mut Draft,
    id: LvId,
    (resize, kind): (&Resize<'_>, NewExtents),
    (new, exactness): (Extents, Exactness),
) -> Result<Error> {
    let old = draft.vg.lv(id).extents();
    let parts = mirror::parts(&draft.vg, id)?;
    let legs = parts.map_or_else(|| vec![id], |parts| parts.images);
    if new < old {
        let is_shaped = resize.stripes.is_some() || resize.stripe_size.is_some();
        if is_shaped {
            draft.note("Ignoring stripes, stripesize and mirrors arguments when reducing.");
        }
        return Ok(match reduce::rounded(draft, &legs, new, old) {
            Ok(new) => no_change(new, old, resize.direction),
            Err(error) => error,
        });
    }
    if new == old && resize.size.sign == Sign::Minus {
        // Rounded away, so that nothing is said of how it would go on.
        return Ok(no_change(new, old, resize.direction));
    }
    let extending = |copies: u64| format!("Extending {copies} mirror images.");
    let new = if let Some(array) = array(&draft.vg, id) {
        let new = round_up_array(draft, &array, resize, new, exactness);
        if array.copies() > 1 {
            draft.note(extending(array.copies()));
        }
        note_stripes(draft, &array);
        new
    } else {
        let copies = legs.len() as u64;
        if copies > 1 {
            draft.note(extending(copies));
        }
        let is_mixed = kind != NewExtents::last_of(&draft.vg.lv(id).segments);
        let (stripes, _) = stripes_of(draft, legs[0], (resize, is_mixed))?;
        round_up(draft, old, new, stripes, exactness, copies)
    };
    Ok(no_change(new, old, resize.direction))
}

fn report(draft: &mut Draft, id: LvId, old: Extents) {
    let new = draft.vg.lv(id).extents();
    let size = |extents: Extents| {
        let sectors = extents.to_sectors(draft.vg.extent_size).unwrap_or_default();
        format!("{} ({} extents)", display_size(sectors), extents.0)
    };
    let name = format!("{}/{}", draft.vg.name, draft.vg.lv(id).name());
    let text = if new == old {
        format!(
            "Size of logical volume {name} unchanged from {}.",
            size(old)
        )
    } else {
        format!(
            "Size of logical volume {name} changed from {} to {}.",
            size(old),
            size(new)
        )
    };
    draft.note(text);
    draft.note(format!("Logical volume {name} successfully resized."));
}

/// Refuses volumes whose size is not their own to change, or whose types we only carry.
pub(super) fn require_resizable(vg: &VolumeGroup, id: LvId) -> Result<()> {
    require_resizable_as(vg, id, Arrays::Refused, |_| false)
}

/// The same, but for arrays too.
pub(super) fn require_own(vg: &VolumeGroup, id: LvId) -> Result<()> {
    require_resizable_as(vg, id, Arrays::Accepted, |_| false)
}

/// The same, but for arrays that are, or were, reshaped as well.
pub(super) fn require_own_or_reshaped(vg: &VolumeGroup, id: LvId) -> Result<()> {
    require_resizable_as(vg, id, Arrays::Reshaped, |_| false)
}

/// Whether arrays are among the volumes that may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrays {
    Accepted,
    Refused,
    /// Also those whose reshape is not over, or has left its space.
    Reshaped,
}

/// The same, but for volumes that are used only as what `is_fine`.
fn require_resizable_as(
    vg: &VolumeGroup,
    id: LvId,
    arrays: Arrays,
    is_fine: impl Fn(Part) -> bool,
) -> Result<()> {
    let lv = vg.lv(id);
    let name = format!("{}/{}", vg.name, lv.name());
    if lv.flags.has(LvFlag::Locked) || lv.flags.has(LvFlag::Pvmove) {
        return Err(refused(format!(
            "Can't resize locked logical volume {name}: its extents are being moved"
        )));
    }
    raid::require_untracked(vg, id)?;
    let relations = Relations::of(vg);
    let mut uses = relations.used_by(id).iter();
    if let Some(used) = uses.find(|used| !is_fine(used.part)) {
        let user = vg.lv(used.by).name();
        let what = match used.part {
            Part::SnapshotOrigin => "an origin of snapshots".to_owned(),
            Part::SnapshotCow => "the store of a snapshot".to_owned(),
            part @ (Part::RaidImage(_) | Part::RaidMeta(_)) => {
                return Err(refused(format!(
                    "Cannot resize a RAID {} directly: {name} is a part of {user}",
                    raid::part_name(part)
                )));
            }
            _ if !relations.is_visible(vg, id) => {
                return Err(refused(format!(
                    "Can't resize internal logical volume {name}: it is a part of {user}"
                )));
            }
            _ => format!("a part of {user}"),
        };
        return Err(refused(format!(
            "Can't resize logical volume {name}: it is {what}"
        )));
    }
    for segment in &lv.segments {
        let is_ours = match &segment.kind {
            SegmentType::Striped(_) | SegmentType::Zero | SegmentType::Error => true,
            SegmentType::Mirror(_) => lv.segments.len() == 1,
            SegmentType::Raid(_) => match arrays {
                Arrays::Refused => false,
                Arrays::Accepted => array(vg, id).is_some(),
                Arrays::Reshaped => true,
            },
            _ => false,
        };
        if !is_ours {
            return Err(refused(format!(
                "Can't resize logical volume {name}: segments of type {} cannot be resized yet",
                segment.type_name()
            )));
        }
    }
    Ok(())
}

/// What the new extents are made of, in stock's words where it is not what the last ones are.
fn kind_of(draft: &mut Draft, id: LvId, resize: &Resize<'_>) -> Result<NewExtents> {
    let last = NewExtents::last_of(&draft.vg.lv(id).segments);
    let kind = resize.kind.unwrap_or(last);
    let is_whole = |kind: NewExtents| matches!(kind, NewExtents::Mirror | NewExtents::Raid(_));
    if kind != last && (is_whole(kind) || is_whole(last)) {
        return Err(refused(format!(
            "VolumeType does not match ({}).",
            kind.name()
        )));
    }
    if kind != last {
        draft.note(format!(
            "Logical volume {}/{} is using mixing segment types {} and {}.",
            draft.vg.name,
            draft.vg.lv(id).name(),
            last.name(),
            kind.name()
        ));
    }
    Ok(kind)
}

fn extend(
    draft: &mut Draft,
    id: LvId,
    (resize, kind): (&Resize<'_>, NewExtents),
    new: Extents,
    exactness: Exactness,
) -> Result<()> {
    let old = draft.vg.lv(id).extents();
    let is_mixed = kind != NewExtents::last_of(&draft.vg.lv(id).segments);
    let parts = mirror::parts(&draft.vg, id)?;
    if let Some(array) = array(&draft.vg, id) {
        return extend_array(draft, id, &array, resize, new, exactness);
    }
    let legs = match &parts {
        Some(parts) => parts.images.clone(),
        None => vec![id],
    };
    let (stripes, stripe_size) = stripes_of(draft, legs[0], (resize, is_mixed))?;
    let new = round_up(draft, old, new, stripes, exactness, legs.len() as u64);
    if new <= old {
        return Err(no_change(old, old, ResizeTo::Larger));
    }
    if let Some(kind) = kind.without_extents() {
        let more = segments::segment(old, new - old, kind);
        segments::append(&mut draft.vg.lv_mut(id).segments, vec![more]);
        return Ok(());
    }
    let mut space = create::free_space(draft, resize.places)?;
    assert!(
        (new - old).0.is_multiple_of(stripes as u64),
        "stripes are of one length"
    );
    let length = Extents((new - old).0 / stripes as u64);
    let policy = resize
        .policy
        .or(draft.vg.lv(id).allocation)
        .unwrap_or(draft.vg.allocation);
    let mut request = Request::new(length, legs.len(), stripes, policy);
    request.exactness = exactness;
    request.cling_tags = resize.cling_tags;
    request.legs = legs
        .iter()
        .map(|leg| leg_of(&draft.vg, *leg, stripes))
        .collect();
    let runs = allocate(&draft.vg, &mut space, &request)
        .map_err(|shortage| shortage.error(resize.volume))?;
    for (index, leg) in legs.iter().enumerate() {
        let more = segments::of_runs(&runs, index, stripes, stripe_size, old);
        segments::append(&mut draft.vg.lv_mut(*leg).segments, more);
    }
    if let Some(parts) = parts {
        draft.note(format!("Extending {} mirror images.", legs.len()));
        let extents = draft.vg.lv(legs[0]).extents();
        let is_as_long = |leg: &LvId| draft.vg.lv(*leg).extents() == extents;
        assert!(legs.iter().all(is_as_long), "copies are of one length");
        draft.vg.lv_mut(id).segments[0].length = extents;
        grow_log(draft, &mut space, &parts, extents)?;
    }
    Ok(())
}

/// The same for an array, which has the same stripes from its start to its end.
fn extend_array(
    draft: &mut Draft,
    id: LvId,
    array: &raid::Array,
    resize: &Resize<'_>,
    new: Extents,
    exactness: Exactness,
) -> Result<()> {
    let (old, data) = (array.extents, array.data());
    // As in stock, which goes on with the stripes that raid10 has.
    let has_own = array.level().family() == RaidFamily::Raid10;
    if !has_own && resize.stripes.is_some_and(|stripes| stripes != data) {
        return Err(refused(format!(
            "Unable to extend \"{}\" segment type with different number of stripes.",
            array.level().name()
        )));
    }
    let new = round_up_array(draft, array, resize, new, exactness);
    note_stripes(draft, array);
    if new <= old {
        return Err(no_change(old, old, ResizeTo::Larger));
    }
    let mut space = create::free_space(draft, resize.places)?;
    let policy = resize
        .policy
        .or(draft.vg.lv(id).allocation)
        .unwrap_or(draft.vg.allocation);
    let how = (policy, exactness, resize.cling_tags);
    raid::extend_array(draft, id, new - old, how, &mut space)
}

/// Where a leg goes on: behind its last segment, where that one has as many stripes.
pub(super) fn leg_of(vg: &VolumeGroup, lv: LvId, stripes: usize) -> Leg {
    let mut leg = Leg {
        pvs: mirror::pvs_below(vg, lv),
        behind: Vec::new(),
    };
    let Some(last) = vg.lv(lv).segments.last() else {
        return leg;
    };
    let Some(length) = last.area_length() else {
        return leg;
    };
    let end = |area: &Area| match area {
        Area::Pv { pv, start } => Some((*pv, *start + length)),
        Area::Lv { .. } => None,
    };
    let ends: Option<Vec<_>> = last.areas().iter().map(end).collect();
    leg.behind = ends
        .filter(|ends| ends.len() == stripes)
        .unwrap_or_default();
    leg
}

/// A log that is too small for its mirror gets more extents, which must be zeros.
fn grow_log(
    draft: &mut Draft,
    space: &mut FreeSpace,
    parts: &mirror::Parts,
    extents: Extents,
) -> Result<()> {
    let Some(log) = parts.log else { return Ok(()) };
    let needed = mirror::log_extents(extents, parts.region_size, draft.vg.extent_size);
    let old = draft.vg.lv(log).extents().max(EXTENTS_MIN);
    if needed <= old {
        return Ok(());
    }
    if mirror::parts(&draft.vg, log)?.is_some() {
        return Err(refused(
            "The mirrored log is too small for the new size; convert it with lvconvert \
             --mirrorlog disk first",
        ));
    }
    assert!(needed > old, "the log grows");
    let mut request = Request::new(needed - old, 1, 1, AllocationPolicy::Normal);
    request.legs = vec![leg_of(&draft.vg, log, 1)];
    let runs = allocate(&draft.vg, space, &request)
        .map_err(|shortage| shortage.error(draft.vg.lv(log).name()))?;
    let more = segments::of_runs(&runs, 0, 1, Sectors::ZERO, old);
    segments::append(&mut draft.vg.lv_mut(log).segments, more);
    let bytes = |extents: Extents| {
        let sectors = extents.to_sectors(draft.vg.extent_size);
        sectors
            .and_then(Sectors::to_bytes)
            .ok_or_else(|| Error::new(Kind::Limit, "The mirror's log is too large"))
    };
    let (start, length): (Bytes, Bytes) = (bytes(old)?, bytes(needed - old)?);
    let pieces = ranges::pieces(&draft.vg, log, start, length)?;
    assert!(!pieces.is_empty(), "what a log grew by lies somewhere");
    draft.before.push(Before::Fill { pieces, byte: 0 });
    Ok(())
}
