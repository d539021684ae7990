//! Areas that are painted one over the other.

use std::collections::BTreeMap;

use super::map::Area;
use crate::error::{Error, Kind, Result};
use crate::trace::record::Class;

/// Areas of a map, at most; a file system has some per file.
const AREAS_MAX: usize = 32 << 20;

/// Blocks by what they are for; the last one who paints a block is right.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    /// By their first block: the block after the last, and the class.
    areas: BTreeMap<u64, (u64, Class)>,
}

impl Canvas {
    /// Paints blocks `start`..`end`.
    pub(super) fn paint(&mut self, start: u64, end: u64, class: Class) -> Result<()> {
        if start >= end {
            return Ok(());
        }
        if self.areas.len() >= AREAS_MAX {
            let what = "the file system has too many areas to tell them apart";
            return Err(Error::new(Kind::Unsupported, what));
        }
        self.cut(start);
        self.cut(end);
        let inside: Vec<u64> = self.areas.range(start..end).map(|(&at, _)| at).collect();
        for at in inside {
            self.areas.remove(&at);
        }
        self.areas.insert(start, (end, class));
        Ok(())
    }

    /// Makes `at` the border of areas.
    fn cut(&mut self, at: u64) {
        if let Some((_, area)) = self.areas.range_mut(..at).next_back()
            && area.0 > at
        {
            let (end, class) = *area;
            area.0 = at;
            self.areas.insert(at, (end, class));
        }
    }

    /// The areas in order, where a painted block has so many of 512 bytes; neighbours are joined.
    pub(super) fn into_areas(self, sectors: u64) -> Vec<Area> {
        let mut areas: Vec<Area> = Vec::new();
        for (start, (end, class)) in self.areas {
            let (start, end) = (start * sectors, end * sectors);
            match areas.last_mut() {
                Some(last) if last.end == start && last.class == class => last.end = end,
                _ => areas.push(Area { start, end, class }),
            }
        }
        areas
    }
}
