//! A table as people read it.

use super::contest::Row;
use super::run::Effort;
use super::stats::Estimate;

pub(super) fn print(row: &Row, effort: Effort) {
    println!(
        "  {:<34} ours {:>10}   ({} rounds)",
        row.case,
        row.unit.shown(row.ours),
        row.rounds
    );
    for (name, value, ratio) in &row.peers {
        println!(
            "    {name:<32}      {:>10}   ours/theirs {:.3} [{:.3}, {:.3}]",
            row.unit.shown(*value),
            ratio.median,
            ratio.low,
            ratio.high
        );
    }
    if effort == Effort::Smoke {
        return;
    }
    let ratios: Vec<Estimate> = row.peers.iter().map(|(_, _, ratio)| *ratio).collect();
    if let Some(verdict) = row.goal.verdict((row.ours, row.unit), &ratios) {
        println!("    {verdict}");
    }
}
