//! Tests: arrays against what stock writes, and what it refuses.

mod bench;
mod checksums;
mod copies;
mod create;
mod integrity;
mod level;
mod region;
mod replace;
mod reshape;
mod resize;
mod takeover;
mod track;
