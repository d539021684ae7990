//! Rotation: the platter is a clock hand.
//!
//! The spindle turns at a constant rate, so the angle under the heads is a function of the time
//! alone and needs no state. A circle has [`CIRCLE`] = 60·10⁹ units, the nanoseconds of a minute:
//! a spindle of `n` revolutions per minute then turns by exactly `n` units per nanosecond, and
//! the angle at any time is an exact integer, for hours of emulated time and on every machine.
//!
//! ```text
//!   angle(t) = phase + rpm · t   mod 60·10⁹
//! ```
//!
//! Waiting for an angle rounds up to whole nanoseconds. A target that was passed less than
//! [`SLACK_NS`] ago counts as reached: the end of one sector is the begin of the next, and rounding
//! between them must not cost a revolution.

/// Units of a full circle.
pub const CIRCLE: u64 = 60_000_000_000;

/// Nanoseconds by which a target may have passed and still be caught; far below one sector.
pub const SLACK_NS: u64 = 16;

/// Revolutions per minute that a profile may claim.
pub const RPM_MAX: u32 = 60_000;

/// An angle of the platter, in units of 1/[`CIRCLE`] of a circle; always less than a circle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Angle(u64);

/// How the platter turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    rpm: u32,
    phase: Angle,
}

impl Angle {
    /// The angle of `units`, modulo the circle.
    pub const fn new(units: u64) -> Self {
        Self(units % CIRCLE)
    }

    /// Its units, less than [`CIRCLE`].
    pub const fn units(self) -> u64 {
        self.0
    }

    /// This angle turned on by `by`.
    #[must_use]
    pub const fn plus(self, by: Self) -> Self {
        let sum = self.0 + by.0;
        Self(if sum >= CIRCLE { sum - CIRCLE } else { sum })
    }

    /// How far the platter turns from this angle until `target`.
    #[must_use]
    pub const fn until(self, target: Self) -> Self {
        Self(if target.0 >= self.0 {
            target.0 - self.0
        } else {
            target.0 + CIRCLE - self.0
        })
    }
}

impl Rotation {
    /// A spindle of `rpm` revolutions per minute whose angle is `phase` at time 0.
    ///
    /// # Panics
    ///
    /// If `rpm` is 0 or more than [`RPM_MAX`]; a profile checks that before.
    pub fn new(rpm: u32, phase: Angle) -> Self {
        assert!((1..=RPM_MAX).contains(&rpm), "a spindle turns");
        Self { rpm, phase }
    }

    /// Revolutions per minute.
    pub fn rpm(&self) -> u32 {
        self.rpm
    }

    /// Nanoseconds of one revolution, rounded down.
    pub fn period_ns(&self) -> u64 {
        CIRCLE / u64::from(self.rpm)
    }

    /// The angle under the heads at `now_ns`.
    pub fn angle_at(&self, now_ns: u64) -> Angle {
        Angle::new((now_ns % CIRCLE) * u64::from(self.rpm)).plus(self.phase)
    }

    /// Nanoseconds from `from_ns` until `target` is under the heads.
    pub fn wait_ns(&self, from_ns: u64, target: Angle) -> u64 {
        let rpm = u64::from(self.rpm);
        let turn = self.angle_at(from_ns).until(target).units();
        if turn > CIRCLE - SLACK_NS * rpm {
            0
        } else {
            turn.div_ceil(rpm)
        }
    }

    /// Nanoseconds in which `count` of the `per_track` sectors of a track pass, rounded down.
    pub fn pass_ns(&self, count: u64, per_track: u32) -> u64 {
        count * CIRCLE / (u64::from(per_track) * u64::from(self.rpm))
    }
}

#[cfg(test)]
mod tests;
