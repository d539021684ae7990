//! What the work of an owner needs, for one job at a time.
//!
//! ```text
//!   Shelf    facts: the group, what is in use      a mutex, held for a moment
//!            bench: open disks, their locks        taken out by the one job there is
//!
//!   job      takes the bench ─▸ reads the facts ─▸ scans, opens, drains, loads ─▸ writes the facts
//!            in one step ─▸ puts the bench back
//! ```
//!
//! Whoever wants what may take long (a disk is opened, requests in flight are waited for, a store
//! is read) has to have the bench, and holds no lock meanwhile. Only who has it changes which
//! volumes are in use, and what the group is: facts that a job has read stay true until it ends,
//! but that users of what is in use already come and go.
//!
//! Costs: jobs of a group come one after the other. A volume that is opened waits for another that
//! a slow disk keeps, and for the end of a change.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

use block::file::LockMode;
use dm::volume::Access;
use lvm2::Uuid;

use super::owner::Facts;
use super::shelf::{Shelf, Taken};
use crate::activate::{Activator, MetadataUpdater, Node, Nodes, PvDevices};
use crate::apply::{Disks, HostDisks};
use crate::host::{Host, Location};
use crate::lock::{
    FileId, ImageLocks, ImageUse, OwnedGroup, PvLocks, StockLock, StockName, lock_images,
    lock_owner, lock_stock,
};
use crate::scan::Scan;
use crate::{Error, Kind, Result};

/// How long a command that changes metadata is waited for.
pub(super) const WAIT: Duration = Duration::from_secs(5);
/// How long the last requests of a killed owner may be on their way to a busy disk.
const DYING_MAX: Duration = Duration::from_secs(20);
/// How often to look whether what was in use has ended.
const LEAVING_RETRY: Duration = Duration::from_millis(2);

/// What a job works with.
pub(super) struct Bench {
    pub(super) host: Host,
    pub(super) disks: HostDisks,
    /// What is held, for commands that run here.
    pub(super) owned: OwnedGroup,
    /// Who writes down that a mirror lost a copy.
    pub(super) updater: Option<Arc<dyn MetadataUpdater>>,
    pub(super) devices: PvDevices,
    /// Devices with a state that nobody uses any more and that write what they know last: each says
    /// whether it has ended.
    leaving: Vec<End>,
    held: Vec<HeldPv>,
    /// Whether all is held that was found last.
    is_settled: bool,
    /// Keeps stock's commands that change the group out. The last to go.
    stock: Option<StockLock>,
}

/// Says whether a device has ended.
pub(super) type End = Box<dyn Fn() -> bool + Send>;

/// A physical volume that is held.
struct HeldPv {
    uuid: Uuid,
    location: Location,
    /// Shared by those that lie in one file: it is locked once.
    lock: Arc<(ImageLocks, PvLocks)>,
}

/// The right to work: the bench, until this is dropped.
pub(super) struct Job<'a> {
    shelf: &'a Shelf,
    bench: Option<Bench>,
}

impl Bench {
    /// One for the group with this UUID, of which nothing is held yet.
    pub(super) fn new(host: &Host, disks: &HostDisks, uuid: Uuid) -> Self {
        Self {
            host: host.clone(),
            disks: disks.clone(),
            owned: OwnedGroup::new(uuid),
            updater: None,
            devices: PvDevices::default(),
            leaving: Vec::new(),
            held: Vec::new(),
            is_settled: false,
            stock: None,
        }
    }

    /// Opens and locks the members that `scan` found and that are not held yet, and lets go of
    /// others; keeps stock out.
    pub(super) fn hold(&mut self, scan: &Scan) -> Result<()> {
        self.is_settled = false;
        self.hold_members(scan)?;
        self.hold_stock(scan)?;
        self.is_settled = true;
        Ok(())
    }

    /// Whether all is held that was found last. Otherwise it is tried again after each change.
    pub(super) fn is_settled(&self) -> bool {
        self.is_settled
    }

    fn hold_members(&mut self, scan: &Scan) -> Result<()> {
        let Some(group) = scan.group(self.owned.uuid()) else {
            return Ok(());
        };
        let members = group.members.iter();
        let mut found: Vec<_> = members
            .filter_map(|member| member.presence.found())
            .collect();
        found.sort_by_key(|index| scan.pv(*index).uuid);
        let is_found = |uuid| found.iter().any(|index| scan.pv(*index).uuid == uuid);
        for held in self.held.extract_if(.., |held| !is_found(held.uuid)) {
            self.devices.forget(&held.location);
            self.owned.release(held.uuid);
        }
        for index in found {
            let pv = scan.pv(index);
            if self.held.iter().any(|held| held.uuid == pv.uuid) {
                continue;
            }
            let device = scan.device(pv.device);
            self.devices.get(scan, index, Access::ReadWrite)?;
            let place = &device.location.place;
            let files = self.devices.files(place);
            let files: Vec<_> = files.map(|file| (device.name.as_str(), file)).collect();
            let same = |held: &&HeldPv| !files.is_empty() && held.location.place == *place;
            let lock = if let Some(held) = self.held.iter().find(same) {
                Arc::clone(&held.lock)
            } else {
                let owner = lock_owner(&files, LockMode::Exclusive, (WAIT, DYING_MAX))?;
                Arc::new((lock_images(&files, ImageUse::Writing)?, owner))
            };
            for (.., file) in &files {
                let id = FileId::of(file).map_err(|error| {
                    Error::new(Kind::Device, format!("cannot examine {}", device.name))
                        .because(error)
                })?;
                self.owned.hold(pv.uuid, id);
            }
            self.held.push(HeldPv {
                uuid: pv.uuid,
                location: device.location.clone(),
                lock,
            });
        }
        self.check();
        Ok(())
    }

    /// The invariants: each physical volume is held once, and what is held and has files is known
    /// to the commands of this process.
    fn check(&self) {
        for (place, held) in self.held.iter().enumerate() {
            let mut before = self.held[..place].iter();
            let is_once = before.all(|other| other.uuid != held.uuid);
            assert!(is_once, "each is held once");
            let has_files = self.devices.files(&held.location.place).next().is_some();
            let is_known = !has_files || self.owned.holds_pv(held.uuid);
            assert!(is_known, "what is held is known");
        }
    }

    /// Keeps stock's commands that change the group out for as long as it is served, where stock
    /// can reach its disks: those that are block devices. Images are known to nobody else, and
    /// other groups on this machine may have the same name.
    fn hold_stock(&mut self, scan: &Scan) -> Result<()> {
        let Some(group) = scan.group(self.owned.uuid()) else {
            return Ok(());
        };
        let name = group.name.clone();
        if !self.owned.is_on_disks() {
            self.owned.set_stock(None);
            self.stock = None;
        } else if !self.owned.holds_stock(&name) {
            let dir = self.host.config.locking_dir();
            let wanted = StockName::Group(name.clone());
            self.stock = lock_stock(&dir, &wanted, LockMode::Shared, WAIT)?;
            self.owned
                .set_stock(self.stock.as_ref().map(|_| name.as_str()));
        }
        Ok(())
    }

    /// Where what is held lies.
    pub(super) fn places(&self) -> Arc<[Location]> {
        self.held.iter().map(|held| held.location.clone()).collect()
    }

    /// The devices with a state of their own that run, as `all` of a moment ago. Those that are
    /// about to end are waited for: a second one beside them would not know what they write.
    pub(super) fn nodes(&mut self, all: impl IntoIterator<Item = Node>) -> Result<Nodes> {
        let end = Instant::now() + DYING_MAX;
        self.leaving.retain(|has_ended| !has_ended());
        while !self.leaving.is_empty() {
            if Instant::now() >= end {
                let what = "a volume that was in use until now writes what it knows last; wait \
                            for that, and try again";
                return Err(Error::new(Kind::Locked, what));
            }
            std::thread::sleep(LEAVING_RETRY);
            self.leaving.retain(|has_ended| !has_ended());
        }
        assert!(self.leaving.is_empty(), "nothing writes beside what begins");
        Ok(Nodes::new(all))
    }

    /// What `work` makes of volumes of what `scan` found, over the devices that are open and among
    /// `nodes`, which it gives back. A move is made of parts of a volume.
    pub(super) fn with_activator<T>(
        &mut self,
        scan: &Scan,
        nodes: Nodes,
        is_move: bool,
        work: impl FnOnce(&mut Activator<'_>) -> T,
    ) -> (T, Nodes) {
        let devices = std::mem::take(&mut self.devices);
        let activator = Activator::over(scan, &self.host, devices).among(nodes);
        let activator = activator.of_parts(is_move);
        let mut activator = activator.with_updater(self.updater.clone());
        let made = work(&mut activator);
        let (devices, nodes) = activator.into_parts();
        self.devices = devices;
        (made, nodes)
    }

    /// Takes note of what ends now.
    pub(super) fn leave(&mut self, ends: Vec<End>) {
        self.leaving.extend(ends);
    }
}

impl<'a> Job<'a> {
    /// With the bench that was on `shelf`.
    pub(super) fn new(shelf: &'a Shelf, bench: Bench) -> Self {
        let bench = Some(bench);
        Self { shelf, bench }
    }

    /// The owner, to be looked at or told for a moment.
    pub(super) fn owner(&self) -> Taken<'a> {
        self.shelf.take()
    }

    /// What is so, and stays so while this is there but for who uses what.
    pub(super) fn facts(&self) -> Facts {
        self.owner().facts.clone()
    }

    /// Looks at the disks, and holds what belongs to the group now.
    pub(super) fn refresh(&mut self) -> Result<()> {
        let scan = self.disks.scan(&self.host)?;
        self.settle(scan)
    }

    /// Holds what belongs to the group by `scan`, and makes that what is known.
    pub(super) fn settle(&mut self, mut scan: Scan) -> Result<()> {
        scan.forget_looks();
        let held = self.hold(&scan);
        let places = self.places();
        assert_eq!(places.len(), self.held.len(), "each lies somewhere");
        let mut owner = self.owner();
        owner.facts.scan = Arc::new(scan);
        owner.places = places;
        held
    }
}

impl Deref for Job<'_> {
    type Target = Bench;

    fn deref(&self) -> &Bench {
        self.bench.as_ref().expect("it is there until the end")
    }
}

impl DerefMut for Job<'_> {
    fn deref_mut(&mut self) -> &mut Bench {
        self.bench.as_mut().expect("it is there until the end")
    }
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        if let Some(bench) = self.bench.take() {
            self.shelf.put_back(bench);
        }
    }
}
