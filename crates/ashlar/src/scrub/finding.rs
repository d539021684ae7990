//! What was found, and where: in the volume, on the leg, on the disk.

use dm::raid::scrub::{Blame, Holds, Unknown};

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// Bytes of each leg: whole sectors.
    pub len: u64,
    /// Its first byte of what is kept in sync; an order to repair names it.
    pub sync: u64,
    /// The row of chunks, from 0; a mirror has none.
    pub row: Option<u64>,
    /// All legs that were compared, in the order of the array; of what cannot be read, that one.
    pub legs: Vec<LegPlace>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindingKind {
    /// Legs do not go together.
    Mismatch(Blame),
    /// A leg cannot be read.
    Unreadable,
}

/// What a leg has to do with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegPlace {
    /// Which leg, from 0.
    pub leg: usize,
    /// What it is called.
    pub name: String,
    /// Where on the leg it begins, in bytes.
    pub start: u64,
    /// What it holds there; data by their byte in the volume.
    pub holds: Holds,
    /// The extent of the volume that data are in.
    pub extent: Option<u64>,
    /// Where that is.
    pub on: Vec<OnDisk>,
    /// Whether it is right.
    pub standing: Standing,
}

/// A place on a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnDisk {
    /// The disk's name.
    pub device: String,
    /// The byte at which it begins.
    pub byte: u64,
    /// The extent of the physical volume that it is in.
    pub extent: Option<u64>,
}

/// Whether a leg is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It goes together with the others but for those that are wrong.
    Right,
    /// It does not.
    Wrong,
    /// Nobody can know.
    Unknown,
}

impl Standing {
    /// That of a leg where this is blamed.
    pub(super) fn of(leg: usize, blame: &Blame) -> Self {
        match blame {
            Blame::Unknown(_) => Self::Unknown,
            Blame::Legs(wrong) if wrong.contains(&leg) => Self::Wrong,
            Blame::Legs(_) => Self::Right,
        }
    }

    /// As programs say it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::Unknown => "unknown",
        }
    }
}

impl Finding {
    /// How many sectors of each leg it is about.
    pub fn sectors(&self) -> u64 {
        self.len / lvm2::SECTOR_SIZE
    }

    /// Why it cannot be known who is wrong; `None`: it is known.
    pub fn unknown(&self) -> Option<Unknown> {
        match self.kind {
            FindingKind::Mismatch(Blame::Unknown(why)) => Some(why),
            FindingKind::Mismatch(Blame::Legs(_)) | FindingKind::Unreadable => None,
        }
    }

    /// The legs that are wrong, or cannot be read.
    pub fn wrong(&self) -> impl Iterator<Item = &LegPlace> {
        let legs = self.legs.iter();
        legs.filter(|leg| leg.standing == Standing::Wrong || self.kind == FindingKind::Unreadable)
    }
}
