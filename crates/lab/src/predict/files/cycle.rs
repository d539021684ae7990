//! From one commit to the next: how many transactions of the program, and what is left to write.
//!
//! A commit writes first the data that was dirtied since the last one, and the next begins when it
//! is done and 5 s old. The program could go on all that time, if it did not wait
//!
//! - for the limit of dirty memory: no more than L pages are dirtied in a cycle;
//! - for pages of the commit: who appends to one that is still to be written waits until it is,
//!   behind half of the elevator's requests. While the share x of a commit's R requests is left, an
//!   append meets such a page with the chance x times the share q of all files that it holds. R/64
//!   such waits are in a commit, so that n = sum over i of 1 / (a q i / (R/64)) lies between two.
//!
//! Pages stay dirty for a cycle on average: half until it ends, half of the next until they are
//! written. What is deleted before that is never written.
//!
//! Where blocks are taken first fit and files may be in pieces, each allocation cuts a gap; gaps
//! merge where a freed piece lies beside one: with the share g of gaps, an allocation rate of E for
//! each file deleted, and k pieces a file, dk/dx = E - 2 g k over x generations of files. Files of
//! one cycle fill its gaps one after the other, so that a gap, not a piece, is a request.

use super::pool::Pool;
use crate::filesystem::{BLOCK, Options};
use crate::stats::real::{exp, ln};

/// Requests that pass while one page is waited for: half of what the elevator sorts.
const PASSED: f64 = 64.0;
/// Euler's constant: the sum of 1/i is ln K + this.
const EULER: f64 = 0.577_215_664_901_532_9;
/// Gaps are at most half of where files lie: more would be a pool that is not in balance.
const GAPS_MAX: f64 = 0.5;

/// A cycle, in transactions of the program and means per transaction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Cycle {
    /// Transactions of the program between two commits.
    pub(super) transactions: f64,
    /// The share of what is dirtied that lives until it is written.
    pub(super) survive: f64,
    /// Pieces of a file on the volume.
    pub(super) pieces: f64,
    /// Requests to write data, per transaction.
    pub(super) requests: f64,
    /// Pages written, per transaction.
    pub(super) pages: f64,
}

/// A pool's rates, per transaction of the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rates {
    pub(super) made: f64,
    pub(super) appended: f64,
    pub(super) read: f64,
    /// Of each file.
    pub(super) died: f64,
    /// Pages dirtied.
    pub(super) dirtied: f64,
}

impl Rates {
    pub(super) fn of(pool: &Pool) -> Self {
        let each = 1.0 / pool.transactions.max(1.0);
        Self {
            made: pool.made * each,
            appended: pool.appends * each,
            read: pool.reads * each,
            died: pool.deleted * each / pool.files.max(1.0),
            dirtied: (pool.made_pages + pool.appended_pages) * each,
        }
    }
}

/// Pages that may be dirty.
pub(super) fn limit(options: &Options) -> f64 {
    let pages = options.memory_bytes / BLOCK * options.dirty_percent / 100;
    pages as f64
}

/// The cycle of a pool. `least` transactions pass in the 5 s that a commit waits at least.
pub(super) fn cycle(pool: &Pool, options: &Options, least: f64) -> Cycle {
    let rates = Rates::of(pool);
    let most = until_full(&rates, limit(options)).min(pool.transactions);
    let mut found = Cycle {
        transactions: most,
        ..Cycle::default()
    };
    for _ in 0..50 {
        let next = settled(pool, &rates, found.transactions);
        let passed = between(pool, &rates, &next).max(least).min(most).max(1.0);
        found = Cycle {
            transactions: f64::midpoint(found.transactions, passed),
            ..next
        };
    }
    found
}

/// Transactions until so many of the pages that were dirtied in them live.
fn until_full(rates: &Rates, pages: f64) -> f64 {
    let share = pages * rates.died / rates.dirtied.max(1e-9);
    if share >= 1.0 {
        return f64::INFINITY;
    }
    -ln(1.0 - share) / rates.died.max(1e-12)
}

/// Transactions of the program until a commit has held them up as often as it can.
fn between(pool: &Pool, rates: &Rates, cycle: &Cycle) -> f64 {
    let waits = cycle.transactions * cycle.requests / PASSED;
    let touched = cycle.transactions * (rates.made + rates.appended) / pool.files.max(1.0);
    // Some were used twice, some are deleted by now.
    let share = (1.0 - exp(-touched)) * cycle.survive;
    let chance = rates.appended * share;
    waits * (ln(waits.max(1.0)) + EULER) / chance.max(1e-9)
}

/// What a cycle of so many transactions comes to.
fn settled(pool: &Pool, rates: &Rates, transactions: f64) -> Cycle {
    let survive = exp(-rates.died * transactions);
    let pieces = pieces(pool, rates, transactions);
    let places = (rates.made + rates.appended) / (rates.died * pool.files).max(1e-9);
    let each = (pieces / places.max(1e-9)).max(1.0);
    let made = gaps_of(each, pool.made_pages / pool.made.max(1.0));
    // What an append adds lies apart from the page that it fills up.
    let appended = pool.appends.max(1.0);
    let filled = (pool.appended_pages - pool.new_pages) / appended;
    let added = gaps_of(each, pool.new_pages / appended) + filled;
    Cycle {
        transactions,
        survive,
        pieces,
        requests: survive * (rates.made * made + rates.appended * added),
        pages: survive * rates.dirtied,
    }
}

/// Gaps that something of so many pages fills, in `pieces` if it has as many pages. What does not
/// end with its last gap is followed by the next, whose write is one request with it.
fn gaps_of(pieces: f64, pages: f64) -> f64 {
    if pages < 1.0 {
        return pages;
    }
    pieces.min(pages) - (1.0 - 1.0 / pages)
}

/// Pieces of a file, on average over the run.
fn pieces(pool: &Pool, rates: &Rates, transactions: f64) -> f64 {
    let deaths = rates.died * pool.files;
    let places = (rates.made + rates.appended) / deaths.max(1e-9);
    let found = pieces_of(
        places,
        transactions * rates.died,
        rates.died * pool.transactions,
    );
    found.min(pool.pages / pool.files.max(1.0)).max(1.0)
}

/// Pieces of a file that takes `places` at a time each, where a share `freed` of all files goes in
/// a cycle; the mean over so many generations of files, of which the first is in one piece.
pub(super) fn pieces_of(places: f64, freed: f64, generations: f64) -> f64 {
    // What was freed in this cycle so far; older gaps are filled.
    let gaps = (freed / 2.0).clamp(1e-6, GAPS_MAX);
    let last = places / (2.0 * gaps);
    let passed = (2.0 * gaps * generations).max(1e-9);
    last + (1.0 - last) * (1.0 - exp(-passed)) / passed
}
