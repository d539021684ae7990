//! LVM2 as knowledge: bytes and values in, bytes and values out.
//!
//! Nothing here does I/O, reads a clock or draws a random number; time and UUIDs are arguments.

pub mod text;
