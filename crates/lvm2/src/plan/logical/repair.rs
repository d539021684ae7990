//! A mirror goes on without the images that are gone.
//!
//! Only an image that holds what was written last may become the volume: the caller says which
//! these are, from the mirror's log. Where none of them is left the mirror is refused, unless
//! people name the image that they want nevertheless; then the volume is that image and nothing
//! else. With one image left the volume is plain. A log that is gone is not replaced: the notes go
//! to memory, and everything is synchronised once more.
//!
//! ```text
//!     images 0 1 2, current 0 1:    0 gone  ──▶  1 2, where 2 is copied to
//!                                 0 1 gone  ──▶  refused, or with 2 named: 2 alone
//! ```

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::mirror::{self, Parts};
use crate::model::{LvFlag, LvId, PvFlag, PvId, VolumeGroup};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, find_lv, refused, require_known_segments};
use crate::plan::segments;
use crate::{Extents, Result};

/// What is known of the images of a group's mirrors.
#[derive(Debug, Clone, Default)]
pub struct ImageStates {
    /// The images that hold what was written last. Of a mirror without any nothing is known.
    pub current: BTreeSet<LvId>,
    /// Names of images that are to be used although they are out of date (`--useoutdated`).
    pub outdated: Vec<String>,
}

/// `lvconvert --repair`: one mirror goes on without what stood on `gone`, which the group is told
/// to miss from now on.
pub fn repair_volume(
    vg: &VolumeGroup,
    volume: &str,
    gone: &BTreeSet<PvId>,
    states: &ImageStates,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    require_known_segments(vg)?;
    let id = find_lv(vg, volume)?;
    let Some(parts) = mirror::parts(vg, id)? else {
        return Err(refused(format!(
            "Logical volume {}/{volume} is no mirror",
            vg.name
        )));
    };
    require_useful(vg, &BTreeSet::from([id]), gone, states)?;
    let is_lost = |lv: &LvId| !mirror::pvs_below(vg, *lv).is_disjoint(gone);
    if !parts.images.iter().chain(&parts.log).any(is_lost) {
        return Err(refused(format!(
            "Volume {}/{volume} is consistent. Nothing to repair.",
            vg.name
        )));
    }
    if parts.images.iter().all(is_lost) {
        return Err(refused(format!(
            "Logical volume {}/{volume} has no image left that is whole",
            vg.name
        )));
    }
    repair_mirror(&mut draft, id, gone, states)?;
    for pv in gone {
        draft.vg.pv_mut(*pv).flags.insert(PvFlag::Missing);
    }
    draft.note(format!("Logical volume {}/{volume} repaired.", vg.name));
    draft.finish(author)
}

/// Takes the images and the log that stand on `gone` out of a mirror. A mirror without any other
/// image is left as it is; one that would be left with outdated images is refused.
pub(in crate::plan) fn repair_mirror(
    draft: &mut Draft,
    id: LvId,
    gone: &BTreeSet<PvId>,
    states: &ImageStates,
) -> Result<()> {
    let Some(parts) = mirror::parts(&draft.vg, id)? else {
        return Ok(());
    };
    let is_gone = |lv: &LvId| !mirror::pvs_below(&draft.vg, *lv).is_disjoint(gone);
    let left: Vec<LvId> = parts
        .images
        .iter()
        .copied()
        .filter(|lv| !is_gone(lv))
        .collect();
    let is_log_lost = parts.log.as_ref().is_some_and(is_gone);
    if left.is_empty() || left.len() == parts.images.len() && !is_log_lost {
        return Ok(());
    }
    let name = draft.vg.lv(id).name().to_owned();
    let lost = parts.images.len() - left.len();
    let kept = choose(draft, id, &left, states)?;
    if lost > 0 || is_log_lost {
        let what = match (lost, is_log_lost) {
            (0, _) => "its log".to_owned(),
            (_, false) => format!("{lost} of its {} images", parts.images.len()),
            (_, true) => format!("{lost} of its {} images and its log", parts.images.len()),
        };
        draft.warn(format!("Mirror {name} lost {what}."));
    }
    assert!(
        kept.iter().all(|lv| left.contains(lv)),
        "what is kept was not lost"
    );
    keep(draft, id, &parts, &kept, is_log_lost)?;
    for lv in parts.images.iter().filter(|lv| !kept.contains(lv)) {
        draft.vg.remove_lv(*lv);
    }
    Ok(())
}

/// The images that a mirror keeps of those that are left, one that is up to date first.
fn choose(draft: &mut Draft, id: LvId, left: &[LvId], states: &ImageStates) -> Result<Vec<LvId>> {
    let (mut kept, others): (Vec<LvId>, Vec<LvId>) =
        left.iter().partition(|lv| states.current.contains(lv));
    if !kept.is_empty() {
        kept.extend(others);
        return Ok(kept);
    }
    let mirror = format!("{}/{}", draft.vg.name, draft.vg.lv(id).name());
    let named = left.iter().find(|lv| is_named(&draft.vg, **lv, states));
    if let Some(image) = named {
        let name = draft.vg.lv(*image).name().to_owned();
        draft.warn(format!(
            "Mirror {mirror} goes on with its image {name}, which is out of date: what was written \
             last is lost."
        ));
        return Ok(vec![*image]);
    }
    let names: Vec<&str> = left.iter().map(|lv| draft.vg.lv(*lv).name()).collect();
    Err(refused(format!(
        "Mirror {mirror} is not changed: the images that are left ({}) are out of date, or not \
         known to be in sync, and what was written last is on a missing physical volume. Bring \
         that one back. To go on with old data, and lose what was written last, add --useoutdated \
         {}; to give the volume up, remove {mirror} first",
        names.join(", "),
        names[0]
    )))
}

fn is_named(vg: &VolumeGroup, image: LvId, states: &ImageStates) -> bool {
    let name = vg.lv(image).name();
    states.outdated.iter().any(|named| named == name)
}

/// Refuses names in `--useoutdated` that would change nothing: people who name an image have
/// something in mind.
pub(in crate::plan) fn require_useful(
    vg: &VolumeGroup,
    mirrors: &BTreeSet<LvId>,
    gone: &BTreeSet<PvId>,
    states: &ImageStates,
) -> Result<()> {
    let mut useful = BTreeSet::new();
    for id in mirrors {
        let images = mirror::parts(vg, *id)?.map_or_else(Vec::new, |parts| parts.images);
        let is_left = |lv: &&LvId| mirror::pvs_below(vg, **lv).is_disjoint(gone);
        let left: Vec<&LvId> = images.iter().filter(is_left).collect();
        if left.len() < images.len() && left.iter().all(|lv| !states.current.contains(lv)) {
            let named = left.iter().find(|lv| is_named(vg, ***lv, states));
            useful.extend(named.map(|lv| vg.lv(**lv).name()));
        }
    }
    match states
        .outdated
        .iter()
        .find(|name| !useful.contains(name.as_str()))
    {
        None => Ok(()),
        Some(name) => Err(refused(format!(
            "--useoutdated {name}: this is not the image of a mirror that lost all images that are \
             up to date; nothing was changed"
        ))),
    }
}

fn keep(
    draft: &mut Draft,
    id: LvId,
    parts: &Parts,
    kept: &[LvId],
    is_log_lost: bool,
) -> Result<()> {
    assert!(!kept.is_empty(), "an image stays");
    let extents = draft.vg.lv(id).extents();
    draft.vg.lv_mut(id).segments.clear();
    if let Some(log) = parts.log.filter(|_| is_log_lost || kept.len() == 1) {
        mirror::remove_log(&mut draft.vg, log)?;
    }
    if let [last] = kept {
        let image = draft.vg.remove_lv(*last);
        let lv = draft.vg.lv_mut(id);
        lv.segments = image.segments;
        segments::merge(&mut lv.segments);
        lv.flags.remove(LvFlag::NotSynced);
        return Ok(());
    }
    let log = parts.log.filter(|_| !is_log_lost);
    let kind = segments::mirror_of(kept, log, parts.region_size);
    draft.vg.lv_mut(id).segments = vec![segments::segment(Extents::ZERO, extents, kind)];
    Ok(())
}
