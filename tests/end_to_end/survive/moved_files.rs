//! A file system whose extents move, by a server that is killed.

use std::thread;
use std::time::{Duration, Instant};

use tests::verifier::Random;
use tests::{Group, LIMIT, Tool};

use super::snapshots::assert_in_order;
use super::writers::{Work, Writers};
use super::{DISKS, LIFE_MAX_MS, NOTICE_MAX, is_short, kills, seed};

/// Size of the file system's volume, and of each disk.
const SIZE_MIB: u64 = 48;
const DISK_MIB: u64 = 80;
/// The server is killed within so many milliseconds of the start of a move.
const MOVE_MS_MAX: u64 = 900;
/// Pieces of an extent: there is a commit for each.
const PIECES: &str = "ashlar { pvmove_piece_mib = 1 copy_mib_per_second = 32 }";

struct Bench {
    writers: Writers,
    random: Random,
    /// What the file system holds.
    works: Vec<Work>,
    /// Moves that were begun, servers killed while there was one, and moves aborted then.
    begun: u64,
    cut: u64,
    aborted: u64,
}

impl Bench {
    fn group(&self) -> &Group {
        &self.writers.group
    }

    fn run(&self, line: &str) -> Tool {
        self.group().ashlar().args(line.split(' '))
    }

    fn is_moving(&self) -> bool {
        let lvs = self.run("lvs -a --noheadings -o lv_name vg0");
        lvs.succeed().text().contains("pvmove")
    }

    /// The disk that has the most of it.
    fn fullest(&self) -> usize {
        let used = |disk: &usize| {
            let report = self.run("pvs --noheadings -o pv_pe_alloc_count");
            let text = report.arg(self.group().disk(*disk)).succeed().text();
            text.trim().parse::<u64>().expect("a number")
        };
        (0..DISKS).max_by_key(used).expect("there are disks")
    }

    /// A writer goes on while extents move, and both lose their server.
    fn kill(&mut self, round: u64) {
        let is_moving = self.is_moving();
        let disk = self.writers.group.disk(self.fullest());
        let node = self.writers.group.attach("data");
        let mounted = self.writers.group.mount(&node);
        let (mut writer, work) = self.writers.begin(&mounted);
        thread::sleep(Duration::from_millis(self.random.below(LIFE_MAX_MS)));
        let delay = Duration::from_millis(self.random.below(MOVE_MS_MAX));
        let group = &self.writers.group;
        thread::scope(|scope| {
            if !is_moving {
                self.begun += 1;
                let begin = group.ashlar().args(["--config", PIECES, "pvmove", "-b"]);
                let begin = begin.arg(disk);
                // It may lose its server, too.
                scope.spawn(|| begin.run());
            }
            thread::sleep(delay);
            group.kill("data");
        });
        assert_eq!(writer.ended(NOTICE_MAX), Some(3), "its server was killed");
        mounted.unmount();
        self.works.push(work);
        assert_in_order(self.group(), DISKS);
        let was_cut = self.is_moving();
        self.cut += u64::from(was_cut);
        let aborts = was_cut && self.random.below(6) == 0;
        if aborts {
            self.run("pvmove --abort").succeed();
            self.aborted += 1;
        }
        println!("round {round}: cut: {was_cut}, aborted: {aborts}");
    }

    /// Everything is there, whoever goes on with the move meanwhile.
    fn judge(&mut self) {
        self.writers.check_on("data", &self.works);
        self.writers.forget("data", &mut self.works);
        assert_in_order(self.group(), DISKS);
    }
}

/// Files that were written with fsync to ext4 on an attached volume are there, and its log makes it
/// clean, whenever its server is killed while the extents of the volume move; stock finds the group
/// in order each time, and the next server goes on until the move is over, unless it was aborted.
#[test]
fn files_on_moving_extents_survive_kills() {
    let seed = seed();
    let group = Group::with("survive-moved", DISKS, DISK_MIB << 20, &["-s", "1m"]);
    group.create("data", &["-L", &format!("{SIZE_MIB}m")]);
    let node = group.attach("data");
    let mkfs = Tool::new("mkfs.ext4").args(["-q", "-F"]);
    mkfs.arg(&node).succeed();
    group.detach("data");
    let mut bench = Bench {
        writers: Writers::new(group, seed),
        random: Random::new(seed),
        works: Vec::new(),
        begun: 0,
        cut: 0,
        aborted: 0,
    };
    for round in 0..kills() {
        bench.kill(round);
        bench.judge();
    }
    bench.group().attach("data");
    let end = Instant::now() + LIMIT;
    while bench.is_moving() {
        assert!(Instant::now() < end, "the move is never over");
        thread::sleep(Duration::from_millis(20));
    }
    bench.group().detach("data");
    bench.judge();
    let (kept, begun, cut) = (bench.writers.kept, bench.begun, bench.cut);
    println!(
        "{} kills, {begun} moves, {cut} kills in one, {} aborted, {kept} steps with fsync kept",
        kills(),
        bench.aborted
    );
    assert!(cut > 0 || is_short(), "no move was cut off");
}
