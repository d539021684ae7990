//! What may be found after a cut, and what the next command makes of it.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use block::sim::{Image, State};
use block::{Device, Range};
use lvm2::model::to_text;
use lvm2::ondisk::{AREA_HEADER_SIZE, LABEL_SCAN_SIZE};
use lvm2::plan::GroupChange;
use lvm2::text::Style;

use super::cases::Case;
use super::command::Command;
use super::settle::{Settled, settle};
use super::view::{GroupView, View, damage, nonsense, scan, view};
use crate::apply::Outcome;
use crate::host::Host;
use crate::scan::Scan;

/// The promises of one command on some disks.
pub(super) struct Judge<'a> {
    pub(super) host: &'a Host,
    command: Command,
    /// Whether another command was killed before it.
    after_kill: bool,
    pub(super) old: View,
    pub(super) new: View,
    /// What the next command makes of the disks as they were, and as they are to be.
    settled: [Result<Settled, String>; 2],
    /// Every version of a group that the command writes, and those that were there.
    pub(super) versions: Vec<GroupView>,
    /// What the next command made of states that it could not tell apart.
    known: RefCell<HashMap<Vec<u8>, Result<(), String>>>,
}

/// What was found after a cut, in words of `docs/format.md`.
pub(super) type Verdict = Result<&'static str, String>;

/// Between two commits, with a mark in the text.
const HALF_DONE: &str = "half done";
/// Which areas are ignored is said by their own headers alone.
const IN_USE: &str = "new, with an area that is used still";
/// What is left of a group that is split keeps its text where it kept none so far.
const MORE_IN_USE: &str = "old, with an area that is used already";

impl<'a> Judge<'a> {
    /// Of a case whose disks held `before`, and hold `after` if nothing goes wrong.
    pub(super) fn new(
        host: &'a Host,
        case: &Case,
        before: &[Image],
        after: &[Image],
        versions: Vec<GroupView>,
    ) -> Self {
        Self {
            after_kill: case.killed.is_some(),
            ..Self::of_command(host, case.command, [before, after], versions)
        }
    }

    /// Of a command that finds what the first disks hold, and leaves the others.
    pub(super) fn of_command(
        host: &'a Host,
        command: Command,
        [before, after]: [&[Image]; 2],
        versions: Vec<GroupView>,
    ) -> Self {
        let settled = |images: &[Image]| settle(host, command, images);
        Self {
            host,
            command,
            after_kill: false,
            old: view(&scan(host, before)),
            new: view(&scan(host, after)),
            settled: [settled(before), settled(after)],
            versions,
            known: RefCell::default(),
        }
    }

    /// Judges what a cut left.
    pub(super) fn judge(&self, state: &State) -> Verdict {
        self.judge_disks(&state.images, state.marks > 0)
    }

    /// Judges disks, where the command may have reported success.
    pub(super) fn judge_disks(&self, images: &[Image], is_promised: bool) -> Verdict {
        let found = scan(self.host, images);
        let seen = view(&found);
        if is_promised && seen != self.new {
            return Err("the command had succeeded, and its change is gone".to_owned());
        }
        if let Some(wrong) =
            nonsense(&found).or_else(|| damage(&found, images, self.command.gives_up()))
        {
            return Err(wrong);
        }
        let verdict = match self.name(&seen) {
            // The killed command is one more version on the way.
            Err(_) if self.is_older(&seen) => return Ok("killed before"),
            other => other?,
        };
        // A command reads labels, headers of areas, and the texts to which they point, whose
        // checksums are in the headers: where these are the same, it does the same.
        let key = heads(&found, images);
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone().map(|()| verdict);
        }
        let result = self.go_on(verdict, images);
        self.known.borrow_mut().insert(key, result.clone());
        result.map(|()| verdict)
    }

    /// How many states could be told apart by the next command.
    pub(super) fn distinct(&self) -> u64 {
        self.known.borrow().len() as u64
    }

    /// Names what was found, if it is one of the states that may be.
    pub(super) fn name(&self, seen: &View) -> Verdict {
        if seen.is_alike(&self.old) {
            return Ok("old");
        }
        if seen.is_alike(&self.new) {
            let is_done = seen.uses == self.new.uses || !self.command.sets_areas_aside();
            return Ok(if is_done { "new" } else { IN_USE });
        }
        let unknown = seen
            .groups
            .iter()
            .find(|group| !self.versions.contains(group));
        if let Some(group) = unknown {
            return Err(format!(
                "group {} has a version {} that nobody wrote",
                group.name, group.seqno
            ));
        }
        let (has_old, has_new) = (
            seen.groups == self.old.groups,
            seen.groups == self.new.groups,
        );
        match self.command {
            Command::PvCreate(..) if has_old => Ok("without the old physical volume"),
            Command::PvRepair(_) if has_old => Ok("without the old label"),
            Command::VgReduce(..)
            | Command::VgReduceMissing(..)
            | Command::VgCfgRestore(..)
            | Command::VgCkUpdate(..)
            | Command::Undo(..)
                if has_new =>
            {
                Ok("new, with an outdated physical volume")
            }
            // Its use flag goes first.
            Command::VgCkUpdate(..) | Command::VgRemove(..) if has_old => {
                Ok("old, with an outdated physical volume")
            }
            _ if seen.groups.iter().any(GroupView::is_unfinished) => Ok(HALF_DONE),
            Command::VgSplit(..) if seen.has_same_contents(&self.old) => Ok(MORE_IN_USE),
            _ => Err(format!("neither old nor new: {seen:?}")
                .chars()
                .take(300)
                .collect()),
        }
    }

    /// Whether every group is a version that somebody wrote before the command.
    fn is_older(&self, seen: &View) -> bool {
        let mut groups = seen.groups.iter();
        let are_known = groups.all(|group| self.versions.contains(group));
        self.after_kill && are_known && !seen.groups.is_empty()
    }

    /// The next command works, and makes of the disks what it makes of those before or after.
    fn go_on(&self, verdict: &str, images: &[Image]) -> Result<(), String> {
        let settled = settle(self.host, self.command, images)?;
        let wanted: Vec<&Settled> = match verdict {
            "old" => self.settled[..1].iter().flatten().collect(),
            "new" => self.settled[1..].iter().flatten().collect(),
            IN_USE | MORE_IN_USE => {
                let is_same = |wanted: &&Settled| wanted.has_same_groups(&settled);
                let then = usize::from(verdict == IN_USE);
                let same = self.settled[then].iter().find(is_same);
                return same.map(|_| ()).ok_or("other groups".to_owned());
            }
            // The command was run again, with other UUIDs.
            "without the old physical volume" => return Ok(()),
            // There is no way back from the first commit.
            HALF_DONE => self.settled[1..].iter().flatten().collect(),
            _ => self.settled.iter().flatten().collect(),
        };
        if let Some(same) = wanted.iter().find(|wanted| wanted.is_same(&settled)) {
            return match &settled.complaint {
                Some(left) if settled.complaint != same.complaint => {
                    Err(format!("the next command leaves: {left}"))
                }
                _ => Ok(()),
            };
        }
        let differences: Vec<String> = wanted.iter().map(|w| w.difference(&settled)).collect();
        Err(format!(
            "the next command makes something else of it than of {verdict}: {}",
            differences.join("; ")
        ))
    }
}

/// All that a command reads of disks, but for texts.
fn heads(found: &Scan, images: &[Image]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for image in images {
        bytes.extend(image.bytes(Range::new(0, LABEL_SCAN_SIZE as u64)));
    }
    for pv in &found.physical_volumes {
        for area in &pv.areas {
            let header = Range::new(area.span.offset.0, AREA_HEADER_SIZE as u64);
            bytes.extend(images[pv.device.0].bytes(header));
        }
    }
    bytes
}

/// The versions that a command writes.
pub(super) fn written(outcome: &Outcome) -> Vec<GroupView> {
    let groups = outcome.planned.change.groups.iter();
    let commits = groups.filter_map(|group| match group {
        GroupChange::Commit(vg) => Some(vg),
        GroupChange::Erase(_) => None,
    });
    commits
        .map(|vg| GroupView {
            name: vg.name.clone(),
            uuid: vg.uuid,
            seqno: vg.seqno,
            text: to_text(vg, Style::Raw),
        })
        .collect()
}

/// How often each verdict was given.
pub(super) type Counts = BTreeMap<&'static str, u64>;

/// Devices, for those who want to run something on them.
pub(super) type Devices = Vec<Arc<dyn Device>>;
