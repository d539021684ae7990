//! The rules for `PostMark`'s numbers.
//!
//! Times are whole seconds and rates are quotients by them (cut off in the verbose report), so a
//! count and its rate allow few times; all of them must be the same.

use super::parse::{Counted, Kind, Printout, Verbose};
use crate::audit::finding::{Audit, Finding, Rule};
use crate::audit::printed::{Printed, equal, shown};
use crate::workload::postmark::{Counts, Ending, Settings, Stream};

/// Work above which a configuration is not replayed: draws before it, and operations.
const REPLAY_MAX: u64 = 5_000_000;
/// The clocks of the phases and of the whole are cut off apart: seconds by which they may differ.
const CLOCKS: f64 = 3.0;
/// Rounding of a counter in single precision, as a share.
const SINGLE: f64 = 1e-4;

/// Checks a report.
pub(in crate::audit) fn check(printout: &Printout, audit: &mut Audit) {
    let replayed = printout.counts;
    match &printout.kind {
        Kind::Verbose(report) => {
            times(report, audit);
            parts(report, audit);
            volumes(report, audit);
            if let (Some(counts), Some(settings)) = (replayed, &printout.settings) {
                against(report, &counts, settings, audit);
            }
        }
        Kind::Terse(numbers) => {
            terse(numbers, audit);
            if let (Some(counts), Some(settings)) = (replayed, &printout.settings) {
                terse_against(numbers, &counts, settings, audit);
            }
        }
    }
}

/// The exact counts of a configuration; none if it is too large, or its run prints no report.
pub(in crate::audit) fn replay(settings: &Settings) -> Option<Counts> {
    let draws = 2 * u64::from(settings.size.0.max(settings.size.1));
    let work = draws + 4 * u64::from(settings.number) + 2 * u64::from(settings.transactions);
    if work > REPLAY_MAX {
        return None;
    }
    let mut stream = Stream::new(settings).ok()?;
    let counts = Counts::of(stream.by_ref());
    (stream.ending() == Ending::Complete).then_some(counts)
}

fn impossible(number: Printed, field: &str, rule: Rule) -> Finding {
    Finding::impossible(number.line, field, rule)
}

fn times(report: &Verbose, audit: &mut Audit) {
    let (total, mixed) = (report.total.value, report.mixed.value);
    audit.check(total >= 1.0 && mixed >= 1.0 && mixed <= total, || {
        impossible(report.mixed, "seconds of transactions", Rule::Elapsed)
            .says(format!("{mixed} s of transactions in {total} s"))
            .fits(format!("1 to {total} s"))
    });
    for (field, counted, time) in [
        ("created", report.created, total),
        (
            "created mixed with transactions",
            report.created_mixed,
            mixed,
        ),
        ("read", report.read, mixed),
        ("appended", report.appended, mixed),
        ("deleted", report.deleted, total),
        (
            "deleted mixed with transactions",
            report.deleted_mixed,
            mixed,
        ),
    ] {
        let rate = (counted.count.value / time.max(1.0)).floor();
        audit.check(equal(counted.rate.value, rate), || {
            impossible(counted.rate, field, Rule::Elapsed)
                .says(format!(
                    "{} in {time} s is printed as {} a second",
                    counted.count.value, counted.rate.value
                ))
                .fits(format!("{rate} per second"))
        });
    }
    let mut phases = mixed;
    for (field, counted) in [
        ("creation alone", report.created_alone),
        ("deletion alone", report.deleted_alone),
    ] {
        let time = whole_time(counted, total);
        audit.check(time.is_some(), || {
            impossible(counted.rate, field, Rule::Elapsed)
                .says("no whole number of seconds gives this rate")
                .fits(format!("{} by 1 to {total} s", counted.count.value))
        });
        phases += time.unwrap_or(0.0);
    }
    audit.check(total <= phases + CLOCKS, || {
        impossible(report.total, "seconds total", Rule::Elapsed)
            .says(format!("{total} s, but the phases took {phases} s"))
            .fits(format!("{phases} s"))
    });
}

/// The least number of seconds, up to `most`, by which the count gives its rate, cut off.
fn whole_time(counted: Counted, most: f64) -> Option<f64> {
    let (count, rate) = (counted.count.value, counted.rate.value);
    // From count / (rate + 1) exclusively to count / rate.
    let least = (count / (rate + 1.0)).floor().max(1.0);
    let mut candidates = (0..3).map(|more| least + f64::from(more));
    candidates.find(|time| *time <= most.max(1.0) && equal((count / time).floor(), rate))
}

fn parts(report: &Verbose, audit: &mut Audit) {
    let sums = [
        (
            "created",
            report.created.count,
            report.created_alone.count,
            report.created_mixed.count,
        ),
        (
            "deleted",
            report.deleted.count,
            report.deleted_alone.count,
            report.deleted_mixed.count,
        ),
    ];
    for (field, whole, a, b) in sums {
        let sum = a.value + b.value;
        audit.check(equal(whole.value, sum), || {
            impossible(whole, field, Rule::Parts)
                .says(format!("{} files, alone and mixed are {sum}", whole.value))
                .fits(format!("{sum}"))
        });
    }
    let (created, deleted) = (report.created.count, report.deleted.count);
    audit.check(equal(created.value, deleted.value), || {
        impossible(deleted, "deleted", Rule::Parts)
            .says(format!(
                "{} of {} files made: all are deleted",
                deleted.value, created.value
            ))
            .fits(shown(created.value))
    });
    transactions(report, audit);
}

/// A transaction reads or appends, and creates or deletes.
fn transactions(report: &Verbose, audit: &mut Audit) {
    let first = report.read.count.value + report.appended.count.value;
    let second = report.created_mixed.count.value + report.deleted_mixed.count.value;
    let (low, rate, mixed) = (
        first.max(second),
        report.transactions.value,
        report.mixed.value,
    );
    audit.check(low < (rate + 1.0) * mixed, || {
        impossible(
            report.transactions,
            "transactions per second",
            Rule::Elapsed,
        )
        .says(format!(
            "{rate} a second for {mixed} s are fewer than {low} operations"
        ))
        .fits(format!("{:.0} or more", (low / mixed).floor()))
    });
    // Only a full table, or no creations at all, leaves a transaction without its second half. It
    // is full at twice the files; four deviations of a random walk are far enough from that.
    let (made, gone) = (
        report.created_mixed.count.value,
        report.deleted_mixed.count.value,
    );
    let far = made - gone + 4.0 * second.sqrt() < report.created_alone.count.value;
    if made > 0.0 && gone > 0.0 && far {
        audit.check(rate * mixed <= low, || {
            impossible(
                report.transactions,
                "transactions per second",
                Rule::Elapsed,
            )
            .says(format!(
                "{rate} a second for {mixed} s are more than {low} operations"
            ))
            .fits(format!("{:.0}", (low / mixed).floor()))
        });
    }
}

fn volumes(report: &Verbose, audit: &mut Audit) {
    let time = report.total.value.max(1.0);
    for (field, bytes) in [
        ("bytes read", report.bytes_read),
        ("bytes written", report.bytes_written),
    ] {
        let (range, rate) = (bytes.count.rounded(), bytes.rate.rounded());
        let meets = range.low / time <= rate.high * (1.0 + SINGLE)
            && rate.low <= range.high / time * (1.0 + SINGLE);
        audit.check(meets, || {
            let quotient = bytes.count.value / time;
            impossible(bytes.rate, field, Rule::Elapsed)
                .says(format!(
                    "{} bytes in {time} s at {} a second",
                    shown(bytes.count.value),
                    shown(bytes.rate.value)
                ))
                .fits(format!("{} bytes per second", shown(quotient)))
        });
    }
}

/// The counts of the configuration, in the order of a report's lines.
fn counts_of(counts: &Counts) -> [(&'static str, u64); 8] {
    [
        ("created", counts.created_alone + counts.created_mixed),
        ("creation alone", counts.created_alone),
        ("created mixed with transactions", counts.created_mixed),
        ("read", counts.read),
        ("appended", counts.appended),
        ("deleted", counts.deleted_alone + counts.deleted_mixed),
        ("deletion alone", counts.deleted_alone),
        ("deleted mixed with transactions", counts.deleted_mixed),
    ]
}

fn against(report: &Verbose, counts: &Counts, settings: &Settings, audit: &mut Audit) {
    let printed = [
        report.created,
        report.created_alone,
        report.created_mixed,
        report.read,
        report.appended,
        report.deleted,
        report.deleted_alone,
        report.deleted_mixed,
    ];
    for ((field, count), printed) in counts_of(counts).into_iter().zip(printed) {
        audit.check(equal(printed.count.value, count as f64), || {
            impossible(printed.count, field, Rule::Parts)
                .says(format!(
                    "{}, the configuration makes {count}",
                    printed.count.value
                ))
                .fits(format!("{count}"))
        });
    }
    let rate = (f64::from(settings.transactions) / report.mixed.value.max(1.0)).floor();
    audit.check(equal(report.transactions.value, rate), || {
        impossible(
            report.transactions,
            "transactions per second",
            Rule::Elapsed,
        )
        .says(format!(
            "{} transactions are not {} a second",
            settings.transactions, report.transactions.value
        ))
        .fits(format!("{rate}"))
    });
    for (field, printed, bytes) in [
        ("bytes read", report.bytes_read, counts.program_read),
        (
            "bytes written",
            report.bytes_written,
            counts.program_written,
        ),
    ] {
        let range = printed.count.rounded().widened(1e-6);
        let bytes = f64::from(bytes);
        audit.check(range.low <= bytes && bytes <= range.high, || {
            impossible(printed.count, field, Rule::Parts)
                .says(format!(
                    "{}, the configuration moves {bytes}",
                    shown(printed.count.value)
                ))
                .fits(format!("{bytes}"))
        });
    }
}

const TERSE: [&str; 13] = [
    "elapsed",
    "transaction time",
    "transactions/s",
    "created/s",
    "created alone/s",
    "created mixed/s",
    "read/s",
    "appended/s",
    "deleted/s",
    "deleted alone/s",
    "deleted mixed/s",
    "bytes read/s",
    "bytes written/s",
];

/// A terse line by itself: rates by whole times are whole counts, and counts add up.
fn terse(numbers: &[Printed; 13], audit: &mut Audit) {
    let (total, mixed) = (numbers[0].value, numbers[1].value);
    audit.check(total >= 1.0 && mixed >= 1.0 && mixed <= total, || {
        impossible(numbers[1], TERSE[1], Rule::Elapsed)
            .says(format!("{mixed} s of transactions in {total} s"))
            .fits(format!("1 to {total} s"))
    });
    for index in [2, 3, 5, 6, 7, 8, 10] {
        let time = if matches!(index, 3 | 8) { total } else { mixed };
        let count = numbers[index].value * time;
        let off = (count - count.round()).abs();
        audit.check(off <= 0.006 * time + SINGLE * count, || {
            impossible(numbers[index], TERSE[index], Rule::Elapsed)
                .says(format!("by {time} s it is no whole number of files"))
                .fits(format!("{:.2}", count.round() / time.max(1.0)))
        });
    }
    let (created, deleted) = (numbers[3].value * total, numbers[8].value * total);
    audit.check(
        (created - deleted).abs() <= 0.011 * total + SINGLE * created,
        || {
            impossible(numbers[8], TERSE[8], Rule::Parts)
                .says("not as many files are deleted as were created")
                .fits(shown(numbers[3].value))
        },
    );
    for (all, alone, mix) in [(3, 4, 5), (8, 9, 10)] {
        let count = numbers[all].value * total - numbers[mix].value * mixed;
        let time = count / numbers[alone].value.max(1e-9);
        let off = (time - time.round()).abs() * numbers[alone].value;
        let slack = 0.011 * total + SINGLE * numbers[all].value * total;
        let fits = off <= slack && time.round() >= 1.0 && time.round() <= total;
        audit.check(
            fits || count.abs() <= slack && numbers[alone].value == 0.0,
            || {
                impossible(numbers[alone], TERSE[alone], Rule::Elapsed)
                    .says(format!("{count:.0} files in no whole number of seconds"))
                    .fits(format!("{count:.0} by 1 to {total} s"))
            },
        );
    }
    let operations =
        (numbers[6].value + numbers[7].value).max(numbers[5].value + numbers[10].value);
    audit.check(
        operations <= numbers[2].value + 0.03 + SINGLE * operations,
        || {
            impossible(numbers[2], TERSE[2], Rule::Parts)
                .says("more operations than transactions")
                .fits(format!("{operations:.2} or more"))
        },
    );
}

fn terse_against(n: &[Printed; 13], counts: &Counts, settings: &Settings, audit: &mut Audit) {
    let (total, mixed) = (n[0].value.max(1.0), n[1].value.max(1.0));
    let exact = counts_of(counts);
    let per = |index: usize, time: f64| exact[index].1 as f64 / time;
    let expected = [
        (2, f64::from(settings.transactions) / mixed),
        (3, per(0, total)),
        (5, per(2, mixed)),
        (6, per(3, mixed)),
        (7, per(4, mixed)),
        (8, per(5, total)),
        (10, per(7, mixed)),
        (11, f64::from(counts.program_read) / total),
        (12, f64::from(counts.program_written) / total),
    ];
    for (index, rate) in expected {
        let off = (n[index].value - rate).abs();
        audit.check(off <= 0.006 + 1e-6 * rate, || {
            impossible(n[index], TERSE[index], Rule::Elapsed)
                .says(format!(
                    "{}, by the configuration and its time {rate:.2}",
                    n[index].value
                ))
                .fits(format!("{rate:.2}"))
        });
    }
    for (index, count) in [(4, exact[1].1), (9, exact[6].1)] {
        let time = (count as f64 / n[index].value.max(1e-9))
            .round()
            .clamp(1.0, total);
        let rate = count as f64 / time;
        audit.check((n[index].value - rate).abs() <= 0.006 + 1e-6 * rate, || {
            impossible(n[index], TERSE[index], Rule::Elapsed)
                .says(format!("{} of {count} files", n[index].value))
                .fits(format!("{rate:.2}"))
        });
    }
}
