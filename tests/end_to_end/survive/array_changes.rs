//! Arrays that commands change, under load, while their server, or the command, is killed.

use std::thread;
use std::time::Duration;

use tests::Daemon;
use tests::verifier::Random;

use super::array_bench::{Arrays, cuts, under_load};
use super::{assert_kept, seed, serve};

/// A server is killed so many milliseconds after a command began, at most: as long as one takes.
const LIFE_MAX_MS: u64 = 400;
/// The same of a command that is killed itself.
const COMMAND_MAX_MS: u64 = 100;
/// Each volume, and how it is made.
const VOLUMES: &[(&str, &str)] = &[
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
/// What is reshaped.
const RESHAPED: &[(&str, &str)] = &[("shape", "--type raid5 -i 2 -L 8m")];

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
    five segtype: lvconvert -y --type raid6_ls_6 → raid6_ls_6 | \
        lvconvert -y --type raid5_ls → raid5_ls
    two segtype: lvconvert -y --type raid5_n → raid5_n | lvconvert -y --type raid1 → raid1
    two segtype: lvconvert -y --type mirror → mirror | lvconvert -y --type raid1 → raid1
    six region_size: lvconvert -y -R 512k → 0.50m | lvconvert -y -R 2m → 2.00m
    ten any: lvchange -y --rebuild DISK → any
    five raid_max_recovery_rate: lvchange --maxrecoveryrate 64m → 65536 | \
        lvchange --maxrecoveryrate 128m → 131072
";

/// Reshapes, in use. Each is asked for once more behind its end, which gives its space up.
const RESHAPES: &str = "
    shape stripes: lvconvert -y --stripes 3 → 4
    shape image: lvconvert -y --stripes 3 → 4.00m
    shape image: lvconvert -y --force --stripes 2 → 8.00m
    shape stripes: lvconvert -y --force --stripes 2 → 3
    shape segtype: lvconvert -y --type raid5_ra → raid5_ra
    shape image: lvconvert -y --type raid5_ra → 4.00m
    shape segtype: lvconvert -y --type raid5_ls → raid5_ls
    shape image: lvconvert -y --type raid5_ls → 4.00m
    shape stripe_size: lvconvert -y --stripesize 32k → 0.03m
    shape image: lvconvert -y --stripesize 32k → 4.00m
    shape stripe_size: lvconvert -y --stripesize 64k → 0.06m
    shape image: lvconvert -y --stripesize 64k → 4.00m
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

/// Volumes that are changed.
struct Bench {
    arrays: Arrays,
    random: Random,
}

impl Bench {
    fn new(name: &str, volumes: &'static [(&'static str, &'static str)]) -> (Self, u64) {
        let seed = seed();
        let arrays = Arrays::new(name, volumes);
        let random = Random::new(seed);
        (Self { arrays, random }, seed)
    }

    /// What a report says of a volume; `first`: the disk of its first image; `image`: the size of
    /// that; `mostly`: whether it is only written, mostly.
    fn field(&self, volume: &str, field: &str) -> String {
        if field == "any" {
            return String::new();
        }
        if field == "first" {
            return self.arrays.first(volume).display().to_string();
        }
        if field == "image" {
            return self.field(&format!("{volume}_rimage_0"), "lv_size");
        }
        if field == "mostly" {
            let attributes = self.field(&format!("{volume}_rimage_0"), "lv_attr");
            return attributes[8..9].trim_matches('-').to_owned();
        }
        self.arrays.field(volume, field)
    }

    fn line(&self, volume: &str, command: &str) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for word in command.split(' ') {
            let word = if word.contains("DISK") {
                word.replace("DISK", &self.arrays.first(volume).display().to_string())
            } else {
                word.to_owned()
            };
            words.push(word);
        }
        let volume = format!("vg0/{volume}");
        words.push(volume);
        words
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
            let ended = self.arrays.settled(&self.line(volume, command));
            assert_eq!(ended.code, Some(0), "{ended}");
        }
        let found = self.field(volume, field);
        assert!(
            is_there(&found),
            "{command} of {volume}: {field} is {found}"
        );
        if command.contains("--splitmirrors") {
            let remove = self
                .arrays
                .group
                .ashlar()
                .args(["lvremove", "-y", "vg0/split"]);
            remove.succeed();
        }
    }
}

/// Commands are killed that change arrays while nobody uses them; what they hold stays, each is
/// what it was or what it was to become, and in the end all goes together.
#[test]
fn changes_of_arrays_at_rest_survive_kills() {
    let (mut bench, seed) = Bench::new("survive-rest", VOLUMES);
    for (number, (volume, _)) in VOLUMES.iter().enumerate() {
        let seed = seed ^ number as u64;
        let words = (0..8_u64 << 17).map(|at| at.wrapping_mul(0x9e37_79b9) ^ seed);
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        let file = bench.arrays.group.join("content");
        std::fs::write(&file, bytes).expect("there is space for it");
        let copy = bench.arrays.group.ashlar().arg("cp").arg(file);
        copy.arg(format!("vg0/{volume}")).succeed();
    }
    let whole = bench.arrays.sums();
    for _ in 0..cuts() {
        for change in changes(AT_REST) {
            let before = bench.field(change.volume, change.field);
            // What is not in sync yet is not changed.
            let sync = bench.arrays.group.ashlar().arg("sync");
            sync.arg(format!("vg0/{}", change.volume)).succeed();
            let line = bench.line(change.volume, change.command);
            let mut command = Daemon::start(bench.arrays.group.ashlar().args(&line), || true);
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
    bench.arrays.sync();
    assert_eq!(bench.arrays.sums(), whole);
    bench.arrays.assert_redundant();
}

/// Servers are killed while commands change the arrays that they serve, under load: each array is
/// then what it was or what it was to become, no answered write is lost, and in the end all that is
/// redundant goes together.
#[test]
fn changes_of_arrays_survive_kills() {
    assert_survives("survive-changes", VOLUMES, IN_USE);
}

/// The same while reshapes begin, and their space is given up.
#[test]
fn reshapes_in_use_survive_kills() {
    assert_survives("survive-reshapes", RESHAPED, RESHAPES);
}

fn assert_survives(
    name: &str,
    volumes: &'static [(&'static str, &'static str)],
    text: &'static str,
) {
    let (mut bench, seed) = Bench::new(name, volumes);
    let socket = bench.arrays.group.join("s");
    let volumes: Vec<&str> = volumes.iter().map(|(volume, _)| *volume).collect();
    let start = |bench: &Bench| serve(&bench.arrays.group, &socket, &volumes);
    let mut server = start(&bench);
    let (mut killed, mut undone) = (0, 0);
    let loads = bench.arrays.loads(&volumes, seed);
    let reports = under_load(&socket, &volumes, loads, |loads| {
        for _ in 0..cuts() {
            for change in changes(text) {
                if loads.go_on(&mut bench.random).is_break() {
                    return;
                }
                let before = bench.field(change.volume, change.field);
                let line = bench.line(change.volume, change.command);
                let command = bench.arrays.group.ashlar().args(&line);
                let command = thread::spawn(move || command.run());
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
    });
    assert_kept(&volumes, &reports);
    println!("{killed} kills, {undone} commands that did not say that they succeeded");
    bench.arrays.sync();
    Daemon::stop(server);
    bench.arrays.assert_redundant();
}
