//! Volumes on which commands and servers are killed: a bench with arrays, loads on them, and how
//! what is left of them is judged.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use tests::verifier::{Load, Random, Report};
use tests::{Finished, Group, LIMIT, killing, sha256, was_killed};

use super::{connect, join_all, load, number, wait_for_answers};

/// Disks of the group, and bytes of each.
pub(super) const DISKS: usize = 8;
const SIZE: u64 = 128 << 20;
/// Times that each change is cut off, where nobody asks for more (`ASHLAR_KILLS`).
const CUTS: u64 = 5;
/// A load is answered so many requests more before something happens, at most.
const ANSWERS_MAX: u64 = 30;
/// A command is killed at a write or flush up to this one of a thread of its: as many as it makes.
const CALLS_MAX: u64 = 24;

/// How often each change is cut off.
pub(super) fn cuts() -> u64 {
    number("ASHLAR_KILLS").unwrap_or(CUTS)
}

/// Loads end, also where what they are for fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Running loads.
pub(super) struct Loads<'scope> {
    progress: Vec<Arc<AtomicU64>>,
    running: Vec<ScopedJoinHandle<'scope, Report>>,
}

impl Loads<'_> {
    /// Waits until each is answered a few requests more. It breaks off where one has ended, as it
    /// found something wrong.
    pub(super) fn go_on(&self, random: &mut Random) -> ControlFlow<()> {
        let wanted = self.progress.iter().map(|_| random.below(ANSWERS_MAX));
        let wanted: Vec<u64> = wanted.collect();
        wait_for_answers(&self.progress, &wanted, &self.running);
        if self.running.iter().any(ScopedJoinHandle::is_finished) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Runs a load on each volume, which are served at `socket`, while `work` is done.
pub(super) fn under_load(
    socket: &Path,
    volumes: &[&str],
    loads: Vec<Load>,
    work: impl FnOnce(&Loads<'_>),
) -> Vec<Report> {
    let stop = AtomicBool::new(false);
    let progress = loads.iter().map(Load::progress).collect();
    thread::scope(|scope| {
        let loads = loads.into_iter().zip(volumes).map(|(load, volume)| {
            let stop = &stop;
            scope.spawn(move || load.run(|| connect(socket, volume), stop))
        });
        let running = loads.collect();
        let loads = Loads { progress, running };
        let ends = Stop(&stop);
        work(&loads);
        drop(ends);
        join_all(loads.running)
    })
}

/// Volumes, of which most are redundant.
pub(super) struct Arrays {
    pub(super) group: Group,
    /// The name of each, and how it is made.
    volumes: &'static [(&'static str, &'static str)],
}

impl Arrays {
    pub(super) fn new(name: &str, volumes: &'static [(&'static str, &'static str)]) -> Self {
        let group = Group::new(name, DISKS, SIZE);
        for (name, options) in volumes {
            let options: Vec<&str> = options.split(' ').collect();
            group.create(name, &options);
        }
        Self { group, volumes }
    }

    /// A load for each of these, which begins when they are served.
    pub(super) fn loads(&self, volumes: &[&str], seed: u64) -> Vec<Load> {
        let volumes = volumes.iter();
        volumes
            .map(|volume| load(&self.group, volume, seed))
            .collect()
    }

    fn redundant(&self) -> impl Iterator<Item = &'static str> {
        let is_redundant = |how: &str| how.contains("raid") || how.contains("mirror");
        let all = self.volumes.iter();
        all.filter_map(move |(volume, how)| is_redundant(how).then_some(*volume))
    }

    /// What a report says of a volume.
    pub(super) fn field(&self, volume: &str, field: &str) -> String {
        let report = ["lvs", "-a", "--noheadings", "--units", "m", "-o", field];
        let report = self.group.ashlar().args(report);
        let said = report.arg(format!("vg0/{volume}")).succeed().text();
        said.trim().to_owned()
    }

    /// The disk of an array's first image.
    pub(super) fn first(&self, volume: &str) -> PathBuf {
        // Where an image has checksums, its data lie below it.
        let below = if volume == "sums" { "_iorig" } else { "" };
        self.group.place(&format!("{volume}_rimage_0{below}")).0
    }

    /// Kills a command that works by itself at a seeded one of its writes and flushes. `false`: it
    /// made fewer.
    pub(super) fn kill_in(&self, line: &str, random: &mut Random) -> bool {
        let call = 1 + random.below(CALLS_MAX) as usize;
        let group = &self.group;
        let tool = killing("pwrite64,fdatasync,fsync", call, &group.join("record"))
            .env("ASHLAR_RUNTIME_DIR", group.join("run"))
            .env("LVM_LOCKING_DIR", group.join("locks"))
            .env("ASHLAR_IO", "threads")
            .arg("--devices")
            .arg(group.join("disks"))
            .args(line.split(' '));
        let is_killed = was_killed(&tool.run());
        println!("{line}: killed at call {call}: {is_killed}");
        is_killed
    }

    /// A command that may have to wait until what it changes, its last word, is in sync.
    pub(super) fn settled(&self, line: &[String]) -> Finished {
        let end = Instant::now() + LIMIT;
        loop {
            let ended = self.group.ashlar().args(line).run();
            let said = ended.complaints();
            let volume = line.last().expect("a volume");
            let waits = [
                "not in-sync",
                "not in sync",
                "is being",
                "REBUILD",
                "not over",
            ];
            if ended.code == Some(0) || !waits.iter().any(|wait| said.contains(wait)) {
                return ended;
            }
            assert!(Instant::now() < end, "{ended}");
            // Who serves it does that by himself.
            let _ = self.group.ashlar().args(["sync", volume]).run();
        }
    }

    /// Waits until all is in sync, and the metadata say it of all images: that is written when an
    /// image is filled, and `sync` may end before.
    pub(super) fn sync(&self) {
        let (text, end) = (self.group.join("text"), Instant::now() + LIMIT);
        loop {
            for volume in self.redundant() {
                let sync = self.group.ashlar().arg("sync");
                sync.arg(format!("vg0/{volume}")).succeed();
            }
            let backup = self.group.ashlar().arg("vgcfgbackup").arg("-f").arg(&text);
            backup.arg("vg0").succeed();
            let said = std::fs::read_to_string(&text).expect("it is text");
            if !said.contains("REBUILD") {
                return;
            }
            assert!(Instant::now() < end, "{said}");
        }
    }

    fn sum(&self, volume: &str) -> String {
        let cat = self.group.ashlar().args(["cat", &format!("vg0/{volume}")]);
        sha256(&cat.succeed().stdout)
    }

    /// What each holds.
    pub(super) fn sums(&self) -> Vec<String> {
        let volumes = self.volumes.iter();
        volumes.map(|(volume, _)| self.sum(volume)).collect()
    }

    /// What is redundant goes together, and reads the same without any disk.
    pub(super) fn assert_redundant(&self) {
        let whole: Vec<String> = self.redundant().map(|volume| self.sum(volume)).collect();
        for volume in self.redundant() {
            let scrub = self.group.ashlar().arg("scrub");
            let said = scrub.arg(format!("vg0/{volume}")).succeed().text();
            assert!(!said.contains("not compared"), "{volume}: {said}");
        }
        for disk in 0..DISKS {
            let (image, away) = (self.group.disk(disk), self.group.join("away"));
            std::fs::rename(&image, &away).expect("it is taken away");
            for (volume, sum) in self.redundant().zip(&whole) {
                assert_eq!(self.sum(volume), *sum, "{volume} without disk {disk}");
            }
            std::fs::rename(&away, &image).expect("it is brought back");
        }
    }
}
