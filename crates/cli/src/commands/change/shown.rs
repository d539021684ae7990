//! A plan as people and programs read it.

use std::collections::BTreeMap;
use std::fmt::Write;

use ashlar::apply::{Cut, ImageLengths, Preview};
use ashlar::scan::Scan;
use lvm2::model::{Area, VolumeGroup};
use lvm2::plan::{Before, GroupChange, HeaderEdit, Piece};
use lvm2::{Extents, Uuid};
use serde::{Serialize, Serializer};

use super::copies::{Copying, copying};
use super::keeping::{Keeping, keeping};
use crate::output::report::spaced;

/// What becomes of a group.
#[derive(Serialize)]
struct Group {
    #[serde(rename = "vg_name")]
    name: String,
    #[serde(rename = "seqno_now")]
    before: Option<u32>,
    #[serde(rename = "seqno")]
    after: Option<u32>,
}

/// A run of extents on a device.
#[derive(Serialize)]
struct Run {
    #[serde(rename = "pv_name")]
    pv: String,
    first: u64,
    count: u64,
}

/// What a volume gets, and what it gives back.
#[derive(Serialize)]
struct Volume {
    #[serde(rename = "vg_name")]
    group: String,
    #[serde(rename = "lv_name")]
    name: String,
    gets: Vec<Run>,
    gives_back: Vec<Run>,
}

/// Something that is written before the commit.
#[derive(Serialize)]
struct Content {
    #[serde(rename = "pv_name")]
    pv: String,
    start: u64,
    length: u64,
    what: String,
}

/// An image that becomes shorter.
#[derive(Serialize)]
struct Image {
    #[serde(rename = "pv_name")]
    pv: String,
    #[serde(flatten, serialize_with = "of_the_file")]
    lengths: ImageLengths,
}

fn of_the_file<S: Serializer>(lengths: &ImageLengths, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct File {
        bytes_now: u64,
        bytes: u64,
    }
    let (bytes_now, bytes) = lengths.file;
    File { bytes_now, bytes }.serialize(to)
}

impl Image {
    fn write(&self, text: &mut String) -> std::fmt::Result {
        let pv = &self.pv;
        if let Some((number, was, is)) = self.lengths.partition {
            writeln!(
                text,
                "    {pv}: partition {number} would have {is} bytes of {was}"
            )?;
        }
        let (was, is) = self.lengths.file;
        writeln!(text, "    {pv}: the file would have {is} bytes of {was}")
    }
}

/// What one change would do. Programs read it as it stands here.
#[derive(Serialize)]
pub(super) struct Summary {
    groups: Vec<Group>,
    volumes: Vec<Volume>,
    #[serde(rename = "new_pvs")]
    new: Vec<String>,
    #[serde(rename = "removed_pvs")]
    removed: Vec<String>,
    #[serde(rename = "writes")]
    contents: Vec<Content>,
    wipes: Vec<String>,
    #[serde(rename = "copies")]
    copying: Vec<Copying>,
    #[serde(rename = "snapshots")]
    keeping: Vec<Keeping>,
    images: Vec<Image>,
    questions: Vec<String>,
    messages: Vec<String>,
    flushes: usize,
}

/// What the changes of one command would do, for programs.
#[derive(Serialize)]
struct Plan<'a> {
    plan: Vec<Planned<'a>>,
}

#[derive(Serialize)]
struct Planned<'a> {
    command: &'a str,
    #[serde(flatten)]
    summary: &'a Summary,
}

/// The extents of one volume, by physical volume.
#[derive(Default)]
struct Held {
    group: String,
    name: String,
    /// By the device, which stays what it is when a physical volume gets another UUID; sorted by
    /// start.
    runs: BTreeMap<String, Vec<(u64, u64)>>,
}

/// The extents of volumes, by the volume.
type Volumes = BTreeMap<Uuid, Held>;

impl Summary {
    pub(super) fn of(preview: &Preview) -> Self {
        let (scan, planned) = (&preview.scan, &preview.planned);
        let change = &planned.change;
        let mut names = Names::of(scan);
        for new in &planned.new {
            let uuid = new.layout.label.pv.uuid;
            names.add(uuid, &scan.device(new.device).name);
        }
        for header in &change.headers {
            if let HeaderEdit::Uuid(new) = header.edit {
                let name = names.get(header.pv);
                names.add(new, &name);
            }
        }
        let (groups, was, is) = groups(scan, &change.groups, &names);
        let mut summary = Self {
            groups,
            volumes: differences(&was, &is),
            new: planned
                .new
                .iter()
                .map(|new| scan.device(new.device).name.clone())
                .collect(),
            removed: planned
                .removed
                .iter()
                .map(|at| scan.device(*at).name.clone())
                .collect(),
            contents: Vec::new(),
            wipes: Vec::new(),
            questions: preview
                .questions
                .iter()
                .map(|text| text.trim_end().to_owned())
                .collect(),
            messages: change
                .messages
                .iter()
                .map(|message| message.text.clone())
                .collect(),
            copying: copying(scan, change),
            keeping: keeping(scan, change),
            images: images(scan, &planned.cuts),
            flushes: preview.flushes,
        };
        for step in &change.before {
            summary.add_step(step, change.vg(), &names);
        }
        summary
    }

    fn add_step(&mut self, step: &Before, vg: Option<&VolumeGroup>, names: &Names) {
        let content = |piece: &Piece, what: &str| Content {
            pv: names.get(piece.pv),
            start: piece.start.0,
            length: piece.length.0,
            what: what.to_owned(),
        };
        match step {
            Before::Fill { pieces, byte } => {
                let what = match byte {
                    0 => "zeros".to_owned(),
                    byte => format!("bytes of {byte:#04x}"),
                };
                self.contents
                    .extend(pieces.iter().map(|piece| content(piece, &what)));
            }
            Before::Write { piece, .. } => self.contents.push(content(piece, "a header")),
            Before::Copy { from, to } => {
                let what = format!("what is at byte {}", from.start.0);
                self.contents.push(content(to, &what));
            }
            Before::WipeSignatures { lv } => {
                let named = vg.and_then(|vg| vg.lvs().find(|(_, volume)| volume.uuid == *lv));
                self.wipes
                    .extend(named.map(|(_, volume)| volume.name().to_owned()));
            }
        }
    }
}

fn images(scan: &Scan, cuts: &[Cut]) -> Vec<Image> {
    let images = cuts.iter().map(|cut| Image {
        pv: scan.device(cut.device).name.clone(),
        lengths: cut.lengths,
    });
    images.collect()
}

/// What becomes of the groups, and the extents of their volumes before and after.
fn groups(scan: &Scan, changes: &[GroupChange], names: &Names) -> (Vec<Group>, Volumes, Volumes) {
    let mut groups: Vec<Group> = Vec::new();
    let mut last: BTreeMap<Uuid, Option<&VolumeGroup>> = BTreeMap::new();
    for change in changes {
        let (vg, after) = match change {
            GroupChange::Commit(vg) => (vg, Some(vg)),
            GroupChange::Erase(vg) => (vg, None),
        };
        last.insert(vg.uuid, after);
        let seqno = after.map(|vg| vg.seqno);
        match groups.iter_mut().find(|group| group.name == vg.name) {
            Some(group) => group.after = seqno,
            None => groups.push(Group {
                name: vg.name.clone(),
                before: scan.group(vg.uuid).map(|found| found.seqno),
                after: seqno,
            }),
        }
    }
    let (mut was, mut is) = (Volumes::new(), Volumes::new());
    for found in &scan.groups {
        let takes = |vg: &&VolumeGroup| {
            let mut pvs = found.model.pvs();
            pvs.any(|(_, pv)| vg.pv_by_uuid(&pv.uuid).is_some())
        };
        let is_written = last.contains_key(&found.uuid);
        // Of a merge, the group that ends is not written, but its volumes were there.
        let is_taken = !is_written && last.values().flatten().any(takes);
        if is_taken {
            groups.push(Group {
                name: found.name.clone(),
                before: Some(found.seqno),
                after: None,
            });
        }
        if is_written || is_taken {
            hold(&found.model, names, &mut was);
        }
    }
    for vg in last.values().flatten() {
        hold(vg, names, &mut is);
    }
    (groups, was, is)
}

/// What physical volumes are called.
struct Names(BTreeMap<Uuid, String>);

impl Names {
    fn of(scan: &Scan) -> Self {
        let pvs = scan.physical_volumes.iter();
        Self(
            pvs.map(|pv| (pv.uuid, scan.device(pv.device).name.clone()))
                .collect(),
        )
    }

    fn add(&mut self, uuid: Uuid, name: &str) {
        self.0.insert(uuid, name.to_owned());
    }

    fn get(&self, uuid: Uuid) -> String {
        self.0
            .get(&uuid)
            .cloned()
            .unwrap_or_else(|| uuid.to_string())
    }
}

/// Adds the extents of all volumes of a group.
fn hold(vg: &VolumeGroup, names: &Names, all: &mut Volumes) {
    for (_, lv) in vg.lvs() {
        let held = all.entry(lv.uuid).or_default();
        held.group.clone_from(&vg.name);
        lv.name().clone_into(&mut held.name);
        for segment in &lv.segments {
            let length = segment.area_length().unwrap_or(Extents::ZERO).0;
            for area in segment.areas() {
                if let Area::Pv { pv, start } = area
                    && length > 0
                {
                    let runs = held.runs.entry(names.get(vg.pv(*pv).uuid)).or_default();
                    runs.push((start.0, length));
                }
            }
        }
        held.runs.values_mut().for_each(|runs| runs.sort_unstable());
    }
}

fn differences(was: &Volumes, is: &Volumes) -> Vec<Volume> {
    let nothing = Held::default();
    let mut uuids: Vec<&Uuid> = was.keys().chain(is.keys()).collect();
    uuids.sort();
    uuids.dedup();
    let mut volumes = Vec::new();
    for uuid in uuids {
        let (old, new) = (was.get(uuid), is.get(uuid));
        let named = new.or(old).unwrap_or(&nothing);
        let (old, new) = (old.unwrap_or(&nothing), new.unwrap_or(&nothing));
        let volume = Volume {
            group: named.group.clone(),
            name: named.name.clone(),
            gets: without(new, old),
            gives_back: without(old, new),
        };
        if !volume.gets.is_empty() || !volume.gives_back.is_empty() {
            volumes.push(volume);
        }
    }
    volumes.sort_by(|a, b| (&a.group, &a.name).cmp(&(&b.group, &b.name)));
    volumes
}

/// The extents of `all` that are not among `some`.
fn without(all: &Held, some: &Held) -> Vec<Run> {
    let mut left: Vec<Run> = Vec::new();
    for (pv, runs) in &all.runs {
        let taken = some.runs.get(pv).map_or(&[][..], |runs| runs);
        for (start, length) in runs {
            let (mut at, end) = (*start, start + length);
            for (first, count) in taken {
                if at < *first {
                    push(&mut left, pv, at, end.min(*first));
                }
                at = at.max(first + count).min(end.max(at));
            }
            push(&mut left, pv, at, end);
        }
    }
    left
}

fn push(runs: &mut Vec<Run>, pv: &str, first: u64, end: u64) {
    if first >= end {
        return;
    }
    match runs.last_mut() {
        Some(run) if run.pv == pv && run.first + run.count == first => run.count += end - first,
        _ => runs.push(Run {
            pv: pv.to_owned(),
            first,
            count: end - first,
        }),
    }
}

/// All of it, for people or programs.
pub(super) fn show(command: &str, summaries: &[Summary], is_json: bool) -> String {
    if is_json {
        let plan = summaries
            .iter()
            .map(|summary| Planned { command, summary })
            .collect();
        return format!("{}\n", spaced(&Plan { plan }));
    }
    let mut text = String::new();
    for summary in summaries {
        people(summary, &mut text).expect("a string takes all");
    }
    if text.is_empty() {
        text.push_str("  Nothing would be changed.\n");
    }
    text
}

/// A run of extents, for people.
fn extents(run: &Run) -> String {
    let last = run.first + run.count - 1;
    let extents = if run.count == 1 { "extent" } else { "extents" };
    format!("{} {extents}, {}:{}-{last}", run.count, run.pv, run.first)
}

fn people(summary: &Summary, text: &mut String) -> std::fmt::Result {
    for name in &summary.new {
        writeln!(text, "  {name} would become a physical volume")?;
    }
    for name in &summary.removed {
        writeln!(text, "  {name} would lose its label")?;
    }
    for group in &summary.groups {
        let name = &group.name;
        match (group.before, group.after) {
            (Some(before), Some(after)) => {
                writeln!(text, "  Volume group {name}: version {before} -> {after}")?;
            }
            (None, Some(after)) => {
                writeln!(text, "  Volume group {name}: new, version {after}")?;
            }
            (_, None) => writeln!(text, "  Volume group {name}: removed")?,
        }
    }
    for volume in &summary.volumes {
        let name = format!("{}/{}", volume.group, volume.name);
        for run in &volume.gets {
            writeln!(text, "    {name} gets {}", extents(run))?;
        }
        for run in &volume.gives_back {
            writeln!(text, "    {name} gives back {}", extents(run))?;
        }
    }
    for content in &summary.contents {
        writeln!(
            text,
            "    {} of {} bytes would be written to {} at byte {}",
            content.what, content.length, content.pv, content.start
        )?;
    }
    for name in &summary.wipes {
        writeln!(
            text,
            "    Signatures in {name} would be looked for and wiped"
        )?;
    }
    for copying in &summary.copying {
        let (one, many) = ("1 copy".to_owned(), format!("{} copies", copying.legs));
        writeln!(
            text,
            "    {}/{}: {} bytes would be copied to {} when it is used next; how long that takes \
             is not known",
            copying.group,
            copying.name,
            copying.bytes,
            if copying.legs == 1 { one } else { many }
        )?;
    }
    for keeping in &summary.keeping {
        writeln!(text, "    {}", keeping.text())?;
    }
    for image in &summary.images {
        image.write(text)?;
    }
    for question in &summary.questions {
        writeln!(text, "  It would ask: {question}")?;
    }
    for message in &summary.messages {
        writeln!(text, "  It would say: {message}")?;
    }
    writeln!(text, "  Flushes: {}", summary.flushes)
}
