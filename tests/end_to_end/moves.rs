//! Extents that move to other disks: with nobody looking, under writes, cut off, and aborted.

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tests::verifier::{Journal, Load, NbdLink, Survivors};
use tests::{Daemon, Group, LIMIT, Tool};

const MIB: u64 = 1 << 20;
/// Pieces of one extent: many of them, so that there is a middle.
const PIECES: &str = "ashlar { pvmove_piece_mib = 4 copy_mib_per_second = 16 }";

/// Three disks, with volumes of every kind on the first one.
fn group(name: &str) -> Group {
    let group = Group::new(name, 3, 160 * MIB);
    let (first, second) = (group.disk(0), group.disk(1));
    let (first, second) = (path(&first), path(&second));
    let make = |name: &str, words: &str, disks: &[&str]| {
        let create = group.ashlar().args(["lvcreate", "-y", "-n", name]);
        let create = create.args(words.split(' ')).arg("vg0");
        create.args(disks).succeed();
    };
    make("data", "-L 24M", &[first]);
    make("striped", "-L 16M -i 2", &[first, second]);
    make(
        "mirror",
        "--type mirror -m 1 -L 8M --mirrorlog core",
        &[first, second],
    );
    make("origin", "-L 12M", &[first]);
    for volume in ["data", "striped", "mirror", "origin"] {
        let len = 8 * MIB;
        let bytes: Vec<u8> = (0..len).map(|at| (at / 5 % 253) as u8 + 1).collect();
        let file = group.join("pattern");
        fs::write(&file, bytes).expect("a file");
        let copy = group.ashlar().arg("cp").arg(file);
        copy.arg(format!("vg0/{volume}")).succeed();
    }
    let snapshot = group
        .ashlar()
        .args(["lvcreate", "-s", "-n", "snap", "-L", "8M"]);
    snapshot.args(["vg0/origin", first]).succeed();
    group
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a plain name")
}

fn content(group: &Group, volume: &str) -> Vec<u8> {
    let cat = group.ashlar().arg("cat").arg(format!("vg0/{volume}"));
    cat.succeed().stdout
}

const VOLUMES: [&str; 5] = ["data", "striped", "mirror", "origin", "snap"];

fn contents(group: &Group) -> Vec<Vec<u8>> {
    let all = VOLUMES.iter();
    all.map(|volume| content(group, volume)).collect()
}

/// What a report says of a group, without headings.
fn report(group: &Group, command: &str, fields: &str) -> String {
    let report = group.ashlar().args([command, "--noheadings", "-o", fields]);
    let text = report.arg("vg0").run().text();
    let lines = text.lines().map(|line| line.split_whitespace());
    let lines = lines.map(|words| words.collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

/// Extents that are in use on a disk.
fn used(group: &Group, disk: usize) -> u64 {
    let report = group
        .ashlar()
        .args(["pvs", "--noheadings", "-o", "pv_pe_alloc_count"]);
    let text = report.arg(group.disk(disk)).succeed().text();
    text.trim().parse().expect("a number")
}

fn pvmove(group: &Group, from: usize) -> Tool {
    let tool = group.ashlar().args(["--config", PIECES, "pvmove"]);
    tool.arg(group.disk(from))
}

/// Whether a piece is on its target, and not all of them.
fn is_in_the_middle(group: &Group) -> bool {
    let text = group.join("text");
    let backup = group.ashlar().args(["vgcfgbackup", "-f"]).arg(&text);
    backup.arg("vg0").run();
    fs::read_to_string(text).is_ok_and(|text| text.contains("extents_moved = 1\t"))
}

fn check(group: &Group) {
    group.ashlar().args(["vgck", "vg0"]).succeed();
}

#[test]
fn a_disk_is_emptied() {
    // Proves: volumes of every kind hold what they held when their disk is empty; it can be taken
    // out of the group then, which was refused before.
    let group = group("emptied");
    let before = contents(&group);
    let reduce = || group.ashlar().args(["vgreduce", "vg0"]).arg(group.disk(0));
    assert!(reduce().exit(5).complaints().contains("still in use"));
    let moved = pvmove(&group, 0).succeed().text();
    assert!(moved.contains("Moved: "), "{moved}");
    assert_eq!(used(&group, 0), 0);
    check(&group);
    assert!(contents(&group) == before);
    assert!(
        !report(&group, "lvs", "lv_name,lv_attr").contains('I'),
        "all are unlocked"
    );
    reduce().succeed();
    assert!(contents(&group) == before);
    // There is nothing left to be moved, and nobody to go on with anything.
    group.ashlar().arg("pvmove").succeed();
    let nothing = pvmove(&group, 0).exit(5).complaints();
    assert!(nothing.contains("no volume group"), "{nothing}");
}

#[test]
fn writes_go_on_while_extents_move() {
    // Proves: a volume that is written and verified by a client for as long as it lasts moves to
    // another disk and on to a third, whole and in bounded pieces, and no answered write is lost;
    // those who report are told how far it is meanwhile.
    let group = group("written");
    let before = contents(&group);
    let socket = group.join("s");
    let serve = group
        .ashlar()
        .args(["--config", PIECES, "serve", "vg0/data"]);
    let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
    let server = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
    let journal = group.join("journal");
    let load = Load::new(Journal::create(
        &journal,
        7,
        24 * MIB / 4096,
        Survivors::Answered,
    ))
    .wiping();
    let stop = AtomicBool::new(false);
    let report = thread::scope(|scope| {
        let load = scope.spawn(|| load.run(|| connect(&socket), &stop));
        for (from, to) in [(0, 2), (2, 1), (1, 2)] {
            let tool = pvmove(&group, from)
                .args(["-n", "data"])
                .arg(group.disk(to));
            tool.succeed();
        }
        stop.store(true, Ordering::Relaxed);
        load.join().expect("it ends")
    });
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    server.stop();
    check(&group);
    for (volume, before) in VOLUMES.iter().zip(&before).skip(1) {
        assert!(content(&group, volume) == *before, "{volume}");
    }
}

#[test]
fn idle_clients_hold_nothing_that_moved() {
    // Proves: who has volumes open and asks for nothing does not keep in use what was exchanged
    // below them, through a mirror that is an origin too: move follows move, and another change.
    let group = group("idle");
    let snapshot = ["lvcreate", "-s", "-n", "shot", "-L", "4M", "vg0/mirror"];
    let snapshot = group.ashlar().args(snapshot).arg(group.disk(0));
    snapshot.succeed();
    let socket = group.join("s");
    let names = ["vg0/data", "vg0/mirror", "vg0/shot"];
    let serve = group.ashlar().arg("serve").args(names);
    let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
    let server = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
    let connect = |name| NbdLink::connect(&socket, name).expect("it is served");
    let idle = names.map(connect);
    for (from, to) in [(0, 2), (2, 0), (0, 2)] {
        pvmove(&group, from).arg(group.disk(to)).succeed();
    }
    let other = group.ashlar().args(["lvcreate", "-y", "-n", "other"]);
    other.args(["-L", "4M", "vg0"]).succeed();
    drop(idle);
    server.stop();
    check(&group);
}

fn connect(socket: &Path) -> io::Result<Vec<NbdLink>> {
    let links = (0..2).map(|_| NbdLink::connect(socket, "vg0/data"));
    links.collect()
}

/// `pvmove` at work, in the middle.
fn at_work(group: &Group, arguments: &[&str]) -> Daemon {
    let is_atomic = arguments.contains(&"--atomic");
    Daemon::start(pvmove(group, 0).args(arguments), || {
        is_atomic || is_in_the_middle(group)
    })
}

#[test]
fn killed_moves_go_on() {
    // Proves: what was moved stays, the rest is where it was, and all is read like that; the next
    // `pvmove` goes on, and so does whoever serves a volume of the group.
    let group = group("killed");
    let before = contents(&group);
    for goes_on_by in ["pvmove", "serve"] {
        let mut moving = at_work(&group, &[]);
        moving.kill();
        check(&group);
        assert!(
            report(&group, "lvs", "lv_name,lv_attr").contains('I'),
            "some are locked"
        );
        assert!(contents(&group) == before, "read while it rests");
        if goes_on_by == "pvmove" {
            group
                .ashlar()
                .args(["--config", PIECES, "pvmove"])
                .succeed();
        } else {
            let socket = group.join("s");
            let serve = group.ashlar().args(["serve", "vg0/mirror"]);
            let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
            let server = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
            let end = Instant::now() + LIMIT;
            while used(&group, 0) > 0 {
                assert!(Instant::now() < end, "it goes on by itself");
                thread::sleep(Duration::from_millis(50));
            }
            server.stop();
        }
        assert_eq!(used(&group, 0), 0, "{goes_on_by}");
        check(&group);
        assert!(contents(&group) == before, "{goes_on_by}");
        // Back, for the next one.
        let back = group.ashlar().args(["pvmove"]).arg(group.disk(2));
        back.arg(group.disk(0)).succeed();
    }
}

#[test]
fn moves_are_aborted() {
    // Proves: `--abort` ends a move in the middle, whoever makes it: what was moved stays, or with
    // `--atomic` nothing was; whoever waited is told, and no volume noticed.
    let group = group("aborted");
    let before = contents(&group);
    let taken = used(&group, 0);
    for arguments in [&["--atomic"][..], &[]] {
        let mut moving = at_work(&group, arguments);
        if !arguments.is_empty() {
            thread::sleep(Duration::from_millis(500));
            let lvs = group.ashlar().args(["lvs", "-a", "-o", "move_pv", "vg0"]);
            let disks = lvs.succeed().text();
            assert!(disks.contains(path(&group.disk(0))), "{disks}");
        }
        let aborted = group.ashlar().args(["pvmove", "--abort"]).succeed();
        assert!(aborted.text().contains("aborted"), "{aborted}");
        assert_eq!(moving.ended(LIMIT), Some(5), "it is told");
        assert!(moving.stop().contains("was aborted"));
        check(&group);
        assert!(contents(&group) == before);
        assert!(!report(&group, "lvs", "lv_name,lv_attr").contains('I'));
        let left = used(&group, 0);
        if arguments.is_empty() {
            assert!(0 < left && left < taken, "{left} of {taken}");
        } else {
            assert_eq!(left, taken);
        }
    }
    let nothing = group
        .ashlar()
        .args(["pvmove", "--abort"])
        .arg(group.disk(0));
    assert!(nothing.succeed().text().contains("No pvmove in progress"));
}

#[test]
fn one_refusal_keeps_no_other_group() {
    // Proves: `--abort` without a physical volume ends the moves of all groups that may be changed,
    // and says of the others why not, and fails.
    let group = Group::new("refused", 2, 64 * MIB);
    let other = ["disks/x0.img", "disks/x1.img"].map(|name| group.join(name));
    for image in &other {
        let file = fs::File::create(image).expect("a file");
        file.set_len(64 * MIB).expect("a size");
    }
    group.ashlar().arg("pvcreate").args(&other).succeed();
    // It comes first, in the order of the names.
    let create = group.ashlar().args(["vgcreate", "another"]);
    create.args(&other).succeed();
    for (name, disk) in [("vg0", group.disk(0)), ("another", other[0].clone())] {
        let create = group
            .ashlar()
            .args(["lvcreate", "-y", "-L", "32M", "-n", "data"]);
        create.arg(name).arg(&disk).succeed();
        let slowly = "ashlar { pvmove_piece_mib = 4 copy_mib_per_second = 1 }";
        let begin = group.ashlar().args(["--config", slowly, "pvmove"]);
        let mut moving = Daemon::start(begin.arg(&disk), || {
            let lvs = group
                .ashlar()
                .args(["lvs", "-a", "--noheadings", "-o", "lv_name"]);
            lvs.arg(name).run().text().contains("pvmove0")
        });
        moving.signal(rustix::process::Signal::TERM);
        moving.ended(LIMIT);
    }
    let away = ["vgchange", "-y", "--systemid", "elsewhere", "another"];
    group.ashlar().args(away).succeed();
    let aborted = group.ashlar().args(["pvmove", "--abort"]).exit(5);
    let complaints = aborted.complaints();
    assert!(complaints.contains("with system ID elsewhere"), "{aborted}");
    assert!(aborted.text().contains("vg0/pvmove0: aborted"), "{aborted}");
    assert!(!report(&group, "lvs", "lv_name,lv_attr").contains('I'));
}

#[test]
fn moves_go_on_in_the_background() {
    // Proves: `-b` returns while it moves, and names the file in which the process that goes on
    // would complain; no process is left when all is moved.
    let group = group("background");
    let before = contents(&group);
    let said = pvmove(&group, 0).arg("-b").succeed().complaints();
    let log = group.join("run/log");
    assert!(said.contains(path(&log)), "{said}");
    assert!(used(&group, 0) > 0, "it has only begun");
    let owners = group.ashlar().arg("owners").succeed().text();
    assert!(owners.contains("vg0"), "{owners}");
    let end = Instant::now() + LIMIT;
    let is_owned = || !folder_is_empty(&group.join("run/groups"));
    while used(&group, 0) > 0 || is_owned() {
        assert!(Instant::now() < end, "it ends at last");
        thread::sleep(Duration::from_millis(50));
    }
    check(&group);
    assert!(contents(&group) == before);
    assert_eq!(fs::read_to_string(&log).expect("a log"), "");
}

#[test]
fn the_background_complains_in_a_file() {
    // Proves: what the process that goes on has to say can be read afterwards: here that its move
    // was aborted.
    let group = group("complaints");
    pvmove(&group, 0).arg("-b").succeed();
    group.ashlar().args(["pvmove", "--abort"]).succeed();
    let log = group.join("run/log");
    let end = Instant::now() + LIMIT;
    while !fs::read_to_string(&log).is_ok_and(|text| text.contains("was aborted")) {
        assert!(Instant::now() < end, "it says so");
        thread::sleep(Duration::from_millis(50));
    }
}

fn folder_is_empty(folder: &PathBuf) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}
