//! What a device may be asked, going by what it says about itself.
//!
//! [`block::Checked`] does this for devices whose size never changes; a volume may grow.

use block::{Error, Info, Kind, Operation, Request, Result};

/// Whether a device that says `info` may be asked this; if not, why.
pub(crate) fn admit(info: &Info, request: &Request) -> Result<()> {
    if request.operation == Operation::Flush || is_proper(info, request) {
        return Ok(());
    }
    Err(refusal(info, request))
}

/// Whether a device that says `info` may be asked this, which is no flush.
#[inline]
pub(crate) fn is_proper(info: &Info, request: &Request) -> bool {
    let range = request.range;
    range.end() <= info.size
        && range.is_aligned(u64::from(info.logical_block))
        && has_its_buffer(request)
        && !(info.read_only && request.operation.is_write())
}

/// Whether a request with data comes with as many bytes as its range has.
#[inline]
fn has_its_buffer(request: &Request) -> bool {
    let with_data = matches!(request.operation, Operation::Read | Operation::Write);
    !with_data || request.buffer.len() as u64 == request.range.len()
}

/// Why a request is refused.
#[cold]
fn refusal(info: &Info, request: &Request) -> Error {
    let range = request.range;
    let (kind, what) = if range.end() > info.size {
        (Kind::InvalidRequest, "lies outside")
    } else if !range.is_aligned(u64::from(info.logical_block)) {
        (Kind::InvalidRequest, "cuts a logical block")
    } else if !has_its_buffer(request) {
        (Kind::InvalidRequest, "has a buffer of another length")
    } else {
        (Kind::ReadOnly, "is refused: this is read-only")
    };
    let (name, operation) = (&info.name, request.operation);
    let (start, len) = (range.start(), range.len());
    let what = format!("{name}: {operation:?} of {len} bytes at byte {start} {what}");
    Error::new(kind, what)
}
