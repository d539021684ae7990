//! What `lvconvert` is asked to change: the volume by its name, and whether it is of a type for
//! which what is asked is. All of this is said before anything else is wrong, as by stock.

use ashlar::apply::Tolerated;

use super::checksums::INTEGRITY;
use super::convert_array::{CHUNK, REPLACE};
use super::convert_reshape::MORE_STRIPES;
use super::groups::{changeable_group, found_group};
use super::lvconvert::{MIRRORS, REPAIR, SPLIT, TRACK, not_permitted, present};
use super::not_done;
use super::volumes::{
    CORE_LOG, MIRROR_LOG, REGION_SIZE, TYPE, default_group, path, places, require_group_name,
    single,
};
use super::work::{Work, failed};
use crate::args::{Arguments, Error, Flag, LvName};

/// The volume that a word names, as this command says what is wrong with it: where stock would go
/// through all volumes of a group, a word alone is the name of one.
pub(super) fn converted(
    arguments: &Arguments,
    work: &Work<'_>,
    word: &str,
) -> Result<LvName, Error> {
    let may_be_group = [&INTEGRITY, &not_done::CACHE_VOLUME, &not_done::CACHE_DEVICE];
    let may_be_group = may_be_group.into_iter().any(|flag| arguments.has(flag));
    match path(word).map_err(Error::failed)? {
        (None, name) if may_be_group && default_group().is_none() => {
            let scan = work.scan()?;
            found_group(&scan, &name)?;
            Err(Error::failed(format!(
                "Please name one volume of volume group {name}, as {name}/LV."
            )))
        }
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

/// Refuses volumes that are not there, and groups that may not be changed, before anything else is
/// wrong. A repair may change those of which devices are missing.
pub(super) fn require_present(
    arguments: &Arguments,
    work: &Work<'_>,
    volume: &LvName,
) -> Result<(), Error> {
    let scan = work.scan()?;
    let tolerated: &[Tolerated] = if arguments.has(&REPAIR) {
        &[Tolerated::Missing]
    } else {
        &[]
    };
    changeable_group(&scan, &volume.vg, tolerated)?;
    present(work, volume).map(drop)
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
    let scan = work.scan()?;
    let places = places(
        &scan,
        found_group(&scan, &volume.vg)?,
        &work.finder(),
        words,
    );
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
