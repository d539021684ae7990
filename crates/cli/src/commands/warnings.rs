//! What a scan found, as people are told: a warning that comes again and again is summed up.
//!
//! ```text
//!   the same sentence                          once in a command
//!   missing physical volumes of one group      a line each, in stock's words; what to do, once
//!   more than two others of one kind, group    two in full, then one line that names the devices
//! ```
//!
//! Errors are never summed up, and `-v` shows everything.

use std::collections::{BTreeSet, HashMap, HashSet};

use ashlar::host::Config;
use ashlar::scan::{Content, Finding, FindingKind, Scan, Severity};
use lvm2::Uuid;

use super::dispatch::is_called_as_lvm2;
use crate::args::{Arguments, flags};

/// How LVM2 says which physical volumes a group is without, and was.
const MISSING: [&str; 2] = [" is missing PV ", " was missing PV "];

/// How many warnings of one kind and group are said in full where there are more.
const FULL_MAX: usize = 2;

type Key = (FindingKind, Option<Uuid>);

fn key(finding: &Finding) -> Key {
    (finding.kind, finding.group)
}

fn is_warning(finding: &Finding) -> bool {
    finding.severity == Severity::Warning
}

/// The lines that are said of each finding: LVM2's where LVM2 was meant. `-v` shows everything.
fn said<'s>(scan: &'s Scan, interest: &Interest) -> Vec<(&'s Finding, Vec<String>)> {
    let Interest {
        is_verbose,
        is_in_lvm2,
        ..
    } = *interest;
    if !is_verbose && !is_in_lvm2 {
        let lines = summed_up(scan).into_iter();
        return lines
            .map(|(finding, line)| (finding, line.into_iter().collect()))
            .collect();
    }
    let lines = |finding: &Finding| {
        let in_lvm2 = finding.in_lvm2.clone().filter(|_| is_in_lvm2);
        let own = (is_verbose || in_lvm2.is_none()).then(|| finding.to_string());
        in_lvm2.into_iter().flatten().chain(own).collect()
    };
    let all = scan.findings.iter();
    all.map(|finding| (finding, lines(finding))).collect()
}

/// What is said of each finding, in their order; `None`: nothing, another line has it.
fn summed_up(scan: &Scan) -> Vec<(&Finding, Option<String>)> {
    let mut counts: HashMap<Key, usize> = HashMap::new();
    for finding in scan.findings.iter().filter(|finding| is_warning(finding)) {
        *counts.entry(key(finding)).or_default() += 1;
    }
    let mut seen: HashMap<Key, usize> = HashMap::new();
    let mut left: HashMap<Key, BTreeSet<&str>> = HashMap::new();
    let mut advised = HashSet::new();
    let mut said = Vec::new();
    // From the last to the first: what to do about missing ones stands behind the last of them.
    for finding in scan
        .findings
        .iter()
        .rev()
        .filter(|finding| is_missing(finding))
    {
        let is_first = finding.remedy.is_empty() || advised.insert(finding.group);
        said.push(is_first);
    }
    let mut with_remedy = said.into_iter().rev();
    let mut lines = Vec::new();
    for finding in &scan.findings {
        let line = if is_missing(finding) {
            let mut finding = finding.clone();
            if !with_remedy.next().unwrap_or(true) {
                finding.remedy.clear();
            }
            Some(finding.to_string())
        } else if is_warning(finding) && counts[&key(finding)] > FULL_MAX + 1 {
            let number = seen.entry(key(finding)).or_default();
            *number += 1;
            if *number > FULL_MAX {
                let name = finding.device.map(|index| scan.device(index).name.as_str());
                left.entry(key(finding)).or_default().extend(name);
            }
            match *number {
                1..=FULL_MAX => Some(finding.to_string()),
                number if number < counts[&key(finding)] => None,
                number => Some(rest(number - FULL_MAX, &left[&key(finding)])),
            }
        } else {
            Some(finding.to_string())
        };
        lines.push((finding, line));
    }
    lines
}

/// Commands that look into no group that is there.
const OF_DEVICES: [&str; 5] = ["pvck", "pvcreate", "pvremove", "vgcfgrestore", "vgcreate"];
/// Commands that look at all groups, to find the physical volumes that they are about.
const OF_PVS: [&str; 6] = [
    "fullreport",
    "pvchange",
    "pvdisplay",
    "pvresize",
    "pvs",
    "pvscan",
];

/// Commands whose first operands, so many, are names of groups, and no tags.
const OF_NAMES: [(&str, usize); 5] = [
    ("vgextend", 1),
    ("vgmerge", usize::MAX),
    ("vgreduce", 1),
    ("vgrename", 1),
    ("vgsplit", 2),
];
/// Commands of groups whose operands may be volumes or devices all the same.
const OF_OTHERS: [&str; 1] = ["vgimportclone"];

/// Options that name a group by the pool in it.
const POOLS: [&str; 3] = ["cachepool", "thinpool", "vdopool"];

/// What a command wants to know of what was found.
#[derive(Debug, Clone)]
pub(super) struct Interest {
    command: &'static str,
    operands: Vec<String>,
    is_verbose: bool,
    is_in_lvm2: bool,
    /// Whether it looks into groups.
    has_groups: bool,
    /// Whether it looks into those of other hosts, too.
    has_foreign: bool,
    /// Whether it looks at all physical volumes, also those in no group.
    has_pvs: bool,
    is_event: bool,
}

impl Interest {
    /// That of a command with these arguments, in LVM2's words where LVM2 was meant by it or by
    /// whoever sent it.
    pub(super) fn of(command: &'static str, arguments: &Arguments, config: &Config) -> Self {
        let mut operands = arguments.operands().to_vec();
        if !operands.is_empty() {
            let given = arguments.given();
            let pools = given.filter(|(long, value)| POOLS.contains(long) && value.contains('/'));
            operands.extend(pools.map(|(_, value)| value.to_owned()));
        }
        Self {
            command,
            has_pvs: OF_PVS.contains(&command)
                && (command != "fullreport" || operands.iter().all(|word| word.starts_with('@'))),
            operands,
            has_foreign: arguments.has_long(flags::FOREIGN.long),
            has_groups: !OF_DEVICES.contains(&command),
            is_verbose: arguments.has(&flags::VERBOSE),
            is_in_lvm2: config.flag("ashlar/lvm2_words", is_called_as_lvm2()),
            is_event: command == "pvscan" && arguments.has(&flags::CACHE),
        }
    }

    /// From now on it wants to know nothing that stands in the metadata of groups.
    pub(super) fn leave_groups(&mut self) {
        self.has_groups = false;
    }

    /// Whether a group is meant by an operand; `None` where operands are more than groups.
    fn names(&self, name: &str, uuid: &str) -> Option<bool> {
        let only = OF_NAMES
            .iter()
            .find(|(command, _)| *command == self.command);
        if only.is_none() && (!self.command.starts_with("vg") || OF_OTHERS.contains(&self.command))
        {
            return None;
        }
        let count = only.map_or(usize::MAX, |(_, count)| *count);
        Some(self.operands.iter().take(count).any(|operand| {
            let word = operand.trim_start_matches('/');
            let word = word.strip_prefix("dev/").unwrap_or(word);
            word == name || word == uuid || (only.is_none() && word.starts_with('@'))
        }))
    }

    /// The same of a command that goes through all groups, whatever it names.
    pub(super) fn in_all_groups(&mut self) {
        self.operands.clear();
        self.has_pvs = true;
    }

    /// Whether a command that is to be quiet says something all the same: LVM2 does, with `-q`.
    pub(super) fn is_loud(&self) -> bool {
        self.is_in_lvm2
    }

    /// The lines that are said of each finding that it wants to know.
    pub(super) fn said<'s>(&self, scan: &'s Scan) -> Vec<(&'s Finding, Vec<String>)> {
        // LVM2's looks at no disk but the one that it is about.
        if self.is_in_lvm2 && self.command == "pvck" {
            return Vec::new();
        }
        let mut all = said(scan, self);
        all.retain(|(finding, _)| concerns(scan, finding, self));
        // As in stock, which says once what another host may have in use.
        if self.has_foreign && self.is_in_lvm2 {
            all.retain(|(finding, _)| !is_missing(finding) || finding.in_lvm2.is_some());
        }
        if self.is_event && self.is_in_lvm2 {
            // What notes that devices have come does not say what is without them.
            let is_of_devices = |kind: FindingKind| {
                let is_missing = [FindingKind::MissingPv, FindingKind::ReturnedPv].contains(&kind);
                is_missing || !is_of_group(kind)
            };
            all.retain(|(finding, _)| is_of_devices(finding.kind));
            let lines = all.iter_mut().map(|(_, lines)| lines);
            let is_late = |line: &String| MISSING.iter().any(|what| line.contains(what));
            lines.for_each(|lines| lines.retain(|line| !is_late(line)));
        }
        all
    }
}

/// The group in whose metadata something is found, if it is seen there alone.
pub(super) fn group_behind(finding: &Finding) -> Option<Uuid> {
    finding.group.filter(|_| is_of_group(finding.kind))
}

/// Whether it is found where groups are looked at.
pub(super) fn is_of_group(kind: FindingKind) -> bool {
    matches!(
        kind,
        FindingKind::MissingPv
            | FindingKind::ReturnedPv
            | FindingKind::StaleArea
            | FindingKind::OutdatedPv
            | FindingKind::TruncatedPv
            | FindingKind::UnknownType
            | FindingKind::UsedFlag
    )
}

/// Whether what is found is of interest to a command that names groups: what another group lacks is
/// not. Of tags, and of commands that name devices, it is not known which groups are meant.
fn concerns(scan: &Scan, finding: &Finding, interest: &Interest) -> bool {
    let Some(group) = group_behind(finding) else {
        // Stock looks at what is of no group where all physical volumes are asked for.
        let is_lonely = finding.kind == FindingKind::UsedFlag && interest.is_in_lvm2;
        return !is_lonely || interest.has_pvs;
    };
    if !interest.has_groups {
        return false;
    }
    if interest.operands.is_empty() || interest.has_pvs {
        return true;
    }
    let mut groups = scan.groups.iter().filter(|found| found.uuid == group);
    let uuid = group.to_string();
    let is_on = |word: &str| {
        let device = scan.find_device(word, None);
        let pv = device.and_then(|index| match scan.device(index).content {
            Content::PhysicalVolume(pv) => Some(scan.pv(pv)),
            _ => None,
        });
        pv.is_some_and(|pv| pv.group == Some(group))
    };
    let is_named = |name: &str| {
        interest.operands.iter().any(|operand| {
            let word = operand.strip_prefix("/dev/").unwrap_or(operand);
            let named = word.split('/').next().unwrap_or_default();
            word.starts_with(['@', '/'])
                || named == "mapper"
                || named == name
                || named == uuid
                || is_on(operand)
        })
    };
    groups.any(|found| {
        let named = interest.names(&found.name, &uuid);
        named.unwrap_or_else(|| is_named(&found.name))
    })
}

fn is_missing(finding: &Finding) -> bool {
    is_warning(finding) && finding.kind == FindingKind::MissingPv
}

fn rest(count: usize, devices: &BTreeSet<&str>) -> String {
    let names: Vec<&str> = devices.iter().copied().collect();
    let on = if names.is_empty() {
        String::new()
    } else {
        format!(", about {}", names.join(", "))
    };
    format!("WARNING: {count} more warnings like the last one{on}; -v shows them.")
}

#[cfg(test)]
mod tests;
