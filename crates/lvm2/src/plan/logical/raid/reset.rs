//! Images count again that the others went on without: their metadata is new, and says so.
//!
//! It is on other extents, and durable before the commit that names it, as metadata in use is never
//! rewritten: a power cut leaves the array that could not be used, or the one that can. What an
//! image holds stays as it is.

use alloc::format;
use alloc::vec::Vec;

use super::change::zero_metas;
use super::copies::convertible;
use super::parts::array;
use super::reorder::write_head;
use super::replace::redundant;
use crate::Result;
use crate::model::VolumeGroup;
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, refused};

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
    let images = found.raid.images.len();
    if heads.len() != images {
        return Err(refused(format!(
            "{}/{volume} has {images} images by now, not {}: run the command again",
            vg.name,
            heads.len()
        )));
    }
    let heads = heads.iter().enumerate();
    let heads = heads.filter_map(|(place, head)| Some((place, head.as_deref()?)));
    let (places, heads): (Vec<usize>, Vec<&[u8]>) = heads.unzip();
    zero_metas(&mut draft, id, &places, author)?;
    let renewed = array(&draft.vg, id).expect("it is an array as before");
    for (place, head) in places.into_iter().zip(heads) {
        let meta = renewed.raid.images[place].meta.expect("it is new");
        write_head(&mut draft, meta, head)?;
    }
    draft.note(format!("Logical volume {}/{volume} changed.", vg.name));
    draft.finish(author)
}
