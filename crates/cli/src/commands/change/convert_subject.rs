//! What `lvconvert` is asked to change: the volume by its name, and whether it is of a type for
//! which what is asked is. All of this is said before anything else is wrong, as by stock.

use super::checksums::INTEGRITY;
use super::convert_array::{CHUNK, REPLACE};
use super::convert_reshape::MORE_STRIPES;
use super::lvconvert::{MIRRORS, REPAIR, SPLIT, TRACK, not_permitted, present};
use super::volumes::{
    CORE_LOG, MIRROR_LOG, REGION_SIZE, TYPE, default_group, path, places, require_group_name,
    single,
};
use super::work::{Work, failed, missing as missing_group};
use crate::args::{Arguments, Error, Flag, LvName};

/// The volume that a word names, as this command says what is wrong with it.
pub(super) fn converted(word: &str) -> Result<LvName, Error> {
    match path(word).map_err(Error::failed)? {
        (None, lv) if default_group().is_none() && !word.starts_with('@') => {
            Err(Error::failed(format!("Cannot find VG name for LV {lv}.")))
        }
        (Some(group), lv) => {
            require_group_name(&group)?;
            Ok(LvName { vg: group, lv })
        }
        (None, _) => single(word),
    }
}

/// Refuses words that name no extents of the group, before anything else is wrong.
pub(super) fn require_places(
    work: &Work<'_>,
    volume: &LvName,
    words: &[String],
) -> Result<(), Error> {
    if words.is_empty() {
        return Ok(());
    }
    present(work, volume)?;
    let scan = work.scan()?;
    let found = scan.find_group(&volume.vg);
    let found = found.map_err(|error| missing_group(&volume.vg, &error))?;
    let places = places(&scan, found, &work.finder(), words);
    places.map(drop).map_err(|error| failed(&error))
}

/// Refuses volumes of a type for which what is asked is not, before anything else is wrong.
pub(super) fn require_types(
    arguments: &Arguments,
    work: &Work<'_>,
    volume: &LvName,
) -> Result<(), Error> {
    let has = |flags: &[&Flag]| flags.iter().any(|flag| arguments.has(flag));
    let is_changed = has(&[&TYPE, &MIRRORS]);
    let is_about_arrays = has(&[&REPLACE, &INTEGRITY, &TRACK])
        || !is_changed && has(&[&MORE_STRIPES, &CHUNK])
        || !is_changed && has(&[&REGION_SIZE]) && !has(&[&MIRROR_LOG, &CORE_LOG]);
    let is_about_copies = has(&[&REPAIR, &SPLIT]);
    let is_about_logs = !is_changed && has(&[&MIRROR_LOG, &CORE_LOG]);
    if !(is_about_arrays || is_about_copies || is_about_logs) {
        return Ok(());
    }
    let kind = present(work, volume)?.kind;
    let is_array = kind.starts_with("raid");
    let fits = match kind.as_str() {
        _ if is_about_arrays => is_array,
        "mirror" => true,
        _ => is_array && is_about_copies,
    };
    if fits {
        return Ok(());
    }
    Err(not_permitted(volume, &kind))
}
