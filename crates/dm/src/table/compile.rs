//! From the tree to the flat table.
//!
//! Each layout is compiled once, however often it is used, and slices of it are cut from the
//! result. A stripe stays one segment as long as each leg is one run; where a leg breaks on a row
//! boundary the segment is cut there, and a row in which a leg breaks is written out chunk by
//! chunk. Pieces that go on where the one before ends merge, also across layouts and stripes.
//!
//! The work is counted: each piece looked at costs one (a stripe one per leg, and per leg of
//! striped legs), and more than [`PIECES_MAX`] is refused, so that a hostile tree costs bounded
//! time and memory.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use block::Device;

use super::layout::{Area, Layout, Piece, PieceKind};
use super::lookup::Table;
use super::place::{Place, Stripe};
use crate::{Error, Kind, Result};

/// How many pieces one table may be compiled from, before merging. LVM2 gets slow to use long
/// before; a table of this many segments holds 24 MiB.
pub const PIECES_MAX: usize = 1 << 20;

/// Runs one after the other, by their ends.
#[derive(Debug, Default)]
struct Flat {
    ends: Vec<u64>,
    places: Vec<Place>,
}

struct Compiler<'layout> {
    root: &'layout Layout,
    budget: usize,
    devices: Vec<Arc<dyn Device>>,
    device_sizes: Vec<u64>,
    device_index: HashMap<*const (), u32>,
    reasons: Vec<Arc<str>>,
    reason_index: HashMap<Arc<str>, u32>,
    stripes: Vec<Stripe>,
    done: HashMap<*const Layout, Rc<Flat>>,
}

impl Table {
    /// Compiles a layout. Fails where a device is too small, where boundaries do not fit its
    /// logical block, and where the layout is larger than [`PIECES_MAX`].
    pub fn compile(layout: &Arc<Layout>) -> Result<Self> {
        let mut compiler = Compiler {
            root: layout,
            budget: PIECES_MAX,
            devices: Vec::new(),
            device_sizes: Vec::new(),
            device_index: HashMap::new(),
            reasons: Vec::new(),
            reason_index: HashMap::new(),
            stripes: Vec::new(),
            done: HashMap::new(),
        };
        let flat = compiler.layout(layout)?;
        compiler.done.clear();
        let flat = Rc::into_inner(flat).expect("only the cache shared it");
        let table = Self {
            layout: Arc::clone(layout),
            ends: flat.ends.into(),
            segments: flat.places.into(),
            stripes: compiler.stripes.into(),
            devices: compiler.devices.into(),
            reasons: compiler.reasons.into(),
        };
        let table = table.pruned();
        table.check();
        table.check_alignment()?;
        Ok(table)
    }
}

impl Compiler<'_> {
    fn layout(&mut self, layout: &Arc<Layout>) -> Result<Rc<Flat>> {
        let key = Arc::as_ptr(layout);
        if let Some(flat) = self.done.get(&key) {
            return Ok(Rc::clone(flat));
        }
        let mut flat = Flat::default();
        for piece in layout.pieces() {
            self.piece(&mut flat, piece)?;
        }
        let flat = Rc::new(flat);
        self.done.insert(key, Rc::clone(&flat));
        Ok(flat)
    }

    fn piece(&mut self, flat: &mut Flat, piece: &Piece) -> Result<()> {
        match &piece.kind {
            PieceKind::Linear(area) => self.area(flat, area, piece.len),
            PieceKind::Striped { areas, .. } if areas.len() == 1 => {
                self.area(flat, &areas[0], piece.len)
            }
            PieceKind::Striped { chunk, areas } => self.striped(flat, piece.len, *chunk, areas),
            PieceKind::Zero => self.push(flat, piece.len, Place::Zero),
            PieceKind::Error(why) => {
                let reason = self.reason(Arc::clone(why));
                self.push(flat, piece.len, Place::Error { reason })
            }
        }
    }

    fn area(&mut self, flat: &mut Flat, area: &Area, len: u64) -> Result<()> {
        match area {
            Area::Device { device, start } => {
                let place = self.device(device, *start, len)?;
                self.push(flat, len, place)
            }
            Area::Layout { layout, start } => {
                let inner = self.layout(layout)?;
                self.slice(flat, &inner, *start, len)
            }
            Area::Missing(what) => {
                let reason = self.reason(format!("missing device {what}").into());
                self.push(flat, len, Place::Error { reason })
            }
        }
    }

    /// Appends `len` bytes of `from`, from byte `start`.
    fn slice(&mut self, flat: &mut Flat, from: &Flat, start: u64, len: u64) -> Result<()> {
        let end = start + len;
        let mut at = start;
        let mut index = from.ends.partition_point(|end| *end <= start);
        while at < end {
            let stop = from.ends[index].min(end);
            self.push(flat, stop - at, from.place(index, at))?;
            at = stop;
            index += 1;
        }
        Ok(())
    }

    fn striped(&mut self, flat: &mut Flat, len: u64, chunk: u64, areas: &[Area]) -> Result<()> {
        let count = areas.len();
        let share = len / count as u64;
        let mut legs = Vec::with_capacity(count);
        for area in areas {
            let mut leg = Flat::default();
            self.area(&mut leg, area, share)?;
            legs.push(leg);
        }
        let mut cursors = vec![0; count];
        let mut at = 0;
        while at < share {
            let mut run = share;
            for (leg, cursor) in legs.iter().zip(&mut cursors) {
                while leg.ends[*cursor] <= at {
                    *cursor += 1;
                }
                run = run.min(leg.ends[*cursor]);
            }
            let rows = (run - at) / chunk;
            if rows > 0 {
                let places = legs.iter().zip(&cursors);
                let places = places.map(|(leg, cursor)| leg.place(*cursor, at)).collect();
                let stripe = Stripe::new(chunk, places, &self.stripes);
                self.stripe(flat, rows * stripe.width(), stripe)?;
                at += rows * chunk;
            } else {
                for leg in &legs {
                    self.slice(flat, leg, at, chunk)?;
                }
                at += chunk;
            }
        }
        Ok(())
    }

    /// Appends `len` bytes of a stripe, from its first byte.
    fn stripe(&mut self, flat: &mut Flat, len: u64, stripe: Stripe) -> Result<()> {
        self.spend(stripe.leaf_count)?;
        let first = stripe.legs[0];
        let stateless = matches!(first, Place::Zero | Place::Error { .. });
        if stateless && stripe.legs.iter().all(|leg| *leg == first) {
            return self.push(flat, len, first);
        }
        let index = self.stripes.len() as u32;
        self.stripes.push(stripe);
        let place = Place::Stripe {
            stripe: index,
            skip: 0,
        };
        self.push(flat, len, place)?;
        let used = flat.places.last().copied();
        if !matches!(used, Some(Place::Stripe { stripe, .. }) if stripe == index) {
            // It went on where the one before ended.
            self.stripes.pop();
        }
        Ok(())
    }

    /// Appends one run, or extends the last one.
    fn push(&mut self, flat: &mut Flat, len: u64, place: Place) -> Result<()> {
        self.spend(1)?;
        let end = flat.size() + len;
        if let Some(last) = flat.places.last() {
            let start = flat.start(flat.places.len() - 1);
            if self.continues(last.advance(flat.size() - start), place) {
                *flat.ends.last_mut().expect("as many ends as places") = end;
                return Ok(());
            }
        }
        flat.ends.push(end);
        flat.places.push(place);
        Ok(())
    }

    /// Whether the bytes at `next` are those that follow when a run ends at `end`.
    fn continues(&self, end: Place, next: Place) -> bool {
        if end == next {
            return true;
        }
        match (end, next) {
            (
                Place::Stripe { stripe, skip: end },
                Place::Stripe {
                    stripe: other,
                    skip,
                },
            ) => {
                let next = &self.stripes[other as usize];
                self.stripes[stripe as usize].continues(end, next, skip)
            }
            _ => false,
        }
    }

    fn device(&mut self, device: &Arc<dyn Device>, offset: u64, len: u64) -> Result<Place> {
        let key = Arc::as_ptr(device).cast::<()>();
        let index = if let Some(index) = self.device_index.get(&key) {
            *index
        } else {
            let index = self.devices.len() as u32;
            self.devices.push(Arc::clone(device));
            self.device_sizes.push(device.info().size);
            self.device_index.insert(key, index);
            index
        };
        let size = self.device_sizes[index as usize];
        if offset + len > size {
            let what = format!(
                "{} uses {} up to byte {}, but it has only {size}; is it truncated?",
                self.root.name(),
                device.info().name,
                offset + len
            );
            return Err(Error::new(Kind::DeviceTooSmall, what));
        }
        Ok(Place::Device {
            device: index,
            offset,
        })
    }

    fn reason(&mut self, why: Arc<str>) -> u32 {
        let next = self.reasons.len() as u32;
        let index = *self.reason_index.entry(Arc::clone(&why)).or_insert(next);
        if index == next {
            self.reasons.push(why);
        }
        index
    }

    fn spend(&mut self, cost: usize) -> Result<()> {
        let Some(rest) = self.budget.checked_sub(cost) else {
            let name = self.root.name();
            let what =
                format!("{name} has more than {PIECES_MAX} pieces; merge or move some segments");
            return Err(Error::new(Kind::TooComplex, what));
        };
        self.budget = rest;
        Ok(())
    }
}

impl Flat {
    fn size(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    fn start(&self, index: usize) -> u64 {
        index.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    /// Where byte `at` is, which lies in run `index`.
    fn place(&self, index: usize, at: u64) -> Place {
        self.places[index].advance(at - self.start(index))
    }
}
