//! A command that runs beside the test, such as a server, and ends with it.

use std::process::{Child, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::tool::{Tool, collect, joined, kill_group};

/// How long a server may take to be ready.
const READY_MAX: Duration = Duration::from_mins(2);
/// How long a server may take to end after it was asked to.
const FAREWELL_MAX: Duration = Duration::from_mins(1);
const PERIOD: Duration = Duration::from_millis(2);

/// A running server. Dropped, it is asked to end (SIGTERM) and killed if it does not.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    shown: String,
    stderr: Option<JoinHandle<Vec<u8>>>,
    /// Held for the folders that the command needs.
    _tool: Tool,
}

impl Daemon {
    /// Starts the command and waits until `is_ready` says so.
    ///
    /// # Panics
    /// When it ends first, or is not ready in time; with what it complained about.
    pub fn start(mut tool: Tool, is_ready: impl Fn() -> bool) -> Self {
        let shown = tool.shown();
        // Its input stays open for as long as it runs: some servers end when theirs does.
        tool.command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = tool
            .command
            .spawn()
            .unwrap_or_else(|error| panic!("{shown}: cannot be started: {error}"));
        let stderr = Some(collect(child.stderr.take()));
        let mut daemon = Daemon {
            child,
            shown,
            stderr,
            _tool: tool,
        };
        let deadline = Instant::now() + READY_MAX;
        while !is_ready() {
            let ended = daemon.child.try_wait().expect("a child can be waited for");
            if ended.is_some() || Instant::now() >= deadline {
                let why = if ended.is_some() {
                    "ended"
                } else {
                    "was not ready in time"
                };
                let complaints = daemon.end();
                panic!("{}: {why}\nstderr: {complaints}", daemon.shown);
            }
            thread::sleep(PERIOD);
        }
        daemon
    }

    /// Its process ID.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it is still running.
    pub fn is_running(&mut self) -> bool {
        self.child
            .try_wait()
            .expect("a child can be waited for")
            .is_none()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            // It may have ended by itself.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// Kills it (SIGKILL), and returns when it is gone.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.child.wait().expect("a child can be waited for");
        // Its number may belong to somebody else from now on: nothing is left to be ended.
        self.stderr = None;
    }

    /// Waits, no longer than `limit`, until it ends by itself; its exit code, if it did.
    pub fn ended(&mut self, limit: Duration) -> Option<i32> {
        let deadline = Instant::now() + limit;
        while self.is_running() && Instant::now() < deadline {
            thread::sleep(PERIOD);
        }
        let status = self.child.try_wait().expect("a child can be waited for");
        status.and_then(|status| status.code())
    }

    /// Ends it and returns what it complained about.
    pub fn stop(mut self) -> String {
        self.end()
    }

    fn end(&mut self) -> String {
        self.signal(Signal::TERM);
        let deadline = Instant::now() + FAREWELL_MAX;
        while self.is_running() && Instant::now() < deadline {
            thread::sleep(PERIOD);
        }
        kill_group(Pid::from_raw(self.child.id().cast_signed()));
        let _ = self.child.wait();
        let bytes = self.stderr.take().map(joined).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if self.stderr.is_some() {
            self.end();
        }
    }
}
