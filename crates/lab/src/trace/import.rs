//! Traces that other programs took: blktrace's binary records and fio's logs.

mod blktrace;
mod iolog;

pub use blktrace::{Imported, blktrace};
pub use iolog::iolog;
