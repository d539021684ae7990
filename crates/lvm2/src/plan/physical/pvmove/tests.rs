//! Tests: moves that go on, end and are aborted.

mod stock;

use crate::model::VolumeGroup;
use crate::plan::change::{Change, VolumeChange};
use crate::plan::physical::{Move, abort_move, moves, piece_moved};
use crate::plan::samples::{by_author, done};
use crate::{Extents, Result, Uuid};

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
