//! What real machines did: a section for each study, beside what emulations state.

use std::fmt::Write;

use super::text::{cell, escaped, number};
use super::verdicts::{class, list};
use crate::error::Result;
use crate::experiment::Read;
use crate::measure::{self, Comparing, Driven, Line, Measuring, Recorded, Study, date};
use crate::stats::{Comparison, Noise};

/// All studies that were measured, by these results or by what comes with the program.
pub(super) fn measured(results: &Read) -> Result<String> {
    let shipped = measure::shipped();
    let mut out = String::from(
        "<section id=\"measured\"><h2>Measured on a real machine</h2><p>The same data path without \
         emulation, each beside its own image file in the same second, and the file beside itself \
         as a control. A number here is one of this machine alone.</p></section>",
    );
    for study in measure::studies()? {
        let (tables, whose) = match measure::tables(&study, &results.measured) {
            none if none.is_empty() => (
                measure::tables(&study, &shipped),
                "This recording came with the program; <code>ashlar lab measure</code> makes one \
                 of this machine.",
            ),
            own => (own, ""),
        };
        let judged = measure::evidence(&study, &results.measured, &shipped);
        let _ = write!(
            out,
            "<section id=\"x-{}\"><h2>Measured: {}</h2>",
            escaped(&study.name),
            escaped(&study.title)
        );
        for paragraph in study.about.split("\n\n") {
            let _ = write!(out, "<p>{}</p>", escaped(paragraph));
        }
        list(&mut out, &judged);
        match tables.first() {
            None => out.push_str("<p>Not measured yet: <code>ashlar lab measure</code></p>"),
            Some(first) => whence(&mut out, &first.measuring, whose),
        }
        for table in &tables {
            show(&mut out, &study, table);
        }
        out.push_str("</section>");
    }
    kept(&mut out, &results.measured);
    programs(&mut out, &results.measured.driven);
    Ok(out)
}

/// Where, when and with what; and what could not run there.
fn whence(out: &mut String, measuring: &Measuring, whose: &str) {
    let _ = write!(
        out,
        "<p>Measured on {}, {} ({}), version {} {}. {whose} <code>{}</code></p>",
        date(measuring.date),
        escaped(&measuring.machine),
        escaped(&measuring.place),
        escaped(&measuring.version),
        escaped(&measuring.revision),
        escaped(&measuring.command),
    );
    if measuring.settings.is_empty() && measuring.absent.is_empty() {
        return;
    }
    out.push_str("<ul>");
    for (name, text) in &measuring.settings {
        let _ = write!(out, "<li>{}: {}</li>", escaped(name), escaped(text));
    }
    for (name, why) in &measuring.absent {
        let _ = write!(
            out,
            "<li>{} could not be measured: {}</li>",
            escaped(name),
            escaped(why)
        );
    }
    out.push_str("</ul>");
}

fn show(out: &mut String, study: &Study, table: &Comparing) {
    let control = table.control.map_or_else(
        || "too few rounds for an interval".to_owned(),
        |found| {
            let said = noise(table.noise, table.rounds);
            format!(
                "control, the same against the same: {} ({}–{}), {said}",
                number(found.estimate),
                number(found.low),
                number(found.high)
            )
        },
    );
    let _ = write!(
        out,
        "<div class=\"scroll\"><table><caption>{}, {}; {} rounds, {control}</caption><thead><tr>",
        escaped(&table.load.words()),
        table.medium.word(),
        table.rounds,
    );
    for (name, unit) in [
        ("Way", ""),
        ("median time over native", "zone ±"),
        ("", "verdict"),
        ("requests", "per second"),
        ("median time", "µs"),
        ("99th percentile", "µs"),
        ("added, measured", "µs"),
        ("added, as emulated", "µs"),
        ("processor time", "µs a request"),
    ] {
        let unit = match unit {
            "zone ±" => format!("zone ±{:.0} %", study.zone * 100.0),
            unit => unit.to_owned(),
        };
        let _ = write!(
            out,
            "<th scope=\"col\">{name}<br><small>{unit}</small></th>"
        );
    }
    out.push_str("</tr></thead><tbody>");
    for line in &table.lines {
        row(out, table, line);
    }
    out.push_str("</tbody></table></div>");
}

fn row(out: &mut String, table: &Comparing, line: &Line) {
    let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escaped(&line.subject));
    cell(out, line.ratio);
    let word = word(line.comparison, line.more);
    let _ = write!(
        out,
        "<td class=\"{}\">{word}</td>",
        class_of(line.comparison)
    );
    for one in [line.iops, line.p50, line.p99, line.added] {
        cell(out, one);
    }
    // Emulations state a cost of each request, which shows as such one at a time only.
    let _ = match line.states_us.filter(|_| table.load.depth == 1) {
        Some(stated) => write!(out, "<td>{}</td>", number(stated)),
        None => write!(out, "<td>–</td>"),
    };
    cell(out, line.cpu);
    out.push_str("</tr>");
}

/// What a comparison says, for people.
fn word(comparison: Option<Comparison>, more: usize) -> String {
    match comparison {
        None => String::new(),
        Some(Comparison::Better) => "faster".to_owned(),
        Some(Comparison::Worse) => "slower".to_owned(),
        Some(Comparison::Equivalent) => "equivalent".to_owned(),
        Some(Comparison::Undecided) => format!("undecided: {more} more rounds"),
    }
}

fn class_of(comparison: Option<Comparison>) -> &'static str {
    match comparison {
        Some(Comparison::Equivalent) => class("equivalent"),
        Some(Comparison::Worse) => class("refuted"),
        Some(Comparison::Better) => class("confirmed"),
        Some(Comparison::Undecided) | None => class("undecided"),
    }
}

fn noise(noise: Option<Noise>, rounds: usize) -> String {
    match noise {
        Some(Noise::Quiet) => "quiet enough".to_owned(),
        Some(Noise::TooNoisy { more_pairs }) => {
            let all = rounds + more_pairs;
            format!("too noisy: {more_pairs} more rounds are needed (--replicates {all})")
        }
        Some(Noise::Biased) => "differs from itself, so nothing is concluded".to_owned(),
        None => String::new(),
    }
}

/// Measurements of other studies, machines and revisions are kept, and said to be there.
fn kept(out: &mut String, recorded: &Recorded) {
    let count = recorded.measuring.len();
    if count > 0 {
        let _ = write!(
            out,
            "<p class=\"n\">{} rounds in {count} sessions were measured; the newest of each study \
             is shown.</p>",
            recorded.blocks.len()
        );
    }
}

/// Real programs that were run, and what the audit thinks of what they printed.
fn programs(out: &mut String, driven: &[Driven]) {
    if driven.is_empty() {
        return;
    }
    out.push_str("<section id=\"driven\"><h2>Real programs</h2>");
    for one in driven {
        let _ = write!(
            out,
            "<h3><code>{}</code></h3><p>{}: {} s by the clock, {} s of the processor</p><ul>",
            escaped(&one.command),
            date(one.date),
            number(one.elapsed_s),
            number(one.cpu_s)
        );
        for (name, text) in &one.about {
            let _ = write!(out, "<li>{}: {}</li>", escaped(name), escaped(text));
        }
        let _ = write!(
            out,
            "</ul><details><summary>What it printed</summary><pre>{}</pre></details>",
            escaped(&one.output)
        );
    }
    out.push_str("</section>");
}
