//! Opening what a [`Location`] names: a file, a block device, an export of an NBD server.
//!
//! What is behind a server is opened once in a process, whoever asks: all share one connection and
//! one memory of what the server has acknowledged (see `nbd::client`), and servers that take
//! one client at a time are not asked for a second place.
//!
//! A server may come back with another disk. So each physical volume behind one is known by its
//! UUID, and where nobody else writes by the headers of its metadata areas, which every commit
//! changes: a server that has another disk then, or an older copy of this one, is not written to.
//!
//! Such a device cannot be locked. So it is opened for writing only where somebody has said that
//! nobody else writes to it.

mod array;

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use block::file::{Access, FileDevice, FileOptions};
use block::partition::PartitionDevice;
use block::{BlockingDevice, Device, Range};
use lvm2::ondisk::{AREA_HEADER_SIZE, LABEL_SCAN_SIZE, Label};
use lvm2::{Bytes, SECTOR_SIZE};
use nbd::client::{Address, ReconnectingDevice};

use array::open_array;
pub(crate) use array::{ArrayLegs, AtWork, HeldLegs, Members, open_changed, open_legs};

use crate::below::files_below;
use crate::host::{Location, Place, Remote, Sharing};

/// A whole device, and the open files that stand for it when it is locked: its own, and the files
/// below it; none if there is no file.
pub(crate) type Whole = (Arc<dyn Device>, Vec<OwnedFd>);

/// Opens the whole of what `location` is (a part of).
pub(crate) fn open_whole(location: &Location, options: FileOptions) -> block::Result<Whole> {
    match &location.place {
        Place::File(path) => {
            let device = FileDevice::open_with(path, options)?;
            let file = device.as_fd().try_clone_to_owned();
            let file = file.map_err(|error| {
                let what = format!("cannot duplicate the open file of {}", path.display());
                block::Error::io(what, error)
            })?;
            let mut files = vec![file];
            if options.access == Access::ReadWrite {
                files.extend(files_below(path));
            }
            Ok((Arc::new(device), files))
        }
        Place::Nbd(remote) => {
            if options.access == Access::ReadWrite && remote.sharing == Sharing::Unknown {
                let what = format!(
                    "{} is behind a server and cannot be locked; if nobody else writes to it, say \
                     so with --assume-exclusive",
                    remote.address
                );
                return Err(block::Error::new(block::Kind::Open, what));
            }
            Ok((open_remote(remote)?, Vec::new()))
        }
        Place::Array(array) => open_array(array, options),
    }
}

/// The part of `whole` that `location` names.
pub(crate) fn narrow(
    whole: Arc<dyn Device>,
    location: &Location,
    name: &str,
) -> block::Result<Arc<dyn Device>> {
    let (start, device) = match location.window {
        None => (0, whole),
        Some(window) => {
            let range = Range::checked(window.start, window.len).ok_or_else(|| {
                block::Error::new(block::Kind::Invalid, "the partition ends past 2^64")
            })?;
            let part = PartitionDevice::window(whole, range, name.to_owned())?;
            (window.start, Arc::new(part) as Arc<dyn Device>)
        }
    };
    if let Place::Nbd(remote) = &location.place {
        mark(remote, start, &*device)?;
    }
    Ok(device)
}

/// Says what the physical volume on `device`, which begins at byte `start` of the export `remote`,
/// is known by, if there is one.
fn mark(remote: &Remote, start: u64, device: &dyn Device) -> block::Result<()> {
    let whole = open_remote(remote)?;
    let mut io = BlockingDevice::open(device)?;
    let size = io.info().size;
    let head = io.read(Range::new(0, size.min(LABEL_SCAN_SIZE as u64)))?;
    let Some(label) = Label::scan(&head).label else {
        return Ok(());
    };
    let sector = (label.sector * SECTOR_SIZE) as usize;
    let uuid = label.pv.uuid.as_bytes();
    let mut places = head[sector..].windows(uuid.len());
    if let Some(at) = places.position(|bytes| bytes == uuid) {
        let at = start + (sector + at) as u64;
        whole.mark(at, uuid.to_vec(), "it has another PV UUID");
    }
    if remote.sharing == Sharing::Unknown {
        // Others may commit meanwhile.
        return Ok(());
    }
    for span in label.metadata_areas() {
        let len = AREA_HEADER_SIZE as u64;
        if span.size.0 < len || span.end_within(Bytes(size)).is_none() {
            continue;
        }
        let header = io.read(Range::new(span.offset.0, len))?;
        let otherwise = "its metadata are of another version, so it is an older copy, or somebody \
                         else wrote to it";
        whole.mark(start + span.offset.0, header, otherwise);
    }
    Ok(())
}

/// An export, over the connection that this process has to it.
pub(crate) fn open_remote(remote: &Remote) -> block::Result<Arc<ReconnectingDevice>> {
    type Slot = Arc<Mutex<Weak<ReconnectingDevice>>>;
    static SLOTS: Mutex<Option<HashMap<Address, Slot>>> = Mutex::new(None);
    let slot = {
        let mut slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
        let slots = slots.get_or_insert_default();
        Arc::clone(slots.entry(remote.address.clone()).or_default())
    };
    // Connecting takes its time; others are not kept waiting meanwhile.
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = slot.upgrade().filter(|device| device.is_usable()) {
        return Ok(device);
    }
    let device = ReconnectingDevice::open(remote.address.clone(), remote.timeout)?;
    let device = Arc::new(device);
    *slot = Arc::downgrade(&device);
    Ok(device)
}
