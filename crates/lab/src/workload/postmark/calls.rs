//! System calls that the program's reads and writes become.
//!
//! Without buffering each block is a call. With it the GNU C library's streams stand between: a
//! buffer of 4,096 bytes, and whole buffers of what goes beyond it in one call past the buffer. So
//! blocks of 512 bytes become calls of 4,096, and blocks of 20,000 calls of 16,384, 4,096, 8,192
//! and so on; the tests have traces of it.

use super::settings::{Buffering, Settings};

/// Bytes of a stream's buffer: the block size that Linux names for files on its file systems.
const BUFFER: u64 = 4096;

/// Bytes moved by each system call of one operation, in order.
#[derive(Debug, Clone)]
pub struct Calls {
    way: Way,
    buffering: Buffering,
    block: u64,
    /// Bytes that the program has not asked to be moved.
    left: u64,
    /// Bytes that the kernel has not been asked for; of reads.
    unread: u64,
    /// Bytes in the buffer.
    held: u64,
    /// Whether the stream has its buffer yet; it gets it with the first write.
    buffer: bool,
    /// Calls of the last block, newest first.
    pending: [u64; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Read,
    Write,
}

impl Settings {
    /// The calls that read a file of so many bytes.
    pub fn reads(&self, bytes: u64) -> Calls {
        Calls::new(Way::Read, self.buffering, self.read_block, bytes)
    }

    /// The calls that write so many bytes, of a new file or at the end of one.
    pub fn writes(&self, bytes: u64) -> Calls {
        Calls::new(Way::Write, self.buffering, self.write_block, bytes)
    }
}

impl Calls {
    fn new(way: Way, buffering: Buffering, block: u32, bytes: u64) -> Self {
        Self {
            way,
            buffering,
            block: u64::from(block).max(1),
            left: bytes,
            unread: bytes,
            held: 0,
            buffer: false,
            pending: [0; 2],
        }
    }

    fn write(&mut self, bytes: u64) {
        let room = if self.buffer { BUFFER - self.held } else { 0 };
        let copied = bytes.min(room);
        self.held += copied;
        let rest = bytes - copied;
        if rest > 0 {
            self.buffer = true;
            let past = rest - rest % BUFFER;
            self.pending = [past, self.held];
            self.held = rest - past;
        }
    }

    fn read(&mut self, bytes: u64) {
        let copied = bytes.min(self.held);
        self.held -= copied;
        let rest = bytes - copied;
        if rest > 0 {
            let past = rest - rest % BUFFER;
            let want = rest - past;
            self.unread -= past;
            let filled = if want > 0 { self.unread.min(BUFFER) } else { 0 };
            self.unread -= filled;
            self.held = filled - want;
            self.pending = [filled, past];
        }
    }
}

impl Iterator for Calls {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            for slot in self.pending.iter_mut().rev() {
                if *slot > 0 {
                    return Some(std::mem::take(slot));
                }
            }
            let bytes = self.block.min(self.left);
            self.left -= bytes;
            if bytes == 0 {
                // The end flushes what is written; what was read ahead is dropped.
                let held = std::mem::take(&mut self.held);
                return (held > 0 && self.way == Way::Write).then_some(held);
            }
            match (self.buffering, self.way) {
                (Buffering::None, _) => return Some(bytes),
                (Buffering::Stdio, Way::Write) => self.write(bytes),
                (Buffering::Stdio, Way::Read) => self.read(bytes),
            }
        }
    }
}
