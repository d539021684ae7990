//! Whether the images of an array hold all of their data, or a journal of checksums has some of it.

use std::time::Duration;

use block::Access;
use lvm2::model::LvId;

use crate::activate::{Activator, MissingPolicy, Options, Running};
use crate::host::Host;
use crate::scan::{FoundVg, Scan};
use crate::{Error, Kind, Result};

/// How long one may take to say it.
const STATUS_MAX: Duration = Duration::from_secs(30);

/// Fails where an image of an array, which nobody uses, lacks what its journal of checksums holds:
/// without its checksums it would be lost. Reads superblocks and journals, and writes nothing.
///
/// # Errors
///
/// So it is; or an image, or what its checksums are in, is missing or damaged.
pub fn require_placed(scan: &Scan, host: &Host, group: &FoundVg, lv: LvId) -> Result<()> {
    let options = Options {
        access: Access::ReadOnly,
        missing: MissingPolicy::Complete,
    };
    let activated = Activator::new(scan, host).activate(group, lv, options)?;
    let name = format!("{}/{}", group.name, group.model.lv(lv).name());
    for node in &activated.standing_on {
        let Running::Checksums { home } = &node.machine else {
            continue;
        };
        let status = home.status(STATUS_MAX).map_err(|error| {
            let what = format!("{name}: its checksums cannot be read");
            Error::new(Kind::Device, what).because(error)
        })?;
        if status.journaled > 0 {
            let what = format!(
                "{name}: a journal of its checksums holds what was written last; use the volume \
                 for a moment (ashlar serve {name}), then that is in its place"
            );
            return Err(Error::new(Kind::Refused, what));
        }
    }
    Ok(())
}
