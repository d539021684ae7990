//! Servers that are killed (`kill -9`) at seeded moments under load, and what is left of the data.
//!
//! The verifier of the bench writes, logs each answer and comes back after each kill; what it was
//! told is done must be there. `snapshots.rs` makes, extends and removes snapshots meanwhile,
//! `merges.rs` merges them, `files.rs` does both below a file system; `moves.rs` moves extents,
//! `moved_files.rs` those of a file system; `arrays.rs` takes disks of RAID away, and brings them
//! back, `array_losses.rs` has commands deal with that, `array_resets.rs` with too many of them;
//! `array_changes.rs` changes what is whole. `ASHLAR_KILLS=100` asks for that many kills in each
//! test instead of a few; `ASHLAR_SEED` repeats a run's moments and requests:
//!
//! ```text
//!   ASHLAR_KILLS=100 cargo test -p tests --test end_to_end survive -- --nocapture
//! ```

mod array_bench;
mod array_changes;
mod array_losses;
mod array_resets;
mod arrays;
mod checksums;
mod files;
mod merges;
mod moved_files;
mod moves;
mod snapshots;
mod writers;

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use tests::verifier::{BLOCK, Journal, Load, NbdLink, Random, Report, Survivors};
use tests::{Daemon, Golden, Group, Tool, sha256};

/// Kills in each test, where nobody asks for more.
const KILLS: u64 = 4;
/// A server over NBD is killed after it answered so many requests for each volume, at most.
const ANSWERS_MAX: u64 = 200;
/// How long that may take.
const LIFE_MAX: Duration = Duration::from_mins(3);
/// One behind a file system is killed after so many milliseconds, at most.
const LIFE_MAX_MS: u64 = 400;
/// Servers start again within this, however loaded the machine is.
const START_MAX: Duration = Duration::from_mins(1);
/// How long a client may take to notice that its server is gone.
const NOTICE_MAX: Duration = Duration::from_mins(2);
/// How long a mirror may take until its legs are equal again.
const RESYNC_MAX: Duration = Duration::from_mins(3);
/// Disks of the groups that are made for this.
const DISKS: usize = 4;
/// Blocks of each volume that are written.
const BLOCKS: u64 = 512;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a number, not {text}")),
    )
}

fn kills() -> u64 {
    number("ASHLAR_KILLS").unwrap_or(KILLS)
}

/// Whether there are too few kills for every kind of moment to be among them.
fn is_short() -> bool {
    kills() < 20
}

fn seed() -> u64 {
    let seed = number("ASHLAR_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("ASHLAR_SEED={seed} repeats this run");
    seed
}

/// A linear, a striped and a mirrored volume, an origin and one of its snapshots, all written over
/// NBD by one server that is killed again and again: no answered write is lost, the next server
/// starts at once, and in the end the legs of the mirror are equal, and the snapshot that nobody
/// wrote holds what it held.
#[test]
fn answered_writes_survive_kills_over_nbd() {
    const VOLUMES: [&str; 5] = ["linear1", "stripe3", "mirror2", "origin", "snap1"];
    let (golden, seed) = (Golden::copy(), seed());
    let group = Group::on("survive", golden.folder());
    let socket = group.join("s");
    let serve = || {
        let start = Instant::now();
        (serve(&group, &socket, &VOLUMES), start.elapsed())
    };
    let stop = AtomicBool::new(false);
    let (mut random, mut slowest) = (Random::new(seed), Duration::ZERO);
    let (mut server, _) = serve();
    let loads = VOLUMES.map(|volume| load(&group, volume, seed));
    let progress = loads.each_ref().map(Load::progress);
    let reports: Vec<Report> = thread::scope(|scope| {
        let loads = loads.into_iter().zip(VOLUMES).map(|(load, volume)| {
            let (socket, stop) = (&socket, &stop);
            scope.spawn(move || load.run(|| connect(socket, volume), stop))
        });
        let loads: Vec<_> = loads.collect();
        for kill in 0..=kills() {
            let wanted = VOLUMES.map(|_| 1 + random.below(ANSWERS_MAX));
            wait_for_answers(&progress, &wanted, &loads);
            if kill == kills() {
                // The last server is loaded as well, and lives.
                break;
            }
            server.kill();
            let took;
            (server, took) = serve();
            slowest = slowest.max(took);
        }
        stop.store(true, Ordering::Relaxed);
        join_all(loads)
    });
    assert_kept(&VOLUMES, &reports);
    for (volume, report) in VOLUMES.iter().zip(&reports) {
        assert!(report.cuts <= kills(), "{volume}: {report:?}");
    }
    println!("{} kills over NBD, slowest start {slowest:?}", kills());
    assert!(slowest < START_MAX, "a server took {slowest:?} to start");
    wait_for_equal_legs(&group, "mirror2", Golden::volume("mirror2").size);
    assert_eq!(server.stop(), "");
    let kept = group.ashlar().args(["cat", "vg0/snap2"]).succeed().stdout;
    assert_eq!(sha256(&kept), Golden::volume("snap2").sha256);
}

/// Serves volumes over NBD.
fn serve(group: &Group, socket: &Path, volumes: &[&str]) -> Daemon {
    let tool = group.ashlar().arg("serve");
    let tool = tool.args(volumes.iter().map(|volume| format!("vg0/{volume}")));
    let tool = tool.arg(format!("--nbd=unix:{}", socket.display()));
    Daemon::start(tool, || UnixStream::connect(socket).is_ok())
}

/// Waits until so many more requests of each load are answered, or one has ended.
fn wait_for_answers(
    progress: &[Arc<AtomicU64>],
    wanted: &[u64],
    loads: &[ScopedJoinHandle<'_, Report>],
) {
    let answered = |load: &Arc<AtomicU64>| load.load(Ordering::Relaxed);
    let before: Vec<u64> = progress.iter().map(answered).collect();
    let start = Instant::now();
    let is_short = |index: usize| answered(&progress[index]) < before[index] + wanted[index];
    while (0..progress.len()).any(is_short) && !loads.iter().any(ScopedJoinHandle::is_finished) {
        assert!(start.elapsed() < LIFE_MAX, "nothing is answered");
        thread::sleep(Duration::from_millis(1));
    }
}

/// What loads say that are told to end.
fn join_all(loads: Vec<ScopedJoinHandle<'_, Report>>) -> Vec<Report> {
    let loads = loads.into_iter();
    loads
        .map(|load| load.join().expect("a load ends"))
        .collect()
}

/// No volume lost what its load was told is done, and each load was told something.
fn assert_kept(volumes: &[&str], reports: &[Report]) {
    for (volume, report) in volumes.iter().zip(reports) {
        println!("{volume}: {report:?}");
        assert_eq!(report.problems, [""; 0], "{volume}");
        assert!(report.writes > 0, "{volume}: {report:?}");
    }
}

fn load(group: &Group, volume: &str, seed: u64) -> Load {
    let path = group.join(format!("{volume}.journal"));
    let journal = Journal::create(&path, seed, BLOCKS, Survivors::Answered);
    Load::new(journal).wiping()
}

fn connect(socket: &Path, volume: &str) -> io::Result<Vec<NbdLink>> {
    let export = format!("vg0/{volume}");
    let first = NbdLink::connect(socket, &export)?;
    assert!(
        first.size() >= BLOCKS * BLOCK as u64,
        "{volume} is large enough"
    );
    assert!(first.flushes_for_all(), "two connections may write");
    Ok(vec![first, NbdLink::connect(socket, &export)?])
}

/// Waits until both legs of a mirror that nobody writes hold the same.
fn wait_for_equal_legs(group: &Group, mirror: &str, size: u64) {
    let legs = [0, 1].map(|leg| group.place(&format!("{mirror}_mimage_{leg}")));
    let read = |(path, start): &(std::path::PathBuf, u64)| {
        let mut bytes = vec![0; size as usize];
        let file = fs::File::open(path).expect("a disk");
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, *start).expect("a leg");
        bytes
    };
    let deadline = Instant::now() + RESYNC_MAX;
    while read(&legs[0]) != read(&legs[1]) {
        assert!(Instant::now() < deadline, "the legs still differ: {legs:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Files that were written with fsync to ext4 on an attached volume whose server is killed again
/// and again are all there, and each time the file system is clean after its log is replayed.
#[test]
fn files_on_ext4_survive_kills() {
    let check = |node: &Path| Tool::new("e2fsck").arg("-fn").arg(node);
    files_survive("ext4", 64, &["mkfs.ext4", "-q", "-F"], check);
}

/// The same with XFS.
#[test]
fn files_on_xfs_survive_kills() {
    let check = |node: &Path| Tool::new("xfs_repair").arg("-n").arg(node);
    files_survive("xfs", 304, &["mkfs.xfs", "-q"], check);
}

fn files_survive(name: &str, size_mib: u64, mkfs: &[&str], fsck: impl Fn(&Path) -> Tool) {
    let seed = seed();
    let group = Group::new("survive", 2, (size_mib / 2 + 64) << 20);
    group.create("data", &["-L", &format!("{size_mib}m")]);
    let mut random = Random::new(seed);
    let mut node = group.attach("data");
    Tool::new(mkfs[0]).args(&mkfs[1..]).arg(&node).succeed();
    let mut kept = 0;
    for round in 0..kills() {
        let mounted = group.mount(&node);
        let folder = mounted.path().join(round.to_string());
        let journal = group.join(format!("journal{round}"));
        Tool::new("mkdir").arg(&folder).succeed();
        let writer = verifier("write").args([&folder, &journal]);
        let writer = writer.args([&(seed + round).to_string(), "1000000000"]);
        let has_begun = || fs::metadata(&journal).is_ok_and(|file| file.len() > 0);
        let mut writer = Daemon::start(writer, has_begun);
        thread::sleep(Duration::from_millis(random.below(LIFE_MAX_MS)));
        group.kill("data");
        let gone = Some(3);
        assert_eq!(
            writer.ended(NOTICE_MAX),
            gone,
            "a step failed: its server was killed"
        );
        mounted.unmount();
        node = group.attach("data");
        // This replays the log.
        let mounted = group.mount(&node);
        for old in round.saturating_sub(2)..=round {
            let folder = mounted.path().join(old.to_string());
            let journal = group.join(format!("journal{old}"));
            let check = verifier("check").args([&folder, &journal]);
            let check = check.arg((seed + old).to_string());
            let found: u64 = check.succeed().text().trim().parse().expect("a number");
            kept += if old == round { found } else { 0 };
        }
        if round >= 2 {
            let old = mounted.path().join((round - 2).to_string());
            Tool::new("rm").arg("-r").arg(old).succeed();
        }
        mounted.unmount();
        fsck(&node).succeed();
    }
    group.detach("data");
    println!("{name}: {} kills, {kept} steps with fsync kept", kills());
}

/// The verifier as a process of its own: whoever opens a served file may be stuck with its server.
fn verifier(command: &str) -> Tool {
    Tool::new(env!("CARGO_BIN_EXE_verifier")).arg(command)
}
