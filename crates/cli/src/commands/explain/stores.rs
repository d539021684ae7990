//! How the stores of an origin's snapshots fill, as the process that serves the origin sees it.
//!
//! Nothing of this is on the disks: where nobody serves the origin there is nothing to say.

use ashlar::live::{SURVEY_MAX, SnapshotInUse, survey};
use ashlar::scan::FoundVg;
use lvm2::model::{LvId, Relations, SnapshotState};
use lvm2::plan::logical::holds_all;
use serde::Serialize;

/// The store of a snapshot that is at work.
pub(super) struct Store {
    name: String,
    said: SnapshotInUse,
    /// Whether it has room for all that its origin can ask it to keep.
    holds_all: bool,
}

/// The same, for programs; sizes in bytes, the rate in bytes a second, the time in seconds.
#[derive(Serialize)]
pub(super) struct OfStore<'a> {
    name: &'a str,
    bytes: u64,
    used: u64,
    invalid: bool,
    fill_rate: Option<u64>,
    time_to_full: Option<u64>,
}

/// The stores of the snapshots of a volume, as far as somebody serves them.
pub(super) fn stores(group: &FoundVg, origin: LvId) -> Vec<Store> {
    let (vg, relations) = (&group.model, Relations::of(&group.model));
    if !relations.is_origin(origin) {
        return Vec::new();
    }
    let owners = survey(Some(&[group.uuid]), SURVEY_MAX);
    let volumes = owners
        .iter()
        .filter_map(|owner| owner.volumes.as_ref().ok());
    let said: Vec<SnapshotInUse> = volumes
        .flatten()
        .flat_map(|volume| volume.snapshots.clone())
        .collect();
    let all = relations.snapshots(vg, origin);
    let all = all.filter(|snapshot| snapshot.state == SnapshotState::Apart);
    let found = all.filter_map(|snapshot| {
        let lv = vg.lv(snapshot.cow);
        let said = *said.iter().find(|said| said.lv == lv.uuid)?;
        Some(Store {
            name: format!("{}/{}", group.name, lv.name()),
            said,
            holds_all: holds_all(vg, snapshot.cow),
        })
    });
    found.collect()
}

impl Store {
    /// For people.
    pub(super) fn text(&self) -> String {
        let Self { name, said, .. } = self;
        if said.is_invalid {
            return format!("{name}: it was full, and holds nothing any more");
        }
        if self.holds_all {
            return format!("{name}: it has room for all of its origin");
        }
        format!("{name}: {}", said.filling())
    }

    /// For programs.
    pub(super) fn told(&self) -> OfStore<'_> {
        let time = self.said.time_to_full().filter(|_| !self.holds_all);
        OfStore {
            name: &self.name,
            bytes: self.said.size,
            used: self.said.used,
            invalid: self.said.is_invalid,
            fill_rate: self.said.fill_rate,
            time_to_full: time.map(|time| time.as_secs()),
        }
    }
}
