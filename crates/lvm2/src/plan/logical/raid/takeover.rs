//! Types that become each other without moving data: striped, raid0 and `raid0_meta`; mirror
//! and raid1.
//!
//! ```text
//!     s: striped over pv0, pv1     s: raid0 of s_rimage_0 on pv0 and s_rimage_1 on pv1
//!     m_mimage_0, m_mlog           m_rimage_0, m_rmeta_0
//! ```
//!
//! A mirror that becomes an array starts its life with metadata of zeros: all copies are made equal
//! to the first one. An array that becomes a mirror tells the log what is known of it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::super::convert::finish_mirror;
use super::super::create::free_space;
use super::super::mirror::{self, LogContents, hidden};
use super::super::options::MirrorLog;
use super::copies::{beside, convertible};
use super::images::rename;
use super::parts::{Array, add_meta, array, names};
use super::resize::require_whole;
use super::size::{meta_extents, region_size};
use super::state::{ArrayState, is_rebuilding};
use crate::model::{
    Area, LvFlag, LvId, Raid, RaidFamily, RaidImage, RaidLevel, Segment, SegmentType, Striped,
    VolumeGroup,
};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, refused};
use crate::plan::segments;
use crate::{Extents, Result, Sectors};

/// What a volume is to become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takeover {
    /// `--type striped`: a RAID 0 without images of its own.
    Striped,
    /// `--type raid0` or `raid0_meta`.
    Raid0(RaidLevel),
    /// `--type raid1`, of a mirror; with the size of regions, where it is said.
    Raid1(Option<Sectors>),
    /// `--type mirror`, of raid1, with what is known of it.
    Mirror(MirrorLog, ArrayState),
}

/// Lets a volume become another type.
pub fn take_over(
    vg: &VolumeGroup,
    volume: &str,
    to: Takeover,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let id = convertible(vg, volume)?;
    let found = array(vg, id);
    if let Some(found) = &found {
        require_whole(vg, id, found)?;
    }
    match (to, found) {
        (Takeover::Striped, Some(found)) if found.level().family() == RaidFamily::Raid0 => {
            to_striped(&mut draft, id, &found)?;
        }
        (Takeover::Raid0(level), None) => {
            to_images(&mut draft, id, volume, author)?;
            set_level(&mut draft, (id, volume), level, author)?;
        }
        (Takeover::Raid0(level), Some(found)) if found.level().family() == RaidFamily::Raid0 => {
            if found.level() == level {
                let name = level.name();
                return Err(refused(format!(
                    "Logical volume {}/{volume} already is of type {name}.",
                    vg.name
                )));
            }
            set_level(&mut draft, (id, volume), level, author)?;
        }
        (Takeover::Raid1(region), None) if mirror::parts(vg, id)?.is_some() => {
            to_raid1(&mut draft, (id, volume), region, author)?;
        }
        (Takeover::Mirror(log, state), Some(found)) if found.level() == RaidLevel::Raid1 => {
            to_mirror(&mut draft, (id, volume), &found, (log, state), author)?;
        }
        _ => {
            let kind = vg.lv(id).segments.first().map_or("", |one| one.type_name());
            return Err(refused(format!(
                "Unable to convert LV {}/{volume} from {kind} to {}: that needs a reshape; LVM2 \
                 does it",
                vg.name,
                to.name()
            )));
        }
    }
    draft.note(format!(
        "Logical volume {}/{volume} successfully converted.",
        vg.name
    ));
    draft.finish(author)
}

impl Takeover {
    fn name(self) -> &'static str {
        match self {
            Self::Striped => "striped",
            Self::Raid0(level) => level.name(),
            Self::Raid1(_) => RaidLevel::Raid1.name(),
            Self::Mirror(..) => "mirror",
        }
    }
}

/// The stripes of a volume become images, without metadata.
pub(super) fn to_images(
    draft: &mut Draft,
    id: LvId,
    volume: &str,
    author: &mut Author<'_>,
) -> Result<()> {
    let lv = draft.vg.lv(id);
    let extents = lv.extents();
    let stripes: Option<Vec<&Striped>> = lv
        .segments
        .iter()
        .map(|segment| match &segment.kind {
            SegmentType::Striped(striped) => Some(striped),
            _ => None,
        })
        .collect();
    let alike = stripes.as_deref().and_then(|all| {
        let first = all.first()?;
        let shape = |one: &&Striped| (one.areas.len(), one.stripe_size);
        let is_alike = all.iter().all(|one| shape(one) == shape(first));
        (is_alike && first.areas.len() > 1).then(|| shape(first))
    });
    let Some((count, stripe_size)) = alike else {
        return Err(refused(format!(
            "Unable to convert LV {}/{volume}: only a volume with the same stripes, two or more, \
             from its start to its end becomes RAID 0",
            draft.vg.name
        )));
    };
    let own = lv.allocation;
    let mut lists: Vec<Vec<Segment>> = vec![Vec::new(); count];
    for segment in &lv.segments {
        let length = segment.area_length().unwrap_or_default();
        for (list, area) in lists.iter_mut().zip(segment.areas()) {
            let start = segments::total(list);
            segments::append(list, vec![Segment::linear(start, length, *area)]);
        }
    }
    draft.vg.lv_mut(id).segments.clear();
    let mut images = Vec::new();
    for (number, list) in lists.into_iter().enumerate() {
        let mut image = hidden(names(volume, number).0, author, list);
        image.allocation = own;
        let data = draft.vg.add_lv(image)?;
        images.push(RaidImage { meta: None, data });
    }
    let kind = SegmentType::Raid(Raid {
        level: RaidLevel::Raid0,
        data_copies: None,
        region_size: Sectors::ZERO,
        stripe_size,
        write_behind: None,
        min_recovery_rate: None,
        max_recovery_rate: None,
        data_offset: None,
        images,
    });
    draft.vg.lv_mut(id).segments = vec![segments::segment(Extents::ZERO, extents, kind)];
    Ok(())
}

/// RAID 0 gets metadata, or loses it.
fn set_level(
    draft: &mut Draft,
    (id, volume): (LvId, &str),
    level: RaidLevel,
    author: &mut Author<'_>,
) -> Result<()> {
    let mut found = array(&draft.vg, id).expect("the caller has made it one");
    let length = Extents(found.extents.0 / found.data() as u64);
    let meta = meta_extents(level, length, Sectors::ZERO, draft.vg.extent_size);
    let old: Vec<LvId> = found
        .raid
        .images
        .iter_mut()
        .filter_map(|one| one.meta.take())
        .collect();
    if meta > Extents::ZERO {
        for number in 0..found.raid.images.len() {
            let image = found.raid.images[number].data;
            let list = beside(draft, image, (meta, None), volume)?;
            let own = draft.vg.lv(id).allocation;
            let name = names(volume, number).1;
            found.raid.images[number].meta = Some(add_meta(draft, name, list, own, author)?);
        }
    }
    found.raid.level = level;
    draft.vg.lv_mut(id).segments[0].kind = SegmentType::Raid(found.raid);
    for lv in old {
        draft.vg.remove_lv(lv);
    }
    Ok(())
}

/// The images of RAID 0 become stripes; where one ends, all are cut.
pub(super) fn to_striped(draft: &mut Draft, id: LvId, found: &Array) -> Result<()> {
    let length = Extents(found.extents.0 / found.data() as u64);
    let mut cuts: BTreeSet<Extents> = BTreeSet::from([length]);
    let mut lists: Vec<BTreeMap<Extents, Segment>> = Vec::new();
    for image in &found.raid.images {
        let list = &draft.vg.lv(image.data).segments;
        let is_plain = |segment: &Segment| matches!(segment.areas(), [_]);
        if !list.iter().all(is_plain) {
            return Err(refused(format!(
                "Unable to convert LV {}/{}: its image {} is not linear",
                draft.vg.name,
                draft.vg.lv(id).name(),
                draft.vg.lv(image.data).name()
            )));
        }
        cuts.extend(list.iter().map(Segment::end));
        lists.push(list.iter().map(|one| (one.start, one.clone())).collect());
    }
    let count = lists.len() as u64;
    let mut made = Vec::new();
    let mut from = Extents::ZERO;
    for to in cuts.into_iter().filter(|cut| *cut <= length) {
        if to == from {
            continue;
        }
        let area = |list: &BTreeMap<Extents, Segment>| {
            let (start, segment) = list.range(..=from).next_back().expect("it begins at zero");
            let within = from - *start;
            match segment.areas()[0] {
                Area::Pv { pv, start } => Area::Pv {
                    pv,
                    start: start + within,
                },
                Area::Lv { lv, start } => Area::Lv {
                    lv,
                    start: start + within,
                },
            }
        };
        let kind = SegmentType::Striped(Striped {
            stripe_size: found.raid.stripe_size,
            areas: lists.iter().map(area).collect(),
        });
        let next = segments::segment(from * count, (to - from) * count, kind);
        segments::append(&mut made, vec![next]);
        from = to;
    }
    assert_eq!(segments::total(&made), found.extents, "no extent is lost");
    draft.vg.lv_mut(id).segments = made;
    for part in found.volumes() {
        draft.vg.remove_lv(part);
    }
    Ok(())
}

/// The images of a mirror become those of an array; its log goes.
fn to_raid1(
    draft: &mut Draft,
    (id, volume): (LvId, &str),
    region: Option<Sectors>,
    author: &mut Author<'_>,
) -> Result<()> {
    let parts = mirror::parts(&draft.vg, id)?.expect("the caller looked");
    let extents = draft.vg.lv(id).extents();
    let region = region_size(draft, Some(region.unwrap_or(parts.region_size)), extents)?;
    let meta = meta_extents(RaidLevel::Raid1, extents, region, draft.vg.extent_size);
    draft.vg.lv_mut(id).segments.clear();
    let own = draft.vg.lv(id).allocation;
    let mut images = Vec::new();
    for (number, image) in parts.images.iter().enumerate() {
        let list = beside(draft, *image, (meta, None), volume)?;
        let (image_name, meta_name) = names(volume, number);
        rename(&mut draft.vg, *image, &image_name)?;
        let meta = Some(add_meta(draft, meta_name, list, own, author)?);
        images.push(RaidImage { meta, data: *image });
    }
    if let Some(log) = parts.log {
        mirror::remove_log(&mut draft.vg, log)?;
    }
    let kind = SegmentType::Raid(Raid {
        level: RaidLevel::Raid1,
        data_copies: None,
        region_size: region,
        stripe_size: Sectors::ZERO,
        write_behind: None,
        min_recovery_rate: None,
        max_recovery_rate: None,
        data_offset: None,
        images,
    });
    let lv = draft.vg.lv_mut(id);
    lv.segments = vec![segments::segment(Extents::ZERO, extents, kind)];
    // The log knew where they differ; without it the first one is right.
    lv.flags.remove(LvFlag::NotSynced);
    Ok(())
}

/// The images of an array become those of a mirror, with a log.
fn to_mirror(
    draft: &mut Draft,
    (id, volume): (LvId, &str),
    found: &Array,
    (log, state): (MirrorLog, ArrayState),
    author: &mut Author<'_>,
) -> Result<()> {
    if found.raid.images.len() > mirror::LEGS_MAX {
        return Err(refused(format!(
            "Only up to {} images in mirror supported currently.",
            mirror::LEGS_MAX
        )));
    }
    if is_rebuilding(&draft.vg, found) {
        return Err(refused(format!(
            "Unable to convert {}/{volume} while an image is to be rebuilt",
            draft.vg.name
        )));
    }
    let mut space = free_space(draft, None)?;
    draft.vg.lv_mut(id).segments.clear();
    let mut images = Vec::new();
    for (number, image) in found.raid.images.iter().enumerate() {
        rename(
            &mut draft.vg,
            image.data,
            &format!("{volume}_mimage_{number}"),
        )?;
        draft
            .vg
            .lv_mut(image.data)
            .flags
            .remove(LvFlag::WriteMostly);
        if let Some(meta) = image.meta {
            draft.vg.remove_lv(meta);
        }
        images.push(image.data);
    }
    let region = mirror::region_size(draft, Some(found.raid.region_size), found.extents)?;
    let contents = match state {
        ArrayState::InSync => LogContents::Everything,
        ArrayState::Unused if draft.vg.lv(id).flags.has(LvFlag::NotSynced) => {
            LogContents::Everything
        }
        _ => LogContents::Nothing,
    };
    let what = ((log, contents), region, found.extents);
    finish_mirror(draft, id, &images, what, &mut space, author)?;
    assert_eq!(draft.vg.lv(id).name(), volume, "it keeps its name");
    Ok(())
}
