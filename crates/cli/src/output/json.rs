//! JSON for programs: one object on a line, and numbers with as many digits as they are worth.
//!
//! Reports have a form of their own, which is stock's: `report/json.rs`.

use lab::predict::Estimate;
use serde::{Serialize, Serializer};

/// One object, with the end of its line.
pub(crate) fn line(object: &impl Serialize) -> String {
    let mut line = serde_json::to_string(object).expect("texts and numbers can be written");
    line.push('\n');
    line
}

/// A number with three digits behind its point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thousandths(pub(crate) f64);

impl Serialize for Thousandths {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64((self.0 * 1e3).round() / 1e3)
    }
}

/// An estimate.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Between {
    value: Thousandths,
    low: Thousandths,
    high: Thousandths,
}

impl From<Estimate> for Between {
    fn from(of: Estimate) -> Self {
        Self {
            value: Thousandths(of.value),
            low: Thousandths(of.low),
            high: Thousandths(of.high),
        }
    }
}
