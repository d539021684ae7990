//! From where a byte of an array is read: from a leg, or from the others of its row.
//!
//! What is believed of the legs is [`Assembly`]'s to say; here it is turned into a plan for a run
//! of bytes. Pure: the machine asks for the plan of what it reads, its map asks whether one leg
//! suffices, and both get the same answer.
//!
//! ```text
//!   copies    in sync here     any leg that is valid here, taken in turns
//!             not              the first one that is valid: a sector once read keeps its answer
//!   parity    its leg valid    that leg
//!             not              what the others of the row make up for: one with P, one with Q,
//!                              two with both; not where parity was never brought in sync
//! ```
//!
//! Where a leg may have missed writes it is read only if nothing else suffices.
//!
//! In a region that its bitmap calls dirty, parity may be that of another moment: a chunk that is
//! made up there may be wrong, and nothing on the disks says so. It is read all the same, as by the
//! kernel, and people are told (a remark of the assembly's).

use block::Range;

use super::assembly::{Assembly, LegState};
use super::config::{ArrayConfig, LegReads};
use super::doubt::Doubt;
use super::geometry::{Geometry, Scheme, Spot};
use super::rotation::Row;
use super::sides::Side;
use super::update::{members, roles};

/// Copies are read in turns of so many bytes, so that what is read in order stays in order.
pub(super) const TURN: u64 = 1 << 20;

/// What is known of an array that is read.
#[derive(Debug, Clone)]
pub(super) struct View {
    geometry: Geometry,
    size: u64,
    assembly: Assembly,
    /// Where nothing was ever brought in sync, besides what the assembly says.
    raw: Doubt,
    reads: Vec<LegReads>,
    /// Where a doubt may begin or end.
    region: Option<u64>,
}

/// Legs that are not to be asked: a bit each.
pub(super) type LegSet = u64;

/// From where a run of bytes is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// From this byte on of a leg.
    Leg { leg: usize, start: u64 },
    /// It is made up from others, at the same place of each.
    Others(Rebuild),
    /// From nowhere: why.
    Nowhere(String),
}

/// How a chunk is made up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rebuild {
    /// The row.
    pub(super) row: Row,
    /// Whose bytes.
    pub(super) leg: usize,
    /// From this byte on of each leg.
    pub(super) start: u64,
    /// Another leg that holds data and is not read.
    pub(super) other: Option<usize>,
    /// The legs that are read.
    pub(super) sources: Vec<usize>,
}

impl View {
    /// What is read of an array of which `assembly` is believed.
    pub(super) fn new(config: &ArrayConfig, mut assembly: Assembly) -> Self {
        assert_eq!(
            assembly.legs.len(),
            config.legs.len(),
            "each leg has a state"
        );
        for (state, leg) in assembly.legs.iter_mut().zip(&config.legs) {
            if leg.data.is_none() {
                *state = LegState::Missing;
            }
        }
        Self {
            geometry: *config.geometry(),
            size: config.size.min(match &assembly.reshape {
                None => config.geometry().size(),
                Some(reshape) if !reshape.has_begun() => reshape.from.size(),
                // While one becomes another both can tell where a byte is, or neither.
                Some(reshape) => reshape.from.size().min(reshape.to.size()),
            }),
            region: region_of(&assembly),
            assembly,
            raw: Doubt::Nowhere,
            reads: config.legs.iter().map(|leg| leg.reads).collect(),
        }
    }

    /// It is written from now on, in regions of so many bytes: what was in sync in front of a byte
    /// is in sync in regions.
    pub(super) fn come_alive(&mut self, region: u64, raw: Doubt) {
        self.assembly.synced = u64::MAX;
        self.raw = raw;
        self.region = Some(region);
    }

    /// What is believed, to be changed.
    pub(super) fn assembly_mut(&mut self) -> &mut Assembly {
        &mut self.assembly
    }

    /// Where nothing was ever brought in sync.
    pub(super) fn raw(&self) -> &Doubt {
        &self.raw
    }

    /// The same, to be changed.
    pub(super) fn raw_mut(&mut self) -> &mut Doubt {
        &mut self.raw
    }

    /// Bytes of the array that are there.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// What is believed.
    pub(super) fn assembly(&self) -> &Assembly {
        &self.assembly
    }

    /// The arithmetic that holds at a byte of the array, where its data begin on each leg, and how
    /// many bytes it holds for.
    pub(super) fn geometry_at(&self, offset: u64) -> (&Geometry, u64, u64) {
        let Some(reshape) = &self.assembly.reshape else {
            let start = self.assembly.data_start;
            return (&self.geometry, start, self.size - offset);
        };
        let is_before = offset < reshape.position;
        let left = if is_before {
            reshape.position - offset
        } else {
            self.size - offset
        };
        // What is reshaped from its end on is new behind the position.
        if is_before == reshape.backwards {
            (&reshape.from, self.assembly.data_start, left)
        } else {
            (&reshape.to, reshape.new_start, left)
        }
    }

    /// The arithmetic of the row with a byte that is kept in sync, and where its data begin on each
    /// leg; `None`: a reshape has left what is there behind, or not come to it.
    pub(super) fn side(&self, sync: u64) -> Option<Side> {
        let start = self.assembly.data_start;
        match &self.assembly.reshape {
            Some(reshape) => reshape.side(sync, start),
            None => Some(Side {
                geometry: self.geometry,
                start,
            }),
        }
    }

    /// A reshape has come so far; whether it is over.
    pub(super) fn go_on(&mut self, position: u64, size: u64) -> bool {
        let reshape = self.assembly.reshape.as_mut().expect("it is reshaped");
        reshape.position = position;
        if !reshape.is_over() {
            return false;
        }
        assert_eq!(reshape.to, self.geometry, "it has become what it is called");
        self.assembly.data_start = reshape.new_start;
        self.assembly.reshape = None;
        self.size = size.min(self.geometry.size());
        let legs = self.geometry.legs();
        self.assembly.legs.truncate(legs);
        self.assembly.missed.truncate(legs);
        self.assembly.away.truncate(legs);
        self.reads.truncate(legs);
        true
    }

    /// How many bytes of a leg are valid from `start` on, which are `sync`.
    fn valid_from(&self, leg: usize, start: u64, sync: Range) -> u64 {
        match &self.assembly.legs[leg] {
            LegState::Valid { until } => until.saturating_sub(start),
            LegState::Filling if !self.assembly.missed[leg].overlaps(sync) => u64::MAX,
            LegState::Filling | LegState::Missing | LegState::Untrusted(_) => 0,
        }
    }

    /// The legs that do not hold what they should somewhere in these bytes of theirs.
    pub(super) fn invalid(&self, sync: Range) -> LegSet {
        let is_invalid = |leg: &usize| {
            let valid = self.valid_from(*leg, sync.start(), sync);
            valid < sync.len() || self.has_missed(*leg, sync)
        };
        let legs = (0..self.assembly.legs.len()).filter(is_invalid);
        legs.fold(0, |set, leg| set | 1 << leg)
    }

    /// The legs of a row that nothing is taken from, here and besides the legs in `without`. Where
    /// too few would be left it is believed what lacks only marks, as reads do.
    pub(super) fn invalid_in(&self, row: Row, sync: Range, without: LegSet) -> LegSet {
        let (data, parity) = roles(row);
        let invalid = (self.invalid(sync) | without) & (data | parity);
        if invalid.count_ones() <= parity.count_ones() {
            return invalid;
        }
        let is_absent = |leg: &usize| {
            let valid = self.valid_from(*leg, sync.start(), sync);
            without >> leg & 1 == 1 || valid < sync.len()
        };
        let absent = members(invalid).filter(is_absent);
        absent.fold(0, |set, leg| set | 1 << leg)
    }

    /// Whether this may be taken from, and belongs to, one leg of copies.
    pub(super) fn is_copy_valid(&self, spot: Spot, sync: Range) -> bool {
        self.valid_from(spot.leg, spot.start, sync) >= sync.len()
            && !self.has_missed(spot.leg, sync)
    }

    /// Whether all that holds bytes of the array holds the same, or goes together, here.
    pub(super) fn is_in_sync(&self, sync: Range) -> bool {
        self.is_computed(sync) && !self.assembly.dirty.overlaps(sync)
    }

    /// Whether it was in sync once.
    pub(super) fn is_computed(&self, sync: Range) -> bool {
        sync.end() <= self.assembly.synced && !self.raw.overlaps(sync)
    }

    /// Whether a leg may have missed writes here. Where nothing was ever in sync others are no
    /// better.
    fn has_missed(&self, leg: usize, sync: Range) -> bool {
        self.is_computed(sync) && self.assembly.missed[leg].overlaps(sync)
    }

    /// From where the bytes of `range` are read, but for the legs in `without`, and how many of
    /// them: at least one sector.
    pub(super) fn source(&self, range: Range, without: LegSet) -> (Source, u64) {
        assert!(range.end() <= self.size, "the array has so many bytes");
        let offset = range.start();
        let (geometry, data_start, left) = self.geometry_at(offset);
        let len = geometry.run(offset).min(left).min(range.len());
        let len = self.alike(geometry, offset, len);
        let (mut source, len) = match geometry.scheme() {
            Scheme::Parity(..) => self.of_row(geometry, (offset, len), without),
            Scheme::Mirror | Scheme::Copies(_) => self.of_copies(geometry, (offset, len), without),
        };
        match &mut source {
            Source::Leg { start, .. } | Source::Others(Rebuild { start, .. }) => {
                *start += data_start;
            }
            Source::Nowhere(_) => {}
        }
        debug_assert!(len > 0 && len <= range.len(), "some of it is planned");
        (source, len)
    }

    /// Whether anything is in doubt anywhere.
    pub(super) fn is_doubtful(&self) -> bool {
        let Assembly { dirty, missed, .. } = &self.assembly;
        let mut doubts = missed.iter().chain([dirty, &self.raw]);
        doubts.any(|doubt| *doubt != Doubt::Nowhere)
    }

    /// Of so many bytes from `offset` on as many as nothing else is known of than of the first.
    fn alike(&self, geometry: &Geometry, offset: u64, len: u64) -> u64 {
        let Some(region) = self.region else {
            return len;
        };
        if !self.is_doubtful() {
            return len;
        }
        let start = match geometry.scheme() {
            Scheme::Parity(..) => geometry.spot(offset, 0).start,
            Scheme::Mirror | Scheme::Copies(_) => offset,
        };
        len.min(region - start % region)
    }

    fn of_copies(
        &self,
        geometry: &Geometry,
        (offset, len): (u64, u64),
        without: LegSet,
    ) -> (Source, u64) {
        let count = geometry.copies();
        let sync = Range::new(offset, len);
        let is_in_sync = self.is_in_sync(sync);
        let first = if is_in_sync {
            (offset / TURN) as usize % count
        } else {
            0
        };
        let usable = (0..count).filter_map(|turn| {
            let spot = geometry.spot(offset, (first + turn) % count);
            let valid = self.valid_from(spot.leg, spot.start, sync).min(len);
            let is_asked = without >> spot.leg & 1 == 0;
            (valid > 0 && is_asked).then_some((spot, valid))
        });
        // The first of those that missed nothing, and are read like others. Where copies may differ
        // it is the same one whatever is wished, which may change.
        let best = usable.min_by_key(|(spot, _)| {
            let is_last = is_in_sync && self.reads[spot.leg] == LegReads::Last;
            (self.has_missed(spot.leg, sync), is_last)
        });
        match best {
            Some((spot, len)) => {
                let (leg, start) = (spot.leg, spot.start);
                (Source::Leg { leg, start }, len)
            }
            None => (
                Source::Nowhere("none of its copies can be read".into()),
                len,
            ),
        }
    }

    fn of_row(
        &self,
        geometry: &Geometry,
        (offset, len): (u64, u64),
        without: LegSet,
    ) -> (Source, u64) {
        let spot = geometry.spot(offset, 0);
        let (leg, start) = (spot.leg, spot.start);
        // Where a leg ends to be valid, another plan begins.
        let valid_from = |leg| self.valid_from(leg, start, Range::new(start, len));
        let ends = (0..geometry.legs()).map(valid_from);
        let len = ends.filter(|valid| *valid > 0).fold(len, u64::min);
        let sync = Range::new(start, len);
        let is_lost = |leg: &usize| valid_from(*leg) == 0 || without >> leg & 1 == 1;
        let has_missed = |leg: &usize| self.has_missed(*leg, sync);
        if !is_lost(&leg) && !has_missed(&leg) {
            return (Source::Leg { leg, start }, len);
        }
        let all = 0..geometry.legs();
        let mut lost: Vec<usize> = all
            .clone()
            .filter(|leg| is_lost(leg) || has_missed(leg))
            .collect();
        let is_enough = lost.len() <= geometry.scheme().redundancy(geometry.legs());
        if !is_enough {
            lost = all.filter(is_lost).collect();
        }
        if !lost.contains(&leg) {
            return (Source::Leg { leg, start }, len);
        }
        let row = geometry.row(start / geometry.chunk());
        let source = if self.is_computed(Range::new(start, len)) {
            rebuild(row, (leg, start), &lost)
        } else {
            Source::Nowhere("parity was never brought in sync here".into())
        };
        (source, len)
    }
}

/// How the bytes of `leg` from `start` on are made up without those of `lost`.
pub(super) fn rebuild(row: Row, (leg, start): (usize, u64), lost: &[usize]) -> Source {
    assert!(lost.contains(&leg), "what is there is not made up");
    let lost_parity = [Some(row.p), row.q];
    let lost_parity = lost_parity
        .iter()
        .flatten()
        .filter(|leg| lost.contains(leg));
    let mut others = lost
        .iter()
        .filter(|other| **other != leg && row.index(**other).is_some());
    let (other, more) = (others.next().copied(), others.next());
    let parity = 1 + usize::from(row.q.is_some());
    let needed = 1 + usize::from(other.is_some());
    if more.is_some() || needed + lost_parity.count() > parity {
        let what = format!("{} of the legs of its row cannot be read", lost.len());
        return Source::Nowhere(what);
    }
    let has_p = !lost.contains(&row.p);
    let data = (0..row.data_count()).map(|index| row.leg(index));
    let mut sources: Vec<usize> = data.filter(|leg| !lost.contains(leg)).collect();
    if has_p {
        sources.push(row.p);
    }
    if let Some(q) = row.q
        && (!has_p || other.is_some())
    {
        sources.push(q);
    }
    assert!(
        !sources.iter().any(|leg| lost.contains(leg)),
        "all are there"
    );
    Source::Others(Rebuild {
        row,
        leg,
        start,
        other,
        sources,
    })
}

/// Bytes of a region, if regions are what is in doubt.
fn region_of(assembly: &Assembly) -> Option<u64> {
    let mut doubts = assembly.missed.iter().chain([&assembly.dirty]);
    doubts.find_map(|doubt| match doubt {
        Doubt::Regions(dirty) => Some(dirty.region()),
        Doubt::Nowhere | Doubt::Everywhere => None,
    })
}
