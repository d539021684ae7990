//! Physical volumes behind NBD servers: nbdkit's, which is killed, stopped and replaced, and
//! servers that are none.

use std::fs;
use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tests::{Daemon, Finished, Golden, Scratch, Tool, ashlar, sha256};

/// nbdkit on a unix socket, with all files of a folder as its exports.
struct Server {
    daemon: Option<Daemon>,
    socket: PathBuf,
    arguments: Vec<String>,
}

impl Server {
    fn start(socket: PathBuf, arguments: &[&str]) -> Self {
        let mut server = Self {
            daemon: None,
            socket,
            arguments: arguments.iter().map(ToString::to_string).collect(),
        };
        server.restart();
        server
    }

    /// Kills it, if it runs, so that what it has not flushed is lost; and starts it again.
    fn restart(&mut self) {
        self.kill();
        let socket = self.socket.clone();
        let tool = Tool::new("nbdkit")
            .arg("-f")
            .arg("-U")
            .arg(&socket)
            .args(&self.arguments);
        self.daemon = Some(Daemon::start(tool, || UnixStream::connect(&socket).is_ok()));
    }

    fn kill(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.signal(Signal::KILL);
            drop(daemon);
        }
        let _ = fs::remove_file(&self.socket);
    }

    fn signal(&self, signal: Signal) {
        self.daemon.as_ref().expect("it runs").signal(signal);
    }

    fn uri(&self, export: &str) -> String {
        format!("nbd+unix:///{export}?socket={}", self.socket.display())
    }
}

/// The golden disks, each as an export of nbdkit.
fn golden_server(scratch: &Scratch, disks: &Path, filters: &[&str]) -> Server {
    let folder = format!("dir={}", disks.display());
    let mut arguments = vec!["file", folder.as_str()];
    arguments.extend(filters);
    Server::start(scratch.join("disks.sock"), &arguments)
}

/// The addresses of the golden disks behind `server`.
fn addresses(server: &Server, golden: &Golden) -> Vec<String> {
    let name = |path: PathBuf| {
        path.file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned()
    };
    let images = golden.images().into_iter().map(name);
    images.map(|name| server.uri(&name)).collect()
}

fn on(addresses: &[String]) -> Tool {
    addresses
        .iter()
        .fold(ashlar(), |tool, address| tool.arg("--devices").arg(address))
}

/// What went wrong names the address, says `words`, and did not take long.
fn assert_told(finished: &Finished, address: &str, words: &str) {
    let complaints = finished.complaints();
    assert!(
        complaints.contains(words),
        "{words:?} is not in {complaints}"
    );
    assert!(
        complaints.contains(address),
        "{address} is not in {complaints}"
    );
    assert!(
        finished.time < Duration::from_secs(30),
        "it took {:?}",
        finished.time
    );
}

/// Reports, reading and serving work on disks behind a server as on files, also when the list
/// comes from the environment, over TCP, and from a server that takes one client at a time.
#[test]
fn volumes_on_network_disks_are_read() {
    let golden = Golden::shared();
    let scratch = Scratch::new("network");
    let server = golden_server(&scratch, golden.folder(), &[]);
    let list = addresses(&server, &golden);
    let report = ["-o", "pv_uuid,vg_name,pv_size", "--noheadings"];
    let expected = ashlar()
        .arg("--devices")
        .arg(golden.folder())
        .arg("pvs")
        .args(report)
        .succeed();
    let found = ashlar()
        .env("ASHLAR_DEVICES", list.join(":"))
        .arg("pvs")
        .args(report)
        .succeed();
    assert_eq!(found.text(), expected.text());
    for name in ["stripe3", "mirror2", "linear2"] {
        let read = on(&list).args(["cat", &format!("vg0/{name}")]).succeed();
        assert_eq!(sha256(&read.stdout), Golden::volume(name).sha256, "{name}");
    }
    let copy = scratch.join("copy");
    let run = format!("nbdcopy --connections=4 $uri {}", copy.display());
    on(&list)
        .args(["serve", "--readonly", "vg0/stripe3", "--run", &run])
        .succeed();
    let copied = fs::read(&copy).expect("a copy");
    assert_eq!(sha256(&copied), Golden::volume("stripe3").sha256);

    // linear1 stands on one disk, and qemu-nbd takes one client.
    let socket = scratch.join("qemu.sock");
    let tool = Tool::new("qemu-nbd").args(["-t", "-f", "raw", "-r", "-e", "1", "-k"]);
    let qemu = tool.arg(&socket).arg(golden.image(0));
    let qemu = Daemon::start(qemu, || socket.exists());
    let mut mixed = list.clone();
    mixed[0] = format!("nbd+unix:///?socket={}", socket.display());
    let read = on(&mixed).args(["cat", "vg0/stripe3"]).succeed();
    assert_eq!(sha256(&read.stdout), Golden::volume("stripe3").sha256);
    drop(qemu);
}

/// What is behind a server is written only with --assume-exclusive, and the message says so.
#[test]
fn writing_needs_the_word_that_nobody_else_writes() {
    let golden = Golden::copy();
    let scratch = Scratch::new("network");
    let server = golden_server(&scratch, golden.folder(), &[]);
    let list = addresses(&server, &golden);
    let size = Golden::volume("linear1").size;
    let content: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
    let source = scratch.join("source");
    fs::write(&source, &content).expect("a file");
    let refused = on(&list)
        .arg("cp")
        .arg(&source)
        .arg("vg0/linear1")
        .arg("-y")
        .exit(5);
    assert_told(
        &refused,
        &server.socket.display().to_string(),
        "--assume-exclusive",
    );
    let unchanged = on(&list).args(["cat", "vg0/linear1"]).succeed();
    assert_eq!(sha256(&unchanged.stdout), Golden::volume("linear1").sha256);
    on(&list)
        .args(["--assume-exclusive", "cp", "-y"])
        .arg(&source)
        .arg("vg0/linear1")
        .succeed();
    let read = ashlar()
        .arg("--devices")
        .arg(golden.folder())
        .args(["cat", "vg0/linear1"])
        .succeed();
    assert!(
        read.stdout == content,
        "what was written over the network is on the disks"
    );
}

/// A server that is killed again and again in the middle of writes, and forgets each time what it
/// had not flushed, costs time and nothing else.
#[test]
fn a_killed_server_loses_nothing() {
    let golden = Golden::copy();
    let scratch = Scratch::new("network");
    let filters = [
        "--filter=cache",
        "--filter=delay",
        "wdelay=20ms",
        "cache=writeback",
    ];
    let mut server = golden_server(&scratch, golden.folder(), &filters);
    let list = addresses(&server, &golden);
    let size = Golden::volume("linear1").size;
    let content: Vec<u8> = (0..size).map(|at| (at % 241) as u8).collect();
    let source = scratch.join("source");
    fs::write(&source, &content).expect("a file");
    let write = on(&list)
        .args(["--assume-exclusive", "cp", "-y"])
        .arg(&source)
        .arg("vg0/linear1");
    let writing = thread::spawn(move || write.succeed());
    let mut kills = 0;
    while !writing.is_finished() {
        thread::sleep(Duration::from_millis(120));
        if kills < 5 {
            server.restart();
            kills += 1;
        }
    }
    writing.join().expect("the copy succeeds");
    assert!(kills > 0, "the copy was over before the server was killed");
    // What was flushed is on the disks, whatever the server remembers.
    server.kill();
    let read = ashlar()
        .arg("--devices")
        .arg(golden.folder())
        .args(["cat", "vg0/linear1"])
        .succeed();
    assert!(
        read.stdout == content,
        "a write that was acknowledged is lost"
    );
}

/// Servers that are not there, hang, lie, or speak something else: an error that names the
/// address and says what to do, in time.
#[test]
fn bad_servers_are_told_apart() {
    let golden = Golden::shared();
    let scratch = Scratch::new("network");
    let server = golden_server(&scratch, golden.folder(), &[]);
    let list = addresses(&server, &golden);

    let gone = format!("nbd+unix:///?socket={}", scratch.join("gone").display());
    let told = ashlar().args(["--devices", &gone, "pvs"]).exit(5);
    assert_told(&told, &gone, "cannot connect");
    let missing = server.uri("missing");
    let told = ashlar().args(["--devices", &missing, "pvs"]).exit(5);
    assert_told(&told, &missing, "cannot use");

    // One that greets with nonsense, and one that says nothing.
    let babble = scratch.join("babble");
    let listener = UnixListener::bind(&babble).expect("a socket");
    thread::spawn(move || {
        while let Ok((mut client, _)) = listener.accept() {
            let _ = client.write_all(&[b'x'; 4096]);
        }
    });
    let uri = format!("nbd+unix:///?socket={}", babble.display());
    let told = ashlar().args(["--devices", &uri, "pvs"]).exit(5);
    assert_told(&told, &uri, "is not an NBD server");
    let quiet = scratch.join("quiet");
    let _listener = UnixListener::bind(&quiet).expect("a socket");
    let uri = format!("nbd+unix:///?socket={}", quiet.display());
    let told = ashlar()
        .args(["--devices", &uri, "--pv-timeout", "1", "pvs"])
        .exit(5);
    assert_told(&told, &uri, "it hangs, or serves one client at a time");

    // One that stops in the middle of a volume: the others are still read.
    let reading = on(&list).args(["--pv-timeout", "1", "cat", "vg0/stripe3"]);
    server.signal(Signal::STOP);
    let told = reading.exit(5);
    server.signal(Signal::CONT);
    assert_told(&told, &list[0], "it hangs");
}

/// A disk that comes back with another size is not used, though the volume would fit.
#[test]
fn a_changed_disk_is_not_served() {
    let golden = Golden::copy();
    let scratch = Scratch::new("network");
    let mut server = golden_server(&scratch, golden.folder(), &[]);
    let list = addresses(&server, &golden);
    let socket = scratch.join("out.sock");
    let tool = on(&list)
        .args(["--assume-exclusive", "serve", "vg0/linear1"])
        .arg(format!("--nbd=unix:{}", socket.display()));
    let serving = Daemon::start(tool, || UnixStream::connect(&socket).is_ok());
    let uri = format!("nbd+unix:///vg0/linear1?socket={}", socket.display());
    let read = |limit: Duration| {
        let copy = scratch.join("copy");
        Tool::new("nbdcopy").arg(&uri).arg(copy).limit(limit).run()
    };
    let limit = Duration::from_secs(30);
    assert_eq!(read(limit).code, Some(0));
    // Away for a moment: nobody notices.
    server.restart();
    assert_eq!(read(limit).code, Some(0));
    server.kill();
    for image in golden.images() {
        let file = fs::File::options()
            .write(true)
            .open(&image)
            .expect("an image");
        let len = file.metadata().expect("a file").len();
        file.set_len(len + (1 << 20)).expect("it grows");
    }
    server.restart();
    let began = Instant::now();
    assert_ne!(read(limit).code, Some(0));
    assert!(began.elapsed() < limit);
    drop(serving);
}
