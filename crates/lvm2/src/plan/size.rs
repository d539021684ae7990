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
    /// The free ones on the physical volumes that were named, or on all.
    pub pvs: Extents,
    /// The extents of the origin, where there is one.
    pub origin: Option<Extents>,
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

impl Totals {
    fn of(&self, base: Base) -> Option<Extents> {
        match base {
            Base::Vg => Some(self.vg),
            Base::Free => Some(self.free),
            Base::Pvs => Some(self.pvs),
            Base::Origin => self.origin,
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
        let mut extents = match self.amount {
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
        Ok(NewSize { extents, exactness })
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
        (Base::Lv, _) => return Err(wrong("Please express size as %FREE, %PVS or %VG.")),
        (_, None) => {
            return Err(wrong(
                "Please express size as %FREE, %PVS or %VG: there is no origin.",
            ));
        }
        (_, Some(total)) => total,
    };
    if base == Base::Origin {
        return Ok(percent_of(percent, total, Rounding::Up));
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

/// The extents that hold a size.
fn whole_extents(
    size: Bytes,
    extent_size: Sectors,
    messages: &mut Vec<Message>,
) -> Result<Extents> {
    let bytes = extent_bytes(extent_size)?;
    let extents = Extents(size.0.div_ceil(bytes));
    if !size.0.is_multiple_of(bytes) {
        bounded(extents)?;
        let rounded = extents.to_sectors(extent_size).unwrap_or_default();
        messages.push(Message::note(format!(
            "Rounding up size to full physical extent {}",
            display_size(rounded)
        )));
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
