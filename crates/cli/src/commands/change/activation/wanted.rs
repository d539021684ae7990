//! Which volumes of a group a command means, and which of them cannot be active.

use std::collections::BTreeSet;

use ashlar::activate::MissingPolicy;
use ashlar::host::{Config, VolumeList};
use ashlar::log;
use ashlar::scan::{FoundVg, Restriction, foreign};
use lvm2::Uuid;
use lvm2::model::{
    LogicalVolume, LvFlag, LvId, Relations, SegmentType, SnapshotState, VgFlag, VolumeGroup,
};
use lvm2::plan::group::losses;

use super::Activation;
use crate::args::{Arguments, Error};
use crate::commands::change::volumes::IGNORE_SKIP;
use crate::commands::open::Opener;

/// What is meant by the words of a command.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands::change) enum Meant<'a> {
    /// A group, that is, its volumes.
    Group,
    /// These volumes.
    Volumes(&'a [Uuid]),
}

impl Meant<'_> {
    fn has(&self, volume: &LogicalVolume) -> bool {
        match self {
            Self::Group => true,
            Self::Volumes(uuids) => uuids.contains(&volume.uuid),
        }
    }
}

/// What is done to volumes, in stock's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// `-ay`
    Activation,
    /// `--refresh`
    Refresh,
}

/// The volumes that are to be active, and why others that were meant are not.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) volumes: Vec<LvId>,
    pub(super) refusals: Vec<String>,
}

/// Fails where stock would activate, deactivate or refresh nothing of a group: one that is
/// exported, another host's, or of a cluster.
pub(in crate::commands::change) fn require_usable(group: &FoundVg) -> Result<(), Error> {
    let name = &group.name;
    for restriction in &group.restrictions {
        let why = match restriction {
            Restriction::Exported => format!("Volume group {name} is exported"),
            Restriction::Foreign { system_id, own } => {
                format!("{}.", foreign(name, system_id, own.as_deref()))
            }
            Restriction::Shared { lock_type } => format!(
                "Cannot access VG {name} with lock type {lock_type} that requires lvmlockd."
            ),
            Restriction::Clustered => format!(
                "Cannot access clustered VG {name}.\nSee lvmlockd(8) for changing a clvm/clustered \
                 VG to a shared VG."
            ),
            _ => continue,
        };
        return Err(Error::failed(why));
    }
    Ok(())
}

/// The visible volumes of a group that are meant.
pub(super) fn meant(vg: &VolumeGroup, meant: Meant<'_>) -> Vec<LvId> {
    let relations = Relations::of(vg);
    let all = vg
        .lvs()
        .filter(|(id, volume)| relations.is_visible(vg, *id) && meant.has(volume));
    all.map(|(id, _)| id).collect()
}

/// Which of the volumes that are meant are to be active, with those that are active together with
/// them: an origin and its snapshots.
pub(super) fn wanted(
    group: &FoundVg,
    by: Meant<'_>,
    activation: Activation,
    arguments: &Arguments,
    config: &Config,
) -> Result<Wanted, Error> {
    let vg = &group.model;
    let chosen = meant(vg, by).into_iter();
    let chosen = chosen.filter(|id| is_chosen(vg, vg.lv(*id), activation, arguments, config));
    let together = with_snapshots(vg, chosen.collect());
    let refused = refusals(group, &together, Act::Activation, arguments)?;
    let is_refused = |id: &LvId| refused.iter().any(|(refused, _)| refused == id);
    Ok(Wanted {
        volumes: together.into_iter().filter(|id| !is_refused(id)).collect(),
        refusals: refused.into_iter().map(|(_, why)| why).collect(),
    })
}

/// Whether the volume itself, its group and the configuration let it be active.
pub(super) fn is_chosen(
    vg: &VolumeGroup,
    volume: &LogicalVolume,
    activation: Activation,
    arguments: &Arguments,
    config: &Config,
) -> bool {
    if volume.flags.has(LvFlag::ActivationSkip) && !arguments.has(&IGNORE_SKIP) {
        return false;
    }
    let name = || format!("{}/{}", vg.name, volume.name());
    let fits = |path: &str| {
        let list = VolumeList::of(config, path);
        list.is_none_or(|list| list.has(vg, volume))
    };
    if activation == Activation::Auto {
        let list = "activation/auto_activation_volume_list";
        let is_left =
            volume.flags.has(LvFlag::NoAutoactivate) || vg.flags.has(VgFlag::NoAutoactivate);
        if is_left || !fits(list) {
            log::verbose(|| format!("Not auto-activating {}.", name()));
            return false;
        }
    }
    let is_listed = fits("activation/volume_list");
    if !is_listed {
        let what = "since it does not pass activation filter.";
        log::verbose(|| format!("Not activating {} {what}", name()));
    }
    is_listed
}

/// These volumes and those that are active together with them. Of a snapshot that is being merged
/// its origin has what is left to be known.
pub(super) fn with_snapshots(vg: &VolumeGroup, volumes: Vec<LvId>) -> Vec<LvId> {
    let relations = Relations::of(vg);
    let mut all: Vec<LvId> = Vec::new();
    for lv in volumes {
        let snapshot = relations.snapshot_of_cow(vg, lv);
        let origin = snapshot.map_or(lv, |snapshot| snapshot.origin);
        let snapshots = relations.snapshots(vg, origin);
        let snapshots = snapshots.filter(|one| one.state != SnapshotState::Merging);
        let snapshots = snapshots.map(|snapshot| snapshot.cow);
        for lv in std::iter::once(origin).chain(snapshots) {
            if !all.contains(&lv) {
                all.push(lv);
            }
        }
    }
    all
}

/// Why volumes could not be active: what they need is missing and nothing makes up for it, or they
/// are of a type that nobody here knows.
pub(super) fn refusals(
    group: &FoundVg,
    wanted: &[LvId],
    act: Act,
    arguments: &Arguments,
) -> Result<Vec<(LvId, String)>, Error> {
    let act = match act {
        Act::Activation => "activation",
        Act::Refresh => "refresh",
    };
    let (vg, name) = (&group.model, &group.name);
    let lost = lost(group, arguments)?;
    let refusals = wanted.iter().filter_map(|id| {
        let lv = vg.lv(*id);
        let volume = format!("{name}/{}", lv.name());
        let why = if is_unknown(lv) {
            format!("Refusing {act} of LV {volume} containing an unrecognised segment.")
        } else if lost.contains(lv.name()) {
            format!(
                "Refusing {act} of partial LV {volume}.  Use '--activationmode partial' to \
                 override."
            )
        } else {
            return None;
        };
        Some((*id, why))
    });
    Ok(refusals.collect())
}

fn is_unknown(lv: &LogicalVolume) -> bool {
    let mut kinds = lv.segments.iter().map(|segment| &segment.kind);
    kinds.any(|kind| matches!(kind, SegmentType::Unknown(_)))
}

/// The volumes for which something is missing that nothing makes up for, unless that is allowed.
fn lost(group: &FoundVg, arguments: &Arguments) -> Result<BTreeSet<String>, Error> {
    let policy = Opener::options(arguments, dm::volume::Access::ReadWrite)?.missing;
    if policy == MissingPolicy::Partial {
        return Ok(BTreeSet::new());
    }
    let missing = group.members.iter();
    let missing = missing.filter(|member| member.presence.usable().is_none());
    let gone = missing.map(|member| member.id).collect();
    Ok(losses(&group.model, &gone).lost.into_iter().collect())
}
