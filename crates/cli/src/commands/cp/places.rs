//! Which disks hold the bytes of a volume that could not be read, in words.

use ashlar::scan::{FoundVg, Presence, Scan};
use block::salvage::{Map, Status};
use lvm2::model::{Area, LvId, PvId, SegmentType, VolumeGroup};

/// Volumes below volumes that are looked through.
const DEPTH_MAX: usize = 32;
/// Places that are named; the map has them all.
const LINES_MAX: usize = 16;

/// A run of bytes on a physical volume; without one, bytes that are nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    /// The physical volumes, several for a mirror, each with the byte at which it begins.
    on: Vec<(PvId, u64)>,
    /// Its bytes: a run on each disk, though perhaps not one in the volume.
    len: u64,
    /// The first byte of it in the volume.
    at: u64,
}

/// One line for each place of the volume `lv` that the map does not call finished.
pub(super) fn lines(map: &Map, scan: &Scan, group: &FoundVg, lv: LvId) -> Vec<String> {
    let mut places: Vec<Place> = Vec::new();
    // What goes on where the last place on the same disks ended: a stripe has other disks between.
    let mut is_cut = false;
    for (run, _) in map.runs().filter(|(_, status)| *status != Status::Finished) {
        let mut at = run.start();
        while at < run.end() {
            let (on, len) = place(&group.model, lv, at, 0).unwrap_or((Vec::new(), run.len()));
            let len = len.clamp(1, run.end() - at);
            let is_full = places.len() == LINES_MAX;
            let mut known = places.iter_mut().rev();
            match known.find(|known| goes_on(known, &on, at)) {
                Some(known) => known.len += len,
                None if is_full => is_cut = true,
                None => places.push(Place { on, len, at }),
            }
            at += len;
        }
    }
    let volume = format!("{}/{}", group.name, group.model.lv(lv).name());
    let mut lines: Vec<String> = places
        .iter()
        .map(|place| line(place, scan, group, &volume))
        .collect();
    if is_cut {
        lines.push("and more".to_owned());
    }
    lines
}

fn goes_on(known: &Place, on: &[(PvId, u64)], at: u64) -> bool {
    let same =
        |(old, new): (&(PvId, u64), &(PvId, u64))| old.0 == new.0 && old.1 + known.len == new.1;
    let continues = known.on.len() == on.len() && known.on.iter().zip(on).all(same);
    continues && (!on.is_empty() || known.at + known.len == at)
}

fn line(place: &Place, scan: &Scan, group: &FoundVg, volume: &str) -> String {
    let Place { on, len, at } = place;
    let mut names: Vec<String> = on
        .iter()
        .map(|(pv, start)| format!("byte {start} of {}", pv_name(scan, group, *pv)))
        .collect();
    if names.is_empty() {
        names.push("no disk".to_owned());
    }
    format!(
        "{len} bytes at {} (from byte {at} of {volume} on)",
        names.join(" and ")
    )
}

fn pv_name(scan: &Scan, group: &FoundVg, pv: PvId) -> String {
    let presence = group.member(pv).map(|member| member.presence);
    let device = |index| &scan.device(scan.pv(index).device).name;
    match presence {
        Some(Presence::Present(index)) => device(index).clone(),
        Some(Presence::Returned(index)) => {
            format!("{}, which was away and may be outdated", device(index))
        }
        Some(Presence::Missing) | None => {
            let known = group.model.pv(pv);
            let hint = known.device.as_deref().unwrap_or("an unknown device");
            format!("PV {}, which is missing (last on {hint})", known.uuid)
        }
    }
}

/// The disks that hold byte `at` of a volume, and how far they go on.
fn place(group: &VolumeGroup, lv: LvId, at: u64, depth: usize) -> Option<(Vec<(PvId, u64)>, u64)> {
    if depth > DEPTH_MAX {
        return None;
    }
    let bytes = |extents: lvm2::Extents| {
        let sectors = extents.to_sectors(group.extent_size)?;
        Some(sectors.to_bytes()?.0)
    };
    let segments = &group.lv(lv).segments;
    let holds = |segment: &&lvm2::model::Segment| bytes(segment.end()).is_some_and(|end| at < end);
    let segment = segments.iter().find(holds)?;
    let within = at.checked_sub(bytes(segment.start)?)?;
    let left = bytes(segment.end())? - at;
    let area = |area: &Area, within: u64| match area {
        Area::Pv { pv, start } => {
            let first = group.pv(*pv).extent_start(*start, group.extent_size)?;
            let byte = first.to_bytes()?.0.checked_add(within)?;
            Some((vec![(*pv, byte)], u64::MAX))
        }
        Area::Lv { lv, start } => place(group, *lv, bytes(*start)?.checked_add(within)?, depth + 1),
    };
    match &segment.kind {
        SegmentType::Striped(striped) if striped.areas.len() > 1 => {
            let chunk = striped.stripe_size.to_bytes()?.0;
            let number = within.checked_div(chunk)?;
            let count = striped.areas.len() as u64;
            let leg = &striped.areas[(number % count) as usize];
            let (on, len) = area(leg, number / count * chunk + within % chunk)?;
            Some((on, len.min(chunk - within % chunk).min(left)))
        }
        SegmentType::Striped(striped) => {
            let (on, len) = area(striped.areas.first()?, within)?;
            Some((on, len.min(left)))
        }
        SegmentType::Mirror(mirror) => {
            let (mut on, mut len) = (Vec::new(), left);
            for image in &mirror.images {
                let (more, room) = area(image, within)?;
                on.extend(more);
                len = len.min(room);
            }
            Some((on, len))
        }
        _ => Some((Vec::new(), left)),
    }
}
