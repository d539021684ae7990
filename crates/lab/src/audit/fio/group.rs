//! The rules that hold for a job as a whole, and for the sums of a group of jobs.

use super::check::same;
use super::model::{Direction, Run, Summary};
use crate::audit::finding::{Audit, Finding, Rule};
use crate::audit::printed::{Printed, Range};

/// The clock of run times, in seconds.
const TICK: f64 = 0.001;
/// Requests that Little's law may find above those allowed: means are over slightly other times.
const LITTLE_SLACK: f64 = 1.01;

/// No more requests are under way than processes times depth.
pub(super) fn little(run: &Run, audit: &mut Audit) {
    for job in &run.jobs {
        let (Some(processes), Some(depth)) = (job.processes, job.depth) else {
            continue;
        };
        let under_way = |rate: fn(&Direction) -> Option<Range>| -> Option<f64> {
            let of = |found: &Direction| {
                let latency = found.total.or(found.completion)?.mean.range();
                // A run of few ticks of the clock may have been a tick longer.
                let tick = found
                    .time
                    .map_or(1.0, |time| 1.0 + TICK / time.value.max(TICK));
                Some(rate(found)?.times(latency).low / 1e9 / tick)
            };
            job.directions.iter().map(of).sum()
        };
        let Some(printed) = under_way(|found| Some(found.rate?.range())) else {
            continue;
        };
        let allowed = processes * depth;
        audit.check(printed <= allowed * LITTLE_SLACK, || {
            let line = job.directions.first().map_or(job.line, |found| found.line);
            let recomputed = under_way(Direction::true_rate);
            let fits =
                recomputed.map_or(String::new(), |n| format!(", as io by time has it {n:.1}"));
            Finding::impossible(line, "iops x lat", Rule::Little)
                .says(format!("{printed:.1} requests would be under way"))
                .fits(format!("at most {allowed}{fits}"))
        });
    }
}

pub(super) fn summary(group: &Summary, run: &Run, audit: &mut Audit) {
    let field = |what: &str| format!("{} {what}", group.name.to_uppercase());
    let range = |numbers: &[Printed], index: usize| numbers.get(index).map(|n| n.range());
    let volume = range(&group.bytes, 0);
    let time = group.times.last().map(|time| time.range());
    let quotient = volume.zip(time).map(|(volume, time)| volume.by(time));
    let (bw, io) = (field("bw (bytes/s)"), field("io (bytes)"));
    // The group, the group in other units, slowest, fastest, both in other units.
    let numbers = &group.bandwidths;
    let first = numbers.first().copied();
    same(audit, (&bw, Rule::Bandwidth), first, quotient, "io by time");
    for (a, b) in [(0, 1), (2, 4), (3, 5)] {
        let other = range(numbers, a);
        let printed = numbers.get(b).copied();
        same(audit, (&bw, Rule::Parts), printed, other, "the other unit");
    }
    let upper = range(numbers, 0).zip(range(numbers, 3));
    let upper = upper.map(|(all, fastest)| Range::new(0.0, fastest.high.min(all.high)));
    let slowest = numbers.get(2).copied();
    same(audit, (&bw, Rule::Order), slowest, upper, "the faster ones");
    let again = group.bytes.get(1).copied();
    same(audit, (&io, Rule::Parts), again, volume, "the other unit");
    let last = group.times.last().map(|time| Range::new(0.0, time.value));
    let shortest = group.times.first().copied();
    same(
        audit,
        (&field("run (s)"), Rule::Order),
        shortest,
        last,
        "the longest",
    );
    let jobs = run.jobs.iter().filter(|job| job.group == group.group);
    let all = jobs.flat_map(|job| &job.directions);
    let all: Vec<&Direction> = all.filter(|found| found.name == group.name).collect();
    if !all.is_empty() {
        // A group printed as one is one entry of several processes.
        let alone = run.jobs.iter().all(|job| job.processes == Some(1.0));
        members(group, &all, alone, audit);
    }
}

/// The lines of a group against those of its jobs.
fn members(group: &Summary, all: &[&Direction], alone: bool, audit: &mut Audit) {
    let field = |what: &str| format!("{} {what}", group.name.to_uppercase());
    let zero = Some(Range::exact(0.0));
    let sum = all.iter().try_fold(zero, |sum, found| {
        let bytes = found.bytes.map(Printed::range);
        Some(sum.zip(bytes).map(|(a, b)| a.plus(b)))
    });
    let bytes = group.bytes.first().copied();
    same(
        audit,
        (&field("io (bytes)"), Rule::Parts),
        bytes,
        sum.flatten(),
        "its jobs",
    );
    let times = all
        .iter()
        .filter_map(|found| found.time.map(|time| time.value));
    let (shortest, longest) = times.fold((f64::INFINITY, 0.0_f64), |(low, high), time| {
        (low.min(time), high.max(time))
    });
    let ends = [
        (group.times.first(), shortest),
        (group.times.last(), longest),
    ];
    for (printed, time) in ends {
        let time = Some(Range::exact(time).widened(1e-9));
        same(
            audit,
            (&field("run (s)"), Rule::Parts),
            printed.copied(),
            time,
            "its jobs",
        );
    }
    if let [only] = all {
        let indices: &[usize] = if alone { &[0, 2, 3] } else { &[0] };
        for index in indices {
            let own = only.bandwidth.map(Printed::range);
            let printed = group.bandwidths.get(*index).copied();
            same(
                audit,
                (&field("bw (bytes/s)"), Rule::Parts),
                printed,
                own,
                "its job",
            );
        }
    }
}
