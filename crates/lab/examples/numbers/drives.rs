//! The drive model against measured drives.

use ashlar_lab::disk::drive::Drive;
use ashlar_lab::disk::import::{self, Files};
use ashlar_lab::disk::replay;
use ashlar_lab::disk::rotation::Angle;

use super::row::{Effort, Goal, Unit, row};
use super::{Result, fixtures};

/// The demerit figure in units of `DiskSim`'s own.
const TIMES_MAX: f64 = 1.5;

pub(crate) fn rows(effort: Effort) -> Result<()> {
    for (name, published_ms) in fixtures::DRIVES {
        let read = |file: &str| fixtures::text(&fixtures::folder(), file);
        let profile = import::profile(&Files::read(name, read)?)?;
        let mut drive = Drive::new(profile, Angle::default())?;
        let trace = format!("{name}.trace");
        let mut requests = replay::parse(&trace, &read(&trace)?)?;
        requests.truncate(effort.of(requests.len(), 500));
        let outcomes = replay::run(&mut drive, &requests)?;
        let found = replay::compare(&requests, &outcomes, |_| true);
        row(
            &format!("{name}, demerit"),
            Unit::Seconds,
            found.demerit_ns / 1e9,
            Goal::AtMost(published_ms * TIMES_MAX / 1e3),
        );
        row(
            &format!("{name}, error of the mean"),
            Unit::Percent,
            found.mean_error() * 100.0,
            Goal::Within(-1.0, 1.0),
        );
    }
    Ok(())
}
