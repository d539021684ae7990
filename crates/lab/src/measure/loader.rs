//! Asks a device as fast as it answers, with so many requests under way, for a slice of time.
//!
//! One thread, as a program has it that links the library. A request's time is from before it is
//! submitted until its answer was handed out; looking at the clock costs some 50 ns, for every
//! subject the same.

use std::time::{Duration, Instant};

use block::sim::Random;
use block::{Buffer, Completion, Driver, Durability, Queue, Request};

use super::cpu::{Workers, process_ns};
use super::sample::{Mark, Sample, WINDOWS};
use super::source::Source;
use super::spec::Operation;
use crate::error::{Error, Kind, Result};

/// A device that does not answer within this is given up.
const ANSWER_MAX: Duration = Duration::from_secs(20);

/// How it is asked.
pub(super) struct Asking<'a> {
    /// Bytes of a request.
    pub(super) size: u32,
    /// Requests under way.
    pub(super) depth: u32,
    pub(super) slice_ns: u64,
    /// Loop devices on the way, by name.
    pub(super) loops: &'a [String],
}

/// Asks for a slice what `source` decides; `told` hears after each window which share is over.
pub(super) fn ask(
    queue: &mut dyn Queue,
    driver: &Driver,
    asking: &Asking<'_>,
    source: &mut dyn Source,
    told: &mut dyn FnMut(f64),
) -> Result<Sample> {
    let depth = asking.depth as usize;
    let mut run = Run {
        source,
        begun: vec![0; depth],
        start: Instant::now(),
    };
    let length = asking.size as usize;
    let buffers: Vec<Buffer> = (0..depth).map(|_| filled(length)).collect();
    let workers = Workers::look(asking.loops);
    run.start = Instant::now();
    let step = (asking.slice_ns / WINDOWS).max(1);
    let mut latencies: Vec<u32> = Vec::with_capacity(1 << 16);
    let mut marks = vec![run.mark(0)];
    let mut due = step;
    let mut done: Vec<Completion> = Vec::with_capacity(depth);
    for (tag, buffer) in buffers.into_iter().enumerate() {
        run.submit(queue, tag as u64, buffer);
    }
    let mut is_over = false;
    let mut waited = Instant::now();
    while !is_over || queue.in_flight() > 0 {
        queue.poll(&mut done);
        if done.is_empty() {
            driver
                .wait(&mut [], Some(Duration::from_secs(1)))
                .map_err(failed)?;
            if waited.elapsed() > ANSWER_MAX {
                return Err(Error::new(Kind::Io, "the device does not answer"));
            }
            continue;
        }
        waited = Instant::now();
        let now = run.now();
        for answer in done.drain(..) {
            answer.result.map_err(failed)?;
            if is_over {
                continue;
            }
            let ns = now - run.begun[answer.tag as usize];
            latencies.push(u32::try_from(ns).unwrap_or(u32::MAX));
            run.submit(queue, answer.tag, answer.buffer);
        }
        if !is_over && now >= due {
            marks.push(run.mark(latencies.len()));
            due = now + step;
            told((now as f64 / asking.slice_ns.max(1) as f64).min(1.0));
            is_over = now >= asking.slice_ns && marks.len() > 2;
        }
    }
    let used = Workers::look(asking.loops).since(&workers, asking.loops);
    Ok(Sample::cut(&marks, &latencies, used))
}

struct Run<'a> {
    source: &'a mut dyn Source,
    /// When each request under way was asked, in nanoseconds since the start.
    begun: Vec<u64>,
    start: Instant,
}

impl Run<'_> {
    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn mark(&self, answers: usize) -> Mark {
        Mark {
            at_ns: self.now(),
            cpu_ns: process_ns(),
            answers,
        }
    }

    fn submit(&mut self, queue: &mut dyn Queue, tag: u64, buffer: Buffer) {
        let asked = self.source.next(tag);
        let request = match asked.operation {
            Operation::Read => Request::read(tag, asked.at, buffer),
            Operation::Write => Request::write(tag, asked.at, Durability::Volatile, buffer),
        };
        self.begun[tag as usize] = self.now();
        queue.submit(request);
    }
}

/// Bytes that no layer below can leave out.
fn filled(length: usize) -> Buffer {
    let mut buffer = Buffer::zeroed(length);
    let mut random = Random::new(length as u64);
    for byte in buffer.iter_mut() {
        *byte = random.number() as u8;
    }
    buffer
}

pub(super) fn failed(error: impl std::fmt::Display) -> Error {
    Error::new(Kind::Io, error.to_string())
}
