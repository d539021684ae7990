//! The NBD protocol's messages, as bytes and as values.
//!
//! A connection begins with a greeting and *options* (haggling), after which the client sends
//! *requests* and the server *replies*, both in any order and tied together by a cookie. All
//! numbers are big-endian. There are two forms of requests and three of replies:
//!
//! ```text
//! compact request    magic:4 flags:2 command:2 cookie:8 offset:8 len:4
//! extended request   magic:4 flags:2 command:2 cookie:8 offset:8 len:8
//! simple reply       magic:4 error:4 cookie:8                        + data of a read
//! structured chunk   magic:4 flags:2 kind:2 cookie:8 len:4           + payload
//! extended chunk     magic:4 flags:2 kind:2 cookie:8 offset:8 len:8  + payload
//! ```
//!
//! All but `stream.rs` are pure functions: no I/O, no state, no memory beyond what a message holds,
//! and each message has a limit. What comes from the other side is checked; an error says what was
//! wrong with it. [`crate::server`] and [`crate::client`] share it.
//!
//! `handshake.rs` is the first phase, `request.rs` and `reply.rs` the second; `constants.rs` holds
//! the numbers and `bytes.rs` reads them. `stream.rs` moves messages in batches. Not here: TLS, and
//! the original ("oldstyle") handshake, which nobody offers any more.

mod bytes;
pub mod constants;
mod handshake;
mod reply;
mod request;
mod stream;

pub use handshake::{
    ExportInfo, InfoRequest, MetaContext, MetaRequest, OptionHeader, OptionReply, Sizes,
    decode_greeting, decode_listed, encode_greeting, encode_listed,
};
pub use reply::{
    ChunkPlace, Extents, HeadBytes, ReplyHeader, ReplyStyle, StatusExtent, decode_error,
    decode_extents, error_code, error_from_code,
};
pub use request::{RequestHeader, RequestStyle};
pub use stream::{Expect, Inbox, Outbox, Received, Rest, Wait};

#[cfg(test)]
mod tests;
