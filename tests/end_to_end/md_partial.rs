//! Arrays of md's with logs of partial parity, killed while they are written: what a leg that is
//! lost then held of the same rows, and nobody wrote, is made up right.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use dm::raid::md::{Feature, Place, Superblock1};
use tests::{Scratch, Tool, ashlar, killing, was_killed};

const MIB: u64 = 1 << 20;
const LEGS: usize = 4;
/// What is written at a time.
pub(crate) const BLOCK: usize = 4096;
/// Every so many blocks one is written.
pub(crate) const STEP: usize = 3;
/// What is written there.
pub(crate) const NEW: u8 = 90;
const WRITES: usize = 240;
/// Where the superblock is, and its log behind it: offset and length in sectors.
const SUPERBLOCK_AT: usize = 4096;
const LOG: (i32, i32) = (24, 1024);
pub(crate) const WRITE_CALLS: &str = "pwrite64,pwritev,pwritev2";

/// Legs of an array in a folder, and a group on it.
struct Bench {
    folder: Scratch,
    legs: Vec<PathBuf>,
    old: Vec<u8>,
}

impl Bench {
    /// A group on an array of level 5, with a volume that holds something; with logs, or without.
    fn new(name: &str, has_logs: bool) -> Self {
        let folder = Scratch::new(name);
        let legs = (0..LEGS).map(|leg| folder.sparse(&format!("leg{leg}.img"), 12 * MIB));
        let bench = Self {
            legs: legs.collect(),
            old: (0..4 * MIB)
                .map(|at| (at / 512 % 251) as u8 ^ at as u8)
                .collect(),
            folder,
        };
        let create = [
            "md", "create", "--level", "5", "--chunk", "16k", "--bitmap", "none", "five",
        ];
        bench
            .on(&bench.legs)
            .args(create)
            .args(&bench.legs)
            .succeed();
        if has_logs {
            bench.legs.iter().for_each(|leg| add_log(leg));
        }
        let on = |words: &[&str]| bench.on(&bench.legs).args(words).succeed();
        on(&["vgcreate", "-s", "1m", "vg0", "md:five"]);
        on(&["lvcreate", "-L", "4m", "-n", "data", "vg0"]);
        on(&["lvcreate", "-L", "1m", "-n", "other", "vg0"]);
        let path = bench.folder.join("old");
        fs::write(&path, &bench.old).expect("a file");
        on(&["cp", &path.display().to_string(), "vg0/data"]);
        bench
    }

    fn on(&self, legs: &[PathBuf]) -> Tool {
        self.of(ashlar(), legs)
    }

    fn of(&self, tool: Tool, legs: &[PathBuf]) -> Tool {
        let names: Vec<String> = legs.iter().map(|leg| leg.display().to_string()).collect();
        tool.env("ASHLAR_DEVICES", names.join(":"))
            .env("LVM_SYSTEM_DIR", self.folder.path())
            .env("XDG_STATE_HOME", self.folder.path())
            .env("ASHLAR_RUNTIME_DIR", self.folder.join("run"))
            .env("ASHLAR_IO", "threads")
    }

    /// Copies of the legs as they are.
    fn saved(&self, name: &str) -> Vec<PathBuf> {
        let copy = |(number, leg): (usize, &PathBuf)| {
            let path = self.folder.join(format!("{name}{number}.img"));
            fs::copy(leg, &path).expect("there is space for it");
            path
        };
        self.legs.iter().enumerate().map(copy).collect()
    }

    /// Writes every third block of the volume, many at a time, and is killed at write number
    /// `call`; whether it was.
    fn write_and_die(&self, call: usize) -> bool {
        let line = writes(WRITES);
        let tool = killing(WRITE_CALLS, call, &self.folder.join("record"));
        was_killed(
            &self
                .of(tool, &self.legs)
                .args(["serve", "vg0/data", "--run", &line])
                .run(),
        )
    }

    /// What the volume holds on these legs, after somebody has written something else on them.
    fn recovered(&self, legs: &[PathBuf]) -> Vec<u8> {
        let path = self.folder.join("small");
        fs::write(&path, vec![7; BLOCK]).expect("a file");
        let small = path.display().to_string();
        self.on(legs).args(["cp", &small, "vg0/other"]).succeed();
        self.on(legs).args(["cat", "vg0/data"]).succeed().stdout
    }

    /// Blocks that nobody wrote, and that hold something else than before.
    fn wrong(&self, found: &[u8]) -> Vec<usize> {
        let blocks = found.chunks(BLOCK).zip(self.old.chunks(BLOCK)).enumerate();
        let is_written = |block: usize| block.is_multiple_of(STEP) && block / STEP < WRITES;
        let wrong = blocks.filter(|(block, (new, old))| !is_written(*block) && new != old);
        wrong.map(|(block, _)| block).collect()
    }
}

/// A command that writes the first so many of every third block, eight at a time.
pub(crate) fn writes(count: usize) -> String {
    let mut line = String::from("exec qemu-io -f raw -t none");
    for number in 0..count {
        let at = number * STEP * BLOCK;
        let _ = write!(line, " -c 'aio_write -q -P {NEW} {at} {BLOCK}'");
        if number % 8 == 7 {
            line.push_str(" -c aio_flush");
        }
    }
    line.push_str(" -c aio_flush \"$uri\" >/dev/null 2>&1; exit 0");
    line
}

/// Gives a leg that nobody uses a log of partial parity.
fn add_log(leg: &Path) {
    let mut bytes = fs::read(leg).expect("a leg");
    let device = bytes.len() as u64;
    let here = SUPERBLOCK_AT..SUPERBLOCK_AT + Superblock1::LEN;
    let superblock = Superblock1::decode(&bytes[here.clone()], Place::SecondBlock, device);
    let mut superblock = superblock.expect("a superblock").expect("a superblock");
    superblock.features = superblock.features.with(Feature::PartialParities);
    superblock.bitmap_offset = LOG.1 << 16 | LOG.0;
    bytes[here].copy_from_slice(&superblock.encode());
    fs::write(leg, bytes).expect("a leg");
}

/// Killed at any write, an array with logs has lost nothing that was not being written, whichever
/// leg is lost as well; whole, it holds old or new blocks, and no parity is wrong.
#[test]
fn killed_it_loses_nothing_else() {
    let bench = Bench::new("md-partial", true);
    let before = bench.saved("before");
    let (mut kills, mut recovered) = (0, 0);
    for call in (2..).step_by(5) {
        for (saved, leg) in before.iter().zip(&bench.legs) {
            fs::copy(saved, leg).expect("there is space for it");
        }
        if !bench.write_and_die(call) {
            break;
        }
        kills += 1;
        for lost in 0..LEGS {
            let mut left = bench.saved("left");
            left.remove(lost);
            let wrong = bench.wrong(&bench.recovered(&left));
            assert!(
                wrong.is_empty(),
                "killed at {call}, without leg {lost}: {wrong:?}"
            );
        }
        let found = bench.recovered(&bench.legs);
        let sectors = found.chunks(512).zip(bench.old.chunks(512));
        let mut torn = sectors.filter(|(new, old)| new != old && **new != [90; 512]);
        assert!(torn.next().is_none(), "killed at {call}");
        let on = |words: &[&str]| bench.on(&bench.legs).args(words).succeed();
        let is_clean = || !on(&["md", "list"]).text().contains("not clean");
        recovered += usize::from(is_clean());
        // While it is open it is brought in sync.
        let mut tries = 0..100;
        while !is_clean() {
            assert!(
                tries.next().is_some(),
                "killed at {call}: it is in sync at last"
            );
            on(&["serve", "vg0/other", "--run", "sleep 0.2"]);
        }
        let checked = on(&["md", "check"]);
        assert!(checked.text().contains("no mismatches in"), "{checked}");
    }
    assert!(kills >= 5, "it was killed {kills} times only");
    assert!(
        recovered >= 3,
        "of {kills}, {recovered} needed nothing but their logs"
    );
}
