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

use lvm2::Uuid;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};

use crate::lock::{claim_record, is_same};
use crate::{Error, Kind, Result};

/// How long those who look for an owner may hold a new one's record, one after the other.
const GLANCE_MAX: Duration = Duration::from_secs(5);
const GLANCE_RETRY: Duration = Duration::from_millis(5);

/// Names another runtime folder: for tests, and for worlds that must not see each other.
pub const RUNTIME_VARIABLE: &str = "ASHLAR_RUNTIME_DIR";

/// The runtime folder, which is made if it is not there.
pub fn runtime_folder() -> Result<PathBuf> {
    let base = base();
    make(&base)?;
    require_own(&base)?;
    Ok(base)
}

/// The runtime directory, if it is there and this user's: for those who only look.
pub fn runtime_folder_if_there() -> Option<PathBuf> {
    let base = base();
    require_own(&base).is_ok().then_some(base)
}

fn base() -> PathBuf {
    let uid = rustix::process::geteuid();
    let variable = |name| std::env::var_os(name).filter(|folder| !folder.is_empty());
    if let Some(folder) = variable(RUNTIME_VARIABLE) {
        PathBuf::from(folder)
    } else if uid.is_root() {
        PathBuf::from("/run/ashlar")
    } else if let Some(folder) = variable("XDG_RUNTIME_DIR") {
        Path::new(&folder).join("ashlar")
    } else {
        std::env::temp_dir().join(format!("ashlar-{}", uid.as_raw()))
    }
}

fn require_own(base: &Path) -> Result<()> {
    let uid = rustix::process::geteuid().as_raw();
    let owner = std::fs::symlink_metadata(base).map(|found| found.uid());
    if owner.is_ok_and(|owner| owner == uid) {
        return Ok(());
    }
    let what = format!("{} belongs to somebody else: remove it", base.display());
    Err(Error::new(Kind::Refused, what))
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
            if let Some(file) = claim_record(&folder).map_err(failed)? {
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

/// Looks for the process that owns a group. One that was stopped, with many who wait for it, is
/// waited for at most for `limit`.
pub(super) fn connect(uuid: Uuid, limit: Duration) -> Result<Standing> {
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
    match through(&folder, |path| connected(path, limit)) {
        Ok(socket) => Ok(Standing::Owned(socket)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Standing::Between),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            Ok(Standing::Between)
        }
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
            let what = format!("{} takes no more connections", folder.display());
            Err(Error::new(Kind::Locked, what))
        }
        Err(error) => Err(cannot_use(&folder, error)),
    }
}

/// A connection to the socket at `path`; [`std::io::ErrorKind::WouldBlock`] after `limit`.
fn connected(path: &Path, limit: Duration) -> std::io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // No time at all would mean no limit.
    let limit = limit.max(Duration::from_millis(1));
    set_socket_timeout(&socket, Timeout::Send, Some(limit))?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(socket))
}

/// Whether a process holds the record of a group's owner.
pub(super) fn is_held(uuid: Uuid) -> bool {
    let record = place(uuid).ok().map(|folder| folder.join("record"));
    let record = record.and_then(|record| File::open(record).ok());
    record.is_some_and(|record| flock(&record, FlockOperation::NonBlockingLockShared).is_err())
}

/// What the record of a group's owner says: the group's name, and the process.
pub(super) fn recorded(uuid: Uuid) -> (Option<String>, Option<u32>) {
    let record = place(uuid).ok().map(|folder| folder.join("record"));
    let text = record.and_then(|record| std::fs::read_to_string(record).ok());
    let text = text.unwrap_or_default();
    let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
    let pid = line("pid=").and_then(|pid| pid.parse().ok());
    (line("group=").map(str::to_owned), pid)
}

/// Whether any group may have an owner that this user can find; most machines have none.
pub fn any_owner() -> bool {
    !groups_if_there().is_empty()
}

/// The groups that have an owner, or had one that was killed, as far as this user can find out.
pub(super) fn groups_if_there() -> Vec<Uuid> {
    let folder = runtime_folder_if_there().map(|base| base.join("groups"));
    let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok());
    let entries = entries.into_iter().flatten();
    let named = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    named.collect()
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
