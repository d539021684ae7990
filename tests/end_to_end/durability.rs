//! What a client was told to be durable has reached the disk: every way to ask for it, through
//! the FUSE file, the loop device over it, and the NBD server, judged by the server's own calls.
//!
//! The clients are processes of their own and write one after the other, each to its own place. The
//! server is watched with `strace`; the crash tests on simulated disks are in `crates/export`.

use std::fs;
use std::path::{Path, PathBuf};

use tests::recorded::{Call, Recording, durable_at};
use tests::{Daemon, Group, Tool};

/// Bytes between the places of two clients.
const STEP: u64 = 64 << 10;
const BLOCK: u64 = 4096;

/// What a client was promised when it ended, and so what has to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Promise {
    /// The write itself was durable before it was answered.
    Write,
    /// A later request made it durable; before the next client came.
    Flush,
    /// Nothing: it was a plain write.
    Nothing,
}

/// `dd` writes one block at `at` of `place`.
fn dd(place: &Path, at: u64, words: &[&str]) {
    let dd = Tool::new("dd").arg("if=/dev/urandom");
    let dd = dd.arg(format!("of={}", place.display()));
    let dd = dd.args([format!("bs={BLOCK}"), format!("seek={}", at / BLOCK)]);
    dd.args(["count=1"]).args(words).succeed();
}

/// `xfs_io` does `commands` with an open file; `@` stands for the place of one block.
fn xfs_io(place: &Path, at: u64, commands: &[&str]) {
    let mut tool = Tool::new("xfs_io");
    for command in commands {
        let command = command.replace('@', &format!("{at} {BLOCK}"));
        tool = tool.args(["-c", &command]);
    }
    tool.arg(place).succeed();
}

/// What was promised at each place of a disk has been kept.
fn judge(calls: &[Call], disk: &Path, start: u64, promises: &[(&str, Promise)]) {
    let place = |index: usize| start + index as u64 * STEP;
    let mut missed = Vec::new();
    for (index, (what, promise)) in promises.iter().enumerate() {
        let next = calls
            .iter()
            .find(|call| call.changes(disk, place(index + 1)));
        let limit = next.map_or(usize::MAX, |call| call.began);
        let until: Vec<Call> = calls.iter().filter(|c| c.ended < limit).cloned().collect();
        let found = durable_at(&until, disk, place(index));
        let kept = match (promise, &found) {
            (Promise::Write, Ok((written, durable))) => !until
                .iter()
                .any(|call| call.answers() && call.ended > *written && call.began < *durable),
            (Promise::Flush, Ok(_)) | (Promise::Nothing, Err(_)) => true,
            (Promise::Nothing, Ok(_)) | (_, Err(_)) => false,
        };
        if !kept {
            missed.push(format!("{what}: {promise:?}, found {found:?}"));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}\nof {calls:#?}");
}

/// A group with one volume on one disk, whose server makes plain calls.
fn group(name: &str) -> (Group, PathBuf, u64) {
    let group = Group::new(name, 1, 64 << 20);
    group.create("d", &["-L", "16m"]);
    let (disk, start) = group.place("d");
    let disk = disk.canonicalize().expect("the disk is there");
    (group, disk, start)
}

fn pid_of(group: &Group) -> u32 {
    group.server("d").as_raw_nonzero().get().unsigned_abs()
}

/// Every way in which a program asks a file for durability reaches the disk below the FUSE file,
/// before the program is answered; a plain write does not pay for it.
#[test]
fn synchronous_writes_to_a_file_reach_the_disk() {
    let (group, disk, start) = group("sync-file");
    let file = group.join("volume.img");
    let attach = group.ashlar().env("ASHLAR_IO", "threads");
    let attach = attach.args(["attach", "vg0/d", "--file"]);
    attach.arg(&file).succeed();
    let recording = Recording::of(pid_of(&group), &group.join("calls"));
    let mut promises = Vec::new();
    let mut next = |what, promise| {
        promises.push((what, promise));
        (promises.len() as u64 - 1) * STEP
    };
    for flags in ["dsync", "sync", "direct,dsync", "direct,sync"] {
        let at = next(flags, Promise::Write);
        dd(
            &file,
            at,
            &["conv=notrunc,nocreat", &format!("oflag={flags}")],
        );
    }
    xfs_io(
        &file,
        next("RWF_DSYNC", Promise::Write),
        &["pwrite -q -V 1 -D @"],
    );
    for last in ["fsync", "fdatasync"] {
        let conversion = format!("conv=notrunc,nocreat,{last}");
        dd(&file, next(last, Promise::Flush), &[&conversion]);
    }
    let at = next("msync", Promise::Flush);
    xfs_io(&file, at, &["mmap -rw @", "mwrite @", "msync -s @"]);
    let at = next("nothing", Promise::Nothing);
    dd(&file, at, &["conv=notrunc,nocreat"]);
    judge(&recording.stop(), &disk, start, &promises);
    group.detach("d");
}

/// What the loop device over the file flushes reaches the disk.
#[test]
fn flushes_of_a_loop_device_reach_the_disk() {
    let (group, disk, start) = group("sync-loop");
    let attach = group.ashlar().env("ASHLAR_IO", "threads");
    let node = attach.args(["attach", "vg0/d"]).succeed();
    let node = PathBuf::from(node.text().trim_end());
    let recording = Recording::of(pid_of(&group), &group.join("calls"));
    let ways = [
        "oflag=dsync",
        "oflag=direct,dsync",
        "oflag=sync",
        "conv=fsync",
        "conv=fdatasync",
    ];
    for (index, way) in ways.iter().enumerate() {
        dd(&node, index as u64 * STEP, &[way]);
    }
    let promises: Vec<_> = ways.iter().map(|way| (*way, Promise::Flush)).collect();
    judge(&recording.stop(), &disk, start, &promises);
    group.detach("d");
}

/// FUA and FLUSH of an NBD client reach the disk before they are answered.
#[test]
fn flushes_of_an_nbd_client_reach_the_disk() {
    let (group, disk, start) = group("sync-nbd");
    let socket = group.join("s.sock");
    let serve = group.ashlar().env("ASHLAR_IO", "threads");
    let serve = serve.args(["serve", "vg0/d", "--nbd"]);
    let serve = serve.arg(format!("unix:{}", socket.display()));
    let server = Daemon::start(serve, || socket.exists());
    let recording = Recording::of(server.pid(), &group.join("calls"));
    let ways = [
        ("write with FUA", Promise::Write, "write -f @"),
        ("zeros with FUA", Promise::Write, "write -z -f @"),
        ("write and flush", Promise::Flush, "write @ & flush"),
        ("zeros and flush", Promise::Flush, "write -z @ & flush"),
        ("nothing", Promise::Nothing, "write @"),
    ];
    let uri = format!("nbd+unix:///vg0/d?socket={}", socket.display());
    let mut client = Tool::new("qemu-io").args(["-f", "raw", "-t", "none", &uri]);
    for (index, (_, _, commands)) in ways.iter().enumerate() {
        for command in commands.split(" & ") {
            let place = format!("{} {BLOCK}", index as u64 * STEP);
            client = client.args(["-c", &command.replace('@', &place)]);
        }
    }
    // Its own flush at the end comes when nobody watches any more.
    let client = client.args(["-c", "abort"]).run();
    assert!(!client.text().contains("failed"), "{client}");
    let promises: Vec<_> = ways.iter().map(|(what, how, _)| (*what, *how)).collect();
    judge(&recording.stop(), &disk, start, &promises);
    assert!(fs::metadata(&disk).is_ok());
    server.stop();
}
