//! Arrays on the same files as the other devices, settled: all their legs go together.
//!
//! Superblocks and bitmaps are in memory. Files are zeros where the arrays stand, so that all
//! parity and all copies are right from the start, and stay right as arrays write them in turn:
//! what one writes another calls noise, and nobody reads what it means.

use std::sync::Arc;
use std::time::Duration;

use ashlar_dm::home::Home;
use ashlar_dm::raid::{
    Array, ArrayConfig, ArrayLeg, Consistency, Described, FirstSync, Geometry, Keeping, Parity,
    Rotation, Scheme,
};
use block::memory::MemoryDevice;
use block::{Access, Device, Info};

const LIMIT: Duration = Duration::from_mins(1);
/// Bytes of a chunk, and of a region of the bitmap.
pub(super) const CHUNK: u64 = 64 << 10;
const REGION: u64 = 2 << 20;
/// Bytes of a metadata device.
const META: u64 = 1 << 20;

/// What the array with this name is, and on how many files.
pub(super) fn kind(name: &str) -> (Scheme, usize) {
    let rotating = Scheme::Parity(Parity::One, Rotation::LeftSymmetric);
    match name {
        "raid1" => (Scheme::Mirror, 2),
        "raid5" => (rotating, 3),
        "raid5x4" => (rotating, 4),
        "raid10" => (Scheme::near_copies(2), 4),
        _ => panic!("no array is called {name}"),
    }
}

/// What an array of so many bytes is made of; a leg's data are device 2 n, its metadata 2 n + 1.
pub(super) fn config(
    (scheme, legs): (Scheme, usize),
    size: u64,
    first: FirstSync,
) -> (ArrayConfig, Vec<Info>) {
    let data_legs = match scheme {
        Scheme::Mirror => 1,
        Scheme::Parity(parity, _) => legs - parity.count(),
        Scheme::Copies(copies) => legs / copies.near,
    } as u64;
    let leg_size = (size / data_legs).next_multiple_of(CHUNK);
    let geometry = Geometry::new(scheme, legs, CHUNK, leg_size).expect("it can be");
    let leg = |leg: usize| ArrayLeg {
        id: leg as u64,
        data: Some(2 * leg),
        meta: Some(2 * leg + 1),
        ..ArrayLeg::default()
    };
    let infos = (0..legs).flat_map(|leg| {
        let name = |what: &str| format!("{what} of leg {leg}");
        [
            Info::new(name("data"), leg_size),
            Info::new(name("metadata"), META),
        ]
    });
    let config = ArrayConfig {
        name: "array".into(),
        id: 1,
        size: size.min(geometry.size()),
        described: Described::new(geometry, REGION),
        legs: (0..legs).map(leg).collect(),
        leg_names: (0..legs).map(|leg| format!("leg-{leg}")).collect(),
        access: Access::ReadWrite,
        first,
        consistency: Consistency::None,
        keeping: Keeping::Mapper,
    };
    (config, infos.collect())
}

/// An array on the first of these disks.
pub(super) fn start(kind: (Scheme, usize), disks: &[Arc<dyn Device>], size: u64) -> Home<Array> {
    let (config, _) = config(kind, size, FirstSync::Assumed);
    let legs = disks[..kind.1].iter().enumerate();
    let devices: Vec<Arc<dyn Device>> = legs
        .flat_map(|(leg, disk)| -> [Arc<dyn Device>; 2] {
            let meta = MemoryDevice::new(format!("metadata of leg {leg}"), META);
            [Arc::clone(disk), Arc::new(meta)]
        })
        .collect();
    let infos: Vec<Info> = devices.iter().map(|device| device.info()).collect();
    let array = Array::new(config, &infos).expect("well formed");
    Home::start("array", array, devices, LIMIT).expect("it starts")
}
