//! What an array is made of, as whoever activates it knows it.

use block::{Access, Info};

use super::assembly::{Assembly, Described};
use super::geometry::{Geometry, Scheme};
use super::keeping::Keeping;
use crate::legs::info_over;
use crate::{Error, Kind, Result};

/// Regions at most: what the kernel's bitmaps of arrays have.
pub(super) const REGIONS_MAX: u64 = 1 << 21;

/// What is written at once of superblocks and bitmaps, and suits every disk.
pub(super) const BLOCK: u64 = 4096;

/// One leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArrayLeg {
    /// Which device of the home's holds its data; `None`: it is missing.
    pub data: Option<usize>,
    /// Which one holds its superblock and bitmap.
    pub meta: Option<usize>,
    /// What tells it from others when the array changes while it is used.
    pub id: u64,
    /// What is known of it before its superblock is read.
    pub content: LegContent,
    /// Whether it is read.
    pub reads: LegReads,
}

/// What a leg holds at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LegContent {
    /// What its superblock says.
    #[default]
    Kept,
    /// Nothing: it is new.
    Rebuild,
}

/// Whether a leg is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LegReads {
    /// Like the others.
    #[default]
    Equally,
    /// Only where no other one can be: it is slow ("write-mostly").
    Last,
}

/// An array to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayConfig {
    /// What people know it by.
    pub name: String,
    /// What tells it from other arrays, whichever of its legs are there.
    pub id: u64,
    /// Its size in bytes; what its legs have room for may be more.
    pub size: u64,
    /// What its description says.
    pub described: Described,
    /// Its legs, in order.
    pub legs: Vec<ArrayLeg>,
    /// What the legs are called, in order.
    pub leg_names: Vec<String>,
    /// Whether it is written.
    pub access: Access,
    /// What is so where nobody has used it before.
    pub first: FirstSync,
    /// How rows of parity stay consistent.
    pub consistency: Consistency,
    /// How its legs keep what is said of it.
    pub keeping: Keeping,
}

/// How rows of parity stay consistent when power is cut and a leg is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Consistency {
    /// By a journal as long as a leg is away, or being filled: any cut would be enough then.
    #[default]
    Auto,
    /// What is written of a row is durable in a journal before.
    Journal,
    /// Not at all: what the lost leg held of a row that was being written may be wrong.
    None,
}

impl Consistency {
    /// The one that people call this: `auto`, `journal` or `none`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "journal" => Some(Self::Journal),
            "none" => Some(Self::None),
            _ => None,
        }
    }
}

/// Whether legs that nobody has used go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FirstSync {
    /// They are made to.
    #[default]
    Due,
    /// They are said to (`--nosync`).
    Assumed,
}

impl ArrayConfig {
    /// Its arithmetic.
    pub fn geometry(&self) -> &Geometry {
        &self.described.geometry
    }

    /// The same without the legs that a reshape has taken away, if this is believed.
    #[must_use]
    pub fn as_believed(mut self, assembly: &Assembly) -> Self {
        if assembly.reshape.is_none() {
            self.leave();
        }
        self
    }

    /// The array without the legs that a reshape has taken away.
    pub(super) fn leave(&mut self) {
        let geometry = *self.geometry();
        self.legs.truncate(geometry.legs());
        self.leg_names.truncate(geometry.legs());
        self.described.leaving = 0;
        self.size = self.size.min(geometry.size());
    }

    /// Bytes that superblock and bitmap take on each metadata device; no more than an array may
    /// have that is served.
    pub(super) fn record_len(&self) -> u64 {
        let region = self.described.region_size.max(1);
        let regions = self.geometry().sync_size().div_ceil(region);
        let regions = regions.min(REGIONS_MAX);
        let len = self.keeping.len(regions);
        match self.keeping {
            Keeping::Mapper => len.next_multiple_of(BLOCK),
            // What is behind it may be anything.
            Keeping::Md(_) => len,
        }
    }

    /// Bytes of the shortest data device.
    pub(super) fn room(&self, devices: &[Info]) -> u64 {
        let legs = self.legs.iter().filter_map(|leg| leg.data);
        let room = legs.map(|device| devices[device].size).min();
        room.expect("some leg is there")
    }

    /// Whether this can be served by `devices`.
    pub(super) fn validate(&self, devices: &[Info]) -> Result<()> {
        let refuse = |kind, what: String| Err(Error::new(kind, format!("{}: {what}", self.name)));
        let geometry = self.geometry();
        let needed = geometry.legs() + self.described.leaving;
        if self.legs.len() != needed || self.leg_names.len() != self.legs.len() {
            let what = format!("{} legs of {needed}", self.legs.len());
            return refuse(Kind::InvalidLayout, what);
        }
        // What legs hold that are taken away has no place any more when they are.
        if self.size == 0 || self.size > geometry.size() && self.described.leaving == 0 {
            let what = format!("{} bytes, with room for {}", self.size, geometry.size());
            return refuse(Kind::InvalidLayout, what);
        }
        let legs = self.legs.iter();
        let used: Vec<usize> = legs
            .flat_map(|leg| [leg.data, leg.meta])
            .flatten()
            .collect();
        for (place, device) in used.iter().enumerate() {
            if *device >= devices.len() || used[..place].contains(device) {
                let what = format!("device {device} is not there, or used twice");
                return refuse(Kind::InvalidLayout, what);
            }
        }
        let region = self.described.region_size;
        if self.legs.iter().any(|leg| leg.meta.is_some()) {
            let is_possible = region > 0;
            let regions = geometry.sync_size().div_ceil(region.max(1));
            if !is_possible || regions > REGIONS_MAX {
                let what = format!("regions of {region} bytes; {REGIONS_MAX} of them work");
                return refuse(Kind::TooComplex, what);
            }
        }
        if self.legs.iter().all(|leg| leg.data.is_none()) {
            let what = "all its legs are missing; bring one back".to_owned();
            return refuse(Kind::Device, what);
        }
        for (leg, name) in self.legs.iter().zip(&self.leg_names) {
            let Some(info) = leg.data.map(|device| &devices[device]) else {
                continue;
            };
            if info.size < geometry.leg_size() {
                let what = format!(
                    "leg {name} has {} bytes, not {}",
                    info.size,
                    geometry.leg_size()
                );
                return refuse(Kind::DeviceTooSmall, what);
            }
            let block = u64::from(info.logical_block);
            if !self.size.is_multiple_of(block) || !geometry.chunk().is_multiple_of(block) {
                let what = format!("leg {name} has blocks of {block} bytes");
                return refuse(Kind::Misaligned, what);
            }
        }
        Ok(())
    }

    /// What it says about itself.
    pub(super) fn info(&self, devices: &[Info]) -> Info {
        let legs = self.legs.iter().filter_map(|leg| leg.data);
        let legs: Vec<&Info> = legs.map(|device| &devices[device]).collect();
        let mut info = info_over(&self.name, self.size, &legs);
        info.read_only = self.access == Access::ReadOnly;
        let geometry = self.geometry();
        if geometry.scheme() != Scheme::Mirror {
            let row = geometry.chunk().saturating_mul(geometry.data_legs() as u64);
            info.minimum_io = u32::try_from(geometry.chunk()).unwrap_or(0);
            info.optimal_io = u32::try_from(row).unwrap_or(0);
        }
        info
    }
}
