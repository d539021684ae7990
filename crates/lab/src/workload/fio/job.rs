//! A job, as its file has it.

use super::distribution::Distribution;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

/// The order of offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// One block behind the other.
    Sequential,
    /// By the job's distribution.
    Random,
}

/// Which requests a job makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// Reads alone.
    Reads,
    /// Writes alone.
    Writes,
    /// Both, by the job's percentage.
    Both,
}

/// When requests are issued, if a rate is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// At even times.
    Even,
    /// With exponential gaps.
    Poisson,
}

/// A job: what one process of it does, and how many there are.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its name, from the file's brackets.
    pub name: String,
    /// Line of its name.
    pub line: usize,
    /// Sequential or random.
    pub pattern: Pattern,
    /// Reads, writes, or both.
    pub mix: Mix,
    /// Percent of reads where both are made.
    pub mix_percent: u32,
    /// Bytes of a read and of a write.
    pub block: [u64; 2],
    /// Requests under way at once.
    pub depth: u32,
    /// Processes of the job.
    pub processes: u32,
    /// Bytes of the region that a process works on; 0 for all there is.
    pub size: u64,
    /// Bytes that a process moves before it ends; once the region if not set.
    pub volume: Option<u64>,
    /// Where the region begins, in bytes.
    pub offset: u64,
    /// Bytes by which each further process's region begins later.
    pub offset_increment: u64,
    /// Nanoseconds after which the job ends.
    pub runtime: Option<u64>,
    /// Whether the job begins again until its run time is over.
    pub time_based: bool,
    /// Nanoseconds at the beginning that are not counted.
    pub ramp: u64,
    /// Requests per second that are not exceeded, of a process.
    pub rate: Option<u64>,
    /// How they arrive.
    pub arrival: Arrival,
    /// Nanoseconds between the end of a request and the next.
    pub think: u64,
    /// Where random requests go.
    pub distribution: Distribution,
    /// Whether a block may be taken again before all others were.
    pub repeats: bool,
    /// Percent of random requests in a random pattern; the others follow their predecessor.
    pub random_percent: u32,
    /// Seed of the offsets and directions.
    pub seed: u64,
    /// A flush after so many writes.
    pub flush_every: Option<u32>,
    /// Whether the job waits for those before it.
    pub waits: bool,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            name: String::new(),
            line: 0,
            pattern: Pattern::Sequential,
            mix: Mix::Reads,
            mix_percent: 50,
            block: [4096; 2],
            depth: 1,
            processes: 1,
            size: 0,
            volume: None,
            offset: 0,
            offset_increment: 0,
            runtime: None,
            time_based: false,
            ramp: 0,
            rate: None,
            arrival: Arrival::Even,
            think: 0,
            distribution: Distribution::Uniform,
            repeats: false,
            random_percent: 100,
            seed: 0x89,
            flush_every: None,
            waits: false,
        }
    }
}
