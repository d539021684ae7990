//! Which volumes are active: those that processes serve or have attached.
//!
//! Nothing of this is on the disks. It is asked for once for a whole report, of the owners of its
//! groups, and belongs to the groups of the view from then on (`commands::activity`).

use std::collections::HashMap;
use std::path::PathBuf;

use ashlar::live::{MirrorStatus, SnapshotInUse, VolumeStatus};
use dm::mirror::ImageHealth;
use lvm2::model::{LvId, Part, Relations, SnapshotState, VolumeGroup};

/// What is known of the volumes of a group.
#[derive(Debug, Default)]
pub(crate) enum Live {
    /// Those that are not listed are not active; mostly none is.
    Known(HashMap<LvId, Active>),
    /// A process serves some, and does not say which.
    Unknown,
    /// Nobody was asked.
    #[default]
    Unasked,
}

/// A volume that is active.
#[derive(Debug, Clone, Default)]
pub(crate) struct Active {
    /// Where it is attached.
    pub(crate) place: Option<Place>,
    /// Whether somebody uses it beside whoever makes it active.
    pub(crate) is_open: bool,
    /// Whether it takes no writes, whatever its own permission.
    pub(crate) is_only_read: bool,
    /// If it is a mirror: how it is.
    pub(crate) mirror: Option<MirrorStatus>,
    /// Blocks that were read and were not what their checksums say, if it has any.
    pub(crate) mismatches: Option<u64>,
    /// If it is a snapshot: how full its store is.
    pub(crate) snapshot: Option<SnapshotInUse>,
    /// If a snapshot is being merged into it: how much of that one's store is left.
    pub(crate) merging: Option<SnapshotInUse>,
    /// If it is an image of a mirror: how it is, and whether the mirror is in sync.
    pub(crate) image: Option<(ImageHealth, bool)>,
}

/// Where a volume is attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The node or the file, or its name below that of the group.
    pub(crate) path: PathBuf,
    /// The same, or its name among those of all groups.
    pub(crate) mapped: PathBuf,
    /// The node's number.
    pub(crate) number: Option<(u32, u32)>,
}

/// Whether a volume is active.
#[derive(Debug, Clone, Copy)]
pub(crate) enum State<'a> {
    /// It is not.
    Inactive,
    /// Whoever knows does not say.
    Unknown,
    /// It is.
    Active(&'a Active),
}

impl Live {
    /// Whether this volume is active.
    pub(crate) fn state(&self, lv: LvId) -> State<'_> {
        match self {
            Self::Known(active) => active.get(&lv).map_or(State::Inactive, State::Active),
            Self::Unknown => State::Unknown,
            Self::Unasked => State::Inactive,
        }
    }

    /// The volume is active, and so are those below it, which it has open.
    pub(crate) fn add(&mut self, vg: &VolumeGroup, lv: LvId, top: Active) {
        if !matches!(self, Self::Known(_)) {
            *self = Self::Known(HashMap::new());
        }
        let Self::Known(all) = self else {
            unreachable!("it was just made");
        };
        all.insert(lv, top);
        let mut pending = below(vg, lv);
        while let Some(lv) = pending.pop() {
            if let std::collections::hash_map::Entry::Vacant(place) = all.entry(lv) {
                place.insert(Active {
                    is_open: true,
                    ..Active::default()
                });
                pending.extend(below(vg, lv));
            }
        }
    }

    /// What an owner says of the mirrors in a volume that is active, and of the snapshots that are
    /// kept with it, which are active as well.
    pub(crate) fn note_states(&mut self, vg: &VolumeGroup, said: &VolumeStatus) {
        let Self::Known(all) = self else {
            return;
        };
        for mirror in &said.mirrors {
            for image in &mirror.images {
                if let Some(lv) = vg.lv_by_uuid(&image.lv) {
                    let active = all.entry(lv).or_default();
                    active.image = Some((image.state, mirror.is_in_sync()));
                    active.mismatches = image.mismatches;
                }
            }
            if let Some(lv) = vg.lv_by_uuid(&mirror.lv) {
                let counted = mirror.images.iter().filter_map(|image| image.mismatches);
                let active = all.entry(lv).or_default();
                active.mismatches = counted.reduce(u64::saturating_add);
                active.mirror = Some(mirror.clone());
            }
        }
        for snapshot in &said.snapshots {
            let Some(lv) = vg.lv_by_uuid(&snapshot.lv) else {
                continue;
            };
            all.entry(lv).or_default().snapshot = Some(*snapshot);
            let merging = Relations::of(vg).snapshot_of_cow(vg, lv);
            let merging = merging.filter(|one| one.state == SnapshotState::Merging);
            if let Some(merging) = merging {
                all.entry(merging.origin).or_default().merging = Some(*snapshot);
            }
        }
    }
}

impl<'a> State<'a> {
    /// The volume, if it is active.
    pub(crate) fn active(self) -> Option<&'a Active> {
        match self {
            Self::Active(active) => Some(active),
            Self::Inactive | Self::Unknown => None,
        }
    }
}

impl Active {
    /// Whether an image failed: this one, or one of this mirror.
    pub(crate) fn has_failed(&self) -> bool {
        let is_lost = |state| state == ImageHealth::Lost;
        let images = self.mirror.iter().flat_map(|mirror| &mirror.images);
        let mut states = images.map(|image| image.state);
        self.image.is_some_and(|(state, _)| is_lost(state)) || states.any(is_lost)
    }

    /// Whether its owner says how it is: a mirror or an array, or an image of one.
    pub(crate) fn is_told_of(&self) -> bool {
        self.mirror.is_some() || self.image.is_some()
    }

    /// Whether this is an image that holds all that its mirror does.
    pub(crate) fn is_synced_image(&self) -> bool {
        self.image
            .is_some_and(|(state, in_sync)| in_sync && state.is_used())
    }
}

/// The volumes that one stands on.
fn below(vg: &VolumeGroup, lv: LvId) -> Vec<LvId> {
    let mut below = Vec::new();
    for segment in &vg.lv(lv).segments {
        segment.for_each_reference(|lv, part| {
            if !matches!(part, Part::ThinOrigin | Part::ThinMerge | Part::ThinMessage) {
                below.push(lv);
            }
        });
    }
    below
}
