//! Ashlar on the same disks: commands with nothing served, and beside servers that are written.

mod moves;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use block::sim::Random;
use block::{BlockingDevice, Range, Unmap};
use nbd::client::NbdDevice;
use tests::{Daemon, LIMIT, Scratch, Tool};

use super::super::group::Group;
use super::chooser::ANCHOR;
use super::model::Model;
use super::moves::Ending;
use super::rows::{FIELDS, OPTIONS, RESTING, Rows, assert_as_modelled, resting, rows};
use super::step::{Merge, Piece, Step, VG};

/// What a server says when a merge that had begun is over.
const MERGED: &str = "is merged into its origin, and gone.";
/// Or when a store fills up.
const FILLS: &str = "WARNING: snapshot ";

/// Our side.
pub(super) struct Ours {
    group: Group,
    scratch: Scratch,
    /// Servers, each of one volume, by its name.
    served: BTreeMap<String, Server>,
    /// The one that owns the group, if any does for the whole batch.
    owner: Option<Server>,
    sockets: u32,
}

struct Server {
    socket: PathBuf,
    daemon: Daemon,
}

impl Ours {
    pub(super) fn on(images: Vec<PathBuf>) -> Self {
        Self {
            group: Group::on(VG, images),
            scratch: Scratch::new("histories"),
            served: BTreeMap::new(),
            owner: None,
            sockets: 0,
        }
    }

    fn tool(&self, line: &str) -> Tool {
        let mut words = line.split_whitespace();
        let devices: Vec<String> = self.group.names().collect();
        let tool = self.group.ashlar_on(&devices);
        let tool = tool.env("ASHLAR_RUNTIME_DIR", self.scratch.join("run"));
        tool.arg(words.next().expect("a command")).args(words)
    }

    pub(super) fn create(&self, options: &str) {
        let create = self.tool(&format!("vgcreate {options} {VG}"));
        create.args(&self.group.images).succeed();
    }

    fn serve(&mut self, volumes: &[&str]) -> Server {
        self.sockets += 1;
        let socket = self.scratch.join(self.sockets.to_string());
        let names = volumes.iter().map(|volume| format!("{VG}/{volume}"));
        let tool = self.tool("serve").args(names);
        let tool = tool.arg(format!("--nbd=unix:{}", socket.display()));
        // It listens before the owner of the group has opened them.
        let is_ready = || socket.exists() && NbdDevice::open(&uri(volumes[0], &socket)).is_ok();
        let daemon = Daemon::start(tool, is_ready);
        Server { socket, daemon }
    }

    /// Waits until nothing is merged any more, with the origins served.
    fn end_merges(&mut self, model: &mut Model) {
        for (snapshot, origin) in model.merging() {
            let server = (!self.served.contains_key(&origin)).then(|| self.serve(&[&origin]));
            self.wait_for_merge(&snapshot);
            drop(server);
        }
        model.end_merges();
    }

    fn wait_for_merge(&self, snapshot: &str) {
        let end = Instant::now() + LIMIT;
        let line = format!("lvs -a --noheadings -o lv_name {VG}");
        let is_there = || {
            let names = self.tool(&line).succeed().text();
            let mut names = names.split_whitespace();
            // What is being merged is hidden.
            names.any(|name| name.trim_matches(['[', ']']) == snapshot)
        };
        while is_there() {
            assert!(Instant::now() < end, "{snapshot} is merged at last");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// What `lvs` says while nobody uses anything.
    pub(super) fn rest(&self) -> Rows {
        let report = self.tool(&format!("lvs -a {OPTIONS} -o {RESTING} {VG}"));
        resting(&report.succeed().text())
    }

    /// Takes the disks, reads all as it is, and then ends what is being merged or moved.
    pub(super) fn take(&mut self, model: &mut Model, ending: Ending) {
        // With nothing served the origin is what it will be.
        model.begin_merges();
        self.read(model);
        self.end_merges(model);
        self.settle(ending);
    }

    /// All volumes hold what they should.
    fn read(&self, model: &Model) {
        let vgck = self.tool(&format!("vgck {VG}")).succeed();
        assert_eq!(vgck.text() + &vgck.complaints(), "");
        for name in model.readable() {
            let found = self.tool(&format!("cat {VG}/{name}")).succeed().stdout;
            let expected = &model.volume(&name).bytes;
            let first = found.iter().zip(expected).position(|(a, b)| a != b);
            let lens = (found.len(), expected.len());
            assert!(first.is_none(), "we read {name}, wrong from {first:?}");
            assert_eq!(lens.0, lens.1, "the length of {name}");
        }
        for name in model.full() {
            let found = self.tool(&format!("cat {VG}/{name}")).run();
            assert_ne!(found.code, Some(0), "{name} overflowed");
        }
    }

    /// All volumes hold what they should; what `lvs` says while all are served.
    pub(super) fn judge(&mut self, model: &Model) -> Rows {
        self.give();
        self.read(model);
        let readable = model.readable();
        let server = self.serve(&readable.iter().map(String::as_str).collect::<Vec<_>>());
        let report = self.tool(&format!("lvs {OPTIONS} -o {FIELDS} {VG}"));
        let rows = rows(&report.succeed().text());
        server.daemon.stop();
        assert_as_modelled(&rows, model, "ours");
        rows
    }

    /// Some volumes are served from now on, or none.
    pub(super) fn begin(&mut self, model: &Model, random: &mut Random) {
        if random.chance(1, 3) {
            return;
        }
        self.owner = Some(self.serve(&[ANCHOR]));
        for name in model.readable() {
            if name != ANCHOR && random.chance(1, 2) {
                let server = self.serve(&[&name]);
                self.served.insert(name, server);
            }
        }
        let names: Vec<_> = self.served.keys().collect();
        println!("     served: {names:?}");
    }

    /// Whether an origin is served, so that what is told to be merged is merged at once.
    pub(super) fn serves(&self, origin: &str) -> bool {
        self.served.contains_key(origin)
    }

    /// Takes a step; the size of a store that it decides.
    pub(super) fn step(&mut self, step: &Step, model: &Model, noise: &[u8]) -> Option<u64> {
        self.close_for(step, model);
        if let Some(command) = step.command() {
            self.tool(&command).succeed();
        }
        match step {
            Step::Merge {
                snapshot,
                how: Merge::Open | Merge::Closed,
                origin,
            } if self.serves(origin) => self.wait_for_merge(snapshot),
            Step::Flush { volume } => self.write(volume, &[], noise),
            Step::Move(step) => self.move_extents(step),
            Step::Settle(ending) => self.settle(*ending),
            Step::Rename { from, to } => {
                if let Some(server) = self.served.remove(from) {
                    self.served.insert(to.clone(), server);
                }
            }
            _ => {}
        }
        if let Some((volume, pieces, _)) = step.writes() {
            self.write(volume, pieces, noise);
        }
        step.sized(model).map(|name| {
            let line = format!("lvs {OPTIONS} -o lv_size {VG}/{name}");
            let text = self.tool(&line).succeed().text();
            text.trim().parse().expect("a size")
        })
    }

    /// What is removed or becomes something else is not in use; what a running merge goes into is.
    fn close_for(&mut self, step: &Step, model: &Model) {
        match step {
            Step::Remove { name } => {
                for snapshot in model.snapshots_of(name) {
                    self.close(&snapshot);
                }
                self.close(name);
            }
            Step::Split { snapshot } => self.close(snapshot),
            Step::Join { store, .. } => self.close(store),
            Step::Merge {
                snapshot,
                origin,
                how,
            } => {
                self.close(snapshot);
                if *how == Merge::Closed && self.owner.is_none() {
                    self.close(origin);
                } else if !self.serves(origin) {
                    if self.owner.is_none() {
                        self.owner = Some(self.serve(&[ANCHOR]));
                    }
                    let server = self.serve(&[origin]);
                    self.served.insert(origin.clone(), server);
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if let Some(server) = self.served.remove(name) {
            server.daemon.stop();
        }
    }

    /// Writes, and flushes if there is nothing to write.
    fn write(&mut self, volume: &str, pieces: &[Piece], noise: &[u8]) {
        let is_anchor = volume == ANCHOR && self.owner.is_some();
        let is_served = is_anchor || self.served.contains_key(volume);
        let mut passing = (!is_served).then(|| self.serve(&[volume]));
        let server = passing.as_ref().or_else(|| self.served.get(volume));
        let server = server.or(self.owner.as_ref()).expect("one serves it");
        let device = NbdDevice::open(&uri(volume, &server.socket)).expect("it is served");
        let mut client = BlockingDevice::open(&device).expect("a queue");
        for piece in pieces {
            let whole = (piece.at | piece.len) % 4096 == 0;
            match piece.noise {
                None if whole => {
                    let range = Range::new(piece.at, piece.len);
                    client.write_zeroes(range, Unmap::Allowed)
                }
                _ => client.write_at(&piece.bytes(noise), piece.at),
            }
            .unwrap_or_else(|error| panic!("{volume}: {error}"));
        }
        if pieces.is_empty() {
            client.flush().expect("is flushed");
        }
        drop(client);
        drop(device);
        if let Some(passing) = passing.take() {
            let said = passing.daemon.stop();
            let is_news = |line: &str| line.contains(MERGED) || line.contains(FILLS);
            assert!(said.lines().all(is_news), "{volume}: {said}");
        }
    }

    /// Lets go of the disks.
    pub(super) fn give(&mut self) {
        for (_, server) in std::mem::take(&mut self.served) {
            server.daemon.stop();
        }
        if let Some(owner) = self.owner.take() {
            owner.daemon.stop();
        }
    }
}

fn uri(volume: &str, socket: &Path) -> String {
    format!("nbd+unix:///{VG}/{volume}?socket={}", socket.display())
}
