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
//! ```
//!
//! What stands on others comes behind them in every list here, and is suspended before them.

use std::sync::Arc;
use std::time::Duration;

use block::Device;
use dm::home::{Home, Prepared};
use dm::mirror::{Mirror, MirrorConfig};
use lvm2::{Extents, Uuid};

use crate::{Error, Kind, Result};

/// How long one may take to say what it would become.
const PREPARE_MAX: Duration = Duration::from_secs(30);

/// Which device: a segment of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeId {
    /// The volume.
    pub(crate) lv: Uuid,
    /// Where the segment begins.
    pub(crate) start: Extents,
}

/// A mirror at work: what it is, and where it is asked.
#[derive(Clone)]
pub(crate) struct RunningMirror {
    pub(crate) id: NodeId,
    /// Its images, in the mirror's own order.
    pub(crate) images: Vec<Uuid>,
    /// Its thread.
    pub(crate) home: Home<Mirror>,
    /// What was missing of it when it was started, one sentence each.
    pub(crate) gaps: Vec<String>,
}

/// What runs, and what becomes of it.
#[derive(Default)]
pub(crate) struct Nodes {
    running: Vec<RunningMirror>,
    suspended: Vec<RunningMirror>,
    prepared: Vec<(RunningMirror, Prepared<Mirror>)>,
}

/// What is known of a device with a state.
pub(super) enum Known {
    /// It does not run.
    Nothing,
    /// It runs, or will, as it is needed.
    Ready(RunningMirror),
    /// It has to become what is needed.
    Suspended(RunningMirror),
}

impl RunningMirror {
    /// Whether it takes writes.
    pub(crate) fn is_writable(&self) -> bool {
        let face = self.home.face(0).expect("a mirror has one face");
        !face.info().read_only
    }
}

impl Nodes {
    /// What runs, each once, what stands on others behind them.
    pub(crate) fn new(all: impl IntoIterator<Item = RunningMirror>) -> Self {
        let mut running: Vec<RunningMirror> = Vec::new();
        for node in all {
            if !running.iter().any(|known| known.id == node.id) {
                running.push(node);
            }
        }
        let nodes = Self {
            running,
            ..Self::default()
        };
        nodes.check();
        nodes
    }

    /// Suspends what `goes`; each may take `limit`. Where one does not rest in time all go on.
    pub(crate) fn suspend(
        &mut self,
        goes: impl Fn(Uuid) -> bool,
        limit: Duration,
    ) -> dm::Result<()> {
        let mut rest = Vec::new();
        // The last one stands on those before it: on its log, where that is a mirror.
        for node in std::mem::take(&mut self.running).into_iter().rev() {
            if !goes(node.id.lv) {
                rest.push(node);
                continue;
            }
            if let Err(error) = node.home.suspend(limit) {
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

    /// What is known of `id`.
    pub(super) fn find(&self, id: NodeId) -> Known {
        let is_it = |node: &&RunningMirror| node.id == id;
        let prepared = self.prepared.iter().map(|(node, _)| node);
        let ready = self.running.iter().chain(prepared).find(is_it);
        if let Some(node) = ready {
            return Known::Ready(node.clone());
        }
        let suspended = self.suspended.iter().find(is_it);
        suspended.map_or(Known::Nothing, |node| Known::Suspended(node.clone()))
    }

    /// `node`, which is suspended, becomes what `config` says; it as it will be.
    pub(super) fn prepare(
        &mut self,
        node: &RunningMirror,
        config: MirrorConfig,
        legs: Vec<Arc<dyn Device>>,
    ) -> Result<RunningMirror> {
        let name = config.name.clone();
        let prepared = node.home.prepare(config, legs, PREPARE_MAX);
        let prepared = prepared.map_err(|error| {
            let what = format!("Logical volume {name} in use: it cannot be changed like this");
            Error::new(Kind::Refused, what).because(error)
        })?;
        let node = RunningMirror {
            home: prepared.home().clone(),
            ..node.clone()
        };
        self.prepared.push((node.clone(), prepared));
        self.check();
        Ok(node)
    }

    /// One that was started is known from now on.
    pub(super) fn started(&mut self, node: RunningMirror) {
        self.running.push(node);
        self.check();
    }

    /// What was prepared happens, and goes on; the rest of what is suspended ends with its users.
    pub(crate) fn publish(self) {
        for (node, prepared) in self.prepared {
            // One that has ended fails its requests by itself.
            let _ = prepared.reload(PREPARE_MAX);
            let _ = node.home.resume();
        }
    }

    /// Nothing was changed: what was suspended goes on as it was.
    pub(crate) fn resume(&mut self) {
        self.prepared.clear();
        for node in self.suspended.drain(..) {
            // One that has ended fails its requests by itself.
            let _ = node.home.resume();
        }
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
