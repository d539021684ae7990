//! Traces survive the way to bytes and back, and nothing else does.

mod ext;
mod format;
mod import;
mod replay;
mod xfs;
