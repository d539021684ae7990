//! What an origin shows of itself, and how it becomes another one while it is suspended.

use std::sync::Arc;

use block::Info;

use super::Origin;
use super::config::{OriginConfig, SnapshotConfig};
use super::map::OriginMap;
use super::member::{Health, Member};
use super::merge::Merge;
use super::state::Shape;
use super::store::{Geometry, Stored};
use crate::machine::Face;
use crate::volume::Access;
use crate::{Error, Kind, Result};

impl OriginConfig {
    /// The faces of an origin that is made of this: its own, and one for each snapshot that is not
    /// being merged.
    pub fn faces(&self, legs: &[Info]) -> Vec<Option<Face>> {
        let snapshots = self.snapshots.iter().map(|snapshot| {
            let snapshot = snapshot.as_ref().filter(|snapshot| !snapshot.merging)?;
            Some(self.face_of(snapshot, legs))
        });
        [Some(self.face(legs))]
            .into_iter()
            .chain(snapshots)
            .collect()
    }

    fn face(&self, legs: &[Info]) -> Face {
        let mut info = legs[self.origin].clone();
        info.name.clone_from(&self.name);
        info.size = self.size;
        info.read_only = self.access == Access::ReadOnly;
        if self.snapshots().next().is_some() {
            // What is discarded would have to be copied first.
            (info.discard_granularity, info.discard_zeroes) = (0, false);
        }
        let merging = self.merging();
        if let Some(merging) = merging {
            join(&mut info, &legs[merging.store]);
        }
        Face {
            info,
            extents_of_leg: merging.is_none().then_some(self.origin),
        }
    }

    fn face_of(&self, snapshot: &SnapshotConfig, legs: &[Info]) -> Face {
        let mut info = legs[self.origin].clone();
        info.name.clone_from(&snapshot.name);
        info.size = snapshot.size;
        info.read_only = snapshot.access == Access::ReadOnly;
        (info.discard_granularity, info.discard_zeroes) = (0, false);
        join(&mut info, &legs[snapshot.store]);
        Face {
            info,
            extents_of_leg: None,
        }
    }
}

/// Some of the bytes are on `other`.
fn join(info: &mut Info, other: &Info) {
    info.logical_block = info.logical_block.max(other.logical_block);
    info.physical_block = info.physical_block.max(other.physical_block);
    info.rotational |= other.rotational;
    info.fua &= other.fua;
    info.durable &= other.durable;
}

impl Origin {
    /// What it is made of; what stores held is not repeated.
    pub(super) fn config(&self) -> OriginConfig {
        let config = |member: &Option<Member>| member.as_ref().map(|member| member.config.clone());
        OriginConfig {
            name: self.shape.name.clone(),
            size: self.shape.size,
            origin: self.shape.origin,
            access: self.shape.access,
            snapshots: self.members.iter().map(config).collect(),
        }
    }

    fn known(&self, id: u64) -> Option<(usize, &Member)> {
        let members = self.members.iter().enumerate();
        let mut known = members.filter_map(|(index, member)| Some((index, member.as_ref()?)));
        known.find(|(_, member)| member.config.id == id)
    }

    /// Whether it can become this while it is suspended.
    pub(super) fn allows(&self, config: &OriginConfig, legs: &[Info]) -> Result<()> {
        config.validate(legs, |snapshot| match self.known(snapshot.id) {
            Some((_, member)) => member.geometry.chunk,
            None => snapshot.chunk(),
        })?;
        for (index, snapshot) in config.snapshots.iter().enumerate() {
            let Some(snapshot) = snapshot else {
                continue;
            };
            match self.known(snapshot.id) {
                Some((place, member)) => member.allows(snapshot, place == index)?,
                None => drop(Member::new(snapshot.clone())?),
            }
        }
        Ok(())
    }

    /// Becomes what was allowed, by which time more may be kept, or a snapshot invalid.
    pub(super) fn reload(&mut self, config: OriginConfig) {
        assert!(self.is_quiet(), "a suspended machine is quiet");
        self.become_of(config).expect("it was foreseen");
    }

    /// Is made of `config` from now on, and keeps what it knows.
    pub(super) fn become_of(&mut self, config: OriginConfig) -> Result<()> {
        let merged_id = |members: &[Option<Member>]| {
            let mut members = members.iter().flatten();
            let merging = members.find(|member| member.config.merging);
            merging.map(|member| member.config.id)
        };
        let merged_before = merged_id(&self.members);
        let mut known: Vec<Member> = self.members.drain(..).flatten().collect();
        for snapshot in config.snapshots {
            let member = snapshot.map(|snapshot| {
                let place = known
                    .iter()
                    .position(|member| member.config.id == snapshot.id);
                match place {
                    Some(place) => Ok(known.swap_remove(place).renewed(snapshot)),
                    None => Member::new(snapshot),
                }
            });
            self.members.push(member.transpose()?);
        }
        self.shape = Shape {
            name: config.name,
            size: config.size,
            origin: config.origin,
            access: config.access,
        };
        if merged_id(&self.members) != merged_before {
            let is_merging = |member: &Option<Member>| {
                let member = member.as_ref();
                member.is_some_and(|member| member.config.merging)
            };
            self.merge = self.members.iter().position(is_merging).map(Merge::new);
        }
        self.map = Arc::new(OriginMap::new(&self.shape, &self.members));
        self.check();
        Ok(())
    }
}

impl Member {
    /// Whether it can become this.
    fn allows(&self, config: &SnapshotConfig, is_in_place: bool) -> Result<()> {
        let name = &config.name;
        let refuse = |kind, what: &str| Err(Error::new(kind, format!("{name}: {what}")));
        if !is_in_place {
            return refuse(
                Kind::InvalidLayout,
                "a snapshot keeps its place while it is there",
            );
        }
        if config.size != self.config.size {
            return refuse(Kind::InvalidLayout, "a snapshot keeps its size");
        }
        if self.config.merging && !config.merging {
            return refuse(Kind::Busy, "a merge that has begun goes on to its end");
        }
        if config.merging && !self.is_valid() {
            return refuse(Kind::Damaged, "it is invalid, so it cannot be merged");
        }
        self.fits(&Geometry::new(
            self.geometry.chunk,
            config.store_size,
            config.size,
        ))
    }

    /// The same snapshot, made of something else.
    fn renewed(mut self, config: SnapshotConfig) -> Self {
        assert!(
            self.round.is_none() && self.pending.is_empty(),
            "nothing is on the way"
        );
        self.geometry = Geometry::new(self.geometry.chunk, config.store_size, config.size);
        // A larger store has room again, and is told of when that is used.
        self.is_overflowed &= config.store_size <= self.config.store_size;
        self.is_told &= config.notify_at == self.config.notify_at;
        self.config = SnapshotConfig {
            stored: Stored::Fresh,
            ..config
        };
        if !self.config.merging && self.fits(&self.geometry).is_err() {
            // More was kept since that was foreseen.
            self.health = Health::Invalidating;
            self.kept.invalidate();
            "its store was made smaller than what it held".clone_into(&mut self.why);
            self.forget();
        }
        self.check();
        self
    }
}
