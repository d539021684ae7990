//! Stores of snapshots that fill: the owner extends them, or says in time that they will be lost.
//!
//! ```text
//!   as full as it may be     thread "extend": how full?  ─▸ change: locks, scan, resize, commit
//!                            the origin rests for the commit, and goes on with a larger store
//!   not possible             people are told; tried again, since others may make room
//!   each second              thread "stores": a look at all; who fills soon is told of
//! ```
//!
//! A store is told of by its origin when `activation/snapshot_autoextend_threshold` is passed, and
//! again after each extension: nothing is looked for in a loop, and a store that fills within a
//! second is extended as well. It never becomes larger than what its origin can ask it to keep.
//!
//! Does not: make room, or keep writes waiting for it: a store that fills faster than a commit
//! takes is lost, as with LVM2.

use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

use lvm2::model::{Relations, VolumeGroup};
use lvm2::plan::logical::{Resize, holds_all, resize_volume, size_by_policy};
use lvm2::plan::size::ResizeTo;
use lvm2::plan::{Author, GroupChange, display_size};
use lvm2::{Bytes, Uuid};

use super::group::{LiveGroup, Shared};
use super::order::{GroupUpdater, one_line};
use super::status::SnapshotInUse;
use crate::Result;
use crate::activate::Filled;
use crate::apply::Planned;

/// The words that a version's text has for who made it.
const EXTENDED: &str = "a snapshot was extended";
/// How long to wait before a store is extended, where that failed.
const RETRY: Duration = Duration::from_secs(30);
/// How often to look how full stores are.
const PERIOD: Duration = Duration::from_secs(1);

impl GroupUpdater {
    /// Extends a store, until that is done or not needed any more; tells people where it is not,
    /// and where it cannot be.
    pub(super) fn keep_room(&self, filled: &Filled) {
        let policy = self.host.config.snapshot_extension();
        let mut was_told = false;
        while let Some(shared) = self.shared.upgrade() {
            let group = LiveGroup::of(shared);
            // The origin may tell so while it is being opened.
            drop(group.job());
            let Some(now) = group.store(filled.store) else {
                return;
            };
            if policy.grows_at(Bytes(now.size)).is_none() {
                return self.tell(&now.warning(&filled.name, &filled.origin));
            }
            match self.extend(&group, &now) {
                Ok(Some(to)) => {
                    let text = format!("Snapshot {} was extended to {to}.", filled.name);
                    return self.tell(&text);
                }
                Ok(None) => return,
                Err(error) if !std::mem::replace(&mut was_told, true) => self.tell(&format!(
                    "{}. It cannot be extended by itself, which is tried again: {}",
                    now.warning(&filled.name, &filled.origin),
                    one_line(&error)
                )),
                Err(_) => {}
            }
            drop(group);
            std::thread::sleep(RETRY);
        }
    }

    /// The same as `lvextend --use-policies`: what size it has now, if it got another one.
    fn extend(&self, group: &LiveGroup, now: &SnapshotInUse) -> Result<Option<String>> {
        let policy = self.host.config.snapshot_extension();
        let cling_tags = self.host.config.cling_tags();
        let mut size = None;
        let plan = |vg: &VolumeGroup, author: &mut Author<'_>| {
            let Some(store) = vg.lv_by_uuid(&now.lv) else {
                return Ok(Planned::default());
            };
            let used = Some(Bytes(now.used));
            if Relations::of(vg).snapshot_of_cow(vg, store).is_none() {
                // It was split off.
                return Ok(Planned::default());
            }
            let Some(more) = size_by_policy(vg, store, used, policy)? else {
                return Ok(Planned::default());
            };
            let resize = Resize {
                cling_tags: &cling_tags,
                ..Resize::to(vg.lv(store).name(), more, ResizeTo::Larger)
            };
            let change = resize_volume(vg, &resize, author)?;
            size = change.groups.iter().find_map(|group| match group {
                GroupChange::Commit(vg) => {
                    let store = vg.lv_by_uuid(&now.lv)?;
                    vg.lv(store).size(vg.extent_size)
                }
                GroupChange::Erase(_) => None,
            });
            Ok(change.into())
        };
        self.change(group, EXTENDED, plan)?;
        Ok(size.map(display_size))
    }
}

impl LiveGroup {
    /// How full a store is, if its origin is at work and says so.
    fn store(&self, lv: Uuid) -> Option<SnapshotInUse> {
        let all = self.known().snapshots();
        all.into_iter().find(|store| store.lv == lv)
    }

    /// Looks how stores fill from now on, for as long as the group is owned.
    pub(super) fn watch_stores(&self) {
        self.shared.watched.call_once(|| {
            let shared = Arc::downgrade(&self.shared);
            let thread = std::thread::Builder::new().name("stores".to_owned());
            // Without a thread nobody knows how fast stores fill.
            let _ = thread.spawn(move || watch(&shared));
        });
    }

    /// Tells people that a store will be full soon, unless it has room for all.
    fn tell_of(&self, store: &SnapshotInUse) {
        let owner = self.owner();
        let Ok(group) = owner.facts.group() else {
            return;
        };
        let vg = &group.model;
        let Some(lv) = vg.lv_by_uuid(&store.lv) else {
            return;
        };
        let Some(snapshot) = Relations::of(vg).snapshot_of_cow(vg, lv) else {
            return;
        };
        if holds_all(vg, lv) {
            return;
        }
        let name = |lv| format!("{}/{}", vg.name, vg.lv(lv).name());
        let text = store.warning(&name(lv), &name(snapshot.origin));
        drop(owner);
        self.tell_people(&text);
    }
}

/// Looks at the stores of a group until nobody owns it.
fn watch(shared: &Weak<Shared>) {
    let begin = Instant::now();
    loop {
        std::thread::sleep(PERIOD);
        // The group is kept for a moment only: its end is for whoever uses it.
        let Some(known) = shared.upgrade().map(|shared| shared.owner.known()) else {
            return;
        };
        let mut stores = known.snapshots();
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let mut fillings = shared
            .fillings
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let soon = fillings.look(begin.elapsed(), &stores);
        stores.retain(|store| soon.contains(&store.lv));
        for store in &mut stores {
            fillings.complete(store);
        }
        drop(fillings);
        let group = LiveGroup::of(shared);
        for store in &stores {
            group.tell_of(store);
        }
    }
}
