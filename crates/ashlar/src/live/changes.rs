//! What differs between a volume that is served and a snapshot, as it is now.
//!
//! The stores are read from the disks again for each question, by the owner's side: an entry is
//! durable before the write that it is for is answered, so that an answer has every write in it
//! that was answered before the question. What was changed once stays in it, and what is written
//! meanwhile may be in it or not. It costs a read of the lists of one or two stores, 16 bytes for
//! each chunk that differs, and nothing is opened or changed in the group meanwhile.

use std::sync::Arc;

use lvm2::Uuid;

use super::group::{LiveGroup, Use};
use crate::activate::{Activator, Changed, compared};
use crate::{Error, Kind, Result};

/// Two volumes of a group that is served, of one origin: asked where they differ, again and again.
#[derive(Debug, Clone)]
pub struct Changes {
    group: LiveGroup,
    since: Uuid,
    of: Uuid,
}

impl Use {
    /// Where it differs from the snapshot `since`, if that is one of the same volume; else, of a
    /// snapshot, where it differs from its origin. `None` for what is neither.
    pub fn changes(&self, since: Option<Uuid>) -> Option<Changes> {
        let job = self.group.job();
        let scan = Arc::clone(&job.owner().facts.scan);
        let group = scan.group(self.group.uuid())?;
        let since = since.and_then(|since| group.model.lv_by_uuid(&since));
        let (since, of) = compared(&group.model, group.model.lv_by_uuid(&self.lv)?, since)?;
        assert!(since != of, "two moments are compared");
        Some(Changes {
            group: self.group.clone(),
            since: group.model.lv(since).uuid,
            of: group.model.lv(of).uuid,
        })
    }
}

impl Changes {
    /// Where they may differ. Fails when one of them is gone, or is being merged.
    pub fn now(&self) -> Result<Changed> {
        // No store goes away, and none becomes another one, while it is read.
        let job = self.group.job();
        let scan = Arc::clone(&job.owner().facts.scan);
        let gone = || Error::new(Kind::NotFound, "a snapshot that was compared with is gone");
        let group = scan.group(self.group.uuid()).ok_or_else(gone)?;
        let find = |uuid| group.model.lv_by_uuid(uuid).ok_or_else(gone);
        let (since, of) = (find(&self.since)?, find(&self.of)?);
        let mut activator = Activator::new(&scan, &job.host).among_ours(true);
        activator.changed(group, since, of)
    }
}
