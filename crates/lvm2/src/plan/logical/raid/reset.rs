//! Images count again that the others went on without: their metadata is new, and says so.
//!
//! It is on other extents, and durable before the commit that names it, as metadata in use is never
//! rewritten: a power cut leaves the array that could not be used, or the one that can. What an
//! image holds stays as it is.

use alloc::format;
use alloc::vec::Vec;

use super::copies::{beside, convertible};
use super::images::{rename, set_images};
use super::parts::{add_meta, names};
use super::reorder::write_head;
use super::replace::redundant;
use crate::model::{LvId, VolumeGroup};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, refused};
use crate::{Extents, Result};

/// Gives images of an array metadata that begins so; `None`: what they have stays.
pub fn reset_images(
    vg: &VolumeGroup,
    volume: &str,
    heads: &[Option<Vec<u8>>],
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let id = convertible(vg, volume)?;
    let found = redundant(vg, id)?;
    let mut images = found.raid.images.clone();
    if heads.len() != images.len() {
        return Err(refused(format!(
            "{}/{volume} has {} images by now, not {}: run the command again",
            vg.name,
            images.len(),
            heads.len()
        )));
    }
    let own = draft.vg.lv(id).allocation;
    let mut new: Vec<(LvId, usize)> = Vec::new();
    let mut old: Vec<(LvId, Extents)> = Vec::new();
    for (place, head) in heads.iter().enumerate() {
        let Some(meta) = images[place].meta.filter(|_| head.is_some()) else {
            continue;
        };
        let length = draft.vg.lv(meta).extents();
        let list = beside(&mut draft, images[place].data, (length, None), volume)?;
        let name = format!("{volume}_rmeta_new_{place}");
        let added = add_meta(&mut draft, name, list, own, author)?;
        images[place].meta = Some(added);
        new.push((added, place));
        old.push((meta, length));
    }
    set_images(&mut draft.vg, id, images);
    for (meta, _) in old {
        draft.vg.remove_lv(meta);
    }
    for (meta, place) in new {
        rename(&mut draft.vg, meta, &names(volume, place).1)?;
        let head = heads[place].as_deref().expect("it gets one");
        write_head(&mut draft, meta, head)?;
    }
    draft.note(format!("Logical volume {}/{volume} changed.", vg.name));
    draft.finish(author)
}
