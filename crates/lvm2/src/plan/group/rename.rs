//! `vgrename`: the group gets another name; everything else stays.

use alloc::borrow::ToOwned;
use alloc::format;

use super::create::require_name;
use crate::Result;
use crate::model::VolumeGroup;
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, wrong};

/// Renames a group. The caller knows that the name is free, and takes the old name out of use for
/// every active volume.
pub fn rename_group(vg: &VolumeGroup, to: &str, author: &mut Author<'_>) -> Result<Change> {
    // Exported groups may be renamed, since two of the same name cannot be imported otherwise.
    let mut draft = Draft::begin_any(vg)?;
    require_name(to)?;
    if vg.name == to {
        return Err(wrong("Old and new volume group names must differ"));
    }
    to.clone_into(&mut draft.vg.name);
    draft.note(format!(
        "Volume group \"{}\" successfully renamed to \"{to}\"",
        vg.name
    ));
    draft.finish(author)
}
