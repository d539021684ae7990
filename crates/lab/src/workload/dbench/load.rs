//! A load: the requests of one client, in order, with their paths and handles resolved.

use std::collections::{BTreeMap, BTreeSet};

use crate::workload::InputError;

/// Requests of a load at most; the real one has less than half a million.
const REQUESTS_MAX: usize = 4_000_000;

/// A path, by its place in [`Load::paths`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathNumber(pub u32);

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Opens a file, and makes it if it is not there.
    OpenOrCreate {
        /// The path.
        path: PathNumber,
        /// The handle.
        handle: u32,
    },
    /// Opens a file with nothing in it: made, or emptied.
    Overwrite {
        /// The path.
        path: PathNumber,
        /// The handle.
        handle: u32,
    },
    /// Opens a file or a directory that is there.
    Open {
        /// The path.
        path: PathNumber,
        /// The handle.
        handle: u32,
    },
    /// Opens a directory, and makes it if it is not there.
    OpenDirectory {
        /// The path.
        path: PathNumber,
        /// The handle.
        handle: u32,
    },
    /// Looks for something that is not there or may not be opened.
    Miss {
        /// The path.
        path: PathNumber,
    },
    /// Closes a handle.
    Close {
        /// The handle.
        handle: u32,
    },
    /// Reads bytes.
    Read {
        /// The handle.
        handle: u32,
        /// The first byte.
        at: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// Writes bytes.
    Write {
        /// The handle.
        handle: u32,
        /// The first byte.
        at: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// Makes what was written durable.
    Flush {
        /// The handle.
        handle: u32,
    },
    /// Removes a file; a name with `*` or `?` stands for those that fit.
    Unlink {
        /// The path.
        path: PathNumber,
    },
    /// Gives a file another name.
    Rename {
        /// Its path.
        from: PathNumber,
        /// Its new path.
        to: PathNumber,
    },
    /// Makes a directory.
    Mkdir {
        /// The path.
        path: PathNumber,
    },
    /// Removes an empty directory.
    Rmdir {
        /// The path.
        path: PathNumber,
    },
    /// Removes a directory with all that is in it.
    Deltree {
        /// The path.
        path: PathNumber,
    },
    /// Asks about a path.
    QueryPath {
        /// The path.
        path: PathNumber,
    },
    /// Looks through a directory.
    Find {
        /// The path.
        path: PathNumber,
    },
    /// Asks about what is open, or changes its times; locks: a call that moves nothing.
    Query,
}

/// A request and the line that it stands in, from 1; 0 if it was made up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// What is asked for.
    pub operation: Operation,
    /// The name in load files: `ReadX`.
    pub name: &'static str,
    /// The line.
    pub line: u32,
}

/// Requests of one client.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Load {
    /// Paths relative to the client's directory, with `/` between their parts; the first is the
    /// directory itself.
    pub paths: Vec<String>,
    /// The requests.
    pub requests: Vec<Request>,
    /// How many of the first ones only prepare and do not count.
    pub warm_up: usize,
}

/// How many requests of each name there are, and their bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// By name.
    pub requests: BTreeMap<&'static str, u64>,
    /// Bytes asked to be read.
    pub read_bytes: u64,
    /// Bytes asked to be written.
    pub written_bytes: u64,
}

impl Load {
    /// What is counted after the warm-up.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for request in &self.requests[self.warm_up..] {
            *counts.requests.entry(request.name).or_default() += 1;
            match request.operation {
                Operation::Read { bytes, .. } => counts.read_bytes += bytes,
                Operation::Write { bytes, .. } => counts.written_bytes += bytes,
                _ => {}
            }
        }
        counts
    }

    /// The text of a path.
    pub fn path(&self, number: PathNumber) -> &str {
        &self.paths[number.0 as usize]
    }
}

/// A load that grows, and knows which handles are open.
#[derive(Debug)]
pub(super) struct Builder {
    load: Load,
    numbers: BTreeMap<String, PathNumber>,
    open: BTreeSet<u32>,
}

impl Builder {
    pub(super) fn new() -> Self {
        let mut builder = Self {
            load: Load::default(),
            numbers: BTreeMap::new(),
            open: BTreeSet::new(),
        };
        builder.path("");
        builder
    }

    /// The number of a path that is known to be sound.
    pub(super) fn path(&mut self, path: &str) -> PathNumber {
        if let Some(&number) = self.numbers.get(path) {
            return number;
        }
        let number = PathNumber(self.load.paths.len() as u32);
        self.load.paths.push(path.to_owned());
        self.numbers.insert(path.to_owned(), number);
        number
    }

    /// Adds a request; its handle must be open, or not, as it should be.
    pub(super) fn add(
        &mut self,
        name: &'static str,
        line: usize,
        operation: Operation,
    ) -> Result<(), InputError> {
        use Operation as O;
        let opens = match operation {
            O::OpenOrCreate { handle, .. }
            | O::Overwrite { handle, .. }
            | O::Open { handle, .. }
            | O::OpenDirectory { handle, .. } => Some(handle),
            O::Close { handle }
            | O::Read { handle, .. }
            | O::Write { handle, .. }
            | O::Flush { handle } => {
                self.need(line, handle)?;
                None
            }
            _ => None,
        };
        if let Some(handle) = opens.filter(|&handle| !self.open.insert(handle)) {
            let what = format!("{handle} is open already: close it first");
            return Err(InputError::new(line, "handle", what));
        }
        if let O::Close { handle } = operation {
            self.open.remove(&handle);
        }
        if self.load.requests.len() >= REQUESTS_MAX {
            let what = format!("more than {REQUESTS_MAX} requests: use a part of the load");
            return Err(InputError::new(line, "requests", what));
        }
        self.load.requests.push(Request {
            operation,
            name,
            line: line as u32,
        });
        Ok(())
    }

    /// Refuses a handle that is not open.
    pub(super) fn need(&self, line: usize, handle: u32) -> Result<(), InputError> {
        if self.open.contains(&handle) {
            return Ok(());
        }
        let what = format!("{handle} is not open here: NTCreateX opens it");
        Err(InputError::new(line, "handle", what))
    }

    /// What was added until now was preparation.
    pub(super) fn warmed_up(&mut self) {
        self.load.warm_up = self.load.requests.len();
    }

    pub(super) fn finish(self) -> Load {
        self.load
    }
}
