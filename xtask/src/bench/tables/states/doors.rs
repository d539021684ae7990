//! Over NBD: volumes of one group, served by one process, asked by our own client.

use std::fs;
use std::path::{Path, PathBuf};

use tests::{Scratch, Tool};

use super::super::super::contest::{Contestant, Row, Unit, contest};
use super::super::super::goal::Goal;
use super::super::super::run::{Bench, Effort};
use super::super::cat::TMPFS;
use super::super::load::{Load, SECONDS, SMALL, example};
use super::super::nbd::{Server, serving};

/// Rounds of a full run.
const ROUNDS: usize = 8;
/// Clients that ask at once.
const CLIENTS: usize = 4;

/// The group `made` on sparse files, which our program makes.
pub(super) struct Disks {
    folder: Scratch,
    program: PathBuf,
    pub(super) size: u64,
}

impl Disks {
    /// On `count` disks with room for two volumes of `size` bytes each.
    pub(super) fn within(folder: Scratch, bench: &Bench, count: usize) -> Result<Self, String> {
        let size: u64 = match bench.effort {
            Effort::Full => 256 << 20,
            Effort::Smoke => 8 << 20,
        };
        fs::create_dir(folder.join("disks")).map_err(|error| error.to_string())?;
        let images: Vec<PathBuf> = (0..count)
            .map(|number| folder.sparse(&format!("disks/d{number}.img"), 5 * size + (64 << 20)))
            .collect();
        let program = bench.ashlar.clone();
        let disks = Self {
            folder,
            program,
            size,
        };
        disks.tool("pvcreate").args(&images).succeed();
        disks.tool("vgcreate").arg("made").args(&images).succeed();
        Ok(disks)
    }

    /// A command of our program, which sees these disks only.
    pub(super) fn tool(&self, command: &str) -> Tool {
        Tool::new(&self.program)
            .env("ASHLAR_RUNTIME_DIR", self.folder.join("run"))
            .env("LVM_LOCKING_DIR", self.folder.join("locks"))
            .arg(command)
            .arg("--devices")
            .arg(self.folder.join("disks"))
    }

    /// Makes a volume.
    pub(super) fn create(&self, arguments: &[&str]) {
        let size = format!("{}b", self.size);
        let create = self.tool("lvcreate").args(["-y", "-L", &size]);
        create.args(arguments).succeed();
    }

    /// The server of these volumes of the group.
    pub(super) fn serve(&self, volumes: &[&str]) -> Server {
        let files = Scratch::new("serve");
        let socket = files.join("socket");
        let mut tool = self.tool("serve").arg("--nbd");
        tool = tool.arg(format!("unix:{}", socket.display()));
        tool = tool.args(volumes.iter().map(|volume| format!("made/{volume}")));
        serving(
            "ashlar",
            &format!("made/{}", volumes[0]),
            tool,
            files,
            &socket,
        )
    }
}

/// A server, and who asks it.
struct Field<'a> {
    bench: &'a Bench,
    server: Server,
    client: PathBuf,
}

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>, String> {
    let disks = Disks::within(Scratch::within(Path::new(TMPFS), "doors"), bench, 2)?;
    let (first, second) = (
        disks.folder.join("disks/d0.img"),
        disks.folder.join("disks/d1.img"),
    );
    let (first, second) = (first.to_string_lossy(), second.to_string_lossy());
    disks.create(&["-n", "linear", "made", &first]);
    disks.create(&["-n", "striped", "-i", "2", "-I", "64k", "made"]);
    disks.create(&[
        "-n",
        "mirror",
        "--type",
        "mirror",
        "-m",
        "1",
        "--mirrorlog",
        "core",
        "--nosync",
        "made",
        &first,
        &second,
    ]);
    let field = Field {
        bench,
        server: disks.serve(&["linear", "striped", "mirror"]),
        client: example("ashlar", "load")?,
    };
    for volume in ["linear", "striped", "mirror"] {
        // So that there is something to read.
        let uri = field.uri(volume);
        let load = Load {
            size: 1 << 20,
            depth: 8,
            ..super::super::load::STREAM.writing()
        };
        load.by_own(bench.effort, &field.client, &uri)?;
    }
    let single = Load { depth: 1, ..SMALL };
    let (reads, writes) = (SMALL, SMALL.writing());
    Ok(vec![
        field
            .time("read, depth 1", single)?
            .meant(Goal::RatioAtMost(1.1)),
        field
            .time("write, depth 1", single.writing())?
            .meant(Goal::RatioAtMost(1.3)),
        field
            .rate("read, depth 32", reads, 1)?
            .meant(Goal::RatioAtLeast(0.9)),
        field
            .rate("read, depth 32, 4 clients", reads, CLIENTS)?
            .meant(Goal::RatioAtLeast(0.9)),
        field
            .processor("write, depth 32: processor", writes)?
            .meant(Goal::RatioAtMost(2.2)),
    ])
}

impl Field<'_> {
    fn uri(&self, volume: &str) -> String {
        self.server
            .uri
            .replace("made/linear", &format!("made/{volume}"))
    }

    fn contest(
        &self,
        (case, unit): (&str, Unit),
        peer: &'static str,
        measure: impl Fn(&str) -> Result<f64, String>,
    ) -> Result<Row, String> {
        let measure = &measure;
        let contestant = |volume: &'static str| {
            let uri = self.uri(volume);
            Contestant::new(volume, move || measure(&uri))
        };
        let contestants = vec![contestant("mirror"), contestant(peer)];
        let rounds = self.bench.effort.rounds(ROUNDS);
        contest(&format!("NBD, mirror, {case}"), unit, rounds, contestants)
    }

    /// Seconds from one request to the next, with the linear volume.
    fn time(&self, case: &str, load: Load) -> Result<Row, String> {
        self.contest((case, Unit::Seconds), "linear", |uri| {
            Ok(1.0 / load.by_own(self.bench.effort, &self.client, uri)?)
        })
    }

    /// Requests in a second of so many clients, with the striped volume.
    fn rate(&self, case: &str, load: Load, clients: usize) -> Result<Row, String> {
        self.contest((case, Unit::PerSecond), "striped", |uri| {
            std::thread::scope(|scope| {
                let client = || load.by_own(self.bench.effort, &self.client, uri);
                let all: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
                all.into_iter()
                    .map(|one| one.join().map_err(|_| "a client panicked".to_owned())?)
                    .sum()
            })
        })
    }

    /// What a request costs the server in processor time, with the linear volume.
    fn processor(&self, case: &str, load: Load) -> Result<Row, String> {
        self.contest((case, Unit::Seconds), "linear", |uri| {
            let before = self.server.processor_seconds()?;
            let rate = load.by_own(self.bench.effort, &self.client, uri)?;
            let used = self.server.processor_seconds()? - before;
            // A smoke run is over within one tick.
            Ok(used.max(0.01) / (rate * SECONDS as f64))
        })
    }
}
