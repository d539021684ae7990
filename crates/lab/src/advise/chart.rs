//! The chart of an advice: what each disk more brings.
//!
//! One mark for each choice: how many disks it uses, and its requests per second with their
//! interval. Shapes have their own marks as well as colours; the Pareto front is filled. The chart
//! stands alone, in light and in dark, and every mark says its numbers to whoever cannot see it.

use std::fmt::Write;

use super::candidate::Shape;
use super::rank::{Advice, Choice};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 54.0;
const BOTTOM: f64 = 46.0;

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#1b1f24}.a{stroke:#d5dae0}\
.s{fill:#5b6470}.p0{--c:#0a58b5}.p1{--c:#b0661b}.p2{--c:#0b6b3a}.p3{--c:#a3328a}\
.m{stroke:var(--c);stroke-width:2;fill:#fff}.f{fill:var(--c)}.e{stroke:var(--c);stroke-width:1.5}\
@media (prefers-color-scheme:dark){text{fill:#e6e9ed}.a{stroke:#323a43}.s{fill:#9da7b3}\
.m{fill:#14171b}.f{fill:var(--c)}.p0{--c:#7db7ff}.p1{--c:#e0a05a}.p2{--c:#7fdca4}.p3{--c:#e58fd0}}";

/// The words and numbers of the shapes, in the order of the legend.
const SHAPES: [&str; 4] = ["linear", "spread", "striped", "mirror"];

/// The chart as SVG.
pub fn chart(advice: &Advice, title: &str) -> String {
    let disks = |choice: &Choice| choice.candidate.disks.len();
    let most = advice.choices.iter().map(disks).max().unwrap_or(1);
    let highs = advice.choices.iter().map(|choice| choice.per_second.high);
    let (top, step) = scale(highs.fold(0.0, f64::max));
    let column = (WIDTH - LEFT - RIGHT) / most as f64;
    let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{0}\" \
         viewBox=\"0 0 {WIDTH:.0} {HEIGHT:.0}\" width=\"{WIDTH:.0}\" height=\"{HEIGHT:.0}\">\
         <style>{STYLE}</style><title>{0}</title>",
        escaped(title)
    );
    legend(&mut svg);
    let mut tick = 0.0;
    while tick <= top * 1.001 {
        let _ = write!(
            svg,
            "<line class=\"a\" x1=\"{LEFT}\" x2=\"{:.0}\" y1=\"{1:.1}\" y2=\"{1:.1}\"/>\
             <text class=\"s\" x=\"{2:.0}\" y=\"{3:.1}\" text-anchor=\"end\">{tick}</text>",
            WIDTH - RIGHT,
            y(tick),
            LEFT - 8.0,
            y(tick) + 4.0
        );
        tick += step;
    }
    for count in 1..=most {
        let x = LEFT + column * (count as f64 - 0.5);
        let _ = write!(
            svg,
            "<text class=\"s\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{count}</text>",
            HEIGHT - BOTTOM + 18.0
        );
    }
    let _ = write!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">disks used</text>\
         <text x=\"{LEFT}\" y=\"{:.1}\" text-anchor=\"end\" dx=\"60\">requests per second</text>",
        LEFT + (WIDTH - LEFT - RIGHT) / 2.0,
        HEIGHT - 10.0,
        TOP - 12.0
    );
    // The front comes last, on top of the others.
    for front in [false, true] {
        for choice in advice.choices.iter().filter(|one| one.front == front) {
            mark(&mut svg, choice, column, y);
        }
    }
    svg.push_str("</svg>");
    svg
}

/// The number of a shape.
fn number(shape: Shape) -> usize {
    let word = shape.word();
    let known = SHAPES.iter().position(|known| *known == word);
    known.unwrap_or(0)
}

/// A mark with its interval.
fn mark(svg: &mut String, choice: &Choice, column: f64, y: impl Fn(f64) -> f64) {
    let (candidate, rate) = (&choice.candidate, choice.per_second);
    let shape = number(candidate.shape);
    // Shapes stand beside each other, chunks a little apart.
    let chunk = match candidate.shape {
        Shape::Striped { chunk } => f64::from((chunk >> 12).ilog2()) / 7.0 - 0.5,
        _ => 0.0,
    };
    let offset = [-0.33, -0.17, 0.07, 0.33][shape] + chunk * 0.18;
    let x = LEFT + column * (candidate.disks.len() as f64 - 0.5 + offset);
    let front = if choice.front { ", on the front" } else { "" };
    let _ = write!(
        svg,
        "<g class=\"p{shape}\"><title>{}: {:.0} requests per second ({:.0} to {:.0}), \
         {:.3} ms{front}\
         </title><line class=\"e\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
        escaped(&candidate.name()),
        rate.value,
        rate.low,
        rate.high,
        choice.response_ns.value / 1e6,
        y(rate.low),
        y(rate.high)
    );
    symbol(svg, shape, (x, y(rate.value)), choice.front);
    svg.push_str("</g>");
}

fn symbol(svg: &mut String, shape: usize, (x, y): (f64, f64), filled: bool) {
    let class = if filled { "m f" } else { "m" };
    let _ = match shape {
        0 => write!(
            svg,
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>"
        ),
        1 => write!(
            svg,
            "<path class=\"{class}\" d=\"M{x:.1} {:.1}l6 6-6 6-6-6z\"/>",
            y - 6.0
        ),
        2 => write!(
            svg,
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"9\" height=\"9\"/>",
            x - 4.5,
            y - 4.5
        ),
        _ => write!(
            svg,
            "<path class=\"{class}\" d=\"M{x:.1} {:.1}l6 10h-12z\"/>",
            y - 6.0
        ),
    };
}

fn legend(svg: &mut String) {
    for (index, word) in SHAPES.iter().enumerate() {
        let x = LEFT + 8.0 + 90.0 * index as f64;
        let _ = write!(svg, "<g class=\"p{index}\">");
        symbol(svg, index, (x, 14.0), true);
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"18\">{word}</text></g>",
            x + 12.0
        );
    }
    let _ = write!(
        svg,
        "<text class=\"s\" x=\"{:.1}\" y=\"18\">filled: on the Pareto front; lines: 95 %</text>",
        LEFT + 380.0
    );
}

/// The end of an axis and the distance of its marks: about five of them, round.
fn scale(highest: f64) -> (f64, f64) {
    let highest = highest.max(1.0);
    let mut step = 1.0;
    for factor in [2.0, 2.5, 2.0].into_iter().cycle().take(60) {
        if step * 6.0 >= highest {
            break;
        }
        step *= factor;
    }
    ((highest / step).ceil() * step, step)
}

/// Text for XML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
