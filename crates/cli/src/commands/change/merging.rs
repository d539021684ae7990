//! `lvconvert --merge` waits until its snapshots are merged, and says how far they are.
//!
//! ```text
//!   the change   ─▸ the process that serves the origin merges; nobody does: when it is used next
//!   follow       ─▸ asks that process, until the snapshot is gone
//! ```
//!
//! Who merges is the owner of the group; this command only waits, and not with `-b`. Ended at any
//! moment, it leaves a merge that goes on.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use ashlar::live::{Client, Merging, SnapshotInUse, any_owner};
use ashlar::scan::{FoundVg, Options, Scan, scan};
use lvm2::Uuid;
use lvm2::model::{LvId, Relations, SnapshotState};
use lvm2::plan::logical::array_of;

use super::arguments::interval;
use super::chosen::named_volumes;
use super::convert_array::find;
use super::lvconvert::MERGE_MIRRORS;
use super::run::run;
use super::work::{Work, failed};
use super::{convert_array, convert_snapshot};
use crate::args::{Arguments, Error, Flag, LvName, flags};
use crate::commands::cp::{Bar, Signals};
use crate::commands::{Disks, Session};

/// How often to look.
const PERIOD: Duration = Duration::from_millis(250);

/// `-b`
pub(super) const BACKGROUND: Flag = Flag::switch(
    "background",
    "Do not wait until a snapshot is merged. Copies of mirrors are made equal while the volume is \
     served, and never waited for.",
)
.short('b');
/// `-i`
pub(super) const INTERVAL: Flag = Flag::value(
    "interval",
    "Seconds",
    "How often to say how far a merge is where that is no terminal (15).",
)
.short('i');

/// A snapshot that was named.
struct Named {
    volume: LvName,
    /// Its group.
    group: Uuid,
    store: Uuid,
}

/// Merges, and waits.
pub(super) fn merge_and_follow(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let interval = interval(arguments, &INTERVAL)?;
    let is_over = [&BACKGROUND, &flags::TEST, &flags::HELP];
    if is_over.into_iter().any(|flag| arguments.has(flag)) || !any_owner() {
        return run(arguments, session);
    }
    let disks = session.disks(arguments)?;
    // What is wrong with them the command says itself.
    let all = named(&disks.scan, arguments.operands());
    run(arguments, session)?;
    for one in &all {
        follow(one, &disks, arguments, interval, session)?;
    }
    Ok(())
}

/// `--merge`, `--mergemirrors`: the volume goes back into what it came from.
pub(super) fn merge(
    arguments: &Arguments,
    work: &mut Work<'_>,
    volume: &LvName,
) -> Result<(), Error> {
    let scan = work.scan()?;
    let (found, id) = find(&scan, volume).map_err(|error| failed(&error))?;
    let (model, relations) = (&found.model, Relations::of(&found.model));
    if array_of(model, id).is_some() && relations.is_visible(model, id) {
        return convert_array::merge(work, volume);
    }
    if relations.is_cow(id) && !arguments.has(&MERGE_MIRRORS) {
        return convert_snapshot::merge(work, volume);
    }
    let name = format!("{}/{}", volume.vg, volume.lv);
    let lv = model.lv(id);
    Err(Error::failed(match lv.segments.first() {
        Some(first) if first.type_name() == "thin" => {
            format!("{name} is not a mergeable logical volume.")
        }
        _ if !lv.is_writable() => format!("Unable to merge non-raid image {name}."),
        _ => format!("{name} cannot be merged because --trackchanges was not used."),
    }))
}

/// The snapshots among the volumes that the operands name.
fn named(scan: &Scan, operands: &[String]) -> Vec<Named> {
    let mut all: Vec<Named> = Vec::new();
    for one in operands.iter().flat_map(|word| named_volumes(scan, word)) {
        let Ok((group, id)) = one.find(scan) else {
            continue;
        };
        let is_new = all.iter().all(|other| other.store != one.uuid);
        if is_new && Relations::of(&group.model).is_cow(id) {
            all.push(Named {
                volume: LvName {
                    vg: one.group,
                    lv: one.name,
                },
                group: group.uuid,
                store: one.uuid,
            });
        }
    }
    all
}

/// Waits for the end of a merge that a process has begun.
fn follow(
    named: &Named,
    disks: &Disks,
    arguments: &Arguments,
    interval: Duration,
    session: &mut Session,
) -> Result<(), Error> {
    let failed = |error: ashlar::Error| Error::failed(error.to_string());
    let Some(mut owner) = Client::find(named.group).map_err(failed)? else {
        return Ok(());
    };
    let signals = Signals::watch()?;
    let mut progress = Progress::new(named, interval, arguments.has(&flags::QUIET));
    loop {
        let statuses = owner.status().map_err(failed)?.unwrap_or_default();
        let mut stores = statuses.iter().flat_map(|volume| &volume.snapshots);
        match stores.find(|store| store.lv == named.store) {
            Some(store) if store.merge == Merging::Failed => {
                progress.clear();
                return Err(Error::failed(format!(
                    "{} is not merged: a disk failed. What is not merged is still there, and goes \
                     on when the origin is served again.",
                    progress.name
                )));
            }
            Some(store) if store.merge == Merging::Runs => progress.show(store, session)?,
            // It begins later, as was said, or is over.
            _ => {
                progress.clear();
                if is_there(named, disks)? {
                    return Ok(());
                }
                return progress.end(session);
            }
        }
        if let Err(ended) = signals.check() {
            progress.clear();
            return Err(ended);
        }
        std::thread::sleep(PERIOD);
    }
}

/// Whether the metadata still has the snapshot.
fn is_there(named: &Named, disks: &Disks) -> Result<bool, Error> {
    let scan = scan(&disks.host, &disks.source, &Options::default());
    let scan = scan.map_err(|error| Error::failed(error.to_string()))?;
    let group = scan.group(named.group);
    Ok(group.is_some_and(|group| store_of(group, named.store).is_some()))
}

/// The snapshot with this store, if it is being merged.
fn store_of(group: &FoundVg, store: Uuid) -> Option<LvId> {
    let lv = group.model.lv_by_uuid(&store)?;
    let relations = Relations::of(&group.model);
    let snapshot = relations.snapshot_of_cow(&group.model, lv)?;
    (snapshot.state == SnapshotState::Merging).then_some(lv)
}

/// What is said of a merge.
struct Progress {
    name: String,
    bar: Option<Bar>,
    /// Bytes that were to be merged at the first look.
    whole: u64,
    interval: Duration,
    said: Option<Instant>,
    is_quiet: bool,
}

impl Progress {
    fn new(named: &Named, interval: Duration, is_quiet: bool) -> Self {
        Self {
            name: format!("{}/{}", named.volume.vg, named.volume.lv),
            bar: None,
            whole: 0,
            interval,
            said: None,
            is_quiet,
        }
    }

    fn show(&mut self, store: &SnapshotInUse, session: &mut Session) -> Result<(), Error> {
        if self.is_quiet {
            return Ok(());
        }
        let left = store.used - store.metadata;
        if std::io::stderr().is_terminal() {
            self.whole = self.whole.max(left);
            let bar = self.bar.get_or_insert_with(|| Bar::new(left));
            bar.show(self.whole - left, left, String::new);
            return Ok(());
        }
        if self.said.is_none_or(|said| said.elapsed() >= self.interval) {
            self.said = Some(Instant::now());
            // As stock: what the store has no more, in hundredths of all of it.
            let used = if left == 0 { 0 } else { store.used };
            let merged = 100.0 - used as f64 * 100.0 / store.size.max(1) as f64;
            self.say(merged, session)?;
        }
        Ok(())
    }

    fn end(&self, session: &mut Session) -> Result<(), Error> {
        if self.is_quiet {
            return Ok(());
        }
        self.say(100.0, session)
    }

    fn say(&self, percent: f64, session: &mut Session) -> Result<(), Error> {
        session.line(&format!("{}: Merged: {percent:.2}%", self.name))?;
        Ok(session.out().flush()?)
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.clear();
        }
    }
}
