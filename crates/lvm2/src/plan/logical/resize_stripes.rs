//! The stripes of the extents that a volume gets, and what its size is rounded to by them.

use alloc::format;

use super::create;
use super::mirror;
use super::options::Stripes;
use super::raid;
use super::resize::Resize;
use crate::model::{LvId, RaidFamily, SegmentType};
use crate::plan::display::display_size;
use crate::plan::draft::{Draft, wrong};
use crate::plan::segments;
use crate::plan::size::{Amount, Base, Exactness, Sign};
use crate::{Extents, Result, Sectors};

/// The stripes of the new extents with their size, and what stock says about them.
pub(super) fn stripes_of(
    draft: &mut Draft,
    leg: LvId,
    (resize, is_mixed): (&Resize<'_>, bool),
) -> Result<(usize, Sectors)> {
    let list = &draft.vg.lv(leg).segments;
    // Segments without extents have no stripes.
    let mut last = list.iter().rev().map(|segment| match &segment.kind {
        SegmentType::Striped(striped) => Some((striped.areas.len(), striped.stripe_size)),
        _ => None,
    });
    let last = last.find_map(|last| last).unwrap_or((1, Sectors::ZERO));
    let count = match (resize.stripes, segments::common_stripes(list)) {
        (Some(count), _) => count,
        // What is of another type does not go on as before.
        (None, _) if is_mixed => 1,
        (None, Some(_)) => last.0,
        (None, None) => {
            return Err(wrong(
                "Please specify number of stripes (-i) and stripesize (-I)",
            ));
        }
    };
    create::require_stripes(Stripes { count, size: None })?;
    let asked = resize.stripe_size.map(|size| fitting(draft, size));
    if count == 1 {
        return Ok((1, Sectors::ZERO));
    }
    if let Some(size) = asked {
        return Ok((count, create::checked_stripe_size(draft, size)?));
    }
    if last.0 > 1 {
        note_last_stripe_size(draft, last.1);
        return Ok((count, last.1));
    }
    let size = create::default_stripe_size(&draft.vg);
    draft.note(format!("Using default stripesize {}", display_size(size)));
    Ok((count, size))
}

/// Says which stripes an array goes on with, where it has some and no copies.
pub(super) fn note_stripes(draft: &mut Draft, array: &raid::Array) {
    if array.copies() == 1 && array.data() > 1 {
        note_last_stripe_size(draft, array.raid.stripe_size);
    }
}

fn note_last_stripe_size(draft: &mut Draft, size: Sectors) {
    draft.note(format!(
        "Using stripesize of last segment {}",
        display_size(size)
    ));
}

/// A stripe is no larger than an extent, which is told.
fn fitting(draft: &mut Draft, size: Sectors) -> Sectors {
    let most = draft.vg.extent_size;
    if size > most {
        draft.note(format!(
            "Reducing stripe size {} to maximum, physical extent size {}.",
            display_size(size),
            display_size(most)
        ));
    }
    size.min(most)
}

/// The new extents are a multiple of the stripes.
pub(super) fn round_up(
    draft: &mut Draft,
    old: Extents,
    new: Extents,
    stripes: usize,
    exactness: Exactness,
    copies: u64,
) -> Extents {
    let stripes = stripes as u64;
    let rest = (new - old).0 % stripes;
    if rest == 0 {
        return new;
    }
    let (down, up) = (Extents(new.0 - rest), Extents(new.0 - rest + stripes));
    let free = mirror::free_extents(&draft.vg);
    if exactness == Exactness::AtMost && (up - old).0.saturating_mul(copies) > free.0 {
        draft.note(format!(
            "Rounding size ({} extents) down to stripe boundary size for segment ({} extents)",
            new.0, down.0
        ));
        return down;
    }
    draft.note(format!(
        "Rounding size ({} extents) up to stripe boundary size for segment ({} extents).",
        new.0, up.0
    ));
    up
}

/// The same for an array, where stock rounds what was asked for: a size, or how much is added.
pub(super) fn round_up_array(
    draft: &mut Draft,
    array: &raid::Array,
    resize: &Resize<'_>,
    new: Extents,
    exactness: Exactness,
) -> Extents {
    let old = array.extents;
    let data = array.data() as u64;
    let is_redundant = array.level().family() != RaidFamily::Raid0;
    let is_share = match resize.size.amount {
        Amount::Percent(_, Base::Lv | Base::Origin) => true,
        // It is a share of extents of physical volumes, and never more than that.
        Amount::Percent(..) if is_redundant => return Extents(new.0 - (new - old).0 % data),
        Amount::Percent(..) => true,
        Amount::Size(_) | Amount::Extents(_) => false,
    };
    if is_share || (new - old).0.is_multiple_of(data) {
        return round_up(draft, old, new, array.data(), exactness, array.copies());
    }
    let up = old + Extents((new - old).0.next_multiple_of(data));
    let size = |extents: Extents| {
        let asked = match resize.size.sign {
            Sign::Plus => extents - old,
            _ => extents,
        };
        let sectors = asked.to_sectors(draft.vg.extent_size).unwrap_or_default();
        format!("{} ({} extents)", display_size(sectors), asked.0)
    };
    let text = format!(
        "Rounding size {} up to stripe boundary size {}.",
        size(new),
        size(up)
    );
    draft.note(text);
    assert!(up > new, "it is rounded up");
    up
}
