//! Reads the lines of a study.

use crate::audit::printed::Printed;
use crate::workload::InputError;
use crate::workload::postmark::{Counts, Settings};

/// Tests and claims of a study; more are a mistake.
const ENTRIES_MAX: usize = 1000;
/// Tests whose operations are made once more, so that an audit ends soon.
const TESTS_MAX: usize = 50;

/// A study.
#[derive(Debug, Default)]
pub(in crate::audit) struct Study {
    pub(in crate::audit) line: usize,
    /// What it does not state.
    pub(in crate::audit) unstated: Vec<(usize, String)>,
    pub(in crate::audit) tests: Vec<Test>,
    pub(in crate::audit) tables: Vec<Table>,
    pub(in crate::audit) claims: Vec<Claim>,
    pub(in crate::audit) spindles: Vec<Spindle>,
}

/// A test and its table.
#[derive(Debug, Default)]
pub(in crate::audit) struct Test {
    pub(in crate::audit) name: String,
    pub(in crate::audit) line: usize,
    pub(in crate::audit) settings: Settings,
    /// Exact, from the settings.
    pub(in crate::audit) counts: Option<Counts>,
    /// Bytes of the unit of rates.
    pub(in crate::audit) unit: f64,
    pub(in crate::audit) configurations: Vec<String>,
    /// In the unit.
    pub(in crate::audit) read: Vec<Printed>,
    pub(in crate::audit) write: Vec<Printed>,
    /// Bytes, as the study prints them.
    pub(in crate::audit) volumes: Option<(Printed, Printed)>,
}

/// A table of any numbers.
#[derive(Debug, Default)]
pub(in crate::audit) struct Table {
    pub(in crate::audit) name: String,
    pub(in crate::audit) columns: Vec<String>,
    pub(in crate::audit) rows: Vec<(String, Vec<Printed>)>,
}

#[derive(Debug)]
pub(in crate::audit) struct Claim {
    pub(in crate::audit) id: String,
    pub(in crate::audit) line: usize,
    pub(in crate::audit) says: Says,
}

#[derive(Debug)]
pub(in crate::audit) enum Says {
    /// The ratio of two configurations in a test.
    Ratio {
        test: String,
        over: String,
        under: String,
        ratio: f64,
    },
    /// The ratio of two rows in a column of a table.
    Cells {
        table: String,
        over: String,
        under: String,
        column: String,
        ratio: Printed,
    },
    /// One configuration is slower in so many of so many tests.
    Slower {
        slow: String,
        fast: String,
        tests: f64,
    },
    /// The difference is a cost of mapping blocks.
    Mapping { slow: String, fast: String },
    /// The cost of mapping grows from one test to the other.
    Grows {
        slow: String,
        fast: String,
        from: String,
        to: String,
    },
    /// Another statement of a test's sizes.
    Sizes { test: String, size: (u32, u32) },
    /// Requests per second of the fio run in the same text.
    Reaches { rate: f64 },
}

/// A rate that a spindle is said to reach.
#[derive(Debug)]
pub(in crate::audit) struct Spindle {
    pub(in crate::audit) line: usize,
    pub(in crate::audit) turns: f64,
    pub(in crate::audit) span_gb: f64,
    pub(in crate::audit) queue: f64,
    pub(in crate::audit) rate: f64,
}

/// Reads the study in `text`; none if no line begins one.
pub(in crate::audit) fn parse(text: &str) -> Result<Option<Study>, InputError> {
    let mut study: Option<Study> = None;
    for (index, line) in text.lines().enumerate() {
        let (number, line) = (index + 1, line.trim());
        if line.starts_with("study ") {
            study.get_or_insert_default().line = number;
        } else if let Some(study) = &mut study {
            let Some((word, rest)) = line.split_once(' ') else {
                continue;
            };
            // A result may stand in the same text: fio's line of reads begins with 'read :'.
            if rest.starts_with(':') {
                continue;
            }
            study.line(number, word, rest.trim())?;
        }
    }
    if let Some(study) = &mut study {
        for test in &mut study.tests {
            test.check()?;
            test.counts = crate::audit::postmark::replay(&test.settings);
        }
    }
    Ok(study)
}

impl Study {
    fn line(&mut self, number: usize, word: &str, rest: &str) -> Result<(), InputError> {
        let wrong = |problem: &str| InputError::new(number, word, problem);
        let entries = self.tests.len() + self.tables.len() + self.claims.len();
        if entries + self.unstated.len() > ENTRIES_MAX {
            return Err(wrong("too many entries"));
        }
        let numbers = |text: &str| -> Option<Vec<Printed>> {
            text.split_whitespace()
                .map(|word| Printed::whole(number, word))
                .collect()
        };
        match word {
            "repetitions" | "memory" | "spread" if rest == "unstated" => {
                self.unstated.push((number, word.to_owned()));
            }
            "test" if self.tests.len() == TESTS_MAX => return Err(wrong("too many tests")),
            "test" => self.tests.push(test(number, rest)?),
            "unit" | "configurations" | "read" | "write" | "volumes" => {
                let test = self
                    .tests
                    .last_mut()
                    .ok_or_else(|| wrong("no test before it"))?;
                match word {
                    "unit" => test.unit = unit(rest).ok_or_else(|| wrong("KB/s or MB/s"))?,
                    "configurations" => {
                        test.configurations = rest.split_whitespace().map(str::to_owned).collect();
                    }
                    "read" => test.read = numbers(rest).ok_or_else(|| wrong("numbers"))?,
                    "write" => test.write = numbers(rest).ok_or_else(|| wrong("numbers"))?,
                    _ => {
                        let found = volumes(number, rest);
                        test.volumes = Some(found.ok_or_else(|| wrong("two numbers and a unit"))?);
                    }
                }
            }
            "table" => self.tables.push(Table {
                name: rest.to_owned(),
                ..Table::default()
            }),
            "columns" | "row" => self.cells(number, word, rest)?,
            "claim" => {
                let parts = rest.split_once(": ");
                let (id, says) = parts.ok_or_else(|| wrong("'name: what it says'"))?;
                let says = claim(says).ok_or_else(|| wrong("this is no claim that can be read"))?;
                let replays = |claim: &&Claim| matches!(claim.says, Says::Sizes { .. });
                if self.claims.iter().filter(replays).count() > TESTS_MAX {
                    return Err(wrong("too many claims of sizes"));
                }
                self.claims.push(Claim {
                    id: id.to_owned(),
                    line: number,
                    says,
                });
            }
            "spindle" => {
                let found = spindle(number, rest);
                self.spindles
                    .push(found.ok_or_else(|| wrong("turns, GB, queue: rate"))?);
            }
            _ => {}
        }
        Ok(())
    }

    /// The columns of the table before it, or a row of it.
    fn cells(&mut self, line: usize, word: &str, rest: &str) -> Result<(), InputError> {
        let wrong = |problem: &str| InputError::new(line, word, problem);
        let table = self
            .tables
            .last_mut()
            .ok_or_else(|| wrong("no table before it"))?;
        if word == "columns" {
            table.columns = rest.split_whitespace().map(str::to_owned).collect();
            return Ok(());
        }
        let (name, cells) = rest.split_once(' ').unwrap_or((rest, ""));
        let cells = cells
            .split_whitespace()
            .map(|word| Printed::whole(line, word));
        let cells: Option<Vec<Printed>> = cells.collect();
        let cells = cells.filter(|cells| cells.len() == table.columns.len());
        let cells = cells.ok_or_else(|| wrong("a number for each column"))?;
        if table.rows.len() > ENTRIES_MAX {
            return Err(wrong("too many rows"));
        }
        table.rows.push((name.to_owned(), cells));
        Ok(())
    }
}

impl Test {
    fn check(&self) -> Result<(), InputError> {
        let columns = self.configurations.len();
        if columns == 0 || self.read.len() != columns || self.write.len() != columns {
            let problem = "as many rates read and written as configurations are expected";
            return Err(InputError::new(self.line, &*self.name, problem));
        }
        let bad = |rate: &Printed| rate.value <= 0.0;
        if self.read.iter().chain(&self.write).any(bad) {
            return Err(InputError::new(self.line, &*self.name, "a rate is above 0"));
        }
        Ok(())
    }
}

fn test(line: usize, text: &str) -> Result<Test, InputError> {
    let (name, options) = text.split_once(':').unwrap_or((text, ""));
    let mut settings = Settings::default();
    for option in options.split_whitespace() {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let wrong = || InputError::new(line, key, format!("'{value}' cannot be used"));
        let number = || value.parse().map_err(|_| wrong());
        match key {
            "files" => settings.number = number()?,
            "transactions" => settings.transactions = number()?,
            "seed" => settings.seed = number()?,
            "size" => settings.size = range(value).ok_or_else(wrong)?,
            _ => return Err(wrong()),
        }
    }
    settings.check()?;
    Ok(Test {
        name: name.trim().to_owned(),
        line,
        settings,
        unit: 1048576.0,
        ..Test::default()
    })
}

fn range(text: &str) -> Option<(u32, u32)> {
    let (low, high) = text.split_once("..")?;
    Some((low.parse().ok()?, high.parse().ok()?))
}

fn unit(text: &str) -> Option<f64> {
    match text {
        "KB/s" | "KiB/s" => Some(1024.0),
        "MB/s" | "MiB/s" => Some(1048576.0),
        _ => None,
    }
}

fn volumes(line: usize, text: &str) -> Option<(Printed, Printed)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [read, written, unit] = words[..] else {
        return None;
    };
    let factor = match unit {
        "MB" => 1048576.0,
        "GB" => 1e9,
        _ => return None,
    };
    let of = |text: &str| Some(Printed::whole(line, text)?.times(factor));
    Some((of(read)?, of(written)?))
}

fn claim(text: &str) -> Option<Says> {
    let owned = |text: &str| text.trim().to_owned();
    if let Some(rate) = text.strip_prefix("fio reaches ") {
        return Some(Says::Reaches {
            rate: Printed::whole(0, rate)?.value,
        });
    }
    if let Some(rest) = text.strip_prefix("mapping explains ") {
        let (slow, fast) = rest.split_once(" over ")?;
        return Some(Says::Mapping {
            slow: owned(slow),
            fast: owned(fast),
        });
    }
    if let Some(rest) = text.strip_prefix("mapping of ") {
        let (pair, tests) = rest.split_once(" grows from ")?;
        let ((slow, fast), (from, to)) = (pair.split_once(" over ")?, tests.split_once(" to ")?);
        return Some(Says::Grows {
            slow: owned(slow),
            fast: owned(fast),
            from: owned(from),
            to: owned(to),
        });
    }
    if let Some((slow, rest)) = text.split_once(" is slower than ") {
        let (fast, count) = rest.split_once(" in ")?;
        return Some(Says::Slower {
            slow: owned(slow),
            fast: owned(fast),
            tests: Printed::read(0, count)?.0.value,
        });
    }
    let (test, rest) = text.split_once(": ")?;
    if let Some(size) = rest.strip_prefix("size=") {
        return Some(Says::Sizes {
            test: owned(test),
            size: range(size)?,
        });
    }
    let (over, rest) = rest.split_once(" by ")?;
    if let Some((under, rest)) = rest.split_once(" in ") {
        let (column, ratio) = rest.split_once(" is ")?;
        return Some(Says::Cells {
            table: owned(test),
            over: owned(over),
            under: owned(under),
            column: owned(column),
            ratio: Printed::whole(0, ratio)?,
        });
    }
    let (under, ratio) = rest.split_once(" is ")?;
    Some(Says::Ratio {
        test: owned(test),
        over: owned(over),
        under: owned(under),
        ratio: Printed::whole(0, ratio)?.value,
    })
}

/// `7200 turns, 1900 GB, queue 1: 600`
fn spindle(line: usize, text: &str) -> Option<Spindle> {
    let (turns, rest) = Printed::read(line, text)?;
    let (span, rest) = Printed::read(line, rest.split_once("turns,")?.1)?;
    let (queue, rest) = Printed::read(line, rest.split_once("queue")?.1)?;
    let rate = Printed::whole(line, rest.trim().strip_prefix(':')?)?;
    Some(Spindle {
        line,
        turns: turns.value,
        span_gb: span.value,
        queue: queue.value,
        rate: rate.value,
    })
}
