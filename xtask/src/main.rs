//! The tasks of the house: everything a developer or the integration machine runs.
//!
//! `cargo xtask TASK`. This file only picks the task and turns its outcome into an exit code:
//! 0 all is well, 1 something failed, 2 the task could not be tried (usage, a missing package).

mod bench;
mod compare;
mod crash;
mod dist;
mod fuzz;
mod mutate;
mod packages;
mod programs;
mod raid_sets;
mod test;
mod tidy;
mod watch;

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// How a task ended, when it did not end with a failure to report.
enum Outcome {
    Passed,
    Failed,
    Unusable(String),
    /// The exit code of a command that the task ran for the caller.
    Code(u8),
}

struct Task {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Outcome,
}

const TASKS: &[Task] = &[
    Task {
        name: "test",
        about: "run everything that the integration machine runs",
        run: test::run,
    },
    Task {
        name: "tidy",
        about: "check the invariants and the style of the sources",
        run: tidy::run,
    },
    Task {
        name: "packages",
        about: "check what we depend on against deny.toml",
        run: packages::run,
    },
    Task {
        name: "fuzz",
        about: "feed hostile bytes to every decoder",
        run: fuzz::run,
    },
    Task {
        name: "crash",
        about: "take the power away at every moment, and look what is left",
        run: crash::run,
    },
    Task {
        name: "mutate",
        about: "make mistakes in the code, and look whether a test finds each",
        run: mutate::run,
    },
    Task {
        name: "compare",
        about: "run commands here and in stock LVM2, and compare what comes of them",
        run: compare::run,
    },
    Task {
        name: "programs",
        about: "run programs that call LVM2, with Ashlar in its place",
        run: programs::run,
    },
    Task {
        name: "bench",
        about: "compare with the peers, interleaved, as ratios with intervals",
        run: bench::run,
    },
    Task {
        name: "raid-sets",
        about: "make the disks with unfinished RAID arrays anew, with a stock kernel",
        run: raid_sets::run,
    },
    Task {
        name: "dist",
        about: "build what users install: a static binary, and a Debian package",
        run: dist::run,
    },
    Task {
        name: "watch",
        about: "run a command with a time limit and leave nothing behind",
        run: watch::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        return finish(&Outcome::Unusable(usage()));
    };
    if name == "help" || name == "--help" {
        print!("{}", usage());
        return ExitCode::SUCCESS;
    }
    match TASKS.iter().find(|task| task.name == name) {
        Some(task) => finish(&(task.run)(rest)),
        None => finish(&Outcome::Unusable(format!(
            "no task is called '{name}'\n{}",
            usage()
        ))),
    }
}

/// Where cargo puts what it builds for the workspace.
fn target_folder() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    named.unwrap_or_else(|| tidy::root().join("target"))
}

fn finish(outcome: &Outcome) -> ExitCode {
    match outcome {
        Outcome::Passed => ExitCode::SUCCESS,
        Outcome::Failed => ExitCode::from(1),
        Outcome::Code(code) => ExitCode::from(*code),
        Outcome::Unusable(message) => {
            eprintln!("xtask: {}", message.trim_end());
            ExitCode::from(2)
        }
    }
}

fn usage() -> String {
    let mut text = String::from("usage: cargo xtask TASK [ARGUMENT…]\n\n");
    for task in TASKS {
        writeln!(text, "  {:<9} {}", task.name, task.about).expect("a string takes all");
    }
    text
}
