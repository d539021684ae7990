//! The report: one page of HTML that needs nothing else, made from lines of results alone.
//!
//! It has the verdict on every claim with its evidence, and for each experiment a chart, a table
//! with intervals, where the time went by layer, and what to type to see the same. The same lines
//! give the same bytes. Only what is decided has a colour, and no colour is without its word.
//!
//! `page.rs` puts it together, `short.rs` has what people ask first, `verdicts.rs` the table of
//! claims, `seeds.rs` the documents' own tables (`seeds.toml`), `control.rs` the same against the
//! same, `study.rs` a section for each experiment, `predicted.rs` what formulas say, `measured.rs`
//! what real machines did. `chart.rs` and `surface.rs` draw, `picture.rs` makes files of charts,
//! `configuration.rs` says what ran, `runs.rs` which runs count, `text.rs` escapes and rounds;
//! `style.css` is how it looks.

mod chart;
mod configuration;
mod control;
mod measured;
mod page;
mod picture;
mod predicted;
mod runs;
mod seeds;
mod short;
mod study;
mod surface;
mod text;
mod verdicts;

pub use page::page;
pub use picture::{Drawing, picture};
pub use short::{Answer, answers, table};

#[cfg(test)]
mod tests;
