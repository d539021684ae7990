//! Images that the others went on without count again, where nothing works without them.
//!
//! Several disks that vanish for a moment at once leave an array that has too few: the first ones
//! to go are called failed by the others, or are some events behind. What they hold is as old as
//! that. A person who knows what happened may have them believed again:
//!
//! ```text
//!   newest ──────────── believed as ever
//!   some events behind ─ as many as are needed, those that are least behind first, and all that
//!                        are as far behind as the last of these
//!   further behind ───── filled when the array is used, like one that comes back
//! ```
//!
//! Nothing is made up: where regions are marked by any of them, what the images hold may be of two
//! moments, and is made to go together by the data. Whoever asks says so before, and counts them.

use super::assembly::{Bits, Described, LegFound, LegState, assemble};
use super::bitmap::Dirty;
use super::head::record;
use super::superblock::{Position, Superblock};
use super::update::{all_legs, members, only};
use super::view::LegSet;
use crate::{Error, Kind, Result};

/// What becomes of the images of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reset {
    /// By place.
    pub legs: Vec<ResetLeg>,
    /// What their metadata begins with from then on, by place; `None`: it stays as it is.
    pub heads: Vec<Option<Vec<u8>>>,
    /// Regions where images may be of two moments, and all that there are.
    pub marked: (u64, u64),
    /// Bytes of a region, on each image.
    pub region: u64,
}

/// What becomes of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResetLeg {
    /// It is believed as before.
    Kept,
    /// It is believed again, though it is so many events behind, or was gone on without.
    Again(u64),
    /// It is not; why.
    Left(String),
}

/// What is to be said of an array called `name` of `size` bytes, so that images are believed again
/// of which `found` is known.
///
/// # Errors
///
/// It can be used without them; they would not be enough; it is being reshaped, or none at all.
pub fn reset(name: &str, described: &Described, size: u64, found: &[LegFound]) -> Result<Reset> {
    let refuse = |what: String| Err(Error::new(Kind::InvalidLayout, format!("{name}: {what}")));
    let assembly = assemble(name, described, found)?;
    if assembly.reshape.is_some() {
        return refuse("it is being reshaped".into());
    }
    let geometry = &described.geometry;
    let all = all_legs(geometry.legs());
    let whole = |leg: &usize| assembly.legs[*leg] == LegState::Valid { until: u64::MAX };
    let kept = members(all).filter(whole);
    let kept: LegSet = kept.fold(0, |set, leg| set | only(leg));
    if geometry.survives(all & !kept) {
        return refuse(
            "it can be used as it is; what was away is filled then, or is to be replaced \
             (lvconvert --repair)"
                .into(),
        );
    }
    let again = taken(described, (found, kept));
    let used = kept | again;
    if !geometry.survives(all & !used) {
        return refuse(format!(
            "with all images that say when they were written, {} of {} are there, which is not \
             enough",
            used.count_ones(),
            geometry.legs()
        ));
    }
    let marked = marked(described, (found, used))?;
    let superblock = Superblock {
        events: assembly.events + 1,
        failed: members(all & !used).collect(),
        array_resync_offset: match assembly.synced {
            u64::MAX => Position::End,
            byte => Position::Sector(byte / 512),
        },
        ..Superblock::in_sync(geometry, size, 0)
    };
    let head = |leg: usize| {
        let own = Superblock {
            array_position: leg as u32,
            ..superblock.clone()
        };
        let is_used = used & only(leg) != 0;
        is_used.then(|| record(&own, geometry.sync_size(), marked.clone()))
    };
    let state = |leg: usize| match (&assembly.legs[leg], &found[leg]) {
        _ if kept & only(leg) != 0 => ResetLeg::Kept,
        (_, LegFound::Holds(own, _)) if again & only(leg) != 0 => {
            ResetLeg::Again(assembly.events.saturating_sub(own.events))
        }
        (LegState::Untrusted(why), _) => ResetLeg::Left(why.clone()),
        (LegState::Missing, _) => ResetLeg::Left("it is missing".into()),
        _ => ResetLeg::Left("it is to be filled".into()),
    };
    Ok(Reset {
        legs: members(all).map(state).collect(),
        heads: members(all).map(head).collect(),
        marked: (marked.count(), marked.regions()),
        region: marked.region(),
    })
}

/// The legs that are believed again.
fn taken(described: &Described, (found, kept): (&[LegFound], LegSet)) -> LegSet {
    let geometry = &described.geometry;
    let all = all_legs(geometry.legs());
    let mut away: Vec<(u64, usize)> = Vec::new();
    for leg in members(all & !kept) {
        let LegFound::Holds(own, _) = &found[leg] else {
            continue;
        };
        let is_own = own.array_position as usize == leg
            && (own.level, own.layout) == geometry.scheme().md()
            && described.fits(own);
        if is_own && own.disk_recovery_offset == Position::End {
            away.push((own.events, leg));
        }
    }
    away.sort_unstable_by(|one, other| other.cmp(one));
    let mut taken = 0;
    let mut last = u64::MAX;
    for (events, leg) in away {
        if events < last && geometry.survives(all & !(kept | taken)) {
            break;
        }
        taken |= only(leg);
        last = events;
    }
    taken
}

/// Where one of these legs says that something was being written.
fn marked(described: &Described, (found, used): (&[LegFound], LegSet)) -> Result<Dirty> {
    let clean = Dirty::clean(described.region_size, described.geometry.sync_size())?;
    let mut marked = clean.clone();
    let (mut oldest, mut cleared) = (u64::MAX, 0);
    for leg in members(used) {
        let is_known = match &found[leg] {
            LegFound::Holds(own, Bits::Bitmap(bitmap) | Bits::Resting(bitmap)) => {
                oldest = oldest.min(own.events);
                cleared = cleared.max(bitmap.events_cleared);
                bitmap.is_current(own.events) && marked.merge(&bitmap.dirty)
            }
            _ => false,
        };
        if !is_known {
            return Ok(clean.filled());
        }
    }
    // Marks were taken off since one of them was away.
    Ok(if oldest < cleared {
        clean.filled()
    } else {
        marked
    })
}

#[cfg(test)]
mod tests;
