//! Programs of experiments: read from a load, run on a file system, measured.
//!
//! ```text
//!   [load.bonnie]  program = "bonnie"  file = "1G"  phases = ["block_out", "rewrite"]
//!   [load.copy]    program = "dd"      size = "1G"  bs = "64K"  direct = true
//!   [load.grid]    program = "iozone"  files = ["64K", "1M"]  records = ["4K", "64K"]
//!   [load.mail]    program = "postmark"  test = 2            (or postmark = 2)
//!   [load.server]  program = "dbench"  operations = 20000  clients = 4   (or load = "client.txt")
//!   [load.pack]    program = "tar"     files = 2000  sync = true         (or "untar")
//!   [load.build]   program = "compile" files = 500  compute_ms = 400
//! ```
//!
//! Any of them takes what the file system and its kernel are: `memory`, `read_ahead`,
//! `no_journal` or `file_system` (`"ext2"`, `"ext3"`), `barrier`, `no_access_time`,
//! `log` (`"start"` or `"middle"`), `linear_directories`,
//! `directories` (`"near"` their parents, or in the `"emptiest"` group as before Linux 2.6),
//! `stride` (bytes of a chunk, which mke2fs is told),
//! `processor_slower` (so many times as slow as one of 2008).
//!
//! What is seen is called by the phase: `rewrite_s` is its time, `rewrite_kps` its KiB a second (of
//! reading or writing, whichever is more, as Bonnie prints it), `rewrite_ps` its calls a second,
//! `rewrite_device` the bytes that the device gave in per cent of those that were read, the rest
//! being in memory (`hits_percent` counts pages that came by read-ahead as hits), `rewrite_cpu` the
//! per cent of the time that the processor computed. A test of a grid has a rate for each cell,
//! `random_read-1M-64K_kps`, and one over all, `random_read_kps`. The whole has `elapsed_s`, the
//! terms of Eq. 1, what the heads did, and the blocks that were moved.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::record::Values;
use super::shares::Shares;
use crate::component::Component;
use crate::disk::drive::{Model, Spent};
use crate::error::{Error, Kind, Result};
use crate::filesystem::program::{self, Measured};
use crate::filesystem::{
    AccessTime, BLOCK, Barrier, Elevator, FileSystem, Index, Journaling, LogPlace, Options, Spread,
};
use crate::layout::Layout;
use crate::settings::{Table, size};
use crate::stack;
use crate::workload::dbench::{self, Dbench, MIX, Requests, Writes};
use crate::workload::postmark::Settings;
use crate::workload::program::{
    Bonnie, BonnieStyle, Copying, Dd, Ending, IoZone, Path, Program, Warmth,
};
use crate::workload::source::{self, Building};
use block::sim::Random;

/// The file system begins its life at some moment of these nanoseconds.
const START_NS: u64 = 10_000_000_000;
/// Processes whose files begin at different places of their groups.
const PROCESSES: u64 = 16;

/// Bytes of a load file of dbench at most; the real one has 26 MB.
const LOAD_BYTES_MAX: u64 = 256 << 20;
/// What a compiler computes for a source, unless a load says so.
const COMPUTE_NS: u64 = 400_000_000;

/// Blocks of a stride at most: half a group's.
const STRIDE_MAX: u64 = 16_384;

/// A program on a file system.
#[derive(Debug, Clone)]
pub struct Running {
    /// What runs.
    pub program: Program,
    /// The file system and its kernel.
    pub options: Options,
}

impl Running {
    /// Takes a program from a load, if it is one.
    pub(super) fn read(table: &mut Table) -> Result<Option<Self>> {
        let program = if let Some(test) = table.count("postmark")? {
            postmark(test, "postmark", table)?
        } else if let Some(name) = table.text("program")? {
            program_of(&name, table)?
        } else {
            return Ok(None);
        };
        let options = options(table)?;
        Ok(Some(Self { program, options }))
    }

    /// Runs it once; the seed decides phases, draws, and where a process begins to allocate.
    pub(super) fn run(&self, layout: &Layout, seed: u64) -> Result<Values> {
        // In front of each drive a queue that sorts, as kernels have it.
        let shares = Shares::new(layout);
        let sort = |disk| -> Box<dyn Model> { Box::new(Elevator::new(shares.watch(disk), 1)) };
        let volume = stack::build_behind(layout, seed, sort)?;
        let mut random = Random::new(seed);
        let start_ns = random.below(START_NS);
        let mut options = self.options.clone();
        options.process += random.below(PROCESSES) as u32;
        let mut system = FileSystem::new(volume, options)?;
        system.sleep(start_ns);
        let stream = self.program.stream(seed);
        let stream = stream.map_err(|error| Error::new(Kind::Impossible, error.to_string()))?;
        let outcome = program::run(&mut system, stream)?;
        let mut values = values(&outcome);
        below(&mut values, &outcome.total.account.spent);
        shares.add(&mut values);
        Ok(values)
    }
}

/// The file system and its kernel.
fn options(table: &mut Table) -> Result<Options> {
    let mut options = Options::default();
    if let Some(bytes) = table.bytes("memory")? {
        options.memory_bytes = bytes;
    }
    if let Some(bytes) = table.bytes("read_ahead")? {
        options.read_ahead_bytes = bytes;
    }
    options.stride = stride(table)?;
    if table.truth("no_journal")? {
        options.journaling = Journaling::None;
    }
    if let Some(name) = table.text("file_system")? {
        options.journaling = match name.as_str() {
            "ext2" => Journaling::None,
            "ext3" => Journaling::Ordered,
            _ => {
                let what = format!("'{name}' is not modelled; ext2 and ext3 are");
                return Err(table.error("file_system", what));
            }
        };
    }
    if table.truth("barrier")? {
        options.barrier = Barrier::On;
    }
    if table.truth("no_access_time")? {
        options.access_time = AccessTime::Ignored;
    }
    if let Some(place) = table.text("directories")? {
        options.spread = match place.as_str() {
            "near" => Spread::Orlov,
            "emptiest" => Spread::Emptiest,
            _ => return Err(table.error("directories", "near or emptiest is expected")),
        };
    }
    if table.truth("linear_directories")? {
        options.index = Index::Linear;
    }
    // A slower processor than the default's of 2008.
    if let Some(times) = table.count("processor_slower")? {
        let costs = &mut options.costs;
        for cost in [
            &mut costs.call_ns,
            &mut costs.page_ns,
            &mut costs.allocate_ns,
            &mut costs.create_ns,
            &mut costs.delete_ns,
            &mut costs.search_ns,
        ] {
            *cost *= times.clamp(1, 1000);
        }
    }
    if let Some(place) = table.text("log")? {
        options.log_place = match place.as_str() {
            "start" => LogPlace::Start,
            "middle" => LogPlace::Middle,
            _ => return Err(table.error("log", "start or middle is expected")),
        };
    }
    Ok(options)
}

/// Blocks of a chunk, where mke2fs is told.
fn stride(table: &mut Table) -> Result<u32> {
    let bytes = table.bytes("stride")?.unwrap_or(0);
    if !bytes.is_multiple_of(BLOCK) || bytes / BLOCK > STRIDE_MAX {
        let what = "whole blocks of 4 KiB are expected, 64 MiB at most";
        return Err(table.error("stride", what));
    }
    Ok((bytes / BLOCK) as u32)
}

fn program_of(name: &str, table: &mut Table) -> Result<Program> {
    match name {
        "postmark" => {
            let test = table.count("test")?;
            postmark(test.ok_or_else(|| table.missing("test"))?, "test", table)
        }
        "bonnie" => bonnie(BonnieStyle::Bonnie, table),
        "bonnie++" => bonnie(BonnieStyle::PlusPlus, table),
        "dd" => dd(table),
        "iozone" => iozone(table),
        "dbench" => dbench(table),
        "tar" | "untar" | "compile" => building(name, table),
        _ => {
            let what = "one of postmark, bonnie, bonnie++, dd, iozone, dbench, tar, untar and \
                compile is expected";
            Err(table.error("program", what))
        }
    }
}

fn postmark(test: u64, field: &str, table: &mut Table) -> Result<Program> {
    let mut settings = match test {
        1 => Settings::pm1(),
        2 => Settings::pm2(),
        3 => Settings::pm3(),
        _ => return Err(table.error(field, "1, 2 or 3 is expected: a test of the study")),
    };
    if let Some(count) = table.count("transactions")? {
        settings.transactions = u32::try_from(count)
            .map_err(|_| table.error("transactions", "at most four thousand million"))?;
    }
    checked(Program::PostMark(Box::new(settings)), table)
}

fn path(table: &mut Table) -> Result<Path> {
    let direct = table.truth("direct")?;
    Ok(if direct { Path::Direct } else { Path::Buffered })
}

fn ending(table: &mut Table) -> Result<Ending> {
    let synced = table.truth("fsync")?;
    Ok(if synced {
        Ending::Synced
    } else {
        Ending::Closed
    })
}

fn bonnie(style: BonnieStyle, table: &mut Table) -> Result<Program> {
    let mut bonnie = Bonnie::new(style, table.need_bytes("file")?);
    if let Some(bytes) = table.bytes("chunk")? {
        bonnie.chunk = bytes;
    }
    if let Some(bytes) = table.bytes("seek_bytes")? {
        bonnie.seek_bytes = bytes;
    }
    if let Some(seeks) = table.count("seeks")? {
        bonnie.seeks = seeks;
    }
    if let Some(seekers) = table.count("seekers")? {
        bonnie.seekers = seekers.min(1 << 16) as u32;
    }
    if let Some(files) = table.count("empty_files")? {
        bonnie.files = files;
    }
    // Tenths of nanoseconds count over a thousand million characters.
    if let Some(ps) = table.time("putc_ns", 1e3)? {
        bonnie.putc_ps = ps;
    }
    if let Some(ps) = table.time("getc_ns", 1e3)? {
        bonnie.getc_ps = ps;
    }
    bonnie.ending = ending(table)?;
    bonnie.phases = table.texts("phases")?;
    checked(Program::Bonnie(bonnie), table)
}

fn dd(table: &mut Table) -> Result<Program> {
    let dd = Dd {
        bytes: table.need_bytes("size")?,
        block: table.need_bytes("bs")?,
        path: path(table)?,
        copying: match table.text("copying")?.as_deref() {
            None | Some("both") => Copying::Both,
            Some("write") => Copying::Write,
            Some("read") => Copying::Read,
            Some(_) => return Err(table.error("copying", "read, write or both is expected")),
        },
        ending: ending(table)?,
    };
    checked(Program::Dd(dd), table)
}

fn iozone(table: &mut Table) -> Result<Program> {
    let cold = table.truth("cold")?;
    let iozone = IoZone {
        files: sizes("files", table)?,
        records: sizes("records", table)?,
        path: path(table)?,
        warmth: if cold { Warmth::Cold } else { Warmth::Warm },
        ending: ending(table)?,
    };
    checked(Program::IoZone(iozone), table)
}

fn dbench(table: &mut Table) -> Result<Program> {
    let requests = match table.text("load")? {
        Some(path) => Requests::Loaded(Arc::new(load(&path, table)?)),
        None => Requests::Synthetic(table.count("operations")?.unwrap_or(MIX.requests)),
    };
    let clients = table.count("clients")?.unwrap_or(1).min(1 << 16) as u32;
    let writes = if table.truth("fsync")? {
        Writes::Synced
    } else {
        Writes::Cached
    };
    let dbench = Dbench {
        requests,
        clients,
        writes,
    };
    checked(Program::Dbench(dbench), table)
}

/// A load file of dbench.
fn load(path: &str, table: &Table) -> Result<dbench::Load> {
    let unread = |error| table.error("load", format!("{path}: {error}"));
    let size = std::fs::metadata(path).map_err(unread)?.len();
    if size > LOAD_BYTES_MAX {
        let what = format!("{path}: longer than {LOAD_BYTES_MAX} bytes");
        return Err(table.error("load", what));
    }
    let text = std::fs::read(path).map_err(unread)?;
    let load = dbench::parse(&String::from_utf8_lossy(&text));
    load.map_err(|error| table.error("load", format!("{path} {error}")))
}

/// tar or a compiler on a tree of source files.
fn building(name: &str, table: &mut Table) -> Result<Program> {
    let files = table
        .count("files")?
        .ok_or_else(|| table.missing("files"))?;
    let ending = if table.truth("fsync")? {
        source::Ending::EachSynced
    } else if table.truth("sync")? {
        source::Ending::Synced
    } else {
        source::Ending::Cached
    };
    let work = match name {
        "tar" => source::Work::Create(ending),
        "untar" => source::Work::Extract(ending),
        _ => source::Work::Compile {
            source_ns: table.time("compute_ms", 1e6)?.unwrap_or(COMPUTE_NS),
        },
    };
    let files = files.min(u64::from(u32::MAX)) as u32;
    checked(Program::Building(Building { files, work }), table)
}

fn sizes(key: &str, table: &mut Table) -> Result<Vec<u64>> {
    let texts = table.texts(key)?;
    let sizes = texts.iter().map(|text| size(text));
    let sizes: Option<Vec<u64>> = sizes.collect();
    sizes.ok_or_else(|| table.error(key, "a list of sizes like \"64K\" is expected"))
}

/// A program whose settings fit together.
fn checked(program: Program, table: &Table) -> Result<Program> {
    let stream = program.stream(0).map(drop);
    stream.map_err(|error| table.error(error.field(), error.problem()))?;
    Ok(program)
}

fn values(outcome: &program::Outcome) -> Values {
    let mut values = Values::new();
    let total = &outcome.total;
    let account = &total.account;
    let mut add = |name: &str, value: f64| {
        values.insert(name.to_owned(), value);
    };
    let bytes = (total.read_bytes + total.written_bytes) as f64;
    add("elapsed_s", seconds(total.elapsed_ns));
    add("megabytes", round(bytes * 1e3 / ns(total)));
    add("processor_s", seconds(account.processor_ns));
    add("hits_percent", hits(total));
    add("commits", account.commits as f64);
    add("flushes", account.flushes as f64);
    let mut blocks = [0, 0];
    for class in Component::ALL {
        let name = class.name().replace(' ', "_") + "_s";
        let tally = account.class(class);
        add(&name, seconds(tally.waited_ns));
        let data = usize::from(class == Component::FileData);
        blocks[data] += (tally.read_bytes + tally.written_bytes) / BLOCK;
    }
    add("metadata_blocks", blocks[0] as f64);
    add("data_blocks", blocks[1] as f64);
    let share = account.processor_ns as f64 * 100.0 / ns(total);
    add("processor_percent", round(share));
    for phase in &outcome.phases {
        let (name, measured) = (&phase.name, &phase.measured);
        add(&format!("{name}_s"), seconds(measured.elapsed_ns));
        add(
            &format!("{name}_ps"),
            round(measured.calls as f64 * 1e9 / ns(measured)),
        );
        let bytes = measured.read_bytes.max(measured.written_bytes) as f64;
        if bytes > 0.0 {
            add(
                &format!("{name}_kps"),
                round(bytes / 1024.0 * 1e9 / ns(measured)),
            );
        }
        if measured.read_bytes > 0 {
            let device = measured.account.class(Component::FileData).read_bytes as f64;
            let share = device * 100.0 / measured.read_bytes as f64;
            add(&format!("{name}_device"), round(share));
        }
        let share = measured.account.processor_ns as f64 * 100.0 / ns(measured);
        add(&format!("{name}_cpu"), round(share));
    }
    values.extend(over_cells(outcome));
    values
}

/// KiB a second of each test of a grid, over all of its cells.
fn over_cells(outcome: &program::Outcome) -> Values {
    let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for phase in &outcome.phases {
        if let Some((test, _)) = phase.name.split_once('-') {
            let measured = &phase.measured;
            let (bytes, ns) = sums.entry(test).or_default();
            *bytes += measured.read_bytes.max(measured.written_bytes);
            *ns += measured.elapsed_ns;
        }
    }
    let rate = |(test, (bytes, ns)): (&str, (u64, u64))| {
        let rate = bytes as f64 / 1024.0 * 1e9 / ns.max(1) as f64;
        (format!("{test}_kps"), round(rate))
    };
    sums.into_iter().map(rate).collect()
}

/// What happened below the file system while the program was measured.
fn below(values: &mut Values, spent: &Spent) {
    for (name, ns) in [
        ("mapping_s", spent.mapping_ns),
        ("head_seek_s", spent.seek_ns),
        ("head_rotation_s", spent.rotation_ns),
        ("head_transfer_s", spent.transfer_ns),
    ] {
        values.insert(name.to_owned(), seconds(ns));
    }
    values.insert("parts".to_owned(), spent.parts as f64);
    let heads = spent.seek_ns + spent.rotation_ns + spent.transfer_ns;
    let share = spent.seek_ns as f64 * 100.0 / heads.max(1) as f64;
    values.insert("seek_percent".to_owned(), round(share));
}

fn ns(measured: &Measured) -> f64 {
    measured.elapsed_ns.max(1) as f64
}

fn seconds(ns: u64) -> f64 {
    (ns as f64 / 1e6).round() / 1e3
}

fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Per cent of the pages of files that were in memory.
fn hits(measured: &Measured) -> f64 {
    let account = &measured.account;
    let pages = account.hits + account.misses;
    (account.hits as f64 * 1e4 / pages.max(1) as f64).round() / 1e2
}
