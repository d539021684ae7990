//! The account of a prediction: where the time of a request goes, how sure that is, and what would
//! change it.
//!
//! ```text
//!   account        map · loop · link · queue · overhead · seek · rotation · transfer · cache ·
//!                  slowest: these add up to the response time
//!   interval       parameters are distributions (a nominal value and a relative deviation); what
//!                  each contributes is its elasticity times its deviation, and the predictor's own
//!                  error is one more
//!   elasticities   d ln T / d ln p: 0.5 says that a parameter 2 % smaller saves 1 % of the time
//! ```
//!
//! The time is the response under an open load, and of a closed one the time for each request, so
//! that a shorter one means a higher throughput.

use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::parameter::{Parameter, scaled};
use super::predictor::{Model, Prediction};
use super::subject::{Above, Load, Pattern, Volume};
use crate::error::Result;
use crate::stats::real::{exp, ln};

/// The relative standard deviation of the predictor itself: half of the 95th percentile of its
/// errors on judged cases, of random loads and of sequential ones.
const OWN_RANDOM: f64 = 0.06;
const OWN_SEQUENTIAL: f64 = 0.35;

/// By how much parameters are changed to see what that does.
const STEP: f64 = 0.05;

/// Where the time of a request goes, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Account {
    /// Looking up where a block lies.
    pub map: f64,
    /// Loop devices.
    pub loops: f64,
    /// Networks.
    pub link: f64,
    /// Waiting for other requests.
    pub queue: f64,
    /// Controllers.
    pub overhead: f64,
    /// Moving the arm.
    pub seek: f64,
    /// Waiting for the platter.
    pub rotation: f64,
    /// Moving the data, on the medium or over the bus.
    pub transfer: f64,
    /// Into caches; negative is what goes on after the answer.
    pub cache: f64,
    /// Waiting for the slowest of several disks.
    pub slowest: f64,
}

/// A value and where it lies with 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value at the nominal parameters.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Estimate {
    /// A value that is certain.
    pub fn exact(value: f64) -> Self {
        Self {
            value,
            low: value,
            high: value,
        }
    }

    /// The same counted in units of `unit`.
    #[must_use]
    pub fn in_units_of(self, unit: f64) -> Self {
        Self {
            value: self.value / unit,
            low: self.low / unit,
            high: self.high / unit,
        }
    }
}

/// A prediction with its account.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// Requests per second.
    pub per_second: Estimate,
    /// The mean response in nanoseconds.
    pub response_ns: Estimate,
    /// Where it goes.
    pub account: Account,
    /// What parameters change: d ln T / d ln p.
    pub elasticities: Vec<(Parameter, f64)>,
}

/// How sure the parameters of a profile are: relative standard deviations.
#[derive(Debug, Clone, PartialEq)]
pub struct Uncertainty {
    /// Of each parameter; those that are not listed are certain.
    pub deviations: Vec<(Parameter, f64)>,
}

impl Default for Uncertainty {
    /// As drives of one model differ, and as fits to data sheets do.
    fn default() -> Self {
        Self {
            deviations: vec![
                (Parameter::Seek, 0.05),
                (Parameter::Rotation, 0.001),
                (Parameter::Overhead, 0.2),
                (Parameter::Bus, 0.05),
                (Parameter::Limits, 0.02),
                (Parameter::Flash, 0.1),
                (Parameter::LinkRate, 0.05),
                (Parameter::RoundTrip, 0.2),
            ],
        }
    }
}

impl Account {
    /// The layers and their times, from the top of the stack to the bottom.
    pub fn lines(&self) -> [(&'static str, f64); 10] {
        [
            ("map", self.map),
            ("loop", self.loops),
            ("link", self.link),
            ("queue", self.queue),
            ("overhead", self.overhead),
            ("seek", self.seek),
            ("rotation", self.rotation),
            ("transfer", self.transfer),
            ("cache", self.cache),
            ("slowest", self.slowest),
        ]
    }

    /// All of it: the response time.
    pub fn total(&self) -> f64 {
        self.lines().iter().map(|line| line.1).sum()
    }

    /// Adds `weight` times another.
    pub(super) fn add(&mut self, other: &Self, weight: f64) {
        self.map += other.map * weight;
        self.loops += other.loops * weight;
        self.link += other.link * weight;
        self.queue += other.queue * weight;
        self.overhead += other.overhead * weight;
        self.seek += other.seek * weight;
        self.rotation += other.rotation * weight;
        self.transfer += other.transfer * weight;
        self.cache += other.cache * weight;
        self.slowest += other.slowest * weight;
    }

    /// Makes it add up to `response`: what is missing is waiting, what is too much goes on after
    /// the answer.
    pub(super) fn complete(&mut self, response: f64) {
        let rest = response - self.total();
        self.queue += rest.max(0.0);
        self.cache += rest.min(0.0);
    }
}

/// Explains what `volume` with `above` on top does under `load`.
pub fn explain(
    volume: &Volume,
    above: &Above,
    load: &Load,
    uncertainty: &Uncertainty,
) -> Result<Explanation> {
    let (found, account) = Model::new(volume, above, load)?.predict();
    let time = |prediction: &Prediction| match load.arrivals {
        super::Arrivals::Closed { .. } => 1.0 / prediction.per_second,
        _ => prediction.response_ns,
    };
    let mut elasticities = Vec::new();
    let mut variance: f64 = own_deviation(load).powi(2);
    for parameter in Parameter::ALL {
        if !parameter.matters(volume, above) {
            continue;
        }
        let at = |factor: f64| -> Result<f64> {
            let (volume, above) = scaled(volume, above, parameter, factor);
            Ok(ln(time(&Model::new(&volume, &above, load)?.predict().0)))
        };
        let rise = at(1.0 + STEP)? - at(1.0 - STEP)?;
        let elasticity = rise / (ln(1.0 + STEP) - ln(1.0 - STEP));
        let deviations = uncertainty.deviations.iter();
        let deviation: f64 = deviations
            .filter(|(of, _)| *of == parameter)
            .map(|(_, deviation)| deviation)
            .sum();
        variance += (elasticity * deviation).powi(2);
        elasticities.push((parameter, elasticity));
    }
    let around = |value: f64| around(value, variance.sqrt());
    Ok(Explanation {
        per_second: match load.arrivals {
            super::Arrivals::Closed { .. } => around(found.per_second),
            _ => Estimate::exact(found.per_second),
        },
        response_ns: around(found.response_ns),
        account,
        elasticities,
    })
}

/// The relative standard deviation of the predictor itself under such a load.
pub(super) fn own_deviation(load: &Load) -> f64 {
    match load.pattern {
        Pattern::Sequential => OWN_SEQUENTIAL,
        Pattern::Random { .. } => OWN_RANDOM,
    }
}

/// A value with its 95 % interval, by the deviation of its logarithm.
pub(super) fn around(value: f64, deviation: f64) -> Estimate {
    let factor = exp(1.96 * deviation);
    Estimate {
        value,
        low: value / factor,
        high: value * factor,
    }
}

impl Explanation {
    /// That of requests of which each share meets one of these; the shares are 1 together.
    pub(super) fn mixed(mut all: Vec<(f64, Self)>) -> Self {
        if all.len() == 1 {
            return all.remove(0).1;
        }
        let sum = |of: &dyn Fn(&Self) -> f64| -> f64 {
            all.iter().map(|(share, one)| share * of(one)).sum()
        };
        let response = |of: fn(&Estimate) -> f64| sum(&|one| of(&one.response_ns));
        // What adds up is the time of a request, so that rates do as their inverse.
        let rate = |of: fn(&Estimate) -> f64| 1.0 / sum(&|one| 1.0 / of(&one.per_second).max(1e-9));
        let value = response(|one| one.value);
        let (mut account, mut elasticities) = (Account::default(), Vec::new());
        for (share, one) in &all {
            account.add(&one.account, *share);
        }
        for parameter in Parameter::ALL {
            let mut found = None;
            for (share, one) in &all {
                let of = one.elasticities.iter().find(|(at, _)| *at == parameter);
                if let Some((_, elasticity)) = of {
                    let weight = share * one.response_ns.value / value.max(1e-9);
                    *found.get_or_insert(0.0) += weight * elasticity;
                }
            }
            elasticities.extend(found.map(|found| (parameter, found)));
        }
        Self {
            per_second: Estimate {
                value: rate(|one| one.value),
                low: rate(|one| one.low),
                high: rate(|one| one.high),
            },
            response_ns: Estimate {
                value,
                low: response(|one| one.low),
                high: response(|one| one.high),
            },
            account,
            elasticities,
        }
    }
}

/// For programs; times in nanoseconds.
impl Serialize for Explanation {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let thousandths = |value: f64| (value * 1e3).round() / 1e3;
        let estimate = |of: Estimate| {
            let ends = [("value", of.value), ("low", of.low), ("high", of.high)];
            Members(ends.map(|(name, value)| (name, thousandths(value))).into())
        };
        let account = self.account.lines();
        let account = account.map(|(name, time)| (name, time.round()));
        let elasticities = self.elasticities.iter();
        let elasticities =
            elasticities.map(|(parameter, value)| (parameter.to_string(), thousandths(*value)));
        let mut members = to.serialize_struct("Explanation", 4)?;
        members.serialize_field("per_second", &estimate(self.per_second))?;
        members.serialize_field("response_ns", &estimate(self.response_ns))?;
        members.serialize_field("account_ns", &Members(account.into()))?;
        members.serialize_field("elasticities", &Members(elasticities.collect()))?;
        members.end()
    }
}

/// Numbers by name, in their order.
struct Members<N>(Vec<(N, f64)>);

impl<N: Serialize> Serialize for Members<N> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rate, time) = (self.per_second, self.response_ns);
        writeln!(
            f,
            "requests per second {:10.1}   ({:.1} to {:.1})",
            rate.value, rate.low, rate.high
        )?;
        writeln!(
            f,
            "response time, ms   {:10.3}   ({:.3} to {:.3})",
            time.value / 1e6,
            time.low / 1e6,
            time.high / 1e6
        )?;
        for (name, spent) in self.account.lines() {
            if spent.abs() >= 0.5 {
                let share = spent / time.value * 100.0;
                writeln!(f, "  {name:<17} {:10.3}   {share:5.1} %", spent / 1e6)?;
            }
        }
        writeln!(f, "1 % more of it changes the time by")?;
        for (parameter, value) in &self.elasticities {
            writeln!(f, "  {:<17} {value:+10.2} %", parameter.to_string())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
