//! What is known of a journal: where it is, which entries count, who waits, and what is next.

use std::collections::VecDeque;

use block::Range;

use super::super::config::ArrayConfig;
use super::super::geometry::{Geometry, Scheme};
use super::super::md::partial;
use super::super::view::LegSet;
use super::format::{BLOCK, Bounds, Session, entry_len};

/// Bytes of metadata devices that a journal takes at most: what a start may have to read and keep.
const AREA_MAX: u64 = 4 << 20;
pub(super) const SECTOR: u64 = 512;
/// What identities and events are mixed with: an odd number without a pattern.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// The journal of an array that is written.
#[derive(Debug)]
pub(in super::super) struct Journal {
    pub(super) tells: Tells,
    /// Whether strokes go through it.
    pub(super) is_on: bool,
    /// Strokes that are written and went past it, before it was on: no generation begins before
    /// they have ended, so that what it does not know is durable from then on.
    pub(super) past: usize,
    /// Where it is on each metadata device.
    pub(super) area: Range,
    pub(super) array: u64,
    pub(super) session: Session,
    /// Of the next entry.
    pub(super) number: u64,
    pub(super) phase: Phase,
    /// Whether strokes may have gone past it since its generation began: another one has to begin
    /// before anything is entered.
    pub(super) is_stale: bool,
    /// From where in the area on each leg's is free.
    pub(super) tails: Vec<u64>,
    /// Strokes whose entries are not written.
    pub(super) waiting: VecDeque<usize>,
    /// Strokes whose entries are, and that have not ended.
    pub(super) open: usize,
    /// Legs that join with the next generation.
    pub(super) joining: Vec<usize>,
    /// The step of a reshape whose rows nothing may be entered about that counts behind it.
    pub(super) moving: Option<usize>,
    /// What it was at before the generation that is about to begin.
    pub(super) before: Phase,
    /// What the generation that is about to begin is for: what came behind its flush is for the
    /// next one.
    pub(super) turn: Turn,
    /// What else a new generation is for.
    pub(super) wanted: Wanted,
    /// Whether parity may be wrong where nothing is entered: from when it was in doubt until legs
    /// were flushed behind what mended it.
    pub(super) is_doubtful: bool,
    /// The same of the generation that is about to begin.
    pub(super) was_doubtful: bool,
}

/// What is entered of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tells {
    /// All that legs get.
    All,
    /// Partial parity, as md does, behind headers that are signed so.
    Partial { signature: u32 },
}

/// What a journal is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Heads have to be written first.
    Closed,
    Open,
    /// Entries are being written.
    Writing,
    /// Legs are flushed, and heads written.
    Turning,
}

/// Whom a new generation lets go on.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Legs that join.
    pub(super) joining: Vec<usize>,
    /// The step of a reshape.
    pub(super) moving: Option<usize>,
}

/// Whether a new generation is wanted, whatever room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Nothing,
    /// An entry is of something that failed.
    Turn,
    /// None is open from then on.
    End,
}

impl Journal {
    /// In a room of so many bytes; `None`: that is too little.
    pub(in super::super) fn new(config: &ArrayConfig, room: u64) -> Option<Self> {
        Some(Self {
            tells: tells(config),
            is_on: false,
            past: 0,
            area: area(config, room)?,
            array: array_of(config),
            session: Session {
                mark: 0,
                generation: 0,
            },
            number: 1,
            phase: Phase::Closed,
            is_stale: false,
            tails: vec![BLOCK; config.legs.len()],
            waiting: VecDeque::new(),
            open: 0,
            joining: Vec::new(),
            moving: None,
            before: Phase::Closed,
            turn: Turn::default(),
            wanted: Wanted::Nothing,
            is_doubtful: true,
            was_doubtful: true,
        })
    }

    /// The array has these events before it is written, and heads of up to this generation: it gets
    /// a mark that none of them has.
    pub(super) fn come_after(&mut self, generation: u64, events: u64) {
        assert_eq!(self.phase, Phase::Closed, "nothing is entered");
        let mix = |sum: u64, one: u64| (sum ^ one).wrapping_mul(MIX).rotate_left(29);
        let mark = mix(mix(self.array, events), generation);
        self.session = Session {
            // Zero is none.
            mark: (mark as u32).max(1),
            generation,
        };
    }

    /// The number by which bitmaps say that it counts.
    pub(in super::super) fn mark(&self) -> u32 {
        self.session.mark
    }

    /// Bytes of a metadata device that are in use up to its end.
    pub(in super::super) fn end(&self) -> u64 {
        self.area.end()
    }

    /// The array has become another one; whether there is still room.
    pub(in super::super) fn become_of(&mut self, config: &ArrayConfig) -> bool {
        assert!(self.is_idle(), "it is suspended");
        let Some(area) = area(config, self.area.end()) else {
            return false;
        };
        self.area = area;
        self.array = array_of(config);
        self.phase = Phase::Closed;
        self.tails = vec![BLOCK; config.legs.len()];
        true
    }

    /// Whether nothing waits for it.
    pub(in super::super) fn is_idle(&self) -> bool {
        let is_still = matches!(self.phase, Phase::Closed | Phase::Open);
        let wants_turn = !self.joining.is_empty() || self.moving.is_some();
        let is_over = self.past == 0 && self.waiting.is_empty() && self.open == 0;
        is_still && is_over && !wants_turn
    }

    /// Whether entries are about data chunks that follow one another.
    pub(in super::super) fn is_partial(&self) -> bool {
        self.tells != Tells::All
    }

    /// Whether a row of this shape has room, too.
    pub(in super::super) fn suits(&self, geometry: &Geometry) -> bool {
        self.area.len() >= room_for(geometry)
    }

    /// A step of a reshape has moved its rows, and goes on when a new generation has begun.
    pub(in super::super) fn turn_for(&mut self, window: usize) {
        let before = self.moving.replace(window);
        assert_eq!(before, None, "one step at a time");
    }

    /// A stroke has read all that it needs.
    pub(in super::super) fn wait(&mut self, stroke: usize) {
        self.waiting.push_back(stroke);
    }

    /// Something that went together may not.
    pub(in super::super) fn doubt(&mut self) {
        self.is_doubtful = true;
        self.was_doubtful = true;
    }

    /// A stroke goes past it.
    pub(in super::super) fn pass(&mut self) {
        self.past += 1;
    }

    /// One that did has ended.
    pub(in super::super) fn passed(&mut self) {
        self.past = self.past.checked_sub(1).expect("it went past");
    }

    /// Strokes go through it from now on.
    pub(super) fn turn_on(&mut self) {
        self.is_stale |= !self.is_on;
        self.is_on = true;
    }

    /// Whether what was written is durable, or entered.
    #[cfg(any(test, feature = "explore"))]
    pub(in super::super) fn covers(&self) -> bool {
        let phase = if self.phase == Phase::Turning {
            self.before
        } else {
            self.phase
        };
        self.is_on && self.past == 0 && !self.is_stale && phase != Phase::Closed
    }

    /// A stroke that has entries has ended.
    pub(in super::super) fn ended(&mut self, failed: bool) {
        self.open = self.open.checked_sub(1).expect("it has entries");
        if failed && self.wanted == Wanted::Nothing {
            self.wanted = Wanted::Turn;
        }
    }

    /// These legs hold all that they should, and join when that is durable.
    pub(in super::super) fn join(&mut self, legs: Vec<usize>) {
        assert!(self.joining.is_empty(), "one joining at a time");
        self.joining = legs;
    }

    /// Nothing of it counts any more, when legs have been flushed.
    pub(in super::super) fn close(&mut self) {
        assert!(self.is_idle(), "nobody writes");
        if self.phase == Phase::Open {
            self.wanted = Wanted::End;
        }
    }
}

/// Where the journal of an array is on its metadata devices, which have so many bytes; `None`:
/// there is no room, or nothing that needs one.
pub(super) fn area(config: &ArrayConfig, room: u64) -> Option<Range> {
    let geometry = config.geometry();
    if !matches!(geometry.scheme(), Scheme::Parity(..)) {
        return None;
    }
    let start = config.record_len();
    let max = match tells(config) {
        Tells::All => AREA_MAX,
        // Whoever made it said how large it is.
        Tells::Partial { .. } => u64::MAX,
    };
    let len = room.saturating_sub(start).min(max);
    let len = len - len % BLOCK;
    let needed = match tells(config) {
        Tells::All => room_for(geometry),
        Tells::Partial { .. } => partial::room_for(geometry.chunk()),
    };
    (len >= needed).then(|| Range::new(start, len))
}

fn tells(config: &ArrayConfig) -> Tells {
    match config.keeping.log_signature() {
        Some(signature) => Tells::Partial { signature },
        None => Tells::All,
    }
}

/// What a row needs, cut at each sector.
fn room_for(geometry: &Geometry) -> u64 {
    let cuts = geometry.chunk() / SECTOR;
    let row = entry_len(geometry.legs() as u32, SECTOR).saturating_mul(cuts);
    row.saturating_add(2 * BLOCK)
}

/// A sum over what an array is made of.
pub(super) fn array_of(config: &ArrayConfig) -> u64 {
    let geometry = config.geometry();
    let (level, layout) = geometry.scheme().md();
    let shape = [
        u64::from(level),
        u64::from(layout),
        geometry.chunk(),
        geometry.legs() as u64,
        config.id,
    ];
    shape
        .into_iter()
        .fold(0, |sum, one| (sum ^ one).wrapping_mul(MIX).rotate_left(29))
}

/// What entries of an array can be about, which may have been one of other chunks.
pub(super) fn bounds(config: &ArrayConfig, before: Option<&Geometry>) -> Bounds {
    let geometry = config.geometry();
    Bounds {
        legs: config.legs.len(),
        leg_size: geometry.leg_size(),
        chunk: before.map_or(0, Geometry::chunk).max(geometry.chunk()),
    }
}

/// Bytes that an entry takes of a run of so many bytes, for these legs.
pub(super) fn needed(legs: LegSet, run: Range) -> u64 {
    entry_len(legs.count_ones(), run.len())
}
