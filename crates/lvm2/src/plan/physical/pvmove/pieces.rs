//! Extents that move are cut into pieces, each with its target, and the segments above them follow.
//!
//! An area's extents go into as few runs as there can be: behind those in front of them, if there
//! is space, else wherever the policy allows. What stands on them is cut where a run or a piece
//! ends, and nowhere else.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::apart::{Apart, Siblings};
use super::choose;
use super::layer::cut;
use crate::model::{
    AllocationPolicy, Area, LvId, PvId, Relations, Segment, SegmentType, VolumeGroup,
};
use crate::plan::allocate::{Allocated, Leg, Request, Shortage, allocate};
use crate::plan::draft::pv_name;
use crate::plan::places::{FreeSpace, Place};
use crate::{Error, Extents, Result};

/// Extents that are moved together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) length: Extents,
    pub(super) from: (PvId, Extents),
    pub(super) to: (PvId, Extents),
}

/// The pieces of a move in the making.
#[derive(Debug)]
pub(super) struct Pieces<'a> {
    vg: &'a VolumeGroup,
    source: &'a Place,
    siblings: Siblings<'a>,
    space: FreeSpace,
    policy: AllocationPolicy,
    /// The volume that has the pieces, one after the other.
    mover: LvId,
    made: Vec<Piece>,
    /// The extents in `made`.
    length: Extents,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(
        vg: &'a VolumeGroup,
        relations: &'a Relations,
        source: &'a Place,
        space: FreeSpace,
        policy: AllocationPolicy,
        mover: LvId,
    ) -> Self {
        Self {
            vg,
            source,
            siblings: Siblings::new(vg, relations, source.pv),
            space,
            policy,
            mover,
            made: Vec::new(),
            length: Extents::ZERO,
        }
    }

    /// All pieces, in the order of the mover's extents.
    pub(super) fn finish(self) -> Vec<Piece> {
        assert_eq!(
            self.made.iter().map(|piece| piece.length).sum::<Extents>(),
            self.length,
            "pieces are counted"
        );
        self.made
    }

    /// Refuses at once where there are fewer free extents than are to be moved from `lvs`.
    pub(super) fn require_space(&self, lvs: &[LvId], name: &str) -> Result<()> {
        let segments = lvs.iter().flat_map(|lv| &self.vg.lv(*lv).segments);
        let areas = segments.flat_map(|segment| {
            let length = segment.area_length().unwrap_or_default();
            let areas = if is_plain(segment) {
                segment.areas()
            } else {
                &[]
            };
            areas.iter().map(move |area| (area, length))
        });
        let parts = areas.flat_map(|(area, length)| choose::parts(area, length, self.source));
        let needed = parts.map(|part| part.length).sum();
        let available = self.space.total();
        if needed <= available {
            return Ok(());
        }
        let shortage = self.shortage(needed, needed - available);
        Err(not_made(self.vg, shortage.error(name), name))
    }

    /// Moves what a volume has on the source, in pieces of at most `longest`; what it is made of
    /// then. `name` is the mover's.
    pub(super) fn take(&mut self, lv: LvId, longest: Extents, name: &str) -> Result<Vec<Segment>> {
        let apart = self.siblings.of_volume(lv);
        let vg = self.vg;
        let mut made = Vec::new();
        // Where each area would go on.
        let mut behind = BTreeMap::new();
        for (index, segment) in vg.lv(lv).segments.iter().enumerate() {
            if !is_plain(segment) {
                made.push(segment.clone());
                continue;
            }
            let length = segment.area_length().unwrap_or_default();
            let mut ends = Vec::new();
            for area in segment.areas() {
                for part in choose::parts(area, length, self.source) {
                    ends.extend([part.start, part.end()]);
                }
            }
            for part in cut(vg, lv, segment, &ends)? {
                let step = steps(vg, &part, longest);
                let runs = self.place(&part, (lv, index), &apart, &mut behind, name)?;
                made.extend(self.split(lv, &part, &runs, step)?);
            }
        }
        let sum: Extents = made.iter().map(|part| part.length).sum();
        assert_eq!(sum, vg.lv(lv).extents(), "a volume keeps its length");
        Ok(made)
    }

    /// Targets for the areas of a segment that move, which they do whole: for each its runs.
    fn place(
        &mut self,
        segment: &Segment,
        (lv, index): (LvId, usize),
        apart: &Apart,
        behind: &mut BTreeMap<usize, (PvId, Extents)>,
        name: &str,
    ) -> Result<Vec<Option<Vec<Run>>>> {
        let length = segment.area_length().unwrap_or_default();
        let mut all = vec![None; segment.areas().len()];
        for (number, area) in segment.areas().iter().enumerate() {
            if choose::parts(area, length, self.source).is_empty() {
                continue;
            }
            let key = (lv, index, number);
            let apart = self.siblings.of_area(key, apart);
            let found = self.allocate(length, &apart, behind.get(&number).copied());
            let found = found.map_err(|shortage| self.refusal(shortage, &apart, name))?;
            let mut runs = Vec::new();
            let mut offset = Extents::ZERO;
            for run in found {
                let (pv, start) = run.areas[0];
                runs.push(Run { offset, pv, start });
                offset += run.length;
                self.siblings.note(key, pv);
                behind.insert(number, (pv, start + run.length));
            }
            assert_eq!(offset, length, "the runs are all of the area");
            all[number] = Some(runs);
        }
        Ok(all)
    }

    fn allocate(
        &mut self,
        length: Extents,
        apart: &Apart,
        behind: Option<(PvId, Extents)>,
    ) -> core::result::Result<Vec<Allocated>, Shortage> {
        let strict = apart.all();
        if let Some((pv, end)) = behind.filter(|(pv, _)| !strict.contains(pv)) {
            let leg = Leg {
                pvs: [pv].into(),
                behind: vec![(pv, end)],
            };
            let request = Request {
                legs: vec![leg],
                ..Request::new(length, 1, 1, AllocationPolicy::Contiguous)
            };
            if let Ok(found) = allocate(self.vg, &mut self.space, &request) {
                return Ok(found);
            }
        }
        // With *anywhere* siblings may meet, where there is no other place.
        let normal = match self.policy {
            AllocationPolicy::Anywhere => AllocationPolicy::Normal,
            policy => policy,
        };
        let attempts = [
            (strict, normal),
            (apart.must.clone(), normal),
            (apart.must.clone(), self.policy),
        ];
        let mut shortage = None;
        for (apart, policy) in attempts {
            let request = Request {
                apart,
                ..Request::new(length, 1, 1, policy)
            };
            match allocate(self.vg, &mut self.space, &request) {
                Ok(found) => return Ok(found),
                Err(other) => shortage = Some(other),
            }
        }
        Err(shortage.expect("there was an attempt"))
    }

    /// Cuts a segment where a run of one of its areas ends, and each `step` in between; its areas
    /// with runs stand on the mover then.
    fn split(
        &mut self,
        lv: LvId,
        segment: &Segment,
        runs: &[Option<Vec<Run>>],
        step: Extents,
    ) -> Result<Vec<Segment>> {
        if runs.iter().all(Option::is_none) {
            return Ok(vec![segment.clone()]);
        }
        let length = segment.area_length().unwrap_or_default();
        let starts = runs.iter().flatten().flatten().map(|run| run.offset);
        let mut ends: Vec<Extents> = starts.collect();
        ends.push(length);
        ends.sort_unstable();
        ends.dedup();
        assert!(step > Extents::ZERO, "pieces have extents");
        let mut places = Vec::new();
        for pair in ends.windows(2) {
            let mut at = pair[0];
            while at < pair[1] {
                places.push(at);
                at += step;
            }
        }
        let mut parts = cut(self.vg, lv, segment, &places)?;
        for (number, runs) in runs.iter().enumerate() {
            let Some(runs) = runs else { continue };
            let mut offset = Extents::ZERO;
            for part in &mut parts {
                let length = part.area_length().unwrap_or_default();
                let area = &mut part.areas_mut()[number];
                let Area::Pv { pv, start } = *area else {
                    unreachable!("only extents of a physical volume have runs");
                };
                let run = runs.iter().rev().find(|run| run.offset <= offset);
                let run = run.expect("the first run begins with the area");
                self.made.push(Piece {
                    length,
                    from: (pv, start),
                    to: (run.pv, run.start + (offset - run.offset)),
                });
                *area = Area::Lv {
                    lv: self.mover,
                    start: self.length,
                };
                self.length += length;
                offset += length;
            }
            assert_eq!(offset, length, "all of the area stands on the move");
        }
        Ok(parts)
    }

    /// The shortage in stock's words, and what else it is due to.
    fn refusal(&self, mut shortage: Shortage, apart: &Apart, name: &str) -> Error {
        shortage.available = self.space.without(&apart.must).total();
        let mut error = shortage.error(name);
        let usable = self.space.places().iter().map(|place| place.pv);
        let kept_away: Vec<String> = usable
            .filter(|pv| apart.must.contains(pv))
            .map(|pv| pv_name(self.vg, pv))
            .collect();
        if !kept_away.is_empty() {
            error.context.push_str("; other copies or stripes are on ");
            error.context.push_str(&kept_away.join(", "));
        }
        not_made(self.vg, error, name)
    }

    fn shortage(&self, needed: Extents, missing: Extents) -> Shortage {
        Shortage {
            needed,
            available: self.space.total(),
            missing,
            policy: self.policy,
            areas: 1,
        }
    }
}

/// A refusal for want of space, with what stock says behind it.
fn not_made(vg: &VolumeGroup, mut error: Error, name: &str) -> Error {
    let behind = format!(
        "\nUnable to allocate mirror extents for {}/{name}.\nFailed to convert pvmove LV to \
         mirrored.",
        vg.name
    );
    error.context.push_str(&behind);
    error
}

/// Where a part of an area comes to: as far as the next one goes, or the area's end.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// In extents from the area's start.
    offset: Extents,
    pv: PvId,
    start: Extents,
}

pub(super) fn is_plain(segment: &Segment) -> bool {
    matches!(segment.kind, SegmentType::Striped(_))
}

/// The longest piece of at most `longest` extents that whole stripes divide into.
pub(super) fn steps(vg: &VolumeGroup, segment: &Segment, longest: Extents) -> Extents {
    let unit = stripe_unit(vg, segment).0;
    Extents((longest.0 / unit).max(1).saturating_mul(unit))
}

/// An area can be cut only at multiples of this.
pub(in crate::plan::physical) fn stripe_unit(vg: &VolumeGroup, segment: &Segment) -> Extents {
    match &segment.kind {
        SegmentType::Striped(striped) if striped.areas.len() > 1 => {
            Extents(striped.stripe_size.0.div_ceil(vg.extent_size.0).max(1))
        }
        _ => Extents(1),
    }
}
