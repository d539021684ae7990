//! Whether the machine is quiet enough to conclude anything.
//!
//! What others run meanwhile shifts even ratios: a peer with sixteen threads suffers in another way
//! than a program with one. So each table says how much of the processors went to others, and how
//! much the host took away (steal), and says plainly when that was too much.

mod loops;

use std::fs;

pub(super) use loops::Watch;

/// The share of the processors' time from which on others disturb.
const FOREIGN_MAX: f64 = 0.15;
/// The same of what the host takes away.
const STEAL_MAX: f64 = 0.05;

/// The machine's clocks at one moment, in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Moment {
    total: f64,
    busy: f64,
    stolen: f64,
    own: f64,
}

impl Moment {
    /// This one. A machine that does not say has no noise.
    pub(super) fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self::of(&read("/proc/stat"), &read("/proc/self/stat"))
    }

    /// From the kernel's two files: of the machine, and of this process and its dead children.
    fn of(machine: &str, process: &str) -> Self {
        let line = machine.lines().next().unwrap_or_default();
        let ticks: Vec<f64> = line
            .split_whitespace()
            .skip(1)
            .take(8)
            .map(|word| word.parse().unwrap_or(0.0))
            .collect();
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0.0);
        let (idle, stolen) = (at(3) + at(4), at(7));
        let total: f64 = ticks.iter().sum();
        // Behind the name in brackets; utime, stime, cutime and cstime are fields 14 to 17.
        let fields = process.rsplit(')').next().unwrap_or_default();
        let own = fields.split_whitespace().skip(11).take(4);
        Self {
            total,
            busy: total - idle - stolen,
            stolen,
            own: own.map(|word| word.parse().unwrap_or(0.0)).sum(),
        }
    }

    /// The same moment, with as many ticks more that were our own work: those that the kernel spent
    /// for us.
    pub(super) fn with_own(self, ticks: f64) -> Self {
        Self {
            own: self.own + ticks,
            ..self
        }
    }

    /// What is to be said about the time since `self`; nothing where it was quiet.
    pub(super) fn complaint(self, now: Self) -> Option<String> {
        let total = now.total - self.total;
        if total <= 0.0 {
            return None;
        }
        let own = now.own - self.own;
        let foreign = ((now.busy - self.busy - own) / total).max(0.0);
        let stolen = (now.stolen - self.stolen) / total;
        (foreign > FOREIGN_MAX || stolen > STEAL_MAX).then(|| {
            format!(
                "NOISY: others used {:.0} % of the processors, the host took {:.0} %; conclude \
                 nothing from this table, and measure again when the machine is quiet",
                foreign * 100.0,
                stolen * 100.0
            )
        })
    }
}

#[cfg(test)]
mod tests;
