//! The rules for what a study says of its own tables.

use super::check::{Times, holds};
use super::parse::{Claim, Says, Study};
use crate::audit::finding::{Audit, Finding, Rule};
use crate::audit::fio::{Direction, Run};
use crate::audit::postmark::replay;
use crate::audit::printed::{Printed, equal, shown};

/// Share by which a factor in prose may be rounded.
const PROSE: f64 = 0.03;
/// Times by which a cost of one mapped block may vary from test to test.
const STEADY: f64 = 3.0;
/// Share by which "about so many requests a second" may be rounded.
const ABOUT: f64 = 0.05;

pub(super) fn check(claim: &Claim, study: &Study, times: &[Times], fio: &Run, audit: &mut Audit) {
    let fails = |rule: Rule| Finding::impossible(claim.line, "claim", rule).of_claim(&claim.id);
    match &claim.says {
        Says::Ratio {
            test,
            over,
            under,
            ratio,
        } => {
            let Some([read, write]) = factors(study, test, over, under) else {
                return audit.check(false, || {
                    fails(Rule::Percentage).says("no such test or column")
                });
            };
            let near = |factor: f64| (factor / ratio - 1.0).abs() <= PROSE;
            audit.check(near(read) || near(write), || {
                fails(Rule::Percentage)
                    .says(format!("{test}: {over} by {under} is said to be {ratio}"))
                    .fits(format!(
                        "{read:.2} by the rates read, {write:.2} by those written"
                    ))
            });
        }
        Says::Cells {
            table,
            over,
            under,
            column,
            ratio,
        } => factor_of(
            claim,
            cells(study, table, [over, under], column),
            *ratio,
            audit,
        ),
        Says::Slower { slow, fast, tests } => slower(claim, study, (slow, fast), *tests, audit),
        Says::Mapping { slow, fast } => mapping(claim, times, (slow, fast), audit),
        Says::Grows {
            slow,
            fast,
            from,
            to,
        } => {
            let of = |name: &str| {
                let found = times.iter().find(|times| times.test == name);
                found.and_then(|times| cost(times, slow, fast))
            };
            let (before, after) = (of(from).unwrap_or(0.0), of(to).unwrap_or(0.0));
            audit.check(after > before, || {
                fails(Rule::Mapping)
                    .says(format!("said to grow from {from} to {to}"))
                    .fits(format!(
                        "{} us and then {} us for each 4 KiB",
                        shown(before),
                        shown(after)
                    ))
            });
        }
        Says::Sizes { test, size } => sizes(claim, study, test, *size, audit),
        Says::Reaches { rate } => reaches(claim, fio, *rate, audit),
    }
}

/// A cost of mapping is one for all tests.
fn mapping(claim: &Claim, times: &[Times], (slow, fast): (&str, &str), audit: &mut Audit) {
    let costs = times.iter().filter_map(|times| cost(times, slow, fast));
    let costs: Vec<f64> = costs.collect();
    let most = costs.iter().copied().fold(0.0, f64::max);
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    audit.check(costs.len() < 2 || most <= STEADY * least, || {
        let shown: Vec<String> = costs.iter().map(|us| shown(*us)).collect();
        let problem = format!(
            "{slow} takes {} us more for each 4 KiB, by test",
            shown.join(", ")
        );
        Finding::impossible(claim.line, "claim", Rule::Mapping)
            .of_claim(&claim.id)
            .says(problem)
            .fits("one cost for all tests")
    });
}

/// In how many tests one configuration is slower, by both rates.
fn slower(claim: &Claim, study: &Study, (slow, fast): (&str, &str), tests: f64, audit: &mut Audit) {
    let slower = study.tests.iter().filter(|test| {
        let factors = factors(study, &test.name, fast, slow);
        factors.is_some_and(|factors| factors.into_iter().all(|factor| factor > 1.0))
    });
    let count = slower.count() as f64;
    audit.check(equal(count, tests), || {
        Finding::impossible(claim.line, "claim", Rule::Percentage)
            .of_claim(&claim.id)
            .says(format!("{slow} is said to be slower in {tests} tests"))
            .fits(format!("{count} by the tables"))
    });
}

/// A factor of a table, to its last digit.
fn factor_of(claim: &Claim, factor: Option<f64>, ratio: Printed, audit: &mut Audit) {
    let holds = |factor: f64| (factor - ratio.value).abs() <= ratio.step;
    audit.check(factor.is_some_and(holds), || {
        let fits = factor.map_or("rows and a column of a table".to_owned(), shown);
        Finding::impossible(claim.line, "claim", Rule::Percentage)
            .of_claim(&claim.id)
            .says(format!("a factor of {} is claimed", ratio.value))
            .fits(fits)
    });
}

/// The ratio of two columns, of rates read and of rates written.
fn factors(study: &Study, test: &str, over: &str, under: &str) -> Option<[f64; 2]> {
    let test = study.tests.iter().find(|found| found.name == test)?;
    let column = |name: &str| test.configurations.iter().position(|found| found == name);
    let (a, b) = (column(over)?, column(under)?);
    Some([&test.read, &test.write].map(|rates| rates[a].value / rates[b].value))
}

/// The ratio of two rows of a table in a column.
fn cells(study: &Study, table: &str, rows: [&String; 2], column: &str) -> Option<f64> {
    let table = study.tables.iter().find(|found| found.name == table)?;
    let index = table.columns.iter().position(|found| found == column)?;
    let cell = |row: &String| {
        let (_, cells) = table.rows.iter().find(|(name, _)| name == row)?;
        Some(cells.get(index)?.value)
    };
    let (over, under) = (cell(rows[0])?, cell(rows[1])?);
    (under > 0.0).then(|| over / under)
}

/// Microseconds that the slower configuration takes more for each block of 4 KiB.
fn cost(times: &Times, slow: &str, fast: &str) -> Option<f64> {
    let of = |name: &str| {
        let found = times
            .seconds
            .iter()
            .find(|(configuration, _)| configuration == name);
        found.map(|(_, range)| f64::midpoint(range.low, range.high))
    };
    Some((of(slow)? - of(fast)?) * 1e6 / times.blocks.max(1.0))
}

/// Another statement of the sizes must move the same volumes.
fn sizes(claim: &Claim, study: &Study, name: &str, size: (u32, u32), audit: &mut Audit) {
    let Some(test) = study.tests.iter().find(|test| test.name == name) else {
        return;
    };
    let mut settings = test.settings.clone();
    settings.size = size;
    let (Some(counts), Some((read, written))) = (replay(&settings), test.volumes) else {
        return;
    };
    let fits = holds(read, counts.bytes_read) && holds(written, counts.bytes_written);
    audit.check(fits, || {
        let gigabytes = |bytes: u64| bytes as f64 / 1e9;
        let (read, written) = (
            gigabytes(counts.bytes_read),
            gigabytes(counts.bytes_written),
        );
        Finding::impossible(claim.line, "size", Rule::Parts)
            .of_claim(&claim.id)
            .says(format!(
                "{} to {} bytes move {read:.1} and {written:.1} GB",
                size.0, size.1
            ))
            .fits(format!(
                "{} to {}",
                test.settings.size.0, test.settings.size.1
            ))
    });
}

/// The requests that fio made, by volume and time, against those that are claimed.
fn reaches(claim: &Claim, fio: &Run, rate: f64, audit: &mut Audit) {
    let directions = fio.jobs.iter().flat_map(|job| &job.directions);
    let total: Option<f64> = directions
        .map(|found: &Direction| {
            found
                .true_rate()
                .map(|range| f64::midpoint(range.low, range.high))
        })
        .sum();
    let Some(total) = total.filter(|total| *total > 0.0) else {
        return;
    };
    audit.check((total / rate - 1.0).abs() <= ABOUT, || {
        Finding::impossible(claim.line, "claim", Rule::Requests)
            .of_claim(&claim.id)
            .says(format!("{rate} requests a second are claimed"))
            .fits(format!("{total:.0}, by io, time and block size"))
    });
}
