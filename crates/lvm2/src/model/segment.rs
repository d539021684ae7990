//! Segments: which extents of a logical volume are made of what.
//!
//! ```text
//!     logical volume   |0        4|4      7|7   9|
//!     segments          linear     linear   striped over two areas
//!     areas             pv0:8      pv1:0    pv0:12, pv2:3
//! ```
//!
//! A segment has a start, a length, and a type with its own fields. Types that stand on extents
//! or on other volumes name them as [`Area`]s or [`LvId`]s. Of the types that we only carry
//! (caches, integrity, VDO) the references are known and the settings are kept as they were; a
//! type that we have never heard of is kept whole.
//!
//! A new type is one variant here, one arm in `import/segment.rs` and one in `export/segment.rs`.

use alloc::string::String;
use alloc::vec::Vec;

use super::extras::Extras;
use super::flags::TypeFlag;
use super::ids::{LvId, PvId};
use super::raid_level::RaidLevel;
use super::vg::VolumeGroup;
use crate::text::Node;
use crate::{Extents, Sectors};

/// Copies of RAID 10 at least.
const RAID10_COPIES: u32 = 2;

/// A run of extents of a logical volume.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// The first extent in the volume.
    pub start: Extents,
    /// How many extents it has.
    pub length: Extents,
    /// Extents reserved for a reshape.
    pub reshape: Extents,
    /// The tags.
    pub tags: Vec<String>,
    /// What it is made of.
    pub kind: SegmentType,
    /// The flags behind the name of its type.
    pub type_flags: Vec<TypeFlag>,
    /// Keys that the model does not name; of the types that we only carry, their settings.
    pub extra: Extras,
}

/// What a segment is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum SegmentType {
    /// Pieces of one area after the other in turn; with one area, linear.
    Striped(Striped),
    /// Reads as zeros.
    Zero,
    /// Every access fails.
    Error,
    /// Copies, in the way of before RAID; also the temporary volume of a move.
    Mirror(Mirror),
    /// Copies or parity.
    Raid(Raid),
    /// Joins an origin and the store of its changes.
    Snapshot(Snapshot),
    /// Space from which thin volumes take blocks.
    ThinPool(ThinPool),
    /// A volume whose blocks come from a pool when they are first written.
    Thin(Thin),
    /// Data and metadata of a cache.
    CachePool(CachePool),
    /// A volume with a cache in front of it.
    Cache(Cache),
    /// A volume with a cache for writes in front of it.
    Writecache(Writecache),
    /// A volume with checksums.
    Integrity(Integrity),
    /// Space that compresses and deduplicates.
    VdoPool(VdoPool),
    /// A volume in such a space.
    Vdo(Vdo),
    /// A type that we do not know.
    Unknown(Unknown),
}

/// Where an area of a segment begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Area {
    /// On a physical volume.
    Pv {
        /// The physical volume.
        pv: PvId,
        /// Its first extent there.
        start: Extents,
    },
    /// On another logical volume.
    Lv {
        /// The logical volume.
        lv: LvId,
        /// Its first extent there.
        start: Extents,
    },
}

/// See [`SegmentType::Striped`].
#[derive(Debug, Clone, PartialEq)]
pub struct Striped {
    /// How much lies on one area before the next one's turn; meaningless with one area.
    pub stripe_size: Sectors,
    /// The areas, each of the segment's length divided by their count.
    pub areas: Vec<Area>,
}

/// See [`SegmentType::Mirror`].
#[derive(Debug, Clone, PartialEq)]
pub struct Mirror {
    /// Of a move: how many extents are already on the second area.
    pub extents_moved: Option<Extents>,
    /// Where it is noted which regions are in sync; without it, in memory.
    pub log: Option<LvId>,
    /// What one note covers.
    pub region_size: Sectors,
    /// The copies, each of the segment's length.
    pub images: Vec<Area>,
}

/// See [`SegmentType::Raid`].
#[derive(Debug, Clone, PartialEq)]
pub struct Raid {
    /// The level with its layout.
    pub level: RaidLevel,
    /// Copies of RAID 10, where the text says so.
    pub data_copies: Option<u32>,
    /// What one bit of the bitmap covers; zero for RAID 0.
    pub region_size: Sectors,
    /// How much lies on one image before the next one's turn; zero for RAID 1.
    pub stripe_size: Sectors,
    /// RAID 1: writes that may wait for write-mostly images.
    pub write_behind: Option<u32>,
    /// KiB per second that a resync may always use.
    pub min_recovery_rate: Option<u32>,
    /// KiB per second that a resync may use at most.
    pub max_recovery_rate: Option<u32>,
    /// Of a reshape: where the data begins on each image.
    pub data_offset: Option<Sectors>,
    /// The images with their metadata.
    pub images: Vec<RaidImage>,
}

impl Raid {
    /// How many copies RAID 10 has; of other levels it does not matter.
    ///
    /// Two where the text does not say, or says one, as it does in the middle of a reshape.
    pub fn copies(&self) -> u32 {
        self.data_copies.unwrap_or(RAID10_COPIES).max(RAID10_COPIES)
    }

    /// How many images a reshape takes away, which are the last ones; never all.
    pub fn leaving(&self, vg: &VolumeGroup) -> usize {
        let goes = |image: &&RaidImage| vg.lv(image.data).goes_after_reshape();
        let count = self.images.iter().rev().take_while(goes).count();
        count.min(self.images.len().saturating_sub(1))
    }
}

/// One leg of a [`Raid`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RaidImage {
    /// The volume that holds the superblock and the bitmap.
    pub meta: Option<LvId>,
    /// The volume that holds the data.
    pub data: LvId,
}

/// See [`SegmentType::Snapshot`].
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The unit of copying.
    pub chunk_size: Sectors,
    /// The volume of which this is a snapshot.
    pub origin: LvId,
    /// The volume that holds the changes; people know the snapshot under its name.
    pub cow: LvId,
    /// Whether the snapshot is on its way back into its origin.
    pub state: SnapshotState,
}

/// What a snapshot is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotState {
    /// It stands beside its origin.
    Apart,
    /// It is being merged back, or will be at the next activation.
    Merging,
}

/// What a thin pool does with discards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discards {
    /// Nothing.
    Ignore,
    /// Frees blocks, and does not tell the devices.
    NoPassdown,
    /// Frees blocks and tells the devices.
    Passdown,
}

/// Something that a thin pool is to be told at its next activation.
#[derive(Debug, Clone, PartialEq)]
pub enum ThinMessage {
    /// Create the thin device of this volume.
    Create(LvId),
    /// Delete the device with this id.
    Delete(u32),
    /// One that we do not know: its entries.
    Unknown(Vec<Node<'static>>),
}

/// See [`SegmentType::ThinPool`].
#[derive(Debug, Clone, PartialEq)]
pub struct ThinPool {
    /// The volume that holds the mapping.
    pub metadata: LvId,
    /// The volume that holds the blocks.
    pub data: LvId,
    /// Counts changes; must match what the pool's own metadata says.
    pub transaction_id: u64,
    /// The size of a block.
    pub chunk_size: Sectors,
    /// What happens to discards, where the text says so.
    pub discards: Option<Discards>,
    /// Whether blocks are zeroed before they are first used.
    pub zero_new_blocks: ZeroNewBlocks,
    /// Messages that the pool has not been told yet.
    pub messages: Vec<ThinMessage>,
}

/// Whether a thin pool zeroes blocks before they are first used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZeroNewBlocks {
    /// It does.
    Yes,
    /// It does not: what is not overwritten shows what was there before.
    No,
}

/// See [`SegmentType::Thin`].
#[derive(Debug, Clone, PartialEq)]
pub struct Thin {
    /// The pool.
    pub pool: LvId,
    /// The pool's count when this volume was created.
    pub transaction_id: u64,
    /// The number under which the pool knows it; 24 bits.
    pub device_id: u32,
    /// A read-only volume outside the pool that shows through.
    pub external_origin: Option<LvId>,
    /// The thin volume of which this is a snapshot.
    pub origin: Option<LvId>,
    /// The thin volume that this one will replace at the next activation.
    pub merge: Option<LvId>,
}

/// See [`SegmentType::CachePool`].
#[derive(Debug, Clone, PartialEq)]
pub struct CachePool {
    /// The volume that holds the cached blocks.
    pub data: LvId,
    /// The volume that holds the mapping.
    pub metadata: LvId,
}

/// See [`SegmentType::Cache`].
#[derive(Debug, Clone, PartialEq)]
pub struct Cache {
    /// The cache: a pool, or a volume that holds both its parts.
    pub pool: LvId,
    /// The volume behind it.
    pub origin: LvId,
}

/// See [`SegmentType::Writecache`].
#[derive(Debug, Clone, PartialEq)]
pub struct Writecache {
    /// The fast volume.
    pub cache: LvId,
    /// The volume behind it.
    pub origin: LvId,
}

/// See [`SegmentType::Integrity`].
#[derive(Debug, Clone, PartialEq)]
pub struct Integrity {
    /// The volume with the data.
    pub origin: LvId,
    /// The volume with the checksums, where they do not lie between the data.
    pub metadata: Option<LvId>,
}

/// See [`SegmentType::VdoPool`].
#[derive(Debug, Clone, PartialEq)]
pub struct VdoPool {
    /// The volume that holds everything.
    pub data: LvId,
}

/// See [`SegmentType::Vdo`].
#[derive(Debug, Clone, PartialEq)]
pub struct Vdo {
    /// The pool.
    pub pool: LvId,
    /// Where it begins in the pool's virtual space.
    pub offset: Extents,
}

/// See [`SegmentType::Unknown`].
#[derive(Debug, Clone, PartialEq)]
pub struct Unknown {
    /// The whole `type`, with its suffixes.
    pub type_name: String,
    /// Everything behind `type` and `tags`, as it was.
    pub nodes: Vec<Node<'static>>,
}
