//! What a trace holds: a header, and requests in the order of their submission.
//!
//! A class says what a block is for in its file system; five components gather the classes as
//! Eq. 1 of the first seed study does: directories, metadata, free lists, file data, journal.

use std::fmt;

use crate::component::Component;
use crate::error::{Error, Kind, Result};

/// All that is known of a recorded run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    /// Of what, and how.
    pub header: Header,
    /// The requests, by the time of submission.
    pub records: Vec<Record>,
}

/// What a trace was taken of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    /// The name of the device.
    pub device: String,
    /// Its size, in blocks of 512 bytes; 0 if it is not known.
    pub blocks: u64,
    /// The identity of the file system on it.
    pub file_system: Option<[u8; 16]>,
    /// Whose time it is.
    pub clock: TimeSource,
    /// When it began, in nanoseconds since 1970; 0 if that is not known.
    pub begun_unix_ns: u64,
}

/// Whose time the times of a trace are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeSource {
    /// A machine's own clock.
    #[default]
    Real,
    /// The clock of an emulation.
    Virtual,
}

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Make it read as zeros.
    WriteZeroes,
    /// Say that it is no longer needed.
    Discard,
    /// Make durable what was written.
    Flush,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// When it was submitted, in nanoseconds since the trace began.
    pub time_ns: u64,
    /// How long it took; `None` if nobody saw its answer.
    pub duration_ns: Option<u64>,
    /// What was asked.
    pub operation: Operation,
    /// What was written before was to be durable first.
    pub preflush: bool,
    /// It was to be durable when answered.
    pub fua: bool,
    /// It failed.
    pub failed: bool,
    /// The first block of 512 bytes.
    pub start: u64,
    /// How many blocks; 0 for a flush.
    pub count: u64,
    /// What the place is for.
    pub label: Label,
    /// It waited for the answer of the request so many records before; `None` if for none.
    pub after: Option<u64>,
}

/// What a place is for, and how sure that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Label {
    /// What for.
    pub class: Class,
    /// How sure.
    pub certainty: Certainty,
}

/// How sure a label is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Certainty {
    /// The place was for this whenever somebody looked.
    #[default]
    Always,
    /// The place was for this at one time and for something else, or free, at another.
    Sometimes,
    /// The request also touched places of other classes; this one has most of its blocks.
    Mixed,
}

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident $number:literal $text:literal $component:ident,)*) => {
        /// What a block is for in its file system.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub enum Class {
            $($(#[$doc])* $name = $number,)*
        }

        impl Class {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The class of this number.
            pub fn from_number(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// What people read.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// The component of Eq. 1 that it counts for.
            pub fn component(self) -> Option<Component> {
                match self {
                    $(Self::$name => component!($component),)*
                }
            }
        }
    };
}

macro_rules! component {
    (Nothing) => {
        None
    };
    ($name:ident) => {
        Some(Component::$name)
    };
}

classes! {
    /// Nobody knows, or the request has no place.
    #[default]
    Unknown 0 "unknown" Nothing,
    /// The superblock.
    Superblock 1 "superblock" Metadata,
    /// The descriptors of the groups, and what is kept free for more of them.
    GroupDescriptors 2 "group descriptors" Metadata,
    /// A copy of superblock or descriptors.
    Backup 3 "backup" Metadata,
    /// Which blocks are free.
    BlockBitmap 4 "block bitmap" FreeList,
    /// Which inodes are free.
    InodeBitmap 5 "inode bitmap" FreeList,
    /// Inodes.
    InodeTable 6 "inode table" Metadata,
    /// Names.
    Directory 7 "directory" Directory,
    /// Where the blocks of a file are: indirect blocks and nodes of extent trees.
    BlockMap 8 "block map" Metadata,
    /// Extended attributes, quotas, lists of orphans.
    Auxiliary 9 "auxiliary" Metadata,
    /// The journal.
    Journal 10 "journal" Journal,
    /// The content of files.
    FileData 11 "file data" FileData,
    /// Nothing is there.
    Free 12 "free" Nothing,
    /// Not a part of the file system: before its first block or behind its last.
    Outside 13 "outside" Nothing,
}

impl Operation {
    /// What people read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::WriteZeroes => "write zeroes",
            Self::Discard => "discard",
            Self::Flush => "flush",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Record {
    /// A request that nothing more is known of.
    pub fn new(time_ns: u64, operation: Operation, start: u64, count: u64) -> Self {
        Self {
            time_ns,
            duration_ns: None,
            operation,
            preflush: false,
            fua: false,
            failed: false,
            start,
            count,
            label: Label::default(),
            after: None,
        }
    }

    /// When its answer was seen.
    pub fn end_ns(&self) -> Option<u64> {
        Some(self.time_ns.saturating_add(self.duration_ns?))
    }

    /// Whether whoever asked is likely to wait for the answer: a read, a flush, a durable write.
    pub fn is_awaited(&self) -> bool {
        let kind = matches!(self.operation, Operation::Read | Operation::Flush);
        kind || self.fua || self.preflush
    }
}

impl Trace {
    /// Fails, naming the record, unless the records are in the order of their times, lie on the
    /// device and depend only on earlier ones.
    pub fn validate(&self) -> Result<()> {
        let mut time_ns = 0;
        for (index, record) in self.records.iter().enumerate() {
            let wrong = |what: String| {
                let device = &self.header.device;
                let what = format!("trace of {device}: record {}: {what}", index + 1);
                Err(Error::new(Kind::Impossible, what))
            };
            if record.time_ns < time_ns {
                return wrong("it was submitted before the one that stands before it".into());
            }
            time_ns = record.time_ns;
            let end = record.start.checked_add(record.count);
            let size = match self.header.blocks {
                0 => u64::MAX,
                blocks => blocks,
            };
            if end.is_none_or(|end| end > size) {
                let (start, count) = (record.start, record.count);
                return wrong(format!(
                    "blocks {start} to {} of a device that has {size}",
                    start.saturating_add(count)
                ));
            }
            if record
                .after
                .is_some_and(|after| after == 0 || after > index as u64)
            {
                return wrong("it waits for a record that is not there".into());
            }
        }
        Ok(())
    }
}
