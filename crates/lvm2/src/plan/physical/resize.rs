//! `pvresize`: a physical volume follows its device.

use alloc::format;

use crate::model::{AllocationMap, PvId, VolumeGroup};
use crate::ondisk::PvHeader;
use crate::plan::author::Author;
use crate::plan::change::{Change, HeaderChange, HeaderEdit, When};
use crate::plan::draft::{Draft, pv_name, refused, require_known_segments};
use crate::plan::initialise::extent_count;
use crate::{Error, Extents, Kind, Result, Sectors};

/// How large a physical volume is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PvSize {
    /// What the device has.
    pub device: Sectors,
    /// `--setphysicalvolumesize`.
    pub asked: Option<Sectors>,
    /// `devices/pv_min_size`.
    pub least: Sectors,
}

impl PvSize {
    /// Refuses a size that leaves no place for what stands in front of the extents, of a physical
    /// volume called `name`.
    pub fn require_start(&self, pe_start: Sectors, name: &str) -> Result<()> {
        let new = self.asked.unwrap_or(self.device);
        if new < self.least {
            return Err(refused(format!(
                "Size must exceed minimum of {} sectors on PV {name}.",
                self.least.0
            )));
        }
        if new < pe_start {
            return Err(refused(format!(
                "Size must exceed physical extent start of {} sectors on PV {name}.",
                pe_start.0
            )));
        }
        Ok(())
    }
}

/// Gives a physical volume another size. `header` is the one from its label, which keeps the size
/// that it has; the text then counts from the start of the extents. Both are stock's way.
pub fn resize_pv(
    vg: &VolumeGroup,
    pv: PvId,
    header: &PvHeader,
    size: PvSize,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = resized(vg, pv, header, size)?;
    let volume = draft.vg.pv_mut(pv);
    volume.dev_size = Some(size.asked.unwrap_or(size.device) - volume.pe_start);
    draft.finish(author)
}

/// Lets a physical volume end earlier, and its label and text say where.
pub(super) fn cut_pv(
    vg: &VolumeGroup,
    pv: PvId,
    header: &PvHeader,
    size: PvSize,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = resized(vg, pv, header, size)?;
    let new = size.asked.unwrap_or(size.device);
    draft.vg.pv_mut(pv).dev_size = Some(new);
    let bytes = new
        .to_bytes()
        .ok_or_else(|| Error::new(Kind::Limit, "The device is too large"))?;
    draft.headers.push(HeaderChange {
        pv: header.uuid,
        when: When::AfterCommit,
        edit: HeaderEdit::DeviceSize(bytes),
    });
    draft.finish(author)
}

fn resized(vg: &VolumeGroup, pv: PvId, header: &PvHeader, size: PvSize) -> Result<Draft> {
    let mut draft = Draft::begin(vg)?;
    require_known_segments(vg)?;
    let name = pv_name(vg, pv);
    let new = size.asked.unwrap_or(size.device);
    if new != size.device {
        if new > size.device {
            return Err(refused(format!(
                "{name}: the size asked for is larger than the device, which has {} sectors",
                size.device.0
            )));
        }
        draft.warn(format!(
            "{name}: Pretending size is {} not {} sectors.",
            new.0, size.device.0
        ));
    }
    let count = new_count(vg, pv, header, size)?;
    let used = used_end(vg, pv);
    if count < used {
        let allocated = AllocationMap::of(vg).used_count(pv);
        return Err(refused(if count < allocated {
            format!(
                "{name}: cannot resize to {} extents as {} are allocated.",
                count.0, allocated.0
            )
        } else {
            format!(
                "{name}: cannot resize to {} extents as later ones are allocated.",
                count.0
            )
        }));
    }
    draft.vg.pv_mut(pv).pe_count = count;
    draft.note(format!("Physical volume \"{name}\" changed"));
    Ok(draft)
}

/// How many extents a physical volume has when it has another size.
pub(super) fn new_count(
    vg: &VolumeGroup,
    pv: PvId,
    header: &PvHeader,
    size: PvSize,
) -> Result<Extents> {
    let name = pv_name(vg, pv);
    let new = size.asked.unwrap_or(size.device);
    let start = vg.pv(pv).pe_start;
    size.require_start(start, &name)?;
    if new - start < vg.extent_size {
        return Err(refused(format!(
            "Size must leave space for at least one physical extent of {} sectors on PV {name}.",
            vg.extent_size.0
        )));
    }
    let mut by_text = header.clone();
    if let (Some(data), Some(offset)) = (by_text.data_areas.first_mut(), start.to_bytes()) {
        data.offset = offset;
    }
    require_areas_fit(header, new, &name)?;
    extent_count(&by_text, new, vg.extent_size)
}

/// A second metadata area stays where it is; it must be on what is left.
fn require_areas_fit(header: &PvHeader, size: Sectors, name: &str) -> Result<()> {
    let size = size.to_bytes().unwrap_or_default();
    let fits = |area: &crate::ondisk::Span| area.end_within(size).is_some();
    if header.metadata_areas.iter().all(fits) {
        return Ok(());
    }
    Err(refused(format!(
        "{name}: cannot resize to a size that cuts its second metadata area off"
    )))
}

/// The first extent behind all that are in use.
pub(super) fn used_end(vg: &VolumeGroup, pv: PvId) -> Extents {
    let map = AllocationMap::of(vg);
    let ends = map
        .allocations(pv)
        .iter()
        .map(|allocation| allocation.range.end());
    ends.max().unwrap_or_default()
}
