//! A way to the device under test: a connection to a server, or an open file.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};

use super::history::Durability;
use super::pattern::{BLOCK, Content};

/// `O_DIRECT`: no page cache of the client may stand for the server's.
const DIRECT: i32 = rustix::fs::OFlags::DIRECT.bits().cast_signed();

/// A request.
#[derive(Debug, Clone)]
pub struct Command {
    /// Its number, which the answer repeats.
    pub id: u64,
    /// What is to be done.
    pub work: Work,
}

/// What is to be done.
#[derive(Debug, Clone)]
pub enum Work {
    /// Read so many blocks from here.
    Read {
        /// First block.
        first: u64,
        /// Blocks.
        count: u64,
    },
    /// Write these bytes, or zeros in their place.
    Write {
        /// First block.
        first: u64,
        /// Whole blocks.
        bytes: Vec<u8>,
        /// Zeros are sent as a request to zero, without bytes.
        content: Content,
        /// Whether they are to be durable when answered.
        durability: Durability,
    },
    /// Make durable what was answered.
    Flush,
}

/// A success.
#[derive(Debug)]
pub struct Answer {
    /// The request's number.
    pub id: u64,
    /// What was read.
    pub bytes: Vec<u8>,
}

/// One way to the device.
pub trait Link {
    /// Sends a request.
    ///
    /// # Errors
    /// When the other side is gone.
    fn send(&mut self, command: Command) -> io::Result<()>;

    /// Waits for the next answer, in any order.
    ///
    /// # Errors
    /// When the other side is gone, or answers with an error: whether the request was done is
    /// then not known. Who kills a server counts: there must not be more cuts than kills.
    fn receive(&mut self) -> io::Result<Answer>;
}

/// A file or block device node, used directly. One request at a time, done when it is sent.
#[derive(Debug)]
pub struct FileLink {
    file: File,
    done: VecDeque<Answer>,
    /// What the kernel moves from and to: direct I/O wants it aligned.
    aligned: Aligned,
}

impl FileLink {
    /// Opens a file or node.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .custom_flags(DIRECT)
            .open(path)?;
        Ok(FileLink {
            file,
            done: VecDeque::new(),
            aligned: Aligned::default(),
        })
    }

    fn write(
        &mut self,
        at: u64,
        bytes: &[u8],
        content: Content,
        durability: Durability,
    ) -> io::Result<()> {
        match content {
            Content::Noise => self.file.write_all_at(self.aligned.filled(bytes), at)?,
            Content::Zeros => {
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                fallocate(&self.file, flags, at, bytes.len() as u64)?;
            }
        }
        match durability {
            Durability::Volatile => Ok(()),
            Durability::Fua => self.file.sync_data(),
        }
    }
}

impl Link for FileLink {
    fn send(&mut self, command: Command) -> io::Result<()> {
        let mut answer = Answer {
            id: command.id,
            bytes: Vec::new(),
        };
        match command.work {
            Work::Read { first, count } => {
                let bytes = self.aligned.space(count as usize * BLOCK);
                self.file.read_exact_at(bytes, first * BLOCK as u64)?;
                answer.bytes = bytes.to_vec();
            }
            Work::Write {
                first,
                bytes,
                content,
                durability,
            } => self.write(first * BLOCK as u64, &bytes, content, durability)?,
            Work::Flush => self.file.sync_data()?,
        }
        self.done.push_back(answer);
        Ok(())
    }

    fn receive(&mut self) -> io::Result<Answer> {
        Ok(self.done.pop_front().expect("something was asked"))
    }
}

/// Bytes that begin at a multiple of a block's length.
#[derive(Debug, Default)]
struct Aligned(Vec<u8>);

impl Aligned {
    fn space(&mut self, len: usize) -> &mut [u8] {
        self.0.resize(self.0.len().max(len + BLOCK), 0);
        let skip = self.0.as_ptr().align_offset(BLOCK);
        &mut self.0[skip..skip + len]
    }

    fn filled(&mut self, bytes: &[u8]) -> &[u8] {
        let space = self.space(bytes.len());
        space.copy_from_slice(bytes);
        space
    }
}
