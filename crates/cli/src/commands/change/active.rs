//! `-a`, where nothing is activated by a command: which volumes are active is up to those that
//! serve them, and scripts are told so, as are people which commands those are.

use std::collections::BTreeSet;

use ashlar::live::{Client, SURVEY_MAX, survey};
use ashlar::scan::{FoundVg, Restriction};
use lvm2::model::{LogicalVolume, Relations, SegmentType};
use lvm2::plan::group::losses;

use super::arguments::{Choice, invalid};
use super::work::{Work, failed};
use crate::args::{Arguments, Error, Flag, flags};
use crate::commands::open::ACTIVATION_MODE;

/// So many volumes are named that are not active; a group can have thousands.
const NAMED_MAX: usize = 8;

/// `-a`, in all its forms.
pub(super) fn active(arguments: &Arguments, flag: &Flag) -> Result<Option<Choice>, Error> {
    match arguments.value(flag) {
        None => Ok(None),
        Some("y" | "ay" | "ey" | "ly" | "sy" | "e" | "l" | "s") => Ok(Some(Choice::Yes)),
        Some("n" | "en" | "ln" | "an") => Ok(Some(Choice::No)),
        Some(other) => Err(invalid(flag, other)),
    }
}

/// Fails where stock would activate, deactivate or refresh nothing of a group: one that is
/// exported, or another host's.
pub(super) fn require_usable(group: &FoundVg) -> Result<(), Error> {
    let name = &group.name;
    for restriction in &group.restrictions {
        let why = match restriction {
            Restriction::Exported => format!("Volume group {name} is exported"),
            Restriction::Foreign { system_id } => format!(
                "Cannot access VG {name} with system ID {system_id}: it belongs to that host"
            ),
            Restriction::Shared { lock_type } => format!(
                "Cannot access VG {name} with lock type {lock_type} that requires lvmlockd."
            ),
            _ => continue,
        };
        return Err(Error::failed(why));
    }
    Ok(())
}

/// What is done to volumes, in stock's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// `-ay`
    Activation,
    /// `--refresh`
    Refresh,
}

/// Why volumes of a group could not be active: what they need is missing and nothing makes up for
/// it, or they are of a type that nobody here knows. Only those of `wanted` count.
pub(super) fn refusals(
    group: &FoundVg,
    wanted: impl Fn(&str) -> bool,
    act: Act,
    arguments: &Arguments,
) -> Vec<String> {
    let act = match act {
        Act::Activation => "activation",
        Act::Refresh => "refresh",
    };
    let vg = &group.model;
    let mut refusals = Vec::new();
    let is_unknown = |lv: &LogicalVolume| {
        let mut kinds = lv.segments.iter().map(|segment| &segment.kind);
        kinds.any(|kind| matches!(kind, SegmentType::Unknown(_)))
    };
    for (_, lv) in vg
        .lvs()
        .filter(|(_, lv)| wanted(lv.name()) && is_unknown(lv))
    {
        refusals.push(format!(
            "Refusing {act} of LV {}/{} containing an unrecognised segment.",
            group.name,
            lv.name()
        ));
    }
    let is_partial_allowed =
        arguments.has(&flags::PARTIAL) || arguments.value(&ACTIVATION_MODE) == Some("partial");
    if !is_partial_allowed {
        let missing = group.members.iter();
        let missing = missing.filter(|member| member.presence.usable().is_none());
        let gone = missing.map(|member| member.id).collect();
        for name in losses(vg, &gone).lost.iter().filter(|name| wanted(name)) {
            refusals.push(format!(
                "Refusing {act} of partial LV {}/{name}.  Use '--activationmode partial' to \
                 override.",
                group.name
            ));
        }
    }
    refusals
}

/// The volumes of a group that are served, and by whom.
pub(super) struct Served {
    /// The process.
    pub(super) pid: u32,
    /// The volumes' names: `vg0/data`.
    pub(super) volumes: Vec<String>,
}

/// The names of the volumes that this process, which owns the group, serves.
fn served_here(group: &FoundVg, work: &Work<'_>) -> Vec<String> {
    let uuids = work.served();
    let volumes = group.model.lvs().map(|(_, volume)| volume);
    let volumes = volumes.filter(|volume| uuids.contains(&volume.uuid));
    let names = volumes.map(|volume| format!("{}/{}", group.name, volume.name()));
    names.collect()
}

/// Asks the owner of a group, if it has one.
pub(super) fn served(group: &FoundVg, work: &Work<'_>) -> Result<Served, Error> {
    if work.is_owner_of(group.uuid) {
        return Ok(Served {
            pid: std::process::id(),
            volumes: served_here(group, work),
        });
    }
    let mut served = Served {
        pid: 0,
        volumes: Vec::new(),
    };
    let client = Client::find(group.uuid).map_err(|error| failed(&error))?;
    let Some(mut client) = client else {
        return Ok(served);
    };
    if let Some(volumes) = client.status().map_err(|error| failed(&error))? {
        served.pid = client.pid();
        served.volumes = volumes.into_iter().map(|volume| volume.name).collect();
    }
    Ok(served)
}

/// The names of the served volumes, for who is only told something by them: an owner that does not
/// answer soon is no reason to wait or to fail, and `None` is returned.
pub(super) fn served_if_told(group: &FoundVg, work: &Work<'_>) -> Option<Vec<String>> {
    if work.is_owner_of(group.uuid) {
        return Some(served_here(group, work));
    }
    let mut names = Vec::new();
    for owner in survey(Some(&[group.uuid]), SURVEY_MAX) {
        names.extend(owner.volumes.ok()?.into_iter().map(|volume| volume.name));
    }
    Some(names)
}

/// Names among the `wanted` visible volumes those that are not `active`, and what makes them so.
pub(super) fn point_to_attach(
    found: &FoundVg,
    wanted: impl Fn(&str) -> bool,
    active: &[String],
    work: &mut Work<'_>,
) {
    let active: BTreeSet<&String> = active.iter().collect();
    let (vg, group) = (&found.model, &found.name);
    let relations = Relations::of(vg);
    let idle = vg.lvs().filter(|(id, lv)| {
        let name = format!("{group}/{}", lv.name());
        relations.is_visible(vg, *id) && wanted(lv.name()) && !active.contains(&name)
    });
    let idle: Vec<&str> = idle.map(|(_, lv)| lv.name()).collect();
    let hint = match idle[..] {
        [] => return,
        [one] => format!(
            "{group}/{one} is not active: `ashlar attach {group}/{one}' makes a device of it, \
             `ashlar serve {group}/{one}' serves it over NBD."
        ),
        [first, ..] => {
            let named = &idle[..idle.len().min(NAMED_MAX)];
            let more = if named.len() < idle.len() {
                ", ..."
            } else {
                ""
            };
            format!(
                "{} volumes of {group} are not active ({}{more}): `ashlar attach {group}/{first}' \
                 makes a device of one, `ashlar serve {group}' serves all over NBD.",
                idle.len(),
                named.join(", ")
            )
        }
    };
    work.warn(&hint);
}

/// Why a volume is not made inactive.
pub(super) fn in_use(served: &Served, volume: &str) -> String {
    let group = volume.split('/').next().unwrap_or_default();
    format!(
        "Logical volume {volume} in use: process {} serves it; `ashlar stop {group}' ends that",
        served.pid
    )
}
