//! Charts as inline SVG: values with intervals, and bars of parts.

use std::fmt::Write;

use super::text::{escaped, number};
use crate::stats::Interval;

const WIDTH: f64 = 860.0;
const LABEL: f64 = 270.0;
const ROW: f64 = 20.0;
const TOP: f64 = 26.0;

/// The layers that time is broken down by: the value's name and the word for it.
pub(super) const LAYERS: [(&str, &str); 7] = [
    ("link_us", "network"),
    ("loop_us", "loops"),
    ("mapping_us", "lookup"),
    ("waiting_us", "queue, controller, bus"),
    ("seek_us", "seek"),
    ("rotation_us", "rotation"),
    ("transfer_us", "transfer"),
];

/// The terms of Eq. 1 of the first study, for what runs on a file system.
pub(super) const TERMS: [(&str, &str); 7] = [
    ("processor_s", "processor"),
    ("directory_s", "directories (T_DO)"),
    ("free_list_s", "free lists (T_FL)"),
    ("", ""),
    ("metadata_s", "metadata (T_MO)"),
    ("file_data_s", "file data (T_DFA)"),
    ("journal_s", "journal (T_J)"),
];

/// One dot with its interval for each row; the scale begins at 0.
pub(super) fn dots(title: &str, unit: &str, rows: &[(String, Interval)]) -> String {
    let highest = rows
        .iter()
        .map(|(_, interval)| interval.high)
        .fold(0.0, f64::max);
    let (top, step) = scale(highest);
    let height = TOP + ROW * rows.len() as f64 + 8.0;
    let x = |value: f64| LABEL + (WIDTH - LABEL - 80.0) * value / top;
    let mut svg = open(title, height);
    axis(&mut svg, (top, step), height, unit, x);
    for (index, (name, interval)) in rows.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        let _ = write!(
            svg,
            "<g><title>{0}: {1} ({2} to {3}) {unit}</title>\
             <text class=\"l\" x=\"{4:.1}\" y=\"{5:.1}\">{0}</text>\
             <line class=\"i\" x1=\"{6:.1}\" x2=\"{7:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <circle class=\"d\" cx=\"{8:.1}\" cy=\"{y:.1}\" r=\"4\"/>\
             <text class=\"v\" x=\"{9:.1}\" y=\"{5:.1}\">{1}</text></g>",
            escaped(name),
            number(interval.estimate),
            number(interval.low),
            number(interval.high),
            LABEL - 8.0,
            y + 4.0,
            x(interval.low),
            x(interval.high),
            x(interval.estimate),
            x(interval.high) + 9.0,
        );
    }
    svg.push_str("</svg>");
    svg
}

/// A bar of parts for each row; parts are in the order of `names`.
pub(super) fn bars(
    title: &str,
    unit: &str,
    names: &[(&str, &str); 7],
    rows: &[(String, [f64; 7])],
) -> String {
    let total = |parts: &[f64; 7]| parts.iter().sum::<f64>();
    let highest = rows
        .iter()
        .map(|(_, parts)| total(parts))
        .fold(0.0, f64::max);
    let (top, step) = scale(highest);
    let height = TOP + ROW * rows.len() as f64 + 8.0;
    let x = |value: f64| LABEL + (WIDTH - LABEL - 80.0) * value / top;
    let mut svg = open(title, height);
    axis(&mut svg, (top, step), height, unit, x);
    for (index, (name, parts)) in rows.iter().enumerate() {
        let y = TOP + ROW * index as f64;
        let _ = write!(
            svg,
            "<text class=\"l\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LABEL - 8.0,
            y + ROW / 2.0 + 4.0,
            escaped(name)
        );
        let mut at = 0.0;
        for (layer, part) in parts.iter().enumerate() {
            if *part <= 0.0 {
                continue;
            }
            let _ = write!(
                svg,
                "<rect class=\"p{layer}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\">\
                 <title>{}: {} {} {unit}</title></rect>",
                x(at),
                y + 3.0,
                (x(at + part) - x(at)).max(0.4),
                ROW - 6.0,
                escaped(name),
                names[layer].1,
                number(*part),
            );
            at += part;
        }
        let _ = write!(
            svg,
            "<text class=\"v\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x(at) + 6.0,
            y + ROW / 2.0 + 4.0,
            number(at)
        );
    }
    svg.push_str("</svg>");
    svg
}

fn open(title: &str, height: f64) -> String {
    let title = escaped(title);
    format!(
        "<svg role=\"img\" aria-label=\"{title}\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" \
         width=\"{WIDTH:.0}\" height=\"{height:.0}\">"
    )
}

fn axis(
    svg: &mut String,
    (top, step): (f64, f64),
    height: f64,
    unit: &str,
    x: impl Fn(f64) -> f64,
) {
    let mut tick = 0.0;
    while tick <= top * 1.001 {
        let _ = write!(
            svg,
            "<line class=\"g\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{1:.1}\" y2=\"{2:.1}\"/>\
             <text class=\"t\" x=\"{0:.1}\" y=\"14\">{3}</text>",
            x(tick),
            TOP - 6.0,
            height - 4.0,
            number(tick)
        );
        tick += step;
    }
    let _ = write!(
        svg,
        "<text class=\"l\" x=\"{:.1}\" y=\"14\">{unit}</text>",
        LABEL - 8.0
    );
}

/// The end of an axis and the distance of its marks: about five of them, round.
fn scale(highest: f64) -> (f64, f64) {
    let highest = if highest > 0.0 { highest } else { 1.0 };
    let mut step = 1e-6;
    while step * 5.0 < highest {
        for factor in [2.0, 2.5, 2.0] {
            step *= factor;
            if step * 5.0 >= highest {
                break;
            }
        }
    }
    ((highest / step).ceil() * step, step)
}
