//! Making a change: the one order in which everything happens.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::time::Duration;

use block::file::{Claim, LockMode};
use block::{BlockingDevice, Range};
use lvm2::model::{PvFlag, VolumeGroup};
use lvm2::plan::unfinished::is_unfinished;
use lvm2::plan::{Author, Change, GroupChange, HeaderEdit, Level, Message, When};
use lvm2::{Bytes, Uuid};

use super::author::{after, before, host_author, random_uuid};
use super::backup;
use super::checks::{label_releases, label_repairs, require_areas};
use super::cut::cut;
use super::disks::Disks;
use super::listing::Listing;
use super::losses::{
    InUse, confirm as confirm_losses, losses, require_unused, require_whole_file_systems,
};
use super::open::{Claimed, Open, keep_unserved};
use super::outdated::require_none;
use super::permit::{permit, permit_active, permit_write};
use super::prompt::{Answer, Prompt};
use super::reproducible::{Drawer, forget_places};
use super::request::{Outcome, Ownership, Planned, Request, Signatures, TestMode, Tolerated};
use super::signatures::{Signature, find_signatures};
use super::steps::{Wipe, ask_for_wipes, confirm, discard, find, prepare};
use super::unfinished::{Unfinished, find_unfinished};
use super::updates::updates;
use crate::commit::{
    Disk, FlushPoint, FlushPolicy, Hooks, NoHooks, OpenPv, adopt, clear, edit_labels, erase,
    initialise, remove_label, write_group,
};
use crate::host::Host;
use crate::live::{Client, any_owner};
use crate::lock::{StockLock, StockName, lock_stock};
use crate::scan::{Duplicate, FoundPv, FoundVg, Presence, PvIndex, Restriction, Scan};
use crate::{Error, Kind, Result};

/// How long somebody else's lock is waited for.
pub(super) const LOCK_WAIT: Duration = Duration::from_mins(1);
/// How often a change begins anew because somebody else was faster.
const TRIES_MAX: usize = 5;
const CHANGED_BY_OTHERS: &str =
    "the metadata was changed by others again and again; run the command again";

/// Everything that changes have in common.
pub struct Session<'a> {
    /// The machine and its configuration.
    pub host: &'a Host,
    /// The devices.
    pub disks: &'a dyn Disks,
    /// Whom to ask and tell.
    pub prompt: &'a mut dyn Prompt,
    /// Who is told when tables change.
    pub hooks: Option<&'a mut dyn Hooks>,
    /// What was found already, by whoever has kept others from changing the groups since: the first
    /// plan is made from it.
    pub looked: Option<Scan>,
    /// Stock's locks of the first request, where `looked` was found under them.
    pub locked: Option<Vec<StockLock>>,
    /// The group that may not be changed, where that is why a change failed.
    pub refused: Option<String>,
    /// The devices file, where the command keeps it; then it holds the global lock, too.
    pub listing: Option<&'a mut Listing>,
    /// Which flushes are made.
    pub flush_policy: FlushPolicy,
    /// Where new UUIDs come from; the kernel's random numbers if `None`.
    pub uuids: Option<&'a mut dyn FnMut() -> Uuid>,
    /// The time of the change, in seconds since 1970 began; the machine's if `None`.
    pub time: Option<u64>,
    /// Whether stock's locks and the backup files are used; not for disks that are no files.
    pub environment: Environment,
}

/// Whether there is a machine around the disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Environment {
    /// Stock's locks are taken, backups and archives are written.
    Machine,
    /// Stock's locks are taken; there is nowhere to write: simulations of several commands.
    Locks,
    /// There is nobody else, and nowhere to write: tests and simulations.
    Nothing,
}

impl std::fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("flush_policy", &self.flush_policy)
            .finish_non_exhaustive()
    }
}

/// A plan: a function of what was found.
pub type Plan<'p> = dyn FnMut(&Scan, &mut Author<'_>) -> Result<Planned> + 'p;

/// Whether a change waits until what was left half done is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unended {
    Stop,
    Ignore,
}

/// What came of trying.
enum Attempt {
    Done(Box<Outcome>),
    /// Nothing was done yet: this comes first.
    Unfinished(Unfinished),
}

impl<'a> Session<'a> {
    /// A session of real commands.
    pub fn new(host: &'a Host, disks: &'a dyn Disks, prompt: &'a mut dyn Prompt) -> Self {
        Self {
            host,
            disks,
            prompt,
            hooks: None,
            looked: None,
            locked: None,
            refused: None,
            listing: None,
            flush_policy: FlushPolicy::Strict,
            uuids: None,
            time: None,
            environment: Environment::Machine,
        }
    }

    /// Makes a change. What an interrupted command left half done on the groups is ended first.
    pub fn change(&mut self, request: &Request, plan: &mut Plan<'_>) -> Result<Outcome> {
        let is_forbidden = self.host.config.flag("global/metadata_read_only", false);
        if is_forbidden && request.test == TestMode::Off {
            let what = "Command not permitted while global/metadata_read_only is set.";
            return Err(Error::new(Kind::Refused, what));
        }
        for _ in 0..TRIES_MAX {
            match self.attempt(request, plan, Unended::Stop)? {
                Attempt::Done(outcome) => return Ok(*outcome),
                Attempt::Unfinished(left) => {
                    let mut rest = |scan: &Scan, author: &mut Author<'_>| left.plan(scan, author);
                    self.attempt(&left.request, &mut rest, Unended::Ignore)?;
                }
            }
        }
        Err(Error::new(Kind::Locked, CHANGED_BY_OTHERS))
    }

    fn attempt(
        &mut self,
        request: &Request,
        plan: &mut Plan<'_>,
        unended: Unended,
    ) -> Result<Attempt> {
        let mut is_under_locks = self.locked.is_some() || self.looked.is_none();
        let stock = match self.locked.take() {
            Some(locks) => locks,
            None if self.environment == Environment::Nothing => Vec::new(),
            None => stock_locks(self.host, request, self.listing.is_some())?,
        };
        let mut asked = BTreeSet::new();
        for _ in 0..TRIES_MAX {
            let keeps_name = is_under_locks && keeps_name(&stock, request);
            is_under_locks = true;
            let scan = self.look()?;
            if unended == Unended::Stop
                && let Some(left) = find_unfinished(&scan, request)?
            {
                return Ok(Attempt::Unfinished(left));
            }
            let groups = self.permitted(&scan, request)?;
            let _unserved = match (self.environment, request.test) {
                (Environment::Nothing, _) | (_, TestMode::On) => None,
                _ => Some(keep_unserved(self, &scan, &groups, request)?),
            };
            let planned = self.permitted_plan(&scan, &groups, request, plan)?;
            if let Some(hooks) = &mut self.hooks {
                hooks.permit(&scan, &planned.change)?;
            }
            self.tell(&planned, Level::Warning);
            self.ask(&planned, &mut asked)?;
            if request.test == TestMode::On {
                self.tell_updates(&scan, &planned);
                self.tell_not_kept(&planned);
                self.tell(&planned, Level::Note);
                return Ok(Attempt::done(planned));
            }
            let alone = Claim::Exclusive;
            let open = Open::of(self, &scan, request, &groups, &planned, alone)?;
            if let Some(hooks) = &mut self.hooks {
                let mut places = open.places();
                places.try_for_each(|(name, location)| hooks.permit_disk(&scan, name, location))?;
            }
            let new = open.new_devices()?;
            let Some(mut disks) = open.claim(self.flush_policy)? else {
                continue;
            };
            if !keeps_name && self.lost_name(request)? {
                continue;
            }
            let mut read = |uuid, range| find(&mut disks.pvs, uuid).ok()?.read(range).ok();
            let wipes = ask_for_wipes(&planned.change, &mut read, self.prompt)?;
            self.ask_for_devices(new)?;
            // Where nothing is written, there is nothing to go back to.
            for group in groups.iter().filter(|_| planned.writes()) {
                self.archive(&group.model, request);
            }
            self.tell_updates(&scan, &planned);
            self.act(&mut disks, &planned, &wipes)?;
            if let Some(listing) = &mut self.listing {
                listing.note(self.host, &scan, &planned);
            }
            self.finish(&mut disks, &planned, request);
            return Ok(Attempt::done(planned));
        }
        Err(Error::new(Kind::Locked, CHANGED_BY_OTHERS))
    }

    /// What is on the disks.
    pub(super) fn look(&mut self) -> Result<Scan> {
        let scan = match self.looked.take() {
            Some(scan) => scan,
            None => self.disks.scan(self.host)?,
        };
        self.prompt.found(&scan);
        Ok(scan)
    }

    /// The groups of a request, if they may be changed.
    pub(super) fn permitted<'s>(
        &mut self,
        scan: &'s Scan,
        request: &Request,
    ) -> Result<Vec<&'s FoundVg>> {
        let mut groups: Vec<&FoundVg> = Vec::new();
        for name in &request.groups {
            let group = scan.find_group(name)?;
            if let Err(error) = permit(group, &request.tolerated) {
                self.refused = (!is_told_alone(group)).then(|| name.clone());
                return Err(error);
            }
            require_own_uuid(group, &request.ownership)?;
            if groups.iter().all(|other| other.uuid != group.uuid) {
                groups.push(group);
            }
        }
        if let Some(name) = &request.new_group
            && scan.groups_named(name).next().is_some()
        {
            let what = format!("A volume group called {name} already exists.");
            return Err(Error::new(Kind::Refused, what));
        }
        Ok(groups)
    }

    /// The plan of a change of `groups`, if all of that may be done.
    pub(super) fn permitted_plan(
        &mut self,
        scan: &Scan,
        groups: &[&FoundVg],
        request: &Request,
        plan: &mut Plan<'_>,
    ) -> Result<Planned> {
        let mut planned = self.planned(scan, request, plan)?;
        if request.tolerated.contains(&Tolerated::Absent) {
            note_absent(groups, &mut planned.change);
        }
        if planned.writes() {
            for group in groups {
                // What a plan warns of stands before why it is not carried out.
                permit_write(group, &request.tolerated)
                    .inspect_err(|_| self.tell(&planned, Level::Warning))?;
            }
        }
        require_none(scan, groups, &planned.change)?;
        for group in groups {
            permit_active(&group.name, group.uuid, &planned.change, self.host)?;
        }
        let losses = losses(groups, &planned.change);
        if !losses.is_empty() {
            let in_use = self.in_use(groups)?;
            require_unused(&losses, &in_use)?;
            if self.environment == Environment::Machine {
                require_whole_file_systems(&losses, request, scan, self.host)?;
            }
            let (questions, messages) = confirm_losses(&losses, &in_use, request);
            planned.questions.extend(questions);
            planned.change.messages.splice(0..0, messages);
        }
        Ok(planned)
    }

    /// The volumes that this process serves, or the one that owns the groups.
    fn in_use(&self, groups: &[&FoundVg]) -> Result<InUse> {
        if let Some(hooks) = &self.hooks {
            return Ok(InUse {
                pid: std::process::id(),
                volumes: hooks.in_use(),
            });
        }
        let mut in_use = InUse::default();
        if self.environment != Environment::Machine || !any_owner() {
            return Ok(in_use);
        }
        for group in groups {
            let Some(mut client) = Client::find(group.uuid)? else {
                continue;
            };
            in_use.pid = client.pid();
            for volume in client.status()?.into_iter().flatten() {
                let lv = volume.find(&group.model);
                in_use.volumes.extend(lv.map(|lv| group.model.lv(lv).uuid));
            }
        }
        Ok(in_use)
    }

    /// Whether another group has got the name of the new one since the plan was made, where nobody
    /// was kept from that. That group's disks need not be among those of this change, which were
    /// held against the plan; but whoever makes a group locks all disks that are free, so that
    /// nobody else does it now.
    fn lost_name(&self, request: &Request) -> Result<bool> {
        let Some(name) = &request.new_group else {
            return Ok(false);
        };
        let scan = self.disks.scan(self.host)?;
        Ok(scan.groups_named(name).next().is_some())
    }

    fn ask(&mut self, planned: &Planned, asked: &mut BTreeSet<String>) -> Result<()> {
        for (index, question) in planned.questions.iter().enumerate() {
            if !asked.insert(question.text.clone()) {
                continue;
            }
            for message in planned.announced.get(index).into_iter().flatten() {
                self.prompt.tell(message);
            }
            if self.prompt.ask(&question.text) == Answer::No {
                return Err(Error::new(Kind::Request, question.refusal.clone()));
            }
        }
        Ok(())
    }

    fn planned(&mut self, scan: &Scan, request: &Request, plan: &mut Plan<'_>) -> Result<Planned> {
        let config = &self.host.config;
        let mut fresh: Box<dyn FnMut() -> Uuid> = match config.uuid_seed() {
            Some(seed) => {
                let mut drawer = Drawer::new(seed, scan)?;
                Box::new(move || drawer.draw())
            }
            None => Box::new(random_uuid),
        };
        let uuids: &mut dyn FnMut() -> Uuid = match &mut self.uuids {
            Some(uuids) => &mut **uuids,
            None => &mut *fresh,
        };
        let mut author = host_author(config, &request.command, uuids);
        author.time = self.time.unwrap_or(author.time);
        let mut planned = plan(scan, &mut author)?;
        if config.source_date().is_some() {
            forget_places(&mut planned.change);
        }
        Ok(planned)
    }

    fn tell(&mut self, planned: &Planned, level: Level) {
        let messages = planned.new.iter().flat_map(|new| &new.layout.messages);
        for message in messages.chain(&planned.change.messages) {
            if message.level == level {
                self.prompt.tell(message);
            }
        }
    }

    /// Tells which areas get a text after they have missed others.
    fn tell_updates(&mut self, scan: &Scan, planned: &Planned) {
        for message in updates(scan, &planned.change) {
            self.prompt.tell(&message);
        }
    }

    /// Asks whether what is on devices that become physical volumes may go.
    pub(super) fn ask_for_devices(&mut self, new: Vec<(String, BlockingDevice)>) -> Result<()> {
        for (name, mut io) in new {
            let found = strangers(Bytes(io.info().size), |range| io.read(range).ok());
            for signature in &found {
                if confirm(&name, signature, self.prompt) == Answer::No {
                    let what = format!(
                        "Aborted wiping of {}.\n1 existing signature left on the device.",
                        signature.name
                    );
                    return Err(Error::new(Kind::Request, what));
                }
                let text = format!("Wiping {} signature on {name}.", signature.name);
                self.prompt.tell(&Message::note(text));
            }
        }
        Ok(())
    }

    /// Everything that is written, in its order.
    fn act(&mut self, disks: &mut Claimed, planned: &Planned, wipes: &[Wipe]) -> Result<()> {
        let flush_policy = self.flush_policy;
        let change = &planned.change;
        change.check();
        require_areas(&disks.pvs, &planned.new, change)?;
        adopt(&mut disks.pvs, flush_policy)?;
        for (label, mut disk) in disks.new.drain(..) {
            let writes = label.layout.writes()?;
            if label.others == Signatures::Wiped {
                wipe_device(&mut disk)?;
            }
            initialise(&mut disk, &writes, flush_policy)?;
            disks.pvs.push(OpenPv::open(disk)?);
        }
        prepare(&mut disks.pvs, change, wipes, flush_policy, self.prompt)?;
        let edits = |when| -> Vec<(Uuid, HeaderEdit)> {
            let headers = change.headers.iter().filter(|header| header.when == when);
            headers.map(|header| (header.pv, header.edit)).collect()
        };
        let between = edits(When::BetweenCommits);
        assert!(
            between.is_empty() || change.groups.len() > 1,
            "it has two commits"
        );
        let pvs = &mut disks.pvs;
        edit_labels(
            pvs,
            &edits(When::BeforeCommit),
            flush_policy,
            FlushPoint::LabelsBefore,
        )?;
        let mut erased = Vec::new();
        for (index, group) in change.groups.iter().enumerate() {
            if index == 1 {
                edit_labels(pvs, &between, flush_policy, FlushPoint::LabelsBetween)?;
            }
            match group {
                GroupChange::Erase(vg) => erased.extend(erase(pvs, vg.uuid, flush_policy)?),
                GroupChange::Commit(vg) => {
                    let areas = &change.areas;
                    match &mut self.hooks {
                        Some(hooks) => write_group(pvs, vg, areas, flush_policy, &mut **hooks)?,
                        None => write_group(pvs, vg, areas, flush_policy, &mut NoHooks)?,
                    }
                }
            }
        }
        // Who is in another group now has its text, and what was set aside there stays so.
        let is_member = |pv: Uuid| committed(change).any(|vg| vg.pv_by_uuid(&pv).is_some());
        for vg in committed(change) {
            clear(pvs, vg.uuid, is_member, flush_policy)?;
        }
        let mut after = edits(When::AfterCommit);
        let members: Vec<&VolumeGroup> = committed(change).collect();
        after.extend(label_repairs(pvs, &members));
        after.extend(label_releases(pvs, &members, &erased));
        edit_labels(pvs, &after, flush_policy, FlushPoint::LabelsAfter)?;
        for disk in &mut disks.removed {
            remove_label(disk, flush_policy)?;
        }
        for one in &disks.cuts {
            cut(one.file.as_fd(), &one.name, one.window, one.end)?;
        }
        Ok(())
    }

    /// What comes after success, and cannot undo it.
    fn finish(&mut self, disks: &mut Claimed, planned: &Planned, request: &Request) {
        if self.host.config.flag("devices/issue_discards", false) {
            discard(&mut disks.pvs, &planned.change);
        }
        if self.environment == Environment::Machine {
            for group in &planned.change.groups {
                let config = &self.host.config;
                let message = match group {
                    GroupChange::Commit(vg) if is_unfinished(vg) => None,
                    GroupChange::Commit(vg) => {
                        backup::backup(config, vg, after(config, &request.command))
                    }
                    GroupChange::Erase(vg) => backup::forget(config, vg),
                };
                if let Some(message) = message {
                    self.prompt.tell(&message);
                }
            }
        }
        self.tell(planned, Level::Note);
    }

    /// Says of what is not written, either, that it is not kept in a backup.
    fn tell_not_kept(&mut self, planned: &Planned) {
        if self.environment != Environment::Machine {
            return;
        }
        for group in &planned.change.groups {
            let is_told = match group {
                GroupChange::Commit(vg) => !is_unfinished(vg),
                GroupChange::Erase(vg) => vg.lv_count() > 0,
            };
            let message = backup::not_backed_up(&self.host.config).filter(|_| is_told);
            if let Some(message) = message {
                self.prompt.tell(&message);
            }
        }
    }

    fn archive(&mut self, vg: &VolumeGroup, request: &Request) {
        if self.environment == Environment::Machine {
            let message = backup::archive(&self.host.config, vg, before(&request.command));
            if let Some(message) = message {
                self.prompt.tell(&message);
            }
        }
    }
}

/// Takes stock's locks of the groups of a request. Who keeps the devices file holds the global one.
///
/// # Errors
///
/// Somebody else has one of them, and keeps it.
pub fn stock_locks(host: &Host, request: &Request, has_listing: bool) -> Result<Vec<StockLock>> {
    let mut held = Vec::new();
    let dir = host.config.locking_dir();
    let mut names = Vec::new();
    if request.changes_pvs && !has_listing {
        names.push(StockName::Global);
    }
    // In one order, whatever they are called, or two commands could wait for each other.
    let groups = request.groups.iter().chain(&request.new_group);
    let groups: BTreeSet<String> = groups.map(|name| stock_name(name)).collect();
    // What this process serves it has locked already, for as long as it serves it.
    let others = groups.into_iter().filter(|name| match &request.ownership {
        Ownership::Nobody => true,
        Ownership::Ours(owned) => !owned.holds_stock(name),
    });
    names.extend(others.map(StockName::Group));
    let limit = host.config.lock_wait(LOCK_WAIT);
    for name in names {
        held.extend(lock_stock(&dir, &name, LockMode::Exclusive, limit)?);
    }
    Ok(held)
}

/// The name of a group in its lock of stock's.
fn stock_name(name: &str) -> String {
    // A UUID is no file name that stock would use, and does no harm.
    let plain = name.strip_prefix("/dev/").unwrap_or(name);
    plain.replace('/', "_")
}

/// Whether these locks keep others from making a group of the request's new name.
fn keeps_name(locks: &[StockLock], request: &Request) -> bool {
    let Some(name) = &request.new_group else {
        return false;
    };
    let name = StockName::Group(stock_name(name));
    locks.iter().any(|lock| lock.keeps_out(&name))
}

/// Whether a group is another host's, or several hosts', or nobody's, or has disks twice: only that
/// is said of it.
pub fn is_told_alone(group: &FoundVg) -> bool {
    group.restrictions.iter().any(|restriction| {
        matches!(
            restriction,
            Restriction::Foreign { .. }
                | Restriction::Shared { .. }
                | Restriction::Clustered
                | Restriction::Exported
                | Restriction::DuplicatePvs
        )
    })
}

/// Calls the members missing that are not there, as stock does in every text that it writes.
fn note_absent(groups: &[&FoundVg], change: &mut Change) {
    for committed in &mut change.groups {
        let GroupChange::Commit(vg) = committed else {
            continue;
        };
        let group = groups.iter().find(|group| group.uuid == vg.uuid);
        let members = group.into_iter().flat_map(|group| &group.members);
        for absent in members.filter(|member| member.presence == Presence::Missing) {
            if let Some(pv) = vg.pv_by_uuid(&absent.uuid) {
                vg.pv_mut(pv).flags.insert(PvFlag::Missing);
            }
        }
    }
}

/// Volumes that are served are known by UUIDs, which a clone of the group has as well.
fn require_own_uuid(group: &FoundVg, ownership: &Ownership) -> Result<()> {
    let is_served = ownership.is_of(group.uuid);
    if is_served && group.restrictions.contains(&Restriction::DuplicateVgid) {
        let what = format!(
            "Volume group {} is not changed: another group has the same VGID, and one of them is \
             served; stop that, then vgchange --uuid gives the clone a VGID of its own",
            group.name
        );
        return Err(Error::new(Kind::Refused, what));
    }
    Ok(())
}

/// Whether a physical volume is opened and locked.
pub(super) fn is_concerned(
    pv: &FoundPv,
    index: PvIndex,
    groups: &[&FoundVg],
    request: &Request,
    planned: &Planned,
) -> bool {
    if pv.duplicate == Duplicate::Unchosen || request.spared.contains(&pv.uuid) {
        return false;
    }
    let is_cleared = groups
        .iter()
        .any(|group| pv.outdated == Some(group.uuid) && planned.change.released.contains(&pv.uuid));
    let comes_in = committed(&planned.change).any(|vg| vg.pv_by_uuid(&pv.uuid).is_some());
    let is_free = pv.group.is_none() && pv.outdated.is_none();
    is_member(pv, index, groups, request)
        || is_cleared
        || comes_in
        || (is_free && request.changes_pvs)
}

/// Whether a physical volume belongs to one of `groups`, and not to a clone of it.
pub(super) fn is_member(
    pv: &FoundPv,
    index: PvIndex,
    groups: &[&FoundVg],
    request: &Request,
) -> bool {
    let is_found = |member: &crate::scan::Member| member.presence.found() == Some(index);
    pv.duplicate != Duplicate::Unchosen
        && !request.spared.contains(&pv.uuid)
        && groups
            .iter()
            .any(|group| group.members.iter().any(is_found))
}

/// The groups that are written, as they are written last.
fn committed(change: &Change) -> impl Iterator<Item = &VolumeGroup> {
    let groups = &change.groups;
    groups.iter().enumerate().filter_map(|(index, group)| {
        let GroupChange::Commit(vg) = group else {
            return None;
        };
        let is_last = groups[index + 1..].iter().all(|later| match later {
            GroupChange::Commit(later) | GroupChange::Erase(later) => later.uuid != vg.uuid,
        });
        is_last.then_some(vg)
    })
}

/// The signatures on a device of `size` bytes that are not LVM2's own.
fn strangers(size: Bytes, mut read: impl FnMut(Range) -> Option<Vec<u8>>) -> Vec<Signature> {
    let mut found = find_signatures(size, |at, length| read(Range::new(at.0, length as u64)));
    found.retain(|signature| signature.name != "LVM2_member");
    found
}

/// Zeroes the signatures of a device that becomes a physical volume; people have agreed.
fn wipe_device(disk: &mut Disk) -> Result<()> {
    let size = Bytes(disk.info().size);
    for signature in strangers(size, |range| disk.read(range).ok()) {
        let wiped = disk.write(signature.offset, &vec![0; signature.length]);
        wiped.map_err(|error| {
            let what = format!(
                "cannot wipe signatures on {}; check the device",
                disk.name()
            );
            Error::new(Kind::Device, what).because(error)
        })?;
    }
    Ok(())
}

impl Attempt {
    fn done(planned: Planned) -> Self {
        Self::Done(Box::new(Outcome {
            groups: committed(&planned.change).cloned().collect(),
            planned,
        }))
    }
}
