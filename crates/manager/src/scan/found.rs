//! What a scan found: devices, physical volumes and volume groups, as facts for reports.
//!
//! ```text
//!   Scan ── devices ◀──────────── physical_volumes ◀──────── groups[..].members
//!             FoundDevice            FoundPv (one label)        FoundVg (newest metadata)
//! ```
//!
//! Each list refers to the others by index. What a group's metadata says about its physical and
//! logical volumes is in [`FoundVg::model`]; what stands on the devices themselves is here.
//! Everything is as it was when the device was read; a scan holds no device open and no lock.

use std::sync::Arc;

use lvm::{Bytes, Sectors, Uuid};

use super::finding::Finding;
use crate::host::{DeviceId, DeviceNumber, Location};

/// A place in [`Scan::devices`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceIndex(pub usize);

/// A place in [`Scan::physical_volumes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PvIndex(pub usize);

/// All that was found.
#[derive(Debug, Clone, Default)]
pub struct Scan {
    /// Every device that was looked at, by name; also those that hold no physical volume.
    pub devices: Vec<FoundDevice>,
    /// Every physical volume whose label was found, in the order of the devices; duplicates too.
    pub physical_volumes: Vec<FoundPv>,
    /// Every volume group, by name and then UUID. Two may have the same name.
    pub groups: Vec<FoundVg>,
    /// What is not as it should be, in the order in which people should read it.
    pub findings: Vec<Finding>,
}

/// A device that was looked at.
#[derive(Debug, Clone)]
pub struct FoundDevice {
    /// What people know it by: `/dev/sda1`, `disks/a0.img`, `disk.img:1` (a partition's number).
    pub name: String,
    /// How to open it.
    pub location: Location,
    /// Its size; 0 if it could not be read.
    pub size: Bytes,
    /// Its major and minor number, if it is a block device.
    pub number: Option<DeviceNumber>,
    /// What a device is known by across reboots (`sys_wwid`, `loop_file`, …), if something is.
    pub id: Option<DeviceId>,
    /// What is on it.
    pub content: Content,
}

/// What a scan made of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A physical volume, at this place in [`Scan::physical_volumes`].
    PhysicalVolume(PvIndex),
    /// No label.
    Other,
    /// A partition table; the partitions are devices of their own.
    Partitions,
    /// It was not read, and why: a filter, the devices file, part of another device.
    Skipped(String),
    /// It could not be read, or what it holds is damaged; a finding says how.
    Unreadable,
}

/// A physical volume, as its label and header describe it.
#[derive(Debug, Clone)]
pub struct FoundPv {
    /// Its UUID.
    pub uuid: Uuid,
    /// The device that holds it.
    pub device: DeviceIndex,
    /// The sector of its label, 0 to 3.
    pub label_sector: Sectors,
    /// The size of the device when it was made, as the header says.
    pub header_size: Bytes,
    /// Where the header says that data begins; metadata of a group overrides it.
    pub data_start: Bytes,
    /// Its metadata areas, in the order of the header: none, one or two.
    pub areas: Vec<FoundArea>,
    /// The version of the header's extension: 0 (none), 1, 2, or what a later LVM2 writes.
    pub extension_version: u32,
    /// Whether the header says that a volume group uses it (`pv_in_use`).
    pub in_use: InUse,
    /// Where a boot loader may live, if there is room for one.
    pub bootloader: Option<ByteRange>,
    /// The volume group that it belongs to: its UUID, if the newest metadata lists it.
    pub group: Option<Uuid>,
    /// Whether another device has the same UUID, and which of them is used.
    pub duplicate: Duplicate,
}

/// What the header's extension says about use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InUse {
    /// A volume group uses it.
    Used,
    /// No volume group uses it.
    Unused,
    /// An old header that does not say.
    Unknown,
}

/// Whether a physical volume was found more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Duplicate {
    /// Found once.
    Unique,
    /// Found more than once; this one is used.
    Chosen,
    /// Found more than once; another one is used (`pv_duplicate`).
    Unchosen,
}

/// A run of bytes on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ByteRange {
    /// The first byte.
    pub start: Bytes,
    /// The number of bytes.
    pub len: Bytes,
}

/// A metadata area of a physical volume.
#[derive(Debug, Clone)]
pub struct FoundArea {
    /// Where it is on the device, its header included.
    pub range: ByteRange,
    /// Whether it is used (`pv_mda_used_count`) or set aside (`--metadataignore`).
    pub usage: AreaUsage,
    /// How much more text fits into it (`pv_mda_free`): half of the ring, less the live text.
    pub free: Sectors,
    /// What is in it.
    pub content: AreaContent,
}

/// Whether metadata is kept in an area.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AreaUsage {
    /// Every version is written to it.
    Used,
    /// It exists and is left alone.
    Ignored,
}

/// What was found in a metadata area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AreaContent {
    /// No text: of an unused physical volume, or ignored before anything was written.
    Empty,
    /// A good text: the version that it holds.
    Version(AreaVersion),
    /// The header, or the text that it points to, is damaged: the sentence says how.
    Damaged(String),
}

/// Which version of which group's metadata an area holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AreaVersion {
    /// The group's name in the text.
    pub group_name: String,
    /// The group's UUID in the text.
    pub group: Uuid,
    /// The sequence number.
    pub seqno: u64,
    /// Where the text begins, in bytes from the start of the area.
    pub offset: u64,
    /// The length of the text in bytes, with its closing NUL.
    pub len: u64,
    /// The text's checksum.
    pub crc: u32,
}

/// A volume group: the newest version of its metadata, and where its parts are.
#[derive(Debug, Clone)]
pub struct FoundVg {
    /// Its name.
    pub name: String,
    /// Its UUID: what tells two groups of the same name apart.
    pub uuid: Uuid,
    /// The sequence number of its newest metadata.
    pub seqno: u64,
    /// The text of the newest metadata, as it stands on disk, without its closing NUL.
    pub text: Arc<[u8]>,
    /// Its physical volumes, in the order of the metadata.
    pub members: Vec<Member>,
    /// What keeps it from being used or changed; empty for a healthy group of this host.
    pub restrictions: Vec<Restriction>,
}

/// A physical volume of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Its UUID.
    pub uuid: Uuid,
    /// Where it is; `None` if it is missing (`vg_missing_pv_count`).
    pub found: Option<PvIndex>,
}

/// Why a volume group may not be changed, or not even be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Restriction {
    /// It belongs to another host.
    Foreign {
        /// The system ID of that host.
        system_id: String,
    },
    /// Several hosts share it through a lock manager.
    Shared {
        /// The lock manager: `sanlock`, `dlm`, `idm`, or one of the future.
        lock_type: String,
    },
    /// Several hosts share it in the way of old clusters.
    Clustered,
    /// It was exported (`vgexport`): nobody uses it until it is imported.
    Exported,
    /// Its metadata says that it may only be read.
    ReadOnly,
    /// Its metadata uses something that this version does not know.
    Unknown(String),
    /// Metadata areas hold different texts with the same sequence number.
    Disagreement,
    /// Another group has the same name: it has to be named by its UUID.
    AmbiguousName,
    /// Physical volumes are missing.
    Partial,
    /// A physical volume was found on more than one device.
    DuplicatePvs,
}

impl Scan {
    /// The device at `index`.
    pub fn device(&self, index: DeviceIndex) -> &FoundDevice {
        &self.devices[index.0]
    }

    /// The physical volume at `index`.
    pub fn pv(&self, index: PvIndex) -> &FoundPv {
        &self.physical_volumes[index.0]
    }

    /// The group with this UUID.
    pub fn group(&self, uuid: Uuid) -> Option<&FoundVg> {
        self.groups.iter().find(|group| group.uuid == uuid)
    }

    /// All groups with this name: more than one if the name is not unique.
    pub fn groups_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a FoundVg> {
        self.groups.iter().filter(move |group| group.name == name)
    }

    /// The physical volumes that no group uses, duplicates that are not used left out.
    pub fn orphans(&self) -> impl Iterator<Item = &FoundPv> {
        let unused = |pv: &&FoundPv| pv.group.is_none() && pv.duplicate != Duplicate::Unchosen;
        self.physical_volumes.iter().filter(unused)
    }
}

impl FoundVg {
    /// How many of its physical volumes are missing.
    pub fn missing_count(&self) -> usize {
        let missing = |member: &&Member| member.found.is_none();
        self.members.iter().filter(missing).count()
    }
}
