//! A profile as a text, for people to keep, compare and change.
//!
//! ```text
//!   name = "my disk"   source = "calibrated …"
//!   [layout]     heads, cylinders, sparing, serpentine      [[layout.zone]]  …
//!   [mechanics]  rpm, times      [mechanics.seek]  kind, and what that kind has
//!   [overheads]  [cache]  [bus]  [queue]
//! ```
//!
//! Each field is described once, by `all`, which a `Pen` follows in either direction; so
//! nothing can be written that is not read. Fields have the names and units of [`Profile`]. What
//! a text leaves out is as in a drive without it; what it has too much is an error with its line.

mod pen;

use std::path::Path;

use super::geometry::{Layout, Serpentine, Sparing, Zone};
use super::profile::{
    AfterEach, Bus, Cache, ExtraDisconnect, Mechanics, Overheads, Profile, Queue, ReadAhead,
    Release, Scheduler, WritePolicy, ZeroLatency,
};
use super::seek::{Eq7, SeekCurve};
use crate::error::{Error, Kind, Result};
use crate::settings::Table;
use pen::Pen;

/// Curves inside curves at most.
const CURVES_MAX: usize = 4;
/// Bytes of a file at most: the longest curve has a time for each cylinder.
const BYTES_MAX: u64 = 4 << 20;

/// The text of a profile.
pub fn write(profile: &Profile) -> String {
    let mut pen = Pen::writing();
    let mut profile = profile.clone();
    all(&mut pen, &mut profile).expect("writing to memory does not fail");
    pen.into_text()
}

/// The profile of a text; `file` is how messages call it.
pub fn read(file: &str, text: &str) -> Result<Profile> {
    let mut pen = Pen::reading(Table::parse(file, text)?);
    let mut profile = Profile {
        name: String::new(),
        source: String::new(),
        layout: Layout::default(),
        mechanics: Mechanics {
            rpm: 0,
            seek: SeekCurve::Constant(0),
            head_switch_ns: 0,
            settle_ns: 0,
            write_settle_ns: 0,
            write_switch_ns: 0,
            write_seek_min_ns: 0,
        },
        overheads: Overheads::default(),
        cache: Cache::default(),
        bus: Bus::default(),
        queue: Queue::default(),
    };
    all(&mut pen, &mut profile)?;
    pen.finish()?;
    let impossible = |error: Error| Error::new(error.kind(), format!("{file}: {error}"));
    profile.validate().map_err(impossible)?;
    // Layout and curve are checked where they are built.
    super::drive::Drive::new(profile.clone(), super::rotation::Angle::new(0))
        .map_err(impossible)?;
    Ok(profile)
}

/// The profile in a file.
pub fn open(path: &Path) -> Result<Profile> {
    let name = path.display().to_string();
    let failed = |error| Error::io(format!("{name} cannot be read"), error);
    let length = std::fs::metadata(path).map_err(failed)?.len();
    if length > BYTES_MAX {
        let what = format!("{name}: {length} bytes are too many for a profile");
        return Err(Error::new(Kind::Syntax, what));
    }
    read(&name, &std::fs::read_to_string(path).map_err(failed)?)
}

fn all(pen: &mut Pen, profile: &mut Profile) -> Result<()> {
    pen.text("name", &mut profile.name)?;
    pen.text("source", &mut profile.source)?;
    pen.section("layout", |pen| layout(pen, &mut profile.layout))?;
    pen.section("mechanics", |pen| mechanics(pen, &mut profile.mechanics))?;
    pen.section("overheads", |pen| overheads(pen, &mut profile.overheads))?;
    pen.section("cache", |pen| cache(pen, &mut profile.cache))?;
    pen.section("bus", |pen| bus(pen, &mut profile.bus))?;
    pen.section("queue", |pen| queue(pen, &mut profile.queue))
}

fn layout(pen: &mut Pen, layout: &mut Layout) -> Result<()> {
    pen.count("heads", &mut layout.heads)?;
    pen.count("cylinders", &mut layout.cylinders)?;
    sparing(pen, &mut layout.sparing)?;
    let serpentine = [
        ("no", Serpentine::No),
        ("within-zone", Serpentine::WithinZone),
        ("whole-disk", Serpentine::WholeDisk),
    ];
    pen.word("serpentine", &mut layout.serpentine, &serpentine)?;
    pen.sections("zone", &mut layout.zones, zone)
}

fn sparing(pen: &mut Pen, sparing: &mut Sparing) -> Result<()> {
    let per_range = |cylinders| Sparing::SectorsPerRange { cylinders };
    let mut range = match sparing {
        Sparing::SectorsPerRange { cylinders } => *cylinders,
        _ => 0,
    };
    // Written by its name; the range has a field of its own.
    let mut named = match *sparing {
        Sparing::SectorsPerRange { .. } => per_range(0),
        other => other,
    };
    let names = [
        ("none", Sparing::None),
        ("tracks", Sparing::Tracks),
        ("sectors-per-cylinder", Sparing::SectorsPerCylinder),
        ("sectors-per-track", Sparing::SectorsPerTrack),
        (
            "sectors-per-cylinder-slip-to-end",
            Sparing::SectorsPerCylinderSlipToEnd,
        ),
        ("sectors-at-front", Sparing::SectorsAtFront),
        (
            "sectors-at-front-slip-to-end",
            Sparing::SectorsAtFrontSlipToEnd,
        ),
        ("sectors-at-end", Sparing::SectorsAtEnd),
        ("sectors-per-range", per_range(0)),
        ("sectors-per-zone", Sparing::SectorsPerZone),
        (
            "sectors-per-zone-slip-to-end",
            Sparing::SectorsPerZoneSlipToEnd,
        ),
    ];
    pen.word("sparing", &mut named, &names)?;
    *sparing = named;
    if let Sparing::SectorsPerRange { .. } = named {
        pen.count("sparing_range_cylinders", &mut range)?;
        *sparing = per_range(range);
    }
    Ok(())
}

fn zone(pen: &mut Pen, zone: &mut Zone) -> Result<()> {
    pen.count("first_cylinder", &mut zone.first_cylinder)?;
    pen.count("last_cylinder", &mut zone.last_cylinder)?;
    pen.count("per_track", &mut zone.per_track)?;
    pen.count(
        "first_angle_millisectors",
        &mut zone.first_angle_millisectors,
    )?;
    pen.count("empty_front", &mut zone.empty_front)?;
    pen.count("track_skew_millisectors", &mut zone.track_skew_millisectors)?;
    pen.count(
        "cylinder_skew_millisectors",
        &mut zone.cylinder_skew_millisectors,
    )?;
    pen.count("spares", &mut zone.spares)?;
    pen.counts("slips", &mut zone.slips)?;
    pen.pairs("remapped", &mut zone.remapped)
}

fn mechanics(pen: &mut Pen, mechanics: &mut Mechanics) -> Result<()> {
    pen.count("rpm", &mut mechanics.rpm)?;
    pen.count("head_switch_ns", &mut mechanics.head_switch_ns)?;
    pen.count("settle_ns", &mut mechanics.settle_ns)?;
    pen.signed("write_settle_ns", &mut mechanics.write_settle_ns)?;
    pen.signed("write_switch_ns", &mut mechanics.write_switch_ns)?;
    pen.count("write_seek_min_ns", &mut mechanics.write_seek_min_ns)?;
    pen.section("seek", |pen| seek(pen, &mut mechanics.seek, CURVES_MAX))
}

/// The kinds of curves.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Constant,
    Eq7,
    ThreePoint,
    Table,
    Listed,
}

impl Shape {
    const NAMES: [(&str, Self); 5] = [
        ("constant", Self::Constant),
        ("eq7", Self::Eq7),
        ("three-point", Self::ThreePoint),
        ("table", Self::Table),
        ("listed", Self::Listed),
    ];

    fn of(curve: &SeekCurve) -> Self {
        match curve {
            SeekCurve::Constant(_) => Self::Constant,
            SeekCurve::Eq7(_) => Self::Eq7,
            SeekCurve::ThreePoint { .. } => Self::ThreePoint,
            SeekCurve::Table(_) => Self::Table,
            SeekCurve::Listed { .. } => Self::Listed,
        }
    }

    /// A curve of this kind, to be filled in.
    fn curve(self) -> SeekCurve {
        match self {
            Self::Constant => SeekCurve::Constant(0),
            Self::Eq7 => SeekCurve::Eq7(Eq7 {
                split: 0,
                root_base_ns: 0.0,
                root_ns: 0.0,
                line_base_ns: 0.0,
                line_ns: 0.0,
            }),
            Self::ThreePoint => SeekCurve::ThreePoint {
                single_ns: 0,
                average_ns: 0,
                full_ns: 0,
            },
            Self::Table => SeekCurve::Table(Vec::new()),
            Self::Listed => SeekCurve::Listed {
                first_ns: Vec::new(),
                beyond: Box::new(SeekCurve::Constant(0)),
            },
        }
    }
}

/// A curve: its kind, and what that kind has.
fn seek(pen: &mut Pen, curve: &mut SeekCurve, curves: usize) -> Result<()> {
    let mut shape = Shape::of(curve);
    pen.word("kind", &mut shape, &Shape::NAMES)?;
    if shape != Shape::of(curve) {
        *curve = shape.curve();
    }
    match curve {
        SeekCurve::Constant(time_ns) => pen.count("time_ns", time_ns),
        SeekCurve::Eq7(eq7) => {
            pen.count("split", &mut eq7.split)?;
            pen.number("root_base_ns", &mut eq7.root_base_ns)?;
            pen.number("root_ns", &mut eq7.root_ns)?;
            pen.number("line_base_ns", &mut eq7.line_base_ns)?;
            pen.number("line_ns", &mut eq7.line_ns)
        }
        SeekCurve::ThreePoint {
            single_ns,
            average_ns,
            full_ns,
        } => {
            pen.count("single_ns", single_ns)?;
            pen.count("average_ns", average_ns)?;
            pen.count("full_ns", full_ns)
        }
        SeekCurve::Table(points) => pen.pairs("points", points),
        SeekCurve::Listed { first_ns, beyond } => {
            pen.counts("first_ns", first_ns)?;
            if curves == 0 {
                return Err(pen.error("kind", "a curve beyond a curve beyond a curve"));
            }
            pen.section("beyond", |pen| seek(pen, beyond, curves - 1))
        }
    }
}

fn after_each(pen: &mut Pen, name: &str, times: &mut AfterEach) -> Result<()> {
    pen.count(&format!("{name}_after_read_ns"), &mut times.after_read_ns)?;
    pen.count(&format!("{name}_after_write_ns"), &mut times.after_write_ns)
}

fn overheads(pen: &mut Pen, overheads: &mut Overheads) -> Result<()> {
    after_each(pen, "read_hit", &mut overheads.read_hit)?;
    after_each(pen, "read_miss", &mut overheads.read_miss)?;
    after_each(pen, "write_hit", &mut overheads.write_hit)?;
    after_each(pen, "write_miss", &mut overheads.write_miss)?;
    pen.count("complete_read_ns", &mut overheads.complete_read_ns)?;
    pen.count("complete_write_ns", &mut overheads.complete_write_ns)?;
    pen.count("data_preparation_ns", &mut overheads.data_preparation_ns)?;
    pen.count("reselect_first_ns", &mut overheads.reselect_first_ns)?;
    pen.count("reselect_other_ns", &mut overheads.reselect_other_ns)?;
    after_each(pen, "disconnect_read", &mut overheads.disconnect_read)?;
    pen.count("disconnect_write_ns", &mut overheads.disconnect_write_ns)?;
    pen.optional("extra_disconnect", &mut overheads.extra_disconnect, extra)
}

fn extra(pen: &mut Pen, extra: &mut ExtraDisconnect) -> Result<()> {
    pen.count("command_ns", &mut extra.command_ns)?;
    pen.count("disconnect_ns", &mut extra.disconnect_ns)?;
    pen.count("away_ns", &mut extra.away_ns)?;
    pen.count("second_disconnect_ns", &mut extra.second_disconnect_ns)?;
    pen.count("seek_delta_ns", &mut extra.seek_delta_ns)?;
    pen.count("least_blocks", &mut extra.least_blocks)?;
    pen.count("least_blocks_large", &mut extra.least_blocks_large)?;
    pen.count("large_blocks", &mut extra.large_blocks)
}

fn cache(pen: &mut Pen, cache: &mut Cache) -> Result<()> {
    let ahead = [
        ("none", ReadAhead::None),
        ("track-end", ReadAhead::TrackEnd),
        ("cylinder-end", ReadAhead::CylinderEnd),
        ("segment", ReadAhead::Segment),
        ("whole-tracks", ReadAhead::WholeTracks),
    ];
    let latency = [("no", ZeroLatency::No), ("yes", ZeroLatency::Yes)];
    let policy = [
        ("through", WritePolicy::Through),
        ("behind-when-idle", WritePolicy::BehindWhenIdle),
        ("behind", WritePolicy::Behind),
    ];
    pen.size("segments", &mut cache.segments)?;
    pen.count("segment_blocks", &mut cache.segment_blocks)?;
    pen.size("write_segments", &mut cache.write_segments)?;
    pen.habit("separate_write_segment", &mut cache.separate_write_segment)?;
    pen.word("read_ahead", &mut cache.read_ahead, &ahead)?;
    pen.count("read_ahead_max", &mut cache.read_ahead_max)?;
    pen.count("read_ahead_min", &mut cache.read_ahead_min)?;
    pen.habit("resume_on_hit", &mut cache.resume_on_hit)?;
    pen.habit("keep_free_blocks", &mut cache.keep_free_blocks)?;
    pen.word("zero_latency_read", &mut cache.zero_latency_read, &latency)?;
    pen.word(
        "zero_latency_write",
        &mut cache.zero_latency_write,
        &latency,
    )?;
    pen.habit("discard_delivered", &mut cache.discard_delivered)?;
    pen.habit("read_hits_on_written", &mut cache.read_hits_on_written)?;
    pen.habit("almost_hits", &mut cache.almost_hits)?;
    pen.word("write_policy", &mut cache.write_policy, &policy)?;
    pen.habit("combine_writes", &mut cache.combine_writes)?;
    pen.habit("stop_in_sector", &mut cache.stop_in_sector)?;
    pen.count(
        "read_watermark_thousandths",
        &mut cache.read_watermark_thousandths,
    )
}

fn bus(pen: &mut Pen, bus: &mut Bus) -> Result<()> {
    pen.count("read_block_ns", &mut bus.read_block_ns)?;
    pen.count("write_block_ns", &mut bus.write_block_ns)?;
    pen.habit("hold_for_read", &mut bus.hold_for_read)
}

fn queue(pen: &mut Pen, queue: &mut Queue) -> Result<()> {
    let schedulers = [
        ("fcfs", Scheduler::Fcfs),
        ("look", Scheduler::Look),
        ("sptf", Scheduler::Sptf),
    ];
    let releases = [
        ("at-completion", Release::AtCompletion),
        ("at-medium-done", Release::AtMediumDone),
    ];
    pen.word("scheduler", &mut queue.scheduler, &schedulers)?;
    pen.size("depth", &mut queue.depth)?;
    pen.optional_count("age_limit_ns", &mut queue.age_limit_ns)?;
    pen.word("release", &mut queue.release, &releases)
}

#[cfg(test)]
mod tests;
