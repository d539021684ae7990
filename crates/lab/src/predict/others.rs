//! What is not a drive, as branches of the network: capped volumes, flash, networks.

use super::explain::Account;
use super::footprint::Part;
use super::queue::{Branch, State, Station};
use super::subject::{Above, Disk, Load};
use crate::disk::capped::Cap;
use crate::disk::flash::FlashProfile;
use crate::disk::link::Network;
use crate::disk::server::{Law, ServerProfile};

/// A volume with limits.
pub(super) fn capped(cap: &Cap, count: f64) -> Branch {
    let operation = cap.operations.map_or(0.0, |rate| 1e9 / rate as f64);
    let bytes = cap.bytes.map_or(0.0, |rate| count * 512e9 / rate as f64);
    Branch {
        delay: cap.latency_ns as f64,
        stations: vec![Station::once(operation.max(bytes), 0.0)],
        account: Account {
            overhead: cap.latency_ns as f64,
            transfer: operation.max(bytes),
            ..Account::default()
        },
        block: if bytes > operation {
            bytes / count
        } else {
            0.0
        },
        ..Branch::default()
    }
}

/// A server of queueing theory.
pub(super) fn served(server: &ServerProfile) -> Branch {
    let mean = server.mean_ns as f64;
    let variation = match server.law {
        Law::Constant => 0.0,
        Law::Exponential => 1.0,
        Law::Uniform => 1.0 / 3.0,
    };
    Branch {
        stations: vec![Station::once(mean, variation)],
        deviation: mean * variation.sqrt(),
        account: Account {
            transfer: mean,
            ..Account::default()
        },
        ..Branch::default()
    }
}

/// Of an average part: pages, those of them that it covers only in part, blocks, and services that
/// follow each other on a unit.
fn pages(flash: &FlashProfile, parts: &[Part]) -> [f64; 4] {
    let size = u64::from(flash.page_blocks);
    let units = flash.units as f64;
    let (mut pages, mut cut, mut count, mut serial) = (0.0, 0.0, 0.0, 0.0);
    for part in parts {
        let end = part.start + part.count;
        let (first, last) = (part.start / size, end.div_ceil(size));
        let all = (last - first) as f64;
        let whole = (end / size).saturating_sub(part.start.div_ceil(size)) as f64;
        pages += all;
        serial += (all / units).ceil();
        cut += all - whole;
        count += part.count as f64;
    }
    [pages, cut, count, serial].map(|sum| sum / parts.len() as f64)
}

/// A flash disk: units beside each other, and one bus that answers in order. A share `stale` of the
/// pages is not in its cache because it was just written.
pub(super) fn flashed(
    flash: &FlashProfile,
    parts: &[Part],
    reads: f64,
    stale: f64,
    (depth, state): (Option<usize>, &State),
) -> Branch {
    let units = flash.units as f64;
    let [pages, cut, count, serial] = pages(flash, parts);
    let parallel = pages / serial;
    let grown = flash.amplification_thousandths as f64 / 1000.0;
    let erase = flash.erase_ns as f64 * grown / flash.erase_pages as f64;
    let program = flash.program_ns as f64 * grown + erase;
    let program = program + cut / pages * stale * flash.read_ns as f64;
    let read = serial * stale * flash.read_ns as f64;
    let write = serial * program;
    let cached = flash.cache_pages > 0;
    let service = reads * read + if cached { 0.0 } else { (1.0 - reads) * write };
    let square = reads * read * read
        + if cached {
            0.0
        } else {
            (1.0 - reads) * write * write
        };
    let unit = Station {
        parallel,
        copies: units,
        background: if cached { (1.0 - reads) * write } else { 0.0 },
        piece: reads * write,
        ..Station::once(service, (square / service.max(1.0).powi(2) - 1.0).max(0.0))
    };
    // A read that is answered late holds back what came after it.
    let others = depth.map_or(1.0, |depth| depth as f64 - 1.0);
    let busy = state.utilisation.min(0.95);
    let together = match depth {
        Some(depth) => (depth as f64 / units).min(1.0) * others.min(1.0),
        None => busy,
    };
    let held = if cached && reads < 1.0 {
        // A stream comes back to a unit when its programs have ended.
        let behind = if stale < 1.0 {
            0.0
        } else {
            busy * write / (2.0 * (1.0 - busy))
        };
        reads * (read + behind) * others.min(1.0) / (1.0 + others * reads)
    } else {
        0.0
    };
    let bus = count * flash.block_ns as f64 + held;
    Branch {
        delay: flash.overhead_ns as f64 + 0.55 * reads * read * together,
        stations: vec![unit, Station::once(bus, 0.0)],
        block: flash.block_ns as f64,
        account: Account {
            overhead: flash.overhead_ns as f64,
            transfer: service + count * flash.block_ns as f64,
            ..Account::default()
        },
        ..Branch::default()
    }
}

/// Puts the network before a disk.
pub(super) fn linked(disk: &Disk, branch: &mut Branch, reads: f64, count: f64) {
    if let Some(link) = disk.link {
        behind(link, branch, reads, count);
    }
}

/// What lies above a volume: stations that every request visits.
pub(super) fn above(above: &Above, load: &Load) -> Branch {
    let mut branch = Branch {
        visits: 1.0,
        ..Branch::default()
    };
    let kib = load.blocks as f64 / 2.0;
    if above.mapping_ns > 0 {
        let time = above.mapping_ns as f64;
        branch.account.map += time;
        branch.stations.push(Station::once(time, 0.0));
    }
    for cost in &above.loops {
        let time = cost.request_ns as f64 + kib * cost.kib_ns as f64;
        branch.account.loops += time;
        branch.stations.push(Station::once(time, 0.0));
    }
    if let Some(link) = above.link {
        let reads = load.reads as f64 / 1000.0;
        behind(link, &mut branch, reads, load.blocks as f64);
    }
    branch
}

/// A network: half a round trip each way, and one message after the other.
fn behind(link: Network, branch: &mut Branch, reads: f64, count: f64) {
    let message = link.header as f64 * 1e9 / link.rate as f64;
    let data = count * 512e9 / link.rate as f64;
    let up = message + (1.0 - reads) * data;
    let down = message + reads * data;
    branch.delay += link.round_trip_ns as f64;
    branch.block += data / count;
    branch.stations.push(Station::once(up, 0.0));
    branch.stations.push(Station::once(down, 0.0));
    branch.account.link += link.round_trip_ns as f64 + up + down;
}
