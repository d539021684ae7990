//! The legs of arrays, each by itself, for who compares them: nothing is started.

use std::sync::Arc;

use block::Device;
use dm::raid::ArrayConfig;
use dm::volume::Access;
use lvm2::model::{LvId, Raid, Segment, SegmentType};

use super::access::decide;
use super::activator::{Activator, MissingPolicy, Options};
use super::layout::Builder;
use super::permit::permit;
use super::raid::ArrayLegs;
use crate::scan::FoundVg;
use crate::{Error, Kind, Result};

/// The legs of one array.
pub(crate) struct Legs {
    /// What it is made of; its devices are numbers of `devices`.
    pub(crate) config: ArrayConfig,
    /// Data and metadata of its legs.
    pub(crate) devices: Vec<Arc<dyn Device>>,
    /// The volumes that its legs are, in their order.
    pub(crate) images: Vec<LvId>,
    /// The byte of the volume where it begins.
    pub(crate) start: u64,
}

impl Activator<'_> {
    /// The legs of each array that a volume is, to be read; what is missing of them is told.
    ///
    /// # Errors
    ///
    /// It is none, or it may not be read.
    pub(crate) fn legs(&mut self, group: &FoundVg, lv: LvId) -> Result<(Vec<Legs>, Vec<String>)> {
        let options = Options {
            access: Access::ReadOnly,
            missing: MissingPolicy::Degraded,
        };
        permit(group, lv, options.access, self.host())?;
        decide(&group.model, &group.name, lv, options.access)?;
        let mut builder = self.builder(group, options);
        let mut all = Vec::new();
        for segment in &group.model.lv(lv).segments {
            if let SegmentType::Raid(raid) = &segment.kind {
                all.extend(builder.legs(lv, segment, raid)?);
            }
        }
        if all.is_empty() {
            let volume = group.model.lv(lv);
            let kind = volume.segments.first().map(Segment::type_name);
            let what = format!(
                "{}/{} is {}: only the legs of raid1, raid4, raid5, raid6 and raid10 are compared",
                group.name,
                volume.name(),
                kind.unwrap_or("empty")
            );
            return Err(Error::new(Kind::Unsupported, what));
        }
        Ok((all, builder.gaps))
    }
}

impl Builder<'_> {
    /// The legs of a RAID segment; `None`: it has no redundancy.
    fn legs(&mut self, lv: LvId, segment: &Segment, raid: &Raid) -> Result<Option<Legs>> {
        let Some(described) = self.described(lv, segment, raid)? else {
            return Ok(None);
        };
        let size = self.bytes(lv, segment.usable_length())?;
        let ArrayLegs { legs, devices, .. } = self.array_legs(lv, raid, 0)?;
        Ok(Some(Legs {
            config: self.array_config(lv, (raid, described, size.0), legs),
            devices,
            images: raid.images.iter().map(|image| image.data).collect(),
            start: self.bytes(lv, segment.start)?.0,
        }))
    }
}
