//! What an origin and its snapshots are made of, and whether that can be served.

use block::Info;

use super::limits::SNAPSHOTS_MAX;
use super::store::{CHUNK_MAX, SECTOR, Stored};
use crate::volume::Access;
use crate::{Error, Kind, Result};

/// What a write to a snapshot does when the store is full.
///
/// A write to the origin that finds a full store always makes the snapshot invalid: the origin goes
/// on, and what it overwrites is lost to the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// It fails, alone, with [`block::Kind::NoSpace`]: what LVM2 asks the kernel for (`PO`).
    #[default]
    FailWrite,
    /// It fails, and the snapshot is invalid from then on (`P`).
    Invalidate,
}

/// An origin to be, and its snapshots. Legs are indices of the home's devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginConfig {
    /// The name of the origin as people see it: face 0.
    pub name: String,
    /// Its size in bytes; the leg may be larger.
    pub size: u64,
    /// The leg with the origin's own bytes.
    pub origin: usize,
    /// Whether requests to the origin may write. A merge writes all the same.
    pub access: Access,
    /// Snapshot `i` is face `1 + i`, as long as it is there; `None`: there is none.
    pub snapshots: Vec<Option<SnapshotConfig>>,
}

/// A snapshot to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotConfig {
    /// Tells it from all snapshots that this origin ever had.
    pub id: u64,
    /// Its name as people see it.
    pub name: String,
    /// Its size in bytes, which never changes; the origin may have grown since it was made.
    pub size: u64,
    /// The leg with its store.
    pub store: usize,
    /// Bytes of the store that are used at most; not more than the leg has.
    pub store_size: u64,
    /// Bytes of a chunk where the store is fresh; one that is used says it itself. A power of two
    /// from 512 to [`CHUNK_MAX`].
    pub chunk: u64,
    /// What the store held when this was made ([`super::read_store`] with the two sizes above). Is
    /// ignored for a snapshot that is known already.
    pub stored: Stored,
    /// Whether requests to the snapshot may write.
    pub access: Access,
    /// Whether it is being merged into its origin. It has no face then: face 0 shows it.
    pub merging: bool,
    /// What a write to it does when the store is full.
    pub overflow: Overflow,
    /// With so many bytes of the store in use [`super::Notice::Filled`] is told, once.
    pub notify_at: Option<u64>,
}

impl SnapshotConfig {
    /// Bytes of a chunk: the store's own, if it has one.
    pub fn chunk(&self) -> u64 {
        match &self.stored {
            Stored::Changes(changes) => changes.chunk,
            Stored::Fresh | Stored::Overflowed => self.chunk,
        }
    }
}

impl OriginConfig {
    /// The snapshots that are there.
    pub fn snapshots(&self) -> impl Iterator<Item = &SnapshotConfig> {
        self.snapshots.iter().flatten()
    }

    /// The snapshot that is being merged.
    pub fn merging(&self) -> Option<&SnapshotConfig> {
        self.snapshots().find(|snapshot| snapshot.merging)
    }

    /// Whether this can be served by `legs`, where the chunks of each snapshot have as many bytes
    /// as `chunk_of` says.
    pub(super) fn validate(
        &self,
        legs: &[Info],
        chunk_of: impl Fn(&SnapshotConfig) -> u64,
    ) -> Result<()> {
        let refuse = |kind, what: String| Err(Error::new(kind, format!("{}: {what}", self.name)));
        let count = self.snapshots.len();
        if count > SNAPSHOTS_MAX {
            let what = format!("{count} snapshots; {SNAPSHOTS_MAX} are served");
            return refuse(Kind::TooComplex, what);
        }
        let mut used = vec![self.origin];
        used.extend(self.snapshots().map(|snapshot| snapshot.store));
        let mut ids: Vec<u64> = self.snapshots().map(|snapshot| snapshot.id).collect();
        used.sort_unstable();
        ids.sort_unstable();
        let is_twice = |pair: &[usize]| pair[0] == pair[1];
        if used.windows(2).any(is_twice) || used.last().is_some_and(|leg| *leg >= legs.len()) {
            let what = "a leg is not there, or used twice".to_owned();
            return refuse(Kind::InvalidLayout, what);
        }
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            let what = "two snapshots have the same identity".to_owned();
            return refuse(Kind::InvalidLayout, what);
        }
        let merging = self.snapshots().filter(|snapshot| snapshot.merging).count();
        if merging > 1 {
            let what = format!("{merging} snapshots are merged at once; one can be");
            return refuse(Kind::InvalidLayout, what);
        }
        let origin = &legs[self.origin];
        if self.size == 0 || origin.size < self.size {
            let (name, has) = (&origin.name, origin.size);
            let what = format!("{name} has {has} bytes, not {}", self.size);
            return refuse(Kind::DeviceTooSmall, what);
        }
        if !self.size.is_multiple_of(u64::from(origin.logical_block)) {
            let what = format!(
                "{} has blocks of {} bytes",
                origin.name, origin.logical_block
            );
            return refuse(Kind::Misaligned, what);
        }
        let is_written = self.access == Access::ReadWrite || merging > 0;
        if is_written && origin.read_only {
            let what = format!("{} is read-only; use it read-only", origin.name);
            return refuse(Kind::Device, what);
        }
        for snapshot in self.snapshots() {
            let store = &legs[snapshot.store];
            self.validate_snapshot(snapshot, (origin, store), chunk_of(snapshot))?;
            let is_written = is_written || snapshot.access == Access::ReadWrite;
            if is_written && store.read_only {
                let what = format!("{} is read-only; use it read-only", store.name);
                return refuse(Kind::Device, what);
            }
        }
        Ok(())
    }

    fn validate_snapshot(
        &self,
        snapshot: &SnapshotConfig,
        (origin, store): (&Info, &Info),
        chunk: u64,
    ) -> Result<()> {
        let name = &snapshot.name;
        let refuse = |kind, what: String| Err(Error::new(kind, format!("{name}: {what}")));
        if snapshot.size == 0 || snapshot.size > self.size {
            let what = format!(
                "a snapshot of {} bytes of an origin of {}; it cannot be larger",
                snapshot.size, self.size
            );
            return refuse(Kind::InvalidLayout, what);
        }
        if !chunk.is_power_of_two() || !(SECTOR..=CHUNK_MAX).contains(&chunk) {
            let what = format!(
                "chunks of {chunk} bytes; a power of two from {SECTOR} to {CHUNK_MAX} is served"
            );
            return refuse(Kind::InvalidLayout, what);
        }
        if store.size < snapshot.store_size {
            let what = format!(
                "its store {} has {} bytes, not {}",
                store.name, store.size, snapshot.store_size
            );
            return refuse(Kind::DeviceTooSmall, what);
        }
        for leg in [origin, store] {
            let block = u64::from(leg.logical_block);
            if !chunk.is_multiple_of(block) || !snapshot.size.is_multiple_of(block) {
                let what = format!(
                    "chunks of {chunk} bytes on {}, which has blocks of {block} bytes: the \
                     snapshot is unreadable there; move it to a disk with smaller blocks",
                    leg.name
                );
                return refuse(Kind::Misaligned, what);
            }
        }
        Ok(())
    }
}
