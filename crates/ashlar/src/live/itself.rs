//! Whether a disk is made of a volume of the group that is to stand on it.
//!
//! ```text
//!   /dev/loop1 ──▶ …/attached/vg0-x/volume     the record beside it says: vg0/x
//!   nbd+unix:///vg0/x?socket=S                 a socket that this process listens on
//! ```
//!
//! Such a group would wait for itself, and be partial for good once the volume is detached. Only
//! the owner is asked: it alone changes the group while a volume of it is anywhere. What is served
//! on a TCP port, or by another owner through a server in between, is not recognised.

use std::path::Path;

use dm::table::DEPTH_MAX;

use super::runtime::attached_at;
use crate::below::loop_file;
use crate::host::{Location, Place};
use crate::scan::Scan;
use crate::{Error, Kind, Result};

/// What `/proc/net/unix` says of a socket on which somebody listens.
const LISTENS: &str = "00010000";

/// Fails where a disk of `scan` is a volume of this `group`, or of a group that stands on one.
pub(super) fn permit_disk(group: &str, scan: &Scan, name: &str, location: &Location) -> Result<()> {
    let Some(volume) = own_volume(group, scan, location, 0) else {
        return Ok(());
    };
    let what = format!(
        "{name} is made of {volume}, a volume of the same group, which cannot stand on itself; \
         use another disk"
    );
    Err(Error::new(Kind::Refused, what))
}

/// The volume of this group that is at `location`, or somewhere below it.
fn own_volume(own: &str, scan: &Scan, location: &Location, depth: u32) -> Option<String> {
    let volume = match &location.place {
        Place::File(path) => {
            let file = loop_file(path).or_else(|| path.canonicalize().ok())?;
            attached_at(&file)
        }
        Place::Nbd(remote) => {
            let socket = remote.address.socket();
            let is_ours = socket.is_some_and(is_listened_to_here);
            is_ours.then(|| remote.address.export().to_owned())
        }
        Place::Array(array) => {
            let mut members = array.members.iter();
            return members.find_map(|member| own_volume(own, scan, &member.location, depth));
        }
    };
    let volume = volume.filter(|_| depth < DEPTH_MAX)?;
    let group = volume.split('/').next().unwrap_or_default();
    if own == group {
        return Some(volume);
    }
    let members = scan.groups_named(group).flat_map(|group| &group.members);
    let found = members.filter_map(|member| member.presence.found());
    let mut devices = found.map(|pv| scan.device(scan.pv(pv).device));
    devices.find_map(|device| own_volume(own, scan, &device.location, depth + 1))
}

/// Whether this process listens on the unix socket at `path`, or was given one that does.
fn is_listened_to_here(path: &Path) -> bool {
    let (Ok(wanted), Ok(sockets)) = (
        path.canonicalize(),
        std::fs::read_to_string("/proc/net/unix"),
    ) else {
        return false;
    };
    let is_it = |name: &str| {
        Path::new(name)
            .canonicalize()
            .is_ok_and(|path| path == wanted)
    };
    let listening = sockets.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let listens = words.len() == 8 && words[3] == LISTENS && is_it(words[7]);
        listens.then(|| format!("socket:[{}]", words[6]))
    });
    let listening: Vec<String> = listening.collect();
    let files = std::fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten();
    let mut links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    links.any(|link| listening.iter().any(|socket| link == Path::new(socket)))
}
