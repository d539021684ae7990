//! Reads a job file.

use super::job::Job;
use super::options;
use crate::workload::InputError;

/// Jobs of a file.
const JOBS_MAX: usize = 10_000;

/// The jobs of a file, in order, each with the options of the `[global]` sections before it.
///
/// Lines that begin with `;` or `#` are comments. An option that is not known is an error that
/// names it and its line; so is a job that cannot be (no region, blocks larger than it).
pub fn parse(text: &str) -> Result<Vec<Job>, InputError> {
    let jobs = read(text)?;
    jobs.iter().try_for_each(check)?;
    Ok(jobs)
}

/// The same, on a device of so many bytes: a job without a size has all that is left of it.
pub fn parse_on(text: &str, device: u64) -> Result<Vec<Job>, InputError> {
    let mut jobs = read(text)?;
    for job in jobs.iter_mut().filter(|job| job.size == 0) {
        let last = u64::from(job.processes.max(1) - 1).saturating_mul(job.offset_increment);
        job.size = device.saturating_sub(job.offset.saturating_add(last));
    }
    jobs.iter().try_for_each(check)?;
    Ok(jobs)
}

/// The jobs, as they stand there.
fn read(text: &str) -> Result<Vec<Job>, InputError> {
    let mut global = Job::default();
    let mut jobs: Vec<Job> = Vec::new();
    let mut in_global = true;
    let mut begun = false;
    for (index, line) in text.lines().enumerate() {
        let (number, line) = (index + 1, line.trim());
        if line.is_empty() || line.starts_with([';', '#']) {
            continue;
        }
        if let Some(section) = line.strip_prefix('[') {
            let name = section
                .strip_suffix(']')
                .map(str::trim)
                .filter(|name| !name.is_empty());
            let wrong = || InputError::new(number, section, "a section is written [name]");
            let name = name.ok_or_else(wrong)?;
            begun = true;
            in_global = name == "global";
            if !in_global {
                jobs.push(Job {
                    name: name.to_owned(),
                    line: number,
                    ..global.clone()
                });
            }
            if jobs.len() > JOBS_MAX {
                return Err(InputError::new(number, name, "too many jobs"));
            }
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let (key, value) = (key.trim(), value.trim());
        if !begun {
            return Err(InputError::new(
                number,
                key,
                "an option before the first [section]",
            ));
        }
        let job = match jobs.last_mut() {
            Some(job) if !in_global => job,
            _ => &mut global,
        };
        options::set(job, number, key, value)?;
    }
    if jobs.is_empty() {
        return Err(InputError::new(0, "jobs", "the file has no job"));
    }
    Ok(jobs)
}

fn check(job: &Job) -> Result<(), InputError> {
    let refuse = |field: &str, problem: &str| Err(InputError::new(job.line, field, problem));
    let block = job.block[0].max(job.block[1]);
    if job.size == 0 {
        return refuse(
            "size",
            "the job needs one: there is no file to take it from",
        );
    }
    if job.size < block {
        return refuse("size", "smaller than a block");
    }
    let last = u64::from(job.processes - 1).checked_mul(job.offset_increment);
    let end = last.and_then(|last| last.checked_add(job.offset)?.checked_add(job.size));
    if end.is_none_or(|end| end > i64::MAX as u64) {
        return refuse("offset", "the last process works behind 8 EiB");
    }
    if job.time_based && job.runtime.is_none() {
        return refuse("time_based", "needs a runtime");
    }
    Ok(())
}
