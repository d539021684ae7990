//! fio's JSON.

use super::model::{Direction, Job, Latency, Run, Samples};
use crate::audit::json::Node;
use crate::audit::printed::Printed;
use crate::workload::InputError;

/// Reads a run from the JSON of `--output-format=json` or `json+`.
pub(in crate::audit) fn parse(text: &str) -> Result<Run, InputError> {
    let root = Node::parse(text)?;
    let jobs = root.get("jobs").or_else(|| root.get("client_stats"));
    let Some(jobs) = jobs.filter(|jobs| !jobs.list().is_empty()) else {
        return Err(InputError::new(
            root.line,
            "jobs",
            "no fio result: there are no jobs",
        ));
    };
    let globals = root.get("global options");
    let jobs = jobs.list().iter().map(|node| job(node, globals));
    Ok(Run {
        jobs: jobs.collect::<Result<_, _>>()?,
        groups: Vec::new(),
    })
}

fn job(node: &Node, globals: Option<&Node>) -> Result<Job, InputError> {
    let own = node.get("job options");
    let option = |name: &str| {
        let found = own.and_then(|node| node.text(name));
        found.or_else(|| globals.and_then(|node| node.text(name)))
    };
    let count = |name: &str| option(name).map_or(Some(1.0), |text| text.parse().ok());
    let name = node.text("jobname").unwrap_or("job").to_owned();
    let mut directions = Vec::new();
    for kind in ["read", "write", "trim"] {
        if let Some(found) = node.get(kind) {
            let block = option("bs").or_else(|| option("blocksize")).unwrap_or("4k");
            let mixed = ["bsrange", "bssplit", "bs_unaligned"]
                .iter()
                .any(|o| option(o).is_some());
            let block = block_of(block, kind).filter(|_| !mixed);
            directions.push(direction(found, kind, block)?);
        }
    }
    directions.retain(|direction| direction.requests.is_some_and(|n| n.value > 0.0));
    let mut shares = Vec::new();
    for kind in ["latency_ns", "latency_us", "latency_ms"] {
        for (name, share) in node.get(kind).map(Node::members).unwrap_or_default() {
            shares.push(share.as_number(name)?);
        }
    }
    Ok(Job {
        name,
        line: node.line,
        group: node
            .number("groupid")?
            .map_or(0, |group| group.value as u64),
        // A group that was printed as one has all processes in one entry; with none of them
        // grouped each has an entry of its own, which holds one process.
        processes: count("numjobs"),
        // What the engine made of the depth: io_uring's is a power of two.
        depth: match (count("iodepth"), node.number("latency_depth")?) {
            (Some(told), Some(made)) => Some(told.max(made.value)),
            (told, _) => told,
        },
        directions,
        shares,
    })
}

/// The block size of a direction in an option like `16k` or `4k,8k`; none if it is a range.
fn block_of(option: &str, kind: &str) -> Option<f64> {
    let parts: Vec<&str> = option.split(',').collect();
    let index = match kind {
        "read" => 0,
        "write" => 1,
        _ => 2,
    };
    let text = parts.get(index).or_else(|| parts.last())?.trim();
    block_size(text)
}

/// Bytes of a block size as fio's options have it: 512, 4k, 1M, 4KiB.
pub(super) fn block_size(text: &str) -> Option<f64> {
    let (number, unit) = Printed::read(0, text)?;
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "ki" | "kib" | "kb" => 1024.0,
        "m" | "mi" | "mib" | "mb" => 1048576.0,
        "g" | "gi" | "gib" | "gb" => 1073741824.0,
        _ => return None,
    };
    (number.value > 0.0).then_some(number.value * factor)
}

fn direction(node: &Node, kind: &str, block: Option<f64>) -> Result<Direction, InputError> {
    let scaled = |name: &str, factor: f64| -> Result<Option<Printed>, InputError> {
        Ok(node.number(name)?.map(|number| number.times(factor)))
    };
    // Whole numbers were cut off where they are quotients.
    let cut = |name: &str, factor: f64| -> Result<Option<Printed>, InputError> {
        let number = node.number(name)?;
        Ok(number.map(|number| {
            Printed {
                step: 1.0,
                ..number
            }
            .times(factor)
        }))
    };
    let mut percentiles = Vec::new();
    if let Some(found) = node
        .get("clat_ns")
        .and_then(|latency| latency.get("percentile"))
    {
        for (name, value) in found.members() {
            let percent: f64 = name.parse().unwrap_or(f64::NAN);
            let value = value.as_number(name)?;
            percentiles.extend(percent.is_finite().then_some((percent, value)));
        }
    }
    Ok(Direction {
        name: kind.to_owned(),
        line: node.line,
        block,
        bytes: node.number("io_bytes")?,
        bytes_again: cut("io_kbytes", 1024.0)?,
        bandwidth: cut("bw_bytes", 1.0)?,
        bandwidth_again: cut("bw", 1024.0)?,
        rate: node.number("iops")?,
        time: scaled("runtime", 0.001)?,
        requests: node.number("total_ios")?,
        submission: latency(node, "slat_ns")?,
        completion: latency(node, "clat_ns")?,
        total: latency(node, "lat_ns")?,
        percentiles,
        bandwidth_samples: samples(node, ["bw_min", "bw_max", "bw_mean", "bw_dev"], 1024.0)?,
        rate_samples: samples(
            node,
            ["iops_min", "iops_max", "iops_mean", "iops_stddev"],
            1.0,
        )?,
    })
}

fn latency(node: &Node, name: &str) -> Result<Option<Latency>, InputError> {
    let Some(node) = node.get(name) else {
        return Ok(None);
    };
    let numbers = ["min", "max", "mean", "stddev"].map(|name| node.number(name));
    let [smallest, largest, mean, deviation] = numbers;
    let (Some(smallest), Some(largest), Some(mean), Some(deviation)) =
        (smallest?, largest?, mean?, deviation?)
    else {
        return Ok(None);
    };
    let count = node.number("N")?;
    if count.is_some_and(|count| count.value == 0.0) || largest.value == 0.0 {
        return Ok(None);
    }
    Ok(Some(Latency {
        smallest,
        largest,
        mean,
        deviation,
        count,
    }))
}

fn samples(node: &Node, names: [&str; 4], factor: f64) -> Result<Option<Samples>, InputError> {
    let [smallest, largest, mean, deviation] = names.map(|name| node.number(name));
    let (Some(smallest), Some(largest), Some(mean), Some(deviation)) =
        (smallest?, largest?, mean?, deviation?)
    else {
        return Ok(None);
    };
    let whole = |number: Printed| {
        Printed {
            step: 1.0,
            ..number
        }
        .times(factor)
    };
    Ok(Some(Samples {
        smallest: whole(smallest),
        largest: whole(largest),
        mean: mean.times(factor),
        deviation: deviation.times(factor),
        count: node.number(if factor > 1.0 {
            "bw_samples"
        } else {
            "iops_samples"
        })?,
    }))
}
