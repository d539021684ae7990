//! What is run, in order, with how long each may take.
//!
//! The limits are several times what two slow cores need from nothing; they are there to end a
//! hang, not to measure.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use super::step::{Counts, Step};

/// For what only reads the sources.
const LOOK_MAX: Duration = Duration::from_mins(5);
/// For what compiles the workspace once.
const COMPILE_MAX: Duration = Duration::from_mins(30);
/// For what compiles and tests it.
const TEST_MAX: Duration = Duration::from_mins(45);

/// How long all fuzz targets together are run.
const FUZZ_SECONDS: u64 = 60;

/// The crates whose tests do I/O, tested once more with each engine.
const IO_CRATES: &[&str] = &[
    "ashlar-block",
    "ashlar-dm",
    "ashlar-nbd",
    "ashlar",
    "ashlar-export",
];
/// The modules of the end-to-end tests that do I/O, likewise.
const IO_MODULES: &[&str] = &["golden", "nbd", "fuse", "attach"];

/// This program. Asked for once, at the start: building the workspace replaces the file, after
/// which the system would name one that is deleted.
pub(super) fn xtask() -> &'static Path {
    static PATH: LazyLock<PathBuf> =
        LazyLock::new(|| std::env::current_exe().unwrap_or_else(|_| PathBuf::from("xtask")));
    &PATH
}

/// Every step, in order.
pub(super) fn steps() -> Vec<Step> {
    let own = |name: &'static str, arguments: &str, limit: Duration| {
        plain(name, &format!("{} {arguments}", xtask().display()), limit)
    };
    let mut steps = vec![
        plain("fmt", "cargo fmt --all -- --check", LOOK_MAX),
        own("tidy", "tidy", LOOK_MAX),
        own("packages", "packages", LOOK_MAX),
        plain(
            "clippy",
            "cargo clippy --locked --workspace --all-targets -- -D warnings",
            COMPILE_MAX,
        ),
        with(
            plain(
                "doc",
                "cargo doc --locked --workspace --no-deps --document-private-items",
                COMPILE_MAX,
            ),
            &[("RUSTDOCFLAGS", "-D warnings".to_owned())],
        ),
        plain(
            "build",
            "cargo build --locked --release -p ashlar-cli",
            COMPILE_MAX,
        ),
        testing("test", "--workspace", &[]),
    ];
    for (name, engine) in [("threads", "threads"), ("uring", "uring")] {
        let crates: Vec<String> = IO_CRATES.iter().map(|name| format!("-p {name}")).collect();
        let engine = [("ASHLAR_IO", engine.to_owned())];
        steps.push(testing(name, &crates.join(" "), &engine));
        let modules = format!("-p tests --test end_to_end -- {}", IO_MODULES.join(" "));
        let name = if name == "threads" {
            "threads-e2e"
        } else {
            "uring-e2e"
        };
        steps.push(testing(name, &modules, &engine));
    }
    steps.push(own("crash", "crash --states 20000", TEST_MAX));
    let fuzz_limit = COMPILE_MAX + Duration::from_secs(4 * FUZZ_SECONDS);
    steps.push(own(
        "fuzz",
        &format!("fuzz --seconds {FUZZ_SECONDS}"),
        fuzz_limit,
    ));
    steps.push(own("bench", "bench --quick", COMPILE_MAX));
    steps
}

fn plain(name: &'static str, line: &str, limit: Duration) -> Step {
    let command = line.split(' ').map(str::to_owned).collect();
    Step {
        name,
        command,
        environment: Vec::new(),
        limit,
        counts: Counts::Nothing,
    }
}

fn with(step: Step, environment: &[(&'static str, String)]) -> Step {
    Step {
        environment: environment.to_vec(),
        ..step
    }
}

fn testing(name: &'static str, what: &str, environment: &[(&'static str, String)]) -> Step {
    let line = format!("cargo test --locked --no-fail-fast {what}");
    let binary = (
        "ASHLAR_BIN",
        crate::target_folder()
            .join("release/ashlar")
            .display()
            .to_string(),
    );
    let step = with(
        plain(name, &line, TEST_MAX),
        &[environment, &[binary]].concat(),
    );
    Step {
        counts: Counts::Tests,
        ..step
    }
}
