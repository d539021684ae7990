//! How large a volume is to be: `-L` and `-l`, and how stock rounds them.
//!
//! ```text
//!     -L 6M        8 MiB where extents have 4        up, for a new volume and for a new size
//!     -L -6M       4 MiB less                        down: never more is cut than was asked for
//!     -l 33%FREE   55 of 169 extents                 down; it may also become less
//!     -l +50%LV    3 of 5 extents                    up
//!     -i 3         the next multiple of 3            down where a share of free space was asked
//!                                                    for all of it and up would not fit
//! ```
//!
//! Every rounding is told in stock's words.

mod parse;
mod resize;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::change::Message;
use super::display::display_size;
use super::draft::wrong;
use crate::{Bytes, Error, Extents, Kind, Result, Sectors};

pub use parse::parse_size;
pub(in crate::plan) use resize::BELOW;
pub use resize::{ResizeTo, Resized};

/// LVM2 counts the extents of a volume in 32 bits.
const EXTENTS_MAX: u64 = u32::MAX as u64;

/// Whether a size is one, or a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// The new size.
    Absolute,
    /// So much more.
    Plus,
    /// So much less.
    Minus,
}

/// Of what a percentage is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// All extents of the group.
    Vg,
    /// The free extents of the group.
    Free,
    /// The free extents of the physical volumes that were named.
    Pvs,
    /// The extents of the origin.
    Origin,
    /// The extents that the volume has.
    Lv,
}

/// How much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// A size.
    Size(Bytes),
    /// So many extents.
    Extents(Extents),
    /// A share.
    Percent(u32, Base),
}

/// What `-L` or `-l` said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeArgument {
    /// Whether it is a size or a difference.
    pub sign: Sign,
    /// How much.
    pub amount: Amount,
}

/// Whether less than what was asked for will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exactness {
    /// All of it or nothing.
    Exact,
    /// As much as there is, up to it.
    AtMost,
}

/// What percentages are taken of.
#[derive(Debug, Clone, Copy)]
pub struct Totals {
    /// The size of an extent.
    pub extent_size: Sectors,
    /// All extents of the group.
    pub vg: Extents,
    /// The free ones that may be allocated.
    pub free: Extents,
    /// The free ones on the physical volumes that were named. For a new volume, those on all where
    /// none was named; for another size, all extents of the group.
    pub pvs: Extents,
    /// Those that the volume has that is resized, with its parts.
    pub used: Extents,
    /// The origin of the snapshot whose store is made or resized.
    pub origin: Option<Origin>,
}

/// What the size of a snapshot's store depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The extents of the origin.
    pub extents: Extents,
    /// The extents of a store that has room for all chunks of the origin: more are never used.
    pub store_max: Extents,
}

/// The size of a new volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewSize {
    /// Extents of data.
    pub extents: Extents,
    /// Whether less will do.
    pub exactness: Exactness,
}

/// How the extents of a new volume lie on physical ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Extents on physical volumes for each of data; 0 for a volume that takes none.
    pub copies: u64,
    /// The extents of data are a multiple of it.
    pub stripes: u64,
}

impl Origin {
    /// An origin of so many extents whose snapshot has these chunks.
    ///
    /// A store has its header in the first chunk. Each area of entries takes one, and there is one
    /// more area than full ones: it ends the list.
    pub(super) fn new(extents: Extents, chunk_size: Sectors, extent_size: Sectors) -> Self {
        let sectors = extents.0.saturating_mul(extent_size.0);
        let chunks = sectors.div_ceil(chunk_size.0);
        let areas = chunks / entries_of_area(chunk_size) + 1;
        let store = (chunks + areas + 1).saturating_mul(chunk_size.0);
        Self {
            extents,
            store_max: Extents(store.div_ceil(extent_size.0).min(EXTENTS_MAX)),
        }
    }
}

/// How many chunks of an origin a store of `size` has room for, beside its header and the areas of
/// entries.
pub fn store_capacity(size: Sectors, chunk_size: Sectors) -> u64 {
    let per_area = entries_of_area(chunk_size);
    // Behind the header and the first area: so many chunks, then the next area, and so on. The
    // last entry of an area is taken only where there is a next one.
    let behind = (size.0 / chunk_size.0).saturating_sub(2);
    let (full, rest) = (behind / (per_area + 1), behind % (per_area + 1));
    full * per_area + rest.min(per_area - 1)
}

/// Entries of an area, which is a chunk.
fn entries_of_area(chunk_size: Sectors) -> u64 {
    const ENTRY: u64 = 16;
    (chunk_size.0.saturating_mul(512) / ENTRY).max(2)
}

impl Totals {
    fn of(&self, base: Base) -> Option<Extents> {
        match base {
            Base::Vg => Some(self.vg),
            Base::Free => Some(self.free),
            Base::Pvs => Some(self.pvs),
            Base::Origin => self.origin.map(|origin| origin.extents),
            Base::Lv => None,
        }
    }
}

impl SizeArgument {
    /// A new size in extents.
    pub fn extents(count: u64) -> Self {
        Self {
            sign: Sign::Absolute,
            amount: Amount::Extents(Extents(count)),
        }
    }

    /// The extents of a new volume, and what stock says about rounding.
    pub fn for_new_volume(
        self,
        totals: &Totals,
        shape: Shape,
        messages: &mut Vec<Message>,
    ) -> Result<NewSize> {
        if self.sign != Sign::Absolute {
            return Err(wrong("Size of a new volume may not be given with a sign"));
        }
        let mut exactness = Exactness::Exact;
        let extents = match self.amount {
            Amount::Extents(extents) => extents,
            Amount::Size(size) => whole_extents(size, totals.extent_size, messages)?,
            Amount::Percent(percent, base) => {
                if base != Base::Origin {
                    exactness = Exactness::AtMost;
                }
                share_of_new(percent, base, totals, shape, messages)?
            }
        };
        if extents == Extents::ZERO {
            return Err(wrong(
                "Unable to create new logical volume with no extents.",
            ));
        }
        let mut extents = useful(extents, totals, messages);
        let rest = extents.0 % shape.stripes;
        if rest != 0
            && exactness == Exactness::AtMost
            && is_all(self.amount, extents, totals, shape)
        {
            let less = Extents(extents.0 - rest);
            messages.push(Message::note(format!(
                "Rounding size ({} extents) down to stripe boundary size ({} extents)",
                extents.0, less.0
            )));
            extents = less;
        } else if rest != 0 {
            let more = Extents(extents.0 - rest + shape.stripes);
            messages.push(Message::note(format!(
                "Rounding size {} ({} extents) up to stripe boundary size {} ({} extents).",
                shown(extents, totals),
                extents.0,
                shown(more, totals),
                more.0
            )));
            extents = more;
        }
        if extents == Extents::ZERO {
            return Err(wrong(
                "Unable to create new logical volume with no extents.",
            ));
        }
        bounded(extents)?;
        assert!(
            extents.0.is_multiple_of(shape.stripes),
            "stripes are of one length"
        );
        Ok(NewSize { extents, exactness })
    }
}

/// No more than what a snapshot's store can use.
fn useful(extents: Extents, totals: &Totals, messages: &mut Vec<Message>) -> Extents {
    match totals.origin {
        Some(origin) if extents > origin.store_max => {
            messages.push(Message::note(format!(
                "Reducing COW size {} down to maximum usable size {}.",
                shown(extents, totals),
                shown(origin.store_max, totals)
            )));
            origin.store_max
        }
        _ => extents,
    }
}

/// Whether rounding up would ask for more than there is.
fn is_all(amount: Amount, extents: Extents, totals: &Totals, shape: Shape) -> bool {
    let up = extents.0.next_multiple_of(shape.stripes);
    matches!(amount, Amount::Percent(..)) && up.saturating_mul(shape.copies) > totals.free.0
}

fn share_of_new(
    percent: u32,
    base: Base,
    totals: &Totals,
    shape: Shape,
    messages: &mut Vec<Message>,
) -> Result<Extents> {
    let total = match (base, totals.of(base)) {
        (Base::Lv, _) if totals.origin.is_some() => {
            return Err(wrong("Please express size as %FREE, %ORIGIN, %PVS or %VG."));
        }
        (Base::Lv, _) => return Err(wrong("Please express size as %FREE, %PVS or %VG.")),
        (_, None) => {
            return Err(wrong(
                "Please express size as %FREE, %PVS or %VG: there is no origin.",
            ));
        }
        (_, Some(total)) => total,
    };
    if let (Base::Origin, Some(origin)) = (base, totals.origin) {
        // That much of the origin, and what a store needs for all of it beside the chunks.
        let metadata = origin.store_max.checked_sub(total).unwrap_or_default();
        let share = percent_of(percent, total, Rounding::Up);
        return share
            .checked_add(metadata)
            .ok_or_else(|| wrong("The new size is too large"));
    }
    let mut physical = percent_of(percent, total, Rounding::Down);
    if shape.copies > 0 && physical > totals.free {
        messages.push(reducing(percent, base, totals.free, totals));
        physical = totals.free;
    }
    Ok(Extents(physical.0 / shape.copies.max(1)))
}

/// A share of more than what is free.
fn reducing(percent: u32, base: Base, most: Extents, totals: &Totals) -> Message {
    let base = match base {
        Base::Vg => "VG",
        Base::Pvs => "PVS",
        Base::Free => "FREE",
        Base::Origin => "ORIGIN",
        Base::Lv => "LV",
    };
    Message::note(format!(
        "Reducing {percent}%{base} to remaining free space {} in VG.",
        shown(most, totals)
    ))
}

/// Which way a share is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rounding {
    Up,
    Down,
}

fn percent_of(percent: u32, total: Extents, rounding: Rounding) -> Extents {
    let product = u128::from(percent) * u128::from(total.0);
    let share = match rounding {
        Rounding::Up => product.div_ceil(100),
        Rounding::Down => product / 100,
    };
    Extents(u64::try_from(share).unwrap_or(u64::MAX))
}

/// What is said of a size that is no whole number of extents.
pub fn rounding(size: &SizeArgument, extent_size: Sectors) -> Option<Message> {
    let Amount::Size(bytes) = size.amount else {
        return None;
    };
    let mut messages = Vec::new();
    // What is too large is rounded all the same before that is said.
    let _ = whole_extents(bytes, extent_size, &mut messages);
    messages.pop()
}

/// The extents that hold a size.
fn whole_extents(
    size: Bytes,
    extent_size: Sectors,
    messages: &mut Vec<Message>,
) -> Result<Extents> {
    let bytes = extent_bytes(extent_size)?;
    let extents = Extents(size.0.div_ceil(bytes));
    if !size.0.is_multiple_of(bytes) {
        let rounded = extents.to_sectors(extent_size).unwrap_or_default();
        messages.push(Message::note(format!(
            "Rounding up size to full physical extent {}",
            display_size(rounded)
        )));
    }
    if extents.0 > EXTENTS_MAX {
        let most = Extents(EXTENTS_MAX).to_sectors(extent_size);
        let context = format!(
            "Volume too large ({}) for extent size {}. Upper limit is less than {}.",
            display_size(size.whole_sectors()),
            display_size(extent_size),
            display_size(most.unwrap_or_default())
        );
        return Err(Error::new(Kind::Limit, context));
    }
    Ok(extents)
}

fn extent_bytes(extent_size: Sectors) -> Result<u64> {
    extent_size
        .to_bytes()
        .map(|bytes| bytes.0)
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| Error::new(Kind::Model, "The volume group's extents have no size"))
}

fn bounded(extents: Extents) -> Result<()> {
    if extents.0 > EXTENTS_MAX {
        let context = format!(
            "A volume of {} extents is too large: {EXTENTS_MAX} are the limit",
            extents.0
        );
        return Err(Error::new(Kind::Limit, context));
    }
    Ok(())
}

fn shown(extents: Extents, totals: &Totals) -> String {
    display_size(extents.to_sectors(totals.extent_size).unwrap_or_default())
}

#[cfg(test)]
mod tests;
