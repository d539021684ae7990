//! A superblock of the formats 1.0 to 1.2, as it is written next.

use super::{Kept, KeptSuperblock};
use crate::raid::keeping::Said;
use crate::raid::md::superblock1::{
    Feature, ROLE_FAULTY, ROLE_SPARE, Superblock1, is_role_of_a_leg,
};
use crate::raid::superblock::{FailedDevices, Position};

impl Kept {
    pub(super) fn new_superblock(
        &self,
        leg: usize,
        own: &Superblock1,
        said: &Said<'_>,
    ) -> Superblock1 {
        let (features, recovery_offset) = match said.recovered[leg] {
            Position::End => (own.features.without(Feature::Recovery), 0),
            Position::Sector(sector) => (own.features.with(Feature::Recovery), sector),
        };
        Superblock1 {
            features: features.without(Feature::RecoveryBitmap),
            recovery_offset,
            events: said.superblock.events,
            updated: self.updated(said),
            resync_offset: match Self::resync(said) {
                Position::End => u64::MAX,
                Position::Sector(sector) => sector,
            },
            roles: self.roles(&said.superblock.failed),
            ..own.clone()
        }
    }

    /// What each number is for.
    fn roles(&self, failed: &FailedDevices) -> Vec<u16> {
        let KeptSuperblock::New(freshest) = &self.freshest else {
            unreachable!("all are of one format");
        };
        let mut roles = freshest.roles.clone();
        let is_there = |leg: u16| matches!(self.legs.get(usize::from(leg)), Some(Some(_)));
        for role in &mut roles {
            let is_gone =
                is_role_of_a_leg(*role) && (is_there(*role) || failed.contains(usize::from(*role)));
            if is_gone {
                *role = ROLE_SPARE;
            }
        }
        for (leg, kept) in self.legs.iter().enumerate() {
            let Some(KeptSuperblock::New(own)) = kept.as_ref().map(|kept| &kept.superblock) else {
                continue;
            };
            let number = own.number as usize;
            if roles.len() <= number {
                roles.resize(number + 1, ROLE_SPARE);
            }
            roles[number] = if failed.contains(leg) {
                ROLE_FAULTY
            } else {
                leg as u16
            };
        }
        roles
    }
}
