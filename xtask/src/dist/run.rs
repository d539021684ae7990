//! The order of the steps, and what the caller may change.

use std::fs;
use std::path::{Path, PathBuf};

use super::{build, files, package};
use crate::Outcome;
use crate::tidy::{git, root};

/// The largest binary, in bytes: what fits beside the tools of a rescue image.
const SIZE_MAX: u64 = 15 << 20;

/// What is asked for.
struct Wanted {
    /// A binary that was built already; it need not be static.
    binary: Option<PathBuf>,
    /// Where everything goes.
    out: PathBuf,
}

/// `cargo xtask dist [--binary FILE] [--out FOLDER]`
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let wanted = match parse(arguments) {
        Ok(wanted) => wanted,
        Err(message) => return Outcome::Unusable(message),
    };
    match make(&wanted) {
        Ok(()) => Outcome::Passed,
        Err(message) => {
            eprintln!("dist: {message}");
            Outcome::Failed
        }
    }
}

fn parse(arguments: &[String]) -> Result<Wanted, String> {
    let mut wanted = Wanted {
        binary: None,
        out: crate::target_folder().join("ashlar-dist"),
    };
    for pair in arguments.chunks(2) {
        match pair {
            [name, value] if name == "--binary" => wanted.binary = Some(value.into()),
            [name, value] if name == "--out" => wanted.out = value.into(),
            _ => return Err("usage: cargo xtask dist [--binary FILE] [--out FOLDER]".to_owned()),
        }
    }
    Ok(wanted)
}

fn make(wanted: &Wanted) -> Result<(), String> {
    let time = commit_time()?;
    let binary = match &wanted.binary {
        Some(binary) => binary.clone(),
        None => build::build(SIZE_MAX)?,
    };
    let out = std::path::absolute(&wanted.out).map_err(|error| error.to_string())?;
    let (tree, copy) = (out.join("root"), out.join("ashlar"));
    if tree.exists() {
        fs::remove_dir_all(&tree).map_err(|error| format!("{}: {error}", tree.display()))?;
    }
    files::lay_out(&binary, &tree)?;
    copy_file(&binary, &copy)?;
    let package = package::pack(&tree, &out, &version()?, time)?;
    println!("dist: {}", copy.display());
    println!("dist: {}", package.display());
    Ok(())
}

/// Copies a file with its permissions; its folder is made.
pub(super) fn copy_file(from: &Path, to: &Path) -> Result<(), String> {
    let folder = to.parent().expect("it is in a directory");
    fs::create_dir_all(folder)
        .and_then(|()| fs::copy(from, to))
        .map(drop)
        .map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}

/// When the sources were committed, in seconds since 1970 began.
fn commit_time() -> Result<u64, String> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => git(&root(), &["show", "-s", "--format=%ct"])?,
    };
    let time = text.trim().parse();
    time.map_err(|_| format!("{text:?} is no number of seconds"))
}

/// `0.1.0~git20261123.0123456`: before the release of this number.
fn version() -> Result<String, String> {
    let revision = git(
        &root(),
        &[
            "show",
            "-s",
            "--format=%cd.%h",
            "--date=format:%Y%m%d",
            "--abbrev=7",
        ],
    )?;
    Ok(format!(
        "{}~git{}",
        env!("CARGO_PKG_VERSION"),
        revision.trim()
    ))
}
