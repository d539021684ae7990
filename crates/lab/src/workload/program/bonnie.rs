//! Bonnie and Bonnie++: one large file written and read in six ways, and many empty ones.
//!
//! ```text
//!   Bonnie     putc  rewrite  block_out  getc  block_in  seeks
//!   Bonnie++   putc  block_out  rewrite  getc  block_in  seeks
//!              seq_create seq_stat seq_delete   ran_create ran_stat ran_delete
//! ```
//!
//! A character costs the processor what the second study's machine needed: it wrote 8,500 K/s with
//! 98.9 % of its processor and read 7,970 K/s with 88.4 %, so 114 and 108 ns. Between characters
//! stands the C library's buffer of 4,096 bytes, whose calls are made here. Three processes seek at
//! a time; one place in ten is written again.
//!
//! Phases that are not wanted are left out, but for writing the file, which is then preparation.
//! Bonnie++ looks at its empty files in the order of their numbers, where the real one takes the
//! order in which the directory lists them.

use block::sim::Random;

use super::call::{Access, AccessKind, Call, Directory, File};
use super::stream::{Path, Stream, pieces, refused};
use crate::workload::InputError;

const FILE: File = File(0);
const NAME: &str = "Bonnie.1";
/// Bytes of a stream's buffer in the C library.
const BUFFER: u64 = 4096;
/// Places of one call that several processes work on.
const PLACES_MAX: u64 = 1 << 20;

/// Which program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BonnieStyle {
    /// Tim Bray's, which rewrites the file that characters were written to.
    Bonnie,
    /// Russell Coker's, with files to make, look at and delete.
    PlusPlus,
}

/// When a phase that writes ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ending {
    /// When the last byte is in memory.
    #[default]
    Closed,
    /// When it is on the device.
    Synced,
}

impl Ending {
    /// What is called before the file is closed.
    pub(super) fn before_closing(self, file: File) -> Vec<Call> {
        match self {
            Self::Closed => Vec::new(),
            Self::Synced => vec![Call::Fsync { file }],
        }
    }
}

/// What Bonnie is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bonnie {
    /// Which.
    pub style: BonnieStyle,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of a call in the phases of blocks.
    pub chunk: u64,
    /// Bytes read at a place.
    pub seek_bytes: u64,
    /// Places.
    pub seeks: u64,
    /// Processes that seek.
    pub seekers: u32,
    /// Every so many-th place is written again; 0 for none.
    pub update_every: u64,
    /// Processor's time to write a character, in picoseconds.
    pub putc_ps: u64,
    /// Processor's time to read a character, in picoseconds.
    pub getc_ps: u64,
    /// When phases that write end.
    pub ending: Ending,
    /// Empty files of Bonnie++.
    pub files: u64,
    /// Phases that are measured; empty for all.
    pub phases: Vec<String>,
}

impl Bonnie {
    /// Its usual settings for a file of so many bytes.
    pub fn new(style: BonnieStyle, file_bytes: u64) -> Self {
        let plus = style == BonnieStyle::PlusPlus;
        let chunk = if plus { 8192 } else { 16_384 };
        Self {
            style,
            file_bytes,
            chunk,
            seek_bytes: chunk,
            seeks: if plus { 8192 } else { 4000 },
            seekers: 3,
            update_every: 10,
            putc_ps: 113_600,
            getc_ps: 108_300,
            ending: Ending::Closed,
            files: if plus { 16 * 1024 } else { 0 },
            phases: Vec::new(),
        }
    }

    /// Names of its phases, in their order.
    pub fn order(&self) -> &'static [&'static str] {
        match self.style {
            BonnieStyle::Bonnie => &["putc", "rewrite", "block_out", "getc", "block_in", "seeks"],
            BonnieStyle::PlusPlus => &[
                "putc",
                "block_out",
                "rewrite",
                "getc",
                "block_in",
                "seeks",
                "seq_create",
                "seq_stat",
                "seq_delete",
                "ran_create",
                "ran_stat",
                "ran_delete",
            ],
        }
    }

    fn wants(&self, phase: &str) -> bool {
        self.phases.is_empty() || self.phases.iter().any(|wanted| wanted == phase)
    }

    fn check(&self) -> Result<(), InputError> {
        if self.file_bytes < BUFFER || !self.file_bytes.is_multiple_of(BUFFER) {
            return refused("file", "a multiple of 4,096 bytes is needed");
        }
        if self.chunk == 0 || self.seek_bytes == 0 || self.seek_bytes > self.file_bytes {
            return refused("chunk", "from 1 byte to the size of the file");
        }
        // Phases of files need those before them.
        let files = [("stat", "create"), ("delete", "create")];
        for round in ["seq", "ran"] {
            for (later, before) in files {
                let [later, before] = [later, before].map(|name| format!("{round}_{name}"));
                let plus = self.style == BonnieStyle::PlusPlus;
                if plus && self.wants(&later) && !self.wants(&before) {
                    return refused("phases", format!("{later} needs {before}"));
                }
            }
        }
        if self.seeks > PLACES_MAX || self.files > PLACES_MAX {
            return refused("seeks", format!("at most {PLACES_MAX} places and files"));
        }
        match self
            .phases
            .iter()
            .find(|name| !self.order().contains(&name.as_str()))
        {
            Some(name) => refused("phases", format!("there is no phase '{name}'")),
            None => Ok(()),
        }
    }

    /// Its calls; the seed draws places and orders.
    pub(super) fn stream(&self, seed: u64) -> Result<Stream, InputError> {
        self.check()?;
        let wanted = self.order().iter().copied();
        let wanted: Vec<&'static str> = wanted.filter(|name| self.wants(name)).collect();
        let mut stream: Stream = Box::new(std::iter::empty());
        let mut there = false;
        for name in wanted {
            let reads = matches!(name, "rewrite" | "getc" | "block_in" | "seeks");
            if reads && !there {
                stream = Box::new(stream.chain(self.write_blocks()));
            }
            let begin = match name {
                "block_out" if there => delete_file(),
                "seq_create" | "ran_create" => make_directory(name),
                _ => Vec::new(),
            };
            there |= reads || matches!(name, "putc" | "block_out");
            let begin = begin.into_iter().chain([Call::phase(name)]);
            stream = Box::new(stream.chain(begin).chain(self.phase(name, seed)));
        }
        Ok(stream)
    }

    /// The calls of a phase.
    fn phase(&self, name: &str, seed: u64) -> Stream {
        match name {
            "putc" => self.write_characters(),
            "block_out" => self.write_blocks(),
            "rewrite" => self.rewrite(),
            "getc" => self.read_characters(),
            "block_in" => self.read_blocks(),
            "seeks" => self.seek(seed),
            files => self.files(files, seed),
        }
    }

    fn write_characters(&self) -> Stream {
        let ns = BUFFER * self.putc_ps / 1000;
        let calls = pieces(self.file_bytes, BUFFER).flat_map(move |(at, bytes)| {
            [Call::Think { ns }, Path::Buffered.write(FILE, at, bytes)]
        });
        on_file(create_file(), calls, self.ending)
    }

    fn write_blocks(&self) -> Stream {
        let calls = pieces(self.file_bytes, self.chunk)
            .map(|(at, bytes)| Path::Buffered.write(FILE, at, bytes));
        on_file(create_file(), calls, self.ending)
    }

    fn rewrite(&self) -> Stream {
        let calls = pieces(self.file_bytes, self.chunk).flat_map(|(at, bytes)| {
            let path = Path::Buffered;
            [path.read(FILE, at, bytes), path.write(FILE, at, bytes)]
        });
        on_file(open_file(), calls, self.ending)
    }

    fn read_characters(&self) -> Stream {
        let ns = BUFFER * self.getc_ps / 1000;
        let calls = pieces(self.file_bytes, BUFFER).flat_map(move |(at, bytes)| {
            [Path::Buffered.read(FILE, at, bytes), Call::Think { ns }]
        });
        on_file(open_file(), calls, Ending::Closed)
    }

    fn read_blocks(&self) -> Stream {
        let calls = pieces(self.file_bytes, self.chunk)
            .map(|(at, bytes)| Path::Buffered.read(FILE, at, bytes));
        on_file(open_file(), calls, Ending::Closed)
    }

    fn seek(&self, seed: u64) -> Stream {
        let mut random = Random::new(seed);
        let places = self.file_bytes / self.seek_bytes;
        let access = |number: u64| {
            let updated = self.update_every > 0 && number.is_multiple_of(self.update_every);
            Access {
                file: FILE,
                at: random.below(places) * self.seek_bytes,
                bytes: self.seek_bytes,
                kind: if updated {
                    AccessKind::Update
                } else {
                    AccessKind::Read
                },
            }
        };
        let accesses = (0..self.seeks).map(access).collect();
        let callers = self.seekers;
        let together = std::iter::once(Call::Together { callers, accesses });
        on_file(open_file(), together, Ending::Closed)
    }

    /// Makes, looks at or deletes the empty files.
    fn files(&self, phase: &str, seed: u64) -> Stream {
        let parent = round(phase);
        let random = phase.starts_with("ran");
        let mut order: Vec<u64> = (0..self.files).collect();
        if random && !phase.ends_with("create") {
            shuffle(&mut order, &mut Random::new(seed));
        }
        // A random name begins with what was drawn, so that an order by name is a random one.
        let name = move |number: u64| {
            let drawn = Random::new(seed ^ (number << 20)).number() % 0x1000_0000;
            if random {
                format!("{drawn:07x}{number:07}")
            } else {
                format!("{number:07}{drawn:07x}")
            }
        };
        let call = match phase {
            "seq_create" | "ran_create" => |parent, name| {
                let file = FILE;
                vec![Call::Create { parent, name, file }, Call::Close { file }]
            },
            "seq_stat" | "ran_stat" => |parent, name| vec![Call::Stat { parent, name }],
            _ => |parent, name| vec![Call::Delete { parent, name }],
        };
        Box::new(
            order
                .into_iter()
                .flat_map(move |number| call(parent, name(number))),
        )
    }
}

/// Calls on the file between making or opening it and closing it.
fn on_file(begin: Call, calls: impl Iterator<Item = Call> + 'static, end: Ending) -> Stream {
    let mut last = end.before_closing(FILE);
    last.push(Call::Close { file: FILE });
    Box::new(std::iter::once(begin).chain(calls).chain(last))
}

/// A directory for each of the two rounds, so that a name is used once.
fn make_directory(phase: &str) -> Vec<Call> {
    let make = Call::Mkdir {
        parent: Directory::ROOT,
        name: format!("Bonnie.{phase}"),
        directory: round(phase),
    };
    vec![Call::Aside, make]
}

/// The directory of a round.
fn round(phase: &str) -> Directory {
    Directory(if phase.starts_with("seq") { 1 } else { 2 })
}

fn create_file() -> Call {
    let (parent, name) = (Directory::ROOT, NAME.to_owned());
    Call::Create {
        parent,
        name,
        file: FILE,
    }
}

fn open_file() -> Call {
    let (parent, name) = (Directory::ROOT, NAME.to_owned());
    Call::Open {
        parent,
        name,
        file: FILE,
    }
}

fn delete_file() -> Vec<Call> {
    let (parent, name) = (Directory::ROOT, NAME.to_owned());
    vec![Call::Aside, Call::Delete { parent, name }]
}

/// Puts numbers in a random order.
pub(super) fn shuffle(order: &mut [u64], random: &mut Random) {
    for last in (1..order.len()).rev() {
        order.swap(last, random.index(last + 1));
    }
}
