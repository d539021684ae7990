//! The legs of an array of md's, each by itself, for who compares them: nothing is started.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use block::file::FileOptions;
use block::{Device, Error, Kind};
use dm::raid::md::Layout;
use dm::raid::{ArrayConfig, Assembly, Described};

use super::{Members, Opened, assembly, config};
use crate::host::ArrayPlace;

/// The legs of an array.
pub(crate) struct ArrayLegs {
    /// What it is made of; its devices are numbers of `devices`.
    pub(crate) config: ArrayConfig,
    /// The legs' data.
    pub(crate) devices: Vec<Arc<dyn Device>>,
    /// What is believed of them.
    pub(crate) assembly: Assembly,
    /// The byte of its disk where each leg begins; `None`: it is missing.
    pub(crate) starts: Vec<Option<u64>>,
    /// The files that they are in.
    pub(crate) files: Vec<OwnedFd>,
}

/// Opens the legs of an array.
///
/// # Errors
///
/// It has neither copies nor parity; a leg cannot be opened, or says something else by now.
pub(crate) fn open_legs(place: &ArrayPlace, options: FileOptions) -> block::Result<ArrayLegs> {
    let (place, opened) = Opened::open_now(place, options, Members::AsFound)?;
    let place = &place;
    let Layout::Redundant(geometry) = opened.array.layout else {
        let what = format!(
            "{} has neither copies nor parity: only the legs of levels 1, 4, 5, 6 and 10 are \
             compared",
            place.name
        );
        return Err(Error::new(Kind::Unsupported, what));
    };
    let assembly = assembly(place, &opened.array, geometry, opened.starts);
    let start = |leg: &Option<dm::raid::md::Leg>| {
        let claim = &place.members[leg.as_ref()?.claim].claim;
        Some(claim.data.start() - opened.starts.old)
    };
    let starts: Vec<Option<u64>> = opened.array.legs.iter().map(start).collect();
    let described = Described::new(geometry, geometry.sync_size().max(1));
    let (config, devices) = config(place, &opened, described);
    assert_eq!(starts.len(), config.legs.len(), "each leg begins somewhere");
    Ok(ArrayLegs {
        config,
        devices,
        assembly,
        starts,
        files: opened.files,
    })
}
