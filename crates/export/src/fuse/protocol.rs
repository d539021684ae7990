//! FUSE's messages, as far as one file needs them.
//!
//! Requests come as a 40-byte header and a body; answers go as a 16-byte header and a body. All
//! integers are in the machine's byte order (the kernel's `fuse.h`, protocol 7.31 and later). The
//! decoder believes nothing: a kernel is the usual peer, but a body that is too short is an error
//! and never an index out of bounds.

use std::num::NonZeroU32;

use block::Durability;

/// Bytes of the header of a request.
pub(crate) const REQUEST_HEADER: usize = 40;
/// Bytes of a write's body before its data.
pub(crate) const WRITE_BODY: usize = 40;
/// Bytes of the header of an answer.
pub(crate) const REPLY_HEADER: usize = 16;
/// The longest read or write, in bytes: the kernel's limit of 256 pages.
pub(crate) const TRANSFER_MAX: usize = 1 << 20;
/// The file's inode: the root of the mount.
pub(crate) const FILE: u64 = 1;

/// The protocol's major version; a kernel with another one repeats `INIT` until both agree.
const MAJOR: u32 = 7;
/// The oldest minor version understood (Linux 5.4).
const MINOR_MIN: u32 = 31;
/// What the answers are made for.
const MINOR: u32 = 36;

/// Requests that the kernel may have under way in the background. Its default of 12 would cap
/// the queue depth of a loop device.
const BACKGROUND_MAX: u16 = 128;

const FLAG_ASYNC_READ: u64 = 1 << 0;
const FLAG_BIG_WRITES: u64 = 1 << 5;
const FLAG_ASYNC_DIO: u64 = 1 << 15;
const FLAG_MAX_PAGES: u64 = 1 << 22;
const FLAG_INIT_EXT: u64 = 1 << 30;
const FLAG_DIRECT_IO_ALLOW_MMAP: u64 = 1 << 36;

const OPEN_DIRECT_IO: u32 = 1 << 0;
const OPEN_NO_FLUSH: u32 = 1 << 5;
const OPEN_PARALLEL_DIRECT_WRITES: u32 = 1 << 6;

const SETATTR_SIZE: u32 = 1 << 3;

/// What the kernel asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Init {
        major: u32,
        minor: u32,
        flags: u64,
        read_ahead_max: u32,
    },
    GetAttributes,
    /// A change of attributes; of these only "set the size to what it is" can be granted.
    SetAttributes {
        size: Option<u64>,
    },
    Open {
        flags: u32,
    },
    Read {
        offset: u64,
        len: u32,
    },
    /// The data follow the body.
    Write {
        offset: u64,
        len: u32,
        durability: Durability,
    },
    Sync,
    Allocate {
        offset: u64,
        len: u64,
        mode: u32,
    },
    Seek {
        offset: u64,
        whence: u32,
    },
    StatFs,
    /// Answered with success and nothing else: release, flush, access, destroy.
    Acknowledge,
    /// Wants no answer: forget, interrupt.
    Silent,
    /// A name looked up below a file: there is none.
    Lookup,
    /// Anything else.
    Unknown,
    /// The body is shorter than its operation needs.
    Malformed,
}

/// One decoded request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Incoming {
    /// The request's number, which the answer repeats.
    pub(crate) unique: u64,
    pub(crate) operation: Operation,
}

/// Reads integers from a body, one after another.
struct Body<'a>(&'a [u8]);

impl Body<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_ne_bytes(*head))
    }

    fn u64(&mut self) -> Option<u64> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*head))
    }
}

/// Decodes one request. One read of `/dev/fuse` gave `total` bytes that begin with `bytes`, which
/// hold at least the body of any operation known here. `None`: there is no whole header.
pub(crate) fn decode(bytes: &[u8], total: usize) -> Option<Incoming> {
    let mut header = Body(bytes.get(..REQUEST_HEADER)?);
    let (len, opcode, unique) = (header.u32()? as usize, header.u32()?, header.u64()?);
    let body = Body(&bytes[REQUEST_HEADER..]);
    let operation = (len == total).then(|| decode_body(opcode, body, total - REQUEST_HEADER));
    Some(Incoming {
        unique,
        operation: operation.flatten().unwrap_or(Operation::Malformed),
    })
}

/// Decodes the body of `opcode`, which is `body_len` bytes long. `None`: it is cut off.
fn decode_body(opcode: u32, mut body: Body<'_>, body_len: usize) -> Option<Operation> {
    Some(match opcode {
        1 => Operation::Lookup,
        2 | 36 | 42 => Operation::Silent,
        3 => Operation::GetAttributes,
        4 => {
            let valid = body.u32()?;
            let (_padding, _handle) = (body.u32()?, body.u64()?);
            let size = body.u64()?;
            Operation::SetAttributes {
                size: (valid & SETATTR_SIZE != 0).then_some(size),
            }
        }
        14 => Operation::Open { flags: body.u32()? },
        15 | 16 => {
            let _handle = body.u64()?;
            let (offset, len) = (body.u64()?, body.u32()?);
            if opcode == 15 {
                Operation::Read { offset, len }
            } else if body_len == WRITE_BODY + len as usize {
                let (_write_flags, _lock_owner) = (body.u32()?, body.u64()?);
                let durability = durability_of(body.u32()?);
                Operation::Write {
                    offset,
                    len,
                    durability,
                }
            } else {
                return None;
            }
        }
        17 => Operation::StatFs,
        18 | 25 | 34 | 38 => Operation::Acknowledge,
        20 => Operation::Sync,
        26 => decode_init(&mut body)?,
        43 => {
            let _handle = body.u64()?;
            Operation::Allocate {
                offset: body.u64()?,
                len: body.u64()?,
                mode: body.u32()?,
            }
        }
        46 => {
            let _handle = body.u64()?;
            Operation::Seek {
                offset: body.u64()?,
                whence: body.u32()?,
            }
        }
        _ => Operation::Unknown,
    })
}

/// When a write counts as done, by the `flags` of its body: those of the open file, to which the
/// kernel adds `O_DSYNC` for what came with `RWF_DSYNC` or `RWF_SYNC` (`fuse_write_flags`). A file
/// that is not cached gets no `fsync` behind such a write, so nothing else asks for durability.
fn durability_of(flags: u32) -> Durability {
    if flags as i32 & (libc::O_DSYNC | libc::O_SYNC) == 0 {
        Durability::Volatile
    } else {
        Durability::Fua
    }
}

fn decode_init(body: &mut Body<'_>) -> Option<Operation> {
    let (major, minor) = (body.u32()?, body.u32()?);
    let read_ahead_max = body.u32()?;
    let mut flags = u64::from(body.u32()?);
    if flags & FLAG_INIT_EXT != 0 {
        flags |= u64::from(body.u32()?) << 32;
    }
    Some(Operation::Init {
        major,
        minor,
        flags,
        read_ahead_max,
    })
}

/// What the file looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// Bytes.
    pub(crate) size: u64,
    /// Permission bits.
    pub(crate) mode: u32,
    pub(crate) owner: u32,
    pub(crate) group: u32,
    /// The preferred I/O size, in bytes.
    pub(crate) block_size: u32,
    /// When the export began, in seconds since 1970.
    pub(crate) time: u64,
}

/// The body of an answer, built in place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reply {
    bytes: [u8; 104],
    len: usize,
}

impl Reply {
    pub(crate) const NOTHING: Self = Self {
        bytes: [0; 104],
        len: 0,
    };

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn push(mut self, bytes: &[u8]) -> Self {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
        debug_assert!(self.len <= self.bytes.len(), "an answer fits");
        self
    }

    fn u16(self, value: u16) -> Self {
        self.push(&value.to_ne_bytes())
    }

    fn u32(self, value: u32) -> Self {
        self.push(&value.to_ne_bytes())
    }

    fn u64(self, value: u64) -> Self {
        self.push(&value.to_ne_bytes())
    }

    /// Agrees on what both sides can do. `None`: the kernel is older than what is understood.
    pub(crate) fn init(major: u32, minor: u32, flags: u64, read_ahead_max: u32) -> Option<Self> {
        if major > MAJOR {
            // The kernel repeats its INIT with the version that this names.
            return Some(Self::NOTHING.u32(MAJOR).u32(MINOR));
        }
        if major < MAJOR || minor < MINOR_MIN {
            return None;
        }
        let wanted = FLAG_ASYNC_READ
            | FLAG_BIG_WRITES
            | FLAG_ASYNC_DIO
            | FLAG_MAX_PAGES
            | FLAG_INIT_EXT
            | FLAG_DIRECT_IO_ALLOW_MMAP;
        let flags = flags & wanted;
        let reply = Self::NOTHING
            .u32(MAJOR)
            .u32(minor.min(MINOR))
            .u32(read_ahead_max);
        let reply = reply
            .u32(flags as u32)
            .u16(BACKGROUND_MAX)
            .u16(BACKGROUND_MAX / 4 * 3);
        // Write size, time granularity (ns), pages of 4 KiB, map alignment, more flags.
        let reply = reply
            .u32(TRANSFER_MAX as u32)
            .u32(1)
            .u16((TRANSFER_MAX >> 12) as u16)
            .u16(0);
        let reply = reply.u32((flags >> 32) as u32).push(&[0; 28]);
        assert_eq!(reply.len, 64, "this is a `fuse_init_out`");
        Some(reply)
    }

    /// The attributes, valid for no time: the size may change behind the kernel's back.
    pub(crate) fn attributes(file: &Attributes) -> Self {
        let reply = Self::NOTHING.u64(0).u32(0).u32(0);
        let reply = reply.u64(FILE).u64(file.size).u64(file.size.div_ceil(512));
        let reply = reply
            .u64(file.time)
            .u64(file.time)
            .u64(file.time)
            .u32(0)
            .u32(0)
            .u32(0);
        let reply = reply
            .u32(libc::S_IFREG | file.mode)
            .u32(1)
            .u32(file.owner)
            .u32(file.group);
        let reply = reply.u32(0).u32(file.block_size).u32(0);
        debug_assert_eq!(reply.len, 104, "this is a `fuse_attr_out`");
        reply
    }

    /// An open file that is not cached: the device below decides what is cached and durable.
    pub(crate) fn open() -> Self {
        let flags = OPEN_DIRECT_IO | OPEN_NO_FLUSH | OPEN_PARALLEL_DIRECT_WRITES;
        Self::NOTHING.u64(0).u32(flags).u32(0)
    }

    /// How much of a write was done, in bytes.
    pub(crate) fn written(len: u32) -> Self {
        Self::NOTHING.u32(len).u32(0)
    }

    /// Where a seek ended, in bytes.
    pub(crate) fn offset(offset: u64) -> Self {
        Self::NOTHING.u64(offset)
    }

    /// A full file system of one file.
    pub(crate) fn stat_fs(size: u64) -> Self {
        let reply = Self::NOTHING.u64(size / 512).u64(0).u64(0).u64(1).u64(0);
        let reply = reply.u32(512).u32(255).u32(512).u32(0).push(&[0; 24]);
        debug_assert_eq!(reply.len, 80, "this is a `fuse_statfs_out`");
        reply
    }
}

/// The header of an answer to request `unique` with `body_len` bytes behind it.
pub(crate) fn reply_header(
    unique: u64,
    error: Option<NonZeroU32>,
    body_len: usize,
) -> [u8; REPLY_HEADER] {
    debug_assert!(body_len <= TRANSFER_MAX, "an answer has a limit");
    let mut header = [0; REPLY_HEADER];
    let errno = error.map_or(0, |errno| -(errno.get() as i32));
    header[..4].copy_from_slice(&((REPLY_HEADER + body_len) as u32).to_ne_bytes());
    header[4..8].copy_from_slice(&errno.to_ne_bytes());
    header[8..].copy_from_slice(&unique.to_ne_bytes());
    header
}

#[cfg(test)]
mod tests;
