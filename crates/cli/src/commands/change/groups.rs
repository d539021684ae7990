//! What commands on volume groups share: which groups are meant, and one change for each.

use std::collections::BTreeSet;

use ashlar::apply::{Tolerated, is_told_alone, permit};
use ashlar::scan::{FoundVg, Restriction, Scan, foreign};
use ashlar::{Error as Failure, Kind};
use lvm2::Uuid;
use lvm2::model::PvId;
use lvm2::model::name::wrongness;

use super::finder::Finder;
use super::pvresize::skipped_cluster;
use super::selection::{About, Asked, SELECT, asked};
use super::work::{Work, missing, not_processed};
use crate::args::{Arguments, Error, Flag};

/// `-a`
pub(super) const ALL: Flag = Flag::switch("all", "All volume groups.").short('a');

/// What operands mean that name groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unnamed {
    /// Without names, nothing: the command line is wrong unless `-a` says all.
    Nothing,
    /// Without names, all groups.
    All,
}

/// The groups that the operands name, by name or tag.
pub(super) fn named(
    arguments: &Arguments,
    unnamed: Unnamed,
    tolerated: &[Tolerated],
    work: &mut Work<'_>,
) -> Result<Vec<String>, Error> {
    if !arguments.has(&SELECT) {
        return operands(arguments, (unnamed, unnamed), tolerated, work);
    }
    let mut names = operands(arguments, (Unnamed::All, unnamed), tolerated, work)?;
    let scan = work.scan()?;
    if leaves_doubled(&scan, &mut names, work) && names.is_empty() {
        return Ok(names);
    }
    // Its turn will tell what cannot be changed: nobody asks whether it meets the criteria.
    let is_met = |name: &String| {
        let found = scan.find_group(name);
        found.is_ok_and(|found| permit(found, tolerated).is_ok())
    };
    // Criteria are looked at before groups that are named, and before any that there is.
    let mut operands = arguments.operands().iter();
    let by_name = operands.any(|operand| !operand.starts_with('@'));
    let is_shown = by_name || arguments.value(&SELECT) == Some("help");
    if !is_shown && scan.groups.is_empty() {
        return Ok(names);
    }
    let criteria = match asked(arguments, About::Groups, work) {
        Ok(Asked::Criteria(criteria)) => criteria,
        Ok(Asked::Operands | Asked::Help) => return Ok(Vec::new()),
        Err(error) => {
            work.look_into_no_group();
            return Err(error);
        }
    };
    let mut all: Vec<String> = Vec::new();
    all.extend(names.extract_if(.., |name| !is_met(name)));
    let met = criteria.groups(&scan);
    let named = names.iter().filter_map(|name| scan.find_group(name).ok());
    let meant = named.filter(|group| met.contains(&group.uuid));
    all.extend(meant.map(|group| unique(&scan, group)));
    Ok(all)
}

/// Whether names are left out, and told, that several groups have.
fn leaves_doubled(scan: &Scan, names: &mut Vec<String>, work: &mut Work<'_>) -> bool {
    let count = names.len();
    names.retain(|name| match scan.find_group(name) {
        Err(error) if scan.groups_named(name).next().is_some() => {
            work.fail_later(&missing(name, &error).to_string());
            false
        }
        _ => true,
    });
    names.len() < count
}

/// The same without criteria. Without names, all are meant as `unnamed` says, which `of_all` leaves
/// some out of.
fn operands(
    arguments: &Arguments,
    (unnamed, of_all): (Unnamed, Unnamed),
    tolerated: &[Tolerated],
    work: &mut Work<'_>,
) -> Result<Vec<String>, Error> {
    require_no_names(arguments, &ALL)?;
    let operands = arguments.operands();
    let wants_all = arguments.has(&ALL) || (operands.is_empty() && unnamed == Unnamed::All);
    if operands.is_empty() && !wants_all {
        let what = "Please give volume group names, or tags.";
        return Err(Error::lacking(arguments.command(), what));
    }
    if wants_all {
        let scan = work.scan()?;
        let mut all = Vec::new();
        for group in &scan.groups {
            match left_out(group, of_all) {
                Some(why) if why.is_empty() => {}
                Some(why) => work.error(&why),
                None => all.push(unique(&scan, group)),
            }
        }
        return Ok(all);
    }
    let mut names: Vec<String> = Vec::new();
    let mut push = |name: &str| {
        if !names.iter().any(|other| other == name) {
            names.push(name.to_owned());
        }
    };
    let words = operands.iter().filter(|operand| !is_tag(operand));
    let wrong: Vec<String> = words.filter_map(|word| no_group(word)).collect();
    if !wrong.is_empty() {
        return Err(Error::usage(wrong.join("\n")));
    }
    // As in stock, names are only looked for among the groups that there are, where tags stand
    // beside them.
    let are_sought = operands.iter().any(|operand| operand.starts_with('@'));
    for operand in operands {
        match operand.strip_prefix('@') {
            None => {
                let name = plain(operand);
                if !are_sought || work.scan()?.groups_named(name).next().is_some() {
                    push(name);
                }
            }
            Some(tag) => {
                let scan = work.scan()?;
                tell_others(&scan, work);
                // Of what cannot be changed nobody asks for the tags: its turn will tell.
                let is_told = |group: &FoundVg| {
                    left_out(group, Unnamed::All).is_none() && permit(group, tolerated).is_err()
                };
                let tagged = scan.groups.iter().filter(|group| {
                    is_told(group) || group.model.tags.iter().any(|other| other == tag)
                });
                tagged.for_each(|group| push(&unique(&scan, group)));
            }
        }
    }
    Ok(names)
}

/// Tells of the groups of others that are not looked at, where tags are looked for.
fn tell_others(scan: &Scan, work: &mut Work<'_>) {
    let others = scan.groups.iter().filter_map(others);
    for why in others.filter(|why| !why.is_empty()) {
        work.error(&why);
    }
}

/// Refuses names beside an option that means everything: who gives both means the names.
pub(super) fn require_no_names(arguments: &Arguments, all: &Flag) -> Result<(), Error> {
    match arguments.operands() {
        [name, ..] if arguments.has(all) => Err(Error::form(format!(
            "Command does not accept argument: {name}."
        ))),
        _ => Ok(()),
    }
}

/// Whether a group is not meant by "all": those of others, of which some are told.
pub(super) fn left_out(group: &FoundVg, of_all: Unnamed) -> Option<String> {
    let is_exported = group.restrictions.contains(&Restriction::Exported);
    others(group).or_else(|| (is_exported && of_all == Unnamed::All).then(String::new))
}

/// What is said of a group of others where it is not named.
pub(super) fn others(group: &FoundVg) -> Option<String> {
    let name = &group.name;
    let mut restrictions = group.restrictions.iter();
    restrictions.find_map(|restriction| match restriction {
        Restriction::Clustered => Some(skipped_cluster(name)),
        Restriction::Foreign { system_id, own } => {
            Some(format!("{}.", foreign(name, system_id, own.as_deref())))
        }
        Restriction::Shared { .. } => Some(String::new()),
        _ => None,
    })
}

/// The group of this name; where it is not there, stock's two sentences.
pub(super) fn found_group<'s>(scan: &'s Scan, name: &str) -> Result<&'s FoundVg, Error> {
    let found = scan.find_group(name);
    found.map_err(|error| missing(name, &error))
}

/// The same, if it may be changed: to be asked before what is wrong with volumes is said.
pub(super) fn changeable_group<'s>(
    scan: &'s Scan,
    name: &str,
    tolerated: &[Tolerated],
) -> Result<&'s FoundVg, Error> {
    let found = found_group(scan, name)?;
    permitted(found, tolerated)?;
    Ok(found)
}

/// The same of one that was found.
pub(super) fn permitted(found: &FoundVg, tolerated: &[Tolerated]) -> Result<(), Error> {
    let second = if is_told_alone(found) {
        String::new()
    } else {
        format!("\n{}", not_processed(&found.name))
    };
    permit(found, tolerated).map_err(|error| Error::failed(format!("{error}{second}")))
}

/// Says which of the groups cannot be changed: a command on physical volumes looks into all of
/// them, as stock's does. Of those without one that is `meant`, what is damaged is not said.
pub(super) fn tell_unchangeable(scan: &Scan, meant: &[Uuid], work: &mut Work<'_>) {
    tell_each(scan, meant, work, Work::fail_later);
}

/// The same of all groups, where it makes nothing fail.
pub(super) fn tell_of_all(scan: &Scan, work: &mut Work<'_>) {
    tell_each(scan, &[], work, Work::error);
}

fn tell_each<'w>(scan: &Scan, meant: &[Uuid], work: &mut Work<'w>, tell: fn(&mut Work<'w>, &str)) {
    let is_clustered = |group: &&FoundVg| group.restrictions.contains(&Restriction::Clustered);
    let (clustered, others): (Vec<&FoundVg>, Vec<&FoundVg>) =
        scan.groups.iter().partition(is_clustered);
    for group in clustered {
        work.error(&skipped_cluster(&group.name));
    }
    for group in others {
        let tolerated: &[Tolerated] = if meant.contains(&group.uuid) {
            &[]
        } else {
            &[Tolerated::Disagreement, Tolerated::Unsound]
        };
        if !group.restrictions.iter().any(is_silent)
            && let Err(error) = permit(group, tolerated)
        {
            let why = format!("{error}\n{}", not_processed(&group.name));
            tell(work, &why);
        }
    }
}

/// Whether a restriction is why a group is left alone without a word.
fn is_silent(restriction: &Restriction) -> bool {
    matches!(
        restriction,
        Restriction::Foreign { .. }
            | Restriction::Shared { .. }
            | Restriction::Exported
            | Restriction::DuplicatePvs
    )
}

/// What names this group alone: its name, or its UUID where another group has the name, too.
pub(super) fn unique(scan: &Scan, group: &FoundVg) -> String {
    if scan.groups_named(&group.name).count() == 1 {
        group.name.clone()
    } else {
        group.uuid.to_string()
    }
}

/// The name of a group, without a folder of devices in front of it, and one slash for many.
pub(super) fn plain(name: &str) -> &str {
    let mut name = name;
    while let Some(rest) = name.strip_prefix('/').filter(|rest| rest.starts_with('/')) {
        name = rest;
    }
    name.strip_prefix("/dev/").unwrap_or(name)
}

/// Whether a word stands for the groups that have a tag.
fn is_tag(word: &str) -> bool {
    word.len() > 1 && word.starts_with('@')
}

/// Why a word can be neither the name of a group nor a tag.
fn no_group(word: &str) -> Option<String> {
    let name = plain(word);
    if word == "@" {
        return Some(format!("Skipping invalid tag: {word}"));
    }
    let is_path = name.contains('/');
    is_path.then(|| format!("Invalid volume group name {name}."))
}

/// Fails where a new group cannot have this name.
pub(super) fn require_new_name(name: &str) -> Result<(), String> {
    match wrongness(name) {
        None => Ok(()),
        Some(why) => Err(format!(
            "{why}\nNew volume group name \"{name}\" is invalid."
        )),
    }
}

/// Fails where the folder of devices has something of this name: the volumes of a new group could
/// not have theirs.
pub(super) fn require_free_path(name: &str, work: &Work<'_>) -> Result<(), String> {
    let path = work
        .nodes_dir()
        .map_err(|error| error.to_string())?
        .join(name);
    if path.exists() {
        return Err(format!("{}: already exists in filesystem", path.display()));
    }
    Ok(())
}

/// Does the same for each group; where one fails, goes on with the next, and fails at the end.
pub(super) fn each<N: AsRef<str>>(
    names: &[N],
    work: &mut Work<'_>,
    mut change: impl FnMut(&str, &mut Work<'_>) -> Result<(), Error>,
) {
    for name in names {
        if let Err(error) = change(name.as_ref(), work) {
            work.fail_later(&error.to_string());
        }
    }
}

/// The members of a group on the named devices.
pub(super) fn members(
    scan: &Scan,
    group: &FoundVg,
    finder: &Finder,
    names: &[String],
) -> ashlar::Result<BTreeSet<PvId>> {
    let member = |name: &String| {
        finder.member(scan, group, name).ok_or_else(|| {
            let what = format!("Physical volume {name} not in volume group {}", group.name);
            Failure::new(Kind::NotFound, what)
        })
    };
    names.iter().map(member).collect()
}
