//! What is said of volumes that are served: several lines for many volumes.

use super::Reply;
use super::message::{LINE_MAX, line};
use crate::live::VolumeStatus;

/// Volumes go on one line up to so many bytes. One volume alone is much shorter than the rest of
/// the longest line: names have 128 characters, and a mirror has few images.
const VOLUMES_MAX: usize = LINE_MAX / 2;

/// The lines that say this; `more` is said by the last one.
pub(super) fn to_lines(volumes: &[VolumeStatus], more: bool) -> Vec<u8> {
    let one_line = |volumes: &[VolumeStatus], more| {
        let volumes = volumes.to_vec();
        line(&Reply::Status { volumes, more })
    };
    let mut lines = Vec::new();
    let (mut first, mut len) = (0, 0);
    for (at, volume) in volumes.iter().enumerate() {
        let written = serde_json::to_vec(volume).expect("texts and numbers can be written");
        if len + written.len() > VOLUMES_MAX && first < at {
            lines.extend(one_line(&volumes[first..at], true));
            (first, len) = (at, 0);
        }
        len += written.len();
    }
    lines.extend(one_line(&volumes[first..], more));
    lines
}

/// Whether the numbers can be true together.
pub(super) fn check(volumes: &[VolumeStatus]) -> Result<(), &'static str> {
    for volume in volumes {
        if volume
            .mirrors
            .iter()
            .any(|mirror| mirror.in_sync > mirror.regions)
        {
            return Err("more regions are in sync than there are");
        }
        let mut snapshots = volume.snapshots.iter();
        if snapshots.any(|store| store.used > store.size || store.metadata > store.used) {
            return Err("more of a store is used than there is");
        }
    }
    Ok(())
}
