//! Hits in a cache that forgets what was used longest ago: Che's approximation.
//!
//! An item that is asked for at the rate l is in a cache of C items if it was asked for within the
//! last T, and T is the same for all items: sum over items of (1 - e^(-l T)) = C. So its hit ratio
//! is 1 - e^(-l T) (Che, Tung and Wang 2002; why it holds far beyond its assumptions: Fricker,
//! Robert and Roberts 2012). Items that are used alike hit with C over their number.
//!
//! An item that comes and goes, as a page of a file that is made and deleted, counts as asked for
//! when it is made: with the rates l and d its rate is l + d.

use crate::stats::real::exp;

/// Halvings of an interval that leave nothing of a double's precision.
const HALVINGS: usize = 200;

/// Items that are used alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crowd {
    /// How many.
    pub items: f64,
    /// How often each of them is asked for, per unit of time.
    pub rate: f64,
}

/// The time that an item stays without being asked for, in the unit of the rates; infinite where
/// everything fits.
pub fn characteristic_time(crowds: &[Crowd], capacity: f64) -> f64 {
    let used = crowds.iter().filter(|crowd| crowd.rate > 0.0);
    let all: f64 = used.clone().map(|crowd| crowd.items).sum();
    if all <= capacity {
        return f64::INFINITY;
    }
    let held = |time: f64| -> f64 {
        let of = |crowd: &Crowd| crowd.items * hit(crowd.rate, time);
        used.clone().map(of).sum()
    };
    let (mut low, mut high) = (0.0, 1.0);
    while held(high) < capacity {
        high *= 2.0;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if held(middle) < capacity {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The chance that an item with this rate is in the cache.
pub fn hit(rate: f64, time: f64) -> f64 {
    if time.is_infinite() {
        return 1.0;
    }
    1.0 - exp(-rate * time)
}
