//! What a scan has to say to people: one thing that is not as it should be, and what to do.
//!
//! Findings are values, not log lines: the command decides which of them concern what it was
//! asked, prints them on standard error, and derives its exit code. A finding never stops a scan.

use std::fmt;

use lvm2::Uuid;

use super::found::DeviceIndex;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing with `-v`; nothing is wrong.
    Note,
    /// Something is wrong, and everything could still be read.
    Warning,
    /// Something could not be read: what it holds is not in the scan.
    Error,
}

/// What was found. Callers match on this; the sentence is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FindingKind {
    /// A device could not be opened or read.
    Unreadable,
    /// A device did not answer within the time limit.
    TimedOut,
    /// A device was left out by a filter, the devices file, or because it is part of another.
    Skipped,
    /// More than one label on a device.
    SecondLabel,
    /// A label or physical volume header that is damaged.
    DamagedLabel,
    /// A partition table that is damaged.
    DamagedTable,
    /// The header of a metadata area is damaged.
    DamagedArea,
    /// The text in a metadata area is damaged.
    DamagedText,
    /// A metadata area holds an older version than another one.
    StaleArea,
    /// Two metadata areas hold different texts with the same sequence number.
    Disagreement,
    /// A text that a volume group cannot be made of.
    InvalidText,
    /// Volumes of types that are not known here.
    UnknownType,
    /// A volume group whose metadata contradicts itself.
    UnsoundVg,
    /// A physical volume that the newest metadata no longer lists.
    OutdatedPv,
    /// Two devices with the same physical volume's UUID.
    DuplicatePv,
    /// A physical volume of a group that was not found.
    MissingPv,
    /// A physical volume whose device is smaller than the metadata says.
    TruncatedPv,
    /// A physical volume whose header and metadata disagree on whether it is used.
    UsedFlag,
    /// A physical volume that two volume groups list.
    ContestedPv,
    /// A physical volume that was missing came back; what it holds may be stale.
    ReturnedPv,
    /// A command that was interrupted between two commits.
    Unfinished,
    /// Two volume groups with the same name.
    DuplicateName,
    /// Two volume groups have the same UUID: one is a renamed clone.
    DuplicateVgid,
    /// A group of another host.
    ForeignVg,
    /// A group that several hosts share.
    SharedVg,
    /// A configuration file, or a setting, that cannot be used.
    Config,
}

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What callers match on.
    pub kind: FindingKind,
    /// How bad it is.
    pub severity: Severity,
    /// The device that it was found on, if it is about one.
    pub device: Option<DeviceIndex>,
    /// The volume group that it concerns, where one is known.
    pub group: Option<Uuid>,
    /// A sentence that names the object, without a full stop.
    pub message: String,
    /// What to do about it; empty where nothing has to be done.
    pub remedy: String,
    /// The lines that LVM2 has for it, none where those of another finding say it; `None`: the
    /// same sentence, or nothing.
    pub in_lvm2: Option<Vec<String>>,
}

impl Finding {
    /// A finding that is about no device and no group.
    pub fn new(kind: FindingKind, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            kind,
            severity,
            device: None,
            group: None,
            message: message.into(),
            remedy: String::new(),
            in_lvm2: None,
        }
    }

    /// The same, with the lines that LVM2 has for it.
    pub fn in_lvm2(mut self, lines: Vec<String>) -> Self {
        self.in_lvm2 = Some(lines);
        self
    }

    /// The same, found on `device`.
    pub fn on(mut self, device: DeviceIndex) -> Self {
        self.device = Some(device);
        self
    }

    /// The same, about the group with this UUID.
    pub fn about(mut self, group: Uuid) -> Self {
        self.group = Some(group);
        self
    }

    /// The same, with what to do about it.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.severity == Severity::Warning {
            f.write_str("WARNING: ")?;
        }
        f.write_str(&self.message)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        f.write_str(".")
    }
}
