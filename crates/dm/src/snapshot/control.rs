//! What an origin is told, what it tells, and how it says that it and its snapshots are.

use std::time::Duration;

use super::Origin;
use super::member::{Health, Member};
use super::merge::Merge;
use crate::machine;

/// An order to an origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// A merge moves so many bytes in a second; 0 for no limit.
    MergeRate(u64),
}

/// What an origin tells by itself. Nothing waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// So much of a store is used as was to be told ([`super::SnapshotConfig::notify_at`]).
    Filled {
        /// The snapshot's.
        id: u64,
    },
    /// A snapshot is invalid from now on.
    Invalid {
        /// The snapshot's.
        id: u64,
        /// What happened, and what to do.
        why: String,
    },
    /// All that a snapshot kept is in its origin, durably; it has no entries any more.
    Merged {
        /// The snapshot's.
        id: u64,
    },
    /// A merge stopped before its end. What is not merged is still seen, and the merge goes on
    /// when the origin is resumed or started again.
    MergeFailed {
        /// The snapshot's.
        id: u64,
        /// What happened.
        why: String,
    },
}

/// How an origin and its snapshots are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// By their faces: snapshot `i` is face `1 + i`.
    pub snapshots: Vec<Option<SnapshotStatus>>,
}

/// How a snapshot is. The kernel's status line has the same numbers, in sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotStatus {
    /// Tells it from all other snapshots.
    pub id: u64,
    /// How it is.
    pub state: SnapshotState,
    /// Bytes of a chunk.
    pub chunk: u64,
    /// Bytes of the store that are used: all chunks up to the last one with data.
    pub used: u64,
    /// Bytes of these that are the header and areas.
    pub metadata: u64,
    /// Bytes of the store.
    pub size: u64,
    /// Chunks that it has and the origin does not.
    pub exceptions: u64,
}

/// How a snapshot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotState {
    /// It is what it should be.
    Active,
    /// It is, and a write to it found its store full.
    Overflowed,
    /// It is being merged into its origin.
    Merging,
    /// That stopped with an error.
    MergeFailed,
    /// Its store was full or failed; it holds nothing any more.
    Invalid,
    /// The same, but its store still says that it is valid: writes to the origin that would change
    /// it fail until the store can be marked, or is taken away.
    Failed,
}

pub(super) type Event = machine::EventOf<Origin>;
pub(super) type Step = machine::Step<Notice>;
pub(super) type Steps = machine::Steps<Notice>;

impl SnapshotState {
    /// Whether it holds what it should.
    pub fn is_whole(self) -> bool {
        !matches!(self, Self::Invalid | Self::Failed)
    }

    /// The word for it, for people and programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Overflowed => "overflowed",
            Self::Merging => "merging",
            Self::MergeFailed => "merge failed",
            Self::Invalid => "invalid",
            Self::Failed => "failed",
        }
    }
}

impl Origin {
    pub(super) fn describe(&self) -> Status {
        let describe = |member: &Option<Member>| {
            member.as_ref().map(|member| SnapshotStatus {
                id: member.config.id,
                state: self.state_of(member),
                chunk: member.geometry.chunk,
                used: member.used(),
                metadata: member.metadata(),
                size: member.config.store_size,
                exceptions: member.exceptions.count(),
            })
        };
        let snapshots = self.members.iter().map(describe).collect();
        Status { snapshots }
    }

    fn state_of(&self, member: &Member) -> SnapshotState {
        match member.health {
            Health::Invalid | Health::Invalidating => SnapshotState::Invalid,
            Health::Unmarked => SnapshotState::Failed,
            Health::Valid if member.config.merging => {
                let failed = self.merge.as_ref().is_some_and(Merge::is_failed);
                if failed {
                    SnapshotState::MergeFailed
                } else {
                    SnapshotState::Merging
                }
            }
            Health::Valid if member.is_overflowed => SnapshotState::Overflowed,
            Health::Valid => SnapshotState::Active,
        }
    }

    /// Does what it is told.
    pub(super) fn obey(&mut self, control: &Control, now: Duration) {
        match control {
            Control::MergeRate(rate) => {
                self.merge_rate = Some(*rate).filter(|rate| *rate > 0);
                // A pause at the rate before may be a long one.
                self.merge_due = now;
            }
        }
    }
}
