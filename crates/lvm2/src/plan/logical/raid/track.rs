//! `lvconvert --splitmirrors 1 --trackchanges` and `--merge` of the image: a copy of raid1 is set
//! aside to be read, and comes back.
//!
//! ```text
//!   r_rimage_2 [READ, WRITE]  ─split─▸  r_rimage_2 [READ, VISIBLE]  ─merge─▸  as before
//! ```
//!
//! It stays an image of the array, which goes on without it as without one that is missing: marks
//! say what was written meanwhile, and only that is copied when it comes back. What makes it one is
//! that it is visible and not writable, for stock and for us; its metadata stays as it is.

use alloc::borrow::ToOwned;
use alloc::format;

use super::copies::{choose, convertible};
use super::parts::{Array, array};
use super::resize::require_whole;
use super::state::{ArrayState, is_rebuilding};
use crate::Result;
use crate::model::{LvFlag, LvId, RaidLevel, VolumeGroup};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::checksums::require_no_checksums;
use crate::plan::draft::{Draft, find_lv, refused};
use crate::plan::places::Places;

/// The image of an array that is set aside, if one is.
pub(in crate::plan::logical) fn tracked(vg: &VolumeGroup, array: &Array) -> Option<LvId> {
    let mut images = array.raid.images.iter().map(|image| image.data);
    images.find(|image| vg.lv(*image).is_set_aside())
}

/// Fails where an image is set aside: the array is not changed before it is back.
pub(in crate::plan::logical) fn require_untracked(vg: &VolumeGroup, id: LvId) -> Result<()> {
    let Some(image) = array(vg, id).and_then(|array| tracked(vg, &array)) else {
        return Ok(());
    };
    Err(refused(format!(
        "Logical volume {0}/{1} tracks changes of its image {0}/{2}, which is split off; merge it \
         first (lvconvert --merge {0}/{2})",
        vg.name,
        vg.lv(id).name(),
        vg.lv(image).name()
    )))
}

/// Sets the last copy aside, or the one on the physical volumes that were named.
pub fn track_copy(
    vg: &VolumeGroup,
    volume: &str,
    (places, state): (Option<&Places>, ArrayState),
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let id = find_lv(vg, volume)?;
    if array(vg, id).is_some_and(|array| tracked(vg, &array).is_some()) {
        return Err(refused("Cannot track more than one split image at a time"));
    }
    let id = convertible(vg, volume).map(|_| id)?;
    let found = array(vg, id).filter(|array| array.level() == RaidLevel::Raid1);
    let found = found.ok_or_else(|| refused("Unable to split images from non-mirrored RAID"))?;
    require_no_checksums(vg, id)?;
    require_whole(vg, id, &found)?;
    let is_settled = state == ArrayState::InSync && !is_rebuilding(vg, &found);
    if !is_settled || vg.lv(id).flags.has(LvFlag::NotSynced) {
        return Err(refused(format!(
            "Unable to split image from {}/{volume} while not in-sync",
            vg.name
        )));
    }
    let chosen = choose(vg, &found, 1, places)?;
    let index = *chosen.first().expect("one is chosen");
    let image = found.raid.images[index].data;
    let flags = &mut draft.vg.lv_mut(image).flags;
    flags.insert(LvFlag::Visible);
    flags.remove(LvFlag::Write);
    flags.remove(LvFlag::WriteLocked);
    assert!(
        draft.vg.lv(image).is_set_aside(),
        "it is read, and not written"
    );
    let name = draft.vg.lv(image).name().to_owned();
    draft.note(format!(
        "{name} split from {volume} for read-only purposes."
    ));
    draft.note(format!(
        "Use 'lvconvert --merge {}/{name}' to merge back into {volume}",
        vg.name
    ));
    draft.finish(author)
}

/// An image that was set aside comes back.
pub fn merge_copy(vg: &VolumeGroup, image: &str, author: &mut Author<'_>) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let id = find_lv(vg, image)?;
    let (parent, name) = (array_of(vg, id), format!("{}/{image}", vg.name));
    let Some(parent) = parent else {
        return Err(refused(format!("Unable to merge non-mirror image {name}.")));
    };
    let whole = format!("{}/{}", vg.name, vg.lv(parent).name());
    if !vg.lv(id).is_set_aside() {
        return Err(refused(format!(
            "{name} is not split off from {whole}: there is nothing to merge."
        )));
    }
    let is_writable = vg.lv(parent).is_writable();
    let flags = &mut draft.vg.lv_mut(id).flags;
    flags.remove(LvFlag::Visible);
    if is_writable {
        flags.insert(LvFlag::Write);
    }
    draft.note(format!("{name} successfully merged back into {whole}"));
    draft.finish(author)
}

/// The array of which a volume is an image.
pub fn array_of(vg: &VolumeGroup, image: LvId) -> Option<LvId> {
    let is_of = |id: LvId| {
        let found = array(vg, id);
        found.is_some_and(|array| array.raid.images.iter().any(|one| one.data == image))
    };
    vg.lvs().map(|(id, _)| id).find(|id| is_of(*id))
}
