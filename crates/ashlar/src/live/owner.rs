//! What the process that owns a group knows of it.
//!
//! All of it is in memory, and whoever reads or writes it does so for a moment: what may take long
//! is a job (`bench`), which writes down here what came of it.

use std::sync::{Arc, Weak};

use block::file::LockMode;
use block::{BlockingDevice, Device};
use dm::table::Layout;
use dm::volume::Volume;
use lvm2::Uuid;
use lvm2::model::VolumeGroup;

use super::bench::{Bench, End, WAIT};
use crate::activate::{Activated, MissingPolicy, Node, Options, decide};
use crate::apply::{Disks, HostDisks};
use crate::host::{Host, Location};
use crate::lock::{StockName, lock_stock};
use crate::scan::{FoundVg, Scan};
use crate::{Error, Kind, Result};

/// How often to begin anew because somebody changed the group before it was held.
const TRIES_MAX: usize = 5;

/// A group whose volumes this process may write.
pub(super) struct Owner {
    pub(super) facts: Facts,
    /// Where what is held lies.
    pub(super) places: Arc<[Location]>,
    /// What jobs work with; `None`: one is at work. The last to go.
    pub(super) bench: Option<Bench>,
}

/// The group, and what is used of it. To copy it is cheap; a copy keeps what is in use running.
#[derive(Clone)]
pub(super) struct Facts {
    pub(super) uuid: Uuid,
    /// What was found last.
    pub(super) scan: Arc<Scan>,
    pub(super) active: Vec<Active>,
}

/// A volume that is in use.
#[derive(Clone)]
pub(super) struct Active {
    pub(super) lv: Uuid,
    pub(super) volume: Volume,
    pub(super) options: Options,
    /// What it is made of.
    pub(super) layout: Arc<Layout>,
    pub(super) standing_on: Vec<Node>,
    /// What is missing of it.
    pub(super) gaps: Vec<String>,
    /// How many use it; none any more while what they wrote is made durable.
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
    /// nothing is kept, so that is no failure. Takes as long as its disks do.
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
            let mut bench = Bench::new(host, disks, group.uuid);
            bench.hold(&before)?;
            let mut scan = disks.scan(host)?;
            if is_same(&before, group, &scan, scan.find_group(name)?) {
                scan.forget_looks();
                let facts = Facts {
                    uuid: group.uuid,
                    scan: Arc::new(scan),
                    active: Vec::new(),
                };
                return Ok(Self {
                    facts,
                    places: bench.places(),
                    bench: Some(bench),
                });
            }
            before = scan;
        }
        let what = format!("VG {name} was changed by others again and again; try it again");
        Err(Error::new(Kind::Locked, what))
    }

    /// One more user of the volume called `name`, without its group, if it is in use already.
    pub(super) fn share(&mut self, name: &str, missing: MissingPolicy) -> Result<Option<&Active>> {
        let group = self.facts.group()?;
        let lv = group.find_lv(name)?;
        let uuid = group.model.lv(lv).uuid;
        let mut all = self.facts.active.iter();
        let Some(place) = all.position(|active| active.lv == uuid) else {
            return Ok(None);
        };
        let active = &self.facts.active[place];
        // What the owner uses by itself others may not.
        decide(&group.model, &group.name, lv, active.options.access)?;
        if active.is_kept_alone() {
            return Err(kept_alone(&format!("{}/{name}", group.name)));
        }
        if let [gap, ..] = &active.gaps[..]
            && missing < active.options.missing
        {
            let what = format!(
                "{gap}. It is served like that with --activationmode {}, which is more than {} \
                 allows",
                active.options.missing.word(),
                missing.word()
            );
            return Err(Error::new(Kind::Missing, what));
        }
        let active = &mut self.facts.active[place];
        active.users += 1;
        Ok(Some(active))
    }

    /// One user less of a volume. Gives it to the last one, who makes durable what was written and
    /// then takes it away ([`super::bench::Job::remove_unused`]).
    pub(super) fn leave(&mut self, lv: Uuid) -> Option<Active> {
        let mut active = self.facts.active.iter_mut();
        let active = active.find(|active| active.lv == lv)?;
        assert!(active.users > 0, "what is active has users");
        active.users -= 1;
        (active.users == 0).then(|| active.clone())
    }

    /// Keeps all but the one user of the volume called `name`, without its group, away from it.
    pub(super) fn keep_alone(&mut self, name: &str) -> Result<Alone> {
        let group = self.facts.group()?;
        let whole = format!("{}/{name}", group.name);
        let uuid = group.model.lv_by_name(name);
        let uuid = uuid.map(|lv| group.model.lv(lv).uuid);
        let mut active = self.facts.active.iter_mut();
        let is_it = |active: &&mut Active| Some(active.lv) == uuid && active.users > 0;
        let Some(active) = active.find(is_it) else {
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
}

impl Facts {
    /// The invariant: each volume is active once.
    pub(super) fn check(&self) {
        for (place, active) in self.active.iter().enumerate() {
            let mut before = self.active[..place].iter();
            let is_once = before.all(|other| other.lv != active.lv);
            assert!(is_once, "each is active once");
        }
    }

    /// A volume is in use from now on.
    pub(super) fn add(&mut self, active: Active) {
        self.active.push(active);
        self.check();
    }

    /// The group as it was found last.
    pub(super) fn group(&self) -> Result<&FoundVg> {
        self.scan.group(self.uuid).ok_or_else(|| {
            let what = format!("the volume group {} is gone", self.uuid);
            Error::new(Kind::NotFound, what)
        })
    }

    /// The name that a volume has now: `vg0/data`.
    pub(super) fn name_of(&self, lv: Uuid) -> Option<String> {
        name_of(&self.group().ok()?.model, lv)
    }

    /// The devices with a state of their own that run.
    pub(super) fn nodes(&self) -> impl Iterator<Item = Node> {
        let nodes = self.active.iter().flat_map(|active| &active.standing_on);
        nodes.cloned()
    }

    /// Takes out the volumes that are used no more. Gives them, whose end may take long, and what
    /// ends with them.
    pub(super) fn remove(
        &mut self,
        is_over: impl FnMut(&mut Active) -> bool,
    ) -> (Vec<Active>, Vec<End>) {
        let over: Vec<Active> = self.active.extract_if(.., is_over).collect();
        let left = || self.active.iter().flat_map(|other| &other.standing_on);
        let ending = over.iter().flat_map(|active| &active.standing_on);
        let ending = ending.filter(|node| left().all(|other| other.id != node.id));
        let ends = ending.map(Node::end).collect();
        (over, ends)
    }
}

/// The name of a volume of a group: `vg0/data`.
pub(super) fn name_of(vg: &VolumeGroup, lv: Uuid) -> Option<String> {
    let volume = vg.lv_by_uuid(&lv)?;
    Some(format!("{}/{}", vg.name, vg.lv(volume).name()))
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
