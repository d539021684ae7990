//! What a snapshot takes, how much of its origin it can keep, and what that costs.
//!
//! The first write to a chunk of an origin reads the chunk, writes it to the store, and then the
//! entry that says where it is; all that for each of its snapshots. A store that has room for a
//! part of its origin only is lost when more than that has changed.

use ashlar::scan::Scan;
use lvm2::Sectors;
use lvm2::model::{LvId, Relations, Snapshot, SnapshotState, VolumeGroup};
use lvm2::plan::size::store_capacity;
use lvm2::plan::{Change, GroupChange, display_size};
use serde::{Serialize, Serializer};

/// The store of a snapshot that is made, or gets another size.
#[derive(Serialize)]
pub(super) struct Keeping {
    #[serde(rename = "vg_name")]
    group: String,
    #[serde(rename = "lv_name")]
    name: String,
    origin: String,
    #[serde(rename = "bytes", serialize_with = "in_bytes")]
    size: Sectors,
    #[serde(rename = "chunk_bytes", serialize_with = "in_bytes")]
    chunk: Sectors,
    /// How many chunks of the origin it has room for.
    chunks: u64,
    /// The same, as a share of the origin.
    percent: u64,
    /// The snapshots of the origin, this one too.
    snapshots: usize,
}

/// The stores that `change` makes, or gives another size.
pub(super) fn keeping(scan: &Scan, change: &Change) -> Vec<Keeping> {
    let mut found: Vec<Keeping> = Vec::new();
    for group in &change.groups {
        let GroupChange::Commit(vg) = group else {
            continue;
        };
        // Of several versions the last one stays.
        found.retain(|one| one.group != vg.name);
        let old = scan.group(vg.uuid).map(|found| &*found.model);
        let relations = Relations::of(vg);
        for (id, lv) in vg.lvs() {
            let Some(snapshot) = relations.snapshot_of_cow(vg, id) else {
                continue;
            };
            let was = old.and_then(|old| {
                let id = old.lv_by_uuid(&lv.uuid)?;
                Relations::of(old).snapshot_of_cow(old, id)?;
                Some(old.lv(id).extents())
            });
            if snapshot.state == SnapshotState::Apart && was != Some(lv.extents()) {
                found.push(Keeping::of(vg, &relations, id, snapshot));
            }
        }
    }
    found
}

impl Keeping {
    fn of(vg: &VolumeGroup, relations: &Relations, store: LvId, snapshot: &Snapshot) -> Self {
        let sectors = |lv: LvId| vg.lv(lv).size(vg.extent_size).unwrap_or_default();
        let (size, chunk) = (sectors(store), snapshot.chunk_size);
        let all = sectors(snapshot.origin).0.div_ceil(chunk.0).max(1);
        let chunks = store_capacity(size, chunk).min(all);
        Self {
            group: vg.name.clone(),
            name: vg.lv(store).name().to_owned(),
            origin: vg.lv(snapshot.origin).name().to_owned(),
            size,
            chunk,
            chunks,
            percent: u64::try_from(u128::from(chunks) * 100 / u128::from(all)).unwrap_or(100),
            snapshots: relations.snapshots(vg, snapshot.origin).count(),
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let (group, name, origin) = (&self.group, &self.name, &self.origin);
        let each = match self.snapshots {
            1 => String::new(),
            count => format!(", for each of its {count} snapshots"),
        };
        format!(
            "{group}/{name} takes {} and holds {}% of {group}/{origin}; the first write to each {} \
             of {group}/{origin} costs a read, a write of the chunk and a write of its entry \
             more{each}",
            display_size(self.size),
            self.percent,
            display_size(self.chunk),
        )
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn in_bytes<S: Serializer>(sectors: &Sectors, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(sectors.to_bytes().unwrap_or_default().0)
}
