//! The servers, each in front of the same bytes.
//!
//! Ours serves a linear volume; the peers serve a plain file with its content, which is all that
//! they can. `Caching::Direct` asks for direct I/O where a server has it: ours chooses it by
//! itself for a file on a disk, qemu-nbd is told to, the others cannot and are left out.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

pub(super) use block::Access;
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

/// The option that forbids writing, where it is forbidden.
fn read_only(access: Access, option: &'static str) -> Option<&'static str> {
    (access == Access::ReadOnly).then_some(option)
}

/// How the servers are started.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mode {
    pub(super) caching: Caching,
    pub(super) access: Access,
}

/// A running server.
pub(in super::super) struct Server {
    pub(super) name: &'static str,
    /// Where its export is.
    pub(in super::super) uri: String,
    daemon: Daemon,
    _files: Scratch,
}

impl Server {
    /// The most memory that it has had, in bytes.
    pub(super) fn peak_memory(&self) -> Result<f64, String> {
        let path = format!("/proc/{}/status", self.daemon.pid());
        let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
        kib.map(|kib| kib * 1024.0)
            .ok_or_else(|| format!("{path} cannot be understood"))
    }

    /// Processor time that it has used, in seconds.
    pub(in super::super) fn processor_seconds(&self) -> Result<f64, String> {
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
pub(super) fn start(bench: &Bench, made: &Made, plain: &Path, mode: Mode) -> Vec<Server> {
    let Mode { caching, access } = mode;
    let mut servers = vec![ours(bench, made, access)];
    if is_there("qemu-nbd") {
        servers.push(qemu_nbd(plain, mode));
    }
    if caching == Caching::Cached {
        if is_there("nbdkit") {
            servers.push(nbdkit(
                "nbdkit file",
                access,
                &["file"],
                &[plain.to_owned()],
            ));
            servers.push(nbdkit("nbdkit split", access, &["split"], &halves(plain)));
        }
        if is_there("nbd-server") {
            servers.push(nbd_server(plain, access));
        }
    }
    servers
}

fn ours(bench: &Bench, made: &Made, access: Access) -> Server {
    let files = Scratch::new("serve");
    let socket = files.join("socket");
    let tool = Tool::new(&bench.ashlar)
        .args(["serve", "made/data"])
        .args(read_only(access, "--readonly"))
        .arg("--nbd")
        .arg(format!("unix:{}", socket.display()))
        .arg("--devices")
        .arg(made.image());
    serving("ashlar", "made/data", tool, files, &socket)
}

fn qemu_nbd(plain: &Path, mode: Mode) -> Server {
    let files = Scratch::new("qemu-nbd");
    let socket = files.join("socket");
    let mut tool = Tool::new("qemu-nbd")
        .args(["--persistent", "--shared=8", "--format=raw"])
        .args(read_only(mode.access, "--read-only"))
        .args(["-x", EXPORT, "-k"])
        .arg(&socket);
    if mode.caching == Caching::Direct {
        tool = tool.args(["--cache=none", "--aio=io_uring"]);
    }
    serving("qemu-nbd", EXPORT, tool.arg(plain), files, &socket)
}

fn nbdkit(name: &'static str, access: Access, plugin: &[&str], parts: &[PathBuf]) -> Server {
    let files = Scratch::new("nbdkit");
    let socket = files.join("socket");
    let tool = Tool::new("nbdkit")
        .arg("--foreground")
        .args(read_only(access, "--readonly"))
        .arg("--unix")
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
fn nbd_server(plain: &Path, access: Access) -> Server {
    let files = Scratch::new("nbd-server");
    let (socket, settings) = (files.join("socket"), files.join("config"));
    let text = format!(
        "[generic]\nunixsock = {}\n[{EXPORT}]\nexportname = {}\nreadonly = {}\n",
        socket.display(),
        plain.display(),
        access == Access::ReadOnly
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

pub(in super::super) fn serving(
    name: &'static str,
    export: &str,
    tool: Tool,
    files: Scratch,
    socket: &Path,
) -> Server {
    let daemon = Daemon::start(tool, || UnixStream::connect(socket).is_ok());
    let uri = format!("nbd+unix:///{export}?socket={}", socket.display());
    Server {
        name,
        uri,
        daemon,
        _files: files,
    }
}
