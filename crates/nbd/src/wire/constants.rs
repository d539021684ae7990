//! The protocol's numbers, under the protocol's own names without their `NBD_` prefix.

/// First word of a server's greeting.
pub const MAGIC: u64 = u64::from_be_bytes(*b"NBDMAGIC");
/// Second word of the greeting, and the start of each option.
pub const OPTION_MAGIC: u64 = u64::from_be_bytes(*b"IHAVEOPT");
/// The start of the answer to an option.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;

/// Greeting, both ways: options are answered, and unknown ones refused one by one.
pub const FLAG_FIXED_NEWSTYLE: u16 = 1 << 0;
/// Greeting, both ways: the answer to `EXPORT_NAME` ends without 124 zero bytes.
pub const FLAG_NO_ZEROES: u16 = 1 << 1;

/// Option: use this export, answered without a reply header.
pub const OPT_EXPORT_NAME: u32 = 1;
/// Option: end the session.
pub const OPT_ABORT: u32 = 2;
/// Option: name all exports.
pub const OPT_LIST: u32 = 3;
/// Option: go on under TLS.
pub const OPT_STARTTLS: u32 = 5;
/// Option: describe an export.
pub const OPT_INFO: u32 = 6;
/// Option: describe an export, then use it.
pub const OPT_GO: u32 = 7;
/// Option: answer reads in chunks.
pub const OPT_STRUCTURED_REPLY: u32 = 8;
/// Option: which kinds of block status are there?
pub const OPT_LIST_META_CONTEXT: u32 = 9;
/// Option: use these kinds of block status.
pub const OPT_SET_META_CONTEXT: u32 = 10;
/// Option: 64-bit lengths.
pub const OPT_EXTENDED_HEADERS: u32 = 11;

/// Option reply: done.
pub const REP_ACK: u32 = 1;
/// Option reply: one export of a list.
pub const REP_SERVER: u32 = 2;
/// Option reply: one piece of information about an export.
pub const REP_INFO: u32 = 3;
/// Option reply: one metadata context.
pub const REP_META_CONTEXT: u32 = 4;
/// Set in the types of all option replies that are errors.
pub const REP_FLAG_ERROR: u32 = 1 << 31;
/// Option refused: not known here.
pub const REP_ERR_UNSUP: u32 = REP_FLAG_ERROR | 1;
/// Option refused: by the server's settings.
pub const REP_ERR_POLICY: u32 = REP_FLAG_ERROR | 2;
/// Option refused: malformed or at the wrong time.
pub const REP_ERR_INVALID: u32 = REP_FLAG_ERROR | 3;
/// Option refused: only under TLS.
pub const REP_ERR_TLS_REQD: u32 = REP_FLAG_ERROR | 5;
/// Option refused: no such export.
pub const REP_ERR_UNKNOWN: u32 = REP_FLAG_ERROR | 6;
/// Option refused: the server is about to end.
pub const REP_ERR_SHUTDOWN: u32 = REP_FLAG_ERROR | 7;
/// Option refused: too long.
pub const REP_ERR_TOO_BIG: u32 = REP_FLAG_ERROR | 0x9;
/// Option refused: extended headers are in use, or would be needed.
pub const REP_ERR_EXT_HEADER_REQD: u32 = REP_FLAG_ERROR | 0xa;

/// Information: size and transmission flags.
pub const INFO_EXPORT: u16 = 0;
/// Information: the export's canonical name.
pub const INFO_NAME: u16 = 1;
/// Information: text for people.
pub const INFO_DESCRIPTION: u16 = 2;
/// Information: minimum, preferred and maximum sizes of requests.
pub const INFO_BLOCK_SIZE: u16 = 3;

/// Export: the flags are valid.
pub const FLAG_HAS_FLAGS: u16 = 1 << 0;
/// Export: writes are refused.
pub const FLAG_READ_ONLY: u16 = 1 << 1;
/// Export: FLUSH is known.
pub const FLAG_SEND_FLUSH: u16 = 1 << 2;
/// Export: FUA is known.
pub const FLAG_SEND_FUA: u16 = 1 << 3;
/// Export: it has a head to move.
pub const FLAG_ROTATIONAL: u16 = 1 << 4;
/// Export: TRIM is known.
pub const FLAG_SEND_TRIM: u16 = 1 << 5;
/// Export: `WRITE_ZEROES` is known.
pub const FLAG_SEND_WRITE_ZEROES: u16 = 1 << 6;
/// Export: the DF flag is known.
pub const FLAG_SEND_DF: u16 = 1 << 7;
/// Export: a flush on one connection covers all of them.
pub const FLAG_CAN_MULTI_CONN: u16 = 1 << 8;
/// Export: CACHE is known.
pub const FLAG_SEND_CACHE: u16 = 1 << 10;
/// Export: `FAST_ZERO` is known.
pub const FLAG_SEND_FAST_ZERO: u16 = 1 << 11;

/// Command: read.
pub const CMD_READ: u16 = 0;
/// Command: write; data follows.
pub const CMD_WRITE: u16 = 1;
/// Command: end the session; has no reply.
pub const CMD_DISC: u16 = 2;
/// Command: make completed writes durable.
pub const CMD_FLUSH: u16 = 3;
/// Command: discard.
pub const CMD_TRIM: u16 = 4;
/// Command: read ahead.
pub const CMD_CACHE: u16 = 5;
/// Command: write zeros.
pub const CMD_WRITE_ZEROES: u16 = 6;
/// Command: what is the range made of?
pub const CMD_BLOCK_STATUS: u16 = 7;

/// Command flag: durable when answered.
pub const CMD_FLAG_FUA: u16 = 1 << 0;
/// Command flag of `WRITE_ZEROES`: stay allocated.
pub const CMD_FLAG_NO_HOLE: u16 = 1 << 1;
/// Command flag of READ: one data chunk.
pub const CMD_FLAG_DF: u16 = 1 << 2;
/// Command flag of `BLOCK_STATUS`: one extent.
pub const CMD_FLAG_REQ_ONE: u16 = 1 << 3;
/// Command flag of `WRITE_ZEROES`: fail if it is no faster than writing.
pub const CMD_FLAG_FAST_ZERO: u16 = 1 << 4;
/// Command flag with extended headers: `len` bytes of payload follow.
pub const CMD_FLAG_PAYLOAD_LEN: u16 = 1 << 5;

/// The start of a compact request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// The start of an extended request.
pub const EXTENDED_REQUEST_MAGIC: u32 = 0x21e4_1c71;
/// The start of a simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// The start of a structured chunk.
pub const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;
/// The start of an extended chunk.
pub const EXTENDED_REPLY_MAGIC: u32 = 0x6e8a_278c;

/// Chunk flag: the last one of this reply.
pub const REPLY_FLAG_DONE: u16 = 1 << 0;
/// Chunk: nothing to say but the flags.
pub const REPLY_TYPE_NONE: u16 = 0;
/// Chunk: an offset and data.
pub const REPLY_TYPE_OFFSET_DATA: u16 = 1;
/// Chunk: an offset and a number of zeros.
pub const REPLY_TYPE_OFFSET_HOLE: u16 = 2;
/// Chunk: extents with 32-bit lengths.
pub const REPLY_TYPE_BLOCK_STATUS: u16 = 5;
/// Chunk: extents with 64-bit lengths.
pub const REPLY_TYPE_BLOCK_STATUS_EXT: u16 = 6;
/// Set in the kinds of all chunks that are errors.
pub const REPLY_TYPE_FLAG_ERROR: u16 = 1 << 15;
/// Chunk: an error.
pub const REPLY_TYPE_ERROR: u16 = REPLY_TYPE_FLAG_ERROR | 1;
/// Chunk: an error at an offset.
pub const REPLY_TYPE_ERROR_OFFSET: u16 = REPLY_TYPE_FLAG_ERROR | 2;

/// Block status of `base:allocation`: not allocated.
pub const STATE_HOLE: u64 = 1 << 0;
/// Block status of `base:allocation`: reads as zeros.
pub const STATE_ZERO: u64 = 1 << 1;
/// The one metadata context that everybody knows.
pub const BASE_ALLOCATION: &str = "base:allocation";

/// Error: not permitted (writes to a read-only export).
pub const EPERM: u32 = 1;
/// Error: the medium failed.
pub const EIO: u32 = 5;
/// Error: no memory.
pub const ENOMEM: u32 = 12;
/// Error: the request is wrong.
pub const EINVAL: u32 = 22;
/// Error: outside the export, or no space.
pub const ENOSPC: u32 = 28;
/// Error: too long for one chunk.
pub const EOVERFLOW: u32 = 75;
/// Error: not supported (`FAST_ZERO` that would be slow).
pub const ENOTSUP: u32 = 95;
/// Error: the server is about to end.
pub const ESHUTDOWN: u32 = 108;

/// The longest string: the protocol's own limit, in bytes.
pub const STRING_LEN_MAX: usize = 4096;
/// The longest data of a read or write, in bytes: what all clients assume if told nothing.
pub const PAYLOAD_LEN_MAX: u32 = 32 << 20;
/// The longest option, in bytes: a name and eight queries of the greatest length.
pub const OPTION_LEN_MAX: u32 = 64 << 10;
