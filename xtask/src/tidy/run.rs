//! Runs every check and prints what was found.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Outcome;

use super::finding::Finding;
use super::ratchet::Ratchet;
use super::source::Source;
use super::{density, habits, layers, limits, manifests, walk};

const FUZZ_MANIFEST: &str = "fuzz/Cargo.toml";

/// `cargo xtask tidy`.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    if !arguments.is_empty() {
        return Outcome::Unusable("tidy takes no arguments".to_owned());
    }
    match check(&walk::root()) {
        Err(message) => Outcome::Unusable(message),
        Ok((files, findings)) if findings.is_empty() => {
            println!("tidy: {files} files, nothing found");
            Outcome::Passed
        }
        Ok((files, findings)) => {
            for finding in &findings {
                println!("{finding}");
            }
            println!("tidy: {files} files, {} findings", findings.len());
            Outcome::Failed
        }
    }
}

fn check(root: &Path) -> Result<(usize, Vec<Finding>), String> {
    let paths = walk::paths(root)?;
    let sources = walk::sources(root, &paths)?;
    let mut findings = Vec::new();
    for source in &sources {
        check_source(source, &mut findings);
    }
    let ratchet = Ratchet::load(root)?;
    limits::check_lengths(&sources, &ratchet, &mut findings);
    density::check(&sources, &mut findings);
    habits::check_paths(&paths, &mut findings);
    for path in &paths {
        // What is no text has none.
        if let Ok(text) = fs::read_to_string(root.join(path)) {
            habits::check_marks(path, &text, &mut findings);
        }
    }
    manifests::check(root, &sources, &mut findings)?;
    check_fuzz_format(root, &mut findings)?;
    findings.sort();
    Ok((paths.len(), findings))
}

/// `cargo fmt --all` leaves out the fuzz targets, which are a workspace of their own.
fn check_fuzz_format(root: &Path, findings: &mut Vec<Finding>) -> Result<(), String> {
    let output = Command::new("cargo")
        .current_dir(root)
        .args([
            "fmt",
            "--manifest-path",
            FUZZ_MANIFEST,
            "--",
            "--check",
            "-l",
        ])
        .output()
        .map_err(|error| format!("cargo fmt cannot be run: {error}"))?;
    for file in String::from_utf8_lossy(&output.stdout).lines() {
        let path = file
            .strip_prefix(&format!("{}/", root.display()))
            .unwrap_or(file);
        let message = format!("run cargo fmt --manifest-path {FUZZ_MANIFEST}");
        findings.push(Finding::new(path, 1, "format", message));
    }
    if findings.is_empty() && !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "cargo fmt of the fuzz targets failed: {}",
            why.trim()
        ));
    }
    Ok(())
}

fn check_source(source: &Source, findings: &mut Vec<Finding>) {
    layers::check(source, findings);
    limits::check_width(source, findings);
    habits::check(source, findings);
}
