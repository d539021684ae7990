//! Extents, asked on a connection of their own. Blocks, for a limited time.

use std::time::{Duration, Instant};

use super::connect::{Agreed, Connection, DeadlineStream};
use crate::wire::constants::{
    CMD_BLOCK_STATUS, CMD_FLAG_REQ_ONE, REPLY_FLAG_DONE, REPLY_TYPE_BLOCK_STATUS,
    REPLY_TYPE_BLOCK_STATUS_EXT, REPLY_TYPE_FLAG_ERROR, STATE_HOLE, STATE_ZERO,
};
use crate::wire::{
    ReplyHeader, ReplyStyle, RequestHeader, RequestStyle, decode_error, decode_extents,
    error_from_code,
};
use block::{Error, Extent, ExtentKind, Kind, Range, Result};

/// How long the server may take.
const ANSWER_MAX: Duration = Duration::from_mins(1);
/// The longest reply: half a million extents.
const PAYLOAD_MAX: u64 = 8 << 20;
/// Compact requests have 32 bits for a length; this is a multiple of any block.
const COMPACT_LEN_MAX: u64 = 1 << 31;

/// What the bytes from the start of `range` are made of.
pub(super) fn extents(
    connection: &Connection,
    range: Range,
    count_max: usize,
) -> Result<Vec<Extent>> {
    let agreed = &connection.agreed;
    let len = match agreed.requests {
        RequestStyle::Compact => range.len().min(COMPACT_LEN_MAX),
        RequestStyle::Extended => range.len(),
    };
    let request = RequestHeader {
        flags: if count_max <= 1 { CMD_FLAG_REQ_ONE } else { 0 },
        command: CMD_BLOCK_STATUS,
        cookie: 1,
        offset: range.start(),
        len,
    };
    let stream = DeadlineStream {
        socket: &connection.socket,
        deadline: Instant::now() + ANSWER_MAX,
    };
    stream.send(&request.encode(agreed.requests)[..agreed.requests.header_len()])?;
    let mut found = Vec::new();
    loop {
        let (kind, flags, payload) = receive_chunk(&stream, agreed)?;
        match kind {
            REPLY_TYPE_BLOCK_STATUS | REPLY_TYPE_BLOCK_STATUS_EXT => {
                let (context, extents) = decode_extents(kind, &payload)?;
                if Some(context) == agreed.context {
                    found = extents;
                }
            }
            kind if kind & REPLY_TYPE_FLAG_ERROR != 0 => {
                let (code, message) = decode_error(kind, &payload)?;
                return Err(error_from_code(code, message));
            }
            _ => {}
        }
        if flags & REPLY_FLAG_DONE != 0 {
            break;
        }
    }
    merge(&found, len, count_max)
}

/// One chunk: kind, flags, payload.
fn receive_chunk(stream: &DeadlineStream<'_>, agreed: &Agreed) -> Result<(u16, u16, Vec<u8>)> {
    let header_len = match agreed.replies {
        ReplyStyle::Simple => 16,
        ReplyStyle::Structured => 20,
        ReplyStyle::Extended => 32,
    };
    let mut bytes = [0; 32];
    stream.receive(&mut bytes[..16])?;
    let broken = |what: &str| Error::new(Kind::Invalid, format!("NBD: {what}"));
    let decode = |bytes: &[u8]| ReplyHeader::decode(agreed.replies, bytes);
    if let Some((ReplyHeader::Simple { error, .. }, _)) = decode(&bytes[..16])? {
        return Err(if error == 0 {
            broken("a block status reply without block status")
        } else {
            error_from_code(error, "")
        });
    }
    stream.receive(&mut bytes[16..header_len])?;
    match decode(&bytes[..header_len])? {
        Some((
            ReplyHeader::Chunk {
                flags, kind, len, ..
            },
            _,
        )) if len <= PAYLOAD_MAX => {
            let mut payload = vec![0; len as usize];
            stream.receive(&mut payload)?;
            Ok((kind, flags, payload))
        }
        _ => Err(broken("a block status reply is too long")),
    }
}

/// The server's extents as ours: no longer than asked, of alternating kinds.
fn merge(found: &[crate::wire::StatusExtent], len: u64, count_max: usize) -> Result<Vec<Extent>> {
    let mut merged: Vec<Extent> = Vec::new();
    let mut rest = len;
    for extent in found {
        let len = extent.len.min(rest);
        rest -= len;
        let kind = match (
            extent.status & STATE_HOLE != 0,
            extent.status & STATE_ZERO != 0,
        ) {
            (true, true) => ExtentKind::Hole,
            (false, true) => ExtentKind::Zero,
            // A hole that does not read as zeros is nothing that we could rely on.
            (_, false) => ExtentKind::Data,
        };
        if len == 0 {
            break;
        }
        let full = merged.len() == count_max.max(1);
        match merged.last_mut() {
            Some(last) if last.kind == kind => last.len += len,
            _ if full => break,
            _ => merged.push(Extent { len, kind }),
        }
    }
    if merged.is_empty() {
        let what = "NBD: a block status reply without extents";
        return Err(Error::new(Kind::Invalid, what));
    }
    Ok(merged)
}

#[cfg(test)]
mod tests;
