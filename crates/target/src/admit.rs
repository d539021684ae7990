//! What a device may be asked, going by what it says about itself.
//!
//! [`block::Checked`] does this for devices whose size never changes; a volume may grow.

use block::{Error, Info, Kind, Operation, Request, Result};

/// Whether a device that says `info` may be asked this.
#[inline]
pub(crate) fn admit(info: &Info, request: &Request) -> Result<()> {
    let range = request.range;
    let refuse = |kind, what: &str| {
        let (name, operation) = (&info.name, request.operation);
        let (start, len) = (range.start(), range.len());
        let what = format!("{name}: {operation:?} of {len} bytes at byte {start} {what}");
        Err(Error::new(kind, what))
    };
    if request.operation == Operation::Flush {
        return Ok(());
    }
    if range.end() > info.size {
        return refuse(Kind::InvalidRequest, "lies outside");
    }
    if !range.is_aligned(u64::from(info.logical_block)) {
        return refuse(Kind::InvalidRequest, "cuts a logical block");
    }
    let with_data = matches!(request.operation, Operation::Read | Operation::Write);
    if with_data && request.buffer.len() as u64 != range.len() {
        return refuse(Kind::InvalidRequest, "has a buffer of another length");
    }
    if request.operation.is_write() && info.read_only {
        return refuse(Kind::ReadOnly, "is refused: this is read-only");
    }
    Ok(())
}
