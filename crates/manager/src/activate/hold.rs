//! Holding a group while one of its volumes is written without being served.
//!
//! Whoever writes a volume must be the only one: no server, no second writer, no command that
//! gives its extents to another volume meanwhile. The owner byte of every physical volume of the
//! group says so, as it does for a server.

use std::os::fd::AsFd;
use std::time::Duration;

use block::file::{Claim, LockMode};

use crate::apply::{Disks, Opened};
use crate::host::Host;
use crate::lock::{LockByte, PvLocks, lock_pvs};
use crate::scan::{FoundVg, Scan};
use crate::{Error, Kind, Result};

/// How long a command that changes metadata is waited for.
const WAIT: Duration = Duration::from_secs(2);
/// How often to begin anew because somebody changed the group before it was held.
const TRIES_MAX: usize = 5;

/// A group that is held: others neither serve, write nor change it until this is dropped.
#[derive(Debug)]
#[must_use = "the group is held only as long as this is"]
pub struct Hold {
    /// What was found once the group was held.
    pub scan: Scan,
    _locks: PvLocks,
    _files: Vec<Opened>,
}

impl Hold {
    /// Holds the group called `name`, which may also be a UUID.
    pub fn group(disks: &dyn Disks, host: &Host, name: &str) -> Result<Self> {
        let mut before = disks.scan(host)?;
        for _ in 0..TRIES_MAX {
            let held = lock(disks, &before, before.find_group(name)?)?;
            let scan = disks.scan(host)?;
            if is_same(before.find_group(name)?, scan.find_group(name)?) {
                let (locks, files) = held;
                return Ok(Self {
                    scan,
                    _locks: locks,
                    _files: files,
                });
            }
            before = scan;
        }
        let what = format!("VG {name} was changed by others again and again; try it again");
        Err(Error::new(Kind::Locked, what))
    }
}

fn lock(disks: &dyn Disks, scan: &Scan, group: &FoundVg) -> Result<(PvLocks, Vec<Opened>)> {
    let mut files = Vec::new();
    let mut names = Vec::new();
    for member in &group.members {
        let Some(found) = member.presence.found() else {
            continue;
        };
        let pv = scan.pv(found);
        let device = scan.device(pv.device);
        files.push(disks.open(device, Claim::Shared)?);
        names.push((pv.uuid, device.name.as_str()));
    }
    let lockable = names.iter().zip(&files).filter_map(|((uuid, name), open)| {
        let file = open.file.as_ref()?;
        Some((*uuid, *name, file.as_fd()))
    });
    let lockable: Vec<_> = lockable.collect();
    let locks = lock_pvs(&lockable, LockByte::Owner, LockMode::Exclusive, WAIT)?;
    Ok((locks, files))
}

/// Whether nobody changed the group before it was held.
fn is_same(before: &FoundVg, now: &FoundVg) -> bool {
    let places = |group: &FoundVg| -> Vec<_> {
        let members = group.members.iter();
        members
            .map(|member| (member.uuid, member.presence.found()))
            .collect()
    };
    (before.uuid, before.seqno) == (now.uuid, now.seqno) && places(before) == places(now)
}
