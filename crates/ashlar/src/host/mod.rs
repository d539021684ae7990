//! This host: which devices it has, what they are, and what its configuration says about them.
//!
//! [`DeviceSource`] is what people ask for, [`Host::candidates`] turns it into a list of devices
//! that may be read, and [`Sysfs`] knows what the kernel has built on them.

mod array;
mod candidates;
mod config;
mod devices_file;
mod filter;
mod location;
mod regex;
mod spec;
mod sysfs;
mod topology;
mod volume_list;
mod wwids;

pub use array::{ArrayMember, ArrayPlace};
pub(crate) use candidates::block_number;
pub use candidates::{Candidate, Candidates, Host, KernelPartitions, Origin};
pub use config::{
    Config, DevicesFileChoice, Keeping, Key, KeyKind, KeyState, MissingDevicesFile, Overrides,
    ProfileKind, Reach, clean_system_id,
};
pub(crate) use devices_file::{BY_NAME, digits};
pub use devices_file::{DevicesFile, Listable, Listed, Stamp};
pub use filter::{Filter, Verdict};
pub use location::{DeviceId, DeviceNumber, Location, Place, Remote, Sharing, Window, pv_timeout};
pub use regex::Regex;
pub use spec::{DEVICES_VARIABLE, DeviceSource, DeviceSpec};
pub use sysfs::{BlockFacts, KernelLv, PartOf, Sysfs};
pub use volume_list::VolumeList;
