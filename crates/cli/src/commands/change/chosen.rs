//! The volumes that a command is about: those that its words and its criteria name.

use std::collections::BTreeSet;

use ashlar::apply::Tolerated;
use ashlar::scan::{FoundVg, Restriction, Scan};
use lvm2::Uuid;
use lvm2::model::{LvId, Relations, is_snapshot_holder, name};

use super::activation::require_usable;
use super::groups::permitted;
use super::selection::{About, Asked, asked};
use super::volumes::{path, require_group_name};
use super::work::{Work, missing as missing_group};
use crate::args::{Arguments, Error, Target, split_target};

/// A volume that the operands name.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    /// The name of its group.
    pub(super) group: String,
    /// Its name.
    pub(super) name: String,
    /// Its identity, by which it is known even if it is renamed meanwhile.
    pub(super) uuid: Uuid,
}

impl Chosen {
    /// Group and volume in what is found under the locks.
    pub(super) fn find<'s>(&self, scan: &'s Scan) -> ashlar::Result<(&'s FoundVg, LvId)> {
        let group = scan.find_group(&self.group)?;
        let found = group.model.lvs().find(|(_, lv)| lv.uuid == self.uuid);
        let (id, _) = found.ok_or_else(|| missing(&self.group, &self.name))?;
        Ok((group, id))
    }
}

/// Stock's sentence about a volume that is not there.
pub(super) fn missing(group: &str, name: &str) -> ashlar::Error {
    let what = format!("Failed to find logical volume \"{group}/{name}\"");
    ashlar::Error::new(ashlar::Kind::NotFound, what)
}

/// The volumes that the operands name: `VG`, `VG/LV`, `@tag`. What is not there is told, and makes
/// the command fail at its end.
pub(super) fn chosen(arguments: &Arguments, work: &mut Work<'_>) -> Result<Vec<Chosen>, Error> {
    let criteria = match asked(arguments, About::Volumes, work)? {
        Asked::Operands => None,
        Asked::Criteria(criteria) => Some(criteria),
        Asked::Help => return Ok(Vec::new()),
    };
    if arguments.operands().is_empty() && criteria.is_none() {
        return Err(Error::usage(
            "Please name volumes, as VG/LV, VG or @tag; --help says more.",
        ));
    }
    require_paths(arguments)?;
    if names_nothing(arguments) {
        work.look_into_no_group();
    }
    let scan = work.scan()?;
    let mut all: Vec<Chosen> = Vec::new();
    let mut missing_groups: Vec<String> = Vec::new();
    if arguments.operands().is_empty() {
        let groups = scan.groups.iter();
        all.extend(groups.flat_map(|found| volumes(found, |_| true)));
    }
    let mut has_tags = false;
    let whole = whole_groups(arguments);
    for word in arguments.operands() {
        let found = match split_target(word) {
            // Of a group that is named as a whole nothing else is looked for.
            Target::Lv(name) if whole.contains(&name.vg) => continue,
            Target::Tag(tag) if name::validate_tag(&tag).is_err() => {
                work.error(&format!("Skipping invalid tag {word}."));
                continue;
            }
            Target::Tag(tag) => {
                has_tags = true;
                Ok(tagged(&scan, &tag))
            }
            _ => of_word(&scan, word, |found| is_refused(found, arguments)),
        };
        match found {
            Ok(found) => {
                let is_new = |one: &Chosen| all.iter().all(|other| other.uuid != one.uuid);
                let new: Vec<Chosen> = found.into_iter().filter(is_new).collect();
                all.extend(new);
            }
            Err(Missing::Group(text)) => missing_groups.push(text),
            Err(Missing::Other(text)) => work.fail_later(&text),
        }
    }
    // Beside tags, which stand for what is in any group, nothing is said of one that is not there.
    if !has_tags {
        for text in missing_groups {
            work.fail_later(&text);
        }
    }
    if let Some(criteria) = &criteria
        && criteria.is_mixed()
    {
        // What may not be changed is told before that nothing can meet these.
        retain_changeable(&mut all, arguments, work)?;
        if all.is_empty() {
            return Err(Error::reported());
        }
    }
    if let Some(criteria) = criteria {
        criteria.retain(&mut all, &scan)?;
    }
    Ok(all)
}

/// Fails at what is no path, before anything is looked at.
fn require_paths(arguments: &Arguments) -> Result<(), Error> {
    let words = arguments.operands().iter();
    let mut named = words.filter(|word| !word.starts_with('@'));
    let wrong = named.find_map(|word| place_of(word).err());
    wrong.map_or(Ok(()), |wrong| Err(Error::failed(wrong)))
}

/// Whether all words are tags that can be none.
fn names_nothing(arguments: &Arguments) -> bool {
    let mut words = arguments.operands().iter();
    words.len() > 0 && words.all(|word| is_no_tag(word))
}

/// Whether a word is written as a tag, and can be none.
pub(super) fn is_no_tag(word: &str) -> bool {
    let tag = word.strip_prefix('@');
    tag.is_some_and(|tag| name::validate_tag(tag).is_err())
}

/// The volume of a group with a name. What joins a snapshot to its origin is no volume to anybody,
/// as in stock.
pub(super) fn volume_named(group: &FoundVg, name: &str) -> Option<LvId> {
    let id = group.model.lv_by_name(name);
    id.filter(|id| !is_snapshot_holder(&group.model, *id))
}

/// Takes away the volumes of groups that may not be changed, and says so once of each; where only a
/// tag names what others own, nothing.
pub(super) fn retain_changeable(
    volumes: &mut Vec<Chosen>,
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let tolerated = tolerated(arguments);
    let scan = work.scan()?;
    let named = named_groups(arguments);
    for found in groups_in_play(volumes, arguments, &scan) {
        let Err(error) = permitted(found, tolerated) else {
            continue;
        };
        let group = &found.name;
        let is_named = named.contains(group);
        volumes.retain(|one| one.group != *group);
        match found.restrictions.first() {
            Some(Restriction::Clustered) if !is_named => {
                work.error(&skipped_cluster(group));
            }
            Some(
                Restriction::Foreign { .. } | Restriction::Exported | Restriction::Shared { .. },
            ) if !is_named => {}
            _ => work.fail_later(&error.to_string()),
        }
    }
    Ok(())
}

/// What is said of a group of a cluster that was not named.
pub(super) fn skipped_cluster(group: &str) -> String {
    format!(
        "Skipping clustered VG {group}.\nSee lvmlockd(8) for changing a clvm/clustered VG to a \
         shared VG."
    )
}

/// The groups that a command looks into: those of its volumes, those that its words name, and all
/// where a tag is looked for.
pub(super) fn groups_in_play<'s>(
    volumes: &[Chosen],
    arguments: &Arguments,
    scan: &'s Scan,
) -> Vec<&'s FoundVg> {
    let mut words = arguments.operands().iter();
    let has_tags = words.any(|word| word.starts_with('@') && !is_no_tag(word));
    let mut names = named_groups(arguments);
    names.extend(volumes.iter().map(|one| one.group.clone()));
    let groups = scan.groups.iter();
    groups
        .filter(|found| has_tags || names.contains(&found.name))
        .collect()
}

/// The groups that words name, alone or with a volume.
pub(super) fn named_groups(arguments: &Arguments) -> BTreeSet<String> {
    let words = arguments.operands().iter();
    let named = words.filter_map(|word| match split_target(word) {
        Target::Vg(group) => Some(group),
        Target::Lv(name) => Some(name.vg),
        Target::Tag(_) => None,
    });
    named.collect()
}

/// What of a group does not matter to the command.
fn tolerated(arguments: &Arguments) -> &'static [Tolerated] {
    let is_strict = ["resync", "rebuild"]
        .iter()
        .any(|long| arguments.has_long(long));
    if is_strict { &[] } else { &[Tolerated::Absent] }
}

/// The groups that are named as wholes.
fn whole_groups(arguments: &Arguments) -> Vec<String> {
    let of_word = |word: &String| match split_target(word) {
        Target::Vg(group) => Some(group),
        _ => None,
    };
    arguments.operands().iter().filter_map(of_word).collect()
}

/// The volumes that a word names, as far as they are there.
pub(super) fn named_volumes(scan: &Scan, word: &str) -> Vec<Chosen> {
    match split_target(word) {
        Target::Tag(tag) => tagged(scan, &tag),
        _ => of_word(scan, word, |_| false).unwrap_or_default(),
    }
}

/// Whether the command does nothing with a group, which is said of it.
fn is_refused(found: &FoundVg, arguments: &Arguments) -> bool {
    let of_activity = ["activate", "refresh"];
    if of_activity.iter().any(|long| arguments.has_long(long)) {
        require_usable(found).is_err()
    } else {
        permitted(found, tolerated(arguments)).is_err()
    }
}

/// Why a word names nothing.
enum Missing {
    /// There is no such group.
    Group(String),
    /// Something else.
    Other(String),
}

/// The group that a word names, which is no tag, and the volume in it, if it names one.
fn place_of(word: &str) -> Result<(String, Option<String>), String> {
    match split_target(word) {
        Target::Vg(group) if !word.contains('/') || word.starts_with("/dev/") => Ok((group, None)),
        _ => match path(word)? {
            (Some(group), lv) if !group.is_empty() => {
                Ok((group, Some(lv).filter(|lv| !lv.is_empty())))
            }
            _ => Err(format!("\"{word}\": Invalid path for Logical Volume.")),
        },
    }
}

/// The volumes that a word names, which is no tag; nothing is missing in groups that are refused.
fn of_word(
    scan: &Scan,
    word: &str,
    is_refused: impl Fn(&FoundVg) -> bool,
) -> Result<Vec<Chosen>, Missing> {
    let (group, name) = place_of(word).map_err(Missing::Other)?;
    require_group_name(&group).map_err(|error| Missing::Group(error.to_string()))?;
    let found = match scan.find_group(&group) {
        Ok(found) => found,
        Err(error) if error.kind() == ashlar::Kind::NotFound => {
            return Err(Missing::Group(missing_group(&group, &error).to_string()));
        }
        Err(error) => return Err(Missing::Other(error.to_string())),
    };
    let Some(name) = name else {
        return Ok(volumes(found, |_| true));
    };
    match volume_named(found, &name) {
        Some(id) => Ok(vec![one_of(found, id)]),
        None if is_refused(found) => Ok(Vec::new()),
        None => Err(Missing::Other(missing(&group, &name).to_string())),
    }
}

/// A volume of a group.
pub(super) fn one_of(group: &FoundVg, id: LvId) -> Chosen {
    let lv = group.model.lv(id);
    Chosen {
        group: group.name.clone(),
        name: lv.name().to_owned(),
        uuid: lv.uuid,
    }
}

/// The volumes of a group that people see.
pub(super) fn volumes(group: &FoundVg, is_wanted: impl Fn(LvId) -> bool) -> Vec<Chosen> {
    let relations = Relations::of(&group.model);
    let ids = group.model.lvs().map(|(id, _)| id);
    ids.filter(|id| relations.is_visible(&group.model, *id) && is_wanted(*id))
        .map(|id| one_of(group, id))
        .collect()
}

fn tagged(scan: &Scan, tag: &str) -> Vec<Chosen> {
    let groups = scan.groups.iter();
    groups.flat_map(|group| with_tag(group, tag)).collect()
}

/// The volumes of a group with a tag; all where it has the tag itself.
pub(super) fn with_tag(group: &FoundVg, tag: &str) -> Vec<Chosen> {
    let has = |tags: &[String]| tags.iter().any(|own| own == tag);
    let model = &group.model;
    let whole = has(&model.tags);
    volumes(group, |id| whole || has(&model.lv(id).tags))
}
