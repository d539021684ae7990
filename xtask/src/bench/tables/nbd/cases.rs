//! Which loads are compared, and what they should show.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tests::{Made, Scratch};

use super::super::super::contest::{Contestant, Row, Unit, contest};
use super::super::super::goal::Goal;
use super::super::super::run::{Bench, Effort, Table};
use super::super::cat::TMPFS;
use super::load::{Load, Pattern, SECONDS, example};
use super::servers::{Caching, Server, start};

pub(in super::super) const TABLE: Table = Table {
    name: "nbd",
    about: "requests in a second over NBD on a unix socket, all servers on the same bytes",
    peers: &["fio", "nbdkit", "nbd-server", "qemu-nbd"],
    run,
};

/// Rounds of a full run.
const ROUNDS: usize = 8;
const SMALL: Load = Load {
    pattern: Pattern::Random,
    size: 4 << 10,
    depth: 32,
};
const SINGLE: Load = Load {
    pattern: Pattern::Random,
    size: 4 << 10,
    depth: 1,
};
const STREAM: Load = Load {
    pattern: Pattern::Sequential,
    size: 128 << 10,
    depth: 8,
};

/// Who makes the requests.
enum Client {
    Fio,
    Own(PathBuf),
}

/// Servers in front of the same bytes, and the files.
struct Field {
    servers: Vec<Server>,
    bytes: u64,
    _made: Made,
    _folder: Scratch,
}

fn run(bench: &Bench) -> Result<Vec<Row>, String> {
    let own = Client::Own(example("nbd_load")?);
    let memory = Scratch::within(Path::new(TMPFS), "nbd");
    let field = Field::on(bench, memory, Caching::Cached)?;
    let mut rows = vec![
        field
            .rate(
                bench,
                "tmpfs, 4 KiB random, depth 32, fio",
                SMALL,
                &Client::Fio,
            )?
            .meant(Goal::RatioAtLeast(1.3)),
        field
            .rate(bench, "the same, our client", SMALL, &own)?
            .meant(Goal::RatioAtLeast(2.0)),
        field
            .rate(
                bench,
                "tmpfs, 4 KiB random, depth 1, fio",
                SINGLE,
                &Client::Fio,
            )?
            .meant(Goal::SurelyAtLeast(0.95)),
        field
            .rate(
                bench,
                "tmpfs, 128 KiB in order, depth 8, fio",
                STREAM,
                &Client::Fio,
            )?
            .meant(Goal::SurelyAtLeast(0.95)),
        field.processor(bench)?.meant(Goal::RatioAtMost(0.7)),
    ];
    drop(field);
    let disk = Scratch::new("nbd");
    let field = Field::on(bench, disk, Caching::Direct)?;
    let case = "file, direct, 4 KiB random, depth 32, fio";
    rows.push(
        field
            .rate(bench, case, SMALL, &Client::Fio)?
            .meant(Goal::RatioAtLeast(1.3)),
    );
    Ok(rows)
}

impl Field {
    fn on(bench: &Bench, folder: Scratch, caching: Caching) -> Result<Self, String> {
        let bytes: u64 = if bench.effort == Effort::Full {
            512 << 20
        } else {
            8 << 20
        };
        let made = Made::volume(folder.path(), bytes);
        let plain = folder.join("plain.img");
        fill(&plain, &made, bytes).map_err(|error| format!("{}: {error}", plain.display()))?;
        let servers = start(bench, &made, &plain, caching);
        Ok(Field {
            servers,
            bytes,
            _made: made,
            _folder: folder,
        })
    }

    fn rate(&self, bench: &Bench, case: &str, load: Load, client: &Client) -> Result<Row, String> {
        let contestant = |server: &Server| {
            let (uri, bytes) = (server.uri.clone(), self.bytes);
            Contestant::new(server.name, move || match client {
                Client::Fio => load.by_fio(bench.effort, &uri, bytes),
                Client::Own(path) => load.by_own(bench.effort, path, &uri),
            })
        };
        let contestants = self.servers.iter().map(contestant).collect();
        contest(
            case,
            Unit::PerSecond,
            bench.effort.rounds(ROUNDS),
            contestants,
        )
    }

    /// What a request costs the server in processor time, against nbdkit.
    fn processor(&self, bench: &Bench) -> Result<Row, String> {
        let compared = |server: &&Server| matches!(server.name, "ashlar" | "nbdkit file");
        let mut contestants = Vec::new();
        for server in self.servers.iter().filter(compared) {
            contestants.push(Contestant::new(server.name, || {
                let before = server.processor_seconds()?;
                let rate = SMALL.by_fio(bench.effort, &server.uri, self.bytes)?;
                let used = server.processor_seconds()? - before;
                // A smoke run is over within one tick.
                Ok(used.max(0.01) / (rate * SECONDS as f64))
            }));
        }
        let case = "tmpfs, 4 KiB random, depth 32: server's processor time a request";
        contest(
            case,
            Unit::Seconds,
            bench.effort.rounds(ROUNDS),
            contestants,
        )
    }
}

/// Fills the plain file and the volume with the same noise.
fn fill(plain: &Path, made: &Made, bytes: u64) -> std::io::Result<()> {
    let mut noise = fs::File::open("/dev/urandom")?.take(bytes);
    let mut file = fs::File::create(plain)?;
    std::io::copy(&mut noise, &mut file)?;
    file.sync_all()?;
    let mut volume = fs::OpenOptions::new().write(true).open(made.image())?;
    volume.seek(SeekFrom::Start(made.data_start()))?;
    std::io::copy(&mut fs::File::open(plain)?, &mut volume)?;
    volume.sync_all()
}
