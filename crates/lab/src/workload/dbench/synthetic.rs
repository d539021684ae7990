//! A load with dbench's numbers of requests and bytes, made from a seed.
//!
//! Sessions follow each other. In one of four a client saves: it writes a new file, perhaps flushes
//! it and gives it another name, and removes an old one; in the others it reads a part of a file
//! that is there. Before and between them it asks about paths, looks through directories and looks
//! for what is not there. Each kind of request is spread evenly over the sessions, so that the
//! numbers are in the published proportions to within one request.
//!
//! The order of requests, the sizes of files and the places that are read are ours; of the real
//! load only the sums are known. Warm-up: the files that the sessions begin with are written.

use super::load::{Builder, Load, Operation, PathNumber};
use block::sim::Random;

/// Numbers of requests and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mix {
    /// Requests in all.
    pub requests: u64,
    /// Of them reads.
    pub reads: u64,
    /// Bytes of the reads.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes of the writes.
    pub written_bytes: u64,
    /// `NTCreateX`.
    pub creates: u64,
    /// `Close`; what is not closed was not found.
    pub closes: u64,
    /// Removed files.
    pub unlinks: u64,
    /// Flushes.
    pub flushes: u64,
    /// Renames.
    pub renames: u64,
    /// Questions about paths.
    pub queries: u64,
    /// Searches in directories.
    pub finds: u64,
}

/// One pass of one client of dbench 4.0's own load.
pub const MIX: Mix = Mix {
    requests: 458_344,
    reads: 124_199,
    read_bytes: 1_472_088_767,
    writes: 39_502,
    written_bytes: 1_015_974_170,
    creates: 79_230,
    closes: 58_200,
    unlinks: 16_000,
    flushes: 5_553,
    renames: 3_355,
    queries: 71_814,
    finds: 27_765,
};

/// Files that a client has; with the mean size of a save some 22 MB.
const FILES: usize = 350;
/// Directories that they are in.
const DIRECTORIES: usize = 10;
/// Sizes of short and long requests.
const SHORT: u64 = 4096;
const LONG: u64 = 61_440;

/// Spreads `count` evenly over `steps`.
#[derive(Debug, Clone, Copy)]
struct Spread {
    count: u64,
    steps: u64,
    sum: u64,
}

impl Spread {
    fn new(count: u64, steps: u64) -> Self {
        // Beginning in the middle centres the rounding.
        let sum = steps / 2;
        Self { count, steps, sum }
    }

    /// How many fall to the next step.
    fn next(&mut self) -> u64 {
        self.sum += self.count;
        let now = self.sum / self.steps;
        self.sum %= self.steps;
        now
    }
}

/// A file of the client.
#[derive(Debug, Clone, Copy)]
struct Kept {
    path: PathNumber,
    bytes: u64,
}

/// A load of about so many requests with dbench's mix, besides its warm-up.
pub fn synthetic(requests: u64, seed: u64) -> Load {
    let sessions = (requests * MIX.closes / MIX.requests).max(1);
    let mut maker = Maker::new(seed);
    for _ in 0..FILES {
        maker.save(0, 0, 2);
    }
    maker.builder.warmed_up();
    let over = |count| Spread::new(count, MIX.closes);
    let mut saves = over(MIX.unlinks);
    let of_saves = |count| Spread::new(count, MIX.unlinks);
    let mut writes = of_saves(MIX.writes);
    let mut flushes = of_saves(MIX.flushes);
    let mut renames = of_saves(MIX.renames);
    let mut reads = Spread::new(MIX.reads, MIX.closes - MIX.unlinks);
    let mut misses = over(MIX.creates - MIX.closes);
    let mut queries = over(MIX.queries);
    let mut finds = over(MIX.finds);
    let named = MIX.reads + MIX.writes + MIX.creates + MIX.closes + MIX.unlinks;
    let named = named + MIX.flushes + MIX.renames + MIX.queries + MIX.finds;
    let mut others = over(MIX.requests - named);
    for _ in 0..sessions {
        maker.look(queries.next(), finds.next(), misses.next(), others.next());
        if saves.next() > 0 {
            maker.unlink();
            maker.save(flushes.next(), renames.next(), writes.next());
        } else {
            maker.read(reads.next());
        }
    }
    maker.builder.finish()
}

struct Maker {
    builder: Builder,
    random: Random,
    directories: Vec<PathNumber>,
    files: Vec<Kept>,
    serial: u64,
    long_reads: Spread,
    long_writes: Spread,
}

impl Maker {
    fn new(seed: u64) -> Self {
        let mut builder = Builder::new();
        let mut directories = Vec::new();
        for number in 0..DIRECTORIES {
            let path = builder.path(&format!("d{number}"));
            directories.push(path);
            add(&mut builder, "Mkdir", Operation::Mkdir { path });
        }
        // As many long requests as make the sum of bytes.
        let long = |bytes: u64, count: u64| {
            let longs = (bytes - count * SHORT) / (LONG - SHORT);
            Spread::new(longs, count)
        };
        Self {
            builder,
            random: Random::new(seed),
            directories,
            files: Vec::new(),
            serial: 0,
            long_reads: long(MIX.read_bytes, MIX.reads),
            long_writes: long(MIX.written_bytes, MIX.writes),
        }
    }

    fn add(&mut self, name: &'static str, operation: Operation) {
        add(&mut self.builder, name, operation);
    }

    fn new_path(&mut self, kind: &str) -> PathNumber {
        self.serial += 1;
        let directory = self.random.index(DIRECTORIES);
        let path = format!("d{directory}/{kind}{}", self.serial);
        self.builder.path(&path)
    }

    /// Writes a new file.
    fn save(&mut self, flushes: u64, renames: u64, writes: u64) {
        let path = self.new_path("f");
        let mut kept = Kept { path, bytes: 0 };
        let handle = 1;
        self.add("NTCreateX", Operation::OpenOrCreate { path, handle });
        for _ in 0..writes {
            let long = self.long_writes.next() > 0;
            let (at, bytes) = (kept.bytes, if long { LONG } else { SHORT });
            self.add("WriteX", Operation::Write { handle, at, bytes });
            kept.bytes += bytes;
        }
        for _ in 0..flushes {
            self.add("Flush", Operation::Flush { handle });
        }
        self.add("Close", Operation::Close { handle });
        for _ in 0..renames {
            let to = self.new_path("r");
            let from = kept.path;
            self.add("Rename", Operation::Rename { from, to });
            kept.path = to;
        }
        self.files.push(kept);
    }

    /// Reads on from some place of a file that is large enough.
    fn read(&mut self, reads: u64) {
        let sizes: Vec<u64> = (0..reads)
            .map(|_| self.long_reads.next())
            .map(|long| if long > 0 { LONG } else { SHORT })
            .collect();
        let most = sizes.iter().copied().max().unwrap_or(0);
        let start = self.random.index(self.files.len());
        let (before, after) = self.files.split_at(start);
        let mut all = after.iter().chain(before);
        let file = *all
            .find(|file| file.bytes >= most)
            .expect("one in three writes is a long one");
        let (path, handle) = (file.path, 1);
        self.add("NTCreateX", Operation::Open { path, handle });
        let pages = (file.bytes / SHORT).max(1);
        let mut at = self.random.below(pages) * SHORT;
        for bytes in sizes {
            // What would end behind the file begins again.
            if at + bytes > file.bytes {
                at = 0;
            }
            self.add("ReadX", Operation::Read { handle, at, bytes });
            at += bytes;
        }
        self.add("Close", Operation::Close { handle });
    }

    fn unlink(&mut self) {
        let index = self.random.index(self.files.len());
        let path = self.files.swap_remove(index).path;
        self.add("Unlink", Operation::Unlink { path });
    }

    fn look(&mut self, queries: u64, finds: u64, misses: u64, others: u64) {
        for _ in 0..queries {
            let path = self.files[self.random.index(self.files.len())].path;
            self.add("QUERY_PATH_INFORMATION", Operation::QueryPath { path });
        }
        for _ in 0..finds {
            let path = self.directories[self.random.index(DIRECTORIES)];
            self.add("FIND_FIRST", Operation::Find { path });
        }
        for _ in 0..misses {
            let name = self.random.below(1000);
            let directory = self.random.index(DIRECTORIES);
            let path = self.builder.path(&format!("d{directory}/absent{name}"));
            self.add("NTCreateX", Operation::Miss { path });
        }
        for _ in 0..others {
            self.add("QUERY_FS_INFORMATION", Operation::Query);
        }
    }
}

fn add(builder: &mut Builder, name: &'static str, operation: Operation) {
    let added = builder.add(name, 0, operation);
    added.expect("handles are opened before use, and there are few requests");
}
