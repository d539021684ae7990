//! An array of which too few images are believed, though all disks are back.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use block::BlockingDevice;
use nbd::client::NbdDevice;
use tests::{Daemon, Group};

const SIZE: u64 = 64 << 20;
const MIB: usize = 1 << 20;
/// Of the volume.
const LEN: usize = 8 * MIB;

struct Bench {
    group: Group,
    socket: PathBuf,
}

impl Bench {
    fn run(&self, line: &str) -> String {
        self.group.ashlar().args(line.split(' ')).succeed().text()
    }

    fn content(&self) -> Vec<u8> {
        self.group.ashlar().args(["cat", "vg0/a"]).succeed().stdout
    }

    /// Writes some of the volume, and stops.
    fn write(&self, bytes: &[u8], start: usize) {
        let socket = self.socket.display();
        let serve = self.group.ashlar().args(["serve", "vg0/a", "--partial"]);
        let serve = serve.arg(format!("--nbd=unix:{socket}"));
        let server = Daemon::start(serve, || UnixStream::connect(&self.socket).is_ok());
        let device = NbdDevice::open(&format!("nbd+unix:///vg0/a?socket={socket}"));
        let device = device.expect("it is served");
        let mut client = BlockingDevice::open(&device).expect("a queue");
        client.write_at(bytes, start as u64).expect("is written");
        client.flush().expect("is durable");
        drop((client, device));
        server.stop();
    }
}

/// Two of three images fall behind: one is away while the others are written, and another one's
/// disk is an older copy afterwards. Nothing uses the array then; a reset says what it risks, asks,
/// and lets both count: where nothing was marked the volume holds what it held, and all of it is
/// redundant again.
#[test]
fn images_that_fell_behind_count_again() {
    let group = Group::new("raid-reset", 3, SIZE);
    let socket = group.join("s");
    let bench = Bench { group, socket };
    bench.run("lvcreate --type raid5 -i 2 -R 1m -L 8m -n a vg0");
    let words = (0..LEN as u64 / 8).map(|at| at.wrapping_mul(0x9e37_79b9));
    let held: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    bench.write(&held, 0);
    bench.run("sync vg0/a");
    let refused = bench.group.ashlar();
    let refused = refused.args(["lvchange", "-y", "--resetfaileddevices", "vg0/a"]);
    let refused = refused.run();
    assert_eq!(refused.code, Some(5), "{refused}");
    assert!(
        refused.complaints().contains("can be used as it is"),
        "{refused}"
    );
    let (one, two) = (bench.group.disk(1), bench.group.disk(2));
    let (copy, away) = (bench.group.join("copy"), bench.group.join("away"));
    fs::copy(&one, &copy).expect("is copied");
    fs::rename(&two, &away).expect("it is taken away");
    for _ in ["once", "and once more, since one record less may be a cut"] {
        bench.write(&vec![7; MIB], 2 * MIB);
    }
    fs::rename(&away, &two).expect("it is brought back");
    fs::rename(&copy, &one).expect("an older one comes back");
    let refused = bench.group.ashlar().args(["cat", "vg0/a"]).run();
    assert_ne!(refused.code, Some(0), "{refused}");
    let line = ["lvchange", "--resetfaileddevices", "vg0/a"];
    let asked = bench.group.ashlar().args(line).run();
    assert_eq!(asked.code, Some(5), "{asked}");
    let said = asked.complaints();
    for part in [
        "a_rimage_0 is believed",
        "a_rimage_1 is",
        "a_rimage_2 is",
        "regions of vg0/a",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(said.contains("NOT changed"), "{said}");
    bench.run("lvchange -y --resetfaileddevices vg0/a");
    bench.run("sync vg0/a");
    let found = bench.content();
    let is_alike = |range: std::ops::Range<usize>| found[range.clone()] == held[range];
    assert!(
        is_alike(0..2 * MIB) && is_alike(4 * MIB..LEN),
        "what nobody wrote"
    );
    let said = bench.run("scrub vg0/a");
    assert!(!said.contains("not compared"), "{said}");
    for disk in 0..3 {
        let image = bench.group.disk(disk);
        fs::rename(&image, &away).expect("it is taken away");
        assert!(bench.content() == found, "without disk {disk}");
        fs::rename(&away, &image).expect("it is brought back");
    }
}
