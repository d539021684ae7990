//! Merges that are cut off by the end of their server, under load.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use tests::verifier::{BLOCK, Load, Random};
use tests::{Group, LIMIT};

use super::snapshots::{ORIGINS, assert_in_order, group};
use super::{BLOCKS, DISKS, connect, is_short, kills, load, seed, serve, wait_for_answers};

/// Bytes of an origin, of which the first are loaded: so many that a merge takes some time.
const SIZE: u64 = 48 << 20;
/// What a store needs to hold all of it.
const STORE_MIB: u64 = (SIZE >> 20) + 4;
const LOADED: usize = BLOCKS as usize * BLOCK;
/// Every second server is killed as soon as it merges, the others after they answered so many
/// requests at most: a merge does not take long.
const ANSWERS_MAX: u64 = 40;

/// What an origin held when a snapshot was taken, and what came after it.
struct Bench {
    group: Group,
    random: Random,
    seed: u64,
    /// Servers killed so far, and merges that were still under way then.
    killed: u64,
    cut: u64,
}

impl Bench {
    /// A file of noise, as large as an origin.
    fn noise(&mut self, name: &str) -> (PathBuf, Vec<u8>) {
        let path = self.group.join(name);
        let words = (0..SIZE / 8).map(|_| self.random.draw());
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        fs::write(&path, &bytes).expect("there is space for it");
        (path, bytes)
    }

    fn run(&self, line: &str) -> String {
        self.group.ashlar().args(line.split(' ')).succeed().text()
    }

    fn fill(&self, origin: &str, file: &Path) {
        let to = format!("vg0/{origin}");
        self.group.ashlar().arg("cp").arg(file).arg(to).succeed();
    }

    fn is_merging(&self) -> bool {
        let names = self.run("lvs -a --noheadings -o lv_name vg0");
        names.contains("back")
    }

    fn assert_holds(&self, volume: &str, bytes: &[u8], from: usize) {
        let cat = self.group.ashlar().args(["cat", &format!("vg0/{volume}")]);
        let found = cat.succeed().stdout;
        assert_eq!(found.len(), bytes.len(), "{volume}");
        let pairs = found.iter().zip(bytes).skip(from);
        let wrong = pairs.into_iter().position(|(found, byte)| found != byte);
        assert_eq!(wrong, None, "the first wrong byte of {volume}, from {from}");
    }

    /// One merge, whose server is killed until it is over.
    fn merge(&mut self, origin: &str, round: usize) {
        let (then, held) = self.noise("then");
        let (now, kept) = self.noise("now");
        let chunk = 4 << self.random.below(4);
        self.fill(origin, &then);
        self.run(&format!(
            "lvcreate -s -c {chunk}k -L {STORE_MIB}m -n back vg0/{origin}"
        ));
        self.fill(origin, &now);
        self.run(&format!(
            "lvcreate -s -c 8k -L {STORE_MIB}m -n kept vg0/{origin}"
        ));
        let socket = self.group.join("s");
        let mut server = serve(&self.group, &socket, &[origin]);
        self.run("lvconvert -y -b --merge vg0/back");
        let name = format!("{origin}{round}");
        let load: Load = load(&self.group, &name, self.seed);
        let progress = [load.progress()];
        let stop = AtomicBool::new(false);
        let report = thread::scope(|scope| {
            let load = scope.spawn(|| load.run(|| connect(&socket, origin), &stop));
            let loads = [load];
            loop {
                let wanted = [self.random.below(2) * self.random.below(ANSWERS_MAX)];
                wait_for_answers(&progress, &wanted, &loads);
                if self.killed == kills() {
                    break;
                }
                server.kill();
                self.killed += 1;
                assert_in_order(&self.group, DISKS);
                let was_cut = self.is_merging();
                self.cut += u64::from(was_cut);
                self.assert_holds(origin, &held, LOADED);
                self.assert_holds("kept", &kept, 0);
                server = serve(&self.group, &socket, &[origin]);
                if !was_cut || self.random.below(3) == 0 {
                    break;
                }
            }
            let end = Instant::now() + LIMIT;
            while self.is_merging() {
                assert!(Instant::now() < end, "the merge is never over");
                thread::sleep(Duration::from_millis(20));
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            let [load] = loads;
            load.join().expect("a load ends")
        });
        println!("{name}, chunks of {chunk} KiB: {report:?}");
        assert_eq!(report.problems, [""; 0], "{name}");
        drop(server);
        assert_in_order(&self.group, DISKS);
        self.assert_holds(origin, &held, LOADED);
        self.assert_holds("kept", &kept, 0);
        self.run("lvremove -y vg0/kept");
    }
}

/// Snapshots are merged into loaded origins by servers that are killed: at every moment the origin
/// holds what the snapshot held, but for what was written since, of which nothing answered is
/// lost; the next server goes on until the merge is over; and another snapshot of the origin, from
/// before the merge, stays what it was.
#[test]
fn merges_survive_kills_over_nbd() {
    let seed = seed();
    let mut bench = Bench {
        group: group("survive-merges", SIZE),
        random: Random::new(seed),
        seed,
        killed: 0,
        cut: 0,
    };
    let mut round = 0;
    while bench.killed < kills() {
        let (origin, _) = ORIGINS[round % ORIGINS.len()];
        bench.merge(origin, round);
        round += 1;
    }
    let (killed, cut) = (bench.killed, bench.cut);
    println!("{round} merges, {killed} kills, {cut} of them in a merge");
    assert!(cut > 0 || is_short(), "no merge was cut off");
}
