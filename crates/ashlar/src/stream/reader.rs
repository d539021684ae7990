//! Takes a stream, record for record, and believes nothing of it.

use std::io::{ErrorKind, Read};

use block::Range;

use super::chain::Chain;
use super::frame::{Frame, FrameKind, MAGIC, damaged};
use super::header::{Header, NAME_MAX};
use crate::{Error, Kind, Result};

/// More than any head has.
const HEAD_MAX: u32 = 1024 + NAME_MAX as u32;

/// What a record says.
#[derive(Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// The volume holds these bytes there.
    Data(u64, &'a [u8]),
    /// It holds zeros there.
    Zeroes(Range),
    /// There is no more, and nothing was lost.
    End,
}

/// Reads one part of a stream.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    header: Header,
    chain: Chain,
    position: u64,
    payload: Vec<u8>,
    has_ended: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the head of a stream.
    ///
    /// An error of kind `Damaged` says that it is none, or broken; one of kind `Incomplete` that it
    /// ends too early; any other comes from the input.
    pub fn begin(mut input: R) -> Result<Self> {
        let mut magic = [0; MAGIC.len()];
        fill(&mut input, &mut magic)?;
        if magic != *MAGIC {
            let what = "this is no stream of ashlar send, or one of a later version";
            return Err(Error::new(Kind::Damaged, what));
        }
        let (frame, _) = read_frame(&mut input, None)?;
        if frame.kind != FrameKind::Head || frame.payload > HEAD_MAX {
            return Err(damaged("it does not begin with its head"));
        }
        let mut payload = Vec::new();
        read_payload(&mut input, &frame, &mut payload)?;
        let header = Header::from_bytes(&payload)?;
        Ok(Self {
            input,
            chain: header.chain(),
            position: header.position(),
            header,
            payload,
            has_ended: false,
        })
    }

    /// What the stream is of.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Where the stream stands behind the last record: the byte of the volume up to which nothing
    /// more comes, and the chain. Going on begins there.
    pub fn stand(&self) -> (u64, Chain) {
        assert!(
            self.position <= self.header.size,
            "records are within the volume"
        );
        (self.position, self.chain)
    }

    /// The next record. After an error, or the end, there is none.
    pub fn record(&mut self) -> Result<Record<'_>> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Err(damaged("it was read behind its end"));
        }
        let (frame, bytes) = read_frame(&mut self.input, Some(&self.chain))?;
        match frame.kind {
            FrameKind::Head => return Err(damaged("a second head is in it")),
            FrameKind::End => return self.end(&frame),
            FrameKind::Data | FrameKind::Zeros => {}
        }
        let range = Range::checked(frame.start, frame.length);
        let is_within = |range: &Range| {
            range.start() >= self.position && range.end() <= self.header.size && !range.is_empty()
        };
        let Some(range) = range.filter(is_within) else {
            return Err(damaged(
                "a record is out of order, or outside of the volume",
            ));
        };
        if self.header.base.is_none() && range.start() != self.position {
            return Err(damaged("a part of the volume is not in it"));
        }
        let is_fitting = match frame.kind {
            FrameKind::Data => u64::from(frame.payload) == frame.length,
            _ => frame.payload == 0,
        };
        if !is_fitting {
            return Err(damaged("a record has another length than it says"));
        }
        read_payload(&mut self.input, &frame, &mut self.payload)?;
        assert_eq!(
            self.payload.len(),
            frame.payload as usize,
            "all of it was read"
        );
        self.chain.add(&bytes, &self.payload);
        self.position = range.end();
        self.has_ended = false;
        Ok(if frame.kind == FrameKind::Data {
            Record::Data(range.start(), &self.payload)
        } else {
            Record::Zeroes(range)
        })
    }

    fn end(&mut self, frame: &Frame) -> Result<Record<'_>> {
        if frame.payload as usize != Chain::LEN || frame.start != self.header.size {
            return Err(damaged("its end is none"));
        }
        read_payload(&mut self.input, frame, &mut self.payload)?;
        if self.payload != self.chain.as_bytes() {
            return Err(damaged(
                "its digest is wrong: records are missing, or others",
            ));
        }
        if self.header.base.is_none() && self.position != self.header.size {
            return Err(damaged("a part of the volume is not in it"));
        }
        Ok(Record::End)
    }
}

fn read_frame(input: &mut impl Read, chain: Option<&Chain>) -> Result<(Frame, [u8; Frame::LEN])> {
    let mut bytes = [0; Frame::LEN];
    fill(input, &mut bytes)?;
    Ok((Frame::from_bytes(&bytes, chain)?, bytes))
}

/// Reads what follows a frame, and checks it. Memory is taken for what a record may have at most.
fn read_payload(input: &mut impl Read, frame: &Frame, payload: &mut Vec<u8>) -> Result<()> {
    payload.resize(frame.payload as usize, 0);
    fill(input, payload)?;
    frame.check(payload)
}

fn fill(input: &mut impl Read, buffer: &mut [u8]) -> Result<()> {
    input.read_exact(buffer).map_err(|error| {
        if error.kind() == ErrorKind::UnexpectedEof {
            return Error::new(Kind::Incomplete, "the stream ends in the middle");
        }
        Error::new(Kind::Device, "the stream cannot be read").because(error)
    })
}
