//! Which type becomes which without a byte of data moving, and what comes first where it does not.
//!
//! ```text
//!     linear ─ raid1 of two ┬ raid5_* of two legs ┐          raid5_ls ─ raid6_ls_6   (la, rs, ra)
//!                           └ raid4               ├ …
//!     striped ┬ raid0, raid0_meta ┬ raid4 ─ raid5_n ─ raid6_n_6
//!             └───────────────────┴ raid10
//! ```
//!
//! A type that is not beside the one that a volume has is reached in steps. As in stock, the first
//! one is done, and said. Where a step is a reshape, which moves data, it is named and refused.

use crate::model::{RaidFamily, RaidLevel};

/// What a volume is, as far as types become each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// Of one stripe.
    Linear,
    /// Of several.
    Striped,
    /// An array.
    Raid(RaidLevel),
}

/// How a volume becomes another type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// It is that already.
    Same,
    /// At once.
    Direct,
    /// It becomes this one first.
    First(Form),
    /// It has to become this one first, which moves its data.
    Reshape(Form),
    /// It has to have so many images first, which moves its data.
    Images(usize),
    /// Not at all: RAID 1 needs two images for it.
    TwoCopies,
}

/// Images that RAID 5 has at least to become RAID 6: stock makes none of four.
const IMAGES_FOR_SECOND_PARITY: usize = 4;
/// Images of which a copy and a parity are the same.
const PAIR: usize = 2;
/// Stripes that RAID 0 has at least.
const STRIPES_MIN: usize = 2;

impl Form {
    /// The name of the type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Striped => "striped",
            Self::Raid(level) => level.name(),
        }
    }

    /// The same under the full name of its layout.
    fn plain(self) -> Self {
        match self {
            Self::Raid(RaidLevel::Raid5) => Self::Raid(RaidLevel::Raid5Ls),
            Self::Raid(RaidLevel::Raid6) => Self::Raid(RaidLevel::Raid6Zr),
            Self::Raid(RaidLevel::Raid10Near) => Self::Raid(RaidLevel::Raid10),
            form => form,
        }
    }

    fn family(self) -> Option<RaidFamily> {
        match self {
            Self::Raid(level) => Some(level.family()),
            Self::Linear | Self::Striped => None,
        }
    }
}

/// The layout of RAID 6 that is this one of RAID 5 with a second parity on the last image.
pub(super) fn with_second_parity(level: RaidLevel) -> Option<RaidLevel> {
    match level {
        RaidLevel::Raid5 | RaidLevel::Raid5Ls => Some(RaidLevel::Raid6Ls6),
        RaidLevel::Raid5La => Some(RaidLevel::Raid6La6),
        RaidLevel::Raid5Rs => Some(RaidLevel::Raid6Rs6),
        RaidLevel::Raid5Ra => Some(RaidLevel::Raid6Ra6),
        RaidLevel::Raid5N | RaidLevel::Raid4 => Some(RaidLevel::Raid6N6),
        _ => None,
    }
}

/// The layout of RAID 5 that this one of RAID 6 is without the parity on the last image.
pub(super) fn without_second_parity(level: RaidLevel) -> Option<RaidLevel> {
    match level {
        RaidLevel::Raid6Ls6 => Some(RaidLevel::Raid5Ls),
        RaidLevel::Raid6La6 => Some(RaidLevel::Raid5La),
        RaidLevel::Raid6Rs6 => Some(RaidLevel::Raid5Rs),
        RaidLevel::Raid6Ra6 => Some(RaidLevel::Raid5Ra),
        RaidLevel::Raid6N6 => Some(RaidLevel::Raid5N),
        _ => None,
    }
}

/// How a volume of `images` stripes or images becomes another type.
pub(super) fn route(from: Form, images: usize, to: Form) -> Route {
    let (from, to) = (from.plain(), to.plain());
    if from == to {
        return Route::Same;
    }
    match from.family() {
        None if from == Form::Linear => first(to, Form::Raid(RaidLevel::Raid1)),
        None | Some(RaidFamily::Raid0) => from_stripes(images, to),
        Some(RaidFamily::Raid1) => from_copies(images, to),
        Some(RaidFamily::Raid4 | RaidFamily::Raid5) => from_parity(from, images, to),
        Some(RaidFamily::Raid6) => from_two_parities(from, to),
        Some(RaidFamily::Raid10) => match to.family() {
            None if to == Form::Striped => Route::Direct,
            Some(RaidFamily::Raid0) => Route::Direct,
            _ => first(to, Form::Raid(RaidLevel::Raid0Meta)),
        },
    }
}

/// By way of `step`, which may be where it ends.
fn first(to: Form, step: Form) -> Route {
    if to == step {
        Route::Direct
    } else {
        Route::First(step)
    }
}

fn from_stripes(images: usize, to: Form) -> Route {
    let last = Form::Raid(RaidLevel::Raid5N);
    match to.family() {
        None if to == Form::Striped => Route::Direct,
        Some(RaidFamily::Raid0 | RaidFamily::Raid4 | RaidFamily::Raid10) => Route::Direct,
        Some(RaidFamily::Raid6) if images > STRIPES_MIN => {
            first(to, Form::Raid(RaidLevel::Raid6N6))
        }
        _ => first(to, last),
    }
}

fn from_copies(images: usize, to: Form) -> Route {
    if to == Form::Linear {
        return Route::Direct;
    }
    if images != PAIR {
        return Route::TwoCopies;
    }
    match to.family() {
        Some(RaidFamily::Raid4 | RaidFamily::Raid5) => Route::Direct,
        Some(RaidFamily::Raid6) => Route::First(Form::Raid(RaidLevel::Raid5Ls)),
        _ => Route::First(Form::Raid(RaidLevel::Raid5N)),
    }
}

fn from_parity(from: Form, images: usize, to: Form) -> Route {
    let last = Form::Raid(RaidLevel::Raid5N);
    let stays = from == last || from == Form::Raid(RaidLevel::Raid4);
    let is_other = |family| to.family() == Some(family) && from.family() != Some(family);
    match to.family() {
        _ if to == Form::Linear || is_other(RaidFamily::Raid1) => match images {
            PAIR => first(to, Form::Raid(RaidLevel::Raid1)),
            _ => Route::Images(PAIR),
        },
        Some(RaidFamily::Raid6) if images < IMAGES_FOR_SECOND_PARITY => {
            Route::Images(IMAGES_FOR_SECOND_PARITY)
        }
        Some(RaidFamily::Raid6) => match from {
            Form::Raid(level) => with_second_parity(level)
                .map_or(Route::Reshape(last), |step| first(to, Form::Raid(step))),
            Form::Linear | Form::Striped => unreachable!("it has parity"),
        },
        // Other layouts of RAID 5: only where parity stands is moved by itself.
        Some(RaidFamily::Raid5) if is_other(RaidFamily::Raid5) => first(to, last),
        Some(RaidFamily::Raid5) => Route::Reshape(to),
        _ if !stays => Route::Reshape(last),
        Some(RaidFamily::Raid4) => Route::Direct,
        _ if images <= STRIPES_MIN => Route::Images(STRIPES_MIN + 1),
        Some(RaidFamily::Raid10) => Route::First(Form::Raid(RaidLevel::Raid0Meta)),
        _ => Route::Direct,
    }
}

fn from_two_parities(from: Form, to: Form) -> Route {
    let last = Form::Raid(RaidLevel::Raid6N6);
    let Form::Raid(level) = from else {
        unreachable!("it has parity");
    };
    let one = without_second_parity(level);
    match to.family() {
        Some(RaidFamily::Raid6) => Route::Reshape(to),
        Some(RaidFamily::Raid5) => match (one, to) {
            (Some(one), _) => first(to, Form::Raid(one)),
            (None, Form::Raid(to)) => {
                let two = with_second_parity(to);
                Route::Reshape(two.map_or(last, Form::Raid))
            }
            (None, Form::Linear | Form::Striped) => Route::Reshape(last),
        },
        Some(RaidFamily::Raid1) => match one {
            Some(one) => Route::First(Form::Raid(one)),
            None => Route::Reshape(Form::Raid(RaidLevel::Raid6Ls6)),
        },
        _ if from != last => Route::Reshape(last),
        Some(RaidFamily::Raid10) => Route::First(Form::Raid(RaidLevel::Raid0Meta)),
        _ if to == Form::Linear => Route::First(Form::Raid(RaidLevel::Raid5N)),
        _ => Route::Direct,
    }
}

#[cfg(test)]
mod tests;
