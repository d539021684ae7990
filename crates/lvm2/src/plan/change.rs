//! A change: the volume group as it will be, and everything to be done around its commit.
//!
//! ```text
//!     before     zeros, signatures, mirror logs: made reachable by the commit, so durable first
//!     headers    PV headers to be rewritten in front of the commit, or behind it
//!     groups     the commits themselves, in this order
//!     volumes    tables to be loaded, volumes to appear, disappear, and change their names
//!     freed      extents that nothing names any more: to be discarded, if at all, only now
//! ```
//!
//! Physical and logical volumes are named by UUID, because an id means nothing in another group.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::model::VolumeGroup;
use crate::ondisk::{AreaUse, PvUse};
use crate::{Bytes, Uuid};

/// What a command does.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// What must be durable before the first commit.
    pub before: Vec<Before>,
    /// Headers of physical volumes to be rewritten.
    pub headers: Vec<HeaderChange>,
    /// Metadata areas to be used or ignored from this commit on.
    pub areas: Vec<AreaChange>,
    /// The commits, in their order.
    pub groups: Vec<GroupChange>,
    /// What happens to volumes that are active, or are to be.
    pub volumes: Vec<VolumeChange>,
    /// Extents that are free now and were not before.
    pub freed: Vec<Piece>,
    /// Physical volumes that leave the group: after the commit their areas point nowhere.
    pub released: Vec<Uuid>,
    /// Stores whose merge begins when their origin is used next, though it may be in use now.
    pub deferred: Vec<Uuid>,
    /// What people are told.
    pub messages: Vec<Message>,
}

/// One commit.
#[derive(Debug, Clone)]
pub enum GroupChange {
    /// The group is written like this.
    Commit(VolumeGroup),
    /// The group is gone: the headers of its metadata areas point nowhere.
    Erase(VolumeGroup),
}

/// A piece of a physical volume's device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece {
    /// The physical volume.
    pub pv: Uuid,
    /// Its first byte on the device.
    pub start: Bytes,
    /// Its length.
    pub length: Bytes,
}

/// Something that must be durable before the commit that makes it reachable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Before {
    /// These pieces hold this byte everywhere.
    Fill {
        /// Where.
        pieces: Vec<Piece>,
        /// With what.
        byte: u8,
    },
    /// This piece holds these bytes; done after all `Fill`s.
    Write {
        /// Where; as long as the bytes.
        piece: Piece,
        /// What.
        bytes: Vec<u8>,
    },
    /// One piece gets what another one holds, which stays as it is; done first of all. No two of
    /// them overlap, and nobody names what is written.
    Copy {
        /// What is read.
        from: Piece,
        /// What is written; as long as that, on the same physical volume.
        to: Piece,
    },
    /// Signatures of file systems and the like are looked for in a volume of the first group to be
    /// committed, and wiped where people agree.
    WipeSignatures {
        /// The new volume.
        lv: Uuid,
    },
}

/// When a header is rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// In front of the commits.
    BeforeCommit,
    /// Behind the first commit and in front of the next one.
    BetweenCommits,
    /// Behind the commits.
    AfterCommit,
}

/// What changes in the header of a physical volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderEdit {
    /// Whether it belongs to a group.
    Usage(PvUse),
    /// The size of its device.
    DeviceSize(Bytes),
    /// Its identity.
    Uuid(Uuid),
    /// Whether its metadata areas are used; of a physical volume without a group.
    Areas(AreaUse),
}

/// The header of a physical volume is to be rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderChange {
    /// The physical volume; by its old identity where that changes.
    pub pv: Uuid,
    /// When.
    pub when: When,
    /// What changes.
    pub edit: HeaderEdit,
}

/// A metadata area is used from now on, or ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AreaChange {
    /// The physical volume.
    pub pv: Uuid,
    /// Which of its areas, from zero.
    pub area: usize,
    /// What it becomes.
    pub usage: AreaUse,
}

/// What happens to a volume that is active, or is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumeChange {
    /// It is to be activated after the commit.
    Activate {
        /// The volume.
        lv: Uuid,
        /// Its name.
        name: String,
    },
    /// It disappears: if active, it must be deactivated before the commit.
    Deactivate {
        /// The volume.
        lv: Uuid,
        /// Its name.
        name: String,
    },
    /// If active, its table changes with the commit.
    Reload {
        /// The volume.
        lv: Uuid,
        /// Its name.
        name: String,
    },
    /// If active, it changes its name with the commit.
    Rename {
        /// The volume.
        lv: Uuid,
        /// The name that it had.
        from: String,
        /// The name that it gets.
        to: String,
    },
}

/// How serious a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// Stock prints it among the results.
    Note,
    /// Stock prints it among the errors, behind `WARNING: `.
    Warning,
}

/// A sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// How serious it is.
    pub level: Level,
    /// The sentence, without `WARNING: `.
    pub text: String,
}

impl Message {
    /// A sentence among the results.
    pub fn note(text: impl Into<String>) -> Self {
        Self {
            level: Level::Note,
            text: text.into(),
        }
    }

    /// A sentence among the errors.
    pub fn warning(text: impl Into<String>) -> Self {
        Self {
            level: Level::Warning,
            text: text.into(),
        }
    }
}

impl Change {
    /// The invariants of what is to be done: what is written fits its place, copies do not meet,
    /// and each version of a group is newer than the one before.
    pub fn check(&self) {
        for step in &self.before {
            match step {
                Before::Fill { pieces, .. } => {
                    let is_filled = |piece: &Piece| piece.length > Bytes::ZERO;
                    assert!(pieces.iter().all(is_filled), "something is filled");
                }
                Before::Write { piece, bytes } => {
                    assert_eq!(piece.length.0, bytes.len() as u64, "it fills its place");
                }
                Before::Copy { from, to } => {
                    assert_eq!(from.length, to.length, "a copy is as long");
                    assert_eq!(from.pv, to.pv, "a copy stays on its physical volume");
                    let is_apart =
                        from.start + from.length <= to.start || to.start + to.length <= from.start;
                    assert!(is_apart, "what is copied stays");
                }
                Before::WipeSignatures { .. } => {}
            }
        }
        let mut newest: BTreeMap<Uuid, u32> = BTreeMap::new();
        for group in &self.groups {
            if let GroupChange::Commit(vg) = group {
                vg.check();
                let older = newest.insert(vg.uuid, vg.seqno);
                assert!(
                    older < Some(vg.seqno),
                    "each version is newer than the last"
                );
            }
        }
    }

    /// The first group that is committed: the one that the command was given.
    pub fn vg(&self) -> Option<&VolumeGroup> {
        self.groups.iter().find_map(|group| match group {
            GroupChange::Commit(vg) => Some(vg),
            GroupChange::Erase(_) => None,
        })
    }

    /// The messages of one level, in their order.
    pub fn texts(&self, level: Level) -> impl Iterator<Item = &str> {
        let found = self
            .messages
            .iter()
            .filter(move |message| message.level == level);
        found.map(|message| message.text.as_str())
    }
}
