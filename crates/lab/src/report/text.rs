//! Text for HTML, numbers for people.

use std::fmt::Write;

use crate::stats::Interval;

/// Escapes a text.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// A number with three digits that mean something, thousands apart.
pub(super) fn number(x: f64) -> String {
    if !x.is_finite() {
        return if x > 0.0 { "∞" } else { "–" }.to_owned();
    }
    let size = x.abs();
    if size >= 99_999.5 {
        return grouped(x);
    }
    match size {
        size if size >= 100.0 => grouped(x),
        size if size >= 10.0 => format!("{x:.1}"),
        size if size >= 0.1 => format!("{x:.2}"),
        0.0 => "0".to_owned(),
        _ => format!("{x:.4}"),
    }
}

/// A cell of a table: a number and where it may lie, or a dash.
pub(super) fn cell(out: &mut String, cell: Option<Interval>) {
    // Writing to memory does not fail.
    let _ = match cell {
        Some(one) => write!(
            out,
            "<td>{}<br><small>{}–{}</small></td>",
            number(one.estimate),
            number(one.low),
            number(one.high)
        ),
        None => write!(out, "<td>–</td>"),
    };
}

fn grouped(x: f64) -> String {
    let digits = format!("{:.0}", x.abs());
    let mut out = String::from(if x < 0.0 { "−" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// A ratio: with four decimals near 1, where they matter.
pub(super) fn ratio(x: f64) -> String {
    if (0.9..1.1).contains(&x) {
        return format!("{x:.4}");
    }
    number(x)
}

/// What a metric is called, and its unit.
pub(super) fn metric(name: &str) -> (&str, &'static str) {
    match name {
        "iops" => ("requests", "per second"),
        "megabytes" => ("throughput", "MB/s"),
        "elapsed_s" => ("emulated time", "s"),
        "outstanding" => ("outstanding", "requests"),
        "hits_percent" => ("page cache hits", "%"),
        "mean_us" => ("mean time", "µs"),
        "p50_us" => ("median time", "µs"),
        "p99_us" => ("99th percentile", "µs"),
        "parts" => ("parts at disks", "requests"),
        "with_state" => ("parts at disks over those for data", ""),
        "commits" => ("commits", "of the log"),
        "cpu_us" => ("processor time of a request", "µs"),
        "added_p50_us" => ("added to the median time", "µs"),
        "added_cpu_us" => ("added processor time", "µs"),
        "steps" => ("times the first step", ""),
        other => of_phase(other).unwrap_or((other, "")),
    }
}

/// A metric of a program's phase.
fn of_phase(name: &str) -> Option<(&str, &'static str)> {
    let units = [
        ("_kps", "KiB/s"),
        ("_ps", "per second"),
        ("_s", "s"),
        ("_device", "% from the device"),
        ("_cpu", "% of the processor"),
        ("_percent", "%"),
    ];
    let mut named = units.into_iter();
    named.find_map(|(suffix, unit)| Some((name.strip_suffix(suffix)?, unit)))
}
