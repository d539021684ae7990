//! Options of a job: their values, and what they set.

use super::distribution::{Distribution, Zone};
use super::job::{Arrival, Job, Mix, Pattern};
use crate::workload::InputError;

/// Requests under way, processes: beyond any that fio would start.
const COUNT_MAX: u32 = 1 << 20;
/// Bytes: offsets have to fit in 63 bits together.
const BYTES_MAX: u64 = 1 << 60;
/// Zones of a distribution; fio's own limit.
const ZONES_MAX: usize = 256;

/// Options that say how fio reaches a file or prints, and nothing of what is asked for.
const WITHOUT_EFFECT: &[&str] = &[
    "name",
    "description",
    "filename",
    "directory",
    "filename_format",
    "ioengine",
    "direct",
    "buffered",
    "group_reporting",
    "invalidate",
    "thread",
    "create_on_open",
    "fallocate",
    "unlink",
    "refill_buffers",
    "buffer_compress_percentage",
    "randrepeat",
    "allrandrepeat",
    "output-format",
    "percentile_list",
    "lat_percentiles",
    "clat_percentiles",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "log_avg_msec",
    "cpus_allowed",
    "numa_cpu_nodes",
    "gtod_reduce",
    "exitall",
];

/// Sets one option; `key` as it is written, in `line`.
pub(super) fn set(job: &mut Job, line: usize, key: &str, value: &str) -> Result<(), InputError> {
    let wrong = |problem: &str| InputError::new(line, key, format!("'{value}': {problem}"));
    let bytes = || bytes(value).ok_or_else(|| wrong("a size is expected, like 512, 4k, 1M"));
    let count = || {
        let found = value
            .parse()
            .ok()
            .filter(|count| (1..=COUNT_MAX).contains(count));
        found.ok_or_else(|| wrong("a count from 1 is expected"))
    };
    let percent = || {
        let found = value.parse().ok().filter(|percent| *percent <= 100_u32);
        found.ok_or_else(|| wrong("0 to 100 is expected"))
    };
    let time = |unit: u64| nanoseconds(value, unit).ok_or_else(|| wrong("a time is expected"));
    match key {
        "rw" | "readwrite" => pattern(job, value)
            .ok_or_else(|| wrong("read, write, rw, randread, randwrite or randrw are known"))?,
        "rwmixread" => job.mix_percent = percent()?,
        "rwmixwrite" => job.mix_percent = 100 - percent()?,
        "bs" | "blocksize" => job.block = blocks(value).ok_or_else(|| wrong("a size above 0"))?,
        "iodepth" => job.depth = count()?,
        "numjobs" => job.processes = count()?,
        "size" if value.ends_with('%') => {
            return Err(wrong("a share of a file that is not there; give bytes"));
        }
        "size" => job.size = bytes()?,
        "io_size" | "io_limit" => job.volume = Some(bytes()?),
        "offset" => job.offset = bytes()?,
        "offset_increment" => job.offset_increment = bytes()?,
        "runtime" | "timeout" => job.runtime = Some(time(1_000_000_000)?),
        "ramp_time" => job.ramp = time(1_000_000_000)?,
        "thinktime" => job.think = time(1000)?,
        "rate_iops" => job.rate = Some(u64::from(count()?)),
        "rate_process" => {
            job.arrival = match value {
                "linear" => Arrival::Even,
                "poisson" => Arrival::Poisson,
                _ => return Err(wrong("linear or poisson are known")),
            }
        }
        "random_distribution" => job.distribution = distribution(value).map_err(wrong)?,
        "percentage_random" => job.random_percent = percent()?,
        "randseed" => job.seed = value.parse().map_err(|_| wrong("a whole number"))?,
        "fsync" | "fdatasync" => {
            job.flush_every = match value {
                "0" => None,
                _ => Some(count()?),
            }
        }
        "time_based" => job.time_based = switch(value).ok_or_else(|| wrong("0 or 1"))?,
        "norandommap" => job.repeats = switch(value).ok_or_else(|| wrong("0 or 1"))?,
        "stonewall" | "wait_for_previous" => {
            job.waits = switch(value).ok_or_else(|| wrong("0 or 1"))?;
        }
        _ if WITHOUT_EFFECT.contains(&key) => {}
        _ => return Err(InputError::new(line, key, "this option is not known here")),
    }
    Ok(())
}

fn pattern(job: &mut Job, value: &str) -> Option<()> {
    let (pattern, mix) = match value {
        "read" => (Pattern::Sequential, Mix::Reads),
        "write" => (Pattern::Sequential, Mix::Writes),
        "rw" | "readwrite" => (Pattern::Sequential, Mix::Both),
        "randread" => (Pattern::Random, Mix::Reads),
        "randwrite" => (Pattern::Random, Mix::Writes),
        "randrw" => (Pattern::Random, Mix::Both),
        _ => return None,
    };
    (job.pattern, job.mix) = (pattern, mix);
    Some(())
}

/// `4k` or `4k,8k`: of reads, of writes.
fn blocks(value: &str) -> Option<[u64; 2]> {
    let mut parts = value.split(',');
    let read = bytes(parts.next()?)?;
    let write = match parts.next() {
        None | Some("") => read,
        Some(text) => bytes(text)?,
    };
    (read > 0 && write > 0).then_some([read, write])
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "" | "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

/// Bytes, with fio's suffixes: powers of 1,024, whether `k`, `ki`, `kb` or `kib`.
fn bytes(value: &str) -> Option<u64> {
    let value = value.trim().to_ascii_lowercase();
    let end = value
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(value.len());
    let number: u64 = value[..end].parse().ok()?;
    let power = match &value[end..] {
        "" | "b" => 0,
        "k" | "ki" | "kb" | "kib" => 10,
        "m" | "mi" | "mb" | "mib" => 20,
        "g" | "gi" | "gb" | "gib" => 30,
        "t" | "ti" | "tb" | "tib" => 40,
        _ => return None,
    };
    let bytes = number.checked_mul(1 << power)?;
    (bytes <= BYTES_MAX).then_some(bytes)
}

/// A time in nanoseconds; a number without a unit counts `unit` nanoseconds.
fn nanoseconds(value: &str, unit: u64) -> Option<u64> {
    let end = value
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(value.len());
    let number: u64 = value[..end].parse().ok()?;
    let unit = match &value[end..] {
        "" => unit,
        "us" | "usec" => 1000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// `random`, `zipf:1.2`, `zoned:60/10:30/20:10/70`.
fn distribution(value: &str) -> Result<Distribution, &'static str> {
    let (kind, rest) = value.split_once(':').unwrap_or((value, ""));
    match kind {
        "random" => Ok(Distribution::Uniform),
        "zipf" => {
            // A centre of the hot blocks may follow; ours are scattered.
            let theta = if rest.is_empty() { "1.1" } else { rest };
            let theta: f64 = theta.parse().map_err(|_| "zipf wants a number above 0")?;
            if !(theta > 0.0 && theta <= 10.0) {
                return Err("zipf wants a number above 0, up to 10");
            }
            Ok(Distribution::Zipf(theta))
        }
        "zoned" => {
            let part = |text: &str| -> Option<Zone> {
                let (access, size) = text.split_once('/')?;
                Some(Zone {
                    access_percent: access.parse().ok()?,
                    size_percent: size.parse().ok()?,
                })
            };
            let zones: Option<Vec<Zone>> = rest.split(':').take(ZONES_MAX + 1).map(part).collect();
            let zones = zones.ok_or("zones are written access/size:access/size")?;
            let sum = |of: fn(&Zone) -> u32| zones.iter().map(|zone| u64::from(of(zone))).sum();
            let (access, size): (u64, u64) = (sum(|z| z.access_percent), sum(|z| z.size_percent));
            let empty = |zone: &Zone| zone.size_percent == 0 && zone.access_percent > 0;
            if access != 100 || size != 100 || zones.len() > ZONES_MAX || zones.iter().any(empty) {
                return Err("accesses and sizes of the zones must each be 100 % together");
            }
            Ok(Distribution::Zoned(zones))
        }
        _ => Err("random, zipf and zoned are known"),
    }
}
