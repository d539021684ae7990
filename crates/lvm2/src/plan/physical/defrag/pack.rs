//! The gaps in front of a physical volume's columns are closed, from the front.
//!
//! ```text
//!     |a  |  gap  |b        |c  |   |d  |
//!                                              in this order:
//!     |a  |c  |d  |b        |                  what is behind and fills it exactly: it moves
//!     |a  |b        |                          what is next, if it fits, or gets past itself
//!     |a  |   gap               |c      |d    | b|   else it gets out of the way: the gap grows
//! ```
//!
//! What stays where it is divides the physical volume: in front of it what fits best is wanted.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::columns::Column;
use super::join::course;
use super::space::Space;
use crate::Extents;
use crate::model::{AllocationMap, ExtentRange, PvId, VolumeGroup};
use crate::plan::physical::pvmove::Relocation;

/// Of more sums of lengths a gap is not worth it.
const SUMS_MAX: usize = 4096;

/// Something in one piece.
#[derive(Debug, Clone, Copy)]
struct Item<'c> {
    place: ExtentRange,
    kind: Kind<'c>,
}

#[derive(Debug, Clone, Copy)]
enum Kind<'c> {
    /// It stays.
    Fixed,
    /// A whole column, which may be cut on its way.
    Column(&'c Column),
    /// A part of one that has no place where it is whole.
    Part,
    /// It moves in this pass, from somewhere else.
    Moved,
}

impl Item<'_> {
    fn can_move(&self) -> bool {
        matches!(self.kind, Kind::Column(_) | Kind::Part)
    }
}

/// The next moves of a physical volume; takes their targets.
pub(super) fn pack(
    vg: &VolumeGroup,
    pv: PvId,
    columns: &[Column],
    space: &mut Space,
) -> Vec<Relocation> {
    let mut items = items(vg, pv, columns);
    let mut moves = Vec::new();
    let mut at = Extents::ZERO;
    loop {
        items.sort_unstable_by_key(|item| item.place);
        let Some(next) = items.iter().position(|item| item.place.end() > at) else {
            break;
        };
        if items[next].place.start <= at {
            at = items[next].place.end();
            continue;
        }
        let gap = ExtentRange::between(at, items[next].place.start);
        let Some(chosen) = choose(&items, next, gap.length) else {
            let first = moves.is_empty();
            match make_way(&items[next], gap, space, pv).filter(|_| first) {
                Some(more) => {
                    for one in &more {
                        space.take(pv, one.target());
                    }
                    return more;
                }
                None if !first && items[next].can_move() => break,
                None => {}
            }
            // The gap stays, or something smaller fits in it.
            let Some(smaller) = largest(&items[next..], gap.length) else {
                at = items[next].place.end();
                continue;
            };
            if !take(&mut items[next + smaller], at, pv, space, &mut moves) {
                break;
            }
            continue;
        };
        if !take(&mut items[chosen], at, pv, space, &mut moves) {
            break;
        }
    }
    moves
}

/// Moves an item, unless its target is not free before the end of this pass.
fn take(
    item: &mut Item<'_>,
    to: Extents,
    pv: PvId,
    space: &mut Space,
    moves: &mut Vec<Relocation>,
) -> bool {
    let one = Relocation {
        pv,
        from: item.place,
        to: (pv, to),
    };
    if !item.can_move() || !space.on(pv).has(one.target()) {
        return false;
    }
    space.take(pv, one.target());
    moves.push(one);
    *item = Item {
        place: one.target(),
        kind: Kind::Moved,
    };
    true
}

fn items<'c>(vg: &VolumeGroup, pv: PvId, columns: &'c [Column]) -> Vec<Item<'c>> {
    let mut items = Vec::new();
    for column in columns.iter().filter(|column| column.pv == pv) {
        let kind = if column.is_joined() {
            Kind::Column(column)
        } else {
            Kind::Part
        };
        let runs = column.runs.iter();
        items.extend(runs.map(|run| Item {
            place: run.place(),
            kind,
        }));
    }
    let map = AllocationMap::of(vg);
    for taken in map.allocations(pv) {
        let place = taken.range;
        let is_known = items
            .iter()
            .any(|item| item.place.start <= place.start && place.end() <= item.place.end());
        if !is_known {
            items.push(Item {
                place,
                kind: Kind::Fixed,
            });
        }
    }
    items
}

/// What closes the gap in front of `next`.
fn choose(items: &[Item<'_>], next: usize, gap: Extents) -> Option<usize> {
    let exact = exact(items, next, gap);
    if exact.is_some() {
        return exact;
    }
    match items[next].kind {
        Kind::Column(_) | Kind::Part => (items[next].place.length <= gap).then_some(next),
        Kind::Fixed | Kind::Moved => largest(&items[next..], gap).map(|index| next + index),
    }
}

/// An item that fills a gap exactly with others behind it: of those that do, the hindmost ones.
fn exact(items: &[Item<'_>], next: usize, gap: Extents) -> Option<usize> {
    // Lengths that some of the items looked at have together.
    let mut sums = BTreeSet::from([Extents::ZERO]);
    for index in (next..items.len())
        .rev()
        .filter(|index| items[*index].can_move())
    {
        let length = items[index].place.length;
        let more = sums.iter().map(|sum| *sum + length);
        let more: Vec<Extents> = more.filter(|sum| *sum <= gap).collect();
        if more.contains(&gap) {
            return Some(index);
        }
        if sums.len() < SUMS_MAX {
            sums.extend(more);
        }
    }
    None
}

/// The largest that fits, the last one of these.
fn largest(items: &[Item<'_>], gap: Extents) -> Option<usize> {
    let fitting = items.iter().enumerate();
    let fitting = fitting.filter(|(_, item)| item.can_move() && item.place.length <= gap);
    let found = fitting.max_by_key(|(_, item)| (item.place.length, item.place.start));
    found.map(|(index, _)| index)
}

/// An item that does not fit into the gap in front of it gets past itself, or out of the way.
fn make_way(item: &Item<'_>, gap: ExtentRange, space: &Space, pv: PvId) -> Option<Vec<Relocation>> {
    let holes = space.on(pv);
    if let Kind::Column(column) = item.kind
        && let Some(course) = course(&holes, column, gap.start)
    {
        return Some(course.moves);
    }
    if !item.can_move() {
        return None;
    }
    let length = item.place.length;
    let behind = holes.iter().rev();
    let mut behind = behind.filter(|hole| hole.start >= item.place.end());
    let hole = behind.find(|hole| hole.length >= length)?;
    assert!(
        hole.end() - length >= item.place.end(),
        "it moves behind its place"
    );
    Some(alloc::vec![Relocation {
        pv,
        from: item.place,
        to: (pv, hole.end() - length),
    }])
}
