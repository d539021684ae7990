//! `ashlar serve` in a process of its own, which ends with this one.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nbd::client::NbdDevice;

use super::world::{GROUP, World};
use crate::args::Error;
use crate::demo::process::{collect, own_group};

/// How long a server may take to begin and to end.
const TIME_MAX: Duration = Duration::from_secs(30);
/// How long its complaints may take after its end.
const COMPLAINTS_MAX: Duration = Duration::from_secs(2);
const PERIOD: Duration = Duration::from_millis(10);

/// A server. Dropped, it ends.
pub(super) struct Served {
    child: Child,
    complaints: std::sync::mpsc::Receiver<Vec<u8>>,
    uri: String,
}

impl Served {
    /// Serves a volume on a socket in the private folder. `options` go in front.
    pub(super) fn start(world: &World<'_>, options: &[&str], name: &str) -> Result<Self, Error> {
        let (address, socket) = Self::address(world, name);
        let volume = format!("{GROUP}/{name}");
        let mut words = options.to_vec();
        // The input of `cat` ends with the demo, whatever ends that.
        words.extend(["serve", &volume, "--nbd", &address, "--run", "cat"]);
        let mut command = world.command(&words);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        own_group(&mut command);
        let failed = |error| Error::failed("Cannot run ashlar serve").because(error);
        let mut child = command.spawn().map_err(failed)?;
        let complaints = collect(child.stderr.take());
        let uri = format!("nbd+unix:///{volume}?socket={}", socket.display());
        let mut served = Self {
            child,
            complaints,
            uri,
        };
        let deadline = Instant::now() + TIME_MAX;
        while !socket.exists() || NbdDevice::open(&served.uri).is_err() {
            world.interrupt.check()?;
            if served.child.try_wait()?.is_some() || Instant::now() >= deadline {
                drop(served.child.stdin.take());
                return Err(served.failure("did not begin to serve"));
            }
            std::thread::sleep(PERIOD);
        }
        Ok(served)
    }

    /// What `--nbd` says, and the socket.
    pub(super) fn address(world: &World<'_>, name: &str) -> (String, PathBuf) {
        let socket = world.private.join(format!("{name}.sock"));
        (format!("unix:{}", socket.display()), socket)
    }

    /// Where clients connect.
    pub(super) fn uri(&self) -> &str {
        &self.uri
    }

    /// Ends it; what was written is durable then.
    pub(super) fn end(mut self) -> Result<(), Error> {
        drop(self.child.stdin.take());
        if self.wait()? {
            Ok(())
        } else {
            Err(self.failure("failed"))
        }
    }

    /// Waits for the end; whether it was a good one.
    fn wait(&mut self) -> Result<bool, Error> {
        let deadline = Instant::now() + TIME_MAX;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status.success());
            }
            if Instant::now() >= deadline {
                return Ok(false);
            }
            std::thread::sleep(PERIOD);
        }
    }

    fn failure(&self, what: &str) -> Error {
        let complaints = self.complaints.recv_timeout(COMPLAINTS_MAX);
        let complaints = complaints.unwrap_or_default();
        let complaints = String::from_utf8_lossy(&complaints);
        Error::failed(format!("ashlar serve {what}: {}", complaints.trim()))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        if !matches!(self.wait(), Ok(true)) {
            // It has ended, or never will.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
