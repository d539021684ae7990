//! What an owner says of the volumes that it serves.
//!
//! Reports ask for it and must not wait. What is served is known without the owner, which may be
//! waiting for a slow disk while a table is exchanged: whoever had it leaves behind what is known
//! (`shelf.rs`). Mirrors are asked for a moment only: of one that does not answer in time nothing
//! is said. A mirror is asked while its volume may be closed by another thread; that does not wait
//! for the answer, and the answer does not keep the mirror. What is said goes over the control
//! socket as the types stand here (`wire`).

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use dm::home::Controller;
use dm::integrity::Integrity;
use dm::mirror::{ImageHealth, Mirror};
use dm::raid::{Array, LegState};
use dm::snapshot::{Origin, SnapshotState};
use lvm2::Uuid;
use lvm2::model::{LvFlag, LvId, VolumeGroup};
use lvm2::plan::physical::moves;
use serde::{Deserialize, Serialize};

use super::group::LiveGroup;
use super::owner::{Facts, Owner};
use super::wire::member;
use crate::activate::{Node, NodeId, NodeKind, Running};

/// How long all mirrors together may take to say how they are.
const MIRRORS_MAX: Duration = Duration::from_millis(500);

/// A volume that is served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeStatus {
    /// Its name: `vg0/data`.
    pub name: String,
    /// What it is, whatever its name; an owner of an older version does not say.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "member::uuid_if_said"
    )]
    pub uuid: Option<Uuid>,
    /// How many use it.
    pub users: u64,
    /// The mirrors in it that said how they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mirrors: Vec<MirrorStatus>,
    /// The snapshots that are kept with it: all of its origin's, or of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<SnapshotInUse>,
}

/// A snapshot whose origin is at work, or one of whose neighbours is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotInUse {
    /// The volume that people call the snapshot.
    #[serde(rename = "uuid", with = "member::uuid")]
    pub lv: Uuid,
    /// Bytes of its store that are used.
    pub used: u64,
    /// Bytes of these that hold no data.
    pub metadata: u64,
    /// Bytes of its store.
    pub size: u64,
    /// Whether it holds nothing any more.
    #[serde(rename = "invalid")]
    pub is_invalid: bool,
    /// Whether it goes back into its origin.
    #[serde(default, skip_serializing_if = "Merging::is_no")]
    pub merge: Merging,
    /// Bytes of its store that are filled in a second, as its owner saw it in the last minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill_rate: Option<u64>,
    /// Whether its owner told people that it is full soon, at that rate.
    #[serde(
        default,
        rename = "full_soon",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub is_full_soon: bool,
}

/// Whether a snapshot goes back into its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Merging {
    /// It stands beside it.
    #[default]
    No,
    /// It does.
    Runs,
    /// It does not any more, though it should: a disk failed.
    Failed,
}

/// A mirror or an array at work, or a move, of which the piece under way is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirrorStatus {
    /// The volume that is the mirror.
    #[serde(rename = "uuid", with = "member::uuid")]
    pub lv: Uuid,
    /// Regions that are the same on all images; of a move what is moved, of an array the bytes that
    /// go together, in the same parts as `regions`.
    pub in_sync: u64,
    /// Regions in all; of a move all that it moves, of an array its bytes that go together or are
    /// to.
    pub regions: u64,
    /// Its images.
    pub images: Vec<ImageStatus>,
}

/// An image of a mirror at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageStatus {
    /// The volume that is the image; of a move the physical volume.
    #[serde(rename = "uuid", with = "member::uuid")]
    pub lv: Uuid,
    /// Its name, without the group.
    pub name: String,
    /// How it is.
    #[serde(with = "member::image")]
    pub state: ImageHealth,
    /// Blocks of it that were read and were not what their checksums say, where it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mismatches: Option<u64>,
}

impl VolumeStatus {
    /// The volume in its group's metadata.
    pub fn find(&self, vg: &VolumeGroup) -> Option<LvId> {
        match &self.uuid {
            Some(uuid) => vg.lv_by_uuid(uuid),
            None => vg.lv_by_name(self.name.rsplit('/').next().unwrap_or_default()),
        }
    }
}

/// What is known of a group without waiting for its owner.
#[derive(Clone)]
pub(super) struct Known {
    /// The group's name.
    pub(super) name: String,
    served: Vec<(VolumeStatus, Vec<Asked>)>,
}

/// What can be asked.
#[derive(Clone)]
enum Asked {
    Mirror {
        status: MirrorStatus,
        mirror: Controller<Mirror>,
        /// Of a move: how far the pieces before are.
        moved: Option<Moved>,
    },
    Origin {
        stores: Vec<Option<Uuid>>,
        origin: Controller<Origin>,
    },
    Array {
        status: MirrorStatus,
        array: Controller<Array>,
        /// Of each image, if it has checksums.
        checksums: Vec<Option<Controller<Integrity>>>,
    },
}

/// How far a move is, but for the piece under way.
#[derive(Clone, Copy)]
struct Moved {
    /// Extents in all.
    all: u64,
    /// Those that are moved.
    before: u64,
    /// Those of the piece.
    piece: u64,
}

impl LiveGroup {
    /// How the volumes in use are.
    pub fn status(&self) -> Vec<VolumeStatus> {
        let served = self.known().served;
        // Under no lock: a mirror may be slow to say how it is.
        let end = Instant::now() + MIRRORS_MAX;
        let answered = served.into_iter().map(|(mut volume, all)| {
            for asked in all {
                asked.answer(end, &mut volume);
            }
            volume
        });
        let mut answered: Vec<VolumeStatus> = answered.collect();
        let fillings = self.shared.fillings.lock();
        let fillings = fillings.unwrap_or_else(PoisonError::into_inner);
        for snapshot in answered.iter_mut().flat_map(|one| &mut one.snapshots) {
            fillings.complete(snapshot);
        }
        answered
    }
}

impl Known {
    /// How the snapshots in use are, each once; not how fast they fill.
    pub(super) fn snapshots(self) -> Vec<SnapshotInUse> {
        let end = Instant::now() + MIRRORS_MAX;
        let mut found: Vec<SnapshotInUse> = Vec::new();
        for (mut volume, all) in self.served {
            let origins = all.into_iter();
            let origins = origins.filter(|asked| matches!(asked, Asked::Origin { .. }));
            origins.for_each(|origin| origin.answer(end, &mut volume));
            found.append(&mut volume.snapshots);
        }
        found.sort_by_key(|snapshot| snapshot.lv);
        found.dedup_by_key(|snapshot| snapshot.lv);
        found
    }
}

impl Owner {
    /// What others may know meanwhile.
    pub(super) fn known(&self) -> Known {
        let named = |uuid: Uuid| {
            let facts = &self.facts;
            let name = facts.name_of(uuid).unwrap_or_default();
            if let Some((_, name)) = name.split_once('/') {
                return name.to_owned();
            }
            // What is moved lies on physical volumes.
            let mut pvs = facts.scan.physical_volumes.iter();
            let pv = pvs.find(|pv| pv.uuid == uuid);
            pv.map_or(String::new(), |pv| {
                facts.scan.device(pv.device).name.clone()
            })
        };
        let volumes = self.facts.active.iter().map(|active| {
            let asked = active.standing_on.iter().filter_map(|node| {
                let images = |images: &[Uuid]| {
                    let images = images.iter().map(|image| ImageStatus {
                        lv: *image,
                        name: named(*image),
                        state: self.facts.described(*image),
                        mismatches: None,
                    });
                    MirrorStatus {
                        lv: node.id.lv,
                        in_sync: 0,
                        regions: 0,
                        images: images.collect(),
                    }
                };
                Some(match &node.machine {
                    Running::Mirror { images: legs, home } => Asked::Mirror {
                        status: images(legs),
                        mirror: home.controller(),
                        moved: self.moved(node.id),
                    },
                    Running::Origin { stores, home, .. } => Asked::Origin {
                        stores: stores.clone(),
                        origin: home.controller(),
                    },
                    Running::Array { images: legs, home } => Asked::Array {
                        status: images(legs),
                        array: home.controller(),
                        checksums: legs.iter().map(|leg| checksums(node, *leg)).collect(),
                    },
                    // Its array says how it is.
                    Running::Checksums { .. } => return None,
                })
            });
            let volume = VolumeStatus {
                name: self.facts.name_of(active.lv).unwrap_or_default(),
                uuid: Some(active.lv),
                users: active.users as u64,
                mirrors: Vec::new(),
                snapshots: Vec::new(),
            };
            (volume, asked.collect())
        });
        let group = self.facts.group();
        Known {
            name: group.map_or_else(|_| self.facts.uuid.to_string(), |group| group.name.clone()),
            served: volumes.collect(),
        }
    }
}

impl Facts {
    /// How the metadata describe an image.
    fn described(&self, image: Uuid) -> ImageHealth {
        let group = self.group().ok();
        let is_to_be_filled = group.is_some_and(|group| {
            let lv = group.model.lv_by_uuid(&image);
            lv.is_some_and(|lv| group.model.lv(lv).flags.has(LvFlag::Rebuild))
        });
        if is_to_be_filled {
            ImageHealth::OutOfSync
        } else {
            ImageHealth::Good
        }
    }
}

impl Owner {
    /// How far the move of a piece is; `None`: it is none.
    fn moved(&self, piece: NodeId) -> Option<Moved> {
        if piece.kind != NodeKind::Move {
            return None;
        }
        let all = moves(&self.facts.group().ok()?.model);
        let one = all.iter().find(|one| one.uuid == piece.lv)?;
        let moved = Moved {
            all: one.extents.0,
            before: one.moved.0,
            piece: one.running.as_ref()?.length.0,
        };
        let until = moved.before.saturating_add(moved.piece);
        assert!(until <= moved.all, "no more is moved than there is");
        Some(moved)
    }
}

impl Moved {
    /// What is moved and all of it, as the piece says how much of it is.
    fn of_all(self, in_sync: u64, regions: u64) -> (u64, u64) {
        let before = self.before.saturating_mul(regions);
        let piece = self.piece.saturating_mul(in_sync);
        (
            before.saturating_add(piece),
            self.all.saturating_mul(regions),
        )
    }
}

impl Asked {
    /// Adds to `volume` what this says of itself; nothing if it does not until `end`.
    fn answer(self, end: Instant, volume: &mut VolumeStatus) {
        let left = end.saturating_duration_since(Instant::now());
        match self {
            Self::Mirror {
                mut status,
                mirror,
                moved,
            } => {
                let Some(said) = mirror.status(left) else {
                    return;
                };
                if said.images.len() != status.images.len() {
                    // It has become another one since.
                    return;
                }
                assert!(
                    said.in_sync <= said.regions,
                    "no more is in sync than there is"
                );
                for (image, state) in status.images.iter_mut().zip(said.images) {
                    image.state = match state {
                        // What a move copies to is meant to be so.
                        ImageHealth::OutOfSync if moved.is_some() => ImageHealth::Good,
                        state => state,
                    };
                }
                (status.in_sync, status.regions) = match moved {
                    Some(moved) => moved.of_all(said.in_sync, said.regions),
                    None => (said.in_sync, said.regions),
                };
                volume.mirrors.push(status);
            }
            Self::Array {
                status,
                array,
                checksums,
            } => volume
                .mirrors
                .extend(of_array(status, &array, checksums, end)),
            Self::Origin { stores, origin } => {
                let Some(said) = origin.status(left) else {
                    return;
                };
                let both = stores.into_iter().zip(said.snapshots);
                let both = both.filter_map(|(lv, said)| lv.zip(said));
                volume
                    .snapshots
                    .extend(both.map(|(lv, said)| SnapshotInUse {
                        lv,
                        used: said.used,
                        metadata: said.metadata,
                        size: said.size,
                        is_invalid: !said.state.is_whole(),
                        merge: Merging::of(said.state),
                        fill_rate: None,
                        is_full_soon: false,
                    }));
            }
        }
    }
}

impl Merging {
    fn of(state: SnapshotState) -> Self {
        match state {
            SnapshotState::Merging => Self::Runs,
            SnapshotState::MergeFailed => Self::Failed,
            SnapshotState::Active
            | SnapshotState::Overflowed
            | SnapshotState::Invalid
            | SnapshotState::Failed => Self::No,
        }
    }

    /// What lines leave out.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
    fn is_no(&self) -> bool {
        *self == Self::No
    }
}

impl MirrorStatus {
    /// The images that are not used, or not yet: without them the mirror has less redundancy.
    pub fn failed(&self) -> impl Iterator<Item = &ImageStatus> {
        self.images.iter().filter(|image| !image.state.is_used())
    }

    /// Whether all images are the same, and used.
    pub fn is_in_sync(&self) -> bool {
        self.in_sync == self.regions && self.failed().next().is_none()
    }
}

/// What counts the wrong checksums of an image of this array.
fn checksums(array: &Node, image: Uuid) -> Option<Controller<Integrity>> {
    array.below.iter().find_map(|node| match &node.machine {
        Running::Checksums { home } if node.id.lv == image => Some(home.controller()),
        _ => None,
    })
}

/// How an array is; `None`: it does not say so until `end`, or has become another one since.
fn of_array(
    mut status: MirrorStatus,
    array: &Controller<Array>,
    checksums: Vec<Option<Controller<Integrity>>>,
    end: Instant,
) -> Option<MirrorStatus> {
    let left = || end.saturating_duration_since(Instant::now());
    let said = array.status(left())?;
    if said.legs.len() > status.images.len() {
        return None;
    }
    // What a reshape has taken away is nothing that it knows of.
    for (image, (state, errors)) in status.images.iter_mut().zip(said.legs) {
        let is_described = image.state == ImageHealth::Good;
        image.state = match leg_health(&state, errors) {
            // It would be filled once more by whoever uses it next.
            ImageHealth::Good if !is_described => ImageHealth::OutOfSync,
            state => state,
        };
    }
    for (image, checksums) in status.images.iter_mut().zip(checksums) {
        let said = checksums.and_then(|checksums| checksums.status(left()));
        image.mismatches = said.map(|said| said.mismatches);
    }
    (status.in_sync, status.regions) = (said.synced, said.sync_size);
    Some(status)
}

/// How a leg of an array is, of which this is believed, and that did not answer so many requests.
fn leg_health(state: &LegState, errors: u64) -> ImageHealth {
    match state {
        LegState::Missing => ImageHealth::Missing,
        LegState::Untrusted(_) => ImageHealth::Lost,
        LegState::Filling => ImageHealth::OutOfSync,
        LegState::Valid { .. } if errors > 0 => ImageHealth::ReadErrors,
        LegState::Valid { .. } => ImageHealth::Good,
    }
}
