//! From what several devices say to what is believed.
//!
//! The devices of an array were written at different times: one was pulled, one failed, power went
//! between two writes. Whom to believe is md's judgement (`drivers/md/md.c`: `analyze_sbs`,
//! `super_1_validate`), and where mdadm is stricter (`Assemble.c`), mdadm's:
//!
//! 1. Of those that are legs or journals by their own word, the one with the most events is the
//!    *freshest*. What the array is, it says.
//! 2. A leg with one event less is as good: power went while superblocks were written. But what it
//!    is for the freshest says. A leg with fewer events is *stale*.
//!    So is one with as many that the freshest one calls failed or gone: power went while the next
//!    superblocks were written, after its own; the others then went on without it, and got as far.
//!    Of several with the most events it is not the freshest for that. mdadm, which takes the first
//!    of them, would believe it alone.
//! 3. A leg that says that the freshest one is none took part in another history: two halves ran
//!    alone. It is left out, however many events it has. If both have as many, nothing says which
//!    half people went on with, and nothing is served.
//! 4. Of two that say that they are the same leg, the one with more events is. With as many they
//!    are copies of one another, or one device seen twice, and nothing is served.
//! 5. A spare needs no events.
//!
//! Then the legs that are there must be enough. What is rebuilt counts as not there: it only helps
//! below the point that it reached. An array with parity that is not clean and lacks a leg is told
//! apart: what was being written when it stopped may have made the missing leg's data wrong, and md
//! starts it only by force.

use super::claim::{Claim, Guard, LEVEL_LINEAR, LEVEL_STRIPED, Reshape, Role, Shape};
use super::places::Place;
use super::zones::{Spans, ZoneOrder, Zones};
use crate::raid::geometry::{Geometry, LEGS_MAX, Scheme};
use crate::raid::superblock::Position;
use crate::{Error, Kind, Result};

/// What is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// Which claim is the freshest.
    pub freshest: usize,
    /// What is believed of each claim.
    pub verdicts: Vec<Verdict>,
    /// The legs, by their positions; those of before and after a reshape, whichever are more.
    pub legs: Vec<Option<Leg>>,
    /// The claim of the device with the journal.
    pub journal: Option<usize>,
    /// How its bytes are laid out; with [`Array::reshaping`] how they were.
    pub layout: Layout,
    /// How they will be.
    pub reshaping: Option<Reshaping>,
    /// What was in sync; of a clean array all.
    pub resync: Position,
    /// Whether it can be served.
    pub readiness: Readiness,
}

/// What is believed of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is this leg, in sync but for what its recovery says.
    Leg(usize),
    /// It is filled to become this leg.
    Replacement(usize),
    /// It waits.
    Spare,
    /// It holds the journal.
    Journal,
    /// It failed.
    Faulty,
    /// It was away when the others went on.
    Stale,
    /// It went on without the freshest one.
    Disagrees,
    /// It is the same leg as another device, which has more events.
    Superseded,
    /// It describes another array, or in another format.
    Foreign,
}

/// A leg that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leg {
    /// Its claim.
    pub claim: usize,
    /// What of it is right: the end, if it is in sync.
    pub valid: Position,
}

/// How an array is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layout {
    /// With redundancy.
    Redundant(Geometry),
    /// Stripes.
    Striped(Zones),
    /// Legs that follow one another.
    Linear(Spans),
    /// Not known, since legs of which the sizes matter are missing.
    Unknown,
}

/// How an array will be laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reshaping {
    /// Where it will be.
    pub after: Geometry,
    /// Sectors of the array that are done, or with [`Reshaping::backwards`] not done.
    pub position: Position,
    /// From the end on.
    pub backwards: bool,
}

/// Whether an array can be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Readiness {
    /// All legs are there.
    Whole,
    /// Some are missing, and all bytes are there.
    Degraded,
    /// The same, and it was not stopped cleanly: parity may not fit what is there.
    DirtyDegraded,
    /// Bytes are missing.
    NotEnough,
}

/// Judges the claims of the devices that say that they are of one array.
///
/// # Errors
///
/// No claim says what the array is, two claims say that they are the same leg, or the array cannot
/// be or is not served.
pub fn judge(claims: &[Claim]) -> Result<Array> {
    let freshest = find_freshest(claims)?;
    let best = &claims[freshest];
    if best.is_clustered {
        let what = "several machines write to the array at once, which is not served";
        return Err(Error::new(Kind::InvalidLayout, what));
    }
    let positions = best.positions() as usize;
    if positions > LEGS_MAX {
        let what = format!("an array of {positions} legs; {LEGS_MAX} are served");
        return Err(Error::new(Kind::InvalidLayout, what));
    }
    let mut verdicts: Vec<Verdict> = claims
        .iter()
        .map(|claim| judge_one(claim, best, positions))
        .collect();
    settle_doubles(claims, &mut verdicts)?;
    let mut legs = vec![None; positions];
    for (claim, verdict) in verdicts.iter().enumerate() {
        if let Verdict::Leg(position) = verdict {
            let valid = claims[claim].recovery.unwrap_or(Position::End);
            assert!(legs[*position].is_none(), "doubles are settled");
            legs[*position] = Some(Leg { claim, valid });
        }
    }
    let journal = verdicts
        .iter()
        .position(|verdict| *verdict == Verdict::Journal);
    let layout = layout(claims, best, &legs)?;
    let reshaping = best
        .reshape
        .map(|reshape| after(best, reshape))
        .transpose()?;
    let mut array = Array {
        freshest,
        verdicts,
        legs,
        journal,
        layout,
        reshaping,
        resync: best.resync,
        readiness: Readiness::Whole,
    };
    array.check_sizes(claims)?;
    array.readiness = array.readiness();
    Ok(array)
}

/// The claim that says what the array is.
fn find_freshest(claims: &[Claim]) -> Result<usize> {
    let takes_part = |claim: &Claim| matches!(claim.role(), Role::Leg(_) | Role::Journal);
    let all = claims.iter().filter(|claim| takes_part(claim));
    let Some(events) = all.map(|claim| claim.events).max() else {
        let count = claims.len();
        let what = format!("none of {count} devices is a leg of the array; attach those that are");
        return Err(Error::new(Kind::InvalidLayout, what));
    };
    let newest = (0..claims.len())
        .filter(|index| takes_part(&claims[*index]) && claims[*index].events == events);
    let newest: Vec<usize> = newest.collect();
    let is_left = |one: &usize| {
        let mut others = newest.iter();
        others.any(|other| calls_gone(&claims[*other], &claims[*one]))
    };
    let freshest = newest.iter().find(|one| !is_left(one)).copied();
    freshest.ok_or_else(|| {
        let count = newest.len();
        let what = format!(
            "{count} devices with {events} events went on without one another, and nothing says \
             whose data count; name only those of one half"
        );
        Error::new(Kind::Damaged, what)
    })
}

/// Whether `one` says that the leg that `other` is has failed or is gone.
fn calls_gone(one: &Claim, other: &Claim) -> bool {
    let Role::Leg(leg) = other.role() else {
        return false;
    };
    let is_same = one.uuid == other.uuid && one.place == other.place && one.shape == other.shape;
    is_same && matches!(one.role(), Role::Leg(_)) && !one.knows_leg(leg)
}

/// What is believed of one, were it alone with the freshest.
fn judge_one(claim: &Claim, best: &Claim, positions: usize) -> Verdict {
    let is_same = claim.uuid == best.uuid
        && claim.place == best.place
        && claim.shape == best.shape
        && (claim.place != Place::EndOld || is_same_old(claim, best));
    if !is_same {
        return Verdict::Foreign;
    }
    let own = claim.role();
    if matches!(own, Role::Spare | Role::Faulty) {
        return if own == Role::Faulty {
            Verdict::Faulty
        } else {
            Verdict::Spare
        };
    }
    if claim.events.saturating_add(1) < best.events {
        return Verdict::Stale;
    }
    if let Role::Leg(leg) = best.role()
        && !claim.knows_leg(leg)
    {
        return Verdict::Disagrees;
    }
    if claim.events == best.events && calls_gone(best, claim) {
        return Verdict::Stale;
    }
    let role = if claim.events == best.events {
        own
    } else if let Some(role) = best.roles.get(claim.number as usize) {
        *role
    } else {
        // The freshest has no role of that number, and should have.
        return Verdict::Disagrees;
    };
    match role {
        Role::Journal if best.guard == Guard::Journal => Verdict::Journal,
        // A journal without a use.
        Role::Faulty | Role::Journal => Verdict::Faulty,
        Role::Leg(leg) if (leg as usize) < positions && claim.is_replacement => {
            Verdict::Replacement(leg as usize)
        }
        Role::Leg(leg) if (leg as usize) < positions => Verdict::Leg(leg as usize),
        Role::Spare | Role::Leg(_) => Verdict::Spare,
    }
}

/// What all superblocks of the old format have in common.
fn is_same_old(claim: &Claim, best: &Claim) -> bool {
    let constant = |claim: &Claim| (claim.created, claim.leg_size, claim.device_count);
    constant(claim) == constant(best)
}

/// Leaves one of those that have one place: the one with the most events.
fn settle_doubles(claims: &[Claim], verdicts: &mut [Verdict]) -> Result<()> {
    for index in 0..verdicts.len() {
        let verdict = verdicts[index];
        if !matches!(
            verdict,
            Verdict::Leg(_) | Verdict::Replacement(_) | Verdict::Journal
        ) {
            continue;
        }
        let same = (0..verdicts.len()).filter(|other| verdicts[*other] == verdict);
        let same: Vec<usize> = same.collect();
        let newest = same.iter().map(|other| claims[*other].events).max();
        let (kept, left_out): (Vec<usize>, Vec<usize>) = same
            .into_iter()
            .partition(|other| Some(claims[*other].events) == newest);
        if kept.len() > 1 {
            let what = format!(
                "{} devices with {} events say that they are the same part ({verdict:?}) of the \
                 array: one is a copy, or all are one device; leave out all but one",
                kept.len(),
                newest.unwrap_or_default()
            );
            return Err(Error::new(Kind::Damaged, what));
        }
        for other in left_out {
            verdicts[other] = Verdict::Superseded;
        }
    }
    Ok(())
}

fn layout(claims: &[Claim], best: &Claim, legs: &[Option<Leg>]) -> Result<Layout> {
    let shape = best.shape;
    if !matches!(shape.level, LEVEL_LINEAR | LEVEL_STRIPED) {
        let delta = best.reshape.map_or(0, |reshape| reshape.delta);
        let before = i64::from(best.device_count) - i64::from(delta);
        let geometry = geometry(shape, before, best.leg_size)?;
        return Ok(Layout::Redundant(geometry));
    }
    if best.reshape.is_some() {
        let what = "the array is reshaped from or to one without redundancy, which is not served";
        return Err(Error::new(Kind::InvalidLayout, what));
    }
    let sizes = legs
        .iter()
        .map(|leg| leg.map(|leg| claims[leg.claim].data.len()));
    let Some(sizes) = sizes.collect::<Option<Vec<u64>>>() else {
        return Ok(Layout::Unknown);
    };
    if shape.level == LEVEL_LINEAR {
        return Spans::new(&sizes, shape.chunk).map(Layout::Linear);
    }
    let order = shape.layout.and_then(ZoneOrder::from_md);
    Zones::new(&sizes, shape.chunk, order).map(Layout::Striped)
}

fn after(best: &Claim, reshape: Reshape) -> Result<Reshaping> {
    if best.new_data_start == best.data.start() {
        // What is at the position may be in mdadm's backup file only.
        let what = "it is reshaped in place, with a backup file: let mdadm go on with that";
        return Err(Error::new(Kind::InvalidLayout, what));
    }
    let after = geometry(reshape.shape, i64::from(best.device_count), best.leg_size)?;
    Ok(Reshaping {
        after,
        position: reshape.position,
        backwards: reshape.backwards,
    })
}

fn geometry(shape: Shape, legs: i64, leg_size: u64) -> Result<Geometry> {
    let legs = usize::try_from(legs).unwrap_or_default();
    Geometry::new(shape.scheme()?, legs, shape.chunk, leg_size)
}

impl Array {
    /// Legs with redundancy must have what is used of each.
    fn check_sizes(&self, claims: &[Claim]) -> Result<()> {
        let Layout::Redundant(geometry) = &self.layout else {
            return Ok(());
        };
        let small = self.legs.iter().flatten().find(|leg| {
            let len = claims[leg.claim].data.len();
            len < geometry.leg_size()
        });
        match small {
            None => Ok(()),
            Some(leg) => {
                let (len, wanted) = (claims[leg.claim].data.len(), geometry.leg_size());
                let what = format!("a leg has {len} bytes of data, and the array uses {wanted}");
                Err(Error::new(Kind::DeviceTooSmall, what))
            }
        }
    }

    fn readiness(&self) -> Readiness {
        let is_there = |leg: usize| {
            let leg = self.legs.get(leg).copied().flatten();
            leg.is_some_and(|leg| leg.valid == Position::End)
        };
        let mut worst = match &self.layout {
            Layout::Redundant(geometry) => readiness_of(geometry, is_there),
            Layout::Striped(_) | Layout::Linear(_) => Readiness::Whole,
            Layout::Unknown => Readiness::NotEnough,
        };
        if let Some(reshaping) = &self.reshaping {
            worst = match (worst, readiness_of(&reshaping.after, is_there)) {
                (Readiness::NotEnough, _) | (_, Readiness::NotEnough) => Readiness::NotEnough,
                (Readiness::Whole, Readiness::Whole) => Readiness::Whole,
                _ => Readiness::Degraded,
            };
        }
        let has_parity = matches!(
            &self.layout,
            Layout::Redundant(geometry) if matches!(geometry.scheme(), Scheme::Parity(..))
        );
        // Who reads replays neither a journal nor a log of partial parity.
        let is_dirty = self.resync != Position::End;
        match worst {
            Readiness::Degraded if has_parity && is_dirty => Readiness::DirtyDegraded,
            other => other,
        }
    }
}

/// Whether all bytes can be had from the legs that are there.
fn readiness_of(geometry: &Geometry, is_there: impl Fn(usize) -> bool) -> Readiness {
    let legs = geometry.legs();
    let missing = (0..legs).filter(|leg| !is_there(*leg)).count();
    let is_enough = match geometry.scheme() {
        Scheme::Mirror => missing < legs,
        Scheme::Parity(parity, _) => missing <= parity.count(),
        // Which legs hold the copies of a chunk comes again after as many chunks as legs.
        Scheme::Copies(_) => (0..legs as u64).all(|chunk| {
            let offset = chunk * geometry.chunk();
            let mut copies = 0..geometry.copies();
            offset >= geometry.size()
                || copies.any(|copy| is_there(geometry.spot(offset, copy).leg))
        }),
    };
    match (is_enough, missing) {
        (false, _) => Readiness::NotEnough,
        (true, 0) => Readiness::Whole,
        (true, _) => Readiness::Degraded,
    }
}

#[cfg(test)]
mod tests;
