//! What the metadata of a group say of one volume, and the disks that hold it.
//!
//! A volume is linear, striped, or an array. Its legs lie on data disks, and what is said of them
//! on metadata disks, each of which has a number: data disks come first. Who changes a volume says
//! which legs it has then, and on which disks.

use block::sim::Image;
use block::{Access, Range};

use super::super::shape::JOURNAL;
use crate::explore::{NEVER, SECTOR, encode};
use crate::raid::bitmap::{Bitmap, Dirty, START};
use crate::raid::rows;
use crate::raid::superblock::Superblock;
use crate::raid::update::{only, roles};
use crate::raid::view::LegSet;
use crate::raid::{
    ArrayConfig, ArrayLeg, Consistency, Described, FirstSync, Geometry, Keeping, LegContent,
    LegReads, Scheme,
};

/// Data disks, and metadata disks.
pub(super) const DATA: usize = 10;
pub(super) const METAS: usize = 16;
/// Metadata are whole blocks of so many bytes.
const BLOCK: u64 = 4096;
/// Bytes of a metadata disk: superblock, bitmap and a journal of few entries.
pub(super) const META_LEN: u64 = START + BLOCK + JOURNAL;
/// Events of an array that was used, and of one that was on the same extents before.
const EVENTS: u64 = 10;
const STALE_EVENTS: u64 = 40;

/// What a volume is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Its legs in turns, in chunks of so many bytes; of one leg it is linear.
    Plain(u64),
    /// Copies, with a log.
    Mirror,
    Array(Geometry),
}

/// A leg of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leg {
    /// Its disk.
    pub(super) data: usize,
    /// The number of the disk with its metadata, among those.
    pub(super) meta: usize,
    /// Whether it is to be filled (`REBUILD`).
    pub(super) rebuild: bool,
    /// Whether it is read like the others.
    pub(super) reads: LegReads,
    /// Whether the array goes on without it (`--trackchanges`).
    pub(super) is_aside: bool,
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) form: Form,
    pub(super) legs: Vec<Leg>,
    /// Bytes of a leg.
    pub(super) leg_size: u64,
    /// Bytes of a region.
    pub(super) region: u64,
}

impl Leg {
    pub(super) fn new(data: usize, meta: usize) -> Self {
        Self {
            data,
            meta,
            rebuild: false,
            reads: LegReads::Equally,
            is_aside: false,
        }
    }

    /// One that is to be filled.
    pub(super) fn filled(data: usize, meta: usize) -> Self {
        let rebuild = true;
        Self {
            rebuild,
            ..Self::new(data, meta)
        }
    }
}

impl Text {
    /// Sectors of the volume.
    pub(super) fn sectors(&self) -> u64 {
        match self.form {
            Form::Plain(_) => self.leg_size / SECTOR * self.legs.len() as u64,
            Form::Mirror => self.leg_size / SECTOR,
            Form::Array(geometry) => geometry.size() / SECTOR,
        }
    }

    pub(super) fn geometry(&self) -> Option<Geometry> {
        match self.form {
            Form::Plain(_) | Form::Mirror => None,
            Form::Array(geometry) => Some(geometry),
        }
    }

    pub(super) fn is_parity(&self) -> bool {
        let scheme = self.geometry().map(|geometry| geometry.scheme());
        matches!(scheme, Some(Scheme::Parity(..)))
    }

    /// The disks of all legs, a bit each.
    pub(super) fn disks(&self) -> LegSet {
        self.legs.iter().fold(0, |set, leg| set | only(leg.data))
    }

    /// Disks of legs that nobody counts on: they are to be filled, or set aside.
    pub(super) fn unfilled(&self) -> LegSet {
        let is = |leg: &&Leg| leg.rebuild || leg.is_aside;
        self.legs
            .iter()
            .filter(is)
            .fold(0, |set, leg| set | only(leg.data))
    }

    /// Whether this one is larger, and what comes begins in the middle of a region.
    pub(super) fn is_half_grown_by(&self, new: &Self) -> bool {
        new.leg_size > self.leg_size && !self.leg_size.is_multiple_of(self.region)
    }

    /// Disks of legs that are set aside and are to go on with the others, if the text says this.
    pub(super) fn merged_by(&self, new: &Self) -> LegSet {
        let merged = self.legs.iter().zip(&new.legs);
        let merged = merged.filter(|(old, new)| old.is_aside && !new.is_aside);
        merged.fold(0, |set, (_, leg)| set | only(leg.data))
    }

    /// The disks of a leg, by their numbers among all.
    pub(super) fn meta_disk(leg: &Leg) -> usize {
        DATA + leg.meta
    }

    /// Whether all sectors are there without these data disks.
    pub(super) fn survives(&self, lost: LegSet) -> bool {
        let is_lost = |leg: usize| lost & only(self.legs[leg].data) != 0;
        match self
            .geometry()
            .map(|geometry| (geometry, geometry.scheme()))
        {
            None => self.disks() & lost == 0,
            Some((_, Scheme::Parity(parity, _))) => {
                (0..self.legs.len()).filter(|leg| is_lost(*leg)).count() <= parity.count()
            }
            Some((geometry, _)) => (0..self.sectors()).all(|sector| {
                let mut copies = 0..geometry.copies();
                copies.any(|copy| !is_lost(geometry.spot(sector * SECTOR, copy).leg))
            }),
        }
    }

    /// The pieces of a range of a plain volume: which disk, where, and how many bytes.
    pub(super) fn pieces(&self, range: Range) -> Vec<(usize, Range)> {
        let Form::Plain(chunk) = self.form else {
            unreachable!("it is plain");
        };
        let count = self.legs.len() as u64;
        let (mut at, mut pieces) = (range.start(), Vec::new());
        while at < range.end() {
            let (number, within) = (at / chunk, at % chunk);
            let len = (chunk - within).min(range.end() - at);
            let leg = self.legs[(number % count) as usize];
            let start = number / count * chunk + within;
            pieces.push((leg.data, Range::new(start, len)));
            at += len;
        }
        pieces
    }

    /// The places of a sector: disk and byte.
    fn spots(&self, sector: u64) -> Vec<(usize, u64)> {
        match self.form {
            Form::Plain(_) => {
                let pieces = self.pieces(Range::new(sector * SECTOR, SECTOR));
                pieces
                    .into_iter()
                    .map(|(disk, at)| (disk, at.start()))
                    .collect()
            }
            Form::Mirror => {
                let disks = self.legs.iter().map(|leg| leg.data);
                disks.map(|disk| (disk, sector * SECTOR)).collect()
            }
            Form::Array(geometry) => {
                let spots = (0..geometry.copies()).map(|copy| geometry.spot(sector * SECTOR, copy));
                spots
                    .map(|spot| (self.legs[spot.leg].data, spot.start))
                    .collect()
            }
        }
    }

    /// What others left in the sectors from this one on: nothing that goes together. Each is told
    /// disk, byte and bytes.
    pub(super) fn leftovers(&self, from: u64, mut put: impl FnMut(usize, u64, &[u8])) {
        for sector in from..self.sectors() {
            for (copy, (disk, at)) in self.spots(sector).into_iter().enumerate() {
                let version = if copy == 0 { NEVER } else { 0 };
                put(disk, at, &encode(sector as usize, version));
            }
        }
    }

    /// Puts version 0 of all sectors on its legs, and parity.
    pub(super) fn fill(&self, data: &mut [Vec<u8>]) {
        for sector in 0..self.sectors() {
            for (disk, at) in self.spots(sector) {
                let at = at as usize;
                data[disk][at..at + SECTOR as usize].copy_from_slice(&encode(sector as usize, 0));
            }
        }
        let (Some(geometry), true) = (self.geometry(), self.is_parity()) else {
            return;
        };
        let (chunk, pool) = (geometry.chunk(), block::BufferPool::new(0));
        for number in 0..geometry.leg_size() / chunk {
            let (row, at) = (geometry.row(number), (number * chunk) as usize);
            let place = at..at + chunk as usize;
            let bytes = |leg: usize| -> &[u8] { &data[self.legs[leg].data][place.clone()] };
            let sums = rows::sums(&pool, row, bytes, (roles(row).1, chunk as usize));
            for (leg, sum) in sums {
                data[self.legs[leg].data][place.clone()].copy_from_slice(&sum);
            }
        }
    }

    /// The metadata of the leg in this place of an array in sync, used before by this one or, if
    /// they are stale, by another one of one leg more.
    pub(super) fn meta(&self, place: usize, is_stale: bool) -> Image {
        let mut image = Image::new(META_LEN);
        let Some(geometry) = self.geometry() else {
            return image;
        };
        let own = Superblock::in_sync(&geometry, geometry.size(), place);
        let superblock = if is_stale {
            Superblock {
                events: STALE_EVENTS,
                device_count: own.device_count + 1,
                ..own
            }
        } else {
            Superblock {
                events: EVENTS,
                ..own
            }
        };
        let size = geometry.sync_size();
        let clean = Dirty::clean(self.region, size).expect("few regions");
        image.write(0, &superblock.encode());
        let bitmap = Bitmap {
            events_cleared: superblock.events - 1,
            ..Bitmap::new(size, superblock.events, clean)
        };
        image.write(START, &bitmap.encode());
        image
    }

    /// The array, without these data disks.
    pub(super) fn config(
        &self,
        away: LegSet,
        (access, consistency): (Access, Consistency),
    ) -> ArrayConfig {
        let geometry = self.geometry().expect("it is an array");
        let leg = |leg: &Leg| {
            // What tells a leg from others is its volume, and so the disk.
            let id = 100 + leg.data as u64;
            if leg.is_aside || away & only(leg.data) != 0 {
                return ArrayLeg {
                    id,
                    ..ArrayLeg::default()
                };
            }
            ArrayLeg {
                data: Some(leg.data),
                meta: Some(Self::meta_disk(leg)),
                id,
                content: if leg.rebuild {
                    LegContent::Rebuild
                } else {
                    LegContent::Kept
                },
                reads: leg.reads,
            }
        };
        ArrayConfig {
            name: "array".into(),
            id: 7,
            size: geometry.size(),
            described: Described::new(geometry, self.region),
            legs: self.legs.iter().map(leg).collect(),
            leg_names: self
                .legs
                .iter()
                .map(|leg| format!("disk-{}", leg.data))
                .collect(),
            access,
            first: FirstSync::Due,
            consistency,
            keeping: Keeping::Mapper,
        }
    }

    /// Bytes of each disk that the volume may reach.
    pub(super) fn reach(&self) -> Vec<u64> {
        let mut sizes = vec![0; DATA + METAS];
        for leg in &self.legs {
            sizes[leg.data] = self.leg_size;
            sizes[Self::meta_disk(leg)] = META_LEN;
        }
        sizes
    }
}
