//! The tables, one file or folder each, and what several of them share: `load`, `content`.

mod access;
mod cat;
mod content;
mod fuse;
mod lab;
mod list;
mod load;
mod lvcreate;
mod nbd;
mod parity;
mod reports;
mod start;
mod states;

pub(super) use list::TABLES;
