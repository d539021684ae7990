//! The lines of a node's table, in device-mapper's words.
//!
//! A disk that is a block device stands there by its numbers, an image by its path.

use lvm2::model::{
    Area, Integrity, IntegrityMode, IntegritySettings, LvFlag, LvId, Mirror, Raid, RaidFamily,
    RaidLevel, Segment, SegmentType, Striped, dm_name,
};
use lvm2::{Extents, Sectors};

use crate::output::{Group, View};

/// What stands for a leg that is not there.
const NONE: &str = "-";

/// A run of sectors of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// Its first sector.
    pub(super) start: u64,
    /// How many it has.
    pub(super) length: u64,
    /// What answers there.
    pub(super) target: &'static str,
    /// What that is told.
    pub(super) arguments: Vec<Argument>,
}

/// A word behind a target's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Argument {
    /// A number or an option.
    Word(String),
    /// What it stands on; with a name in front of it where options have names.
    Below(&'static str, Below),
}

/// What a node stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Below {
    /// Another node, by its name.
    Node(String),
    /// A disk or an image: its name, and its numbers if it has any.
    Disk(String, Option<(u32, u32)>),
}

impl Line {
    fn new(length: u64, target: &'static str, arguments: Vec<Argument>) -> Self {
        Self {
            start: 0,
            length,
            target,
            arguments,
        }
    }

    /// The line as `dmsetup table` prints it.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{} {} {}", self.start, self.length, self.target);
        for argument in &self.arguments {
            text.push(' ');
            text.push_str(&argument.text());
        }
        text
    }

    /// What it stands on.
    pub(super) fn below(&self) -> impl Iterator<Item = &Below> {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Below(_, below) => Some(below),
            Argument::Word(_) => None,
        })
    }
}

impl Argument {
    /// The word; a space within is no end of it.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Word(word) => word.clone(),
            Self::Below(option, Below::Node(name)) => format!("{option}/dev/mapper/{name}"),
            Self::Below(option, Below::Disk(_, Some((major, minor)))) => {
                format!("{option}{major}:{minor}")
            }
            Self::Below(option, Below::Disk(name, None)) => {
                let escaped = name.replace('\\', "\\\\").replace(' ', "\\ ");
                format!("{option}{escaped}")
            }
        }
    }
}

/// A word.
fn word(what: &str) -> Argument {
    Argument::Word(what.to_owned())
}

/// A number.
fn number(what: u64) -> Argument {
    Argument::Word(what.to_string())
}

/// Another node.
fn node(name: String) -> Argument {
    Argument::Below("", Below::Node(name))
}

/// What an origin is made of where snapshots keep what it was, or one goes back into it.
pub(super) fn origin(real: String, merged: Option<(String, Sectors)>, length: u64) -> Vec<Line> {
    vec![match merged {
        None => Line::new(length, "snapshot-origin", vec![node(real)]),
        Some((store, chunk)) => kept("snapshot-merge", real, store, chunk, length),
    }]
}

/// What a snapshot is made of.
pub(super) fn snapshot(real: String, store: String, chunk: Sectors, length: u64) -> Vec<Line> {
    vec![kept("snapshot", real, store, chunk, length)]
}

fn kept(target: &'static str, real: String, store: String, chunk: Sectors, length: u64) -> Line {
    let arguments = vec![node(real), node(store), word("P"), number(chunk.0)];
    Line::new(length, target, arguments)
}

/// What a volume without layers is made of.
pub(super) fn segments(view: &View, group: &Group, lv: LvId) -> Vec<Line> {
    let places = Places { view, group, lv };
    let mut start = 0_u64;
    let segments = group.vg.lv(lv).segments.iter();
    let lines = segments.map(|segment| {
        let line = Line {
            start,
            ..places.line(segment)
        };
        start = start.saturating_add(line.length);
        line
    });
    lines.collect()
}

/// Where the parts of a volume lie.
struct Places<'a> {
    view: &'a View,
    group: &'a Group,
    lv: LvId,
}

impl Places<'_> {
    fn line(&self, segment: &Segment) -> Line {
        let length = self.group.sectors(segment.usable_length());
        let (target, arguments) = match &segment.kind {
            SegmentType::Striped(striped) => self.striped(striped),
            SegmentType::Mirror(mirror) => ("mirror", self.mirror(mirror)),
            SegmentType::Raid(raid) => ("raid", self.raid(raid)),
            SegmentType::Integrity(parts) => ("integrity", self.integrity(segment, parts)),
            SegmentType::Zero => ("zero", Vec::new()),
            SegmentType::Error => ("error", Vec::new()),
            // Nothing that is active here has any.
            _ => ("unknown", Vec::new()),
        };
        Line::new(length, target, arguments)
    }

    fn striped(&self, striped: &Striped) -> (&'static str, Vec<Argument>) {
        let areas = striped.areas.iter().flat_map(|area| self.area(*area));
        if striped.areas.len() == 1 {
            return ("linear", areas.collect());
        }
        let sizes = [
            number(striped.areas.len() as u64),
            number(striped.stripe_size.0),
        ];
        ("striped", sizes.into_iter().chain(areas).collect())
    }

    fn mirror(&self, mirror: &Mirror) -> Vec<Argument> {
        let flags = &self.group.vg.lv(self.lv).flags;
        let mut log: Vec<Argument> = mirror.log.map(|log| self.volume(log)).into_iter().collect();
        log.push(number(mirror.region_size.0));
        if flags.has(LvFlag::NotSynced) {
            log.push(word("nosync"));
        }
        let kind = if mirror.log.is_some() { "disk" } else { "core" };
        let mut all = vec![word(kind), number(log.len() as u64)];
        all.append(&mut log);
        all.push(number(mirror.images.len() as u64));
        all.extend(mirror.images.iter().flat_map(|area| self.area(*area)));
        all.extend([number(1), word("handle_errors")]);
        all
    }

    fn raid(&self, raid: &Raid) -> Vec<Argument> {
        let family = raid.level.family();
        let mut options = vec![number(raid.stripe_size.0)];
        if self.group.vg.lv(self.lv).flags.has(LvFlag::NotSynced) {
            options.push(word("nosync"));
        }
        let mut add = |name: &str, value: u64| options.extend([word(name), number(value)]);
        let flagged = |flag: LvFlag| {
            let images = raid.images.iter().enumerate();
            let vg = &self.group.vg;
            images.filter_map(move |(index, image)| {
                vg.lv(image.data).flags.has(flag).then_some(index as u64)
            })
        };
        flagged(LvFlag::Rebuild).for_each(|index| add("rebuild", index));
        let rates = [
            ("min_recovery_rate", raid.min_recovery_rate),
            ("max_recovery_rate", raid.max_recovery_rate),
        ];
        for (name, rate) in rates {
            if let Some(rate) = rate.filter(|rate| *rate > 0) {
                add(name, rate.into());
            }
        }
        flagged(LvFlag::WriteMostly).for_each(|index| add("write_mostly", index));
        if let Some(behind) = raid.write_behind {
            add("max_write_behind", behind.into());
        }
        if family != RaidFamily::Raid0 && raid.region_size.0 > 0 {
            add("region_size", raid.region_size.0);
        }
        if family == RaidFamily::Raid10 {
            add("raid10_copies", raid.copies().into());
        }
        if let Some(offset) = raid.data_offset {
            add("data_offset", offset.0);
        }
        let mut all = vec![word(level(raid.level)), number(options.len() as u64)];
        all.append(&mut options);
        all.push(number(raid.images.len() as u64));
        for image in &raid.images {
            if self.group.is_partial(image.data) {
                all.extend([word(NONE), word(NONE)]);
                continue;
            }
            all.push(image.meta.map_or(word(NONE), |meta| self.volume(meta)));
            all.push(self.volume(image.data));
        }
        all
    }

    fn integrity(&self, segment: &Segment, parts: &Integrity) -> Vec<Argument> {
        let mut options = Vec::new();
        if let Some(metadata) = parts.metadata {
            let below = Below::Node(self.name(metadata));
            options.push(Argument::Below("meta_device:", below));
        }
        let settings = IntegritySettings::of(segment).ok();
        let mode = match settings.map(|settings| settings.mode) {
            Some(IntegrityMode::Bitmap) => "B",
            Some(IntegrityMode::Journal) | None => "J",
        };
        if let Some(settings) = settings {
            if settings.block_size != 512 {
                options.push(word(&format!("block_size:{}", settings.block_size)));
            }
            if segment.extra.number("recalculate") == Some(1) {
                options.push(word("recalculate"));
            }
            if settings.allows_discards {
                options.push(word("allow_discards"));
            }
            let journal = settings.journal_sectors;
            options.extend(journal.map(|sectors| word(&format!("journal_sectors:{sectors}"))));
        }
        options.push(word("internal_hash:crc32c"));
        // Checksums of four bytes begin with the data.
        let begins = [self.volume(parts.origin), number(0), number(4), word(mode)];
        let count = [number(options.len() as u64)];
        begins.into_iter().chain(count).chain(options).collect()
    }

    /// The two words for an area: what it is on, and its first sector there.
    fn area(&self, area: Area) -> [Argument; 2] {
        match area {
            Area::Pv { pv, start } => {
                let name = self.view.pv_name(self.group, pv).to_owned();
                let found = self.group.found(pv);
                let scan = &self.view.scan;
                let numbers = found.and_then(|found| scan.device(scan.pv(found).device).number);
                let numbers = numbers.map(|number| (number.major, number.minor));
                let physical = self.group.vg.pv(pv);
                let sector = physical.extent_start(start, self.group.vg.extent_size);
                let sector = sector.unwrap_or(Sectors(u64::MAX));
                let disk = Argument::Below("", Below::Disk(name, numbers));
                [disk, number(sector.0)]
            }
            Area::Lv { lv, start } => {
                let sector = self.group.sectors(Extents(start.0));
                [self.volume(lv), number(sector)]
            }
        }
    }

    fn volume(&self, lv: LvId) -> Argument {
        node(self.name(lv))
    }

    fn name(&self, lv: LvId) -> String {
        let vg = &self.group.vg;
        dm_name(&vg.name, vg.lv(lv).name(), None)
    }
}

/// What the kernel calls a level: each by its full name.
pub(super) fn level(level: RaidLevel) -> &'static str {
    match level {
        RaidLevel::Raid0Meta => "raid0",
        RaidLevel::Raid5 => "raid5_ls",
        RaidLevel::Raid6 => "raid6_zr",
        RaidLevel::Raid10Near => "raid10",
        level => level.name(),
    }
}
