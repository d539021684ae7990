//! How many requests a second a spindle can serve (rule R.10).
//!
//! The table is of a simulation: 7,200 turns a minute, 16 KiB at random places of a span at the
//! outer edge, served shortest positioning time first. Between its points it is interpolated in
//! logarithms; it scales with the speed of rotation. A drive may be better than the simulated one,
//! so whoever compares leaves a margin.

use crate::stats::real::{exp, ln};

const SPANS: [f64; 4] = [0.85, 5.0, 100.0, 1900.0];
const QUEUES: [f64; 4] = [1.0, 4.0, 32.0, 107.0];
const RATES: [[f64; 4]; 4] = [
    [197.0, 416.0, 781.0, 942.0],
    [188.0, 373.0, 669.0, 814.0],
    [148.0, 235.0, 414.0, 531.0],
    [78.0, 112.0, 194.0, 265.0],
];
/// Turns a minute of the simulated drive.
const TURNS: f64 = 7200.0;

/// Random requests per second of one spindle: turns per minute, gigabytes that the requests are
/// spread over, requests waiting at it.
pub fn spindle_bound(turns_per_minute: f64, span_gb: f64, queue: f64) -> f64 {
    let (row, down) = place(&SPANS, span_gb);
    let (column, right) = place(&QUEUES, queue);
    let along = |row: usize| {
        let (a, b) = (ln(RATES[row][column]), ln(RATES[row][column + 1]));
        a + (b - a) * right
    };
    let rate = along(row) + (along(row + 1) - along(row)) * down;
    exp(rate) * turns_per_minute.max(1.0) / TURNS
}

/// The interval of `points` that holds `value`, and how far into it, by logarithms.
fn place(points: &[f64; 4], value: f64) -> (usize, f64) {
    let value = value.clamp(points[0], points[3]);
    let index = points[1..3].iter().filter(|point| value >= **point).count();
    let (low, high) = (ln(points[index]), ln(points[index + 1]));
    (index, (ln(value) - low) / (high - low))
}
