//! Physical volumes behind NBD servers: nbdkit's, which is killed, stopped and replaced, and
//! servers that are none.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tests::{Daemon, Finished, Golden, LIMIT, Scratch, Tool, ashlar, ashlar_path, sha256};

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

    /// Whether it has written so many bytes into its cache.
    fn has_cached(&self, bytes: u64) -> bool {
        let pid = self.daemon.as_ref().expect("it runs").pid();
        let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
        let written = text.lines().find_map(|line| line.strip_prefix("wchar: "));
        written.is_some_and(|count| count.parse::<u64>().expect("a number") > bytes)
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

/// What went wrong names the address and says `words`.
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
    let qemu = Daemon::start(qemu, || UnixStream::connect(&socket).is_ok());
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
    assert!(
        on_disks(&golden) == content,
        "what was written over the network is on the disks"
    );
}

/// What `linear1` holds on the disks, whatever their servers say.
fn on_disks(golden: &Golden) -> Vec<u8> {
    let read = ashlar().arg("--devices").arg(golden.folder());
    read.args(["cat", "vg0/linear1"]).succeed().stdout
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
        "wdelay=50ms",
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
        thread::sleep(Duration::from_millis(5));
        // In the middle of the copy: a disk that is not there at its start is an error.
        if kills < 5 && server.has_cached(512 << 10) {
            server.restart();
            kills += 1;
        }
    }
    writing.join().expect("the copy succeeds");
    assert!(kills > 0, "the copy was over before the server was killed");
    // What was flushed is on the disks, whatever the server remembers.
    server.kill();
    assert!(
        on_disks(&golden) == content,
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

/// Certificates that certtool makes: an authority, a server called localhost, and a client.
fn certificates(folder: &Path) {
    fs::create_dir(folder).expect("a directory");
    let certtool = |arguments: &[&str]| {
        Tool::new("certtool")
            .within(folder)
            .args(arguments)
            .succeed();
    };
    let template = |name: &str, text: &str| {
        fs::write(folder.join(name), text).expect("a template");
    };
    template("ca.info", "cn = Authority\nca\ncert_signing_key\n");
    template(
        "server.info",
        "cn = localhost\ndns_name = localhost\ntls_www_server\nsigning_key\nencryption_key\n",
    );
    template(
        "client.info",
        "cn = somebody\ntls_www_client\nsigning_key\nencryption_key\n",
    );
    for side in ["ca", "server", "client"] {
        let (key, cert) = (format!("{side}-key.pem"), format!("{side}-cert.pem"));
        let info = format!("{side}.info");
        certtool(&[
            "--generate-privkey",
            "--key-type=rsa",
            "--bits=2048",
            "--outfile",
            &key,
        ]);
        let mut arguments = vec![
            "--load-privkey",
            &key,
            "--template",
            &info,
            "--outfile",
            &cert,
        ];
        if side == "ca" {
            arguments.push("--generate-self-signed");
        } else {
            arguments.push("--generate-certificate");
            arguments.extend(["--load-ca-certificate", "ca-cert.pem"]);
            arguments.extend(["--load-ca-privkey", "ca-key.pem"]);
        }
        certtool(&arguments);
    }
}

/// Volumes are served under TLS to libnbd's tools and read by our own client from nbdkit under
/// TLS; who does without, has no certificate, or asks the wrong server is refused.
#[test]
fn connections_may_be_secret() {
    let golden = Golden::shared();
    let scratch = Scratch::new("network");
    let keys = scratch.join("pki");
    certificates(&keys);
    let folder = keys.display().to_string();
    let socket = scratch.join("out.sock");
    let tool = ashlar()
        .arg("--devices")
        .arg(golden.folder())
        .args([
            "serve",
            "--readonly",
            "vg0/stripe3",
            "--tls=require",
            "--tls-verify-peer",
        ])
        .args(["--tls-certificates", &folder])
        .arg(format!("--nbd=unix:{}", socket.display()));
    let serving = Daemon::start(tool, || UnixStream::connect(&socket).is_ok());
    let place = format!("/vg0/stripe3?socket={}", socket.display());
    let secret = format!("nbds+unix://{place}&tls-certificates={folder}");
    let copy = scratch.join("copy");
    Tool::new("nbdcopy").arg(&secret).arg(&copy).succeed();
    let copied = fs::read(&copy).expect("a copy");
    assert_eq!(sha256(&copied), Golden::volume("stripe3").sha256);
    let info = Tool::new("nbdinfo")
        .arg("--json")
        .arg(&secret)
        .succeed()
        .text();
    assert!(info.contains("\"TLS\": true"), "{info}");
    Tool::new("nbdinfo")
        .arg(format!("nbd+unix://{place}"))
        .exit(1);
    let strangers = scratch.join("strangers");
    certificates(&strangers);
    let stranger = format!(
        "nbds+unix://{place}&tls-certificates={}",
        strangers.display()
    );
    Tool::new("nbdinfo").arg(stranger).exit(1);
    // Our own client, refused for its lack of secrecy.
    let told = ashlar()
        .args(["--devices", &format!("nbd+unix://{place}"), "pvs"])
        .exit(5);
    assert_told(
        &told,
        "nbd+unix:///vg0/stripe3",
        "write nbds:// instead of nbd://",
    );
    drop(serving);

    let arguments = ["--tls=require", "--tls-verify-peer"];
    let pki = format!("--tls-certificates={folder}");
    let images = format!("dir={}", golden.folder().display());
    let mut all = arguments.to_vec();
    all.extend([pki.as_str(), "file", images.as_str()]);
    let server = Server::start(scratch.join("disks.sock"), &all);
    let list: Vec<String> = addresses(&server, &golden)
        .iter()
        .map(|uri| uri.replacen("nbd", "nbds", 1))
        .collect();
    let read = on(&list)
        .args(["--tls-certificates", &folder, "cat", "vg0/stripe3"])
        .succeed();
    assert_eq!(sha256(&read.stdout), Golden::volume("stripe3").sha256);
    let others = strangers.display().to_string();
    let told = on(&list[..1])
        .args(["--tls-certificates", &others, "pvs"])
        .exit(5);
    assert_told(&told, &list[0], "cannot agree on TLS");
    let told = on(&[list[0].clone() + "&tls-hostname=example.org"])
        .args(["--tls-certificates", &folder, "pvs"])
        .exit(5);
    assert_told(&told, &list[0], "cannot agree on TLS");
    // A server that would rather do without is no reason to.
    let server = golden_server(&scratch, golden.folder(), &["--tls=off"]);
    let uri = server.uri("a0.img").replacen("nbd", "nbds", 1);
    let told = ashlar()
        .args(["--tls-certificates", &folder, "--devices", &uri, "pvs"])
        .exit(5);
    assert_told(&told, &uri, "it does not speak TLS");
}

/// Nothing is served in plain text to whom it was not meant: clients that are verified have to
/// speak TLS, and a server's certificates are used or refused; a socket is for its owner, whatever
/// the umask; and it is said when a key or a port is open to everybody.
#[test]
fn only_those_are_let_in_who_were_meant() {
    let golden = Golden::shared();
    let scratch = Scratch::new("network");
    let keys = scratch.join("pki");
    certificates(&keys);
    let folder = format!("--tls-certificates={}", keys.display());
    let socket = scratch.join("out.sock");
    let program = ashlar_path().display().to_string();
    // A shell, for its umask.
    let serve = |mask: &str, arguments: &[&str]| {
        let line = format!("umask {mask}; exec \"$@\"");
        let tool = Tool::new("sh").args(["-c", &line, "sh", &program, "--devices"]);
        let tool = tool.env("ASHLAR_RUNTIME_DIR", scratch.join("run"));
        let tool = tool
            .arg(golden.folder())
            .args(["serve", "-r", "vg0/stripe3"]);
        tool.arg(format!("--nbd=unix:{}", socket.display()))
            .args(arguments)
    };
    let refused = [
        (
            vec!["--tls=on", "--tls-verify-peer", &folder],
            "needs --tls require",
        ),
        (
            vec!["--tls=off", "--tls-verify-peer", &folder],
            "needs --tls require",
        ),
        (vec![&folder], "say --tls require, or --tls off"),
        (
            vec!["--tls-verify-peer"],
            "name the directory of certificates",
        ),
    ];
    for (arguments, why) in refused {
        let told = serve("022", &arguments).exit(3).complaints();
        assert!(told.contains(why), "{arguments:?}: {told}");
        assert!(!socket.exists(), "{arguments:?} made a socket");
    }

    let place = format!("/vg0/stripe3?socket={}", socket.display());
    let key = keys.join("server-key.pem");
    let listens = || UnixStream::connect(&socket).is_ok();
    let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o777;
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("permissions");
    let arguments = ["--tls-verify-peer", &folder, "--nbd=127.0.0.1:0"];
    let serving = Daemon::start(serve("000", &arguments), listens);
    assert_eq!(mode(&socket), 0o600, "the socket is its owner's");
    let info = |uri: String| Tool::new("nbdinfo").arg(uri).run();
    let plain = info(format!("nbd+unix://{place}"));
    assert_eq!(plain.code, Some(1), "{plain}");
    let bare = scratch.join("bare");
    fs::create_dir(&bare).expect("a directory");
    fs::copy(keys.join("ca-cert.pem"), bare.join("ca-cert.pem")).expect("a copy");
    let secret = |folder: &Path| {
        let folder = folder.display();
        format!("nbds+unix://{place}&tls-certificates={folder}")
    };
    let nameless = info(secret(&bare));
    assert_eq!(nameless.code, Some(1), "{nameless}");
    let known = info(secret(&keys));
    assert_eq!(known.code, Some(0), "{known}");
    let told = serving.stop();
    assert!(told.contains("may read the key"), "{told}");
    assert!(!told.contains("is open to"), "{told}");

    let serving = Daemon::start(serve("077", &["--nbd=127.0.0.1:0"]), listens);
    assert_eq!(mode(&socket), 0o600);
    let told = serving.stop();
    assert!(told.contains("every user of this machine"), "{told}");
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
    let read = || {
        let copy = scratch.join("copy");
        Tool::new("nbdcopy").arg(&uri).arg(copy).run()
    };
    assert_eq!(read().code, Some(0));
    // Away for a moment: nobody notices.
    server.restart();
    assert_eq!(read().code, Some(0));
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
    assert_ne!(read().code, Some(0));
    drop(serving);
}

/// A server that comes back with another disk of the same size, or with an older copy of the same
/// disk, gets none of the writes: neither those that are repeated nor new ones.
#[test]
fn another_disk_is_not_written_to() {
    for is_older in [false, true] {
        let scratch = Scratch::new("network");
        let disks = scratch.join("disks");
        fs::create_dir(&disks).expect("a directory");
        let image = |name: &str| disks.join(format!("{name}.img"));
        for name in ["a", "b"] {
            scratch.sparse(&format!("disks/{name}.img"), 64 << 20);
            let group = format!("v{name}");
            let make = |words: &[&str]| {
                let tool = ashlar().arg("--devices").arg(image(name));
                tool.args(words).succeed();
            };
            make(&["vgcreate", &group, &image(name).display().to_string()]);
            make(&["lvcreate", "-y", "-n", "d", "-L", "16m", &group]);
        }
        let folder = format!("dir={}", disks.display());
        let mut server = Server::start(scratch.join("disks.sock"), &["file", &folder]);
        let runtime = scratch.join("run");
        let used = [server.uri("a.img")];
        let client = || {
            let tool = on(&used).env("ASHLAR_RUNTIME_DIR", &runtime);
            tool.arg("--assume-exclusive")
        };
        let socket = scratch.join("out.sock");
        let tool = client().args(["serve", "va/d"]);
        let tool = tool.arg(format!("--nbd=unix:{}", socket.display()));
        let serving = Daemon::start(tool, || UnixStream::connect(&socket).is_ok());
        let uri = format!("nbd+unix:///va/d?socket={}", socket.display());
        let write = || {
            let commands = ["-c", "write -P 69 0 64k", "-c", "flush"];
            let tool = Tool::new("qemu-io").args(["-f", "raw", &uri]);
            tool.args(commands).run()
        };
        assert_eq!(write().code, Some(0));
        let other = image(if is_older { "old" } else { "b" });
        if is_older {
            fs::copy(image("a"), &other).expect("a copy");
            client().args(["lvextend", "-L+4m", "va/d"]).succeed();
        }
        // It is still the same disk, whatever was committed to it.
        server.restart();
        let kept = write();
        assert_eq!(kept.code, Some(0), "{kept}");
        server.kill();
        fs::rename(&other, image("a")).expect("another disk");
        let before = sha256(&fs::read(image("a")).expect("it is there"));
        server.restart();
        let refused = write();
        assert_ne!(refused.code, Some(0), "{refused}");
        let after = sha256(&fs::read(image("a")).expect("it is there"));
        assert_eq!(before, after, "the other disk was written to");
        drop(serving);
        assert_eq!(after, sha256(&fs::read(image("a")).expect("it is there")));
    }
}

/// A mirror that loses an image which is not the first one goes on, and the process that serves it
/// says at once which image that is.
#[test]
fn a_lost_image_is_told() {
    let scratch = Scratch::new("network");
    let disks = scratch.join("disks");
    fs::create_dir(&disks).expect("a directory");
    let first = scratch.sparse("first.img", 64 << 20).display().to_string();
    scratch.sparse("disks/second.img", 64 << 20);
    let broken = scratch.join("broken");
    let folder = format!("dir={}", disks.display());
    let fault = format!("error-file={}", broken.display());
    let rate = ["--filter=error", "error-pwrite-rate=100%"];
    let arguments = [rate[0], "file", &folder, rate[1], &fault];
    let server = Server::start(scratch.join("disks.sock"), &arguments);
    let second = server.uri("second.img");
    let used = [first.clone(), second.clone()];
    let tool = || {
        let tool = on(&used).env("ASHLAR_RUNTIME_DIR", scratch.join("run"));
        tool.arg("--assume-exclusive")
    };
    tool().args(["vgcreate", "vg", &first, &second]).succeed();
    let create = ["lvcreate", "-y", "--type", "mirror", "-m1", "--mirrorlog"];
    let create = tool().args(create).args(["core", "-L4m"]);
    create.args(["-n", "m", "vg", &first, &second]).succeed();
    let socket = scratch.join("out.sock");
    let serve = tool().args(["serve", "vg/m"]);
    let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
    let serving = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
    fs::write(&broken, "").expect("a file");
    let uri = format!("nbd+unix:///vg/m?socket={}", socket.display());
    let write = Tool::new("qemu-io").args(["-f", "raw", &uri]);
    write.args(["-c", "write -f 0 64k"]).succeed();
    lost_image_is_reported(&tool);
    let told = serving.stop();
    assert!(
        told.contains("WARNING: vg/m lost its image m_mimage_1"),
        "{told}"
    );
}

/// Reports name the image that was lost, by stock's words where stock has them.
fn lost_image_is_reported(tool: &dyn Fn() -> Tool) {
    let text = |words: &[&str]| tool().args(words).succeed().text();
    let fields = "lv_name,lv_attr,lv_health_status,copy_percent";
    let report = text(&[
        "lvs",
        "-a",
        "--noheadings",
        "--separator",
        "|",
        "-o",
        fields,
    ]);
    let lines: Vec<Vec<&str>> = report
        .lines()
        .map(|line| line.trim().split('|').collect())
        .collect();
    let [first, second, mirror] = [0, 1, 2].map(|at| {
        let names = ["[m_mimage_0]", "[m_mimage_1]", "m"];
        let line = lines.iter().find(|line| line[0] == names[at]);
        &line.unwrap_or_else(|| panic!("no {} in {report}", names[at]))[1..]
    });
    assert_eq!(mirror[..2], ["mwi-aom-r-", "refresh needed"], "{report}");
    let copied: f64 = mirror[2].parse().expect("a percentage");
    assert!(copied < 100.0, "{report}");
    assert_eq!(first, ["Iwi-aom---", "", ""], "{report}");
    assert_eq!(second, ["Iwi-aom-r-", "refresh needed", ""], "{report}");
    let owners = text(&["owners"]);
    assert!(owners.contains(" m_mimage_1 lost"), "{owners}");
    let json = text(&["owners", "--reportformat", "json_std"]);
    let row = format!(
        "\"copy_percent\":{}, \"lv_health_status\":\"m_mimage_1 lost\"",
        mirror[2]
    );
    assert!(json.contains(&row), "{json}");
}

/// A mirror whose copies are made equal shows how much of it is done, and how its images are; one
/// that is done shows all of it.
#[test]
fn a_mirror_shows_how_much_is_copied() {
    let scratch = Scratch::new("network");
    let disks = scratch.join("disks");
    fs::create_dir(&disks).expect("a folder");
    let first = scratch.sparse("first.img", 64 << 20).display().to_string();
    scratch.sparse("disks/second.img", 64 << 20);
    let folder = format!("dir={}", disks.display());
    // The copy takes many seconds, however fast the machine is: longer than reports on a slow one.
    let slow = ["--filter=delay", "file", &folder, "delay-write=300ms"];
    let server = Server::start(scratch.join("disks.sock"), &slow);
    let second = server.uri("second.img");
    let used = [first.clone(), second.clone()];
    let tool = || {
        let tool = on(&used).env("ASHLAR_RUNTIME_DIR", scratch.join("run"));
        tool.arg("--assume-exclusive")
    };
    tool().args(["vgcreate", "vg", &first, &second]).succeed();
    let create = ["lvcreate", "-y", "--type", "mirror", "-m1", "--mirrorlog"];
    let create = tool().args(create).args(["core", "-L16m", "-R512k"]);
    create.args(["-n", "m", "vg", &first, &second]).succeed();
    let socket = scratch.join("out.sock");
    let serve = tool().args(["serve", "vg/m"]);
    let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
    let serving = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
    let fields = ["lvs", "-a", "--noheadings", "-o", "copy_percent,lv_attr"];
    let report = || tool().args(fields).succeed().text();
    let begun = report();
    let (copied, attr) = begun
        .lines()
        .find_map(|line| line.trim().split_once(' '))
        .expect("the mirror has both");
    let copied: f64 = copied.parse().expect("a percentage");
    assert!(copied < 100.0, "{begun}");
    assert_eq!(attr.trim(), "mwi-aom---", "nothing is lost: {begun}");
    assert_eq!(begun.matches("Iwi-aom---").count(), 2, "{begun}");
    let owners = tool().arg("owners").succeed().text();
    assert!(owners.contains(" m_mimage_1 out of sync"), "{owners}");
    let deadline = Instant::now() + LIMIT;
    loop {
        let now = report();
        let words: Vec<&str> = now.split_whitespace().take(2).collect();
        let good = now.matches("iwi-aom---").count();
        if words == ["100.00", "mwi-aom---"] && good == 2 {
            break;
        }
        assert!(Instant::now() < deadline, "it is never in sync: {now}");
    }
    let owners = tool().arg("owners").succeed().text();
    assert!(!owners.contains("out of sync"), "{owners}");
    serving.stop();
}

/// While a change waits for a disk that takes its time, reports say what is served, at once.
#[test]
fn reports_do_not_wait_for_a_drain() {
    let scratch = Scratch::new("network");
    let disks = scratch.join("disks");
    fs::create_dir(&disks).expect("a folder");
    let fast = scratch.sparse("fast.img", 64 << 20).display().to_string();
    let slow = scratch.sparse("disks/slow.img", 64 << 20);
    let slow = slow.display().to_string();
    let settings = |tool: Tool| tool.env("ASHLAR_RUNTIME_DIR", scratch.join("run"));
    let plain = |words: &[&str]| {
        let tool = ashlar().args(["--devices", &fast, "--devices", &slow]);
        settings(tool).args(words).succeed();
    };
    // The metadata is on the other one.
    plain(&["pvcreate", "--metadatacopies", "0", &slow]);
    plain(&["vgcreate", "vg", &fast, &slow]);
    plain(&["lvcreate", "-y", "-L16m", "-n", "data", "vg", &slow]);
    let folder = format!("dir={}", disks.display());
    let delay = ["--filter=delay", "file", &folder, "delay-write=12"];
    let server = Server::start(scratch.join("disks.sock"), &delay);
    let used = [fast.clone(), server.uri("slow.img")];
    let tool = || settings(on(&used).arg("--assume-exclusive"));
    let socket = scratch.join("out.sock");
    let serve = tool().args(["serve", "vg/data"]);
    let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
    let serving = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
    let uri = format!("nbd+unix:///vg/data?socket={}", socket.display());
    thread::scope(|scope| {
        let write = Tool::new("qemu-io").args(["-f", "raw", "-c", "write 0 4k", &uri]);
        let written = scope.spawn(|| write.succeed());
        // The request is under way before the change waits for it.
        thread::sleep(Duration::from_secs(1));
        let reduce = tool().args(["lvreduce", "-y", "-L8m", "vg/data"]);
        let changed = scope.spawn(|| reduce.succeed());
        thread::sleep(Duration::from_secs(1));
        let mut told = 0;
        while !changed.is_finished() {
            let owners = tool().arg("owners").succeed();
            assert!(owners.text().contains(" data "), "{owners}");
            assert_eq!(owners.complaints(), "", "{owners}");
            let lvs = tool().args(["lvs", "--noheadings", "-o", "lv_attr", "vg/data"]);
            let lvs = lvs.succeed();
            assert!(lvs.text().contains("-wi-ao"), "{lvs}");
            told += usize::from(!changed.is_finished());
        }
        assert!(
            told >= 3,
            "reports were made {told} times before the disk answered"
        );
        changed.join().expect("it is changed");
        written.join().expect("it is written");
    });
    serving.stop();
}
