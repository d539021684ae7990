//! Tests: arrays against what stock writes, and what it refuses.

mod bench;
mod create;
mod resize;
