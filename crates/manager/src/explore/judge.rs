//! What may be found after a cut.

use std::collections::BTreeMap;
use std::sync::Arc;

use block::Device;
use block::sim::{Image, State};
use lvm::model::{VgFlag, to_text};
use lvm::plan::GroupChange;
use lvm::text::Style;

use super::commands::Command;
use super::view::{GroupView, View, complaints, damage, devices, nonsense, scan, view};
use crate::apply::Outcome;
use crate::commit::Discipline;
use crate::host::Host;
use crate::scan::{Scan, scan_devices};

/// The promises of one command on some disks.
pub(super) struct Judge<'a> {
    pub(super) host: &'a Host,
    pub(super) command: Command,
    pub(super) old: View,
    pub(super) new: View,
    /// Every version of a group that the command writes, and those that were there.
    pub(super) versions: Vec<GroupView>,
}

/// What was found after a cut, in words of `docs/format.md`.
pub(super) type Verdict = Result<&'static str, String>;

impl Judge<'_> {
    /// Judges what a cut left.
    pub(super) fn judge(&self, state: &State) -> Verdict {
        let found = scan(self.host, &state.images);
        let seen = view(&found);
        if state.marks > 0 && seen != self.new {
            return Err("the command had succeeded, and its change is gone".to_owned());
        }
        if let Some(wrong) = nonsense(&found).or_else(|| damage(&found, &state.images)) {
            return Err(wrong);
        }
        let verdict = self.name(&seen)?;
        self.go_on(&state.images)?;
        Ok(verdict)
    }

    /// Names what was found, if it is one of the states that may be.
    pub(super) fn name(&self, seen: &View) -> Verdict {
        if seen.is_alike(&self.old) {
            return Ok("old");
        }
        if seen.is_alike(&self.new) {
            return Ok("new");
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
            Command::VgReduce(..) if has_new => Ok("new, with an outdated physical volume"),
            Command::VgSplit(..) => Ok("half split"),
            Command::VgMerge(..) => Ok("half merged"),
            _ => Err(format!("neither old nor new: {seen:?}")
                .chars()
                .take(300)
                .collect()),
        }
    }

    /// The next command works on every group, and leaves nothing to complain of.
    fn go_on(&self, images: &[Image]) -> Result<(), String> {
        let devices = devices(images);
        let before = scan(self.host, images);
        let is_half = before.groups.len() > 1
            && matches!(self.command, Command::VgSplit(..) | Command::VgMerge(..));
        for group in &before.groups {
            let Some(name) = ["vg0", "vg1"].into_iter().find(|name| *name == group.name) else {
                continue;
            };
            if group.model.flags.has(VgFlag::Exported) {
                continue;
            }
            let result = Command::VgTag(name).run(self.host, &devices, Discipline::Strict, 900_000);
            if let (Err(error), false) = (result, is_half) {
                return Err(format!("the next command fails: {error}"));
            }
        }
        let after = scan_devices(self.host, &super::commands::named(&devices));
        let is_left = before.groups.is_empty() || is_half;
        match complaints(&after).first() {
            Some(finding) if !is_left && !is_exported(&before) => {
                Err(format!("the next command leaves: {finding}"))
            }
            _ => Ok(()),
        }
    }
}

fn is_exported(scan: &Scan) -> bool {
    let mut groups = scan.groups.iter();
    groups.any(|group| group.model.flags.has(VgFlag::Exported))
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
