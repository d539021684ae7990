//! Streams of volumes: what `ashlar send` writes and `ashlar receive` reads.
//!
//! ```text
//!   "ashlar stream 1\n"
//!   head    which volume, which moment, since which, how large; where this part of it begins
//!   data    start, length, and the bytes    ┐
//!   zeros   start, length                   ├ in the order of the volume
//!   data    …                               ┘
//!   end     the digest of all before
//! ```
//!
//! A stream is *whole*, every byte of the volume, or *incremental*: only what differs from an older
//! moment, its *base*; what no record names is as it was. A volume that is cut off is gone on with
//! from the byte where it stood, so the parts of one stream are one chain: each record is digested
//! with the digest before, 32 bytes that the receiver keeps and the sender is given back.
//!
//! Promises: what [`Reader`] hands out was sent so, record for record; nothing is missing where it
//! says that the end is reached; any bytes are understood or refused, in one record's memory.
//! Whether a stream may be taken is for [`Note::permit`] to say, which knows what came before.
//!
//! Does not: hide, sign or compress; a pipe through ssh, age or zstd does. The digest tells
//! accidents, not somebody who makes a stream of his own.
//!
//! `header.rs` is the head, `frame.rs` what begins each record, `chain.rs` the digest; `writer.rs`
//! makes streams, `reader.rs` takes them; `token.rs` says where to go on, `note.rs` what was
//! received. `docs/format.md` has the bytes.

mod chain;
mod frame;
mod header;
mod note;
mod reader;
mod token;
mod writer;

pub use chain::Chain;
pub use frame::{MAGIC, RECORD_MAX};
pub use header::{Header, NAME_MAX};
pub use note::{Held, Note, TEXT_MAX, Verdict};
pub use reader::{Reader, Record};
pub use token::Token;
pub use writer::Writer;

#[cfg(test)]
mod tests;
