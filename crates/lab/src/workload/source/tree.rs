//! A tree of source files.

use crate::stats::real::exp;
use crate::workload::program::{Call, Directory, File};
use block::sim::Random;

/// The median of sizes, in bytes.
const MEDIAN: f64 = 4096.0;
/// The standard deviation of their logarithm: the mean is three times the median.
const DEVIATION: f64 = 1.5;
/// Bytes of a file at most.
const BYTES_MAX: f64 = 1_048_576.0;
/// Files of a directory, on average.
const PER_DIRECTORY: u64 = 16;
/// Bytes of a call that writes.
const WRITE: u64 = 65_536;
/// The file that is open while the tree is written.
const FILE: File = File(0);

/// A file of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// The directory, by its place in the tree.
    pub directory: usize,
    /// The number that names it.
    pub number: u32,
    /// Bytes.
    pub bytes: u64,
}

impl Source {
    /// Its name in its directory.
    pub fn name(&self) -> String {
        format!("source{}.c", self.number)
    }
}

/// Directories, and files in them in the order in which they are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The directory above each, by its place; the first is above itself.
    pub parents: Vec<usize>,
    /// The files.
    pub files: Vec<Source>,
}

impl Tree {
    /// A tree of so many files; the seed decides sizes and places.
    pub fn new(files: u32, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let directories = (u64::from(files) / PER_DIRECTORY).max(1) as usize;
        let mut parents = vec![0];
        // Each directory is in an earlier one; half of them in one of the last few, so that the
        // tree is some levels deep.
        for place in 1..directories {
            let near = place.saturating_sub(8);
            let parent = if random.chance(1, 2) {
                near + random.index(place - near)
            } else {
                random.index(place)
            };
            parents.push(parent);
        }
        let mut files: Vec<Source> = (0..files)
            .map(|number| Source {
                directory: random.index(directories),
                number,
                bytes: size(&mut random),
            })
            .collect();
        // A tree is written and read directory by directory.
        files.sort_by_key(|file| file.directory);
        Self { parents, files }
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// What the program calls a directory.
    pub fn directory(&self, place: usize) -> Directory {
        Directory(place as u32 + 1)
    }

    /// The directory above, and the name in it.
    pub fn place(&self, place: usize) -> (Directory, String) {
        if place == 0 {
            return (Directory::ROOT, "tree".to_owned());
        }
        (self.directory(self.parents[place]), format!("dir{place}"))
    }

    /// Makes a directory.
    pub(super) fn mkdir(&self, place: usize) -> Call {
        let (parent, name) = self.place(place);
        Call::Mkdir {
            parent,
            name,
            directory: self.directory(place),
        }
    }

    /// Makes a file of the tree in calls of so many bytes.
    pub(super) fn write(&self, source: &Source, most: u64) -> Vec<Call> {
        let parent = self.directory(source.directory);
        let (name, file) = (source.name(), FILE);
        let mut calls = vec![Call::Create { parent, name, file }];
        calls.extend(chunks(source.bytes, most).map(|(at, bytes)| Call::Write { file, at, bytes }));
        calls.push(Call::Close { file });
        calls
    }

    /// Writes all of it, and empties the memory.
    pub(super) fn prepare(&self) -> Vec<Call> {
        let directories = (0..self.parents.len()).map(|place| self.mkdir(place));
        let mut calls: Vec<Call> = directories.collect();
        for source in &self.files {
            calls.extend(self.write(source, WRITE));
        }
        calls.push(Call::DropCaches);
        calls
    }
}

/// Places and sizes of calls that move `bytes`, `most` at a time.
pub(super) fn chunks(bytes: u64, most: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..bytes.div_ceil(most)).map(move |index| {
        let at = index * most;
        (at, most.min(bytes - at))
    })
}

/// A log-normal size.
fn size(random: &mut Random) -> u64 {
    // The sum of twelve uniform numbers is normal enough, and exact.
    let sum: u64 = (0..12).map(|_| random.below(1 << 32)).sum();
    let normal = sum as f64 / (1_u64 << 32) as f64 - 6.0;
    (MEDIAN * exp(DEVIATION * normal)).clamp(1.0, BYTES_MAX) as u64
}
