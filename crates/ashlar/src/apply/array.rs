//! What is known of an array that nobody has active, from what its images say of themselves.
//!
//! An array goes together where all images that are there are believed, in whole, have all marks
//! that others have, and nothing is marked but what an image that is not there misses; it goes
//! together but for some images where that is so of all others. Who believes images is who also
//! does it when the volume is opened (`dm::raid::assemble`).
//!
//! Less than what opening an array finds out: what is not plain is not claimed.

mod head;
mod shrunk;

pub use head::{array_head, reshape_head};
pub use shrunk::shrunk_records;

use dm::raid::{Assembly, Doubt, LegFound, LegState, Reset, assemble, reset};
use lvm2::model::{LvId, SegmentType};

use crate::arrays::{ArrayReader, Records};
use crate::scan::{FoundVg, Scan};
use crate::{Error, Kind, Result};

/// What is known of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArrayFacts {
    /// The images that are there go together.
    InSync,
    /// Nobody has ever used it.
    Unused,
    /// All but these, a bit each, go together; these are not believed.
    InSyncBut(u64),
    /// The images may differ, and the first one is right.
    FirstIsRight,
    /// The images may differ, and nobody knows where.
    Unknown,
}

/// Reads what the images of an array say. RAID 0 has nothing to be in sync.
///
/// # Errors
///
/// It is no array, or none that the metadata can mean.
pub fn array_facts(scan: &Scan, group: &FoundVg, lv: LvId) -> Result<ArrayFacts> {
    let volume = group.model.lv(lv);
    let Some(SegmentType::Raid(raid)) = volume.first() else {
        let what = format!("{}/{} is no array", group.name, volume.name());
        return Err(Error::new(Kind::Request, what));
    };
    if raid.images.iter().any(|image| image.meta.is_none()) {
        return Ok(ArrayFacts::InSync);
    }
    let records = ArrayReader::default().records(scan, group, lv)?;
    Ok(records.map_or(ArrayFacts::InSync, |records| judge(&records)))
}

/// What is to be said of an array, so that images count again that the others went on without.
///
/// # Errors
///
/// It is no array; it can be used without them, or not with them either.
pub fn images_to_reset(scan: &Scan, group: &FoundVg, lv: LvId) -> Result<Reset> {
    let name = format!("{}/{}", group.name, group.model.lv(lv).name());
    let refused = |what: &str| Error::new(Kind::Refused, format!("{name} is not reset: {what}"));
    let records = ArrayReader::default().records(scan, group, lv)?;
    let records = records.ok_or_else(|| refused("it has no images that could fail"))?;
    let size = group.model.lv(lv).size(group.model.extent_size);
    let size = size.and_then(lvm2::Sectors::to_bytes).unwrap_or_default();
    reset(&name, &records.described, size.0, &records.images)
        .map_err(|error| refused("nothing was changed").because(error))
}

/// Whether an image is not there, or is to be filled.
fn is_absent(found: &LegFound) -> bool {
    matches!(found, LegFound::Missing | LegFound::New(_))
}

fn judge(records: &Records) -> ArrayFacts {
    let found = &records.images;
    let is_blank = |one: &LegFound| *one == LegFound::Blank;
    if found.iter().all(is_blank) {
        return ArrayFacts::Unused;
    }
    if found.first().is_some_and(is_blank)
        && found.iter().all(|one| is_blank(one) || is_absent(one))
    {
        // What a linear volume became, and nobody has used yet.
        return ArrayFacts::FirstIsRight;
    }
    let Ok(assembly) = assemble("it", &records.described, found) else {
        return ArrayFacts::Unknown;
    };
    let size = records.described.geometry.sync_size();
    let others = untrusted(&assembly);
    if goes_together(&assembly, (found, others), size) {
        match others {
            0 => ArrayFacts::InSync,
            others => ArrayFacts::InSyncBut(others),
        }
    } else if assembly.reshape.is_none() && is_right(&assembly, 0) {
        ArrayFacts::FirstIsRight
    } else {
        ArrayFacts::Unknown
    }
}

/// Whether an image holds all that the array holds.
fn is_right(assembly: &Assembly, image: usize) -> bool {
    assembly.legs[image] == LegState::Valid { until: u64::MAX }
        && assembly.missed[image] == Doubt::Nowhere
}

/// The images that are there and not believed, a bit each.
fn untrusted(assembly: &Assembly) -> u64 {
    let legs = assembly.legs.iter().enumerate();
    let others = legs.filter(|(_, leg)| matches!(leg, LegState::Untrusted(_)));
    others.fold(0, |set, (leg, _)| set | 1 << leg)
}

/// Whether all images go together but those that are not there, and these `others`.
fn goes_together(assembly: &Assembly, (found, others): (&[LegFound], u64), sync_size: u64) -> bool {
    let is_away = |image: usize| is_absent(&found[image]) || others >> image & 1 == 1;
    // Without what a reshape has taken away.
    let images = 0..assembly.legs.len();
    let mut there = images.clone().filter(|image| !is_away(*image));
    let is_whole = !images.clone().any(is_away);
    // Where an image is away marks say what it misses; else a write may have been cut short.
    let is_marked = assembly.dirty != Doubt::Nowhere;
    let is_plain = assembly.reshape.is_none() && !(is_whole && is_marked);
    is_plain && assembly.synced >= sync_size && there.all(|image| is_right(assembly, image))
}

#[cfg(test)]
mod tests;
