//! The rules for a study's tables: one workload, one time, two rates.

use super::claims;
use super::parse::{Study, Test};
use crate::audit::finding::{Audit, Finding, Rule};
use crate::audit::fio::Run;
use crate::audit::printed::{Printed, Range, shown};
use crate::audit::spindle::spindle_bound;

/// A kilobyte of the program by one of 1,000: what a wrong conversion is off by.
const WRONG_THOUSAND: f64 = 1.024;
/// How many times slower an operation of one test may be than that of another.
const FAR: f64 = 100.0;
/// Margin over the simulated spindle.
const SPINDLE_MARGIN: f64 = 1.15;

/// Seconds that each configuration of a test took, as its rates have it.
#[derive(Debug)]
pub(super) struct Times {
    pub(super) test: String,
    /// Configuration and seconds.
    pub(super) seconds: Vec<(String, Range)>,
    /// Blocks of 4 KiB read and written.
    pub(super) blocks: f64,
}

/// Checks the tables, and then what is said of them and of the fio run beside them.
pub(in crate::audit) fn check(study: &Study, fio: &Run, audit: &mut Audit) {
    let mut times = Vec::new();
    for test in &study.tests {
        ratios(test, audit);
        times.extend(elapsed(test, audit));
    }
    units(study, &mut times, audit);
    for test in &study.tests {
        volumes(test, audit);
    }
    for claim in &study.claims {
        claims::check(claim, study, &times, fio, audit);
    }
    for (line, what) in &study.unstated {
        audit.check(false, || {
            Finding::weak(*line, what, Rule::Stated)
                .says("not stated: differences may be noise, or the cache's")
                .fits("repetitions, their spread, and the memory")
        });
    }
    for spindle in &study.spindles {
        let bound = spindle_bound(spindle.turns, spindle.span_gb, spindle.queue);
        audit.check(spindle.rate <= bound * SPINDLE_MARGIN, || {
            Finding::weak(spindle.line, "spindle", Rule::Spindle)
                .says(format!(
                    "{} random requests a second over {} GB, {} waiting",
                    spindle.rate, spindle.span_gb, spindle.queue
                ))
                .fits(format!("about {bound:.0}, or a cap instead of a spindle"))
        });
    }
}

/// R.5: read by written is the workload's own, whatever the configuration.
fn ratios(test: &Test, audit: &mut Audit) {
    let Some(counts) = test.counts else { return };
    let exact = counts.bytes_read as f64 / counts.bytes_written.max(1) as f64;
    let columns = test.read.iter().zip(&test.write).zip(&test.configurations);
    for ((read, write), configuration) in columns {
        let ratio = read.rounded().by(write.rounded());
        audit.check(ratio.low <= exact && exact <= ratio.high, || {
            let field = format!("{} {configuration}", test.name);
            Finding::impossible(read.line, field, Rule::Ratio)
                .says(format!(
                    "{} read by {} written is {:.4}, the workload's is {exact:.4}",
                    read.value,
                    write.value,
                    read.value / write.value
                ))
                .fits(format!("{} read", shown(write.value * exact)))
        });
    }
}

/// R.6: a whole number of seconds gives both rates.
fn elapsed(test: &Test, audit: &mut Audit) -> Option<Times> {
    let counts = test.counts?;
    let (read, written) = (counts.bytes_read as f64, counts.bytes_written as f64);
    let time = |bytes: f64, rate: &Printed, factor: f64| {
        let found = Range::exact(bytes).by(rate.times(test.unit / factor).rounded());
        Range::new(found.low.ceil(), found.high.floor())
    };
    let mut seconds = Vec::new();
    let columns = test.read.iter().zip(&test.write).zip(&test.configurations);
    for ((r, w), configuration) in columns {
        let both = |fr: f64, fw: f64| time(read, r, fr).within(time(written, w, fw));
        let straight = both(1.0, 1.0);
        let repaired = [
            (both(WRONG_THOUSAND, 1.0), "read"),
            (both(1.0, WRONG_THOUSAND), "write"),
        ];
        let repair = repaired.iter().find(|(range, _)| !range.is_empty());
        audit.check(!straight.is_empty(), || {
            let fits = match repair {
                Some((range, which)) => format!(
                    "{} s, if the {which} rate was kilobytes divided by 1,000",
                    range.shown()
                ),
                None => "one elapsed time for both".to_owned(),
            };
            let field = format!("{} {configuration}", test.name);
            Finding::impossible(r.line, field, Rule::Elapsed)
                .says(format!(
                    "no whole number of seconds gives both {} read and {} written",
                    r.value, w.value
                ))
                .fits(fits)
        });
        let best = match repair {
            _ if !straight.is_empty() => straight,
            Some((range, _)) => *range,
            None => {
                let (a, b) = (time(read, r, 1.0), time(written, w, 1.0));
                Range::new(a.low.min(b.low), a.high.max(b.high))
            }
        };
        seconds.push((configuration.clone(), best));
    }
    Some(Times {
        test: test.name.clone(),
        seconds,
        blocks: (read + written) / 4096.0,
    })
}

/// A unit that makes one test's operations a hundred times slower than another's is another unit.
fn units(study: &Study, times: &mut [Times], audit: &mut Audit) {
    let transactions = |name: &str| {
        let test = study.tests.iter().find(|test| test.name == name);
        test.map_or(1.0, |test| f64::from(test.settings.transactions))
    };
    let pace = |times: &Times| {
        let first = times.seconds.first().map_or(0.0, |(_, range)| range.low);
        first / transactions(&times.test)
    };
    let fastest = times.iter().map(pace).fold(f64::INFINITY, f64::min);
    for found in times {
        let slow = pace(found) > FAR * fastest;
        let line = study.tests.iter().find(|test| test.name == found.test);
        audit.check(!slow, || {
            let days = found
                .seconds
                .first()
                .map_or(0.0, |(_, range)| range.low / 86400.0);
            let field = format!("{} unit", found.test);
            Finding::impossible(line.map_or(0, |test| test.line), field, Rule::Elapsed)
                .says(format!("by the printed unit the test took {days:.1} days"))
                .fits("MB/s")
        });
        if slow {
            for (_, range) in &mut found.seconds {
                *range = Range::new(range.low / 1024.0, range.high / 1024.0);
            }
        }
    }
}

/// The volumes that a study prints are those of its settings, rounded or cut off.
fn volumes(test: &Test, audit: &mut Audit) {
    let (Some((read, written)), Some(counts)) = (test.volumes, test.counts) else {
        return;
    };
    for (field, printed, bytes) in [
        ("volume read", read, counts.bytes_read),
        ("volume written", written, counts.bytes_written),
    ] {
        audit.check(holds(printed, bytes), || {
            Finding::impossible(printed.line, format!("{} {field}", test.name), Rule::Parts)
                .says(format!(
                    "{} bytes, the settings move {bytes}",
                    printed.value
                ))
                .fits(format!("{bytes} bytes"))
        });
    }
}

/// Whether bytes print as `printed`, in decimal units or in those of 1,024.
pub(super) fn holds(printed: Printed, bytes: u64) -> bool {
    let binary = [1.0, 1.048576, 1.073741824]
        .map(|factor| printed.range().meets(Range::exact(bytes as f64 / factor)));
    // The study prints gigabytes of 1,000 megabytes, and those are of 1,048,576 bytes.
    binary.contains(&true)
}
