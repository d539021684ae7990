//! `--vgmetadatacopies`: which metadata areas are in use.
//!
//! A group of a thousand disks need not write its text a thousand times. With a number of copies,
//! areas beyond it are ignored, and taken into use again when others leave.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::Uuid;
use crate::ondisk::AreaUse;
use crate::plan::change::AreaChange;

/// How many metadata areas are to be in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataCopies {
    /// Each stays as it is.
    Unmanaged,
    /// All of them are taken into use, and stay as they are then.
    All,
    /// This many.
    Exactly(u32),
}

/// A metadata area of a physical volume in the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AreaState {
    /// The physical volume.
    pub pv: Uuid,
    /// Which of its areas, from zero.
    pub area: usize,
    /// Whether it is in use.
    pub usage: AreaUse,
}

impl MetadataCopies {
    /// What the text says.
    pub fn number(self) -> u32 {
        match self {
            Self::Unmanaged | Self::All => 0,
            Self::Exactly(count) => count,
        }
    }

    /// What the number in a text means.
    pub fn from_number(count: Option<u32>) -> Self {
        match count {
            None | Some(0) => Self::Unmanaged,
            Some(count) => Self::Exactly(count),
        }
    }
}

/// Which areas change so that as many as wanted are in use, as few as possible, and on as many
/// physical volumes as possible. At least one stays in use where there is any.
pub fn balance(areas: &[AreaState], copies: MetadataCopies) -> Vec<AreaChange> {
    let used = areas
        .iter()
        .filter(|area| area.usage == AreaUse::Used)
        .count();
    let target = match copies {
        MetadataCopies::Unmanaged => used.max(1),
        MetadataCopies::All => areas.len(),
        MetadataCopies::Exactly(count) => (count as usize).max(1),
    };
    let mut wanted: Vec<AreaUse> = areas.iter().map(|area| area.usage).collect();
    let mut per_pv: BTreeMap<Uuid, usize> = BTreeMap::new();
    for area in areas.iter().filter(|area| area.usage == AreaUse::Used) {
        *per_pv.entry(area.pv).or_default() += 1;
    }
    let mut count = used;
    while count < target {
        let ignored = areas.iter().enumerate();
        let next = ignored
            .filter(|(index, _)| wanted[*index] == AreaUse::Ignored)
            .min_by_key(|(_, area)| per_pv.get(&area.pv).copied().unwrap_or(0));
        let Some((index, area)) = next else { break };
        wanted[index] = AreaUse::Used;
        *per_pv.entry(area.pv).or_default() += 1;
        count += 1;
    }
    while count > target {
        let in_use = areas.iter().enumerate();
        let next = in_use
            .filter(|(index, _)| wanted[*index] == AreaUse::Used)
            .max_by_key(|(_, area)| per_pv.get(&area.pv).copied().unwrap_or(0));
        let Some((index, area)) = next else { break };
        wanted[index] = AreaUse::Ignored;
        *per_pv.entry(area.pv).or_default() -= 1;
        count -= 1;
    }
    let in_use = wanted
        .iter()
        .filter(|usage| **usage == AreaUse::Used)
        .count();
    assert_eq!(count, in_use, "areas in use are counted");
    assert!(areas.is_empty() || in_use > 0, "a group keeps a text");
    let changed = areas
        .iter()
        .zip(&wanted)
        .filter(|(area, usage)| area.usage != **usage);
    changed
        .map(|(area, usage)| AreaChange {
            pv: area.pv,
            area: area.area,
            usage: *usage,
        })
        .collect()
}
