//! Moves that are cut off by the end of their server, under load.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tests::verifier::{BLOCK, Load, Random};
use tests::{Group, LIMIT};

use super::snapshots::{ORIGINS, assert_in_order, group};
use super::{BLOCKS, DISKS, connect, is_short, kills, load, seed, serve, wait_for_answers};

/// Bytes of a volume, of which the first are loaded.
const SIZE: u64 = 12 << 20;
const LOADED: usize = BLOCKS as usize * BLOCK;
/// A server is killed after it answered so many requests while it moves, at most.
const ANSWERS_MAX: u64 = 100;
/// Pieces of an extent, and no faster than that some are left when a server is killed.
const SLOW: &str = "ashlar { pvmove_piece_mib = 1 copy_mib_per_second = 24 }";

/// Volumes that move from disk to disk.
struct Bench {
    group: Group,
    random: Random,
    seed: u64,
    /// What volumes hold that nobody loads.
    held: BTreeMap<String, Vec<u8>>,
    /// Servers killed so far, and moves that were still under way then.
    killed: u64,
    cut: u64,
}

impl Bench {
    fn run(&self, line: &str) -> String {
        self.group.ashlar().args(line.split(' ')).succeed().text()
    }

    /// Fills all volumes with noise, and takes a snapshot of one.
    fn fill(&mut self) {
        for (name, _) in ORIGINS {
            let words = (0..SIZE / 8).map(|_| self.random.draw());
            let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
            let file = self.group.join("noise");
            fs::write(&file, &bytes).expect("there is space for it");
            let copy = self.group.ashlar().arg("cp").arg(file);
            copy.arg(format!("vg0/{name}")).succeed();
            self.held.insert(name.to_owned(), bytes);
        }
        self.run("lvcreate -s -c 8k -L 14m -n kept vg0/plain");
        let plain = self.held["plain"].clone();
        self.held.insert("kept".to_owned(), plain);
    }

    /// Whether extents are being moved.
    fn is_moving(&self) -> bool {
        let names = self.run("lvs -a --noheadings -o lv_name vg0");
        names.contains("pvmove")
    }

    fn used(&self, disk: usize) -> u64 {
        let report = ["pvs", "--noheadings", "-o", "pv_pe_alloc_count"];
        let report = self.group.ashlar().args(report).arg(self.group.disk(disk));
        let text = report.succeed().text();
        text.trim().parse().expect("a number")
    }

    /// All volumes hold what they held; of the one that is loaded, behind what is.
    fn assert_held(&self, loaded: &str) {
        for (name, bytes) in &self.held {
            let from = if name == loaded { LOADED } else { 0 };
            let cat = self.group.ashlar().args(["cat", &format!("vg0/{name}")]);
            let found = cat.succeed().stdout;
            assert!(
                found[from..] == bytes[from..],
                "{name} holds something else"
            );
        }
    }

    /// Begins to move what is on a disk; whoever serves the group does it.
    fn begin(&self, disk: usize) {
        let begin = self.group.ashlar().args(["--config", SLOW, "pvmove", "-b"]);
        begin.arg(self.group.disk(disk)).succeed();
    }

    /// Empties a disk, whose server is killed until that is done.
    fn empty(&mut self, (round, disk): (usize, usize), loaded: &str) {
        let serve = |group: &Group| {
            let socket = group.join("s");
            serve(group, &socket, &[loaded])
        };
        let socket = self.group.join("s");
        let mut server = serve(&self.group);
        self.begin(disk);
        let name = format!("{loaded}{round}");
        let load: Load = load(&self.group, &name, self.seed + self.killed);
        let progress = [load.progress()];
        let stop = AtomicBool::new(false);
        let report = thread::scope(|scope| {
            let loads = [scope.spawn(|| load.run(|| connect(&socket, loaded), &stop))];
            loop {
                let wanted = [self.random.below(ANSWERS_MAX)];
                wait_for_answers(&progress, &wanted, &loads);
                if self.killed == kills() {
                    break;
                }
                server.kill();
                self.killed += 1;
                assert_in_order(&self.group, DISKS);
                let was_cut = self.is_moving();
                self.cut += u64::from(was_cut);
                self.assert_held(loaded);
                if was_cut && self.random.below(6) == 0 {
                    self.run("pvmove --abort");
                }
                server = serve(&self.group);
                if !was_cut || self.random.below(3) == 0 {
                    break;
                }
            }
            let end = Instant::now() + LIMIT;
            while self.is_moving() {
                assert!(Instant::now() < end, "the move is never over");
                thread::sleep(Duration::from_millis(20));
            }
            stop.store(true, Ordering::Relaxed);
            let [load] = loads;
            load.join().expect("a load ends")
        });
        println!("{loaded}, disk {disk}: {report:?}");
        assert_eq!(report.problems, [""; 0], "{loaded}");
        drop(server);
        assert_in_order(&self.group, DISKS);
        self.assert_held(loaded);
        // What others wrote to it is what it holds from now on.
        let cat = self.group.ashlar().args(["cat", &format!("vg0/{loaded}")]);
        self.held.insert(loaded.to_owned(), cat.succeed().stdout);
    }
}

/// Disks are emptied by servers that are killed, under load: at every moment each volume holds what
/// was written to it and answered, a mirror and a snapshot that lie there too; the next server goes
/// on until the move is over, unless it was aborted.
#[test]
fn moves_survive_kills_over_nbd() {
    let seed = seed();
    let mut bench = Bench {
        group: group("survive-moves", SIZE),
        random: Random::new(seed),
        seed,
        held: BTreeMap::new(),
        killed: 0,
        cut: 0,
    };
    bench.fill();
    let mut round = 0;
    while bench.killed < kills() {
        let loaded = ["wide", "twice"][round % 2];
        let disk = (0..DISKS)
            .max_by_key(|disk| bench.used(*disk))
            .expect("four");
        bench.empty((round, disk), loaded);
        round += 1;
    }
    let (killed, cut) = (bench.killed, bench.cut);
    println!("{round} disks, {killed} kills, {cut} of them in a move");
    assert!(cut > 0 || is_short(), "no move was cut off");
}
