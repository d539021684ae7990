//! Where a volume is: attached, mounted, swapped to, served to others, or nowhere.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ashlar::live::Client;
use export::loop_device::is_over;
use export::mounts::unescaped;
use lvm2::Uuid;
use rustix::fs::{OFlags, major, minor};
use rustix::io::{FdFlags, fcntl_setfd};

use super::decide::Mount;
use crate::args::Error;
use crate::attachment::{Runtime, State};

/// How long a command of another mount namespace may keep its copy of a mount.
const COPIES_MAX: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_millis(20);

/// Where a volume is.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    /// Its node, if it is attached for writing.
    pub(super) node: Option<PathBuf>,
    /// Where that is mounted.
    pub(super) mounts: Vec<Mount>,
    /// Whether the kernel swaps to it.
    pub(super) is_swap_on: bool,
}

/// Where the volume `name` (`vg0/data`) of the group `group` is. Fails where others have it in a
/// way that lets nobody know what they do with it.
pub(super) fn find(name: &str, group: Uuid) -> Result<Place, Error> {
    let users = users(name, group)?;
    let attachments = Runtime::open().and_then(|runtime| runtime.attachments());
    let attachments = attachments.map_err(|error| Error::failed(error.to_string()))?;
    let mut ours = attachments
        .iter()
        .filter(|one| one.record.volume == name && one.state == State::Served);
    let Some(found) = ours.next() else {
        return match users {
            None => Ok(Place::default()),
            Some((pid, _)) => Err(in_use(name, pid)),
        };
    };
    let pid = found.record.pid;
    let Some(node) = &found.record.node else {
        return Err(Error::failed(format!(
            "Logical volume {name} in use: process {pid} has it attached as the file {}; detach \
             it first, or resize the file system where it is used, in front of lvreduce and \
             behind lvextend.",
            found.record.file.display()
        )));
    };
    let Some((owner, _)) = users.filter(|(_, users)| *users <= 1) else {
        // Attached for reading only, or served to others as well.
        return Err(in_use(name, users.map_or(pid, |(owner, _)| owner)));
    };
    if is_read_only(node) {
        return Err(in_use(name, owner));
    }
    let place = Place {
        mounts: mounts(node)?,
        is_swap_on: is_swap(node),
        node: Some(node.clone()),
    };
    if place.mounts.is_empty() && !place.is_swap_on {
        require_alone(name, node)?;
    }
    Ok(place)
}

/// A volume that nobody else uses, at a node that stays its own, until this is closed, here and in
/// every process that was started meanwhile.
pub(super) struct Alone {
    /// Without it the node could go, and its number become another volume's.
    _node: File,
    _promise: OwnedFd,
}

/// Keeps the volume `name` of the group `group`, attached at `node`, alone.
pub(super) fn keep_alone(name: &str, group: Uuid, node: &Path) -> Result<Alone, Error> {
    let open = File::open(node)?;
    let promise = promise(name, group)?;
    for file in [open.as_fd(), promise.as_fd()] {
        fcntl_setfd(file, FdFlags::empty()).map_err(std::io::Error::from)?;
    }
    // It may have been detached, and be used otherwise, since it was looked for.
    let attachments = Runtime::open().and_then(|runtime| runtime.attachments());
    let attachments = attachments.map_err(|error| Error::failed(error.to_string()))?;
    let is_there = attachments.iter().any(|one| {
        let record = &one.record;
        let is_at = match &record.node {
            Some(own) => own == node && is_over(node, &record.file),
            None => node.canonicalize().is_ok_and(|node| node == record.file),
        };
        record.volume == name && one.state == State::Served && is_at
    });
    if !is_there {
        let what = format!("{name} was detached meanwhile; run the command again.");
        return Err(Error::failed(what));
    }
    Ok(Alone {
        _node: open,
        _promise: promise,
    })
}

fn promise(name: &str, group: Uuid) -> Result<OwnedFd, Error> {
    let failed = |error: ashlar::Error| Error::failed(error.to_string());
    let owner = Client::find(group).map_err(failed)?;
    let owner = owner.ok_or_else(|| {
        Error::failed(format!(
            "The process that had {name} attached has ended; run the command again."
        ))
    })?;
    let lv = name.rsplit('/').next().unwrap_or(name);
    owner.keep_alone(lv).map_err(failed)
}

fn in_use(name: &str, pid: u32) -> Error {
    Error::failed(format!(
        "Logical volume {name} in use: process {pid} serves it to others; stop that first, or \
         resize the file system where it is used, in front of lvreduce and behind lvextend."
    ))
}

/// Who serves the volume for writing, and to how many.
fn users(name: &str, group: Uuid) -> Result<Option<(u32, u64)>, Error> {
    let failed = |error: ashlar::Error| Error::failed(error.to_string());
    let Some(mut client) = Client::find(group).map_err(failed)? else {
        return Ok(None);
    };
    let status = client.status().map_err(failed)?.unwrap_or_default();
    let users = status.into_iter().find(|volume| volume.name == name);
    Ok(users.map(|volume| (client.pid(), volume.users)))
}

fn is_read_only(node: &Path) -> bool {
    File::options().read(true).write(true).open(node).is_err()
}

/// Waits for the copies of a mount that other namespaces have, which go a moment later.
pub(super) fn unmounted(name: &str, node: &Path) -> Result<(), Error> {
    let end = Instant::now() + COPIES_MAX;
    loop {
        match require_alone(name, node) {
            Err(_) if Instant::now() < end => std::thread::sleep(INTERVAL),
            alone => return alone,
        }
    }
}

/// Fails if anybody has the node for himself: a mount in another namespace, a device above it.
fn require_alone(name: &str, node: &Path) -> Result<(), Error> {
    let mut options = File::options();
    options
        .read(true)
        .custom_flags(OFlags::EXCL.bits().cast_signed());
    options.open(node).map(drop).map_err(|error| {
        let what = format!(
            "{name} is in use at {}: mounted where this process does not see it, or below another \
             device",
            node.display()
        );
        Error::failed(what).because(error)
    })
}

/// Where a node is mounted, as far as this process sees.
pub(super) fn mounts(node: &Path) -> Result<Vec<Mount>, Error> {
    let number = std::fs::metadata(node)?.rdev();
    let number = format!("{}:{}", major(number), minor(number));
    let list = std::fs::read("/proc/self/mountinfo")?;
    let lines = list.split(|byte| *byte == b'\n');
    Ok(lines
        .filter_map(|line| mount(line, node, &number))
        .collect())
}

/// A line of the kernel's list, if it is about the device.
fn mount(line: &[u8], node: &Path, number: &str) -> Option<Mount> {
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let dash = words.iter().position(|word| *word == b"-")?;
    let source = words.get(dash + 2).map(|word| path(word))?;
    // btrfs gives its mounts numbers of no device.
    if *words.get(2)? != number.as_bytes() && source != node {
        return None;
    }
    let text = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
    let options = [text(words.get(5)?), text(words.get(dash + 3)?)];
    Some(Mount {
        point: path(words.get(4)?),
        options: options.join(","),
        is_whole: *words.get(3)? == b"/",
    })
}

fn path(word: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescaped(word)))
}

/// Whether the kernel swaps to a node.
fn is_swap(node: &Path) -> bool {
    let list = std::fs::read("/proc/swaps").unwrap_or_default();
    let mut lines = list.split(|byte| *byte == b'\n').skip(1);
    lines.any(|line| {
        let name = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        path(name) == node
    })
}
