//! What is not a drive, as branches of the network: capped volumes, servers, networks.

use super::explain::Account;
use super::queue::{Branch, Station};
use super::subject::{Above, Disk, Load};
use crate::disk::capped::Cap;
use crate::disk::link::Network;
use crate::disk::server::{Law, ServerProfile};

/// A volume with limits, under commands of `count` blocks, so many at the same time.
pub(super) fn capped(cap: &Cap, count: f64, together: f64) -> Branch {
    let operation = cap.operations.map_or(0.0, |rate| 1e9 / rate as f64) * together;
    let bytes = cap.bytes.map_or(0.0, |rate| count * 512e9 / rate as f64) * together;
    Branch {
        delay: cap.latency_ns as f64,
        stations: vec![Station::once(operation.max(bytes), 0.0)],
        account: Account {
            overhead: cap.latency_ns as f64,
            transfer: operation.max(bytes),
            ..Account::default()
        },
        block: if bytes > operation {
            bytes / count / together
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
