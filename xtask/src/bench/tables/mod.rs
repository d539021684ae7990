//! The tables, one file each.

mod cat;
mod list;
mod lvcreate;
mod nbd;
mod reports;
mod start;

pub(super) use list::TABLES;
