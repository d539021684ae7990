//! Layouts as TOML.
//!
//! ```text
//!   [disk.slow]                      profile = "wd800bd-like"
//!   scheduler = "sptf"               or cap = {…}, flash = {…}, server = {…}
//!   depth = 32
//!
//!   [layout.striped]
//!   disks = ["slow*2", "fast"]       numbers 0, 1 and 2
//!   volume = [
//!     { linear = "0+1M", size = "10G", pieces = 16, order = "shuffled", gap = "4K" },
//!     { striped = "0..2+20G", chunk = "64K", size = "3G" },
//!     { mirror = ["0+30G", "1+30G"], size = "1G", log = "2" },
//!     { origin = "0+40G", size = "1G", chunk = "4K", stores = ["1+40G"], store_size = "1G" },
//!     { raid5 = "0..2+50G", size = "1G", chunk = "64K", begin = "192K", region = "2M" },
//!   ]
//!   mapping_ns = 20
//!   loops = [{ request_us = 6.2, kib_ns = 100 }]
//!   link = { megabits = 100, round_trip_us = 200 }
//! ```
//!
//! An area is `DISK+START` or `FIRST..LAST+START`, which is one area on each of the disks. A linear
//! segment over several areas takes an equal share of each, one after the other. There are `raid0`,
//! which is another word for `striped`, `raid1`, `raid4`, `raid5`, `raid6` and `raid10`.

use std::collections::BTreeMap;

use super::disk::{Disk, DiskKind, Overrides};
use super::raid::{Array, Level};
use super::volume::{Area, Buses, Cut, Layout, Loop, Order, Segment, Store};
use crate::disk::capped::Cap;
use crate::disk::catalog;
use crate::disk::flash::FlashProfile;
use crate::disk::link::Network;
use crate::disk::profile::{Scheduler, WritePolicy};
use crate::disk::server::{Law, ServerProfile};
use crate::error::Result;
use crate::settings::{Table, size};

/// Disks in one word.
const REPEAT_MAX: usize = 1024;
/// Region of a mirror or an array that says nothing else: what LVM2 takes.
const REGION: u64 = 2 << 20;
/// Chunk of an array that says nothing else: what LVM2 takes.
const RAID_CHUNK: u64 = 64 << 10;
/// Chunk of a store that says nothing else: what LVM2 takes.
const CHUNK: u64 = 4 << 10;
const BLOCK: u64 = 512;

/// The layouts of a text; `file` is how messages call it.
pub fn parse(file: &str, text: &str) -> Result<Vec<Layout>> {
    let mut table = Table::parse(file, text)?;
    let disks = disks(&mut table)?;
    let found = layouts(&mut table, &disks)?;
    table.finish()?;
    Ok(found)
}

/// Takes the disks of a text.
pub fn disks(table: &mut Table) -> Result<BTreeMap<String, Disk>> {
    let mut disks = BTreeMap::new();
    for (name, table) in table.named("disk")? {
        disks.insert(name.clone(), disk(name, table)?);
    }
    Ok(disks)
}

/// Takes the layouts of a text, as they stand in it.
pub fn layouts(table: &mut Table, disks: &BTreeMap<String, Disk>) -> Result<Vec<Layout>> {
    let named = table.named("layout")?.into_iter();
    named
        .map(|(name, table)| layout(name, table, disks))
        .collect()
}

fn disk(name: String, mut table: Table) -> Result<Disk> {
    let kinds = ["profile", "cap", "flash", "server"];
    if kinds.iter().filter(|kind| table.has(kind)).count() != 1 {
        let what = "a disk has one of profile, cap, flash and server";
        return Err(table.error("", what));
    }
    let link = link(&mut table)?;
    let kind = if let Some(wanted) = table.text("profile")? {
        let mut profile = catalog::find(&wanted).map_err(|error| table.error("profile", error))?;
        overrides(&mut table)?.apply(&mut profile);
        DiskKind::Drive(Box::new(profile))
    } else if let Some(inner) = table.table("cap")? {
        DiskKind::Capped(cap(inner)?)
    } else if let Some(inner) = table.table("flash")? {
        DiskKind::Flash(flash(inner)?)
    } else {
        let inner = table.table("server")?;
        DiskKind::Server(server(inner.ok_or_else(|| table.missing("server"))?)?)
    };
    let disk = Disk { name, kind, link };
    disk.size().map_err(|error| table.error("", error))?;
    table.finish()?;
    Ok(disk)
}

fn overrides(table: &mut Table) -> Result<Overrides> {
    let mut overrides = Overrides::default();
    if let Some(word) = table.text("scheduler")? {
        overrides.scheduler = Some(match word.as_str() {
            "fcfs" => Scheduler::Fcfs,
            "look" => Scheduler::Look,
            "sptf" => Scheduler::Sptf,
            _ => return Err(table.error("scheduler", "one of fcfs, look, sptf is expected")),
        });
    }
    overrides.seek_percent = percent("seek_percent", table)?;
    overrides.media_percent = percent("media_percent", table)?;
    overrides.depth = table.count("depth")?.map(|depth| depth as usize);
    if let Some(word) = table.text("writes")? {
        overrides.writes = Some(match word.as_str() {
            "through" => WritePolicy::Through,
            "behind" => WritePolicy::Behind,
            _ => return Err(table.error("writes", "through or behind is expected")),
        });
    }
    Ok(overrides)
}

/// A share of what a drive has.
fn percent(key: &str, table: &mut Table) -> Result<Option<u32>> {
    match table.count(key)? {
        Some(percent) if !(10..=1000).contains(&percent) => {
            Err(table.error(key, "10 to 1,000 per cent of the drive's own are expected"))
        }
        percent => Ok(percent.map(|percent| percent as u32)),
    }
}

fn blocks(table: &mut Table) -> Result<u64> {
    Ok(table.need_bytes("size")? / BLOCK)
}

fn cap(mut table: Table) -> Result<Cap> {
    let rate = table.number("megabytes")?;
    let cap = Cap {
        blocks: blocks(&mut table)?,
        operations: table.count("iops")?,
        bytes: rate.map(|rate| (rate.clamp(0.0, 1e9) * 1e6) as u64),
        burst_ns: table.time("burst_ms", 1e6)?.unwrap_or(0),
        latency_ns: table.time("latency_us", 1e3)?.unwrap_or(0),
    };
    table.finish()?;
    Ok(cap)
}

fn flash(mut table: Table) -> Result<FlashProfile> {
    let flash = FlashProfile {
        blocks: blocks(&mut table)?,
        page_blocks: (table.bytes("page")?.unwrap_or(4096) / BLOCK).min(1 << 16) as u32,
        units: table.count("units")?.unwrap_or(16) as usize,
        read_ns: table.time("read_us", 1e3)?.unwrap_or(60_000),
        program_ns: table.time("program_us", 1e3)?.unwrap_or(600_000),
        erase_ns: table.time("erase_us", 1e3)?.unwrap_or(3_000_000),
        erase_pages: table.count("erase_pages")?.unwrap_or(256),
        amplification_thousandths: table.count("amplification_thousandths")?.unwrap_or(1000),
        cache_pages: table.count("cache_pages")?.unwrap_or(1024) as usize,
        overhead_ns: table.time("overhead_us", 1e3)?.unwrap_or(5_000),
        block_ns: table.count("block_ns")?.unwrap_or(200),
    };
    table.finish()?;
    Ok(flash)
}

fn server(mut table: Table) -> Result<ServerProfile> {
    let word = table
        .text("law")?
        .unwrap_or_else(|| "exponential".to_owned());
    let law = match word.as_str() {
        "constant" => Law::Constant,
        "exponential" => Law::Exponential,
        "uniform" => Law::Uniform,
        _ => return Err(table.error("law", "one of constant, exponential, uniform")),
    };
    let mean_ns = table.time("mean_us", 1e3)?;
    let server = ServerProfile {
        blocks: blocks(&mut table)?,
        mean_ns: mean_ns.ok_or_else(|| table.missing("mean_us"))?,
        law,
    };
    table.finish()?;
    Ok(server)
}

fn link(table: &mut Table) -> Result<Option<Network>> {
    let Some(mut inner) = table.table("link")? else {
        return Ok(None);
    };
    let megabits = inner
        .count("megabits")?
        .filter(|rate| (1..=1_000_000).contains(rate));
    let megabits = megabits.ok_or_else(|| inner.error("megabits", "1 to 1000000 is expected"))?;
    let round_trip_ns = inner.time("round_trip_us", 1e3)?.unwrap_or(200_000);
    inner.finish()?;
    Ok(Some(Network::ethernet(megabits, round_trip_ns)))
}

fn layout(name: String, mut table: Table, disks: &BTreeMap<String, Disk>) -> Result<Layout> {
    let mut used = Vec::new();
    for word in table.texts("disks")? {
        let (kind, count) = word.split_once('*').unwrap_or((&word, "1"));
        let count = count
            .trim()
            .parse()
            .ok()
            .filter(|count| *count <= REPEAT_MAX);
        let (Some(disk), Some(count)) = (disks.get(kind.trim()), count) else {
            let what = format!("'{word}': NAME or NAME*COUNT of a [disk.NAME] is expected");
            return Err(table.error("disks", what));
        };
        used.extend(std::iter::repeat_n(disk.clone(), count));
    }
    let buses = if table.truth("shared_bus")? {
        Buses::Shared
    } else {
        Buses::Own
    };
    let mut volume = Vec::new();
    for inner in table.tables("volume")? {
        volume.extend(segments(inner)?);
    }
    let mut loops = Vec::new();
    for mut inner in table.tables("loops")? {
        loops.push(Loop {
            request_ns: inner.time("request_us", 1e3)?.unwrap_or(0),
            kib_ns: inner.count("kib_ns")?.unwrap_or(0).min(1_000_000_000),
        });
        inner.finish()?;
    }
    let layout = Layout {
        name,
        disks: used,
        buses,
        volume,
        mapping_ns: table.time("mapping_ns", 1.0)?.unwrap_or(0),
        loops,
        link: link(&mut table)?,
    };
    layout.validate().map_err(|error| table.error("", error))?;
    table.finish()?;
    Ok(layout)
}

fn segments(mut table: Table) -> Result<Vec<Segment>> {
    let kinds = ["linear", "striped", "raid0", "mirror", "origin"];
    let levels = Level::ALL.map(Level::name);
    let kinds = kinds.iter().chain(&levels).copied();
    let found: Vec<&str> = kinds.filter(|kind| table.has(kind)).collect();
    let &[kind] = found.as_slice() else {
        let what = "a segment is one of linear, striped, mirror, origin, and raid0 to raid10";
        return Err(table.error("", what));
    };
    let places = places_of(&mut table, kind)?;
    if places.is_empty() {
        return Err(table.missing(kind));
    }
    let len = table.need_bytes("size")?;
    let segments = match kind {
        "linear" => {
            let cut = cut(&mut table)?;
            let share = len / places.len() as u64;
            let linear = |area| Segment::Linear {
                len: share,
                area,
                cut,
            };
            places.into_iter().map(linear).collect()
        }
        "striped" | "raid0" => vec![Segment::Striped {
            len,
            chunk: table.need_bytes("chunk")?,
            areas: places,
        }],
        "mirror" => vec![Segment::Mirror {
            len,
            region: table.bytes("region")?.unwrap_or(REGION),
            legs: places,
            log: one(&mut table, "log")?,
        }],
        "origin" => vec![origin(&mut table, len, &places)?],
        level => vec![array(&mut table, level, len, places)?],
    };
    table.finish()?;
    Ok(segments)
}

fn origin(table: &mut Table, len: u64, places: &[Area]) -> Result<Segment> {
    let &[origin] = places else {
        return Err(table.error("origin", "one area is expected"));
    };
    let chunk = table.bytes("chunk")?.unwrap_or(CHUNK);
    let bytes = table.need_bytes("store_size")?;
    let store = |area| Store { area, len: bytes };
    Ok(Segment::Origin {
        len,
        chunk,
        origin,
        stores: places_of(table, "stores")?.into_iter().map(store).collect(),
    })
}

fn array(table: &mut Table, level: &str, len: u64, legs: Vec<Area>) -> Result<Segment> {
    let level = Level::ALL.into_iter().find(|one| one.name() == level);
    Ok(Segment::Raid(Array {
        level: level.expect("it is one of the names"),
        len,
        chunk: table.bytes("chunk")?.unwrap_or(RAID_CHUNK),
        region: table.bytes("region")?.unwrap_or(REGION),
        begin: table.bytes("begin")?.unwrap_or(0),
        legs,
    }))
}

/// The areas that the words under `key` mean.
fn places_of(table: &mut Table, key: &str) -> Result<Vec<Area>> {
    let mut places = Vec::new();
    for word in table.texts(key)? {
        let what = "DISK+START or FIRST..LAST+START is expected";
        let found = areas(&word).ok_or_else(|| table.error(key, format!("'{word}': {what}")))?;
        places.extend(found);
    }
    Ok(places)
}

/// The one area under `key`, if there is one.
fn one(table: &mut Table, key: &str) -> Result<Option<Area>> {
    match places_of(table, key)?.as_slice() {
        [] => Ok(None),
        [area] => Ok(Some(*area)),
        _ => Err(table.error(key, "one area is expected")),
    }
}

fn cut(table: &mut Table) -> Result<Option<Cut>> {
    let pieces = table.count("pieces")?;
    let order = match table.text("order")?.as_deref() {
        None | Some("ordered") => Order::Ordered,
        Some("shuffled") => Order::Shuffled,
        Some(_) => return Err(table.error("order", "ordered or shuffled is expected")),
    };
    let gap = table.bytes("gap")?.unwrap_or(0);
    Ok(pieces.map(|pieces| Cut { pieces, order, gap }))
}

/// `0+1M`, `0..5+1M`; the start may be left out.
fn areas(word: &str) -> Option<Vec<Area>> {
    let (disks, start) = word.split_once('+').unwrap_or((word, "0"));
    let start = size(start)?;
    let (first, last) = disks.split_once("..").unwrap_or((disks, disks));
    let first: usize = first.trim().parse().ok()?;
    let last: usize = last.trim().parse().ok()?;
    if first > last || last >= REPEAT_MAX {
        return None;
    }
    Some((first..=last).map(|disk| Area { disk, start }).collect())
}
