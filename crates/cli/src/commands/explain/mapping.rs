//! What a volume lies on: the metadata of its group as a layout of the lab.
//!
//! Volumes below volumes are looked through: what remains are runs of bytes on physical volumes,
//! linear, striped (RAID 0 too) or mirrored. Runs that go on where the last one ended are one. What
//! the lab has no model of (RAID with redundancy, snapshots, thin volumes) is refused by its name.
//!
//! The metadata is not believed: each volume is looked through once, loops and ends are refused,
//! and so is what would take more than [`STEPS_MAX`] steps.

use std::collections::HashMap;

use lab::layout::{Area, Segment};
use lvm2::Extents;
use lvm2::model::{
    self, LvId, Mirror, PvId, Raid, RaidFamily, Relations, SegmentType, Striped, VolumeGroup,
};

use crate::args::Error;

/// Volumes below volumes at most.
const DEPTH_MAX: usize = 32;
/// Runs and pieces looked at for one volume: a second's work.
const STEPS_MAX: u64 = 50_000_000;
/// Runs of one volume at most.
const RUNS_MAX: usize = 1 << 16;

/// The runs of a volume, whose areas are on the disks with the numbers of `disks`.
#[derive(Debug)]
pub(super) struct Mapping {
    pub(super) segments: Vec<Segment>,
    /// The physical volumes, in the order of their use.
    pub(super) disks: Vec<PvId>,
}

/// A linear run: a disk's number, where it begins, and its bytes.
type Run = (Area, u64);

struct Walk<'a> {
    model: &'a VolumeGroup,
    /// What people call the group.
    name: &'a str,
    disks: Vec<PvId>,
    /// Volumes that were looked through, and, as `None`, those that have been begun.
    made: HashMap<LvId, Option<Vec<Segment>>>,
    steps: u64,
}

impl Mapping {
    /// Of a logical volume of the group called `name`.
    pub(super) fn of(model: &VolumeGroup, name: &str, lv: LvId) -> Result<Self, Error> {
        let mut walk = Walk {
            model,
            name,
            disks: Vec::new(),
            made: HashMap::new(),
            steps: 0,
        };
        if Relations::of(model).seen_through(model, lv).is_some() {
            return Err(walk.refused(lv, "what a snapshot costs is not known yet"));
        }
        let segments = walk.volume(lv, 0)?;
        if segments.is_empty() {
            return Err(walk.refused(lv, "it has no extents"));
        }
        Ok(Self {
            segments,
            disks: walk.disks,
        })
    }
}

impl Walk<'_> {
    fn refused(&self, lv: LvId, why: &str) -> Error {
        let name = self.model.lv(lv).name();
        Error::failed(format!("{}/{name} cannot be explained: {why}", self.name))
    }

    fn bytes(&self, lv: LvId, extents: Extents) -> Result<u64, Error> {
        let sectors = extents.to_sectors(self.model.extent_size);
        let bytes = sectors.and_then(lvm2::Sectors::to_bytes);
        let bytes = bytes.filter(|bytes| bytes.0 < 1 << 62);
        bytes
            .map(|bytes| bytes.0)
            .ok_or_else(|| self.refused(lv, "it is larger than any disk"))
    }

    /// Counts steps, and ends where there are too many.
    fn step(&mut self, lv: LvId, count: usize) -> Result<(), Error> {
        self.steps = self.steps.saturating_add(count as u64);
        if self.steps > STEPS_MAX {
            return Err(self.refused(lv, "it stands on too many pieces of volumes"));
        }
        Ok(())
    }

    fn volume(&mut self, lv: LvId, depth: usize) -> Result<Vec<Segment>, Error> {
        match self.made.get(&lv) {
            Some(Some(made)) => {
                let made = made.clone();
                self.step(lv, made.len())?;
                return Ok(made);
            }
            Some(None) => return Err(self.refused(lv, "it stands on itself; see vgck")),
            None if depth > DEPTH_MAX => {
                return Err(self.refused(lv, "it stands on too many volumes; see vgck"));
            }
            None => {}
        }
        self.made.insert(lv, None);
        let model = self.model;
        let mut found: Vec<Segment> = Vec::new();
        for segment in &model.lv(lv).segments {
            let len = self.bytes(lv, segment.length)?;
            let more = match &segment.kind {
                SegmentType::Striped(striped) => self.striped(lv, segment, striped, len, depth)?,
                SegmentType::Raid(raid) if raid.level.family() == RaidFamily::Raid0 => {
                    let striped = stripes(raid);
                    self.striped(lv, segment, &striped, len, depth)?
                }
                SegmentType::Mirror(mirror) => self.mirror(lv, mirror, len, depth)?,
                _ => {
                    let why = format!(
                        "it has the type {}; linear, striped and mirror are predicted and emulated",
                        segment.type_name()
                    );
                    return Err(self.refused(lv, &why));
                }
            };
            self.step(lv, more.len())?;
            for one in more {
                append(&mut found, one);
            }
            if found.len() > RUNS_MAX {
                return Err(self.refused(lv, "it is in more than 65536 pieces"));
            }
        }
        self.made.insert(lv, Some(found.clone()));
        Ok(found)
    }

    fn striped(
        &mut self,
        lv: LvId,
        segment: &model::Segment,
        striped: &Striped,
        len: u64,
        depth: usize,
    ) -> Result<Vec<Segment>, Error> {
        if let [area] = striped.areas[..] {
            let runs = self.area(lv, area, len, depth)?;
            return Ok(runs.into_iter().map(linear).collect());
        }
        let share = segment
            .area_length()
            .ok_or_else(|| self.refused(lv, "its stripes do not come out even; see vgck"))?;
        let share = self.bytes(lv, share)?;
        let mut areas = Vec::new();
        for area in &striped.areas {
            match self.area(lv, *area, share, depth)?[..] {
                [(area, _)] => areas.push(area),
                _ => return Err(self.refused(lv, "a stripe of it lies in several places")),
            }
        }
        let chunk = striped.stripe_size.to_bytes().map_or(0, |bytes| bytes.0);
        Ok(vec![Segment::Striped { len, chunk, areas }])
    }

    /// A mirror; where a copy is in several pieces, it is cut there.
    fn mirror(
        &mut self,
        lv: LvId,
        mirror: &Mirror,
        len: u64,
        depth: usize,
    ) -> Result<Vec<Segment>, Error> {
        let region = mirror.region_size.to_bytes().map_or(0, |bytes| bytes.0);
        let mut copies = Vec::new();
        for image in &mirror.images {
            copies.push(self.area(lv, *image, len, depth)?);
        }
        let mut ends: Vec<u64> = Vec::new();
        for copy in &copies {
            let mut at = 0;
            for (_, run) in copy {
                at += run;
                ends.push(at);
            }
        }
        ends.sort_unstable();
        ends.dedup();
        let mut begin = 0;
        let mut found = Vec::new();
        let pieces: usize = copies.iter().map(Vec::len).sum();
        for end in ends {
            self.step(lv, pieces)?;
            let legs = copies.iter().map(|copy| place(copy, begin)).collect();
            found.push(Segment::Mirror {
                len: end - begin,
                region,
                legs,
                log: None,
            });
            begin = end;
        }
        Ok(found)
    }

    /// `len` bytes of an area, as runs on disks.
    fn area(
        &mut self,
        lv: LvId,
        area: model::Area,
        len: u64,
        depth: usize,
    ) -> Result<Vec<Run>, Error> {
        match area {
            model::Area::Pv { pv, start } => {
                let first = self
                    .model
                    .pv(pv)
                    .extent_start(start, self.model.extent_size)
                    .and_then(lvm2::Sectors::to_bytes)
                    .filter(|first| first.0 < 1 << 62)
                    .ok_or_else(|| self.refused(lv, "it uses extents past any disk's end"))?;
                let disk = self.number(pv);
                Ok(vec![(
                    Area {
                        disk,
                        start: first.0,
                    },
                    len,
                )])
            }
            model::Area::Lv { lv: below, start } => {
                let start = self.bytes(lv, start)?;
                self.within(lv, below, start, len, depth)
            }
        }
    }

    /// Bytes of a volume below, which is linear there.
    fn within(
        &mut self,
        lv: LvId,
        below: LvId,
        start: u64,
        len: u64,
        depth: usize,
    ) -> Result<Vec<Run>, Error> {
        let (mut at, end) = (0_u64, start + len);
        let mut found = Vec::new();
        for segment in self.volume(below, depth + 1)? {
            let (from, until) = (start.max(at), end.min(at + segment.len()));
            if from < until {
                let Segment::Linear { area, .. } = &segment else {
                    let name = self.model.lv(below).name();
                    let why = format!("{name}, on which it stands, is not linear");
                    return Err(self.refused(lv, &why));
                };
                let area = Area {
                    disk: area.disk,
                    start: area.start + (from - at),
                };
                found.push((area, until - from));
            }
            at += segment.len();
        }
        if found.iter().map(|run| run.1).sum::<u64>() < len {
            return Err(self.refused(lv, "it uses more of a volume below than there is; see vgck"));
        }
        Ok(found)
    }

    /// The number of a disk, which it gets where it is first used.
    fn number(&mut self, pv: PvId) -> usize {
        let known = self.disks.iter().position(|disk| *disk == pv);
        known.unwrap_or_else(|| {
            self.disks.push(pv);
            self.disks.len() - 1
        })
    }
}

/// RAID 0 keeps no state: it is its images in turns.
fn stripes(raid: &Raid) -> Striped {
    let images = raid.images.iter();
    let areas = images.map(|image| model::Area::Lv {
        lv: image.data,
        start: Extents(0),
    });
    Striped {
        stripe_size: raid.stripe_size,
        areas: areas.collect(),
    }
}

fn linear((area, len): Run) -> Segment {
    Segment::Linear {
        len,
        area,
        cut: None,
    }
}

/// Where byte `at` of a copy lies.
fn place(copy: &[Run], at: u64) -> Area {
    let mut begin = 0;
    for (area, len) in copy {
        if at < begin + len {
            return Area {
                disk: area.disk,
                start: area.start + (at - begin),
            };
        }
        begin += len;
    }
    unreachable!("every copy has all bytes, or it was refused")
}

/// Adds a segment; a linear one that goes on where the last one ended becomes part of it.
fn append(all: &mut Vec<Segment>, next: Segment) {
    if let (
        Some(Segment::Linear { len, area, .. }),
        Segment::Linear {
            len: more,
            area: after,
            ..
        },
    ) = (all.last_mut(), &next)
        && area.disk == after.disk
        && area.start + *len == after.start
    {
        *len += more;
        return;
    }
    all.push(next);
}

/// The bytes of a volume, for people: `12.0 MiB`.
pub(super) fn size(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 || value.fract() == 0.0 {
        return format!("{value:.0} {}", units[unit]);
    }
    format!("{value:.1} {}", units[unit])
}

/// How a volume lies, for people: one line for each run of segments of a kind.
pub(super) fn told(segments: &[Segment], names: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut linear: Vec<(&Area, u64)> = Vec::new();
    let flush = |lines: &mut Vec<String>, linear: &mut Vec<(&Area, u64)>| {
        let bytes: u64 = linear.iter().map(|run| run.1).sum();
        let on = |index: usize| &names[index];
        match linear[..] {
            [] => {}
            [(area, _)] => lines.push(format!(
                "{} linear on {}, from {} on",
                size(bytes),
                on(area.disk),
                size(area.start)
            )),
            _ => {
                let mut used: Vec<usize> = linear.iter().map(|run| run.0.disk).collect();
                used.sort_unstable();
                used.dedup();
                let used: Vec<&str> = used.iter().map(|disk| on(*disk).as_str()).collect();
                lines.push(format!(
                    "{} linear in {} pieces on {}",
                    size(bytes),
                    linear.len(),
                    used.join(", ")
                ));
            }
        }
        linear.clear();
    };
    for segment in segments {
        let on = |areas: &[Area]| {
            let words = areas.iter().map(|area| names[area.disk].clone());
            words.collect::<Vec<_>>().join(", ")
        };
        match segment {
            Segment::Linear { len, area, .. } => linear.push((area, *len)),
            Segment::Striped { len, chunk, areas } => {
                flush(&mut lines, &mut linear);
                lines.push(format!(
                    "{} in {} stripes of {} on {}",
                    size(*len),
                    areas.len(),
                    size(*chunk),
                    on(areas)
                ));
            }
            // No command shows one of these two: `layout` refuses origins and arrays before.
            Segment::Origin { len, origin, .. } => {
                flush(&mut lines, &mut linear);
                let place = on(&[*origin]);
                lines.push(format!("{} on {place}, with snapshots", size(*len)));
            }
            Segment::Raid(array) => {
                flush(&mut lines, &mut linear);
                let (level, legs) = (array.level.name(), on(&array.legs));
                lines.push(format!("{} in {level} on {legs}", size(array.len)));
            }
            Segment::Mirror { len, legs, .. } => {
                flush(&mut lines, &mut linear);
                let (count, legs) = (legs.len(), on(legs));
                lines.push(format!("{} in {count} copies on {legs}", size(*len)));
            }
        }
    }
    flush(&mut lines, &mut linear);
    lines
}

#[cfg(test)]
mod tests;
