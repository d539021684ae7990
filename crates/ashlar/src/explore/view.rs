//! What a scan makes of disks, in a form that can be compared.

use std::collections::HashMap;
use std::sync::Arc;

use block::sim::Image;
use block::{Device, Range};
use lvm2::model::{
    Area, Header, LvFlag, LvId, RaidLevel, Relations, Segment, SegmentType, VolumeGroup,
    is_snapshot_holder, to_text,
};
use lvm2::ondisk::{AreaUse, PvUse};
use lvm2::plan::logical::MIRROR_LOG_HEADER_SIZE;
use lvm2::plan::{Piece, pieces};
use lvm2::text::Style;
use lvm2::{Bytes, Extents, Uuid};

use super::blocks::Blocks;
use super::command::named;
use crate::host::Host;
use crate::scan::{AreaContent, Finding, Scan, Severity, scan_devices};

/// Bytes at the start of a new volume that are zeroed.
const ZEROED: u64 = 4096;
/// Bytes of a mirror log's header that have a meaning.
const LOG_FIELDS: u64 = 16;
/// The bytes of a disk that hold extents only, whatever its areas are.
pub(super) const DATA: std::ops::Range<u64> = 128 << 10..(2 << 20) - (128 << 10);
/// What the extents of all disks hold before anything is written to them.
pub(super) const JUNK: u8 = 0x55;

/// The groups and free physical volumes on some disks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    pub(super) groups: Vec<GroupView>,
    /// Physical volumes that belong to no group, sorted.
    pub(super) free: Vec<Uuid>,
    /// What labels and headers of areas say of their use, by physical volume.
    pub(super) uses: Vec<(Uuid, PvUse, Vec<AreaUse>)>,
}

/// A version of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GroupView {
    pub(super) name: String,
    pub(super) uuid: Uuid,
    pub(super) seqno: u32,
    pub(super) text: Vec<u8>,
}

/// Simulated disks that hold these images.
pub(super) fn devices(images: &[Image], blocks: Blocks) -> Vec<Arc<dyn Device>> {
    images.iter().map(|image| blocks.disk(image)).collect()
}

pub(super) fn scan(host: &Host, images: &[Image]) -> Scan {
    scan_devices(host, &named(&devices(images, Blocks::Small)))
}

pub(super) fn view(scan: &Scan) -> View {
    let groups = scan.groups.iter().map(|group| GroupView {
        name: group.name.clone(),
        uuid: group.uuid,
        seqno: group.seqno,
        text: group.text.to_vec(),
    });
    let mut free: Vec<Uuid> = scan.orphans().map(|pv| pv.uuid).collect();
    free.sort();
    let uses = scan.physical_volumes.iter().map(|pv| {
        let areas = pv.areas.iter().map(crate::scan::FoundArea::usage);
        (pv.uuid, pv.header.usage(), areas.collect())
    });
    View {
        groups: groups.collect(),
        free,
        uses: uses.collect(),
    }
}

impl GroupView {
    /// Whether its text has a mark.
    pub(super) fn is_unfinished(&self) -> bool {
        let tree = lvm2::text::parse(&self.text);
        let group = tree.and_then(|tree| lvm2::model::from_text(&tree));
        group.is_ok_and(|vg| lvm2::plan::unfinished::is_unfinished(&vg))
    }

    fn contents(&self) -> Option<Vec<u8>> {
        let tree = lvm2::text::parse(&self.text).ok()?;
        Some(contents_of(&lvm2::model::from_text(&tree).ok()?))
    }
}

/// What the text of a group says but for when and how often it was written.
pub(super) fn contents_of(vg: &VolumeGroup) -> Vec<u8> {
    let mut vg = vg.clone();
    vg.seqno = 0;
    vg.header = Header::default();
    to_text(&vg, Style::Raw)
}

impl View {
    /// Whether the groups and the free physical volumes are the same, whatever labels say of them.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        self.groups == other.groups && self.free == other.free
    }

    /// Whether the groups are the same but for when and how often they were written.
    pub(super) fn has_same_contents(&self, other: &Self) -> bool {
        let contents = |view: &Self| -> Vec<_> {
            let groups = view.groups.iter();
            groups.map(GroupView::contents).collect()
        };
        contents(self) == contents(other) && self.free == other.free
    }
}

/// What no cut may leave: labels without areas, and free physical volumes that look used.
pub(super) fn nonsense(scan: &Scan) -> Option<String> {
    let damaged = scan.physical_volumes.iter().find(|pv| {
        let mut areas = pv.areas.iter();
        areas.any(|area| matches!(area.content, AreaContent::Damaged(_)))
    });
    if let Some(pv) = damaged {
        return Some(format!("a metadata area of PV {} is damaged", pv.uuid));
    }
    let mut free = scan.orphans();
    let used = free.find(|pv| pv.header.usage() == PvUse::Used)?;
    Some(format!("PV {} is free and says that it is used", used.uuid))
}

/// What people would be warned of.
pub(super) fn complaints(scan: &Scan) -> Vec<&Finding> {
    let findings = scan.findings.iter();
    findings
        .filter(|finding| finding.severity > Severity::Note)
        .collect()
}

/// What is wrong with the content of the volumes: they begin with zeros and go on with junk, and
/// the log of a mirror says what it said when it was made. Of the volume called `given_up` nobody
/// counts on the first bytes before it is a store.
pub(super) fn damage(scan: &Scan, images: &[Image], given_up: Option<&str>) -> Option<String> {
    for group in &scan.groups {
        let vg: &VolumeGroup = &group.model;
        let relations = Relations::of(vg);
        let contents = contents(vg);
        for (id, lv) in vg.lvs() {
            let size = lv.size(vg.extent_size).and_then(lvm2::Sectors::to_bytes);
            let size = size.unwrap_or_default().0;
            let content = contents.get(&id).copied().unwrap_or(Content::Data);
            let is_given_up = given_up == Some(lv.name()) && !relations.is_cow(id);
            let parts = match content {
                Content::Data if is_given_up => [(ZEROED, 0, 0), (ZEROED, size - ZEROED, JUNK)],
                Content::Data => [(0, ZEROED, 0), (ZEROED, size - ZEROED, JUNK)],
                Content::Log(byte) => {
                    let header = MIRROR_LOG_HEADER_SIZE as u64;
                    [
                        (LOG_FIELDS, header - LOG_FIELDS, byte),
                        (header, size - header, byte),
                    ]
                }
                Content::Head => [(0, ZEROED, 0), (ZEROED, 0, 0)],
                Content::Behind(space) => {
                    let start = space + ZEROED;
                    [(start, 0, 0), (start, size - start, JUNK)]
                }
                Content::Record(first) => {
                    let junk = junk_in(vg, id, size, scan, images);
                    let other = || unlike(first, (vg, id), scan, images);
                    if let Some(wrong) = junk.or_else(other) {
                        return Some(format!("volume {}/{} {wrong}", group.name, lv.name()));
                    }
                    continue;
                }
                Content::Anything => continue,
            };
            for (start, length, byte) in parts {
                let places = pieces(vg, id, Bytes(start), Bytes(length)).ok()?;
                for place in places {
                    if let Some(wrong) = other_than(byte, place, scan, images) {
                        return Some(format!("volume {}/{} {wrong}", group.name, lv.name()));
                    }
                }
            }
        }
    }
    None
}

/// What must be in a volume.
#[derive(Debug, Clone, Copy)]
enum Content {
    /// Zeros at the start, and junk.
    Data,
    /// Zeros at the start: where the superblock of checksums is to be.
    Head,
    /// Junk behind what begins with zeros elsewhere: an image of an array. So many bytes in front
    /// of it hold nothing: where a reshape is to go.
    Behind(u64),
    /// What is said of an image: no block of it is junk, and it begins with these bytes.
    Record(&'static [u8]),
    /// The log of a mirror: a header of a few fields, and this byte everywhere else.
    Log(u8),
    /// Nothing that is known: a copy that is to be synchronised.
    Anything,
}

/// What the parts of mirrors hold. The first copy is the one that counts until they are
/// synchronised, unless all are taken for the same.
fn contents(vg: &VolumeGroup) -> HashMap<LvId, Content> {
    let mut contents = HashMap::new();
    let holders = vg.lvs().filter(|(id, _)| is_snapshot_holder(vg, *id));
    // What joins a snapshot to its origin has no bytes.
    contents.extend(holders.map(|(id, _)| (id, Content::Anything)));
    for (id, lv) in vg.lvs() {
        let Some(SegmentType::Mirror(mirror)) = lv.first() else {
            continue;
        };
        // What is moved lies on disks, and is looked at through its volumes.
        let is_equal = lv.flags.has(LvFlag::NotSynced);
        // Its copies are looked at, and which of them count.
        contents.entry(id).or_insert(Content::Anything);
        for image in mirror.images.iter().skip(1) {
            if let (Area::Lv { lv, .. }, false) = (image, is_equal) {
                contents.insert(*lv, Content::Anything);
            }
        }
    }
    contents.extend(of_arrays(vg));
    for (_, lv) in vg.lvs() {
        let Some(SegmentType::Mirror(mirror)) = lv.first() else {
            continue;
        };
        let is_equal = lv.flags.has(LvFlag::NotSynced);
        let content = Content::Log(if is_equal { 0xff } else { 0 });
        if let Some(log) = mirror.log {
            contents.insert(log, content);
            // Where it is mirrored itself, all copies of it.
            let areas = vg.lv(log).segments.iter().flat_map(Segment::areas);
            contents.extend(areas.filter_map(|area| match area {
                Area::Lv { lv, .. } => Some((*lv, content)),
                Area::Pv { .. } => None,
            }));
        }
    }
    contents
}

/// What is wrong where a volume has to begin with these bytes.
fn unlike(
    first: &[u8],
    (vg, id): (&VolumeGroup, LvId),
    scan: &Scan,
    images: &[Image],
) -> Option<String> {
    (0..).zip(first).find_map(|(at, byte)| {
        let places = pieces(vg, id, Bytes(at), Bytes(1)).ok()?;
        other_than(*byte, *places.first()?, scan, images)
    })
}

/// Bytes in front of the data of an image, where a reshape has begun that nobody goes on with.
fn space_of(vg: &VolumeGroup, image: LvId) -> u64 {
    let first = vg.lv(image).segments.first();
    let space = first.map_or(Extents::ZERO, |segment| segment.reshape);
    let bytes = space.to_sectors(vg.extent_size);
    bytes
        .and_then(lvm2::Sectors::to_bytes)
        .unwrap_or_default()
        .0
}

/// What the parts of arrays hold, which nobody has written since they were made.
fn of_arrays(vg: &VolumeGroup) -> HashMap<LvId, Content> {
    let mut contents = HashMap::new();
    for (id, lv) in vg.lvs() {
        let Some(SegmentType::Raid(raid)) = lv.first() else {
            continue;
        };
        contents.insert(id, Content::Anything);
        // What shrinks is moved to the back.
        let is_shrinking = raid.leaving(vg) > 0;
        let is_reshaped = lv.segments.iter().any(|one| one.reshape > Extents::ZERO);
        for (number, image) in raid.images.iter().enumerate() {
            let is_new = vg.lv(image.data).flags.has(LvFlag::Rebuild);
            let content = match raid.level {
                _ if is_new => Content::Anything,
                RaidLevel::Raid1 if number == 0 => Content::Data,
                _ if is_shrinking => Content::Behind(0),
                _ => Content::Behind(space_of(vg, image.data)),
            };
            contents.insert(image.data, content);
            if let Some(SegmentType::Integrity(parts)) = vg.lv(image.data).first() {
                contents.insert(parts.origin, content);
                contents.extend(parts.metadata.map(|sums| (sums, Content::Head)));
            }
            let first: &[u8] = if is_reshaped { b"DmRd" } else { b"" };
            contents.extend(image.meta.map(|meta| (meta, Content::Record(first))));
        }
    }
    contents
}

/// A block of a volume that nobody has written.
fn junk_in(vg: &VolumeGroup, id: LvId, size: u64, scan: &Scan, images: &[Image]) -> Option<String> {
    const BLOCK: u64 = 512;
    let places = pieces(vg, id, Bytes(0), Bytes(size)).ok()?;
    places.into_iter().find_map(|place| {
        let mut pvs = scan.physical_volumes.iter();
        let disk = pvs.find(|pv| pv.uuid == place.pv)?.device.0;
        let bytes = images[disk].bytes(Range::new(place.start.0, place.length.0));
        let mut blocks = bytes.chunks(BLOCK as usize);
        let junk = blocks.position(|block| block.iter().all(|byte| *byte == JUNK))?;
        let at = place.start.0 + junk as u64 * BLOCK;
        Some(format!("was never written at byte {at} of disk {disk}"))
    })
}

fn other_than(byte: u8, place: Piece, scan: &Scan, images: &[Image]) -> Option<String> {
    let pv = scan
        .physical_volumes
        .iter()
        .find(|pv| pv.uuid == place.pv)?;
    let disk = pv.device.0;
    let bytes = images[disk].bytes(Range::new(place.start.0, place.length.0));
    let wanted = [byte; 4096];
    let is_wrong = |bytes: &[u8]| *bytes != wanted[..bytes.len()];
    let block = bytes.chunks(wanted.len()).position(is_wrong)?;
    let at = bytes[block * wanted.len()..]
        .iter()
        .position(|found| *found != byte)?;
    let at = block * wanted.len() + at;
    Some(format!(
        "holds {:#x} at byte {} of disk {disk} instead of {byte:#x}",
        bytes[at],
        place.start.0 + at as u64
    ))
}
