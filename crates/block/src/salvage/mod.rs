//! Reading a device of which parts cannot be read: what is known of each byte, and as a file.

mod map;
mod text;

pub use map::{Map, Status};
pub use text::RUNS_MAX;
