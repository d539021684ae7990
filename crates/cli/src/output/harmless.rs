//! Text for a terminal: what came from a disk or a server gives it no orders.
//!
//! Names, flags and words in metadata, and what an NBD server says about itself, may hold any
//! character, also those that clear a screen, move the cursor or set a title. All messages and all
//! text output pass through here, so that no place has to think of it. Bytes that are asked for as
//! they are (`cat`, `vgcfgbackup -f -`, `pvck --dump metadata`) do not.

use std::borrow::Cow;

/// The text with `?` for each control character, but for line ends and tabs.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let is_order = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.contains(is_order) {
        Cow::Owned(text.replace(is_order, "?"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests;
