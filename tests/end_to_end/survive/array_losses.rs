//! Disks that arrays lose, and that come back older, while the server, or the command that deals
//! with it, is killed.
//!
//! ```text
//!             the disk is gone                                it is back
//!   replaced  lvconvert --repair, vgreduce --removemissing    vgck, vgextend: it is a free one
//!   given up  vgreduce --removemissing --force                the same, and lvconvert --repair
//!   kept      … --mirrorsonly --force                         vgextend --restoremissing, --repair
//!   returned  any command, which notes that it is missing     vgextend --restoremissing
//! ```
//!
//! What became of an array without a disk is served, and written, before the disk is back: what it
//! holds is not believed, and only what was written meanwhile is copied to it. So it is with a copy
//! that is set aside, and comes back; and a mirror becomes raid1, and back.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tests::verifier::Random;
use tests::{Daemon, sha256};

use super::array_bench::{Arrays, DISKS, Loads, cuts, under_load};
use super::{assert_kept, seed, serve};

/// A server is killed so many milliseconds after a command began, at most: as long as one takes.
const LIFE_MAX_MS: u64 = 400;
/// Each volume, and how it is made.
const VOLUMES: [(&str, &str); 6] = [
    ("two", "--type raid1 -m 1 -L 8m"),
    ("three", "--type raid1 -m 2 -L 8m"),
    ("five", "--type raid5 -i 3 -L 12m"),
    ("six", "--type raid6 -i 3 -L 12m"),
    ("ten", "--type raid10 -i 2 -m 1 -L 8m"),
    ("mir", "--type mirror -m 1 -L 8m"),
];
/// Where no load writes in any image: behind the second region.
const QUIET: u64 = 3 << 20;
/// Bytes of a volume that is not redundant.
const PLAIN: usize = 4 << 20;

/// Who is killed while a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    /// The server, which does the command's work.
    Server,
    /// The command, while nobody uses the group.
    Command,
}

/// Bytes that are not what the array wrote there.
struct Planted {
    disk: PathBuf,
    start: u64,
    before: [u8; 512],
}

impl Planted {
    const BYTES: [u8; 512] = [0xa5; 512];

    fn read(&self) -> [u8; 512] {
        let mut bytes = [0; 512];
        let disk = File::open(&self.disk).expect("a disk");
        disk.read_exact_at(&mut bytes, self.start).expect("is read");
        bytes
    }

    fn write(&self, bytes: &[u8; 512]) {
        let disk = File::options().write(true).open(&self.disk);
        let disk = disk.expect("a disk");
        disk.write_all_at(bytes, self.start).expect("is written");
    }

    /// They stay where nothing was copied.
    fn plant((disk, image): (PathBuf, u64)) -> Self {
        let start = image + QUIET;
        let before = [0; 512];
        let mut planted = Self {
            disk,
            start,
            before,
        };
        planted.before = planted.read();
        planted.write(&Self::BYTES);
        planted
    }

    fn take_out(self, of: &str) {
        let is_there = self.read() == Self::BYTES;
        assert!(is_there, "{of}: what nobody wrote is not copied");
        self.write(&self.before);
    }
}

/// Arrays that lose disks.
struct Losses {
    arrays: Arrays,
    random: Random,
    socket: PathBuf,
    server: Option<Daemon>,
    victim: Victim,
    /// How often each command was cut off, of each volume.
    cut: BTreeMap<String, u64>,
    /// How many commands ended before they were killed.
    lived: u64,
}

impl Losses {
    fn serve(&mut self) {
        if self.server.is_none() {
            let volumes = VOLUMES.map(|(volume, _)| volume);
            self.server = Some(serve(&self.arrays.group, &self.socket, &volumes));
        }
    }

    fn rest(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
    }

    fn run(&self, line: &str) -> String {
        let tool = self.arrays.group.ashlar().args(line.split(' '));
        tool.succeed().text().trim().to_owned()
    }

    /// The volumes are served for a while.
    fn go_on(&mut self, loads: &Loads<'_>) -> ControlFlow<()> {
        self.serve();
        loads.go_on(&mut self.random)
    }

    fn kill_server(&mut self) {
        let server = self.server.take();
        server.expect("it runs").kill();
    }

    /// A server is killed that works for a command.
    fn kill_server_of(&mut self, line: &str) {
        self.serve();
        let tool = self.arrays.group.ashlar().args(line.split(' '));
        let command = thread::spawn(move || tool.run());
        thread::sleep(Duration::from_millis(self.random.below(LIFE_MAX_MS)));
        self.kill_server();
        let ended = command.join().expect("a command ends");
        println!("{line}: server killed: {:?}", ended.code);
    }

    /// A command is killed while nobody serves the group.
    fn kill_command(&mut self, line: &str) {
        self.rest();
        self.lived += u64::from(!self.arrays.kill_in(line, &mut self.random));
    }

    /// A command is cut off, unless it was often enough; what is left is used, and the command
    /// brought to its end.
    fn cut(
        &mut self,
        loads: &Loads<'_>,
        line: &str,
        is_done: impl Fn(&Self) -> bool,
    ) -> ControlFlow<()> {
        // Disks differ from round to round; what is at rest is the same whatever is made of it.
        let is_same = |word: &&str| match self.victim {
            Victim::Server => !word.starts_with('/'),
            Victim::Command => !word.contains('/'),
        };
        let words = line.split(' ').filter(is_same);
        let cut = words.collect::<Vec<&str>>().join(" ");
        let cut = self.cut.entry(cut).or_default();
        if *cut < cuts() {
            *cut += 1;
            match self.victim {
                Victim::Server => self.kill_server_of(line),
                Victim::Command => self.kill_command(line),
            }
            self.go_on(loads)?;
        } else {
            self.rest();
        }
        if !is_done(self) {
            if self.victim == Victim::Command {
                self.rest();
            }
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let ended = self.arrays.settled(&words);
            assert_eq!(ended.code, Some(0), "{ended}");
        }
        assert!(is_done(self), "{line}");
        ControlFlow::Continue(())
    }

    /// What a report says of volumes and what they are made of: name, type and devices.
    fn parts(&self) -> Vec<[String; 3]> {
        let said = self.run("lvs -a --noheadings --separator | -o lv_name,segtype,devices vg0");
        let parts = said.lines().map(|line| {
            let mut fields = line.trim().split('|').map(str::to_owned);
            [(); 3].map(|()| fields.next().expect("three fields"))
        });
        parts.collect()
    }

    /// Whether an image of a volume, or the volume itself, is where `is_lost` says, of its type and
    /// its device.
    fn has_part(&self, volume: &str, is_lost: impl Fn(&str, &str) -> bool) -> bool {
        self.parts().iter().any(|[name, kind, devices]| {
            let name = name.trim_matches(['[', ']']);
            let is_part = name.strip_prefix(volume).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with("_r") || rest.starts_with("_m")
            });
            is_part && is_lost(kind, devices)
        })
    }

    /// Whether a volume has less than it should.
    fn lacks(&self, volume: &str) -> bool {
        self.has_part(volume, |kind, devices| {
            kind == "error" || devices.contains("[unknown]")
        })
    }

    fn disks(&self) -> usize {
        let count = self.run("vgs --noheadings -o pv_count vg0");
        count.parse().expect("a number")
    }

    fn segtype(&self, volume: &str) -> String {
        self.arrays.field(volume, "segtype")
    }

    /// The disk with an image of this volume that has the most images, of those without the log of
    /// the mirror, which is not written without.
    fn disk(&self, volume: &str) -> PathBuf {
        let mut images: BTreeMap<PathBuf, (bool, usize)> = BTreeMap::new();
        let log = self.arrays.group.place("mir_mlog").0;
        for [name, _, devices] in self.parts() {
            let (disk, _) = devices.split_once('(').expect("a device and an extent");
            if name.contains("image_") && Path::new(disk) != log {
                let found = images.entry(disk.into()).or_default();
                found.0 |= name.trim_matches('[').starts_with(&format!("{volume}_"));
                found.1 += 1;
            }
        }
        let fits = images.into_iter().filter(|(_, (has_it, _))| *has_it);
        let most = fits.max_by_key(|(_, (_, count))| *count);
        most.expect("it has images").0
    }

    fn lost(&self) -> PathBuf {
        self.arrays.group.join("lost")
    }

    /// A disk goes while nobody uses it, and all goes on without it.
    fn lose(&mut self, loads: &Loads<'_>, disk: &Path) -> ControlFlow<()> {
        self.rest();
        fs::rename(disk, self.lost()).expect("it is taken away");
        self.go_on(loads)
    }

    fn bring_back(&mut self, loads: &Loads<'_>, disk: &Path) -> ControlFlow<()> {
        fs::rename(self.lost(), disk).expect("it is brought back");
        self.go_on(loads)
    }

    /// The disk is none of the group's any more, and joins it as a new one.
    fn join(&mut self, loads: &Loads<'_>, disk: &Path) -> ControlFlow<()> {
        self.bring_back(loads, disk)?;
        self.run("vgck --updatemetadata vg0");
        self.run(&format!("vgextend vg0 {}", disk.display()));
        ControlFlow::Continue(())
    }

    /// All that lacks images gets others.
    fn repair(&mut self, loads: &Loads<'_>) -> ControlFlow<()> {
        for (volume, _) in VOLUMES {
            if self.lacks(volume) {
                let line = format!("lvconvert -y --repair vg0/{volume}");
                self.cut(loads, &line, |now| !now.lacks(volume))?;
            }
        }
        ControlFlow::Continue(())
    }

    /// The mirror has two copies again, and all is in sync. Loads would keep the disks for most of
    /// the time.
    fn settle(&mut self) {
        self.rest();
        if self.segtype("mir") == "linear" {
            self.run("lvconvert -y --type mirror -m 1 vg0/mir");
        }
        self.arrays.sync();
    }
}

/// What becomes of volumes that lose a disk, or images, each time from all in sync to all in sync.
impl Losses {
    /// Each array gets another image, and the group goes on without the disk, until it is back as a
    /// new one.
    fn replaced(&mut self, loads: &Loads<'_>, volume: &str) -> ControlFlow<()> {
        let disk = self.disk(volume);
        self.lose(loads, &disk)?;
        self.repair(loads)?;
        self.cut(loads, "vgreduce --removemissing vg0", |now| {
            now.disks() == DISKS - 1
        })?;
        self.join(loads, &disk)?;
        self.settle();
        ControlFlow::Continue(())
    }

    /// A disk with a volume that is nowhere else goes.
    fn lose_with_plain(&mut self, loads: &Loads<'_>, disk: &Path) -> ControlFlow<()> {
        self.rest();
        self.run(&format!(
            "lvcreate -y -L 4m -n plain vg0 {}",
            disk.display()
        ));
        let file = self.arrays.group.join("plain");
        fs::write(&file, vec![0x5a; PLAIN]).expect("there is space for it");
        self.run(&format!("cp {} vg0/plain", file.display()));
        self.lose(loads, disk)
    }

    /// What is redundant goes on with what it has, and nothing else does.
    fn given_up(&mut self, loads: &Loads<'_>, volume: &str) -> ControlFlow<()> {
        let disk = self.disk(volume);
        self.lose_with_plain(loads, &disk)?;
        self.cut(loads, "vgreduce --removemissing --force vg0", |now| {
            now.disks() == DISKS - 1
        })?;
        assert!(!self.parts().iter().any(|[name, ..]| name == "plain"));
        self.join(loads, &disk)?;
        self.repair(loads)?;
        self.settle();
        ControlFlow::Continue(())
    }

    /// The same, and nothing is given up.
    fn kept(&mut self, loads: &Loads<'_>, volume: &str) -> ControlFlow<()> {
        let disk = self.disk(volume);
        self.lose_with_plain(loads, &disk)?;
        let line = "vgreduce --removemissing --mirrorsonly --force vg0";
        let is_on_lost = |_: &str, devices: &str| devices.contains("[unknown]");
        self.cut(loads, line, |now| {
            let mut volumes = VOLUMES.iter();
            !volumes.any(|(volume, _)| now.has_part(volume, is_on_lost))
        })?;
        assert_eq!(self.disks(), DISKS, "a volume is still on it");
        self.bring_back(loads, &disk)?;
        self.restore(loads, &disk)?;
        self.repair(loads)?;
        self.settle();
        let plain = self.arrays.group.ashlar().args(["cat", "vg0/plain"]);
        let is_held = plain.succeed().stdout == vec![0x5a; PLAIN];
        assert!(is_held, "it is back with what it held");
        self.run("lvremove -y vg0/plain");
        ControlFlow::Continue(())
    }

    fn restore(&mut self, loads: &Loads<'_>, disk: &Path) -> ControlFlow<()> {
        let line = format!("vgextend --restoremissing vg0 {}", disk.display());
        let missing = "pvs --noheadings -o pv_missing -S vg_name=vg0";
        assert!(self.run(missing).contains("missing"), "that is on record");
        self.cut(loads, &line, |now| !now.run(missing).contains("missing"))
    }

    /// The others go on, and the disk comes back with what it held: it gets what was written
    /// meanwhile, and nothing else is copied.
    fn returned(&mut self, loads: &Loads<'_>, volume: &str) -> ControlFlow<()> {
        let disk = self.disk(volume);
        let images = self.parts().into_iter().filter(|[name, _, devices]| {
            let is_there = devices
                .split_once('(')
                .is_some_and(|(at, _)| disk == Path::new(at));
            name.contains("_rimage_") && is_there
        });
        let images: Vec<String> = images.map(|[name, ..]| name).collect();
        let image = |name: &String| self.arrays.group.place(name.trim_matches(['[', ']']));
        let places: Vec<(PathBuf, u64)> = images.iter().map(image).collect();
        self.lose(loads, &disk)?;
        self.run("vgchange --addtag noted vg0");
        self.run("vgchange --deltag noted vg0");
        let planted = places.into_iter().map(|(_, start)| {
            let mut planted = Planted::plant((self.lost(), start));
            planted.disk.clone_from(&disk);
            planted
        });
        let planted: Vec<Planted> = planted.collect();
        self.bring_back(loads, &disk)?;
        self.restore(loads, &disk)?;
        self.settle();
        for (planted, image) in planted.into_iter().zip(images) {
            planted.take_out(&image);
        }
        ControlFlow::Continue(())
    }

    /// A mirror becomes raid1, and that a mirror.
    fn renamed(&mut self, loads: &Loads<'_>) -> ControlFlow<()> {
        for to in ["raid1", "mirror"] {
            self.settle();
            let line = format!("lvconvert -y --type {to} vg0/mir");
            self.cut(loads, &line, |now| now.segtype("mir") == to)?;
        }
        self.go_on(loads)?;
        self.settle();
        ControlFlow::Continue(())
    }

    fn set_aside(&self) -> Option<String> {
        let mut parts = self.parts().into_iter();
        let found = parts.find(|[name, ..]| name.starts_with("three_rimage_"));
        found.map(|[name, ..]| name)
    }

    /// A copy is set aside, and stays while the array is written without it. It comes back, and
    /// gets what was written meanwhile, and nothing else.
    fn tracked(&mut self, loads: &Loads<'_>) -> ControlFlow<()> {
        let sum = |now: &Self, volume: &str| {
            let cat = now.arrays.group.ashlar().arg("cat");
            sha256(&cat.arg(format!("vg0/{volume}")).succeed().stdout)
        };
        let line = "lvconvert -y --splitmirrors 1 --trackchanges vg0/three";
        let held = sum(self, "three");
        if self.victim == Victim::Command {
            // Nobody writes before it is set aside: it holds all.
            *self.cut.entry(line.to_owned()).or_default() += 1;
            self.kill_command(line);
            if self.set_aside().is_none() {
                self.run(line);
            }
        } else {
            self.cut(loads, line, |now| now.set_aside().is_some())?;
            self.rest();
        }
        let image = self.set_aside().expect("it is set aside");
        let before = sum(self, &image);
        assert!(self.victim == Victim::Server || before == held, "it is all");
        self.go_on(loads)?;
        if self.victim == Victim::Command {
            self.kill_server();
            self.go_on(loads)?;
        }
        self.rest();
        assert_eq!(sum(self, &image), before, "what was set aside stays");
        assert_ne!(sum(self, "three"), before, "the others were written");
        let planted = Planted::plant(self.arrays.group.place(&image));
        let line = format!("lvconvert -y --merge vg0/{image}");
        self.cut(loads, &line, |now| now.set_aside().is_none())?;
        self.settle();
        planted.take_out(&image);
        ControlFlow::Continue(())
    }
}

/// Runs it all, as often as each is to be cut off; no answered write is lost, and in the end all
/// that is redundant goes together.
fn losses_survive_kills(name: &str, victim: Victim) {
    let seed = seed();
    let arrays = Arrays::new(name, &VOLUMES);
    let socket = arrays.group.join("s");
    let mut losses = Losses {
        arrays,
        random: Random::new(seed),
        socket: socket.clone(),
        server: None,
        victim,
        cut: BTreeMap::new(),
        lived: 0,
    };
    losses.serve();
    let volumes = VOLUMES.map(|(volume, _)| volume);
    let loads = losses.arrays.loads(&volumes, seed);
    let reports = under_load(&socket, &volumes, loads, |loads| {
        let mut all = || -> ControlFlow<()> {
            for round in 0..cuts() {
                losses.go_on(loads)?;
                losses.settle();
                let volume = volumes[round as usize % volumes.len()];
                losses.replaced(loads, volume)?;
                losses.given_up(loads, volume)?;
                losses.kept(loads, volume)?;
                losses.returned(loads, volume)?;
                losses.renamed(loads)?;
                losses.tracked(loads)?;
            }
            ControlFlow::Continue(())
        };
        // Who ended early says why.
        let _ = all();
        losses.serve();
    });
    assert_kept(&volumes, &reports);
    println!("{:#?}", losses.cut);
    let kills: u64 = losses.cut.values().sum();
    println!("{kills} kills, {} commands had ended", losses.lived);
    assert!(2 * losses.lived < kills, "they are killed at work");
    losses.arrays.sync();
    losses.rest();
    losses.run("lvconvert -y --type raid1 vg0/mir");
    losses.arrays.sync();
    losses.arrays.assert_redundant();
}

/// Servers are killed while commands deal with disks that the arrays which they serve have lost,
/// under load, or that are back.
#[test]
fn losses_of_served_arrays_survive_kills() {
    losses_survive_kills("survive-losses", Victim::Server);
}

/// Commands are killed that do the same while nobody uses the arrays.
#[test]
fn losses_of_arrays_at_rest_survive_kills() {
    losses_survive_kills("survive-losses-rest", Victim::Command);
}
