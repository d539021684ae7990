//! A physical volume ends behind its last extent in use, and what it gives back reads as zeros.
//!
//! ```text
//!     before   |label, metadata|a a a|b b| free …        |
//!     after    |label, metadata|a a a|b b|0 0 0 0 0 0 0 0|
//!                                        └ the end       └ its end before
//! ```
//!
//! The zeros are durable before the commit that makes the physical volume shorter. So whoever then
//! cuts the device off behind its end cuts nothing but zeros, and can refuse to cut anything else.
//!
//! Where it ends now, the group's text says. The size in its label may be an older and larger one:
//! what lies between the two is not known to be the physical volume's, so it is not zeroed.
//!
//! A metadata area or an area for a boot loader is never cut or zeroed, wherever it lies: the
//! physical volume does not end in front of one. With a second metadata area at its end it keeps
//! its size.

use alloc::format;
use alloc::vec;

use crate::model::{PvId, VolumeGroup};
use crate::ondisk::{PvHeader, Span};
use crate::plan::author::Author;
use crate::plan::change::{Before, Change, Message, Piece};
use crate::plan::draft::{pv_name, refused};
use crate::plan::physical::resize::{PvSize, cut_pv, used_end};
use crate::{Bytes, Extents, Result, Sectors};

/// The unit of its end: the largest blocks that disks have.
const UNIT: Sectors = Sectors(8);

/// How long a physical volume is, and how long it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// Behind this nothing of it lies now.
    pub old: Sectors,
    /// Behind this nothing of it lies afterwards.
    pub new: Sectors,
}

/// Makes a physical volume as short as it can be; `header` is the one from its label. A change
/// without a group: it is so already.
pub fn shorten_pv(
    vg: &VolumeGroup,
    pv: PvId,
    header: &PvHeader,
    (device, least): (Sectors, Sectors),
    author: &mut Author<'_>,
) -> Result<(Change, Lengths)> {
    require_apart(vg, pv, header)?;
    let lengths = lengths(vg, pv, header, device, least)?;
    if lengths.new >= lengths.old {
        let kept = Lengths {
            new: lengths.old,
            ..lengths
        };
        let change = mend_label(vg, pv, header, (device, least, kept.new), author)?;
        return Ok((change, kept));
    }
    let size = PvSize {
        device,
        asked: Some(lengths.new),
        least,
    };
    let mut change = cut_pv(vg, pv, header, size, author)?;
    let bytes = |sectors: Sectors| sectors.to_bytes().unwrap_or_default();
    assert!(lengths.new < lengths.old, "it becomes shorter");
    let (start, end) = (bytes(lengths.new), bytes(lengths.old));
    change.before.push(Before::Fill {
        pieces: vec![Piece {
            pv: header.uuid,
            start,
            length: Bytes(end.0 - start.0),
        }],
        byte: 0,
    });
    // Its sentences are for people who ask for a size.
    change.messages = vec![Message::note(format!(
        "Physical volume {} ends at byte {}, and not at byte {}.",
        pv_name(vg, pv),
        start.0,
        end.0
    ))];
    Ok((change, lengths))
}

/// Lets the label say no more than the text does: a `pvresize` that was killed, or stock's, leaves
/// a size in it that is too large.
fn mend_label(
    vg: &VolumeGroup,
    pv: PvId,
    header: &PvHeader,
    (device, least, end): (Sectors, Sectors, Sectors),
    author: &mut Author<'_>,
) -> Result<Change> {
    let labelled = header.device_size.whole_sectors();
    if labelled <= end || end < least {
        return Ok(Change::default());
    }
    let size = PvSize {
        device,
        asked: Some(end),
        least,
    };
    let mut change = cut_pv(vg, pv, header, size, author)?;
    change.messages = vec![Message::note(format!(
        "The label of physical volume {} says that it has {} sectors, and not {}.",
        pv_name(vg, pv),
        end.0,
        labelled.0
    ))];
    Ok(change)
}

fn lengths(
    vg: &VolumeGroup,
    pv: PvId,
    header: &PvHeader,
    device: Sectors,
    least: Sectors,
) -> Result<Lengths> {
    let volume = vg.pv(pv);
    let too_large = || refused(format!("{}: its end cannot be counted", pv_name(vg, pv)));
    let end_of = |extents: Extents| volume.extent_start(extents, vg.extent_size);
    // It has one extent at least.
    let used = used_end(vg, pv).max(Extents(1));
    let mut of_areas = Sectors(0);
    for area in areas(header) {
        of_areas = of_areas.max(end_of_area(area).ok_or_else(too_large)?);
    }
    let new = end_of(used).ok_or_else(too_large)?.max(least).max(of_areas);
    let new = new.round_up(UNIT).ok_or_else(too_large)?;
    let known = volume.dev_size.unwrap_or(device);
    let by_extents = end_of(volume.pe_count).ok_or_else(too_large)?;
    let old = known.max(by_extents).max(of_areas).min(device);
    Ok(Lengths { old, new })
}

/// Refuses a physical volume in which an area lies among the extents: what is taken for free might
/// be metadata.
pub(super) fn require_apart(vg: &VolumeGroup, pv: PvId, header: &PvHeader) -> Result<()> {
    let volume = vg.pv(pv);
    let end = volume.extent_start(volume.pe_count, vg.extent_size);
    let is_apart = |area: Span| {
        end_of_area(area).is_some_and(|end| end <= volume.pe_start)
            || end.is_some_and(|end| area.offset.whole_sectors() >= end)
    };
    if areas(header).all(is_apart) {
        return Ok(());
    }
    Err(refused(format!(
        "{}: a metadata area or one for a boot loader lies where the extents are, so that none of \
         them can be taken for free",
        pv_name(vg, pv)
    )))
}

/// What a physical volume holds besides its label and its extents.
fn areas(header: &PvHeader) -> impl Iterator<Item = Span> {
    let extension = header.extension.iter();
    let bootloaders = extension.flat_map(|extension| &extension.bootloader_areas);
    header.metadata_areas.iter().chain(bootloaders).copied()
}

fn end_of_area(area: Span) -> Option<Sectors> {
    let end = area.offset.checked_add(area.size)?;
    Some(end.round_up(Bytes(crate::SECTOR_SIZE))?.whole_sectors())
}

#[cfg(test)]
mod tests;
