//! `dd`: one file from its first byte to its last, in calls of one size.
//!
//! Phases `write` and `read`, or one of them; before `read` the memory is emptied, as people do who
//! want to measure the disk.

use super::call::{Call, Directory, File};
use super::stream::{Path, Stream, Warmth, pieces, refused};
use crate::workload::InputError;

const FILE: File = File(0);
const NAME: &str = "dd";

/// In which direction is copied and measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Copying {
    /// From zeros into the file, then from the file into nothing.
    #[default]
    Both,
    /// Into the file only.
    Write,
    /// From the file; writing it is preparation.
    Read,
}

/// What `dd` is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dd {
    /// Bytes of the file: `bs` times `count`.
    pub bytes: u64,
    /// Bytes of a call: `bs`.
    pub block: u64,
    /// Buffered, or `oflag=direct` and `iflag=direct`.
    pub path: Path,
    /// What is measured.
    pub copying: Copying,
    /// Whether writing ends when all is on the disk: `conv=fsync`.
    pub ending: super::bonnie::Ending,
}

impl Dd {
    /// Its calls.
    pub(super) fn stream(&self) -> Result<Stream, InputError> {
        if self.block == 0 || self.bytes < self.block {
            return refused("size", "at least one block of dd");
        }
        let (parent, file, name) = (Directory::ROOT, FILE, NAME.to_owned());
        let path = self.path;
        let mut before = Vec::new();
        if self.copying != Copying::Read {
            before.push(Call::phase("write"));
        }
        before.push(Call::Create {
            parent,
            name: name.clone(),
            file,
        });
        let writes = pieces(self.bytes, self.block);
        let reads = writes.clone();
        let writes = writes.map(move |(at, bytes)| path.write(file, at, bytes));
        let mut between = self.ending.before_closing(file);
        between.push(Call::Close { file });
        let writing = before.into_iter().chain(writes).chain(between);
        if self.copying == Copying::Write {
            return Ok(Box::new(writing));
        }
        let mut before = Warmth::Cold.before_reading();
        before.extend([Call::phase("read"), Call::Open { parent, name, file }]);
        let reads = reads.map(move |(at, bytes)| path.read(file, at, bytes));
        let reading = before.into_iter().chain(reads);
        Ok(Box::new(
            writing.chain(reading).chain([Call::Close { file }]),
        ))
    }
}
