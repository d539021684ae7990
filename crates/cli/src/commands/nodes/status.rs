//! The lines of a node's status, in device-mapper's words, as far as whoever serves it says.

use ashlar::live::{Merging, MirrorStatus, SnapshotInUse};
use dm::mirror::ImageHealth;
use lvm2::model::{Raid, RaidFamily, Segment, SegmentType};

use super::stack::{Layer, Node};
use super::target::{Argument, Line, level};
use crate::output::Active;

/// What stands where nobody says how it is.
const UNKNOWN: &str = "-";
/// Bytes of a sector.
const SECTOR: u64 = lvm2::SECTOR_SIZE;

/// One line for each of the table.
pub(super) fn lines(node: &Node<'_>) -> Vec<String> {
    let volume = node.group.vg.lv(node.lv);
    let one = |(index, line): (usize, &Line)| {
        let segment = match node.layer {
            Layer::Whole | Layer::Real | Layer::Store => volume.segments.get(index),
            Layer::Origin | Layer::Snapshot => None,
        };
        let said = said(node, line, segment);
        let text = format!("{} {} {} {said}", line.start, line.length, line.target);
        text.trim_end().to_owned()
    };
    node.lines.iter().enumerate().map(one).collect()
}

fn said(node: &Node<'_>, line: &Line, segment: Option<&Segment>) -> String {
    let active = node.group.state(node.lv).active();
    let mirror = active.and_then(|active| active.mirror.as_ref());
    match (line.target, segment.map(|segment| &segment.kind)) {
        ("snapshot", _) => in_store(active.and_then(|active| active.snapshot)),
        ("snapshot-merge", _) => in_store(active.and_then(|active| active.merging)),
        ("striped", _) => striped(line),
        (_, Some(SegmentType::Mirror(_))) => mirrored(line, mirror),
        (_, Some(SegmentType::Raid(raid))) => {
            let image = segment.and_then(Segment::area_length);
            let sectors = match (raid.level.family(), image) {
                // Each copy counts once.
                (RaidFamily::Raid1 | RaidFamily::Raid10, _) | (_, None) => line.length,
                (_, Some(image)) => node.group.sectors(image),
            };
            array(raid, sectors, mirror)
        }
        (_, Some(SegmentType::Integrity(_))) => checked(line, active),
        _ => String::new(),
    }
}

/// Sectors that are used of a store, all of them, and those that hold no data.
pub(super) fn in_store(store: Option<SnapshotInUse>) -> String {
    match store {
        None => UNKNOWN.to_owned(),
        Some(store) if store.is_invalid => "Invalid".to_owned(),
        Some(store) if store.merge == Merging::Failed => "Merge failed".to_owned(),
        Some(store) => {
            let [used, size, metadata] =
                [store.used, store.size, store.metadata].map(|bytes| bytes / SECTOR);
            format!("{used}/{size} {metadata}")
        }
    }
}

/// Its legs; one that is missing is dead.
fn striped(line: &Line) -> String {
    let legs: Vec<String> = names(line);
    let state = |leg: &String| if leg.starts_with('[') { 'D' } else { 'A' };
    let states: String = legs.iter().map(state).collect();
    format!("{} {} 1 {states}", legs.len(), legs.join(" "))
}

/// The legs, how much of them is the same, how each is, and the log.
fn mirrored(line: &Line, mirror: Option<&MirrorStatus>) -> String {
    let mut names = names(line);
    let log = match line.arguments.first().map(Argument::text).as_deref() {
        Some("disk") if !names.is_empty() => format!("3 disk {} A", names.remove(0)),
        _ => "1 core".to_owned(),
    };
    let (counts, states) = match mirror {
        None => (UNKNOWN.to_owned(), UNKNOWN.to_owned()),
        Some(mirror) => {
            let state = |state: ImageHealth| match state {
                ImageHealth::Good => 'A',
                ImageHealth::ReadErrors => 'R',
                ImageHealth::OutOfSync => 'S',
                ImageHealth::Lost | ImageHealth::Missing => 'D',
            };
            let states = mirror.images.iter().map(|image| state(image.state));
            let counts = format!("{}/{}", mirror.in_sync, mirror.regions);
            (counts, states.collect())
        }
    };
    let count = names.len();
    format!("{count} {} {counts} 1 {states} {log}", names.join(" "))
}

/// How each leg is, how many sectors go together, and what is done about the others.
pub(super) fn array(raid: &Raid, sectors: u64, mirror: Option<&MirrorStatus>) -> String {
    let (name, count) = (level(raid.level), raid.images.len());
    if raid.level.family() == RaidFamily::Raid0 {
        let states = "A".repeat(count);
        return format!("{name} {count} {states} {sectors}/{sectors} idle 0 0 -");
    }
    let Some(mirror) = mirror else {
        return format!("{name} {count} {UNKNOWN}");
    };
    let is_in_sync = mirror.in_sync == mirror.regions;
    let images = mirror.images.iter().map(|image| image.state);
    let is_filled = images.clone().any(|state| state == ImageHealth::OutOfSync);
    let states: String = images
        .map(|state| match state {
            ImageHealth::Lost | ImageHealth::Missing => 'D',
            // While one is filled from the others, these have all.
            ImageHealth::Good | ImageHealth::ReadErrors if is_in_sync || is_filled => 'A',
            ImageHealth::OutOfSync | ImageHealth::Good | ImageHealth::ReadErrors => 'a',
        })
        .collect();
    let part = u128::from(sectors) * u128::from(mirror.in_sync);
    let together = part / u128::from(mirror.regions.max(1));
    let action = match (is_in_sync, is_filled) {
        (_, true) => "recover",
        (true, false) => "idle",
        (false, false) => "resync",
    };
    format!("{name} {count} {states} {together}/{sectors} {action} 0 0 -")
}

/// Wrong checksums, and the sectors that have any.
fn checked(line: &Line, active: Option<&Active>) -> String {
    match active.and_then(|active| active.mismatches) {
        Some(wrong) => format!("{wrong} {} -", line.length),
        None => UNKNOWN.to_owned(),
    }
}

/// What the line stands on, as it stands in its table.
fn names(line: &Line) -> Vec<String> {
    let below = line.arguments.iter();
    let below = below.filter(|argument| matches!(argument, Argument::Below(..)));
    below.map(Argument::text).collect()
}
