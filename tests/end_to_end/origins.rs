//! Origins and snapshots that are written while they are served, and changed meanwhile.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use block::{BlockingDevice, Range};
use tests::{Golden, LIMIT, Mounted, Tool, sha256};

use crate::owner::{Served, World};

const MIB: u64 = 1 << 20;

/// What a client reads of a volume that is served.
fn read(world: &World, served: &Served, volume: &str) -> Vec<u8> {
    let copy = world.scratch.join("copy");
    let uri = served.uri(volume);
    Tool::new("nbdcopy").arg(uri).arg(&copy).succeed();
    std::fs::read(&copy).expect("a copy")
}

#[test]
fn origins_are_written_and_their_snapshots_stay() {
    // Proves: an origin and its snapshots are served for writing by one process, asked for by two
    // commands; what is written to one of them is not seen in the others, nor in what a reader
    // finds later, who is sent to the process as long as that is there.
    let world = World::new();
    let one = world.serve("one", &["vg0/origin", "vg0/snap2"]);
    let other = world.serve("other", &["vg0/snap1"]);
    let write = |served: &Served, volume: &str, byte: u8, range: Range| {
        let device = served.device(volume);
        let mut client = BlockingDevice::open(&device).expect("a queue");
        let bytes = vec![byte; range.len() as usize];
        client.write_at(&bytes, range.start()).expect("is written");
        client.flush().expect("is flushed");
    };
    write(&one, "vg0/origin", 7, Range::new(0, 2 * MIB));
    write(&one, "vg0/snap2", 8, Range::new(12 << 10, MIB));
    let golden = |name: &str| Golden::volume(name).sha256;
    assert_eq!(sha256(&read(&world, &other, "vg0/snap1")), golden("snap1"));
    let snap2 = read(&world, &one, "vg0/snap2");
    assert!(
        snap2[12 << 10..][..MIB as usize]
            .iter()
            .all(|byte| *byte == 8)
    );
    let refused = world.ashlar().args(["cat", "vg0/snap2"]).exit(5);
    let complaints = refused.complaints();
    assert!(complaints.contains("ashlar attach vg0/snap2"), "{refused}");
    other.daemon.stop();
    one.daemon.stop();
    assert_eq!(sha256(&world.cat("vg0/snap1")), golden("snap1"));
    assert!(world.cat("vg0/snap2") == snap2, "what was written is there");
    // Its owner reads a snapshot that is copied into a neighbour; it is not copied into its origin.
    world
        .ashlar()
        .args(["cp", "vg0/snap1", "vg0/linear1"])
        .succeed();
    assert_eq!(
        sha256(&world.cat("vg0/linear1")[..6 * MIB as usize]),
        golden("snap1")
    );
    let origin = world.cat("vg0/origin");
    assert!(origin[..2 * MIB as usize].iter().all(|byte| *byte == 7));
    let refused = world.ashlar().args(["cp", "vg0/snap1", "vg0/origin"]);
    let complaints = refused.exit(5).complaints();
    assert!(complaints.contains("is a snapshot of"), "{complaints}");
}

#[test]
fn snapshots_are_made_and_removed_while_their_origin_is_served() {
    // Proves: a snapshot that is made in the middle of writing shows its moment, to those who open
    // it at once and to those who read it when all is over; it gets a larger store, and goes,
    // without the client of the origin noticing; a full store costs the snapshot, not the origin.
    let world = World::new();
    let lvm = |line: &str| world.ashlar().args(line.split_whitespace()).succeed();
    let served = world.serve("s", &["vg0/linear2"]);
    let device = served.device("vg0/linear2");
    let size = Golden::volume("linear2").size;
    let mut client = BlockingDevice::open(&device).expect("a queue");
    let mut fill = |byte: u8, range: Range| {
        let bytes = vec![byte; range.len() as usize];
        client.write_at(&bytes, range.start()).expect("is written");
    };
    fill(1, Range::new(0, size));
    lvm("lvcreate -s -L 4M -n monday vg0/linear2");
    fill(2, Range::new(0, 2 * MIB));
    lvm("lvcreate -s -c 16k -L 3M -n tuesday vg0/linear2");
    fill(3, Range::new(MIB, 2 * MIB));
    let snapshots = world.serve("t", &["vg0/monday", "vg0/tuesday"]);
    let held = |volume: &str, at: u64| read(&world, &snapshots, volume)[at as usize];
    let at = [0, MIB + 512, 2 * MIB + 512, 3 * MIB];
    assert_eq!(at.map(|at| held("vg0/monday", at)), [1, 1, 1, 1]);
    assert_eq!(at.map(|at| held("vg0/tuesday", at)), [2, 2, 1, 1]);
    let refused = world
        .ashlar()
        .args(["lvremove", "-y", "vg0/monday"])
        .exit(5);
    assert!(refused.complaints().contains("in use"), "{refused}");

    lvm("lvextend -L +4M vg0/monday");
    fill(4, Range::new(0, size.min(6 * MIB)));
    assert!(
        read(&world, &snapshots, "vg0/monday")
            .iter()
            .all(|byte| *byte == 1)
    );
    let tuesday = served_bytes(&snapshots, "vg0/tuesday");
    assert!(tuesday.is_err(), "its store of 3 MiB is full");
    // As stock shows it.
    let lvs = [
        "lvs",
        "--noheadings",
        "-o",
        "lv_attr,data_percent,lv_snapshot_invalid",
    ];
    let row = world.ashlar().args(lvs).arg("vg0/tuesday").succeed().text();
    let row: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(row, ["swi-Ios---", "100.00", "snapshot", "invalid"]);
    let displayed = world.ashlar().args(["lvdisplay", "vg0/linear2"]).succeed();
    for words in ["monday [active]", "tuesday [INACTIVE]"] {
        assert!(displayed.text().contains(words), "{displayed}");
    }
    snapshots.daemon.stop();
    lvm("lvremove -y vg0/tuesday");
    fill(5, Range::new(0, 4096));
    drop(client);
    drop(device);
    served.daemon.stop();
    assert!(world.cat("vg0/monday").iter().all(|byte| *byte == 1));
    assert_eq!(world.cat("vg0/linear2")[..5000][4095..4097], [5, 4]);
    lvm("lvremove -y vg0/monday");
}

/// The first bytes of a volume.
fn served_bytes(served: &Served, volume: &str) -> block::Result<Vec<u8>> {
    let device = served.device(volume);
    let mut client = BlockingDevice::open(&device)?;
    client.read(Range::new(0, 4096))
}

/// Waits until a snapshot is merged and gone.
fn wait_for_the_end(world: &World, snapshot: &str) {
    let end = Instant::now() + LIMIT;
    let is_there = || world.ashlar().args(["lvs", snapshot]).run().code == Some(0);
    while is_there() {
        assert!(Instant::now() < end, "{snapshot} is merged at last");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn snapshots_are_merged_into_their_origin() {
    // Proves: merged while it is served, an origin holds at once what its snapshot held, takes
    // writes meanwhile, and in the end the snapshot is gone and its neighbour is what it was; told
    // to merge while nobody serves it, it is read as what it will be, merged when it is served
    // next, through kills in the middle, and stock finds nothing wrong.
    let world = World::new();
    let golden = |name: &str| Golden::volume(name).sha256;
    let served = world.serve("s", &["vg0/origin"]);
    let device = served.device("vg0/origin");
    let mut client = BlockingDevice::open(&device).expect("a queue");
    client.write_at(&[3; 8192], MIB).expect("is written");
    let merge = world
        .ashlar()
        .args(["lvconvert", "--merge", "-b", "vg0/snap1"]);
    let said = merge.succeed().text();
    assert!(
        said.contains("Merging of volume vg0/snap1 started.") && !said.contains("Merged:"),
        "{said}"
    );
    let range = Range::new(0, Golden::volume("origin").size);
    let bytes = client.read(range).expect("is read");
    assert_eq!(sha256(&bytes), golden("snap1"));
    client.write_at(&[4; 512], 2 * MIB).expect("is written");
    wait_for_the_end(&world, "vg0/snap1");
    drop((client, device));
    served.daemon.stop();
    let mut wanted = bytes;
    wanted[2 * MIB as usize..][..512].fill(4);
    assert!(
        world.cat("vg0/origin") == wanted,
        "what was written is there"
    );
    assert_eq!(sha256(&world.cat("vg0/snap2")), golden("snap2"));

    let merge = world.ashlar().args(["lvconvert", "--merge", "vg0/snap2"]);
    let said = merge.succeed().text();
    assert!(said.contains("on next activation of vg0/origin."), "{said}");
    assert_eq!(sha256(&world.cat("vg0/origin")), golden("snap2"));
    for _ in 0..3 {
        let mut served = world.serve("s", &["vg0/origin"]);
        served.daemon.kill();
        assert_eq!(sha256(&world.cat("vg0/origin")), golden("snap2"));
    }
    let served = world.serve("s", &["vg0/origin"]);
    wait_for_the_end(&world, "vg0/snap2");
    served.daemon.stop();
    assert_eq!(sha256(&world.cat("vg0/origin")), golden("snap2"));
    let left = world
        .ashlar()
        .args(["lvs", "-a", "--noheadings", "-o", "name"]);
    let left = left.arg("vg0").succeed().text();
    assert!(!left.contains("snap"), "{left}");
}

#[test]
fn merges_are_waited_for() {
    // Proves: without -b the command says how far each of several snapshots is, named by their
    // tag, and ends when they are gone and their origins hold what they held.
    let world = World::new();
    let lvm = |line: &str| world.ashlar().args(line.split_whitespace()).succeed();
    let served = world.serve("s", &["vg0/origin", "vg0/linear2"]);
    let device = served.device("vg0/linear2");
    let before = read(&world, &served, "vg0/linear2");
    lvm("lvcreate -s -L 10M --addtag back -n monday vg0/linear2");
    lvm("lvchange --addtag back vg0/snap1");
    let mut client = BlockingDevice::open(&device).expect("a queue");
    let bytes = vec![9; before.len()];
    client.write_at(&bytes, 0).expect("is written");
    let said = lvm("lvconvert --merge -i 1 @back").text();
    for name in ["vg0/snap1", "vg0/monday"] {
        let started = format!("Merging of volume {name} started.");
        let merged = format!("  {name}: Merged: 100.00%\n");
        assert!(said.contains(&started) && said.contains(&merged), "{said}");
        assert!(world.ashlar().args(["lvs", name]).run().code != Some(0));
    }
    assert!(read(&world, &served, "vg0/linear2") == before);
    // As stock, nothing that has the tag is no failure.
    assert_eq!(lvm("lvconvert --merge @back").text(), "");
    drop((client, device));
    served.daemon.stop();
    assert_eq!(
        sha256(&world.cat("vg0/origin")),
        Golden::volume("snap1").sha256
    );
}

#[test]
fn a_merge_waits_for_a_mounted_origin() {
    // Proves: what a mounted file system stands on is not changed behind its back: the command says
    // that it waits, the file system and its snapshot go on as they are, and the merge begins when
    // the origin is attached next.
    let world = World::new();
    let lvm = |line: &str| world.ashlar().args(line.split_whitespace()).succeed();
    let attach = || PathBuf::from(lvm("attach vg0/ext4").text().trim());
    let mount = |node: &Path| Mounted::new(node, &world.scratch.join("mnt"), &["-t", "ext4"]);
    lvm("lvcreate -s -L 4M -n monday vg0/ext4");
    let mounted = mount(&attach());
    std::fs::write(mounted.path().join("new"), "later").expect("is written");
    let said = lvm("lvconvert --merge vg0/monday").text();
    for words in [
        "Delaying merge since origin is open.",
        "Merging of snapshot vg0/monday will occur on next activation of vg0/ext4.",
    ] {
        assert!(said.contains(words), "{said}");
    }
    // Another change of the same group does not begin it.
    lvm("lvextend -l +1 vg0/linear1");
    std::fs::write(mounted.path().join("newer"), "later").expect("goes on");
    let is_there = |mounted: &Mounted, name: &str| mounted.path().join(name).exists();
    assert!(is_there(&mounted, "new"));
    mounted.unmount();
    lvm("detach vg0/ext4");
    let node = attach();
    wait_for_the_end(&world, "vg0/monday");
    let mounted = mount(&node);
    assert!(!is_there(&mounted, "new") && !is_there(&mounted, "newer"));
    mounted.unmount();
    lvm("detach vg0/ext4");
}

#[test]
fn a_mirrored_origin_is_one_stack() {
    // Proves: a mirror gets a snapshot while it is served, and both are written as one stack: the
    // snapshot stays, the copies of the mirror are equal, and both get another size in one change.
    let world = World::new();
    let lvm = |line: &str| world.ashlar().args(line.split_whitespace()).succeed();
    let served = world.serve("s", &["vg0/mirror2"]);
    let device = served.device("vg0/mirror2");
    let mut client = BlockingDevice::open(&device).expect("a queue");
    let size = Golden::volume("mirror2").size as usize;
    client.write_at(&vec![1; size], 0).expect("is written");
    lvm("lvcreate -s -L 5M -n snap vg0/mirror2");
    client.write_at(&vec![2; size / 2], 0).expect("is written");
    let snapshot = world.serve("t", &["vg0/snap"]);
    lvm("lvextend -l +1 vg0/mirror2");
    client.write_at(&[3; 4096], 4096).expect("goes on");
    let read = read(&world, &snapshot, "vg0/snap");
    assert!(read.len() == size && read.iter().all(|byte| *byte == 1));
    drop((client, device));
    snapshot.daemon.stop();
    served.daemon.stop();
    let whole = world.cat("vg0/mirror2");
    assert_eq!(whole.len(), size + MIB as usize);
    assert_eq!([0, 4096, 8192, size / 2].map(|at| whole[at]), [2, 3, 2, 1]);
    assert!(world.cat("vg0/snap").iter().all(|byte| *byte == 1));
    let leg = |number: u32| world.cat(&format!("vg0/mirror2_mimage_{number}"));
    assert!(leg(0)[..size] == leg(1)[..size], "the copies are equal");
}
