//! The terms of Eq. 1: requests of each class, times what they take on the volume.
//!
//! ```text
//!   T_DO    the directory, read once
//!   T_MO    lists: read where memory lost them, written where nothing changed them for 30 s
//!   T_FL    bitmaps, read once
//!   T_DFA   pages: read where memory lost them, written once a cycle if they live so long
//!   T_J     each commit: the log, then the record, far from the pool
//! ```
//!
//! The device is what everything waits for, or else the processor is: the time is the larger sum.
//! What the caller waits for a class is the class's share of the device's time.

use super::super::explain::{Estimate, around};
use super::super::predictor::Model;
use super::super::subject::{Above, Arrivals, Load, Pattern, Volume};
use super::cache::{Crowd, characteristic_time, hit};
use super::cycle::{Cycle, Rates, cycle, limit};
use super::journal::{distinct, log_blocks};
use super::pool::Pool;
use crate::component::Component;
use crate::error::{Error, Kind, Result};
use crate::filesystem::{BLOCK, Barrier, Geometry, Index, Journaling, LogPlace, Options};
use crate::layout::Layout;
use crate::stats::real::exp;
use crate::workload::postmark::Settings;

/// Blocks of 512 bytes of a page.
const SECTORS: u64 = 8;
/// Parts of a group over which processes spread their files.
const COLOURS: u64 = 16;
/// Rounds in which the time of the run and its parts are made to agree.
const ROUNDS: usize = 14;
/// Bytes of a name's entry in a directory: 8, and a number of five digits.
const ENTRY: f64 = 16.0;
/// How full a directory's blocks are: they are split in halves.
const FULL: f64 = 0.75;
/// The relative standard deviation of the prediction itself: of its errors against emulations.
const OWN: f64 = 0.25;
/// The same of a single term.
const OWN_TERM: f64 = 0.5;

/// What a program on a file system is predicted to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FilePrediction {
    /// From the first creation to the last deletion, in nanoseconds.
    pub elapsed_ns: Estimate,
    /// What the processor computes, in nanoseconds.
    pub processor_ns: f64,
    /// How long the caller waits for each class, in the order of [`Component::ALL`].
    pub terms: [Estimate; Component::ALL.len()],
    /// The share of the pages of files that are found in memory.
    pub hits: f64,
    /// Commits.
    pub commits: f64,
    /// Blocks of 4,096 bytes of data that are written.
    pub data_written: f64,
    /// Blocks of data that are read.
    pub data_read: f64,
    /// Blocks of the log.
    pub log_written: f64,
}

/// `PostMark` on a volume, as a question.
#[derive(Debug, Clone)]
pub struct Files {
    volume: Volume,
    above: Above,
    options: Options,
    geometry: Geometry,
    pool: Pool,
}

/// Requests of the whole run, and what they take.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    busy_ns: [f64; Component::ALL.len()],
    commits: f64,
    data_written: f64,
    data_read: f64,
    log_written: f64,
    hits: f64,
}

impl Files {
    /// The question what `settings` do on `layout` under the file system and kernel of `options`;
    /// `seed` decides shuffled orders. What has no formula is refused by name.
    pub fn new(layout: &Layout, settings: &Settings, options: &Options, seed: u64) -> Result<Self> {
        let refused = |what: &str| {
            let what = format!("{what} cannot be predicted; emulate it");
            Err(Error::new(Kind::Unsupported, what))
        };
        if options.journaling == Journaling::None {
            return refused("a file system without a log");
        }
        if options.barrier == Barrier::On {
            return refused("a log with barriers");
        }
        if options.index == Index::Linear {
            return refused("directories without an index");
        }
        if !settings.locations.is_empty() || settings.subdirectories > 1 {
            return refused("PostMark in several directories");
        }
        let pool = Pool::count(settings, &options.costs)?;
        if pool.appends < 1.0 || pool.made < 1.0 || pool.deleted < 1.0 {
            return refused("PostMark without appends, creations or deletions");
        }
        let (volume, above) = Volume::described(layout, seed)?;
        let geometry = Geometry::new(layout.size(), options)?;
        let (log, blocks) = (f64::from(options.log_blocks), f64::from(geometry.blocks));
        if log * 2.0 > blocks || pool.pages.max(pool.pages_first) + log > blocks {
            let what = format!(
                "a log of {log} blocks and files of {:.0} do not fit into {blocks} blocks",
                pool.pages
            );
            return Err(Error::new(Kind::Impossible, what));
        }
        Ok(Self {
            geometry,
            volume,
            above,
            options: options.clone(),
            pool,
        })
    }

    /// What the program does, counted.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The prediction with its 95 % intervals.
    pub fn predict(&self) -> Result<FilePrediction> {
        let processor = self.pool.processor_ns;
        let mut elapsed = processor * 10.0;
        let mut sums = Sums::default();
        for _ in 0..ROUNDS {
            sums = self.sums(elapsed)?;
            let busy: f64 = sums.busy_ns.iter().sum();
            elapsed = f64::midpoint(elapsed, busy.max(processor));
        }
        let busy: f64 = sums.busy_ns.iter().sum();
        let elapsed = busy.max(processor) + alone(&sums).min(processor);
        let share = (elapsed - processor) / busy.max(1.0);
        Ok(FilePrediction {
            elapsed_ns: around(elapsed, OWN),
            processor_ns: processor,
            terms: sums.busy_ns.map(|busy| around(busy * share, OWN_TERM)),
            hits: sums.hits,
            commits: sums.commits,
            data_written: sums.data_written,
            data_read: sums.data_read,
            log_written: sums.log_written,
        })
    }

    /// What reaches the device in a run of `elapsed` nanoseconds.
    fn sums(&self, elapsed: f64) -> Result<Sums> {
        let pool = &self.pool;
        let seconds = |ns: u64| ns as f64 / elapsed.max(1.0) * pool.transactions;
        let found = cycle(pool, &self.options, seconds(self.options.commit_ns));
        let counted = (pool.transactions - self.before_all(&found)).max(0.0);
        let mut sums = Sums::default();
        self.data(&mut sums, &found, counted)?;
        let aged = seconds(self.options.expire_ns + self.options.wakeup_ns / 2);
        self.metadata(&mut sums, &found, counted, aged)?;
        self.log(&mut sums, &found, counted)?;
        Ok(sums)
    }

    /// Transactions that pass before anything must be written: within the first 5 s, as long as
    /// less is dirty than what is written in the background.
    fn before_all(&self, cycle: &Cycle) -> f64 {
        let pool = &self.pool;
        let rates = Rates::of(pool);
        let background = limit(&self.options) * self.options.background_percent as f64
            / self.options.dirty_percent.max(1) as f64;
        let least = self.options.commit_ns as f64 / pool.processor_ns * pool.transactions;
        let left = background - pool.pages_first;
        if left <= 0.0 {
            return 0.0;
        }
        // What is dirty never exceeds the pool.
        let most = if pool.pages.max(pool.pages_first) < background {
            f64::INFINITY
        } else {
            left / rates.dirtied
        };
        let passed = most.min(least);
        if passed < pool.transactions {
            passed.min(cycle.transactions)
        } else {
            pool.transactions
        }
    }

    /// Blocks of 512 bytes over which the pool is spread, from the first.
    fn spread(&self, cycle: &Cycle) -> (u64, u64) {
        let rates = Rates::of(&self.pool);
        let gaps = 1.0 + 1.5 * cycle.transactions * rates.died;
        let group = u64::from(self.geometry.end(0));
        let colour = u64::from(self.options.process) % COLOURS * group / COLOURS;
        let first = colour.max(u64::from(self.geometry.overhead(0))) * SECTORS;
        let room = u64::from(self.geometry.blocks) * SECTORS - first;
        let pages = (self.pool.pages.max(1.0) * gaps.min(2.0)) as u64;
        (first, (pages * SECTORS).clamp(1024, room))
    }

    /// What a request of `pages` takes anywhere in a region, one after the other.
    fn service(&self, region: (u64, u64), pages: f64, reads: bool) -> Result<f64> {
        let blocks = (pages.max(1.0).round() as u64 * SECTORS).min(region.1);
        let load = Load {
            pattern: Pattern::Random {
                hot_share: 0,
                hot_blocks: 0,
            },
            region_start: region.0,
            region_blocks: region.1,
            reads: if reads { 1000 } else { 0 },
            blocks,
            grain: SECTORS,
            arrivals: Arrivals::Closed { depth: 1 },
            warm_up: 0,
            counted: 10_000,
        };
        let model = Model::new(&self.volume, &self.above, &load)?;
        Ok(1e9 / model.predict().0.per_second.max(1e-9))
    }

    /// `T_DFA`.
    fn data(&self, sums: &mut Sums, cycle: &Cycle, counted: f64) -> Result<()> {
        let pool = &self.pool;
        let region = self.spread(cycle);
        let rates = Rates::of(pool);
        let held = (cycle.transactions * rates.dirtied).min(limit(&self.options));
        let memory = (self.options.memory_bytes / BLOCK) as f64;
        let each = (rates.read + rates.died * pool.files) / pool.files;
        let tails = rates.appended / pool.files;
        let crowds = [
            Crowd {
                items: pool.pages - pool.files,
                rate: each,
            },
            Crowd {
                items: pool.files,
                rate: each + tails,
            },
        ];
        let time = characteristic_time(&crowds, (memory - held).max(1.0));
        sums.hits = hit(each, time);
        sums.data_read = pool.read_pages * (1.0 - sums.hits);
        let run = (pool.pages / pool.files / cycle.pieces).max(1.0);
        let ahead = (self.options.read_ahead_bytes / BLOCK).max(1) as f64;
        let reads = sums.data_read / run.min(ahead);
        let mut busy = 0.0;
        if reads > 0.0 {
            busy += reads * self.service(region, run.min(ahead), true)?;
        }
        if counted > 0.0 {
            let request = (self.options.request_bytes / BLOCK) as f64;
            let first = pool.pages_first / request;
            busy += first * self.service(region, request, false)?;
            let requests = cycle.requests * counted;
            busy += requests * self.service(region, cycle.pages / cycle.requests, false)?;
            sums.data_written = pool.pages_first + cycle.pages * counted;
        }
        sums.busy_ns[Component::FileData as usize] = busy;
        Ok(())
    }

    /// `T_DO`, `T_MO`, `T_FL`.
    fn metadata(&self, sums: &mut Sums, cycle: &Cycle, counted: f64, aged: f64) -> Result<()> {
        let pool = &self.pool;
        let region = self.spread(cycle);
        let read = self.service(region, 1.0, true)?;
        let groups = (region.1 / SECTORS).div_ceil(u64::from(self.geometry.end(0)));
        sums.busy_ns[Component::Directory as usize] = read;
        sums.busy_ns[Component::FreeList as usize] = (groups as f64 + 1.0) * read;
        let rates = Rates::of(pool);
        let each = 1.0 / pool.transactions;
        // What is changed again waits for the next commit, and for its age from there.
        let waits = aged + cycle.transactions / 2.0;
        let changed = (pool.made_listed + pool.appended_listed) * each;
        let quiet = exp(-(rates.died + rates.appended / pool.files) * waits);
        let writes = changed * quiet * counted;
        // A list is used for each page, and so twice: it goes through both lists of the cache.
        let missed = (1.0 - sums.hits) * (1.0 - sums.hits);
        let used = pool.read_listed + pool.appended_listed + pool.deleted_listed;
        let reads = 1.0 + used * missed;
        let mut busy = reads * read;
        if writes > 0.0 {
            busy += writes * self.service(region, 1.0, false)?;
        }
        sums.busy_ns[Component::Metadata as usize] = busy;
        Ok(())
    }

    /// Blocks of metadata that a cycle changes, and blocks of lists that it frees.
    fn changed(&self, cycle: &Cycle) -> (f64, f64) {
        let pool = &self.pool;
        let rates = Rates::of(pool);
        let (each, n) = (1.0 / pool.transactions, cycle.transactions);
        let deaths = rates.died * pool.files;
        let inodes = n * (rates.made + rates.appended + rates.read + deaths);
        let tables = pool.files / f64::from(self.geometry.inodes_per_block);
        let directory = (pool.files * ENTRY / BLOCK as f64 / FULL).ceil();
        let files = pool.files * pool.read_listed / pool.reads.max(1.0);
        let lists = (pool.made_listed + pool.appended_listed) * each * n;
        let groups = self.spread(cycle).1 / SECTORS / u64::from(self.geometry.end(0)) + 1;
        let inode_groups = (pool.files / f64::from(self.geometry.inodes_per_group)).ceil();
        let all = distinct(tables, inodes)
            + distinct(directory, n * (rates.made + deaths))
            + distinct(files, lists)
            // Bitmaps; the descriptors, the superblock.
            + groups as f64
            + inode_groups
            + 2.0;
        (all, pool.deleted_listed * each * n)
    }

    /// `T_J`.
    fn log(&self, sums: &mut Sums, cycle: &Cycle, counted: f64) -> Result<()> {
        if counted <= 0.0 {
            return Ok(());
        }
        let (metadata, revoked) = self.changed(cycle);
        let blocks = log_blocks(metadata, revoked).min(f64::from(self.options.log_blocks / 4));
        sums.commits = (counted / cycle.transactions).max(1.0);
        sums.log_written = sums.commits * blocks;
        let pool = self.spread(cycle);
        let log = u64::from(self.options.log_blocks) * SECTORS;
        let at = match self.options.log_place {
            LogPlace::Middle => u64::from(self.geometry.start(self.geometry.groups / 2)) * SECTORS,
            LogPlace::Start => pool.0,
        };
        // The arm goes to the log and comes back, so half of its ways are that far.
        let near = (
            at,
            log.min(self.volume.blocks().saturating_sub(at))
                .max(SECTORS),
        );
        let far = (pool.0, (at + near.1).saturating_sub(pool.0).max(pool.1));
        let request = (self.options.request_bytes / BLOCK) as f64;
        let copies = self.service(near, (blocks - 1.0).min(request), false)?
            * ((blocks - 1.0) / request).max(1.0);
        let busy = copies + self.service(far, 1.0, false)?;
        sums.busy_ns[Component::Journal as usize] = sums.commits * busy;
        Ok(())
    }
}

/// What the device does while the processor waits, though it is not what holds the run up: first
/// reads.
fn alone(sums: &Sums) -> f64 {
    let of = |class: Component| sums.busy_ns[class as usize];
    if sums.data_written > 0.0 {
        return 0.0;
    }
    of(Component::Directory) + of(Component::Metadata) + of(Component::FreeList)
}
