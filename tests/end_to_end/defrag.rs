//! Volumes that become contiguous, groups that are packed, and disks whose ends are freed: what the
//! volumes hold stays what it was, served or not, killed or not.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use block::{BlockingDevice, Range};
use nbd::client::NbdDevice;
use tests::{Daemon, Group, Tool, killing, was_killed};

const MIB: u64 = 1 << 20;
/// Each extent is a piece of its own: commits as many as there can be.
const SMALL_PIECES: &str = "ashlar/pvmove_piece_mib=4";

/// What a volume holds: bytes that differ from extent to extent, and from volume to volume.
fn content(volume: &str, mib: u64) -> Vec<u8> {
    let seed = volume.bytes().next().map_or(0, u64::from);
    (0..mib * MIB)
        .map(|at| (at / 4096 * 7 + at % 4093 + seed * 13) as u8)
        .collect()
}

fn fill(group: &Group, volume: &str, mib: u64) {
    let file = group.join(format!("{volume}.raw"));
    fs::write(&file, content(volume, mib)).expect("a file");
    let copy = group.ashlar().arg("cp").arg(&file);
    copy.arg(format!("vg0/{volume}")).succeed();
}

fn assert_content(group: &Group, volume: &str, mib: u64) {
    let cat = group.ashlar().arg("cat").arg(format!("vg0/{volume}"));
    assert!(
        cat.succeed().stdout == content(volume, mib),
        "{volume} holds something else"
    );
}

fn field(group: &Group, command: &str, field: &str, what: &str) -> String {
    let fields = ["--noheadings", "--nosuffix", "--units", "m", "-o", field];
    let report = group.ashlar().arg(command).args(fields).arg(what);
    report.succeed().text().trim().to_owned()
}

fn segments(group: &Group, volume: &str) -> String {
    field(group, "lvs", "seg_count", &format!("vg0/{volume}"))
}

/// `a` in three pieces of 20, 8 and 8 MiB, with two others between them.
fn in_pieces(name: &str, disks: usize) -> Group {
    let group = Group::new(name, disks, 128 * MIB);
    let disk = group.disk(0);
    let on_disk = |words: &[&str]| group.ashlar().args(words).arg(&disk).succeed();
    on_disk(&["lvcreate", "-y", "-n", "a", "-L20m", "vg0"]);
    on_disk(&["lvcreate", "-y", "-n", "b", "-L8m", "vg0"]);
    on_disk(&["lvextend", "-L+8m", "vg0/a"]);
    on_disk(&["lvcreate", "-y", "-n", "c", "-L12m", "vg0"]);
    on_disk(&["lvextend", "-L+8m", "vg0/a"]);
    for (volume, mib) in VOLUMES {
        fill(&group, volume, mib);
    }
    assert_eq!(segments(&group, "a"), "3");
    group
}

const VOLUMES: [(&str, u64); 3] = [("a", 36), ("b", 8), ("c", 12)];

fn assert_all(group: &Group) {
    for (volume, mib) in VOLUMES {
        assert_content(group, volume, mib);
    }
    group.ashlar().args(["vgck", "vg0"]).succeed();
}

fn defrag(group: &Group, words: &[&str]) -> Tool {
    let config = ["--config", SMALL_PIECES];
    group.ashlar().arg("defrag").args(config).args(words)
}

/// A volume in three pieces lies in one afterwards, moved as the plan says; done again, there is
/// nothing to do. Others stay where they are.
#[test]
fn a_volume_becomes_contiguous() {
    let group = in_pieces("defrag", 1);
    let places = field(&group, "lvs", "seg_pe_ranges", "vg0/b");
    let plan = group.ashlar().args(["plan", "defrag", "vg0/a"]);
    let plan = plan.succeed().text();
    let told = "9 extents (36.00 MiB) in 1 pass; segments 3 -> 1";
    assert!(plan.contains(told), "{plan}");
    assert_eq!(segments(&group, "a"), "3", "a plan changes nothing");
    let done = defrag(&group, &["vg0/a"]).succeed().text();
    assert!(done.contains(told), "{done}");
    assert_eq!(segments(&group, "a"), "1");
    assert_eq!(field(&group, "lvs", "seg_pe_ranges", "vg0/b"), places);
    assert_all(&group);
    let again = defrag(&group, &["vg0/a"]).succeed().text();
    assert!(again.contains("vg0/a: nothing is to be moved."), "{again}");
    let wrong = defrag(&group, &["--to-start", "vg0/a"]).exit(3);
    assert!(wrong.complaints().contains("name the group alone"));
    defrag(&group, &["vg0/none"]).exit(5);
}

/// Packed to the front, all is contiguous and nothing free is left in between; then the physical
/// volume can be shortened to what is used.
#[test]
fn a_group_is_packed_to_the_front() {
    let group = in_pieces("packed", 1);
    group.ashlar().args(["lvremove", "-y", "vg0/b"]).succeed();
    defrag(&group, &["--to-start", "vg0"]).succeed();
    for (volume, mib) in [("a", 36), ("c", 12)] {
        assert_content(&group, volume, mib);
        assert_eq!(segments(&group, volume), "1");
    }
    let disk = group.disk(0);
    let disk = disk.to_str().expect("it is text");
    let resize = ["pvresize", "-y", "--setphysicalvolumesize", "52m", disk];
    group.ashlar().args(resize).succeed();
    assert_eq!(field(&group, "vgs", "vg_free_count", "vg0"), "0");
}

/// A client of a served volume writes and reads while its extents move, in several passes; what it
/// wrote last is what it finds.
#[test]
fn a_served_volume_becomes_contiguous() {
    let group = in_pieces("served", 1);
    let socket = group.join("s");
    let serve = group.ashlar().args(["serve", "vg0"]);
    let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
    let daemon = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
    let uri = format!("nbd+unix:///vg0/a?socket={}", socket.display());
    let served = NbdDevice::open(&uri).expect("it is served");
    let mut client = BlockingDevice::open(&served).expect("a queue");
    let mut expected = content("a", 36);
    let mut moving = Daemon::start(defrag(&group, &["--to-start", "vg0"]), || true);
    let mut round = 0;
    while moving.is_running() || round < 20 {
        round += 1;
        let start = (round * 5_000_011_u64) % (35 * MIB) / 4096 * 4096;
        let bytes = vec![round as u8; 16 << 10];
        client.write_at(&bytes, start).expect("it is written");
        expected[start as usize..][..bytes.len()].copy_from_slice(&bytes);
        let range = Range::new(start, bytes.len() as u64);
        assert_eq!(client.read(range).expect("it is read"), bytes);
    }
    client.flush().expect("it is durable");
    let whole = Range::new(0, expected.len() as u64);
    let all = client.read(whole).expect("it is read");
    assert!(all == expected, "what was written is not there");
    moving.stop();
    drop((client, served));
    daemon.stop();
    defrag(&group, &["--to-start", "vg0"]).succeed();
    assert_eq!(segments(&group, "a"), "1");
    let cat = group.ashlar().args(["cat", "vg0/a"]).succeed();
    assert!(
        cat.stdout == expected,
        "what was written is not on the disk"
    );
    assert_content(&group, "b", 8);
    assert_content(&group, "c", 12);
}

/// Killed at any write or flush, volumes hold what they held, and the same command goes on to the
/// end.
#[test]
fn killed_it_goes_on() {
    let mut kills = 0;
    for call in [1, 3, 5, 7, 9, 11] {
        let group = in_pieces("killed", 1);
        let tool = killing("pwrite64,fdatasync,fsync", call, &group.join("record"))
            .env("ASHLAR_RUNTIME_DIR", group.join("run"))
            .env("LVM_LOCKING_DIR", group.join("locks"))
            .env("ASHLAR_IO", "threads")
            .arg("--devices")
            .arg(group.join("disks"))
            .args(["defrag", "--to-start", "vg0", "--config", SMALL_PIECES]);
        let was = was_killed(&tool.run());
        kills += usize::from(was);
        assert_all(&group);
        let next = defrag(&group, &["--to-start", "vg0"]).succeed().text();
        assert_eq!(segments(&group, "a"), "1", "{next}");
        assert_all(&group);
        let left = field(&group, "lvs", "lv_name", "vg0");
        assert!(!left.contains("pvmove"), "{left}");
    }
    assert!(kills >= 4, "only {kills} were killed");
}

/// What lies behind the new end of a physical volume is refused with the command that moves it,
/// which shortens then; what finds no place in front goes to another disk.
#[test]
fn a_disk_is_shortened_under_its_volumes() {
    let group = in_pieces("shortened", 2);
    let disk: PathBuf = group.disk(0);
    let disk = disk.to_str().expect("it is text");
    group.ashlar().args(["lvremove", "-y", "vg0/b"]).succeed();
    let resize = |size: &str, words: &[&str]| {
        let start = ["pvresize", "-y", "--config", SMALL_PIECES];
        let size = ["--setphysicalvolumesize", size, disk];
        group.ashlar().args(start).args(size).args(words)
    };
    let refused = resize("53m", &[]).exit(5).complaints();
    let remedy = format!("ashlar pvresize --setphysicalvolumesize 53m --move {disk}");
    assert!(refused.contains(&remedy), "{refused}");
    let done = resize("53m", &["--move"]).succeed().text();
    assert!(
        done.contains("1 physical volume(s) resized or updated"),
        "{done}"
    );
    assert_eq!(field(&group, "pvs", "pv_pe_count", disk), "13");
    assert_eq!(field(&group, "pvs", "pv_used", disk), "48.00");
    resize("41m", &["--move"]).succeed();
    assert_eq!(field(&group, "pvs", "pv_pe_count", disk), "10");
    assert_content(&group, "a", 36);
    assert_content(&group, "c", 12);
    let full = resize("2m", &["--move"]).exit(5).complaints();
    assert!(full.contains("Size must leave space"), "{full}");
}

/// A disk that is in use is not taken out of its group; the message says how it is emptied, and
/// that works.
#[test]
fn a_disk_in_use_is_emptied_as_the_message_says() {
    let group = in_pieces("emptied", 2);
    let disk = group.disk(0);
    let disk = disk.to_str().expect("it is text");
    let reduce = || group.ashlar().args(["vgreduce", "vg0", disk]);
    let refused = reduce().exit(5).complaints();
    assert!(
        refused.contains(&format!("(ashlar pvmove {disk})")),
        "{refused}"
    );
    group.ashlar().args(["pvmove", disk]).succeed();
    reduce().succeed();
    assert_all(&group);
}
