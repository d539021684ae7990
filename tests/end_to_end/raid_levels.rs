//! Levels that become each other: what a volume holds stays, stock sees what we see, and the
//! redundancy is there when all is in sync.

use std::time::{Duration, Instant};

use block::{BlockingDevice, Range};
use tests::{Golden, LIMIT, sha256};

use super::owner;
use super::raid_change::{MIB, World, pattern};

/// What volumes are made as, and what they become, one after the other.
const WAYS: [(&str, &[&str]); 8] = [
    (
        "-i 3",
        &[
            "raid4",
            "raid5_n",
            "raid6_n_6",
            "raid4",
            "raid6_n_6",
            "raid5_n",
            "raid0_meta",
            "raid6_n_6",
            "striped",
        ],
    ),
    ("--type raid5 -i 3", &["raid6_ls_6", "raid5_ls"]),
    ("--type raid5_la -i 3", &["raid6_la_6", "raid5_la"]),
    ("--type raid5_rs -i 3", &["raid6_rs_6", "raid5_rs"]),
    ("--type raid5_ra -i 3", &["raid6_ra_6", "raid5_ra"]),
    (
        "--type raid1 -m 1",
        &["raid5", "raid1", "raid4", "raid5_n", "raid1"],
    ),
    (
        "--type raid0 -i 2",
        &["raid10", "raid0", "raid10", "striped"],
    ),
    ("--type raid4 -i 3", &["raid0", "raid5_n", "striped"]),
];

/// How many images may be lost of a type.
fn redundancy(kind: &str) -> usize {
    match kind {
        "striped" | "raid0" | "raid0_meta" => 0,
        kind if kind.starts_with("raid6") => 2,
        _ => 1,
    }
}

/// Reads a volume without some disks.
fn read_without(world: &mut World, volume: &str, away: &[usize]) -> Vec<u8> {
    let all = world.disks.clone();
    let is_there = |number: &usize| !away.contains(number);
    world.disks = (0..all.len())
        .filter(is_there)
        .map(|number| all[number].clone())
        .collect();
    let content = world.read(volume);
    world.disks = all;
    content
}

/// Brings the volume in sync, until the metadata says it of all images: that word is written when
/// an image is filled, and `sync` may end before.
fn fill(world: &World) {
    let end = Instant::now() + LIMIT;
    loop {
        world.ours("sync vg/a", 0);
        let text = world.scratch.join("text");
        world.ours(&format!("vgcfgbackup -f {} vg", text.display()), 0);
        let said = std::fs::read_to_string(text).expect("it is text");
        if !said.contains("REBUILD") {
            return;
        }
        assert!(Instant::now() < end, "{said}");
    }
}

#[test]
fn levels_become_each_other() {
    // Proves: on every way from one level to the others each step keeps what the volume holds,
    // before and after it is brought in sync, and then also without any disks that the level may
    // lose; stock sees all as we do.
    let content = pattern(6 * MIB);
    let mut world = World::new();
    for (made, steps) in WAYS {
        world.agreed(&format!("lvcreate -y {made} -l 6 -n a vg"));
        world.fill("a", &content);
        let mut is_redundant = made.contains("raid1") || made.contains("raid5");
        is_redundant |= made.contains("raid4");
        for step in steps {
            let what = format!("{made} becomes {step}");
            if is_redundant {
                fill(&world);
            }
            world.agreed(&format!("lvconvert -y --type {step} vg/a"));
            assert!(world.read("a") == content, "{what}");
            is_redundant = redundancy(step) > 0;
            if is_redundant {
                fill(&world);
            }
            for lost in 0..redundancy(step) {
                let away = if lost == 0 { vec![1] } else { vec![0, 2] };
                let read = read_without(&mut world, "a", &away);
                assert!(read == content, "{what}, without {away:?}");
            }
        }
        world.ours("lvremove -y vg/a", 0);
    }
}

#[test]
fn what_is_not_in_sync_keeps_its_level() {
    // Proves: redundancy is not counted on before it is there; what has to come first is named.
    let world = World::new();
    world.agreed("lvcreate --type raid5 -i 3 -l 6 -n a vg");
    let said = world.ours("lvconvert -y --type raid6 vg/a", 5);
    assert!(said.contains("not in-sync"), "{said}");
    fill(&world);
    for (to, what) in [
        ("striped", "has to become raid5_n first"),
        ("raid1", "has to have 2 images first"),
    ] {
        let said = world.ours(&format!("lvconvert -y --type {to} vg/a"), 5);
        assert!(said.contains(what), "{to}: {said}");
    }
    let said = world.ours("plan lvconvert --type raid6 vg/a", 0);
    for what in [
        "vg/a_rimage_4 gets 2 extents",
        "vg/a: 2097152 bytes would be copied to 1 copy when it is used next",
    ] {
        assert!(said.contains(what), "{said}");
    }
    let said = world.ours("lvconvert -y --type raid6 vg/a", 0);
    assert!(
        said.contains("Replaced LV type raid6 with possible type raid6_ls_6"),
        "{said}"
    );
    let said = world.ours("lvconvert -y --type raid5 vg/a", 5);
    assert!(
        said.contains("not in-sync"),
        "its second parity is not filled yet: {said}"
    );
}

/// A client that stays writes all, and reads it back.
fn rewrite(client: &mut BlockingDevice, size: u64, seed: u8) -> Vec<u8> {
    let content: Vec<u8> = (0..size).map(|at| (at / 13 % 250) as u8 ^ seed).collect();
    client.write_at(&content, 0).expect("it is written");
    client.flush().expect("it is flushed");
    let read = client.read(Range::new(0, size)).expect("it is read");
    assert!(read == content, "it reads what it wrote");
    content
}

#[test]
fn served_stripes_get_parity() {
    // Proves: a client goes on while its stripes get parity, while that moves to another place, and
    // while it goes.
    let world = owner::World::new();
    let volume = "vg0/stripe3";
    let size = Golden::volume("stripe3").size;
    let served = world.serve("s", &[volume]);
    let device = served.device(volume);
    let mut client = BlockingDevice::open(&device).expect("a queue");
    rewrite(&mut client, size, 1);
    let convert = |to: &str| {
        let tool = world
            .ashlar()
            .args(["lvconvert", "-y", "--type", to, volume]);
        tool.run()
    };
    let made = convert("raid5_n");
    assert_eq!(made.code, Some(0), "{made}");
    let content = rewrite(&mut client, size, 2);
    assert_eq!(sha256(&world.cat(volume)), sha256(&content));
    world.ashlar().args(["sync", volume]).succeed();
    // As long as marks of the last writes stand the array is not in sync.
    let settled = |to: &str| {
        let end = Instant::now() + LIMIT;
        loop {
            let made = convert(to);
            if !made.complaints().contains("not in-sync") {
                break made;
            }
            assert!(Instant::now() < end, "{made}");
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    let other = settled("raid4");
    assert_eq!(other.code, Some(0), "{other}");
    let content = rewrite(&mut client, size, 3);
    world.ashlar().args(["sync", volume]).succeed();
    served.daemon.stop();
    assert_eq!(sha256(&world.cat(volume)), sha256(&content));
    let served = world.serve("t", &[volume]);
    let device = served.device(volume);
    let mut client = BlockingDevice::open(&device).expect("a queue");
    rewrite(&mut client, size, 4);
    let back = settled("striped");
    assert_eq!(back.code, Some(0), "{back}");
    let content = rewrite(&mut client, size, 5);
    served.daemon.stop();
    assert_eq!(sha256(&world.cat(volume)), sha256(&content));
}
