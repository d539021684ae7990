//! A described stack as a question to the predictor.
//!
//! A volume is one shape here: linear segments one after the other, or one striped segment, or one
//! mirror. What else a description may hold (mixed segments, disks that share a bus) is refused by
//! name, since a formula that passed over it would be wrong in silence.

use super::subject::{Above, Disk, Medium, Piece, Shape, Volume};
use crate::error::{Error, Kind, Result};
use crate::layout::{Area, Buses, DiskKind, Layout, Segment};

/// Bytes of a block.
const BLOCK: u64 = 512;

impl Volume {
    /// The volume of a described stack, and what lies above it; `seed` decides shuffled orders.
    pub fn described(layout: &Layout, seed: u64) -> Result<(Self, Above)> {
        layout.validate()?;
        let wrong = |what: &str| {
            Err(Error::new(
                Kind::Unsupported,
                format!("{}: {what} cannot be predicted; emulate it", layout.name),
            ))
        };
        if layout.buses == Buses::Shared && layout.disks.len() > 1 {
            return wrong("a bus that disks share");
        }
        let disks = layout
            .disks
            .iter()
            .map(|disk| Disk {
                medium: match &disk.kind {
                    DiskKind::Drive(profile) => Medium::Drive(profile.clone()),
                    DiskKind::Capped(cap) => Medium::Capped(*cap),
                    DiskKind::Flash(flash) => Medium::Flash(*flash),
                    DiskKind::Server(server) => Medium::Server(*server),
                },
                link: disk.link,
            })
            .collect();
        let segments = layout.segments(seed);
        let (shape, pieces) = match segments.as_slice() {
            [Segment::Striped { len, chunk, areas }] => {
                let share = len / areas.len() as u64;
                let chunk = chunk / BLOCK;
                (Shape::Striped { chunk }, pieces(areas, share))
            }
            [Segment::Origin { .. }] => return wrong("an origin of snapshots"),
            [Segment::Raid(_)] => return wrong("an array"),
            [Segment::Mirror { log: Some(_), .. }] => {
                return wrong("a mirror with a log on a disk");
            }
            [Segment::Mirror { len, legs, .. }] => {
                if legs.iter().zip(0..).any(|(leg, number)| leg.disk != number) {
                    return wrong("a mirror whose copies are not on all disks, in their order,");
                }
                (Shape::Mirror, pieces(legs, *len))
            }
            segments => {
                let mut all = Vec::new();
                for segment in segments {
                    let Segment::Linear { len, area, .. } = segment else {
                        return wrong("a volume of segments of several kinds");
                    };
                    all.extend(pieces(&[*area], *len));
                }
                (Shape::Linear, all)
            }
        };
        let volume = Self {
            disks,
            pieces,
            shape,
        };
        let above = Above {
            mapping_ns: layout.mapping_ns,
            loops: layout.loops.clone(),
            link: layout.link,
        };
        Ok((volume, above))
    }
}

/// Areas of `len` bytes.
fn pieces(areas: &[Area], len: u64) -> Vec<Piece> {
    areas
        .iter()
        .map(|area| Piece {
            disk: area.disk,
            start: area.start / BLOCK,
            blocks: len / BLOCK,
        })
        .collect()
}

#[cfg(test)]
mod tests;
