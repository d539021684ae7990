//! A volume that is attached for as long as this process wants it.
//!
//! The server is this program again, as `attach`. It holds the other end of a pipe: when the pipe
//! ends, because this process closed it or is gone, killed or not, the server detaches the volume
//! and ends. What a killed server leaves, the next command cleans up.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command as Process, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::args::Error;
use crate::commands::attach::{HELD, SERVER_VARIABLE};

/// How long a server may take to detach a volume that nobody uses.
const PATIENCE: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_millis(10);

/// A volume with a path. Dropped, it is detached.
pub(in crate::commands) struct Held {
    name: String,
    /// The node or the file.
    pub(in crate::commands) path: String,
    server: Child,
    pipe: Option<ChildStdin>,
}

impl Held {
    /// Attaches the volume; `options` are those of `attach`.
    pub(in crate::commands) fn attach(name: &str, options: &[String]) -> Result<Self, Error> {
        let failed = |error| Error::failed("Cannot start the server").because(error);
        let mut server = Process::new("/proc/self/exe")
            .arg0("ashlar")
            .arg("attach")
            .args(options)
            .args(["--", name])
            .env(SERVER_VARIABLE, HELD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // An interrupt from the terminal is for the command.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let pipe = server.stdin.take();
        let mut path = String::new();
        if let Some(output) = server.stdout.take() {
            BufReader::new(output).read_line(&mut path)?;
        }
        let path = path.trim_end_matches('\n').to_owned();
        if path.is_empty() {
            server.wait()?;
            // The server has said why.
            return Err(Error::reported());
        }
        Ok(Self {
            name: name.to_owned(),
            path,
            server,
            pipe,
        })
    }

    /// Detaches it; also if somebody still uses it, which is an error.
    pub(in crate::commands) fn end(mut self) -> Result<(), Error> {
        let status = self.detach()?;
        if status {
            Ok(())
        } else {
            Err(Error::failed(format!(
                "{} was still in use, or could not be detached: see ashlar owners",
                self.name
            )))
        }
    }

    fn detach(&mut self) -> std::io::Result<bool> {
        drop(self.pipe.take());
        let start = Instant::now();
        let mut is_asked = false;
        loop {
            if let Some(status) = self.server.try_wait()? {
                return Ok(status.success() && !is_asked);
            }
            if !is_asked && start.elapsed() > PATIENCE {
                is_asked = true;
                let pid = Pid::from_raw(self.server.id().cast_signed());
                // The second time that it is asked it obeys.
                let _ = pid.map(|pid| kill_process(pid, Signal::TERM));
            }
            if start.elapsed() > 2 * PATIENCE {
                return Ok(false);
            }
            std::thread::sleep(INTERVAL);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.pipe.is_some() {
            // Somebody else tells why it came to this.
            let _ = self.detach();
        }
    }
}
