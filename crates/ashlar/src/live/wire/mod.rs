//! What is said on a control socket: lines of JSON, from bytes to meaning and back.
//!
//! `message` has the types that the lines are (`status` cuts what is said of many volumes, `member`
//! knows what is written otherwise than it is kept), `lines` knows sockets. Whoever is at the other
//! end may say anything: lines and nesting are bounded, and what is not understood is an error for
//! the one who said it. `docs/control-socket.md` is the protocol's own page.

mod lines;
pub(super) mod member;
mod message;
mod status;

pub(super) use lines::{Lines, Next};
pub use message::{Export, Exported, LINE_MAX, Reply, Request, Way, decode_reply, decode_request};

#[cfg(test)]
mod tests;
