//! What others believe, and how they are told before it does harm.
//!
//! Whoever runs a mirror after us may not read the record in the log: the kernel believes the leg
//! that its table names first, and a log in memory has no record at all. The order of the legs in
//! the mirror's description is what everybody reads. So this holds at all times:
//!
//! ```text
//!   the leg that others believe holds everything that was answered
//! ```
//!
//! When that leg is lost, or stale at the start, a notice asks whoever keeps the description to put
//! the believed legs first. Until the message comes that this is durable, nothing is answered that
//! the leg missed; reads go on. If it cannot be done, what waits fails, and so does all that is
//! written from then on: an error now, rather than old data later.
//!
//! ```text
//!   mirror ── order 1 2 lost 0 ──▸ keeper          keeper ── ordered ──────▸ mirror
//!                                                         ╲ unordered WHY ─▸
//! ```
//!
//! Where nobody has to be told, a notice says all the same which legs were lost: redundancy does
//! not go in silence. Nothing waits for that one.
//!
//! Others who believe every leg (nothing is copied at a start, and there is no log on disk) are
//! told when any leg is lost.

use std::time::Duration;

use block::{Error, Kind};

use super::Mirror;
use super::config::Others;
use crate::machine::{Step, Steps};

const ORDER: &str = "order";
const LOST: &str = "lost";
const ORDERED: &str = "ordered";
const UNORDERED: &str = "unordered";

/// The order in which the legs have to be described. Each is its place in the mirror's
/// [`super::MirrorConfig::legs`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The legs that hold everything.
    pub believed: Vec<usize>,
    /// The others. From now on nobody may believe them.
    pub stale: Vec<usize>,
}

impl Order {
    /// What a notice of a mirror asks for; `None`: it is about something else.
    pub fn of_notice(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        if words.next() != Some(ORDER) {
            return None;
        }
        let (mut believed, mut stale) = (Vec::new(), Vec::new());
        let mut list = &mut believed;
        for word in words {
            if word == LOST {
                list = &mut stale;
            } else {
                list.push(word.parse().ok()?);
            }
        }
        Some(Self { believed, stale })
    }

    fn notice(&self) -> String {
        let mut words = vec![ORDER.to_owned()];
        words.extend(self.believed.iter().map(usize::to_string));
        words.push(LOST.to_owned());
        words.extend(self.stale.iter().map(usize::to_string));
        words.join(" ")
    }
}

/// The legs of which a notice says that they were lost, where nothing else is asked for; `None`: it
/// is about something else.
pub fn lost_in(text: &str) -> Option<Vec<usize>> {
    let mut words = text.split(' ');
    if words.next() != Some(LOST) {
        return None;
    }
    words.map(|word| word.parse().ok()).collect()
}

/// The message that the legs are described in the order that was asked for last, durably.
pub fn ordered() -> String {
    ORDERED.to_owned()
}

/// The message that they cannot be.
pub fn unordered(why: &str) -> String {
    format!("{UNORDERED} {why}")
}

/// Why not, if not; `None`: the message is about something else.
pub(super) fn answer_in(text: &str) -> Option<Result<(), String>> {
    match text.split_once(' ') {
        None if text == ORDERED => Some(Ok(())),
        Some((UNORDERED, why)) => Some(Err(why.to_owned())),
        _ => None,
    }
}

impl Mirror {
    /// Whether others believe a leg that they must not believe.
    pub(super) fn must_tell(&self) -> bool {
        match self.config.others {
            Others::Nobody => false,
            Others::Leg(leg) => !self.legs[leg].believed,
            Others::All => self.legs.iter().any(|leg| !leg.believed),
        }
    }

    /// Asks that others be told; a round of lost legs waits for the answer.
    pub(super) fn tell_others(&mut self, steps: &mut Steps) {
        let believed = |leg: &usize| self.legs[*leg].believed;
        let (believed, stale): (Vec<_>, Vec<_>) = (0..self.legs.len()).partition(believed);
        assert!(!believed.is_empty(), "the last believed leg is never lost");
        self.drops.telling = Some(believed[0]);
        steps.push(Step::Notice(Order { believed, stale }.notice()));
    }

    /// Says which legs are lost.
    pub(super) fn tell_of_loss(&self, steps: &mut Steps) {
        let lost = self.legs.iter().enumerate().filter(|(_, leg)| leg.lost);
        let places = lost.map(|(place, _)| format!(" {place}"));
        steps.push(Step::Notice(format!(
            "{LOST}{}",
            places.collect::<String>()
        )));
    }

    /// Others were told, or cannot be.
    pub(super) fn others_told(
        &mut self,
        answer: Result<(), String>,
        now: Duration,
        steps: &mut Steps,
    ) -> block::Result<String> {
        let Some(leg) = self.drops.telling.take() else {
            let what = format!("{}: nobody asked for an order of legs", self.config.name);
            return Err(Error::new(Kind::Unsupported, what));
        };
        let result = answer.map_err(|why| {
            let what = format!(
                "{}: an image was lost, and the metadata cannot be updated to say so; writes are \
                 refused, since the next activation could read the lost image; mend the cause \
                 and activate the mirror again: {why}",
                self.config.name
            );
            Error::new(Kind::Io, what)
        });
        if result.is_ok() {
            self.config.others = Others::Leg(leg);
        }
        self.end_drop_round(&result, now, steps);
        Ok(self.status())
    }
}
