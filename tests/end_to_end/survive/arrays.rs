//! Arrays whose server is killed under load, with disks that go and come back in between.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use tests::verifier::{Load, Random, Report};
use tests::{Golden, Group, sha256};

use super::{
    RESYNC_MAX, assert_kept, connect, join_all, kills, load, seed, serve, wait_for_answers,
};

/// Each level; of the golden disks, on four or five of them.
const VOLUMES: [&str; 5] = ["raid1", "raid4", "raid5", "raid6", "raid10"];
/// A server is killed after it answered so many requests for each volume, at most.
const ANSWERS_MAX: u64 = 120;

/// The disks of the golden group, of which one may be away.
struct Disks {
    group: Group,
    images: Vec<PathBuf>,
    away: Option<usize>,
}

impl Disks {
    fn place(&self, disk: usize) -> PathBuf {
        self.group.join(format!("away{disk}"))
    }

    /// Takes a disk away.
    fn take(&mut self, disk: usize) {
        assert_eq!(self.away, None, "one at a time");
        std::fs::rename(&self.images[disk], self.place(disk)).expect("it is taken away");
        self.away = Some(disk);
    }

    /// Brings the disk back that is away.
    fn bring_back(&mut self) {
        if let Some(disk) = self.away.take() {
            std::fs::rename(self.place(disk), &self.images[disk]).expect("it is brought back");
        }
    }

    /// Whether all that is there is in sync, and used.
    fn is_in_sync(&self) -> bool {
        let said = self.group.ashlar().args(["owners", "vg0"]).succeed();
        let said = said.text();
        let rows = said.lines().filter(|line| line.contains("raid"));
        let rows: Vec<&str> = rows.collect();
        assert_eq!(rows.len(), VOLUMES.len(), "{said}");
        let is_in_sync = |row: &&str| row.contains("100.00") && !row.contains("out of sync");
        rows.iter().all(is_in_sync)
    }

    fn wait_until_in_sync(&self) {
        let end = Instant::now() + RESYNC_MAX;
        while self.away.is_none() && !self.is_in_sync() {
            assert!(Instant::now() < end, "it is never in sync");
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn sums(&self) -> Vec<String> {
        let cat = |volume: &str| {
            let cat = self.group.ashlar().args(["cat", &format!("vg0/{volume}")]);
            sha256(&cat.succeed().stdout)
        };
        VOLUMES.map(cat).to_vec()
    }
}

/// RAID of every level, written over NBD by servers that are killed again and again, and end in
/// between, to go on without a disk, and with it again: no answered write is lost. In the end all
/// is brought in sync, and then every volume reads the same without any disk.
#[test]
fn arrays_survive_kills_and_lost_disks() {
    let (golden, seed) = (Golden::copy(), seed());
    let group = Group::on("survive-arrays", golden.folder());
    let images = golden.images();
    let mut disks = Disks {
        group,
        images,
        away: None,
    };
    let socket = disks.group.join("s");
    let (stop, mut killed) = (AtomicBool::new(false), 0);
    let mut random = Random::new(seed);
    let mut server = Some(serve(&disks.group, &socket, &VOLUMES));
    let loads = VOLUMES.map(|volume| load(&disks.group, volume, seed));
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
            // A kill between data and parity while a leg is away, or is being filled, is the write
            // hole, which is open: that is not tried.
            disks.wait_until_in_sync();
            let runs = server.take();
            let mut runs = runs.expect("it runs");
            if disks.away.is_some() {
                runs.stop();
                disks.bring_back();
            } else if random.below(2) == 0 {
                runs.stop();
                disks.take(random.below(disks.images.len() as u64) as usize);
            } else {
                runs.kill();
                killed += 1;
            }
            server = Some(serve(&disks.group, &socket, &VOLUMES));
        }
        stop.store(true, Ordering::Relaxed);
        join_all(loads)
    });
    assert_kept(&VOLUMES, &reports);
    disks.wait_until_in_sync();
    server.expect("it runs").stop();
    if disks.away.is_some() {
        disks.bring_back();
        let server = serve(&disks.group, &socket, &VOLUMES);
        disks.wait_until_in_sync();
        assert_eq!(server.stop(), "");
    }
    let whole = disks.sums();
    for disk in 0..disks.images.len() {
        disks.take(disk);
        assert_eq!(disks.sums(), whole, "without disk {disk}");
        disks.bring_back();
    }
}
