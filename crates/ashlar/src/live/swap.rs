//! Exchanging the tables of volumes in use, around a commit.
//!
//! ```text
//!   permit    nothing in use disappears, no mirror in use changes more than its size
//!   suspend   new tables are made; volumes that only grow need no more, of the others requests
//!             are held and those in flight waited for, and mirrors that go stop writing
//!   publish   the new tables count
//!   resume    the commit failed: the old tables go on
//! ```

use std::sync::Arc;
use std::time::Duration;

use dm::home::Home;
use dm::mirror::Mirror;
use dm::table::Table;
use dm::volume::{Access, Suspension, Volume};
use lvm2::Uuid;
use lvm2::model::{LvId, PvFlag, SegmentType, VgFlag, VolumeGroup};
use lvm2::plan::{Change, GroupChange, HeaderEdit, VolumeChange};

use super::mirrors::{activate, in_place_of, is_resized};
use super::owner::Owner;
use super::stack::{has_mirror, is_same};
use crate::activate::{Activator, MirrorStart, RunningMirror, decide};
use crate::apply::Disks;
use crate::scan::{Duplicate, FoundVg, Member, Presence, PvIndex, Scan};
use crate::{Error, Kind, Result};

/// How long requests in flight are waited for.
const DRAIN_MAX: Duration = Duration::from_secs(30);

/// What happens to one volume with the commit.
pub(super) struct Exchange {
    lv: Uuid,
    volume: Volume,
    table: Table,
    mirrors: Vec<RunningMirror>,
    /// `None`: the volume only grows.
    suspension: Option<Suspension>,
    /// Mirrors that end with the commit; they write nothing from now on.
    ending: Vec<Home<Mirror>>,
    /// Whether the new mirrors take the place of the old ones, and are held.
    is_in_place: bool,
}

/// All of them, and the group as it is about to be.
pub(super) struct Exchanges {
    scan: Scan,
    group: FoundVg,
    list: Vec<Exchange>,
}

impl Owner {
    /// Fails where the change would take away what is in use.
    pub(super) fn permit(&self, change: &Change) -> Result<()> {
        let group = self.group()?;
        let refuse = |name: &str, why: &str| {
            let what = format!(
                "Logical volume {}/{name} in use: process {} serves it; {why}",
                group.name,
                std::process::id()
            );
            Err(Error::new(Kind::Refused, what))
        };
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
                && self.active.iter().any(|active| active.lv == *lv)
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
            decide(vg, &vg.name, new, access)?;
            let is_mirror = !active.mirrors.is_empty() && has_mirror(vg, new);
            if is_mirror
                && !is_same((&group.model, old), (vg, new))
                && !is_resized((&group.model, old), (vg, new))
            {
                return refuse(
                    name,
                    "a mirror keeps its images and its log meanwhile, and its size if the log is \
                     mirrored (lvconvert -m0 is possible)",
                );
            }
        }
        Ok(())
    }

    /// Makes the new tables and holds what must be held, as the group becomes `vg`.
    pub(super) fn suspend(&mut self, vg: &VolumeGroup) -> Result<Exchanges> {
        let scan = self.disks.scan(&self.host)?;
        let old = Arc::clone(&self.group()?.model);
        let new = found_as(&scan, vg);
        let mut list = Vec::new();
        for place in 0..self.active.len() {
            let lv = self.active[place].lv;
            let (Some(before), Some(after)) = (old.lv_by_uuid(&lv), vg.lv_by_uuid(&lv)) else {
                continue;
            };
            if !is_same((&old, before), (vg, after)) {
                let exchange = self.exchange(place, &scan, (&old, before), (&new, after));
                list.push(exchange.inspect_err(|_| resume(&list))?);
            }
        }
        Ok(Exchanges {
            scan,
            group: new,
            list,
        })
    }

    fn exchange(
        &mut self,
        place: usize,
        scan: &Scan,
        old: (&VolumeGroup, LvId),
        (group, lv): (&FoundVg, LvId),
    ) -> Result<Exchange> {
        let active = &self.active[place];
        let volume = active.volume.clone();
        let (uuid, options) = (active.lv, active.options);
        let old_homes = active.mirrors.iter().map(|mirror| mirror.home.clone());
        let old_homes: Vec<Home<Mirror>> = old_homes.collect();
        let mut suspension = None;
        if !old_homes.is_empty() || has_mirror(&group.model, lv) {
            // Nothing may be written behind the back of a mirror that begins or ends.
            suspension = Some(drained(&volume)?);
        }
        let mut ending = Vec::new();
        // The last one stands on those before it: on its log, where that is a mirror.
        for home in old_homes.into_iter().rev() {
            if let Err(error) = home.suspend(DRAIN_MAX) {
                resume_homes(&ending);
                return Err(busy(&group.name, error));
            }
            ending.push(home);
        }
        let start = start_of(old, (group, lv), &ending).inspect_err(|_| resume_homes(&ending))?;
        let devices = std::mem::take(&mut self.devices);
        let activator = Activator::over(scan, &self.host, devices).starting(start);
        let mut activator = activator.with_updater(self.updater.clone());
        let compiled = activator.compile(group, lv, options);
        self.devices = activator.into_devices();
        let compiled = compiled.inspect_err(|_| resume_homes(&ending))?;
        if suspension.is_none() && !volume.is_growth(&compiled.table) {
            suspension = Some(drained(&volume)?);
        }
        Ok(Exchange {
            lv: uuid,
            volume,
            table: compiled.table,
            mirrors: compiled.mirrors,
            suspension,
            ending,
            is_in_place: start != MirrorStart::Now,
        })
    }

    /// The new tables count, and the group is as it was told to become.
    pub(super) fn publish(&mut self, exchanges: Exchanges) {
        self.scan = exchanges.scan;
        let mut groups = self.scan.groups.iter_mut();
        if let Some(group) = groups.find(|group| group.uuid == exchanges.group.uuid) {
            let restrictions = std::mem::take(&mut group.restrictions);
            *group = FoundVg {
                restrictions,
                ..exchanges.group
            };
        }
        for exchange in exchanges.list {
            if exchange.is_in_place {
                activate(&exchange.mirrors);
            }
            let published = match exchange.suspension {
                Some(suspension) => suspension.publish(exchange.table),
                None => exchange.volume.grow(exchange.table),
            };
            // A queue that was opened meanwhile asks nothing while requests are held.
            published.expect("a table that was prepared fits");
            let active = self.active.iter_mut();
            for active in active.filter(|active| active.lv == exchange.lv) {
                active.mirrors.clone_from(&exchange.mirrors);
            }
            // The mirrors in `ending` have written all they had to, and end with their last user.
        }
    }
}

/// How the mirrors of the new version begin.
fn start_of(
    old: (&VolumeGroup, LvId),
    (group, lv): (&FoundVg, LvId),
    ending: &[Home<Mirror>],
) -> Result<MirrorStart> {
    match group.model.lv(lv).first() {
        Some(SegmentType::Mirror(mirror))
            if !ending.is_empty() && is_resized(old, (&group.model, lv)) =>
        {
            let name = format!("{}/{}", group.name, group.model.lv(lv).name());
            in_place_of(&name, mirror, ending)
        }
        _ => Ok(MirrorStart::Now),
    }
}

impl Exchanges {
    /// The old tables go on.
    pub(super) fn resume(self) {
        resume(&self.list);
    }
}

fn resume(list: &[Exchange]) {
    for exchange in list {
        resume_homes(&exchange.ending);
    }
}

fn resume_homes(homes: &[Home<Mirror>]) {
    for home in homes {
        // One that has ended fails its requests by itself.
        let _ = home.resume();
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
