//! How far moves are, from the metadata and from what the owner says of the piece under way.

use ashlar::live::{MirrorStatus, VolumeStatus};
use dm::mirror::ImageHealth;
use lvm2::model::{Area, VolumeGroup};
use lvm2::plan::physical::Move;
use lvm2::{Extents, Uuid};

use crate::args::Error;

/// Bytes of a move that are not on their target; an extent has `extent` bytes.
pub(super) fn bytes_left(one: &Move, extent: u64, statuses: &[VolumeStatus]) -> u64 {
    let all = one.extents.0 * extent;
    let done = running(one, statuses).map_or(one.moved.0 * extent, |status| {
        let share = u128::from(all) * u128::from(status.in_sync);
        // No more than all of it.
        (share / u128::from(status.regions.max(1))) as u64
    });
    all - done.min(all)
}

/// What the owner says of a move.
fn running<'a>(one: &Move, statuses: &'a [VolumeStatus]) -> Option<&'a MirrorStatus> {
    let mut mirrors = statuses.iter().flat_map(|status| &status.mirrors);
    mirrors.find(|mirror| mirror.lv == one.uuid)
}

/// Whether the owner copies for a move.
pub(super) fn is_copied(one: &Move, statuses: &[VolumeStatus]) -> bool {
    running(one, statuses).is_some()
}

/// Why nothing moves any more.
pub(super) fn stands_still(
    moves: &[&Move],
    statuses: &[VolumeStatus],
    group: &str,
) -> Option<Error> {
    for one in moves {
        let images = running(one, statuses).map_or(&[][..], |status| &status.images);
        let is_lost = |state| matches!(state, ImageHealth::Lost | ImageHealth::Missing);
        if let Some(image) = images.iter().find(|image| is_lost(image.state)) {
            return Some(Error::failed(format!(
                "{group}/{} stands still, since {} is lost, to which it moves; what is not moved \
                 is where it was. End it (ashlar pvmove --abort), and move it elsewhere.",
                one.name, image.name
            )));
        }
    }
    None
}

/// The first extents of what a move moves, where it lies before.
pub(super) fn sources(vg: &VolumeGroup, one: &Move) -> Vec<(Uuid, Extents)> {
    let pieces = vg.lv(one.lv).segments.iter();
    let all = pieces.filter_map(|piece| match piece.areas() {
        [source, _] => Some(*source),
        _ => None,
    });
    let mut found = Vec::new();
    for source in all {
        // Of an atomic move it is a volume.
        let areas = match source {
            Area::Pv { .. } => vec![source],
            Area::Lv { lv, .. } => {
                let segments = vg.lv(lv).segments.iter();
                segments
                    .flat_map(|segment| segment.areas().to_vec())
                    .collect()
            }
        };
        found.extend(areas.into_iter().filter_map(|area| match area {
            Area::Pv { pv, start } => Some((vg.pv(pv).uuid, start)),
            Area::Lv { .. } => None,
        }));
    }
    found
}
