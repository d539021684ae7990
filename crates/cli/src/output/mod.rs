//! What the reader sees: sizes, tables, JSON.
//!
//! ```text
//!   ashlar::scan  ──▶  view.rs     what was found, each volume group parsed and related once
//!   owners         ──▶  live.rs     which volumes are active
//!   superblocks    ──▶  arrays.rs   how RAID volumes are that nobody keeps for us
//!                        │ row.rs   what one line of a report is about
//!                        ▼
//!                      fields/      every field of pvs, vgs and lvs: name, heading, value
//!                        ▼
//!                      report/      columns, selection, order, layout, JSON
//!
//!   json.rs                           what else programs read
//! ```
//!
//! A new property is one line in one table of `fields/`. `units.rs` prints sizes everywhere.

mod arrays;
pub(crate) mod fields;
mod harmless;
pub(crate) mod json;
mod live;
mod log;
mod prefix;
pub(crate) mod records;
pub(crate) mod report;
mod row;
mod units;
mod view;

pub(crate) use arrays::{Known, Role, Trouble};
pub(crate) use harmless::harmless;
pub(crate) use live::{Active, Live, Place, State};
pub(crate) use log::{collected, on_stderr};
pub(crate) use prefix::{BLANKS, Prefixed};
pub(crate) use row::{Binary, History, PvSegment, Row, Style};
pub(crate) use units::{Form, Units};
pub(crate) use view::{Group, View};
