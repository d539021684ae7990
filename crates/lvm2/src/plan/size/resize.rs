//! The new size of a volume that there is already.

use alloc::format;
use alloc::vec::Vec;

use super::{
    Amount, Base, Exactness, Rounding, Sign, SizeArgument, Totals, bounded, extent_bytes,
    percent_of, reducing, shown,
};
use crate::plan::change::Message;
use crate::plan::draft::{refused, wrong};
use crate::{Extents, Result};

/// How the refusal to take as much as there is, or more, begins.
pub(in crate::plan) const BELOW: &str = "Unable to reduce below 1 extent";

/// Which way a size may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResizeTo {
    /// `lvextend`: more.
    Larger,
    /// `lvreduce`: less.
    Smaller,
    /// `lvresize`: either.
    Either,
}

/// The extents that a volume is to have, before they are rounded to stripes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resized {
    /// Extents of data, in all.
    pub extents: Extents,
    /// Whether less will do, where it grows.
    pub exactness: Exactness,
}

impl SizeArgument {
    /// The new number of extents of a volume that has `old`, each of which lies on physical
    /// volumes `copies` times; and what stock says about rounding.
    pub fn for_resize(
        self,
        old: Extents,
        totals: &Totals,
        copies: u64,
        direction: ResizeTo,
        messages: &mut Vec<Message>,
    ) -> Result<Resized> {
        let sign = match (direction, self.sign) {
            (ResizeTo::Larger, Sign::Minus) => {
                return Err(wrong("Negative argument not permitted - use lvreduce."));
            }
            (ResizeTo::Smaller, Sign::Plus) => {
                return Err(wrong("Positive sign not permitted - use lvextend."));
            }
            (_, sign) => sign,
        };
        let (amount, exactness) = self.difference(old, totals, copies, messages)?;
        let extents = match sign {
            Sign::Absolute => amount,
            Sign::Plus => old
                .checked_add(amount)
                .ok_or_else(|| wrong("The new size is too large"))?,
            Sign::Minus if amount >= old => {
                return Err(refused(format!("{BELOW}: it has {} extents.", old.0)));
            }
            Sign::Minus => old - amount,
        };
        let extents = match totals.origin {
            Some(origin) if extents > origin.store_max => {
                messages.push(Message::note(format!(
                    "Reached maximum COW size {} ({} extents).",
                    shown(origin.store_max, totals),
                    origin.store_max.0
                )));
                origin.store_max
            }
            _ => extents,
        };
        if extents == Extents::ZERO {
            return Err(wrong("New size of 0 not permitted"));
        }
        bounded(extents)?;
        Ok(Resized { extents, exactness })
    }

    /// The amount in extents, `copies` of which are made; with a sign it is a difference.
    fn difference(
        self,
        old: Extents,
        totals: &Totals,
        copies: u64,
        messages: &mut Vec<Message>,
    ) -> Result<(Extents, Exactness)> {
        let rounding = match self.sign {
            Sign::Minus => Rounding::Down,
            Sign::Absolute | Sign::Plus => Rounding::Up,
        };
        match self.amount {
            Amount::Extents(extents) => Ok((extents, Exactness::Exact)),
            Amount::Size(size) => {
                let unit = extent_bytes(totals.extent_size)?;
                let extents = match self.sign {
                    Sign::Minus => Extents(size.0 / unit),
                    Sign::Absolute | Sign::Plus => Extents(size.0.div_ceil(unit)),
                };
                if !size.0.is_multiple_of(unit) {
                    messages.push(Message::note(format!(
                        "Rounding size to boundary between physical extents: {}.",
                        shown(extents, totals)
                    )));
                }
                Ok((extents, Exactness::Exact))
            }
            Amount::Percent(percent, Base::Lv) => {
                Ok((percent_of(percent, old, rounding), Exactness::Exact))
            }
            Amount::Percent(percent, Base::Origin) => {
                let Some(origin) = totals.origin else {
                    return Err(wrong(
                        "Specified LV does not have an origin LV: express the size otherwise",
                    ));
                };
                let share = percent_of(percent, origin.extents, rounding);
                Ok((share, Exactness::Exact))
            }
            Amount::Percent(percent, base) => {
                let total = totals.of(base).unwrap_or_default();
                let physical = percent_of(percent, total, rounding);
                match (self.sign, base) {
                    _ if copies == 0 => Ok((physical, Exactness::Exact)),
                    // More than what there is, is taken for all of it.
                    (Sign::Plus, Base::Free) => {
                        let most = physical.min(totals.free);
                        Ok((Extents(most.0 / copies), Exactness::AtMost))
                    }
                    (Sign::Plus | Sign::Minus, _) => {
                        Ok((Extents(physical.0 / copies), Exactness::Exact))
                    }
                    (Sign::Absolute, _) => {
                        let most = old.checked_add(totals.free).unwrap_or(physical);
                        if physical > most {
                            messages.push(reducing(percent, base, most, totals));
                        }
                        let physical = physical.min(most);
                        Ok((
                            wanted(old, physical, totals.used, copies),
                            Exactness::AtMost,
                        ))
                    }
                }
            }
        }
    }
}

/// The size of a volume that is to have so many extents of physical volumes. As in stock, what it
/// has is kept, and fewer than that are taken for its size.
fn wanted(old: Extents, physical: Extents, used: Extents, copies: u64) -> Extents {
    if physical > used {
        old + Extents((physical - used).0 / copies)
    } else if physical > old {
        physical
    } else {
        Extents(physical.0 / copies)
    }
}
