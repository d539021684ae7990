//! An array of one history that becomes another one: what it is, will be, and is made of.

use block::sim::{Image, Random};
use block::{Access, Range};

use crate::explore::{SECTOR, encode};
use crate::raid::assembly::Reshape;
use crate::raid::bitmap::{Bitmap, Dirty, START, len_for};
use crate::raid::rows;
use crate::raid::superblock::{Position, Superblock};
use crate::raid::update::{all_legs, only, roles};
use crate::raid::view::LegSet;
use crate::raid::{
    ArrayConfig, ArrayLeg, Consistency, Described, FirstSync, Geometry, Keeping, Parity, Rotation,
    Scheme,
};

const BLOCK: u64 = 4096;
/// Bytes of a journal: a head, and few entries.
const JOURNAL: u64 = 8 * BLOCK;

/// See the module. Disk `2 * leg` has the data of a leg, the next one its metadata.
#[derive(Debug, Clone, Copy)]
pub(super) struct Becoming {
    pub(super) from: Geometry,
    pub(super) to: Geometry,
    pub(super) backwards: bool,
    /// Bytes of each leg beside its data.
    pub(super) room: u64,
    pub(super) region: u64,
    pub(super) consistency: Consistency,
}

/// In what an array that becomes another one differs from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    More,
    Fewer,
    Layout,
    Chunks,
}

/// What arrays become, by name.
const KINDS: [(&str, Kind); 4] = [
    ("more legs", Kind::More),
    ("fewer legs", Kind::Fewer),
    ("another layout", Kind::Layout),
    ("other chunks", Kind::Chunks),
];
const LEVELS: [(&str, Parity); 2] = [("raid5", Parity::One), ("raid6", Parity::Two)];

/// All reshapes, by their names.
pub fn reshapes() -> Vec<String> {
    let names = |(level, _)| KINDS.map(|(kind, _)| format!("{level} to {kind}"));
    LEVELS.into_iter().flat_map(names).collect()
}

/// The reshape of a name.
pub(super) fn named(name: &str) -> Option<(Parity, Kind)> {
    let (level, kind) = name.split_once(" to ")?;
    let (_, parity) = LEVELS.into_iter().find(|(known, _)| *known == level)?;
    let (_, kind) = KINDS.into_iter().find(|(known, _)| *known == kind)?;
    Some((parity, kind))
}

impl Becoming {
    /// By chance; what is wanted, if something is.
    pub(super) fn chosen(wanted: Option<(Parity, Kind)>, random: &mut Random) -> Self {
        let parity = [Parity::One, Parity::Two][random.index(2)];
        let parity = wanted.map_or(parity, |(parity, _)| parity);
        let fits: Vec<Rotation> = Rotation::all().filter(|one| one.suits(parity)).collect();
        let rotation = fits[random.index(fits.len())];
        let legs = parity.count() + 2 + random.index(2);
        let chunk = SECTOR << random.below(2);
        let (mut before, mut more, mut after, mut longer) = (legs, 0, rotation, chunk);
        let kind = [Kind::More, Kind::More, Kind::Layout, Kind::Chunks][random.index(4)];
        match wanted.map_or(kind, |(_, kind)| kind) {
            Kind::More => more = 1,
            Kind::Fewer => before += 1,
            Kind::Layout => after = fits[random.index(fits.len())],
            Kind::Chunks => longer = [chunk * 2, chunk / 2][random.index(2)].max(SECTOR),
        }
        let whole = chunk.max(longer);
        let leg_size = (6 + random.below(6)) * whole;
        let geometry = |rotation, legs, chunk| {
            let scheme = Scheme::Parity(parity, rotation);
            Geometry::new(scheme, legs, chunk, leg_size).expect("it can be")
        };
        Self {
            from: geometry(rotation, before, chunk),
            to: geometry(after, legs + more, longer),
            backwards: before > legs || more == 0 && random.chance(1, 2),
            room: (1 + random.below(3)) * whole,
            region: SECTOR << (1 + random.below(3)),
            // Without a journal no leg is lost.
            consistency: match random.below(4) {
                0 => Consistency::None,
                _ => Consistency::Journal,
            },
        }
    }

    pub(super) fn legs(&self) -> usize {
        self.from.legs().max(self.to.legs())
    }

    pub(super) fn all(&self) -> LegSet {
        all_legs(self.legs())
    }

    /// Sectors that both arrays have.
    pub(super) fn sectors(&self) -> u64 {
        self.from.size().min(self.to.size()) / SECTOR
    }

    pub(super) fn survives(&self, lost: LegSet) -> bool {
        lost.count_ones() as usize <= self.to.scheme().redundancy(self.to.legs())
    }

    /// Where the journal begins in metadata.
    pub(super) fn journal_start(&self) -> u64 {
        let regions = self.to.sync_size().div_ceil(self.region);
        (START + len_for(regions)).next_multiple_of(BLOCK)
    }

    fn data_start(&self) -> u64 {
        if self.backwards { 0 } else { self.room }
    }

    /// What nobody has moved yet.
    fn reshape(&self) -> Reshape {
        Reshape::begun((self.from, self.to), self.room, self.backwards)
    }

    /// The disks of an array that holds version 0 of all sectors, and begins to become another one.
    pub(super) fn images(&self) -> Vec<Image> {
        let len = (self.to.leg_size() + self.room) as usize;
        let mut legs = vec![vec![0x5a; len]; self.legs()];
        let start = self.data_start();
        for sector in 0..self.from.size() / SECTOR {
            let spot = self.from.spot(sector * SECTOR, 0);
            let at = (start + spot.start) as usize;
            legs[spot.leg][at..at + SECTOR as usize].copy_from_slice(&encode(sector as usize, 0));
        }
        let (chunk, pool) = (self.from.chunk(), block::BufferPool::new(0));
        for number in 0..self.from.leg_size() / chunk {
            let (row, at) = (self.from.row(number), (start + number * chunk) as usize);
            let place = at..at + chunk as usize;
            let data = |leg: usize| -> &[u8] { &legs[leg][place.clone()] };
            let wanted = (roles(row).1, chunk as usize);
            for (leg, sum) in rows::sums(&pool, row, data, wanted) {
                legs[leg][place.clone()].copy_from_slice(&sum);
            }
        }
        let pair = |(leg, data): (usize, Vec<u8>)| {
            [Image::from_bytes(&data), Image::from_bytes(&self.meta(leg))]
        };
        legs.into_iter().enumerate().flat_map(pair).collect()
    }

    fn meta(&self, leg: usize) -> Vec<u8> {
        let at_rest = Superblock::in_sync(&self.to, self.from.size(), 0);
        let superblock = Superblock {
            array_position: leg as u32,
            events: 3,
            array_resync_offset: Position::End,
            ..self.reshape().said_by(&at_rest)
        };
        let mut bytes = vec![0; (self.journal_start() + JOURNAL) as usize];
        bytes[..512].copy_from_slice(&superblock.encode());
        let size = self.to.sync_size();
        let clean = Dirty::clean(self.region, size).expect("few regions");
        let bits = Bitmap::new(size, superblock.events, clean).encode();
        bytes[START as usize..START as usize + bits.len()].copy_from_slice(&bits);
        bytes
    }

    /// The array with these legs.
    pub(super) fn config(&self, there: LegSet, access: Access) -> ArrayConfig {
        let leg = |leg: usize| match there & only(leg) {
            0 => ArrayLeg::default(),
            _ => ArrayLeg {
                data: Some(2 * leg),
                meta: Some(2 * leg + 1),
                ..ArrayLeg::default()
            },
        };
        let legs = 0..self.legs();
        ArrayConfig {
            name: "array".into(),
            id: 7,
            size: self.to.size(),
            described: Described::new(self.to, self.region)
                .with_leaving(self.legs() - self.to.legs()),
            legs: legs.clone().map(leg).collect(),
            leg_names: legs.map(|leg| format!("leg-{leg}")).collect(),
            access,
            first: FirstSync::Due,
            consistency: self.consistency,
            keeping: Keeping::Mapper,
        }
    }

    /// Some of a range that both arrays have.
    pub(super) fn range(&self, start: u64, len: u64) -> Range {
        let len = len.min(self.sectors() - start);
        Range::new(start * SECTOR, len * SECTOR)
    }
}
