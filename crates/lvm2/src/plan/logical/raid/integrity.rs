//! `--raidintegrity`: the images of an array get checksums, and lose them.
//!
//! ```text
//!     r_rimage_0          type integrity, over
//!       r_rimage_0_iorig  what the image was: its data stay where they are
//!       r_rimage_0_imeta  superblock, journal or bitmap, checksums; beside the data
//! ```
//!
//! Where the superblock is to be are zeros before the commit that names it. Whoever uses the array
//! next, the kernel or we, makes one, and computes the checksums of what lies there: `recalculate`
//! tells the kernel to, and LVM2 takes that word away when it has.
//!
//! Images that come later have them as the others do, and those that grow have more of them.
//!
//! Does not: what stock does not do of such arrays either (`checksums.rs`). Costs: 8 MiB beside
//! each image, or more, as in stock.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::super::create::free_space;
use super::super::mirror::{hidden, pvs_below};
use super::super::resize::leg_of;
use super::copies::convertible;
use super::parts::Array;
use super::replace::redundant;
use super::resize::require_whole;
use super::track::array_of;
use crate::model::{
    AllocationPolicy, Integrity, IntegrityMode, IntegritySettings, LvId, PvId, RaidImage,
    ReadAhead, Relations, Segment, SegmentType, VolumeGroup,
};
use crate::plan::allocate::{Request, allocate};
use crate::plan::author::Author;
use crate::plan::change::{Before, Change};
use crate::plan::checksums::metadata_extents;
use crate::plan::draft::{Draft, refused, wrong};
use crate::plan::places::FreeSpace;
use crate::plan::{ranges, segments};
use crate::{Bytes, Error, Extents, Kind, Result, Sectors};

/// What is zeros where nobody has used checksums.
const SUPERBLOCK: Bytes = Bytes(4096);
/// How the data of an image are called behind its name.
pub(super) const ORIGIN: &str = "_iorig";
/// How its checksums are.
pub(super) const METADATA: &str = "_imeta";

/// How images are to have checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChecksumOptions {
    /// `--raidintegritymode`.
    pub mode: IntegrityMode,
    /// `--raidintegrityblocksize`: the bytes that have one checksum: 512, 1024, 2048 or 4096.
    pub block_size: u32,
}

impl ChecksumOptions {
    /// Those that the images of an array have; `None`: they have none.
    pub(super) fn of(vg: &VolumeGroup, array: &Array) -> Result<Option<Self>> {
        let images = array.raid.images.iter();
        let mut with = images.filter(|image| checksums_under(vg, image.data).is_some());
        let Some(image) = with.next() else {
            return Ok(None);
        };
        let settings = IntegritySettings::of(&vg.lv(image.data).segments[0])?;
        Ok(Some(Self {
            mode: settings.mode,
            block_size: settings.block_size,
        }))
    }

    /// Fails where the size of a block is none.
    pub fn check(self) -> Result<()> {
        match self.block_size {
            512 | 1024 | 2048 | 4096 => Ok(()),
            _ => Err(wrong(
                "Invalid integrity block size, possible values are 512, 1024, 2048, 4096",
            )),
        }
    }
}

/// `lvconvert --raidintegrity y`: the images of an array that nobody uses get checksums.
pub fn add_checksums(
    vg: &VolumeGroup,
    volume: &str,
    options: ChecksumOptions,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let id = convertible(vg, volume)?;
    let found = redundant(vg, id)?;
    require_whole(vg, id, &found)?;
    let name = format!("{}/{volume}", vg.name);
    if Relations::of(vg).is_origin(id) {
        return Err(refused(format!(
            "Integrity cannot be added to snapshot origins: {name} is one"
        )));
    }
    let mut space = free_space(&mut draft, None)?;
    give_checksums(&mut draft, (&found, options), &mut space, author)?;
    draft.note(format!("Logical volume {name} has added integrity."));
    draft.finish(author)
}

/// `lvconvert --raidintegrity n`: the images of an array lose their checksums. Nobody uses it, and
/// no journal of theirs holds what is not in its place: the caller has looked.
pub fn remove_checksums(vg: &VolumeGroup, volume: &str, author: &mut Author<'_>) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let id = convertible(vg, volume)?;
    let found = redundant(vg, id)?;
    let name = format!("{}/{volume}", vg.name);
    let mut count = 0;
    for image in &found.raid.images {
        let Some((origin, metadata)) = checksums_under(vg, image.data) else {
            continue;
        };
        // The volume whose extents they are goes, and the image has them once more.
        draft.vg.lv_mut(image.data).segments.clear();
        let origin = draft.vg.remove_lv(origin);
        draft.vg.lv_mut(image.data).segments = origin.segments;
        draft.vg.remove_lv(metadata);
        count += 1;
    }
    if count == 0 {
        return Err(refused(format!(
            "Logical volume {name} has no checksums (raidintegrity)."
        )));
    }
    draft.note(format!("Logical volume {name} has removed integrity."));
    draft.finish(author)
}

/// Gives each image of an array checksums, on the physical volumes where its data are.
pub(super) fn give_checksums(
    draft: &mut Draft,
    (array, options): (&Array, ChecksumOptions),
    space: &mut FreeSpace,
    author: &mut Author<'_>,
) -> Result<()> {
    options.check()?;
    for image in &array.raid.images {
        require_plain(&draft.vg, image)?;
    }
    let mut metadata = Vec::new();
    for image in &array.raid.images {
        metadata.push(add_metadata(draft, image.data, space, author)?);
    }
    for (image, metadata) in array.raid.images.iter().zip(metadata) {
        layer(draft, image.data, (metadata, options), author)?;
    }
    Ok(())
}

/// Puts the extents of an image under checksums, which are to be in `metadata`.
pub(super) fn layer(
    draft: &mut Draft,
    image: LvId,
    (metadata, options): (LvId, ChecksumOptions),
    author: &mut Author<'_>,
) -> Result<()> {
    let vg = &mut draft.vg;
    assert!(checksums_under(vg, image).is_none(), "it has none yet");
    let length = vg.lv(image).extents();
    let name = format!("{}{ORIGIN}", vg.lv(image).name());
    let old = core::mem::take(&mut vg.lv_mut(image).segments);
    let mut lv = hidden(name, author, old);
    lv.allocation = vg.lv(image).allocation;
    let origin = vg.add_lv(lv)?;
    let kind = SegmentType::Integrity(Integrity {
        origin,
        metadata: Some(metadata),
    });
    let mut segment = segments::segment(Extents::ZERO, length, kind);
    let settings = IntegritySettings {
        data_sectors: sectors_of(vg, length)?,
        mode: options.mode,
        block_size: options.block_size,
        allows_discards: false,
        journal_sectors: None,
    };
    segment.extra = settings.new_segment();
    vg.lv_mut(image).segments = vec![segment];
    Ok(())
}

fn sectors_of(vg: &VolumeGroup, data: Extents) -> Result<Sectors> {
    let data = data.to_sectors(vg.extent_size);
    data.ok_or_else(|| refused("An image is too large for checksums"))
}

/// What lies under an image with checksums: its data, and these; `None`: it has none.
pub(in crate::plan::logical) fn checksums_under(
    vg: &VolumeGroup,
    image: LvId,
) -> Option<(LvId, LvId)> {
    match vg.lv(image).segments.as_slice() {
        [segment] => match segment.kind {
            SegmentType::Integrity(Integrity { origin, metadata }) => Some((origin, metadata?)),
            _ => None,
        },
        _ => None,
    }
}

/// The volume that has the extents of an image.
pub(super) fn data_of(vg: &VolumeGroup, image: LvId) -> LvId {
    checksums_under(vg, image).map_or(image, |(origin, _)| origin)
}

/// Makes room for the checksums of an image whose data are to grow by `more`: beside those that
/// there are, as in stock.
pub(super) fn grow_checksums(
    draft: &mut Draft,
    (image, more): (LvId, Extents),
    policy: AllocationPolicy,
    space: &mut FreeSpace,
) -> Result<()> {
    let vg = &draft.vg;
    let Some((origin, metadata)) = checksums_under(vg, image) else {
        return Ok(());
    };
    let old = vg.lv(metadata).extents();
    let needed = metadata_extents(vg.lv(origin).extents() + more, vg.extent_size)?;
    if needed <= old {
        return Ok(());
    }
    let mut request = Request::new(needed - old, 1, 1, policy);
    request.legs = vec![leg_of(vg, metadata, 1)];
    request.apart = others(vg, metadata);
    let runs = allocate(vg, space, &request).map_err(|shortage| {
        let (vg, whole) = (&vg.name, array_of(vg, image).unwrap_or(image));
        let name = |lv: LvId| draft.vg.lv(lv).name();
        let (image, array) = (name(image), name(whole));
        let what = format!(
            "Insufficient suitable allocatable extents for the checksums of {vg}/{image}: {} more \
             required on the physical volume where they are. Make room there, or take the \
             checksums away (lvconvert --raidintegrity n {vg}/{array}), extend it, and make new \
             ones (lvconvert --raidintegrity y {vg}/{array})",
            shortage.missing.0
        );
        Error::new(Kind::Space, what)
    })?;
    let grown = segments::of_runs(&runs, 0, 1, Sectors::ZERO, old);
    segments::append(&mut draft.vg.lv_mut(metadata).segments, grown);
    Ok(())
}

/// An image is as long as its data are, which have grown.
pub(super) fn go_with_data(draft: &mut Draft, image: LvId) -> Result<()> {
    let Some((origin, _)) = checksums_under(&draft.vg, image) else {
        return Ok(());
    };
    let length = draft.vg.lv(origin).extents();
    let data = sectors_of(&draft.vg, length)?;
    assert!(length >= draft.vg.lv(image).extents(), "data only grow");
    let segment = &mut draft.vg.lv_mut(image).segments[0];
    segment.length = length;
    IntegritySettings::set_data_sectors(segment, data);
    Ok(())
}

/// All physical volumes but those of a volume.
fn others(vg: &VolumeGroup, lv: LvId) -> BTreeSet<PvId> {
    let own = pvs_below(vg, lv);
    let all = vg.pvs().map(|(pv, _)| pv);
    all.filter(|pv| !own.contains(pv)).collect()
}

/// Fails where an image is something else than extents of disks.
fn require_plain(vg: &VolumeGroup, image: &RaidImage) -> Result<()> {
    let lv = vg.lv(image.data);
    let is_plain = |kind: &SegmentType| match kind {
        SegmentType::Striped(striped) => striped.areas.len() == 1,
        _ => false,
    };
    if lv.segments.iter().all(|segment| is_plain(&segment.kind)) && !lv.is_set_aside() {
        return Ok(());
    }
    let what = match lv.first() {
        Some(SegmentType::Integrity(_)) => "has checksums (raidintegrity)",
        _ => "is not linear",
    };
    Err(refused(format!(
        "Integrity cannot be added: image {}/{} {what}",
        vg.name,
        lv.name()
    )))
}

/// The volume for the checksums of an image, with zeros where its superblock is to be.
pub(super) fn add_metadata(
    draft: &mut Draft,
    image: LvId,
    space: &mut FreeSpace,
    author: &mut Author<'_>,
) -> Result<LvId> {
    let lv = draft.vg.lv(image);
    let length = metadata_extents(lv.extents(), draft.vg.extent_size)?;
    let policy = lv.allocation.unwrap_or(draft.vg.allocation);
    let mut request = Request::new(length, 1, 1, policy);
    request.apart = others(&draft.vg, image);
    let runs = allocate(&draft.vg, space, &request)
        .map_err(|shortage| shortage.error(&format!("{}{METADATA}", lv.name())))?;
    let list = segments::of_runs(&runs, 0, 1, Sectors::ZERO, Extents::ZERO);
    place_metadata(draft, image, list, author)
}

/// The same on these extents.
pub(super) fn place_metadata(
    draft: &mut Draft,
    image: LvId,
    list: Vec<Segment>,
    author: &mut Author<'_>,
) -> Result<LvId> {
    let name = format!("{}{METADATA}", draft.vg.lv(image).name());
    let mut lv = hidden(name, author, list);
    lv.read_ahead = ReadAhead::None;
    let id = draft.vg.add_lv(lv)?;
    let pieces = ranges::pieces(&draft.vg, id, Bytes::ZERO, SUPERBLOCK)?;
    assert!(!pieces.is_empty(), "it lies somewhere");
    draft.before.push(Before::Fill { pieces, byte: 0 });
    Ok(id)
}
