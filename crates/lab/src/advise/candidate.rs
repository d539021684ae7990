//! The layouts that are worth a prediction.
//!
//! A volume of the wished size is laid on some of the disks: one after the other as they are full,
//! in equal shares at the beginning of each, in turns of several chunk sizes, or as copies. Drives
//! are fastest at their beginning; what their end would do is tried too, to say what the place is
//! worth. Disks of one kind are alike, so only how many of each kind are used is varied.

use crate::error::{Error, Kind, Result};
use crate::layout::{Area, Buses, Disk, DiskKind, Layout, Segment};
use crate::workload::fio::Job;

/// What lies before the first extent of a physical volume.
pub(super) const FRONT: u64 = 1 << 20;
/// Sizes are whole extents of this many bytes.
const EXTENT: u64 = 4 << 20;
/// Chunks of stripes that are tried; the third is LVM2's default.
const CHUNKS: [u64; 4] = [4 << 10, 16 << 10, 64 << 10, 512 << 10];
/// The chunk with which the end of disks is tried.
const CHUNK: u64 = 64 << 10;
/// Copies at most.
const COPIES_MAX: usize = 3;
/// What one lookup costs, as it was measured.
const MAPPING_NS: u64 = 20;
/// What one bit of the log of a mirror covers.
const REGION: u64 = 2 << 20;
/// Disks, and ways to choose among them, at most.
const DISKS_MAX: usize = 64;
const CHOICES_MAX: usize = 256;

/// What is wished for.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The disks that there are.
    pub disks: Vec<Disk>,
    /// Bytes of the volume.
    pub size: u64,
    /// What is asked of it: one job.
    pub job: Job,
}

/// How a candidate uses its disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One after the other, each full before the next is begun.
    Linear,
    /// An equal share of each, one after the other.
    Spread,
    /// In turns of so many bytes.
    Striped {
        /// Bytes of a turn.
        chunk: u64,
    },
    /// All of it on each.
    Mirror,
}

/// Where on its disks a candidate lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At their beginning: the outer edge of drives.
    Outer,
    /// At their end.
    Inner,
}

/// A layout to predict.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// How it uses its disks.
    pub shape: Shape,
    /// Where on them.
    pub place: Place,
    /// The disks that it uses, as numbers of the wish.
    pub disks: Vec<usize>,
    /// Bytes that a volume of this kind could have on these disks.
    pub capacity: u64,
    /// The volume.
    pub layout: Layout,
}

impl Shape {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Spread => "spread",
            Self::Striped { .. } => "striped",
            Self::Mirror => "mirror",
        }
    }
}

impl Candidate {
    /// What people call it: `striped over 4, chunks of 64 KiB`.
    pub fn name(&self) -> String {
        let count = self.disks.len();
        let shape = match self.shape {
            Shape::Linear if count == 1 => "linear on 1".to_owned(),
            Shape::Linear => format!("linear over {count}, filled in turn"),
            Shape::Spread => format!("linear over {count}, equal shares"),
            Shape::Striped { chunk } => {
                format!("striped over {count}, chunks of {} KiB", chunk >> 10)
            }
            Shape::Mirror => format!("mirror of {count}"),
        };
        match self.place {
            Place::Outer => shape,
            Place::Inner => format!("{shape}, at the end"),
        }
    }

    /// Whether all data is still there when one disk is lost.
    pub fn survives(&self) -> bool {
        self.shape == Shape::Mirror
    }

    /// The command that makes such a volume.
    pub fn command(&self) -> String {
        let (count, size) = (self.disks.len(), self.layout.size() >> 20);
        match self.shape {
            Shape::Linear if count == 1 => format!("lvcreate -n LV -L {size}m VG PV"),
            Shape::Linear => format!("lvcreate -n LV -L {size}m VG PV1 … PV{count}"),
            Shape::Spread => format!(
                "lvcreate -n LV -L {0}m VG PV1, then lvextend -L +{0}m VG/LV PV2{1}",
                size / count as u64,
                if count > 2 { " and so on" } else { "" }
            ),
            Shape::Striped { chunk } => {
                format!(
                    "lvcreate -n LV -L {size}m -i {count} -I {}k VG",
                    chunk >> 10
                )
            }
            Shape::Mirror => format!(
                "lvcreate -n LV -L {size}m --type mirror -m {} VG",
                count - 1
            ),
        }
    }
}

/// The candidates for a wish; fails, naming what is wrong, where there can be none.
pub fn candidates(wish: &Wish) -> Result<Vec<Candidate>> {
    let impossible = |what: String| Err(Error::new(Kind::Impossible, what));
    if wish.disks.is_empty() || wish.disks.len() > DISKS_MAX {
        let count = wish.disks.len();
        return impossible(format!("{count} disks; 1 to {DISKS_MAX} can be searched"));
    }
    let mut rooms = Vec::new();
    for disk in &wish.disks {
        rooms.push(disk.size()?.saturating_sub(FRONT) / EXTENT * EXTENT);
    }
    let mut found = Vec::new();
    for disks in choices(&wish.disks)? {
        found.extend(on(wish, &disks, &rooms));
    }
    if found.is_empty() {
        let all: u64 = rooms.iter().sum();
        return impossible(format!(
            "a volume of {} MiB does not fit: the disks have {} MiB together; wish for less with \
             --size, or add disks",
            wish.size >> 20,
            all >> 20
        ));
    }
    Ok(found)
}

/// The sets of disks that differ: so many of each kind, the first ones of it.
fn choices(disks: &[Disk]) -> Result<Vec<Vec<usize>>> {
    let mut kinds: Vec<Vec<usize>> = Vec::new();
    for (number, disk) in disks.iter().enumerate() {
        match kinds.iter_mut().find(|kind| disks[kind[0]] == *disk) {
            Some(kind) => kind.push(number),
            None => kinds.push(vec![number]),
        }
    }
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for kind in &kinds {
        all = all
            .iter()
            .flat_map(|before| (0..=kind.len()).map(move |count| [before, &kind[..count]].concat()))
            .collect();
        if all.len() > CHOICES_MAX {
            let what = format!(
                "{} kinds of disks can be chosen in more than {CHOICES_MAX} ways; name fewer",
                kinds.len()
            );
            return Err(Error::new(Kind::Unsupported, what));
        }
    }
    all.retain(|choice| !choice.is_empty());
    Ok(all)
}

/// The candidates on these disks.
fn on(wish: &Wish, disks: &[usize], rooms: &[u64]) -> Vec<Candidate> {
    let count = disks.len() as u64;
    let room: Vec<u64> = disks.iter().map(|disk| rooms[*disk]).collect();
    let least = room.iter().copied().min().unwrap_or(0);
    let all: u64 = room.iter().sum();
    let mut shapes = vec![(Shape::Linear, all)];
    if count > 1 {
        shapes.push((Shape::Spread, least * count));
        shapes.extend(CHUNKS.map(|chunk| (Shape::Striped { chunk }, least * count)));
    }
    if (2..=COPIES_MAX).contains(&disks.len()) {
        shapes.push((Shape::Mirror, least));
    }
    let turns = disks
        .iter()
        .any(|disk| matches!(wish.disks[*disk].kind, DiskKind::Drive(_)));
    let mut found = Vec::new();
    for (shape, capacity) in shapes {
        let ends = match shape {
            Shape::Striped { chunk } => chunk == CHUNK,
            Shape::Linear => count == 1,
            _ => true,
        };
        for place in [Place::Outer, Place::Inner] {
            if place == Place::Inner && !(turns && ends) {
                continue;
            }
            let Some(volume) = volume(wish.size, shape, place, &room) else {
                continue;
            };
            found.push(Candidate {
                shape,
                place,
                disks: disks.to_vec(),
                capacity,
                layout: Layout {
                    name: shape.word().to_owned(),
                    disks: disks.iter().map(|disk| wish.disks[*disk].clone()).collect(),
                    buses: Buses::Own,
                    volume,
                    mapping_ns: MAPPING_NS,
                    loops: Vec::new(),
                    link: None,
                },
            });
        }
    }
    found
}

/// The segments of a volume of at least `size` bytes; `None` if it does not fit, or would leave a
/// disk unused.
fn volume(size: u64, shape: Shape, place: Place, room: &[u64]) -> Option<Vec<Segment>> {
    let count = room.len() as u64;
    let whole = |bytes: u64| bytes.div_ceil(EXTENT).max(1) * EXTENT;
    let start = |disk: usize, len: u64| match place {
        Place::Outer => FRONT,
        Place::Inner => FRONT + room[disk] - len,
    };
    let area = |disk: usize, len: u64| Area {
        disk,
        start: start(disk, len),
    };
    let linear = |(disk, len): (usize, u64)| Segment::Linear {
        len,
        area: area(disk, len),
        cut: None,
    };
    let share = whole(size.div_ceil(count));
    match shape {
        Shape::Linear => {
            let mut left = whole(size);
            let mut parts = Vec::new();
            for (disk, room) in room.iter().enumerate() {
                let len = left.min(*room);
                parts.push((disk, len));
                left -= len;
            }
            let fits = left == 0 && parts.iter().all(|part| part.1 > 0);
            fits.then(|| parts.into_iter().map(linear).collect())
        }
        Shape::Spread => room
            .iter()
            .all(|room| *room >= share)
            .then(|| (0..room.len()).map(|disk| linear((disk, share))).collect()),
        Shape::Striped { chunk } => room.iter().all(|room| *room >= share).then(|| {
            vec![Segment::Striped {
                len: share * count,
                chunk,
                areas: (0..room.len()).map(|disk| area(disk, share)).collect(),
            }]
        }),
        Shape::Mirror => {
            let len = whole(size);
            room.iter().all(|room| *room >= len).then(|| {
                vec![Segment::Mirror {
                    len,
                    region: REGION,
                    legs: (0..room.len()).map(|disk| area(disk, len)).collect(),
                    log: None,
                }]
            })
        }
    }
}
