//! From a layout to a model.

use std::sync::Arc;

use block::{Device, Driver, Info, Queue};
use dm::table::{Area as At, Layout as Tree, Piece, Table};

use super::loops::Looped;
use super::stateful::{self, Stateful};
use super::volume::{Leaf, Volume};
use crate::disk::drive::{Model, SharedBus};
use crate::disk::link::Linked;
use crate::error::{Error, Kind, Result};
use crate::layout::{Area, Buses, Layout, Segment};

/// A leaf of a table, which knows its size and is never asked.
struct Stub {
    name: String,
    size: u64,
}

impl Device for Stub {
    fn info(&self) -> Info {
        Info::new(self.name.clone(), self.size)
    }

    fn open_queue(&self, _: &Driver) -> block::Result<Box<dyn Queue>> {
        let what = format!("{} is a place in a table", self.name);
        Err(block::Error::new(block::Kind::Unsupported, what))
    }
}

/// A compiled volume, what each device of its table is, and those that have a state.
type Compiled = (Table, Vec<Leaf>, Vec<Box<dyn Stateful>>);

/// An unused stack; the seed decides the phases of platters and shuffled orders.
pub fn build(layout: &Layout, seed: u64) -> Result<Box<dyn Model>> {
    build_behind(layout, seed, |disk| disk)
}

/// The same with something in front of each disk, below the volume: a queue that sorts, as kernels
/// have it there.
pub fn build_behind(
    layout: &Layout,
    seed: u64,
    front: impl Fn(Box<dyn Model>) -> Box<dyn Model>,
) -> Result<Box<dyn Model>> {
    let bus = (layout.buses == Buses::Shared).then(SharedBus::new);
    let mut disks = Vec::new();
    for (number, disk) in (0..).zip(&layout.disks) {
        let seed = seed.wrapping_mul(0x9e37_79b9).wrapping_add(number);
        disks.push(front(disk.build(seed, bus.as_ref())?));
    }
    let (table, leaves, stateful) = table(layout, seed, &disks)?;
    let volume = Volume::new(disks, table, leaves, stateful, layout.mapping_ns);
    let mut model: Box<dyn Model> = Box::new(volume);
    for cost in &layout.loops {
        model = Box::new(Looped::new(model, *cost));
    }
    Ok(match layout.link {
        Some(network) => Box::new(Linked::new(model, network)?),
        None => model,
    })
}

/// Compiles the volume.
fn table(layout: &Layout, seed: u64, disks: &[Box<dyn Model>]) -> Result<Compiled> {
    let refused = |error: dm::Error| Error::new(Kind::Impossible, error.to_string());
    let stub = |name: String, size| -> Arc<dyn Device> { Arc::new(Stub { name, size }) };
    let stubs = disks.iter().enumerate();
    let mut known: Vec<(Arc<dyn Device>, Leaf)> = stubs
        .map(|(index, disk)| {
            (
                stub(format!("disk {index}"), disk.blocks() * 512),
                Leaf::Disk(index),
            )
        })
        .collect();
    let at = |known: &[(Arc<dyn Device>, Leaf)], area: &Area| {
        At::device(Arc::clone(&known[area.disk].0), area.start)
    };
    let (mut pieces, mut stateful) = (Vec::new(), Vec::new());
    for segment in layout.segments(seed) {
        let mut keep = |len: u64, device: dm::Result<Box<dyn Stateful>>| -> Result<Piece> {
            let number = stateful.len();
            stateful.push(device.map_err(refused)?);
            let place = stub(format!("device {number}"), len);
            known.push((Arc::clone(&place), Leaf::Stateful(number)));
            Ok(Piece::linear(len, place, 0))
        };
        pieces.push(match &segment {
            Segment::Linear { len, area, .. } => Piece::of(*len, at(&known, area)),
            Segment::Striped { len, chunk, areas } => {
                let areas = areas.iter().map(|area| at(&known, area)).collect();
                Piece::striped(*len, *chunk, areas)
            }
            Segment::Mirror {
                len,
                region,
                legs,
                log,
            } => keep(*len, stateful::mirror(*len, *region, legs, *log))?,
            Segment::Origin {
                len,
                chunk,
                origin,
                stores,
            } => keep(*len, stateful::origin(*len, *chunk, *origin, stores))?,
            Segment::Raid(array) => keep(array.len, stateful::array(array))?,
        });
    }
    let tree = Tree::new(layout.name.clone(), pieces).map_err(refused)?;
    let table = Table::compile(&tree).map_err(refused)?;
    let leaf = |device: &Arc<dyn Device>| {
        let same = known.iter().find(|(stub, _)| Arc::ptr_eq(stub, device));
        same.expect("the table knows our devices alone").1
    };
    let leaves = table.devices().iter().map(leaf).collect();
    Ok((table, leaves, stateful))
}
