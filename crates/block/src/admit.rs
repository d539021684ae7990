//! What a device may be asked, going by what it says about itself: one check for all of them.
//!
//! [`crate::Checked`] makes it for devices whose size seldom changes; queues of what grows while
//! it is used make it themselves, with what is true at that moment.

use crate::{Error, Info, Kind, Operation, Request, Result};

impl Info {
    /// Whether the device may be asked this; if not, why.
    #[inline]
    pub fn admit(&self, request: &Request) -> Result<()> {
        if self.is_proper(request) {
            return Ok(());
        }
        Err(self.refusal(request))
    }

    /// Whether the device may be asked this: it lies inside, in whole blocks, comes with as many
    /// bytes as its range has, and writes only where that is allowed.
    #[inline]
    pub fn is_proper(&self, request: &Request) -> bool {
        let range = request.range;
        range.end() <= self.size
            && range.is_aligned(self.logical_block.into())
            && request.buffer.len() as u64 == buffer_len(request)
            && !(self.read_only && request.operation.is_write())
    }

    /// Why a request is refused.
    #[cold]
    fn refusal(&self, request: &Request) -> Error {
        let Self { name, size, .. } = self;
        if request.operation.is_write() && self.read_only {
            return Error::new(Kind::ReadOnly, format!("{name} is read-only"));
        }
        let (range, block) = (request.range, self.logical_block);
        let place = format!("{} bytes at byte {} of {name}", range.len(), range.start());
        let what = if range.end() > *size {
            format!("{place}, which has {size} bytes, lie outside")
        } else if range.is_aligned(block.into()) {
            format!("{place} come with {} in memory", request.buffer.len())
        } else {
            format!("{place} are not whole blocks of {block} bytes")
        };
        Error::new(Kind::InvalidRequest, what)
    }
}

/// How many bytes come with a request.
#[inline]
fn buffer_len(request: &Request) -> u64 {
    match request.operation {
        Operation::Read | Operation::Write => request.range.len(),
        _ => 0,
    }
}
