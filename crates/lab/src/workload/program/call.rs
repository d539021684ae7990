//! One call, as a program makes it.

/// A directory, by the number that the program gives it; [`Directory::ROOT`] is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Directory(pub u32);

impl Directory {
    /// The root of the file system.
    pub const ROOT: Self = Self(0);
}

/// A file that is open, by the number that the program gives it; free again once it is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct File(pub u32);

/// What is done at a place of [`Call::Together`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// Reads it.
    Read,
    /// Reads it, then writes it.
    Update,
}

/// An access to a place of an open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access {
    /// The file.
    pub file: File,
    /// First byte.
    pub at: u64,
    /// Bytes.
    pub bytes: u64,
    /// What is done.
    pub kind: AccessKind,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// Makes a directory in `parent`; the program calls it `directory`.
    Mkdir {
        /// Where.
        parent: Directory,
        /// Its name there.
        name: String,
        /// What the program calls it.
        directory: Directory,
    },
    /// Removes an empty directory.
    Rmdir {
        /// Where.
        parent: Directory,
        /// Its name there.
        name: String,
        /// Its number, which is free again.
        directory: Directory,
    },
    /// Makes a file in `parent` and opens it.
    Create {
        /// Where.
        parent: Directory,
        /// Its name there.
        name: String,
        /// What the program calls it while it is open.
        file: File,
    },
    /// Opens a file.
    Open {
        /// Where.
        parent: Directory,
        /// Its name there.
        name: String,
        /// What the program calls it while it is open.
        file: File,
    },
    /// Reads, less at the end of the file.
    Read {
        /// The open file.
        file: File,
        /// First byte.
        at: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Writes, at the end of the file or before.
    Write {
        /// The open file.
        file: File,
        /// First byte.
        at: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Reads past the page cache (`O_DIRECT`): whole blocks.
    ReadDirect {
        /// The open file.
        file: File,
        /// First byte.
        at: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Writes past the page cache (`O_DIRECT`): whole blocks.
    WriteDirect {
        /// The open file.
        file: File,
        /// First byte.
        at: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Several processes read and update places; each takes the next one when its last is done.
    Together {
        /// How many processes.
        callers: u32,
        /// The places, in the order in which they are taken.
        accesses: Vec<Access>,
    },
    /// Closes a file.
    Close {
        /// The open file.
        file: File,
    },
    /// Removes a file that is not open.
    Delete {
        /// Where.
        parent: Directory,
        /// Its name there.
        name: String,
    },
    /// Gives a file that is not open another name, which may be that of another file.
    Rename {
        /// Where it is.
        parent: Directory,
        /// Its name there.
        name: String,
        /// Where it will be.
        new_parent: Directory,
        /// Its name there.
        new_name: String,
    },
    /// Looks for something that is not there.
    Miss {
        /// Where.
        parent: Directory,
        /// Its name there.
        name: String,
    },
    /// Looks at a file or a directory.
    Stat {
        /// Where.
        parent: Directory,
        /// Its name there.
        name: String,
    },
    /// Reads the names in a directory.
    List {
        /// Which.
        directory: Directory,
    },
    /// Writes what is dirty of a file, and waits for it.
    Fsync {
        /// The open file.
        file: File,
    },
    /// Writes everything that is dirty, and waits for it.
    Sync,
    /// Writes everything and empties the memory, as unmounting and mounting again does.
    DropCaches,
    /// The program computes.
    Think {
        /// Nanoseconds.
        ns: u64,
    },
    /// What follows is a phase of its own, until the next one.
    Phase {
        /// Its name: a word.
        name: String,
    },
    /// What follows is not measured, until the next phase.
    Aside,
}

impl Call {
    /// The beginning of a phase.
    pub fn phase(name: impl Into<String>) -> Self {
        Self::Phase { name: name.into() }
    }
}
