//! From what the legs of an array say of themselves to what is believed.
//!
//! Each leg has a superblock that tells what its array was when it was written last, and `events`,
//! a number that grows with each writing. The newest ones decide. What a leg was not part of any
//! more it does not know: so it is the others who are asked whether it was.
//!
//! | a leg whose superblock | is |
//! |---|---|
//! | is as new as the newest, and agrees with them | valid, as far as it was recovered |
//! | is older by one, and the newest do not call it failed | valid: the writing was cut short |
//! | is older by more | untrusted: it was away |
//! | is called failed by the newest | untrusted: they went on without it |
//! | says what a takeover leaves (`takeover.rs`) | as if it said what the array is now |
//! | names another place, level, layout or number of legs | untrusted: it is not of this array |
//! | is zeros, beside others that have no events yet | valid: the first writing was cut short |
//! | is zeros, damaged or cannot be read, beside others that are not | untrusted |
//! | does not matter: it is to be rebuilt, and no reshape adds it | valid up to nowhere |
//!
//! Superblocks do not tell everything: an array that was written without a leg says so only some
//! time after its first write. But bits of the bitmap are set on all legs that are there before
//! anything is written. So a leg that calls a region clean that another one calls dirty was not
//! there when it was written, or nothing was written there yet: either way the others are right,
//! and they are believed there instead, if they suffice.
//!
//! Where all superblocks are zeros the array is new, and nothing of it is in sync. Where the newest
//! ones contradict each other, or the description, there is no array. Whether what is left
//! suffices is not asked here: it depends on what is read.
//!
//! Facts: `drivers/md/dm-raid.c` (`super_validate`), `md.c`. Unlike the kernel, a leg whose
//! superblock is zeros does not keep the others from being read.

mod becoming;
mod bits;
mod told;

use super::doubt::Doubt;
use super::geometry::{Geometry, Scheme};
use super::superblock::{Extended, FailedDevices, Position, Superblock};
use super::takeover::{may_become, place_before};
use crate::{Error, Kind, Result};

use becoming::reshape_of;
pub use bits::Bits;
use told::{grown_from, is_told};

const SECTOR: u64 = 512;

/// What the description of an array says, and not its disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Described {
    /// Its arithmetic; of one that is being reshaped, as it will be.
    pub geometry: Geometry,
    /// What a bit of the bitmap covers, in bytes.
    pub region_size: u64,
    /// Legs behind its own that a reshape takes away.
    pub leaving: usize,
}

/// What was found on a leg.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LegFound {
    /// It is not there.
    Missing,
    /// It is to be rebuilt, whatever it holds; the superblock, if there is one.
    New(Option<Box<Superblock>>),
    /// A superblock of zeros.
    Blank,
    /// No superblock: why.
    Damaged(String),
    /// A superblock, and what stands behind it.
    Holds(Box<Superblock>, Bits),
}

/// What is believed of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembly {
    /// Its legs, in order.
    pub legs: Vec<LegState>,
    /// Bytes of what is brought in sync, from its start, that are; all: `u64::MAX`.
    pub synced: u64,
    /// Where writes may have been cut short.
    pub dirty: Doubt,
    /// Where they were not, and legs that are away lack something.
    pub lacking: Doubt,
    /// Where each leg may have missed writes, so that others are to be believed if they suffice.
    pub missed: Vec<Doubt>,
    /// Where data begin on each leg, in bytes.
    pub data_start: u64,
    /// It is becoming another one.
    pub reshape: Option<Reshape>,
    /// The newest superblock's.
    pub events: u64,
    /// What the newest superblocks call failed.
    pub failed: FailedDevices,
    /// The events when a region was last called clean, by those that are believed.
    pub events_cleared: u64,
    /// Which legs that are not believed were away.
    pub away: Vec<Away>,
    /// Whether all legs that are believed say what the array is. If their superblocks or bitmaps
    /// cover more than there is, what comes would count as in sync if it grew before they are
    /// written; and one of zeros is nothing without those that are not.
    pub is_told: bool,
    /// What people should know, a clause each.
    pub remarks: Vec<String>,
}

/// What is believed of a leg.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LegState {
    /// It is not there.
    Missing,
    /// It is there, and not what the array holds: why.
    Untrusted(String),
    /// What it lacks is being written to it: it is right where it has missed nothing.
    Filling,
    /// What it holds up to this byte is the array's; all: `u64::MAX`.
    Valid {
        /// Bytes from the leg's start.
        until: u64,
    },
}

/// Whether a leg that is not believed is one of the array's that was away, and may come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Away {
    /// It is not.
    No,
    /// It lacks what is marked since, and nothing else.
    Marked,
    /// It may lack anything.
    Long,
}

/// An array that becomes another one, from its start to its end or the other way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reshape {
    /// What it was.
    pub from: Geometry,
    /// What it will be.
    pub to: Geometry,
    /// How far it is: a byte of the array.
    pub position: u64,
    /// Whether it goes from its end to its start.
    pub backwards: bool,
    /// Where the new data begin on each leg, in bytes.
    pub new_start: u64,
    /// What superblocks of device-mapper's say of it; `None`: md's do.
    pub says: Option<Extended>,
}

impl Described {
    /// See the fields.
    pub fn new(geometry: Geometry, region_size: u64) -> Self {
        Self {
            geometry,
            region_size,
            leaving: 0,
        }
    }

    /// The same, with so many legs behind its own that a reshape takes away.
    #[must_use]
    pub fn with_leaving(self, leaving: usize) -> Self {
        Self { leaving, ..self }
    }

    /// All legs that there may be.
    fn legs(&self) -> usize {
        self.geometry.legs() + self.leaving
    }

    /// Whether a superblock is of this array, or of what it was before a takeover.
    pub fn fits(&self, superblock: &Superblock) -> bool {
        self.contradiction(superblock).is_none()
    }

    /// Whether superblocks that are as new say the same of the array.
    fn agree(&self, newest: &[&Superblock]) -> bool {
        let first = newest[0];
        // The first record of an array that was taken over has the events of the last one before.
        let is_former = |one: &Superblock| may_become(one, &self.geometry);
        newest.iter().all(|other| {
            let is_taken_over = is_former(first) != is_former(other);
            first.agrees_with(other, is_taken_over)
        })
    }

    /// What a superblock says otherwise; nothing, if it is of this array.
    fn contradiction(&self, superblock: &Superblock) -> Option<String> {
        if may_become(superblock, &self.geometry) {
            return None;
        }
        let chunk = match self.geometry.scheme() {
            Scheme::Mirror => None,
            _ => Some(self.geometry.chunk()),
        };
        let mut level = (superblock.level, superblock.layout);
        let mut stripe = u64::from(superblock.stripe_sectors) * SECTOR;
        if let Some(extended) = superblock.reshaping() {
            level = (extended.new_level, extended.new_layout);
            stripe = u64::from(extended.new_stripe_sectors) * SECTOR;
        }
        let (count, own) = (superblock.device_count as usize, self.geometry.legs());
        // Legs that a reshape takes away are counted until it has begun.
        let counts = match superblock.reshaping() {
            Some(extended) if extended.delta_disks < 0 => {
                let gone = extended.delta_disks.unsigned_abs() as usize;
                count == own && gone == self.leaving
            }
            Some(_) => count == own && self.leaving == 0,
            None => count == own || count == self.legs(),
        };
        let (theirs, ours) = (level, self.geometry.scheme().md());
        if theirs != ours {
            return Some(format!(
                "level {} with layout {}, not {} with {}",
                theirs.0, theirs.1, ours.0, ours.1
            ));
        }
        if !counts {
            return Some(format!("{count} legs, not {own}"));
        }
        match chunk {
            Some(chunk) if chunk != stripe => {
                Some(format!("chunks of {stripe} bytes, not {chunk}"))
            }
            _ => None,
        }
    }
}

impl LegState {
    /// Why a leg called `name` is not read; `None`: it is, or a part of it.
    pub fn absence(&self, name: &str) -> Option<String> {
        match self {
            Self::Missing => Some(format!("{name} is missing")),
            Self::Untrusted(why) => Some(format!("{name} is not believed: {why}")),
            Self::Filling => Some(format!("{name} is being filled")),
            Self::Valid { until: u64::MAX } => None,
            Self::Valid { until } => Some(format!("{name} holds {until} bytes so far")),
        }
    }
}

/// What is believed of the array called `name`, of whose legs `found` is known.
///
/// # Errors
///
/// There is no array: no leg says anything, or those that know contradict each other or the
/// description.
pub fn assemble(name: &str, described: &Described, found: &[LegFound]) -> Result<Assembly> {
    assert_eq!(found.len(), described.legs(), "each leg was looked at");
    let sync_size = described.geometry.sync_size();
    let fitted: Vec<LegFound> = found.iter().map(|leg| leg.fitted(sync_size)).collect();
    let (mut found, mut before) = (&fitted[..], found);
    let superblocks = found.iter().filter_map(LegFound::superblock);
    let Some(events) = superblocks.clone().map(|one| one.events).max() else {
        return without_superblocks(name, &found[..described.geometry.legs()]);
    };
    let newest = not_left_behind(superblocks.filter(|one| one.events == events).collect());
    let first = newest[0];
    let damaged = |what: String| Error::new(Kind::Damaged, format!("{name}: {what}"));
    if let Some(what) = newest.iter().find_map(|one| described.contradiction(one)) {
        let what =
            format!("the newest superblock says {what}; see whether an older description fits");
        return Err(damaged(what));
    }
    if !described.agree(&newest) {
        return Err(damaged(
            "the newest superblocks contradict each other".into(),
        ));
    }
    let reshape = reshape_of(described, first).map_err(damaged)?;
    if reshape.is_none() {
        // It is over.
        found = &found[..described.geometry.legs()];
        before = &before[..described.geometry.legs()];
    }
    let mut remarks = Vec::new();
    let legs = states(described, first, found);
    if !legs.iter().any(|leg| matches!(leg, LegState::Valid { .. })) {
        return Err(damaged("none of its legs is believed".into()));
    }
    let synced = newest
        .iter()
        .map(|one| one.array_resync_offset.bytes())
        .min();
    let grown_from = grown_from(before, &legs, &described.geometry);
    let marked = match doubt(found, &legs, events, &mut remarks) {
        // What bitmaps count is not what it will be.
        _ if reshape.is_some() && grown_from < u64::MAX => Doubt::Everywhere,
        dirty => dirty,
    };
    let missed: Vec<Doubt> = found
        .iter()
        .zip(&legs)
        .map(|(leg, state)| missed(leg, state, &marked))
        .collect();
    let (dirty, lacking) = what_marks_mean(marked, first, found);
    let mut assembly = Assembly {
        synced: synced.expect("there is a newest one").min(grown_from),
        dirty,
        lacking,
        missed,
        data_start: data_start(first),
        reshape,
        events,
        failed: first.failed,
        events_cleared: cleared(found, &legs),
        away: away(found, &legs, described, reshape.is_some()),
        is_told: is_told(before, &legs, &described.geometry),
        remarks,
        legs,
    };
    assembly.remark(described.geometry.scheme());
    Ok(assembly)
}

impl Assembly {
    /// Of these legs, of which nothing else is known: no more than that is wrong.
    pub fn of(legs: Vec<LegState>) -> Self {
        Self {
            synced: u64::MAX,
            dirty: Doubt::Nowhere,
            lacking: Doubt::Nowhere,
            missed: vec![Doubt::Nowhere; legs.len()],
            data_start: 0,
            reshape: None,
            events: 0,
            failed: FailedDevices::default(),
            events_cleared: 0,
            away: vec![Away::No; legs.len()],
            is_told: true,
            remarks: Vec::new(),
            legs,
        }
    }

    /// Whether nobody has used it before.
    pub(super) fn is_new(&self) -> bool {
        let is_valid = |leg: &LegState| matches!(leg, LegState::Valid { .. });
        self.events == 0 && self.synced == 0 && self.legs.iter().all(is_valid)
    }

    /// Says what people should know of its legs.
    fn remark(&mut self, scheme: Scheme) {
        let is_whole = |leg: &LegState| matches!(leg, LegState::Valid { until: u64::MAX });
        let is_degraded = !self.legs.iter().all(is_whole);
        let makes_up = matches!(scheme, Scheme::Parity(..)) && is_degraded;
        if let (true, Some(count)) = (makes_up, self.dirty.count()) {
            self.remarks.push(format!(
                "{count} are marked as being written: if that was cut short, what is made up \
                 there for a leg may be wrong"
            ));
        }
        let legs = self.legs.iter().zip(&self.missed).enumerate();
        let remarks = legs.filter_map(|(place, (leg, missed))| match leg {
            LegState::Untrusted(why) => Some(format!("leg {place} is not believed: {why}")),
            LegState::Valid { .. } => {
                let count = missed.count()?;
                Some(format!("leg {place} may have missed writes in {count}"))
            }
            LegState::Missing | LegState::Filling => None,
        });
        self.remarks.extend(remarks);
    }
}

impl LegFound {
    /// The same, with a bitmap of so many bytes: what comes is clean in it.
    fn fitted(&self, sync_size: u64) -> Self {
        let mut fitted = self.clone();
        if let Self::Holds(_, bits) = &mut fitted
            && let Some(bitmap) = bits.bitmap_mut()
            && bitmap.sync_size != sync_size
        {
            match bitmap.dirty.resized(sync_size) {
                Ok(dirty) => {
                    bitmap.dirty = dirty;
                    bitmap.sync_size = sync_size;
                }
                Err(error) => *bits = Bits::Damaged(error.to_string()),
            }
        }
        fitted
    }

    fn superblock(&self) -> Option<&Superblock> {
        match self {
            Self::Holds(superblock, _) => Some(superblock),
            _ => None,
        }
    }
}

/// Those of the newest superblocks whose legs no other one calls failed: the others went on without
/// a leg, which got as far by itself, and knows nothing of that. Where two call each other so, all.
fn not_left_behind(newest: Vec<&Superblock>) -> Vec<&Superblock> {
    let calls = |one: &Superblock, other: &Superblock| {
        let place = other.array_position as usize;
        place < FailedDevices::LEN && one.failed.contains(place)
    };
    let is_left = |one: &&&Superblock| {
        let others = newest.iter();
        others
            .filter(|other| calls(other, one))
            .any(|other| !calls(one, other))
    };
    let rest: Vec<&Superblock> = newest.iter().filter(|one| !is_left(one)).copied().collect();
    if rest.is_empty() { newest } else { rest }
}

impl Superblock {
    /// What it says of a reshape that is under way.
    fn reshaping(&self) -> Option<&Extended> {
        self.extended
            .as_ref()
            .filter(|extended| extended.is_reshaping)
    }

    /// Whether another one, which is as new, says the same of the array; where a takeover is
    /// between them its level, layout and number of legs are others.
    fn agrees_with(&self, other: &Self, is_taken_over: bool) -> bool {
        let shape = |one: &Self| (one.level, one.layout, one.stripe_sectors, one.device_count);
        let offsets = |one: &Self| {
            let reshape = one.reshaping().map(|extended| {
                (
                    extended.backwards,
                    extended.delta_disks,
                    extended.new_level,
                    extended.new_layout,
                )
            });
            (one.failed, reshape)
        };
        (is_taken_over || shape(self) == shape(other)) && offsets(self) == offsets(other)
    }
}

/// What is believed of the legs, if `newest` is one of the newest superblocks.
fn states(described: &Described, newest: &Superblock, found: &[LegFound]) -> Vec<LegState> {
    let legs = found.iter().enumerate();
    legs.map(|(place, leg)| state(described, newest, place, leg))
        .collect()
}

/// Where data begin on each leg, in bytes.
fn data_start(newest: &Superblock) -> u64 {
    let extended = newest.extended.as_ref();
    extended.map_or(0, |one| one.data_offset.saturating_mul(SECTOR))
}

/// What is believed of the leg in this place, if `newest` is one of the newest superblocks.
fn state(described: &Described, newest: &Superblock, place: usize, leg: &LegFound) -> LegState {
    let untrusted = |why: &str| LegState::Untrusted(why.to_owned());
    let superblock = match leg {
        LegFound::Missing => return LegState::Missing,
        LegFound::New(superblock) => {
            // A reshape fills what it adds, and does not say otherwise before it is over.
            let is_added = |own: &&Superblock| {
                let is_current =
                    own.events == newest.events && own.array_position as usize == place;
                is_current && own.reshaping().is_some() && newest.reshaping().is_some()
            };
            let filled = superblock.as_deref().filter(is_added);
            let until = filled.map_or(0, |own| own.disk_recovery_offset.bytes());
            return LegState::Valid { until };
        }
        // Nobody has written anything before all superblocks were there.
        LegFound::Blank if newest.events == 0 && !newest.failed.contains(place) => {
            return LegState::Valid { until: u64::MAX };
        }
        LegFound::Blank => return untrusted("its superblock is zeros"),
        LegFound::Damaged(why) => return untrusted(why),
        LegFound::Holds(superblock, _) => superblock,
    };
    let position = superblock.array_position as usize;
    if place_before(superblock, &described.geometry, place) != Some(position) {
        let why = format!("it was leg {}", superblock.array_position);
        return LegState::Untrusted(why);
    }
    if superblock.events.saturating_add(1) < newest.events {
        let (theirs, events) = (superblock.events, newest.events);
        let why = format!("it was away: {theirs} events, of {events}");
        return LegState::Untrusted(why);
    }
    if newest.failed.contains(place) {
        return untrusted("the others went on without it");
    }
    if let Some(why) = described.contradiction(superblock) {
        return LegState::Untrusted(format!("it is of another array: {why}"));
    }
    let until = superblock.disk_recovery_offset.bytes();
    LegState::Valid { until }
}

/// Where the bitmaps of legs that are believed call regions dirty.
fn doubt(found: &[LegFound], legs: &[LegState], events: u64, remarks: &mut Vec<String>) -> Doubt {
    let mut doubt = Doubt::Nowhere;
    for (place, (leg, state)) in found.iter().zip(legs).enumerate() {
        let (LegFound::Holds(_, bits), LegState::Valid { .. }) = (leg, state) else {
            continue;
        };
        let dirty = match bits {
            Bits::None => continue,
            Bits::Damaged(why) => {
                remarks.push(format!("the bitmap of leg {place} is not believed: {why}"));
                return Doubt::Everywhere;
            }
            Bits::Bitmap(bitmap) | Bits::Resting(bitmap) if !bitmap.is_current(events) => {
                remarks.push(format!(
                    "the bitmap of leg {place} is older than its superblock"
                ));
                return Doubt::Everywhere;
            }
            Bits::Bitmap(bitmap) | Bits::Resting(bitmap) => &bitmap.dirty,
        };
        let is_alike = match &mut doubt {
            Doubt::Regions(known) => known.merge(dirty),
            Doubt::Nowhere | Doubt::Everywhere => {
                doubt = Doubt::Regions(dirty.clone());
                true
            }
        };
        if !is_alike {
            remarks.push("its bitmaps are not of one shape".into());
            return Doubt::Everywhere;
        }
    }
    match doubt {
        Doubt::Regions(dirty) => Doubt::in_regions(dirty),
        doubt => doubt,
    }
}

/// What is in doubt where regions are marked, and what legs lack that are away: the latter where
/// the newest superblocks say that nothing was being written.
fn what_marks_mean(marked: Doubt, first: &Superblock, found: &[LegFound]) -> (Doubt, Doubt) {
    let mut newest = found.iter().filter_map(|leg| match leg {
        LegFound::Holds(superblock, bits) if superblock.events == first.events => Some(bits),
        _ => None,
    });
    let is_resting = newest.all(|bits| matches!(bits, Bits::Resting(_)));
    if is_resting && !first.failed.is_empty() {
        (Doubt::Nowhere, marked)
    } else {
        (marked, Doubt::Nowhere)
    }
}

/// The events when a region was last called clean, by the legs that are believed.
fn cleared(found: &[LegFound], legs: &[LegState]) -> u64 {
    let believed = found
        .iter()
        .zip(legs)
        .filter_map(|(leg, state)| match (leg, state) {
            (LegFound::Holds(_, bits), LegState::Valid { .. }) => {
                Some(bits.bitmap()?.events_cleared)
            }
            _ => None,
        });
    believed.max().unwrap_or(u64::MAX)
}

/// Which legs that are not believed are of this array, and were away.
fn away(found: &[LegFound], legs: &[LegState], described: &Described, moves: bool) -> Vec<Away> {
    let cleared = cleared(found, legs);
    let legs = found.iter().zip(legs).enumerate();
    let away = legs.map(|(place, (leg, state))| match (leg, state) {
        (LegFound::Holds(superblock, _), LegState::Untrusted(_))
            if superblock.array_position as usize == place
                && described.contradiction(superblock).is_none() =>
        {
            // What it was not filled with it does not say.
            let was_whole = superblock.disk_recovery_offset == Position::End;
            // What is moved is not marked.
            let is_still = !moves && superblock.reshaping().is_none();
            if superblock.events >= cleared && was_whole && is_still {
                Away::Marked
            } else {
                Away::Long
            }
        }
        _ => Away::No,
    });
    away.collect()
}

/// Where a leg that is believed knows nothing of writes of which others know.
fn missed(leg: &LegFound, state: &LegState, all: &Doubt) -> Doubt {
    let (LegFound::Holds(_, bits), Doubt::Regions(all)) = (leg, all) else {
        return Doubt::Nowhere;
    };
    let Some(own) = bits.bitmap() else {
        return Doubt::Nowhere;
    };
    if !matches!(state, LegState::Valid { .. }) {
        return Doubt::Nowhere;
    }
    assert_eq!(
        own.dirty.regions(),
        all.regions(),
        "all that is believed is of one shape"
    );
    let mut missed = all.clone();
    let mut region = 0;
    while let Some(dirty) = missed.next(region) {
        if own.dirty.is_dirty(dirty) {
            missed.clear(dirty);
        }
        region = dirty + 1;
    }
    Doubt::in_regions(missed)
}

/// An array of which no superblock says anything.
fn without_superblocks(name: &str, found: &[LegFound]) -> Result<Assembly> {
    let mut problems = found
        .iter()
        .enumerate()
        .filter_map(|(place, leg)| match leg {
            LegFound::Damaged(why) => Some(format!("leg {place}: {why}")),
            _ => None,
        });
    if let Some(problem) = problems.next() {
        let what = format!("{name}: no superblock can be read: {problem}");
        return Err(Error::new(Kind::Damaged, what));
    }
    if found.contains(&LegFound::Missing) && found.contains(&LegFound::Blank) {
        // It may have been used with the others.
        let what = format!("{name}: its superblocks are zeros, and other legs are missing");
        return Err(Error::new(Kind::Damaged, what));
    }
    let state = |leg: &LegFound| match leg {
        LegFound::Blank => LegState::Valid { until: u64::MAX },
        LegFound::New(_) => LegState::Valid { until: 0 },
        _ => LegState::Missing,
    };
    Ok(Assembly {
        synced: 0,
        remarks: vec!["it was never used: nothing of it is in sync".into()],
        ..Assembly::of(found.iter().map(state).collect())
    })
}

#[cfg(test)]
mod tests;
