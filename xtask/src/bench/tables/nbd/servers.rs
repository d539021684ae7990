//! The servers, each in front of the same bytes.
//!
//! Ours serves a linear volume; the peers serve a plain file with its content, which is all that
//! they can. `Caching::Direct` asks for direct I/O where a server has it: ours chooses it by
//! itself for a file on a disk, qemu-nbd is told to, the others cannot and are left out.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use tests::{Daemon, Made, Scratch, Tool};

use super::super::super::run::{Bench, is_there};

/// How a server reads the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caching {
    /// Through the page cache, or from tmpfs.
    Cached,
    /// Past it.
    Direct,
}

/// A running server.
pub(super) struct Server {
    pub(super) name: &'static str,
    /// Where its export is.
    pub(super) uri: String,
    daemon: Daemon,
    _files: Scratch,
}

impl Server {
    /// Processor time that it has used, in seconds.
    pub(super) fn processor_seconds(&self) -> Result<f64, String> {
        let path = format!("/proc/{}/stat", self.daemon.pid());
        let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        // The name may hold spaces; the numbers begin behind its bracket, with field 3.
        let numbers: Vec<&str> = text
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split(' ')
            .collect();
        let ticks = |field: usize| {
            numbers
                .get(field - 2)
                .and_then(|text| text.parse::<f64>().ok())
        };
        let (Some(user), Some(system)) = (ticks(14), ticks(15)) else {
            return Err(format!("{path} cannot be understood"));
        };
        Ok((user + system) / TICKS_PER_SECOND)
    }
}

/// The unit of `/proc/PID/stat`, the same on every Linux that we run on.
const TICKS_PER_SECOND: f64 = 100.0;

/// Name of every export.
const EXPORT: &str = "data";

/// Starts every server that there is; ours first.
pub(super) fn start(bench: &Bench, made: &Made, plain: &Path, caching: Caching) -> Vec<Server> {
    let mut servers = vec![ours(bench, made)];
    if is_there("qemu-nbd") {
        servers.push(qemu_nbd(plain, caching));
    }
    if caching == Caching::Cached {
        if is_there("nbdkit") {
            servers.push(nbdkit("nbdkit file", &["file"], &[plain.to_owned()]));
            servers.push(nbdkit("nbdkit split", &["split"], &halves(plain)));
        }
        if is_there("nbd-server") {
            servers.push(nbd_server(plain));
        }
    }
    servers
}

fn ours(bench: &Bench, made: &Made) -> Server {
    let files = Scratch::new("serve");
    let socket = files.join("socket");
    let tool = Tool::new(&bench.ashlar)
        .args(["serve", "made/data", "--readonly", "--nbd"])
        .arg(format!("unix:{}", socket.display()))
        .arg("--devices")
        .arg(made.image());
    serving("ashlar", "made/data", tool, files, &socket)
}

fn qemu_nbd(plain: &Path, caching: Caching) -> Server {
    let files = Scratch::new("qemu-nbd");
    let socket = files.join("socket");
    let mut tool = Tool::new("qemu-nbd")
        .args(["--persistent", "--read-only", "--shared=8", "--format=raw"])
        .args(["-x", EXPORT, "-k"])
        .arg(&socket);
    if caching == Caching::Direct {
        tool = tool.args(["--cache=none", "--aio=io_uring"]);
    }
    serving("qemu-nbd", EXPORT, tool.arg(plain), files, &socket)
}

fn nbdkit(name: &'static str, plugin: &[&str], parts: &[PathBuf]) -> Server {
    let files = Scratch::new("nbdkit");
    let socket = files.join("socket");
    let tool = Tool::new("nbdkit")
        .args(["--foreground", "--readonly", "--unix"])
        .arg(&socket);
    serving(name, EXPORT, tool.args(plugin).args(parts), files, &socket)
}

/// The two halves of the file beside it, for a plugin that puts files together.
fn halves(plain: &Path) -> [PathBuf; 2] {
    let bytes = fs::read(plain).expect("the plain file can be read");
    let (first, second) = bytes.split_at(bytes.len() / 2);
    [("half0", first), ("half1", second)].map(|(name, half)| {
        let path = plain.with_extension(name);
        fs::write(&path, half).expect("half a file can be written");
        path
    })
}

/// nbd-server always goes to the background, out of its group: a shell stays in front and ends
/// it when it is ended itself.
fn nbd_server(plain: &Path) -> Server {
    let files = Scratch::new("nbd-server");
    let (socket, settings) = (files.join("socket"), files.join("config"));
    let text = format!(
        "[generic]\nunixsock = {}\n[{EXPORT}]\nexportname = {}\nreadonly = true\n",
        socket.display(),
        plain.display()
    );
    fs::write(&settings, text).expect("a configuration");
    let script = "nbd-server -C \"$1\" -p \"$2\" && trap 'kill $(cat \"$2\"); exit' TERM && \
                  while :; do sleep 1 & wait $!; done";
    let tool = Tool::new("sh")
        .args(["-c", script, "sh"])
        .arg(settings)
        .arg(files.join("pid"));
    serving("nbd-server", EXPORT, tool, files, &socket)
}

fn serving(name: &'static str, export: &str, tool: Tool, files: Scratch, socket: &Path) -> Server {
    let daemon = Daemon::start(tool, || UnixStream::connect(socket).is_ok());
    let uri = format!("nbd+unix:///{export}?socket={}", socket.display());
    Server {
        name,
        uri,
        daemon,
        _files: files,
    }
}
