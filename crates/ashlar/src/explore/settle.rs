//! The next command: what people would do after a power cut, on whatever it left.
//!
//! Each group gets a tag; one that is exported is taken in; one that misses a disk loses it for
//! good; what is outdated is cleared; a device that lost its label gets a new one. Then the disks
//! must be as if nothing had happened before it, and nothing may have been touched but metadata.

use std::sync::Arc;

use block::sim::{Image, SimDevice};
use block::{Device, Range};
use lvm2::Uuid;
use lvm2::model::VgFlag;
use lvm2::ondisk::{AreaUse, PvUse};
use lvm2::plan::group::GroupAttribute;
use lvm2::plan::unfinished::is_unfinished;

use super::command::{Command, named};
use super::view::{DATA, complaints, contents_of, damage, nonsense, view};
use crate::commit::FlushPolicy;
use crate::host::Host;
use crate::scan::{FoundVg, Restriction, Scan, scan_devices};

/// What a text says but for when and how often it was written.
type Text = Vec<u8>;

/// Disks after the next command.
#[derive(Debug, Clone)]
pub(super) struct Settled {
    groups: Vec<(String, Uuid, Text)>,
    free: Vec<Uuid>,
    uses: Vec<(Uuid, PvUse, Vec<AreaUse>)>,
    /// What people would still be warned of.
    pub(super) complaint: Option<String>,
    pub(super) images: Vec<Image>,
}

impl Settled {
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.has_same_groups(other) && self.uses == other.uses
    }

    /// The same, whatever areas are used.
    pub(super) fn has_same_groups(&self, other: &Self) -> bool {
        self.groups == other.groups && self.free == other.free
    }

    /// The first thing in which the other one differs.
    pub(super) fn difference(&self, other: &Self) -> String {
        for (is, was) in other.groups.iter().zip(&self.groups) {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (is_text, was_text) = (text(&is.2), text(&was.2));
            let mut lines = is_text.lines().zip(was_text.lines());
            if let Some((is, was)) = lines.find(|(is, was)| is != was) {
                return format!("'{}' instead of '{}'", is.trim(), was.trim());
            }
        }
        if self.uses != other.uses {
            return format!("{:?} instead of {:?}", other.uses, self.uses);
        }
        let names = |groups: &[(String, Uuid, Text)]| -> Vec<String> {
            groups.iter().map(|group| group.0.clone()).collect()
        };
        let (is, was) = (names(&other.groups), names(&self.groups));
        format!(
            "groups {is:?} instead of {was:?}, free {:?} instead of {:?}",
            other.free, self.free
        )
    }
}

/// Runs the next command on what `cut_off` left.
pub(super) fn settle(host: &Host, cut_off: Command, images: &[Image]) -> Result<Settled, String> {
    let disks = images.iter();
    let disks: Vec<SimDevice> = disks
        .map(|image| SimDevice::of_image("disk", image.clone()))
        .collect();
    let devices: Vec<Arc<dyn Device>> = disks
        .iter()
        .map(|disk| Arc::new(disk.clone()) as _)
        .collect();
    let look = || scan_devices(host, &named(&devices));
    let mut next = 900_000;
    let mut run = |command: Command| {
        next += 1000;
        let result = command.run(host, &devices, FlushPolicy::Strict, next);
        result.map_err(|error| format!("the next command {} fails: {error}", command.word()))
    };
    let mut found = look();
    if let Command::PvCreate(disk, _) = cut_off
        && found.physical_volumes.iter().all(|pv| pv.device.0 != disk)
    {
        run(cut_off)?;
    }
    if let Command::PvRepair(disk) = cut_off
        && found.physical_volumes.iter().all(|pv| pv.device.0 != disk)
    {
        run(cut_off)?;
        found = look();
    }
    for name in ["vg0", "vg1"] {
        let Ok(group) = found.find_group(name) else {
            continue;
        };
        for command in commands(name, group, &found) {
            let result = run(command);
            // All of it may have gone to another group, which is what the message says.
            let is_gone = || look().find_group(name).is_err();
            result
                .map(|_| ())
                .or_else(|what| if is_gone() { Ok(()) } else { Err(what) })?;
        }
        found = look();
    }
    let after: Vec<Image> = disks
        .iter()
        .map(|disk| disk.disk().content().clone())
        .collect();
    let touched = images.iter().zip(&after).position(|(was, is)| {
        let data = Range::new(DATA.start, DATA.end - DATA.start);
        !was.is_same_in(is, data)
    });
    if let Some(disk) = touched {
        return Err(format!(
            "the next command writes to the data of disk {disk}"
        ));
    }
    if let Some(wrong) = nonsense(&found).or_else(|| damage(&found, &after, cut_off.gives_up())) {
        return Err(format!("after the next command: {wrong}"));
    }
    Ok(settled(&found, after))
}

/// What people would run on a group.
fn commands(name: &'static str, group: &FoundVg, found: &Scan) -> Vec<Command> {
    use lvm2::plan::group::PartialVolumes;
    let mut commands = Vec::new();
    if group.restrictions.contains(&Restriction::Partial) {
        commands.push(Command::VgReduceMissing(name, PartialVolumes::Remove));
    }
    // The next command ends it, whichever it is.
    if found.groups.iter().any(|group| is_unfinished(&group.model)) {
        return vec![Command::VgChange(name, GroupAttribute::AddTag("next"))];
    }
    if group.model.flags.has(VgFlag::Exported) {
        commands.push(Command::VgImport(name));
    }
    commands.push(Command::VgChange(name, GroupAttribute::AddTag("next")));
    let mut pvs = found.physical_volumes.iter();
    if pvs.any(|pv| pv.outdated == Some(group.uuid)) {
        commands.push(Command::VgCkUpdate(name));
    }
    commands
}

fn settled(found: &Scan, images: Vec<Image>) -> Settled {
    let groups = found.groups.iter().map(|group| {
        let text = contents_of(&group.model);
        (group.name.clone(), group.uuid, text)
    });
    let seen = view(found);
    Settled {
        groups: groups.collect(),
        free: seen.free,
        uses: seen.uses,
        complaint: complaints(found).first().map(ToString::to_string),
        images,
    }
}
