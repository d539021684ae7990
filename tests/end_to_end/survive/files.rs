//! File systems whose snapshots are made, extended, removed and merged by a server that is killed.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use tests::verifier::Random;
use tests::{Group, LIMIT, Tool};

use super::snapshots::assert_in_order;
use super::writers::{Work, Writers};
use super::{DISKS, LIFE_MAX_MS, NOTICE_MAX, kills, seed};

/// Size of the file system's volume.
const SIZE_MIB: u64 = 48;
/// What a store of it wants at most.
const STORE_MIB: u64 = 50;
/// What is written anew in each round, so that there is something to be merged.
const BALLAST: usize = 16 << 20;
/// The server is killed within so many milliseconds of the start of a command.
const COMMAND_MS_MAX: u64 = 120;
/// Snapshots at a time.
const SNAPSHOTS_MAX: usize = 2;

/// A snapshot, and what was promised when it was made.
#[derive(Debug)]
struct Taken {
    name: String,
    works: Vec<Work>,
}

struct Bench {
    writers: Writers,
    random: Random,
    snapshots: Vec<Taken>,
    /// What the file system holds of earlier writers.
    works: Vec<Work>,
    merges: u64,
    /// Of these, cut off.
    cut: u64,
}

impl Bench {
    fn run(&self, line: &str) -> Tool {
        self.writers.group.ashlar().args(line.split(' '))
    }

    fn has(&self, snapshot: &str) -> bool {
        let lvs = self.run("lvs -a --noheadings -o lv_name vg0");
        let names = lvs.succeed().text();
        let mut names = names.split_whitespace();
        // What is being merged is hidden.
        names.any(|name| name.trim_matches(['[', ']']) == snapshot)
    }

    /// A writer goes on while a command runs, and both lose their server.
    fn kill(&mut self, command: &Command) {
        let node = self.writers.group.attach("data");
        let mounted = self.writers.group.mount(&node);
        let ballast = vec![self.writers.made as u8; BALLAST];
        fs::write(mounted.path().join("ballast"), ballast).expect("there is space for it");
        let (mut writer, work) = self.writers.begin(&mounted);
        thread::sleep(Duration::from_millis(self.random.below(LIFE_MAX_MS)));
        let begun = fs::read_to_string(&work.journal).expect("a journal");
        let delay = Duration::from_millis(self.random.below(COMMAND_MS_MAX));
        let line = command.line();
        let group = &self.writers.group;
        let finished = thread::scope(|scope| {
            let tool = group.ashlar().args(line.split(' '));
            let command = scope.spawn(|| tool.run());
            thread::sleep(delay);
            group.kill("data");
            command.join().expect("a command ends")
        });
        println!("{line} {:?}", finished.code);
        let gone = Some(3);
        assert_eq!(writer.ended(NOTICE_MAX), gone, "its server was killed");
        mounted.unmount();
        assert_in_order(&self.writers.group, DISKS);
        let is_done = finished.code == Some(0);
        match command {
            Command::Make(name) if self.has(name) => {
                let ended = fs::read_to_string(&work.journal).expect("a journal");
                let mut works = self.works.clone();
                works.push(self.promised(&work, &begun, &ended));
                let name = name.clone();
                self.snapshots.push(Taken { name, works });
            }
            Command::Remove(name) if !self.has(name) => {
                self.snapshots.retain(|taken| taken.name != *name);
            }
            Command::Make(_) | Command::Remove(_) => assert!(!is_done, "{finished}"),
            Command::Extend(name) => assert!(self.has(name), "{finished}"),
        }
        self.works.push(work);
    }

    /// What a snapshot must hold that was made when the journal was `begun`, and before it was
    /// `ended`: what was done then, and perhaps what was tried since.
    fn promised(&self, work: &Work, begun: &str, ended: &str) -> Work {
        let whole = begun.rfind('\n').map_or(0, |end| end + 1);
        let (done, since) = ended.split_at(whole);
        let tried = since.split_inclusive('\n');
        let tried = tried.filter(|line| line.starts_with("try") && line.ends_with('\n'));
        let text = done.to_owned() + &tried.collect::<String>();
        let journal = self.writers.group.join(format!("promised{}", work.folder));
        fs::write(&journal, text).expect("there is space for it");
        Work {
            journal,
            ..work.clone()
        }
    }

    /// Everything is there, in the file system and in each snapshot.
    fn judge(&mut self) {
        let works = self.works.clone();
        self.writers.check_on("data", &works);
        for (name, works) in self.taken() {
            self.writers.check_on(&name, &works);
        }
    }

    fn taken(&self) -> Vec<(String, Vec<Work>)> {
        let all = self.snapshots.iter();
        all.map(|taken| (taken.name.clone(), taken.works.clone()))
            .collect()
    }

    fn choose(&mut self) -> Command {
        match (self.snapshots.first(), self.random.below(4)) {
            (Some(taken), 0) => Command::Remove(taken.name.clone()),
            (Some(taken), 1) => Command::Extend(taken.name.clone()),
            (Some(taken), _) if self.snapshots.len() >= SNAPSHOTS_MAX => {
                Command::Remove(taken.name.clone())
            }
            _ => Command::Make(format!("snap{}", self.writers.made)),
        }
    }

    /// The file system becomes what it was, by a server that is killed under way.
    fn merge(&mut self, round: u64) {
        let taken = self.snapshots.pop().expect("a snapshot");
        self.run(&format!("lvconvert -y --merge vg0/{}", taken.name))
            .succeed();
        self.works.clone_from(&taken.works);
        self.merges += 1;
        let node = self.writers.group.attach("data");
        let mounted = self.writers.group.mount(&node);
        self.writers.check(&mounted, &taken.works);
        let (mut writer, work) = self.writers.begin(&mounted);
        thread::sleep(Duration::from_millis(self.random.below(COMMAND_MS_MAX)));
        self.writers.group.kill("data");
        assert_eq!(writer.ended(NOTICE_MAX), Some(3), "its server was killed");
        mounted.unmount();
        assert_in_order(&self.writers.group, DISKS);
        let was_cut = self.has(&taken.name);
        self.cut += u64::from(was_cut);
        println!("round {round}: {} merged, cut: {was_cut}", taken.name);
        self.works.push(work);
        let works = self.works.clone();
        self.writers.check_on("data", &works);
        self.writers.group.attach("data");
        let end = Instant::now() + LIMIT;
        while self.has(&taken.name) {
            assert!(Instant::now() < end, "the merge is never over");
            thread::sleep(Duration::from_millis(20));
        }
        self.writers.group.detach("data");
    }
}

#[derive(Debug)]
enum Command {
    Make(String),
    Remove(String),
    Extend(String),
}

impl Command {
    fn line(&self) -> String {
        match self {
            Self::Make(name) => format!("lvcreate -s -c 16k -L {STORE_MIB}m -n {name} vg0/data"),
            Self::Remove(name) => format!("lvremove -y vg0/{name}"),
            Self::Extend(name) => format!("lvextend -L +1m vg0/{name}"),
        }
    }
}

/// Files that were written with fsync to ext4 on an attached volume are in every snapshot that was
/// made after that, and in the volume itself, whenever its server is killed: while a snapshot is
/// made, extended or removed, and while one is merged. The log makes each of them clean.
#[test]
fn files_in_snapshots_survive_kills() {
    let seed = seed();
    let disk = (2 * STORE_MIB) << 20;
    let group = Group::with("survive-files", DISKS, disk, &["-s", "1m"]);
    group.create("data", &["-L", &format!("{SIZE_MIB}m")]);
    let node = group.attach("data");
    Tool::new("mkfs.ext4")
        .args(["-q", "-F"])
        .arg(&node)
        .succeed();
    group.detach("data");
    let mut bench = Bench {
        writers: Writers::new(group, seed),
        random: Random::new(seed),
        snapshots: Vec::new(),
        works: Vec::new(),
        merges: 0,
        cut: 0,
    };
    for round in 0..kills() {
        if round % 4 == 3 && !bench.snapshots.is_empty() {
            bench.merge(round);
        } else {
            let command = bench.choose();
            bench.kill(&command);
        }
        bench.judge();
        bench.writers.forget("data", &mut bench.works);
    }
    let Bench { merges, cut, .. } = &bench;
    let kept = bench.writers.kept;
    println!(
        "{} kills, {merges} merges, {cut} cut off, {kept} steps with fsync kept",
        kills()
    );
}
