//! md's write-intent bitmap: which regions of an array may differ from leg to leg.
//!
//! A region is marked before something in it is written, durably, and taken off some time after
//! all legs have it. So after a crash only marked regions must be made equal again, and a leg that
//! was away for a while lacks no more than what was marked since.
//!
//! ```text
//!     0  magic "bitm"    4  version    8  UUID:16, zeros from device-mapper
//!    24  events         32  events when a region was last taken off
//!    40  sectors that are kept in sync        48  state (2: out of date, 4: a write failed)
//!    52  bytes of a region                    56  seconds between two looks
//!    60  writes that may be behind            64  sectors that are reserved for it
//!    68  nodes of a cluster                   72  its name:64
//!   256  a bit for each region, the lowest first: 1 = dirty                all little-endian
//! ```
//!
//! With device-mapper it begins at byte [`START`] of each metadata leg; md's own superblocks say
//! where. What is kept in sync are the bytes of a leg, but of copies of chunks (level 10) those of
//! the array. Bits behind the last region mean nothing: the kernel leaves ones there up to the end
//! of a sector, and so does [`Bitmap::encode`].
//!
//! Not read: bitmaps of clusters (version 5), those in the byte order of whoever wrote them
//! (version 3), and lockless ones (version 6), which keep a byte for each region. The facts are
//! those of `drivers/md/md-bitmap.c`. A bitmap costs a bit of memory for each region: 32 MiB at
//! most.

use block::Range;

use crate::{Error, Kind, Result};

/// Where the bitmap begins on a metadata leg of device-mapper's.
pub const START: u64 = 4096;
/// Regions at most: 2^21 is what LVM2 makes, md's own are not bounded but by 32 bits.
pub const REGIONS_MAX: u64 = 1 << 28;

const HEADER: usize = 256;
const SECTOR: u64 = 512;
const MAGIC: u32 = u32::from_le_bytes(*b"bitm");
const VERSION: u32 = 4;
/// State: what it says is older than the array.
const STALE: u32 = 2;
/// State: writing it failed.
const WRITE_FAILED: u32 = 4;
/// What the kernel takes: more writes are not counted.
const WRITE_BEHIND_MAX: u32 = (1 << 14) - 1;
/// Seconds between two looks, where nobody said how many.
const DAEMON_SLEEP: u32 = 5;

/// How many bytes from its start on a bitmap of so many regions takes, as whole sectors.
pub const fn len_for(regions: u64) -> u64 {
    assert!(regions <= REGIONS_MAX, "no bitmap has so many regions");
    (HEADER as u64 + regions.div_ceil(8)).next_multiple_of(SECTOR)
}

/// A bitmap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bitmap {
    /// The array that it is of; zeros with device-mapper.
    pub uuid: [u8; 16],
    /// The array's events when it was written: fewer than the superblock's, and it is too old.
    pub events: u64,
    /// The array's events when a region was last taken off: a leg with fewer lacks more than what
    /// is dirty.
    pub events_cleared: u64,
    /// Bytes that are kept in sync.
    pub sync_size: u64,
    /// It says itself that it is out of date, or that writing it failed.
    pub is_stale: bool,
    /// Seconds between two looks for regions that can be taken off.
    pub daemon_sleep: u32,
    /// Writes that may not be on legs that are written late.
    pub write_behind: u32,
    /// Sectors that are kept free for it; 0: not said.
    pub sectors_reserved: u32,
    /// The regions.
    pub dirty: Dirty,
}

/// Regions, each dirty or clean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirty {
    region: u64,
    regions: u64,
    words: Vec<u64>,
    count: u64,
}

impl Bitmap {
    /// A new one for an array, whose regions are these.
    ///
    /// # Panics
    ///
    /// There are not as many regions as the size needs.
    pub fn new(sync_size: u64, events: u64, dirty: Dirty) -> Self {
        assert!(sync_size.is_multiple_of(SECTOR), "sizes are whole sectors");
        assert_eq!(sync_size.div_ceil(dirty.region), dirty.regions);
        Self {
            uuid: [0; 16],
            events,
            events_cleared: events,
            sync_size,
            is_stale: false,
            daemon_sleep: DAEMON_SLEEP,
            write_behind: 0,
            sectors_reserved: 0,
            dirty,
        }
    }

    /// Reads one from its start on; `None`: nothing but zeros, so there is none.
    ///
    /// # Errors
    ///
    /// It is not one, one that is not understood, or it is cut off.
    pub fn decode(bytes: &[u8]) -> Result<Option<Self>> {
        let Some(header) = bytes.first_chunk::<HEADER>() else {
            let what = format!("{} bytes hold no bitmap", bytes.len());
            return Err(damaged(what));
        };
        if header.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let (magic, version) = (word(header, 0), word(header, 4));
        if magic != MAGIC {
            return Err(damaged(format!("no bitmap begins with {magic:#010x}")));
        }
        if version != VERSION {
            let what = format!("its bitmap has version {version}; only {VERSION} is understood");
            return Err(damaged(what));
        }
        let (sectors, region) = (long(header, 40), u64::from(word(header, 52)));
        let Some(sync_size) = sectors.checked_mul(SECTOR) else {
            return Err(damaged(format!("its bitmap is of {sectors} sectors")));
        };
        let dirty = Dirty::load(region, sync_size, &bytes[HEADER..])?;
        let state = word(header, 48);
        let bitmap = Self {
            uuid: header[8..24].try_into().expect("sixteen bytes"),
            events: long(header, 24),
            events_cleared: long(header, 32),
            sync_size,
            is_stale: state & (STALE | WRITE_FAILED) != 0,
            daemon_sleep: word(header, 56),
            write_behind: word(header, 60),
            sectors_reserved: word(header, 64),
            dirty,
        };
        match bitmap.nonsense() {
            Some(what) => Err(damaged(format!("its bitmap says {what}"))),
            None => Ok(Some(bitmap)),
        }
    }

    /// How many sectors are kept in sync, and bytes of a region, by the first 512 bytes of a
    /// bitmap, of which nothing else is looked at.
    ///
    /// # Errors
    ///
    /// They are cut off.
    pub fn shape(bytes: &[u8]) -> Result<(u64, u64)> {
        let Some(header) = bytes.first_chunk::<HEADER>() else {
            let what = format!("{} bytes hold no bitmap", bytes.len());
            return Err(damaged(what));
        };
        Ok((long(header, 40), u64::from(word(header, 52))))
    }

    /// What is written from its start on: whole sectors, [`len_for`] so many regions.
    ///
    /// # Panics
    ///
    /// It says what decoding refuses.
    pub fn encode(&self) -> Vec<u8> {
        assert_eq!(self.nonsense(), None, "what is written can be read");
        let len = len_for(self.dirty.regions) as usize;
        let mut bytes = vec![0xff; len];
        bytes[..HEADER].fill(0);
        let state = if self.is_stale { STALE } else { 0 };
        let region = self.dirty.region as u32;
        let sectors = self.sync_size / SECTOR;
        put(&mut bytes, 0, &MAGIC.to_le_bytes());
        put(&mut bytes, 4, &VERSION.to_le_bytes());
        put(&mut bytes, 8, &self.uuid);
        put(&mut bytes, 24, &self.events.to_le_bytes());
        put(&mut bytes, 32, &self.events_cleared.to_le_bytes());
        put(&mut bytes, 40, &sectors.to_le_bytes());
        put(&mut bytes, 48, &state.to_le_bytes());
        put(&mut bytes, 52, &region.to_le_bytes());
        put(&mut bytes, 56, &self.daemon_sleep.to_le_bytes());
        put(&mut bytes, 60, &self.write_behind.to_le_bytes());
        put(&mut bytes, 64, &self.sectors_reserved.to_le_bytes());
        self.dirty.store(&mut bytes[HEADER..]);
        bytes
    }

    /// Whether it can be relied on by an array whose superblocks have so many events. If not, every
    /// region must be taken for a dirty one.
    pub fn is_current(&self, events: u64) -> bool {
        !self.is_stale && self.events >= events
    }

    /// What of it cannot be.
    fn nonsense(&self) -> Option<String> {
        if self.sync_size.div_ceil(self.dirty.region) != self.dirty.regions {
            return Some(format!("that {} bytes have other regions", self.sync_size));
        }
        if self.daemon_sleep == 0 {
            return Some("that nobody looks for regions that are clean".into());
        }
        let behind = self.write_behind;
        (behind > WRITE_BEHIND_MAX).then(|| format!("that {behind} writes may be behind"))
    }
}

impl Dirty {
    /// Regions of `region` bytes each for `size` bytes, all clean.
    ///
    /// # Errors
    ///
    /// Regions cannot be of that size, or they would be too many.
    pub fn clean(region: u64, size: u64) -> Result<Self> {
        let regions = Self::count_for(region, size)?;
        Ok(Self {
            region,
            regions,
            words: vec![0; regions.div_ceil(64) as usize],
            count: 0,
        })
    }

    /// The same, all dirty.
    ///
    /// # Errors
    ///
    /// As with [`Dirty::clean`].
    pub fn full(region: u64, size: u64) -> Result<Self> {
        Ok(Self::clean(region, size)?.filled())
    }

    /// No regions.
    pub fn none() -> Self {
        Self {
            region: SECTOR,
            regions: 0,
            words: Vec::new(),
            count: 0,
        }
    }

    /// The same regions, all clean.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self {
            words: vec![0; self.words.len()],
            count: 0,
            ..*self
        }
    }

    /// The same regions, all dirty.
    #[must_use]
    pub fn filled(&self) -> Self {
        let mut dirty = self.emptied();
        dirty.words.fill(u64::MAX);
        dirty.mend();
        dirty
    }

    /// The same regions for another size; those that come are clean.
    ///
    /// # Errors
    ///
    /// They would be too many.
    pub fn resized(&self, size: u64) -> Result<Self> {
        let mut other = Self::clean(self.region, size)?;
        let words = other.words.iter_mut().zip(&self.words);
        words.for_each(|(to, from)| *to = *from);
        other.mend();
        Ok(other)
    }

    /// Bytes of a region.
    pub fn region(&self) -> u64 {
        self.region
    }

    /// How many regions there are.
    pub fn regions(&self) -> u64 {
        self.regions
    }

    /// How many of them are dirty.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All of them, 64 in a word, the lowest first.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Whether a region is dirty.
    pub fn is_dirty(&self, region: u64) -> bool {
        assert!(region < self.regions, "there are fewer regions");
        self.words[(region / 64) as usize] >> (region % 64) & 1 == 1
    }

    /// Whether any byte of a range lies in a dirty region.
    ///
    /// # Panics
    ///
    /// The range goes on behind the last region.
    pub fn overlaps(&self, range: Range) -> bool {
        if range.is_empty() {
            return false;
        }
        let (first, behind) = self.regions_of(range);
        self.next_before(first, behind).is_some()
    }

    /// Whether all bytes of a range lie in dirty regions.
    ///
    /// # Panics
    ///
    /// The range goes on behind the last region.
    pub fn is_all_dirty(&self, range: Range) -> bool {
        let (first, behind) = self.regions_of(range);
        (first..behind).all(|region| self.is_dirty(region))
    }

    /// The first region of a range that is not empty, and the one behind its last one.
    ///
    /// # Panics
    ///
    /// The range goes on behind the last region.
    pub fn regions_of(&self, range: Range) -> (u64, u64) {
        let (first, behind) = (
            range.start() / self.region,
            range.end().div_ceil(self.region),
        );
        assert!(behind <= self.regions, "a range lies in regions");
        (first, behind)
    }

    /// The first dirty region at or behind one.
    pub fn next(&self, region: u64) -> Option<u64> {
        self.next_before(region, self.regions)
    }

    /// The same, in front of another one.
    fn next_before(&self, region: u64, behind: u64) -> Option<u64> {
        assert!(behind <= self.regions, "there are fewer regions");
        if region >= behind {
            return None;
        }
        let (first, last) = ((region / 64) as usize, ((behind - 1) / 64) as usize);
        let head = self.words[first] & u64::MAX << (region % 64);
        let rest = self.words[first + 1..=last].iter().copied();
        let mut words = std::iter::once(head).chain(rest).enumerate();
        let (index, word) = words.find(|(_, word)| *word != 0)?;
        let found = (first + index) as u64 * 64 + u64::from(word.trailing_zeros());
        (found < behind).then_some(found)
    }

    /// Makes a region dirty.
    pub fn set(&mut self, region: u64) {
        if !self.is_dirty(region) {
            self.words[(region / 64) as usize] |= 1 << (region % 64);
            self.count += 1;
        }
        debug_assert!(self.count <= self.regions);
    }

    /// Makes a region clean.
    pub fn clear(&mut self, region: u64) {
        if self.is_dirty(region) {
            self.words[(region / 64) as usize] &= !(1 << (region % 64));
            self.count -= 1;
        }
    }

    /// Makes dirty what is dirty in another one. `false`: that has other regions, and nothing was
    /// done.
    #[must_use]
    pub fn merge(&mut self, other: &Self) -> bool {
        if (self.region, self.regions) != (other.region, other.regions) {
            return false;
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
        self.mend();
        true
    }

    /// How many regions that is, if they can be.
    fn count_for(region: u64, size: u64) -> Result<u64> {
        if !region.is_power_of_two() || !(SECTOR..1 << 32).contains(&region) {
            let what = format!("regions of {region} bytes; they are a power of two, from 512 on");
            return Err(Error::new(Kind::InvalidLayout, what));
        }
        let regions = size.div_ceil(region);
        if regions > REGIONS_MAX {
            let what = format!("{regions} regions; make them larger than {region} bytes");
            return Err(Error::new(Kind::TooComplex, what));
        }
        Ok(regions)
    }

    fn load(region: u64, size: u64, bits: &[u8]) -> Result<Self> {
        let regions = Self::count_for(region, size)
            .map_err(|error| damaged(format!("its bitmap has {error}")))?;
        // Nothing is allocated for bits that are not there.
        let Some(bits) = bits.get(..regions.div_ceil(8) as usize) else {
            let len = bits.len();
            let what = format!("its bitmap of {regions} regions is cut off behind {len} bytes");
            return Err(damaged(what));
        };
        let mut dirty = Self::clean(region, size)?;
        for (word, bytes) in dirty.words.iter_mut().zip(bits.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(whole);
        }
        dirty.mend();
        Ok(dirty)
    }

    /// Bits of regions that are not there keep what they are.
    fn store(&self, bits: &mut [u8]) {
        let whole = (self.regions / 8) as usize;
        let bytes = self.words.iter().flat_map(|word| word.to_le_bytes());
        for (index, (to, byte)) in bits.iter_mut().zip(bytes).take(whole + 1).enumerate() {
            let mask = if index < whole {
                0
            } else {
                u8::MAX << (self.regions % 8)
            };
            *to = byte | *to & mask;
        }
    }

    /// Forgets regions that are not there, and counts the others.
    fn mend(&mut self) {
        if let Some(last) = self.words.last_mut() {
            *last &= u64::MAX >> (self.regions.next_multiple_of(64) - self.regions);
        }
        let ones = self.words.iter().map(|word| u64::from(word.count_ones()));
        self.count = ones.sum();
        debug_assert!(self.count <= self.regions);
    }
}

fn damaged(what: String) -> Error {
    Error::new(Kind::Damaged, what)
}

fn word(bytes: &[u8; HEADER], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8; HEADER], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

#[cfg(test)]
mod tests;
