//! The verifier as a process of its own, for files that are served on the same machine.
//!
//! ```text
//!   verifier write FOLDER JOURNAL SEED COUNT         files with fsync; exit 3 when a step failed
//!   verifier check FOLDER JOURNAL SEED               exit 1 when a promise is broken
//!   verifier blocks FILE JOURNAL SEED BLOCKS MILLIS  loads a file or node, then looks at it
//! ```

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tests::verifier::{FileLink, Journal, Load, Survivors, check_files, write_files};

/// A step failed: the server is gone.
const GONE: u8 = 3;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["write", folder, journal, seed, count] => {
            let result = write_files(
                Path::new(folder),
                Path::new(journal),
                number(seed),
                number(count),
            );
            match result {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("{error}");
                    ExitCode::from(GONE)
                }
            }
        }
        ["check", folder, journal, seed] => {
            match check_files(Path::new(folder), Path::new(journal), number(seed)) {
                Ok(kept) => {
                    println!("{kept}");
                    ExitCode::SUCCESS
                }
                Err(problems) => {
                    eprintln!("{}", problems.join("\n"));
                    ExitCode::FAILURE
                }
            }
        }
        ["blocks", file, journal, seed, blocks, millis] => blocks_of(
            Path::new(file),
            Journal::create(
                Path::new(journal),
                number(seed),
                number(blocks),
                Survivors::Answered,
            ),
            Duration::from_millis(number(millis)),
        ),
        _ => {
            eprintln!("see the first lines of tests/programs/verifier.rs");
            ExitCode::from(2)
        }
    }
}

fn blocks_of(file: &Path, journal: Journal, time: Duration) -> ExitCode {
    let stop = AtomicBool::new(false);
    let report = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(time);
            stop.store(true, Ordering::Relaxed);
        });
        Load::new(journal).run(|| Ok(vec![FileLink::open(file)?]), &stop)
    });
    println!("{report:?}");
    if report.problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number")
}
