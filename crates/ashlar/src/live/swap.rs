//! Exchanging the tables of volumes in use, around a commit.
//!
//! ```text
//!   permit    nothing in use disappears, no mirror in use changes more than its size
//!   suspend   requests are held and those in flight waited for, but of volumes that only grow;
//!             mirrors that go or change rest; new tables are made, over what they will be
//!   publish   the new tables count, mirrors become what was prepared
//!   resume    the commit failed: the old tables go on
//! ```

use std::sync::Arc;
use std::time::Duration;

use dm::table::{Layout, Table};
use dm::volume::{Access, Suspension, Volume};
use lvm2::Uuid;
use lvm2::model::{LvId, PvFlag, VgFlag, VolumeGroup};
use lvm2::plan::{Change, GroupChange, HeaderEdit, VolumeChange};

use super::bench::Job;
use super::look::{Basis, Look};
use super::owner::{Active, Facts};
use super::stack::Version;
use crate::activate::{Fate, Node, NodeId, Nodes, decide};
use crate::scan::{Duplicate, FoundVg, Member, Presence, PvIndex, Scan};
use crate::{Error, Kind, Result};

/// How long requests in flight are waited for.
const DRAIN_MAX: Duration = Duration::from_secs(30);

/// What happens to one volume with the commit.
pub(super) struct Exchange {
    lv: Uuid,
    volume: Volume,
    table: Table,
    layout: Arc<Layout>,
    standing_on: Vec<Node>,
    /// `None`: the volume only grows.
    suspension: Option<Suspension>,
}

/// All of them, and the group as it is about to be. However this ends, nothing stays suspended.
pub(super) struct Exchanges<'a> {
    // In the order in which they go.
    nodes: Nodes,
    list: Vec<Exchange>,
    scan: Arc<Scan>,
    group: FoundVg,
    look: Look,
    job: Job<'a>,
}

impl Facts {
    /// Fails where the change would take away what is in use.
    pub(super) fn permit(&self, change: &Change) -> Result<()> {
        let group = self.group()?;
        let refuse = |name: &str, why: &str| in_use(&group.name, name, why);
        for removed in &change.groups {
            if let GroupChange::Erase(vg) = removed
                && vg.uuid == self.uuid
            {
                let what = format!(
                    "Volume group {} in use: process {} serves it; stop that first",
                    vg.name,
                    std::process::id()
                );
                return Err(Error::new(Kind::Refused, what));
            }
        }
        self.permit_identity(group, change)?;
        for volume in &change.volumes {
            if let VolumeChange::Deactivate { lv, name } = volume
                && self.is_in_use(*lv)
            {
                return refuse(name, "stop that first");
            }
        }
        let committed = change.groups.iter().filter_map(|group| match group {
            GroupChange::Commit(vg) if vg.uuid == self.uuid => Some(vg),
            _ => None,
        });
        for vg in committed {
            self.permit_version(group, vg, &refuse)?;
        }
        Ok(())
    }

    /// Whether others use a volume.
    fn is_in_use(&self, lv: Uuid) -> bool {
        let mut active = self.active.iter();
        active.any(|active| active.lv == lv && !active.is_move)
    }

    /// Fails where the group, or a physical volume of it, is something else afterwards: by their
    /// UUIDs this process is found, and finds what it holds.
    fn permit_identity(&self, group: &FoundVg, change: &Change) -> Result<()> {
        let committed = || {
            change.groups.iter().filter_map(|group| match group {
                GroupChange::Commit(vg) => Some(vg),
                GroupChange::Erase(_) => None,
            })
        };
        // What another group takes, this one has to give away.
        let is_left = |pv: Uuid| {
            let mut own = committed().filter(|vg| vg.uuid == self.uuid);
            own.any(|vg| vg.pv_by_uuid(&pv).is_none())
        };
        let is_taken = |pv: Uuid| {
            let mut others = committed().filter(|vg| vg.uuid != self.uuid);
            others.any(|vg| vg.pv_by_uuid(&pv).is_some())
        };
        let mut members = group.model.pvs().map(|(_, pv)| pv.uuid);
        let is_renewed = members.any(|pv| is_taken(pv) && !is_left(pv))
            || change.headers.iter().any(|header| {
                matches!(header.edit, HeaderEdit::Uuid(_))
                    && group.model.pv_by_uuid(&header.pv).is_some()
            });
        if !is_renewed {
            return Ok(());
        }
        let what = format!(
            "Volume group {} in use: process {} serves it; stop that before its UUID, or one of \
             its physical volumes', changes (ashlar stop {})",
            group.name,
            std::process::id(),
            group.name
        );
        Err(Error::new(Kind::Refused, what))
    }

    fn permit_version(
        &self,
        group: &FoundVg,
        vg: &VolumeGroup,
        refuse: &dyn Fn(&str, &str) -> Result<()>,
    ) -> Result<()> {
        for active in &self.active {
            let Some(old) = group.model.lv_by_uuid(&active.lv) else {
                continue;
            };
            let name = group.model.lv(old).name();
            let Some(new) = vg.lv_by_uuid(&active.lv) else {
                if active.is_move {
                    continue;
                }
                return refuse(name, "stop that first");
            };
            let identity = |vg: &VolumeGroup, lv: LvId| {
                let volume = vg.lv(lv);
                let names = (vg.name.clone(), volume.name().to_owned());
                (names, volume.is_writable())
            };
            if active.is_kept_alone() && identity(&group.model, old) != identity(vg, new) {
                // Whoever keeps it changes it by its name, and writes to it.
                let why = "a command resizes the file system in it; wait for its end";
                return refuse(name, why);
            }
            if vg.flags.has(VgFlag::Exported) {
                return refuse(name, "stop that before the group is exported");
            }
            // A permission is for those who open it next; what the bytes mean is for now.
            let access = if vg.lv(new).is_writable() {
                active.options.access
            } else {
                Access::ReadOnly
            };
            if !active.is_move {
                decide(vg, &vg.name, new, access)?;
            }
        }
        Ok(())
    }

    /// The volumes on which those in use stand before and afterwards, and that stay what they are.
    fn staying(&self, vg: &VolumeGroup, before: &Version<'_>, after: &Version<'_>) -> Vec<Uuid> {
        let used = self.active.iter().filter_map(|active| {
            let lv = vg.lv_by_uuid(&active.lv)?;
            Some(after.stack(lv))
        });
        let stays = |lv: LvId| {
            let uuid = vg.lv(lv).uuid;
            (before.has_same(&uuid, after) == Some(true)).then_some(uuid)
        };
        used.flatten().filter_map(stays).collect()
    }
}

impl<'a> Job<'a> {
    /// Makes the new tables and holds what must be held, as the group becomes `vg`, by a change
    /// with this `basis`. What is `deferred` is not merged as long as its origin is
    /// in use. Meanwhile no other volume is opened, and none is taken away: the job goes on until
    /// the exchange is over.
    pub(super) fn suspend(
        mut self,
        vg: &VolumeGroup,
        basis: Option<&Basis>,
        deferred: &[Uuid],
    ) -> Result<Exchanges<'a>> {
        let facts = self.facts();
        // Somebody may have opened a volume since the change was permitted.
        let group = facts.group()?;
        let refuse = |name: &str, why: &str| in_use(&group.name, name, why);
        facts.permit_version(group, vg, &refuse)?;
        let (scan, look) = self.look(&facts, basis, vg)?;
        let new = found_as(&scan, vg);
        let (before, after) = (Version::of(&group.model), Version::of(vg));
        let mut changed = Vec::new();
        for active in &facts.active {
            if let Some(lv) = vg.lv_by_uuid(&active.lv)
                && before.has_same(&active.lv, &after) == Some(false)
            {
                changed.push((active, lv));
            }
        }
        let suspensions = drain(&changed, &after)?;
        assert_eq!(suspensions.len(), changed.len(), "there is one for each");
        let mut nodes = self.nodes(facts.nodes())?;
        nodes.deferring = deferred.to_vec();
        let stays = facts.staying(vg, &before, &after);
        // Only whoever copied a piece knows that the copy is whole.
        let moved = before.moved(&after);
        if moved.iter().any(|piece| !nodes.runs(*piece)) {
            let what = format!(
                "{}: extents are not being copied here, so they do not count as moved; run pvmove",
                new.name
            );
            return Err(Error::new(Kind::Refused, what));
        }
        let fate = |node: NodeId| match node {
            node if stays.contains(&node.lv) => Fate::Stays,
            node if moved.contains(&node) => Fate::Moved,
            _ => Fate::Goes,
        };
        let suspended = nodes.suspend(fate, DRAIN_MAX);
        suspended.map_err(|error| busy(&new.name, error))?;
        let mut list = Vec::new();
        for ((active, lv), suspension) in changed.into_iter().zip(suspensions) {
            let exchange;
            (exchange, nodes) = self.exchange(active, &scan, (&new, lv), nodes);
            let exchange = exchange.and_then(|exchange| exchange.held(suspension));
            list.push(exchange.inspect_err(|_| nodes.resume())?);
        }
        Ok(Exchanges {
            nodes,
            list,
            scan,
            group: new,
            look,
            job: self,
        })
    }

    /// The new table of the volume that is `active`, which becomes `lv`, over `nodes`.
    fn exchange(
        &mut self,
        active: &Active,
        scan: &Scan,
        (group, lv): (&FoundVg, LvId),
        nodes: Nodes,
    ) -> (Result<Exchange>, Nodes) {
        let (compiled, nodes) = self.with_activator(scan, nodes, active.is_move, |activator| {
            activator.compile(group, lv, active.options)
        });
        let exchange = compiled.map(|compiled| Exchange {
            lv: active.lv,
            volume: active.volume.clone(),
            table: compiled.table,
            layout: compiled.layout,
            standing_on: compiled.standing_on,
            suspension: None,
        });
        (exchange, nodes)
    }
}

/// Holds the requests of those volumes behind whose back nothing may be written, as a mirror begins
/// or ends: one answer for each.
fn drain(changed: &[(&Active, LvId)], after: &Version<'_>) -> Result<Vec<Option<Suspension>>> {
    let held = changed.iter().map(|(active, lv)| {
        if active.standing_on.is_empty() && !after.has_state(*lv) {
            return Ok(None);
        }
        if after.is_shared(*lv) {
            // What a snapshot shows was there, also after a cut.
            active.flush()?;
        }
        drained(&active.volume).map(Some)
    });
    held.collect()
}

impl Exchange {
    /// With the requests of its volume held, unless that only grows.
    fn held(mut self, suspension: Option<Suspension>) -> Result<Self> {
        assert!(self.suspension.is_none(), "it is suspended once");
        self.suspension = suspension;
        if self.suspension.is_none() && !self.volume.is_growth(&self.table) {
            self.suspension = Some(drained(&self.volume)?);
        }
        Ok(self)
    }
}

impl Exchanges<'_> {
    /// The invariant: each volume changes once.
    fn check(&self) {
        for (place, exchange) in self.list.iter().enumerate() {
            let mut before = self.list[..place].iter();
            let is_once = before.all(|other| other.lv != exchange.lv);
            assert!(is_once, "a volume changes once");
        }
    }

    /// The new tables count, and the group is as it was told to become. Says whether that has to be
    /// looked at.
    pub(super) fn publish(self) -> Look {
        self.check();
        let Self {
            nodes,
            list,
            mut scan,
            group: new,
            look,
            mut job,
        } = self;
        let mut groups = Arc::make_mut(&mut scan).groups.iter_mut();
        if let Some(group) = groups.find(|group| group.uuid == new.uuid) {
            let restrictions = std::mem::take(&mut group.restrictions);
            *group = FoundVg {
                restrictions,
                ..new
            };
        }
        nodes.publish();
        let mut made = Vec::new();
        for exchange in list {
            let published = match exchange.suspension {
                Some(suspension) => suspension.publish(exchange.table),
                None => exchange.volume.grow(exchange.table),
            };
            // A queue that was opened meanwhile asks nothing while requests are held.
            published.expect("a table that was prepared fits");
            made.push((exchange.lv, exchange.layout, exchange.standing_on));
        }
        let mut before = Vec::new();
        let mut owner = job.owner();
        owner.facts.scan = scan;
        for (lv, layout, standing_on) in made {
            let mut all = owner.facts.active.iter_mut();
            if let Some(active) = all.find(|active| active.lv == lv) {
                active.layout = layout;
                before.push(std::mem::replace(&mut active.standing_on, standing_on));
            }
        }
        let (over, ends) = owner.facts.end_moves();
        owner.facts.check();
        drop(owner);
        job.leave(ends);
        // Mirrors that go have written all they had to, and end with their last user: here, under
        // no lock.
        drop((before, over));
        if job.is_settled() { look } else { Look::All }
    }

    /// The old tables go on.
    pub(super) fn resume(mut self) {
        self.nodes.resume();
    }
}

fn drained(volume: &Volume) -> Result<Suspension> {
    let name = || block::Device::info(volume).name;
    let suspension = volume.suspend().map_err(|error| busy(&name(), error))?;
    suspension
        .wait(DRAIN_MAX)
        .map_err(|error| busy(&name(), error))?;
    Ok(suspension)
}

/// What is in use would be taken away.
fn in_use(group: &str, name: &str, why: &str) -> Result<()> {
    let what = format!(
        "Logical volume {group}/{name} in use: process {} serves it; {why}",
        std::process::id()
    );
    Err(Error::new(Kind::Refused, what))
}

fn busy(name: &str, error: dm::Error) -> Error {
    let what = format!("{name} could not be suspended, so nothing was changed; try again");
    Error::new(Kind::Device, what).because(error)
}

/// A version of a group that is not on the disks yet, with the disks on which it is about to be.
fn found_as(scan: &Scan, vg: &VolumeGroup) -> FoundVg {
    let presence = |uuid: Uuid, is_missing: bool| {
        let is_it =
            |pv: &crate::scan::FoundPv| pv.uuid == uuid && pv.duplicate != Duplicate::Unchosen;
        match scan.physical_volumes.iter().position(is_it) {
            Some(index) if is_missing => Presence::Returned(PvIndex(index)),
            Some(index) => Presence::Present(PvIndex(index)),
            None => Presence::Missing,
        }
    };
    let members = vg.pvs().map(|(id, pv)| Member {
        uuid: pv.uuid,
        id,
        presence: presence(pv.uuid, pv.flags.has(PvFlag::Missing)),
    });
    FoundVg {
        name: vg.name.clone(),
        uuid: vg.uuid,
        seqno: vg.seqno,
        members: members.collect(),
        model: Arc::new(vg.clone()),
        text: Arc::from([]),
        restrictions: Vec::new(),
    }
}
