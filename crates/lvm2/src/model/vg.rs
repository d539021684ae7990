//! A volume group: everything that one metadata text says.
//!
//! The group owns its volumes and gives out ids for them; see `ids.rs`. Names of logical volumes
//! are unique, and an index finds them. It holds what the text says and nothing about the
//! machine: which devices are there and what is active is known elsewhere.
//!
//! Reading a text accepts what can be represented; whether it makes sense is asked of
//! [`check`](super::check()).

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::extras::Extras;
use super::flags::{Flags, VgFlag};
use super::header::Header;
use super::historical::HistoricalVolume;
use super::ids::{LvId, PvId, Slots};
use super::lv::{AllocationPolicy, LogicalVolume};
use super::pv::PhysicalVolume;
use super::segment::{Area, SegmentType};
use crate::{Error, Extents, Kind, Result, Sectors, Uuid};

/// A volume group.
#[derive(Debug, Clone)]
pub struct VolumeGroup {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uuid: Uuid,
    /// Counts the versions of its text.
    pub seqno: u32,
    /// `lvm2`, where the text says so.
    pub format: Option<String>,
    /// The flags.
    pub flags: Flags<VgFlag>,
    /// The tags.
    pub tags: Vec<String>,
    /// The machine that may use it, where it is one only.
    pub system_id: Option<String>,
    /// How it is locked between machines.
    pub lock_type: Option<String>,
    /// What that locking needs to know.
    pub lock_args: Option<String>,
    /// The size of an extent.
    pub extent_size: Sectors,
    /// The most logical volumes it may have; 0 is no limit.
    pub max_lv: u32,
    /// The most physical volumes it may have; 0 is no limit.
    pub max_pv: u32,
    /// How new extents are chosen.
    pub allocation: AllocationPolicy,
    /// The configuration profile.
    pub profile: Option<String>,
    /// How many metadata areas are to be in use; 0 is as each of them says.
    pub metadata_copies: Option<u32>,
    /// Logical volumes that are gone and remembered.
    pub historical: Vec<HistoricalVolume>,
    /// What stands beside the group in the text.
    pub header: Header,
    /// Keys that the model does not name.
    pub extra: Extras,
    pub(crate) pvs: Slots<PhysicalVolume>,
    pub(crate) lvs: Slots<LogicalVolume>,
    lv_names: BTreeMap<String, LvId>,
}

impl VolumeGroup {
    /// A group without volumes, as `vgcreate` begins with.
    pub fn new(name: impl Into<String>, uuid: Uuid, extent_size: Sectors) -> Self {
        Self {
            name: name.into(),
            uuid,
            seqno: 0,
            format: Some("lvm2".to_owned()),
            flags: Flags::of(&[VgFlag::Resizeable, VgFlag::Read, VgFlag::Write]),
            tags: Vec::new(),
            system_id: None,
            lock_type: None,
            lock_args: None,
            extent_size,
            max_lv: 0,
            max_pv: 0,
            allocation: AllocationPolicy::Normal,
            profile: None,
            metadata_copies: Some(0),
            historical: Vec::new(),
            header: Header::default(),
            extra: Extras::default(),
            pvs: Slots::default(),
            lvs: Slots::default(),
            lv_names: BTreeMap::new(),
        }
    }

    /// The physical volumes, in the order of the text.
    pub fn pvs(&self) -> impl DoubleEndedIterator<Item = (PvId, &PhysicalVolume)> {
        self.pvs.iter()
    }

    /// How many physical volumes there are.
    pub fn pv_count(&self) -> usize {
        self.pvs.count()
    }

    /// A physical volume. Panics on an id of one that was removed.
    pub fn pv(&self, id: PvId) -> &PhysicalVolume {
        self.pvs
            .get(id)
            .expect("the id is of a physical volume in this group")
    }

    /// A physical volume, to be changed. Panics on an id of one that was removed.
    pub fn pv_mut(&mut self, id: PvId) -> &mut PhysicalVolume {
        self.pvs
            .get_mut(id)
            .expect("the id is of a physical volume in this group")
    }

    /// The logical volume with this identity. Looks at all of them.
    pub fn lv_by_uuid(&self, uuid: &Uuid) -> Option<LvId> {
        let mut all = self.lvs();
        all.find(|(_, lv)| lv.uuid == *uuid).map(|(id, _)| id)
    }

    /// The physical volume with this identity. Looks at all of them.
    pub fn pv_by_uuid(&self, uuid: &Uuid) -> Option<PvId> {
        self.pvs()
            .find(|(_, pv)| pv.uuid == *uuid)
            .map(|(id, _)| id)
    }

    /// Adds a physical volume at the end.
    pub fn add_pv(&mut self, pv: PhysicalVolume) -> PvId {
        self.pvs.add(pv)
    }

    /// Takes a physical volume out. The caller has seen to it that nothing stands on it.
    pub fn remove_pv(&mut self, id: PvId) -> PhysicalVolume {
        self.pvs
            .remove(id)
            .expect("the id is of a physical volume in this group")
    }

    /// The logical volumes, hidden ones too, in the order of the text.
    pub fn lvs(&self) -> impl DoubleEndedIterator<Item = (LvId, &LogicalVolume)> {
        self.lvs.iter()
    }

    /// How many logical volumes there are, hidden ones too.
    pub fn lv_count(&self) -> usize {
        self.lv_names.len()
    }

    /// One more than the largest index of a logical volume's id: for tables by index.
    pub fn lv_slots(&self) -> usize {
        self.lvs.slot_count()
    }

    /// One more than the largest index of a physical volume's id: for tables by index.
    pub fn pv_slots(&self) -> usize {
        self.pvs.slot_count()
    }

    /// A logical volume. Panics on an id of one that was removed.
    pub fn lv(&self, id: LvId) -> &LogicalVolume {
        self.lvs
            .get(id)
            .expect("the id is of a logical volume in this group")
    }

    /// A logical volume, to be changed. Panics on an id of one that was removed.
    pub fn lv_mut(&mut self, id: LvId) -> &mut LogicalVolume {
        self.lvs
            .get_mut(id)
            .expect("the id is of a logical volume in this group")
    }

    /// The logical volume with this name.
    pub fn lv_by_name(&self, name: &str) -> Option<LvId> {
        self.lv_names.get(name).copied()
    }

    /// Adds a logical volume at the end. Fails where the name is taken.
    pub fn add_lv(&mut self, lv: LogicalVolume) -> Result<LvId> {
        self.require_free_name(&lv.name)?;
        let name = lv.name.clone();
        let id = self.lvs.add(lv);
        let taken = self.lv_names.insert(name, id);
        assert_eq!(taken, None, "a name is given once");
        Ok(id)
    }

    /// Takes a logical volume out. The caller has seen to it that no other one refers to it.
    pub fn remove_lv(&mut self, id: LvId) -> LogicalVolume {
        let lv = self
            .lvs
            .remove(id)
            .expect("the id is of a logical volume in this group");
        let named = self.lv_names.remove(&lv.name);
        assert_eq!(named, Some(id), "a volume is found by its name");
        lv
    }

    /// Gives a logical volume another name; whoever refers to it follows. Fails where it is taken.
    pub fn rename_lv(&mut self, id: LvId, name: &str) -> Result<()> {
        if self.lv(id).name == name {
            return Ok(());
        }
        self.require_free_name(name)?;
        let old = core::mem::replace(&mut self.lv_mut(id).name, name.to_owned());
        let named = self.lv_names.remove(&old);
        assert_eq!(named, Some(id), "a volume is found by its name");
        self.lv_names.insert(name.to_owned(), id);
        self.historical
            .iter_mut()
            .for_each(|volume| volume.rename_live(&old, name));
        Ok(())
    }

    /// All extents of all physical volumes.
    pub fn extent_count(&self) -> Extents {
        Extents(
            self.pvs()
                .fold(0, |sum, (_, pv)| sum.saturating_add(pv.pe_count.0)),
        )
    }

    /// Whether a segment is of a type that we do not know: then nobody may move or free extents,
    /// rename volumes, or remove physical ones.
    pub fn has_unknown_segments(&self) -> bool {
        !self.unknown_types().is_empty()
    }

    /// The types of segments that we do not know, each once.
    pub fn unknown_types(&self) -> Vec<&str> {
        let segments = self.lvs().flat_map(|(_, lv)| &lv.segments);
        let mut names: Vec<&str> = segments
            .filter_map(|segment| match &segment.kind {
                SegmentType::Unknown(unknown) => Some(unknown.type_name.as_str()),
                _ => None,
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether its flags allow changes.
    pub fn is_writable(&self) -> bool {
        self.flags.has(VgFlag::Write) || self.flags.has(VgFlag::WriteLocked)
    }

    /// The invariants, whatever the text said: the index of names is right, and each id that a
    /// volume holds is one of this group. What makes sense besides is asked of
    /// [`check`](super::check()).
    pub fn check(&self) {
        assert_eq!(
            self.lv_names.len(),
            self.lvs.count(),
            "each volume has its name"
        );
        for (id, lv) in self.lvs() {
            assert_eq!(
                self.lv_by_name(&lv.name),
                Some(id),
                "a volume is found by its name"
            );
            for segment in &lv.segments {
                for area in segment.areas() {
                    if let Area::Pv { pv, .. } = area {
                        assert!(self.pvs.get(*pv).is_some(), "extents are on one of ours");
                    }
                }
                segment.for_each_reference(|used, _| {
                    assert!(self.lvs.get(used).is_some(), "a part is one of ours");
                });
            }
        }
    }

    fn require_free_name(&self, name: &str) -> Result<()> {
        if self.lv_names.contains_key(name) {
            let context = format!("volume group {} has two logical volumes {name}", self.name);
            return Err(Error::new(Kind::Model, context));
        }
        Ok(())
    }
}

/// Equal where a text printed from them is: by content and order, not by slot numbers.
impl PartialEq for VolumeGroup {
    fn eq(&self, other: &Self) -> bool {
        super::to_text(self, crate::text::Style::Raw)
            == super::to_text(other, crate::text::Style::Raw)
    }
}
