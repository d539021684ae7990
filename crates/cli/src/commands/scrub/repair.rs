//! Repairing what was found: a plan that people see first, and the orders to the array.
//!
//! ```text
//!   compared ─▸ plan, question ─▸ group taken, volume opened ─▸ each place judged once more and
//!               repaired, in batches ─▸ flushed, closed ─▸ compared again
//! ```
//!
//! Between the comparison and the repair anybody may write the volume, so the array itself decides
//! under its locks what is wrong of each place. Does not: repair what a process serves.

use std::thread;
use std::time::Duration;

use ashlar::live::LiveGroup;
use ashlar::scrub::{Finding, FindingKind, Unknown};
use block::Range;
use lvm2::Uuid;

use crate::args::Error;

/// Places that are kept, at most: with more, the command is to be run again.
const PLACES_MAX: usize = 1 << 16;
/// Bytes of a place, at most: an order is done in a bounded time.
const PLACE_MAX: u64 = 4 << 20;
/// Places of one order.
const BATCH: usize = 64;

/// What was found, and what is to be done about it.
#[derive(Debug, Default)]
pub(in crate::commands) struct Repair {
    places: Vec<Range>,
    is_cut: bool,
    /// Sectors of each leg, by what is done about them.
    known: u64,
    summed: u64,
    copied: u64,
    unreadable: u64,
}

impl Repair {
    /// Notes a finding.
    pub(in crate::commands) fn note(&mut self, finding: &Finding) {
        let count = match (&finding.kind, finding.unknown()) {
            (FindingKind::Unreadable, _) => &mut self.unreadable,
            (_, None) => &mut self.known,
            (_, Some(Unknown::OneSum | Unknown::SeveralLegs)) => &mut self.summed,
            (_, Some(Unknown::TwoCopies | Unknown::NoMajority)) => &mut self.copied,
        };
        *count += finding.sectors();
        let place = Range::new(finding.sync, finding.len);
        let has_room = self.places.len() < PLACES_MAX;
        match self.places.last_mut() {
            Some(last) if last.end() == place.start() && last.len() + place.len() <= PLACE_MAX => {
                *last = Range::new(last.start(), last.len() + place.len());
            }
            Some(last) if place.start() >= last.start() && place.end() <= last.end() => {}
            _ if has_room => self.places.push(place),
            _ => self.is_cut = true,
        }
    }

    /// Whether nothing is to be done.
    pub(in crate::commands) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// What is to be done, a line each.
    pub(in crate::commands) fn plan(&self, volume: &str) -> Vec<String> {
        let all = [
            (self.known, "the leg that is wrong gets what the others say"),
            (
                self.summed,
                "parity is computed of the data; nobody can know whether that is what is wrong, \
                 and data that are stay so",
            ),
            (
                self.copied,
                "the first copy goes over the others; nobody can know whether it is the right one",
            ),
            (
                self.unreadable,
                "what cannot be read is written anew from the other legs",
            ),
        ];
        let is_any = |(count, _): &(u64, &str)| *count > 0;
        let line = |(count, what): (u64, &str)| {
            let sectors = if count == 1 { "sector" } else { "sectors" };
            format!("{volume}: {count} {sectors} to repair: {what}")
        };
        let mut lines: Vec<String> = all.into_iter().filter(is_any).map(line).collect();
        if self.is_cut {
            lines.push(format!(
                "{volume}: the first {} places are repaired; the same command again does more",
                self.places.len()
            ));
        }
        assert!(lines.is_empty() == self.is_empty(), "what is done is said");
        lines
    }

    /// Opens the volume, repairs it, and makes that durable. `look` is told how many of how many
    /// places are done, and may end it; `rate` is in bytes of each leg in a second.
    pub(in crate::commands) fn carry_out(
        &self,
        live: &LiveGroup,
        (volume, lv): (&str, Uuid),
        rate: Option<u64>,
        look: &mut dyn FnMut(usize, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let failed = |error: ashlar::Error| Error::failed(error.to_string());
        let used = live.open(volume, ashlar::activate::MissingPolicy::Degraded);
        let used = used.map_err(failed)?;
        let mut done = 0;
        for batch in self.places.chunks(BATCH) {
            look(done, self.places.len())?;
            live.repair(lv, batch).map_err(failed)?;
            done += batch.len();
            if let Some(rate) = rate {
                let bytes: u64 = batch.iter().map(|place| place.len()).sum();
                thread::sleep(Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64));
            }
        }
        assert_eq!(done, self.places.len(), "each place is in a batch");
        used.close().map_err(failed)
    }
}

#[cfg(test)]
mod tests;
