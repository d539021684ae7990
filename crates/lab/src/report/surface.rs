//! Surfaces of grids: a table whose cells are shaded by their numbers.
//!
//! A cell always has its number, so that a shade tells nothing that reading does not. Numbers of
//! one load are shaded from the smallest to the largest, on a logarithmic scale; ratios by how far
//! they are from 1, which is the middle.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::runs::Seen;
use super::text::{escaped, metric, number, ratio};
use crate::experiment::{Arm, Evidence};
use crate::stats::real::ln;

/// Shades of numbers.
const SHADES: f64 = 6.0;
/// Cells from which a grid is worth a surface.
const CELLS_MIN: usize = 6;
/// How far a ratio is from 1 for each shade.
const STEPS: [f64; 4] = [1.01, 1.05, 1.25, 2.0];

/// The surface of a metric over the factors; empty if there is no grid.
pub(super) fn surface(out: &mut String, seen: &[Seen<'_>], of: &str) {
    let arms: Vec<&Arm> = seen.iter().map(|seen| seen.arm).collect();
    let Some(across) = across(&arms) else { return };
    let mut range: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for seen in seen {
        let value = seen.mean(of).max(1e-12);
        let range = range.entry(&seen.arm.load_name).or_insert((value, value));
        *range = (range.0.min(value), range.1.max(value));
    }
    let cell = |seen: &Seen<'_>| {
        let (value, (low, high)) = (seen.mean(of), range[seen.arm.load_name.as_str()]);
        let share = if high > low {
            ln(value.max(1e-12) / low) / ln(high / low)
        } else {
            0.0
        };
        let shade = (share * SHADES).round().clamp(0.0, SHADES);
        (value, format!("s{shade}"))
    };
    let cells = seen.iter().map(|seen| (seen.arm, cell(seen)));
    let (name, unit) = metric(of);
    let caption = format!("{name}, {unit}: a stronger colour is more, each load for itself");
    grid(out, &caption, &across, number, cells);
}

/// Surfaces of the ratios that one rule asks for at many places of a grid.
pub(super) fn ratios(out: &mut String, evidence: &[Evidence], arms: &[Arm]) {
    let mut families: Vec<(&str, &str, Vec<&Evidence>)> = Vec::new();
    for one in evidence.iter().filter(|one| one.rule.base.is_some()) {
        let (claim, what) = (one.rule.claim.as_str(), one.rule.what.as_str());
        match families
            .iter_mut()
            .find(|(c, w, _)| (*c, *w) == (claim, what))
        {
            Some((.., all)) => all.push(one),
            None => families.push((claim, what, vec![one])),
        }
    }
    for (claim, what, all) in families {
        let arm_of = |one: &Evidence| arms.iter().find(|arm| arm.key() == one.rule.other);
        let found: Vec<(&Arm, f64)> = all
            .iter()
            .filter_map(|one| Some((arm_of(one)?, one.interval?.estimate)))
            .collect();
        let Some(across) = across(&found.iter().map(|(arm, _)| *arm).collect::<Vec<_>>()) else {
            continue;
        };
        let cell = |ratio: f64| {
            let away = ratio.max(1.0 / ratio.max(1e-12));
            let shade = STEPS.iter().filter(|step| away > **step).count();
            let side = if ratio < 1.0 { 'b' } else { 'a' };
            (ratio, format!("{side}{shade}"))
        };
        let cells = found.iter().map(|(arm, ratio)| (*arm, cell(*ratio)));
        let caption = format!("{claim}: {what}: ratios; blue is below 1, brown above");
        grid(out, &caption, &across, ratio, cells);
    }
}

/// The factor that goes across: the one with the most values.
fn across(arms: &[&Arm]) -> Option<String> {
    if arms.len() < CELLS_MIN {
        return None;
    }
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, value) in arms.iter().flat_map(|arm| &arm.factors) {
        values.entry(name).or_default().insert(value);
    }
    let most = values.into_iter().max_by_key(|(_, values)| values.len())?;
    (most.1.len() > 1).then(|| most.0.to_owned())
}

fn grid<'a>(
    out: &mut String,
    caption: &str,
    across: &str,
    shown: fn(f64) -> String,
    cells: impl Iterator<Item = (&'a Arm, (f64, String))>,
) {
    let (mut columns, mut rows): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut at: BTreeMap<(usize, usize), (f64, String)> = BTreeMap::new();
    let place = |list: &mut Vec<String>, name: String| {
        let found = list.iter().position(|known| *known == name);
        found.unwrap_or_else(|| {
            list.push(name);
            list.len() - 1
        })
    };
    for (arm, cell) in cells {
        let mut row = format!("{} {}", arm.layout_name, arm.load_name);
        let mut column = String::new();
        for (name, value) in &arm.factors {
            if name == across {
                column.clone_from(value);
            } else {
                // Writing to memory does not fail.
                let _ = write!(row, " {name}={value}");
            }
        }
        let key = (place(&mut rows, row), place(&mut columns, column));
        at.insert(key, cell);
    }
    let _ = write!(
        out,
        "<div class=\"scroll\"><table class=\"surface\"><caption>{}</caption><thead><tr>\
         <th scope=\"col\">{}</th>",
        escaped(caption),
        escaped(across)
    );
    for column in &columns {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escaped(column));
    }
    out.push_str("</tr></thead><tbody>");
    for (index, row) in rows.iter().enumerate() {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escaped(row));
        for column in 0..columns.len() {
            let _ = match at.get(&(index, column)) {
                Some((value, shade)) => {
                    write!(out, "<td class=\"{shade}\">{}</td>", shown(*value))
                }
                None => write!(out, "<td>–</td>"),
            };
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}
