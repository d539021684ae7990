//! Arrays: how they lie, and what requests cost them, counted.
//!
//! ```text
//!   vg0/r5     20.0 MiB of raid5_ls on 3 images, chunks of 64 KiB
//!   now        r5_rimage_1 is missing
//!   rows         0     1     P
//!                3     P     2
//!                P     4     5
//!   requests to images, reads + writes      whole     one lost     now
//!   read 4 KiB                              1 + 0   1.33 + 0    …
//! ```
//!
//! No time is predicted: how long a request takes that reads before it writes is not modelled. What
//! is counted, and what is not, is said by `lab::raid`.

use std::fmt::Write;

use ashlar::arrays::{ArrayReader, FoundArray, ImageState, scheme};
use ashlar::scan::{FoundVg, Scan};
use dm::raid::{Geometry, Scheme};
use lab::raid::{Ask, MeanCost, Shape};
use lab::workload::fio::{Job, Mix};
use lvm2::model::{Area, LvId, Raid, Segment, SegmentType};
use serde::Serialize;

use super::mapping::size;
use super::stack::disk_name;
use crate::args::Error;
use crate::commands::Session;
use crate::output::json::{Thousandths, line};

/// The smallest request of a file system.
const SMALL: u64 = 4 << 10;
/// What a mirror is asked for that is large; it makes no difference.
const LARGE: u64 = 1 << 20;
/// Images that are pictured at most, and rows.
const PICTURED_MAX: usize = 16;
const ROWS_MAX: u64 = 8;

/// An array, explained.
#[derive(Debug, Serialize)]
pub(super) struct Explained {
    volume: String,
    bytes: u64,
    level: String,
    images: Vec<Image>,
    chunk_bytes: Option<u64>,
    row_bytes: Option<u64>,
    /// One string for each chunk of each image: the number of the chunk, or P, or Q.
    rows: Vec<Vec<String>>,
    costs: Vec<Costs>,
}

/// An image, and the disks that it is on.
#[derive(Debug, Serialize)]
struct Image {
    name: String,
    pvs: Vec<String>,
    state: String,
    #[serde(skip)]
    is_lost: bool,
}

/// What a request costs, by how much is lost.
#[derive(Debug, Serialize)]
struct Costs {
    request: String,
    bytes: u64,
    whole: Option<Counted>,
    one_lost: Option<Counted>,
    two_lost: Option<Counted>,
    now: Option<Counted>,
}

/// What the images do for one request, on average.
#[derive(Debug, Clone, Copy, Serialize)]
struct Counted {
    reads: Thousandths,
    writes: Thousandths,
    read_bytes: Thousandths,
    written_bytes: Thousandths,
}

impl From<MeanCost> for Counted {
    fn from(of: MeanCost) -> Self {
        Self {
            reads: Thousandths(of.reads),
            writes: Thousandths(of.writes),
            read_bytes: Thousandths(of.read_bytes),
            written_bytes: Thousandths(of.written_bytes),
        }
    }
}

/// Whether a volume is an array with redundancy, and which segment makes it one.
pub(super) fn array_of(group: &FoundVg, lv: LvId) -> Option<(&Segment, &Raid, Scheme)> {
    let segment = group.model.lv(lv).segments.first()?;
    match &segment.kind {
        SegmentType::Raid(raid) => Some((segment, raid, scheme(raid)?)),
        _ => None,
    }
}

impl Explained {
    /// The array that `lv` is, and what `jobs` cost it.
    pub(super) fn of(scan: &Scan, group: &FoundVg, lv: LvId, jobs: &[Job]) -> Result<Self, Error> {
        let name = format!("{}/{}", group.name, group.model.lv(lv).name());
        let Some((segment, raid, scheme)) = array_of(group, lv) else {
            return Err(Error::failed(format!("{name} is no array")));
        };
        let refused = |why: &dyn std::fmt::Display| {
            Error::failed(format!("{name} cannot be explained: {why}"))
        };
        let chunk = raid.stripe_size.to_bytes().map_or(0, |bytes| bytes.0);
        let chunk = if scheme == Scheme::Mirror {
            LARGE
        } else {
            chunk
        };
        let shape = Shape {
            scheme,
            legs: raid.images.len(),
            chunk,
        };
        let leg = chunk.checked_mul(2 * shape.legs as u64);
        let leg = leg.ok_or_else(|| refused(&"its chunks are larger than any disk"))?;
        // One of a few rows: all others are like them.
        let geometry = Geometry::new(scheme, shape.legs, chunk, leg);
        let geometry = geometry.map_err(|error| refused(&error))?;
        let found = ArrayReader::default().read(scan, group, lv);
        let found = found.map_err(|error| refused(&error))?;
        let images = images(scan, group, raid, found.as_ref());
        let lost: Vec<usize> = (0..images.len())
            .filter(|image| images[*image].is_lost)
            .collect();
        let bytes = group.model.lv(lv).size(group.model.extent_size);
        let has_chunks = scheme != Scheme::Mirror;
        let row = lab::raid::row_bytes(&geometry);
        let mut costs = Vec::new();
        for (request, ask, len) in requests(has_chunks.then_some((chunk, row)), jobs) {
            let of = |losses| shape.mean(losses, ask, len).map(Counted::from);
            costs.push(Costs {
                request,
                bytes: len,
                whole: of(0),
                one_lost: of(1),
                two_lost: of(2),
                now: if lost.is_empty() {
                    None
                } else {
                    shape.mean_without(&lost, ask, len).map(Counted::from)
                },
            });
        }
        Ok(Self {
            volume: name,
            bytes: bytes
                .and_then(lvm2::Sectors::to_bytes)
                .map_or(0, |bytes| bytes.0),
            level: segment.type_name().to_owned(),
            images,
            chunk_bytes: has_chunks.then_some(chunk),
            row_bytes: has_chunks.then_some(row),
            rows: rows(&geometry),
            costs,
        })
    }

    /// One object, with the end of its line.
    pub(super) fn json(&self) -> String {
        line(self)
    }

    /// For people.
    pub(super) fn print(&self, session: &mut Session) -> Result<(), Error> {
        let chunks = self.chunk_bytes.map_or(String::new(), |chunk| {
            let row = self.row_bytes.map(size).unwrap_or_default();
            format!(", chunks of {}, rows of {row}", size(chunk))
        });
        session.line(&format!(
            "{:<16} {} of {} on {} images{chunks}",
            self.volume,
            size(self.bytes),
            self.level,
            self.images.len()
        ))?;
        for image in &self.images {
            let pvs = image.pvs.join(", ");
            session.line(&format!(
                "{:<16} {} on {pvs}: {}",
                "", image.name, image.state
            ))?;
        }
        self.print_rows(session)?;
        self.print_costs(session)
    }

    fn print_rows(&self, session: &mut Session) -> Result<(), Error> {
        if self.rows.is_empty() {
            return Ok(());
        }
        session.line("")?;
        for (number, row) in self.rows.iter().enumerate() {
            let head = if number == 0 { "rows" } else { "" };
            let cells = columns(6, row.iter().map(String::as_str));
            session.line(&format!("{head:<12}{cells}"))?;
        }
        session.line(if self.chunk_bytes.is_some() {
            "- a column for each image, from its start on; numbers are chunks of the volume, P and \
             Q parity"
        } else {
            "- a column for each image, each of which holds all"
        })?;
        Ok(())
    }

    fn print_costs(&self, session: &mut Session) -> Result<(), Error> {
        let any = |has: fn(&Costs) -> bool| self.costs.iter().any(has);
        let (two, now) = (
            any(|costs| costs.two_lost.is_some()),
            self.images.iter().any(|image| image.is_lost),
        );
        let mut heads = vec!["whole"];
        heads.push("one lost");
        if two {
            heads.push("two lost");
        }
        if now {
            heads.push("now");
        }
        let heads = columns(24, heads.into_iter());
        session.line("")?;
        session.line(&format!("{:<32}{heads}", "reads + writes of images, bytes"))?;
        for costs in &self.costs {
            let mut cells = vec![costs.whole, costs.one_lost];
            if two {
                cells.push(costs.two_lost);
            }
            if now {
                cells.push(costs.now);
            }
            let cells: Vec<String> = cells.into_iter().map(told).collect();
            let cells = columns(24, cells.iter().map(String::as_str));
            session.line(&format!("{:<32}{cells}", costs.request))?;
        }
        session.line(
            "- counted by the cheapest way, not measured; a mean over all places, and over all \
             images that may be lost",
        )?;
        session.line(
            "- without superblocks, bitmaps and journals; requests side by side in one row share \
             what they read where they are answered together",
        )?;
        Ok(())
    }
}

/// What is asked, in words: the usual, and what jobs ask.
fn requests(chunk_and_row: Option<(u64, u64)>, jobs: &[Job]) -> Vec<(String, Ask, u64)> {
    let mut sizes = vec![(String::new(), SMALL)];
    if let Some((chunk, row)) = chunk_and_row {
        if chunk > SMALL {
            sizes.push((", a chunk".to_owned(), chunk));
        }
        sizes.push((", a row".to_owned(), row));
    }
    let mut all = Vec::new();
    for (verb, ask) in [("read", Ask::Read), ("write", Ask::Write)] {
        for (what, len) in &sizes {
            all.push((format!("{verb} {}{what}", size(*len)), ask, *len));
        }
    }
    for job in jobs {
        let mut of = |verb: &str, ask, len: u64| {
            all.push((format!("{}: {verb} {}", job.name, size(len)), ask, len));
        };
        if job.mix != Mix::Writes {
            of("read", Ask::Read, job.block[0]);
        }
        if job.mix != Mix::Reads {
            of("write", Ask::Write, job.block[1]);
        }
    }
    all
}

/// Texts at the right ends of columns of this width.
fn columns<'a>(width: usize, cells: impl Iterator<Item = &'a str>) -> String {
    cells.fold(String::new(), |mut line, cell| {
        let _ = write!(line, "{cell:>width$}");
        line
    })
}

/// A cell: `1.33 + 0, 5.3 KiB`.
fn told(cell: Option<Counted>) -> String {
    let number = |of: Thousandths| {
        let text = format!("{:.2}", of.0);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    cell.map_or("lost".to_owned(), |cell| {
        let bytes = cell.read_bytes.0 + cell.written_bytes.0;
        let bytes = size(bytes.round() as u64);
        format!("{} + {}, {bytes}", number(cell.reads), number(cell.writes))
    })
}

/// The disks of an image, which are those of its data where it has checksums.
fn disks_of(scan: &Scan, group: &FoundVg, image: LvId) -> Vec<String> {
    let mut parts = vec![image];
    for segment in &group.model.lv(image).segments {
        if let SegmentType::Integrity(integrity) = &segment.kind {
            parts.push(integrity.origin);
        }
    }
    let segments = parts.iter().flat_map(|lv| &group.model.lv(*lv).segments);
    let mut pvs = Vec::new();
    for area in segments.flat_map(Segment::areas) {
        if let Area::Pv { pv, .. } = area {
            pvs.push(disk_name(scan, group, *pv));
        }
    }
    pvs.dedup();
    pvs
}

/// The images with their disks, and how they are.
fn images(scan: &Scan, group: &FoundVg, raid: &Raid, found: Option<&FoundArray>) -> Vec<Image> {
    let model = &group.model;
    let images = raid.images.iter().enumerate();
    images
        .map(|(number, image)| {
            let pvs = disks_of(scan, group, image.data);
            let state = found.and_then(|found| found.images.get(number));
            Image {
                name: model.lv(image.data).name().to_owned(),
                pvs,
                state: match state {
                    None => "new".to_owned(),
                    Some(ImageState::InSync) => "in sync".to_owned(),
                    Some(ImageState::OutOfSync) => "not in sync yet".to_owned(),
                    Some(ImageState::Missing) => "missing".to_owned(),
                    Some(ImageState::Distrusted(why)) => format!("not believed: {why}"),
                },
                is_lost: matches!(state, Some(ImageState::Missing | ImageState::Distrusted(_))),
            }
        })
        .collect()
}

/// Who holds what, row by row, until it begins again; nothing where there are too many images.
fn rows(geometry: &Geometry) -> Vec<Vec<String>> {
    let legs = geometry.legs();
    if legs > PICTURED_MAX {
        return Vec::new();
    }
    if geometry.scheme() == Scheme::Mirror {
        return vec![vec!["all".to_owned(); legs]];
    }
    let count = (legs as u64).min(ROWS_MAX);
    let mut rows = vec![vec![String::new(); legs]; count as usize];
    if let Scheme::Parity(..) = geometry.scheme() {
        for (number, cells) in (0..).zip(&mut rows) {
            let row = geometry.row(number);
            cells[row.p].push('P');
            if let Some(q) = row.q {
                cells[q].push('Q');
            }
        }
    }
    for number in 0..geometry.size() / geometry.chunk() {
        for copy in 0..geometry.copies() {
            let spot = geometry.spot(number * geometry.chunk(), copy);
            let row = spot.start / geometry.chunk();
            if row < count {
                rows[row as usize][spot.leg] = number.to_string();
            }
        }
    }
    debug_assert!(rows.iter().flatten().all(|cell| !cell.is_empty()));
    rows
}

#[cfg(test)]
mod tests;
