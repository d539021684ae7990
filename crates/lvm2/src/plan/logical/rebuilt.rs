//! An image of a RAID volume holds all that it should.
//!
//! The text calls an image that is new `REBUILD`: whoever activates its volume takes nothing on it
//! for right. When it holds all, and superblocks say so, the word goes.

use alloc::format;

use crate::model::{LvFlag, VolumeGroup};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::Draft;
use crate::{Result, Uuid};

/// Takes the word off the image with this UUID; nothing is changed where it has none, or is gone.
pub fn image_rebuilt(vg: &VolumeGroup, image: &Uuid, author: &mut Author<'_>) -> Result<Change> {
    let id = vg.lv_by_uuid(image);
    let is_said = |id: &_| vg.lv(*id).flags.has(LvFlag::Rebuild);
    let Some(id) = id.filter(is_said) else {
        return Ok(Change::default());
    };
    let mut draft = Draft::begin(vg)?;
    draft.vg.lv_mut(id).flags.remove(LvFlag::Rebuild);
    let name = draft.vg.lv(id).name();
    let what = format!("Image {}/{name} is rebuilt.", vg.name);
    draft.note(what);
    draft.finish(author)
}
