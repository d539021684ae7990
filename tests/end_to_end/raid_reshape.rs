//! Arrays that become others: what stock LVM2 began on its kernel, and its power cut stopped, is
//! gone on with, and what is begun here is ended, whoever is killed meanwhile.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use tests::{Daemon, Group, RaidSet, Tool, sha256};

/// More stripes and fewer, other chunks and another layout.
const VOLUMES: [&str; 6] = ["more5", "fewer5", "chunks5", "layout5", "more6", "layout6"];
/// When servers are killed that go on, in milliseconds from when they answer.
const LIVES_MS: [u64; 3] = [0, 20, 150];

/// Servers that go on with the reshape are killed; at each moment the volume holds what it held,
/// and when it is over also without any disk, and all goes together.
#[test]
fn what_stock_began_is_gone_on_with() {
    let set = RaidSet::copy("reshape");
    let group = Group::on("raid-reshape", set.folder());
    let socket = group.join("s");
    for name in VOLUMES {
        let volumes = set.volumes();
        let volume = format!("reshape/{name}");
        let held = volumes.iter().find(|held| held.name == volume);
        let held = held.unwrap_or_else(|| panic!("{volume} is in the set"));
        let assert_held = |when: &str| {
            let cat = group.ashlar().args(["cat", &volume]).succeed().stdout;
            let found = sha256(&cat[..held.bytes as usize]);
            assert_eq!(found, held.sha256, "{volume} {when}");
        };
        for life in LIVES_MS {
            assert_held("in the middle of it");
            let serve = group.ashlar().args(["serve", &volume]);
            let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
            let mut server = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
            thread::sleep(Duration::from_millis(life));
            server.kill();
        }
        group.ashlar().args(["sync", &volume]).succeed();
        assert_held("when it is over");
        let fields = ["lvs", "--noheadings", "-o", "copy_percent,lv_health_status"];
        let said = group.ashlar().args(fields).arg(&volume).succeed().text();
        assert_eq!(said.trim(), "", "{volume} is as it should be");
        let said = group.ashlar().args(["scrub", &volume]).succeed().text();
        assert!(!said.contains("not compared"), "{said}");
        for image in set.images() {
            let away = group.join("away");
            fs::rename(&image, &away).expect("it is taken away");
            assert_held(&format!("without {}", image.display()));
            fs::rename(&away, &image).expect("it is brought back");
        }
    }
}

const DISKS: usize = 7;
const SIZE: u64 = 96 << 20;

fn run(group: &Group, line: &str) -> String {
    group.ashlar().args(line.split(' ')).succeed().text()
}

fn content(group: &Group, volume: &str) -> Vec<u8> {
    group.ashlar().args(["cat", volume]).succeed().stdout
}

/// What a volume holds without each disk in turn.
fn without_each_disk(group: &Group, volume: &str, images: &[PathBuf], check: impl Fn(&[u8])) {
    for image in images {
        let away = group.join("away");
        fs::rename(image, &away).expect("it is taken away");
        check(&content(group, volume));
        fs::rename(&away, image).expect("it is brought back");
    }
}

/// How a volume becomes another one, and how many bytes it has then.
const RESHAPES: [(&str, &str, &str, u64); 6] = [
    ("five", "--type raid5 -i 2 -L 24m", "--stripes 3", 36 << 20),
    (
        "fewer",
        "--type raid5 -i 3 -L 24m",
        "--force --stripes 2",
        16 << 20,
    ),
    (
        "less",
        "--type raid6 -i 4 -L 32m",
        "--force --stripes 3",
        24 << 20,
    ),
    ("four", "--type raid4 -i 2 -L 24m", "--stripes 4", 48 << 20),
    (
        "six",
        "--type raid6 -i 3 -L 24m",
        "--stripesize 32k",
        24 << 20,
    ),
    (
        "other",
        "--type raid5 -i 3 -L 24m",
        "--type raid5_rs",
        24 << 20,
    ),
];

/// Fewer stripes are refused where a file system would be cut, or nobody insists; what was made
/// larger before keeps all that it holds.
#[test]
fn a_file_system_is_not_cut_by_a_reshape() {
    let group = Group::new("raid-reshape", 4, SIZE);
    run(&group, "lvcreate --type raid5 -i 3 -L 24m -n a vg0");
    let file = group.join("ext4");
    let made = fs::File::create(&file).and_then(|file| file.set_len(24 << 20));
    made.expect("there is space for it");
    Tool::new("mkfs.ext4")
        .args(["-q", "-F"])
        .arg(&file)
        .succeed();
    group.ashlar().arg("cp").arg(&file).arg("vg0/a").succeed();
    run(&group, "sync vg0/a");
    let seqno = run(&group, "vgs --noheadings -o vg_seqno vg0");
    for (line, word) in [
        ("lvconvert -y --stripes 2 vg0/a", "--force"),
        (
            "lvconvert -y --force --stripes 2 vg0/a",
            "lvextend the volume",
        ),
    ] {
        let refused = group.ashlar().args(line.split(' ')).run();
        assert_eq!(refused.code, Some(5), "{line}: {refused}");
        assert!(refused.complaints().contains(word), "{refused}");
    }
    let now = run(&group, "vgs --noheadings -o vg_seqno vg0");
    assert_eq!(now, seqno, "nothing has changed");
    run(&group, "lvextend -L 36m vg0/a");
    run(&group, "sync vg0/a");
    for _ in ["it begins", "its space goes"] {
        run(&group, "lvconvert -y --force --stripes 2 vg0/a");
        run(&group, "sync vg0/a");
    }
    assert!(content(&group, "vg0/a") == fs::read(&file).expect("it is there"));
}

/// A reshape begins with one command, goes on while the array is served, whoever is killed, and
/// ends; what it gains is used, its space is given up, and any disk may be lost then.
#[test]
fn arrays_become_others_whoever_is_killed() {
    let group = Group::new("raid-reshape", DISKS, SIZE);
    let images: Vec<PathBuf> = (0..DISKS).map(|disk| group.disk(disk)).collect();
    let socket = group.join("s");
    for (name, options, reshape, size) in RESHAPES {
        let volume = format!("vg0/{name}");
        run(&group, &format!("lvcreate {options} -n {name} vg0"));
        let words = (0..(24_u64 << 20) / 8).map(|at| at.wrapping_mul(0x9e37_79b9) ^ size);
        let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        let file = group.join("content");
        fs::write(&file, &bytes).expect("there is space for it");
        let copy = |file: &PathBuf| group.ashlar().arg("cp").arg(file).arg(&volume).succeed();
        copy(&file);
        run(&group, &format!("sync {volume}"));
        run(&group, &format!("lvconvert -y {reshape} {volume}"));
        bytes.truncate(size as usize);
        assert!(
            content(&group, &volume)[..bytes.len()] == bytes,
            "{name} has begun"
        );
        for kill in 0..5 {
            let serve = group.ashlar().args(["serve", &volume]);
            let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
            let mut server = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
            thread::sleep(Duration::from_millis(5 * kill));
            server.kill();
            let held = content(&group, &volume);
            assert!(held[..bytes.len()] == bytes, "{name}, killed {kill} times");
        }
        run(&group, &format!("sync {volume}"));
        bytes.resize(size as usize, 0x77);
        fs::write(&file, &bytes).expect("there is space for it");
        copy(&file);
        run(&group, &format!("lvconvert -y {reshape} {volume}"));
        let shown = run(
            &group,
            &format!("lvs --noheadings -o raid_sync_action {volume}"),
        );
        assert_eq!(shown.trim(), "", "{name} is as it should be");
        assert!(content(&group, &volume) == bytes, "{name}, in the end");
        without_each_disk(&group, &volume, &images, |held| {
            assert!(held == bytes, "{name} without a disk");
        });
        run(&group, &format!("lvextend -L +12m {volume}"));
        run(&group, &format!("lvremove -y {volume}"));
    }
}
