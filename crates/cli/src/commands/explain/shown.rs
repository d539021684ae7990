//! What `explain` prints.

use std::fmt::Write;

use lab::layout::{Disk, DiskKind};
use lab::predict::{Estimate, Explanation, Parameter};
use lab::workload::fio::{Job, Mix, Pattern};
use serde::Serialize;

use super::command::Told;
use super::mapping::{size, told};
use super::stack::Stack;
use super::stores::{OfStore, Store};
use crate::args::Error;
use crate::commands::Session;
use crate::output::json::{Thousandths, line};

/// The disks, the load, and each job.
pub(super) fn print(
    stack: &Stack,
    word: &str,
    all: &[Told],
    session: &mut Session,
) -> Result<(), Error> {
    volume(stack, session)?;
    for one in all {
        session.line("")?;
        session.line(&format!("{:<16} {}: {}", "load", word, load(&one.job)))?;
        job(one, session)?;
    }
    Ok(())
}

/// The volume, and what its disks are.
pub(super) fn volume(stack: &Stack, session: &mut Session) -> Result<(), Error> {
    let layout = &stack.layout;
    let mut name = layout.name.as_str();
    for line in told(&layout.volume, &stack.disks) {
        session.line(&format!("{name:<16} {line}"))?;
        name = "";
    }
    let mut kinds: Vec<(&Disk, Vec<&str>)> = Vec::new();
    for (name, disk) in stack.disks.iter().zip(&layout.disks) {
        match kinds.iter_mut().find(|(known, _)| *known == disk) {
            Some((_, names)) => names.push(name),
            None => kinds.push((disk, vec![name])),
        }
    }
    for (disk, names) in kinds {
        let source = match &disk.kind {
            DiskKind::Drive(profile) => format!("{} ({})", profile.name, profile.source),
            DiskKind::Capped(_) => "limits".to_owned(),
            DiskKind::Flash(_) => "flash (a generic model, of no product)".to_owned(),
            DiskKind::Server(_) => "a server of queueing theory".to_owned(),
        };
        session.line(&format!("{:<16} {}: {source}", "disk", names.join(", ")))?;
    }
    for store in &stack.stores {
        session.line(&format!("{:<16} {}", "snapshot", store.text()))?;
    }
    Ok(())
}

/// The head of a table: what was predicted, and what was seen otherwise with the error of that.
pub(super) fn heading(others: &[&str]) -> String {
    let mut line = format!("{:<20} {:>12}  {:<28}", "", "predicted", "95 % interval");
    for other in others {
        let _ = write!(line, "{other:>12} {:>10}", "error");
    }
    line
}

/// A line of it; `unit` is what all values are multiplied with. What has no interval shows none.
pub(super) fn row(name: &str, of: Estimate, unit: f64, others: &[Option<f64>]) -> String {
    let value = of.value * unit;
    let interval = if of.low < of.high {
        format!("({:.3} to {:.3})", of.low * unit, of.high * unit)
    } else {
        String::new()
    };
    let mut line = format!("{name:<20} {value:>12.3}  {interval:<28}");
    for seen in others.iter().flatten() {
        let seen = seen * unit;
        let error = if seen > 0.0 {
            format!("{:+.1} %", (value / seen - 1.0) * 100.0)
        } else {
            "-".to_owned()
        };
        let _ = write!(line, "{seen:>12.3} {error:>10}");
    }
    line
}

/// A job in words.
fn load(job: &Job) -> String {
    let what = match (job.mix, job.pattern) {
        (Mix::Reads, _) => "reads".to_owned(),
        (Mix::Writes, _) => "writes".to_owned(),
        (Mix::Both, _) => format!("{} % reads, the rest writes,", job.mix_percent),
    };
    let how = match job.pattern {
        Pattern::Sequential => "in order",
        Pattern::Random => "at random",
    };
    let outstanding = u64::from(job.depth) * u64::from(job.processes);
    let rate = match job.rate {
        Some(rate) => format!(", {} per second", rate * u64::from(job.processes)),
        None => format!(", {outstanding} outstanding"),
    };
    format!(
        "{what} of {} {how} over {}{rate}",
        size(job.block[0]),
        size(job.size)
    )
}

fn job(one: &Told, session: &mut Session) -> Result<(), Error> {
    let others = others(one);
    let Ok((told, runs)) = &one.predicted else {
        for (name, rate, response_ns) in &others {
            session.line(&format!(
                "{name:<16} {rate:.1} requests per second, response {:.3} ms",
                response_ns / 1e6
            ))?;
        }
        return measured(one, session);
    };
    let names: Vec<&str> = others.iter().map(|other| other.0).collect();
    session.line(&heading(&names))?;
    let rates: Vec<Option<f64>> = others.iter().map(|other| Some(other.1)).collect();
    let times: Vec<Option<f64>> = others.iter().map(|other| Some(other.2)).collect();
    let megabyte = one.job.block[0] as f64 / 1e6;
    let (rate, time) = (told.per_second, told.response_ns);
    session.line(&row("requests per second", rate, 1.0, &rates))?;
    session.line(&row("MB/s", rate, megabyte, &rates))?;
    session.line(&row("response time, ms", time, 1e-6, &times))?;
    measured(one, session)?;
    account(told, session)?;
    if *runs > 1 {
        session.line(&format!(
            "- the load meets {runs} runs of segments, which are predicted apart and weighted by \
             size; that their disks work at the same time is not seen"
        ))?;
    }
    if one.open {
        session.line("- requests come at a rate that it keeps; judge it by the response time")?;
    }
    session.line("- means only: nothing here is about the slowest requests")?;
    Ok(())
}

/// Emulated and measured, as far as they were: name, requests per second, response time.
fn others(one: &Told) -> Vec<(&'static str, f64, f64)> {
    let emulated = one.emulated.as_ref();
    let emulated = emulated.map(|found| ("emulated", found.per_second, found.response_ns));
    let measured = one.measured.as_ref();
    let measured = measured.map(|found| ("measured", found.per_second, found.response_ns));
    emulated.into_iter().chain(measured).collect()
}

/// What a measurement was, and what it was not.
fn measured(one: &Told, session: &mut Session) -> Result<(), Error> {
    let Some(found) = &one.measured else {
        return Ok(());
    };
    let sample = &found.sample;
    session.line(&format!(
        "- measured over {:.2} s, after {:.2} s that {}: {:.1} requests outstanding, 99 % answered \
         within {:.3} ms, {:.1} us of the processor each",
        sample.elapsed_ns as f64 / 1e9,
        sample.cut_ns as f64 / 1e9,
        if sample.is_steady {
            "are not counted"
        } else {
            "are not counted, though it never was steady"
        },
        found.outstanding,
        sample.latency.quantile(0.99).unwrap_or(0) as f64 / 1e6,
        sample.cpu_ns as f64 / sample.answers.max(1) as f64 / 1e3,
    ))?;
    session.line(
        "- the disk that --disk names may not be the one that the volume really lies on; only \
         where it is does the error say something about the prediction",
    )?;
    Ok(())
}

/// The layers, and what to buy.
fn account(told: &Explanation, session: &mut Session) -> Result<(), Error> {
    session.line("where the time of a request goes")?;
    let time = told.response_ns.value;
    for (name, spent) in told.account.lines() {
        if spent.abs() >= 0.5 {
            let share = spent / time * 100.0;
            let spent = spent / 1e6;
            session.line(&format!("  {name:<18} {spent:>12.4}  {share:>6.1} %"))?;
        }
    }
    session.line("what to buy: a tenth better changes the time by")?;
    let mut list: Vec<(Parameter, f64)> = told
        .elasticities
        .iter()
        .map(|(parameter, elasticity)| (*parameter, bought(*parameter, *elasticity)))
        .collect();
    list.sort_by(|a, b| a.1.total_cmp(&b.1));
    // What changes less than is printed is left out.
    list.retain(|(_, change)| change.abs() >= 5e-4);
    for (parameter, change) in &list {
        let percent = change * 100.0;
        session.line(&format!(
            "  {:<18} {percent:>+12.1} %  {}",
            parameter.to_string(),
            meant(*parameter)
        ))?;
    }
    Ok(())
}

/// By which share the time changes where a parameter gets a tenth better.
fn bought(parameter: Parameter, elasticity: f64) -> f64 {
    // Rates get better by growing, times by shrinking.
    let change = match parameter {
        Parameter::Limits | Parameter::LinkRate => 0.1,
        _ => -0.1,
    };
    elasticity * change
}

fn meant(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::Seek => "a faster arm, or data closer together",
        Parameter::Rotation => "more revolutions per minute",
        Parameter::Overhead => "a faster controller",
        Parameter::Bus => "a faster bus",
        Parameter::Limits => "higher limits",
        Parameter::Flash => "faster flash",
        Parameter::LinkRate => "a faster network",
        Parameter::RoundTrip => "a nearer network",
        Parameter::Software => "cheaper lookups and loops",
    }
}

/// All of it, for programs.
#[derive(Serialize)]
struct Explained<'a> {
    #[serde(flatten)]
    stack: Stacked<'a>,
    workload: &'a str,
    jobs: Vec<OfJob<'a>>,
}

/// The volume and its disks.
#[derive(Serialize)]
pub(super) struct Stacked<'a> {
    volume: &'a str,
    bytes: u64,
    segments: Vec<String>,
    disks: Vec<OfDisk<'a>>,
    snapshots: Vec<OfStore<'a>>,
}

#[derive(Serialize)]
struct OfDisk<'a> {
    pv: &'a str,
    disk: &'a str,
    assumed: bool,
}

#[derive(Serialize)]
struct OfJob<'a> {
    job: &'a str,
    load: String,
    predicted: Option<&'a Explanation>,
    why_not: Option<&'a str>,
    emulated: Option<Emulated>,
    error: Option<f64>,
    measured: Option<Measured>,
    measured_error: Option<f64>,
}

#[derive(Serialize)]
struct Emulated {
    per_second: Thousandths,
    response_ns: Thousandths,
    requests: u64,
}

#[derive(Serialize)]
struct Measured {
    per_second: Thousandths,
    response_ns: Thousandths,
    requests: u64,
    outstanding: Thousandths,
    elapsed_ns: u64,
    cut_ns: u64,
    steady: bool,
    p99_ns: u64,
    cpu_ns: Thousandths,
}

/// One JSON object with its end.
pub(super) fn json(stack: &Stack, text: &str, all: &[Told]) -> String {
    line(&Explained {
        stack: stacked(stack),
        workload: text,
        jobs: all.iter().map(one).collect(),
    })
}

pub(super) fn stacked(stack: &Stack) -> Stacked<'_> {
    let layout = &stack.layout;
    let disks = stack.disks.iter().zip(&layout.disks);
    let disks = disks.map(|(name, disk)| OfDisk {
        pv: name,
        disk: &disk.name,
        assumed: stack.assumed.contains(name),
    });
    Stacked {
        volume: &layout.name,
        bytes: layout.size(),
        segments: told(&layout.volume, &stack.disks),
        disks: disks.collect(),
        snapshots: stack.stores.iter().map(Store::told).collect(),
    }
}

fn one(told: &Told) -> OfJob<'_> {
    let emulated = told.emulated.map(|found| Emulated {
        per_second: Thousandths(found.per_second),
        response_ns: Thousandths(found.response_ns),
        requests: found.counted,
    });
    let measured = told.measured.as_ref().map(|found| {
        let sample = &found.sample;
        Measured {
            per_second: Thousandths(found.per_second),
            response_ns: Thousandths(found.response_ns),
            requests: sample.answers,
            outstanding: Thousandths(found.outstanding),
            elapsed_ns: sample.elapsed_ns,
            cut_ns: sample.cut_ns,
            steady: sample.is_steady,
            p99_ns: sample.latency.quantile(0.99).unwrap_or(0),
            cpu_ns: Thousandths(sample.cpu_ns as f64 / sample.answers.max(1) as f64),
        }
    });
    let emulation = told
        .emulated
        .map(|found| (found.per_second, found.response_ns));
    let measurement = told.measured.as_ref();
    let measurement = measurement.map(|found| (found.per_second, found.response_ns));
    OfJob {
        job: &told.job.name,
        load: load(&told.job),
        predicted: told.predicted.as_ref().ok().map(|(told, _)| told),
        why_not: told.predicted.as_ref().err().map(String::as_str),
        emulated,
        error: error(told, emulation),
        measured,
        measured_error: error(told, measurement),
    }
}

/// By which share the prediction is off what was seen: requests per second and response time.
fn error(told: &Told, seen: Option<(f64, f64)>) -> Option<f64> {
    let (predicted, _) = told.predicted.as_ref().ok()?;
    let (rate, response_ns) = seen?;
    let (value, seen) = if told.open {
        (predicted.response_ns.value, response_ns)
    } else {
        (predicted.per_second.value, rate)
    };
    Some(value / seen.max(1e-12) - 1.0)
}
