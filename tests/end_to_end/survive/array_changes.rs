//! Arrays that commands change, under load, while their server, or the command, is killed.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use tests::verifier::{Load, Random, Report};
use tests::{Daemon, Finished, Group, LIMIT, sha256};

use super::{assert_kept, connect, join_all, load, number, seed, serve, wait_for_answers};

/// Disks of the group, and bytes of each.
const DISKS: usize = 8;
const SIZE: u64 = 128 << 20;
/// Times that each change is cut off, where nobody asks for more (`ASHLAR_KILLS`).
const CUTS: u64 = 5;
/// A server is killed so many milliseconds after a command began, at most: as long as one takes.
const LIFE_MAX_MS: u64 = 400;
/// The same of a command that is killed itself.
const COMMAND_MAX_MS: u64 = 100;
/// It answers so many requests before, at most.
const ANSWERS_MAX: u64 = 30;
/// Each volume, and how it is made.
const VOLUMES: [(&str, &str); 9] = [
    ("two", "--type raid1 -m 1 -L 8m"),
    ("three", "--type raid1 -m 2 -L 8m"),
    ("five", "--type raid5 -i 3 -L 12m"),
    ("six", "--type raid6 -i 3 -L 12m"),
    ("ten", "--type raid10 -i 2 -m 1 -L 8m"),
    ("plain", "-L 8m"),
    ("wide", "-i 2 -L 8m"),
    ("stripes", "-i 3 -L 12m"),
    ("sums", "--type raid1 -m 1 --raidintegrity y -L 8m"),
];

/// Changes of volumes in use, each undone by another one: a volume, a field of a report, a command
/// and what the field is then, where DISK is the disk of the first image and `other` is not what
/// it was.
const IN_USE: &str = "
    two lv_size: lvextend -L 12m → 12.00m | lvreduce -y -L 8m → 8.00m
    five lv_size: lvextend -L 24m → 24.00m | lvreduce -y -L 12m → 12.00m
    six lv_size: lvextend -L 24m → 24.00m | lvreduce -y -L 12m → 12.00m
    ten lv_size: lvextend -L 16m → 16.00m | lvreduce -y -L 8m → 8.00m
    two stripes: lvconvert -y -m 2 → 3 | lvconvert -y -m 1 → 2
    three segtype: lvconvert -y -m 0 → linear | lvconvert -y --type raid1 -m 2 → raid1
    plain segtype: lvconvert -y --type raid1 -m 1 → raid1 | lvconvert -y -m 0 → linear
    wide segtype: lvconvert -y --type raid10 → raid10 | lvconvert -y --type striped → striped
    stripes segtype: lvconvert -y --type raid5_n → raid5_n | lvconvert -y --type striped → striped
    two first: lvconvert -y --replace DISK → other | lvconvert -y --replace DISK → other
    five first: lvconvert -y --replace DISK → other | lvconvert -y --replace DISK → other
    six first: lvconvert -y --replace DISK → other | lvconvert -y --replace DISK → other
    ten first: lvconvert -y --replace DISK → other | lvconvert -y --replace DISK → other
    sums first: lvconvert -y --replace DISK → other | lvconvert -y --replace DISK → other
    sums stripes: lvconvert -y -m 2 → 3 | lvconvert -y -m 1 → 2
    three stripes: lvconvert -y --splitmirrors 1 -n split → 2 | lvconvert -y -m 2 → 3
    two raid_write_behind: lvchange --writebehind 100 → 100 | lvchange --writebehind 0 → none
    three mostly: lvchange --writemostly DISK → w | lvchange --writemostly DISK:n → none
    five raid_max_recovery_rate: lvchange --maxrecoveryrate 64m → 65536 | \
        lvchange --maxrecoveryrate 128m → 131072
";

/// Changes while nobody uses the volume; `any`: there is no field that tells.
const AT_REST: &str = "
    five segtype: lvconvert -y --type raid6_ls_6 → raid6_ls_6 | \
        lvconvert -y --type raid5_ls → raid5_ls
    two segtype: lvconvert -y --type raid5_n → raid5_n | lvconvert -y --type raid1 → raid1
    six region_size: lvconvert -y -R 512k → 0.50m | lvconvert -y -R 2m → 2.00m
    sums first: lvconvert -y --replace DISK → other | lvconvert -y --replace DISK → other
    sums stripes: lvconvert -y -m 2 → 3 | lvconvert -y -m 1 → 2
    ten any: lvchange -y --resync → any | lvchange -y --rebuild DISK → any
";

/// One of these.
struct Change {
    volume: &'static str,
    field: &'static str,
    command: &'static str,
    after: &'static str,
}

/// The lines of a text, in order.
fn changes(text: &'static str) -> Vec<Change> {
    let mut changes = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (what, ways) = line.split_once(':').expect("a volume and a field");
        let (volume, field) = what.trim().split_once(' ').expect("a volume and a field");
        for way in ways.split('|') {
            let (command, after) = way.trim().split_once(" → ").expect("a command and a value");
            changes.push(Change {
                volume,
                field,
                command: command.trim(),
                after,
            });
        }
    }
    changes
}

fn cuts() -> u64 {
    number("ASHLAR_KILLS").unwrap_or(CUTS)
}

/// Loads end, also where what they are for fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Volumes that are changed.
struct Bench {
    group: Group,
    random: Random,
}

impl Bench {
    fn new(name: &str) -> (Self, u64) {
        let seed = seed();
        let group = Group::new(name, DISKS, SIZE);
        for (name, options) in VOLUMES {
            let options: Vec<&str> = options.split(' ').collect();
            group.create(name, &options);
        }
        let random = Random::new(seed);
        (Self { group, random }, seed)
    }

    /// What a report says of a volume; `first`: the disk of its first image; `mostly`: whether that
    /// is only written, mostly.
    fn field(&self, volume: &str, field: &str) -> String {
        if field == "any" {
            return String::new();
        }
        if field == "first" {
            return self.first(volume).display().to_string();
        }
        if field == "mostly" {
            let attributes = self.field(&format!("{volume}_rimage_0"), "lv_attr");
            return attributes[8..9].trim_matches('-').to_owned();
        }
        let report = ["lvs", "-a", "--noheadings", "--units", "m", "-o", field];
        let report = self.group.ashlar().args(report);
        let said = report.arg(format!("vg0/{volume}")).succeed().text();
        said.trim().to_owned()
    }

    fn first(&self, volume: &str) -> PathBuf {
        // Where an image has checksums, its data lie below it.
        let below = if volume == "sums" { "_iorig" } else { "" };
        self.group.place(&format!("{volume}_rimage_0{below}")).0
    }

    fn line(&self, volume: &str, command: &str) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for word in command.split(' ') {
            let word = if word.contains("DISK") {
                word.replace("DISK", &self.first(volume).display().to_string())
            } else {
                word.to_owned()
            };
            words.push(word);
        }
        let volume = format!("vg0/{volume}");
        words.push(volume);
        words
    }

    /// A command that may have to wait until what it changes is in sync.
    fn settled(&self, line: &[String]) -> Finished {
        let end = Instant::now() + LIMIT;
        loop {
            let ended = self.group.ashlar().args(line).run();
            let said = ended.complaints();
            let volume = line.last().expect("a volume");
            let waits = ["not in-sync", "not in sync", "is being", "REBUILD"];
            if ended.code == Some(0) || !waits.iter().any(|wait| said.contains(wait)) {
                return ended;
            }
            assert!(Instant::now() < end, "{ended}");
            // Who serves it does that by himself.
            let _ = self.group.ashlar().args(["sync", volume]).run();
        }
    }

    /// Brings the volume to what a change makes of it, if it is not that yet.
    fn finish(&self, change: &Change, before: &str) {
        let Change {
            volume,
            field,
            command,
            after,
        } = change;
        let is_there = |found: &str| match *after {
            "other" => found != before,
            "none" => found.is_empty(),
            "any" => true,
            after => found == after,
        };
        if !is_there(&self.field(volume, field)) {
            let ended = self.settled(&self.line(volume, command));
            assert_eq!(ended.code, Some(0), "{ended}");
        }
        let found = self.field(volume, field);
        assert!(
            is_there(&found),
            "{command} of {volume}: {field} is {found}"
        );
        if command.contains("--splitmirrors") {
            let remove = self.group.ashlar().args(["lvremove", "-y", "vg0/split"]);
            remove.succeed();
        }
    }

    /// Waits until all is in sync, and the metadata say it of all images: that is written when an
    /// image is filled, and `sync` may end before.
    fn sync(&self) {
        let (text, end) = (self.group.join("text"), Instant::now() + LIMIT);
        loop {
            for (volume, _) in VOLUMES.iter().filter(|(_, how)| how.contains("raid")) {
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

    fn sums(&self) -> Vec<String> {
        let cat = |(volume, _): (&str, &str)| {
            let cat = self.group.ashlar().args(["cat", &format!("vg0/{volume}")]);
            sha256(&cat.succeed().stdout)
        };
        VOLUMES.map(cat).to_vec()
    }

    /// What is redundant goes together, and reads the same without any disk.
    fn assert_redundant(&self) {
        let whole = self.sums();
        for (volume, options) in VOLUMES
            .iter()
            .filter(|(_, options)| options.contains("raid"))
        {
            let scrub = self
                .group
                .ashlar()
                .arg("scrub")
                .arg(format!("vg0/{volume}"));
            let said = scrub.succeed().text();
            assert!(!said.contains("not compared"), "{options}: {said}");
        }
        for disk in 0..DISKS {
            let (image, away) = (self.group.disk(disk), self.group.join("away"));
            std::fs::rename(&image, &away).expect("it is taken away");
            for ((volume, options), sum) in VOLUMES.iter().zip(&whole) {
                if options.contains("raid") {
                    let cat = self.group.ashlar().args(["cat", &format!("vg0/{volume}")]);
                    let read = sha256(&cat.succeed().stdout);
                    assert_eq!(read, *sum, "{volume} without disk {disk}");
                }
            }
            std::fs::rename(&away, &image).expect("it is brought back");
        }
    }
}

/// Commands are killed that change arrays while nobody uses them; what they hold stays, each is
/// what it was or what it was to become, and in the end all goes together.
#[test]
fn changes_of_arrays_at_rest_survive_kills() {
    let (mut bench, seed) = Bench::new("survive-rest");
    for (number, (volume, _)) in VOLUMES.iter().enumerate() {
        let seed = seed ^ number as u64;
        let words = (0..8_u64 << 17).map(|at| at.wrapping_mul(0x9e37_79b9) ^ seed);
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        let file = bench.group.join("content");
        std::fs::write(&file, bytes).expect("there is space for it");
        let copy = bench.group.ashlar().arg("cp").arg(file);
        copy.arg(format!("vg0/{volume}")).succeed();
    }
    let whole = bench.sums();
    for _ in 0..cuts() {
        for change in changes(AT_REST) {
            let before = bench.field(change.volume, change.field);
            // What is not in sync yet is not changed.
            let sync = bench.group.ashlar().arg("sync");
            sync.arg(format!("vg0/{}", change.volume)).succeed();
            let line = bench.line(change.volume, change.command);
            let mut command = Daemon::start(bench.group.ashlar().args(&line), || true);
            thread::sleep(Duration::from_millis(bench.random.below(COMMAND_MAX_MS)));
            let was_running = command.is_running();
            command.kill();
            println!(
                "{} of {}: killed: {was_running}",
                change.command, change.volume
            );
            bench.finish(&change, &before);
        }
    }
    bench.sync();
    assert_eq!(bench.sums(), whole);
    bench.assert_redundant();
}

/// Servers are killed while commands change the arrays that they serve, under load: each array is
/// then what it was or what it was to become, no answered write is lost, and in the end all that is
/// redundant goes together.
#[test]
fn changes_of_arrays_survive_kills() {
    let (mut bench, seed) = Bench::new("survive-changes");
    let socket = bench.group.join("s");
    let volumes = VOLUMES.map(|(volume, _)| volume);
    let start = |bench: &Bench| serve(&bench.group, &socket, &volumes);
    let mut server = start(&bench);
    let stop = AtomicBool::new(false);
    let loads = volumes.map(|volume| load(&bench.group, volume, seed));
    let progress = loads.each_ref().map(Load::progress);
    let (mut killed, mut undone) = (0, 0);
    let reports: Vec<Report> = thread::scope(|scope| {
        let loads = loads.into_iter().zip(volumes).map(|(load, volume)| {
            let (socket, stop) = (&socket, &stop);
            scope.spawn(move || load.run(|| connect(socket, volume), stop))
        });
        let loads: Vec<_> = loads.collect();
        let ends = Stop(&stop);
        for _ in 0..cuts() {
            for change in changes(IN_USE) {
                if loads.iter().any(ScopedJoinHandle::is_finished) {
                    break;
                }
                let wanted = volumes.map(|_| bench.random.below(ANSWERS_MAX));
                wait_for_answers(&progress, &wanted, &loads);
                let before = bench.field(change.volume, change.field);
                let line = bench.line(change.volume, change.command);
                let command = bench.group.ashlar().args(&line);
                let command = scope.spawn(move || command.run());
                thread::sleep(Duration::from_millis(bench.random.below(LIFE_MAX_MS)));
                server.kill();
                killed += 1;
                let ended = command.join().expect("a command ends");
                undone += u64::from(ended.code != Some(0));
                println!(
                    "{killed}: {} of {}: {:?}",
                    change.command, change.volume, ended.code
                );
                server = start(&bench);
                bench.finish(&change, &before);
            }
        }
        drop(ends);
        join_all(loads)
    });
    assert_kept(&volumes, &reports);
    println!("{killed} kills, {undone} commands that did not say that they succeeded");
    bench.sync();
    Daemon::stop(server);
    bench.assert_redundant();
}
