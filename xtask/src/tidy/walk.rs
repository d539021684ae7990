//! Which files there are: what git tracks, and what it would track.
//!
//! Git is asked, so build output never counts and a new file counts before it is added.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::source::Source;

/// The root of the repository: where this crate's folder stands.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .expect("xtask lies in the repository")
        .to_owned()
}

/// What `git ARGUMENTS` prints in the repository, or why it could not be asked.
pub(crate) fn git(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .current_dir(root)
        .args(arguments)
        .output();
    let output = output.map_err(|error| format!("git cannot be run: {error}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "git {} failed: {}",
            arguments.join(" "),
            why.trim()
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Every path git knows or would add, from the root, sorted.
pub(crate) fn paths(root: &Path) -> Result<Vec<String>, String> {
    let listed = git(
        root,
        &[
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ],
    )?;
    let mut paths: Vec<String> = listed
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
        .collect();
    paths.retain(|path| root.join(path).is_file());
    paths.sort_unstable();
    paths.dedup();
    Ok(paths)
}

/// The Rust sources among the paths, split.
pub(crate) fn sources(root: &Path, paths: &[String]) -> Result<Vec<Source>, String> {
    let rust = paths
        .iter()
        .filter(|path| Path::new(path).extension().is_some_and(|kind| kind == "rs"));
    rust.map(|path| {
        let text = fs::read_to_string(root.join(path))
            .map_err(|error| format!("{path} cannot be read: {error}"))?;
        Ok(Source::new(path, &text))
    })
    .collect()
}
