//! The one that activates.

use std::collections::HashMap;
use std::sync::Arc;

use block::file::Caching;
use dm::table::{Layout, Table};
use dm::volume::{Access, Volume};
use lvm2::model::{LvId, Relations};

use super::access::{decide, decide_parts, together};
use super::devices::PvDevices;
use super::layout::Builder;
use super::nodes::{Node, Nodes};
use super::order::MetadataUpdater;
use super::origin::require_whole;
use super::permit::permit;
use crate::host::Host;
use crate::lock::PvLocks;
use crate::scan::{FoundVg, Scan};
use crate::{Error, Kind, Result, log};

/// What happens where a volume needs a physical volume that is missing (`--activationmode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum MissingPolicy {
    /// It is not activated.
    Complete,
    /// It is, if redundancy makes up for what is missing.
    #[default]
    Degraded,
    /// It is; what is missing fails when it is read.
    Partial,
}

impl MissingPolicy {
    /// As people and programs say it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Degraded => "degraded",
            Self::Partial => "partial",
        }
    }

    /// What a word means, if it means one of them.
    pub fn from_word(word: &str) -> Option<Self> {
        let all = [Self::Complete, Self::Degraded, Self::Partial];
        all.into_iter().find(|policy| policy.word() == word)
    }
}

/// How a volume is activated.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Whether writes are taken.
    pub access: Access,
    /// What may be missing.
    pub missing: MissingPolicy,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            access: Access::ReadOnly,
            missing: MissingPolicy::default(),
        }
    }
}

/// A volume that can be used.
pub struct Activated {
    /// The device. Clones share it.
    pub volume: Volume,
    /// What it is made of, for reports.
    pub layout: Arc<Layout>,
    /// What is missing of it, one sentence each; empty unless the policy allowed it.
    pub gaps: Vec<String>,
    /// The devices with a state that it stands on.
    pub(crate) standing_on: Vec<Node>,
}

/// A table with what it is made of.
pub(crate) struct Compiled {
    pub(crate) table: Table,
    pub(crate) layout: Arc<Layout>,
    pub(crate) gaps: Vec<String>,
    pub(crate) standing_on: Vec<Node>,
    locks: Vec<PvLocks>,
}

impl std::fmt::Debug for Activated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Activated({}, {} gaps)",
            self.layout.name(),
            self.gaps.len()
        )
    }
}

/// Activates volumes of one scan. Devices stay open as long as a volume or this uses them.
pub struct Activator<'a> {
    scan: &'a Scan,
    host: &'a Host,
    devices: PvDevices,
    nodes: Nodes,
    is_owner: bool,
    /// What is activated is for its owner alone, and not for people.
    is_part: bool,
    /// Nobody but this process serves the group.
    is_ours: bool,
    updater: Option<Arc<dyn MetadataUpdater>>,
}

impl std::fmt::Debug for Activator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Activator")
    }
}

impl<'a> Activator<'a> {
    /// One that has opened nothing yet.
    pub fn new(scan: &'a Scan, host: &'a Host) -> Self {
        Self::over(scan, host, PvDevices::default())
    }

    /// One that has opened these devices, perhaps for another scan.
    pub(crate) fn over(scan: &'a Scan, host: &'a Host, devices: PvDevices) -> Self {
        Self {
            scan,
            host,
            devices,
            nodes: Nodes::default(),
            is_owner: false,
            is_part: false,
            is_ours: false,
            updater: None,
        }
    }

    /// For the owner of the group, in whose process `nodes` run, or are about to become what is
    /// activated.
    pub(crate) fn among(mut self, nodes: Nodes) -> Self {
        self.nodes = nodes;
        self.is_owner = true;
        self
    }

    /// Whether this process owns the group, and `is_ours` says so: then nobody else changes what
    /// stores hold, and what does not run here rests.
    pub fn among_ours(mut self, is_ours: bool) -> Self {
        self.is_ours = is_ours;
        self
    }

    /// What is activated may be a part that is not for people: the owner does what is to be done
    /// with it.
    pub(crate) fn of_parts(mut self, is_part: bool) -> Self {
        self.is_part = is_part;
        self
    }

    /// `updater` writes down in which order the copies of mirrors come. Without one, a mirror that
    /// lost its first copy is not written.
    pub(crate) fn with_updater(mut self, updater: Option<Arc<dyn MetadataUpdater>>) -> Self {
        self.updater = updater;
        self
    }

    /// The devices that it has opened, and what runs.
    pub(crate) fn into_parts(self) -> (PvDevices, Nodes) {
        (self.devices, self.nodes)
    }

    /// Reads go through the page cache, where nothing is written: for what is read once, in order.
    pub fn through_page_cache(mut self) -> Self {
        self.devices.caching = Caching::PageCache;
        self
    }

    /// Makes a device of a logical volume.
    pub fn activate(&mut self, group: &FoundVg, lv: LvId, options: Options) -> Result<Activated> {
        let relations = Relations::of(&group.model);
        let is_shared = self.is_owner && !together(&group.model, &relations, lv).is_empty();
        let access = if is_shared {
            // Another face of it may be written.
            Access::ReadWrite
        } else {
            options.access
        };
        permit(group, lv, access, self.host)?;
        let compiled = self.compile(group, lv, options)?;
        require_whole(group, lv, &compiled.standing_on)?;
        compiled.standing_on.iter().for_each(Node::go);
        let name = compiled.layout.name().to_owned();
        log::verbose(|| {
            let how = match options.access {
                Access::ReadOnly => "reading",
                Access::ReadWrite => "reading and writing",
            };
            let gaps = compiled.gaps.len();
            format!("LV {name} is activated for {how}; {gaps} of its parts are missing.")
        });
        Ok(Activated {
            volume: Volume::new(name, options.access, compiled.table)
                .keeping(Arc::new(compiled.locks)),
            layout: compiled.layout,
            gaps: compiled.gaps,
            standing_on: compiled.standing_on,
        })
    }

    pub(super) fn host(&self) -> &Host {
        self.host
    }

    /// What makes layouts of volumes of this group, with the devices that are open.
    pub(super) fn builder<'b>(&'b mut self, group: &'b FoundVg, options: Options) -> Builder<'b> {
        Builder {
            scan: self.scan,
            group,
            devices: &mut self.devices,
            updater: self.updater.clone(),
            copy_rate: self.host.config.copy_rate(),
            extension: self.host.config.snapshot_extension(),
            consistency: self.host.config.raid_consistency(),
            access: options.access,
            is_live: self.is_owner || options.access == Access::ReadWrite,
            is_ours: self.is_ours,
            missing: options.missing,
            nodes: &mut self.nodes,
            made: HashMap::new(),
            gaps: Vec::new(),
            locks: Vec::new(),
            running: Vec::new(),
        }
    }

    /// The table of a logical volume, whose mirrors are started.
    pub(crate) fn compile(
        &mut self,
        group: &FoundVg,
        lv: LvId,
        options: Options,
    ) -> Result<Compiled> {
        if self.is_part {
            decide_parts(&group.model, &group.name, lv)?;
        } else {
            decide(&group.model, &group.name, lv, options.access)?;
        }
        let mut builder = self.builder(group, options);
        let layout = builder.seen(lv)?;
        let (gaps, standing_on, locks) = (builder.gaps, builder.running, builder.locks);
        let table = Table::compile(&layout).map_err(|error| {
            let what = format!("{} cannot be used", layout.name());
            Error::new(Kind::Damaged, what).because(error)
        })?;
        assert_eq!(
            table.size(),
            layout.size(),
            "a table is as long as its layout"
        );
        Ok(Compiled {
            table,
            layout,
            gaps,
            standing_on,
            locks,
        })
    }
}
