//! Which loads are compared, and what they should show.
//!
//! Writes have a table of their own, with servers that were started for them. Where a server works
//! past the page cache the file itself is a peer, too: what fio gets from it through `io_uring` is
//! as much as there is.

use std::path::{Path, PathBuf};

use tests::Scratch;

use super::super::super::contest::{Contestant, Row, Unit, contest};
use super::super::super::goal::Goal;
use super::super::super::run::{Bench, Table};
use super::super::cat::TMPFS;
use super::super::content::Filled;
use super::super::load::{Direction, Load, Pattern, SECONDS, SMALL, STREAM, example};
use super::servers::{Access, Caching, Mode, Server, start};

pub(in super::super) const TABLE: Table = Table {
    name: "nbd",
    about: "requests in a second over NBD on a unix socket, all servers on the same bytes",
    peers: &["fio", "nbdkit", "nbd-server", "qemu-nbd"],
    run,
};

pub(in super::super) const WRITE_TABLE: Table = Table {
    name: "nbd-write",
    about: "the same with writes, against the file itself, and the server's memory",
    peers: &["fio", "nbdkit", "nbd-server", "qemu-nbd"],
    run: run_writes,
};

/// Rounds of a full run.
const ROUNDS: usize = 8;
const SINGLE: Load = Load {
    direction: Direction::Read,
    pattern: Pattern::Random,
    size: 4 << 10,
    depth: 1,
};

/// The most memory of a loaded server, in bytes.
const MEMORY_MAX: f64 = 64.0 * 1024.0 * 1024.0;

/// Who makes the requests.
enum Client {
    Fio,
    Own(PathBuf),
}

impl Client {
    /// Requests in a second that it gets answered by the export at `uri`, of so many bytes.
    fn ask(&self, bench: &Bench, load: Load, uri: &str, bytes: u64) -> Result<f64, String> {
        match self {
            Client::Fio => load.by_fio(bench.effort, uri, bytes),
            Client::Own(path) => load.by_own(bench.effort, path, uri),
        }
    }
}

/// Servers in front of the same bytes, and the files.
struct Field {
    servers: Vec<Server>,
    plain: PathBuf,
    filled: Filled,
}

fn run(bench: &Bench) -> Result<Vec<Row>, String> {
    let own = Client::Own(example("ashlar", "load")?);
    let memory = Scratch::within(Path::new(TMPFS), "nbd");
    let field = Field::on(bench, memory, reading(Caching::Cached))?;
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
    let field = Field::on(bench, disk, reading(Caching::Direct))?;
    let case = "file, direct, 4 KiB random, depth 32, fio";
    rows.push(
        field
            .rate(bench, case, SMALL, &Client::Fio)?
            .meant(Goal::RatioAtLeast(1.3)),
    );
    Ok(rows)
}

fn reading(caching: Caching) -> Mode {
    Mode {
        caching,
        access: Access::ReadOnly,
    }
}

fn run_writes(bench: &Bench) -> Result<Vec<Row>, String> {
    let own = Client::Own(example("ashlar", "load")?);
    let mode = |caching| Mode {
        caching,
        access: Access::ReadWrite,
    };
    let mut rows = Vec::new();
    let memory = Scratch::within(Path::new(TMPFS), "nbd");
    let field = Field::on(bench, memory, mode(Caching::Cached))?;
    let small = SMALL.writing();
    let cases = [
        (
            "tmpfs, 4 KiB random, depth 32, fio",
            small,
            &Client::Fio,
            1.0,
        ),
        ("the same, our client", small, &own, 2.0),
        (
            "tmpfs, 128 KiB in order, depth 8, fio",
            STREAM.writing(),
            &Client::Fio,
            1.0,
        ),
    ];
    for (case, load, client, least) in cases {
        let row = field.rate(bench, case, load, client)?;
        rows.push(row.meant(Goal::RatioAtLeast(least)));
    }
    rows.push(field.memory()?.meant(Goal::OursAtMost(MEMORY_MAX)));
    drop(field);
    let field = Field::on(bench, Scratch::new("nbd"), mode(Caching::Direct))?;
    let case = "file, direct, 4 KiB random, depth 32, fio";
    let row = field.rate(bench, case, small, &Client::Fio)?;
    rows.push(row.meant(Goal::RatioAtLeast(1.3)));
    for (case, load, least) in [
        ("direct, 4 KiB random reads", SMALL, 0.65),
        ("direct, 4 KiB random writes", small, 0.75),
        ("direct, 128 KiB reads in order", STREAM, 0.80),
        ("direct, 128 KiB writes in order", STREAM.writing(), 0.80),
    ] {
        for (case, client) in [
            (format!("{case}, fio"), &Client::Fio),
            (format!("{case}, our client"), &own),
        ] {
            let row = field.against_raw(bench, &case, load, client)?;
            rows.push(row.meant(Goal::RatioAtLeast(least)));
        }
    }
    rows.push(field.memory()?.meant(Goal::OursAtMost(MEMORY_MAX)));
    Ok(rows)
}

impl Field {
    /// Ours, which is the first.
    fn ours(&self) -> Result<&Server, String> {
        self.servers.first().ok_or_else(|| "no server".to_owned())
    }

    /// The most memory that our server had under the loads so far.
    fn memory(&self) -> Result<Row, String> {
        let ours = self.ours()?;
        let contestants = vec![Contestant::new("ashlar", || ours.peak_memory())];
        contest("our server's most memory", Unit::Bytes, 1, contestants)
    }

    /// Ours, asked by `client`, against the file itself.
    fn against_raw(
        &self,
        bench: &Bench,
        case: &str,
        load: Load,
        client: &Client,
    ) -> Result<Row, String> {
        let ours = self.ours()?;
        let contestants = vec![
            Contestant::new("ashlar", || {
                client.ask(bench, load, &ours.uri, self.filled.bytes)
            }),
            Contestant::new("the file", || {
                load.by_fio_on(bench.effort, &self.plain, 0, self.filled.bytes)
            }),
        ];
        contest(
            case,
            Unit::PerSecond,
            bench.effort.rounds(ROUNDS),
            contestants,
        )
    }

    fn on(bench: &Bench, folder: Scratch, mode: Mode) -> Result<Self, String> {
        let filled = Filled::within(folder, bench.effort)?;
        let plain = filled.plain()?;
        let servers = start(bench, &filled.made, &plain, mode);
        Ok(Field {
            servers,
            plain,
            filled,
        })
    }

    fn rate(&self, bench: &Bench, case: &str, load: Load, client: &Client) -> Result<Row, String> {
        let contestant = |server: &Server| {
            let (uri, bytes) = (server.uri.clone(), self.filled.bytes);
            Contestant::new(server.name, move || client.ask(bench, load, &uri, bytes))
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
                let rate = SMALL.by_fio(bench.effort, &server.uri, self.filled.bytes)?;
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
