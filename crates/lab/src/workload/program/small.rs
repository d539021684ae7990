//! Many small files in five phases: what a file system does is compared by it, phase by phase.
//!
//! ```text
//!   create   directories; files of every size, half in the root, half in the directories in turn
//!   append   to files at random
//!   delete   half of the files, at random
//!   again    new files, where the old ones were
//!   read     all that is there
//! ```
//!
//! The phases are plain lists of calls, so that one phase can be made without the others where a
//! file system keeps what they did. Each begins with nothing in memory and ends with a sync.

use block::sim::Random;

use super::call::{Call, Directory, File};

const FILE: File = File(0);

/// How many files, and how large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmallFiles {
    /// Files made first; half as many are appended to, half are deleted, a third are made again.
    pub files: u32,
    /// Bytes of a new file at most.
    pub bytes_max: u64,
    /// Bytes appended at most.
    pub append_max: u64,
    /// Directories besides the root.
    pub directories: u32,
}

impl SmallFiles {
    /// Names of the phases, in their order.
    pub const PHASES: [&'static str; 5] = ["create", "append", "delete", "again", "read"];

    /// The calls of each phase; the seed draws sizes and choices.
    pub fn phases(&self, seed: u64) -> [Vec<Call>; 5] {
        let mut draw = Random::new(seed);
        let mut below = |limit: u64| draw.below(limit.max(1));
        let files = u64::from(self.files);
        let mut sizes: Vec<Option<u64>> = Vec::new();
        let mut create: Vec<Call> = (0..self.directories).map(make_directory).collect();
        for number in 0..self.files {
            let bytes = 1 + below(self.bytes_max);
            sizes.push(Some(bytes));
            create.extend(self.create(number, bytes));
        }
        let mut append = Vec::new();
        for _ in 0..files / 2 {
            let (number, bytes) = (below(files) as u32, 1 + below(self.append_max));
            let size = sizes[number as usize].as_mut().expect("all are there");
            append.extend(self.append(number, *size, bytes));
            *size += bytes;
        }
        let mut delete = Vec::new();
        while (delete.len() as u64) < files / 2 {
            let number = below(files) as u32;
            if sizes[number as usize].take().is_some() {
                let (parent, name) = self.place(number);
                delete.push(Call::Delete { parent, name });
            }
        }
        let mut again = Vec::new();
        for number in self.files..self.files + self.files / 3 {
            let bytes = 1 + below(self.bytes_max);
            sizes.push(Some(bytes));
            again.extend(self.create(number, bytes));
        }
        let there = (0..).zip(&sizes);
        let there = there.filter_map(|(number, size)| Some((number, (*size)?)));
        let read = there.flat_map(|(number, bytes)| self.read(number, bytes));
        let mut phases = [create, append, delete, again, read.collect()];
        for calls in &mut phases {
            calls.push(Call::Sync);
        }
        phases
    }

    /// All of it as one program, which unmounts between phases and lets the clock's second pass.
    pub fn stream(&self, seed: u64) -> Vec<Call> {
        let mut stream = Vec::new();
        for (name, calls) in Self::PHASES.iter().zip(self.phases(seed)) {
            let pause = Call::Think { ns: 2_000_000_000 };
            stream.extend([Call::Aside, Call::DropCaches, pause, Call::phase(*name)]);
            stream.extend(calls);
        }
        stream
    }

    /// Where a file is, and its name there.
    fn place(&self, number: u32) -> (Directory, String) {
        let parent = match (number % 2, self.directories) {
            (1, 1..) => Directory(1 + number / 2 % self.directories),
            _ => Directory::ROOT,
        };
        (parent, format!("file{number:06}"))
    }

    fn create(&self, number: u32, bytes: u64) -> [Call; 3] {
        let (parent, name) = self.place(number);
        let file = FILE;
        [
            Call::Create { parent, name, file },
            Call::Write { file, at: 0, bytes },
            Call::Close { file },
        ]
    }

    fn append(&self, number: u32, at: u64, bytes: u64) -> [Call; 3] {
        let file = FILE;
        let [open, close] = self.open(number);
        [open, Call::Write { file, at, bytes }, close]
    }

    fn read(&self, number: u32, bytes: u64) -> [Call; 3] {
        let (file, at) = (FILE, 0);
        let [open, close] = self.open(number);
        [open, Call::Read { file, at, bytes }, close]
    }

    fn open(&self, number: u32) -> [Call; 2] {
        let (parent, name) = self.place(number);
        let file = FILE;
        [Call::Open { parent, name, file }, Call::Close { file }]
    }
}

fn make_directory(number: u32) -> Call {
    Call::Mkdir {
        parent: Directory::ROOT,
        name: format!("folder{number:04}"),
        directory: Directory(1 + number),
    }
}
