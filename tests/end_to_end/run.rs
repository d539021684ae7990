//! `run`: a path for each volume, for as long as a command runs.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tests::{Golden, Group, ashlar};

/// How long what is left of a killed command may take to go.
const GONE_MAX: Duration = Duration::from_mins(2);
const PERIOD: Duration = Duration::from_millis(20);

/// A group with two volumes that hold something.
fn group(name: &str) -> Group {
    let group = Group::new(name, 1, 64 << 20);
    for volume in ["root", "home"] {
        let create = ["lvcreate", "-y", "-l", "2", "-n", volume, "vg0"];
        group.ashlar().args(create).succeed();
    }
    group
}

/// Nothing is attached, and no process has the group.
fn assert_free(group: &Group) {
    let owners = group.ashlar().arg("owners").succeed();
    assert!(!owners.text().contains("vg0"), "{owners}");
    let attached = fs::read_dir(group.join("run/attached"));
    assert_eq!(
        attached.map_or(0, Iterator::count),
        0,
        "nothing is attached"
    );
}

#[test]
fn a_command_gets_its_volumes_and_gives_its_status() {
    // Proves: the command finds a node and a size for each volume, what it writes is in the volume,
    // its status or its signal is that of run, and everything is detached behind it.
    let group = group("run");
    let run = |volumes: &[&str], line: &str, code| {
        let tool = group.ashlar().arg("run").args(volumes);
        tool.args(["--", "/bin/sh", "-c", line]).exit(code)
    };
    let both = ["vg0/root", "vg0/home"];
    let line = "test -b $LV_ROOT && test $LV_HOME = $LV_VG0_HOME && echo new > $LV_HOME && \
                echo $LV_ROOT_SIZE; exit 7";
    let ended = run(&both, line, 7);
    assert_eq!(ended.text().trim(), (8 << 20).to_string(), "{ended}");
    assert_free(&group);
    let home = group.ashlar().args(["cat", "vg0/home"]).succeed();
    assert!(home.stdout.starts_with(b"new\n"));
    run(&both, "kill -TERM $$", 128 + 15);
    run(&["-r", "vg0/home"], "exit $(blockdev --getro $LV_HOME)", 1);
    run(&["vg0/nosuch"], "exit 0", 5);
    let missing = group
        .ashlar()
        .args(["run", "vg0/root", "--", "/nosuch/command"]);
    assert!(missing.exit(127).complaints().contains("/nosuch/command"));
    group.ashlar().args(["run", "vg0/root"]).exit(3);
    group.ashlar().args(["run", "--", "true"]).exit(3);
    let served = group
        .ashlar()
        .args(["serve", "-r", "vg0/root", "--run", "exit 9"]);
    served.exit(9);
    assert_free(&group);
}

#[test]
fn a_volume_in_one_piece_has_a_place_in_its_image() {
    // Proves: with --image the command gets the file and the byte where the volume is, nobody else
    // changes the group meanwhile, and a volume of several pieces is refused.
    let group = group("run-image");
    let (file, offset) = group.place("home");
    let line = "printf %s:%s: $LV_HOME_FILE $LV_HOME_OFFSET; test -z \"$LV_HOME\" && printf data | \
                dd of=$LV_HOME_FILE bs=1 seek=$LV_HOME_OFFSET conv=notrunc 2>/dev/null";
    let tool = group
        .ashlar()
        .args(["run", "--image", "vg0/home", "--", "sh", "-c", line]);
    let ended = tool.succeed();
    assert_eq!(
        ended.text(),
        format!("{}:{offset}:", file.display()),
        "{ended}"
    );
    let home = group.ashlar().args(["cat", "vg0/home"]).succeed();
    assert!(home.stdout.starts_with(b"data"));
    let (ready, go) = (group.join("ready"), group.join("go"));
    let line = format!(
        "touch {}; while test ! -e {}; do sleep 0.05; done",
        ready.display(),
        go.display()
    );
    thread::scope(|scope| {
        let tool = group
            .ashlar()
            .args(["run", "--image", "vg0/home", "--", "sh", "-c", &line]);
        scope.spawn(|| tool.succeed());
        wait_for(|| ready.exists());
        let refused = group.ashlar().args(["cp", "/dev/null", "vg0/root"]).run();
        fs::write(&go, "").expect("a file");
        assert_ne!(refused.code, Some(0), "{refused}");
    });
    group
        .ashlar()
        .args(["lvextend", "-l", "+1", "vg0/root"])
        .succeed();
    let refused = group
        .ashlar()
        .args(["run", "--image", "vg0/root", "--", "true"])
        .exit(5);
    assert!(refused.complaints().contains("several pieces"), "{refused}");
}

#[test]
fn a_snapshot_has_no_place_in_an_image() {
    // Proves: the place of an origin is not handed out for writing, which its snapshots would not
    // survive; that of a snapshot's store is not handed out at all; and nobody explains a store for
    // a snapshot.
    let golden = Golden::copy();
    let ashlar = || ashlar().arg("--devices").arg(golden.folder());
    let run = |options: &[&str], volume: &str| {
        let tool = ashlar().arg("run").args(options);
        tool.args([volume, "--", "true"]).run()
    };
    let refused = run(&["--image"], "vg0/origin");
    assert!(refused.complaints().contains("has snapshots"), "{refused}");
    let shown = run(&["--image", "--readonly"], "vg0/origin");
    assert_eq!(shown.code, Some(0), "{shown}");
    for options in [&["--image"][..], &["--image", "--readonly"]] {
        let refused = run(options, "vg0/snap1");
        assert_eq!(refused.code, Some(5), "{refused}");
    }
    let explain = ashlar().args(["explain", "--workload", "randread:4k:depth=1", "vg0/snap1"]);
    explain.exit(5);
}

#[test]
fn a_killed_run_leaves_nothing() {
    // Proves: SIGTERM goes to the command and everything is detached; after SIGKILL the servers
    // notice that nobody holds them, and detach what nobody uses.
    for signal in [Signal::TERM, Signal::KILL] {
        let group = group("run-killed");
        let line = "echo $$ $LV_ROOT; exec sleep 60";
        let mut command = std::process::Command::new(tests::ashlar_path());
        let mut child = command
            .arg("--devices")
            .arg(group.join("disks"))
            .args(["run", "vg0/root", "vg0/home", "--", "sh", "-c", line])
            .env("ASHLAR_RUNTIME_DIR", group.join("run"))
            .env("LVM_LOCKING_DIR", group.join("locks"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut said = String::new();
        let output = child.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut said).expect("a line");
        let (sleeper, node) = said.trim().split_once(' ').expect("a number and a node");
        assert!(Path::new(node).exists(), "{node}");
        let pid = Pid::from_raw(child.id().cast_signed()).expect("a number");
        kill_process(pid, signal).expect("it is there");
        child.wait().expect("it ends");
        let sleeper: i32 = sleeper.parse().expect("a number");
        let is_there = || PathBuf::from(format!("/proc/{sleeper}")).exists();
        assert_eq!(
            is_there(),
            signal == Signal::KILL,
            "SIGTERM is for the command"
        );
        if signal == Signal::KILL {
            // Killed with its command's parent it would not be: the test ends it.
            let _ = kill_process(Pid::from_raw(sleeper).expect("a number"), Signal::KILL);
        }
        wait_for(|| {
            let owners = group.ashlar().arg("owners").succeed();
            !owners.text().contains("vg0")
        });
        assert_free(&group);
    }
}

fn wait_for(is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + GONE_MAX;
    while !is_so() {
        assert!(Instant::now() < deadline, "it takes too long");
        thread::sleep(PERIOD);
    }
}
