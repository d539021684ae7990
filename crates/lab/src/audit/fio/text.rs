//! fio's text: version 3 (`read: IOPS=27.7k, BW=433MiB/s (454MB/s)(1737MiB/4010msec)`) and version
//! 2 (`read : io=1467.8MB, bw=54679KB/s, iops=1782, runt= 60903msec`).
//!
//! Block size, depth and processes come from the line that fio prints of each job, or from a
//! command line in the text. Lines that are not fio's are passed over, so that a whole session can
//! be audited.

use super::json::block_size;
use super::model::{Direction, Job, Latency, Run, Samples, Summary};
use crate::audit::printed::Printed;
use crate::workload::InputError;

/// Jobs, headers and sums of a text: rules compare them with each other.
const JOBS_MAX: usize = 10_000;
/// Directions of a job.
const DIRECTIONS_MAX: usize = 8;

/// What a job was told, from its header or a command line.
#[derive(Debug, Default, Clone)]
struct Told {
    name: String,
    /// Of reads, writes, trims.
    blocks: [Option<f64>; 3],
    depth: Option<f64>,
    processes: Option<f64>,
}

struct Reader {
    run: Run,
    told: Vec<Told>,
    /// From a command line in the text.
    command: Option<Told>,
    group: u64,
    /// Nanoseconds of the percentiles that follow, if they are of the completion.
    percentile_unit: Option<f64>,
}

/// Reads what fio printed among the lines of `text`; no jobs if there is nothing of fio's.
pub(in crate::audit) fn parse(text: &str) -> Result<Run, InputError> {
    let mut reader = Reader {
        run: Run::default(),
        told: Vec::new(),
        command: None,
        group: 0,
        percentile_unit: None,
    };
    for (index, line) in text.lines().enumerate() {
        reader.line(index + 1, line.trim())?;
    }
    Ok(reader.run)
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), InputError> {
        let wrong = |field: &str| InputError::new(number, field, "cannot be read");
        let jobs = self.told.len().max(self.run.jobs.len());
        let directions = self.run.jobs.last().map_or(0, |job| job.directions.len());
        if jobs.max(self.run.groups.len()) > JOBS_MAX || directions > DIRECTIONS_MAX {
            return Err(InputError::new(
                number,
                "jobs",
                "too many for one run: audit its parts",
            ));
        }
        if let Some((name, rest)) = line.split_once(": (g=") {
            self.told.push(header(name, rest));
        } else if line.contains("fio ") && line.contains("--") {
            self.command = Some(command(line));
        } else if let Some((name, rest)) = line.split_once(": (groupid=") {
            self.job(number, name, rest).ok_or_else(|| wrong(name))?;
        } else if let Some(kind) = direction_of(line) {
            let found = direction(number, kind, line).ok_or_else(|| wrong(kind))?;
            self.add(number, found);
        } else if let Some((name, rest)) = summary_of(line) {
            let found = summary(number, name, rest, self.group).ok_or_else(|| wrong(name))?;
            self.run.groups.push(found);
        } else if let Some(rest) = line.strip_prefix("Run status group ") {
            self.group = Printed::read(number, rest).map_or(0, |(group, _)| group.value as u64);
        } else {
            self.detail(number, line)?;
        }
        Ok(())
    }

    fn job(&mut self, line: usize, name: &str, rest: &str) -> Option<()> {
        let (group, rest) = Printed::read(line, rest)?;
        let (processes, _) = Printed::read(line, rest.split_once("jobs=")?.1)?;
        let told = self.told.iter().find(|told| told.name == name);
        self.run.jobs.push(Job {
            name: name.to_owned(),
            line,
            group: group.value as u64,
            processes: Some(processes.value),
            depth: told.and_then(|told| told.depth),
            ..Job::default()
        });
        Some(())
    }

    /// A direction belongs to the job that began last; where none did, the text is an excerpt.
    fn add(&mut self, line: usize, mut found: Direction) {
        let orphan = self.run.jobs.is_empty();
        if orphan {
            let command = self.command.clone().unwrap_or_default();
            self.run.jobs.push(Job {
                name: command.name,
                line,
                processes: command.processes,
                depth: command.depth,
                ..Job::default()
            });
        }
        let Some(job) = self.run.jobs.last_mut() else {
            return;
        };
        let told = self.told.iter().find(|told| told.name == job.name);
        let told = told.or(self
            .command
            .as_ref()
            .filter(|_| orphan || job.directions.len() < 3));
        let index = ["read", "write", "trim"]
            .iter()
            .position(|kind| *kind == found.name);
        found.block = told.and_then(|told| told.blocks[index.unwrap_or(0)]);
        job.directions.push(found);
    }

    /// A line below a direction or a job.
    fn detail(&mut self, number: usize, line: &str) -> Result<(), InputError> {
        let Some(job) = self.run.jobs.last_mut() else {
            return Ok(());
        };
        if let Some(totals) = line.strip_prefix("issued rwts: total=") {
            issued(job, number, totals);
            return Ok(());
        }
        let Some(direction) = job.directions.last_mut() else {
            return Ok(());
        };
        let (head, rest) = line.split_once(':').unwrap_or((line, ""));
        let (kind, unit) = head.split_once('(').unwrap_or((head, ""));
        let (kind, unit) = (kind.trim(), unit.trim_end_matches([')', ' ']).trim());
        let wrong = |field: &str| InputError::new(number, field, "cannot be read");
        match kind {
            "slat" | "clat" | "lat" if rest.contains("min=") => {
                let factor = nanoseconds(unit).ok_or_else(|| wrong(kind))?;
                let found = spread(number, rest, factor).ok_or_else(|| wrong(kind))?;
                let latency = Latency {
                    smallest: found.smallest,
                    largest: found.largest,
                    mean: found.mean,
                    deviation: found.deviation,
                    count: None,
                };
                match kind {
                    "slat" => direction.submission = Some(latency),
                    "clat" => direction.completion = Some(latency),
                    _ => direction.total = Some(latency),
                }
            }
            "bw" if rest.contains("min=") => {
                let factor =
                    bytes(unit.trim_end_matches("/s").trim()).ok_or_else(|| wrong(kind))?;
                let found = spread(number, rest, factor).ok_or_else(|| wrong(kind))?;
                direction.bandwidth_samples = Some(found);
            }
            "iops" if rest.contains("min=") => {
                let found = spread(number, rest, 1.0).ok_or_else(|| wrong(kind))?;
                direction.rate_samples = Some(found);
            }
            "lat" if rest.contains('%') => shares(job, number, rest).ok_or_else(|| wrong(kind))?,
            "clat percentiles" => {
                self.percentile_unit = Some(nanoseconds(unit).ok_or_else(|| wrong(kind))?);
            }
            // Of other latencies; no rule looks at them.
            _ if kind.ends_with("percentiles") => self.percentile_unit = None,
            "latency" => {
                // What the engine made of the depth: io_uring's is a power of two.
                let depth = rest
                    .split_once("depth=")
                    .and_then(|(_, d)| Printed::read(number, d));
                let depth = depth.map(|(depth, _)| depth.value);
                job.depth = job.depth.zip(depth).map(|(told, made)| told.max(made));
            }
            _ if line.starts_with('|') => {
                if let Some(unit) = self.percentile_unit {
                    percentiles(direction, number, line, unit)
                        .ok_or_else(|| wrong("percentile"))?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// `rw=randrw, bs=(R) 16.0KiB-16.0KiB, (W) …, ioengine=libaio, iodepth=16`, or `bs=4K-4K/4K-4K/…`.
fn header(name: &str, rest: &str) -> Told {
    let mut told = Told {
        name: name.to_owned(),
        ..Told::default()
    };
    let after = |mark: &str| rest.split_once(mark).map(|(_, behind)| behind);
    for (index, mark) in ["(R) ", "(W) ", "(T) "].iter().enumerate() {
        let range = after(mark).and_then(|text| text.split(',').next());
        told.blocks[index] = range.and_then(fixed);
    }
    if let Some(old) = after("bs=").filter(|old| !old.starts_with('(')) {
        let ranges = old.split([',', ' ']).next().unwrap_or_default().split('/');
        for (slot, range) in told.blocks.iter_mut().zip(ranges) {
            *slot = fixed(range);
        }
    }
    let depth = after("iodepth=").and_then(|text| Printed::read(0, text));
    told.depth = depth.map(|(depth, _)| depth.value);
    told
}

/// The size of a range whose ends are alike. fio prints three digits: 512B, 16.0KiB, 128KiB.
fn fixed(range: &str) -> Option<f64> {
    let (low, high) = range.trim().split_once('-')?;
    (low == high).then(|| block_size(low)).flatten()
}

/// Options of a command line.
fn command(line: &str) -> Told {
    let option = |name: &str| {
        let words = line.split_whitespace();
        let mut found = words.filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        found
            .next()
            .map(|value| value.trim_end_matches(|c: char| !c.is_alphanumeric()))
    };
    let block = option("--bs").and_then(block_size);
    Told {
        name: option("--name").unwrap_or("fio").to_owned(),
        blocks: [block; 3],
        depth: Some(option("--iodepth").map_or(Some(1.0), |v| v.parse().ok())).flatten(),
        processes: Some(option("--numjobs").map_or(Some(1.0), |v| v.parse().ok())).flatten(),
    }
}

fn direction_of(line: &str) -> Option<&'static str> {
    let (head, rest) = line.split_once(':')?;
    let result = rest.contains("IOPS=") || rest.contains("iops=");
    let mut kinds = ["read", "write", "trim", "mixed"].into_iter();
    kinds.find(|kind| head.trim() == *kind && result)
}

fn summary_of(line: &str) -> Option<(&str, &str)> {
    let (head, rest) = line.split_once(": ")?;
    let kind = matches!(head.trim(), "READ" | "WRITE" | "TRIM");
    (kind && rest.contains("bw=")).then_some((head.trim(), rest))
}

fn direction(line: usize, kind: &str, text: &str) -> Option<Direction> {
    let mut found = Direction {
        name: kind.to_owned(),
        line,
        ..Direction::default()
    };
    let after = |mark: &str| text.split_once(mark).map(|(_, behind)| behind);
    if let Some(behind) = after("BW=") {
        // BW=433MiB/s (454MB/s)(1737MiB/4010msec)
        let mut parts = behind
            .split(['(', ')', ';'])
            .filter(|part| !part.trim().is_empty());
        found.bandwidth = Some(volume(line, parts.next()?.trim().strip_suffix("/s")?)?);
        found.bandwidth_again = Some(volume(line, parts.next()?.trim().strip_suffix("/s")?)?);
        let (bytes, time) = parts.next()?.split_once('/')?;
        found.bytes = Some(volume(line, bytes)?);
        found.time = Some(seconds(line, time)?);
        found.rate = Some(thousands(line, after("IOPS=")?.split(',').next()?)?);
    } else {
        // io=1467.8MB, bw=54679KB/s, iops=1782, runt= 60903msec; units of 1,024 whatever they say.
        let field = |mark: &str| after(mark).and_then(|text| text.split(',').next());
        found.bytes = Some(volume_of_1024(line, field("io=")?)?);
        let bandwidth = field("bw=")?.trim();
        found.bandwidth = Some(volume_of_1024(line, bandwidth.strip_suffix("/s")?)?);
        found.rate = Some(thousands(line, field("iops=")?)?);
        found.time = Some(seconds(line, field("runt=")?)?);
    }
    Some(found)
}

fn summary(line: usize, name: &str, rest: &str, group: u64) -> Option<Summary> {
    let part = |mark: &str| {
        let behind = rest.split_once(mark)?.1;
        behind.split("io=").next()?.split("run=").next()
    };
    let volumes = |text: &str| -> Option<Vec<Printed>> {
        let pieces = text.split(['(', ')', ',', '-']).map(str::trim);
        let pieces = pieces.filter(|piece| !piece.is_empty());
        pieces
            .map(|piece| volume(line, piece.trim_end_matches("/s")))
            .collect()
    };
    let time = rest.split_once("run=")?.1.trim().strip_suffix("msec")?;
    let times = time.split('-').map(|text| Printed::whole(line, text));
    Some(Summary {
        name: name.to_lowercase(),
        group,
        bandwidths: volumes(part("bw=")?)?,
        bytes: volumes(part("io=")?)?,
        times: times
            .map(|time| Some(time?.times(0.001).counted()))
            .collect::<Option<_>>()?,
    })
}

/// `111140,110838,0,0 short=…`: requests by direction.
fn issued(job: &mut Job, line: usize, totals: &str) {
    let totals = totals.split(' ').next().unwrap_or_default().split(',');
    let totals: Vec<Option<Printed>> = totals.map(|text| Printed::whole(line, text)).collect();
    for (kind, total) in ["read", "write", "trim"].iter().zip(totals) {
        for direction in job
            .directions
            .iter_mut()
            .filter(|found| found.name == *kind)
        {
            direction.requests = total.map(Printed::counted);
        }
    }
}

/// `min=12, max=20864, avg=268.22, stdev=1286.77`, also with `samples=7` and `per=99.52%`.
fn spread(line: usize, text: &str, factor: f64) -> Option<Samples> {
    let field = |mark: &str| {
        let behind = text.split_once(mark)?.1;
        thousands(line, behind.split(',').next()?)
    };
    Some(Samples {
        smallest: field("min=")?.times(factor),
        largest: field("max=")?.times(factor),
        mean: field("avg=")?.times(factor),
        deviation: field("stdev=")?.times(factor),
        count: field("samples=").map(Printed::counted),
    })
}

/// ` 20=0.01%, 100=86.84%`: shares.
fn shares(job: &mut Job, line: usize, text: &str) -> Option<()> {
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let (_, share) = part.split_once('=')?;
        job.shares
            .push(Printed::whole(line, share.trim().strip_suffix('%')?)?);
    }
    Some(())
}

/// `|  1.00th=[   83],  5.00th=[   85],`
fn percentiles(direction: &mut Direction, line: usize, text: &str, unit: f64) -> Option<()> {
    for part in text.trim_matches(['|', ' ', ',']).split("],") {
        let (percent, value) = part.trim().trim_end_matches(']').split_once("th=[")?;
        let value = Printed::whole(line, value)?.times(unit);
        direction
            .percentiles
            .push((percent.trim().parse().ok()?, value));
    }
    Some(())
}

/// A number with a suffix of thousands: 27.7k, 1362.7K, 54526k.
fn thousands(line: usize, text: &str) -> Option<Printed> {
    let (number, suffix) = Printed::read(line, text)?;
    match suffix.trim() {
        "" => Some(number),
        "k" | "K" => Some(number.times(1e3)),
        "m" | "M" => Some(number.times(1e6)),
        "g" | "G" => Some(number.times(1e9)),
        _ => None,
    }
}

fn seconds(line: usize, text: &str) -> Option<Printed> {
    let (number, unit) = Printed::read(line, text)?;
    match unit.trim() {
        "msec" => Some(number.times(0.001).counted()),
        "sec" => Some(number),
        _ => None,
    }
}

fn volume(line: usize, text: &str) -> Option<Printed> {
    let (number, unit) = Printed::read(line, text)?;
    Some(number.times(bytes(unit.trim())?))
}

fn volume_of_1024(line: usize, text: &str) -> Option<Printed> {
    let (number, unit) = Printed::read(line, text)?;
    Some(number.times(bytes(&unit.trim().replace('B', "iB"))?))
}

/// Bytes of a unit.
fn bytes(unit: &str) -> Option<f64> {
    Some(match unit {
        "B" | "iB" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1048576.0,
        "GiB" => 1073741824.0,
        "TiB" => 1099511627776.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        _ => return None,
    })
}

fn nanoseconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "nsec" => 1.0,
        "usec" => 1e3,
        "msec" => 1e6,
        "sec" => 1e9,
        _ => return None,
    })
}
