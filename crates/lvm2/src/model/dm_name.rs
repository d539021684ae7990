//! The names that logical volumes have under `/dev/mapper`, and the UUIDs behind them.
//!
//! ```text
//!     volume group   logical volume   layer      name
//!     vg0            home                        vg0-home
//!     my-vg          a-b                         my--vg-a--b
//!     vg0            origin           real       vg0-origin-real
//! ```
//!
//! A single hyphen separates, a hyphen in a name is doubled, and no name begins with one; so the
//! name can be taken apart again.

use alloc::format;
use alloc::string::String;
use alloc::vec;

use crate::Uuid;

/// The bytes of the longest device-mapper name, without the final NUL: the kernel takes no longer
/// one.
pub const DM_NAME_LEN_MAX: usize = 127;
/// What LVM2 counts beside the two names: a hyphen between them, and room for more.
const NAME_RESERVE: usize = 3;

/// The device-mapper name of a volume, or of one of its layers (`real`, `cow`, `tpool`, …).
pub fn dm_name(vg: &str, lv: &str, layer: Option<&str>) -> String {
    let mut name = String::with_capacity(vg.len() + lv.len() + 8);
    push_doubled(&mut name, vg);
    name.push('-');
    push_doubled(&mut name, lv);
    if let Some(layer) = layer {
        name.push('-');
        push_doubled(&mut name, layer);
    }
    name
}

/// The bytes that the name of a volume counts for against [`DM_NAME_LEN_MAX`]: as LVM2 counts
/// them, which does not see that hyphens are doubled, or as the kernel does, where that is more.
pub fn dm_name_length(vg: &str, lv: &str) -> usize {
    let by_lvm = vg.len() + lv.len() + NAME_RESERVE;
    by_lvm.max(dm_name(vg, lv, None).len())
}

/// The device-mapper UUID of a volume, or of one of its layers.
pub fn dm_uuid(vg: &Uuid, lv: &Uuid, layer: Option<&str>) -> String {
    let mut uuid = format!("LVM-{}{}", vg.as_str(), lv.as_str());
    debug_assert_eq!(
        uuid.len(),
        4 + 2 * crate::uuid::UUID_LEN,
        "no dashes are in it"
    );
    if let Some(layer) = layer {
        uuid.push('-');
        uuid.push_str(layer);
    }
    uuid
}

/// Takes a device-mapper name apart: volume group, logical volume, layer.
///
/// `None` where the name cannot have come from [`dm_name`].
pub fn split_dm_name(name: &str) -> Option<(String, String, Option<String>)> {
    let mut parts = vec![String::new()];
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '-' && letters.next_if_eq(&'-').is_none() {
            parts.push(String::new());
        } else {
            parts.last_mut().expect("never empty").push(letter);
        }
    }
    if parts.len() > 3 || parts.iter().any(String::is_empty) {
        return None;
    }
    let mut parts = parts.into_iter();
    Some((parts.next()?, parts.next()?, parts.next()))
}

fn push_doubled(name: &mut String, part: &str) {
    for letter in part.chars() {
        name.push(letter);
        if letter == '-' {
            name.push('-');
        }
    }
}

#[cfg(test)]
mod tests;
