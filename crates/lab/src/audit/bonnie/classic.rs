//! Bonnie: rows of six rates, each with the share of a processor.
//!
//! ```text
//!   putc %  block %  rewrite %  getc %  block %  seeks %
//! ```
//!
//! A row has no name of its own; the line above it, if it is no row, names it. A table begins with
//! Bonnie's heading.

use crate::audit::finding::{Audit, Finding, Rule};
use crate::audit::printed::Printed;
use crate::workload::InputError;

const COLUMNS: [&str; 6] = ["putc", "block out", "rewrite", "getc", "block in", "seeks"];
/// Percent of a processor above which a metric shows the processor.
const BUSY: f64 = 90.0;
/// How far apart the processor's share by rate may be within a column.
const ALIKE: f64 = 2.0;
/// Percent that one process can have of one processor, and rounding.
const WHOLE: f64 = 100.5;

struct Row {
    line: usize,
    name: String,
    /// Rate and percent of the processor.
    cells: Vec<(Printed, Printed)>,
}

/// Checks all tables in `text`; says whether there was one.
pub(in crate::audit) fn check(text: &str, audit: &mut Audit) -> Result<bool, InputError> {
    let tables = parse(text)?;
    for rows in &tables {
        for row in rows {
            for (column, (_, percent)) in COLUMNS.iter().zip(&row.cells) {
                audit.check(percent.value <= WHOLE, || {
                    Finding::impossible(percent.line, field(row, column), Rule::Processor)
                        .says(format!(
                            "{} % of a processor for one process",
                            percent.value
                        ))
                        .fits("100 % or less")
                });
            }
            seek_rate(row, audit);
        }
        for (index, column) in COLUMNS.iter().enumerate() {
            busy(rows, index, column, audit);
            unlike(rows, index, column, audit);
        }
        if let Some(first) = rows.first() {
            audit.check(rows.len() == 1, || {
                Finding::weak(first.line, "rows", Rule::Stated)
                    .says("one run of each: differences between rows have no spread beside them")
                    .fits("repetitions and their spread")
            });
        }
    }
    Ok(!tables.is_empty())
}

fn parse(text: &str) -> Result<Vec<Vec<Row>>, InputError> {
    let mut tables: Vec<Vec<Row>> = Vec::new();
    let mut name = String::new();
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.contains("K/sec %CPU K/sec %CPU") {
            inside = true;
            tables.push(Vec::new());
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let numbers: Vec<Option<Printed>> = words
            .iter()
            .map(|word| Printed::whole(number, word))
            .collect();
        let digits = numbers.iter().filter(|number| number.is_some()).count();
        if !inside || line.starts_with('-') || words.is_empty() {
            continue;
        }
        if digits < 8 {
            // Prose ends a table; a short line names the next row.
            inside = words.len() < 20;
            line.trim().clone_into(&mut name);
            continue;
        }
        let tail = numbers.len().saturating_sub(12);
        let cells: Option<Vec<Printed>> = numbers[tail..].iter().copied().collect();
        let Some(cells) = cells.filter(|cells| cells.len() == 12) else {
            let problem = format!("a row has twelve numbers, this has {digits}");
            return Err(InputError::new(number, name, problem));
        };
        if let Some(table) = tables.last_mut() {
            table.push(Row {
                line: number,
                name: name.clone(),
                cells: cells.chunks(2).map(|pair| (pair[0], pair[1])).collect(),
            });
        }
    }
    tables.retain(|rows| !rows.is_empty());
    Ok(tables)
}

fn field(row: &Row, column: &str) -> String {
    format!("{} {column}", row.name)
}

/// Seeks move a block each: a disk that reads on in blocks is at least as fast.
fn seek_rate(row: &Row, audit: &mut Audit) {
    let [.., (block, _), (seeks, _)] = row.cells[..] else {
        return;
    };
    let most = block.range().high / 4.0;
    audit.check(seeks.range().low <= most, || {
        Finding::impossible(row.line, field(row, "seeks"), Rule::Order)
            .says(format!(
                "{} blocks a second by seeking, more than in sequence",
                seeks.value
            ))
            .fits(format!("{most:.0} or less"))
    });
}

fn busy(rows: &[Row], index: usize, column: &str, audit: &mut Audit) {
    let shares = rows.iter().map(|row| row.cells[index].1);
    let least = shares
        .clone()
        .fold(f64::INFINITY, |least, share| least.min(share.value));
    let line = rows[0].line;
    audit.check(least < BUSY, || {
        Finding::weak(line, format!("{column} %CPU"), Rule::Processor)
            .says(format!(
                "{least} % and more in all rows: the processor is measured"
            ))
            .fits("a metric that leaves the processor idle")
    });
}

/// Rows that need more than twice the processor for the same work did not do the same.
fn unlike(rows: &[Row], index: usize, column: &str, audit: &mut Audit) {
    let cost = |row: &Row| row.cells[index].1.value / row.cells[index].0.value.max(1e-9);
    let least = rows.iter().map(cost).fold(f64::INFINITY, f64::min);
    // Short of a percent or two, the last digit decides.
    let enough = rows.iter().all(|row| row.cells[index].1.value >= 10.0);
    for row in rows.iter().filter(|_| enough) {
        audit.check(cost(row) <= ALIKE * least, || {
            let (rate, share) = row.cells[index];
            let times = cost(row) / least;
            Finding::weak(row.line, field(row, column), Rule::Processor)
                .says(format!(
                    "{} % of the processor at {}: {times:.1} times what another row needs",
                    share.value, rate.value
                ))
                .fits("the same options in all rows")
        });
    }
}
