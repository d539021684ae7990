//! Volumes over NBD, read by the clients of others: libnbd's tools, qemu's, and fio.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tests::{Daemon, Golden, Group, LIMIT, Scratch, Tool, ashlar, ashlar_path, sha256};

/// The volumes whose types are served.
const SERVED: &[&str] = &[
    "linear1", "linear2", "stripe3", "stripe2x", "mirror2", "ext4",
];

/// `ashlar serve` on a unix socket, for as long as this lives.
struct Served {
    daemon: Daemon,
    socket: PathBuf,
    scratch: Scratch,
}

impl Served {
    fn start(disks: &Path, volumes: &[&str], io: &str) -> Self {
        let scratch = Scratch::new("nbd");
        let socket = scratch.join("s");
        let tool = serve(disks, volumes)
            .arg(format!("--nbd=unix:{}", socket.display()))
            .env("ASHLAR_IO", io);
        let daemon = Daemon::start(tool, || UnixStream::connect(&socket).is_ok());
        Self {
            daemon,
            socket,
            scratch,
        }
    }

    fn uri(&self, volume: &str) -> String {
        format!("nbd+unix:///{volume}?socket={}", self.socket.display())
    }
}

fn serve(disks: &Path, volumes: &[&str]) -> Tool {
    ashlar()
        .arg("--devices")
        .arg(disks)
        .args(["serve", "--readonly"])
        .args(volumes)
}

fn hash(path: &Path) -> String {
    sha256(&fs::read(path).expect("what was copied can be read"))
}

/// nbdcopy, with several connections, gets every volume of a group as the kernel would show it,
/// whichever engine reads the disks.
#[test]
fn nbdcopy_copies_what_the_manifest_says() {
    let golden = Golden::shared();
    for io in ["", "threads"] {
        let served = Served::start(golden.folder(), &["vg0"], io);
        for name in SERVED {
            let copy = served.scratch.join(name);
            Tool::new("nbdcopy")
                .arg("--connections=4")
                .arg(served.uri(&format!("vg0/{name}")))
                .arg(&copy)
                .succeed();
            let expected = Golden::volume(name);
            let size = fs::metadata(&copy).expect("a copy").len();
            assert_eq!((size, hash(&copy)), (expected.size, expected.sha256));
        }
    }
}

/// nbdinfo lists every volume that can be served, and its maps cover whole volumes.
#[test]
fn nbdinfo_lists_and_maps() {
    let golden = Golden::shared();
    let served = Served::start(golden.folder(), &["vg0"], "");
    let list = Tool::new("nbdinfo")
        .args(["--list", "--json", &served.uri("")])
        .succeed()
        .text();
    for name in SERVED {
        assert!(
            list.contains(&format!("\"export-name\": \"vg0/{name}\"")),
            "{list}"
        );
        let uri = served.uri(&format!("vg0/{name}"));
        let map = Tool::new("nbdinfo").args(["--map", &uri]).succeed().text();
        let mut end = 0;
        for line in map.lines() {
            let mut words = line.split_whitespace();
            let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
            assert_eq!(number(), Some(end), "{map}");
            end += number().expect("a length");
        }
        assert_eq!(end, Golden::volume(name).size);
    }
    assert!(list.contains("\"is_read_only\": true"), "{list}");
    assert!(list.contains("vg0/raid5\""), "{list}");
    assert!(!list.contains("vg0/thin1\""), "{list}");
}

/// A tool of libnbd starts the server itself and hands it a listening socket.
#[test]
fn nbdcopy_starts_the_server_itself() {
    let golden = Golden::shared();
    let scratch = Scratch::new("activation");
    let copy = scratch.join("copy");
    Tool::new("nbdcopy")
        .args(["--", "["])
        .arg(ashlar_path())
        .arg("--devices")
        .arg(golden.folder())
        .args(["serve", "--readonly", "vg0/stripe2x", "]"])
        .arg(&copy)
        .succeed();
    assert_eq!(hash(&copy), Golden::volume("stripe2x").sha256);
}

/// qemu reads the same, finds no difference, and may not write.
#[test]
fn qemu_compares_reads_and_may_not_write() {
    let golden = Golden::shared();
    let served = Served::start(golden.folder(), &["vg0/linear1", "vg0/stripe3"], "");
    for name in ["linear1", "stripe3"] {
        let uri = served.uri(&format!("vg0/{name}"));
        let copy = served.scratch.join(name);
        Tool::new("qemu-img")
            .args(["convert", "-f", "raw", "-O", "raw", &uri])
            .arg(&copy)
            .succeed();
        assert_eq!(hash(&copy), Golden::volume(name).sha256);
        Tool::new("qemu-img")
            .args(["compare", "-f", "raw", "-F", "raw", &uri])
            .arg(&copy)
            .succeed();
        let read = [
            "-r",
            "-f",
            "raw",
            "-c",
            "read 100 5000",
            "-c",
            "flush",
            &uri,
        ];
        Tool::new("qemu-io").args(read).succeed();
        let write = ["-f", "raw", "-c", "write 0 512", &uri];
        Tool::new("qemu-io").args(write).exit(1);
        assert_eq!(hash(&copy), Golden::volume(name).sha256);
    }
}

/// fio, with 32 reads in flight, finds in every block of a volume what it wrote to the disk.
#[test]
fn fio_verifies_known_content() {
    let golden = Golden::copy();
    // kernel-view.txt: linear1 is 8 MiB, from 1 MiB on, of the first disk.
    let pattern = ["--verify=pattern", "--verify_pattern=0xdeadface12345678"];
    Tool::new("fio")
        .args(["--name=write", "--offset=1m", "--size=8m", "--bs=64k"])
        .args(["--rw=write", "--do_verify=0", "--verify_state_save=0"])
        .args(pattern)
        .arg(format!("--filename={}", golden.image(0).display()))
        .succeed();
    let served = Served::start(golden.folder(), &["vg0/linear1"], "");
    for (bs, rw) in [("4k", "randread"), ("128k", "read")] {
        Tool::new("fio")
            .args(["--name=read", "--ioengine=nbd", "--size=8m"])
            .args(["--iodepth=32", "--verify_state_save=0"])
            .arg(format!("--uri={}", served.uri("vg0/linear1")))
            .arg(format!("--bs={bs}"))
            .arg(format!("--rw={rw}"))
            .args(pattern)
            .succeed();
    }
}

/// A command runs with the address at hand and decides how `serve` ends.
#[test]
fn a_command_runs_beside_its_volume() {
    let golden = Golden::shared();
    let run = |line| serve(golden.folder(), &["vg0/ext4"]).args(["--run", line]);
    let size = run("nbdinfo --size $uri && test -S $unixsocket").succeed();
    assert_eq!(size.text().trim(), Golden::volume("ext4").size.to_string());
    run("exit 7").exit(7);
}

/// What cannot be served is told, by name, with what to do about it.
#[test]
fn mistakes_are_told() {
    let golden = Golden::shared();
    let complaints = |volume, code| {
        let tool = serve(golden.folder(), &[volume]).arg("--nbd=unix:/nowhere/s");
        tool.exit(code).complaints()
    };
    assert!(complaints("vg0/nothing", 5).contains("vg0/nothing"));
    assert!(complaints("vg0/thin1", 5).contains("thin, which is not served yet"));
    assert!(complaints("vg0/linear1", 5).contains("/nowhere/s"));
    let nowhere = serve(golden.folder(), &["vg0/linear1"]).exit(3);
    assert!(nowhere.complaints().contains("--nbd"));
    serve(golden.folder(), &[]).exit(3);
}

/// A server serves on TCP, survives clients that break off, and removes its socket when told to
/// end.
#[test]
fn the_server_outlives_clients_and_ends_cleanly() {
    let golden = Golden::shared();
    let served = Served::start(golden.folder(), &["vg0/linear1"], "");
    for _ in 0..3 {
        let mut garbage = UnixStream::connect(&served.socket).expect("a connection");
        std::io::Write::write_all(&mut garbage, &[0xff; 4096]).expect("garbage is taken");
    }
    let uri = served.uri("vg0/linear1");
    let broken = format!("nbdcopy {uri} - | head -c 1000000 >/dev/null");
    Tool::new("sh").args(["-c", &broken]).run();
    let copy = served.scratch.join("copy");
    Tool::new("nbdcopy").arg(&uri).arg(&copy).succeed();
    assert_eq!(hash(&copy), Golden::volume("linear1").sha256);
    let Served {
        daemon,
        socket,
        scratch: _scratch,
    } = served;
    assert_eq!(daemon.stop(), "");
    assert!(!socket.exists(), "the socket is removed");
}

/// A client that asks for much and reads nothing holds no more than its part of the server's
/// memory, however many there are, and the next client is answered.
#[test]
fn many_greedy_clients_leave_room_for_others() {
    const SIZE: u64 = 36 << 20;
    // 512 MiB that they share, 4 MiB for each, and the program.
    const CLIENTS: usize = 120;
    const MEMORY_KIB_MAX: u64 = 1280 << 10;
    let group = Group::new("nbd-greedy", 1, 64 << 20);
    group.create("data", &["-L36m"]);
    let socket = group.join("socket");
    let serve = group.ashlar().args(["serve", "vg0/data", "--nbd"]);
    let serve = serve.arg(format!("unix:{}", socket.display()));
    let server = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
    let connect = || {
        let mut client = UnixStream::connect(&socket).expect("it listens");
        let name = "vg0/data";
        client.read_exact(&mut [0; 18]).expect("a greeting");
        let mut options = 3_u32.to_be_bytes().to_vec();
        options.extend(b"IHAVEOPT\0\0\0\x01");
        options.extend((name.len() as u32).to_be_bytes());
        options.extend(name.as_bytes());
        client.write_all(&options).expect("an option");
        let mut reply = [0; 10];
        client.read_exact(&mut reply).expect("the export");
        assert_eq!(reply[..8], SIZE.to_be_bytes());
        client
    };
    let ask = |client: &mut UnixStream, len: u32| {
        let mut request = 0x2560_9513_u32.to_be_bytes().to_vec();
        // Read, from the start, whatever the cookie.
        request.extend([0; 20]);
        request.extend(len.to_be_bytes());
        client.write_all(&request).expect("a request");
    };
    let mut greedy: Vec<UnixStream> = (0..CLIENTS).map(|_| connect()).collect();
    for client in &mut greedy {
        for _ in 0..3 {
            ask(client, 32 << 20);
        }
    }
    let status = || {
        let path = format!("/proc/{}/status", server.pid());
        let status = fs::read_to_string(path).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.expect("a field").trim().trim_end_matches(" kB");
        kib.parse::<u64>().expect("a number")
    };
    // Until those have it who get it.
    let deadline = Instant::now() + LIMIT;
    while status() < MEMORY_KIB_MAX / 4 {
        assert!(Instant::now() < deadline, "{} KiB", status());
        thread::sleep(Duration::from_millis(20));
    }
    let mut other = connect();
    ask(&mut other, 1 << 20);
    let mut answer = vec![0; 16 + (1 << 20)];
    other.read_exact(&mut answer).expect("an answer");
    assert_eq!(answer[4..8], [0; 4], "no error");
    thread::sleep(Duration::from_millis(500));
    assert!(status() < MEMORY_KIB_MAX, "{} KiB", status());
}
