//! The tables, one file each.

mod list;
mod start;

pub(super) use list::TABLES;
