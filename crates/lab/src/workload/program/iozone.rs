//! `IOzone`'s grid: file sizes by record sizes, six tests in each cell.
//!
//! ```text
//!   for each file size, for each record size not larger:
//!     write  rewrite  read  reread  random_read  random_write
//! ```
//!
//! A phase is called `read-256K-16K`. Random tests take every record once, in an order by the
//! seed. Without more the program leaves in memory what it wrote, so that a file smaller than
//! memory measures memory; [`Warmth::Cold`] empties it before `read` and `random_read` (not before
//! `reread`, whose point it would miss).

use block::sim::Random;

use super::bonnie::{Ending, shuffle};
use super::call::{Call, Directory, File};
use super::stream::{Path, Stream, Warmth, pieces, refused};
use crate::workload::InputError;

const FILE: File = File(0);
const NAME: &str = "iozone.tmp";
/// Cells of a grid at most.
const CELLS_MAX: usize = 1024;

/// What `IOzone` is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IoZone {
    /// Bytes of files.
    pub files: Vec<u64>,
    /// Bytes of records.
    pub records: Vec<u64>,
    /// Buffered, or `-I`.
    pub path: Path,
    /// Whether the memory is emptied before reading.
    pub warmth: Warmth,
    /// `-e`: writing ends on the device.
    pub ending: Ending,
}

impl IoZone {
    /// The tests of a cell, in their order.
    pub const TESTS: [&'static str; 6] = [
        "write",
        "rewrite",
        "read",
        "reread",
        "random_read",
        "random_write",
    ];

    /// The cells: file size and record size.
    pub fn cells(&self) -> Vec<(u64, u64)> {
        let each = |&file: &u64| {
            let fit = self.records.iter().filter(move |&&record| record <= file);
            fit.map(move |&record| (file, record))
        };
        self.files.iter().flat_map(each).collect()
    }

    /// Its calls; the seed draws the orders of random tests.
    pub(super) fn stream(&self, seed: u64) -> Result<Stream, InputError> {
        let cells = self.cells();
        if cells.is_empty() || cells.len() > CELLS_MAX || self.records.contains(&0) {
            let count = cells.len();
            return refused("record", format!("{count} cells; 1 to {CELLS_MAX} are run"));
        }
        let own = self.clone();
        Ok(Box::new(cells.into_iter().flat_map(
            move |(file, record)| {
                let tests = Self::TESTS.into_iter();
                let (parent, name) = (Directory::ROOT, NAME.to_owned());
                let end = [Call::Aside, Call::Delete { parent, name }];
                let own = own.clone();
                tests
                    .flat_map(move |test| own.test(test, file, record, seed))
                    .chain(end)
            },
        )))
    }

    /// One test of a cell.
    fn test(&self, test: &str, bytes: u64, record: u64, seed: u64) -> Stream {
        let mut places: Vec<(u64, u64)> = pieces(bytes, record).collect();
        if test.starts_with("random") {
            let mut order: Vec<u64> = (0..places.len() as u64).collect();
            shuffle(&mut order, &mut Random::new(seed ^ bytes ^ (record << 1)));
            places = order
                .iter()
                .map(|&number| places[number as usize])
                .collect();
        }
        let (parent, name) = (Directory::ROOT, NAME.to_owned());
        let writes = matches!(test, "write" | "rewrite" | "random_write");
        let mut begin = match test {
            "read" | "random_read" => self.warmth.before_reading(),
            _ => Vec::new(),
        };
        begin.push(Call::phase(format!(
            "{test}-{}-{}",
            size(bytes),
            size(record)
        )));
        begin.push(if test == "write" {
            Call::Create {
                parent,
                name,
                file: FILE,
            }
        } else {
            Call::Open {
                parent,
                name,
                file: FILE,
            }
        });
        let path = self.path;
        let calls = places.into_iter().map(move |(at, bytes)| {
            if writes {
                path.write(FILE, at, bytes)
            } else {
                path.read(FILE, at, bytes)
            }
        });
        let mut end = Vec::new();
        if writes {
            end = self.ending.before_closing(FILE);
        }
        end.push(Call::Close { file: FILE });
        Box::new(begin.into_iter().chain(calls).chain(end))
    }
}

/// A size in words.
fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes > 0 && bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        _ if bytes > 0 && bytes.is_multiple_of(1 << 10) => format!("{}K", bytes >> 10),
        _ => bytes.to_string(),
    }
}
