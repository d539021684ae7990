//! Makes a stream.

use std::io::Write;

use block::Range;

use super::chain::Chain;
use super::frame::{Frame, FrameKind, MAGIC, RECORD_MAX};
use super::header::Header;

/// Zeros are looked for in pieces of this many bytes: a record costs 32 bytes, and a receiver a
/// request.
const LOOK: usize = 64 << 10;

/// Writes one part of a stream. A part that is not finished is told from one that is.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    chain: Chain,
    /// What has been written is about bytes before this.
    position: u64,
    size: u64,
    /// Zeros in front of what comes next; empty if there are none.
    zeros: Range,
    carried: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a stream, or goes on with one, as the head says.
    pub fn begin(mut out: W, header: &Header) -> std::io::Result<Self> {
        assert!(
            header.position() <= header.size,
            "a stream goes on within its volume"
        );
        let payload = header.to_bytes();
        out.write_all(MAGIC)?;
        out.write_all(&Frame::of(FrameKind::Head, 0, 0, &payload).bytes_behind(None))?;
        out.write_all(&payload)?;
        Ok(Self {
            out,
            chain: header.chain(),
            position: header.position(),
            size: header.size,
            zeros: Range::EMPTY,
            carried: 0,
        })
    }

    /// The volume holds `bytes` from byte `start` on, which is not before the end of what was said
    /// before. Where these are zeros, only that is said.
    pub fn bytes(&mut self, start: u64, bytes: &[u8]) -> std::io::Result<()> {
        let (mut at, mut rest) = (start, bytes);
        while !rest.is_empty() {
            let (kind, count) = run(rest);
            assert!(count > 0, "each step goes on");
            let (now, behind) = rest.split_at(count);
            match kind {
                FrameKind::Zeros => self.zeroes(Range::new(at, count as u64))?,
                _ => self.data(at, now)?,
            }
            at += count as u64;
            rest = behind;
        }
        Ok(())
    }

    /// The volume holds zeros there.
    pub fn zeroes(&mut self, range: Range) -> std::io::Result<()> {
        assert!(!range.is_empty(), "there is something to say");
        assert!(
            range.start() >= self.zeros.end(),
            "what is said is in order"
        );
        if self.zeros.is_empty() {
            self.zeros = range;
        } else if self.zeros.end() == range.start() {
            self.zeros = Range::new(self.zeros.start(), self.zeros.len() + range.len());
        } else {
            self.say_zeros()?;
            self.zeros = range;
        }
        Ok(())
    }

    /// How many bytes of the volume are in the stream as such.
    pub fn carried(&self) -> u64 {
        self.carried
    }

    /// Ends the stream.
    pub fn finish(mut self) -> std::io::Result<W> {
        self.say_zeros()?;
        assert!(
            self.carried <= self.position && self.position <= self.size,
            "no more was said than there is"
        );
        let payload = *self.chain.as_bytes();
        let frame = Frame::of(FrameKind::End, self.size, 0, &payload);
        self.out.write_all(&frame.bytes_behind(Some(&self.chain)))?;
        self.out.write_all(&payload)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn data(&mut self, start: u64, bytes: &[u8]) -> std::io::Result<()> {
        self.say_zeros()?;
        for (index, piece) in bytes.chunks(RECORD_MAX).enumerate() {
            let at = start + (index * RECORD_MAX) as u64;
            let range = Range::new(at, piece.len() as u64);
            self.record(FrameKind::Data, range, piece)?;
            self.carried += range.len();
        }
        Ok(())
    }

    fn say_zeros(&mut self) -> std::io::Result<()> {
        let zeros = std::mem::replace(&mut self.zeros, Range::EMPTY);
        if zeros.is_empty() {
            return Ok(());
        }
        self.record(FrameKind::Zeros, zeros, &[])
    }

    fn record(&mut self, kind: FrameKind, range: Range, payload: &[u8]) -> std::io::Result<()> {
        assert!(
            range.start() >= self.position && range.end() <= self.size,
            "records are in order, and in the volume"
        );
        let is_carried = payload.len() as u64 == range.len();
        assert!(
            payload.is_empty() || is_carried,
            "a record has all of its bytes or none"
        );
        let frame = Frame::of(kind, range.start(), range.len(), payload);
        let frame = frame.bytes_behind(Some(&self.chain));
        self.out.write_all(&frame)?;
        self.out.write_all(payload)?;
        self.chain.add(&frame, payload);
        self.position = range.end();
        Ok(())
    }
}

/// What the first piece of `bytes` is, and how many bytes from there on are the same.
fn run(bytes: &[u8]) -> (FrameKind, usize) {
    let kind = |piece: &[u8]| {
        if is_zero(piece) {
            FrameKind::Zeros
        } else {
            FrameKind::Data
        }
    };
    let mut pieces = bytes.chunks(LOOK);
    let first = pieces.next().unwrap_or_default();
    let of_first = kind(first);
    let more = pieces.take_while(|piece| kind(piece) == of_first);
    let more: usize = more.map(<[u8]>::len).sum();
    (of_first, first.len() + more)
}

fn is_zero(bytes: &[u8]) -> bool {
    // Without a way out of the inner loop the compiler looks at many at once.
    let any = |chunk: &[u8]| chunk.iter().fold(0, |any, byte| any | byte);
    bytes.chunks(1024).all(|chunk| any(chunk) == 0)
}
