//! The runtime folder, in which owners are found.
//!
//! ```text
//!   /run/ashlar/groups/UUID/       $XDG_RUNTIME_DIR/ashlar/groups/UUID/ for ordinary users
//!     record    the group's name and the owner's process number; locked as long as it lives
//!     socket    its control socket
//! ```
//!
//! The lock, not the process number, says whether the owner lives. What a killed one left is
//! removed by whoever meets it.

use std::fs::{DirBuilder, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lvm::Uuid;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};

use crate::lock::{claim_record, is_same};
use crate::{Error, Kind, Result};

/// How long those who look for an owner may hold a new one's record, one after the other.
const GLANCE_MAX: Duration = Duration::from_secs(5);
const GLANCE_RETRY: Duration = Duration::from_millis(5);

/// Names another runtime folder: for tests, and for worlds that must not see each other.
pub const RUNTIME_VARIABLE: &str = "ASHLAR_RUNTIME_DIR";

/// The runtime folder, which is made if it is not there.
pub fn runtime_folder() -> Result<PathBuf> {
    let uid = rustix::process::geteuid();
    let variable = |name| std::env::var_os(name).filter(|folder| !folder.is_empty());
    let base = if let Some(folder) = variable(RUNTIME_VARIABLE) {
        PathBuf::from(folder)
    } else if uid.is_root() {
        PathBuf::from("/run/ashlar")
    } else if let Some(folder) = variable("XDG_RUNTIME_DIR") {
        Path::new(&folder).join("ashlar")
    } else {
        std::env::temp_dir().join(format!("ashlar-{}", uid.as_raw()))
    };
    make(&base)?;
    let owner = std::fs::symlink_metadata(&base).map(|found| found.uid());
    if !owner.is_ok_and(|owner| owner == uid.as_raw()) {
        let what = format!("{} belongs to somebody else: remove it", base.display());
        return Err(Error::new(Kind::Refused, what));
    }
    Ok(base)
}

/// A record that this process holds. It is removed when this is dropped.
#[derive(Debug)]
pub struct Record {
    folder: PathBuf,
    _file: File,
}

impl Record {
    /// Says that this process owns the group, and listens for others.
    pub(super) fn make(group: &str, uuid: Uuid) -> Result<(Self, UnixListener)> {
        let folder = place(uuid)?;
        let failed = |error: std::io::Error| cannot_use(&folder, error);
        let end = Instant::now() + GLANCE_MAX;
        let mut file = loop {
            make(&folder)?;
            if let Some(file) = claim_record(&folder.join("record")).map_err(failed)? {
                break file;
            }
            if Instant::now() >= end {
                let what = format!("volume group {group} is owned by another process");
                return Err(Error::new(Kind::Locked, what));
            }
            std::thread::sleep(GLANCE_RETRY);
        };
        // What a killed owner left.
        let _ = std::fs::remove_file(folder.join("socket"));
        let text = format!("group={group}\npid={}\n", std::process::id());
        file.set_len(0)
            .and_then(|()| file.write_all(text.as_bytes()))
            .map_err(failed)?;
        let record = Self {
            folder: folder.clone(),
            _file: file,
        };
        let listener = through(&folder, |path| UnixListener::bind(path)).map_err(failed)?;
        let socket = folder.join("socket");
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(socket, private).map_err(failed)?;
        Ok((record, listener))
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // What cannot be removed is stale from now on, and removed by the next owner.
        remove(&self.folder);
    }
}

/// Who owns a group, as far as this user can find out.
#[derive(Debug)]
pub(super) enum Standing {
    /// Nobody.
    Free,
    /// A process that lets nobody in: it begins, or ends.
    Between,
    /// A process that listens, connected.
    Owned(UnixStream),
}

/// Looks for the process that owns a group.
pub(super) fn connect(uuid: Uuid) -> Result<Standing> {
    let folder = place(uuid)?;
    let path = folder.join("record");
    let Ok(record) = File::open(&path) else {
        return Ok(Standing::Free);
    };
    if flock(&record, FlockOperation::NonBlockingLockShared).is_ok() {
        // Under the lock, so that a new owner does not lose what it makes meanwhile; the lock of a
        // record that an ending owner has removed keeps nobody from making another one.
        if is_same(&record, &path) {
            let _ = std::fs::remove_file(folder.join("socket"));
        }
        return Ok(Standing::Free);
    }
    match through(&folder, |path| UnixStream::connect(path)) {
        Ok(socket) => Ok(Standing::Owned(socket)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Standing::Between),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            Ok(Standing::Between)
        }
        Err(error) => Err(cannot_use(&folder, error)),
    }
}

/// Whether any group may have an owner that this user can find; most machines have none.
pub fn any_owner() -> bool {
    let groups = runtime_folder().map(|base| base.join("groups"));
    let entries = groups
        .ok()
        .and_then(|groups| std::fs::read_dir(groups).ok());
    entries.is_some_and(|mut entries| entries.next().is_some())
}

/// The groups that have an owner, or had one that was killed.
pub(super) fn groups() -> Result<Vec<Uuid>> {
    let folder = runtime_folder()?.join("groups");
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(cannot_use(&folder, error)),
    };
    let named = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(named.collect())
}

/// The volume that is attached at the file `file`: `vg0/data`. The records of attachments, in
/// `attached`, say so.
pub(super) fn attached_at(file: &Path) -> Option<String> {
    let folder = runtime_folder().ok()?.join("attached");
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let wanted = format!("file={}", file.display());
    let mut records = entries.filter_map(|entry| {
        let text = std::fs::read_to_string(entry.path().join("record")).ok()?;
        text.lines().any(|line| line == wanted).then_some(text)
    });
    let record = records.next()?;
    let volume = record.lines().find_map(|line| line.strip_prefix("volume="));
    volume.map(str::to_owned)
}

fn place(uuid: Uuid) -> Result<PathBuf> {
    Ok(runtime_folder()?.join("groups").join(uuid.to_string()))
}

fn remove(folder: &Path) {
    for name in ["socket", "record"] {
        let _ = std::fs::remove_file(folder.join(name));
    }
    let _ = std::fs::remove_dir(folder);
}

fn make(folder: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(folder);
    made.map_err(|error| cannot_use(folder, error))
}

/// Uses the socket in `folder` by a name that is short enough for any folder.
fn through<T>(folder: &Path, act: impl FnOnce(&Path) -> std::io::Result<T>) -> std::io::Result<T> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    let path = format!("/proc/self/fd/{}/socket", folder.as_raw_fd());
    act(Path::new(&path))
}

fn cannot_use(folder: &Path, error: std::io::Error) -> Error {
    let what = format!("cannot use the directory {}", folder.display());
    Error::new(Kind::Device, what).because(error)
}
