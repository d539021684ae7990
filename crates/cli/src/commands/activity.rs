//! Which volumes are active, for reports: their owners are asked, and attachments looked up.
//!
//! Once for a report, for all its groups together, and for a second at most: an owner that does not
//! answer is told of, and makes its group's volumes "unknown". Where nobody serves or attaches
//! anything, two directories are looked for, and that is all. Snapshots that will be lost soon are
//! told of: nobody reads an owner's log in time.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ashlar::live::{SURVEY_MAX, Surveyed, survey};
use lvm2::Uuid;
use lvm2::model::{LvId, SnapshotState};
use lvm2::plan::logical::holds_all;

use crate::attachment::{Attachment, Record, Runtime, State, names, places_in_use};
use crate::output::{Active, Group, Live, Place, View};

/// Finds out which volumes of the view are active. Gives what people should be told.
pub(super) fn look(view: &mut View) -> Vec<String> {
    let groups: Vec<Uuid> = view.groups.iter().map(|group| group.vg.uuid).collect();
    let owners = survey(Some(&groups), SURVEY_MAX);
    let attached = served();
    // Where nothing is attached nobody is looked at.
    let used = if attached.is_empty() {
        HashSet::new()
    } else {
        places_in_use(&attached)
    };
    let mut warnings = Vec::new();
    for group in &mut view.groups {
        let is_alone = groups.iter().filter(|uuid| **uuid == group.vg.uuid).count() == 1;
        let mine = |owner: &&Surveyed| {
            // Of clones, the one by that name.
            owner.group == group.vg.uuid && (is_alone || owner.name == group.vg.name)
        };
        let owner = owners.iter().find(mine);
        if let Some(Err(error)) = owner.map(|owner| &owner.volumes) {
            let who = owner.map(Surveyed::who).unwrap_or_default();
            warnings.push(format!(
                "WARNING: Which volumes of {} are active is unknown: {who} did not say within {} \
                 s: {error}",
                group.vg.name,
                SURVEY_MAX.as_secs()
            ));
        }
        group.live = live(group, owner, (&attached, &used));
        warnings.extend(filling(group, owner));
    }
    warnings
}

/// Which snapshots will be lost soon, as their owner sees it, if nobody does something.
fn filling(group: &Group, owner: Option<&Surveyed>) -> Vec<String> {
    let vg = &group.vg;
    let volumes = owner.and_then(|owner| owner.volumes.as_ref().ok());
    let all = volumes.into_iter().flatten().flat_map(|one| &one.snapshots);
    let mut stores: Vec<_> = all.filter(|store| store.is_nearly_full()).collect();
    stores.sort_by_key(|store| store.lv);
    stores.dedup_by_key(|store| store.lv);
    let warned = stores.into_iter().filter_map(|store| {
        let lv = vg.lv_by_uuid(&store.lv)?;
        let snapshot = group.relations.snapshot_of_cow(vg, lv)?;
        if snapshot.state == SnapshotState::Merging || holds_all(vg, lv) {
            return None;
        }
        let name = |lv: LvId| format!("{}/{}", vg.name, vg.lv(lv).name());
        Some(store.warning(&name(lv), &name(snapshot.origin)))
    });
    warned.collect()
}

/// What is attached now.
fn served() -> Vec<Record> {
    let all = Runtime::if_there().and_then(|runtime| runtime.attachments().ok());
    let served = all.unwrap_or_default().into_iter();
    let served = served.filter(|one: &Attachment| one.state == State::Served);
    served.map(|one| one.record).collect()
}

fn live(
    group: &Group,
    owner: Option<&Surveyed>,
    (attached, used): (&[Record], &HashSet<&Path>),
) -> Live {
    let vg = &group.vg;
    let mut places: HashMap<LvId, &Record> = attached
        .iter()
        .filter_map(|record| Some((record.find(vg)?, record)))
        .collect();
    let is_used = |record: &&Record| used.contains(record.place());
    let mut live = Live::default();
    let volumes = match owner.map(|owner| &owner.volumes) {
        Some(Err(_)) => return Live::Unknown,
        Some(Ok(volumes)) => &volumes[..],
        None => &[],
    };
    for said in volumes {
        let Some(lv) = said.find(vg) else {
            continue;
        };
        let record = places.remove(&lv);
        let active = Active {
            // Whoever has its place is one of its users.
            is_open: said.users > u64::from(record.is_some())
                || record.as_ref().is_some_and(is_used),
            place: record.map(place),
            ..Active::default()
        };
        live.add(vg, lv, active);
        live.note_states(vg, said);
    }
    // Who only reads needs no owner.
    for (lv, record) in places {
        let active = Active {
            is_open: is_used(&record),
            place: Some(place(record)),
            is_only_read: true,
            ..Active::default()
        };
        live.add(vg, lv, active);
    }
    live
}

fn place(record: &Record) -> Place {
    // What was made active is known by its names, as in stock; nodes may be others the next time.
    let named = |dir: &PathBuf| names::paths(dir, &record.volume);
    let place = || [record.place(), record.place()].map(Path::to_owned);
    let [path, mapped] = record.dir.as_ref().and_then(named).unwrap_or_else(place);
    // A file is not looked at: its server may be stuck.
    let number = record.node.as_deref().and_then(number);
    Place {
        path,
        mapped,
        number,
    }
}

fn number(node: &Path) -> Option<(u32, u32)> {
    let number = std::fs::metadata(node).ok()?.rdev();
    Some((rustix::fs::major(number), rustix::fs::minor(number)))
}
