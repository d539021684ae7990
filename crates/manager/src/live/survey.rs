//! Owners are asked how their volumes are, by those who report: all at once, for a short time.
//!
//! Who reports takes nothing from an owner and changes nothing, so one that begins, ends, or was
//! stopped by a signal is not waited for as by those who need it: it is named as one that does not
//! answer, and the report goes on. Where nobody owns a group this costs one look into the runtime
//! directory, which is not made for it.

use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use lvm::Uuid;

use super::client::Client;
use super::runtime::{Standing, connect, groups_if_there, recorded};
use super::status::VolumeStatus;
use crate::{Error, Kind, Result};

/// How long a report waits for all the owners of its groups together: not so long that somebody
/// thinks it hangs, and long enough for an owner that has much to do.
pub const SURVEY_MAX: Duration = Duration::from_secs(1);
const BETWEEN_RETRY: Duration = Duration::from_millis(10);

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
/// groups. Takes not much longer than `limit`.
pub fn survey(wanted: Option<&[Uuid]>, limit: Duration) -> Vec<Surveyed> {
    let mut groups = groups_if_there();
    groups.retain(|group| wanted.is_none_or(|wanted| wanted.contains(group)));
    let end = Instant::now() + limit;
    let mut found: Vec<Surveyed> = scope(|scope| {
        let asked: Vec<_> = groups
            .iter()
            .map(|group| scope.spawn(move || ask(*group, end)))
            .collect();
        let told = asked.into_iter().map(std::thread::ScopedJoinHandle::join);
        told.filter_map(|told| told.expect("it does not panic"))
            .collect()
    });
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// What the owner of a group says until `end`; `None`: it has none.
fn ask(group: Uuid, end: Instant) -> Option<Surveyed> {
    let left = || end.saturating_duration_since(Instant::now());
    let volumes = loop {
        let asked = match connect(group, left()) {
            Ok(Standing::Free) => return None,
            Ok(Standing::Between) => Ok(None),
            Ok(Standing::Owned(socket)) => Client::greeted(socket, left()).and_then(|client| {
                let Some(mut client) = client else {
                    return Ok(None);
                };
                let volumes = client.status_within(left())?;
                Ok(volumes.map(|volumes| (client, volumes)))
            }),
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
