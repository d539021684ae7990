//! The volume of a layout, and the checks of the whole.

use block::sim::Random;
use dm::mirror::log_length;
use dm::snapshot::{CHUNK_MAX, SNAPSHOTS_MAX};

use super::disk::Disk;
use super::raid::Array;
use crate::disk::link::Network;
use crate::error::{Error, Kind, Result};

/// Segments of a volume at most, after cutting.
const SEGMENTS_MAX: u64 = 1 << 16;
/// Disks at most.
const DISKS_MAX: usize = 1024;
/// Loops at most: what the loop driver of a kernel is nested in practice, and one more.
const LOOPS_MAX: usize = 3;
/// Sizes and places are multiples of this, in bytes.
const BLOCK: u64 = 512;
/// How far a replicate moves a volume at most, in bytes: over some tracks, within its zone.
const MOVE_MAX: u64 = 16 << 20;
/// And in which steps, so that what was aligned stays so.
const MOVE_STEP: u64 = 4096;

/// A stack of storage.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// What the text calls it.
    pub name: String,
    /// The disks, counted from 0.
    pub disks: Vec<Disk>,
    /// Whether the disks share one bus.
    pub buses: Buses,
    /// The volume, from its first byte to its last.
    pub volume: Vec<Segment>,
    /// What a lookup costs; 0 for a partition, where nobody looks anything up.
    pub mapping_ns: u64,
    /// What nested loop devices cost, the innermost first.
    pub loops: Vec<Loop>,
    /// The network between the volume and whoever uses it.
    pub link: Option<Network>,
}

/// Whether disks share a bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Buses {
    /// Each has its own.
    #[default]
    Own,
    /// All share one.
    Shared,
}

/// A loop device, as a server that works on one request at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loop {
    /// Nanoseconds for each request.
    pub request_ns: u64,
    /// Nanoseconds for each KiB of a request.
    pub kib_ns: u64,
}

/// A place on a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// The disk, from 0.
    pub disk: usize,
    /// First byte.
    pub start: u64,
}

/// A part of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// `len` bytes of one disk, perhaps cut up.
    Linear {
        /// Bytes.
        len: u64,
        /// Where they begin.
        area: Area,
        /// How they are cut into segments.
        cut: Option<Cut>,
    },
    /// `len` bytes in turns of `chunk` bytes over areas, which may lie on one disk.
    Striped {
        /// Bytes of all areas together.
        len: u64,
        /// Bytes of a turn.
        chunk: u64,
        /// Where the columns begin.
        areas: Vec<Area>,
    },
    /// `len` bytes on each of the legs.
    Mirror {
        /// Bytes.
        len: u64,
        /// What one bit of the log covers, in bytes.
        region: u64,
        /// Where the copies begin.
        legs: Vec<Area>,
        /// Where the log begins; `None`: it is in memory.
        log: Option<Area>,
    },
    /// `len` bytes of one disk, of which snapshots were just made.
    Origin {
        /// Bytes.
        len: u64,
        /// Bytes of a chunk of the stores.
        chunk: u64,
        /// Where the origin's own bytes begin.
        origin: Area,
        /// The stores of the snapshots.
        stores: Vec<Store>,
    },
    /// A part of an array.
    Raid(Array),
}

/// The store of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Store {
    /// Where it begins.
    pub area: Area,
    /// Its bytes.
    pub len: u64,
}

/// How a linear run is cut into pieces of equal length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// How many.
    pub pieces: u64,
    /// In which order the volume has them.
    pub order: Order,
    /// Bytes of the disk left out between two pieces, so that they cannot be taken for one.
    pub gap: u64,
}

/// The order of pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As they lie on the disk.
    Ordered,
    /// By the seed.
    Shuffled,
}

impl Segment {
    /// Bytes of the volume.
    pub fn len(&self) -> u64 {
        match self {
            Self::Linear { len, .. }
            | Self::Striped { len, .. }
            | Self::Mirror { len, .. }
            | Self::Origin { len, .. }
            | Self::Raid(Array { len, .. }) => *len,
        }
    }

    /// Whether it has no bytes; a valid one has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What it takes of disks: place and bytes of each area.
    pub fn areas(&self) -> Vec<(Area, u64)> {
        match self {
            Self::Linear { len, area, cut } => {
                let gaps = cut.map_or(0, |cut| (cut.pieces - 1).saturating_mul(cut.gap));
                vec![(*area, len.saturating_add(gaps))]
            }
            Self::Striped { len, areas, .. } => {
                let share = len / (areas.len() as u64).max(1);
                areas.iter().map(|area| (*area, share)).collect()
            }
            Self::Mirror {
                len,
                region,
                legs,
                log,
            } => {
                let log = log.map(|log| (log, log_length(len.div_ceil(*region))));
                legs.iter().map(|leg| (*leg, *len)).chain(log).collect()
            }
            Self::Origin {
                len,
                origin,
                stores,
                ..
            } => {
                let stores = stores.iter().map(|store| (store.area, store.len));
                std::iter::once((*origin, *len)).chain(stores).collect()
            }
            Self::Raid(array) => {
                let bytes = array.leg_bytes();
                array.legs.iter().map(|leg| (*leg, bytes)).collect()
            }
        }
    }

    /// The areas, to be moved or numbered anew, in the order of [`Self::areas`].
    pub(crate) fn areas_mut(&mut self) -> Vec<&mut Area> {
        match self {
            Self::Linear { area, .. } => vec![area],
            Self::Striped { areas, .. } => areas.iter_mut().collect(),
            Self::Mirror { legs, log, .. } => legs.iter_mut().chain(log).collect(),
            Self::Origin { origin, stores, .. } => {
                let stores = stores.iter_mut().map(|store| &mut store.area);
                std::iter::once(origin).chain(stores).collect()
            }
            Self::Raid(array) => array.legs.iter_mut().collect(),
        }
    }

    fn check(&self) -> std::result::Result<(), String> {
        if self.is_empty() || !self.len().is_multiple_of(BLOCK) {
            return Err(format!("{} bytes; whole blocks are needed", self.len()));
        }
        match self {
            Self::Linear { len, cut, .. } => {
                let Some(cut) = cut else { return Ok(()) };
                let step = cut.pieces.saturating_mul(BLOCK);
                if step == 0 || cut.pieces > SEGMENTS_MAX || !len.is_multiple_of(step) {
                    let pieces = cut.pieces;
                    return Err(format!("{len} bytes cannot be cut into {pieces} pieces"));
                }
                if !cut.gap.is_multiple_of(BLOCK) {
                    return Err(format!("a gap of {} bytes", cut.gap));
                }
            }
            Self::Striped { len, chunk, areas } => {
                let width = chunk.saturating_mul(areas.len() as u64);
                if width == 0 || !chunk.is_multiple_of(BLOCK) || !len.is_multiple_of(width) {
                    let count = areas.len();
                    return Err(format!(
                        "{len} bytes are no whole number of {count} chunks of {chunk} bytes"
                    ));
                }
            }
            Self::Mirror { region, legs, .. } => {
                if legs.len() < 2 {
                    return Err("a mirror of fewer than two legs".to_owned());
                }
                if !region.is_power_of_two() || *region < BLOCK {
                    return Err(format!("regions of {region} bytes; use a power of two"));
                }
            }
            Self::Origin { chunk, stores, .. } => {
                if stores.is_empty() || stores.len() > SNAPSHOTS_MAX {
                    let count = stores.len();
                    return Err(format!("{count} stores; 1 to {SNAPSHOTS_MAX}"));
                }
                if !chunk.is_power_of_two() || !(BLOCK..=CHUNK_MAX).contains(chunk) {
                    return Err(format!(
                        "chunks of {chunk} bytes; use a power of two from {BLOCK} to {CHUNK_MAX}"
                    ));
                }
            }
            Self::Raid(array) => array.check()?,
        }
        Ok(())
    }
}

impl Layout {
    /// Bytes of the volume.
    pub fn size(&self) -> u64 {
        self.volume.iter().map(Segment::len).sum()
    }

    /// The same a little further on its disks, all of it as far, where they have room for it: what
    /// one place on the tracks decides should not decide a comparison. The seed says how far.
    pub fn moved(&self, seed: u64) -> Result<Self> {
        let mut room = MOVE_MAX;
        for (number, disk) in self.disks.iter().enumerate() {
            let areas = self.volume.iter().flat_map(Segment::areas);
            let here = areas.filter(|(area, _)| area.disk == number);
            if let Some(end) = here.map(|(area, len)| area.start + len).max() {
                room = room.min(disk.size()?.saturating_sub(end));
            }
        }
        let by = Random::new(!seed).below(room / MOVE_STEP + 1) * MOVE_STEP;
        let mut moved = self.clone();
        for area in moved.volume.iter_mut().flat_map(Segment::areas_mut) {
            area.start += by;
        }
        Ok(moved)
    }

    /// The segments after cutting; the seed decides shuffled orders.
    pub fn segments(&self, seed: u64) -> Vec<Segment> {
        let mut segments = Vec::new();
        for (index, segment) in (0..).zip(&self.volume) {
            let Segment::Linear {
                len,
                area,
                cut: Some(cut),
            } = segment
            else {
                segments.push(segment.clone());
                continue;
            };
            let piece = len / cut.pieces;
            let mut order: Vec<u64> = (0..cut.pieces).collect();
            if cut.order == Order::Shuffled {
                let mut random = Random::new(seed.wrapping_add(index));
                for last in (1..order.len()).rev() {
                    order.swap(last, random.index(last + 1));
                }
            }
            segments.extend(order.into_iter().map(|number| Segment::Linear {
                len: piece,
                area: Area {
                    disk: area.disk,
                    start: area.start + number * (piece + cut.gap),
                },
                cut: None,
            }));
        }
        segments
    }

    /// Whether it can be: everything inside its disk, and nothing twice.
    pub fn validate(&self) -> Result<()> {
        let name = &self.name;
        let wrong = |what: String| Err(Error::new(Kind::Impossible, format!("{name}: {what}")));
        if self.disks.is_empty() || self.disks.len() > DISKS_MAX {
            return wrong(format!("{} disks; 1 to {DISKS_MAX}", self.disks.len()));
        }
        if self.loops.len() > LOOPS_MAX {
            return wrong(format!("{} loops; at most {LOOPS_MAX}", self.loops.len()));
        }
        if self.volume.is_empty() {
            return wrong("the volume has no segment".to_owned());
        }
        let mut taken: Vec<Vec<(u64, u64, usize)>> = vec![Vec::new(); self.disks.len()];
        let mut sizes: Vec<Option<u64>> = vec![None; self.disks.len()];
        for (number, segment) in self.volume.iter().enumerate() {
            let what = format!("segment {number}");
            if let Err(problem) = segment.check() {
                return wrong(format!("{what}: {problem}"));
            }
            for (area, len) in segment.areas() {
                let Some(disk) = self.disks.get(area.disk) else {
                    return wrong(format!("{what}: there is no disk {}", area.disk));
                };
                let size = match sizes[area.disk] {
                    Some(size) => size,
                    None => *sizes[area.disk].insert(disk.size()?),
                };
                let end = area.start.saturating_add(len);
                if end > size || !area.start.is_multiple_of(BLOCK) {
                    let Area { disk, start } = area;
                    return wrong(format!(
                        "{what}: {len} bytes from byte {start} of disk {disk}, which has {size}"
                    ));
                }
                taken[area.disk].push((area.start, end, number));
            }
        }
        for (disk, areas) in taken.iter_mut().enumerate() {
            areas.sort_unstable();
            if let Some(two) = areas.windows(2).find(|two| two[0].1 > two[1].0) {
                let ((_, _, one), (at, _, other)) = (two[0], two[1]);
                return wrong(format!(
                    "segments {one} and {other} overlap at byte {at} of disk {disk}"
                ));
            }
        }
        Ok(())
    }
}
