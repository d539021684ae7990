//! Images with checksums: data and checksums become devices, and a machine at home compares them.
//!
//! Who stands on one is an array, which makes up what is wrong from its other images. So what is
//! missing of an image, and checksums that cannot be used, are a missing image to it.

use std::sync::Arc;
use std::time::Duration;

use block::Device;
use dm::home::Home;
use dm::integrity::{Discards, Integrity, IntegrityConfig, Mode};
use dm::table::Piece;
use lvm2::model::{Integrity as Parts, IntegrityMode, IntegritySettings, LvId, Segment};

use super::layout::Builder;
use super::nodes::{Change, Known, Node, NodeId, NodeKind, Running, prepare};
use crate::{Error, Kind, Result};

/// How long superblock and journal may take to be read.
const START_MAX: Duration = Duration::from_mins(1);

impl Builder<'_> {
    /// A segment with checksums, of `len` bytes.
    pub(super) fn integrity(
        &mut self,
        lv: LvId,
        (segment, parts): (&Segment, &Parts),
        len: u64,
        depth: u32,
    ) -> Result<Piece> {
        let settings =
            IntegritySettings::of(segment).map_err(|error| self.damaged(lv, &error.to_string()))?;
        let data_len = settings.data_sectors.to_bytes().map(|bytes| bytes.0);
        if data_len != Some(len) || !len.is_multiple_of(settings.block_size.into()) {
            return Err(self.damaged(lv, "its checksums are of another size than it"));
        }
        let Some(metadata) = parts.metadata else {
            return Err(self.damaged(lv, "its checksums are nowhere"));
        };
        let id = NodeId {
            lv: self.group.model.lv(lv).uuid,
            start: segment.start,
            kind: NodeKind::Checksums,
        };
        let node = match self.nodes.find(id) {
            Known::Ready(node) => self.shared(lv, node, 0)?,
            known => {
                let parts = (parts.origin, metadata, settings);
                self.standing(|builder| builder.checksums(lv, (id, &known), parts, (len, depth)))?
            }
        };
        let face = node.face(0).expect("it has one face");
        self.stands_on(&node);
        assert_eq!(face.info().size, len, "it is as long as its segment");
        Ok(Piece::linear(len, face, 0))
    }

    /// A machine that is started now, or goes on as it was.
    fn checksums(
        &mut self,
        lv: LvId,
        (id, known): (NodeId, &Known),
        (origin, metadata, settings): (LvId, LvId, IntegritySettings),
        (len, depth): (u64, u32),
    ) -> Result<Node> {
        let before = self.gaps.len();
        let mut legs: Vec<Arc<dyn Device>> = Vec::new();
        for part in [origin, metadata] {
            let layout = self.whole(part, depth)?;
            legs.push(self.device(part, &layout)?);
        }
        if legs[0].info().size != len {
            return Err(self.damaged(lv, "its data are of another size than it"));
        }
        let config = IntegrityConfig {
            name: self.name(lv),
            access: self.access,
            mode: match settings.mode {
                IntegrityMode::Journal => Mode::Journal,
                IntegrityMode::Bitmap => Mode::Bitmap,
            },
            block: settings.block_size,
            discards: if settings.allows_discards {
                Discards::Allowed
            } else {
                Discards::Refused
            },
            journal_sectors: settings.journal_sectors,
        };
        if let Known::Suspended(node) = known
            && let Running::Checksums { home } = &node.machine
        {
            let change = prepare(&self.name(lv), home, config, legs)?;
            let home = change.home().clone();
            let machine = Running::Checksums { home };
            let node = Node {
                machine,
                ..node.clone()
            };
            self.nodes.prepared(node.clone(), Change::Checksums(change));
            return Ok(node);
        }
        let infos: Vec<_> = legs.iter().map(|leg| leg.info()).collect();
        let home = Integrity::new(config, &infos)
            .and_then(|machine| Home::start(self.name(lv), machine, legs, START_MAX));
        let home = home.map_err(|error| {
            let what = format!("the checksums of {} cannot be used", self.name(lv));
            Error::new(Kind::Missing, what).because(error)
        })?;
        Ok(Node {
            id,
            machine: Running::Checksums { home },
            below: Vec::new(),
            gaps: self.gaps[before..].to_vec(),
        })
    }
}
