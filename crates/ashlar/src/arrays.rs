//! What the disks say of arrays that nobody serves, for reports.
//!
//! A RAID volume of LVM2's keeps a superblock on each of its metadata images. The newest ones say
//! which images are believed, and how far what is out of sync was brought back. Here they are read,
//! one sector each, and nothing is started, locked or written.
//!
//! ```text
//!   vg0/r5_rmeta_0 … 2 ─▸ a sector each ─▸ dm::raid::assemble ─▸ FoundArray
//! ```
//!
//! What is believed of an image is decided by who also decides it when the volume is opened, so a
//! report and a read never disagree about it. Whoever changes an array reads bitmaps, too
//! (`ArrayReader::records`): no column is about them.
//!
//! Does not: look at RAID 0, which keeps no state; report of an array whose superblocks are all
//! zeros, which is new and was never used.

use std::sync::Arc;

use block::{BlockingDevice, Device, Range};
use dm::raid::{
    Assembly, Bits, Described, Geometry, LegContent, LegFound, LegState, Reshape, Scheme,
    Superblock, assemble,
};
use dm::volume::Access;
use lvm2::model::{LvFlag, LvId, Raid, RaidFamily, RaidImage, RaidLevel, Segment, SegmentType};
use lvm2::plan::pieces;
use lvm2::{Bytes, Uuid};

use crate::activate::PvDevices;
use crate::scan::{FoundVg, PvIndex, Scan};
use crate::{Error, Kind, Result};

const SECTOR: u64 = 512;

/// Reads superblocks, and opens each disk once for that.
#[derive(Default)]
pub struct ArrayReader {
    devices: PvDevices,
}

/// What the images of an array say, superblocks and bitmaps.
#[derive(Debug)]
pub(crate) struct Records {
    /// What the metadata say of it.
    pub(crate) described: Described,
    /// Its images, in order.
    pub(crate) images: Vec<LegFound>,
}

/// How much of what an image says is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    Superblock,
    /// And the bitmap.
    Record,
}

/// An array, as its superblocks tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundArray {
    /// Its images, in order.
    pub images: Vec<ImageState>,
    /// What would go on with it if it ran.
    pub task: Task,
    /// Where its data begin on each image, in bytes.
    pub data_start: u64,
    /// Where a reshape will have put them, in bytes.
    pub new_start: Option<u64>,
}

/// An image of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageState {
    /// Its disk is missing.
    Missing,
    /// It is there, and not believed: why.
    Distrusted(String),
    /// It is not in sync yet.
    OutOfSync,
    /// It holds what the array holds.
    InSync,
}

/// What an array is in the middle of, and how far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Nothing.
    Idle,
    /// Its copies or its parity are made to agree.
    Resync(Progress),
    /// An image is being filled.
    Recover(Progress),
    /// It becomes another one.
    Reshape(Progress),
}

/// So much of a whole, both in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is done.
    pub done: u64,
    /// All.
    pub all: u64,
}

impl std::fmt::Debug for ArrayReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ArrayReader")
    }
}

impl ArrayReader {
    /// What the disks say of a RAID volume. `None`: it is no array, one without state, or a new
    /// one.
    ///
    /// # Errors
    ///
    /// Its superblocks make no array: they are damaged, or contradict each other or the metadata.
    pub fn read(&mut self, scan: &Scan, group: &FoundVg, lv: LvId) -> Result<Option<FoundArray>> {
        let Some(records) = self.look(scan, group, lv, Depth::Superblock)? else {
            return Ok(None);
        };
        if !records.images.iter().any(says_something) {
            return Ok(None);
        }
        let name = format!("{}/{}", group.name, group.model.lv(lv).name());
        let described = &records.described;
        let assembly = assemble(&name, described, &records.images).map_err(|error| {
            let what = format!("{name}: what its superblocks say is not believed");
            Error::new(Kind::Damaged, what).because(error)
        })?;
        Ok(Some(FoundArray::of(described, &assembly)))
    }

    /// What the images of a RAID volume say, bitmaps included. `None`: it is no array, or one
    /// without state.
    ///
    /// # Errors
    ///
    /// The metadata make no array.
    pub(crate) fn records(
        &mut self,
        scan: &Scan,
        group: &FoundVg,
        lv: LvId,
    ) -> Result<Option<Records>> {
        self.look(scan, group, lv, Depth::Record)
    }

    fn look(
        &mut self,
        scan: &Scan,
        group: &FoundVg,
        lv: LvId,
        depth: Depth,
    ) -> Result<Option<Records>> {
        let Some((segment, raid)) = array_of(group, lv) else {
            return Ok(None);
        };
        let name = format!("{}/{}", group.name, group.model.lv(lv).name());
        let Some(described) = described(group, &name, segment, raid)? else {
            return Ok(None);
        };
        let images = raid.images.iter();
        let images: Vec<LegFound> = images
            .map(|image| self.image((scan, group), *image, depth))
            .collect();
        Ok(Some(Records { described, images }))
    }

    fn image(
        &mut self,
        (scan, group): (&Scan, &FoundVg),
        image: RaidImage,
        depth: Depth,
    ) -> LegFound {
        let flags = &group.model.lv(image.data).flags;
        let content = if flags.has(LvFlag::Rebuild) {
            LegContent::Rebuild
        } else {
            LegContent::Kept
        };
        // Image and metadata go together: without one the other says nothing.
        if !is_there(group, image.data) || group.model.lv(image.data).is_set_aside() {
            return LegFound::Missing;
        }
        let Some(meta) = image.meta else {
            return LegFound::Blank;
        };
        let len = match depth {
            Depth::Superblock => SECTOR,
            Depth::Record => LegFound::METADATA_MAX,
        };
        let found = match self.head(scan, group, meta, len) {
            None => return LegFound::Missing,
            Some(Err(error)) => LegFound::Damaged(error.to_string()),
            Some(Ok(bytes)) if depth == Depth::Record => LegFound::of_metadata(&bytes),
            Some(Ok(bytes)) => match Superblock::decode(&bytes) {
                Ok(Some(superblock)) => LegFound::Holds(Box::new(superblock), Bits::None),
                Ok(None) => LegFound::Blank,
                Err(error) => LegFound::Damaged(error.to_string()),
            },
        };
        found.of_content(content)
    }

    /// So many bytes from a volume's start on, or all that it has. `None`: a disk of it cannot be
    /// had.
    fn head(
        &mut self,
        scan: &Scan,
        group: &FoundVg,
        lv: LvId,
        len: u64,
    ) -> Option<block::Result<Vec<u8>>> {
        let model = &group.model;
        let size = model.lv(lv).size(model.extent_size)?.to_bytes()?;
        let extent = model.extent_size.to_bytes()?.0;
        let end = len.min(size.0);
        let mut bytes = Vec::with_capacity(end as usize);
        // An extent lies in one place.
        for start in (0..end).step_by(usize::try_from(extent).ok()?) {
            let length = extent.min(end - start);
            let (device, place) = self.place(scan, group, lv, (start, length))?;
            let read = || BlockingDevice::open(&*device)?.read(Range::new(place, length));
            match read() {
                Ok(part) => bytes.extend(part),
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(bytes))
    }

    /// The disk that holds a part of a volume, in one piece, and where on it that begins. `None`:
    /// it cannot be had.
    fn place(
        &mut self,
        scan: &Scan,
        group: &FoundVg,
        lv: LvId,
        (start, length): (u64, u64),
    ) -> Option<(Arc<dyn Device>, u64)> {
        let places = pieces(&group.model, lv, Bytes(start), Bytes(length)).ok()?;
        let [place] = &places[..] else {
            return None;
        };
        let pv = usable(group, place.pv)?;
        let device = self.devices.get(scan, pv, Access::ReadOnly);
        Some((device.ok()?, place.start.0))
    }
}

impl FoundArray {
    fn of(described: &Described, assembly: &Assembly) -> Self {
        let geometry = &described.geometry;
        let synced = Progress::up_to(assembly.synced, geometry.sync_size());
        let filled = assembly.legs.iter().filter_map(|leg| match leg {
            LegState::Valid { until } => Some(*until),
            LegState::Filling => Some(0),
            LegState::Missing | LegState::Untrusted(_) => None,
        });
        let filled = filled.min().unwrap_or(0);
        let filled = Progress::up_to(filled, geometry.leg_size());
        let is_resynced = assembly.reshape.is_some() || synced.is_done();
        let image = |leg: &LegState| match leg {
            LegState::Missing => ImageState::Missing,
            LegState::Untrusted(why) => ImageState::Distrusted(why.clone()),
            LegState::Valid { until } if *until >= geometry.leg_size() && is_resynced => {
                ImageState::InSync
            }
            LegState::Valid { .. } | LegState::Filling => ImageState::OutOfSync,
        };
        let task = match &assembly.reshape {
            Some(reshape) => Task::Reshape(reshaped(reshape)),
            None if !filled.is_done() => Task::Recover(filled),
            None if !synced.is_done() => Task::Resync(synced),
            None => Task::Idle,
        };
        let mut images: Vec<ImageState> = assembly.legs.iter().map(image).collect();
        // What a reshape has taken away.
        images.resize(geometry.legs() + described.leaving, ImageState::OutOfSync);
        let found = Self {
            images,
            task,
            data_start: assembly.data_start,
            new_start: assembly.reshape.map(|reshape| reshape.new_start),
        };
        found.check();
        found
    }

    /// The invariants: there are images, and no task is done that is under way.
    fn check(&self) {
        assert!(!self.images.is_empty(), "an array has images");
        let progress = self.progress();
        assert!(progress.is_none_or(|one| one.done <= one.all));
        let is_copying = matches!(self.task, Task::Recover(_) | Task::Resync(_));
        assert!(!is_copying || progress.is_some_and(|one| !one.is_done()));
    }

    /// How far it has come with what it is in the middle of.
    pub fn progress(&self) -> Option<Progress> {
        match self.task {
            Task::Idle => None,
            Task::Resync(progress) | Task::Recover(progress) | Task::Reshape(progress) => {
                Some(progress)
            }
        }
    }

    /// Whether an image is there that is not believed.
    pub fn distrusts(&self) -> bool {
        let is_distrusted = |image: &ImageState| matches!(image, ImageState::Distrusted(_));
        self.images.iter().any(is_distrusted)
    }
}

impl Progress {
    fn up_to(done: u64, all: u64) -> Self {
        let done = done.min(all);
        Self { done, all }
    }

    /// Whether nothing is left to do.
    pub fn is_done(self) -> bool {
        self.done >= self.all
    }
}

/// How far a reshape is. One that goes forward ends at the end of what will be; one that goes
/// backward begins at the end of what both have.
fn reshaped(reshape: &Reshape) -> Progress {
    let (from, to) = (reshape.from.size(), reshape.to.size());
    if reshape.backwards {
        let all = from.min(to);
        let left = reshape.position.min(all);
        return Progress::up_to(all - left, all);
    }
    Progress::up_to(reshape.position, to)
}

/// Whether all disks are there that a volume lies on.
fn is_there(group: &FoundVg, lv: LvId) -> bool {
    let model = &group.model;
    if matches!(model.lv(lv).first(), Some(SegmentType::Error)) {
        return false;
    }
    let size = model.lv(lv).size(model.extent_size);
    let size = size.and_then(lvm2::Sectors::to_bytes);
    let found = size.and_then(|size| pieces(model, lv, Bytes::ZERO, size).ok());
    found.is_some_and(|pieces| pieces.iter().all(|piece| usable(group, piece.pv).is_some()))
}

/// The physical volume of this UUID, if it can be read.
fn usable(group: &FoundVg, uuid: Uuid) -> Option<PvIndex> {
    let mut members = group.members.iter();
    let member = members.find(|member| group.model.pv(member.id).uuid == uuid)?;
    member.presence.usable()
}

/// Whether a superblock is there, or something that should be one.
fn says_something(leg: &LegFound) -> bool {
    match leg {
        LegFound::Holds(..) | LegFound::Damaged(_) | LegFound::New(Some(_)) => true,
        LegFound::Missing | LegFound::Blank | LegFound::New(None) => false,
    }
}

/// The segment that makes a volume an array.
fn array_of(group: &FoundVg, lv: LvId) -> Option<(&Segment, &Raid)> {
    let segment = group.model.lv(lv).segments.first()?;
    match &segment.kind {
        SegmentType::Raid(raid) => Some((segment, raid)),
        _ => None,
    }
}

/// What the metadata say of an array; `None`: it keeps no state.
pub(crate) fn described(
    group: &FoundVg,
    name: &str,
    segment: &Segment,
    raid: &Raid,
) -> Result<Option<Described>> {
    let Some(scheme) = scheme(raid) else {
        return Ok(None);
    };
    let unfit = |what: &str| Error::new(Kind::Damaged, format!("{name}: {what}; see vgck"));
    // What a reshape has set aside is in front of the data, or behind them.
    let share = segment
        .area_length()
        .and_then(|share| share.0.checked_sub(segment.reshape.0));
    let share = share.and_then(|share| {
        let sectors = lvm2::Extents(share).to_sectors(group.model.extent_size)?;
        sectors.to_bytes()
    });
    let share = share.ok_or_else(|| unfit("its images do not come out even"))?;
    let chunk = raid.stripe_size.to_bytes().unwrap_or(Bytes::ZERO);
    let leaving = raid.leaving(&group.model);
    let geometry = Geometry::new(scheme, raid.images.len() - leaving, chunk.0, share.0);
    let geometry = geometry.map_err(|error| unfit(&error.to_string()))?;
    let region = raid.region_size.to_bytes().unwrap_or(Bytes::ZERO);
    Ok(Some(
        Described::new(geometry, region.0).with_leaving(leaving),
    ))
}

/// How an array is laid out; `None`: RAID 0, which keeps no state.
pub fn scheme(raid: &Raid) -> Option<Scheme> {
    let layout = match raid.level {
        RaidLevel::Raid0 | RaidLevel::Raid0Meta => return None,
        RaidLevel::Raid1 => return Some(Scheme::Mirror),
        RaidLevel::Raid10 | RaidLevel::Raid10Near => {
            return Some(Scheme::near_copies(raid.copies() as usize));
        }
        RaidLevel::Raid5La => 0,
        RaidLevel::Raid5Ra => 1,
        RaidLevel::Raid5 | RaidLevel::Raid5Ls => 2,
        RaidLevel::Raid5Rs => 3,
        RaidLevel::Raid4 => 4,
        RaidLevel::Raid5N | RaidLevel::Raid6N6 => 5,
        RaidLevel::Raid6 | RaidLevel::Raid6Zr => 8,
        RaidLevel::Raid6Nr => 9,
        RaidLevel::Raid6Nc => 10,
        RaidLevel::Raid6La6 => 16,
        RaidLevel::Raid6Ra6 => 17,
        RaidLevel::Raid6Ls6 => 18,
        RaidLevel::Raid6Rs6 => 19,
    };
    // LVM2's RAID 4 is a RAID 5 of md's whose parity does not turn.
    let level = if raid.level.family() == RaidFamily::Raid6 {
        6
    } else {
        5
    };
    let scheme = Scheme::from_md(level, layout);
    assert!(scheme.is_some(), "md knows all layouts of LVM2's");
    scheme
}

#[cfg(test)]
mod tests;
