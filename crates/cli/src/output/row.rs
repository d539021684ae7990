//! What one line of a report is about.

use ashlar::scan::{FoundDevice, FoundPv, PvIndex};
use lvm2::model::{LogicalVolume, LvId, PhysicalVolume, PvId, Segment};

use super::fields::DeviceType;
use super::report::{TimeFormat, Zone};
use super::units::{Form, Units};
use super::view::{Group, View};

/// How values are printed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Style {
    /// Sizes.
    pub(crate) units: Units,
    /// Columns that are set or not: a word or nothing, or `1` and `0`.
    pub(crate) binary: Binary,
    /// Times.
    pub(crate) zone: Zone,
    /// How times are written.
    pub(crate) time_format: TimeFormat,
    /// Volumes that were removed.
    pub(crate) history: History,
}

/// Whether volumes that are only remembered are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum History {
    /// They are not.
    #[default]
    Hidden,
    /// They are.
    Shown,
}

/// How columns that are set or not are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Binary {
    /// A word or nothing.
    #[default]
    Words,
    /// `1`, `0`, and `-1` for unknown.
    Numbers,
}

impl Style {
    /// A size of `sectors` sectors.
    pub(crate) fn sectors(&self, sectors: u64) -> String {
        self.units.show(sectors.saturating_mul(512), Form::Short)
    }
}

/// A run of extents of a physical volume, in use by one segment or free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PvSegment {
    /// The first extent.
    pub(crate) start: u64,
    /// The number of extents.
    pub(crate) length: u64,
    /// The volume and the index of its segment that uses it.
    pub(crate) used_by: Option<(LvId, usize)>,
}

/// What a line is about; each part that does not apply is absent.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    /// Everything that was found.
    pub(crate) view: &'a View,
    /// The volume group.
    pub(crate) group: Option<&'a Group>,
    /// The logical volume.
    pub(crate) lv: Option<LvId>,
    /// The index of a segment of that volume.
    pub(crate) segment: Option<usize>,
    /// The physical volume, as the group knows it.
    pub(crate) pv: Option<PvId>,
    /// The physical volume, as its device shows it; absent where it is missing.
    pub(crate) found: Option<PvIndex>,
    /// The device, where a line is about a device without a label.
    pub(crate) device: Option<&'a FoundDevice>,
    /// The run of extents of that physical volume.
    pub(crate) pv_segment: Option<PvSegment>,
    /// A type of block devices.
    pub(crate) device_type: Option<&'static DeviceType>,
}

impl<'a> Row<'a> {
    /// A line about nothing yet.
    pub(crate) fn new(view: &'a View) -> Self {
        Self {
            view,
            group: None,
            lv: None,
            segment: None,
            pv: None,
            found: None,
            device: None,
            pv_segment: None,
            device_type: None,
        }
    }

    /// A line about a volume group.
    pub(crate) fn of_group(view: &'a View, group: &'a Group) -> Self {
        Self {
            group: Some(group),
            ..Self::new(view)
        }
    }

    /// The same line, about a volume of that group.
    pub(crate) fn with_lv(self, lv: LvId) -> Self {
        Self {
            lv: Some(lv),
            ..self
        }
    }

    /// The same line, about a physical volume of that group.
    pub(crate) fn with_pv(self, pv: PvId) -> Self {
        let found = self.group.and_then(|group| group.found(pv));
        Self {
            pv: Some(pv),
            found,
            ..self
        }
    }

    /// The volume with its group.
    pub(crate) fn volume(&self) -> Option<(&'a Group, LvId, &'a LogicalVolume)> {
        let group = self.group?;
        let lv = self.lv?;
        Some((group, lv, group.vg.lv(lv)))
    }

    /// The segment; a line about a whole volume is about its first one.
    pub(crate) fn lv_segment(&self) -> Option<(&'a Group, LvId, &'a Segment)> {
        let (group, lv, volume) = self.volume()?;
        Some((group, lv, volume.segments.get(self.segment.unwrap_or(0))?))
    }

    /// The physical volume in its group's metadata.
    pub(crate) fn physical(&self) -> Option<(&'a Group, PvId, &'a PhysicalVolume)> {
        let group = self.group?;
        let pv = self.pv?;
        Some((group, pv, group.vg.pv(pv)))
    }

    /// The label on the device.
    pub(crate) fn label(&self) -> Option<&'a FoundPv> {
        self.found.map(|found| self.view.scan.pv(found))
    }

    /// The device.
    pub(crate) fn found_device(&self) -> Option<&'a FoundDevice> {
        self.device
            .or_else(|| self.label().map(|pv| self.view.scan.device(pv.device)))
    }
}
