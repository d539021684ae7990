//! The runtime folder and the records of attachments in it.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ashlar::lock::claim_record;
use block::{Error, Kind, Result};
use export::mounts::unescaped;
use export::{fuse, loop_device};
use lvm2::model::{LvId, VolumeGroup};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::names;

/// A record longer than this was not written by us, in bytes.
const RECORD_MAX: u64 = 64 << 10;

/// How many volumes may have had the name of a volume when they were attached.
const NAMESAKES_MAX: usize = 16;

/// How long a process that was killed may take to let go of its record.
const DYING_MAX: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(20);

/// The folder in which running servers are found.
#[derive(Debug, Clone)]
pub(crate) struct Runtime {
    attached: PathBuf,
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Record {
    /// The volume: `vg0/data`.
    pub(crate) volume: String,
    /// The server's process number.
    pub(crate) pid: u32,
    /// The file that is the volume.
    pub(crate) file: PathBuf,
    /// The block device node, if there is one.
    pub(crate) node: Option<PathBuf>,
    /// The folder in which it has its names, if it was made active.
    pub(crate) dir: Option<PathBuf>,
}

/// Whether the server of an attachment lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It does, and holds the record.
    Served,
    /// It was killed.
    Stale,
}

/// One attachment as it was found.
#[derive(Debug, Clone)]
pub(crate) struct Attachment {
    folder: PathBuf,
    pub(crate) record: Record,
    pub(crate) state: State,
}

/// A record that this process holds. It is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct HeldRecord {
    folder: PathBuf,
    file: File,
}

impl Runtime {
    /// Finds the runtime folder, and makes it if it is not there.
    pub(crate) fn open() -> Result<Self> {
        let base = ashlar::live::runtime_folder();
        let base = base.map_err(|error| Error::new(Kind::Open, error.to_string()))?;
        let attached = base.join("attached");
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&attached);
        made.map_err(|error| {
            let what = format!("cannot make the directory {}", attached.display());
            Error::io(what, error)
        })?;
        Ok(Self { attached })
    }

    /// The runtime directory, if anything was ever attached by this user since the machine started:
    /// for those who only look.
    pub(crate) fn if_there() -> Option<Self> {
        let attached = ashlar::live::runtime_folder_if_there()?.join("attached");
        attached.is_dir().then_some(Self { attached })
    }

    /// Everything that is attached, or was when its server was killed; by name.
    pub(crate) fn attachments(&self) -> Result<Vec<Attachment>> {
        let failed = |error| {
            Error::io(
                format!("cannot read the directory {}", self.attached.display()),
                error,
            )
        };
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.attached).map_err(failed)? {
            found.extend(Attachment::read(entry.map_err(failed)?.path()));
        }
        found.sort_by(|a, b| a.record.volume.cmp(&b.record.volume));
        Ok(found)
    }

    /// The attachment that is called `name`: by its volume, its node or its file.
    pub(crate) fn find(&self, name: &str) -> Result<Option<Attachment>> {
        let path = std::fs::canonicalize(name).unwrap_or_else(|_| PathBuf::from(name));
        Ok(self.attachments()?.into_iter().find(|attachment| {
            let record = &attachment.record;
            record.volume == name || [record.place(), &*record.file].contains(&&*path)
        }))
    }

    /// Claims the folder `key` (a name without `/`) for an attachment of `volume`. Cleans up what
    /// a killed server left there.
    pub(crate) fn claim(&self, key: &str, volume: &str) -> Result<HeldRecord> {
        let is_it = |one: &Attachment| one.state == State::Served && one.record.volume == volume;
        let mut found = self.attachments()?.into_iter().find(is_it);
        for number in 0..NAMESAKES_MAX {
            if found.is_some() {
                break;
            }
            let folder = match number {
                0 => self.attached.join(key),
                number => self.attached.join(format!("{key}~{number}")),
            };
            if let Some(file) = hold(&folder)? {
                return Ok(HeldRecord { folder, file });
            }
            // One that was renamed since it was attached keeps its folder.
            let holder = Attachment::read(folder);
            found = holder.filter(|one| [volume, ""].contains(&one.record.volume.as_str()));
        }
        let found = found.map(|found| found.record);
        let what = match found.as_ref().map(Record::place) {
            Some(place) if !place.as_os_str().is_empty() => {
                format!("{volume} is already attached at {}", place.display())
            }
            _ => format!("{volume} is being attached by another process"),
        };
        Err(Error::new(Kind::Open, what))
    }
}

impl HeldRecord {
    /// The file over which the volume may be mounted.
    pub(crate) fn mount_point(&self) -> Result<PathBuf> {
        let path = self.folder.join("volume");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        options.open(&path).map_err(|error| {
            Error::io(format!("cannot make the file {}", path.display()), error)
        })?;
        Ok(path)
    }

    /// Writes what is attached where.
    pub(crate) fn write(&mut self, record: &Record) -> Result<()> {
        record
            .store(&self.file)
            .map_err(|error| Error::io(format!("cannot write to {}", self.folder.display()), error))
    }

    /// Makes the names of the volume of `record`, which was written; they go when this is dropped,
    /// with whatever name the volume has then.
    pub(super) fn names(&self, record: &Record) -> Result<Names> {
        let names = Names(self.folder.join("record"));
        record.make_names()?;
        Ok(names)
    }

    /// What writes down that the volume of `record` has another name.
    pub(crate) fn renamer(&self, record: Record) -> Result<Renamer> {
        let file = self.file.try_clone();
        let file = file.map_err(|error| Error::io("cannot duplicate an open file", error))?;
        Ok(Renamer { file, record })
    }
}

impl Renamer {
    /// The volume is called `volume` from now on.
    pub(crate) fn rename(&mut self, volume: &str) {
        if self.record.volume != volume {
            let before = self.record.clone();
            volume.clone_into(&mut self.record.volume);
            // Whoever is told has the new name at least; under its old one it is found as well.
            let _ = self.record.make_names();
            let _ = self.record.store(&self.file);
            before.remove_names();
        }
    }
}

/// Writes the new names of an attached volume into its record.
#[derive(Debug)]
pub(crate) struct Renamer {
    file: File,
    record: Record,
}

/// The names of an attached volume.
#[derive(Debug)]
pub(super) struct Names(PathBuf);

impl Drop for Names {
    fn drop(&mut self) {
        let record = File::open(&self.0).and_then(|mut file| Record::read(&mut file));
        // Those of a record that cannot be read are taken away with it, by the next who has them.
        if let Ok(record) = record {
            record.remove_names();
        }
    }
}

impl Drop for HeldRecord {
    fn drop(&mut self) {
        // What cannot be removed is stale from now on, and removed by the next command.
        let _ = remove(&self.folder);
    }
}

impl Attachment {
    fn read(folder: PathBuf) -> Option<Self> {
        let mut file = File::open(folder.join("record")).ok()?;
        let state = match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => State::Stale,
            Err(_) => State::Served,
        };
        Some(Self {
            folder,
            record: Record::read(&mut file).ok()?,
            state,
        })
    }

    /// Whether the server still holds the record.
    pub(crate) fn is_served(&self) -> bool {
        Self::read(self.folder.clone()).is_some_and(|now| now.state == State::Served)
    }

    /// Asks the server to end, if it still lives.
    pub(crate) fn ask_to_end(&self) -> Result<()> {
        let failed = |errno: Errno| Error::io("cannot end the server", errno.into());
        let Some(pid) = Pid::from_raw(self.record.pid.cast_signed()) else {
            let what = format!("the server of {} left no number", self.record.volume);
            return Err(Error::new(Kind::Gone, what));
        };
        let process = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(Errno::SRCH) => return Ok(()),
            opened => opened.map_err(failed)?,
        };
        // Who held the record after its number was looked up had that number.
        if !self.is_served() {
            return Ok(());
        }
        match pidfd_send_signal(&process, Signal::TERM) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Whether the server has ended by now. What it left, if it was killed, is taken away.
    pub(crate) fn is_gone(&self) -> Result<bool> {
        match Self::read(self.folder.clone()) {
            Some(now) if now.state == State::Served => Ok(false),
            Some(now) => now.clean_up().map(|()| true),
            // A server that ends removes the record, and then the folder.
            None => Ok(!self.folder.exists()),
        }
    }

    /// Whether a server that has ended could not unmount its file, and nobody serves it since.
    pub(crate) fn is_left_mounted(&self) -> bool {
        let is_named = !self.record.file.as_os_str().is_empty();
        is_named && !self.folder.exists() && is_mounted(&self.record.file)
    }

    /// Takes away what a killed server left: the loop device, the mount, the folder.
    pub(crate) fn clean_up(&self) -> Result<()> {
        assert_eq!(self.state, State::Stale, "a living server cleans up itself");
        // Whoever holds it now has cleaned up, or does.
        match hold(&self.folder)? {
            Some(_held) => remove(&self.folder),
            None => Ok(()),
        }
    }
}

impl Record {
    /// Where the volume is: its node, else its file.
    pub(crate) fn place(&self) -> &Path {
        self.node.as_ref().unwrap_or(&self.file)
    }

    /// Makes the names that the volume is to have.
    pub(crate) fn make_names(&self) -> Result<()> {
        match &self.dir {
            Some(dir) => names::make(dir, &self.volume, self.place()),
            None => Ok(()),
        }
    }

    /// Takes them away again.
    pub(super) fn remove_names(&self) {
        if let Some(dir) = &self.dir {
            names::remove(dir, &self.volume, self.place());
        }
    }

    /// The volume in its group's metadata.
    pub(crate) fn find(&self, vg: &VolumeGroup) -> Option<LvId> {
        let (group, name) = self.volume.split_once('/')?;
        if group == vg.name {
            vg.lv_by_name(name)
        } else {
            None
        }
    }

    fn read(file: &mut File) -> std::io::Result<Self> {
        let mut text = Vec::new();
        file.take(RECORD_MAX).read_to_end(&mut text)?;
        Ok(Self::parse(&String::from_utf8_lossy(&text)))
    }

    /// Writes it over what the file holds: whoever reads it meanwhile finds the one or the other.
    fn store(&self, file: &File) -> std::io::Result<()> {
        let line = |key: &str, path: &Option<PathBuf>| {
            let path = path.as_ref().map(|path| written(path));
            path.map_or_else(String::new, |path| format!("{key}={path}\n"))
        };
        let text = format!(
            "volume={}\npid={}\nfile={}\n{}{}",
            self.volume,
            self.pid,
            written(&self.file),
            line("node", &self.node),
            line("dir", &self.dir)
        );
        file.write_all_at(text.as_bytes(), 0)?;
        file.set_len(text.len() as u64)
    }

    /// Takes away the names, the loop device and the mount of a server that was killed.
    fn clear(&self) -> Result<()> {
        self.remove_names();
        let file = &self.file;
        let node = self.node.as_ref();
        if let Some(node) = node.filter(|node| loop_device::is_over(node, file)) {
            loop_device::clear(node, file)?;
        }
        if !file.as_os_str().is_empty() && is_mounted(file) {
            fuse::remove_stale(file)?;
        }
        Ok(())
    }

    /// Reads a record. Lines that are not understood, and missing ones, leave their defaults: a
    /// server that was killed early wrote nothing yet.
    fn parse(text: &str) -> Self {
        let mut record = Self::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
            match key {
                "volume" => value.clone_into(&mut record.volume),
                "pid" => record.pid = value.parse().unwrap_or(0),
                "file" => record.file = path_in(value),
                "node" => record.node = Some(path_in(value)),
                "dir" => record.dir = Some(path_in(value)),
                _ => {}
            }
        }
        record
    }
}

/// A path as a record holds it: on one line, whatever it has in it.
fn written(path: &Path) -> String {
    let text = path.display().to_string();
    text.replace('\\', "\\134").replace('\n', "\\012")
}

/// The path that a record holds.
fn path_in(text: &str) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescaped(text.as_bytes())))
}

/// Holds the record in `folder`, and takes away what a killed server left; `None`: another process
/// holds it.
fn hold(folder: &Path) -> Result<Option<File>> {
    let failed = |error| Error::io(format!("cannot write to {}", folder.display()), error);
    let end = Instant::now() + DYING_MAX;
    let mut file = loop {
        if let Some(file) = claim_record(folder).map_err(failed)? {
            break file;
        }
        if Instant::now() > end {
            return Ok(None);
        }
        std::thread::sleep(INTERVAL);
    };
    // Should this fail, the record stays, unlocked, for the next one who tries.
    Record::read(&mut file).map_err(failed)?.clear()?;
    Ok(Some(file))
}

/// Removes the record in `folder`, which is held, and the folder.
fn remove(folder: &Path) -> Result<()> {
    for name in ["volume", "record"] {
        remove_if_there(&folder.join(name))?;
    }
    match std::fs::remove_dir(folder) {
        // Without its record it can be claimed by the next one, who needs it.
        Err(error)
            if !matches!(
                error.kind(),
                ErrorKind::DirectoryNotEmpty | ErrorKind::NotFound
            ) =>
        {
            let what = format!("cannot remove the directory {}", folder.display());
            Err(Error::io(what, error))
        }
        _ => Ok(()),
    }
}

fn remove_if_there(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(
            format!("cannot remove {}", path.display()),
            error,
        )),
        _ => Ok(()),
    }
}

/// Whether a FUSE mount of ours is at `path`. Reads the list of mounts: looking at the path
/// itself would ask a server that is gone.
pub(super) fn is_mounted(path: &Path) -> bool {
    let mounts = std::fs::read("/proc/self/mounts").unwrap_or_default();
    is_listed(path, &mounts)
}

/// Whether a list of mounts, as the kernel writes it, has a FUSE mount at `path`.
fn is_listed(path: &Path, mounts: &[u8]) -> bool {
    mounts.split(|byte| *byte == b'\n').any(|line| {
        let mut words = line.split(|byte| *byte == b' ').skip(1);
        let place = words.next().map(unescaped);
        let kind = words.next().unwrap_or_default();
        place.as_deref() == Some(path.as_os_str().as_bytes()) && kind.starts_with(b"fuse")
    })
}

#[cfg(test)]
mod tests;
