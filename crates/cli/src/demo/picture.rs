//! Draws which extents of which disk hold which volume.
//!
//! ```text
//!   a0.img   0  AAAAAAAABBBB....      one letter for an extent, a dot for a free one
//!   A linear1   B linear2
//! ```
//!
//! Parts of a volume (images, logs, pool data) count as the volume to which they belong. On a
//! terminal each volume has a colour, too; there are fewer colours than letters, so neighbours in
//! the list differ but distant volumes may look alike.

mod svg;

use std::fmt::Write as _;

use lvm2::model::{AllocationMap, LvId, Relations, Run, VolumeGroup};

use super::story::Paint;
pub(super) use svg::escaped;

/// Extents on a line: what fits into 80 columns beside the name of a disk.
const EXTENTS_PER_LINE: usize = 48;
/// Columns of the list of volumes.
const NAMES_PER_LINE: usize = 5;
/// The most extents of a disk that are drawn; more would not be a picture.
const EXTENT_COUNT_MAX: u64 = 4096;
/// Why writing into a string cannot fail.
const TAKES_ALL: &str = "a string takes all";
const FREE: char = '.';
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Backgrounds of the 256-colour palette on which black can be read.
const COLOURS: &[u8] = &[
    39, 208, 41, 213, 226, 45, 203, 118, 141, 215, 51, 177, 190, 75, 210, 48, 220, 147, 157, 168,
];

/// What is drawn: the disks by name, each with one entry for an extent.
#[derive(Debug)]
pub(super) struct Picture {
    names: Vec<String>,
    disks: Vec<(String, Vec<Option<usize>>)>,
}

impl Picture {
    /// Looks at all disks of `group`; `disk_name` is what people call the n-th.
    pub(super) fn of(group: &VolumeGroup, disk_name: impl Fn(usize) -> String) -> Self {
        let relations = Relations::of(group);
        let map = AllocationMap::of(group);
        let mut volumes: Vec<LvId> = Vec::new();
        let mut disks = Vec::new();
        for (number, (pv, disk)) in group.pvs().enumerate() {
            let count = disk.pe_count.0.min(EXTENT_COUNT_MAX) as usize;
            let mut extents = vec![None; count];
            for run in map.runs(pv) {
                let Run::Used(used) = run else {
                    continue;
                };
                let top = relations.top(group, used.lv);
                let index = volumes.iter().position(|lv| *lv == top);
                let index = index.unwrap_or_else(|| {
                    volumes.push(top);
                    volumes.len() - 1
                });
                let end = used.range.end().0.min(count as u64) as usize;
                let start = (used.range.start.0 as usize).min(end);
                extents[start..end].fill(Some(index));
            }
            disks.push((disk_name(number), extents));
        }
        let name = |lv: &LvId| group.lv(*lv).name().to_owned();
        Self {
            names: volumes.iter().map(name).collect(),
            disks,
        }
    }

    /// The picture as lines of text.
    pub(super) fn draw(&self, paint: Paint) -> String {
        let mut text = String::new();
        let width = self.disks.iter().map(|(name, _)| name.len()).max();
        let width = width.unwrap_or(0);
        for (name, extents) in &self.disks {
            for (line, part) in extents.chunks(EXTENTS_PER_LINE).enumerate() {
                let name = if line == 0 { name } else { "" };
                let first = line * EXTENTS_PER_LINE;
                write!(text, "{name:width$} {first:>4}  ").expect(TAKES_ALL);
                for run in part.chunk_by(|a, b| a == b) {
                    text.push_str(&extents_of(run, paint));
                }
                text.push('\n');
            }
        }
        text.push('\n');
        let widest = self.names.iter().map(String::len).max().unwrap_or(0);
        let indices: Vec<usize> = (0..self.names.len()).collect();
        for line in indices.chunks(NAMES_PER_LINE) {
            for &index in line {
                let key = extents_of(&[Some(index)], paint);
                let name = &self.names[index];
                write!(text, "{key} {name:widest$}  ").expect(TAKES_ALL);
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        writeln!(text, "{FREE} free").expect(TAKES_ALL);
        text
    }
}

/// A run of extents of one volume, or of none.
fn extents_of(run: &[Option<usize>], paint: Paint) -> String {
    let repeat = |letter: char| letter.to_string().repeat(run.len());
    match run.first().copied().flatten() {
        None => repeat(FREE),
        Some(index) => {
            let letters = repeat(char::from(LETTERS[index % LETTERS.len()]));
            let colour = COLOURS[index % COLOURS.len()];
            paint.paint(&format!("30;48;5;{colour}"), &letters)
        }
    }
}

#[cfg(test)]
mod tests;
