//! Which files the owner of a group holds: more than their names.
//!
//! A name may lead to another file than the one that is served: images are replaced by renaming a
//! new one over the old one. So an owner's own commands compare the file that they opened with the
//! one that is held, by device and inode, before they take a lock for theirs.

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lvm2::Uuid;
use rustix::fs::{FileType, Stat, fstat, stat};

/// What an open file is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileId {
    /// A file: its file system's device number, and its inode.
    File(u64, u64),
    /// A block device, by its number: several nodes may lead to it.
    Disk(u64),
}

impl FileId {
    /// What `file` is.
    pub fn of(file: &impl AsFd) -> std::io::Result<Self> {
        Ok(Self::from_stat(fstat(file)?))
    }

    /// What `path` leads to.
    pub fn at(path: &Path) -> std::io::Result<Self> {
        Ok(Self::from_stat(stat(path)?))
    }

    fn from_stat(stat: Stat) -> Self {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::BlockDevice => Self::Disk(stat.st_rdev),
            _ => Self::File(stat.st_dev, stat.st_ino),
        }
    }
}

/// A group that this process owns, and what it holds of it. Clones share the list.
#[derive(Debug, Clone)]
pub struct OwnedGroup {
    uuid: Uuid,
    held: Arc<Mutex<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    files: Vec<(Uuid, FileId)>,
    /// The group's name, if stock's lock of that name is held.
    stock: Option<String>,
}

impl OwnedGroup {
    /// The group, of which nothing is held yet.
    pub fn new(uuid: Uuid) -> Self {
        Self {
            uuid,
            held: Arc::default(),
        }
    }

    /// The group's UUID.
    pub fn uuid(&self) -> Uuid {
        self.uuid
    }

    /// The physical volume `pv` is held, and lies in this file.
    pub fn hold(&self, pv: Uuid, file: FileId) {
        let mut held = self.held();
        debug_assert!(!held.files.contains(&(pv, file)), "it is held once");
        held.files.push((pv, file));
    }

    /// The physical volume `pv` is not held any more.
    pub fn release(&self, pv: Uuid) {
        self.held().files.retain(|(held, _)| *held != pv);
    }

    /// Whether this file is held, for whichever physical volume.
    pub fn holds_file(&self, file: FileId) -> bool {
        self.held().files.iter().any(|(_, held)| *held == file)
    }

    /// Whether the physical volume `pv` is held, in whichever file.
    pub fn holds_pv(&self, pv: Uuid) -> bool {
        self.held().files.iter().any(|(held, _)| *held == pv)
    }

    /// Whether any of it is a block device, which other programs on this machine know.
    pub fn is_on_disks(&self) -> bool {
        let held = self.held();
        let mut files = held.files.iter();
        files.any(|(_, file)| matches!(file, FileId::Disk(_)))
    }

    /// Stock's lock of the group with this name is held, or none.
    pub fn set_stock(&self, name: Option<&str>) {
        self.held().stock = name.map(str::to_owned);
    }

    /// Whether stock's lock of the group called `name` is held.
    pub fn holds_stock(&self, name: &str) -> bool {
        self.held().stock.as_deref() == Some(name)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
