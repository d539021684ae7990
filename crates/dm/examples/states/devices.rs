//! The devices that are compared, on the same files.
//!
//! ```text
//!   linear      file 0                    striped    files 0 and 1, 64 KiB each
//!   mirror      files 0 and 1, settled
//!   copied      origin on file 0, its snapshot on file 2 has all of it
//!   half        snapshot of file 1, on file 3, which has each second chunk
//!   raid1       files 0 and 1             raid5      files 0, 1 and 2
//!   raid10      all four files            stripedN   the first N files, 64 KiB each
//!   levels1…4   an origin without snapshots over mirrors over mirrors over file 0: that many homes
//! ```
//!
//! A mirror in the stack has one image, so that a request to it is one request to what is below:
//! what a level adds is its own cost.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ashlar_dm::home::Home;
use ashlar_dm::mirror::{Mirror, MirrorConfig, MirrorImage, Sync};
use ashlar_dm::snapshot::{Origin, OriginConfig, Overflow, SnapshotConfig, Stored};
use ashlar_dm::table::{Area, Layout, Piece, Table};
use ashlar_dm::volume::{Access, Volume};
use block::file::{Access as FileAccess, Caching, FileDevice};
use block::{Buffer, Device, Driver, Durability, Info, Request};

use super::arrays;
use super::load::BLOCK;

const MIB: u64 = 1 << 20;
const STRIPE: u64 = 64 << 10;
const LIMIT: Duration = Duration::from_mins(1);
/// Devices with a state in the highest stack.
const LEVELS: usize = 4;
/// Writes in flight while devices are filled.
const FILL_DEPTH: usize = 64;

/// By their names.
pub(super) struct Devices {
    all: Vec<(String, Arc<dyn Device>)>,
}

impl Devices {
    /// Devices of `size` bytes on files in `folder`, which have no name there.
    pub(super) fn on(folder: &Path, size: u64) -> Self {
        let disks: Vec<Arc<dyn Device>> = (0..4).map(|number| disk(folder, number, size)).collect();
        let (copied, half) = origins(&disks, size);
        let mut all = vec![
            ("linear".to_owned(), part(&disks[0], size)),
            ("striped".to_owned(), striped(&disks[..2], size)),
            ("mirror".to_owned(), mirror(disks[..2].to_vec(), size)),
            ("copied".to_owned(), copied),
            ("half".to_owned(), half),
        ];
        for name in ["raid1", "raid5", "raid10"] {
            let array = arrays::start(arrays::kind(name), &disks, size);
            let face = array.face(0).expect("there");
            all.push((name.to_owned(), volume(Arc::new(face))));
        }
        for count in 3..=4 {
            all.push((format!("striped{count}"), striped(&disks[..count], size)));
        }
        let mut below = part(&disks[0], size);
        for level in 1..=LEVELS {
            let origin = Home::start("level", plain_origin(&below), vec![below.clone()], LIMIT);
            let origin = origin.expect("it starts").face(0).expect("there");
            all.push((format!("levels{level}"), volume(Arc::new(origin))));
            below = mirror(vec![below], size);
        }
        Self { all }
    }

    /// The one with this name.
    pub(super) fn get(&self, name: &str) -> &dyn Device {
        let named = self.all.iter().find(|(known, _)| known == name);
        named
            .unwrap_or_else(|| panic!("nothing is called {name}"))
            .1
            .as_ref()
    }
}

fn disk(folder: &Path, number: usize, size: u64) -> Arc<dyn Device> {
    let path = folder.join(format!("ashlar-states-{}-{number}", std::process::id()));
    let mut options = std::fs::File::options();
    let file = options.read(true).write(true).create_new(true).open(&path);
    let file = file.expect("a file is made");
    std::fs::remove_file(&path).expect("and has no name");
    file.set_len(2 * size).expect("and a length");
    let name = format!("disk {number}");
    let disk = FileDevice::from_fd(file.into(), name, FileAccess::ReadWrite, Caching::Probe);
    let disk: Arc<dyn Device> = Arc::new(disk.expect("and opens"));
    fill(disk.as_ref(), (0, 2 * size), (MIB, MIB));
    volume(disk)
}

/// Writes the first bytes of each step of a range, many at once: what is copied for that is
/// made durable in groups.
fn fill(device: &dyn Device, (start, end): (u64, u64), (bytes, step): (u64, u64)) {
    let driver = Driver::new().expect("a driver opens");
    let mut queue = device.open_queue(&driver).expect("a queue opens");
    let mut places = (start..end).step_by(step as usize).peekable();
    let mut done = Vec::new();
    while places.peek().is_some() || queue.in_flight() > 0 {
        while queue.in_flight() < FILL_DEPTH
            && let Some(at) = places.next()
        {
            let bytes = Buffer::zeroed(bytes as usize);
            queue.submit(Request::write(0, at, Durability::Volatile, bytes));
        }
        queue.poll(&mut done);
        if done.is_empty() && queue.in_flight() > 0 {
            driver.wait(&mut [], None).expect("waiting works");
        }
        for answer in done.drain(..) {
            answer.result.expect("it takes bytes");
        }
    }
}

/// As in a group: each device is a volume.
fn volume(device: Arc<dyn Device>) -> Arc<dyn Device> {
    let size = device.info().size;
    laid_out(Piece::of(size, Area::device(device, 0)))
}

/// The first bytes of a device, as a volume.
fn part(device: &Arc<dyn Device>, size: u64) -> Arc<dyn Device> {
    laid_out(Piece::of(size, Area::device(Arc::clone(device), 0)))
}

/// Whole rows of stripes, at most `size` bytes of them.
fn striped(disks: &[Arc<dyn Device>], size: u64) -> Arc<dyn Device> {
    let size = size - size % (disks.len() as u64 * STRIPE);
    let areas = disks.iter().map(|disk| Area::device(Arc::clone(disk), 0));
    laid_out(Piece::striped(size, STRIPE, areas.collect()))
}

fn laid_out(piece: Piece) -> Arc<dyn Device> {
    let layout = Layout::new("volume", vec![piece]).expect("well formed");
    let table = Table::compile(&layout).expect("compiles");
    Arc::new(Volume::new("volume", Access::ReadWrite, table))
}

fn infos(legs: &[Arc<dyn Device>]) -> Vec<Info> {
    legs.iter().map(|leg| leg.info()).collect()
}

fn mirror(legs: Vec<Arc<dyn Device>>, size: u64) -> Arc<dyn Device> {
    let images = (0..legs.len()).map(|leg| MirrorImage::present(leg as u64, leg));
    let mut config = MirrorConfig::new("mirror", size, 2 * MIB, images.collect());
    config.sync = Sync::Assumed;
    let mirror = Mirror::new(config, &infos(&legs)).expect("well formed");
    let home = Home::start("mirror", mirror, legs, LIMIT).expect("it starts");
    volume(Arc::new(home.face(0).expect("there")))
}

fn plain_origin(below: &Arc<dyn Device>) -> Origin {
    let legs = [below.info()];
    Origin::new(origin_config(legs[0].size, vec![]), &legs).expect("well formed")
}

/// The origin and the snapshots of it on these legs, the first of which is its own.
pub(super) fn origin_config(size: u64, snapshots: Vec<Option<SnapshotConfig>>) -> OriginConfig {
    OriginConfig {
        name: "origin".into(),
        size,
        origin: 0,
        access: Access::ReadWrite,
        snapshots,
    }
}

/// A fresh snapshot with chunks of a block, whose store is leg 1.
pub(super) fn snapshot_config(size: u64, store_size: u64) -> SnapshotConfig {
    SnapshotConfig {
        id: 1,
        name: "snapshot".into(),
        size,
        store: 1,
        store_size,
        chunk: BLOCK,
        stored: Stored::Fresh,
        access: Access::ReadWrite,
        merging: false,
        overflow: Overflow::FailWrite,
        notify_at: None,
    }
}

/// An origin of which all is copied, and a snapshot of another one of which half is.
fn origins(disks: &[Arc<dyn Device>], size: u64) -> (Arc<dyn Device>, Arc<dyn Device>) {
    let start = |origin: usize, store: usize| {
        let legs = vec![part(&disks[origin], size), Arc::clone(&disks[store])];
        let config = origin_config(size, vec![Some(snapshot_config(size, 2 * size))]);
        let origin = Origin::new(config, &infos(&legs)).expect("well formed");
        Home::start("origin", origin, legs, LIMIT).expect("it starts")
    };
    let (whole, half) = (start(0, 2), start(1, 3));
    let face = Arc::new(whole.face(0).expect("there"));
    fill(face.as_ref(), (0, size), (MIB, MIB));
    let parts = half.face(0).expect("there");
    fill(&parts, (0, size), (BLOCK, 2 * BLOCK));
    (volume(face), volume(Arc::new(half.face(1).expect("there"))))
}
