//! Every field of `pvs`, `vgs` and `lvs`.
//!
//! Each file has one table per group of fields (name, heading, kind, least width, reader, help)
//! and the readers below it. A reader gets the row and the style and gives a value; it is called
//! only for fields that a report uses. A row without what the field is about gives nothing.
//!
//! Volumes that are served or attached are shown as active, with what their owner says of them;
//! all others as stock shows them when they are not active, and RAID volumes with what their
//! superblocks say is not as it should be. What only a running kernel target knows (how full) has
//! no value here.

mod attr;
mod catalogue;
mod constant;
mod device_type;
mod kernel;
mod log;
mod lv;
mod lv_relations;
mod pv;
mod raid;
mod segment;
mod vdo;
mod vg;

pub(crate) use catalogue::{ALL, OF_DEVICE_TYPES, OF_LOG, help, selection_help};
pub(crate) use device_type::{DEVICE_TYPES, DeviceType};
pub(crate) use log::{LogEntry, LogKind, LogObject};
pub(crate) use lv::path_or_name;
