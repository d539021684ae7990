//! Each volume's segments: complete, without gaps, one after the other; and its flags.

use alloc::format;

use super::{Checker, KEEP_READ_ONLY, Place, kinds};
use crate::Extents;
use crate::model::flags::{Flag, LvFlag, TypeFlag};
use crate::model::ids::LvId;
use crate::model::lv::LogicalVolume;
use crate::model::segment::{Segment, SegmentType};

pub(super) fn check(checker: &mut Checker<'_>) {
    let vg = checker.vg;
    for (id, lv) in vg.lvs() {
        if checker.is_full() {
            return;
        }
        volume(checker, id, lv);
        for (index, segment) in lv.segments.iter().enumerate() {
            type_flags(checker, (id, index), segment);
            kinds::check(checker, (id, index), segment);
        }
    }
}

fn volume(checker: &mut Checker<'_>, id: LvId, lv: &LogicalVolume) {
    if lv.segments.is_empty() {
        checker.lv_error(id, "it has no segments");
    }
    let mut next = Extents::ZERO;
    for (index, segment) in lv.segments.iter().enumerate() {
        if segment.start != next {
            let problem = format!("it begins at extent {}, not at {}", segment.start.0, next.0);
            checker.segment_error((id, index), problem);
        }
        if segment.length == Extents::ZERO {
            checker.segment_error((id, index), "it has no extents");
        }
        next = segment.end();
    }
    if lv.extents().0 > u64::from(u32::MAX) {
        checker.lv_error(id, "it has more extents than 32 bits can count");
    }
    if let Some(segment) = lv.segments.iter().find(|segment| is_single(&segment.kind))
        && lv.segments.len() > 1
    {
        let problem = format!("it is of type {} and has more than one segment", {
            segment.kind.name()
        });
        checker.lv_error(id, problem);
    }
    if lv.flags.has(LvFlag::ErrorWhenFull)
        && !matches!(
            lv.first(),
            Some(SegmentType::ThinPool(_) | SegmentType::Unknown(_))
        )
    {
        checker.lv_error(id, "it has the flag ERROR_WHEN_FULL and is not a thin pool");
    }
    if lv.flags.has(LvFlag::FixedMinor) && lv.minor.is_none() {
        checker.lv_error(id, "it has a fixed device number that is not given");
    }
    if lv.creation_host.is_some() != lv.creation_time.is_some() {
        let problem = "only one of creation_time and creation_host is given";
        checker.lv_error(id, problem);
    }
}

/// Whether a volume of this type cannot have a second segment.
fn is_single(kind: &SegmentType) -> bool {
    !matches!(
        kind,
        SegmentType::Striped(_)
            | SegmentType::Mirror(_)
            | SegmentType::Zero
            | SegmentType::Error
            | SegmentType::Unknown(_)
    )
}

fn type_flags(checker: &mut Checker<'_>, place: Place, segment: &Segment) {
    for flag in &segment.type_flags {
        let is_fitting = match flag {
            TypeFlag::Reshape
            | TypeFlag::ReshapeDataOffset
            | TypeFlag::ReshapeDeltaDisksPlus
            | TypeFlag::ReshapeDeltaDisksMinus
            | TypeFlag::RemoveAfterReshape => true,
            TypeFlag::MetadataFormat | TypeFlag::CacheUsesCachevol => {
                matches!(
                    segment.kind,
                    SegmentType::Cache(_) | SegmentType::CachePool(_) | SegmentType::Writecache(_)
                )
            }
            TypeFlag::CropMetadata => matches!(segment.kind, SegmentType::ThinPool(_)),
        };
        if !is_fitting {
            let problem = format!(
                "its type {} has the flag {}",
                segment.kind.name(),
                flag.name()
            );
            checker.segment_error(place, problem);
        }
    }
    if let SegmentType::Unknown(unknown) = &segment.kind {
        let problem = format!("its type {:?} is not known", unknown.type_name);
        checker.segment_warning(place, problem, KEEP_READ_ONLY);
    }
}
