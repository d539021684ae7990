//! Owners are asked how their volumes are, by those who report: all at once, for a short time.
//!
//! Who reports takes nothing from an owner and changes nothing, so one that begins, ends, or was
//! stopped by a signal is not waited for as by those who need it: it is named as one that does not
//! answer, and the report goes on. One whose threads run or wait for a processor is not stuck but
//! slow, as all is on a machine with much to do: it gets more time. Where nobody owns a group this
//! costs one look into the runtime directory, which is not made for it.

use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use lvm2::Uuid;

use super::client::Client;
use super::runtime::{Standing, connect, groups_if_there, recorded};
use super::status::VolumeStatus;
use crate::{Error, Kind, Result};

/// How long a report waits for all the owners of its groups together: not so long that somebody
/// thinks it hangs, and long enough for an owner that has much to do.
pub const SURVEY_MAX: Duration = Duration::from_secs(1);
const BETWEEN_RETRY: Duration = Duration::from_millis(10);
/// How often an owner that is busy is asked again, each time for twice as long: 15 times the limit
/// in all, for a machine with 15 times as much to do as it can.
const BUSY_ROUNDS: u32 = 3;

/// A group that a process owns.
#[derive(Debug)]
pub struct Surveyed {
    /// The group's UUID.
    pub group: Uuid,
    /// The group's name, as its owner says it now, or said when it began.
    pub name: String,
    /// The process, if it is known.
    pub pid: Option<u32>,
    /// The volumes that it serves, or why they are not known.
    pub volumes: Result<Vec<VolumeStatus>>,
}

/// Asks the owners of these groups, or of all, that this user can find; sorted by the names of the
/// groups. Takes not much longer than `limit`, unless an owner waits for a processor.
pub fn survey(wanted: Option<&[Uuid]>, limit: Duration) -> Vec<Surveyed> {
    let mut groups = groups_if_there();
    groups.retain(|group| wanted.is_none_or(|wanted| wanted.contains(group)));
    let mut found: Vec<Surveyed> = scope(|scope| {
        let asked: Vec<_> = groups
            .iter()
            .map(|group| scope.spawn(move || ask(*group, limit)))
            .collect();
        let told = asked.into_iter().map(std::thread::ScopedJoinHandle::join);
        told.filter_map(|told| told.expect("it does not panic"))
            .collect()
    });
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// What the owner of a group says within `limit`, or later if it is busy; `None`: it has none.
fn ask(group: Uuid, limit: Duration) -> Option<Surveyed> {
    let is_busy = |owner: &Surveyed| owner.pid.is_some_and(wants_processor);
    patiently(limit, is_busy, |end| ask_until(group, end))
}

/// Asks again, for longer each time, while the owner does not answer and is busy.
fn patiently(
    limit: Duration,
    is_busy: impl Fn(&Surveyed) -> bool,
    mut ask: impl FnMut(Instant) -> Option<Surveyed>,
) -> Option<Surveyed> {
    for round in 0..BUSY_ROUNDS {
        let owner = ask(Instant::now() + limit * 2_u32.pow(round))?;
        let is_silent = matches!(&owner.volumes, Err(error) if error.kind() == Kind::Locked);
        if !is_silent || !is_busy(&owner) {
            return Some(owner);
        }
    }
    ask(Instant::now() + limit * 2_u32.pow(BUSY_ROUNDS))
}

/// Whether a thread of a process runs, or would if it got a processor.
fn wants_processor(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    let stats = threads.into_iter().flatten().flatten();
    let mut stats =
        stats.filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
    // The state stands behind the name, which may have anything in it.
    stats.any(|stat| {
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.starts_with('R'))
    })
}

/// What the owner of a group says until `end`; `None`: it has none.
fn ask_until(group: Uuid, end: Instant) -> Option<Surveyed> {
    let left = || end.saturating_duration_since(Instant::now());
    let volumes = loop {
        let asked = match connect(group, left()) {
            Ok(Standing::Free) => return None,
            Ok(Standing::Between) => Ok(None),
            Ok(Standing::Owned(socket)) => {
                let greeted = Client::greeted(group, socket, left());
                greeted.and_then(|client| {
                    let Some(mut client) = client else {
                        return Ok(None);
                    };
                    let volumes = client.status_within(left())?;
                    Ok(volumes.map(|volumes| (client, volumes)))
                })
            }
            Err(error) => Err(error),
        };
        match asked {
            Ok(Some((client, volumes))) => {
                return Some(Surveyed {
                    group,
                    name: client.group().to_owned(),
                    pid: Some(client.pid()),
                    volumes: Ok(volumes),
                });
            }
            // It begins or ends.
            Ok(None) if !left().is_zero() => sleep(BETWEEN_RETRY),
            Ok(None) => break Err(Error::new(Kind::Locked, "it begins or ends")),
            Err(error) => break Err(error),
        }
    };
    let (name, pid) = recorded(group);
    Some(Surveyed {
        group,
        name: name.unwrap_or_else(|| group.to_string()),
        pid,
        volumes,
    })
}

impl Surveyed {
    /// Who it is, for people: `process 4711, which serves volume group vg0,`.
    pub fn who(&self) -> String {
        let pid = self
            .pid
            .map_or("a process".to_owned(), |pid| format!("process {pid}"));
        format!("{pid}, which serves volume group {},", self.name)
    }
}

#[cfg(test)]
mod tests;
