//! Which nodes there are: of each active volume itself, and those below it.
//!
//! ```text
//!     vg0-data         snapshot-origin          vg0-monday       snapshot
//!        │                                         │      │
//!     vg0-data-real    what it is made of  ◂───────┘   vg0-monday-cow   its store
//! ```

use lvm2::model::{LvId, SnapshotState, dm_name, is_snapshot_holder};

use super::target::{self, Below, Line};
use crate::output::{Active, Group, Place, View};

/// What a node is of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    /// All of it.
    Whole,
    /// What people see of an origin.
    Origin,
    /// What an origin is made of.
    Real,
    /// What people see of a snapshot.
    Snapshot,
    /// Where a snapshot keeps what differs.
    Store,
}

/// A node.
pub(super) struct Node<'a> {
    /// Its name: `vg0-data`.
    pub(super) name: String,
    /// The group.
    pub(super) group: &'a Group,
    /// The volume.
    pub(super) lv: LvId,
    /// What it is of that.
    pub(super) layer: Layer,
    /// Its table.
    pub(super) lines: Vec<Line>,
}

impl Node<'_> {
    /// Whether it is only there for others to stand on.
    pub(super) fn is_part(&self) -> bool {
        self.is_layer() || !self.group.is_visible(self.lv)
    }

    /// Its device, if it has one.
    pub(super) fn place(&self) -> Option<&Place> {
        let active = self.active().filter(|_| !self.is_layer());
        active.and_then(|active| active.place.as_ref())
    }

    /// Whether somebody, or another node, has it open.
    pub(super) fn is_open(&self) -> bool {
        self.is_layer() || self.active().is_some_and(|active| active.is_open)
    }

    /// Whether nothing is written through it.
    pub(super) fn is_read_only(&self) -> bool {
        let is_only_read = self.active().is_some_and(|active| active.is_only_read);
        is_only_read || !self.group.vg.lv(self.lv).is_writable()
    }

    /// Its size.
    pub(super) fn sectors(&self) -> u64 {
        let lengths = self.lines.iter().map(|line| line.length);
        lengths.fold(0, u64::saturating_add)
    }

    /// What it stands on, each once.
    pub(super) fn below(&self) -> Vec<&Below> {
        let mut all = Vec::new();
        for below in self.lines.iter().flat_map(Line::below) {
            if !all.contains(&below) {
                all.push(below);
            }
        }
        all
    }

    /// Whether it is below what people see of a volume.
    pub(super) fn is_layer(&self) -> bool {
        matches!(self.layer, Layer::Real | Layer::Store)
    }

    fn active(&self) -> Option<&Active> {
        self.group.state(self.lv).active()
    }
}

/// The nodes of a group, by name.
pub(super) fn nodes<'a>(view: &View, group: &'a Group) -> Vec<Node<'a>> {
    let mut all = Vec::new();
    let volumes = group.vg.lvs().map(|(lv, _)| lv);
    for lv in volumes.filter(|lv| !is_snapshot_holder(&group.vg, *lv)) {
        let of = Volume { view, group, lv };
        if group.state(lv).active().is_some() {
            all.extend(of.nodes());
        } else if of.is_below_a_snapshot() {
            all.push(of.node(Layer::Real));
        }
    }
    all.sort_by(|a: &Node<'_>, b| a.name.cmp(&b.name));
    all
}

/// A volume with layers, or without.
struct Volume<'v, 'a> {
    view: &'v View,
    group: &'a Group,
    lv: LvId,
}

impl<'a> Volume<'_, 'a> {
    fn nodes(&self) -> Vec<Node<'a>> {
        let group = self.group;
        let layers: &[Layer] = match group.relations.snapshot_of_cow(&group.vg, self.lv) {
            // People see it through its origin.
            Some(one) if one.state == SnapshotState::Merging => &[Layer::Store],
            Some(_) => &[Layer::Snapshot, Layer::Store],
            None if group.relations.is_origin(self.lv) => &[Layer::Origin, Layer::Real],
            None => &[Layer::Whole],
        };
        layers.iter().map(|layer| self.node(*layer)).collect()
    }

    /// Whether an active snapshot stands on this, which is not active itself.
    fn is_below_a_snapshot(&self) -> bool {
        let group = self.group;
        let mut snapshots = group.relations.snapshots(&group.vg, self.lv);
        snapshots.any(|one| group.state(one.cow).active().is_some())
    }

    fn node(&self, layer: Layer) -> Node<'a> {
        let Self { view, group, lv } = *self;
        let (vg, relations) = (&group.vg, &group.relations);
        let named = |lv: LvId, layer| dm_name(&vg.name, vg.lv(lv).name(), layer);
        let size = group.lv_sectors(lv);
        let snapshot = relations.snapshot_of_cow(vg, lv);
        let (name, lines) = match (layer, snapshot) {
            (Layer::Origin, _) => {
                let merged = relations.snapshots(vg, lv);
                let mut merged = merged.filter(|one| one.state == SnapshotState::Merging);
                let merged = merged.next();
                let merged = merged.map(|one| (named(one.cow, Some("cow")), one.chunk_size));
                (None, target::origin(named(lv, Some("real")), merged, size))
            }
            (Layer::Snapshot, Some(one)) => {
                let length = relations.snapshot_length(vg, lv);
                let length = length.map_or(size, |length| group.sectors(length));
                let (real, store) = (named(one.origin, Some("real")), named(lv, Some("cow")));
                (None, target::snapshot(real, store, one.chunk_size, length))
            }
            (Layer::Real, _) => (Some("real"), target::segments(view, group, lv)),
            (Layer::Store, _) => (Some("cow"), target::segments(view, group, lv)),
            (Layer::Whole | Layer::Snapshot, _) => (None, target::segments(view, group, lv)),
        };
        Node {
            name: named(lv, name),
            group,
            lv,
            layer,
            lines,
        }
    }
}
