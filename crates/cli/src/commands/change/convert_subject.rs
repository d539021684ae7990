//! What `lvconvert` is asked to change: the volume by its name, and whether it is of a type for
//! which what is asked is. All of this is said before anything else is wrong, as by stock.

use ashlar::apply::Tolerated;
use ashlar::scan::Scan;
use lvm2::model::{Relations, name};

use super::checksums::INTEGRITY;
use super::chosen::{Chosen, is_no_tag, missing, one_of, volume_named, volumes, with_tag};
use super::convert_array::find;
use super::convert_snapshot::MERGE;
use super::groups::{Unnamed, changeable_group, found_group, left_out, permitted};
use super::lvconvert::{MERGE_MIRRORS, MIRRORS};
use super::not_done::{self, CACHE_DEVICE, CACHE_POOL, CACHE_VOLUME, THIN_POOL, VDO_POOL};
use super::volumes::{TYPE, default_group, path, places, require_group_name, single, type_shown};
use super::work::{Work, failed};
use crate::args::{Arguments, Error, Flag, LvName, Target, split_target, volume_types};

/// Options that name a volume, whose group is that of a volume that is named alone.
const SAY_THE_GROUP: &[Flag] = &[THIN_POOL, CACHE_POOL, not_done::POOL_METADATA];
/// Options that make a pool of the volume that they name, unless they stand beside what uses it.
const POOLS: &[(Flag, &str)] = &[
    (THIN_POOL, "thin"),
    (CACHE_POOL, "cache"),
    (VDO_POOL, "vdo"),
];
/// Commands that look at groups also where devices are missing.
const WITHOUT_DEVICES: &[&str] = &["repair", "raidintegrity", "splitcache", "uncache"];
/// Commands for which a word alone names a group.
const OF_GROUPS: &[Flag] = &[INTEGRITY, MERGE, MERGE_MIRRORS, CACHE_VOLUME, CACHE_DEVICE];
/// Types that `--type` makes of others, beside those of RAID.
const LAYOUTS: &[&str] = &["linear", "striped", "mirror"];
/// Types whose extents are said by another volume.
const OF_OTHERS: &[&str] = &["snapshot", "thin", "thinpool"];
/// Types that hold nothing.
const WITHOUT_DATA: &[&str] = &["zero", "error"];
/// Commands of which each word is a volume.
const OF_MANY: &[Flag] = &[INTEGRITY, MERGE, MERGE_MIRRORS];

/// A volume that is to be converted.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) volume: LvName,
    /// Whether it was named, and not its group or its tag.
    is_named: bool,
}

/// The volume that is made a pool by the option that names it.
fn new_pool(arguments: &Arguments) -> Option<&str> {
    let is_used = |of: &str| arguments.has_long(of) || arguments.value(&TYPE) == Some(of);
    let mut made = POOLS.iter().filter(|(_, of)| !is_used(of));
    made.find_map(|(flag, _)| arguments.value(flag))
}

/// The words that say what is converted, and those that follow.
pub(super) fn split_words(arguments: &Arguments) -> Result<(Vec<String>, &[String]), Error> {
    let has = |flags: &[Flag]| flags.iter().any(|flag| arguments.has(flag));
    match (arguments.operands(), new_pool(arguments)) {
        (words, Some(pool)) => Ok((vec![pool.to_owned()], words)),
        (words, None) if has(OF_MANY) => Ok((words.to_vec(), &[])),
        ([volume, words @ ..], None) => Ok((vec![volume.clone()], words)),
        ([], None) => Err(Error::usage("Please provide logical volume path.")),
    }
}

/// What may be wrong with a group all the same.
fn tolerated(arguments: &Arguments) -> &'static [Tolerated] {
    if WITHOUT_DEVICES.iter().any(|long| arguments.has_long(long)) {
        &[Tolerated::Missing]
    } else {
        &[]
    }
}

/// The volumes that words name: alone, in their group, or with their tag. What is not there and
/// what may not be changed is told, and makes the command fail at its end.
pub(super) fn subjects(
    arguments: &Arguments,
    work: &mut Work<'_>,
    words: &[String],
) -> Result<Vec<Subject>, Error> {
    let is_tag = |word: &String| word.starts_with('@');
    if let [word] = words
        && !is_tag(word)
        && !is_of_group(arguments, word)
    {
        // What names no volume is refused before anything is looked for.
        named(arguments, word)?;
    }
    if words.iter().all(|word| is_no_tag(word)) {
        return without_words(arguments, work, words);
    }
    let scan = work.scan()?;
    let mut all: Vec<Subject> = Vec::new();
    let has_tags = words.iter().any(is_tag);
    let whole = |vg: &String| {
        words
            .iter()
            .any(|word| is_of_group(arguments, word) && word == vg)
    };
    for word in words {
        // Of a group that is named as a whole nothing else is looked for.
        if matches!(split_target(word), Target::Lv(name) if whole(&name.vg)) {
            continue;
        }
        let found = match word.strip_prefix('@') {
            Some(tag) => Ok(of_tag(arguments, work, &scan, tag)),
            None => of_word(arguments, &scan, word, has_tags),
        };
        let found = match found {
            Err(error) if words.len() > 1 => {
                work.fail_later(&error.to_string());
                continue;
            }
            found => found?,
        };
        for one in found {
            match all.iter_mut().find(|other| other.volume == one.volume) {
                Some(known) => known.is_named |= one.is_named,
                None => all.push(one),
            }
        }
    }
    Ok(all)
}

/// What is no tag is left out, and no group is looked at. That is no failure, as in stock, of
/// commands that take groups.
fn without_words(
    arguments: &Arguments,
    work: &mut Work<'_>,
    words: &[String],
) -> Result<Vec<Subject>, Error> {
    let said: Vec<String> = words
        .iter()
        .map(|word| format!("Skipping invalid tag {word}."))
        .collect();
    if !OF_GROUPS.iter().any(|flag| arguments.has(flag)) {
        return Err(Error::failed(said.join("\n")));
    }
    for text in &said {
        work.error(text);
    }
    Ok(Vec::new())
}

fn subject(one: Chosen, is_named: bool) -> Subject {
    let volume = LvName {
        vg: one.group,
        lv: one.name,
    };
    Subject { volume, is_named }
}

/// The volumes with a tag, or in groups with it. Each group is looked into that is ours.
fn of_tag(arguments: &Arguments, work: &mut Work<'_>, scan: &Scan, tag: &str) -> Vec<Subject> {
    if name::validate_tag(tag).is_err() {
        work.error(&format!("Skipping invalid tag @{tag}."));
        return Vec::new();
    }
    let mut all = Vec::new();
    for group in &scan.groups {
        match (
            left_out(group, Unnamed::All),
            permitted(group, tolerated(arguments)),
        ) {
            (Some(why), _) if why.is_empty() => {}
            (Some(why), _) => work.error(&why),
            (None, Err(error)) => work.fail_later(&error.to_string()),
            (None, Ok(())) => all.extend(with_tag(group, tag)),
        }
    }
    all.into_iter().map(|one| subject(one, false)).collect()
}

/// Whether a word alone names a group.
fn is_of_group(arguments: &Arguments, word: &str) -> bool {
    OF_GROUPS.iter().any(|flag| arguments.has(flag))
        && matches!(split_target(word), Target::Vg(_))
        && default_group().is_none()
}

/// The volumes that a word names, which is no tag.
fn of_word(
    arguments: &Arguments,
    scan: &Scan,
    word: &str,
    has_tags: bool,
) -> Result<Vec<Subject>, Error> {
    let (group, lv) = if is_of_group(arguments, word) {
        (word.strip_prefix("/dev/").unwrap_or(word).to_owned(), None)
    } else {
        let one = named(arguments, word)?;
        (one.vg, Some(one.lv))
    };
    let is_there = scan.groups_named(&group).next().is_some();
    if has_tags && !is_there {
        return Ok(Vec::new());
    }
    require_group_name(&group)?;
    let found = changeable_group(scan, &group, tolerated(arguments))?;
    let Some(lv) = lv else {
        let all = volumes(found, |_| true).into_iter();
        return Ok(all.map(|one| subject(one, false)).collect());
    };
    match volume_named(found, &lv) {
        Some(id) => Ok(vec![subject(one_of(found, id), true)]),
        None => Err(failed(&missing(&group, &lv))),
    }
}

/// The volume that a word names, perhaps in the group of another one.
fn named(arguments: &Arguments, word: &str) -> Result<LvName, Error> {
    let mut said = SAY_THE_GROUP
        .iter()
        .filter_map(|flag| arguments.value(flag));
    let said = said.find_map(|name| path(name).ok()?.0);
    let said = said.or_else(default_group);
    match (path(word).map_err(Error::failed)?, said) {
        ((Some(vg), _), Some(other)) if vg != other && default_group().is_none() => {
            Err(Error::failed(format!(
                "VG name mismatch from position arg ({vg}) and option arg ({other})."
            )))
        }
        ((None, _), Some(_)) if default_group().is_some() => single(word),
        ((Some(vg), lv), _) | ((None, lv), Some(vg)) => Ok(LvName { vg, lv }),
        ((None, lv), None) => Err(Error::failed(format!("Cannot find VG name for LV {lv}."))),
    }
}

/// Whether it is of a type for which what is asked is. Of volumes whose group or tag was named,
/// it is said and no failure.
pub(super) fn is_of_type(
    arguments: &Arguments,
    work: &mut Work<'_>,
    subject: &Subject,
) -> Result<bool, Error> {
    let scan = work.scan()?;
    let (group, id) = find(&scan, &subject.volume).map_err(|error| failed(&error))?;
    let kind = type_shown(&group.model, id);
    let fits = |one: &str| match one {
        "raid" => kind.starts_with(one),
        "striped" => kind == one || kind.starts_with("raid0"),
        _ => kind == one,
    };
    let types = volume_types(arguments);
    if types.is_none_or(|types| types.split(',').any(fits)) {
        return Ok(true);
    }
    let LvName { vg, lv } = &subject.volume;
    let why = format!("Command on LV {vg}/{lv} does not accept LV type {kind}.");
    if subject.is_named {
        return Err(Error::failed(format!(
            "{why}\nCommand not permitted on LV {vg}/{lv}."
        )));
    }
    work.error(&why);
    Ok(false)
}

/// Refuses what cannot be the store of a snapshot: what is not there, of another type, or a part.
pub(super) fn require_store(
    arguments: &Arguments,
    work: &mut Work<'_>,
    volume: &LvName,
) -> Result<(), Error> {
    let subject = Subject {
        volume: volume.clone(),
        is_named: true,
    };
    is_of_type(arguments, work, &subject)?;
    let scan = work.scan()?;
    let (group, id) = find(&scan, volume).map_err(|error| failed(&error))?;
    if Relations::of(&group.model).is_visible(&group.model, id) {
        return Ok(());
    }
    let name = format!("{}/{}", volume.vg, volume.lv);
    Err(Error::failed(format!(
        "Command on LV {name} requires LV with properties: lv_is_visible .\n\
         Command not permitted on LV {name}."
    )))
}

/// Whether the volume is to be laid out anew.
fn is_laid_out(arguments: &Arguments) -> bool {
    let is_layout = |to: &str| LAYOUTS.contains(&to) || to.starts_with("raid");
    arguments.has(&MIRRORS) || arguments.value(&TYPE).is_some_and(is_layout)
}

/// Refuses volumes of types that are never laid out anew, before it is asked where that would be.
pub(super) fn require_kind(
    arguments: &Arguments,
    work: &Work<'_>,
    volume: &LvName,
) -> Result<(), Error> {
    if !is_laid_out(arguments) {
        return Ok(());
    }
    let scan = work.scan()?;
    let (group, id) = find(&scan, volume).map_err(|error| failed(&error))?;
    let kind = type_shown(&group.model, id);
    let is_visible = Relations::of(&group.model).is_visible(&group.model, id);
    if !is_visible || !OF_OTHERS.contains(&kind.as_str()) {
        return Ok(());
    }
    let (vg, lv) = (&volume.vg, &volume.lv);
    let what = format!("Operation not permitted on LV {vg}/{lv} type {kind}.");
    Err(Error::failed(what))
}

/// Refuses parts of other volumes, where one is to be laid out anew, merged or made a pool.
pub(super) fn require_shown(
    arguments: &Arguments,
    work: &Work<'_>,
    volume: &LvName,
) -> Result<(), Error> {
    let is_pool = arguments.value(&TYPE) == Some("thin-pool");
    if !is_pool && !is_laid_out(arguments) && !arguments.has(&MERGE_MIRRORS) {
        return Ok(());
    }
    let scan = work.scan()?;
    let (group, id) = find(&scan, volume).map_err(|error| failed(&error))?;
    if Relations::of(&group.model).is_visible(&group.model, id) {
        return Ok(());
    }
    let name = format!("{}/{}", volume.vg, volume.lv);
    Err(Error::failed(if is_pool {
        format!(
            "Command on LV {name} requires LV with properties: lv_is_visible .\n\
             Command not permitted on LV {name}."
        )
    } else {
        format!("Operation not permitted on hidden LV {name}.")
    }))
}

/// Refuses volumes that cannot be laid out anew, where that is asked for.
pub(super) fn require_convertible(
    arguments: &Arguments,
    work: &Work<'_>,
    volume: &LvName,
) -> Result<(), Error> {
    let to = arguments.value(&TYPE);
    if !is_laid_out(arguments) {
        return Ok(());
    }
    let scan = work.scan()?;
    let (group, id) = find(&scan, volume).map_err(|error| failed(&error))?;
    let kind = type_shown(&group.model, id);
    let name = format!("{}/{}", volume.vg, volume.lv);
    let refused = |what: String| Err(Error::failed(what));
    match to {
        Some("mirror") if !arguments.has(&MIRRORS) && kind != "raid1" => {
            refused("Conversions to --type mirror require -m/--mirrors".to_owned())
        }
        _ if WITHOUT_DATA.contains(&kind.as_str()) => refused(format!("Cannot convert LV {name}.")),
        Some("striped") if kind == "mirror" => {
            refused(format!("Unknown operation on mirror LV {name}."))
        }
        _ => Ok(()),
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
    let scan = work.scan()?;
    let places = places(
        &scan,
        found_group(&scan, &volume.vg)?,
        &work.finder(),
        words,
    );
    places.map(drop).map_err(|error| failed(&error))
}
