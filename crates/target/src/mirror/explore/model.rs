//! What each sector may hold, whatever was lost.
//!
//! Versions of a sector count up with each write that is issued; version 0 was there at first. A
//! sector may hold any version from the last one that is certainly durable to the last one that
//! was issued. A version that was read after a cut is the one, as long as no leg is lost.

use block::Range;

/// Bytes of a sector.
pub(super) const SECTOR: u64 = 512;

/// One sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Sector {
    /// The version that is certain.
    floor: u32,
    /// The last one that was answered.
    done: u32,
    /// The last one that was issued.
    issued: u32,
    /// The next one to be issued.
    next: u32,
    /// What had been issued when the power was cut last.
    at_cut: u32,
    /// What was read after a cut, and up to which version that excludes all others.
    read: Option<(u32, u32)>,
    /// Whether a write is in flight.
    busy: bool,
}

/// All sectors.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Model {
    sectors: Vec<Sector>,
    /// Whether what was read after a cut stays.
    pub(super) is_sticky: bool,
}

impl Model {
    pub(super) fn new(count: u64) -> Self {
        let sector = Sector {
            next: 1,
            ..Sector::default()
        };
        Self {
            sectors: vec![sector; count as usize],
            is_sticky: true,
        }
    }

    pub(super) fn is_busy(&self, range: Range) -> bool {
        sectors_of(range).any(|sector| self.sectors[sector].busy)
    }

    /// The bytes of the next versions of a range; they count as issued.
    pub(super) fn issue(&mut self, range: Range) -> Vec<u8> {
        let mut bytes = Vec::new();
        for index in sectors_of(range) {
            let sector = &mut self.sectors[index];
            sector.busy = true;
            sector.issued = sector.next;
            sector.next += 1;
            bytes.extend(encode(index, sector.issued));
        }
        bytes
    }

    /// A write was answered.
    pub(super) fn written(&mut self, range: Range, durable: bool, done: bool) {
        for index in sectors_of(range) {
            let sector = &mut self.sectors[index];
            sector.busy = false;
            if done {
                sector.done = sector.issued;
            }
            if done && durable {
                sector.floor = sector.issued;
            }
        }
    }

    /// What a flush that begins now covers.
    pub(super) fn answered(&self) -> Vec<u32> {
        self.sectors.iter().map(|sector| sector.done).collect()
    }

    /// A flush was done that covers these.
    pub(super) fn flushed(&mut self, covered: &[u32]) {
        for (sector, version) in self.sectors.iter_mut().zip(covered) {
            sector.floor = sector.floor.max(*version);
        }
    }

    /// The power was cut: any version that is not excluded may be there.
    pub(super) fn cut(&mut self) {
        for sector in &mut self.sectors {
            sector.done = sector.floor;
            sector.at_cut = sector.issued;
            sector.busy = false;
        }
    }

    /// A leg is gone that may have been the one that was read.
    pub(super) fn forget_reads(&mut self) {
        for sector in &mut self.sectors {
            sector.read = None;
        }
    }

    /// Judges what was read. `since` is what was answered when the read began. What was not
    /// written since the cut stays the same from now on.
    pub(super) fn judge(
        &mut self,
        range: Range,
        bytes: &[u8],
        since: &[u32],
    ) -> Result<(), String> {
        for (index, bytes) in sectors_of(range).zip(bytes.chunks(SECTOR as usize)) {
            let sector = &mut self.sectors[index];
            let Some(version) = decode(index, bytes) else {
                return Err(format!("sector {index} holds what was never written there"));
            };
            let (from, to) = (
                since[index].max(sector.floor.min(sector.at_cut)),
                sector.issued,
            );
            let other = |(read, until)| version <= until && version != read;
            if !(from..=to).contains(&version) || sector.read.is_some_and(other) {
                let read = sector.read;
                return Err(format!(
                    "sector {index} holds version {version}, not {from} to {to}, read {read:?}"
                ));
            }
            if self.is_sticky && sector.issued <= sector.at_cut {
                sector.read = Some((version, sector.at_cut));
            }
        }
        Ok(())
    }
}

fn sectors_of(range: Range) -> std::ops::Range<usize> {
    (range.start() / SECTOR) as usize..(range.end() / SECTOR) as usize
}

/// A sector's bytes.
pub(super) fn encode(sector: usize, version: u32) -> [u8; SECTOR as usize] {
    let mut bytes = [0; SECTOR as usize];
    bytes[..4].copy_from_slice(&(sector as u32 + 1).to_le_bytes());
    bytes[4..8].copy_from_slice(&version.to_le_bytes());
    bytes
}

/// The version that a sector's bytes are of.
fn decode(sector: usize, bytes: &[u8]) -> Option<u32> {
    let word = |at: usize| bytes[at..at + 4].try_into().map(u32::from_le_bytes).ok();
    (word(0)? == sector as u32 + 1).then(|| word(4))?
}
