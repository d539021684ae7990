//! The rules for fio's numbers.

use super::group::{little, summary};
use super::model::{Direction, Job, Latency, Run, Samples};
use crate::audit::finding::{Audit, Finding, Rule};
use crate::audit::printed::{Printed, Range, shown};

/// Slack of a mean that is computed from the same requests in another way.
const MEAN_SLACK: f64 = 0.0005;
/// Slack of a deviation: it is carried along while the requests are counted.
const DEVIATION_SLACK: f64 = 0.005;
/// Slack of samples: one may hold the request that its neighbour finished.
const SAMPLE_SLACK: f64 = 0.01;
/// A percentile stands for a bucket of a 64th of its value.
const BUCKET: f64 = 1.0 / 64.0;
/// Buckets of fio's latencies within a power of two.
const BUCKET_BITS: u32 = 6;
/// Requests that may be in the volume and not yet in their count.
const UNDER_WAY: f64 = 32.0;

/// Applies all rules to a run.
pub(in crate::audit) fn check(run: &Run, audit: &mut Audit) {
    for job in &run.jobs {
        for direction in &job.directions {
            bandwidth(direction, audit);
            requests(direction, audit);
            latencies(direction, audit);
            percentiles(direction, audit);
            samples(direction, audit);
        }
        shares(job, audit);
    }
    little(run, audit);
    for group in &run.groups {
        summary(group, run, audit);
    }
}

/// Two ways to one number: they must meet.
pub(super) fn same(
    audit: &mut Audit,
    (field, rule): (&str, Rule),
    printed: Option<Printed>,
    computed: Option<Range>,
    by: &str,
) {
    let (Some(printed), Some(computed)) = (printed, computed) else {
        return;
    };
    audit.check(printed.range().meets(computed), || {
        Finding::impossible(printed.line, field, rule)
            .says(format!(
                "{} is printed, {by} gives {}",
                shown(printed.value),
                computed.shown()
            ))
            .fits(computed.shown())
    });
}

fn bandwidth(found: &Direction, audit: &mut Audit) {
    let range = |number: Option<Printed>| number.map(Printed::range);
    let volume = range(found.bytes);
    let time = range(found.time);
    let quotient = volume.zip(time).map(|(volume, time)| volume.by(time));
    let field = |what: &str| format!("{} {what} (bytes/s)", found.name);
    let name = (field("bandwidth"), field("bandwidth in other units"));
    same(
        audit,
        (&name.0, Rule::Bandwidth),
        found.bandwidth,
        quotient,
        "io by time",
    );
    let again = found.bandwidth_again;
    same(
        audit,
        (&name.1, Rule::Bandwidth),
        again,
        quotient,
        "io by time",
    );
    let other = range(found.bandwidth);
    same(
        audit,
        (&name.1, Rule::Parts),
        again,
        other,
        "the first of the two",
    );
    let name = format!("{} io in other units (bytes)", found.name);
    same(
        audit,
        (&name, Rule::Parts),
        found.bytes_again,
        volume,
        "the other",
    );
}

fn requests(found: &Direction, audit: &mut Audit) {
    let range = |number: Option<Printed>| number.map(Printed::range);
    let field = format!("{} iops", found.name);
    let rate = range(found.requests).zip(range(found.time));
    let rate = rate.map(|(requests, time)| requests.by(time));
    same(
        audit,
        (&field, Rule::Requests),
        found.rate,
        rate,
        "requests by time",
    );
    let Some(block) = found.block.map(Range::exact) else {
        return;
    };
    // Volume and requests are counted apart: what is under way at the end may be in one of them.
    let apart = 0.001
        + found
            .requests
            .map_or(0.0, |n| UNDER_WAY / n.value.max(UNDER_WAY));
    let rate = range(found.bandwidth).map(|bandwidth| bandwidth.by(block).widened(apart));
    same(
        audit,
        (&field, Rule::Requests),
        found.rate,
        rate,
        "bandwidth by block size",
    );
    let rate = range(found.bytes).zip(range(found.time));
    let rate = rate.map(|(bytes, time)| bytes.by(time).by(block).widened(apart));
    same(
        audit,
        (&field, Rule::Requests),
        found.rate,
        rate,
        "io by time and block size",
    );
    let field = format!("{} requests", found.name);
    let requests = range(found.bytes).map(|bytes| bytes.by(block).widened(apart));
    same(
        audit,
        (&field, Rule::Parts),
        found.requests,
        requests,
        "io by block size",
    );
}

fn latencies(found: &Direction, audit: &mut Audit) {
    let parts = [
        ("slat", found.submission),
        ("clat", found.completion),
        ("lat", found.total),
    ];
    for (name, latency) in parts {
        if let Some(latency) = latency {
            let field = format!("{} {name} (ns)", found.name);
            order(audit, &field, &as_samples(&latency));
            let requests = found.requests.map(|n| n.range().widened(0.01));
            let field = format!("{} {name} N", found.name);
            same(
                audit,
                (&field, Rule::Parts),
                latency.count,
                requests,
                "requests issued",
            );
        }
    }
    let (Some(completion), Some(total)) = (found.completion, found.total) else {
        return;
    };
    let field = format!("{} lat (ns)", found.name);
    if let Some(submission) = found.submission {
        both(audit, &field, [&submission, &completion], &total);
    } else {
        let least = Some(Range::new(completion.mean.range().low, f64::INFINITY));
        same(
            audit,
            (&field, Rule::Parts),
            Some(total.mean),
            least,
            "clat alone",
        );
    }
}

/// The whole latency against its two parts.
fn both(audit: &mut Audit, field: &str, parts: [&Latency; 2], total: &Latency) {
    let [submission, completion] = parts;
    let mut fits = |rule: Rule, printed: Printed, range: Range| {
        same(
            audit,
            (field, rule),
            Some(printed),
            Some(range),
            "slat and clat",
        );
    };
    let sum = |of: fn(&Latency) -> Printed| of(submission).range().plus(of(completion).range());
    let mean = sum(|latency| latency.mean).widened(MEAN_SLACK);
    fits(Rule::Parts, total.mean, mean);
    let most = sum(|latency| latency.largest).high;
    let least = completion
        .largest
        .range()
        .low
        .max(submission.largest.range().low);
    fits(Rule::Order, total.largest, Range::new(least, most));
    let least = sum(|latency| latency.smallest).low;
    fits(
        Rule::Order,
        total.smallest,
        Range::new(least, f64::INFINITY),
    );
    let (a, b) = (submission.deviation.range(), completion.deviation.range());
    let spread = Range::new((a.low - b.high).max(b.low - a.high), a.high + b.high);
    fits(
        Rule::Order,
        total.deviation,
        spread.widened(DEVIATION_SLACK),
    );
}

fn as_samples(latency: &Latency) -> Samples {
    Samples {
        smallest: latency.smallest,
        largest: latency.largest,
        mean: latency.mean,
        deviation: latency.deviation,
        count: latency.count,
    }
}

/// Smallest, mean, largest in order, and no more spread than they allow: the variance is at most
/// the product of the distances of the mean from the extremes (Bhatia and Davis).
fn order(audit: &mut Audit, field: &str, found: &Samples) {
    let (low, mean, high) = (
        found.smallest.range(),
        found.mean.range(),
        found.largest.range(),
    );
    audit.check(low.low <= mean.high && mean.low <= high.high, || {
        Finding::impossible(found.mean.line, field, Rule::Order)
            .says(format!(
                "the mean {} is not between the extremes",
                shown(found.mean.value)
            ))
            .fits(Range::new(low.low, high.high).shown())
    });
    let product = (high.high - mean.low).max(0.0) * (mean.high - low.low).max(0.0);
    // The printed deviation is that of a sample: for two of them, twice the variance.
    let count = found.count.map_or(2.0, |count| count.value.max(2.0));
    let most = (product * count / (count - 1.0)).sqrt();
    audit.check(
        found.deviation.range().low <= most * (1.0 + DEVIATION_SLACK),
        || {
            Finding::impossible(found.deviation.line, field, Rule::Order)
                .says(format!(
                    "numbers between the extremes cannot deviate by {}",
                    found.deviation.value
                ))
                .fits(format!("at most {}", shown(most)))
        },
    );
}

fn percentiles(found: &Direction, audit: &mut Audit) {
    let field = |percent: f64| format!("{} clat {percent}th percentile (ns)", found.name);
    for pair in found.percentiles.windows(2) {
        let ((before, low), (percent, high)) = (pair[0], pair[1]);
        audit.check(before < percent && low.value <= high.value, || {
            Finding::impossible(high.line, field(percent), Rule::Order)
                .says(format!(
                    "{} is below the percentile before it",
                    shown(high.value)
                ))
                .fits(format!("{} or more", shown(low.value)))
        });
    }
    let latency = found.completion.or(found.total);
    for (percent, value) in &found.percentiles {
        if let Some(latency) = latency {
            let (low, high) = (latency.smallest.range().low, latency.largest.range().high);
            let range = Some(Range::new(low * (1.0 - BUCKET), high * (1.0 + BUCKET)));
            same(
                audit,
                (&field(*percent), Rule::Order),
                Some(*value),
                range,
                "the extremes",
            );
        }
        let range = value.range();
        let middles = [range.low, value.value, range.high].map(|ns| middle(ns.max(0.0) as u64));
        let printed = |middle: &u64| (*middle as f64 - value.value).abs() <= value.step.max(0.5);
        audit.check(middles.iter().any(printed), || {
            Finding::impossible(value.line, field(*percent), Rule::Order)
                .says(format!(
                    "no bucket of fio's has {} in its middle",
                    value.value
                ))
                .fits(format!("{}", middles[1]))
        });
    }
}

/// The middle of fio's bucket around a latency: buckets are 64 to a power of two.
fn middle(value: u64) -> u64 {
    let bits = value
        .checked_ilog2()
        .map_or(0, |top| top.saturating_sub(BUCKET_BITS));
    let low = (value >> bits) << bits;
    low + ((1 << bits) >> 1)
}

fn samples(found: &Direction, audit: &mut Audit) {
    let fields = ["bandwidth", "iops"].map(|what| format!("{} {what} samples", found.name));
    let both = [found.bandwidth_samples, found.rate_samples];
    let counted = |samples: &Samples| samples.count.is_none_or(|count| count.value > 0.0);
    for (field, samples) in fields.iter().zip(both) {
        if let Some(samples) = samples.filter(counted) {
            order(audit, field, &samples);
        }
    }
    let (Some(bandwidth), Some(rate), Some(block)) = (both[0], both[1], found.block) else {
        return;
    };
    let numbers: [fn(&Samples) -> Printed; 4] =
        [|s| s.smallest, |s| s.largest, |s| s.mean, |s| s.deviation];
    for number in numbers {
        let expected = number(&bandwidth).range().by(Range::exact(block));
        // The smallest and largest of few requests are rounded twice.
        let expected = expected.widened(SAMPLE_SLACK).plus(Range::new(-2.0, 2.0));
        let printed = Some(number(&rate));
        let by = "bandwidth by block size";
        same(
            audit,
            (&fields[1], Rule::Requests),
            printed,
            Some(expected),
            by,
        );
    }
    let counts = bandwidth.count.map(Printed::range);
    let unlike = (&*fields[1], Rule::Parts);
    same(
        audit,
        unlike,
        rate.count,
        counts.map(|c| c.plus(Range::new(-1.0, 1.0))),
        "bandwidth's",
    );
}

/// Shares of all latencies add up to everything; tiny ones are printed as 0.01.
fn shares(job: &Job, audit: &mut Audit) {
    if job.shares.is_empty() {
        return;
    }
    let sum: f64 = job.shares.iter().map(|share| share.value).sum();
    let slack = 0.05 + 0.01 * job.shares.iter().filter(|share| share.value > 0.0).count() as f64;
    let largest = job.shares.iter().max_by(|a, b| a.value.total_cmp(&b.value));
    audit.check((sum - 100.0).abs() <= slack, || {
        let line = largest.map_or(job.line, |share| share.line);
        Finding::impossible(line, "lat distribution (%)", Rule::Parts)
            .says(format!("the shares add up to {sum:.2} %"))
            .fits("100 %")
    });
}
