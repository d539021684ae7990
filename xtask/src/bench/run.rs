//! The command line of the benchmarks.

use std::fmt::Write;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::Command;

use crate::Outcome;
use crate::tidy::root;

use super::contest::Row;
use super::noise::{Moment, Watch};
use super::record::{Identity, append};
use super::report;
use super::tables::TABLES;

const USAGE: &str = "usage: cargo xtask bench [--quick] [--record] [TABLE…]

Measures ours and the peers in turn and prints ratios with 95 % intervals. Needs root for loop
devices, and a machine on which nothing else runs: a table says so where others disturbed it.

  --quick    one small round of each table: shows that it runs; its numbers mean nothing
  --record   append the results to docs/bench.jsonl, which is kept, not to target/bench.jsonl
  --help     print this

ASHLAR_BIN names the program to measure; without it this tree's is built for release.
docs/benchmarks.md says what each table shows and what not to conclude.

Tables, all of which are run unless some are named:";

/// The usage, and which tables there are.
fn usage() -> String {
    TABLES.iter().fold(USAGE.to_owned(), |mut text, table| {
        let (name, about) = (table.name, table.about);
        writeln!(text, "\n  {name:<10} {about}").expect("a string takes all");
        text.pop();
        text
    })
}

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// Once, small: shows that every table still runs. Its numbers mean nothing.
    Smoke,
    /// Enough for intervals that decide something.
    Full,
}

impl Effort {
    pub(super) fn rounds(self, full: usize) -> usize {
        match self {
            Effort::Smoke => 1,
            Effort::Full => full,
        }
    }
}

/// What a table has at hand.
pub(super) struct Bench {
    pub(super) effort: Effort,
    /// The program under test, built for release.
    pub(super) ashlar: PathBuf,
}

/// One table.
pub(super) struct Table {
    pub(super) name: &'static str,
    /// What is compared, in one line.
    pub(super) about: &'static str,
    /// Programs it compares with.
    pub(super) peers: &'static [&'static str],
    pub(super) run: fn(&Bench) -> Result<Vec<Row>, String>,
}

/// `cargo xtask bench`.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let (flags, names): (Vec<&String>, Vec<&String>) = arguments
        .iter()
        .partition(|argument| argument.starts_with('-'));
    if flags
        .iter()
        .any(|flag| matches!(flag.as_str(), "--help" | "-h"))
    {
        println!("{}", usage());
        return Outcome::Passed;
    }
    if flags
        .iter()
        .any(|flag| !matches!(flag.as_str(), "--quick" | "--record"))
    {
        return Outcome::Unusable(usage());
    }
    if let Some(name) = names
        .iter()
        .find(|name| !TABLES.iter().any(|t| t.name == **name))
    {
        let known: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        return Outcome::Unusable(format!("no table is called '{name}'; there are: {known:?}"));
    }
    let has = |flag: &str| flags.iter().any(|given| *given == flag);
    let effort = if has("--quick") {
        Effort::Smoke
    } else {
        Effort::Full
    };
    let tables = TABLES
        .iter()
        .filter(|t| names.is_empty() || names.iter().any(|n| **n == t.name));
    let result = built().and_then(|ashlar| {
        let bench = Bench { effort, ashlar };
        let file = if has("--record") {
            "docs/bench.jsonl"
        } else {
            "target/bench.jsonl"
        };
        measure(&bench, tables, &root().join(file))
    });
    match result {
        Ok(0) => Outcome::Passed,
        Ok(_) => Outcome::Failed,
        Err(message) => Outcome::Unusable(message),
    }
}

/// Runs the tables and returns how many failed.
fn measure<'a>(
    bench: &Bench,
    tables: impl Iterator<Item = &'a Table>,
    file: &std::path::Path,
) -> Result<usize, String> {
    let identity = Identity::now();
    println!("bench: {}", identity.shown());
    if bench.effort == Effort::Smoke {
        println!("bench: one round each; these numbers mean nothing");
    }
    let mut failed = 0;
    for table in tables {
        println!("\n{}: {}", table.name, table.about);
        for missing in table.peers.iter().filter(|peer| !is_there(peer)) {
            println!("  missing peer: {missing}");
        }
        let before = Moment::now();
        let watch = Watch::start();
        // What a table stands on panics when it cannot stand; the others can still be run.
        let rows = panic::catch_unwind(AssertUnwindSafe(|| (table.run)(bench)));
        let for_us = watch.stop();
        match rows.unwrap_or_else(|_| Err("it panicked, see above".to_owned())) {
            Ok(rows) => {
                for row in &rows {
                    report::print(row, bench.effort);
                    if bench.effort == Effort::Full {
                        append(file, &identity.lines(table.name, row))?;
                    }
                }
            }
            Err(message) => {
                println!("  FAILED: {message}");
                failed += 1;
            }
        }
        if bench.effort == Effort::Full
            && let Some(complaint) = before.complaint(Moment::now().with_own(for_us))
        {
            println!("  {complaint}");
        }
    }
    Ok(failed)
}

/// The program that `ASHLAR_BIN` names, such as an older revision; else this tree's, built first.
fn built() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("ASHLAR_BIN") {
        return Ok(PathBuf::from(path));
    }
    let status = Command::new("cargo")
        .current_dir(root())
        .args([
            "build",
            "--quiet",
            "--locked",
            "--release",
            "-p",
            "ashlar-cli",
        ])
        .status()
        .map_err(|error| format!("cargo cannot be run: {error}"))?;
    if status.success() {
        Ok(crate::target_folder().join("release/ashlar"))
    } else {
        Err("ashlar does not build".to_owned())
    }
}

/// Whether a program is on the path or in the system's folders.
pub(super) fn is_there(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut folders = path.split(':').chain(["/usr/sbin", "/sbin"]);
    folders.any(|folder| std::path::Path::new(folder).join(program).is_file())
}
