//! The clone that is mutated, and the commands that run in it.
//!
//! It has the last commit and a build folder of its own, so that nothing but the mutated crate is
//! built for each mutant, and whoever works on in the working tree is not in the way. This program
//! is copied there as well, to run test programs: the one that cargo built may be replaced while
//! hours pass.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::process::{geteuid, nice};

use super::leftovers;
use crate::target_folder;
use crate::tidy::{git, root};

/// Cases of each property test that says no number of its own. The full test makes four times as
/// many; every mutant pays for them.
const PROPERTY_CASES: &str = "64";
/// Everybody else comes first: a run takes hours.
const NICE: i32 = 15;
/// Read by cargo in the clone. What is mutated is built far more often than it runs; what it
/// stands on is built once.
const PROFILE: &str = "[profile.dev]
debug = 0
opt-level = 0

[profile.dev.package.'*']
opt-level = 1
";

#[derive(Debug)]
pub(super) struct Tree {
    folder: PathBuf,
    root: PathBuf,
    /// This program, where nobody builds it anew.
    runner: PathBuf,
    /// Where test programs work.
    world: PathBuf,
    /// The commit that is mutated, short.
    pub(super) revision: String,
    /// Held: two runs would mutate each other's tree.
    _lock: File,
}

impl Tree {
    /// Makes the clone of the last commit, or brings it there.
    pub(super) fn new() -> Result<Self, String> {
        let folder = target_folder().join("mutants");
        fs::create_dir_all(folder.join(".cargo")).map_err(|error| failed(&folder, &error))?;
        let lock = locked(&folder.join("lock-file"))?;
        let profile = folder.join(".cargo/config.toml");
        fs::write(&profile, PROFILE).map_err(|error| failed(&profile, &error))?;
        let runner = copy_of_this(&folder)?;
        let root = folder.join("tree");
        let revision = check_out(&root)?;
        nice(NICE).map_err(|error| format!("the priority cannot be lowered: {error}"))?;
        // Short: sockets in it have paths of 108 bytes at most.
        let world = std::env::temp_dir().join(format!("mutate-{}", std::process::id()));
        Ok(Self {
            folder,
            root,
            runner,
            world,
            revision,
            _lock: lock,
        })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Where everything of a run lies.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where test programs work; see [`leftovers`].
    pub(super) fn world(&self) -> &Path {
        &self.world
    }

    /// Where things are built.
    pub(super) fn build(&self) -> PathBuf {
        self.folder.join("build")
    }

    /// The command that runs a test program through [`super::until_failure`].
    pub(super) fn runner(&self, limit: Duration) -> [String; 5] {
        let text = |path: &Path| path.display().to_string();
        [
            text(&self.runner),
            "mutate".into(),
            "--until-failure".into(),
            text(&self.world),
            limit.as_secs().to_string(),
        ]
    }

    /// The argument that lets cargo run test programs through it.
    pub(super) fn cargo_runner(&self, limit: Duration) -> String {
        let words = self.runner(limit).map(|word| format!("'{word}'"));
        format!("--config=target.'cfg(all())'.runner=[{}]", words.join(","))
    }

    /// An empty folder for what a run over `area` leaves.
    pub(super) fn output(&self, area: &str) -> Result<PathBuf, String> {
        let folder = self.folder.join(area);
        let made = match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::create_dir_all(&folder),
        };
        made.map_err(|error| failed(&folder, &error))?;
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
            .env("CARGO_TARGET_DIR", self.build())
            // The profile is the clone's own.
            .env_remove("CARGO_PROFILE_DEV_DEBUG")
            .env_remove("CARGO_PROFILE_DEV_OPT_LEVEL")
            .env("CARGO_TERM_COLOR", "never")
            .env("PROPTEST_CASES", PROPERTY_CASES);
        command
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        leftovers::clear(&self.world);
        let _ = fs::remove_dir(&self.world);
    }
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be made: {error}", path.display())
}

fn locked(path: &Path) -> Result<File, String> {
    let file = File::create(path).map_err(|error| failed(path, &error))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| "another run is under way: wait for its end".to_owned())?;
    Ok(file)
}

fn copy_of_this(folder: &Path) -> Result<PathBuf, String> {
    let me = std::env::current_exe().map_err(|error| format!("who am I? {error}"))?;
    let copy = folder.join("runner");
    // A file that runs cannot be written.
    let _ = fs::remove_file(&copy);
    fs::copy(me, &copy).map_err(|error| failed(&copy, &error))?;
    Ok(copy)
}

/// Brings the clone at `root` to the last commit, and says which that is.
fn check_out(root: &Path) -> Result<String, String> {
    let from = self::root();
    let text = |path: &Path| path.to_string_lossy().into_owned();
    if !root.join(".git").exists() {
        git(
            &from,
            &["clone", "--shared", "--no-checkout", ".", &text(root)],
        )?;
    }
    let head = git(&from, &["rev-parse", "HEAD"])?;
    git(root, &["fetch", "--quiet", &text(&from), "HEAD"])?;
    git(
        root,
        &["checkout", "--quiet", "--force", "--detach", head.trim()],
    )?;
    if !git(&from, &["status", "--porcelain"])?.trim().is_empty() {
        eprintln!("mutate: what is not committed is not looked at");
    }
    Ok(head[..9].to_owned())
}
