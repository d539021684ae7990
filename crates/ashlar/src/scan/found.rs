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

use std::collections::BTreeMap;
use std::sync::Arc;

use lvm2::model::{PvId, VgFlag, VolumeGroup};
use lvm2::ondisk::{AreaHeader, AreaUse, PvHeader, RawLocation, Ring, Span};
use lvm2::{Bytes, Sectors, Uuid};

use super::again::Looked;
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
    /// What was read of each device, from which all of this was made: to look again at a few.
    pub(super) looked: Arc<[Looked]>,
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
    /// Its header, as it stands behind the label.
    pub header: PvHeader,
    /// Its metadata areas, in the order of the header: none, one or two.
    pub areas: Vec<FoundArea>,
    /// The volume group that it belongs to: its UUID, if the newest metadata lists it.
    pub group: Option<Uuid>,
    /// The volume group that it belonged to until it was removed from it while it was away.
    pub outdated: Option<Uuid>,
    /// Whether another device has the same UUID, and which of them is used.
    pub duplicate: Duplicate,
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

/// A metadata area of a physical volume.
#[derive(Debug, Clone)]
pub struct FoundArea {
    /// Where the physical volume's header says that it is, its own header included.
    pub span: Span,
    /// Its header, if that is good.
    pub header: Option<AreaHeader>,
    /// What is in it.
    pub content: AreaContent,
}

/// What was found in a metadata area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AreaContent {
    /// No text.
    Empty,
    /// The area is set aside; what it holds is of no interest.
    Ignored,
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
    pub seqno: u32,
    /// Where the text lies in the area, and its checksum.
    pub location: RawLocation,
}

/// A volume group: the newest version of its metadata, and where its parts are.
#[derive(Debug, Clone)]
pub struct FoundVg {
    /// Its name.
    pub name: String,
    /// Its UUID: what tells two groups of the same name apart.
    pub uuid: Uuid,
    /// The sequence number of its newest metadata.
    pub seqno: u32,
    /// What the newest metadata says.
    pub model: Arc<VolumeGroup>,
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
    /// Its id in [`FoundVg::model`].
    pub id: PvId,
    /// Where it is, and whether what it holds can be relied on.
    pub presence: Presence,
}

/// Whether a physical volume of a group is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is there.
    Present(PvIndex),
    /// It is there again after it was missing: what it holds may be stale, so that it counts as
    /// missing until `vgextend --restoremissing`.
    Returned(PvIndex),
    /// It is not there.
    Missing,
}

impl Presence {
    /// The physical volume that can be relied on.
    pub fn usable(self) -> Option<PvIndex> {
        match self {
            Self::Present(index) => Some(index),
            Self::Returned(_) | Self::Missing => None,
        }
    }

    /// The physical volume, whatever it holds.
    pub fn found(self) -> Option<PvIndex> {
        match self {
            Self::Present(index) | Self::Returned(index) => Some(index),
            Self::Missing => None,
        }
    }
}

/// Why a volume group may not be changed, or not even be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Restriction {
    /// It belongs to another host.
    Foreign {
        /// The system ID of that host.
        system_id: String,
        /// This host's, if it has one.
        own: Option<String>,
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
    /// Its metadata contradicts itself, or has a status that is not known: the first such problem.
    Unsound(String),
    /// Metadata areas hold different texts with the same sequence number.
    Disagreement,
    /// Another group has the same name: it has to be named by its UUID.
    AmbiguousName,
    /// Another group has the same UUID: one of them is a renamed clone.
    DuplicateVgid,
    /// Physical volumes are missing.
    Partial,
    /// A physical volume was found on more than one device.
    DuplicatePvs,
}

/// What stock says of the group `name` of another host, without a full stop.
pub fn foreign(name: &str, system_id: &str, own: Option<&str>) -> String {
    let own = own.map_or_else(
        || "unknown local system ID".to_owned(),
        |own| format!("local system ID {own}"),
    );
    format!("Cannot access VG {name} with system ID {system_id} with {own}")
}

impl Scan {
    /// The invariants: indices are of what they say, physical volumes and groups agree about each
    /// other, and findings are about what was found.
    pub(super) fn check(&self) {
        for (index, pv) in self.physical_volumes.iter().enumerate() {
            let content = &self.device(pv.device).content;
            let own = Content::PhysicalVolume(PvIndex(index));
            assert_eq!(*content, own, "a device and its physical volume agree");
            assert!(
                pv.group.is_none() || pv.outdated.is_none(),
                "it is in, or was in, a group"
            );
            for uuid in pv.group.iter().chain(&pv.outdated) {
                assert!(self.group(*uuid).is_some(), "its group was found");
            }
            pv.areas.iter().for_each(FoundArea::check);
        }
        let mut chosen = BTreeMap::new();
        for pv in &self.physical_volumes {
            if pv.duplicate != Duplicate::Unchosen {
                let before = chosen.insert(pv.uuid, pv.duplicate);
                assert!(before.is_none(), "of several copies one is chosen");
            }
        }
        for pv in &self.physical_volumes {
            if pv.duplicate == Duplicate::Unchosen {
                let other = chosen.get(&pv.uuid);
                assert_eq!(other, Some(&Duplicate::Chosen), "another copy is chosen");
            }
        }
        for group in &self.groups {
            group.check(self);
        }
        for finding in &self.findings {
            let is_there = |index: DeviceIndex| index.0 < self.devices.len();
            assert!(
                finding.device.is_none_or(is_there),
                "a finding is on a device"
            );
        }
    }

    /// The device at `index`.
    pub fn device(&self, index: DeviceIndex) -> &FoundDevice {
        &self.devices[index.0]
    }

    /// The physical volume at `index`.
    pub fn pv(&self, index: PvIndex) -> &FoundPv {
        &self.physical_volumes[index.0]
    }

    /// The group with this UUID; of several, the first by name.
    pub fn group(&self, uuid: Uuid) -> Option<&FoundVg> {
        self.groups.iter().find(|group| group.uuid == uuid)
    }

    /// The group that a physical volume belongs to.
    pub fn group_of(&self, pv: &FoundPv) -> Option<&FoundVg> {
        let uuid = pv.group?;
        let lists = |group: &&FoundVg| {
            group.uuid == uuid && group.members.iter().any(|member| member.uuid == pv.uuid)
        };
        self.groups.iter().find(lists)
    }

    /// The group that a physical volume belongs to, or belonged to before that went on without it.
    pub fn group_behind(&self, pv: &FoundPv) -> Option<&FoundVg> {
        let left = || pv.outdated.and_then(|uuid| self.group(uuid));
        self.group_of(pv).or_else(left)
    }

    /// All groups with this UUID: more than one where one of them is a renamed clone.
    pub fn groups_of_uuid(&self, uuid: Uuid) -> impl Iterator<Item = &FoundVg> {
        self.groups.iter().filter(move |group| group.uuid == uuid)
    }

    /// All groups with this name: more than one if the name is not unique.
    pub fn groups_named<'a, 'n>(
        &'a self,
        name: &'n str,
    ) -> impl Iterator<Item = &'a FoundVg> + use<'a, 'n> {
        self.groups.iter().filter(move |group| group.name == name)
    }

    /// The physical volumes that no group uses: duplicates that are not used, and those that
    /// were removed from their group while they were away, left out.
    pub fn orphans(&self) -> impl Iterator<Item = &FoundPv> {
        self.physical_volumes.iter().filter(|pv| {
            pv.group.is_none() && pv.outdated.is_none() && pv.duplicate != Duplicate::Unchosen
        })
    }
}

impl FoundPv {
    /// The version of the header's extension (`pv_ext_vsn`): 0 (none), 1, 2, or a later one.
    pub fn extension_version(&self) -> u32 {
        self.header
            .extension
            .as_ref()
            .map_or(0, |extension| extension.version)
    }

    /// Its areas that are not damaged (`pv_mda_count`): reports leave the others out, as stock.
    pub fn good_areas(&self) -> impl Iterator<Item = &FoundArea> {
        let is_damaged = |area: &FoundArea| matches!(area.content, AreaContent::Damaged(_));
        self.areas.iter().filter(move |area| !is_damaged(area))
    }

    /// Those of them that metadata is kept in (`pv_mda_used_count`).
    pub fn used_areas(&self) -> impl Iterator<Item = &FoundArea> {
        self.good_areas()
            .filter(|area| area.usage() == AreaUse::Used)
    }

    /// The size of the smallest of them (`pv_mda_size`).
    pub fn area_size_min(&self) -> Option<Bytes> {
        self.good_areas().map(|area| area.span.size).min()
    }

    /// The room for more text in the fullest of them (`pv_mda_free`).
    pub fn area_free_min(&self) -> Option<Sectors> {
        self.good_areas().map(FoundArea::free).min()
    }
}

impl FoundArea {
    /// The invariants: what it holds is what its header says.
    fn check(&self) {
        let committed = self.header.and_then(|header| header.committed);
        match &self.content {
            AreaContent::Version(version) => {
                assert_eq!(
                    committed,
                    Some(version.location),
                    "its header leads to the text"
                );
            }
            AreaContent::Ignored => assert_eq!(self.usage(), AreaUse::Ignored, "it is set aside"),
            AreaContent::Empty => assert_eq!(committed, None, "its header leads nowhere"),
            AreaContent::Damaged(_) => {}
        }
    }

    /// Whether metadata is kept in it, or was set aside (`--metadataignore`). A damaged one counts
    /// as used.
    pub fn usage(&self) -> AreaUse {
        self.header
            .as_ref()
            .map_or(AreaUse::Used, |header| header.usage)
    }

    /// How much longer the text can become: two versions share the ring. Nothing, where the area
    /// is set aside.
    pub fn free(&self) -> Sectors {
        let header = self
            .header
            .as_ref()
            .filter(|header| header.usage == AreaUse::Used);
        let Some(header) = header else {
            return Sectors(0);
        };
        // Bytes are subtracted and whole sectors of the rest count, as stock's numbers show. The
        // text's size comes from the disk.
        let text = header.committed.map_or(0, |text| text.size.0);
        Bytes(Ring::new(header).text_max().0.saturating_sub(text)).whole_sectors()
    }
}

impl FoundVg {
    /// The invariants: it is as its text says, its members are those of the text and are where the
    /// scan found them, and its restrictions fit what was found.
    fn check(&self, scan: &Scan) {
        assert_eq!(self.name, self.model.name, "it has the name in its text");
        assert_eq!(
            self.uuid, self.model.uuid,
            "it has the identity in its text"
        );
        assert_eq!(
            self.seqno, self.model.seqno,
            "it is of the version of its text"
        );
        assert_eq!(
            self.members.len(),
            self.model.pv_count(),
            "each member is listed"
        );
        for member in &self.members {
            assert_eq!(
                member.uuid,
                self.model.pv(member.id).uuid,
                "ids are of its text"
            );
            if let Some(index) = member.presence.found() {
                let pv = scan.pv(index);
                assert_eq!(pv.uuid, member.uuid, "a member is where it was found");
                assert_eq!(pv.group, Some(self.uuid), "a member is of its group");
                assert_ne!(pv.duplicate, Duplicate::Unchosen, "a copy is no member");
            }
        }
        let has = |restriction: &Restriction| self.restrictions.contains(restriction);
        let is_partial = self.missing_count() > 0;
        assert_eq!(
            has(&Restriction::Partial),
            is_partial,
            "what is missing is told"
        );
        let mut same_name = scan.groups_named(&self.name);
        assert_eq!(
            has(&Restriction::AmbiguousName),
            same_name.nth(1).is_some(),
            "a name of several is told"
        );
        let mut same_uuid = scan.groups_of_uuid(self.uuid);
        assert_eq!(
            has(&Restriction::DuplicateVgid),
            same_uuid.nth(1).is_some(),
            "an identity of several is told"
        );
        for (place, restriction) in self.restrictions.iter().enumerate() {
            let before = &self.restrictions[..place];
            assert!(!before.contains(restriction), "a restriction is told once");
        }
        let is_exported = self.model.flags.has(VgFlag::Exported);
        assert_eq!(
            has(&Restriction::Exported),
            is_exported,
            "exported groups are told"
        );
        let is_read_only = !self.model.is_writable();
        assert_eq!(
            has(&Restriction::ReadOnly),
            is_read_only,
            "read-only groups are told"
        );
    }

    /// How many of its physical volumes are missing, those that came back included
    /// (`vg_missing_pv_count`).
    pub fn missing_count(&self) -> usize {
        self.members
            .iter()
            .filter(|member| member.presence.usable().is_none())
            .count()
    }

    /// The member with this id in the model.
    pub fn member(&self, id: PvId) -> Option<&Member> {
        self.members.iter().find(|member| member.id == id)
    }
}
