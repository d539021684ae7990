//! `vgcreate`: a group from physical volumes that belong to none.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::copies::{MetadataCopies, balance};
use super::extend::{Member, add_members, area_states, require_areas};
use crate::model::name::{self, NameOf};
use crate::model::{AllocationPolicy, VgFlag, VolumeGroup};
use crate::ondisk::PvUse;
use crate::plan::author::Author;
use crate::plan::change::{Change, GroupChange, Message};
use crate::plan::draft::{seal, usage_change, wrong};
use crate::plan::logical::Autoactivation;
use crate::{Result, Sectors};

/// An extent size that is no power of two must be a multiple of this.
const EXTENT_SIZE_UNIT: Sectors = Sectors(256);
/// `-s` where it is not given: 4 MiB.
const EXTENT_SIZE_DEFAULT: Sectors = Sectors(8192);

/// What `vgcreate` was asked for.
#[derive(Debug, Clone)]
pub struct NewGroup<'a> {
    /// Its name.
    pub name: &'a str,
    /// `-s`.
    pub extent_size: Sectors,
    /// `-l`; 0 is no limit.
    pub max_lv: u32,
    /// `-p`; 0 is no limit.
    pub max_pv: u32,
    /// `--alloc`.
    pub allocation: AllocationPolicy,
    /// `--addtag`.
    pub tags: &'a [String],
    /// `--vgmetadatacopies`.
    pub copies: MetadataCopies,
    /// `--systemid`.
    pub system_id: Option<&'a str>,
    /// `--setautoactivation`.
    pub autoactivation: Autoactivation,
    /// `--metadataprofile`.
    pub profile: Option<&'a str>,
    /// The physical volumes.
    pub members: &'a [Member],
}

impl<'a> NewGroup<'a> {
    /// Everything as it is where nothing is said.
    pub fn new(name: &'a str, members: &'a [Member]) -> Self {
        Self {
            name,
            extent_size: EXTENT_SIZE_DEFAULT,
            max_lv: 0,
            max_pv: 0,
            allocation: AllocationPolicy::Normal,
            tags: &[],
            copies: MetadataCopies::Unmanaged,
            system_id: None,
            autoactivation: Autoactivation::Yes,
            profile: None,
            members,
        }
    }
}

/// Creates a volume group. The caller knows that the name is free.
pub fn create_group(new: &NewGroup<'_>, author: &mut Author<'_>) -> Result<Change> {
    require_name(new.name)?;
    require_extent_size(new.extent_size)?;
    if new.members.is_empty() {
        return Err(wrong("Please enter at least one physical volume"));
    }
    let mut vg = VolumeGroup::new(new.name, author.uuid(), new.extent_size);
    vg.max_lv = new.max_lv;
    vg.max_pv = new.max_pv;
    vg.allocation = new.allocation;
    for tag in new.tags {
        add_tag(&mut vg.tags, tag)?;
    }
    vg.metadata_copies = Some(new.copies.number());
    vg.system_id = new.system_id.map(str::to_owned);
    vg.profile = new.profile.map(str::to_owned);
    if new.autoactivation == Autoactivation::No {
        vg.flags.insert(VgFlag::NoAutoactivate);
    }
    add_members(&mut vg, new.members)?;
    let states = area_states(new.members);
    require_areas(&states)?;
    seal(&mut vg, author)?;
    assert_eq!(vg.pv_count(), new.members.len(), "each member is there");
    let members = new.members.iter();
    Ok(Change {
        headers: members
            .map(|member| usage_change(member.header.uuid, PvUse::Used))
            .collect(),
        areas: balance(&states, new.copies),
        messages: vec![Message::note(format!(
            "Volume group \"{}\" successfully created",
            new.name
        ))],
        groups: vec![GroupChange::Commit(vg)],
        ..Change::default()
    })
}

pub(super) fn require_name(asked: &str) -> Result<()> {
    name::validate(asked, NameOf::VolumeGroup).map_err(|error| {
        wrong(format!(
            "New volume group name \"{asked}\" is invalid: {error}"
        ))
    })
}

/// Refuses extent sizes that LVM2 does not have.
pub(super) fn require_extent_size(size: Sectors) -> Result<()> {
    if size == Sectors::ZERO {
        return Err(wrong("Physical extent size may not be zero"));
    }
    if size.0 > u64::from(u32::MAX) {
        return Err(wrong(
            "Physical extent size cannot be larger than <2.00 TiB.",
        ));
    }
    if !size.0.is_power_of_two() && size % EXTENT_SIZE_UNIT != Sectors::ZERO {
        return Err(wrong(
            "Physical Extent size must be a multiple of 128.00 KiB when not a power of 2.",
        ));
    }
    Ok(())
}

/// Adds a tag that is not there yet.
pub(in crate::plan) fn add_tag(tags: &mut Vec<String>, tag: &str) -> Result<()> {
    name::validate_tag(tag).map_err(|error| wrong(error.context))?;
    if !tags.iter().any(|other| other == tag) {
        tags.push(tag.to_owned());
    }
    Ok(())
}
