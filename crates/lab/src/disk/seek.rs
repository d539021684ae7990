//! The arm: how long it takes to reach another track.
//!
//! A seek is described by a curve over the distance in cylinders. Four are known:
//!
//! ```text
//!   Eq. 7       t(d) = a + b·√d   for d ≤ e,    c + d'·d   beyond     (Ruemmler and Wilkes 1994)
//!   three-point t(d) = t1 + A·√(d-1) + B·(d-1)                       (Lee and Katz 1993)
//!   table       measured distances, linear between them
//!   constant
//! ```
//!
//! The first distances may be listed one by one, since curves are choppy there. Whatever the
//! curve, it is turned into one time per distance when the disk is made: looking a seek up costs
//! one load. The square root is IEEE's, which is exact to the last bit on every machine.
//!
//! A move takes the longer of seek and head switch; a write waits longer for the arm to settle,
//! since it may not miss the track (the extra time may be negative where the curve was measured
//! with writes). How much longer is one time for a seek and another for the way to the next track
//! in a transfer, which the skew has to cover. Staying on the track costs nothing.

use crate::error::{Error, Kind, Result};

/// A seek may not take longer than this, which no arm does.
const SEEK_MAX_NS: u64 = 1_000_000_000;

/// A seek-time curve; times in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub enum SeekCurve {
    /// Every seek takes the same time.
    Constant(u64),
    /// Eq. 7.
    Eq7(Eq7),
    /// Lee and Katz: from single-cylinder, average and full-stroke time.
    ThreePoint {
        /// One cylinder.
        single_ns: u64,
        /// The average.
        average_ns: u64,
        /// From edge to edge.
        full_ns: u64,
    },
    /// Linear between measured (distance, time) points, which ascend in distance. Before the first
    /// and after the last point the line goes on.
    Table(Vec<(u32, u64)>),
    /// The first distances from a list, another curve beyond.
    Listed {
        /// The times of distances 1, 2, ...
        first_ns: Vec<u64>,
        /// What holds beyond.
        beyond: Box<SeekCurve>,
    },
}

/// The coefficients of Eq. 7, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Eq7 {
    /// Distances up to this use the square root.
    pub split: u32,
    /// a, of the root branch.
    pub root_base_ns: f64,
    /// b, per square root of a cylinder.
    pub root_ns: f64,
    /// c, of the linear branch.
    pub line_base_ns: f64,
    /// d, per cylinder.
    pub line_ns: f64,
}

/// Times of all moves of an arm.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_field_names,
    reason = "each is a time, and says its unit"
)]
pub struct Arm {
    /// The time of each distance, from 0.
    seek_ns: Vec<u32>,
    head_switch_ns: u64,
    settle_ns: u64,
    write_settle_ns: i64,
    write_switch_ns: i64,
}

impl SeekCurve {
    /// The time to cross `distance` of `cylinders`; 0 for no distance.
    pub fn time_ns(&self, distance: u32, cylinders: u32) -> u64 {
        if distance == 0 {
            return 0;
        }
        match self {
            Self::Constant(time) => *time,
            Self::Eq7(eq7) => eq7.time_ns(distance),
            Self::ThreePoint {
                single_ns,
                average_ns,
                full_ns,
            } => {
                let (t1, avg, max) = (*single_ns as f64, *average_ns as f64, *full_ns as f64);
                let n = f64::from(cylinders);
                let root = (15.0 * avg - 10.0 * t1 - 5.0 * max) / (3.0 * n.sqrt());
                let line = (7.0 * t1 - 15.0 * avg + 8.0 * max) / (3.0 * n);
                let steps = f64::from(distance - 1);
                whole(t1 + root * steps.sqrt() + line * steps)
            }
            Self::Table(points) => interpolate(points, distance),
            Self::Listed { first_ns, beyond } => match first_ns.get(distance as usize - 1) {
                Some(time) => *time,
                None => beyond.time_ns(distance, cylinders),
            },
        }
    }
}

impl SeekCurve {
    /// The same curve with every time multiplied.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let times = |time: u64| whole(time as f64 * factor).max(1);
        match self {
            Self::Constant(time) => Self::Constant(times(*time)),
            Self::Eq7(eq7) => Self::Eq7(Eq7 {
                split: eq7.split,
                root_base_ns: eq7.root_base_ns * factor,
                root_ns: eq7.root_ns * factor,
                line_base_ns: eq7.line_base_ns * factor,
                line_ns: eq7.line_ns * factor,
            }),
            Self::ThreePoint {
                single_ns,
                average_ns,
                full_ns,
            } => Self::ThreePoint {
                single_ns: times(*single_ns),
                average_ns: times(*average_ns),
                full_ns: times(*full_ns),
            },
            Self::Table(points) => {
                let point = |&(distance, time): &(u32, u64)| (distance, times(time));
                Self::Table(points.iter().map(point).collect())
            }
            Self::Listed { first_ns, beyond } => Self::Listed {
                first_ns: first_ns.iter().map(|&time| times(time)).collect(),
                beyond: Box::new(beyond.scaled(factor)),
            },
        }
    }
}

impl Eq7 {
    fn time_ns(&self, distance: u32) -> u64 {
        let distance_f = f64::from(distance);
        whole(if distance < self.split {
            self.root_base_ns + self.root_ns * distance_f.sqrt()
        } else {
            self.line_base_ns + self.line_ns * distance_f
        })
    }
}

/// The time to settle on a track, where nobody measured it: two thirds of a seek to the next
/// cylinder, which is mostly settling.
///
/// Parameter files know a head switch within a transfer, which is short since drives prepare for
/// it, but not what it costs to begin on the cylinder where the head waited. Five measured drives
/// (1992 to 1999) agree on 0.5 to 0.75 of the shortest seek, in local reads after reads and after
/// writes alike; without it their local reads come out 0.4 to 1.0 ms too fast.
pub fn settle_of(curve: &SeekCurve) -> u64 {
    curve.time_ns(1, 2) * 2 / 3
}

/// The nearest whole number of nanoseconds, 0 at least.
fn whole(time: f64) -> u64 {
    // A cast saturates and takes NaN to 0; the arm checks the limit.
    (time + 0.5) as u64
}

/// The line through the two points around `distance`.
fn interpolate(points: &[(u32, u64)], distance: u32) -> u64 {
    let next = points.partition_point(|&(at, _)| at < distance);
    match points {
        [] => 0,
        [(_, time)] => *time,
        _ => {
            let high = next.clamp(1, points.len() - 1);
            let ((d0, t0), (d1, t1)) = (points[high - 1], points[high]);
            let (d0, d1, d) = (i128::from(d0), i128::from(d1), i128::from(distance));
            let (t0, t1) = (i128::from(t0), i128::from(t1));
            let time = t0 + (t1 - t0) * (d - d0) / (d1 - d0);
            u64::try_from(time).unwrap_or(0)
        }
    }
}

/// Fails if a time is longer than an arm may take.
fn within_a_second(waits: [u64; 2]) -> Result<()> {
    if waits.iter().any(|&wait| wait > SEEK_MAX_NS) {
        return Err(Error::new(
            Kind::Impossible,
            "switching or settling takes over a second",
        ));
    }
    Ok(())
}

impl Arm {
    /// An arm over `cylinders` that moves alike for reads and writes; fails if a time is longer
    /// than a second.
    pub fn new(
        curve: &SeekCurve,
        cylinders: u32,
        head_switch_ns: u64,
        settle_ns: u64,
    ) -> Result<Self> {
        if let SeekCurve::Table(points) = curve
            && points.windows(2).any(|pair| pair[0].0 >= pair[1].0)
        {
            return Err(Error::new(
                Kind::Impossible,
                "the distances of a seek curve must ascend",
            ));
        }
        let mut seek_ns = Vec::with_capacity(cylinders as usize);
        for distance in 0..cylinders {
            let time = curve.time_ns(distance, cylinders);
            if time > SEEK_MAX_NS {
                return Err(Error::new(
                    Kind::Impossible,
                    format!("a seek over {distance} cylinders takes {time} ns, over a second"),
                ));
            }
            seek_ns.push(time as u32);
        }
        within_a_second([head_switch_ns, settle_ns])?;
        Ok(Self {
            seek_ns,
            head_switch_ns,
            settle_ns,
            write_settle_ns: 0,
            write_switch_ns: 0,
        })
    }

    /// The same arm, where writes wait longer than reads after a seek, and on the way to the next
    /// track of a transfer; fails if it is over a second.
    pub fn writing(self, write_settle_ns: i64, write_switch_ns: i64) -> Result<Self> {
        within_a_second([write_settle_ns, write_switch_ns].map(i64::unsigned_abs))?;
        Ok(Self {
            write_settle_ns,
            write_switch_ns,
            ..self
        })
    }

    /// The time to move by `distance` cylinders, without head switch and settling.
    pub fn seek_ns(&self, distance: u32) -> u64 {
        u64::from(self.seek_ns[distance as usize])
    }

    /// The time until a transfer goes on at another (cylinder, head).
    pub fn reach_ns(&self, from: (u32, u32), to: (u32, u32), direction: Direction) -> u64 {
        self.move_ns(from, to, direction, self.write_switch_ns)
    }

    /// The time of a move, where a write waits so much longer.
    fn move_ns(
        &self,
        from: (u32, u32),
        to: (u32, u32),
        direction: Direction,
        longer_ns: i64,
    ) -> u64 {
        let seek = self.seek_ns(from.0.abs_diff(to.0));
        let switch = if from.1 == to.1 {
            0
        } else {
            self.head_switch_ns
        };
        let time = seek.max(switch);
        match direction {
            Direction::Write if time != 0 => time.saturating_add_signed(longer_ns),
            _ => time,
        }
    }

    /// The time until a transfer begins at a (cylinder, head), where the head may be already: at
    /// least the time to settle.
    pub fn begin_ns(&self, from: (u32, u32), to: (u32, u32), direction: Direction) -> u64 {
        self.move_ns(from, to, direction, self.write_settle_ns)
            .max(self.settle_ns)
    }

    /// The average over all pairs of cylinders: the sum of 2(C-d)/C² · t(d).
    pub fn average_seek_ns(&self) -> u64 {
        let cylinders = self.seek_ns.len() as u128;
        let sum: u128 = (1_u128..)
            .zip(&self.seek_ns[1..])
            .map(|(distance, &time)| 2 * (cylinders - distance) * u128::from(time))
            .sum();
        (sum / (cylinders * cylinders)) as u64
    }
}

/// Which way data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the disk.
    Read,
    /// To the disk.
    Write,
}

#[cfg(test)]
mod tests;
