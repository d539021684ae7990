//! Pass after pass, until nothing is left to be done.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::columns::{Column, columns, movable};
use super::elsewhere::elsewhere;
use super::join::{Course, Prefer, join};
use super::pack::pack;
use super::space::Space;
use crate::model::{LvId, PvId, Relations, VolumeGroup};
use crate::plan::draft::require_known_segments;
use crate::plan::physical::pvmove::{Relocation, is_part_of, relocated};
use crate::{Extents, Result};

/// More passes than anybody waits for; after them another plan goes on.
const PASSES_MAX: usize = 1000;
/// Pieces of a pass, about: each needs some hundred bytes of metadata.
const RELOCATIONS_MAX: usize = 256;

/// What is to be contiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefragScope {
    /// A volume and its parts.
    Volume(LvId),
    /// All volumes.
    Group,
    /// All volumes, and they are packed to the front of their physical volumes.
    GroupToStart,
}

/// What is moved to make volumes contiguous.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defrag {
    /// Moves that follow one another; those of a pass run at once.
    pub passes: Vec<Vec<Relocation>>,
    /// How many extents are moved; those that are moved twice count twice.
    pub extents: Extents,
    /// How many segments the volumes have before and after.
    pub segments: (usize, usize),
    /// The volumes, or parts of them, that do not become contiguous: there is no room, or they must
    /// stay where they are.
    pub left: Vec<LvId>,
}

/// Plans what makes volumes contiguous.
pub fn plan_defrag(vg: &VolumeGroup, scope: DefragScope) -> Result<Defrag> {
    require_known_segments(vg)?;
    let mut now = vg.clone();
    let mut passes = Vec::new();
    while passes.len() < PASSES_MAX {
        let pass = next_pass(&now, scope);
        if pass.is_empty() {
            break;
        }
        now = relocated(&now, &pass)?;
        debug_assert_eq!(now.lv_count(), vg.lv_count(), "no volume comes or goes");
        passes.push(pass);
    }
    assert!(passes.len() <= PASSES_MAX, "passes have a limit");
    assert!(
        passes.iter().all(|pass| !pass.is_empty()),
        "each pass gets on"
    );
    let relations = Relations::of(&now);
    let mut left: Vec<LvId> = Vec::new();
    for column in columns(&now) {
        if !column.is_joined() && scope.has(&relations, column.lv) && !left.contains(&column.lv) {
            left.push(column.lv);
        }
    }
    let all = passes.iter().flatten();
    Ok(Defrag {
        extents: all.map(|one| one.from.length).sum(),
        segments: (segments(vg, scope), segments(&now, scope)),
        passes,
        left,
    })
}

impl DefragScope {
    fn has(self, relations: &Relations, lv: LvId) -> bool {
        match self {
            Self::Volume(whole) => is_part_of(relations, lv, whole),
            Self::Group | Self::GroupToStart => true,
        }
    }
}

/// What can be moved now.
fn next_pass(vg: &VolumeGroup, scope: DefragScope) -> Vec<Relocation> {
    let relations = Relations::of(vg);
    let movable = movable(vg, &relations);
    let mut space = Space::of(vg);
    let open = movable.iter();
    let open = open.filter(|column| !column.is_joined() && scope.has(&relations, column.lv));
    let open: Vec<&Column> = open.collect();
    let prefer = match scope {
        DefragScope::GroupToStart => Prefer::Front,
        _ => Prefer::Cheapest,
    };
    let mut pass = join_all(&mut space, &open, prefer);
    if pass.is_empty() && scope == DefragScope::GroupToStart {
        let pvs: Vec<_> = space.pvs().collect();
        for pv in pvs {
            pass.extend(pack(vg, pv, &movable, &mut space));
        }
    }
    if pass.is_empty() {
        let mut found = open.iter();
        let found = found.find_map(|column| elsewhere(vg, &relations, &space, column));
        pass.extend(found.into_iter().flatten());
    }
    pass
}

/// Moves columns to where they are in one piece: those that get there at once, and only if there
/// are none, on each physical volume the one that is there soonest. For what others leave may be
/// nearer to what gets past itself.
fn join_all(space: &mut Space, open: &[&Column], prefer: Prefer) -> Vec<Relocation> {
    let mut pass: Vec<Relocation> = Vec::new();
    for column in open {
        if pass.len() >= RELOCATIONS_MAX {
            return pass;
        }
        let course = join(space, column, prefer).filter(|course| course.passes == 1);
        pass.extend(take(space, course));
    }
    if !pass.is_empty() {
        return pass;
    }
    let pvs: BTreeSet<PvId> = open.iter().map(|column| column.pv).collect();
    for pv in pvs {
        let mine = open.iter().filter(|column| column.pv == pv);
        let courses = mine.filter_map(|column| join(space, column, prefer));
        let soonest = courses.min_by_key(|course| course.passes);
        pass.extend(take(space, soonest));
    }
    pass
}

fn take(space: &mut Space, course: Option<Course>) -> Vec<Relocation> {
    let moves = course.map_or_else(Vec::new, |course| course.moves);
    for one in &moves {
        space.take(one.to.0, one.target());
    }
    moves
}

/// How many segments of extents there are.
fn segments(vg: &VolumeGroup, scope: DefragScope) -> usize {
    let relations = Relations::of(vg);
    let volumes = vg.lvs().filter(|(lv, _)| scope.has(&relations, *lv));
    let segments = volumes.flat_map(|(_, volume)| &volume.segments);
    let on_extents = segments.filter(|segment| {
        let mut areas = segment.areas().iter();
        areas.any(|area| matches!(area, crate::model::Area::Pv { .. }))
    });
    on_extents.count()
}
