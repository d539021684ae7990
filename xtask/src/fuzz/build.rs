//! Builds the fuzz targets: stable rustc, with the coverage counters of its LLVM switched on.
//!
//! These are the flags that cargo-fuzz passes, less the sanitizer, which only nightly has. A target
//! triple is named so that build scripts and procedural macros are built without the counters.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// The targets there are: the files of `src/bin`.
pub(super) fn targets(fuzz: &Path) -> Result<Vec<String>, String> {
    let folder = fuzz.join("src/bin");
    let entries = fs::read_dir(&folder)
        .map_err(|error| format!("{} cannot be read: {error}", folder.display()))?;
    let files = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = files
        .filter_map(|file| file.strip_suffix(".rs").map(str::to_owned))
        .collect();
    names.sort_unstable();
    if names.is_empty() {
        Err("there are no fuzz targets".to_owned())
    } else {
        Ok(names)
    }
}

/// Builds the named targets and returns the folder that holds them.
pub(super) fn build(fuzz: &Path, names: &[String]) -> Result<PathBuf, String> {
    let host = host()?;
    let target = fuzz.join("target");
    let mut command = Command::new("cargo");
    command
        .current_dir(fuzz)
        .args([
            "build",
            "--quiet",
            "--locked",
            "--release",
            "--target",
            &host,
        ])
        .env("RUSTFLAGS", FLAGS)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("CARGO_TARGET_DIR", &target);
    for name in names {
        command.args(["--bin", name]);
    }
    let status = command
        .status()
        .map_err(|error| format!("cargo cannot be run: {error}"))?;
    if status.success() {
        Ok(target.join(host).join("release"))
    } else {
        Err("the fuzz targets do not build".to_owned())
    }
}

fn host() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output();
    let output = output.map_err(|error| format!("rustc cannot be run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "rustc does not say what machine this is".to_owned())
}
