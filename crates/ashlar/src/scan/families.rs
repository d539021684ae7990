//! Which of the texts that were found are versions of one group.
//!
//! A group is known by its UUID. A clone of its disks has the same one, and a clone that was
//! renamed and whose physical volumes got new identities is a group of its own nevertheless: no
//! version of one lists a volume of the other. So texts with one UUID belong together where they
//! have the same name, or a physical volume in common; what is joined by neither are two groups,
//! and the newer one is no newer version of the other.
//!
//! ```text
//!     UUID X   vg1 {p, q} seqno 4     vg2 {p, q} seqno 5     one group, renamed
//!     UUID X   vg1 {p}    seqno 4     vg2 {r}    seqno 7     two groups: a clone of vg1
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lvm2::Uuid;

use super::assemble::Sighting;

/// The texts of one group.
pub(super) struct Family {
    pub(super) uuid: Uuid,
    pub(super) seen: Vec<Sighting>,
    names: BTreeSet<String>,
    pvs: BTreeSet<Uuid>,
}

impl Family {
    fn of(sighting: Sighting) -> Self {
        let model = &sighting.model;
        Self {
            uuid: model.uuid,
            names: BTreeSet::from([model.name.clone()]),
            pvs: model.pvs().map(|(_, pv)| pv.uuid).collect(),
            seen: vec![sighting],
        }
    }

    /// The invariants: it was seen somewhere, and every sighting is of it.
    fn check(&self) {
        assert!(!self.seen.is_empty(), "a family was seen somewhere");
        let is_of_it = |seen: &Sighting| seen.model.uuid == self.uuid;
        assert!(self.seen.iter().all(is_of_it), "a family has one identity");
    }

    fn is_joined_with(&self, other: &Self) -> bool {
        !self.names.is_disjoint(&other.names) || !self.pvs.is_disjoint(&other.pvs)
    }

    fn take_in(&mut self, other: Self) {
        assert_eq!(self.uuid, other.uuid, "a family has one identity");
        self.seen.extend(other.seen);
        self.names.extend(other.names);
        self.pvs.extend(other.pvs);
    }
}

/// Sorts what was seen, in the order of UUIDs and then of names.
pub(super) fn families(sightings: Vec<Sighting>) -> Vec<Family> {
    let mut by_uuid: BTreeMap<Uuid, Vec<Family>> = BTreeMap::new();
    for sighting in sightings {
        let families = by_uuid.entry(sighting.model.uuid).or_default();
        // Nearly always the same text, on another disk.
        let is_same = |family: &&mut Family| {
            let mut seen = family.seen.iter();
            seen.any(|other| Arc::ptr_eq(&other.text, &sighting.text))
        };
        match families.iter_mut().find(is_same) {
            Some(family) => family.seen.push(sighting),
            None => join(families, Family::of(sighting)),
        }
    }
    let mut all: Vec<Family> = by_uuid.into_values().flatten().collect();
    for family in &mut all {
        family.seen.sort_by_key(|seen| (seen.pv, seen.area));
    }
    all.iter().for_each(Family::check);
    all.sort_by(|a, b| (a.uuid, &a.names).cmp(&(b.uuid, &b.names)));
    all
}

/// Adds a text to the group that it belongs to; one that belongs to two makes them one.
fn join(families: &mut Vec<Family>, mut new: Family) {
    while let Some(at) = families
        .iter()
        .position(|family| family.is_joined_with(&new))
    {
        let mut old = families.remove(at);
        old.take_in(new);
        new = old;
    }
    debug_assert!(
        !families.iter().any(|family| family.is_joined_with(&new)),
        "it is apart"
    );
    families.push(new);
}
