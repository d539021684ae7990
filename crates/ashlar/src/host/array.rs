//! An array of md's, as a place where devices are: its legs, and what each says of it.
//!
//! What the legs said when they were looked at goes with it, and is no part of it: an array that
//! was written meanwhile is in the same place.

use std::hash::{Hash, Hasher};

use dm::raid::md::{Claim, Place};

use super::location::Location;

/// Where an array is.
#[derive(Debug, Clone)]
pub struct ArrayPlace {
    /// What people know it by: `md:host:0`.
    pub name: String,
    /// Its devices, whatever they are for.
    pub members: Vec<ArrayMember>,
}

/// A device of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayMember {
    /// Where it is.
    pub location: Location,
    /// What people know it by.
    pub name: String,
    /// What it says.
    pub claim: Claim,
}

impl ArrayPlace {
    /// An array of these, which are all of one.
    ///
    /// # Panics
    ///
    /// There are none, or they are of several.
    pub fn new(members: Vec<ArrayMember>) -> Self {
        let first = members.first().expect("an array has members").claim.clone();
        assert!(
            members.iter().all(|member| member.claim.uuid == first.uuid),
            "they are of one array"
        );
        let name = if first.name.is_empty() {
            format!("md:{}", uuid_text(&first))
        } else {
            format!("md:{}", first.name)
        };
        Self { name, members }
    }

    /// Its UUID, as mdadm writes it.
    pub fn uuid_text(&self) -> String {
        let first = self.members.first().expect("an array has members");
        uuid_text(&first.claim)
    }
}

/// As mdadm writes it: the old format has words, the new one bytes.
fn uuid_text(claim: &Claim) -> String {
    let word = match claim.place {
        Place::EndOld => u32::from_le_bytes,
        _ => u32::from_be_bytes,
    };
    let words = claim.uuid.as_chunks::<4>().0.iter();
    let words = words.map(|bytes| format!("{:08x}", word(*bytes)));
    words.collect::<Vec<_>>().join(":")
}

impl PartialEq for ArrayPlace {
    fn eq(&self, other: &Self) -> bool {
        let is_in = |member: &ArrayMember, place: &Self| {
            let mut members = place.members.iter();
            members.any(|one| one.location == member.location)
        };
        self.name == other.name
            && self.members.len() == other.members.len()
            && self.members.iter().all(|member| is_in(member, other))
    }
}

impl Eq for ArrayPlace {}

impl Hash for ArrayPlace {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}
