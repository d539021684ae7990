//! Programs of experiments: read from a load, run on a file system, measured.
//!
//! ```text
//!   [load.bonnie]  program = "bonnie"  file = "1G"  phases = ["block_out", "rewrite"]
//!   [load.copy]    program = "dd"      size = "1G"  bs = "64K"  direct = true
//!   [load.grid]    program = "iozone"  files = ["64K", "1M"]  records = ["4K", "64K"]
//!   [load.mail]    program = "postmark"  test = 2             (or postmark = 2)
//! ```
//!
//! Any of them takes what the file system and its kernel are: `memory`, `read_ahead`,
//! `no_journal`, `barrier`, `no_access_time`, `linear_directories`, `log` (`"start"`, `"middle"`).
//!
//! What is seen is called by the phase: `rewrite_s` is its time, `rewrite_kps` its KiB a second (of
//! reading or writing, whichever is more, as Bonnie prints it), `rewrite_ps` its calls a second,
//! `rewrite_device` the bytes that the device gave in per cent of those that were read, the rest
//! being in memory (`hits_percent` counts pages that came by read-ahead as hits), `rewrite_cpu` the
//! per cent of the time that the processor computed. The whole has `elapsed_s` and the terms of
//! Eq. 1.

use super::record::Values;
use super::shares::Shares;
use crate::disk::drive::{Model, Spent};
use crate::disk::error::{Error, Kind, Result};
use crate::filesystem::program::{self, Measured};
use crate::filesystem::{
    AccessTime, Barrier, Class, Elevator, FileSystem, Index, Journaling, LogPlace, Options,
};
use crate::layout::Layout;
use crate::settings::{Table, size};
use crate::stack;
use crate::workload::postmark::Settings;
use crate::workload::program::{
    Bonnie, BonnieStyle, Copying, Dd, Ending, IoZone, Path, Program, Warmth,
};
use block::sim::Random;

/// The file system begins its life at some moment of these nanoseconds.
const START_NS: u64 = 10_000_000_000;
/// Processes whose files begin at different places of their groups.
const PROCESSES: u64 = 16;

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
        below(&mut values, &system.spent());
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
    if table.truth("no_journal")? {
        options.journaling = Journaling::None;
    }
    if table.truth("barrier")? {
        options.barrier = Barrier::On;
    }
    if table.truth("no_access_time")? {
        options.access_time = AccessTime::Ignored;
    }
    if table.truth("linear_directories")? {
        options.index = Index::Linear;
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
        _ => {
            let what = "one of postmark, bonnie, bonnie++, dd and iozone is expected";
            Err(table.error("program", what))
        }
    }
}

fn postmark(test: u64, field: &str, table: &Table) -> Result<Program> {
    let settings = match test {
        1 => Settings::pm1(),
        2 => Settings::pm2(),
        3 => Settings::pm3(),
        _ => return Err(table.error(field, "1, 2 or 3 is expected: a test of the study")),
    };
    Ok(Program::PostMark(Box::new(settings)))
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
    for class in Class::ALL {
        let name = class.name().replace(' ', "_") + "_s";
        add(&name, seconds(account.class(class).waited_ns));
    }
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
            let device = measured.account.class(Class::FileData).read_bytes as f64;
            let share = device * 100.0 / measured.read_bytes as f64;
            add(&format!("{name}_device"), round(share));
        }
        let share = measured.account.processor_ns as f64 * 100.0 / ns(measured);
        add(&format!("{name}_cpu"), round(share));
    }
    values
}

/// What happened below the file system, from its mount on.
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
