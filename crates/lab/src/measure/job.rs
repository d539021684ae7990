//! A job of fio on a real device, in this process, for a stated time: what `explain` holds beside
//! what was predicted.
//!
//! The job begins again until the time is over; its own run time, volume and ramp are not used,
//! since the beginning is cut off by the rule of [`Sample`]. Writes are not made durable one by
//! one. What the loader cannot do (rates, thinking, flushes, requests of two sizes) is refused.

use block::{Device, Driver};

use super::loader::{Asking, ask, failed};
use super::sample::Sample;
use super::source::JobSource;
use crate::error::{Error, Kind, Result};
use crate::workload::fio::{Job, Mix};

/// Requests under way at most.
const DEPTH_MAX: u64 = 1024;
/// Bytes of a request at most.
const BYTES_MAX: u64 = 64 << 20;

/// What a job did on a device.
#[derive(Debug, Clone, PartialEq)]
pub struct JobMeasured {
    /// Requests answered per second.
    pub per_second: f64,
    /// The mean time from asking to the answer, in nanoseconds.
    pub response_ns: f64,
    /// Requests under way on average, by Little's law.
    pub outstanding: f64,
    /// The slice that it comes from, less its beginning.
    pub sample: Sample,
}

/// Runs `job` on `device` for `slice_ns` nanoseconds; `told` hears which share is over. Writes
/// destroy what the device holds.
pub fn job(
    device: &dyn Device,
    job: &Job,
    slice_ns: u64,
    told: &mut dyn FnMut(f64),
) -> Result<JobMeasured> {
    let refused = |what: &str| {
        let what = format!("{what} cannot be measured here; attach the volume and run fio");
        Err(Error::new(Kind::Unsupported, what))
    };
    if job.rate.is_some_and(|rate| rate > 0) {
        return refused("a job that keeps a rate");
    }
    if job.think > 0 {
        return refused("a job that thinks between requests");
    }
    if job.flush_every.is_some() && job.mix != Mix::Reads {
        return refused("a job with flushes");
    }
    let bytes = match job.mix {
        Mix::Writes => job.block[1],
        Mix::Both if job.block[0] != job.block[1] => {
            return refused("reads and writes of different sizes");
        }
        _ => job.block[0],
    };
    let mut job = job.clone();
    job.block = [bytes; 2];
    let processes = u64::from(job.processes.max(1));
    let (info, last) = (device.info(), processes - 1);
    let end = last
        .checked_mul(job.offset_increment)
        .and_then(|by| by.checked_add(job.offset)?.checked_add(job.size));
    if end.is_none_or(|end| end > info.size) {
        let what = format!("the job ends behind the last of {} bytes", info.size);
        return Err(Error::new(Kind::Impossible, what));
    }
    let block = u64::from(info.logical_block);
    if bytes == 0 || bytes > BYTES_MAX || [bytes, job.offset].iter().any(|n| n % block != 0) {
        let what = format!("requests must be of whole blocks of {block} bytes, 64 MiB at most");
        return Err(Error::new(Kind::Impossible, what));
    }
    let mut source = JobSource::new(&job)?;
    let asking = Asking {
        size: bytes as u32,
        depth: (u64::from(job.depth) * processes).clamp(1, DEPTH_MAX) as u32,
        slice_ns,
        loops: &[],
    };
    let driver = Driver::new().map_err(failed)?;
    let mut queue = device.open_queue(&driver).map_err(failed)?;
    let sample = ask(&mut *queue, &driver, &asking, &mut source, told)?;
    let seconds = sample.elapsed_ns as f64 / 1e9;
    let per_second = sample.answers as f64 / seconds.max(1e-9);
    let response_ns = sample.latency.mean().unwrap_or(0.0);
    Ok(JobMeasured {
        per_second,
        response_ns,
        outstanding: per_second * response_ns / 1e9,
        sample,
    })
}
