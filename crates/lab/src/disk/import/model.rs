//! The mechanical model of a `.model` file: zones, spares, skews, seek curve.

use super::super::geometry::{Layout, Serpentine, Sparing, Zone};
use super::super::profile::Mechanics;
use super::super::seek::{Eq7, SeekCurve, settle_of};
use super::disksim::{Files, amount, count, unsupported};
use super::params::{Block, Value, decimal};
use crate::error::{Error, Kind, Result};

/// Zones, slips and seek points that a file may list.
const LIST_MAX: usize = 1 << 20;

/// Where blocks are.
pub(super) fn layout(model: &Block) -> Result<Layout> {
    let layout = model.need("Layout Model")?.block("Layout Model")?;
    if layout.kind != "dm_layout_g1" {
        return unsupported(
            layout,
            "only layouts of the first generation (g1) are known",
        );
    }
    let zones = layout.need("Zones")?.list("Zones")?;
    if zones.len() > LIST_MAX {
        return unsupported(layout, "too many zones");
    }
    let zones: Vec<Zone> = zones.iter().map(zone).collect::<Result<_>>()?;
    // Some files count the cylinders one short of what their zones say.
    let last = zones
        .last()
        .map_or(0, |zone| zone.last_cylinder.saturating_add(1));
    Ok(Layout {
        heads: count(model, "Number of data surfaces")?,
        cylinders: count(model, "Number of cylinders")?.max(last),
        zones,
        sparing: sparing(layout)?,
        serpentine: match layout.whole("LBN-to-PBN mapping scheme", 0)? {
            0 => Serpentine::No,
            1 => Serpentine::WithinZone,
            2 => Serpentine::WholeDisk,
            _ => return unsupported(layout, "the LBN-to-PBN mapping scheme is not 0, 1 or 2"),
        },
    })
}

fn skew(block: &Block, key: &str) -> Result<u64> {
    u64::try_from(block.thousandths(key)?).map_err(|_| {
        Error::new(
            Kind::Unsupported,
            format!("block of line {}: '{key}' is negative", block.line),
        )
    })
}

fn zone(value: &Value) -> Result<Zone> {
    let zone = value.block("Zones")?;
    let defects = slots(zone, "defects")?;
    if defects.len() % 2 != 0 {
        return Err(Error::new(
            Kind::Syntax,
            format!(
                "line {}: 'defects' are pairs of a bad sector and its spare",
                value.line
            ),
        ));
    }
    Ok(Zone {
        first_cylinder: count(zone, "First cylinder number")?,
        last_cylinder: count(zone, "Last cylinder number")?,
        per_track: count(zone, "Blocks per track")?,
        first_angle_millisectors: skew(zone, "Offset of first block")?,
        empty_front: amount(zone, "Empty space at zone front")?,
        track_skew_millisectors: skew(zone, "Skew for track switch")?,
        cylinder_skew_millisectors: skew(zone, "Skew for cylinder switch")?,
        spares: amount(zone, "Number of spares")?,
        slips: slots(zone, "slips")?,
        remapped: defects
            .chunks_exact(2)
            .map(|pair| (pair[0], pair[1]))
            .collect(),
    })
}

fn slots(zone: &Block, key: &str) -> Result<Vec<u64>> {
    let Some(value) = zone.get(key) else {
        return Ok(Vec::new());
    };
    let slots = value.list(key)?;
    if slots.len() > LIST_MAX {
        return unsupported(zone, "too many bad sectors");
    }
    slots
        .iter()
        .map(|slot| {
            u64::try_from(slot.whole(key)?).map_err(|_| {
                Error::new(
                    Kind::Impossible,
                    format!("line {}: negative in '{key}'", slot.line),
                )
            })
        })
        .collect()
}

fn sparing(layout: &Block) -> Result<Sparing> {
    Ok(match layout.whole("Sparing scheme used", 0)? {
        0 => Sparing::None,
        1 => Sparing::Tracks,
        2 => Sparing::SectorsPerCylinder,
        3 => Sparing::SectorsPerTrack,
        4 => Sparing::SectorsPerCylinderSlipToEnd,
        5 => Sparing::SectorsAtFront,
        6 => Sparing::SectorsAtFrontSlipToEnd,
        7 => Sparing::SectorsAtEnd,
        8 => Sparing::SectorsPerRange {
            cylinders: count(layout, "Rangesize for sparing")?.max(1),
        },
        9 => Sparing::SectorsPerZone,
        10 => Sparing::SectorsPerZoneSlipToEnd,
        _ => return unsupported(layout, "the sparing scheme is not one of 0 to 10"),
    })
}

/// How the parts move.
pub(super) fn mechanics(
    mech: &Block,
    cylinders: u32,
    disk: &Block,
    files: &Files,
) -> Result<Mechanics> {
    let kind = mech.need("Access time type")?;
    if kind.word("Access time type")? != "trackSwitchPlusRotation" {
        return unsupported(
            mech,
            "only the access time type trackSwitchPlusRotation is a disk",
        );
    }
    let rpm = mech.need("Rotation speed (in rpms)")?;
    let seek = seek(mech, cylinders, files)?;
    let write_settle_ns = mech.nanoseconds("Add. write settling delay")?;
    Ok(Mechanics {
        settle_ns: settle_of(&seek),
        // Whole revolutions are exact in the model; half a revolution in thousands is not seen.
        rpm: u32::try_from((rpm.scaled("Rotation speed (in rpms)", 3)? + 500) / 1000).unwrap_or(0),
        seek,
        head_switch_ns: mech.duration_ns("Head switch time")?,
        write_settle_ns,
        write_switch_ns: write_settle_ns,
        write_seek_min_ns: disk.duration_ns("Minimum seek delay")?,
    })
}

fn seek(mech: &Block, cylinders: u32, files: &Files) -> Result<SeekCurve> {
    let value = mech.need("Seek type")?;
    let single_ns = mech.duration_ns("Single cylinder seek time")?;
    let three_point = || -> Result<SeekCurve> {
        Ok(SeekCurve::ThreePoint {
            single_ns,
            average_ns: mech.duration_ns("Average seek time")?,
            full_ns: mech.duration_ns("Full strobe seek time")?,
        })
    };
    match value.word("Seek type")? {
        "extracted" => table(files),
        "curve" => three_point(),
        "linear" => {
            let third = (cylinders / 3).max(2);
            Ok(SeekCurve::Table(vec![
                (1, single_ns),
                (third, mech.duration_ns("Average seek time")?),
                (
                    cylinders.max(third + 2) - 1,
                    mech.duration_ns("Full strobe seek time")?,
                ),
            ]))
        }
        "constant" => Ok(SeekCurve::Constant(mech.duration_ns("Constant seek time")?)),
        "hpl" => {
            let (eq7, single) = equation(mech)?;
            let first_ns = match single {
                Some(_) => vec![single_ns],
                None => Vec::new(),
            };
            Ok(SeekCurve::Listed {
                first_ns,
                beyond: Box::new(SeekCurve::Eq7(eq7)),
            })
        }
        "hplplus10" => {
            let listed = mech.need("First ten seek times")?;
            let first_ns = listed
                .list("First ten seek times")?
                .iter()
                .take(10)
                .map(|time| Ok(u64::try_from(time.scaled("First ten seek times", 6)?).unwrap_or(0)))
                .collect::<Result<_>>()?;
            let beyond = Box::new(SeekCurve::Eq7(equation(mech)?.0));
            Ok(SeekCurve::Listed { first_ns, beyond })
        }
        _ => unsupported(mech, "the seek type is not known"),
    }
}

/// Eq. 7 and the time of one cylinder, if it has its own.
fn equation(mech: &Block) -> Result<(Eq7, Option<u64>)> {
    let key = "HPL seek equation values";
    let values = mech.need(key)?.list(key)?;
    let [split, root_base, root, line_base, line, single] = values else {
        return unsupported(mech, "an HPL seek equation has six values");
    };
    let time = |value: &Value| -> Result<f64> { Ok(value.scaled(key, 9)? as f64 / 1000.0) };
    let eq7 = Eq7 {
        split: u32::try_from(split.whole(key)?).unwrap_or(0),
        root_base_ns: time(root_base)?,
        root_ns: time(root)?,
        line_base_ns: time(line_base)?,
        line_ns: time(line)?,
    };
    Ok((eq7, u64::try_from(single.scaled(key, 6)?).ok()))
}

/// The measured points of a `.seek` file.
fn table(files: &Files) -> Result<SeekCurve> {
    let mut points: Vec<(u32, u64)> = Vec::new();
    for (number, line) in files.seek.lines().enumerate().skip(1) {
        if line.trim().is_empty() {
            continue;
        }
        let point = line.split_once(',').and_then(|(distance, time)| {
            let time = u64::try_from(decimal(time.trim(), 6)?).ok()?;
            Some((distance.trim().parse().ok()?, time))
        });
        match point {
            Some(point) if points.len() < LIST_MAX => points.push(point),
            _ => {
                return Err(Error::new(
                    Kind::Syntax,
                    format!(
                        "{}.seek line {}: not 'distance, time'",
                        files.name,
                        number + 1
                    ),
                ));
            }
        }
    }
    if points.is_empty() {
        return Err(Error::new(
            Kind::Syntax,
            format!("{}.seek has no seek time", files.name),
        ));
    }
    Ok(SeekCurve::Table(points))
}
