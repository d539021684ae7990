//! The scan: look at every device, in parallel, and say what volume groups there are.
//!
//! There is no cache: the disks are the truth, and reading a few sectors of each is fast.

mod finding;
mod found;

pub use finding::{Finding, FindingKind, Severity};
pub use found::{
    AreaContent, AreaUsage, AreaVersion, ByteRange, Content, DeviceIndex, Duplicate, FoundArea,
    FoundDevice, FoundPv, FoundVg, InUse, Member, PvIndex, Restriction, Scan,
};
