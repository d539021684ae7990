//! A mirror in use loses its first copy: the text gets another one in front.
//!
//! ```text
//!   mirror's thread    a leg is lost; what missed it waits ─▶ persist()     ◀─ persisted or not
//!   thread "order"       its turn ─▶ change: locks, scan, order_images, commit ─▶ say ─▶ refresh
//! ```
//!
//! The thread that says so holds nothing that the end of a volume's use waits for, except its turn.
//! A change that is under way meanwhile waits for the mirror's requests in vain, gives up after its
//! limit, and the order comes next.
//!
//! The areas of the disks that were lost are tried first: a disk with one bad sector can still
//! hold a text. Where that fails they are left out, and hold an older version, as the areas of any
//! missing physical volume do. If no area can be written, the mirror fails its writes.

use std::sync::{Arc, Mutex, TryLockError, Weak};
use std::time::{Duration, Instant};

use dm::home::Controller;
use dm::mirror::{Control, Mirror};
use lvm2::model::{Relations, SnapshotState, VolumeGroup};
use lvm2::plan::logical::{end_merge, has_first_image, image_rebuilt, order_images};
use lvm2::plan::{Author, pieces};
use lvm2::{Bytes, Extents, Uuid};

use super::group::{JOB_MAX, LiveGroup, Shared, TURN_MAX, TURN_RETRY};
use crate::activate::{Filled, MetadataUpdater, Wanted};
use crate::apply::{Disks, HostDisks, Ownership, Planned, Quiet, Request, Session, Tolerated};
use crate::host::Host;
use crate::lock::OwnedGroup;
use crate::{Error, Kind, Result};

/// The words that a version's text has for who made it.
const COMMAND: &str = "a mirror lost a copy";
const MERGED: &str = "a snapshot was merged";
const REBUILT: &str = "an image was rebuilt";
/// How long to wait before a snapshot that is merged is taken away, where that failed.
const MERGED_RETRY: Duration = Duration::from_secs(30);

/// Keeps the order of the copies of a live group's mirrors.
pub(super) struct GroupUpdater {
    pub(super) host: Host,
    pub(super) disks: HostDisks,
    pub(super) owned: OwnedGroup,
    pub(super) turn: Arc<Mutex<()>>,
    pub(super) shared: Weak<Shared>,
}

/// Whether the lost disks are written, too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lost {
    Tried,
    Spared,
}

impl MetadataUpdater for GroupUpdater {
    fn persist(self: Arc<Self>, wanted: Wanted, mirror: Controller<Mirror>) {
        let answer = mirror.clone();
        let thread = std::thread::Builder::new().name("order".to_owned());
        if let Err(error) = thread.spawn(move || self.order(&wanted, &mirror)) {
            let why = format!("cannot start a thread: {error}");
            answer.send(Control::PersistFailed(why));
        }
    }

    fn merged(self: Arc<Self>, store: Uuid, name: String) {
        let thread = std::thread::Builder::new().name("merge".to_owned());
        // Without a thread the snapshot stays: whoever uses its origin next takes it away.
        let _ = thread.spawn(move || {
            let mut was_told = false;
            while let Some(shared) = self.shared.upgrade() {
                match self.end_merge(&LiveGroup::of(shared), store) {
                    Ok(true) => {
                        return self.tell(&format!("{name} is merged into its origin, and gone."));
                    }
                    Ok(false) => return,
                    Err(error) if !std::mem::replace(&mut was_told, true) => self.tell(&format!(
                        "WARNING: {name} is merged into its origin, and cannot be taken away, \
                         which is tried again: {}",
                        one_line(&error)
                    )),
                    Err(_) => {}
                }
                std::thread::sleep(MERGED_RETRY);
            }
        });
    }

    fn copied(self: Arc<Self>, piece: (Uuid, Extents), name: String) {
        let thread = std::thread::Builder::new().name("move".to_owned());
        // Without a thread the piece stays where it is: whoever owns the group next goes on.
        let _ = thread.spawn(move || self.follow(piece, &name));
    }

    fn filled(self: Arc<Self>, store: Filled) {
        let thread = std::thread::Builder::new().name("extend".to_owned());
        // Without a thread the store fills, as it would without an owner.
        let _ = thread.spawn(move || self.keep_room(&store));
    }

    fn rebuilt(self: Arc<Self>, image: Uuid, name: String) {
        let thread = std::thread::Builder::new().name("rebuilt".to_owned());
        // Without a thread it is rebuilt once more when it is activated next.
        let _ = thread.spawn(move || {
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            let group = LiveGroup::of(shared);
            let done = self.change(&group, REBUILT, |vg, author| {
                Ok(image_rebuilt(vg, &image, author)?.into())
            });
            if let Err(error) = done {
                self.tell(&format!(
                    "WARNING: An image of {name} is rebuilt, and that cannot be written down: it \
                     is rebuilt once more when the volume is activated next: {}",
                    one_line(&error)
                ));
            }
        });
    }

    fn warn(self: Arc<Self>, text: String) {
        // Nobody waits until somebody has read it. Without a thread nobody is told.
        let thread = std::thread::Builder::new().name("warning".to_owned());
        let _ = thread.spawn(move || {
            self.tell(&text);
        });
    }
}

impl GroupUpdater {
    fn order(&self, wanted: &Wanted, mirror: &Controller<Mirror>) {
        let end = Instant::now() + TURN_MAX;
        let _turn = loop {
            match self.turn.try_lock() {
                Ok(turn) => break turn,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                Err(TryLockError::WouldBlock) if Instant::now() < end => {
                    std::thread::sleep(TURN_RETRY);
                }
                Err(TryLockError::WouldBlock) => {
                    let why = "another change of the group takes too long".to_owned();
                    return mirror.send(Control::PersistFailed(why));
                }
            }
        };
        let done = self.commit(wanted, Lost::Tried);
        let done = done.or_else(|_| self.commit(wanted, Lost::Spared));
        match &done {
            Ok(()) => mirror.send(Control::Persisted),
            Err(error) => mirror.send(Control::PersistFailed(one_line(error))),
        }
        // Only now: the end of the mirror's use waits for it, and has the owner.
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        if done.is_ok() {
            // What it cannot find out now, the next change does. Another mirror that is being
            // started may wait for the turn that this has.
            let job = shared.owner.job_within(JOB_MAX);
            let _ = job.map(|mut job| job.refresh());
        }
        self.tell(&match done {
            Ok(()) => format!(
                "WARNING: {} goes on without a copy that was lost; it is written down as outdated.",
                wanted.name
            ),
            Err(error) => format!(
                "WARNING: {} takes no more writes: it lost a copy, and that cannot be written \
                 down: {}",
                wanted.name,
                one_line(&error)
            ),
        });
    }

    /// Tells whoever wants to hear what happens by itself.
    pub(super) fn tell(&self, text: &str) {
        if let Some(shared) = self.shared.upgrade() {
            LiveGroup::of(shared).tell_people(text);
        }
    }

    /// Takes a snapshot away whose origin has all that it kept, as a command would: its origin gets
    /// a table without it. Whether it was there.
    fn end_merge(&self, group: &LiveGroup, store: Uuid) -> Result<bool> {
        let mut was_there = false;
        self.change(group, MERGED, |vg, author| {
            let merging = vg.lv_by_uuid(&store).and_then(|lv| {
                let relations = Relations::of(vg);
                let snapshot = relations.snapshot_of_cow(vg, lv)?;
                Some(snapshot.state == SnapshotState::Merging)
            });
            was_there = merging == Some(true);
            if !was_there {
                return Ok(Planned::default());
            }
            Ok(end_merge(vg, &store, author)?.into())
        })?;
        Ok(was_there)
    }

    /// Changes the group as a command would, in whose words `command` stands for who made it.
    pub(super) fn change(
        &self,
        group: &LiveGroup,
        command: &str,
        mut plan: impl FnMut(&VolumeGroup, &mut Author<'_>) -> Result<Planned>,
    ) -> Result<()> {
        let request = self.request(command);
        let mut hooks = group.hooks()?;
        let mut prompt = Quiet::yes();
        let mut session = Session::new(&self.host, &self.disks, &mut prompt);
        session.hooks = Some(&mut hooks);
        let changed = session.change(&request, &mut |scan, author| {
            let group = scan.group(self.owned.uuid()).ok_or_else(|| self.gone())?;
            plan(&group.model, author)
        });
        let finished = hooks.finish();
        changed.and(finished)
    }

    fn request(&self, command: &str) -> Request {
        Request {
            groups: vec![self.owned.uuid().to_string()],
            tolerated: vec![Tolerated::Missing, Tolerated::UnknownSegments],
            ownership: Ownership::Ours(self.owned.clone()),
            command: command.to_owned(),
            ..Request::default()
        }
    }

    fn commit(&self, wanted: &Wanted, lost: Lost) -> Result<()> {
        let mut request = self.request(COMMAND);
        if lost == Lost::Spared {
            request.spared = self.lost_pvs(wanted)?;
        }
        let order: Vec<Uuid> = wanted
            .in_sync
            .iter()
            .chain(&wanted.out_of_sync)
            .copied()
            .collect();
        assert!(!order.is_empty(), "a mirror has images");
        let is_lost = |image: &Uuid| wanted.out_of_sync.contains(image);
        assert!(
            !wanted.in_sync.iter().any(is_lost),
            "an image is in sync or not"
        );
        let mut prompt = Quiet::yes();
        let mut session = Session::new(&self.host, &self.disks, &mut prompt);
        session.change(&request, &mut |scan, author| {
            let group = scan.group(self.owned.uuid()).ok_or_else(|| self.gone())?;
            if lost == Lost::Tried && has_first_image(&group.model, wanted.lv, order[0]) {
                // It is made durable, and that is all.
                return Ok(Planned::default());
            }
            Ok(order_images(&group.model, wanted.lv, &order, author)?.into())
        })?;
        Ok(())
    }

    /// The physical volumes under lost copies, and under no other one.
    fn lost_pvs(&self, wanted: &Wanted) -> Result<Vec<Uuid>> {
        let scan = self.disks.scan(&self.host)?;
        let group = scan.group(self.owned.uuid()).ok_or_else(|| self.gone())?;
        let vg = &group.model;
        let below = |images: &[Uuid]| -> Vec<Uuid> {
            let images = images.iter().filter_map(|uuid| vg.lv_by_uuid(uuid));
            let pieces = images.filter_map(|image| {
                let size = vg.lv(image).size(vg.extent_size)?.to_bytes()?;
                pieces(vg, image, Bytes(0), size).ok()
            });
            pieces.flatten().map(|piece| piece.pv).collect()
        };
        let mut lost = below(&wanted.out_of_sync);
        let kept = below(&wanted.in_sync);
        lost.retain(|pv| !kept.contains(pv));
        Ok(lost)
    }

    fn gone(&self) -> Error {
        Error::new(
            Kind::NotFound,
            format!("the volume group {} is gone", self.owned.uuid()),
        )
    }
}

pub(super) fn one_line(error: &Error) -> String {
    error.to_string().replace('\n', " ")
}
