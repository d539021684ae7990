//! The clone that is mutated, and the commands that run in it.
//!
//! It has the last commit and a build folder of its own, so that nothing but the mutated crate is
//! built for each mutant, and whoever works on in the working tree is not in the way.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{geteuid, nice};

use crate::target_folder;
use crate::tidy::{git, root};

/// Cases of each property test that says no number of its own. The full test makes four times as
/// many; every mutant pays for them.
const PROPERTY_CASES: &str = "64";
/// Everybody else comes first: a run takes hours.
const NICE: i32 = 15;

#[derive(Debug)]
pub(super) struct Tree {
    folder: PathBuf,
    root: PathBuf,
    /// The commit that is mutated, short.
    pub(super) revision: String,
}

impl Tree {
    /// Makes the clone of the last commit, or brings it there.
    pub(super) fn new() -> Result<Self, String> {
        let folder = target_folder().join("mutants");
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
        let root = folder.join("tree");
        let from = self::root();
        let text = |path: &Path| path.to_string_lossy().into_owned();
        if !root.join(".git").exists() {
            git(
                &from,
                &["clone", "--shared", "--no-checkout", ".", &text(&root)],
            )?;
        }
        let head = git(&from, &["rev-parse", "HEAD"])?;
        git(&root, &["fetch", "--quiet", &text(&from), "HEAD"])?;
        git(
            &root,
            &["checkout", "--quiet", "--force", "--detach", head.trim()],
        )?;
        if !git(&from, &["status", "--porcelain"])?.trim().is_empty() {
            eprintln!("mutate: what is not committed is not looked at");
        }
        nice(NICE).map_err(|error| format!("the priority cannot be lowered: {error}"))?;
        let revision = head[..9].to_owned();
        Ok(Self {
            folder,
            root,
            revision,
        })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// An empty folder for what a run over `area` leaves.
    pub(super) fn output(&self, area: &str) -> Result<PathBuf, String> {
        let folder = self.folder.join(area);
        let made = match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => std::fs::create_dir_all(&folder),
        };
        made.map_err(|error| format!("{} cannot be emptied: {error}", folder.display()))?;
        Ok(folder)
    }

    /// Cargo in the clone. Root gets mounts of its own, which end with it: a mutant that is killed
    /// leaves its FUSE mounts behind.
    pub(super) fn cargo(&self) -> Command {
        let mut command = if geteuid().is_root() {
            let mut command = Command::new("unshare");
            command.args(["--mount", "cargo"]);
            command
        } else {
            Command::new("cargo")
        };
        command
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", self.folder.join("build"))
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
            .env("CARGO_TERM_COLOR", "never")
            .env("PROPTEST_CASES", PROPERTY_CASES);
        command
    }
}

/// The argument that lets cargo run test programs through [`super::until_failure`].
pub(super) fn runner() -> Result<String, String> {
    let me = std::env::current_exe().map_err(|error| format!("who am I? {error}"))?;
    let me = me.display();
    Ok(format!(
        "--config=target.'cfg(all())'.runner=['{me}','mutate','--until-failure']"
    ))
}
