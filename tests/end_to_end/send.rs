//! Streams of volumes, sent and received; and what NBD clients are told of changes.

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use block::{BlockingDevice, Range};
use rustix::process::{Pid, Signal, kill_process};
use tests::{Daemon, Golden, Group, LIMIT, Scratch, Tool, ashlar, ashlar_path, sha256};

use crate::owner::World;

const MIB: u64 = 1 << 20;

fn on(golden: &Golden) -> Tool {
    ashlar().arg("--devices").arg(golden.folder())
}

fn sent(golden: &Golden, words: &[&str]) -> Vec<u8> {
    on(golden).arg("send").args(words).succeed().stdout
}

/// An empty folder beside a file: the receiver has no disks.
fn no_disks(target: &Path) -> PathBuf {
    let folder = target.with_file_name("none");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// A command that receives into a file.
fn receive(target: &Path) -> Tool {
    ashlar()
        .args(["receive", "--devices"])
        .arg(no_disks(target))
        .arg(target)
}

/// A group whose volume `data` has the snapshots `monday` and `tuesday`, which nobody may write;
/// between them, and after the second one, a part of it was written.
fn week(name: &str) -> Group {
    let group = Group::new(name, 2, 96 * MIB);
    group.create("data", &["-L", "24M"]);
    let fill = |byte: u8, at: u64, len: u64| {
        let socket = group.join("fill");
        let serve = group.ashlar().args(["serve", "vg0/data"]);
        let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
        let server = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
        let uri = format!("nbd+unix:///vg0/data?socket={}", socket.display());
        let device = nbd::client::NbdDevice::open(&uri).expect("it is served");
        let mut client = BlockingDevice::open(&device).expect("a queue");
        let bytes: Vec<u8> = (0..len).map(|at| (at / 3 % 250) as u8 ^ byte).collect();
        client.write_at(&bytes, at).expect("is written");
        client.flush().expect("is flushed");
        drop(client);
        server.stop();
    };
    fill(1, MIB, 12 * MIB);
    let snapshot = |name: &str| {
        let make = group
            .ashlar()
            .args(["lvcreate", "-s", "-L", "32M", "-n", name]);
        make.arg("vg0/data").succeed();
        let volume = format!("vg0/{name}");
        group.ashlar().args(["lvchange", "-pr", &volume]).succeed();
    };
    snapshot("monday");
    fill(2, 2 * MIB, 3 * MIB);
    snapshot("tuesday");
    fill(3, 20 * MIB, MIB);
    group
}

fn of_group(group: &Group, words: &[&str]) -> Vec<u8> {
    group.ashlar().args(words).succeed().stdout
}

#[test]
fn golden_snapshots_are_sent() {
    // Proves: a whole stream makes a file what `cat` prints, an incremental one brings it to
    // another snapshot of the origin and to the origin itself, and carries less; a plain volume,
    // also a mirror, is sent whole. Zeros are not carried.
    let golden = Golden::shared();
    let scratch = Scratch::new("send");
    let file = scratch.join("copy");
    let hash = |path: &Path| sha256(&fs::read(path).expect("a file"));
    let whole = sent(&golden, &["vg0/snap1"]);
    receive(&file).input(whole.clone()).succeed();
    assert_eq!(hash(&file), Golden::volume("snap1").sha256);
    for (since, of) in [("vg0/snap1", "vg0/snap2"), ("vg0/snap2", "vg0/origin")] {
        let stream = sent(&golden, &["--since", since, of]);
        assert!(stream.len() < whole.len(), "{} bytes", stream.len());
        receive(&file).input(stream).succeed();
        let name = of.trim_start_matches("vg0/");
        assert_eq!(hash(&file), Golden::volume(name).sha256, "{of}");
    }
    for volume in ["linear1", "mirror2", "stripe3"] {
        let stream = sent(&golden, &[&format!("vg0/{volume}")]);
        receive(&file).input(stream).succeed();
        assert_eq!(hash(&file), Golden::volume(volume).sha256, "{volume}");
    }
    let plan = on(&golden).args(["send", "-t", "--json", "-i", "vg0/snap1", "vg0/snap2"]);
    let plan = plan.succeed().text();
    assert!(plan.contains("\"resumable\":false"), "{plan}");
    for (words, code) in [
        (&["--since", "vg0/linear1", "vg0/origin"][..], 5),
        (&["--since", "vg0/snap1", "vg0/linear1"], 5),
        (&["--json", "vg0/snap1"], 3),
        (&["vg0/snap1", "vg0/snap2"], 3),
        (&["--resume", "ashlar1:no"], 5),
    ] {
        let refused = on(&golden).arg("send").args(words).exit(code);
        assert!(refused.stdout.is_empty(), "{refused}");
    }
}

#[test]
fn only_the_next_moment_follows() {
    // Proves: an incremental stream is refused where the target holds another moment, nothing, or
    // was changed since, and a broken one before a byte of it is written; the target is as it was.
    // A volume must be large enough, and keeps what lies behind the stream.
    let group = week("follows");
    let whole = of_group(&group, &["send", "vg0/monday"]);
    let next = of_group(&group, &["send", "-i", "vg0/monday", "vg0/tuesday"]);
    let last = of_group(&group, &["send", "-i", "vg0/tuesday", "vg0/data"]);
    let cat = |volume: &str| of_group(&group, &["cat", volume]);
    let (monday, tuesday) = (cat("vg0/monday"), cat("vg0/tuesday"));
    assert!(monday != tuesday && tuesday != cat("vg0/data"));
    let file = group.join("copy");
    let refused = receive(&file).input(next.clone()).exit(5);
    assert!(
        refused.complaints().contains("begin with a whole one"),
        "{refused}"
    );
    receive(&file).input(whole.clone()).succeed();
    let refused = receive(&file).input(last.clone()).exit(5);
    assert!(
        refused.complaints().contains("from another moment"),
        "{refused}"
    );
    assert!(fs::read(&file).expect("a file") == monday);

    let mut broken = next.clone();
    let middle = broken.len() / 2;
    broken[middle] ^= 1;
    let refused = receive(&file).input(broken).exit(5);
    assert!(
        refused.complaints().contains("the stream is damaged"),
        "{refused}"
    );
    receive(&file).input(next.clone()).succeed();
    assert!(fs::read(&file).expect("a file") == tuesday);

    let mut content = tuesday.clone();
    content[4096] ^= 1;
    fs::write(&file, &content).expect("a file");
    let refused = receive(&file).input(last.clone()).exit(5);
    assert!(
        refused.complaints().contains("was changed since"),
        "{refused}"
    );
    assert!(fs::read(&file).expect("a file") == content);

    // Into volumes.
    group.create("copy", &["-L", "28M"]);
    group.create("small", &["-L", "20M"]);
    let (state, other) = (group.join("state"), group.join("other"));
    let into = |state: &Path, volume: &str, stream: &[u8]| {
        let receive = group.ashlar().arg("receive").arg("--state").arg(state);
        receive.arg(volume).input(stream.to_vec())
    };
    let tail = vec![7; 28 << 20];
    group
        .ashlar()
        .args(["cp", "/dev/stdin", "vg0/copy"])
        .input(tail.clone())
        .succeed();
    into(&state, "vg0/copy", &whole).succeed();
    into(&state, "vg0/copy", &next).succeed();
    into(&state, "vg0/copy", &last).succeed();
    let copy = cat("vg0/copy");
    assert!(copy[..24 << 20] == cat("vg0/data") && copy[24 << 20..] == tail[24 << 20..]);
    let refused = into(&other, "vg0/small", &whole).exit(5);
    assert!(refused.complaints().contains("do not fit"), "{refused}");
    assert!(!other.exists(), "nothing was begun");
    let refused = into(&state, "vg0/small", &whole).exit(5);
    assert!(
        refused.complaints().contains("which is not the target"),
        "{refused}"
    );
    group
        .ashlar()
        .args(["receive", "vg0/copy"])
        .input(whole)
        .exit(3);
}

#[test]
fn what_was_interrupted_goes_on() {
    // Proves: a stream that ends early is told by exit status 6 and a token, with which the sender
    // sends only what is missing, both parts together no more than the whole and a head; and what
    // comes of it is the moment. The rest follows nothing else, and a token of a snapshot that may
    // be written is not given.
    let group = week("goes-on");
    let tuesday = of_group(&group, &["cat", "vg0/tuesday"]);
    let whole = of_group(&group, &["send", "vg0/tuesday"]);
    let file = group.join("copy");
    for cut in [5, whole.len() / 3, whole.len() - 40] {
        let ended = receive(&file).input(whole[..cut].to_vec());
        if cut == 5 {
            ended.exit(5);
            continue;
        }
        let ended = ended.exit(6);
        assert!(ended.complaints().contains("send --resume"), "{ended}");
        let status = receive(&file).args(["--status", "--json"]).succeed().text();
        assert!(status.contains("\"state\":\"interrupted\""), "{status}");
        let token = receive(&file).arg("--resume-token").succeed().text();
        let rest = of_group(&group, &["send", "--resume", token.trim()]);
        // A record of the device's pieces is cut in two at most.
        assert!(
            cut + rest.len() < whole.len() + (1 << 20),
            "{cut}, {}",
            rest.len()
        );
        receive(&group.join("another")).input(rest.clone()).exit(5);
        receive(&file).input(rest.clone()).succeed();
        assert!(fs::read(&file).expect("a file") == tuesday, "cut at {cut}");
        receive(&file).input(rest).exit(5);
        receive(&file).arg("--resume-token").exit(5);
    }
    group
        .ashlar()
        .args(["lvchange", "-prw", "vg0/tuesday"])
        .succeed();
    let passing = of_group(&group, &["send", "vg0/tuesday"]);
    let ended = receive(&file)
        .input(passing[..passing.len() / 2].to_vec())
        .exit(6);
    assert!(ended.complaints().contains("from its beginning"), "{ended}");
    receive(&file).arg("--resume-token").exit(5);
}

#[test]
fn receivers_that_are_killed_go_on() {
    // Proves: a receiver that a signal ends keeps what came, to the last whole record, though its
    // sender says nothing more; one that is killed keeps what its note says; with both, the rest
    // makes the moment.
    let group = week("killed");
    let tuesday = of_group(&group, &["cat", "vg0/tuesday"]);
    let whole = of_group(&group, &["send", "vg0/tuesday"]);
    for (name, signal) in [("term", Signal::TERM), ("kill", Signal::KILL)] {
        let file = group.join(name);
        let mut child = Command::new(ashlar_path())
            .args(["receive", "--devices"])
            .arg(no_disks(&file))
            .arg(&file)
            .env("ASHLAR_RUNTIME_DIR", group.join("run"))
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut input = child.stdin.take().expect("a pipe");
        input
            .write_all(&whole[..whole.len() / 2])
            .expect("is taken");
        let note = group.join(format!("{name}.received"));
        let end = Instant::now() + LIMIT;
        // The pipe is empty: what came was taken, and the note has been there for a moment.
        while !note.exists() || rustix::io::ioctl_fionread(&input).is_ok_and(|left| left > 0) {
            assert!(Instant::now() < end, "nothing was received");
            thread::sleep(Duration::from_millis(20));
        }
        let pid = Pid::from_child(&child);
        kill_process(pid, signal).expect("it runs");
        let status = child.wait().expect("it ends");
        drop(input);
        if signal == Signal::TERM {
            assert_eq!(status.code(), Some(128 + 15));
        }
        let token = receive(&file).arg("--resume-token").succeed().text();
        let rest = of_group(&group, &["send", "--resume", token.trim()]);
        if signal == Signal::TERM {
            assert!(rest.len() < whole.len() / 2 + (2 << 20), "{}", rest.len());
        }
        receive(&file).input(rest).succeed();
        assert!(fs::read(&file).expect("a file") == tuesday, "{name}");
    }
}

/// What `nbdinfo --map` says, as start, length and status.
fn mapped(uri: &str, context: &str) -> Vec<(u64, u64, u64)> {
    let map = Tool::new("nbdinfo")
        .arg(format!("--map={context}"))
        .arg(uri);
    let text = map.succeed().text();
    let number = |word: Option<&str>| word.and_then(|word| word.parse().ok()).expect("a number");
    let lines = text.lines().map(|line| {
        let mut words = line.split_whitespace();
        (
            number(words.next()),
            number(words.next()),
            number(words.next()),
        )
    });
    lines.collect()
}

/// The ranges that `snapshot diff` lists.
fn listed(tool: Tool, volumes: &[&str]) -> Vec<(u64, u64)> {
    let text = tool
        .args(["snapshot", "diff"])
        .args(volumes)
        .succeed()
        .text();
    let lines = text.lines().skip(1).map(|line| {
        let mut words = line
            .split_whitespace()
            .map(|word| word.parse().expect("a number"));
        (
            words.next().expect("a start"),
            words.next().expect("a length"),
        )
    });
    lines.collect()
}

#[test]
fn clients_are_told_what_changed() {
    // Proves: nbdinfo shows by `ashlar:changed` what `snapshot diff` lists, of a snapshot compared
    // with its origin and, with --since, of two snapshots and of the origin; beside
    // `base:allocation`, which stays. What is related to no snapshot has no such context.
    let golden = Golden::shared();
    let scratch = Scratch::new("changed");
    let changed = |map: &[(u64, u64, u64)]| -> Vec<(u64, u64)> {
        let parts = map.iter().filter(|(.., status)| *status == 1);
        parts.map(|(start, len, _)| (*start, *len)).collect()
    };
    for (number, (since, volume, pair)) in [
        (None, "vg0/snap1", &["vg0/snap1"][..]),
        (Some("vg0/snap1"), "vg0/snap2", &["vg0/snap1", "vg0/snap2"]),
        (Some("vg0/snap2"), "vg0/origin", &["vg0/snap2"]),
    ]
    .into_iter()
    .enumerate()
    {
        let socket = scratch.join(format!("s{number}"));
        let serve = on(&golden).args(["serve", "-r", volume, "vg0/linear1"]);
        let serve = serve.args(since.map(|since| format!("--since={since}")));
        let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
        let server = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
        let uri = |volume: &str| format!("nbd+unix:///{volume}?socket={}", socket.display());
        let map = mapped(&uri(volume), "ashlar:changed");
        assert_eq!(
            changed(&map),
            listed(on(&golden), pair),
            "{volume} since {since:?}"
        );
        let size: u64 = map.iter().map(|(_, len, _)| len).sum();
        let name = volume.trim_start_matches("vg0/");
        assert_eq!(size, Golden::volume(name).size);
        assert!(!mapped(&uri(volume), "base:allocation").is_empty());
        // Both at once, for a client that asks for all.
        let all = Tool::new("nbdinfo")
            .args(["--json", &uri(volume)])
            .succeed()
            .text();
        assert!(
            all.contains("\"ashlar:changed\"") && all.contains("\"base:allocation\""),
            "{all}"
        );
        let other = Tool::new("nbdinfo").args(["--json", &uri("vg0/linear1")]);
        assert!(!other.succeed().text().contains("ashlar:changed"));
        drop(server);
    }
    let refused = on(&golden).args(["serve", "-r", "vg0/linear1", "--since=vg0/snap1"]);
    refused.args(["--run", "true"]).exit(5);
}

#[test]
fn what_is_told_of_a_live_origin_grows() {
    // Proves: while an origin is written, what clients are told of it has every write that was
    // answered before they asked, takes nothing back, and does not become all of it.
    let world = World::new();
    let socket = world.scratch.join("s");
    let serve = world
        .ashlar()
        .args(["serve", "vg0/origin", "--since=vg0/snap1"]);
    let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
    let server = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
    let uri = format!("nbd+unix:///vg0/origin?socket={}", socket.display());
    let told = || {
        let map = mapped(&uri, "ashlar:changed").into_iter();
        let changed = map.filter(|(.., status)| *status == 1);
        changed
            .map(|(start, len, _)| Range::new(start, len))
            .collect::<Vec<_>>()
    };
    let device = nbd::client::NbdDevice::open(&uri).expect("it is served");
    let mut client = BlockingDevice::open(&device).expect("a queue");
    let mut before = told();
    for round in 0..12_u64 {
        let range = Range::new((round * 7 % 12) * (400 << 10) + 4096, 8192);
        client
            .write_at(&[round as u8; 8192], range.start())
            .expect("is written");
        let now = told();
        for range in before.iter().chain([&range]) {
            let is_there = now.iter().any(|told| told.contains(*range));
            assert!(is_there, "{range:?} is missing in round {round}");
        }
        let total: u64 = now.iter().map(|range| range.len()).sum();
        assert!(total < 6 * MIB, "everything changed");
        before = now;
    }
    drop(client);
    server.stop();
    // The same is found by those who look later.
    let later = listed(world.ashlar(), &["vg0/snap1"]);
    let last: Vec<(u64, u64)> = before
        .iter()
        .map(|range| (range.start(), range.len()))
        .collect();
    assert_eq!(later, last);
}
