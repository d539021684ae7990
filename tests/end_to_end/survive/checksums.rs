//! Arrays over images with checksums whose server is killed under load, with blocks of their disks
//! written over in between.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use tests::verifier::{BLOCK, Journal, Load, NbdLink, Random, Report, Survivors};
use tests::{Daemon, Group, RaidSet};

use super::{RESYNC_MAX, assert_kept, join_all, kills, seed, wait_for_answers};

/// Of both modes and both sizes of blocks, as stock left them: at rest, or without power.
const VOLUMES: [&str; 6] = [
    "clean_j1",
    "clean_b4k",
    "clean_j5",
    "cut_j4k",
    "cut_b1",
    "busy_j1",
];
/// Mirrors with a journal: no block of theirs is ever without a checksum, and a block that one
/// image has wrong is right on the other, also where a kill left a row of an array in doubt.
const JOURNALED: [&str; 3] = ["clean_j1", "cut_j4k", "busy_j1"];
const IMAGES: u64 = 2;
/// Blocks of each volume that are written.
const BLOCKS: u64 = 256;
/// A server is killed after it answered so many requests for each volume, at most.
const ANSWERS_MAX: u64 = 80;
/// Blocks of one image that are written over at once.
const SPOILT: u64 = 6;
/// Blocks of an image that are written over, and may be read.
const IMAGE_BLOCKS: u64 = 256;

fn name(volume: &str) -> String {
    format!("integrity/{volume}")
}

fn serve(group: &Group, socket: &Path) -> Daemon {
    let tool = group.ashlar().arg("serve").args(VOLUMES.map(name));
    let tool = tool.arg(format!("--nbd=unix:{}", socket.display()));
    Daemon::start(tool, || UnixStream::connect(socket).is_ok())
}

fn connect(socket: &Path, volume: &str) -> io::Result<Vec<NbdLink>> {
    let first = NbdLink::connect(socket, &name(volume))?;
    assert!(first.size() >= BLOCKS * BLOCK as u64, "{volume}");
    Ok(vec![first, NbdLink::connect(socket, &name(volume))?])
}

/// Writes over blocks of one image of each volume with a journal.
fn spoil(group: &Group, random: &mut Random) {
    for volume in JOURNALED {
        let image = random.below(IMAGES);
        let (disk, start) = group.place(&format!("{volume}_rimage_{image}_iorig"));
        let file = File::options().write(true).open(disk).expect("a disk");
        for _ in 0..SPOILT {
            let at = start + random.below(IMAGE_BLOCKS) * BLOCK as u64;
            let noise = [random.draw() as u8; BLOCK];
            file.write_all_at(&noise, at).expect("it is written");
        }
    }
}

fn wait_until_in_sync(group: &Group) {
    let end = Instant::now() + RESYNC_MAX;
    loop {
        let said = group.ashlar().args(["owners", "integrity"]).succeed();
        let said = said.text();
        let rows = said.lines().filter(|line| line.contains('_'));
        let rows: Vec<&str> = rows.filter(|line| line.contains("integrity")).collect();
        assert_eq!(rows.len(), VOLUMES.len(), "{said}");
        if rows.iter().all(|row| row.contains("100.00")) {
            return;
        }
        assert!(Instant::now() < end, "it is never in sync: {said}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Writes to arrays over images with checksums, of both modes, by servers that are killed again and
/// again, and end in between, whereupon blocks of a disk are written over: no answered write is
/// lost, none of these blocks is ever read, and in the end all images are right after a repair.
#[test]
fn checksums_survive_kills_and_what_is_written_over() {
    let (set, seed) = (RaidSet::copy("integrity"), seed());
    let group = Group::on("survive-checksums", set.folder());
    let socket = group.join("s");
    let stop = AtomicBool::new(false);
    let (mut random, mut killed, mut ended) = (Random::new(seed), 0, 0);
    let mut server = Some(serve(&group, &socket));
    let loads = VOLUMES.map(|volume| {
        let path = group.join(format!("{volume}.journal"));
        Load::new(Journal::create(&path, seed, BLOCKS, Survivors::Answered)).wiping()
    });
    let progress = loads.each_ref().map(Load::progress);
    let reports: Vec<Report> = thread::scope(|scope| {
        let loads = loads.into_iter().zip(VOLUMES).map(|(load, volume)| {
            let (socket, stop) = (&socket, &stop);
            scope.spawn(move || load.run(|| connect(socket, volume), stop))
        });
        let loads: Vec<_> = loads.collect();
        loop {
            let wanted = VOLUMES.map(|_| 1 + random.below(ANSWERS_MAX));
            wait_for_answers(&progress, &wanted, &loads);
            if killed == kills() || loads.iter().any(ScopedJoinHandle::is_finished) {
                break;
            }
            let mut runs = server.take().expect("it runs");
            if ended <= killed {
                wait_until_in_sync(&group);
                assert_eq!(runs.stop(), "");
                spoil(&group, &mut random);
                ended += 1;
            } else {
                runs.kill();
                killed += 1;
            }
            server = Some(serve(&group, &socket));
        }
        stop.store(true, Ordering::Relaxed);
        join_all(loads)
    });
    assert_kept(&VOLUMES, &reports);
    wait_until_in_sync(&group);
    server.expect("it runs").stop();
    let scrub = |options: &[&str]| {
        let scrub = group.ashlar().arg("scrub").args(options);
        scrub.args(VOLUMES.map(name)).succeed().text()
    };
    scrub(&["--repair", "-y"]);
    println!("{}", scrub(&[]));
}
