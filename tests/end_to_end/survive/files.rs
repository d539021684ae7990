//! File systems whose snapshots are made, extended, removed and merged by a server that is killed.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use tests::verifier::Random;
use tests::{Daemon, Group, LIMIT, Mounted, Tool};

use super::snapshots::assert_in_order;
use super::{DISKS, LIFE_MAX_MS, NOTICE_MAX, kills, seed, verifier};

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

/// A writer's folder, and what it promised.
#[derive(Debug, Clone)]
struct Work {
    folder: String,
    journal: PathBuf,
    seed: u64,
}

/// A snapshot, and what was promised when it was made.
#[derive(Debug)]
struct Taken {
    name: String,
    works: Vec<Work>,
}

struct Bench {
    group: Group,
    random: Random,
    seed: u64,
    made: u64,
    snapshots: Vec<Taken>,
    /// What the file system holds of earlier writers.
    works: Vec<Work>,
    kept: u64,
    merges: u64,
    /// Of these, cut off.
    cut: u64,
}

impl Bench {
    fn run(&self, line: &str) -> Tool {
        self.group.ashlar().args(line.split(' '))
    }

    fn has(&self, snapshot: &str) -> bool {
        let lvs = self.run("lvs -a --noheadings -o lv_name vg0");
        let names = lvs.succeed().text();
        let mut names = names.split_whitespace();
        // What is being merged is hidden.
        names.any(|name| name.trim_matches(['[', ']']) == snapshot)
    }

    /// A writer in a folder of its own, which has begun.
    fn writer(&mut self, mounted: &Mounted) -> (Daemon, Work) {
        self.made += 1;
        let folder = self.made.to_string();
        let work = Work {
            journal: self.group.join(format!("journal{folder}")),
            seed: self.seed + self.made,
            folder,
        };
        let folder = mounted.path().join(&work.folder);
        Tool::new("mkdir").arg(&folder).succeed();
        let writer = verifier("write").arg(&folder).arg(&work.journal);
        let writer = writer.args([&work.seed.to_string(), "1000000000"]);
        let has_begun = || fs::metadata(&work.journal).is_ok_and(|file| file.len() > 0);
        (Daemon::start(writer, has_begun), work)
    }

    /// Requires that what was promised is there.
    fn check(&mut self, mounted: &Mounted, works: &[Work]) {
        for work in works {
            let check = verifier("check").arg(mounted.path().join(&work.folder));
            let check = check.arg(&work.journal).arg(work.seed.to_string());
            let found: u64 = check.succeed().text().trim().parse().expect("a number");
            self.kept += found;
        }
    }

    /// Mounts a volume, which replays its log, checks what it holds and leaves it clean.
    fn check_on(&mut self, volume: &str, works: &[Work]) {
        let node = self.group.attach(volume);
        let mounted = self.group.mount(&node);
        self.check(&mounted, works);
        mounted.unmount();
        Tool::new("e2fsck").arg("-fn").arg(&node).succeed();
        self.group.detach(volume);
    }

    /// A writer goes on while a command runs, and both lose their server.
    fn kill(&mut self, command: &Command) {
        let node = self.group.attach("data");
        let mounted = self.group.mount(&node);
        let ballast = vec![self.made as u8; BALLAST];
        fs::write(mounted.path().join("ballast"), ballast).expect("there is space for it");
        let (mut writer, work) = self.writer(&mounted);
        thread::sleep(Duration::from_millis(self.random.below(LIFE_MAX_MS)));
        let begun = fs::read_to_string(&work.journal).expect("a journal");
        let delay = Duration::from_millis(self.random.below(COMMAND_MS_MAX));
        let line = command.line();
        let group = &self.group;
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
        assert_in_order(&self.group, DISKS);
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
        let journal = self.group.join(format!("promised{}", work.folder));
        fs::write(&journal, text).expect("there is space for it");
        Work {
            journal,
            ..work.clone()
        }
    }

    /// Makes room: what is old goes, and is no longer asked for where it went.
    fn forget(&mut self) {
        if self.works.len() <= 2 {
            return;
        }
        let node = self.group.attach("data");
        let mounted = self.group.mount(&node);
        for work in self.works.drain(..1) {
            let old = mounted.path().join(work.folder);
            Tool::new("rm").arg("-r").arg(old).succeed();
        }
        mounted.unmount();
        self.group.detach("data");
    }

    /// Everything is there, in the file system and in each snapshot.
    fn judge(&mut self) {
        let works = self.works.clone();
        self.check_on("data", &works);
        for (name, works) in self.taken() {
            self.check_on(&name, &works);
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
            _ => Command::Make(format!("snap{}", self.made)),
        }
    }

    /// The file system becomes what it was, by a server that is killed under way.
    fn merge(&mut self, round: u64) {
        let taken = self.snapshots.pop().expect("a snapshot");
        self.run(&format!("lvconvert -y --merge vg0/{}", taken.name))
            .succeed();
        self.works.clone_from(&taken.works);
        self.merges += 1;
        let node = self.group.attach("data");
        let mounted = self.group.mount(&node);
        self.check(&mounted, &taken.works);
        let (mut writer, work) = self.writer(&mounted);
        thread::sleep(Duration::from_millis(self.random.below(COMMAND_MS_MAX)));
        self.group.kill("data");
        assert_eq!(writer.ended(NOTICE_MAX), Some(3), "its server was killed");
        mounted.unmount();
        assert_in_order(&self.group, DISKS);
        let was_cut = self.has(&taken.name);
        self.cut += u64::from(was_cut);
        println!("round {round}: {} merged, cut: {was_cut}", taken.name);
        self.works.push(work);
        let works = self.works.clone();
        self.check_on("data", &works);
        self.group.attach("data");
        let end = Instant::now() + LIMIT;
        while self.has(&taken.name) {
            assert!(Instant::now() < end, "the merge is never over");
            thread::sleep(Duration::from_millis(20));
        }
        self.group.detach("data");
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
        group,
        random: Random::new(seed),
        seed,
        made: 0,
        snapshots: Vec::new(),
        works: Vec::new(),
        kept: 0,
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
        bench.forget();
    }
    let Bench {
        kept, merges, cut, ..
    } = &bench;
    println!(
        "{} kills, {merges} merges, {cut} cut off, {kept} steps with fsync kept",
        kills()
    );
}
