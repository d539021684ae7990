//! Rules about several arms at once.
//!
//! ```text
//!   over = "spread"    the largest of the metric over the smallest: do configurations differ?
//!   over = "mean"      the geometric mean of each arm's ratio to its base
//!   over = "best"      the largest of these ratios: is there a load for which …
//!   over = "explained" explained_by = ["metadata_blocks", "data_blocks"]: the share of the
//!                      differences to the bases that a line through these numbers explains
//! ```
//!
//! Each gives one number for a replicate, if all arms have been run in it. The line is fitted by
//! least squares, without a constant, to all other replicates, and the share is what it explains of
//! this one: a line that only fits noise explains nothing. Shares below a thousandth count as that.

use std::collections::BTreeSet;

use super::record::Record;
use super::rule::Runs;
use crate::error::Result;
use crate::settings::Table;
use crate::stats::real::{exp, ln};

/// The least share, so that shares have logarithms.
const SHARE_MIN: f64 = 0.001;

/// What is made of several arms.
#[derive(Debug, Clone, PartialEq)]
pub enum Over {
    /// Largest over smallest.
    Spread,
    /// The geometric mean of ratios.
    Mean,
    /// The largest ratio.
    Best,
    /// The share of differences that these metrics explain.
    Explained(Vec<String>),
}

/// Arms that are judged together.
#[derive(Debug, Clone)]
pub struct Group {
    pub(super) over: Over,
    /// Each arm and its base.
    pub(super) pairs: Vec<(String, Option<String>)>,
}

impl Over {
    /// Takes the fields of a rule; `None` for a rule about single arms.
    pub(super) fn read(table: &mut Table, based: bool) -> Result<Option<Self>> {
        let Some(word) = table.text("over")? else {
            return Ok(None);
        };
        let by = table.texts("explained_by")?;
        let over = match word.as_str() {
            "spread" => Self::Spread,
            "mean" => Self::Mean,
            "best" => Self::Best,
            "explained" => Self::Explained(by.clone()),
            _ => {
                let what = "spread, mean, best or explained is expected";
                return Err(table.error("over", what));
            }
        };
        if matches!(over, Self::Explained(_)) == by.is_empty() {
            let what = "metrics that explain belong to over = \"explained\"";
            return Err(table.error("explained_by", what));
        }
        if based == (over == Self::Spread) {
            let what = "spread has none, the others need one";
            return Err(table.error("base", what));
        }
        Ok(Some(over))
    }

    /// How reports call it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Spread => "largest over smallest",
            Self::Mean => "geometric mean of ratios",
            Self::Best => "largest of ratios",
            Self::Explained(_) => "share of differences that blocks explain",
        }
    }
}

impl Group {
    /// What is made of the arms.
    pub fn over(&self) -> &Over {
        &self.over
    }

    /// A number for each replicate that all arms have.
    pub(super) fn values(&self, metric: &str, runs: &Runs<'_>) -> Vec<f64> {
        let replicates: BTreeSet<u64> = runs.keys().map(|(_, replicate)| *replicate).collect();
        if let Over::Explained(by) = &self.over {
            let points = replicates
                .iter()
                .filter_map(|&replicate| self.points(metric, by, runs, replicate));
            return shares(&points.collect::<Vec<_>>());
        }
        let values = replicates.iter();
        values
            .filter_map(|&replicate| self.value(metric, runs, replicate))
            .collect()
    }

    fn value(&self, metric: &str, runs: &Runs<'_>, replicate: u64) -> Option<f64> {
        let mut logs = Vec::new();
        for (other, base) in &self.pairs {
            let find = |arm: &str| {
                let value = *runs.get(&(arm, replicate))?.values.get(metric)?;
                (value > 0.0).then(|| ln(value))
            };
            let base = match base {
                Some(base) => find(base)?,
                None => 0.0,
            };
            logs.push(find(other)? - base);
        }
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = logs.iter().copied().fold(f64::INFINITY, f64::min);
        Some(exp(match self.over {
            Over::Spread => most - least,
            Over::Best => most,
            _ => logs.iter().sum::<f64>() / logs.len() as f64,
        }))
    }

    /// The difference of each arm to its base, and what is to explain it.
    fn points(
        &self,
        metric: &str,
        by: &[String],
        runs: &Runs<'_>,
        replicate: u64,
    ) -> Option<Vec<Point>> {
        let pairs = self.pairs.iter();
        let point = |(other, base): &(String, Option<String>)| {
            let run: &Record = runs.get(&(other.as_str(), replicate))?;
            let base = runs.get(&(base.as_deref()?, replicate))?;
            let causes = by.iter().map(|name| run.values.get(name).copied());
            Some(Point {
                difference: run.values.get(metric)? - base.values.get(metric)?,
                causes: causes.collect::<Option<_>>()?,
            })
        };
        pairs.map(point).collect()
    }
}

/// A difference, and the numbers that are to explain it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) difference: f64,
    pub(super) causes: Vec<f64>,
}

/// For each replicate the share that a line through all others explains.
pub(super) fn shares(replicates: &[Vec<Point>]) -> Vec<f64> {
    let share = |(index, points): (usize, &Vec<Point>)| {
        let others = replicates.iter().enumerate();
        let others = others.filter(|(other, _)| *other != index);
        let others: Vec<&Point> = others.flat_map(|(_, points)| points).collect();
        let slopes = fit(&others);
        let (mut left, mut all) = (0.0, 0.0);
        for point in points {
            let causes = point.causes.iter().zip(&slopes);
            let line: f64 = causes.map(|(cause, slope)| cause * slope).sum();
            left += (point.difference - line) * (point.difference - line);
            all += point.difference * point.difference;
        }
        let share = if all > 0.0 { 1.0 - left / all } else { 0.0 };
        share.clamp(SHARE_MIN, 1.0)
    };
    replicates.iter().enumerate().map(share).collect()
}

/// Least squares without a constant; a slope that the points do not decide is 0.
pub(super) fn fit(points: &[&Point]) -> Vec<f64> {
    let count = points.first().map_or(0, |point| point.causes.len());
    // Normal equations, each row with its right side at the end.
    let mut rows = vec![vec![0.0; count + 1]; count];
    for point in points {
        for (row, cause) in rows.iter_mut().zip(&point.causes) {
            for (sum, other) in row.iter_mut().zip(&point.causes) {
                *sum += cause * other;
            }
            row[count] += cause * point.difference;
        }
    }
    for pivot in 0..count {
        let largest = (pivot..count).max_by(|&a, &b| {
            let size = |row: usize| f64::abs(rows[row][pivot]);
            size(a).total_cmp(&size(b))
        });
        rows.swap(pivot, largest.unwrap_or(pivot));
        let head = rows[pivot].clone();
        if head[pivot].abs() < f64::MIN_POSITIVE {
            continue;
        }
        for (index, row) in rows.iter_mut().enumerate() {
            if index != pivot {
                let factor = row[pivot] / head[pivot];
                for (value, of_pivot) in row.iter_mut().zip(&head) {
                    *value -= factor * of_pivot;
                }
            }
        }
    }
    let slope = |(index, row): (usize, &Vec<f64>)| {
        let undecided = row[index].abs() < f64::MIN_POSITIVE;
        if undecided {
            0.0
        } else {
            row[count] / row[index]
        }
    };
    rows.iter().enumerate().map(slope).collect()
}

#[cfg(test)]
mod tests;
