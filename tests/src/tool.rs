//! A command that is run to its end, within a time limit.
//!
//! The command gets a process group of its own. When the limit passes the group is killed and the
//! test panics with what was printed until then: a hang is a failure that explains itself. Output
//! is read while the command runs, so that a full pipe cannot stop it.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::scratch::Scratch;

/// How long a command may take if the test does not say otherwise: long on purpose, since the
/// machine may have ten times as much to do as it can.
pub const LIMIT: Duration = Duration::from_mins(3);

/// Tools that tests find in place of the machine's.
const INSTEAD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/apart");

/// Waits for what comes by itself, and fails with `what` if it does not within [`LIMIT`].
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A command to be run.
#[derive(Debug)]
#[must_use = "a tool does nothing until it is run"]
pub struct Tool {
    pub(crate) command: Command,
    input: Option<Vec<u8>>,
    limit: Duration,
    /// What must not go away before the command has ended.
    needs: Option<Arc<Scratch>>,
}

/// A command that has ended.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The command as a person would type it.
    pub shown: String,
    /// The exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained about.
    pub stderr: Vec<u8>,
    /// How long it took, from its start to its end.
    pub time: Duration,
}

/// The program under test, without arguments, in a world of its own: it meets no other process
/// that serves a group, such as another test's copy of the golden disks, unless it is given their
/// runtime folder.
pub fn ashlar() -> Tool {
    let world = Arc::new(Scratch::new("world"));
    let tool = Tool::new(ashlar_path())
        .env("ASHLAR_RUNTIME_DIR", world.join("run"))
        .env("DM_DEV_DIR", world.join("dev"));
    tool.needing(&world)
}

/// The program under test: `ASHLAR_BIN`, or the workspace's own, which is built first.
pub fn ashlar_path() -> &'static Path {
    static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
        std::env::var_os("ASHLAR_BIN").map_or_else(built, |path| {
            let path = PathBuf::from(path);
            assert!(
                path.is_file(),
                "ASHLAR_BIN names {}, which is no file",
                path.display()
            );
            path
        })
    });
    &BINARY
}

/// Copies the program to `path`, where everybody may run it: the build folder may lie where only
/// root can look.
///
/// Another process does it. What this one has open for writing, a command that another test starts
/// at that moment has open as well, until it is under way; and such a file cannot be run.
pub fn copy_ashlar(path: &Path) {
    let install = Tool::new("install").args(["-m", "755"]);
    install.args([ashlar_path(), path]).succeed();
}

fn built() -> PathBuf {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    Tool::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--locked",
            "-p",
            "ashlar-cli",
            "--manifest-path",
            manifest,
        ])
        .limit(Duration::from_mins(15))
        .succeed();
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../target").into());
    target.join("debug/ashlar")
}

/// Fails the test unless it runs as root.
pub fn assert_root() {
    let is_root = rustix::process::geteuid().is_root();
    assert!(
        is_root,
        "this test needs root (loop devices, mounts): run the tests as root"
    );
}

/// Fails the test unless ordinary users may mount through FUSE.
pub fn assert_fuse_for_all() {
    let device = std::fs::metadata("/dev/fuse").expect("/dev/fuse is there");
    assert!(
        device.permissions().mode() & 0o666 == 0o666,
        "ordinary users may not open /dev/fuse: run chmod 0666 /dev/fuse, as cargo xtask test does"
    );
}

impl Tool {
    /// A command without arguments. It sees no input and the caller's environment in the C locale.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [OsStr::new(INSTEAD), &path, OsStr::new("/usr/sbin:/sbin")];
        let path = path.join(OsStr::new(":"));
        command
            .env("PATH", path)
            .env("LC_ALL", "C.UTF-8")
            .process_group(0);
        Tool {
            command,
            input: None,
            limit: LIMIT,
            needs: None,
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it in another folder.
    pub fn within(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Gives it bytes to read.
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    /// Keeps a folder alive until the command has ended.
    pub(crate) fn needing(mut self, scratch: &Arc<Scratch>) -> Self {
        self.needs = Some(Arc::clone(scratch));
        self
    }

    /// Gives it another time limit.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The command as a person would type it.
    pub fn shown(&self) -> String {
        let words = std::iter::once(self.command.get_program()).chain(self.command.get_args());
        words
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Runs it, whatever its exit code.
    ///
    /// # Panics
    /// When it cannot be started or is not done within the limit.
    pub fn run(self) -> Finished {
        let limit = self.limit.as_secs();
        self.try_run()
            .unwrap_or_else(|cut| panic!("not done after {limit} s: {cut}"))
    }

    /// Runs it, whatever its exit code; what it printed until then is the error where it is not
    /// done within the limit.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn try_run(mut self) -> Result<Finished, Finished> {
        let shown = self.shown();
        let input = if self.input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        };
        self.command
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let start = Instant::now();
        let mut child = self
            .command
            .spawn()
            .unwrap_or_else(|error| panic!("{shown}: cannot be started: {error}"));
        let stdout = collect(child.stdout.take());
        let stderr = collect(child.stderr.take());
        if let (Some(bytes), Some(mut pipe)) = (self.input.take(), child.stdin.take()) {
            // A command that stops reading early closes the pipe; that is its right.
            thread::spawn(move || pipe.write_all(&bytes));
        }
        let group = Pid::from_raw(child.id().cast_signed());
        let (sender, receiver) = mpsc::channel();
        // A thread waits, so that the end is noticed when it happens: the time is measured.
        thread::spawn(move || sender.send((child.wait(), start.elapsed())));
        let ended = receiver.recv_timeout(self.limit);
        kill_group(group);
        let (stdout, stderr) = (joined(stdout), joined(stderr));
        let finished = |code, time| Finished {
            shown,
            code,
            stdout,
            stderr,
            time,
        };
        let Ok((status, time)) = ended else {
            return Err(finished(None, self.limit));
        };
        let status = status.expect("a child can be waited for");
        Ok(finished(status.code(), time))
    }

    /// Runs it; the test fails unless it exits with 0.
    pub fn succeed(self) -> Finished {
        self.exit(0)
    }

    /// Runs it; the test fails unless it exits with this code.
    pub fn exit(self, code: i32) -> Finished {
        let finished = self.run();
        assert_eq!(finished.code, Some(code), "{finished}");
        finished
    }
}

/// Ends what is left in a command's group, so that nobody holds the pipes.
pub(crate) fn kill_group(leader: Option<Pid>) {
    if let Some(leader) = leader {
        // Usually nobody is left.
        let _ = rustix::process::kill_process_group(leader, Signal::KILL);
    }
}

pub(crate) fn collect(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    let mut pipe = pipe.expect("the output is piped");
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is still worth showing.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

pub(crate) fn joined(reader: JoinHandle<Vec<u8>>) -> Vec<u8> {
    reader.join().expect("reading does not panic")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Finished {
    /// What it printed, as text.
    pub fn text(&self) -> String {
        text(&self.stdout)
    }

    /// What it complained about, as text.
    pub fn complaints(&self) -> String {
        text(&self.stderr)
    }
}

impl std::fmt::Display for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Finished { shown, code, .. } = self;
        let (out, err) = (self.text(), self.complaints());
        write!(f, "{shown}: exit {code:?}\nstdout: {out}\nstderr: {err}")
    }
}
