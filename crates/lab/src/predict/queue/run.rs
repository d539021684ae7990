//! Waiting in a run: parts of a stream that come to an idle disk one after the other, until the
//! next disk has its turn.
//!
//! While it lasts the disk may get more than it can serve, or nearly, though it is idle most of the
//! time; so neither the mean over a long time nor a steady growth of the queue is right. Spitzer's
//! identity (1956) is, for any number of parts: with S(j) what j services take beyond j gaps,
//!
//! ```text
//!   wait of part k            sum over j = 1..k of E[max(S(j), 0)] / j
//!   chance that it is idle    1 - busy and, in gaps, by how much part k waits more than k - 1
//! ```
//!
//! The second is the mean of the time that the disk has nothing to do, which lasts a whole gap on
//! average once it began. Of constant services and gaps by chance, j gaps are shorter than j
//! services where a Poisson variable of mean j · busy is j at least. Long runs of `busy` < 1 end
//! where Pollaczek and Khinchine do; with `busy` far above 1 the queue grows by `busy` - 1 with
//! each part.

use crate::stats::real::{exp, ln};

/// Parts after which the rest of a run is not worth working out one by one: a chunk of 4 MiB in
/// blocks has as many.
const PARTS_MAX: u32 = 8192;

/// What the parts of a run find, on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::predict) struct Found {
    /// The share that finds the disk idle.
    pub(in crate::predict) idle: f64,
    /// The wait, in mean gaps.
    pub(in crate::predict) wait: f64,
}

/// A run of `parts`, whose services take `busy` mean gaps each.
pub(in crate::predict) fn in_run(busy: f64, parts: f64) -> Found {
    let parts = parts.round().max(1.0);
    let count = parts.min(f64::from(PARTS_MAX)) as u32;
    let (mut wait, mut waits, mut idles) = (0.0, 0.0, 1.0);
    for before in 1..count {
        let (equal, least) = poisson(f64::from(before), busy);
        let more = ((busy - 1.0) * least + equal).max(0.0);
        let idle = (1.0 - busy + more).clamp(0.0, 1.0);
        wait += more;
        waits += wait;
        idles += idle;
        if least < 1e-9 || before == PARTS_MAX - 1 {
            // What comes now finds what the ones before found, and what they could not do.
            let rest = parts - f64::from(before + 1);
            let growth = (busy - 1.0).max(0.0);
            waits += rest * (wait + growth * f64::midpoint(rest, 1.0));
            idles += rest * (1.0 - busy).max(0.0);
            break;
        }
    }
    Found {
        idle: idles / parts,
        wait: waits / parts,
    }
}

/// The chances that a Poisson variable of mean `number` · `busy` is `number`, and that or more.
fn poisson(number: f64, busy: f64) -> (f64, f64) {
    let busy = busy.max(1e-9);
    // Stirling's formula, its logarithm within 1 / (360 n³).
    let power = number * (1.0 - busy + ln(busy)) - 1.0 / (12.0 * number);
    let equal = exp(power.max(-600.0)) / (2.0 * std::f64::consts::PI * number).sqrt();
    let mean = number * busy;
    let (mut sum, mut term, mut at) = (0.0, equal, number);
    if busy < 1.0 {
        while term > 1e-9 * equal {
            sum += term;
            at += 1.0;
            term *= mean / at;
        }
        return (equal, sum);
    }
    while at > 0.0 && term > 1e-9 * equal {
        term *= at / mean;
        at -= 1.0;
        sum += term;
    }
    (equal, 1.0 - sum)
}
