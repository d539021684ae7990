//! Tells the program which revision it was built from.
//!
//! Asked in this order: `ASHLAR_REVISION`, for those who package it; git, where the sources are its
//! checkout; the file `revision.txt`, into which `git archive` writes the revision of a tarball.
//! Where none knows, the version stands alone.

use std::path::{Path, PathBuf};
use std::process::Command;

const VARIABLE: &str = "ASHLAR_REVISION";
/// What stands in `revision.txt` until `git archive` replaces it.
const UNREPLACED: &str = "$Format";

fn main() {
    let package = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = package.join("../..");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    println!("cargo::rerun-if-changed=revision.txt");
    let given = std::env::var(VARIABLE).ok();
    let known = given.or_else(|| of_checkout(&root)).or_else(|| {
        let text = std::fs::read_to_string(package.join("revision.txt")).ok()?;
        (!text.contains(UNREPLACED)).then_some(text)
    });
    let revision = known.map(|text| text.trim().to_owned()).unwrap_or_default();
    println!("cargo::rustc-env={VARIABLE}={revision}");
}

/// `2026-11-23 0123456789ab`, behind which stands `modified` where it is.
fn of_checkout(root: &Path) -> Option<String> {
    // A tarball may have been unpacked in somebody else's checkout.
    let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    // Every commit and every checkout writes a line into it.
    let log = git(root, &["rev-parse", "--git-path", "logs/HEAD"])?;
    for path in [root.join(log), root.join("crates"), root.join("Cargo.lock")] {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let revision = git(root, &["show", "-s", "--format=%cs %h", "--abbrev=12"])?;
    let sources = ["status", "--porcelain", "--", "crates", "Cargo.lock"];
    let is_modified = !git(root, &sources)?.is_empty();
    Some(format!(
        "{revision}{}",
        if is_modified { " modified" } else { "" }
    ))
}

fn git(root: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(words).output();
    let output = output.ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
