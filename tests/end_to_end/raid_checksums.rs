//! `--raidintegrity`: arrays are made with checksums, get them and lose them; they get other
//! images, and grow. What a volume holds stays, stock sees what we see, and what is wrong on one
//! disk is read from the others.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use tests::{Daemon, Group, Tool};

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
            "needs --raidintegrity, too",
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

/// Uses the volume until all images are filled, and that is noted, which may be when it is used
/// next; nothing is wrong then.
fn settle(world: &World) {
    let text = world.scratch.join("text");
    for _ in 0..10 {
        world.ours("sync vg/a", 0);
        world.ours(&format!("vgcfgbackup -f {} vg", text.display()), 0);
        let text = fs::read_to_string(&text).expect("a text");
        if !text.contains("\"REBUILD\"") {
            break;
        }
    }
    world.ours("scrub vg/a", 0);
}

/// The number of the disk with the data of an image.
fn disk_of(world: &World, image: &str) -> usize {
    let said = world.ours("lvs -a --noheadings -o lv_name,devices vg", 0);
    let line = said
        .lines()
        .find(|line| line.contains(&format!("[{image}_iorig]")))
        .unwrap_or_else(|| panic!("{image} has data: {said}"));
    let is_there = |disk: &PathBuf| line.contains(&format!("{}(", disk.display()));
    let found = world.disks.iter().position(is_there);
    found.expect("it lies on a disk")
}

/// The volume holds this, also without any one of the disks.
fn assert_redundant(world: &mut World, content: &[u8], what: &str) {
    for number in 0..world.disks.len() {
        let away = world.disks.remove(number);
        assert!(world.read("a") == content, "{what}, without disk {number}");
        world.disks.insert(number, away);
    }
}

/// What is said of an image and its checksums.
const KIND: &str = "lv_size,raidintegritymode,raidintegrityblocksize";

/// Proves, on each level, in both modes, with large and small blocks: a disk is lost, and the array
/// is repaired; the image that is put there has checksums as the others, stock sees what we see;
/// when it is filled nothing is wrong, and any other disk may go. Then it grows, and what is in the
/// new extents is as safe; and what is wrong there is found.
#[test]
fn arrays_with_checksums_are_repaired_and_grow() {
    for (made, how) in WAYS {
        let what = format!("{made} {how}");
        let mut world = World::new();
        let mut content = pattern(6 * MIB);
        world.agreed(&format!(
            "lvcreate -y {made} --raidintegrity y {how} -l 6 -n a vg"
        ));
        world.fill("a", &content);
        settle(&world);
        let image = |world: &World, fields: &str| {
            let line = format!("lvs -a --noheadings -o {fields} vg/a_rimage_1");
            world.ours(&line, 0).trim().to_owned()
        };
        let kind = image(&world, KIND);
        world.disks.remove(disk_of(&world, "a_rimage_1"));
        assert!(world.read("a") == content, "{what}, with a lost disk");
        world.ours("lvconvert -y --repair vg/a", 0);
        world.agreed("vgreduce --removemissing vg");
        assert_eq!(image(&world, KIND), kind, "{what}");
        assert!(world.read("a") == content, "{what}, repaired");
        settle(&world);
        assert_redundant(&mut world, &content, &what);
        world.agreed("lvextend -l +6 vg/a");
        assert!(world.read("a")[..6 * MIB] == content[..], "{what}, grown");
        content = pattern(12 * MIB);
        content.reverse();
        world.fill("a", &content);
        settle(&world);
        spoil(&world, "a_rimage_1");
        assert!(world.read("a") == content, "{what}, wrong on one disk");
        world.ours("scrub vg/a", 1);
        world.ours("scrub --repair -y vg/a", 0);
        assert_redundant(&mut world, &content, &what);
        let disk = disk_of(&world, "a_rimage_0");
        world.agreed(&format!("lvconvert -y --replace disk{disk} vg/a"));
        settle(&world);
        assert!(world.read("a") == content, "{what}, replaced");
    }
}

/// Proves: what vgreduce gives up of an array with checksums is repaired behind it.
#[test]
fn what_was_given_up_gets_checksums_again() {
    let mut world = World::new();
    let content = pattern(6 * MIB);
    world.ours(
        "lvcreate -y --type raid5 -i 2 --raidintegrity y -l 6 -n a vg",
        0,
    );
    world.fill("a", &content);
    settle(&world);
    world.disks.remove(disk_of(&world, "a_rimage_1"));
    world.ours("vgreduce -y --removemissing --force vg", 0);
    assert!(world.read("a") == content, "without the image");
    world.agreed("lvconvert -y --repair vg/a");
    settle(&world);
    assert_redundant(&mut world, &content, "given up");
}

/// Proves: a mirror with checksums gets another copy, which has them, too, and loses the first one;
/// what is left has the names that stock expects.
#[test]
fn copies_with_checksums_come_and_go() {
    let mut world = World::new();
    let content = pattern(6 * MIB);
    world.ours(
        "lvcreate -y --type raid1 -m 1 --raidintegrity y -l 6 -n a vg",
        0,
    );
    world.fill("a", &content);
    settle(&world);
    world.agreed("lvconvert -y -m 2 vg/a");
    settle(&world);
    assert_redundant(&mut world, &content, "three");
    world.agreed("lvconvert -y -m 1 vg/a disk0");
    settle(&world);
    assert_redundant(&mut world, &content, "two");
}

/// Proves: what stock does not do with such arrays is refused, the way round is named, and nothing
/// is changed; nor is the size while somebody uses the volume.
#[test]
fn what_checksums_do_not_go_along_with_is_refused() {
    let world = World::new();
    let content = pattern(6 * MIB);
    for line in [
        "lvcreate -y --type raid1 -m 1 --raidintegrity y -l 6 -n a vg",
        "lvcreate -y --type raid5 -i 2 --raidintegrity y -l 6 -n b vg",
    ] {
        world.ours(line, 0);
    }
    for volume in ["a", "b"] {
        world.fill(volume, &content);
        world.ours(&format!("sync vg/{volume}"), 0);
    }
    for line in [
        "lvreduce -y --fs ignore -l -2 vg/a",
        "lvconvert -y -m 0 vg/a",
        "lvconvert -y --splitmirrors 1 -n c vg/a",
        "lvconvert -y --splitmirrors 1 --trackchanges vg/a",
        "lvconvert -y --type raid5 vg/a",
        "lvconvert -y -R 1m vg/a",
        "lvchange -y --rebuild disk0 vg/a",
        "lvcreate -s -l 2 -n c vg/a",
        "lvreduce -y --fs ignore -l -2 vg/b",
        "lvconvert -y --stripes 3 vg/b",
        "lvconvert -y --stripesize 16k vg/b",
    ] {
        let said = world.ours(line, 5);
        assert!(said.contains("--raidintegrity n vg/"), "{line}: {said}");
    }
    let said = world.tried("pvmove disk0");
    assert!(said.complaints().contains("--replace"), "{said}");
    for volume in ["a", "b"] {
        assert!(world.read(volume) == content, "{volume}");
        world.ours(&format!("scrub vg/{volume}"), 0);
    }
    world.agreed("lvextend -l +2 vg/a");
    assert!(world.read("a")[..6 * MIB] == content[..], "grown");
}

/// Proves: in use, an image with checksums is replaced, and a mirror gets another copy; it does not
/// grow, and it is said why.
#[test]
fn images_with_checksums_are_replaced_while_they_are_used() {
    let group = Group::new("raid-checksums", 4, 48 << 20);
    let run = |line: &str| group.ashlar().args(line.split(' ')).succeed();
    run("lvcreate -y --type raid1 -m 1 --raidintegrity y -L 8m -n a vg0");
    run("sync vg0/a");
    let node = group.attach("a");
    let volume = File::options().write(true).open(&node).expect("a volume");
    let write = |at: u64, byte: u8| {
        volume
            .write_all_at(&[byte; 8192], at)
            .expect("it is written");
        volume.sync_all().expect("it is durable");
    };
    write(64 << 10, 0x11);
    let (disk, _) = group.place("a_rimage_0_iorig");
    run(&format!("lvconvert -y --replace {} vg0/a", disk.display()));
    write(5 << 20, 0x22);
    run("sync vg0/a");
    let said = group.ashlar().args(["lvextend", "-L+4m", "vg0/a"]).exit(5);
    let said = said.complaints();
    assert!(said.contains("while nobody uses its volume"), "{said}");
    write(6 << 20, 0x33);
    drop(volume);
    group.detach("a");
    run("lvextend -L+4m vg0/a");
    run("sync vg0/a");
    let read = || run("cat vg0/a").stdout;
    let whole = read();
    for (at, byte) in [(64 << 10, 0x11), (5 << 20, 0x22), (6 << 20, 0x33)] {
        assert_eq!(whole[at..][..8192], [byte; 8192], "at {at}");
    }
    for disk in 0..4 {
        let (image, away) = (group.disk(disk), group.join("away"));
        fs::rename(&image, &away).expect("it is taken away");
        assert!(read() == whole, "without disk {disk}");
        fs::rename(&away, &image).expect("it is brought back");
    }
}
