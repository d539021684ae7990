//! What the process that owns a group knows of it.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use block::file::LockMode;
use block::{BlockingDevice, Device};
use dm::table::Layout;
use dm::volume::{Access, Volume};
use lvm2::Uuid;
use lvm2::model::VolumeGroup;

use crate::activate::{
    Activated, Activator, MetadataUpdater, MissingPolicy, Node, Nodes, Options, PvDevices, decide,
};
use crate::apply::{Disks, HostDisks, replaced};
use crate::host::{Host, Location};
use crate::lock::{
    FileId, ImageLocks, ImageUse, OwnedGroup, PvLocks, StockLock, StockName, lock_images,
    lock_owner, lock_stock,
};
use crate::scan::{FoundVg, Scan};
use crate::{Error, Kind, Result};

/// How long a command that changes metadata is waited for.
const WAIT: Duration = Duration::from_secs(5);
/// How long the last requests of a killed owner may be on their way to a busy disk.
const DYING_MAX: Duration = Duration::from_secs(20);
/// How often to look whether what was in use has ended.
const LEAVING_RETRY: Duration = Duration::from_millis(2);
/// How often to begin anew because somebody changed the group before it was held.
const TRIES_MAX: usize = 5;

/// A group whose volumes this process may write.
pub(super) struct Owner {
    pub(super) host: Host,
    pub(super) disks: HostDisks,
    pub(super) scan: Scan,
    pub(super) uuid: Uuid,
    pub(super) devices: PvDevices,
    pub(super) active: Vec<Active>,
    /// Whether tables are being exchanged. Meanwhile no volume is opened, and none is closed: what
    /// is suspended would be waited for.
    pub(super) is_changing: bool,
    /// Devices with a state that nobody uses any more and that write what they know last: each says
    /// whether it has ended.
    leaving: Vec<Box<dyn Fn() -> bool + Send>>,
    /// What is held, for commands that run here.
    pub(super) owned: OwnedGroup,
    /// Who writes down that a mirror lost a copy.
    pub(super) updater: Option<Arc<dyn MetadataUpdater>>,
    held: Vec<HeldPv>,
    /// Keeps stock's commands that change the group out. The last to go.
    stock: Option<StockLock>,
}

/// A volume that is in use.
pub(super) struct Active {
    pub(super) lv: Uuid,
    pub(super) volume: Volume,
    pub(super) options: Options,
    /// What it is made of.
    pub(super) layout: Arc<Layout>,
    pub(super) standing_on: Vec<Node>,
    /// What is missing of it.
    pub(super) gaps: Vec<String>,
    /// How many use it.
    pub(super) users: usize,
    /// The owner itself uses it, until what it moves is moved.
    pub(super) is_move: bool,
    /// While it lasts, nobody else may use the volume.
    alone: Weak<()>,
}

/// Keeps others away from a volume that one uses, such as those who would write to it while a tool
/// moves what is in its file system.
#[derive(Debug)]
pub struct Alone(#[expect(dead_code, reason = "it is there, or it is not")] Arc<()>);

/// A physical volume that is held.
struct HeldPv {
    uuid: Uuid,
    location: Location,
    /// Shared by those that lie in one file: it is locked once.
    lock: Arc<(ImageLocks, PvLocks)>,
}

impl Active {
    /// One that has one user.
    pub(super) fn new(lv: Uuid, options: Options, activated: Activated) -> Self {
        Self {
            lv,
            volume: activated.volume,
            options,
            layout: activated.layout,
            standing_on: activated.standing_on,
            gaps: activated.gaps,
            users: 1,
            is_move: false,
            alone: Weak::new(),
        }
    }

    /// Makes durable what was written to it, if it may be written. Of a snapshot that is invalid
    /// nothing is kept, so that is no failure.
    pub(super) fn flush(&self) -> Result<()> {
        let flushed = flush(&self.volume);
        if flushed.is_err() && self.is_invalid() {
            return Ok(());
        }
        flushed
    }

    /// Whether it is a snapshot that holds nothing any more.
    fn is_invalid(&self) -> bool {
        self.standing_on.iter().any(|node| {
            let said = node.snapshot(self.lv);
            said.is_some_and(|said| !said.state.is_whole())
        })
    }

    /// Whether nobody else may use it now, nor give it another name.
    pub(super) fn is_kept_alone(&self) -> bool {
        self.alone.strong_count() > 0
    }
}

impl Owner {
    /// Takes the group called `name`, which may also be a UUID. Fails where another process has
    /// it, or a physical volume that is there cannot be written.
    pub(super) fn take(host: &Host, disks: &HostDisks, name: &str) -> Result<Self> {
        let mut before = disks.scan(host)?;
        for _ in 0..TRIES_MAX {
            let group = before.find_group(name)?;
            let _stock = lock_stock(
                &host.config.locking_dir(),
                &StockName::Group(group.name.clone()),
                LockMode::Shared,
                WAIT,
            )?;
            let mut owner = Self {
                host: host.clone(),
                disks: disks.clone(),
                uuid: group.uuid,
                scan: before.clone(),
                devices: PvDevices::default(),
                active: Vec::new(),
                is_changing: false,
                leaving: Vec::new(),
                owned: OwnedGroup::new(group.uuid),
                updater: None,
                held: Vec::new(),
                stock: None,
            };
            owner.hold_members()?;
            owner.hold_stock()?;
            let scan = disks.scan(host)?;
            if is_same(&before, group, &scan, scan.find_group(name)?) {
                owner.scan = scan;
                return Ok(owner);
            }
            before = scan;
        }
        let what = format!("VG {name} was changed by others again and again; try it again");
        Err(Error::new(Kind::Locked, what))
    }

    /// Opens and locks the members that are there and not held yet, and lets go of others.
    fn hold_members(&mut self) -> Result<()> {
        let Some(group) = self.scan.group(self.uuid) else {
            return Ok(());
        };
        let members = group.members.iter();
        let mut found: Vec<_> = members
            .filter_map(|member| member.presence.found())
            .collect();
        found.sort_by_key(|index| self.scan.pv(*index).uuid);
        let is_found = |uuid| found.iter().any(|index| self.scan.pv(*index).uuid == uuid);
        for held in self.held.extract_if(.., |held| !is_found(held.uuid)) {
            self.devices.forget(&held.location);
            self.owned.release(held.uuid);
        }
        for index in found {
            let pv = self.scan.pv(index);
            if self.held.iter().any(|held| held.uuid == pv.uuid) {
                continue;
            }
            let device = self.scan.device(pv.device);
            self.devices.get(&self.scan, index, Access::ReadWrite)?;
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
            assert!(
                self.held.iter().all(|held| held.uuid != pv.uuid),
                "each is held once"
            );
            self.held.push(HeldPv {
                uuid: pv.uuid,
                location: device.location.clone(),
                lock,
            });
        }
        self.check();
        Ok(())
    }

    /// The invariants: each volume is active once and has users, each physical volume is held once,
    /// and what is held and has files is known to the commands of this process.
    pub(super) fn check(&self) {
        for (place, active) in self.active.iter().enumerate() {
            assert!(active.users > 0, "what is active has users");
            let mut before = self.active[..place].iter();
            assert!(
                before.all(|other| other.lv != active.lv),
                "each is active once"
            );
        }
        for (place, held) in self.held.iter().enumerate() {
            let mut before = self.held[..place].iter();
            assert!(
                before.all(|other| other.uuid != held.uuid),
                "each is held once"
            );
            let has_files = self.devices.files(&held.location.place).next().is_some();
            assert!(
                !has_files || self.owned.holds_pv(held.uuid),
                "what is held is known"
            );
        }
    }

    /// Looks at the disks again after a change, and holds what belongs to the group now.
    pub(super) fn refresh(&mut self) -> Result<()> {
        self.scan = self.disks.scan(&self.host)?;
        self.hold_members()?;
        self.hold_stock()
    }

    /// Keeps stock's commands that change the group out for as long as it is served, where stock
    /// can reach its disks: those that are block devices. Images are known to nobody else, and
    /// other groups on this machine may have the same name.
    fn hold_stock(&mut self) -> Result<()> {
        let Some(group) = self.scan.group(self.uuid) else {
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

    /// The group as it was found last.
    pub(super) fn group(&self) -> Result<&FoundVg> {
        self.scan.group(self.uuid).ok_or_else(|| {
            let what = format!("the volume group {} is gone", self.uuid);
            Error::new(Kind::NotFound, what)
        })
    }

    /// Opens the volume called `name`, without its group, for one more user. It is open for
    /// writing, unless its own permission is read-only. Gives its place in `active`.
    pub(super) fn open(&mut self, name: &str, missing: MissingPolicy) -> Result<usize> {
        self.require_in_place()?;
        let group = self.group()?;
        let lv = group.find_lv(name)?;
        let volume = group.model.lv(lv);
        let uuid = volume.uuid;
        let access = if volume.is_writable() {
            Access::ReadWrite
        } else {
            Access::ReadOnly
        };
        if let Some(place) = self.active.iter().position(|active| active.lv == uuid) {
            let active = &self.active[place];
            // What the owner uses by itself others may not.
            decide(&group.model, &group.name, lv, access)?;
            if active.is_kept_alone() {
                return Err(kept_alone(&format!("{}/{name}", self.group()?.name)));
            }
            if let [gap, ..] = &active.gaps[..]
                && missing < active.options.missing
            {
                let what = format!(
                    "{gap}. It is served like that with --activationmode {}, which is more than \
                     {} allows",
                    active.options.missing.word(),
                    missing.word()
                );
                return Err(Error::new(Kind::Missing, what));
            }
            self.active[place].users += 1;
            return Ok(place);
        }
        let options = Options { access, missing };
        let nodes = self.nodes()?;
        let devices = std::mem::take(&mut self.devices);
        let activator = Activator::over(&self.scan, &self.host, devices).among(nodes);
        let mut activator = activator.with_updater(self.updater.clone());
        let group = self.scan.group(self.uuid).expect("it was found above");
        let activated = activator.activate(group, lv, options);
        (self.devices, _) = activator.into_parts();
        let activated = activated?;
        assert!(
            self.active.iter().all(|active| active.lv != uuid),
            "it was looked for above"
        );
        self.active.push(Active::new(uuid, options, activated));
        self.check();
        Ok(self.active.len() - 1)
    }

    /// The devices with a state of their own that run. Those that are about to end are waited for:
    /// a second one beside them would not know what they write.
    pub(super) fn nodes(&mut self) -> Result<Nodes> {
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
        let nodes = self.active.iter().flat_map(|active| &active.standing_on);
        Ok(Nodes::new(nodes.cloned()))
    }

    /// Takes note of what ends with `active`.
    pub(super) fn leave(&mut self, active: &Active) {
        assert!(
            self.active.iter().all(|other| other.lv != active.lv),
            "it is active no more"
        );
        for node in &active.standing_on {
            let mut others = self.active.iter().flat_map(|other| &other.standing_on);
            if others.all(|other| other.id != node.id) {
                self.leaving.push(node.end());
            }
        }
    }

    /// Keeps all but the one user of the volume called `name`, without its group, away from it.
    pub(super) fn keep_alone(&mut self, name: &str) -> Result<Alone> {
        let group = self.group()?;
        let whole = format!("{}/{name}", group.name);
        let uuid = group.model.lv_by_name(name);
        let uuid = uuid.map(|lv| group.model.lv(lv).uuid);
        let active = self.active.iter_mut();
        let Some(active) = active.into_iter().find(|active| Some(active.lv) == uuid) else {
            let what = format!("Logical volume {whole} is not in use");
            return Err(Error::new(Kind::NotFound, what));
        };
        if active.is_kept_alone() {
            return Err(kept_alone(&whole));
        }
        if active.users > 1 {
            let what = format!(
                "Logical volume {whole} in use: it is served to others as well; stop that first"
            );
            return Err(Error::new(Kind::Locked, what));
        }
        assert!(active.users <= 1, "nobody else uses it");
        let alone = Arc::new(());
        active.alone = Arc::downgrade(&alone);
        Ok(Alone(alone))
    }

    /// Fails where a path of what is held leads to another file by now: who asks for a volume
    /// means what is there.
    fn require_in_place(&self) -> Result<()> {
        for held in &self.held {
            let found = held.location.path().and_then(|path| FileId::at(path).ok());
            if found.is_some_and(|found| !self.owned.holds_file(found)) {
                return Err(replaced(&held.location.to_string()));
            }
        }
        Ok(())
    }

    /// One user less of a volume: it goes with its last one, when what was written is durable.
    pub(super) fn close(&mut self, lv: Uuid) -> Result<()> {
        let Some(place) = self.active.iter().position(|active| active.lv == lv) else {
            return Ok(());
        };
        let active = &mut self.active[place];
        assert!(active.users > 0, "what is active has users");
        active.users -= 1;
        if active.users > 0 {
            return Ok(());
        }
        // Mirrors that go away mark their regions clean.
        let active = self.active.swap_remove(place);
        self.check();
        self.leave(&active);
        active.flush()
    }

    /// The name that a volume has now: `vg0/data`.
    pub(super) fn name_of(&self, lv: Uuid) -> Option<String> {
        name_of(&self.group().ok()?.model, lv)
    }
}

/// The name of a volume of a group: `vg0/data`.
pub(super) fn name_of(vg: &VolumeGroup, lv: Uuid) -> Option<String> {
    let (_, volume) = vg.lvs().find(|(_, volume)| volume.uuid == lv)?;
    Some(format!("{}/{}", vg.name, volume.name()))
}

fn kept_alone(name: &str) -> Error {
    let what = format!(
        "Logical volume {name} in use: a command resizes the file system in it, and nobody else \
         may use it meanwhile; wait for its end"
    );
    Error::new(Kind::Locked, what)
}

/// Makes durable what was written to a volume, if it may be written.
pub(super) fn flush(volume: &Volume) -> Result<()> {
    let info = volume.info();
    if info.read_only {
        return Ok(());
    }
    let flushed = BlockingDevice::open(volume).and_then(|mut device| device.flush());
    flushed.map_err(|error| {
        let what = format!(
            "{}: what was written last may not be durable; check its disks",
            info.name
        );
        Error::new(Kind::Device, what).because(error)
    })
}

/// Whether nobody changed the group before it was locked.
fn is_same(before: &Scan, group: &FoundVg, after: &Scan, now: &FoundVg) -> bool {
    let places = |scan: &Scan, group: &FoundVg| -> Vec<_> {
        let members = group.members.iter();
        let place = |member: &crate::scan::Member| {
            let pv = member.presence.found()?;
            Some(scan.device(scan.pv(pv).device).location.clone())
        };
        members.map(|member| (member.uuid, place(member))).collect()
    };
    (group.uuid, group.seqno) == (now.uuid, now.seqno)
        && places(before, group) == places(after, now)
}
