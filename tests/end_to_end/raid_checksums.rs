//! `--raidintegrity`: arrays are made with checksums, get them and lose them. What a volume holds
//! stays, stock sees what we see, and what is wrong on one disk is read from the others.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

use tests::{Daemon, Tool};

use super::raid_change::{MIB, World, pattern};

/// Each level that may have checksums, and how.
const WAYS: [(&str, &str); 5] = [
    ("--type raid1 -m 1", ""),
    ("--type raid4 -i 2", "--raidintegritymode bitmap"),
    ("--type raid5 -i 2", "--raidintegrityblocksize 4096"),
    ("--type raid6 -i 3", "--raidintegritymode journal"),
    (
        "--type raid10 -i 2 -m 1",
        "--raidintegritymode bitmap --raidintegrityblocksize 2048",
    ),
];

/// Writes over some bytes of the data of an image.
fn spoil(world: &World, image: &str) {
    let said = world.ours("lvs -a --noheadings -o lv_name,devices vg", 0);
    let line = said
        .lines()
        .find(|line| line.contains(&format!("[{image}_iorig]")));
    let devices = line.and_then(|line| line.split_whitespace().nth(1));
    let (disk, extent) = devices
        .and_then(|text| text.trim_end_matches(')').split_once('('))
        .unwrap_or_else(|| panic!("{image} has data: {said}"));
    let extent: u64 = extent.parse().expect("a number");
    let file = File::options().write(true).open(disk).expect("the disk");
    let noise: Vec<u8> = (0..4096u64).map(|at| (at * 11 + 5) as u8).collect();
    // The extents of the group begin behind 1 MiB, and have as much.
    let at = (1 + extent) * MIB as u64 + (128 << 10);
    file.write_all_at(&noise, at).expect("it is written");
}

/// Proves: on each level, in both modes, with large and small blocks: stock sees what is made, what
/// is written is there though one disk is wrong, a scrub names that one; without checksums, and
/// with new ones, the volume holds what it held.
#[test]
fn arrays_get_checksums_and_lose_them() {
    let world = World::new();
    let content = pattern(6 * MIB);
    for (made, how) in WAYS {
        let what = format!("{made} {how}");
        world.agreed(&format!(
            "lvcreate -y {made} --raidintegrity y {how} -l 6 -n a vg"
        ));
        world.fill("a", &content);
        assert!(world.read("a") == content, "{what}");
        spoil(&world, "a_rimage_1");
        assert!(world.read("a") == content, "{what}, wrong on one disk");
        let said = world.ours("scrub vg/a", 1);
        assert!(
            said.contains("a_rimage_1") && !said.contains("a_rimage_0"),
            "{what}: {said}"
        );
        world.ours("scrub --repair -y vg/a", 0);
        world.ours("scrub vg/a", 0);
        world.agreed("lvconvert -y --raidintegrity n vg/a");
        assert!(world.read("a") == content, "{what}, without checksums");
        world.ours("scrub vg/a", 0);
        world.agreed(&format!("lvconvert -y --raidintegrity y {how} vg/a"));
        assert!(world.read("a") == content, "{what}, with new ones");
        world.ours("sync vg/a", 0);
        world.ours("scrub vg/a", 0);
        world.agreed("lvremove -y vg/a");
    }
}

/// Proves: nothing is changed of an array that is in use; what the journal of a server holds that
/// was killed is not lost with it; and what makes no sense is refused by name.
#[test]
fn checksums_do_not_go_under_whoever_needs_them() {
    let world = World::new();
    let content = pattern(6 * MIB);
    world.ours(
        "lvcreate -y --type raid1 -m 1 --raidintegrity y -l 6 -n a vg",
        0,
    );
    let socket = world.scratch.join("socket");
    let serve = world.serve("a", &socket);
    let mut server = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
    let file = world.scratch.join("content");
    fs::write(&file, &content).expect("a file");
    let to = format!("nbd+unix:///vg/a?socket={}", socket.display());
    Tool::new("nbdcopy")
        .arg("--flush")
        .arg(file)
        .arg(to)
        .succeed();
    // It is not looked for what its journal holds, of which a server would know more.
    let said = world.ours("lvconvert -y --raidintegrity n vg/a", 5);
    assert!(said.contains("being served"), "{said}");
    server.kill();
    // A server that is killed may leave something in the journal, or not.
    let mut taken = world.tried("lvconvert -y --raidintegrity n vg/a");
    if taken.code != Some(0) {
        let said = taken.complaints();
        assert!(said.contains("journal"), "{said}");
        world.fill("a", &content);
        taken = world.tried("lvconvert -y --raidintegrity n vg/a");
    }
    assert_eq!(taken.code, Some(0), "{taken}");
    assert!(world.read("a") == content, "without checksums");
    for (line, word) in [
        ("lvconvert -y --raidintegrity n vg/a", "no checksums"),
        (
            "lvconvert -y --raidintegritymode bitmap vg/a",
            "--raidintegrity y",
        ),
        (
            "lvcreate -y --raidintegrity y -l 2 -n b vg",
            "raidintegrity",
        ),
        (
            "lvcreate -y --type raid0 -i 2 --raidintegrity y -l 2 -n b vg",
            "raid",
        ),
        (
            "lvconvert -y --raidintegrity y --raidintegrityblocksize 8192 vg/a",
            "block size",
        ),
    ] {
        let refused = world.tried(line);
        assert_ne!(refused.code, Some(0), "{line}: {refused}");
        let said = refused.text() + &refused.complaints();
        assert!(said.contains(word), "{line}: {said}");
    }
}
