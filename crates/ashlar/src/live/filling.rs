//! How fast the stores of snapshots fill, and when they will be full.
//!
//! ```text
//!     used    │           ·  ·     each look: bytes more than at the one before, in the seconds
//!             │      · ·           since then
//!             │  ··                the rate: the mean of all of them, in which what was MEMORY
//!             └──────────── time   ago counts a third of what is now
//! ```
//!
//! The first looks count for all that was not seen yet, so the rate is a plain mean at first. A
//! store that has less in it than before begins anew: it is being merged, or another one.
//!
//! The time is the caller's, in whatever clock. Does not: look, or tell anybody.

use std::collections::HashMap;
use std::time::Duration;

use lvm2::plan::display_size;
use lvm2::plan::logical::ExtendPolicy;
use lvm2::{Bytes, Sectors, Uuid};

use super::status::SnapshotInUse;

/// How far back a rate remembers: a pause of a minute does not look like the end, a burst of
/// seconds not like the rule.
const MEMORY: Duration = Duration::from_mins(2);
/// How long a store is looked at before people are told when it will be full.
const SEEN_MIN: Duration = Duration::from_secs(10);
/// People are told when a store will be full so soon: time to do something about it.
const SOON: Duration = Duration::from_mins(10);
/// People are told when a store is so full, in hundredths: where LVM2 begins to warn.
const FULL_AT: u64 = 80;

/// The stores that were looked at.
#[derive(Debug, Default)]
pub(super) struct Fillings {
    all: HashMap<Uuid, Filling>,
    /// Of those that grow by themselves nobody has to be told.
    policy: ExtendPolicy,
}

/// How a store fills.
#[derive(Debug, Clone, Copy)]
struct Filling {
    /// When it was first looked at.
    begin: Duration,
    /// When it was last, how much was in use then, and of how much.
    last: (Duration, u64, u64),
    /// Bytes in a second, each look weighted by its age, and the sum of the weights.
    weighted: f64,
    weight: f64,
    /// Whether it was told that it will be full soon.
    is_told: bool,
}

impl Fillings {
    /// Of a group whose stores grow like this.
    pub(super) fn new(policy: ExtendPolicy) -> Self {
        Self {
            all: HashMap::new(),
            policy,
        }
    }

    /// Takes note of a look at all stores that there are. Gives those of which people should be
    /// told that they will be full soon, each once.
    pub(super) fn look(&mut self, now: Duration, stores: &[SnapshotInUse]) -> Vec<Uuid> {
        let is_there = |lv: &Uuid| stores.iter().any(|store| store.lv == *lv);
        self.all.retain(|lv, _| is_there(lv));
        let mut soon = Vec::new();
        for store in stores.iter().filter(|store| !store.is_invalid) {
            let new = Filling::new(now, store);
            let filling = self.all.entry(store.lv).or_insert(new);
            if store.used < filling.last.1 {
                *filling = new;
            }
            let grows = self.policy.grows_at(Bytes(store.size)).is_some();
            if filling.look(now, store) && !grows {
                filling.is_told = true;
                soon.push(store.lv);
            }
        }
        assert!(self.all.len() <= stores.len(), "what is gone is forgotten");
        soon
    }

    /// Adds to what is said of a store how fast it fills, and whether that was told.
    pub(super) fn complete(&self, store: &mut SnapshotInUse) {
        if let Some(filling) = self.all.get(&store.lv) {
            store.fill_rate = filling.rate();
            store.is_full_soon = filling.is_told;
        }
    }
}

impl Filling {
    fn new(now: Duration, store: &SnapshotInUse) -> Self {
        Self {
            begin: now,
            last: (now, store.used, store.size),
            weighted: 0.0,
            weight: 0.0,
            is_told: false,
        }
    }

    /// Whether people should be told now.
    fn look(&mut self, now: Duration, store: &SnapshotInUse) -> bool {
        let (then, used, size) = self.last;
        assert!(used <= store.used, "less means another store");
        let seconds = now.saturating_sub(then).as_secs_f64();
        if seconds <= 0.0 {
            return false;
        }
        let kept = (-seconds / MEMORY.as_secs_f64()).exp();
        let rate = (store.used - used) as f64 / seconds;
        self.weighted = self.weighted * kept + rate * (1.0 - kept);
        self.weight = self.weight * kept + (1.0 - kept);
        assert!(self.weight > 0.0 && self.weight <= 1.0, "a share of all");
        self.last = (now, store.used, store.size);
        let left = time(self.rate(), store);
        if size != store.size || left.is_none_or(|left| left > SOON * 2) {
            self.is_told = false;
        }
        let is_soon = left.is_some_and(|left| left < SOON);
        let is_seen = now.saturating_sub(self.begin) >= SEEN_MIN;
        is_soon && is_seen && !self.is_told
    }

    fn rate(&self) -> Option<u64> {
        (self.weight > 0.0).then(|| (self.weighted / self.weight) as u64)
    }
}

/// How long it takes until a store is full that fills by so much in a second.
fn time(rate: Option<u64>, store: &SnapshotInUse) -> Option<Duration> {
    let left = store.size.saturating_sub(store.used);
    let seconds = left.checked_div(rate?)?;
    Some(Duration::from_secs(seconds))
}

impl SnapshotInUse {
    /// How long it takes until its store is full, if it fills as it did. `None`: it does not fill,
    /// or nobody knows how fast.
    pub fn time_to_full(&self) -> Option<Duration> {
        time(self.fill_rate, self)
    }

    /// Whether it will be lost soon, as far as its owner foresees, if nobody does something.
    pub fn is_nearly_full(&self) -> bool {
        let is_full = u128::from(self.used) * 100 >= u128::from(self.size) * u128::from(FULL_AT);
        !self.is_invalid && (is_full || self.is_full_soon)
    }

    /// How full the store is, and for how long it has room, in words: `85% full, and fills by 1.20
    /// MiB/s: it has room for about 4 minutes`.
    pub fn filling(&self) -> String {
        let share = u128::from(self.used) * 100 / u128::from(self.size.max(1));
        let (Some(rate), Some(left)) = (self.fill_rate, self.time_to_full()) else {
            return format!("{share}% full");
        };
        let rate = display_size(Sectors(rate.div_ceil(lvm2::SECTOR_SIZE)));
        let left = about(left);
        format!("{share}% full, and fills by {rate}/s: it has room for about {left}")
    }

    /// What people should know of the snapshot called `name`, of `origin`, that is nearly full.
    pub fn warning(&self, name: &str, origin: &str) -> String {
        format!(
            "WARNING: snapshot {name} is {}. When it is full it is lost, and {origin} goes on; \
             extend it (lvextend {name}), or remove it",
            self.filling()
        )
    }
}

/// A time as people say it.
fn about(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..120 => format!("{seconds} seconds"),
        120..7200 => format!("{} minutes", seconds / 60),
        _ => format!("{} hours", seconds / 3600),
    }
}

#[cfg(test)]
mod tests;
