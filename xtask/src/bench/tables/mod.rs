//! The tables, one file each.

#[expect(dead_code, reason = "the table is run once there is `ashlar cat`")]
mod cat;
mod list;
mod nbd;
mod reports;
mod start;

pub(super) use list::TABLES;
