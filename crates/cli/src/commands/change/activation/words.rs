//! `-a`: which words it takes.

use super::super::arguments::invalid;
use crate::args::{Arguments, Error, Flag};

/// `-a`, in all its forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands::change) enum Activation {
    Yes,
    /// As far as groups, volumes and the configuration want it by themselves.
    Auto,
    No,
}

/// `-a`
pub(in crate::commands::change) const ACTIVATE: Flag = Flag::value(
    "activate",
    "y|n|ay",
    "Whether volumes are active: a process in the background serves them, and they have their \
     nodes, /dev/VG/LV and /dev/mapper/VG-LV (or in $DM_DEV_DIR; an ordinary user has files in the \
     runtime folder). ay leaves out what is not to be activated by itself. n fails for what is in \
     use.",
)
.short('a');

/// What `-a` asks for. Exclusive, local and shared activation are the same on one machine.
pub(in crate::commands::change) fn asked(
    arguments: &Arguments,
) -> Result<Option<Activation>, Error> {
    Ok(Some(match arguments.value(&ACTIVATE) {
        None => return Ok(None),
        Some("y" | "e" | "ey" | "ye" | "l" | "ly" | "yl" | "s" | "sy" | "ys") => Activation::Yes,
        Some("a" | "ay" | "ya") => Activation::Auto,
        Some("n" | "en" | "ne" | "ln" | "nl") => Activation::No,
        Some(other) => return Err(invalid(&ACTIVATE, other)),
    }))
}
