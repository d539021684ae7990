//! What a segment stands on: which areas, how long each, and which volumes it refers to as what.
//!
//! ```text
//!     type              length of each area           areas
//!     striped           length / areas                extents of PVs or LVs
//!     mirror            length                        extents of PVs (a move) or LVs
//!     raid1             length                        images, and a meta volume for each
//!     raid4, 5, 6       length / (images - parity)
//!     raid10            length * copies / images
//!     raid0             length / images
//! ```
//!
//! Only areas take extents of physical volumes; all other references are to whole volumes.

use alloc::vec;
use alloc::vec::Vec;

use super::extras::Extras;
use super::ids::LvId;
use super::raid_level::RaidFamily;
use super::segment::{Area, Mirror, Segment, SegmentType, Striped, ThinMessage};
use super::vg::VolumeGroup;
use crate::{Extents, Sectors};

/// As what a segment refers to a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// An area of a linear or striped segment.
    Area,
    /// A copy in a mirror.
    MirrorImage,
    /// The log of a mirror.
    MirrorLog,
    /// The data of the image with this number.
    RaidImage(usize),
    /// The metadata of the image with this number.
    RaidMeta(usize),
    /// That of which a snapshot is.
    SnapshotOrigin,
    /// The store of a snapshot's changes.
    SnapshotCow,
    /// The blocks of a thin pool.
    ThinPoolData,
    /// The mapping of a thin pool.
    ThinPoolMetadata,
    /// The pool of a thin volume.
    ThinPool,
    /// That of which a thin volume is a snapshot.
    ThinOrigin,
    /// A read-only volume behind a thin one.
    ThinExternalOrigin,
    /// The thin volume that another one will replace.
    ThinMerge,
    /// The volume that a thin pool is still to create.
    ThinMessage,
    /// The blocks of a cache pool.
    CachePoolData,
    /// The mapping of a cache pool.
    CachePoolMetadata,
    /// The cache in front of a volume.
    CachePool,
    /// The volume behind a cache.
    CacheOrigin,
    /// The cache for writes in front of a volume.
    Writecache,
    /// The volume behind a cache for writes.
    WritecacheOrigin,
    /// The data of a volume with checksums.
    IntegrityOrigin,
    /// The checksums.
    IntegrityMetadata,
    /// All that a VDO pool has.
    VdoPoolData,
    /// The pool of a VDO volume.
    VdoPool,
}

impl Part {
    /// Whether the volume is a part of the one that refers to it, and of no other.
    pub fn is_component(self) -> bool {
        !matches!(
            self,
            Self::SnapshotOrigin
                | Self::ThinPool
                | Self::ThinOrigin
                | Self::ThinExternalOrigin
                | Self::ThinMerge
                | Self::ThinMessage
                | Self::VdoPool
        )
    }
}

impl Segment {
    /// A segment without tags, flags or unknown keys.
    pub fn new(start: Extents, length: Extents, kind: SegmentType) -> Self {
        Self {
            start,
            length,
            reshape: Extents::ZERO,
            tags: Vec::new(),
            kind,
            type_flags: Vec::new(),
            extra: Extras::default(),
        }
    }

    /// A linear segment: one area.
    pub fn linear(start: Extents, length: Extents, area: Area) -> Self {
        let striped = Striped {
            stripe_size: Sectors::ZERO,
            areas: vec![area],
        };
        Self::new(start, length, SegmentType::Striped(striped))
    }

    /// The first extent behind it.
    pub fn end(&self) -> Extents {
        // Both come from 32 bits.
        self.start + self.length
    }

    /// Its areas that are extents, on physical volumes or inside other volumes.
    pub fn areas(&self) -> &[Area] {
        match &self.kind {
            SegmentType::Striped(striped) => &striped.areas,
            SegmentType::Mirror(mirror) => &mirror.images,
            _ => &[],
        }
    }

    /// The same, to be changed.
    pub fn areas_mut(&mut self) -> &mut [Area] {
        match &mut self.kind {
            SegmentType::Striped(striped) => &mut striped.areas,
            SegmentType::Mirror(mirror) => &mut mirror.images,
            _ => &mut [],
        }
    }

    /// How many extents each of its areas or images has; `None` where that does not come out even,
    /// or where the type has none.
    pub fn area_length(&self) -> Option<Extents> {
        match &self.kind {
            SegmentType::Striped(striped) => {
                let count = striped.areas.len() as u64;
                let is_even = count > 0 && self.length.0.is_multiple_of(count);
                is_even.then(|| Extents(self.length.0 / count))
            }
            SegmentType::Raid(raid) => {
                let (copies, images) = (raid.copies(), raid.images.len());
                let usable = self.usable_length();
                let data = raid.level.image_length(usable, images, copies)?;
                Some(Extents(data.0.checked_add(self.reshape.0)?))
            }
            SegmentType::Mirror(_)
            | SegmentType::ThinPool(_)
            | SegmentType::CachePool(_)
            | SegmentType::Cache(_)
            | SegmentType::Writecache(_)
            | SegmentType::Integrity(_)
            | SegmentType::VdoPool(_)
            | SegmentType::Vdo(_) => Some(self.length),
            SegmentType::Zero
            | SegmentType::Error
            | SegmentType::Snapshot(_)
            | SegmentType::Thin(_)
            | SegmentType::Unknown(_) => None,
        }
    }

    /// How many of its extents hold data: a reshape sets some aside on each data image, and of
    /// RAID 10 they count on every image.
    pub fn usable_length(&self) -> Extents {
        let data_images = match &self.kind {
            SegmentType::Raid(raid) if raid.level.family() == RaidFamily::Raid10 => {
                raid.images.len() as u64
            }
            SegmentType::Raid(raid) => {
                let copies = raid.copies();
                raid.level.data_images(raid.images.len(), copies) as u64
            }
            _ => 0,
        };
        Extents(
            self.length
                .0
                .saturating_sub(self.reshape.0.saturating_mul(data_images)),
        )
    }

    /// What reports show as its areas, each with its length: extents, images, and of the other
    /// types the volume that holds their data.
    pub fn reported_areas(&self, vg: &VolumeGroup) -> Vec<(Area, Extents)> {
        let length = self.area_length().unwrap_or_default();
        let whole = |lv: LvId| {
            (
                Area::Lv {
                    lv,
                    start: Extents::ZERO,
                },
                length,
            )
        };
        match &self.kind {
            SegmentType::Striped(_) | SegmentType::Mirror(_) => {
                self.areas().iter().map(|area| (*area, length)).collect()
            }
            SegmentType::Raid(raid) => raid.images.iter().map(|image| whole(image.data)).collect(),
            SegmentType::ThinPool(pool) => vec![whole(pool.data)],
            SegmentType::CachePool(pool) => vec![whole(pool.data)],
            SegmentType::Cache(cache) => vec![whole(cache.origin)],
            SegmentType::Writecache(cache) => vec![whole(cache.origin)],
            SegmentType::Integrity(integrity) => vec![whole(integrity.origin)],
            SegmentType::VdoPool(pool) => vec![whole(pool.data)],
            SegmentType::Vdo(vdo) => {
                let start = vdo.offset;
                vec![(
                    Area::Lv {
                        lv: vdo.pool,
                        start,
                    },
                    length.min(vg.lv(vdo.pool).extents()),
                )]
            }
            SegmentType::Zero
            | SegmentType::Error
            | SegmentType::Snapshot(_)
            | SegmentType::Thin(_)
            | SegmentType::Unknown(_) => Vec::new(),
        }
    }

    /// The name of its type as reports show it: `linear` for one area.
    pub fn type_name(&self) -> &str {
        match &self.kind {
            SegmentType::Striped(striped) if striped.areas.len() == 1 => "linear",
            kind => kind.name(),
        }
    }

    /// Tells `visit` of each volume that it refers to, and as what. A volume may come twice.
    pub fn for_each_reference(&self, mut visit: impl FnMut(LvId, Part)) {
        for area in self.areas() {
            if let Area::Lv { lv, .. } = area {
                let is_mirror = matches!(self.kind, SegmentType::Mirror(_));
                visit(
                    *lv,
                    if is_mirror {
                        Part::MirrorImage
                    } else {
                        Part::Area
                    },
                );
            }
        }
        match &self.kind {
            SegmentType::Mirror(Mirror { log: Some(log), .. }) => visit(*log, Part::MirrorLog),
            SegmentType::Raid(raid) => {
                for (index, image) in raid.images.iter().enumerate() {
                    image
                        .meta
                        .into_iter()
                        .for_each(|meta| visit(meta, Part::RaidMeta(index)));
                    visit(image.data, Part::RaidImage(index));
                }
            }
            SegmentType::Snapshot(snapshot) => {
                visit(snapshot.origin, Part::SnapshotOrigin);
                visit(snapshot.cow, Part::SnapshotCow);
            }
            SegmentType::ThinPool(pool) => {
                visit(pool.data, Part::ThinPoolData);
                visit(pool.metadata, Part::ThinPoolMetadata);
                for message in &pool.messages {
                    if let ThinMessage::Create(lv) = message {
                        visit(*lv, Part::ThinMessage);
                    }
                }
            }
            SegmentType::Thin(thin) => {
                visit(thin.pool, Part::ThinPool);
                thin.origin
                    .into_iter()
                    .for_each(|lv| visit(lv, Part::ThinOrigin));
                thin.external_origin
                    .into_iter()
                    .for_each(|lv| visit(lv, Part::ThinExternalOrigin));
                thin.merge
                    .into_iter()
                    .for_each(|lv| visit(lv, Part::ThinMerge));
            }
            carried => carried.for_each_carried_reference(visit),
        }
    }
}

impl SegmentType {
    /// The references of the types that we only carry.
    fn for_each_carried_reference(&self, mut visit: impl FnMut(LvId, Part)) {
        match self {
            Self::CachePool(pool) => {
                visit(pool.data, Part::CachePoolData);
                visit(pool.metadata, Part::CachePoolMetadata);
            }
            Self::Cache(cache) => {
                visit(cache.pool, Part::CachePool);
                visit(cache.origin, Part::CacheOrigin);
            }
            Self::Writecache(cache) => {
                visit(cache.cache, Part::Writecache);
                visit(cache.origin, Part::WritecacheOrigin);
            }
            Self::Integrity(integrity) => {
                visit(integrity.origin, Part::IntegrityOrigin);
                integrity
                    .metadata
                    .into_iter()
                    .for_each(|lv| visit(lv, Part::IntegrityMetadata));
            }
            Self::VdoPool(pool) => visit(pool.data, Part::VdoPoolData),
            Self::Vdo(vdo) => visit(vdo.pool, Part::VdoPool),
            _ => {}
        }
    }

    /// The name in the text, without suffixes.
    pub fn name(&self) -> &str {
        match self {
            Self::Striped(_) => "striped",
            Self::Zero => "zero",
            Self::Error => "error",
            Self::Mirror(_) => "mirror",
            Self::Raid(raid) => raid.level.name(),
            Self::Snapshot(_) => "snapshot",
            Self::ThinPool(_) => "thin-pool",
            Self::Thin(_) => "thin",
            Self::CachePool(_) => "cache-pool",
            Self::Cache(_) => "cache",
            Self::Writecache(_) => "writecache",
            Self::Integrity(_) => "integrity",
            Self::VdoPool(_) => "vdo-pool",
            Self::Vdo(_) => "vdo",
            Self::Unknown(unknown) => &unknown.type_name,
        }
    }
}
