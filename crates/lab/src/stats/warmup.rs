//! Where the steady part of a run begins, by rule, and how much was discarded.

/// The steady part of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steady {
    /// Index of its first number; so many were discarded.
    pub start: usize,
    /// Index behind its last number.
    pub end: usize,
}

/// The rule of SNIA's performance test specification for solid state storage: the first window of
/// five rounds whose numbers differ by no more than 20 % of their mean, and whose least squares
/// line rises or falls by no more than 10 % of it over the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StorageWindow {
    /// Rounds of a window.
    pub rounds: usize,
    /// Largest less smallest number, as a share of the mean.
    pub range_max: f64,
    /// Rise of the line over the window, as a share of the mean.
    pub rise_max: f64,
}

/// The rule for samples at even times (a rate each second): the shortest beginning is discarded,
/// in steps of a twentieth, after which the least squares line over the rest rises or falls by no
/// more than a share of the mean. At least half of the run must be left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlopeTest {
    /// Rise of the line over the rest, as a share of the mean.
    pub rise_max: f64,
}

impl Default for StorageWindow {
    fn default() -> Self {
        Self {
            rounds: 5,
            range_max: 0.20,
            rise_max: 0.10,
        }
    }
}

impl Default for SlopeTest {
    fn default() -> Self {
        Self { rise_max: 0.05 }
    }
}

impl StorageWindow {
    /// The first steady window; none if the run never became steady.
    pub fn find(&self, rounds: &[f64]) -> Option<Steady> {
        let mut windows = rounds.windows(self.rounds.max(2));
        let start = windows.position(|window| self.is_steady(window))?;
        Some(Steady {
            start,
            end: start + self.rounds.max(2),
        })
    }

    fn is_steady(&self, window: &[f64]) -> bool {
        let Some((mean, rise)) = line(window) else {
            return false;
        };
        let largest = window.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let smallest = window.iter().copied().fold(f64::INFINITY, f64::min);
        largest - smallest <= self.range_max * mean && rise.abs() <= self.rise_max * mean
    }
}

impl SlopeTest {
    /// The steady rest; none if half of the run is still too steep.
    pub fn find(&self, samples: &[f64]) -> Option<Steady> {
        let step = samples.len().div_ceil(20).max(1);
        let starts = (0..=samples.len() / 2).step_by(step);
        let mut steady = starts.filter(|start| {
            line(&samples[*start..]).is_some_and(|(mean, rise)| rise.abs() <= self.rise_max * mean)
        });
        Some(Steady {
            start: steady.next()?,
            end: samples.len(),
        })
    }
}

/// The mean, and the rise of the least squares line from the first number to the last; none for
/// fewer than two numbers or a mean that is not above 0.
fn line(numbers: &[f64]) -> Option<(f64, f64)> {
    let mean = super::estimate::mean(numbers).filter(|mean| mean.is_finite() && *mean > 0.0)?;
    let last = numbers.len().checked_sub(1).filter(|last| *last > 0)? as f64;
    let (mut products, mut squares) = (0.0, 0.0);
    for (index, number) in numbers.iter().enumerate() {
        let distance = index as f64 - last / 2.0;
        products += distance * (number - mean);
        squares += distance * distance;
    }
    Some((mean, products / squares * last))
}
