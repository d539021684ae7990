//! One number and what it should be.

use std::fmt;

/// How much is worked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// As little as shows that it runs.
    Smoke,
    /// All.
    Full,
}

/// What a number should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Goal {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
    /// From one to the other.
    Within(f64, f64),
}

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    PerSecond,
    Percent,
    Number,
}

impl Effort {
    /// `full`, or `smoke` where nothing is to be learnt.
    pub(crate) fn of<T>(self, full: T, smoke: T) -> T {
        match self {
            Self::Smoke => smoke,
            Self::Full => full,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(limit) => write!(f, "<= {limit}"),
            Self::AtLeast(limit) => write!(f, ">= {limit}"),
            Self::Within(low, high) => write!(f, "{low}..{high}"),
        }
    }
}

/// Prints a number.
pub(crate) fn row(case: &str, unit: Unit, value: f64, goal: Goal) {
    let unit = match unit {
        Unit::Seconds => "s",
        Unit::PerSecond => "/s",
        Unit::Percent => "%",
        Unit::Number => "number",
    };
    println!("{case}\t{unit}\t{value}\t{goal}");
}

/// The larger of two deviations, by size.
pub(crate) fn worse(so_far: f64, value: f64, truth: f64) -> f64 {
    so_far.max((value / truth - 1.0).abs())
}
