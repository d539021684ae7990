//! The right to write a device: its locks are held, and what it holds was read since they are.
//!
//! ```text
//!   Wanted   open, and what a plan believes that it holds
//!     │  claim: owner bytes, commit bytes, qemu's bytes, label and headers read again
//!     ▼
//!   Disk     may be written, for as long as it is there
//! ```
//!
//! A plan is made from a scan without locks, so whoever was faster may have given a disk to a
//! group, served it, or taken it out meanwhile. All writers of this folder want a [`Disk`], and
//! only [`claim`] makes one: what is not locked, or is not what the plan saw, cannot be written.
//! The locks go with the last of the disks that were claimed together.
//!
//! Costs: the label and the area headers are read once more.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use block::file::LockMode;
use block::{BlockingDevice, Device, Info, Range, Unmap};
use lvm2::ondisk::{AREA_HEADER_SIZE, AreaHeader, AreaUse, LABEL_SCAN_SIZE, Label, RawLocation};
use lvm2::{Bytes, Uuid};

use super::flush_policy::FlushPolicy;
use crate::lock::{ImageLocks, ImageUse, LockByte, PvLocks, lock_images, lock_pvs};
use crate::{Error, Kind, Result};

/// How long somebody else's lock is waited for.
const LOCK_WAIT: Duration = Duration::from_mins(1);
/// How long a server may take to let go; one that runs holds its byte for hours.
pub const OWNER_WAIT: Duration = Duration::from_millis(200);

/// A device of a change that is open and not locked yet.
pub struct Wanted {
    /// What people know it by.
    pub name: String,
    /// The device.
    pub device: Arc<dyn Device>,
    /// The open files to lock: a duplicate of its own, and those below it; none where it is no
    /// file.
    pub files: Vec<OwnedFd>,
    /// What it is locked in the order of: the identity of a physical volume.
    pub uuid: Uuid,
    /// What the plan was made from.
    pub expected: Expected,
    /// Who serves volumes that lie on it.
    pub server: Server,
}

/// Who serves volumes on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// Nobody may; its owner byte is locked, shared.
    Nobody,
    /// This process, which holds its owner byte through another open file.
    Us,
}

/// What a device holds, as far as plans depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// No label that counts.
    NoPv,
    /// A physical volume: its label, and for each area where its text is and whether it is used.
    Pv(Box<Label>, Vec<(Option<RawLocation>, AreaUse)>),
}

/// A device that may be written: it is locked, and holds what the plan was made from.
#[derive(Debug)]
pub struct Disk {
    name: String,
    device: BlockingDevice,
    // The last to go.
    _locks: Arc<Locks>,
}

/// The locks of a change, in the order in which they go.
#[derive(Debug)]
struct Locks {
    _images: ImageLocks,
    _commit: PvLocks,
    _owner: PvLocks,
}

/// Locks all of `wanted` and reads again what each holds. `None` where one of them holds something
/// else by now: nothing is locked then, and the plan has to be made again. To qemu they are used as
/// `images` says.
pub fn claim(
    wanted: Vec<Wanted>,
    images: ImageUse,
    flush_policy: FlushPolicy,
) -> Result<Option<Vec<Disk>>> {
    let count = wanted.len();
    let locks = Arc::new(lock(&wanted, images)?);
    let mut disks = Vec::new();
    for wanted in wanted {
        let name = wanted.name;
        let device = BlockingDevice::open(&*wanted.device);
        let mut device = device.map_err(|error| unreadable(&name, error))?;
        if flush_policy.compares_disks() && !wanted.expected.is_held(&name, &mut device)? {
            return Ok(None);
        }
        disks.push(Disk {
            name,
            device,
            _locks: Arc::clone(&locks),
        });
    }
    assert_eq!(disks.len(), count, "each disk is claimed");
    Ok(Some(disks))
}

fn lock<'w>(wanted: &'w [Wanted], usage: ImageUse) -> Result<Locks> {
    let of = |wanted: &[&'w Wanted], byte, mode, limit| {
        let of_one = |one: &&'w Wanted| {
            let name = one.name.as_str();
            one.files.iter().map(move |file| (name, file.as_fd()))
        };
        let files: Vec<(&str, BorrowedFd<'_>)> = wanted.iter().flat_map(of_one).collect();
        lock_pvs(&files, byte, mode, limit)
    };
    let all: Vec<&Wanted> = wanted.iter().collect();
    let others: Vec<&Wanted> = wanted
        .iter()
        .filter(|one| one.server == Server::Nobody)
        .collect();
    let owner = of(&others, LockByte::Owner, LockMode::Shared, OWNER_WAIT)?;
    let commit = of(&all, LockByte::Commit, LockMode::Exclusive, LOCK_WAIT)?;
    // What this process serves, qemu knows of.
    let images = others.iter().flat_map(|one| {
        let files = one.files.iter();
        files.map(|file| (one.name.as_str(), file.as_fd()))
    });
    let images: Vec<(&str, BorrowedFd<'_>)> = images.collect();
    Ok(Locks {
        _images: lock_images(&images, usage)?,
        _commit: commit,
        _owner: owner,
    })
}

impl Expected {
    /// What `device` holds now.
    pub fn look(name: &str, device: &mut BlockingDevice) -> Result<Self> {
        let size = device.info().size;
        let mut read = |range| device.read(range).map_err(|error| unreadable(name, error));
        let head = read(Range::new(0, size.min(LABEL_SCAN_SIZE as u64)))?;
        let Some(label) = Label::scan(&head).label else {
            return Ok(Self::NoPv);
        };
        let mut areas = Vec::new();
        for span in label.metadata_areas() {
            let is_there = span.end_within(Bytes(size)).is_some();
            let header = if is_there && span.size.0 >= AREA_HEADER_SIZE as u64 {
                let sector = read(Range::new(span.offset.0, AREA_HEADER_SIZE as u64))?;
                AreaHeader::decode(&sector, *span, Bytes(size)).ok()
            } else {
                None
            };
            areas.push(header.map_or((None, AreaUse::Used), |header| {
                (header.committed, header.usage)
            }));
        }
        assert_eq!(
            areas.len(),
            label.metadata_areas().len(),
            "each area is known"
        );
        Ok(Self::Pv(Box::new(label), areas))
    }

    fn is_held(&self, name: &str, device: &mut BlockingDevice) -> Result<bool> {
        Ok(match (self, &Self::look(name, device)?) {
            (Self::NoPv, Self::NoPv) => true,
            // A scan looks at no more areas than LVM2 makes.
            (Self::Pv(then, areas), Self::Pv(now, areas_now)) => {
                then == now && areas.iter().zip(areas_now).all(|(then, now)| then == now)
            }
            _ => false,
        })
    }
}

impl Disk {
    /// What people know it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the device says about itself.
    pub(crate) fn info(&self) -> &Info {
        self.device.info()
    }

    pub(crate) fn read(&mut self, range: Range) -> block::Result<Vec<u8>> {
        self.device.read(range)
    }

    pub(crate) fn write(&mut self, start: Bytes, bytes: &[u8]) -> block::Result<()> {
        assert!(!bytes.is_empty(), "something is written");
        self.device.write_at(bytes, start.0)
    }

    pub(crate) fn write_zeroes(&mut self, range: Range, unmap: Unmap) -> block::Result<()> {
        self.device.write_zeroes(range, unmap)
    }

    pub(crate) fn discard(&mut self, range: Range) -> block::Result<()> {
        self.device.discard(range)
    }

    /// Without a flush policy: see [`super::OpenPv::flush`].
    pub(super) fn flush(&mut self) -> block::Result<()> {
        self.device.flush()
    }
}

pub(super) fn unreadable(name: &str, error: block::Error) -> Error {
    let what = format!("cannot read {name}; nothing was changed, check the device");
    Error::new(Kind::Device, what).because(error)
}
