//! A table as people read it.

use super::contest::{Row, Unit};

pub(super) fn print(row: &Row) {
    println!(
        "  {:<34} ours {:>10}   ({} rounds)",
        row.case,
        shown(row.ours, row.unit),
        row.rounds
    );
    for (name, value, ratio) in &row.peers {
        println!(
            "    {name:<32}      {:>10}   ours/theirs {:.3} [{:.3}, {:.3}]",
            shown(*value, row.unit),
            ratio.median,
            ratio.low,
            ratio.high
        );
    }
}

fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds if value < 0.001 => format!("{:.1} us", value * 1e6),
        Unit::Seconds if value < 1.0 => format!("{:.2} ms", value * 1e3),
        Unit::Seconds => format!("{value:.2} s"),
        Unit::PerSecond => format!("{value:.0} /s"),
    }
}
