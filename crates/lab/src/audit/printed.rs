//! A printed number, and the numbers that it may have been before it was printed.
//!
//! `433` may stand for anything from 432 to 434: some programs round, some cut off. Rules compare
//! such ranges, carried through their arithmetic, and fail only if no choice of digits behind the
//! last printed one could save them.

/// Digits of a number that are read; what is longer is no measurement.
const DIGITS_MAX: usize = 30;

/// Numbers from a lowest to a highest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Range {
    pub(super) fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    pub(super) fn exact(value: f64) -> Self {
        Self::new(value, value)
    }

    /// Wider by a share of itself.
    pub(super) fn widened(self, share: f64) -> Self {
        let by = self.high.abs().max(self.low.abs()) * share;
        Self::new(self.low - by, self.high + by)
    }

    pub(super) fn meets(self, other: Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self::new(self.low + other.low, self.high + other.high)
    }

    /// The product; neither range has negative numbers.
    pub(super) fn times(self, other: Self) -> Self {
        Self::new(
            self.low.max(0.0) * other.low.max(0.0),
            self.high * other.high,
        )
    }

    /// The quotient; neither range has negative numbers. By a range with 0 it is unbounded.
    pub(super) fn by(self, other: Self) -> Self {
        let high = if other.low > 0.0 {
            self.high / other.low
        } else {
            f64::INFINITY
        };
        let low = if other.high > 0.0 {
            self.low.max(0.0) / other.high
        } else {
            0.0
        };
        Self::new(low, high)
    }

    /// The numbers in both.
    pub(super) fn within(self, other: Self) -> Self {
        Self::new(self.low.max(other.low), self.high.min(other.high))
    }

    pub(super) fn is_empty(self) -> bool {
        self.low > self.high
    }

    /// For people: one number if the ends are alike.
    pub(super) fn shown(self) -> String {
        let (low, high) = (shown(self.low), shown(self.high));
        if low == high {
            return low;
        }
        format!("{low} to {high}")
    }
}

/// Whether two counts are one.
pub(super) fn equal(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.5
}

/// Four or five digits of a number.
pub(super) fn shown(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// A printed number: where, its value, and the worth of its last digit (0 if it is exact).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Printed {
    pub(super) line: usize,
    pub(crate) value: f64,
    pub(super) step: f64,
}

impl Printed {
    /// Reads digits, perhaps with a point, at the start of `text`; also says what follows them.
    pub(super) fn read(line: usize, text: &str) -> Option<(Self, &str)> {
        let text = text.trim_start();
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let digits = text[..end].trim_end_matches('.');
        if digits.is_empty() || digits.len() > DIGITS_MAX {
            return None;
        }
        let value: f64 = digits
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite())?;
        let mut step = 1.0;
        if let Some((_, behind)) = digits.split_once('.') {
            for _ in 0..behind.len() {
                step /= 10.0;
            }
        }
        Some((Self { line, value, step }, &text[digits.len()..]))
    }

    /// Reads a number that is the whole of `text`.
    pub(super) fn whole(line: usize, text: &str) -> Option<Self> {
        let (number, rest) = Self::read(line, text)?;
        rest.trim().is_empty().then_some(number)
    }

    /// In a smaller unit.
    pub(super) fn times(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            step: self.step * factor,
            ..self
        }
    }

    /// A count: its digits leave nothing open.
    pub(super) fn counted(self) -> Self {
        Self { step: 0.0, ..self }
    }

    /// What it may have been, rounded or cut off.
    pub(super) fn range(self) -> Range {
        Range::new(self.value - self.step, self.value + self.step)
    }

    /// What it may have been if it was rounded.
    pub(super) fn rounded(self) -> Range {
        Range::new(self.value - self.step / 2.0, self.value + self.step / 2.0)
    }
}
