//! Bonnie++ 1.9x and 2.x: the table, and the CSV line of 50 fields.
//!
//! CSV is read by position: the heading that `-x` prints lacks two names. A rate that took less
//! than half a second is not printed (`+++++`), which bounds those that are.

use crate::audit::finding::{Audit, Finding, Rule};
use crate::audit::printed::{Printed, equal, shown};
use crate::workload::InputError;

const FIELDS: usize = 50;
/// First fields of the six transfer rates, of the six file rates, of the twelve latencies.
const TRANSFERS: usize = 9;
const FILES: usize = 26;
const LATENCIES: usize = 38;
const NUM_FILES: usize = 21;
const SEEKS: usize = 7;
/// Seconds that a test must take for its rate to be printed.
const LEAST_TIME: f64 = 0.5;
/// A percentage of processors that no machine of today exceeds.
const PERCENT_MAX: f64 = 409_600.0;
const NAMES: [&str; 12] = [
    "putc",
    "put_block",
    "rewrite",
    "getc",
    "get_block",
    "seeks",
    "seq_create",
    "seq_stat",
    "seq_del",
    "ran_create",
    "ran_stat",
    "ran_del",
];

struct Csv<'a> {
    line: usize,
    fields: Vec<&'a str>,
}

/// A row of the table: its numbers as they are printed.
struct Row<'a> {
    line: usize,
    /// Of the latencies, or the columns of rates with their percentages.
    cells: Vec<&'a str>,
    kind: RowKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RowKind {
    Transfers,
    Files,
    TransferLatencies,
    FileLatencies,
}

/// Checks all results in `text`; says whether there was one.
pub(in crate::audit) fn check(text: &str, audit: &mut Audit) -> Result<bool, InputError> {
    let mut rows = Vec::new();
    let mut found = false;
    let mut half = RowKind::Transfers;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.starts_with("Version") && line.contains("Sequential Output") {
            (rows, half) = (Vec::new(), RowKind::Transfers);
        } else if line.starts_with("Version") && line.contains("Sequential Create") {
            half = RowKind::Files;
        } else if is_csv(line) {
            let csv = parse_csv(number, line)?;
            alone(&csv, audit)?;
            for row in &rows {
                beside(row, &csv, audit)?;
            }
            (rows, found) = (Vec::new(), true);
        } else if words.first() == Some(&"Latency") {
            let kind = match half {
                RowKind::Transfers => RowKind::TransferLatencies,
                _ => RowKind::FileLatencies,
            };
            rows.push(row(number, cells(line, &words[1..], 6, 18), kind));
        } else if is_row(line, &words) {
            rows.push(row(number, cells(line, &words, 12, 19), half));
        }
    }
    Ok(found)
}

fn row(line: usize, cells: Vec<&str>, kind: RowKind) -> Row<'_> {
    Row { line, cells, kind }
}

/// The last `count` words of a row; where tests were left out, what stands in its columns: they are
/// ten characters wide and begin at `start`, a rate has six of them and its percentage four.
fn cells<'a>(line: &'a str, words: &[&'a str], count: usize, start: usize) -> Vec<&'a str> {
    if words.len() >= count {
        return words[words.len() - count..].to_vec();
    }
    let widths: &[usize] = if count == 12 { &[6, 4] } else { &[10] };
    let mut at = start;
    let columns = widths.iter().cycle().take(count).map(|width| {
        let cell = line
            .get(at..(at + width).min(line.len()))
            .unwrap_or_default();
        at += width;
        cell.trim()
    });
    columns.collect()
}

/// Cells at the end that are numbers or pluses, twelve of them less what was left out.
fn is_row(line: &str, words: &[&str]) -> bool {
    let cell = |word: &&&str| word.starts_with(|c: char| c.is_ascii_digit() || c == '+');
    let found = words.iter().rev().take_while(cell).count();
    found >= 12 || found >= 6 && line.len() > 60 && line.is_ascii()
}

fn is_csv(line: &str) -> bool {
    let version = line.split(',').next().unwrap_or_default();
    let digits = version.starts_with("1.9") || version.starts_with("2.");
    digits && line.split(',').count() > 20
}

fn parse_csv(line: usize, text: &str) -> Result<Csv<'_>, InputError> {
    let mut fields: Vec<&str> = text.trim().split(',').collect();
    if fields.len() == FIELDS - 2 {
        // Up to 1.97 seeks and their processes were not printed.
        fields.splice(SEEKS..SEEKS, ["", ""]);
    }
    if fields.len() != FIELDS {
        let problem = format!("{} fields, Bonnie++ 1.98 prints {FIELDS}", fields.len());
        return Err(InputError::new(line, "csv", problem));
    }
    Ok(Csv { line, fields })
}

/// The first field of rate `index`.
fn place(index: usize) -> usize {
    match index {
        0..6 => TRANSFERS + 2 * index,
        _ => FILES + 2 * (index - 6),
    }
}

/// A number, none where nothing was measured or printed.
fn number(line: usize, name: &str, text: &str) -> Result<Option<Printed>, InputError> {
    if text.is_empty() || text.bytes().all(|b| b == b'+') {
        return Ok(None);
    }
    let number = Printed::whole(line, text);
    number
        .map(Some)
        .ok_or_else(|| InputError::new(line, name, "a number or +++ is expected"))
}

/// Checks a CSV line by itself.
fn alone(csv: &Csv, audit: &mut Audit) -> Result<(), InputError> {
    let size = csv.fields[5].split(':').next().unwrap_or_default();
    let size = kibibytes(csv.line, size);
    let count = |index: usize| number(csv.line, "count", csv.fields[index]);
    let (seeks, files) = (count(SEEKS)?, count(NUM_FILES)?);
    for (index, name) in NAMES.iter().enumerate() {
        let at = place(index);
        let rate = number(csv.line, name, csv.fields[at])?;
        let percent = number(csv.line, name, csv.fields[at + 1])?;
        let both = csv.fields[at].contains('+') == csv.fields[at + 1].contains('+');
        audit.check(both && rate.is_some() == percent.is_some(), || {
            Finding::impossible(csv.line, *name, Rule::Parts)
                .says("a rate and its percentage are printed together or not at all")
                .fits("both or neither")
        });
        let Some(rate) = rate else { continue };
        audit.check(
            percent.is_some_and(|percent| percent.value <= PERCENT_MAX),
            || {
                Finding::impossible(csv.line, format!("{name} %CP"), Rule::Processor)
                    .says("more processors than there are")
                    .fits("the percentage of the processors")
            },
        );
        let work = match index {
            // Characters are few, and how many is not printed.
            0 | 3 => None,
            1 | 2 | 4 => size,
            5 => seeks,
            _ => files.map(|files| files.times(1024.0)),
        };
        let Some(work) = work.map(|work| work.value) else {
            continue;
        };
        let time = work / rate.value.max(1e-9);
        audit.check(time >= LEAST_TIME * 0.98, || {
            Finding::impossible(csv.line, *name, Rule::Elapsed)
                .says(format!(
                    "{} in {time:.2} s: no rate is printed below half a second",
                    rate.value
                ))
                .fits(format!(
                    "at most {} per second, or +++++",
                    shown(work / LEAST_TIME)
                ))
        });
        latency(csv, index, time, audit)?;
    }
    Ok(())
}

/// The longest operation takes no longer than all of them.
fn latency(csv: &Csv, index: usize, time: f64, audit: &mut Audit) -> Result<(), InputError> {
    let text = csv.fields[LATENCIES + index];
    if text.is_empty() {
        return Ok(());
    }
    let Some(latency) = seconds(csv.line, text) else {
        let problem = "a time in us, ms or s is expected";
        return Err(InputError::new(
            csv.line,
            format!("{} latency", NAMES[index]),
            problem,
        ));
    };
    // The clock of the rate is coarser than that of the latency.
    audit.check(latency.range().low <= time * 1.05 + 0.1, || {
        Finding::impossible(csv.line, format!("{} latency", NAMES[index]), Rule::Elapsed)
            .says(format!(
                "one operation took {text}, all of them {time:.2} s"
            ))
            .fits(format!("{time:.2} s or less"))
    });
    Ok(())
}

/// Checks a row of the table against the CSV line below it.
fn beside(row: &Row, csv: &Csv, audit: &mut Audit) -> Result<(), InputError> {
    let (first, latencies) = match row.kind {
        RowKind::Transfers => (0, false),
        RowKind::Files => (6, false),
        RowKind::TransferLatencies => (0, true),
        RowKind::FileLatencies => (6, true),
    };
    if latencies {
        for (index, cell) in row.cells.iter().enumerate() {
            let other = csv.fields[LATENCIES + first + index];
            let name = NAMES[first + index];
            audit.check(*cell == other, || {
                twice(row.line, &format!("{name} latency"), cell, other)
            });
        }
        return Ok(());
    }
    let files = number(csv.line, "num_files", csv.fields[NUM_FILES])?;
    let files = files.map(|files| files.value * 1024.0);
    for (index, pair) in row.cells.chunks(2).enumerate() {
        let (name, at) = (NAMES[first + index], place(first + index));
        let rate = table_rate(row.line, name, pair[0], first == 0 && index < 5)?;
        let other = number(csv.line, name, csv.fields[at])?;
        let percent = number(row.line, name, pair[1])?.map(|percent| percent.value);
        let again = number(csv.line, name, csv.fields[at + 1])?.map(|percent| percent.value);
        let field = format!("{name} %CP");
        audit.check(percent == again, || {
            twice(row.line, &field, pair[1], csv.fields[at + 1])
        });
        // Bonnie++ 2.00a has the number of files in the table where their rate belongs.
        let files = rate.filter(|rate| first == 6 && files.is_some_and(|n| equal(n, rate.value)));
        if let (Some(files), Some(other)) = (files, other) {
            audit.check(files.range().meets(other.range()), || {
                Finding::weak(row.line, name, Rule::Parts)
                    .says(format!(
                        "the table has {}, the number of files",
                        files.value
                    ))
                    .fits(format!(
                        "{} per second, as the CSV line has it",
                        other.value
                    ))
            });
            continue;
        }
        let meets = match (rate, other) {
            (Some(rate), Some(other)) => rate.range().meets(other.range()),
            (None, None) => true,
            _ => false,
        };
        audit.check(meets, || twice(row.line, name, pair[0], csv.fields[at]));
    }
    Ok(())
}

fn twice(line: usize, field: &str, here: &str, there: &str) -> Finding {
    Finding::impossible(line, field, Rule::Parts)
        .says(format!("the table has {here}, the CSV line '{there}'"))
        .fits("one number, twice")
}

/// A rate of the table in the CSV's unit: `372m` is in MiB/s where the CSV has KiB/s.
fn table_rate(
    line: usize,
    name: &str,
    text: &str,
    bytes: bool,
) -> Result<Option<Printed>, InputError> {
    let (digits, factor) = match text.bytes().last() {
        Some(b'k') if bytes => (&text[..text.len() - 1], 1.0),
        Some(b'm') if bytes => (&text[..text.len() - 1], 1024.0),
        Some(b'g') if bytes => (&text[..text.len() - 1], 1048576.0),
        _ => (text, 1.0),
    };
    Ok(number(line, name, digits)?.map(|number| number.times(factor)))
}

/// A file size: plain MiB, or with M or G.
fn kibibytes(line: usize, text: &str) -> Option<Printed> {
    let (number, unit) = Printed::read(line, text)?;
    Some(number.times(match unit {
        "k" | "K" => 1.0,
        "" | "m" | "M" => 1024.0,
        "g" | "G" => 1048576.0,
        _ => return None,
    }))
}

fn seconds(line: usize, text: &str) -> Option<Printed> {
    let (number, unit) = Printed::read(line, text)?;
    Some(number.times(match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    }))
}
