//! Another physical volume for a column that has no room on its own.

use super::columns::Column;
use super::space::Space;
use crate::Extents;
use crate::model::{Area, PvId, Relations, VolumeGroup};
use crate::plan::physical::pvmove::{Relocation, Siblings};

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// Moves a column to where it fits, away from its siblings; `None` where it fits nowhere.
pub(super) fn elsewhere(
    vg: &VolumeGroup,
    relations: &Relations,
    space: &Space,
    column: &Column,
) -> Option<Vec<Relocation>> {
    // Its siblings on the same physical volume do not move now: they stay behind.
    let siblings = Siblings::new(vg, relations, column.pv);
    let of_volume = siblings.of_volume(column.lv);
    let (first, count) = column.segments;
    let mut apart = BTreeSet::from([column.pv]);
    for segment in first..first + count {
        let key = (column.lv, segment, column.area);
        apart.extend(siblings.of_area(key, &of_volume).all());
    }
    let beside = beside(vg, column);
    let others = space.pvs().filter(|pv| !apart.contains(pv));
    let holes = others.filter_map(|pv| Some((space.on(pv).best_fit(column.length)?, pv)));
    // Beside a part of the volume on the same physical volume it would be in pieces with that.
    let (hole, pv) = holes.min_by_key(|(hole, pv)| (beside.contains(pv), hole.length, *pv))?;
    let moves = column.runs.iter().map(|run| Relocation {
        pv: column.pv,
        from: run.place(),
        to: (pv, hole.start + run.offset),
    });
    let moves: Vec<Relocation> = moves.collect();
    assert!(
        moves.iter().map(|one| one.from.length).sum::<Extents>() == column.length,
        "all of it moves"
    );
    Some(moves)
}

/// The physical volumes of the areas in front of a column and behind it.
fn beside(vg: &VolumeGroup, column: &Column) -> Vec<PvId> {
    let segments = &vg.lv(column.lv).segments;
    let (first, count) = column.segments;
    let next = [first.checked_sub(1), Some(first + count)];
    let next = next.into_iter().flatten().filter_map(|at| segments.get(at));
    let areas = next.filter_map(|segment| segment.areas().get(column.area));
    let pvs = areas.filter_map(|area| match area {
        Area::Pv { pv, .. } => Some(*pv),
        Area::Lv { .. } => None,
    });
    pvs.collect()
}
