//! What commands on volume groups share: which groups are meant, and one change for each.

use std::collections::BTreeSet;

use ashlar::scan::{FoundVg, Restriction, Scan};
use ashlar::{Error as Failure, Kind};
use lvm2::model::PvId;
use lvm2::model::name::wrongness;

use super::finder::Finder;
use super::pvresize::skipped_cluster;
use super::selection::{About, Asked, asked};
use super::work::Work;
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
    work: &mut Work<'_>,
) -> Result<Vec<String>, Error> {
    let criteria = match asked(arguments, About::Groups, work)? {
        Asked::Operands => return operands(arguments, unnamed, unnamed, work),
        Asked::Criteria(criteria) => criteria,
        Asked::Help => return Ok(Vec::new()),
    };
    let names = operands(arguments, Unnamed::All, unnamed, work)?;
    let scan = work.scan()?;
    let met = criteria.groups(work.scan()?);
    // A name may be that of several groups, of which the criteria choose.
    let is_meant = |group: &&FoundVg| {
        let uuid = group.uuid.to_string();
        met.contains(&group.uuid) && names.iter().any(|n| *n == group.name || *n == uuid)
    };
    let meant = scan.groups.iter().filter(is_meant);
    let mut all: Vec<String> = meant.map(|group| unique(&scan, group)).collect();
    // What is not there cannot meet criteria, and its turn will tell that.
    let is_missing = |name: &String| scan.find_group(name).is_err_and(|error| is_absent(&error));
    all.extend(names.into_iter().filter(is_missing));
    Ok(all)
}

/// The same without criteria. Without names, all are meant as `unnamed` says, which `of_all` leaves
/// some out of.
fn operands(
    arguments: &Arguments,
    unnamed: Unnamed,
    of_all: Unnamed,
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
    // As in stock, names are only looked for among the groups that there are, where tags stand
    // beside them.
    let are_sought = operands.iter().any(|operand| operand.starts_with('@'));
    for operand in operands {
        match operand.strip_prefix('@') {
            None => {
                let name = require_group(operand)?;
                if !are_sought || work.scan()?.groups_named(name).next().is_some() {
                    push(name);
                }
            }
            Some("") => return Err(Error::usage(format!("Skipping invalid tag: {operand}"))),
            Some(tag) => {
                let scan = work.scan()?;
                let tagged = scan
                    .groups
                    .iter()
                    .filter(|group| group.model.tags.iter().any(|other| other == tag));
                tagged.for_each(|group| push(&unique(&scan, group)));
            }
        }
    }
    Ok(names)
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
fn left_out(group: &FoundVg, of_all: Unnamed) -> Option<String> {
    let name = &group.name;
    let mut restrictions = group.restrictions.iter();
    restrictions.find_map(|restriction| match restriction {
        Restriction::Clustered => Some(skipped_cluster(name)),
        Restriction::Foreign { system_id } => Some(format!(
            "Cannot access VG {name} with system ID {system_id}: it belongs to that host"
        )),
        Restriction::Shared { .. } => Some(String::new()),
        Restriction::Exported if of_all == Unnamed::All => Some(String::new()),
        _ => None,
    })
}

fn is_absent(error: &Failure) -> bool {
    error.kind() == Kind::NotFound
}

/// What names this group alone: its name, or its UUID where another group has the name, too.
fn unique(scan: &Scan, group: &FoundVg) -> String {
    if scan.groups_named(&group.name).count() == 1 {
        group.name.clone()
    } else {
        group.uuid.to_string()
    }
}

/// The name of a group, without a folder of devices in front of it.
pub(super) fn plain(name: &str) -> &str {
    name.strip_prefix("/dev/").unwrap_or(name)
}

/// The same, of a word that may be the name of a group but not of a volume.
fn require_group(word: &str) -> Result<&str, Error> {
    let name = plain(word);
    if name.contains('/') {
        return Err(Error::usage(format!("Invalid volume group name {name}.")));
    }
    Ok(name)
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
