//! One disk, linear and striped volumes on slow disks, in a small chart.
//!
//! The disks are in memory and slowed down to the same rate, so that the chart shows what the
//! layout does and not what this machine's disk does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use block::memory::MemoryDevice;
use block::{BlockingDevice, Device};
use dm::delay::{Delay, Slowness};
use dm::home::Home;
use dm::table::{Area, Layout, Piece, Table};
use dm::volume::{Access, Volume};

use super::world::World;
use crate::args::Error;
use crate::demo::story::Story;

const MIB: u64 = 1 << 20;
/// What each disk does in a second.
const RATE_MIB: u64 = 40;
/// What each request waits.
const LATENCY: Duration = Duration::from_micros(200);
const CHUNK: u64 = 64 << 10;
/// How long a disk may take to start.
const START_MAX: Duration = Duration::from_secs(10);
/// Columns of the longest bar.
const COLUMNS: f64 = 40.0;
/// Bytes of a request of the client.
const REQUEST: usize = 4 << 20;

/// A bar of the chart.
#[derive(Debug, Clone)]
pub(in crate::demo) struct Bar {
    /// What was measured.
    pub(in crate::demo) name: String,
    /// MiB read in a second.
    pub(in crate::demo) read: f64,
    /// MiB written in a second.
    pub(in crate::demo) write: f64,
}

/// Measures, and draws.
pub(super) fn chart(story: &mut Story<'_>, world: &World<'_>) -> Result<Vec<Bar>, Error> {
    story.say(&format!(
        "Disks in memory, slowed down to {RATE_MIB} MiB/s and {} µs for each request; one client, \
         one block after\nthe other:",
        LATENCY.as_micros()
    ))?;
    let size = world.choose(24, 6) * MIB;
    let mut bars = Vec::new();
    for (name, disks, is_striped) in [
        ("one disk", 1, false),
        ("linear over 3", 3, false),
        ("striped over 3", 3, true),
        ("striped over 6", 6, true),
    ] {
        world.interrupt.check()?;
        let volume = volume(name, disks, is_striped, size)?;
        bars.push(measure(name, &volume)?);
    }
    let rates = bars.iter().flat_map(|bar| [bar.read, bar.write]);
    let largest = rates.fold(1.0, f64::max);
    for bar in &bars {
        for (what, rate) in [("read", bar.read), ("write", bar.write)] {
            let name = if what == "read" { &*bar.name } else { "" };
            let blocks = "█".repeat((rate / largest * COLUMNS).round().max(1.0) as usize);
            story.say(&format!("{name:15} {what:5} {blocks} {rate:.0} MiB/s"))?;
        }
    }
    Ok(bars)
}

/// A volume of `size` bytes over so many slow disks.
fn volume(name: &str, disks: u64, is_striped: bool, size: u64) -> Result<Volume, Error> {
    let failed = |error: dm::Error| Error::failed(error.to_string());
    let share = size / disks;
    let slowness = Slowness {
        read: LATENCY,
        write: LATENCY,
        flush: LATENCY,
        bytes_per_second: Some(RATE_MIB * MIB),
    };
    let disk = |number: u64| -> Result<Arc<dyn Device>, Error> {
        let name = format!("slow{number}");
        let memory: Arc<dyn Device> = Arc::new(MemoryDevice::new(name.clone(), share));
        let machine = Delay::new(name.clone(), slowness);
        let home = Home::start(name, machine, vec![memory], START_MAX).map_err(failed)?;
        Ok(Arc::new(home.face(0).expect("a delay has one face")))
    };
    let disks: Vec<_> = (0..disks).map(disk).collect::<Result<_, _>>()?;
    let pieces = if is_striped {
        let areas = disks.into_iter().map(|disk| Area::device(disk, 0));
        vec![Piece::striped(size, CHUNK, areas.collect())]
    } else {
        let pieces = disks.into_iter().map(|disk| Piece::linear(share, disk, 0));
        pieces.collect()
    };
    let layout = Layout::new(name, pieces).map_err(failed)?;
    let table = Table::compile(&layout).map_err(failed)?;
    Ok(Volume::new(name, Access::ReadWrite, table))
}

fn measure(name: &str, volume: &Volume) -> Result<Bar, Error> {
    let failed = |error: block::Error| Error::failed(error.to_string());
    let size = volume.info().size;
    let mut io = BlockingDevice::open(volume).map_err(failed)?;
    let mut buffer = vec![0xa5; REQUEST];
    let mut rates = [0.0; 2];
    for (is_write, rate) in [true, false].into_iter().zip(&mut rates) {
        let start = Instant::now();
        let mut at = 0;
        while at < size {
            let len = (size - at).min(REQUEST as u64) as usize;
            let bytes = &mut buffer[..len];
            let done = if is_write {
                io.write_at(bytes, at)
            } else {
                io.read_at(bytes, at)
            };
            done.map_err(failed)?;
            at += len as u64;
        }
        *rate = size as f64 / MIB as f64 / start.elapsed().as_secs_f64();
    }
    let [write, read] = rates;
    Ok(Bar {
        name: name.to_owned(),
        read,
        write,
    })
}
