//! Which parts of a file are holes.

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use super::device::Shared;
use super::probe::Backing;
use crate::{Error, Extent, ExtentKind, Kind, Range, Result};

/// The extents of `range`, at most `count_max`. Block devices do not tell: all is data.
pub(super) fn extents(shared: &Shared, range: Range, count_max: usize) -> Result<Vec<Extent>> {
    let name = &shared.info.name;
    if range.is_empty() || range.end() > shared.info.size {
        let what = format!(
            "{} bytes at byte {} lie outside {name}",
            range.len(),
            range.start()
        );
        return Err(Error::new(Kind::InvalidRequest, what));
    }
    if shared.backing == Backing::Disk {
        return Ok(vec![data(range.len())]);
    }
    let mut extents = Vec::new();
    let mut at = range.start();
    while at < range.end() && extents.len() < count_max.max(1) {
        let next_data = match rustix::fs::seek(&shared.file, SeekFrom::Data(at)) {
            Ok(next) => next.min(range.end()),
            // No data up to the end of the file.
            Err(Errno::NXIO) => range.end(),
            // A file system that does not tell.
            Err(_) => {
                extents.push(data(range.end() - at));
                break;
            }
        };
        if next_data > at {
            let (len, kind) = (next_data - at, ExtentKind::Hole);
            extents.push(Extent { len, kind });
            at = next_data;
            continue;
        }
        let next_hole = match rustix::fs::seek(&shared.file, SeekFrom::Hole(at)) {
            Ok(next) => next.clamp(at + 1, range.end()),
            Err(_) => range.end(),
        };
        extents.push(data(next_hole - at));
        at = next_hole;
    }
    assert!(at <= range.end(), "nothing behind the range is told");
    Ok(merged(extents))
}

fn data(len: u64) -> Extent {
    let kind = ExtentKind::Data;
    Extent { len, kind }
}

/// Neighbours of one kind become one: the file may have changed between two questions.
fn merged(extents: Vec<Extent>) -> Vec<Extent> {
    let mut merged: Vec<Extent> = Vec::with_capacity(extents.len());
    debug_assert!(extents.iter().all(|one| one.len > 0), "each gets on");
    for extent in extents {
        match merged.last_mut() {
            Some(last) if last.kind == extent.kind => last.len += extent.len,
            _ => merged.push(extent),
        }
    }
    merged
}

#[cfg(test)]
mod tests;
