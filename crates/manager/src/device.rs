//! Opening what a [`Location`] names: a file, a block device, an export of an NBD server.
//!
//! What is behind a server is opened once in a process, whoever asks: all share one connection and
//! one memory of what the server has acknowledged (see `block::nbd_client`), and servers that take
//! one client at a time are not asked for a second place.
//!
//! Such a device cannot be locked. So it is opened for writing only where somebody has said that
//! nobody else writes to it.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use block::file::{Access, FileDevice, FileOptions};
use block::nbd_client::{Address, LastingDevice};
use block::partition::PartitionDevice;
use block::{Device, Range};

use crate::host::{Location, Place, Remote, Sharing};

/// A whole device, and the open file behind it if there is one.
pub(crate) type Whole = (Arc<dyn Device>, Option<OwnedFd>);

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
            Ok((Arc::new(device), Some(file)))
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
            Ok((open_remote(remote)?, None))
        }
    }
}

/// The part of `whole` that `location` names.
pub(crate) fn narrow(
    whole: Arc<dyn Device>,
    location: &Location,
    name: &str,
) -> block::Result<Arc<dyn Device>> {
    let Some(window) = location.window else {
        return Ok(whole);
    };
    let range = Range::checked(window.start, window.len)
        .ok_or_else(|| block::Error::new(block::Kind::Invalid, "the partition ends past 2^64"))?;
    let part = PartitionDevice::window(whole, range, name.to_owned())?;
    Ok(Arc::new(part))
}

/// An export, over the connection that this process has to it.
pub(crate) fn open_remote(remote: &Remote) -> block::Result<Arc<dyn Device>> {
    type Seat = Arc<Mutex<Weak<LastingDevice>>>;
    static SEATS: Mutex<Option<HashMap<Address, Seat>>> = Mutex::new(None);
    let seat = {
        let mut seats = SEATS.lock().unwrap_or_else(PoisonError::into_inner);
        let seats = seats.get_or_insert_default();
        Arc::clone(seats.entry(remote.address.clone()).or_default())
    };
    // Connecting takes its time; others are not kept waiting meanwhile.
    let mut seat = seat.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = seat.upgrade().filter(|device| device.is_usable()) {
        return Ok(device);
    }
    let device = LastingDevice::open(remote.address.clone(), remote.timeout)?;
    let device = Arc::new(device);
    *seat = Arc::downgrade(&device);
    Ok(device)
}
