//! A live group as the process that owns it uses it: from several threads.
//!
//! Order: `turn` (one change at a time), then the bench (one job at a time, `bench`), then `owner`,
//! which nobody has for longer than a moment; callbacks are called under none of them. What is
//! asked for reports waits for none.

use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use block::Range;
use dm::raid::Control;
use dm::table::Layout;
use dm::volume::Volume;
use lvm2::model::VolumeGroup;
use lvm2::plan::Change;
use lvm2::{Bytes, Uuid};

use super::bench::Job;
use super::filling::Fillings;
use super::itself::permit_disk;
use super::look::{Basis, Look};
use super::order::GroupUpdater;
use super::owner::{Alone, Owner};
use super::shelf::{Shelf, Taken};
use super::status::Known;
use super::swap::Exchanges;
use crate::activate::{MissingPolicy, Running};
use crate::apply::{HostDisks, Ownership};
use crate::commit::{Hooks, Reach};
use crate::host::{Host, Location};
use crate::lock::OwnedGroup;
use crate::scan::Scan;
use crate::{Error, Kind, Result};

/// How long those may take who have left a volume and are not known to have.
const LEAVING_MAX: Duration = Duration::from_secs(1);
/// How long a batch of repairs may take.
const REPAIR_MAX: Duration = Duration::from_mins(10);
/// How long a change waits for the one before it.
pub(super) const TURN_MAX: Duration = Duration::from_mins(1);
pub(super) const TURN_RETRY: Duration = Duration::from_millis(20);
/// How long a change waits for a volume that is being opened, or whatever else is at work.
pub(super) const JOB_MAX: Duration = Duration::from_secs(30);

/// What is told to users of a volume after each change of the group.
pub type Watch = dyn FnMut(&Volume, &str) + Send;

/// Is told what happens to volumes by itself, in a sentence.
pub type Warn = dyn Fn(&str) + Send;

/// A group whose volumes this process serves. Clones share it; it is given back when the last one
/// and the last [`Use`] are gone.
#[derive(Clone)]
pub struct LiveGroup {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    uuid: Uuid,
    owned: OwnedGroup,
    pub(super) owner: Shelf,
    turn: Arc<Mutex<()>>,
    watches: Mutex<Vec<Watching>>,
    pub(super) told: Mutex<Option<Box<Warn>>>,
    /// How the stores of snapshots fill.
    pub(super) fillings: Mutex<Fillings>,
    /// Whether somebody looks at them.
    pub(super) watched: Once,
}

struct Watching {
    number: u64,
    lv: Uuid,
    watch: Arc<Mutex<Box<Watch>>>,
}

/// The use of a volume. Dropping it ends it.
pub struct Use {
    /// The volume. Nobody may use it any more when this goes.
    pub volume: Volume,
    /// Its name: `vg0/data`.
    pub name: String,
    /// What it was made of when it was opened, for reports.
    pub layout: Arc<Layout>,
    /// What is missing of it, one sentence each.
    pub gaps: Vec<String>,
    pub(super) group: LiveGroup,
    pub(super) lv: Uuid,
    number: Option<u64>,
    is_open: bool,
}

/// What a commit calls: tables are exchanged, and users told.
pub struct LiveHooks<'a> {
    group: &'a LiveGroup,
    /// What the change was planned from, and is about to write.
    basis: Option<Basis>,
    exchanges: Option<Exchanges<'a>>,
    /// Stores of the change that are not merged yet.
    deferred: Vec<Uuid>,
    /// What the commits that are published need; `None`: there is none.
    published: Option<Look>,
    _turn: MutexGuard<'a, ()>,
}

impl std::fmt::Debug for LiveGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LiveGroup({})", self.shared.uuid)
    }
}

impl std::fmt::Debug for Use {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Use({})", self.name)
    }
}

impl std::fmt::Debug for LiveHooks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LiveHooks({})", self.group.shared.uuid)
    }
}

impl LiveGroup {
    /// Takes the group called `name`, which may also be a UUID. Fails where another process has
    /// it, or a physical volume that is there cannot be written.
    pub fn take(host: &Host, disks: &HostDisks, name: &str) -> Result<Self> {
        let mut owner = Owner::take(host, disks, name)?;
        let turn = Arc::new(Mutex::default());
        let shared = Arc::new_cyclic(|shared| {
            let bench = owner.bench.as_mut().expect("nobody works yet");
            let owned = bench.owned.clone();
            bench.updater = Some(Arc::new(GroupUpdater {
                host: host.clone(),
                disks: disks.clone(),
                owned: owned.clone(),
                turn: Arc::clone(&turn),
                shared: shared.clone(),
            }));
            Shared {
                uuid: owner.facts.uuid,
                owned,
                owner: Shelf::new(owner),
                turn,
                watches: Mutex::default(),
                told: Mutex::default(),
                fillings: Mutex::new(Fillings::new(host.config.snapshot_extension())),
                watched: Once::new(),
            }
        });
        Ok(Self { shared })
    }

    /// The group that is shared like this.
    pub(super) fn of(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// From now on `warn` is told of copies that mirrors lose.
    pub fn warn_with(&self, warn: Box<Warn>) {
        let mut told = self
            .shared
            .told
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *told = Some(warn);
    }

    /// The group's UUID.
    pub fn uuid(&self) -> Uuid {
        self.shared.uuid
    }

    /// What this process owns: for commands that it runs.
    pub fn ownership(&self) -> Ownership {
        Ownership::Ours(self.shared.owned.clone())
    }

    /// The group's name, as it is now or was before the change that is under way.
    pub fn name(&self) -> String {
        self.known().name
    }

    /// Opens the volume called `name`, without its group: for writing, unless its own permission
    /// is read-only.
    pub fn open(&self, name: &str, missing: MissingPolicy) -> Result<Use> {
        let active = self.enter(name, missing)?;
        Ok(Use {
            name: self.owner().facts.name_of(active.lv).unwrap_or_default(),
            volume: active.volume,
            layout: active.layout,
            gaps: active.gaps,
            group: self.clone(),
            lv: active.lv,
            number: None,
            is_open: true,
        })
    }

    /// Lets nobody but the one who uses it now use the volume called `name`, until what this gives
    /// is dropped. Waits a moment for others who are about to leave: a command that has ended did
    /// so before the end of its connection is seen here.
    pub fn keep_alone(&self, name: &str) -> Result<Alone> {
        let end = Instant::now() + LEAVING_MAX;
        loop {
            // While tables are exchanged, whoever did so must not find somebody alone all at once.
            let alone = self.job().owner().keep_alone(name);
            match alone {
                Err(error) if error.kind() == Kind::Locked && Instant::now() < end => {
                    std::thread::sleep(TURN_RETRY);
                }
                alone => return alone,
            }
        }
    }

    /// Waits for its turn to change the group; what it gives is for the change.
    pub fn hooks(&self) -> Result<LiveHooks<'_>> {
        let end = Instant::now() + TURN_MAX;
        loop {
            let turn = match self.shared.turn.try_lock() {
                Ok(turn) => turn,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) if Instant::now() < end => {
                    std::thread::sleep(TURN_RETRY);
                    continue;
                }
                Err(TryLockError::WouldBlock) => {
                    let what = format!(
                        "{} is being changed by another command; wait for it, or end it",
                        self.name()
                    );
                    return Err(Error::new(Kind::Locked, what));
                }
            };
            return Ok(LiveHooks {
                group: self,
                basis: None,
                exchanges: None,
                deferred: Vec::new(),
                published: None,
                _turn: turn,
            });
        }
    }

    pub(super) fn owner(&self) -> Taken<'_> {
        self.shared.owner.take()
    }

    /// Tells whoever wants to hear what happens by itself.
    pub(super) fn tell_people(&self, text: &str) {
        let told = self.shared.told.lock();
        if let Some(tell) = &*told.unwrap_or_else(PoisonError::into_inner) {
            tell(text);
        }
    }

    /// Waits until nobody else does what may take long.
    pub(super) fn job(&self) -> Job<'_> {
        self.shared.owner.job()
    }

    /// The same, for a change, which keeps others up.
    fn job_of_change(&self) -> Result<Job<'_>> {
        self.shared.owner.job_within(JOB_MAX).ok_or_else(|| {
            let what = format!(
                "a volume of {} is being opened or given back, and a disk keeps it; wait for that, \
                 and try again",
                self.name()
            );
            Error::new(Kind::Locked, what)
        })
    }

    /// The array that a volume is, which is in use, makes go together what of these places does
    /// not, in bytes of what it keeps in sync. What of it is durable the volume's next flush says.
    ///
    /// # Errors
    ///
    /// No array of this volume is in use here; something could not be repaired.
    pub fn repair(&self, lv: Uuid, places: &[Range]) -> Result<()> {
        let nodes: Vec<_> = self.owner().facts.nodes().collect();
        // Under no lock: it may take long.
        let mut arrays = nodes.iter().filter(|node| node.id.lv == lv);
        let home = arrays.find_map(|node| match &node.machine {
            Running::Array { home, .. } => Some(home),
            Running::Mirror { .. } | Running::Origin { .. } | Running::Checksums { .. } => None,
        });
        let refuse = |what: String| Error::new(Kind::Refused, format!("{}: {what}", self.name()));
        let home = home.ok_or_else(|| refuse("no array of this volume is in use".to_owned()))?;
        let order = Control::Repair(places.to_vec());
        home.control(order, REPAIR_MAX)
            .map_err(|error| refuse(error.to_string()))
    }

    /// What is held.
    pub(super) fn owned(&self) -> &OwnedGroup {
        &self.shared.owned
    }

    /// What is known without waiting for the owner.
    pub(super) fn known(&self) -> Known {
        self.shared.owner.known()
    }

    fn watches(&self) -> MutexGuard<'_, Vec<Watching>> {
        let watches = self.shared.watches.lock();
        watches.unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everybody how their volumes are now.
    fn tell(&self) {
        let watches: Vec<_> = self
            .watches()
            .iter()
            .map(|watching| (watching.lv, Arc::clone(&watching.watch)))
            .collect();
        for (lv, watch) in watches {
            let owner = self.owner();
            let mut all = owner.facts.active.iter();
            let active = all.find(|active| active.lv == lv);
            let (Some(active), Some(name)) = (active, owner.facts.name_of(lv)) else {
                continue;
            };
            let volume = active.volume.clone();
            drop(owner);
            let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
            watch(&volume, &name);
        }
    }
}

impl Use {
    /// From now on `watch` hears of each change: the volume, which may have another size, and its
    /// name.
    pub fn watch(&mut self, watch: Box<Watch>) {
        let mut watches = self.group.watches();
        assert!(self.number.is_none(), "a use is watched once");
        let number = watches.iter().map(|watching| watching.number + 1).max();
        let number = number.unwrap_or(0);
        let has_other = watches.iter().all(|watching| watching.number != number);
        assert!(has_other, "a number is given to one watch");
        watches.push(Watching {
            number,
            lv: self.lv,
            watch: Arc::new(Mutex::new(watch)),
        });
        drop(watches);
        self.number = Some(number);
        // Who came while the group was changed has its old name.
        if let Some(name) = self.group.owner().facts.name_of(self.lv) {
            self.name = name;
        }
    }

    /// Ends the use; with the last one of the volume, what was written is made durable. An error
    /// says that this cannot be promised.
    pub fn close(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if !std::mem::replace(&mut self.is_open, false) {
            return Ok(());
        }
        if let Some(number) = self.number {
            let mut watches = self.group.watches();
            watches.retain(|watching| watching.number != number);
        }
        self.group.leave(self.lv)
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        // Whoever wants to know calls `close`.
        let _ = self.end();
    }
}

impl Hooks for LiveHooks<'_> {
    fn in_use(&self) -> Vec<Uuid> {
        let owner = self.group.owner();
        owner.facts.active.iter().map(|active| active.lv).collect()
    }

    fn store_used(&self, store: Uuid) -> Option<Bytes> {
        let nodes: Vec<_> = self.group.owner().facts.nodes().collect();
        // Under no lock: it may be slow to say so.
        let mut nodes = nodes.iter();
        nodes.find_map(|node| Some(Bytes(node.snapshot(store)?.used)))
    }

    fn arrays(&self) -> Result<Vec<(Uuid, Option<dm::raid::Status>)>> {
        let mut job = self.group.job_of_change()?;
        let facts = job.facts();
        Ok(job.nodes(facts.nodes())?.arrays())
    }

    fn permit(&mut self, scan: &Scan, change: &Change) -> Result<()> {
        self.basis = Some(Basis::new(scan));
        self.deferred.clone_from(&change.deferred);
        self.group.owner().facts.permit(change)
    }

    fn permit_disk(&mut self, scan: &Scan, name: &str, location: &Location) -> Result<()> {
        permit_disk(&self.group.name(), scan, name, location)?;
        if let Some(basis) = &mut self.basis {
            basis.written.push(location.place.clone());
        }
        Ok(())
    }

    fn suspend(&mut self, vg: &VolumeGroup) -> Result<()> {
        if vg.uuid != self.group.shared.uuid {
            return Ok(());
        }
        assert!(
            self.exchanges.is_none(),
            "a commit ends before the next one begins"
        );
        let job = self.group.job_of_change()?;
        let basis = self.basis.as_ref();
        self.exchanges = Some(job.suspend(vg, basis, &self.deferred)?);
        Ok(())
    }

    fn publish(&mut self, reach: Reach) {
        if let Some(exchanges) = self.exchanges.take() {
            let look = match reach {
                Reach::All => exchanges.publish(),
                Reach::Some => exchanges.publish().max(Look::All),
            };
            let before = self.published.unwrap_or(Look::Enough);
            self.published = Some(before.max(look));
        }
    }

    fn resume(&mut self) {
        if let Some(exchanges) = self.exchanges.take() {
            exchanges.resume();
        }
    }
}

impl Drop for LiveHooks<'_> {
    /// However a change ended, nothing stays suspended.
    fn drop(&mut self) {
        self.resume();
    }
}

impl LiveHooks<'_> {
    /// The end of a change: what belongs to the group now is held, and users are told.
    pub fn finish(self) -> Result<()> {
        let Some(look) = self.published else {
            return Ok(());
        };
        assert!(self.exchanges.is_none(), "what was suspended goes on");
        let settled = match look {
            Look::Enough => Ok(()),
            Look::Written | Look::All => {
                let basis = self.basis.as_ref().filter(|_| look == Look::Written);
                let job = self.group.job_of_change();
                job.and_then(|mut job| job.refresh_after(basis))
            }
        };
        self.group.tell();
        self.group.go_on();
        settled
    }
}
