//! Eq. 7 through measured seek times.
//!
//! For each place `e` where the branches may meet, a continuous curve is a sum of three functions:
//! 1, √min(d, e) and max(d - e, 0). Least squares give their weights; the `e` with the smallest
//! error wins. Points far off count less (Huber), since one bad point moves a fit much. The error
//! of a point is relative, so that short seeks count as much as long ones.

use crate::disk::seek::Eq7;

/// Relative errors beyond this, in multiples of the root mean square, count less.
const HUBER: f64 = 1.5;
const ROUNDS: usize = 4;

/// A curve and how well it fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurveFit {
    /// The curve.
    pub curve: Eq7,
    /// The root of the mean square of the relative errors.
    pub error: f64,
}

/// The best Eq. 7 through (cylinders, nanoseconds); `None` below five points.
pub fn fit_eq7(points: &[(u32, f64)]) -> Option<CurveFit> {
    if points.len() < 5 {
        return None;
    }
    let splits = &points[2..points.len() - 2];
    let mut best: Option<CurveFit> = None;
    for window in splits.windows(2) {
        // Between two measured places the branches may meet anywhere.
        for part in 0..4 {
            let (low, high) = (window[0].0, window[1].0);
            let split = low + (high - low) / 4 * part;
            if let Some(fit) = fit_at(points, split)
                && best.as_ref().is_none_or(|best| fit.error < best.error)
            {
                best = Some(fit);
            }
        }
    }
    best
}

fn basis(distance: u32, split: u32) -> [f64; 3] {
    let root = f64::from(distance.min(split)).sqrt();
    [1.0, root, f64::from(distance.saturating_sub(split))]
}

fn fit_at(points: &[(u32, f64)], split: u32) -> Option<CurveFit> {
    let mut weights = vec![1.0; points.len()];
    let mut error = 0.0;
    let mut solved = [0.0; 3];
    for _ in 0..ROUNDS {
        let mut matrix = [[0.0; 4]; 3];
        for (&(distance, time), weight) in points.iter().zip(&weights) {
            let row = basis(distance, split);
            for (i, line) in matrix.iter_mut().enumerate() {
                for (j, cell) in line.iter_mut().enumerate() {
                    let other = if j < 3 { row[j] } else { time };
                    *cell += weight * row[i] * other / (time * time);
                }
            }
        }
        solved = solve(matrix)?;
        let misses: Vec<f64> = points
            .iter()
            .map(|&(distance, time)| {
                let row = basis(distance, split);
                let value: f64 = row.iter().zip(&solved).map(|(a, b)| a * b).sum();
                value / time - 1.0
            })
            .collect();
        let squares: f64 = misses.iter().map(|miss| miss * miss).sum();
        error = (squares / points.len() as f64).sqrt();
        for (weight, miss) in weights.iter_mut().zip(&misses) {
            let limit = HUBER * error;
            *weight = if miss.abs() > limit {
                limit / miss.abs()
            } else {
                1.0
            };
        }
    }
    let [base, root, line] = solved;
    let split_root = f64::from(split).sqrt();
    Some(CurveFit {
        curve: Eq7 {
            split,
            root_base_ns: base,
            root_ns: root,
            line_base_ns: base + root * split_root - line * f64::from(split),
            line_ns: line,
        },
        error,
    })
}

/// Three linear equations; `None` if they do not decide.
fn solve(mut matrix: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for column in 0..3 {
        let pivot = (column..3)
            .max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()))?;
        matrix.swap(column, pivot);
        let lead = matrix[column];
        if lead[column].abs() < f64::MIN_POSITIVE {
            return None;
        }
        for (row, line) in matrix.iter_mut().enumerate() {
            if row != column {
                let factor = line[column] / lead[column];
                for (cell, above) in line.iter_mut().zip(lead) {
                    *cell -= factor * above;
                }
            }
        }
    }
    Some([0, 1, 2].map(|row| matrix[row][3] / matrix[row][row]))
}
