//! A drive as large as it has to be: one of the catalogue, with more heads and more cylinders.
//!
//! The drives of the catalogue are smaller than those that people have today. A volume that lies
//! beyond their last block could not be placed at all. A stretched drive has more heads, up to
//! [`HEADS_MAX`], and beyond that as many times the cylinders in each zone, with an arm that is as
//! many times faster per cylinder: rates of zones, and seek times by the share of the stroke, stay
//! what they were.

use super::geometry::Sparing;
use super::profile::Profile;
use super::seek::{Eq7, SeekCurve};
use crate::error::{Error, Kind, Result};

/// Heads that a drive gets before it gets more cylinders.
const HEADS_MAX: u64 = 32;
/// Cylinders that a drive may have after it.
const CYLINDERS_MAX: u64 = 4_000_000;

impl Profile {
    /// The drive, as it is if it has `blocks` blocks, else stretched until it has.
    pub fn stretched(mut self, blocks: u64) -> Result<Self> {
        let has = self.layout.clone().build()?.blocks();
        if has >= blocks {
            return Ok(self);
        }
        let wanted = blocks.div_ceil(has);
        let more_heads = (HEADS_MAX / u64::from(self.layout.heads).max(1)).clamp(1, wanted);
        let times = wanted.div_ceil(more_heads);
        let factor = more_heads * times;
        let cylinders = u64::from(self.layout.cylinders).saturating_mul(times);
        let mut zones = self.layout.zones.iter();
        let uneven = zones.any(|zone| !zone.slips.is_empty() || !zone.remapped.is_empty());
        let ranges = matches!(self.layout.sparing, Sparing::None | Sparing::SectorsPerZone);
        if uneven || !ranges || cylinders > CYLINDERS_MAX {
            let what = format!(
                "{} has {has} blocks and cannot be stretched to {blocks}; name a larger disk, or a \
                 limit as cap:iops=…",
                self.name
            );
            return Err(Error::new(Kind::Impossible, what));
        }
        // All of them fit: the products were looked at.
        let times = times as u32;
        self.layout.heads *= more_heads as u32;
        self.layout.cylinders *= times;
        for zone in &mut self.layout.zones {
            zone.first_cylinder *= times;
            zone.last_cylinder = (zone.last_cylinder + 1) * times - 1;
            zone.empty_front *= factor;
            zone.spares *= factor;
        }
        self.mechanics.seek = curve(&self.mechanics.seek, times);
        self.source = format!("{}; stretched {factor} times", self.source);
        Ok(self)
    }
}

/// The curve over distances that are `times` as many cylinders.
fn curve(seek: &SeekCurve, times: u32) -> SeekCurve {
    let (few, root) = (f64::from(times), f64::from(times).sqrt());
    match seek {
        SeekCurve::Constant(_) | SeekCurve::ThreePoint { .. } => seek.clone(),
        SeekCurve::Eq7(eq7) => SeekCurve::Eq7(Eq7 {
            split: eq7.split.saturating_mul(times),
            root_ns: eq7.root_ns / root,
            line_ns: eq7.line_ns / few,
            ..*eq7
        }),
        SeekCurve::Table(points) => SeekCurve::Table(
            points
                .iter()
                .map(|&(distance, time)| (distance.saturating_mul(times), time))
                .collect(),
        ),
        SeekCurve::Listed { first_ns, beyond } => {
            // The shortest distances keep their times; what was listed beyond the first would be a
            // longer list than a drive needs.
            SeekCurve::Listed {
                first_ns: first_ns.iter().take(1).copied().collect(),
                beyond: Box::new(curve(beyond, times)),
            }
        }
    }
}

#[cfg(test)]
mod tests;
