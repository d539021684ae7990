//! What `explain` prints.

use lab::layout::{Disk, DiskKind};
use lab::predict::{Explanation, Parameter};
use lab::workload::fio::{Job, Mix, Pattern};

use super::command::Told;
use super::mapping::{size, told};
use super::stack::Stack;
use crate::args::Error;
use crate::commands::Session;
use crate::commands::lab::quoted;

/// The disks, the load, and each job.
pub(super) fn print(
    stack: &Stack,
    word: &str,
    all: &[Told],
    session: &mut Session,
) -> Result<(), Error> {
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
    for one in all {
        session.line("")?;
        session.line(&format!("{:<16} {}: {}", "load", word, load(&one.job)))?;
        job(one, session)?;
    }
    Ok(())
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
    let Ok((told, runs)) = &one.predicted else {
        if let Some(found) = one.emulated {
            session.line(&format!(
                "emulated         {:.1} requests per second, response {:.3} ms",
                found.per_second,
                found.response_ns / 1e6
            ))?;
        }
        return Ok(());
    };
    let emulated = |value: Option<f64>, predicted: f64| match value {
        Some(value) => {
            let error = (predicted / value.max(1e-12) - 1.0) * 100.0;
            format!("{value:>12.3} {error:>+8.1} %")
        }
        None => String::new(),
    };
    let head = if one.emulated.is_some() {
        format!("{:>12} {:>10}", "emulated", "error")
    } else {
        String::new()
    };
    session.line(&format!(
        "{:<20} {:>12}  {:<28}{head}",
        "", "predicted", "95 % interval"
    ))?;
    let bytes = one.job.block[0] as f64 / 1e6;
    let (rate, time) = (told.per_second, told.response_ns);
    let found = one.emulated;
    let rows = [
        (
            "requests per second",
            rate,
            1.0,
            found.map(|it| it.per_second),
        ),
        ("MB/s", rate, bytes, found.map(|it| it.per_second * bytes)),
        (
            "response time, ms",
            time,
            1e-6,
            found.map(|it| it.response_ns / 1e6),
        ),
    ];
    for (name, of, unit, seen) in rows {
        let value = of.value * unit;
        let interval = format!("({:.3} to {:.3})", of.low * unit, of.high * unit);
        let seen = emulated(seen, value);
        session.line(&format!("{name:<20} {value:>12.3}  {interval:<28}{seen}"))?;
    }
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

/// One JSON object with its end.
pub(super) fn json(stack: &Stack, text: &str, all: &[Told]) -> String {
    let layout = &stack.layout;
    let list = |words: &[String]| words.join(",");
    let segments: Vec<String> = told(&layout.volume, &stack.disks)
        .iter()
        .map(|line| quoted(line))
        .collect();
    let disks: Vec<String> = stack
        .disks
        .iter()
        .zip(&layout.disks)
        .map(|(name, disk)| {
            format!(
                "{{\"pv\":{},\"disk\":{},\"assumed\":{}}}",
                quoted(name),
                quoted(&disk.name),
                stack.assumed.contains(name)
            )
        })
        .collect();
    let jobs: Vec<String> = all.iter().map(one).collect();
    format!(
        "{{\"volume\":{},\"bytes\":{},\"segments\":[{}],\"disks\":[{}],\"workload\":{},\
         \"jobs\":[{}]}}\n",
        quoted(&layout.name),
        layout.size(),
        list(&segments),
        list(&disks),
        quoted(text),
        list(&jobs)
    )
}

fn one(told: &Told) -> String {
    let (predicted, why) = match &told.predicted {
        Ok((told, _)) => (told.json(), "null".to_owned()),
        Err(why) => ("null".to_owned(), quoted(why)),
    };
    let emulated = told.emulated.map_or_else(
        || "null".to_owned(),
        |found| {
            format!(
                "{{\"per_second\":{:.3},\"response_ns\":{:.3},\"requests\":{}}}",
                found.per_second, found.response_ns, found.counted
            )
        },
    );
    let error = match (&told.predicted, told.emulated) {
        (Ok((predicted, _)), Some(found)) => {
            let (value, seen) = if told.open {
                (predicted.response_ns.value, found.response_ns)
            } else {
                (predicted.per_second.value, found.per_second)
            };
            format!("{:.4}", value / seen.max(1e-12) - 1.0)
        }
        _ => "null".to_owned(),
    };
    format!(
        "{{\"job\":{},\"load\":{},\"predicted\":{predicted},\"why_not\":{why},\
         \"emulated\":{emulated},\"error\":{error}}}",
        quoted(&told.job.name),
        quoted(&load(&told.job))
    )
}
