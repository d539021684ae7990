//! Arrays in memory, made without the code that reads them: parity byte by byte.

use std::sync::Arc;

use block::memory::MemoryDevice;
use block::sim::{Image, Random, SimDevice};
use block::{Access, Device, Range};

use super::LIMIT;
use crate::home::Home;
use crate::raid::bitmap::{Bitmap, Dirty, START};
use crate::raid::{
    Array, ArrayConfig, ArrayLeg, Consistency, Described, Extended, FailedDevices, FirstSync,
    Geometry, Keeping, Position, Scheme, Superblock,
};
use crate::table::{Layout, Piece, Table};
use crate::volume::Volume;

pub(super) const CHUNK: u64 = 4096;
pub(super) const REGION: u64 = 8192;
const ROWS: u64 = 24;
const META: usize = 128 << 10;

/// How a leg is out of date.
#[derive(Debug, Clone, Copy)]
pub(super) enum Age {
    /// Its superblock has fewer events.
    Older,
    /// The others' superblocks call it failed, and its own knows nothing of that.
    CalledFailed,
}

/// An array, leg by leg.
pub(super) struct Made {
    geometry: Geometry,
    pub(super) content: Vec<u8>,
    pub(super) data: Vec<Vec<u8>>,
    superblocks: Vec<Superblock>,
    dirty: std::ops::Range<u64>,
    /// Knows of no dirty region.
    blind: Option<usize>,
}

impl Made {
    pub(super) fn new(scheme: Scheme, legs: usize) -> Self {
        let geometry = Geometry::new(scheme, legs, CHUNK, ROWS * CHUNK).expect("it can be");
        let numbers = scheme.md();
        let mut random = Random::new(7);
        let content: Vec<u8> = (0..geometry.size())
            .map(|_| random.number() as u8)
            .collect();
        let mut data = vec![vec![0x5a; (ROWS * CHUNK) as usize]; legs];
        for at in 0..geometry.size() {
            for copy in 0..geometry.copies() {
                let spot = geometry.spot(at, copy);
                data[spot.leg][spot.start as usize] = content[at as usize];
            }
        }
        if let Scheme::Parity(..) = scheme {
            for row in 0..ROWS {
                add_parity(&geometry, row, &mut data);
            }
        }
        let superblock = |leg: usize| Superblock {
            device_count: legs as u32,
            array_position: leg as u32,
            events: 10,
            failed: FailedDevices::default(),
            disk_recovery_offset: Position::End,
            array_resync_offset: Position::End,
            level: numbers.0,
            layout: numbers.1,
            stripe_sectors: if scheme == Scheme::Mirror {
                0
            } else {
                (CHUNK / 512) as u32
            },
            extended: None,
        };
        Self {
            geometry,
            content,
            data,
            superblocks: (0..legs).map(superblock).collect(),
            dirty: 0..0,
            blind: None,
        }
    }

    /// The same with fewer rows, on the same legs: what it will be larger than.
    pub(super) fn cut(&self) -> Self {
        let (scheme, legs) = (self.geometry.scheme(), self.data.len());
        let whole = Self::new(scheme, legs);
        let geometry = Geometry::new(scheme, legs, CHUNK, 14 * CHUNK).expect("it can be");
        Self {
            content: whole.content[..geometry.size() as usize].to_vec(),
            geometry,
            ..whole
        }
    }

    pub(super) fn change(&mut self, mut change: impl FnMut(&mut Superblock)) {
        self.superblocks.iter_mut().for_each(&mut change);
    }

    pub(super) fn change_of(&mut self, leg: usize, change: impl FnOnce(&mut Superblock)) {
        change(&mut self.superblocks[leg]);
    }

    /// Superblocks say that data begin at this sector of each leg.
    pub(super) fn begin_at(&mut self, sector: u64) {
        self.change(|one| {
            one.extended = Some(Extended {
                data_offset: sector,
                ..Extended::at_rest((one.level, one.layout), one.stripe_sectors)
            });
        });
    }

    /// A leg holds something else, and is out of date.
    pub(super) fn outdate(&mut self, leg: usize, how: Age) {
        self.data[leg].iter_mut().for_each(|byte| *byte ^= 0xff);
        match how {
            Age::Older => self.superblocks[leg].events = 8,
            Age::CalledFailed => {
                for other in &mut self.superblocks {
                    if other.array_position as usize != leg {
                        other.events = 11;
                        other.failed.insert(leg);
                    }
                }
            }
        }
    }

    /// A leg holds something else from this byte on.
    pub(super) fn rebuilt_until(&mut self, leg: usize, until: u64) {
        self.data[leg][until as usize..].fill(0xee);
        self.superblocks[leg].disk_recovery_offset = Position::Sector(until / 512);
    }

    /// Parity, or copies, are anything from this byte on.
    pub(super) fn synced_until(&mut self, until: u64) {
        self.change(|one| one.array_resync_offset = Position::Sector(until / 512));
    }

    /// These regions are dirty.
    pub(super) fn dirty(&mut self, regions: std::ops::Range<u64>) {
        self.dirty = regions;
    }

    /// Writes to these regions were cut short: what is not the first copy, or data, is anything.
    pub(super) fn tear(&mut self, regions: std::ops::Range<u64>) {
        self.dirty = regions.clone();
        let (from, to) = (regions.start * REGION, regions.end * REGION);
        for at in (from..to).step_by(CHUNK as usize) {
            match self.geometry.scheme() {
                Scheme::Parity(..) => {
                    let row = self.geometry.row(at / CHUNK);
                    self.data[row.p][at as usize..][..CHUNK as usize].fill(0xee);
                }
                Scheme::Mirror | Scheme::Copies(_) => {
                    for copy in 1..self.geometry.copies() {
                        let spot = self.geometry.spot(at, copy);
                        let start = spot.start as usize;
                        self.data[spot.leg][start..][..CHUNK as usize].fill(0xee);
                    }
                }
            }
        }
    }

    /// A leg's bitmap calls all clean.
    pub(super) fn forget(&mut self, leg: usize) {
        self.blind = Some(leg);
    }

    /// A leg was away when these regions were written, and nothing but bitmaps says so.
    pub(super) fn blind(&mut self, leg: usize, regions: std::ops::Range<u64>) {
        self.dirty = regions.clone();
        self.blind = Some(leg);
        let written = regions.start * REGION..regions.end * REGION;
        if matches!(self.geometry.scheme(), Scheme::Copies(_)) {
            for at in (written.start..written.end).step_by(CHUNK as usize) {
                let spots = (0..self.geometry.copies()).map(|copy| self.geometry.spot(at, copy));
                for spot in spots.filter(|spot| spot.leg == leg) {
                    self.data[leg][spot.start as usize..][..CHUNK as usize].fill(0xee);
                }
            }
        } else {
            self.data[leg][written.start as usize..written.end as usize].fill(0xee);
        }
    }

    pub(super) fn config(&self) -> ArrayConfig {
        let legs = self.data.len();
        let leg = |leg: usize| ArrayLeg {
            id: leg as u64,
            data: Some(2 * leg),
            meta: Some(2 * leg + 1),
            ..ArrayLeg::default()
        };
        ArrayConfig {
            name: "array".into(),
            id: 7,
            size: self.geometry.size(),
            described: Described::new(self.geometry, REGION),
            legs: (0..legs).map(leg).collect(),
            leg_names: (0..legs).map(|leg| format!("leg-{leg}")).collect(),
            access: Access::ReadOnly,
            first: FirstSync::Due,
            consistency: Consistency::Journal,
            keeping: Keeping::Mapper,
        }
    }

    fn meta(&self, leg: usize) -> Vec<u8> {
        let mut bytes = vec![0; META];
        bytes[..512].copy_from_slice(&self.superblocks[leg].encode());
        let size = self.geometry.sync_size();
        let mut dirty = Dirty::clean(REGION, size).expect("few regions");
        let known = if self.blind == Some(leg) {
            0..0
        } else {
            self.dirty.clone()
        };
        for region in known {
            dirty.set(region);
        }
        let bits = Bitmap::new(size, self.superblocks[leg].events, dirty).encode();
        bytes[START as usize..START as usize + bits.len()].copy_from_slice(&bits);
        bytes
    }

    pub(super) fn legs(&self) -> Vec<Arc<dyn Device>> {
        let pair = |leg: usize| -> [Arc<dyn Device>; 2] {
            let name = |what: &str| format!("{what} of leg {leg}");
            let data = MemoryDevice::from_bytes(name("data"), self.data[leg].clone());
            let meta = MemoryDevice::from_bytes(name("meta"), self.meta(leg));
            [Arc::new(data), Arc::new(meta)]
        };
        (0..self.data.len()).flat_map(pair).collect()
    }

    pub(super) fn start(
        config: &ArrayConfig,
        legs: Vec<Arc<dyn Device>>,
    ) -> crate::Result<Home<Array>> {
        let infos: Vec<_> = legs.iter().map(|leg| leg.info()).collect();
        Home::start("array", Array::new(config.clone(), &infos)?, legs, LIMIT)
    }

    pub(super) fn whole(&self) -> Home<Array> {
        Self::start(&self.config(), self.legs()).expect("it starts")
    }

    pub(super) fn without(&self, lost: &[usize]) -> Home<Array> {
        let mut config = self.config();
        for leg in lost {
            config.legs[*leg] = ArrayLeg::default();
        }
        Self::start(&config, self.legs()).expect("it starts")
    }

    /// Some bytes of each leg cannot be read.
    pub(super) fn with_bad_places(&self, bad: &[Range]) -> Home<Array> {
        let mut legs = self.legs();
        for (leg, bad) in bad.iter().enumerate() {
            let (whole, len) = (Arc::clone(&legs[2 * leg]), self.data[leg].len() as u64);
            let pieces = vec![
                Piece::linear(bad.start(), Arc::clone(&whole), 0),
                Piece::error(bad.len(), "a bad place"),
                Piece::linear(len - bad.end(), whole, bad.end()),
            ];
            let layout = Layout::new("leg", pieces).expect("well formed");
            let table = Table::compile(&layout).expect("compiles");
            legs[2 * leg] = Arc::new(Volume::new("leg", Access::ReadOnly, table));
        }
        Self::start(&self.config(), legs).expect("it starts")
    }

    /// The data of a leg cannot be read.
    pub(super) fn with_failing(&self, bad: usize) -> Home<Array> {
        let mut legs = self.legs();
        let device = SimDevice::of_image("bad", Image::from_bytes(&self.data[bad]));
        device.disk().vanish();
        legs[2 * bad] = Arc::new(device);
        Self::start(&self.config(), legs).expect("it starts")
    }
}

/// The parities of a row, as the definition says it.
fn add_parity(geometry: &Geometry, row: u64, data: &mut [Vec<u8>]) {
    let who = geometry.row(row);
    for at in row * CHUNK..(row + 1) * CHUNK {
        let at = at as usize;
        let (mut p, mut q) = (0, 0);
        for index in 0..who.data_count() {
            let leg = who.leg(index);
            p ^= data[leg][at];
            if who.q.is_some() {
                q ^= times_power_of_2(data[leg][at], who.power(leg));
            }
        }
        data[who.p][at] = p;
        if let Some(leg) = who.q {
            data[leg][at] = q;
        }
    }
}

/// `byte` doubled `power` times in the field of 256 elements with the polynomial 0x11d.
fn times_power_of_2(byte: u8, power: usize) -> u8 {
    (0..power).fold(byte, |byte, _| {
        (byte << 1) ^ if byte >> 7 == 1 { 0x1d } else { 0 }
    })
}
