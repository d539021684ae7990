//! `lab calibrate`: a disk is timed, and a profile fitted to it.

use std::io::IsTerminal;

use block::clock::Clock;
use block::file::{Access, FileDevice};
use indicatif::{ProgressBar, ProgressStyle};
use lab::calibrate::{Calibration, Options, Writes, calibrate};
use lab::disk::catalog;
use lab::disk::device::DiskDevice;
use lab::disk::drive::Drive;
use lab::disk::rotation::Angle;
use lab::stats::Interval;

use super::command::{SEED, failed, number};
use super::disk::keep;
use crate::args::{Arguments, Error, Flag};
use crate::commands::Session;

/// `--write`
pub(super) const WRITE: Flag = Flag::switch(
    "write",
    "Let a calibration write, to learn of the write cache: a few blocks, with what they hold. \
     Without it nothing is ever written.",
);

/// What stands before the name of an emulated disk.
const EMULATED: &str = "disk:";

pub(super) fn calibrated(
    words: &[String],
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let [name] = words else {
        return Err(Error::usage(
            "lab calibrate: name one device, or disk:NAME for a disk of the catalogue",
        ));
    };
    let writes = if arguments.has(&WRITE) {
        Writes::Permitted
    } else {
        Writes::Never
    };
    let seed = number(arguments, &SEED)?.unwrap_or(1);
    let options = Options { writes, seed };
    let bar = progress();
    let mut step = |what: &str, part: u64| {
        bar.set_message(what.to_owned());
        bar.set_position(part);
    };
    let found = if let Some(disk) = name.strip_prefix(EMULATED) {
        let profile = catalog::find(disk).map_err(failed)?;
        let drive = Drive::new(profile, Angle::new(seed)).map_err(failed)?;
        let clock = Clock::virtual_time();
        let device = DiskDevice::new(disk, drive, clock.clone());
        calibrate(&device, &clock, options, &mut step)
    } else {
        let access = match writes {
            Writes::Never => Access::ReadOnly,
            Writes::Permitted => Access::ReadWrite,
        };
        let device = FileDevice::open(name, access).map_err(failed)?;
        if !device.is_direct() {
            session.tell(&format!(
                "WARNING: {name} can only be read through the page cache, which is timed with it."
            ));
        }
        calibrate(&device, &Clock::real(), options, &mut step)
    };
    bar.finish_and_clear();
    let found = found.map_err(|error| Error::failed(format!("{name}: {error}")))?;
    show(&found, session)?;
    keep(&found.profile, arguments, session)
}

fn progress() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(1000);
    // The template is a constant; should it not be one, the bar's own style does.
    if let Ok(style) = ProgressStyle::with_template("  {msg:10} {bar:40} {elapsed}") {
        bar.set_style(style);
    }
    bar
}

/// Milliseconds, with where they may lie.
fn time(interval: &Interval) -> String {
    let [low, estimate, high] =
        [interval.low, interval.estimate, interval.high].map(|time_ns| time_ns / 1e6);
    format!("{estimate:.4} ms ({low:.4} to {high:.4})")
}

fn show(found: &Calibration, session: &mut Session) -> Result<(), Error> {
    let layout = &found.profile.layout;
    let cache = &found.profile.cache;
    session.line(&format!(
        "{}: {} requests in {:.1} s",
        found.profile.name,
        found.requests,
        found.elapsed_ns as f64 / 1e9
    ))?;
    session.line(&format!(
        "revolution     {}, {} rpm",
        time(&found.revolution_ns),
        found.profile.mechanics.rpm
    ))?;
    session.line(&format!("cached block   {}", time(&found.hit_ns)))?;
    session.line(&format!("further block  {}", time(&found.block_ns)))?;
    session.line(&format!("settling       {}", time(&found.settle_ns)))?;
    session.line(&format!("other head     {}", time(&found.head_switch_ns)))?;
    session.line(&format!(
        "cache          {} segments of {} KiB, reads ahead {:?}, writes {:?}",
        cache.segments,
        cache.segment_blocks / 2,
        cache.read_ahead,
        cache.write_policy
    ))?;
    let (cylinders, heads) = (layout.cylinders, layout.heads);
    session.line(&format!(
        "geometry       {cylinders} cylinders, {heads} heads"
    ))?;
    for zone in &found.zones {
        let rate = zone.per_track as f64 * 512.0 / found.revolution_ns.estimate * 1e3;
        session.line(&format!(
            "  zone from block {:12}: {:5} sectors in a track, {rate:6.1} MB/s",
            zone.start, zone.per_track
        ))?;
    }
    let curve = &found.curve.curve;
    session.line(&format!(
        "seek           {:.3} + {:.5} * sqrt(d) ms up to {} cylinders, {:.3} + {:.7} * d beyond; \
         {:.1} % off",
        curve.root_base_ns / 1e6,
        curve.root_ns / 1e6,
        curve.split,
        curve.line_base_ns / 1e6,
        curve.line_ns / 1e6,
        found.curve.error * 100.0
    ))?;
    for point in &found.seeks {
        session.line(&format!(
            "  {:7} cylinders: {}",
            point.distance,
            time(&point.time_ns)
        ))?;
    }
    for remark in &found.remarks {
        session.line(&format!("- {remark}"))?;
    }
    Ok(())
}
