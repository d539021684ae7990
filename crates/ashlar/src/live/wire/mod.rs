//! What is said on a control socket: lines of JSON, from bytes to meaning and back.
//!
//! `json` knows values, `message` what they mean here (`status` what is said of volumes), `lines`
//! sockets. Whoever is at the other
//! end may say anything: lines and nesting are bounded, and what is not understood is an error for
//! the one who said it. `docs/control-socket.md` is the protocol's own page.

mod json;
mod lines;
mod message;
mod status;

pub(super) use lines::{Lines, Next};
pub use message::{Export, Exported, LINE_MAX, Reply, Request, Way, decode_reply, decode_request};

#[cfg(test)]
mod tests;
