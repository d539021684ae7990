//! Which requests are let through to the device.

use crate::wire::RequestHeader;
use crate::wire::constants::{
    CMD_BLOCK_STATUS, CMD_CACHE, CMD_FLAG_DF, CMD_FLAG_FAST_ZERO, CMD_FLAG_FUA, CMD_FLAG_NO_HOLE,
    CMD_FLAG_PAYLOAD_LEN, CMD_FLAG_REQ_ONE, CMD_FLUSH, CMD_READ, CMD_TRIM, CMD_WRITE,
    CMD_WRITE_ZEROES, EINVAL, ENOSPC, ENOTSUP, EPERM, PAYLOAD_LEN_MAX,
};
use crate::wire::{ReplyStyle, RequestStyle};
use block::{Info, Range};

use super::Agreed;

/// A refused request: the protocol's code, and words for people.
pub(super) type Refusal = (u32, &'static str);

/// Whether a request may be submitted, and for what range. The size is that of now.
pub(super) fn check(agreed: &Agreed, size: u64, header: &RequestHeader) -> Result<Range, Refusal> {
    let info = &agreed.info;
    if header.flags & !known_flags(agreed, header.command) != 0 {
        return Err((EINVAL, "a flag does not go with this command"));
    }
    if header.command == CMD_FLUSH {
        return Ok(Range::EMPTY);
    }
    let writes = matches!(header.command, CMD_WRITE | CMD_TRIM | CMD_WRITE_ZEROES);
    if writes && info.read_only {
        return Err((EPERM, "this export is read-only"));
    }
    let inside = Range::checked(header.offset, header.len).filter(|range| range.end() <= size);
    let Some(range) = inside else {
        let code = if writes { ENOSPC } else { EINVAL };
        return Err((code, "the range ends behind the export"));
    };
    match header.command {
        CMD_READ | CMD_WRITE if header.len > u64::from(PAYLOAD_LEN_MAX) => {
            return Err((EINVAL, "a read or write is longer than 32 MiB"));
        }
        CMD_TRIM if info.discard_granularity == 0 => {
            return Err((ENOTSUP, "this export does not discard"));
        }
        CMD_WRITE_ZEROES => fast_zero(info, header)?,
        CMD_BLOCK_STATUS if agreed.contexts.is_empty() => {
            return Err((EINVAL, "no metadata context was chosen"));
        }
        CMD_BLOCK_STATUS if range.is_empty() => {
            return Err((EINVAL, "the status of nothing is not known"));
        }
        CMD_READ | CMD_WRITE | CMD_CACHE | CMD_TRIM | CMD_BLOCK_STATUS => {}
        _ => return Err((EINVAL, "this server does not know this command")),
    }
    if writes && !range.is_aligned(u64::from(info.logical_block)) {
        return Err((EINVAL, "the range is not aligned to the minimum block size"));
    }
    Ok(range)
}

fn known_flags(agreed: &Agreed, command: u16) -> u16 {
    // The protocol lets every command carry FUA, and an extended write its payload flag.
    let flags = match command {
        CMD_READ if agreed.replies != ReplyStyle::Simple => CMD_FLAG_DF,
        CMD_WRITE_ZEROES => CMD_FLAG_NO_HOLE | CMD_FLAG_FAST_ZERO,
        CMD_BLOCK_STATUS => CMD_FLAG_REQ_ONE,
        CMD_WRITE if agreed.requests == RequestStyle::Extended => CMD_FLAG_PAYLOAD_LEN,
        _ => 0,
    };
    flags | CMD_FLAG_FUA
}

/// Zeros are fast where the device makes holes that read as zeros.
fn fast_zero(info: &Info, header: &RequestHeader) -> Result<(), Refusal> {
    let holes = info.discard_zeroes && header.flags & CMD_FLAG_NO_HOLE == 0;
    if header.flags & CMD_FLAG_FAST_ZERO != 0 && !holes {
        return Err((ENOTSUP, "zeros would be no faster than writing them"));
    }
    Ok(())
}
