//! What is run, in order, with how long each may take.
//!
//! The limits are several times what two slow cores need from nothing; they are there to end a
//! hang, not to measure.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use super::step::{Counts, Step};

/// For what only reads the sources.
const LOOK_MAX: Duration = Duration::from_mins(5);
/// For what compiles the workspace once.
const COMPILE_MAX: Duration = Duration::from_mins(30);
/// For what compiles and tests it.
const TEST_MAX: Duration = Duration::from_hours(1);

/// How long all fuzz targets together are run.
const FUZZ_SECONDS: u64 = 60;

/// The tests that do I/O, once more without `io_uring`: of the whole workspace, so that nothing is
/// compiled again. What is explored are disks that do not exist.
const WITHOUT_URING: &str = "--workspace --lib --test conformance --test disk --test power_cuts \
                             --test threads -- --skip explore::";
/// The end-to-end tests that do I/O, likewise.
const WITHOUT_URING_E2E: &str = "--workspace --test end_to_end -- golden nbd fuse attach";
/// Where `io_uring` is there, everything else has used it.
const WITH_URING: &str = "-p ashlar-block";

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
    let demanded = |engine: &str| [("ASHLAR_IO", engine.to_owned())];
    for (name, engine, what) in [
        ("threads", "threads", WITHOUT_URING),
        ("threads-e2e", "threads", WITHOUT_URING_E2E),
        ("uring", "uring", WITH_URING),
    ] {
        steps.push(testing(name, what, &demanded(engine)));
    }
    let lines = own("compare", "compare --cases 1000 --seed 1", TEST_MAX);
    steps.push(with(lines, &[binary()]));
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
    // Most of their time tests wait for what they have started.
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = ("RUST_TEST_THREADS", (2 * cores).to_string());
    let step = with(
        plain(name, &line, TEST_MAX),
        &[environment, &[binary(), threads]].concat(),
    );
    Step {
        counts: Counts::Tests,
        ..step
    }
}

/// Which program is tested.
fn binary() -> (&'static str, String) {
    let path = crate::target_folder().join("release/ashlar");
    ("ASHLAR_BIN", path.display().to_string())
}
