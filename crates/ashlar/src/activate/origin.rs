//! Origins and snapshots that are written, or whose owner may write them: one machine, with a face
//! for each.
//!
//! The legs of the machine are the origin's own bytes and the stores, which are read once, before
//! it starts; from then on it knows what they hold. Whoever opens the origin or one of the
//! snapshots later gets another face of the same machine. Its faces take writes; whether a volume
//! does is for its permission to say.
//!
//! Without a store nobody could keep what a write to the origin takes away, so where one is
//! missing or damaged neither the origin nor another snapshot of it is opened for writing. One that
//! is invalid needs nothing any more.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use block::{BlockingDevice, Device};
use dm::home::{Home, NoticeHandler};
use dm::snapshot::{Notice, Origin, OriginConfig, Overflow, SnapshotConfig, Stored, read_store};
use dm::table::{Layout, Piece};
use dm::volume::Access;
use lvm2::model::{LvId, Relations, Snapshot, SnapshotState};
use lvm2::plan::logical::holds_all;
use lvm2::{Bytes, Extents, Uuid};

use super::access::{decide_parts, together};
use super::layout::Builder;
use super::mirror::identity;
use super::nodes::{Change, Known, Names, Node, NodeId, NodeKind, Running, prepare};
use super::order::{Filled, MetadataUpdater};
use super::snapshot::overflowed;
use crate::scan::FoundVg;
use crate::{Error, Kind, Result};

/// How long an origin may take to start, or to say how it is.
const REPLY_MAX: Duration = Duration::from_mins(1);
/// People are told when a store is so full, in hundredths, that does not grow by itself: where LVM2
/// begins to warn.
const WARN_AT: u64 = 80;

impl Builder<'_> {
    /// What people see of an origin or a snapshot that is, or may be, written; `None`: `lv` is
    /// neither.
    pub(super) fn face(&mut self, lv: LvId) -> Result<Option<Arc<Layout>>> {
        let model = Arc::clone(&self.group.model);
        let relations = Relations::of(&model);
        let Some(origin) = together(&model, &relations, lv).first().copied() else {
            return Ok(None);
        };
        decide_parts(&model, &self.group.name, lv)?;
        let id = NodeId {
            lv: model.lv(origin).uuid,
            start: Extents(0),
            kind: NodeKind::Origin,
        };
        let node = match self.nodes.find(id) {
            Known::Ready(node) => node,
            known => {
                // Whoever opens it: another face of it may be written.
                let access = std::mem::replace(&mut self.access, Access::ReadWrite);
                let node = self.standing(|builder| builder.origin(origin, id, &known));
                self.access = access;
                node?
            }
        };
        let Running::Origin { stores, .. } = &node.machine else {
            unreachable!("it was asked for by its kind");
        };
        let number = if lv == origin {
            Some(0)
        } else {
            let uuid = Some(model.lv(lv).uuid);
            stores
                .iter()
                .position(|store| *store == uuid)
                .map(|at| at + 1)
        };
        let number = number.expect("all its snapshots are faces");
        assert!(number <= stores.len(), "each snapshot has its face");
        let node = self.shared(lv, node, number)?;
        let face = node.face(number).expect("it is there");
        self.stands_on(&node);
        let pieces = vec![Piece::linear(face.info().size, face, 0)];
        let layout = Layout::new(self.name(lv), pieces);
        layout.map(Some).map_err(|error| self.unfit(lv, error))
    }

    /// The machine of `origin` and all its snapshots, started or prepared.
    fn origin(&mut self, origin: LvId, id: NodeId, known: &Known) -> Result<Node> {
        let before = self.gaps.len();
        let mut slots = match known {
            Known::Suspended(node) => node.stores(),
            _ => Vec::new(),
        };
        let mut deferred = match known {
            Known::Suspended(node) => self.deferred(node),
            _ => Vec::new(),
        };
        let (config, legs) = self.parts_of_origin(origin, &mut slots, &deferred)?;
        deferred.retain(|store| slots.contains(&Some(*store)));
        let name = self.name(origin);
        if let Known::Suspended(node) = known
            && let Running::Origin { home, names, .. } = &node.machine
        {
            learn(names, &config, &slots);
            let names = Arc::clone(names);
            let change = prepare(&name, home, config, legs)?;
            let home = change.home().clone();
            let node = Node {
                machine: Running::Origin {
                    stores: slots,
                    names,
                    deferred,
                    home,
                },
                ..node.clone()
            };
            self.nodes.prepared(node.clone(), Change::Origin(change));
            return Ok(node);
        }
        let names = Names::default();
        learn(&names, &config, &slots);
        let handler = handler(self.updater.clone(), &name, Arc::clone(&names));
        let infos: Vec<_> = legs.iter().map(|leg| leg.info()).collect();
        let home = Origin::new(config, &infos).and_then(|machine| {
            Home::start_with_notices(&*name, machine, legs, REPLY_MAX, handler)
        });
        let home = home.map_err(|error| {
            let what = format!("{name} cannot be served with its snapshots");
            Error::new(Kind::Device, what).because(error)
        })?;
        let node = Node {
            id,
            machine: Running::Origin {
                stores: slots,
                names,
                deferred,
                home,
            },
            below: Vec::new(),
            gaps: self.gaps[before..].to_vec(),
        };
        Ok(node)
    }

    /// What the machine of `origin` is made of. `slots` says which store belongs to which face, of
    /// those that it knows; others get theirs.
    fn parts_of_origin(
        &mut self,
        origin: LvId,
        slots: &mut Vec<Option<Uuid>>,
        deferred: &[Uuid],
    ) -> Result<(OriginConfig, Vec<Arc<dyn Device>>)> {
        let model = Arc::clone(&self.group.model);
        let relations = Relations::of(&model);
        let layout = self.layout(origin, 0)?;
        let size = layout.size();
        let mut legs = vec![self.device(origin, &layout)?];
        let mut snapshots: HashMap<Uuid, SnapshotConfig> = HashMap::new();
        for snapshot in relations.snapshots(&model, origin) {
            let uuid = model.lv(snapshot.cow).uuid;
            let store = self.store(snapshot)?;
            let kept = relations.snapshot_length(&model, snapshot.cow);
            let kept = kept.expect("it is the store of a snapshot");
            let kept = self.bytes(snapshot.cow, kept)?.0;
            if kept > size {
                return Err(self.damaged(snapshot.cow, "it is larger than its origin"));
            }
            let stored = if slots.contains(&Some(uuid)) {
                // It knows better.
                Stored::Fresh
            } else {
                self.stored(snapshot, &*store, kept)?
            };
            let store_size = store.info().size;
            let config = SnapshotConfig {
                id: identity(uuid),
                name: self.name(snapshot.cow),
                size: kept,
                store: legs.len(),
                store_size,
                chunk: snapshot.chunk_size.to_bytes().map_or(0, |bytes| bytes.0),
                stored,
                access: Access::ReadWrite,
                merging: snapshot.state == SnapshotState::Merging && !deferred.contains(&uuid),
                overflow: Overflow::FailWrite,
                notify_at: self.told_at(snapshot.cow, store_size),
            };
            if snapshots.insert(uuid, config).is_some() {
                return Err(self.damaged(snapshot.cow, "it is the store of two snapshots"));
            }
            legs.push(store);
        }
        assign(slots, snapshots.keys().copied().collect());
        let faces = slots.iter().map(|slot| snapshots.remove(&(*slot)?));
        let config = OriginConfig {
            name: self.name(origin),
            size,
            origin: 0,
            access: Access::ReadWrite,
            snapshots: faces.collect(),
        };
        let stores = config.snapshots.iter().flatten().count();
        assert_eq!(
            legs.len(),
            1 + stores,
            "a leg for the origin, and for each store"
        );
        assert!(snapshots.is_empty(), "each has a face");
        Ok((config, legs))
    }

    /// The stores that an origin, which rests, is not to merge as long as it runs.
    fn deferred(&self, node: &Node) -> Vec<Uuid> {
        let Running::Origin { deferred, .. } = &node.machine else {
            unreachable!("it was asked for by its kind");
        };
        let mut all = deferred.clone();
        all.extend(&self.nodes.deferring);
        all
    }

    /// How much of a store is in use when that is told: where it is to grow, or else where people
    /// are to know. `None`: it has room for all that it may have to keep.
    fn told_at(&self, store: LvId, size: u64) -> Option<u64> {
        if holds_all(&self.group.model, store) {
            return None;
        }
        let grows = self.extension.grows_at(Bytes(size));
        Some(grows.map_or(size / 100 * WARN_AT, |at| at.0))
    }

    /// The device of a store, all of which is there.
    fn store(&mut self, snapshot: &Snapshot) -> Result<Arc<dyn Device>> {
        let layout = self.whole(snapshot.cow, 0).map_err(|error| {
            if error.kind() != Kind::Missing {
                return error;
            }
            let name = self.name(snapshot.cow);
            let what = match snapshot.state {
                SnapshotState::Apart => format!(
                    "{name} lacks what differs from its origin; bring that back, or remove {name} \
                     (lvremove), before its origin is written"
                ),
                SnapshotState::Merging => self.half_merged(snapshot),
            };
            Error::new(Kind::Missing, what).because(error)
        })?;
        self.device(snapshot.cow, &layout)
    }

    /// What is said of an origin where a part of what is merged into it is missing.
    pub(super) fn half_merged(&self, snapshot: &Snapshot) -> String {
        format!(
            "{} is not whole without {}, which is being merged into it and of which a part is \
             missing; bring that back, or, if it is lost for good, give both up (vgreduce \
             --removemissing --force {})",
            self.name(snapshot.origin),
            self.name(snapshot.cow),
            self.group.name
        )
    }

    /// What a store holds, of a snapshot of `kept` bytes.
    pub(super) fn stored(
        &self,
        snapshot: &Snapshot,
        store: &dyn Device,
        kept: u64,
    ) -> Result<Stored> {
        let name = self.name(snapshot.cow);
        let mut reader = BlockingDevice::open(store).map_err(|error| {
            let what = format!("{name} cannot be read");
            Error::new(Kind::Device, what).because(error)
        })?;
        let info = store.info();
        let stored = read_store(&info.name, (info.size, kept), |range| reader.read(range));
        stored.map_err(|error| self.unread(snapshot.cow, snapshot, error))
    }

    /// Makes a device with a state; what it stands on is noted.
    pub(super) fn standing(
        &mut self,
        make: impl FnOnce(&mut Self) -> Result<Node>,
    ) -> Result<Node> {
        let outer = std::mem::take(&mut self.running);
        let made = make(self);
        let below = std::mem::replace(&mut self.running, outer);
        let node = made.map(|node| Node { below, ..node })?;
        self.nodes.made(node.clone());
        Ok(node)
    }
}

impl Node {
    /// The stores of an origin's snapshots, by their faces.
    fn stores(&self) -> Vec<Option<Uuid>> {
        match &self.machine {
            Running::Origin { stores, .. } => stores.clone(),
            Running::Mirror { .. } | Running::Array { .. } | Running::Checksums { .. } => {
                unreachable!("it was asked for by its kind")
            }
        }
    }
}

/// Gives each of `all` a place; those that have one keep it, and those that are gone leave it, to
/// nobody who comes at the same time.
fn assign(slots: &mut Vec<Option<Uuid>>, mut all: Vec<Uuid>) {
    all.sort_unstable();
    let free: Vec<usize> = (0..slots.len()).filter(|at| slots[*at].is_none()).collect();
    let count = all.len();
    let mut free = free.into_iter();
    for slot in slots.iter_mut() {
        slot.take_if(|uuid| !all.contains(uuid));
    }
    for uuid in all {
        if slots.contains(&Some(uuid)) {
            continue;
        }
        match free.next() {
            Some(at) => slots[at] = Some(uuid),
            None => slots.push(Some(uuid)),
        }
    }
    let used = slots.iter().flatten();
    assert_eq!(used.count(), count, "each store has one slot");
}

/// Fails where a snapshot that is opened holds nothing any more.
pub(super) fn require_whole(group: &FoundVg, lv: LvId, standing_on: &[Node]) -> Result<()> {
    let relations = Relations::of(&group.model);
    let Some(snapshot) = relations.snapshot_of_cow(&group.model, lv) else {
        return Ok(());
    };
    let uuid = Some(group.model.lv(lv).uuid);
    for node in standing_on {
        let Running::Origin { stores, home, .. } = &node.machine else {
            continue;
        };
        let Some(place) = stores.iter().position(|store| *store == uuid) else {
            continue;
        };
        let name = |lv: LvId| format!("{}/{}", group.name, group.model.lv(lv).name());
        let status = home.status(REPLY_MAX).map_err(|error| {
            let what = format!("{} does not say how it is", name(lv));
            Error::new(Kind::Device, what).because(error)
        })?;
        let said = status.snapshots.get(place).copied().flatten();
        if said.is_some_and(|said| !said.state.is_whole()) {
            return Err(overflowed(&name(lv), &name(snapshot.origin)));
        }
    }
    Ok(())
}

/// Takes note of what the snapshots of an origin are called.
fn learn(names: &Names, config: &OriginConfig, slots: &[Option<Uuid>]) {
    let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(
        config.snapshots.len(),
        slots.len(),
        "each slot has its face"
    );
    for (snapshot, uuid) in config.snapshots.iter().zip(slots) {
        if let (Some(snapshot), Some(uuid)) = (snapshot, uuid) {
            names.insert(snapshot.id, (*uuid, snapshot.name.clone()));
        }
    }
}

/// What hears the notices of an origin: people are told.
fn handler(
    updater: Option<Arc<dyn MetadataUpdater>>,
    origin: &str,
    names: Names,
) -> NoticeHandler<Origin> {
    let origin = origin.to_owned();
    Box::new(move |notice, _| {
        let Some(updater) = &updater else { return };
        let known = |id: u64| {
            let names = names.lock().unwrap_or_else(PoisonError::into_inner);
            names.get(&id).cloned().expect("it was told of before")
        };
        let name = |id: u64| known(id).1;
        let text = match notice {
            Notice::Filled { id } => {
                let (store, name) = known(id);
                return Arc::clone(updater).filled(Filled {
                    store,
                    name,
                    origin: origin.clone(),
                });
            }
            Notice::Invalid { id, why } => format!(
                "WARNING: snapshot {0} is invalid, and what it kept is lost: {why}. {origin} is \
                 unharmed; remove {0} (lvremove {0})",
                name(id)
            ),
            Notice::Merged { id } => {
                let (snapshot, name) = known(id);
                return Arc::clone(updater).merged(snapshot, name);
            }
            Notice::MergeFailed { id, why } => {
                format!("WARNING: {} is not merged into {origin}: {why}", name(id))
            }
        };
        Arc::clone(updater).warn(text);
    })
}

#[cfg(test)]
mod tests;
