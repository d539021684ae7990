//! A connection to an NBD server, written for this purpose alone: it shares no line with the
//! product's own client, whose mistakes would otherwise be repeated by what is to find them.
//!
//! Fixed newstyle negotiation with `GO`, 28-byte requests, simple replies. The server is trusted
//! to be one; what it answers is not.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::history::Durability;
use super::link::{Answer, Command, Link, Work};
use super::pattern::{BLOCK, Content};

/// A server that says nothing for this long is broken, not slow.
const SILENCE_MAX: Duration = Duration::from_mins(3);

const SERVER_MAGIC: u64 = u64::from_be_bytes(*b"NBDMAGIC");
const OPTION_MAGIC: u64 = u64::from_be_bytes(*b"IHAVEOPT");
const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
const REQUEST: u32 = 0x2560_9513;
const SIMPLE_REPLY: u32 = 0x6744_6698;
const GO: u32 = 7;
const REP_ACK: u32 = 1;
const REP_INFO: u32 = 3;
const INFO_EXPORT: u16 = 0;
/// Fixed newstyle, no zeros at the end.
const GREETING_FLAGS: u32 = 3;
const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const WRITE_ZEROES: u16 = 6;
const FUA: u16 = 1;
const HEADER_MAX: usize = 4096;

/// One connection.
#[derive(Debug)]
pub struct NbdLink {
    stream: UnixStream,
    size: u64,
    flags: u16,
    /// How many bytes each read in flight waits for.
    reads: HashMap<u64, usize>,
}

impl NbdLink {
    /// Connects to an export of the server on a unix socket.
    ///
    /// # Errors
    /// When nobody listens, or what answers is not an NBD server with this export.
    pub fn connect(socket: &Path, export: &str) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(SILENCE_MAX))?;
        stream.set_write_timeout(Some(SILENCE_MAX))?;
        let mut link = NbdLink {
            stream,
            size: 0,
            flags: 0,
            reads: HashMap::new(),
        };
        link.negotiate(export)?;
        Ok(link)
    }

    /// The export's size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the server says that a flush on one connection covers all.
    pub fn flushes_for_all(&self) -> bool {
        self.flags & (1 << 8) != 0
    }

    fn negotiate(&mut self, export: &str) -> io::Result<()> {
        if self.u64()? != SERVER_MAGIC || self.u64()? != OPTION_MAGIC {
            return Err(io::Error::other("not an NBD server"));
        }
        self.u16()?;
        let mut hello = GREETING_FLAGS.to_be_bytes().to_vec();
        hello.extend(OPTION_MAGIC.to_be_bytes());
        hello.extend(GO.to_be_bytes());
        hello.extend((export.len() as u32 + 6).to_be_bytes());
        hello.extend((export.len() as u32).to_be_bytes());
        hello.extend(export.as_bytes());
        hello.extend([0, 0]);
        self.stream.write_all(&hello)?;
        loop {
            let (magic, option) = (self.u64()?, self.u32()?);
            let (kind, len) = (self.u32()?, self.u32()? as usize);
            if magic != OPTION_REPLY || option != GO || len > HEADER_MAX {
                return Err(io::Error::other("not the answer to GO"));
            }
            let mut body = vec![0; len];
            self.stream.read_exact(&mut body)?;
            match kind {
                REP_ACK => return Ok(()),
                REP_INFO if body.starts_with(&INFO_EXPORT.to_be_bytes()) && len == 12 => {
                    let size = body[2..].first_chunk().expect("twelve bytes");
                    self.size = u64::from_be_bytes(*size);
                    self.flags = u16::from_be_bytes([body[10], body[11]]);
                }
                REP_INFO => {}
                _ => {
                    let words = String::from_utf8_lossy(&body).into_owned();
                    return Err(io::Error::other(format!("{export}: refused: {words}")));
                }
            }
        }
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn u16(&mut self) -> io::Result<u16> {
        self.bytes().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> io::Result<u32> {
        self.bytes().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> io::Result<u64> {
        self.bytes().map(u64::from_be_bytes)
    }
}

impl Link for NbdLink {
    fn send(&mut self, command: Command) -> io::Result<()> {
        let (code, first, len) = match &command.work {
            Work::Read { first, count } => (READ, *first, *count as usize * BLOCK),
            Work::Write {
                first,
                bytes,
                content,
                ..
            } => match content {
                Content::Noise => (WRITE, *first, bytes.len()),
                Content::Zeros => (WRITE_ZEROES, *first, bytes.len()),
            },
            Work::Flush => (FLUSH, 0, 0),
        };
        let flags = match &command.work {
            Work::Write {
                durability: Durability::Fua,
                ..
            } => FUA,
            _ => 0,
        };
        let mut message = REQUEST.to_be_bytes().to_vec();
        message.extend(flags.to_be_bytes());
        message.extend(code.to_be_bytes());
        message.extend(command.id.to_be_bytes());
        message.extend((first * BLOCK as u64).to_be_bytes());
        message.extend((len as u32).to_be_bytes());
        match command.work {
            Work::Read { .. } => {
                self.reads.insert(command.id, len);
            }
            Work::Write {
                bytes,
                content: Content::Noise,
                ..
            } => message.extend(bytes),
            _ => {}
        }
        self.stream.write_all(&message)
    }

    fn receive(&mut self) -> io::Result<Answer> {
        let (magic, errno, id) = (self.u32()?, self.u32()?, self.u64()?);
        if magic != SIMPLE_REPLY || errno != 0 {
            let what = format!("request {id} failed with NBD error {errno} (magic {magic:x})");
            return Err(io::Error::other(what));
        }
        let mut bytes = vec![0; self.reads.remove(&id).unwrap_or(0)];
        self.stream.read_exact(&mut bytes)?;
        Ok(Answer { id, bytes })
    }
}
