//! What is asked of an owner while a disk keeps it: it answers at once.
//!
//! The disk is an NBD export of the test itself, whose device becomes slow and fast again as the
//! test says.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use block::BlockingDevice;
use block::file::{self, FileDevice};
use dm::delay::{Delay, Slowness};
use dm::home::Home;
use nbd::client::NbdDevice;
use nbd::server::{Access, Export, Exports, Listener, Server};
use tests::{Daemon, Finished, LIMIT, Scratch, Tool, ashlar};

/// How long an answer may take.
const ANSWER_MAX: Duration = Duration::from_millis(100);
/// What the disk waits where it is slow.
const SLOW: Duration = Duration::from_secs(3);

/// A group on two disks that are fast and one that is as slow as it is told to be. The metadata is
/// on the fast ones.
struct World {
    scratch: Scratch,
    disks: Vec<PathBuf>,
    slow: Home<Delay>,
    _server: Server,
}

impl World {
    fn new() -> Self {
        let scratch = Scratch::new("waiting");
        let disks: Vec<PathBuf> = ["a.img", "b.img", "slow.img"]
            .iter()
            .map(|name| scratch.sparse(name, 64 << 20))
            .collect();
        let device = FileDevice::open(&disks[2], file::Access::ReadWrite).expect("opens");
        let delay = Delay::new("slow", Slowness::default());
        let slow = Home::start("slow", delay, vec![Arc::new(device)], LIMIT).expect("starts");
        let exports = Exports::new();
        let export = Export {
            name: "slow".to_owned(),
            description: String::new(),
            access: Access::ReadWrite,
            device: Arc::new(slow.face(0).expect("it has one")),
        };
        exports.add(export).expect("is free");
        let server = Server::new(exports).expect("starts");
        let listener = Listener::unix(scratch.join("slow.sock")).expect("listens");
        server.listen(listener).expect("listens");
        Self {
            scratch,
            disks,
            slow,
            _server: server,
        }
    }

    fn tool(&self, disks: &[String]) -> Tool {
        let tool = ashlar()
            .env("ASHLAR_RUNTIME_DIR", self.scratch.join("run"))
            .env("LVM_LOCKING_DIR", self.scratch.join("locks"));
        disks
            .iter()
            .fold(tool, |tool, disk| tool.arg("--devices").arg(disk))
    }

    /// A command that reads the files, which are never slow.
    fn plain(&self, line: &str) -> Tool {
        let disks: Vec<String> = self
            .disks
            .iter()
            .map(|disk| disk.display().to_string())
            .collect();
        let words = line.split_whitespace().map(|word| match word {
            "@a" => disks[0].clone(),
            "@b" => disks[1].clone(),
            "@slow" => disks[2].clone(),
            word => word.to_owned(),
        });
        self.tool(&disks).args(words.collect::<Vec<_>>())
    }

    /// A command that goes through the server.
    fn served(&self, words: &[&str]) -> Tool {
        let socket = self.scratch.join("slow.sock");
        let slow = format!("nbd+unix:///slow?socket={}", socket.display());
        let name = |at: usize| self.disks[at].display().to_string();
        let tool = self.tool(&[name(0), name(1), slow]);
        tool.arg("--assume-exclusive").args(words)
    }

    fn serve(&self, volume: &str) -> Daemon {
        let socket = self.socket(volume);
        let door = format!("--nbd=unix:{}", socket.display());
        let serve = self.served(&["serve", volume, &door]);
        Daemon::start(serve, || UnixStream::connect(&socket).is_ok())
    }

    fn socket(&self, volume: &str) -> PathBuf {
        self.scratch.join(volume.replace('/', "-"))
    }

    fn be(&self, slowness: Slowness) {
        self.slow.control(slowness, LIMIT).expect("is obeyed");
    }

    /// Asks again and again while `act` goes on, which the disk keeps; most answers come in time.
    fn ask_while<T: Send>(
        &self,
        what: &str,
        slowness: Slowness,
        act: impl FnOnce() -> T + Send,
    ) -> T {
        let ask = || {
            let begun = Instant::now();
            let owners = self.plain("owners").succeed();
            assert!(owners.text().contains(" data "), "{what}: {owners}");
            assert_calm(&owners, what);
            let lvs = self.plain("lvs --noheadings -o lv_attr vg/data").succeed();
            assert!(lvs.text().contains("-wi-ao"), "{what}: {lvs}");
            assert_calm(&lvs, what);
            begun.elapsed()
        };
        // What two programs take on this machine, with as much as it has to do.
        let median = |mut all: Vec<Duration>| {
            all.sort_unstable();
            all[all.len() / 2]
        };
        let alone = median((0..9).map(|_| ask()).collect());
        self.be(slowness);
        let begun = Instant::now();
        let (done, asked) = thread::scope(|scope| {
            let act = scope.spawn(act);
            thread::sleep(Duration::from_millis(500));
            let mut asked = Vec::new();
            while !act.is_finished() && begun.elapsed() < LIMIT {
                let took = ask();
                if !act.is_finished() {
                    asked.push(took);
                }
            }
            (act.join().expect("it ends"), asked)
        });
        self.be(Slowness::default());
        assert!(
            begun.elapsed() > SLOW,
            "{what}: the disk was not waited for"
        );
        assert!(asked.len() >= 3, "{what}: asked {} times", asked.len());
        let (count, took) = (asked.len(), median(asked));
        println!("{what}: {count} times, {took:?}; {alone:?} with nothing to wait for");
        assert!(
            took < alone + 2 * ANSWER_MAX,
            "{what}: two answers took {took:?}, and {alone:?} with nothing to wait for"
        );
        done
    }
}

/// Fails where something is complained of, but that a look fell between the two areas of a commit:
/// reports wait for none.
fn assert_calm(output: &Finished, what: &str) {
    let complaints = output.complaints();
    let mut lines = complaints.lines();
    let is_calm = lines.all(|line| line.contains("metadata area") && line.contains("is now at"));
    assert!(is_calm, "{what}: {complaints}");
}

/// While a disk takes its time, who asks what is served hears it at once: while a change waits for
/// requests in flight, while a volume is opened whose log or whose snapshot's store has to be read,
/// and while what was written to one is made durable at its end.
#[test]
fn owners_answer_while_a_disk_is_slow() {
    let world = World::new();
    for line in [
        "pvcreate --metadatacopies 0 @slow",
        "vgcreate vg @a @b @slow",
        "lvcreate -y -L16m -n data vg @slow",
        "lvcreate -y --type mirror -m1 -L8m -n mirror vg @a @b @slow",
        "lvcreate -y -L8m -n origin vg @a",
        "lvcreate -y -L8m -n more vg @slow",
    ] {
        world.plain(line).succeed();
    }
    world
        .plain("lvcreate -y -s -L4m -n snap vg/origin @slow")
        .succeed();
    let data = world.serve("vg/data");
    let uri = |volume: &str| {
        let socket = world.socket(volume);
        format!("nbd+unix:///{volume}?socket={}", socket.display())
    };
    let writes =
        |volume: &str| Tool::new("qemu-io").args(["-f", "raw", "-c", "write 0 4k", &uri(volume)]);

    let slow = Slowness {
        write: 2 * SLOW,
        ..Slowness::default()
    };
    world.ask_while("drained", slow, || {
        thread::scope(|scope| {
            let write = writes("vg/data");
            let written = scope.spawn(|| write.succeed());
            // The request is under way before the change waits for it.
            thread::sleep(Duration::from_secs(1));
            world
                .served(&["lvreduce", "-y", "-L8m", "vg/data"])
                .succeed();
            written.join().expect("it is written");
        });
    });

    for volume in ["vg/mirror", "vg/origin"] {
        let slow = Slowness {
            read: SLOW,
            ..Slowness::default()
        };
        let daemon = world.ask_while(volume, slow, || world.serve(volume));
        daemon.stop();
    }

    let more = world.serve("vg/more");
    let client = NbdDevice::open(&uri("vg/more")).expect("it is served");
    let mut client = BlockingDevice::open(&client).expect("a queue");
    // Nobody has made it durable yet.
    client.write_at(&[7; 4096], 0).expect("is written");
    let slow = Slowness {
        flush: SLOW,
        ..Slowness::default()
    };
    world.ask_while("closed", slow, || more.stop());
    data.stop();
    let left = fs::read_dir(world.scratch.join("run/groups")).expect("a directory");
    assert_eq!(left.count(), 0);
}
