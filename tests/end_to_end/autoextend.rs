//! Snapshots that fill: extended before they are full, or told of in time.

use std::thread::sleep;
use std::time::{Duration, Instant};

use block::{BlockingDevice, Range};
use nbd::client::NbdDevice;
use tests::{Finished, Golden, LIMIT};

use crate::owner::{Served, World};

const MIB: u64 = 1 << 20;
const POLICY: &str =
    "activation { snapshot_autoextend_threshold = 60 snapshot_autoextend_percent = 50 }";

fn lvm(world: &World, line: &str) -> Finished {
    world.ashlar().args(line.split_whitespace()).succeed()
}

/// Writes to a volume that is served, and makes it durable.
fn write(device: &NbdDevice, byte: u8, range: Range) {
    let mut client = BlockingDevice::open(device).expect("a queue");
    let bytes = vec![byte; range.len() as usize];
    client.write_at(&bytes, range.start()).expect("is written");
    client.flush().expect("is flushed");
}

/// Fields of a volume as `lvs` shows them, sizes in bytes, and what it complained about.
fn fields(world: &World, volume: &str, names: &str) -> (Vec<String>, String) {
    let lvs = [
        "lvs",
        "--noheadings",
        "--separator",
        ",",
        "--units",
        "b",
        "--nosuffix",
        "-o",
    ];
    let shown = world.ashlar().args(lvs).args([names, volume]).succeed();
    let text = shown.text();
    let cells = text.trim().split(',').map(str::to_owned).collect();
    (cells, shown.complaints())
}

fn number(text: &str) -> f64 {
    text.parse()
        .unwrap_or_else(|_| panic!("{text:?} is no number"))
}

/// The size of a store in MiB, and how full it is.
fn room(world: &World, volume: &str) -> (u64, f64) {
    let (row, _) = fields(world, volume, "lv_size,data_percent");
    (number(&row[0]) as u64 / MIB, number(&row[1]))
}

/// Waits until `is_so`.
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        sleep(Duration::from_millis(50));
    }
}

fn serve(world: &World, name: &str, volumes: &[&str]) -> Served {
    world.serve_with(name, volumes, &["--config", POLICY])
}

#[test]
fn a_store_grows_until_it_has_room_for_all() {
    // Proves: whoever serves an origin extends its snapshot's store each time that more of it is in
    // use than the threshold, with no command, until it has room for the whole origin and no
    // further; the snapshot shows its moment to the last byte, and the log says what was done.
    let world = World::new();
    let size = Golden::volume("linear2").size;
    let served = serve(&world, "s", &["vg0/linear2"]);
    let device = served.device("vg0/linear2");
    write(&device, 1, Range::new(0, size));
    lvm(&world, "lvcreate -s -L 3M -n monday vg0/linear2");
    // A chunk of 4 KiB for each, with an area for 256, a header, and one area more.
    let most = (size + (size / MIB + 2) * 4096).div_ceil(MIB);
    let mut sizes = vec![3];
    for at in (0..size).step_by(MIB as usize) {
        write(&device, 2, Range::new(at, MIB.min(size - at)));
        wait_for("the store has room again", || {
            let (store, percent) = room(&world, "vg0/monday");
            sizes.push(store);
            percent <= 60.0 || store == most
        });
    }
    sizes.dedup();
    assert!(sizes.is_sorted(), "{sizes:?}");
    assert_eq!(sizes[..2], [3, 5], "half of 3 MiB more, in whole extents");
    assert_eq!(sizes.last(), Some(&most));
    let log = served.daemon.stop();
    let told = log.matches("Snapshot vg0/monday was extended to").count();
    assert_eq!(told, sizes.len() - 1, "{log}");
    assert!(!log.contains("WARNING"), "{log}");
    assert!(world.cat("vg0/monday").iter().all(|byte| *byte == 1));
    assert!(world.cat("vg0/linear2").iter().all(|byte| *byte == 2));
}

#[test]
fn a_store_that_cannot_grow_is_told_of() {
    // Proves: where the group has no room, the one that serves says so once, as does each report;
    // a store is extended by hand as soon as there is room, as the policy says, also above the
    // threshold only by a little; below it, and where nothing is configured, nothing is done.
    let world = World::new();
    let served = serve(&world, "s", &["vg0/linear2"]);
    let device = served.device("vg0/linear2");
    lvm(&world, "lvcreate -s -L 5M -n monday vg0/linear2");
    lvm(&world, "lvcreate -l 100%FREE -n filler vg0");
    write(&device, 2, Range::new(0, 2 * MIB));
    let by_policy = |policy: &str| {
        let tool = world
            .ashlar()
            .args(["lvextend", "--use-policies", "vg0/monday"]);
        tool.args(["--config", policy])
    };
    by_policy(POLICY).succeed();
    assert_eq!(room(&world, "vg0/monday").0, 5, "it is not half full");
    write(&device, 2, Range::new(2 * MIB, 2 * MIB + MIB / 2));
    wait_for("it is told of", || {
        let (_, said) = fields(&world, "vg0/monday", "lv_name");
        said.contains("WARNING: snapshot vg0/monday is 9")
    });
    let refused = by_policy(POLICY).exit(5).complaints();
    assert!(refused.to_lowercase().contains("free"), "{refused}");
    by_policy("activation/snapshot_autoextend_threshold=100").succeed();
    lvm(&world, "lvremove -y vg0/filler");
    by_policy(POLICY).succeed();
    // 91 % of 5 MiB are 60 % of 7.6.
    assert_eq!(room(&world, "vg0/monday").0, 8);
    let log = served.daemon.stop();
    let told = log.matches("It cannot be extended by itself").count();
    assert_eq!(told, 1, "{log}");
    let refused = world
        .ashlar()
        .args(["lvextend", "--use-policies", "vg0/linear1"]);
    let refused = refused.exit(5).complaints();
    assert!(
        refused.contains("Policy-based resize is supported"),
        "{refused}"
    );
    // Nobody serves it: how full it is, its bytes say.
    by_policy("activation { snapshot_autoextend_threshold = 50 }").succeed();
    assert_eq!(room_offline(&world), 10);
}

/// The size of the store in MiB.
fn room_offline(world: &World) -> u64 {
    let (row, _) = fields(world, "vg0/monday", "lv_size");
    number(&row[0]) as u64 / MIB
}

#[test]
fn it_is_foreseen_when_a_snapshot_is_full() {
    // Proves: while an origin is written, reports say how fast its snapshot fills and when it will
    // be full, in numbers that fit each other, and warn; the one that serves it warns once, before
    // the store is full; `explain` says the same; without somebody who serves it nothing is said.
    let world = World::new();
    let names = "snap_fill_rate,snap_time_to_full,lv_size,data_percent";
    lvm(&world, "lvcreate -s -L 7M -n monday vg0/linear2");
    let (row, said) = fields(&world, "vg0/monday", names);
    assert_eq!((&*row[0], &*row[1], &*said), ("", "", ""));
    let served = world.serve("s", &["vg0/linear2"]);
    let device = served.device("vg0/linear2");
    let begin = Instant::now();
    let mut at = 0;
    while begin.elapsed() < Duration::from_secs(14) {
        write(&device, 3, Range::new(at, MIB / 16));
        at += MIB / 16;
        assert!(at <= 5 * MIB, "it stays below 80 %");
        sleep(Duration::from_millis(200));
    }
    let (row, said) = fields(&world, "vg0/monday", names);
    let [rate, time, size, percent] = [0, 1, 2, 3].map(|column| number(&row[column]));
    let written = at as f64 / begin.elapsed().as_secs_f64();
    assert!(
        (written / 2.0..written * 2.0).contains(&rate),
        "{rate} {written}"
    );
    let wanted = size * (100.0 - percent) / 100.0 / rate;
    assert!(
        (time - wanted).abs() <= wanted * 0.1 + 2.0,
        "{time} {wanted}"
    );
    assert!(said.contains("it has room for about"), "{said}");
    let explain = ["explain", "vg0/linear2", "--workload", "randread:4k"];
    let shown = world.ashlar().args(explain).succeed().text();
    let line = shown.lines().find(|line| line.contains("vg0/monday: "));
    assert!(
        line.is_some_and(|line| line.contains("fills by")),
        "{shown}"
    );
    let shown = world.ashlar().args(explain).arg("--json").succeed().text();
    let rate = shown.split("\"fill_rate\":").nth(1);
    let rate = rate.and_then(|rest| rest.split(',').next());
    assert!(number(rate.expect("a rate")) > 0.0, "{shown}");
    let log = served.daemon.stop();
    assert_eq!(log.matches("it has room for about").count(), 1, "{log}");
}
