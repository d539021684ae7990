//! Where extents may be taken: `PV`, `PV:0-99:200-`, `@tag`, or anywhere.
//!
//! Places keep the order in which they were named, because the first ones are filled first.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::change::Message;
use super::draft::{pv_name, wrong};
use crate::model::name::validate_tag;
use crate::model::{AllocationMap, ExtentRange, PvId, VolumeGroup};
use crate::{Error, Extents, Kind, Result};

/// The ranges of one physical volume from which extents may be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The physical volume.
    pub pv: PvId,
    /// Where on it, sorted and apart from each other.
    pub ranges: Vec<ExtentRange>,
}

/// Where extents may be taken, in the order of preference.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    places: Vec<Place>,
    /// What is said of words that can be no tags, and are left out as in stock.
    skipped: Vec<String>,
}

impl Places {
    /// All physical volumes of a group.
    pub fn all(vg: &VolumeGroup) -> Self {
        let places = vg.pvs().map(|(pv, volume)| Place {
            pv,
            ranges: whole(volume.pe_count),
        });
        Self {
            places: places.collect(),
            skipped: Vec::new(),
        }
    }

    /// What the arguments name; without arguments all of the group.
    ///
    /// `find` answers which physical volume a device is.
    pub fn parse(
        vg: &VolumeGroup,
        arguments: &[&str],
        find: impl Fn(&str) -> Option<PvId>,
    ) -> Result<Self> {
        if arguments.is_empty() {
            return Ok(Self::all(vg));
        }
        let mut all = Self::default();
        all.fill(vg, arguments, find, |_| None)?;
        Ok(all)
    }

    /// The same for new extents: of what has none to give the ranges do not matter, as in stock,
    /// and an error about a later argument says so first.
    ///
    /// # Errors
    ///
    /// As [`Self::parse`].
    pub fn for_extents(
        vg: &VolumeGroup,
        arguments: &[&str],
        find: impl Fn(&str) -> Option<PvId>,
    ) -> Result<Self> {
        if arguments.is_empty() {
            return Ok(Self::all(vg));
        }
        let mut all = Self::default();
        let map = AllocationMap::of(vg);
        let useless = |pv| no_use(vg, pv, &map.free(pv));
        let filled = all.fill(vg, arguments, find, useless);
        filled.map_err(|error| {
            let barren = all.places.iter().filter_map(|place| useless(place.pv));
            let mut lines: Vec<String> = barren.map(|why| format!("WARNING: {why}")).collect();
            lines.push(error.context);
            Error::new(error.kind, lines.join("\n"))
        })?;
        Ok(all)
    }

    /// Adds what the arguments name, of which `useless` says what counts as a whole.
    fn fill(
        &mut self,
        vg: &VolumeGroup,
        arguments: &[&str],
        find: impl Fn(&str) -> Option<PvId>,
        useless: impl Fn(PvId) -> Option<String>,
    ) -> Result<()> {
        for argument in arguments {
            let found = splits(argument).find_map(|(name, text)| find(name).map(|pv| (pv, text)));
            if let Some((pv, text)) = found {
                let pe_count = vg.pv(pv).pe_count;
                if useless(pv).is_some() {
                    if self.places.iter().all(|place| place.pv != pv) {
                        self.add(pv, whole(pe_count), argument)?;
                    }
                    continue;
                }
                let name = argument.strip_suffix(text).unwrap_or(argument);
                let name = name.trim_end_matches(':');
                self.add(pv, parse_ranges(text, pe_count)?, name)?;
                continue;
            }
            let (name, text) = argument.split_once(':').unwrap_or((argument, ""));
            if let Some(tag) = name.strip_prefix('@') {
                if validate_tag(tag).is_err() {
                    self.skipped.push(format!("Skipping invalid tag {tag}."));
                }
                for (pv, volume) in vg.pvs().filter(|(_, pv)| pv.tags.iter().any(|t| t == tag)) {
                    self.add(pv, parse_ranges(text, volume.pe_count)?, name)?;
                }
                continue;
            }
            return Err(wrong(format!(
                "Physical Volume \"{name}\" not found in Volume Group \"{}\".",
                vg.name
            )));
        }
        Ok(())
    }

    /// The places, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Place> {
        self.places.iter()
    }

    /// The same without some physical volumes.
    pub fn without(&self, pvs: &BTreeSet<PvId>) -> Self {
        let left = self.places.iter().filter(|place| !pvs.contains(&place.pv));
        Self {
            places: left.cloned().collect(),
            skipped: self.skipped.clone(),
        }
    }

    /// Whether there is no place.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The same without physical volumes that are not allocatable or have no free extent.
    pub fn usable(&self, vg: &VolumeGroup) -> Self {
        let map = AllocationMap::of(vg);
        let is_usable =
            |place: &&Place| vg.pv(place.pv).is_allocatable() && !map.free(place.pv).is_empty();
        Self {
            places: self.places.iter().filter(is_usable).cloned().collect(),
            skipped: self.skipped.clone(),
        }
    }

    /// Adds ranges that were named as `name`; none of them twice, as in stock.
    fn add(&mut self, pv: PvId, mut ranges: Vec<ExtentRange>, name: &str) -> Result<()> {
        let at = self.places.iter().position(|place| place.pv == pv);
        if let Some(at) = at {
            ranges.splice(0..0, self.places[at].ranges.drain(..));
        }
        for (index, range) in ranges.iter().enumerate() {
            let mut earlier = ranges[..index].iter();
            let meets =
                |other: &&ExtentRange| range.start < other.end() && other.start < range.end();
            if let Some(other) = earlier.find(meets) {
                let last = |range: &ExtentRange| range.end().0.saturating_sub(1);
                return Err(wrong(format!(
                    "Overlapping PE ranges specified ({}-{}, {}-{}) on {name}.",
                    range.start.0,
                    last(range),
                    other.start.0,
                    last(other)
                )));
            }
        }
        let ranges = merged(ranges);
        match at {
            Some(at) => self.places[at].ranges = ranges,
            None => self.places.push(Place { pv, ranges }),
        }
        Ok(())
    }
}

/// Why a physical volume has no extents to give, of which these are free.
fn no_use(vg: &VolumeGroup, pv: PvId, free: &[ExtentRange]) -> Option<String> {
    let name = || pv_name(vg, pv);
    if !vg.pv(pv).is_allocatable() {
        Some(format!("Physical volume {} not allocatable.", name()))
    } else if free.is_empty() {
        Some(format!(
            "No free extents on physical volume \"{}\".",
            name()
        ))
    } else {
        None
    }
}

/// The free extents of a group that may be taken, and are taken one run after the other.
#[derive(Debug, Clone)]
pub struct FreeSpace {
    places: Vec<Place>,
}

impl FreeSpace {
    /// The free extents of `vg` in `places`, on physical volumes that are allocatable and there.
    pub fn of(vg: &VolumeGroup, places: &Places) -> Self {
        Self::collect(vg, places, &mut |_| {})
    }

    /// The same for places that people named: they are told which of them are of no use, and
    /// refused where all are. One with other free extents than the named ones is of use, as in
    /// stock.
    pub fn of_named(
        vg: &VolumeGroup,
        places: &Places,
        messages: &mut Vec<Message>,
    ) -> Result<Self> {
        let mut warnings = Vec::new();
        let space = Self::collect(vg, places, &mut |text| warnings.push(text));
        if places.usable(vg).is_empty() {
            let mut lines = places.skipped.clone();
            lines.extend(warnings.iter().map(|text| format!("WARNING: {text}")));
            lines.push("No specified PVs have space available.".into());
            return Err(Error::new(Kind::Space, lines.join("\n")));
        }
        messages.extend(places.skipped.iter().map(Message::note));
        messages.extend(warnings.iter().map(Message::warning));
        Ok(space)
    }

    fn collect(vg: &VolumeGroup, places: &Places, warn: &mut dyn FnMut(String)) -> Self {
        let map = AllocationMap::of(vg);
        let mut left = Vec::new();
        for place in places.iter() {
            let free = map.free(place.pv);
            if let Some(why) = no_use(vg, place.pv, &free) {
                warn(why);
                continue;
            }
            let ranges = intersection(&free, &place.ranges);
            if !ranges.is_empty() {
                left.push(Place {
                    pv: place.pv,
                    ranges,
                });
            }
        }
        let space = Self { places: left };
        space.check();
        space
    }

    /// The invariants: each physical volume once, its runs in order, apart, and none empty.
    fn check(&self) {
        if !cfg!(debug_assertions) {
            return;
        }
        let mut pvs: Vec<PvId> = self.places.iter().map(|place| place.pv).collect();
        pvs.sort_unstable();
        assert!(
            pvs.windows(2).all(|pair| pair[0] < pair[1]),
            "each is there once"
        );
        for place in &self.places {
            let mut pairs = place.ranges.windows(2);
            assert!(
                pairs.all(|pair| pair[0].end() <= pair[1].start),
                "runs are apart"
            );
            let is_filled = |range: &ExtentRange| range.length > Extents::ZERO;
            assert!(place.ranges.iter().all(is_filled), "a run has extents");
        }
    }

    /// What is left on each physical volume, in the order of preference.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// How many extents are left.
    pub fn total(&self) -> Extents {
        let ranges = self.places.iter().flat_map(|place| &place.ranges);
        ranges.map(|range| range.length).sum()
    }

    /// The run that begins at an extent, if that one is left.
    pub fn run_at(&self, pv: PvId, start: Extents) -> Option<ExtentRange> {
        let place = self.places.iter().find(|place| place.pv == pv)?;
        let run = place.ranges.iter().find(|range| range.contains(start))?;
        Some(ExtentRange::between(start, run.end()))
    }

    /// Takes extents that are left.
    pub fn take(&mut self, pv: PvId, taken: ExtentRange) {
        let place = self
            .places
            .iter_mut()
            .find(|place| place.pv == pv)
            .expect("only what is left is taken");
        let index = place
            .ranges
            .iter()
            .position(|range| range.contains(taken.start) && taken.end() <= range.end())
            .expect("only what is left is taken");
        let range = place.ranges.remove(index);
        let rests = [
            ExtentRange::between(range.start, taken.start),
            ExtentRange::between(taken.end(), range.end()),
        ];
        for rest in rests.into_iter().rev() {
            if rest.length > Extents::ZERO {
                place.ranges.insert(index, rest);
            }
        }
        self.check();
    }

    /// The same without some physical volumes.
    pub fn without(&self, pvs: &BTreeSet<PvId>) -> Self {
        let left = self.places.iter().filter(|place| !pvs.contains(&place.pv));
        Self {
            places: left.cloned().collect(),
        }
    }

    /// Leaves what `vg`, which is a later version of the group, does not use either.
    pub fn keep_free(&mut self, vg: &VolumeGroup) {
        let map = AllocationMap::of(vg);
        for place in &mut self.places {
            place.ranges = intersection(&map.free(place.pv), &place.ranges);
        }
        self.places.retain(|place| !place.ranges.is_empty());
        self.check();
    }
}

/// The ways to cut an argument into a device and ranges, the longest name first: the name of a
/// device may contain colons, and may even end like a range.
fn splits(argument: &str) -> impl Iterator<Item = (&str, &str)> {
    let cut = argument
        .rmatch_indices(':')
        .map(|(at, _)| (&argument[..at], &argument[at + 1..]))
        .filter(|(name, _)| !name.is_empty());
    core::iter::once((argument, "")).chain(cut)
}

/// `0-99:200-:5+3`; nothing means everything.
fn parse_ranges(text: &str, count: Extents) -> Result<Vec<ExtentRange>> {
    if text.is_empty() {
        return Ok(whole(count));
    }
    let last = Extents(count.0.saturating_sub(1));
    text.split(':')
        .map(|part| parse_range(part, last))
        .collect()
}

fn parse_range(text: &str, last: Extents) -> Result<ExtentRange> {
    let number = |digits: &str, default: Extents| -> Result<Extents> {
        if digits.is_empty() {
            return Ok(default);
        }
        digits.parse().map(Extents).map_err(|_| {
            let rest = text.find(digits).map_or(text, |at| &text[at..]);
            let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            wrong(format!("Physical extent parsing error at {rest}."))
        })
    };
    let (start, end) = if let Some((start, length)) = text.split_once('+') {
        let start = number(start, Extents::ZERO)?;
        let length = number(length, Extents::ZERO)?.0;
        let Some(more) = length.checked_sub(1) else {
            return Err(wrong("Length of extent range must not be zero"));
        };
        (start, Extents(start.0.saturating_add(more)))
    } else if let Some((start, end)) = text.split_once('-') {
        (number(start, Extents::ZERO)?, number(end, last)?)
    } else {
        let only = number(text, Extents::ZERO)?;
        (only, only)
    };
    if end < start || end > last {
        return Err(wrong(format!(
            "PE range error: start extent {} to end extent {}.",
            start.0, end.0
        )));
    }
    Ok(ExtentRange::between(start, end + Extents(1)))
}

fn whole(count: Extents) -> Vec<ExtentRange> {
    let all = ExtentRange {
        start: Extents::ZERO,
        length: count,
    };
    (count > Extents::ZERO).then_some(all).into_iter().collect()
}

/// The same extents as sorted ranges that are apart.
fn merged(mut ranges: Vec<ExtentRange>) -> Vec<ExtentRange> {
    ranges.sort();
    let mut out: Vec<ExtentRange> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start <= last.end() => {
                *last = ExtentRange::between(last.start, last.end().max(range.end()));
            }
            _ => out.push(range),
        }
    }
    let are_apart = out.windows(2).all(|pair| pair[0].end() < pair[1].start);
    assert!(are_apart, "ranges that meet are one");
    out
}

/// What two sorted lists have in common.
fn intersection(one: &[ExtentRange], other: &[ExtentRange]) -> Vec<ExtentRange> {
    debug_assert!(
        one.is_sorted() && other.is_sorted(),
        "both lists are in order"
    );
    let mut common = Vec::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(a), Some(b)) = (one.get(i), other.get(j)) {
        let (start, end) = (a.start.max(b.start), a.end().min(b.end()));
        if start < end {
            common.push(ExtentRange::between(start, end));
        }
        if a.end() <= b.end() {
            i += 1;
        } else {
            j += 1;
        }
    }
    common
}

#[cfg(test)]
mod tests;
