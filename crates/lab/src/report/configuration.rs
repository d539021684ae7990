//! A layout in words, short enough to stand beside its numbers.

use crate::layout::{Area, Disk, DiskKind, Layout, Order, Segment};

/// Segments that are spelt out; a volume of more is summed up.
const SPELT_MAX: usize = 4;

/// What a layout is.
pub(super) fn words(layout: &Layout) -> String {
    let mut parts = vec![disks(&layout.disks)];
    if layout.volume.len() > SPELT_MAX {
        let count = layout.volume.len();
        parts.push(format!("{} in {count} segments", size(layout.size())));
    } else {
        parts.extend(layout.volume.iter().map(segment));
    }
    if layout.mapping_ns > 0 {
        parts.push(format!("lookups of {} ns", layout.mapping_ns));
    }
    for one in &layout.loops {
        let us = one.request_ns as f64 / 1e3;
        parts.push(format!(
            "a loop of {us} µs and {} ns for each KiB",
            one.kib_ns
        ));
    }
    if let Some(link) = &layout.link {
        parts.push(format!(
            "a network of {} Mbit/s, {} µs there and back",
            link.rate * 8 / 1_000_000,
            link.round_trip_ns / 1000
        ));
    }
    parts.join("; ")
}

/// The disks; equal neighbours are counted.
fn disks(disks: &[Disk]) -> String {
    let mut runs: Vec<(usize, &Disk)> = Vec::new();
    for disk in disks {
        match runs.last_mut() {
            Some((count, last)) if *last == disk => *count += 1,
            _ => runs.push((1, disk)),
        }
    }
    let one = |(count, disk): &(usize, &Disk)| {
        let times = if *count > 1 {
            format!("{count} × ")
        } else {
            String::new()
        };
        format!("{times}{}", kind(disk))
    };
    runs.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn kind(disk: &Disk) -> String {
    match &disk.kind {
        DiskKind::Drive(profile) => {
            let queue = &profile.queue;
            let order = format!("{:?}", queue.scheduler).to_uppercase();
            format!("{} ({order}, queue {})", profile.name, queue.depth)
        }
        DiskKind::Capped(cap) => {
            let operations = cap.operations.map(|rate| format!("{rate} requests/s"));
            let bytes = cap.bytes.map(|rate| format!("{} MB/s", rate / 1_000_000));
            let limits: Vec<String> = operations.into_iter().chain(bytes).collect();
            format!("disk capped at {}", limits.join(" and "))
        }
        DiskKind::Flash(flash) => format!("flash of {} units", flash.units),
        DiskKind::Server(server) => format!(
            "server of {} µs, {}",
            server.mean_ns / 1000,
            format!("{:?}", server.law).to_lowercase()
        ),
    }
}

fn segment(segment: &Segment) -> String {
    let len = size(segment.len());
    match segment {
        Segment::Linear { area, cut, .. } => {
            let cut = cut.map_or_else(String::new, |cut| {
                let order = match cut.order {
                    Order::Ordered => "in order",
                    Order::Shuffled => "shuffled",
                };
                format!(" in {} pieces, {order}", cut.pieces)
            });
            format!("{len} linear on {}{cut}", places(&[*area]))
        }
        Segment::Striped { chunk, areas, .. } => {
            format!("{len} striped by {} over {}", size(*chunk), places(areas))
        }
        Segment::Mirror { legs, log, .. } => {
            let log = log.map_or_else(String::new, |log| format!(", log on {}", places(&[log])));
            format!("{len} mirrored on {}{log}", places(legs))
        }
        Segment::Origin {
            chunk,
            origin,
            stores,
            ..
        } => {
            let stores: Vec<Area> = stores.iter().map(|store| store.area).collect();
            format!(
                "{len} linear on {}, snapshots in chunks of {} on {}",
                places(&[*origin]),
                size(*chunk),
                places(&stores)
            )
        }
        Segment::Raid(array) => {
            let begin = match array.begin {
                0 => String::new(),
                begin => format!(", from {} of the array on", size(begin)),
            };
            let (level, chunk) = (array.level.name(), size(array.chunk));
            format!(
                "{len} {level} by {chunk} over {}{begin}",
                places(&array.legs)
            )
        }
    }
}

fn places(areas: &[Area]) -> String {
    let place = |area: &Area| match area.start {
        0 => format!("disk {}", area.disk),
        start => format!("disk {} from {}", area.disk, size(start)),
    };
    areas.iter().map(place).collect::<Vec<_>>().join(", ")
}

/// Bytes in the largest unit that keeps them whole.
fn size(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let whole = |(shift, _): &&(u32, &str)| bytes > 0 && bytes.is_multiple_of(1 << shift);
    match units.iter().find(whole) {
        Some((shift, unit)) => format!("{} {unit}", bytes >> shift),
        None => format!("{bytes} B"),
    }
}
