//! Devices with a state of their own that run in this process: one for each volume that is one.
//!
//! Two volumes that stand on one mirror stand on the same running mirror: started twice, each
//! would believe what it knows itself. So whoever activates brings what runs already, and a volume
//! that is among it is asked instead of started. While a group is being changed some of what runs
//! is suspended; a volume among that becomes something else, which is prepared now and happens
//! with the commit:
//!
//! ```text
//!   running     stays what it is
//!   suspended   ─▸ prepared    becomes another one (Nodes::publish)
//!               ╲  no more     ends with its last user, and writes nothing
//!   waiting     ─▸ running     is another kind of what it stands for, and starts with the commit
//! ```
//!
//! What stands on others comes behind them in every list here, and is suspended before them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use block::Device;
use dm::home::{Home, Prepared};
use dm::integrity::Integrity;
use dm::machine::Machine;
use dm::mirror::{Control, ImageHealth, Mirror};
use dm::raid::{Action, Array, LegState};
use dm::snapshot::{Origin, SnapshotStatus};
use lvm2::{Extents, Uuid};

use crate::{Error, Kind, Result};

/// How long one may take to say what it would become.
const PREPARE_MAX: Duration = Duration::from_secs(30);

/// Which device: a segment of a volume, and as what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeId {
    /// The volume.
    pub(crate) lv: Uuid,
    /// Where the segment begins.
    pub(crate) start: Extents,
    /// As what: an origin may be a mirror, too.
    pub(crate) kind: NodeKind,
}

/// What a device with a state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Mirror,
    /// A piece of a move: a mirror that becomes its target.
    Move,
    Origin,
    /// RAID with copies or parity.
    Array,
    /// An image with checksums.
    Checksums,
}

/// A device with a state, at work.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) id: NodeId,
    pub(crate) machine: Running,
    /// All that it stands on, each behind what that stands on.
    pub(crate) below: Vec<Node>,
    /// What was missing of it when it was started, one sentence each.
    pub(crate) gaps: Vec<String>,
}

/// What it is, and where it is asked.
#[derive(Clone)]
pub(crate) enum Running {
    Mirror {
        /// Its images, in the mirror's own order: of a move the physical volumes.
        images: Vec<Uuid>,
        home: Home<Mirror>,
    },
    Origin {
        /// The stores of its snapshots: that of face 1 comes first.
        stores: Vec<Option<Uuid>>,
        /// The names of all that it ever had, by the identities that it tells of.
        names: Names,
        /// Stores that are merged when it is started next, and not before.
        deferred: Vec<Uuid>,
        home: Home<Origin>,
    },
    Array {
        /// The data of its legs, in order.
        images: Vec<Uuid>,
        home: Home<Array>,
    },
    Checksums {
        home: Home<Integrity>,
    },
}

/// Which snapshots there are, and their names, by their identities. They come while their origin
/// runs.
pub(crate) type Names = Arc<Mutex<HashMap<u64, (Uuid, String)>>>;

/// What one becomes.
pub(super) enum Change {
    Mirror(Prepared<Mirror>),
    Origin(Prepared<Origin>),
    Array(Prepared<Array>),
    Checksums(Prepared<Integrity>),
}

/// What a change makes of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It stays what it is.
    Stays,
    /// It becomes another one, or is not needed any more.
    Goes,
    /// The same, and the target of what it moves takes the place of the source.
    Moved,
}

/// What runs, and what becomes of it.
#[derive(Default)]
pub(crate) struct Nodes {
    running: Vec<Node>,
    suspended: Vec<Node>,
    prepared: Vec<(Node, Change)>,
    /// Of those that run, the ones that start when all is written down.
    waiting: Vec<NodeId>,
    /// Stores that are to be merged from this change on, but not by what runs now.
    pub(crate) deferring: Vec<Uuid>,
}

/// What is known of a device with a state.
pub(super) enum Known {
    /// It does not run.
    Nothing,
    /// It runs, or will, as it is needed.
    Ready(Node),
    /// It has to become what is needed.
    Suspended(Node),
}

impl Node {
    /// The device that its face with this number is.
    pub(super) fn face(&self, number: usize) -> Option<Arc<dyn Device>> {
        fn device<M: Machine>(home: &Home<M>, number: usize) -> Option<Arc<dyn Device>> {
            Some(Arc::new(home.face(number)?))
        }
        match &self.machine {
            Running::Mirror { home, .. } => device(home, number),
            Running::Origin { home, .. } => device(home, number),
            Running::Array { home, .. } => device(home, number),
            Running::Checksums { home } => device(home, number),
        }
    }

    /// The metadata say what it is and stands on: what moves may copy to its own from now on.
    pub(super) fn go(&self) {
        self.below.iter().for_each(Self::copy);
        self.copy();
    }

    fn copy(&self) {
        if let (NodeKind::Move, Running::Mirror { home, .. }) = (self.id.kind, &self.machine) {
            // One that has ended copies nothing.
            let _ = home.control(Control::Copy, PREPARE_MAX);
        }
    }

    /// Whether all that it keeps copies or parity of goes together, on images that all work.
    pub(super) fn is_whole(&self) -> bool {
        match &self.machine {
            Running::Mirror { home, .. } => home.status(PREPARE_MAX).is_ok_and(|status| {
                let is_good = |image: &ImageHealth| *image == ImageHealth::Good;
                status.in_sync == status.regions && status.images.iter().all(is_good)
            }),
            Running::Array { home, .. } => home.status(PREPARE_MAX).is_ok_and(|status| {
                let is_good = |leg: &(LegState, u64)| leg.0 == LegState::Valid { until: u64::MAX };
                status.action == Action::Idle && status.legs.iter().all(is_good)
            }),
            Running::Origin { .. } | Running::Checksums { .. } => true,
        }
    }

    fn suspend(&self, limit: Duration) -> dm::Result<()> {
        match &self.machine {
            Running::Mirror { home, .. } => home.suspend(limit),
            Running::Origin { home, .. } => home.suspend(limit),
            Running::Array { home, .. } => home.suspend(limit),
            Running::Checksums { home } => home.suspend(limit),
        }
    }

    /// How the snapshot with this store is, if this is its origin and says so.
    pub(crate) fn snapshot(&self, store: Uuid) -> Option<SnapshotStatus> {
        let Running::Origin { stores, home, .. } = &self.machine else {
            return None;
        };
        let place = stores.iter().position(|one| *one == Some(store))?;
        let status = home.status(PREPARE_MAX).ok()?;
        status.snapshots.get(place).copied().flatten()
    }

    /// Which volume it is, and how it is, if it is an array; it may not say so.
    fn array(&self) -> Option<(Uuid, Option<dm::raid::Status>)> {
        match &self.machine {
            Running::Array { home, .. } => Some((self.id.lv, home.status(PREPARE_MAX).ok())),
            Running::Mirror { .. } | Running::Origin { .. } | Running::Checksums { .. } => None,
        }
    }

    /// Makes the target of a move as good as its source.
    fn finish(&self, limit: Duration) -> dm::Result<()> {
        match &self.machine {
            Running::Mirror { home, .. } => home.control(Control::Finish, limit),
            Running::Origin { .. } | Running::Array { .. } | Running::Checksums { .. } => {
                unreachable!("it moves nothing")
            }
        }
    }

    /// Tells whether it has ended, without keeping it running.
    pub(crate) fn end(&self) -> Box<dyn Fn() -> bool + Send> {
        fn end<M: Machine>(home: &Home<M>) -> Box<dyn Fn() -> bool + Send> {
            let controller = home.controller();
            Box::new(move || controller.has_ended())
        }
        match &self.machine {
            Running::Mirror { home, .. } => end(home),
            Running::Origin { home, .. } => end(home),
            Running::Array { home, .. } => end(home),
            Running::Checksums { home } => end(home),
        }
    }

    fn resume(&self) {
        // One that has ended fails its requests by itself.
        let _ = match &self.machine {
            Running::Mirror { home, .. } => home.resume(),
            Running::Origin { home, .. } => home.resume(),
            Running::Array { home, .. } => home.resume(),
            Running::Checksums { home } => home.resume(),
        };
    }
}

impl Drop for Nodes {
    /// However a change ended, nothing rests for ever.
    fn drop(&mut self) {
        self.resume();
    }
}

impl Change {
    fn happen(self) {
        // One that has ended fails its requests by itself.
        let _ = match self {
            Self::Mirror(prepared) => prepared.reload(PREPARE_MAX).map(drop),
            Self::Origin(prepared) => prepared.reload(PREPARE_MAX).map(drop),
            Self::Array(prepared) => prepared.reload(PREPARE_MAX).map(drop),
            Self::Checksums(prepared) => prepared.reload(PREPARE_MAX).map(drop),
        };
    }
}

/// `home`, of the volume called `name`, which is suspended, gets ready to be made of `config`.
pub(super) fn prepare<M: Machine>(
    name: &str,
    home: &Home<M>,
    config: M::Config,
    legs: Vec<Arc<dyn Device>>,
) -> Result<Prepared<M>> {
    home.prepare(config, legs, PREPARE_MAX).map_err(|error| {
        let what = format!("Logical volume {name} in use: it cannot be changed like this");
        Error::new(Kind::Refused, what).because(error)
    })
}

impl Nodes {
    /// What runs, each once, what stands on others behind them.
    pub(crate) fn new(all: impl IntoIterator<Item = Node>) -> Self {
        let mut running: Vec<Node> = Vec::new();
        for node in all {
            if !running.iter().any(|known| known.id == node.id) {
                running.push(node);
            }
        }
        for (place, node) in running.iter().enumerate() {
            let before = &running[..place];
            let is_before = |below: &Node| before.iter().any(|other| other.id == below.id);
            assert!(
                node.below.iter().all(is_before),
                "what others stand on comes first"
            );
        }
        let nodes = Self {
            running,
            suspended: Vec::new(),
            prepared: Vec::new(),
            waiting: Vec::new(),
            deferring: Vec::new(),
        };
        nodes.check();
        nodes
    }

    /// Suspends what does not stay, by its `fate`; each may take `limit`. Where one does not rest
    /// in time, or a target is not as good as its source, all go on.
    pub(crate) fn suspend(
        &mut self,
        fate: impl Fn(NodeId) -> Fate,
        limit: Duration,
    ) -> dm::Result<()> {
        let mut rest = Vec::new();
        // The last one stands on those before it: on its log, where that is a mirror.
        for node in std::mem::take(&mut self.running).into_iter().rev() {
            let fate = fate(node.id);
            if fate == Fate::Stays {
                rest.push(node);
                continue;
            }
            // All that stands on it rests, so nobody writes to it.
            let ready = match fate {
                Fate::Moved => node.finish(limit),
                _ => Ok(()),
            };
            if let Err(error) = ready.and_then(|()| node.suspend(limit)) {
                self.resume();
                return Err(error);
            }
            self.suspended.insert(0, node);
        }
        rest.reverse();
        self.running = rest;
        self.check();
        Ok(())
    }

    /// The arrays among those that run, and how they are, if they say so.
    pub(crate) fn arrays(&self) -> Vec<(Uuid, Option<dm::raid::Status>)> {
        self.running.iter().filter_map(Node::array).collect()
    }

    /// Whether it runs and is not suspended.
    pub(crate) fn runs(&self, id: NodeId) -> bool {
        self.running.iter().any(|node| node.id == id)
    }

    /// What is suspended and is the volume of `id` as a mirror or an array, and not as that.
    pub(super) fn other(&self, id: NodeId) -> Option<&Node> {
        let copies = |kind| matches!(kind, NodeKind::Mirror | NodeKind::Array);
        let is_other = |old: NodeId| {
            old.lv == id.lv && old.kind != id.kind && copies(old.kind) && copies(id.kind)
        };
        self.suspended.iter().find(|node| is_other(node.id))
    }

    /// The one that is made as `id` starts when the change is written down, not before.
    pub(super) fn wait(&mut self, id: NodeId) {
        self.waiting.push(id);
    }

    /// What is known of `id`.
    pub(super) fn find(&self, id: NodeId) -> Known {
        let is_it = |node: &&Node| node.id == id;
        let prepared = self.prepared.iter().map(|(node, _)| node);
        let ready = self.running.iter().chain(prepared).find(is_it);
        if let Some(node) = ready {
            return Known::Ready(node.clone());
        }
        let suspended = self.suspended.iter().find(is_it);
        suspended.map_or(Known::Nothing, |node| Known::Suspended(node.clone()))
    }

    /// One that is suspended becomes `node`, with what is prepared.
    pub(super) fn prepared(&mut self, node: Node, change: Change) {
        self.prepared.push((node, change));
        self.check();
    }

    /// One was made: it runs from now on, unless it is one that changes.
    pub(super) fn made(&mut self, node: Node) {
        let change = self
            .prepared
            .iter_mut()
            .find(|(known, _)| known.id == node.id);
        match change {
            Some((known, _)) => *known = node,
            None => self.running.push(node),
        }
        self.check();
    }

    /// What was prepared happens, and goes on; the rest of what is suspended ends with its users.
    pub(crate) fn publish(mut self) {
        self.check();
        self.suspended.clear();
        for (node, prepared) in std::mem::take(&mut self.prepared) {
            prepared.happen();
            node.resume();
        }
        let is_waiting = |node: &&Node| self.waiting.contains(&node.id);
        self.running
            .iter()
            .filter(is_waiting)
            .for_each(Node::resume);
        self.running.iter().for_each(Node::go);
    }

    /// Nothing was changed: what was suspended goes on as it was.
    pub(crate) fn resume(&mut self) {
        self.prepared.clear();
        for node in self.suspended.drain(..) {
            node.resume();
        }
        self.check();
    }

    /// The invariants.
    fn check(&self) {
        let mut ready = self.running.iter().chain(&self.suspended);
        let all: Vec<NodeId> = ready.by_ref().map(|node| node.id).collect();
        for (place, id) in all.iter().enumerate() {
            assert!(!all[..place].contains(id), "each runs once");
        }
        let is_suspended = |id: NodeId| self.suspended.iter().any(|node| node.id == id);
        for (place, (node, _)) in self.prepared.iter().enumerate() {
            assert!(is_suspended(node.id), "what changes is suspended");
            let mut before = self.prepared[..place].iter();
            assert!(
                before.all(|(other, _)| other.id != node.id),
                "each changes once"
            );
        }
    }
}
