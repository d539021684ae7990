//! Reads or writes as fast as it can, and prints requests per second:
//! `load PLACE read|write SIZE DEPTH SECONDS [seq|random]`.
//!
//! A place is a volume, opened as a program does that links the library (`VG/LV@IMAGE`); a piece
//! of the image below it (`START+LENGTH@IMAGE`, in bytes), where the same loop over the same bytes
//! shows what a volume costs; or an export of an NBD server (`nbd://…`, `nbd+unix://…`), which our
//! own client asks for many requests at once. `ASHLAR_IO=threads|uring` demands an engine.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ashlar::activate::{Activator, MissingPolicy, Options};
use ashlar::host::{DeviceSource, Host};
use ashlar::scan;
use block::file::{Access as FileAccess, FileDevice};
use block::{Buffer, Device, Driver, Durability, Request};
use dm::volume::Access;
use nbd::client::NbdDevice;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [place, operation, size, depth, seconds, rest @ ..] = arguments.as_slice() else {
        return Err("usage: load PLACE read|write SIZE DEPTH SECONDS [seq|random]".into());
    };
    let (size, depth): (u64, u64) = (size.parse()?, depth.parse()?);
    let sequential = rest.first().is_some_and(|order| order == "seq");
    let writes = operation == "write";
    let Place {
        device,
        start,
        length,
    } = open(place, writes)?;
    let blocks = length / size;
    if blocks == 0 {
        return Err("it is smaller than one request".into());
    }
    let driver = Driver::new()?;
    let mut queue = device.open_queue(&driver)?;
    let (mut state, mut next) = (0x9e37_79b9_7f4a_7c15_u64, 0);
    let mut submit = |queue: &mut dyn block::Queue, tag, buffer| {
        let block = if sequential {
            next += 1;
            next % blocks
        } else {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % blocks
        };
        let at = start + block * size;
        queue.submit(if writes {
            Request::write(tag, at, Durability::Volatile, buffer)
        } else {
            Request::read(tag, at, buffer)
        });
    };
    for tag in 0..depth {
        submit(&mut *queue, tag, Buffer::zeroed(usize::try_from(size)?));
    }
    let mut done = Vec::new();
    let mut count = 0;
    let begin = Instant::now();
    let end = Duration::from_secs_f64(seconds.parse()?);
    // A busy machine may take longer for the first answer.
    while begin.elapsed() < end || count == 0 {
        queue.poll(&mut done);
        if done.is_empty() {
            driver.wait(&mut [], None)?;
        }
        for answer in done.drain(..) {
            answer.result?;
            count += 1;
            submit(&mut *queue, answer.tag, answer.buffer);
        }
    }
    let rate = f64::from(count) / begin.elapsed().as_secs_f64();
    println!(
        "{rate:.1} IOPS {:.0} MiB/s",
        rate * size as f64 / 1_048_576.0
    );
    Ok(())
}

/// A device, and which of its bytes are meant.
struct Place {
    device: Arc<dyn Device>,
    /// Where they begin, and how many they are.
    start: u64,
    length: u64,
}

impl Place {
    fn whole(device: Arc<dyn Device>) -> Self {
        let length = device.info().size;
        Self {
            device,
            start: 0,
            length,
        }
    }
}

fn open(place: &str, writes: bool) -> Result<Place, Box<dyn Error>> {
    // Names of groups and volumes, and numbers, have no such character.
    let Some((what, image)) = place.split_once('@').filter(|_| !place.contains("://")) else {
        return Ok(Place::whole(Arc::new(NbdDevice::open(place)?)));
    };
    if let Some((start, length)) = what.split_once('+') {
        let access = if writes {
            FileAccess::ReadWrite
        } else {
            FileAccess::ReadOnly
        };
        let device = FileDevice::open(image, access)?;
        return Ok(Place {
            device: Arc::new(device),
            start: start.parse()?,
            length: length.parse()?,
        });
    }
    let host = Host::from_environment()?;
    let source = DeviceSource::choose(&[image], None)?;
    let scan = scan::scan(&host, &source, &scan::Options::default())?;
    let (group, lv) = scan.find_volume(what)?;
    let access = if writes {
        Access::ReadWrite
    } else {
        Access::ReadOnly
    };
    let missing = MissingPolicy::default();
    let options = Options { access, missing };
    let activated = Activator::new(&scan, &host).activate(group, lv, options)?;
    Ok(Place::whole(Arc::new(activated.volume)))
}
