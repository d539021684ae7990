//! The report: one page of HTML that needs nothing else, made from lines of results alone.
//!
//! It has the verdict on every claim with its evidence, and for each experiment a chart, a table
//! with intervals, where the time went by layer, and what to type to see the same. The same lines
//! give the same bytes. Only what is decided has a colour, and no colour is without its word.
//!
//! `page.rs` puts it together, `verdicts.rs` has the table of claims, `study.rs` a section for each
//! experiment, `predicted.rs` what formulas say, `chart.rs` draws, `text.rs` escapes and rounds;
//! `style.css` is how it looks.

mod chart;
mod page;
mod predicted;
mod study;
mod text;
mod verdicts;

pub use page::page;

#[cfg(test)]
mod tests;
