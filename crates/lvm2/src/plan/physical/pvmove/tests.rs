//! Tests: moves that begin, go on, end and are aborted, whatever is moved.

mod back;
mod random;
mod siblings;
mod steps;
mod stock;

use crate::model::{AllocationPolicy, VolumeGroup};
use crate::plan::change::{Change, VolumeChange};
use crate::plan::physical::{
    Move, MoveMode, MoveRequest, abort_move, begin_move, moves, piece_moved,
};
use crate::plan::places::Places;
use crate::plan::samples::{by_author, done};
use crate::{Extents, Result, Uuid};

/// What is asked for: a source, targets, and the rest.
#[derive(Clone, Copy)]
struct Ask<'a> {
    source: &'a str,
    targets: &'a [&'a str],
    volume: Option<&'a str>,
    policy: Option<AllocationPolicy>,
    mode: MoveMode,
    piece_max: u64,
}

impl<'a> Ask<'a> {
    /// A move in pieces of eight extents at most.
    fn of(source: &'a str, targets: &'a [&'a str]) -> Self {
        Self {
            source,
            targets,
            volume: None,
            policy: None,
            mode: MoveMode::Pieces,
            piece_max: 8,
        }
    }

    fn change(&self, vg: &VolumeGroup) -> Result<(Change, Uuid)> {
        let source = places(vg, &[self.source]);
        let targets = places(vg, self.targets);
        let request = MoveRequest {
            source: &source,
            volume: self.volume,
            targets: (!self.targets.is_empty()).then_some(&targets),
            policy: self.policy,
            mode: self.mode,
            piece_max: Extents(self.piece_max),
            region_size: None,
        };
        by_author(|author| begin_move(vg, &request, author))
    }

    /// The group of a move that is possible, and the move.
    fn begun(&self, vg: &VolumeGroup) -> (VolumeGroup, Uuid) {
        let (change, mover) = self.change(vg).expect("it is possible");
        (done(Ok(change)), mover)
    }

    /// Why it is not possible.
    fn refusal(&self, vg: &VolumeGroup) -> String {
        self.change(vg).expect_err("it is refused").context
    }
}

/// What `arguments` name: `pv0:0-3`, `pv1`.
fn places(vg: &VolumeGroup, arguments: &[&str]) -> Places {
    let find = |name: &str| {
        let mut all = vg.pvs();
        all.find(|(_, pv)| pv.key == name).map(|(pv, _)| pv)
    };
    Places::parse(vg, arguments, find).expect("they are there")
}

fn moved(vg: &VolumeGroup, mover: Uuid, start: u64) -> Result<Change> {
    by_author(|author| piece_moved(vg, &mover, Extents(start), author))
}

fn abort(vg: &VolumeGroup, mover: Uuid) -> Result<Change> {
    by_author(|author| abort_move(vg, &mover, author))
}

/// Moves every piece, one after the other.
fn ended(vg: &VolumeGroup, mover: Uuid) -> VolumeGroup {
    let mut vg = vg.clone();
    while let Some(one) = moves(&vg).into_iter().find(|one| one.uuid == mover) {
        let start = one.running.expect("it has a piece").start;
        vg = done(moved(&vg, mover, start.0));
    }
    vg
}

/// The one move in a group.
fn only(vg: &VolumeGroup) -> Move {
    let mut all = moves(vg);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// The volumes whose tables change, and with a `-` those that go.
fn tables(change: &Change) -> Vec<String> {
    let names = change.volumes.iter().map(|volume| match volume {
        VolumeChange::Reload { name, .. } => name.clone(),
        VolumeChange::Deactivate { name, .. } => format!("-{name}"),
        other => panic!("{other:?}"),
    });
    names.collect()
}
