//! Moving volumes from one group to another: new ids, and every reference follows.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use crate::Result;
use crate::model::{Area, LogicalVolume, LvId, PvId, SegmentType, ThinMessage, VolumeGroup};
use crate::plan::draft::refused;

/// Moves physical volumes and whole sets of logical ones, which refer to nothing else.
pub(super) fn transplant(
    from: &mut VolumeGroup,
    to: &mut VolumeGroup,
    pvs: &BTreeSet<PvId>,
    lvs: &BTreeSet<LvId>,
) -> Result<()> {
    for lv in lvs {
        let name = from.lv(*lv).name();
        if to.lv_by_name(name).is_some() {
            return Err(refused(format!(
                "Duplicate logical volume name \"{name}\" in \"{}\" and \"{}\"",
                to.name, from.name
            )));
        }
    }
    let mut map = Map::default();
    for pv in pvs {
        let volume = from.remove_pv(*pv);
        map.pvs.insert(*pv, to.add_pv(volume));
    }
    for lv in lvs {
        let volume = from.remove_lv(*lv);
        map.lvs.insert(*lv, to.add_lv(volume)?);
    }
    assert_eq!(map.pvs.len(), pvs.len(), "each has a new id");
    assert_eq!(map.lvs.len(), lvs.len(), "each has a new id");
    let moved: Vec<LvId> = map.lvs.values().copied().collect();
    for lv in moved {
        map.follow(to.lv_mut(lv));
    }
    Ok(())
}

#[derive(Default)]
struct Map {
    pvs: BTreeMap<PvId, PvId>,
    lvs: BTreeMap<LvId, LvId>,
}

impl Map {
    fn lv(&self, id: &mut LvId) {
        *id = *self.lvs.get(id).expect("connected volumes move together");
    }

    fn follow(&self, volume: &mut LogicalVolume) {
        for segment in &mut volume.segments {
            for area in segment.areas_mut() {
                match area {
                    Area::Pv { pv, .. } => {
                        *pv = *self.pvs.get(pv).expect("what is stood on moves along");
                    }
                    Area::Lv { lv, .. } => self.lv(lv),
                }
            }
            self.follow_kind(&mut segment.kind);
        }
    }

    fn follow_kind(&self, kind: &mut SegmentType) {
        match kind {
            SegmentType::Mirror(mirror) => mirror.log.iter_mut().for_each(|lv| self.lv(lv)),
            SegmentType::Raid(raid) => {
                for image in &mut raid.images {
                    image.meta.iter_mut().for_each(|lv| self.lv(lv));
                    self.lv(&mut image.data);
                }
            }
            SegmentType::Snapshot(snapshot) => {
                self.lv(&mut snapshot.origin);
                self.lv(&mut snapshot.cow);
            }
            SegmentType::ThinPool(pool) => {
                self.lv(&mut pool.metadata);
                self.lv(&mut pool.data);
                for message in &mut pool.messages {
                    if let ThinMessage::Create(lv) = message {
                        self.lv(lv);
                    }
                }
            }
            SegmentType::Thin(thin) => {
                self.lv(&mut thin.pool);
                let others = [&mut thin.external_origin, &mut thin.origin, &mut thin.merge];
                others.into_iter().flatten().for_each(|lv| self.lv(lv));
            }
            SegmentType::CachePool(pool) => {
                self.lv(&mut pool.data);
                self.lv(&mut pool.metadata);
            }
            SegmentType::Cache(cache) => {
                self.lv(&mut cache.pool);
                self.lv(&mut cache.origin);
            }
            SegmentType::Writecache(cache) => {
                self.lv(&mut cache.cache);
                self.lv(&mut cache.origin);
            }
            SegmentType::Integrity(integrity) => {
                self.lv(&mut integrity.origin);
                integrity.metadata.iter_mut().for_each(|lv| self.lv(lv));
            }
            SegmentType::VdoPool(pool) => self.lv(&mut pool.data),
            SegmentType::Vdo(vdo) => self.lv(&mut vdo.pool),
            SegmentType::Striped(_)
            | SegmentType::Zero
            | SegmentType::Error
            | SegmentType::Unknown(_) => {}
        }
    }
}
