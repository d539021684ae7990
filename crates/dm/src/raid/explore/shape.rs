//! What the array of one history is made of.
//!
//! Chunks have a few sectors and regions a few chunks, or less than one, so that everything that an
//! array does in pieces has several. Disk `2 * leg` has the data of a leg, the next one its
//! superblock and bitmap.

use block::sim::{Discards, Image, Random};
use block::{Access, Info, Range};

use super::fault::SeededFault;
use super::keeps::Keeps;
use crate::explore::SECTOR;
use crate::raid::bitmap::{START, len_for};
use crate::raid::journal::{Head, MARK_AT};
use crate::raid::update::{members, only};
use crate::raid::view::LegSet;
use crate::raid::{
    Array, ArrayConfig, ArrayLeg, Consistency, Described, FirstSync, Geometry, Keeping, LegContent,
    Parity, Rotation, Scheme,
};

/// Metadata are whole blocks of so many bytes.
const BLOCK: u64 = 4096;
/// Bytes of a journal: a head, and few entries, so that there are many generations.
pub(super) const JOURNAL: u64 = 8 * BLOCK;

/// See the module.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) geometry: Geometry,
    /// Bytes of a region.
    pub(super) region: u64,
    pub(super) discards: Discards,
    /// What legs that nobody has used hold.
    pub(super) first: FirstSync,
    /// Whether rows are journaled, as long as nobody says otherwise.
    pub(super) consistency: Consistency,
    /// How legs keep what is said of the array.
    pub(super) keeps: Keeps,
    pub(super) fault: Option<SeededFault>,
}

impl Shape {
    pub(super) fn chosen(random: &mut Random, fault: Option<SeededFault>) -> Self {
        let (scheme, legs) = level(random);
        let chunk = SECTOR << random.below(3).min(random.below(3));
        let rows = 8 + random.below(5);
        let is_uneven = random.chance(1, 8) && chunk > SECTOR;
        let leg_size = rows * chunk + if is_uneven { SECTOR } else { 0 };
        let geometry = Geometry::new(scheme, legs, chunk, leg_size).expect("it can be");
        let region = SECTOR << (1 + random.below(3));
        Self {
            geometry,
            region,
            discards: [Discards::Keep, Discards::ReadZeroes][random.index(2)],
            first: [FirstSync::Due, FirstSync::Assumed][random.index(2)],
            consistency: match random.below(4) {
                _ if fault == Some(SeededFault::HoleNotExcused) => Consistency::None,
                0 => Consistency::None,
                1 => Consistency::Auto,
                _ => Consistency::Journal,
            },
            keeps: Keeps::Mapper,
            fault,
        }
    }

    pub(super) fn legs(&self) -> usize {
        self.geometry.legs()
    }

    /// All legs.
    pub(super) fn all(&self) -> LegSet {
        only(self.legs()) - 1
    }

    /// Sectors of the array.
    pub(super) fn sectors(&self) -> u64 {
        self.geometry.size() / SECTOR
    }

    /// Bytes that are kept in sync, and their regions.
    pub(super) fn sync_size(&self) -> u64 {
        self.geometry.sync_size()
    }

    pub(super) fn regions(&self) -> u64 {
        self.sync_size().div_ceil(self.region)
    }

    /// Bytes of the metadata of a leg.
    pub(super) fn meta_len(&self) -> u64 {
        let journal = if self.is_parity() { JOURNAL } else { 0 };
        self.journal_start() + journal
    }

    /// Where the journal begins in them.
    pub(super) fn journal_start(&self) -> u64 {
        (START + len_for(self.regions())).next_multiple_of(BLOCK)
    }

    /// Whatever journal stands there counts: bitmaps have its mark.
    pub(super) fn mark_as_heads_say(&self, images: &mut [Image]) {
        let start = self.journal_start();
        for leg in 0..self.legs() {
            let meta = &mut images[2 * leg + 1];
            if meta.size() <= start {
                continue;
            }
            let head = Head::decode(&meta.bytes(Range::new(start, BLOCK)));
            if let Some(head) = head {
                let mark = head.session.mark.to_le_bytes();
                meta.write(START + MARK_AT as u64, &mark);
            }
        }
    }

    pub(super) fn is_parity(&self) -> bool {
        matches!(self.geometry.scheme(), Scheme::Parity(..))
    }

    /// Sectors of what is kept in sync.
    pub(super) fn places(&self) -> usize {
        self.sync_size().div_ceil(SECTOR) as usize
    }

    /// Where a sector lies in what is kept in sync, in sectors.
    pub(super) fn place(&self, sector: u64) -> usize {
        let byte = if self.is_parity() {
            self.geometry.spot(sector * SECTOR, 0).start
        } else {
            sector * SECTOR
        };
        (byte / SECTOR) as usize
    }

    pub(super) fn region_of(&self, place: usize) -> usize {
        (place as u64 * SECTOR / self.region) as usize
    }

    /// The legs that hold a sector.
    pub(super) fn holders(&self, sector: u64) -> LegSet {
        let copies = 0..self.geometry.copies();
        copies.fold(0, |set, copy| {
            set | only(self.geometry.spot(sector * SECTOR, copy).leg)
        })
    }

    /// Whether all sectors are there without these legs.
    pub(super) fn survives(&self, lost: LegSet) -> bool {
        match self.geometry.scheme() {
            Scheme::Parity(parity, _) => lost.count_ones() as usize <= parity.count(),
            Scheme::Mirror | Scheme::Copies(_) => {
                (0..self.sectors()).all(|sector| self.holders(sector) & !lost != 0)
            }
        }
    }

    /// The array of these legs, of which some are to be rebuilt.
    pub(super) fn config(
        &self,
        (there, rebuild): (LegSet, LegSet),
        access: Access,
        (consistency, keeping): (Consistency, Keeping),
    ) -> ArrayConfig {
        let leg = |leg: usize| match there & only(leg) {
            0 => ArrayLeg::default(),
            _ => ArrayLeg {
                data: Some(2 * leg),
                meta: Some(2 * leg + 1),
                content: match rebuild & only(leg) {
                    0 => LegContent::Kept,
                    _ => LegContent::Rebuild,
                },
                ..ArrayLeg::default()
            },
        };
        let legs = 0..self.legs();
        ArrayConfig {
            name: "array".into(),
            id: 7,
            size: self.geometry.size(),
            described: Described::new(self.geometry, self.region),
            legs: legs.clone().map(leg).collect(),
            leg_names: legs.map(|leg| format!("leg-{leg}")).collect(),
            access,
            first: self.first,
            consistency,
            keeping,
        }
    }

    pub(super) fn array(
        &self,
        legs: (LegSet, LegSet),
        (access, consistency, keeping): (Access, Consistency, Keeping),
        infos: &[Info],
    ) -> Result<Array, String> {
        let config = self.config(legs, access, (consistency, keeping));
        Array::new(config, infos).map_err(|error| error.to_string())
    }

    /// Some legs, one at least, and seldom more than the array may lose.
    pub(super) fn some_legs(&self, random: &mut Random) -> LegSet {
        let first = only(random.index(self.legs()));
        let both = first | only(random.index(self.legs()));
        if self.survives(both) && random.chance(1, 2) {
            return both;
        }
        first
    }

    /// What of a range from `start` on is in the array.
    pub(super) fn range(&self, start: u64, len: u64) -> Range {
        let len = len.min(self.sectors() - start);
        assert!(len > 0, "it begins in the array");
        Range::new(start * SECTOR, len * SECTOR)
    }
}

/// A level, and how many legs.
fn level(random: &mut Random) -> (Scheme, usize) {
    let parity = |parity: Parity, random: &mut Random| {
        let fits: Vec<Rotation> = Rotation::all().filter(|one| one.suits(parity)).collect();
        Scheme::Parity(parity, fits[random.index(fits.len())])
    };
    match random.below(8) {
        0 | 1 => (Scheme::Mirror, 2 + random.index(2)),
        2..=4 => (parity(Parity::One, random), 3 + random.index(3)),
        5 | 6 => (parity(Parity::Two, random), 4 + random.index(3)),
        _ => (Scheme::near_copies(2), 3 + random.index(2)),
    }
}

/// The places of a set of legs, as people count them.
pub(super) fn named(legs: LegSet) -> String {
    let names: Vec<String> = members(legs).map(|leg| leg.to_string()).collect();
    names.join(", ")
}
