//! The ten letters in which `lvs` sums up a volume: `rwi---r---`.
//!
//! ```text
//!     0 type          r raid, m mirror, o origin, s snapshot, V thin, t pool, e metadata, …
//!     1 permission    w writable, r read-only
//!     2 allocation    i inherited, c contiguous, …; in capitals while extents are being moved
//!     3 minor         m a fixed device number
//!     4 state         \  of the running system:
//!     5 open          /  not known here, always '-'
//!     6 target        r raid, m mirror, s snapshot, t thin, C cache, v virtual, u unknown
//!     7 zero          z a thin pool that zeroes new blocks
//!     8 health        w a write-mostly image, R one to be removed after a reshape
//!     9 skip          k not activated unless asked for twice
//! ```
//!
//! The letters and their precedence are those of stock. Whoever knows the running system puts its
//! letters into places 4, 5 and 8, and an `i` into place 0 for an image (`I`) that is in sync.

use super::flags::LvFlag;
use super::geometry::Part;
use super::ids::LvId;
use super::lv::{AllocationPolicy, LogicalVolume};
use super::relations::{Relations, Role, is_cachevol};
use super::segment::{Area, Mirror, SegmentType, SnapshotState, ThinPool, ZeroNewBlocks};
use super::vg::VolumeGroup;

/// In the name of a mirror's image that is there only until it is in sync.
const TEMPORARY_IMAGE: &str = "_mimagetmp";

/// The letters of a volume, as far as its group's text says.
pub fn lv_attr(vg: &VolumeGroup, relations: &Relations, lv: LvId) -> [char; 10] {
    let asked = Asked {
        vg,
        relations,
        lv,
        volume: vg.lv(lv),
    };
    let flags = &asked.volume.flags;
    let when = |flag, letter| if flags.has(flag) { letter } else { '-' };
    [
        asked.kind(),
        asked.permission(),
        asked.allocation(),
        when(LvFlag::FixedMinor, 'm'),
        '-',
        '-',
        asked.target(),
        asked.zero(),
        asked.health(),
        when(LvFlag::ActivationSkip, 'k'),
    ]
}

/// The letter of an allocation policy.
pub fn policy_letter(policy: Option<AllocationPolicy>) -> char {
    match policy {
        None => 'i',
        Some(AllocationPolicy::Contiguous) => 'c',
        Some(AllocationPolicy::Cling) => 'l',
        Some(AllocationPolicy::ClingByTags) => 't',
        Some(AllocationPolicy::Normal) => 'n',
        Some(AllocationPolicy::Anywhere) => 'a',
    }
}

/// The volume in question and its surroundings.
#[derive(Clone, Copy)]
struct Asked<'a> {
    vg: &'a VolumeGroup,
    relations: &'a Relations,
    lv: LvId,
    volume: &'a LogicalVolume,
}

impl Asked<'_> {
    fn kind(self) -> char {
        let synced = |lower: char| {
            if self.volume.flags.has(LvFlag::NotSynced) {
                lower.to_ascii_uppercase()
            } else {
                lower
            }
        };
        if self.volume.flags.has(LvFlag::Pvmove) {
            return 'p';
        }
        if self.is_converting() {
            return 'c';
        }
        if self.relations.is_origin(self.lv) || self.is_used_as(Part::ThinExternalOrigin) {
            let mut snapshots = self.relations.snapshots(self.vg, self.lv);
            let is_merging = snapshots.any(|snapshot| snapshot.state == SnapshotState::Merging);
            return if is_merging { 'O' } else { 'o' };
        }
        let part = self.relations.component_use(self.lv).map(|used| used.part);
        if is_metadata(part) || self.relations.role(self.vg, self.lv) == Role::Spare {
            return 'e';
        }
        match (self.volume.first(), part) {
            (
                Some(
                    SegmentType::Cache(_) | SegmentType::CachePool(_) | SegmentType::Writecache(_),
                ),
                _,
            )
            | (_, Some(Part::CachePoolData)) => 'C',
            _ if is_cachevol(self.vg, self.relations, self.lv) => 'C',
            (Some(SegmentType::Raid(_)), _) => synced('r'),
            (Some(SegmentType::Mirror(_)), _) => synced('m'),
            (Some(SegmentType::Thin(_)), _) if self.is_used_as(Part::ThinMerge) => 'O',
            (Some(SegmentType::Thin(thin)), _) if thin.merge.is_some() => 'S',
            (Some(SegmentType::Thin(_)), _) => 'V',
            (Some(SegmentType::Integrity(_)), _) => 'g',
            (Some(SegmentType::VdoPool(_)), _) => 'd',
            (_, Some(Part::VdoPoolData)) => 'D',
            _ if self.is_virtual() => 'v',
            (Some(SegmentType::ThinPool(_)), _) => 't',
            (_, Some(part)) => self.part(part),
            _ => '-',
        }
    }

    fn part(self, part: Part) -> char {
        match part {
            Part::ThinPoolData => 'T',
            Part::MirrorImage | Part::RaidImage(_) => 'I',
            Part::MirrorLog => 'l',
            Part::CacheOrigin | Part::WritecacheOrigin => 'o',
            Part::SnapshotCow => {
                let snapshot = self.relations.snapshot_of_cow(self.vg, self.lv);
                match snapshot.map(|snapshot| snapshot.state) {
                    Some(SnapshotState::Merging) => 'S',
                    _ => 's',
                }
            }
            _ => '-',
        }
    }

    fn permission(self) -> char {
        let flags = &self.volume.flags;
        match () {
            () if flags.has(LvFlag::Pvmove) => '-',
            () if self.volume.is_writable() => 'w',
            () if flags.has(LvFlag::Read) => 'r',
            () => '-',
        }
    }

    fn allocation(self) -> char {
        let letter = policy_letter(self.volume.allocation);
        if self.volume.flags.has(LvFlag::Locked) {
            letter.to_ascii_uppercase()
        } else {
            letter
        }
    }

    fn target(self) -> char {
        let part = self.relations.component_use(self.lv).map(|used| used.part);
        match (self.volume.first(), part) {
            (Some(SegmentType::Thin(_) | SegmentType::ThinPool(_)), _) => 't',
            (
                Some(
                    SegmentType::Cache(_) | SegmentType::CachePool(_) | SegmentType::Writecache(_),
                ),
                _,
            )
            | (_, Some(Part::CacheOrigin | Part::WritecacheOrigin)) => 'C',
            _ if is_cachevol(self.vg, self.relations, self.lv) => 'C',
            (Some(SegmentType::Raid(_)), _) | (_, Some(Part::RaidImage(_) | Part::RaidMeta(_))) => {
                'r'
            }
            (Some(SegmentType::Mirror(_)), _) | (_, Some(Part::MirrorImage | Part::MirrorLog)) => {
                'm'
            }
            _ if self.volume.flags.has(LvFlag::Pvmove) => 'm',
            (_, Some(Part::SnapshotCow)) => 's',
            _ if self.relations.is_origin(self.lv) => 's',
            _ if self.has_segment(|kind| matches!(kind, SegmentType::Unknown(_))) => 'u',
            _ if self.is_virtual() => 'v',
            _ => '-',
        }
    }

    fn zero(self) -> char {
        let pool = match self.volume.first() {
            Some(SegmentType::Thin(thin)) => self.vg.lv(thin.pool).first(),
            own => own,
        };
        match pool {
            Some(SegmentType::ThinPool(ThinPool {
                zero_new_blocks: ZeroNewBlocks::Yes,
                ..
            })) => 'z',
            _ => '-',
        }
    }

    fn health(self) -> char {
        let goes = |lv: LvId| self.vg.lv(lv).goes_after_reshape();
        let part = self.relations.component_use(self.lv).map(|used| used.part);
        match (self.volume.first(), part) {
            (Some(SegmentType::Raid(raid)), _)
                if raid.images.iter().any(|image| goes(image.data)) =>
            {
                'R'
            }
            (_, Some(Part::RaidImage(_) | Part::RaidMeta(_))) => {
                match (self.volume.flags.has(LvFlag::WriteMostly), goes(self.lv)) {
                    (true, _) => 'w',
                    (false, true) => 'R',
                    (false, false) => '-',
                }
            }
            _ => '-',
        }
    }

    fn is_used_as(self, part: Part) -> bool {
        self.relations.is_used_as(self.lv, part)
    }

    fn has_segment(self, fits: impl Fn(&SegmentType) -> bool) -> bool {
        self.volume
            .segments
            .iter()
            .any(|segment| fits(&segment.kind))
    }

    /// Whether it has extents that stand on nothing.
    fn is_virtual(self) -> bool {
        self.has_segment(|kind| {
            matches!(
                kind,
                SegmentType::Zero
                    | SegmentType::Error
                    | SegmentType::Vdo(_)
                    | SegmentType::Unknown(_)
            )
        })
    }

    fn is_converting(self) -> bool {
        match self.volume.first() {
            Some(SegmentType::Mirror(Mirror { images, .. })) => match images.first() {
                Some(Area::Lv { lv, .. }) => self.vg.lv(*lv).name().contains(TEMPORARY_IMAGE),
                _ => false,
            },
            _ => false,
        }
    }
}

fn is_metadata(part: Option<Part>) -> bool {
    matches!(
        part,
        Some(
            Part::ThinPoolMetadata
                | Part::CachePoolMetadata
                | Part::RaidMeta(_)
                | Part::IntegrityMetadata
        )
    )
}

#[cfg(test)]
mod tests;
