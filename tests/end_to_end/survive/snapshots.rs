//! Snapshots that are made, removed and extended under load by a server that is killed meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use tests::verifier::{BLOCK, Load, Random, Report, moment, shows_a_moment};
use tests::{Access, Daemon, Finished, Group, LoopDevice, Stock};

use super::{
    ANSWERS_MAX, BLOCKS, DISKS, assert_kept, connect, is_short, join_all, kills, load, seed, serve,
    wait_for_answers,
};

/// Origins, and what they are made with.
pub(super) const ORIGINS: [(&str, &str); 3] = [
    ("plain", ""),
    ("wide", "-i 2 -I 16k"),
    ("twice", "--type mirror -m 1 --mirrorlog disk -R 512k"),
];
/// Bytes of an origin: the second half is never written.
const SIZE: u64 = 2 * BLOCKS * BLOCK as u64;
/// A store of so many MiB takes every block that is written, whatever the size of its chunks.
const ENOUGH_MIB: u64 = 3;
const SNAPSHOTS_MAX: usize = 6;
/// The server is killed within so many microseconds of the start of a command.
const COMMAND_US_MAX: u64 = 120_000;

/// A snapshot that there is, or may be.
#[derive(Debug, Clone)]
struct Taken {
    origin: usize,
    /// When it was made.
    window: RangeInclusive<usize>,
    /// The smallest store that it may have had.
    mib: u64,
}

#[derive(Debug, Clone)]
enum Action {
    Make { name: String, taken: Taken },
    Remove { name: String },
    Extend { name: String },
}

struct Bench {
    group: Group,
    random: Random,
    journals: Vec<PathBuf>,
    snapshots: BTreeMap<String, Taken>,
    /// Those that were found invalid: they stay so.
    invalid: BTreeSet<String>,
    made: u32,
    /// What was looked at.
    shown: u64,
}

/// A group with the origins.
pub(super) fn group(name: &str, size: u64) -> Group {
    let group = Group::with(name, DISKS, 20 * size, &["-s", "1m"]);
    for (name, layout) in ORIGINS {
        let size = format!("-L {}m {layout}", size >> 20);
        group.create(name, &size.split_whitespace().collect::<Vec<_>>());
    }
    group
}

/// Stock finds nothing wrong with the group that a killed server left.
pub(super) fn assert_in_order(group: &Group, disks: usize) {
    let attach = |number| LoopDevice::attach(&group.disk(number), Access::ReadWrite);
    let loops: Vec<LoopDevice> = (0..disks).map(attach).collect();
    let stock = Stock::on(&loops);
    let vgck = stock.without_driver("vgck").succeed();
    assert_eq!(vgck.text().trim(), "", "{vgck}");
}

impl Bench {
    fn choose(&mut self) -> Action {
        let names: Vec<String> = self.snapshots.keys().cloned().collect();
        let number = self.random.below(names.len().max(1) as u64);
        let name = names.get(number as usize).cloned();
        match (self.random.below(5), name) {
            (0, Some(name)) => Action::Remove { name },
            (1, Some(name)) => Action::Extend { name },
            (_, Some(name)) if names.len() >= SNAPSHOTS_MAX => Action::Remove { name },
            _ => {
                self.made += 1;
                let origin = self.random.below(ORIGINS.len() as u64) as usize;
                let taken = Taken {
                    origin,
                    window: 0..=usize::MAX,
                    mib: (1 + self.random.below(5)).min(ENOUGH_MIB),
                };
                let name = format!("snap{}", self.made);
                Action::Make { name, taken }
            }
        }
    }

    fn words(&mut self, action: &Action) -> Vec<String> {
        let line = match action {
            Action::Make { name, taken } => {
                let chunk = 4 << (2 * self.random.below(3));
                let (mib, origin) = (taken.mib, ORIGINS[taken.origin].0);
                format!("lvcreate -y -s -c {chunk}k -L {mib}m -n {name} vg0/{origin}")
            }
            Action::Remove { name } => format!("lvremove -y vg0/{name}"),
            Action::Extend { name } => format!("lvextend -L +1m vg0/{name}"),
        };
        line.split(' ').map(str::to_owned).collect()
    }

    /// Runs a command, with something else that happens meanwhile.
    fn act(&mut self, action: Action, meanwhile: impl FnOnce()) {
        let words = self.words(&action);
        let from = match &action {
            Action::Make { taken, .. } => moment(&self.journals[taken.origin]),
            _ => 0,
        };
        let group = &self.group;
        let finished = thread::scope(|scope| {
            let command = scope.spawn(|| group.ashlar().args(&words).run());
            meanwhile();
            command.join().expect("a command ends")
        });
        println!("{} {:?}", words.join(" "), finished.code);
        let found = self.found();
        let is_there = |name: &str| found.contains(name);
        let is_done = finished.code == Some(0);
        match action {
            Action::Make { name, mut taken } => {
                assert!(!is_done || is_there(&name), "{finished}");
                if is_there(&name) {
                    let to = moment(&self.journals[taken.origin]);
                    taken.window = from..=to;
                    self.snapshots.insert(name, taken);
                }
            }
            Action::Remove { name } => {
                assert!(!is_done || !is_there(&name), "{finished}");
                if !is_there(&name) {
                    self.snapshots.remove(&name);
                }
            }
            Action::Extend { name } => assert!(is_there(&name), "{finished}"),
        }
    }

    fn found(&self) -> BTreeSet<String> {
        let lvs = ["lvs", "--noheadings", "-o", "lv_name", "vg0"];
        let text = self.group.ashlar().args(lvs).succeed().text();
        text.split_whitespace().map(str::to_owned).collect()
    }

    /// Every snapshot shows its moment, or was too small for all that came after it.
    fn judge(&mut self) {
        assert_in_order(&self.group, DISKS);
        let found = self.found();
        let all = self.snapshots.keys().map(String::as_str);
        let all = all.chain(ORIGINS.map(|(name, _)| name));
        assert_eq!(found, all.map(str::to_owned).collect());
        for (name, taken) in &self.snapshots {
            let cat: Finished = self
                .group
                .ashlar()
                .args(["cat", &format!("vg0/{name}")])
                .run();
            if cat.code != Some(0) {
                let complaints = cat.complaints();
                assert!(complaints.contains("invalid"), "{name}: {complaints}");
                assert!(taken.mib < ENOUGH_MIB, "{name}: {taken:?}: {complaints}");
                self.invalid.insert(name.clone());
                continue;
            }
            assert!(!self.invalid.contains(name), "{name} was invalid before");
            assert_eq!(cat.stdout.len() as u64, SIZE, "{name}");
            let (written, rest) = cat.stdout.split_at(BLOCKS as usize * BLOCK);
            let journal = &self.journals[taken.origin];
            let shown = shows_a_moment(journal, &taken.window, written);
            shown.unwrap_or_else(|why| panic!("{name}: {taken:?}: {why}"));
            assert!(rest.iter().all(|byte| *byte == 0), "{name}");
            self.shown += 1;
        }
    }
}

/// Snapshots of three loaded origins are made, removed and extended while the server is killed: no
/// answered write is lost, stock finds the group in order, and each snapshot shows all blocks as
/// they were at one moment of the command that made it, unless it overflowed, which it then says.
#[test]
fn snapshots_survive_kills_over_nbd() {
    let seed = seed();
    let group = group("survive-snapshots", SIZE);
    let socket = group.join("s");
    let names = ORIGINS.map(|(name, _)| name);
    let mut bench = Bench {
        random: Random::new(seed),
        journals: names
            .map(|name| group.join(format!("{name}.journal")))
            .into(),
        snapshots: BTreeMap::new(),
        invalid: BTreeSet::new(),
        made: 0,
        shown: 0,
        group,
    };
    let stop = AtomicBool::new(false);
    let mut server: Daemon = serve(&bench.group, &socket, &names);
    let loads = names.map(|name| load(&bench.group, name, seed));
    let progress = loads.each_ref().map(Load::progress);
    let reports: Vec<Report> = thread::scope(|scope| {
        let loads = loads.into_iter().zip(names).map(|(load, name)| {
            let (socket, stop) = (&socket, &stop);
            scope.spawn(move || load.run(|| connect(socket, name), stop))
        });
        let loads: Vec<ScopedJoinHandle<'_, Report>> = loads.collect();
        for _ in 0..kills() {
            let wanted = names.map(|_| 1 + bench.random.below(ANSWERS_MAX));
            wait_for_answers(&progress, &wanted, &loads);
            for _ in 0..bench.random.below(3) {
                let action = bench.choose();
                bench.act(action, || {});
            }
            let delay = Duration::from_micros(bench.random.below(COMMAND_US_MAX));
            let action = bench.choose();
            bench.act(action, || {
                thread::sleep(delay);
                server.kill();
            });
            bench.judge();
            server = serve(&bench.group, &socket, &names);
        }
        stop.store(true, Ordering::Relaxed);
        join_all(loads)
    });
    assert_kept(&names, &reports);
    for (name, report) in names.iter().zip(&reports) {
        assert!(report.cuts <= kills(), "{name}: {report:?}");
    }
    drop(server);
    bench.judge();
    let (shown, made, full) = (bench.shown, bench.made, bench.invalid.len());
    println!(
        "{} kills, {made} snapshots, {full} overflowed, looked at {shown} times",
        kills()
    );
    assert!(shown > 0 || is_short(), "no snapshot was looked at");
}
