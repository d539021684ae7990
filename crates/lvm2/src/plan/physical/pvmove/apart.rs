//! Which physical volumes a target must keep away from.
//!
//! ```text
//!     m_mimage_0  on pv0, moves     must not come to pv1 (the other copy),
//!     m_mimage_1  on pv1            and should not come to pv2
//!     m_mlog      on pv2
//! ```
//!
//! Copies in a mirror, images of a RAID and stripes of a segment are *siblings*: losing one
//! physical volume must not lose two of them. What holds for a volume holds for its parts, so all
//! volumes above are looked at. Siblings that shared the source already may share a target where
//! there is no other.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::Extents;
use crate::model::{Area, LvId, PvId, Relations, Segment, SegmentType, VolumeGroup};

/// Where a target must not be, and where it should not be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::plan::physical) struct Apart {
    pub(in crate::plan::physical) must: BTreeSet<PvId>,
    pub(in crate::plan::physical) should: BTreeSet<PvId>,
}

/// An area of a segment: the volume, and the indices of both.
pub(in crate::plan::physical) type AreaKey = (LvId, usize, usize);

/// A group whose extents are being given targets.
#[derive(Debug)]
pub(in crate::plan::physical) struct Siblings<'a> {
    vg: &'a VolumeGroup,
    relations: &'a Relations,
    source: PvId,
    /// The targets so far.
    targets: BTreeMap<AreaKey, BTreeSet<PvId>>,
}

/// How strictly to keep away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Distance {
    Must,
    Should,
}

impl<'a> Siblings<'a> {
    pub(in crate::plan::physical) fn new(
        vg: &'a VolumeGroup,
        relations: &'a Relations,
        source: PvId,
    ) -> Self {
        Self {
            vg,
            relations,
            source,
            targets: BTreeMap::new(),
        }
    }

    /// Notes that extents of an area come to `pv`.
    pub(super) fn note(&mut self, area: AreaKey, pv: PvId) {
        self.targets.entry(area).or_default().insert(pv);
    }

    /// What all extents of a volume must keep away from, as long as others get no targets.
    pub(in crate::plan::physical) fn of_volume(&self, lv: LvId) -> Apart {
        let mut apart = Apart::default();
        let mut seen = BTreeSet::from([lv]);
        let mut below = lv;
        while let Some(used) = self.relations.component_use(below) {
            if !seen.insert(used.by) {
                break;
            }
            let parent = &self.vg.lv(used.by).segments[used.segment];
            self.add_siblings(&mut apart, parent, below);
            below = used.by;
        }
        self.without_source(apart)
    }

    /// What those of an area must keep away from: `volume`, and its segment's other stripes.
    pub(in crate::plan::physical) fn of_area(
        &self,
        (lv, segment, area): AreaKey,
        volume: &Apart,
    ) -> Apart {
        let mut apart = volume.clone();
        let stripes = self.vg.lv(lv).segments[segment].areas().len();
        for other in (0..stripes).filter(|other| *other != area) {
            self.add_area(&mut apart, Distance::Must, (lv, segment, other));
        }
        self.without_source(apart)
    }

    /// Siblings on the source may move as well; the source itself is a target only *anywhere*.
    fn without_source(&self, mut apart: Apart) -> Apart {
        apart.must.remove(&self.source);
        apart.should.remove(&self.source);
        apart
    }

    /// The siblings of `own` in a segment that it is a part of.
    fn add_siblings(&self, apart: &mut Apart, segment: &Segment, own: LvId) {
        match &segment.kind {
            SegmentType::Mirror(mirror) => {
                let is_log = mirror.log == Some(own);
                // A log may lie with a copy where there is no other place.
                let distance = if is_log {
                    Distance::Should
                } else {
                    Distance::Must
                };
                for area in &mirror.images {
                    if !matches!(area, Area::Lv { lv, .. } if *lv == own) {
                        self.add(apart, distance, area, segment.length);
                    }
                }
                if let Some(log) = mirror.log.filter(|_| !is_log) {
                    self.add_volume(apart, Distance::Should, log);
                }
            }
            SegmentType::Raid(raid) => {
                let others = raid
                    .images
                    .iter()
                    .filter(|image| image.data != own && image.meta != Some(own));
                for image in others {
                    self.add_volume(apart, Distance::Must, image.data);
                    if let Some(meta) = image.meta {
                        self.add_volume(apart, Distance::Must, meta);
                    }
                }
            }
            SegmentType::Striped(striped) => {
                for area in &striped.areas {
                    if !matches!(area, Area::Lv { lv, .. } if *lv == own) {
                        let length = segment.area_length().unwrap_or_default();
                        self.add(apart, Distance::Must, area, length);
                    }
                }
            }
            _ => {}
        }
    }

    fn add_volume(&self, apart: &mut Apart, distance: Distance, lv: LvId) {
        let area = Area::Lv {
            lv,
            start: Extents::ZERO,
        };
        self.add(apart, distance, &area, self.vg.lv(lv).extents());
    }

    /// Everything on which an area stands, at any depth.
    fn add(&self, apart: &mut Apart, distance: Distance, area: &Area, length: Extents) {
        let (lv, start) = match *area {
            Area::Pv { pv, .. } => {
                apart.add(distance, pv);
                return;
            }
            Area::Lv { lv, start } => (lv, start),
        };
        for (index, segment) in self.vg.lv(lv).segments.iter().enumerate() {
            if segment.end() <= start || start + length <= segment.start {
                continue;
            }
            for area in 0..segment.areas().len() {
                self.add_area(apart, distance, (lv, index, area));
            }
            segment.for_each_reference(|part, role| {
                let is_area = segment
                    .areas()
                    .iter()
                    .any(|area| matches!(area, Area::Lv { lv, .. } if *lv == part));
                if role.is_component() && !is_area {
                    self.add_volume(apart, distance, part);
                }
            });
        }
    }

    /// Where an area lies, and where it comes to.
    fn add_area(&self, apart: &mut Apart, distance: Distance, key: AreaKey) {
        let (lv, segment, area) = key;
        let segment = &self.vg.lv(lv).segments[segment];
        let area = &segment.areas()[area];
        let length = segment.area_length().unwrap_or(segment.length);
        self.add(apart, distance, area, length);
        // It shares the source now: then it may share a target.
        for pv in self.targets.get(&key).into_iter().flatten() {
            apart.add(Distance::Should, *pv);
        }
    }
}

impl Apart {
    fn add(&mut self, distance: Distance, pv: PvId) {
        match distance {
            Distance::Must => self.must.insert(pv),
            Distance::Should => self.should.insert(pv),
        };
    }

    /// All of them.
    pub(in crate::plan::physical) fn all(&self) -> BTreeSet<PvId> {
        self.must.union(&self.should).copied().collect()
    }
}
