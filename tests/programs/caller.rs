//! The calls of one phase of many small files, as a process of its own that can be recorded.
//!
//! `caller FOLDER PHASE SEED FILES BYTES-MAX APPEND-MAX DIRECTORIES`

use std::path::Path;
use std::process::ExitCode;

use lab::workload::program::{Folder, SmallFiles};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [folder, phase, seed, files, bytes, append, directories] = words[..] else {
        eprintln!("caller DIRECTORY PHASE SEED FILES BYTES-MAX APPEND-MAX DIRECTORIES");
        return ExitCode::from(2);
    };
    let number = |word: &str| -> u64 { word.parse().expect("a number") };
    let program = SmallFiles {
        files: number(files) as u32,
        bytes_max: number(bytes),
        append_max: number(append),
        directories: number(directories) as u32,
    };
    let mut folder = Folder::new(Path::new(folder));
    for (name, calls) in SmallFiles::PHASES.iter().zip(program.phases(number(seed))) {
        let done = if name == &phase {
            folder.make(&calls)
        } else {
            folder.remember(&calls)
        };
        if let Err(error) = done {
            eprintln!("{name}: {error}");
            return ExitCode::FAILURE;
        }
        if name == &phase {
            return ExitCode::SUCCESS;
        }
    }
    eprintln!("there is no phase '{phase}'");
    ExitCode::FAILURE
}
