//! What should lie in one piece: the same area of neighbouring segments on one physical volume.
//!
//! ```text
//!     segments   |a0:5 4  |a0:20 2|a1:0 3 |           a column of two runs, and one of one
//!                |b1:7 4  |b1:11 2|                   the other stripe: a column of one run
//! ```

use alloc::vec::Vec;

use crate::Extents;
use crate::model::{Area, ExtentRange, LvId, PvId, Relations, Segment, SegmentType, VolumeGroup};
use crate::plan::physical::pvmove::{obstacle, stripe_unit};
use crate::plan::segments::are_alike;

/// Extents of a column that lie in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// In extents from the column's start.
    pub(super) offset: Extents,
    /// Where it lies.
    pub(super) start: Extents,
    pub(super) length: Extents,
}

/// What should lie in one piece.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) lv: LvId,
    /// The index of its first segment, and how many there are.
    pub(super) segments: (usize, usize),
    /// Which of their areas.
    pub(super) area: usize,
    pub(super) pv: PvId,
    /// It can be cut only at multiples of this.
    pub(super) unit: Extents,
    /// In the order of the volume.
    pub(super) runs: Vec<Run>,
    pub(super) length: Extents,
}

impl Run {
    pub(super) fn place(&self) -> ExtentRange {
        ExtentRange {
            start: self.start,
            length: self.length,
        }
    }
}

impl Column {
    pub(super) fn is_joined(&self) -> bool {
        self.runs.len() == 1
    }
}

/// All columns of a group, in the order of the text.
pub(super) fn columns(vg: &VolumeGroup) -> Vec<Column> {
    let mut found = Vec::new();
    for (lv, volume) in vg.lvs() {
        let mut at = 0;
        while at < volume.segments.len() {
            let rest = &volume.segments[at..];
            let more = rest.windows(2);
            let more = more.take_while(|pair| are_alike(&pair[0], &pair[1]));
            let count = 1 + more.count();
            for area in 0..rest[0].areas().len() {
                found.extend(column(vg, lv, (at, count), area));
            }
            at += count;
        }
    }
    found
}

/// The same without those whose volumes must stay where they are.
pub(super) fn movable(vg: &VolumeGroup, relations: &Relations) -> Vec<Column> {
    let mut all = columns(vg);
    all.retain(|column| obstacle(vg, relations, column.lv).is_none());
    all
}

fn column(vg: &VolumeGroup, lv: LvId, segments: (usize, usize), area: usize) -> Option<Column> {
    let (first, count) = segments;
    let all = &vg.lv(lv).segments[first..first + count];
    let is_plain = |segment: &Segment| matches!(segment.kind, SegmentType::Striped(_));
    let Area::Pv { pv, .. } = all[0].areas()[area] else {
        return None;
    };
    if !all.iter().all(is_plain) {
        return None;
    }
    let mut runs: Vec<Run> = Vec::new();
    let mut offset = Extents::ZERO;
    for segment in all {
        let length = segment.area_length()?;
        let Area::Pv { start, .. } = segment.areas()[area] else {
            return None;
        };
        match runs.last_mut() {
            Some(last) if last.start + last.length == start => last.length += length,
            _ => runs.push(Run {
                offset,
                start,
                length,
            }),
        }
        offset += length;
    }
    let sum: Extents = runs.iter().map(|run| run.length).sum();
    assert_eq!(sum, offset, "the runs are all of the column");
    assert!(!runs.is_empty(), "a column has a run");
    Some(Column {
        lv,
        segments,
        area,
        pv,
        unit: stripe_unit(vg, &all[0]),
        runs,
        length: offset,
    })
}
