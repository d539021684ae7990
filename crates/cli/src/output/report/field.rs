//! What a field is: its names, its kind, and how a row gives its value.

use super::value::Value;
use crate::output::row::{Row, Style};

/// What a field's values are, which decides alignment, sorting and the operators of `-S`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// Text.
    Text,
    /// Several texts.
    List,
    /// An integer.
    Number,
    /// Set or not set; the words that `-S` takes for "set" beside `yes` and `1`.
    Binary(&'static [&'static str]),
    /// Bytes.
    Size,
    /// A percentage.
    Percent,
    /// A point in time.
    Time,
}

impl FieldKind {
    /// Whether cells are aligned to the right.
    pub(crate) fn is_right_aligned(self) -> bool {
        matches!(self, Self::Number | Self::Binary(_) | Self::Size)
    }

    /// The name of the kind in `-S help`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::List => "string list",
            Self::Number | Self::Binary(_) => "number",
            Self::Size => "size",
            Self::Percent => "percent",
            Self::Time => "time",
        }
    }
}

/// What a field belongs to. It decides what a row must be for the field to have a value, and the
/// section of `-o help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FieldGroup {
    /// A logical volume.
    Lv,
    /// What the kernel knows of a volume.
    LvInfo,
    /// What a running target says.
    LvStatus,
    /// Both.
    LvInfoStatus,
    /// What the process that serves a volume saw; LVM2 has no such fields, so they are not among
    /// `lv_all`.
    LvOwner,
    /// A device with a label.
    Label,
    /// A physical volume.
    Pv,
    /// A volume group.
    Vg,
    /// A segment of a volume.
    Segment,
    /// A segment of a physical volume.
    PvSegment,
    /// A type of block devices.
    DeviceType,
    /// What a command said.
    Log,
}

impl FieldGroup {
    /// Those that say something of a volume, which may be active.
    pub(crate) const OF_VOLUMES: [Self; 5] = [
        Self::Lv,
        Self::LvInfo,
        Self::LvStatus,
        Self::LvInfoStatus,
        Self::LvOwner,
    ];

    /// Title of the section in help.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Lv => "Logical Volume Fields",
            Self::LvInfo => "Logical Volume Device Info Fields",
            Self::LvStatus => "Logical Volume Device Status Fields",
            Self::LvInfoStatus => "Logical Volume Device Info and Status Combined Fields",
            Self::LvOwner => "Logical Volume Fields of Whoever Serves It",
            Self::Label => "Physical Volume Label Fields",
            Self::Pv => "Physical Volume Fields",
            Self::Vg => "Volume FieldGroup Fields",
            Self::Segment => "Logical Volume Segment Fields",
            Self::PvSegment => "Physical Volume Segment Fields",
            Self::DeviceType => "Device Types Fields",
            Self::Log => "Command Log Fields",
        }
    }

    /// The prefix of `…_all`.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Lv | Self::LvInfo | Self::LvStatus | Self::LvInfoStatus => "lv_",
            Self::LvOwner => "owner_",
            Self::Label | Self::Pv => "pv_",
            Self::Vg => "vg_",
            Self::Segment => "seg_",
            Self::PvSegment => "pvseg_",
            Self::DeviceType => "devtype_",
            Self::Log => "log_",
        }
    }
}

/// One field of the reports.
pub(crate) struct Field {
    /// The name for `-o`, `-O`, `-S` and JSON.
    pub(crate) name: &'static str,
    /// The heading of its column.
    pub(crate) heading: &'static str,
    /// What its values are.
    pub(crate) kind: FieldKind,
    /// The smallest width of its column.
    pub(crate) width: usize,
    /// What it belongs to.
    pub(crate) group: FieldGroup,
    /// What it says, in a few words.
    pub(crate) help: &'static str,
    /// How a row gives the value.
    pub(crate) read: fn(&Row<'_>, &Style) -> Value,
}

impl std::fmt::Debug for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
