//! The physical volumes' devices, opened once each.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use block::Device;
use block::file::{Access as FileAccess, Caching, Claim, FileOptions};
use dm::volume::Access;

use crate::device::{narrow, open_whole};
use crate::host::{Location, Place};
use crate::lock::{ImageUse, lock_images};
use crate::scan::{FoundDevice, PvIndex, Scan};
use crate::{Error, Kind, Result};

/// Opened devices, by physical volume and access.
#[derive(Default)]
pub(crate) struct PvDevices {
    /// Whole files and disks: two partitions of an image share one.
    wholes: HashMap<(Location, Access), Arc<dyn Device>>,
    open: HashMap<(Location, Access), Arc<dyn Device>>,
    /// How what is only read is read.
    pub(crate) caching: Caching,
    /// Duplicates of what is open for writing, and what is below it, for locks.
    files: HashMap<Place, Vec<OwnedFd>>,
}

impl PvDevices {
    /// The device of a physical volume.
    pub(crate) fn get(
        &mut self,
        scan: &Scan,
        pv: PvIndex,
        access: Access,
    ) -> Result<Arc<dyn Device>> {
        let found = scan.device(scan.pv(pv).device);
        // By its place and not its index: another scan may count differently.
        let key = (found.location.clone(), access);
        if let Some(device) = self.open.get(&key) {
            return Ok(Arc::clone(device));
        }
        let device = self.open(found, access)?;
        self.open.insert(key, Arc::clone(&device));
        self.check();
        Ok(device)
    }

    /// The invariants: what is open stands on a whole device that is open, and only what is open
    /// for writing has files to be locked.
    fn check(&self) {
        let has_whole = |(open, access): &(Location, Access)| {
            let mut wholes = self.wholes.keys();
            wholes.any(|(whole, how)| whole.place == open.place && how == access)
        };
        assert!(
            self.open.keys().all(has_whole),
            "a part stands on its whole"
        );
        let is_written = |place: &Place| {
            let mut wholes = self.wholes.keys();
            wholes.any(|(whole, how)| whole.place == *place && *how == Access::ReadWrite)
        };
        assert!(
            self.files.keys().all(is_written),
            "files are of what is written"
        );
    }

    /// Closes what is open at this place, as soon as nothing uses it.
    pub(crate) fn forget(&mut self, location: &Location) {
        self.open.retain(|(open, _), _| open != location);
        let place = &location.place;
        if !self.open.keys().any(|(open, _)| open.place == *place) {
            self.wholes.retain(|(whole, _), _| whole.place != *place);
            self.files.remove(place);
        }
        self.check();
    }

    /// The open files behind a device that is open for writing: none if it is no file.
    pub(crate) fn files(&self, place: &Place) -> impl Iterator<Item = BorrowedFd<'_>> {
        let files = self.files.get(place).into_iter().flatten();
        files.map(AsFd::as_fd)
    }

    fn open(&mut self, found: &FoundDevice, access: Access) -> Result<Arc<dyn Device>> {
        let failed = |error: block::Error| {
            let what = format!("cannot open {} for its physical volume", found.name);
            Error::new(Kind::Device, what).because(error)
        };
        let location = Location {
            place: found.location.place.clone(),
            window: None,
        };
        let key = (location, access);
        let whole = if let Some(whole) = self.wholes.get(&key) {
            Arc::clone(whole)
        } else {
            // Who writes holds a block device alone: the kernel refuses to build anything on it
            // meanwhile.
            let options = match access {
                Access::ReadOnly => FileOptions {
                    caching: self.caching,
                    ..FileOptions::new(FileAccess::ReadOnly)
                },
                Access::ReadWrite => FileOptions {
                    claim: Claim::Exclusive,
                    ..FileOptions::new(FileAccess::ReadWrite)
                },
            };
            let (whole, files) = open_whole(&key.0, options).map_err(failed)?;
            match access {
                Access::ReadOnly => tell_of_reader(&found.name, &files)?,
                Access::ReadWrite => _ = self.files.insert(key.0.place.clone(), files),
            }
            self.wholes.insert(key, Arc::clone(&whole));
            whole
        };
        narrow(whole, &found.location, &found.name).map_err(failed)
    }
}

/// Lets qemu know, for as long as the file is open, that it is read. Where files cannot be locked,
/// it is read all the same. Who writes tells more, beside other locks.
fn tell_of_reader(name: &str, files: &[OwnedFd]) -> Result<()> {
    let images: Vec<_> = files.iter().map(|file| (name, file)).collect();
    match lock_images(&images, ImageUse::Reading) {
        Ok(locks) => locks.keep_while_open(),
        Err(error) if error.cause().is_some() => {}
        Err(error) => return Err(error),
    }
    Ok(())
}
