//! The drive model against closed forms.

use ashlar_lab::disk::catalog;
use ashlar_lab::disk::drive::{Command, Drive, Model, Operation, Spent};
use ashlar_lab::disk::profile::{Cache, Profile};
use ashlar_lab::disk::rotation::{Angle, SLACK_NS};

use super::Result;
use super::row::{Effort, Goal, Unit, row, worse};

const MS: u64 = 1_000_000;
/// A turn of the drive for sums by hand, a sector of it, and a block over its bus.
const TURN: u64 = 10 * MS;
const SECTOR: u64 = TURN / 100;
const BLOCK: u64 = 10_000;

pub(crate) fn rows(effort: Effort) -> Result<()> {
    let error_ns = single(effort.of(100_000, 500))?;
    let case = "single requests, worst error to the sum of their parts";
    row(
        case,
        Unit::Seconds,
        error_ns as f64 / 1e9,
        Goal::AtMost(1e-6),
    );
    let (mut seek, mut turn, mut rate): (f64, f64, f64) = (0.0, 0.0, 0.0);
    let drives = catalog::all();
    for profile in &drives {
        let (one, other) = averages(profile, effort.of(200_000, 500))?;
        seek = seek.max(one);
        turn = turn.max(other);
        rate = rate.max(rates(profile)?);
    }
    for (what, error) in [
        ("average seek", seek),
        ("average rotational delay", turn),
        ("rates of zones", rate),
    ] {
        let case = format!("{what}, worst error of {} drives", drives.len());
        row(&case, Unit::Percent, error * 100.0, Goal::AtMost(1.0));
    }
    Ok(())
}

/// Gives the drive a command and returns when it is answered.
fn one(drive: &mut Drive, now_ns: u64, operation: Operation, start: u64, count: u32) -> u64 {
    let tag = 0;
    drive.submit(
        now_ns,
        Command {
            tag,
            operation,
            start,
            count,
        },
    );
    loop {
        let wake = drive.wake().expect("a command is under way");
        if let Some(answer) = drive.answer(wake) {
            return answer.at_ns;
        }
    }
}

/// A generator of places: the upper bits are good enough.
fn next(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    *state >> 20
}

/// The worst error of single blocks read and written anywhere, in nanoseconds.
fn single(count: usize) -> Result<u64> {
    let mut drive = Drive::new(catalog::plain(), Angle::default())?;
    let (mut at, mut now, mut state, mut worst) = ((0, 0), 0, 7, 0);
    for _ in 0..count {
        let block = next(&mut state) % 200_000;
        let (cylinder, head, sector) = (block / 200, block / 100 % 2, block % 100);
        let seek = match (cylinder == at.0, head == at.1) {
            (true, true) => 0,
            (true, false) => MS,
            _ => 5 * MS,
        };
        let read = next(&mut state).is_multiple_of(2);
        let angle = (sector + 20 * (head + cylinder) + 60 * cylinder) % 100 * SECTOR;
        // The time from a moment until the sector comes; what just passed counts as coming.
        let until = |moment: u64| {
            let wait = (angle + TURN - moment % TURN) % TURN;
            if wait + SLACK_NS >= TURN { 0 } else { wait }
        };
        let settled = now + MS / 2 + seek;
        let mut start = settled + until(settled);
        let come = now + MS / 2 + BLOCK;
        if !read && come > start {
            start = come + until(come);
        }
        let done = start + SECTOR + if read { BLOCK } else { 0 };
        let operation = if read {
            Operation::Read
        } else {
            Operation::Write
        };
        let seen = one(&mut drive, now, operation, block, 1);
        worst = worst.max(seen.abs_diff(done));
        at = (cylinder, head);
        now = seen + next(&mut state) % (5 * MS);
    }
    Ok(worst)
}

/// The drive with nothing but an arm and platters.
fn bare(profile: &Profile) -> Result<Drive> {
    let mut profile = profile.clone();
    profile.cache = Cache {
        segments: 0,
        ..Cache::default()
    };
    profile.bus.read_block_ns = 1;
    Ok(Drive::new(profile, Angle::default())?)
}

/// The errors of the mean seek and the mean rotational delay of reads on cylinders anywhere.
fn averages(profile: &Profile, count: u64) -> Result<(f64, f64)> {
    let mut drive = bare(profile)?;
    let cylinders = u64::from(drive.geometry().cylinders());
    let heads = u64::from(drive.geometry().heads());
    let (mut now, mut state, mut done) = (0, 11, 0);
    while done < count {
        let cylinder = (next(&mut state) % cylinders) as u32;
        let head = (next(&mut state) % heads) as u32;
        let sector = (next(&mut state) % 32) as u32;
        let Some(block) = drive.geometry().block_at(cylinder, head, sector) else {
            continue;
        };
        now = one(&mut drive, now, Operation::Read, block, 1) + next(&mut state) % (50 * MS);
        done += 1;
    }
    let mut spent = Spent::default();
    drive.account(&mut spent);
    // A drive may keep its last cylinders for spares: nobody seeks to them.
    let is_used = |&cylinder: &u32| drive.geometry().block_at(cylinder, 0, 0).is_some();
    let used = (0..cylinders as u32)
        .rev()
        .find(is_used)
        .map_or(0, |last| last + 1);
    let average = average_seek(profile, used, heads as f64);
    let half_turn = 30e9 / f64::from(profile.mechanics.rpm);
    let mean = |ns: u64| ns as f64 / count as f64;
    Ok((
        worse(0.0, mean(spent.seek_ns), average),
        worse(0.0, mean(spent.rotation_ns), half_turn),
    ))
}

/// The average over all pairs of tracks of the first `used` cylinders: every distance d comes with
/// 2 (n - d) of n² pairs of cylinders, 1 of n is none; another head has to be switched to
/// meanwhile.
fn average_seek(profile: &Profile, used: u32, heads: f64) -> f64 {
    let (mechanics, cylinders) = (&profile.mechanics, profile.layout.cylinders);
    let n = f64::from(used);
    let mean = |distance: u32| {
        let seek = match distance {
            0 => 0,
            _ => mechanics.seek.time_ns(distance, cylinders),
        };
        let [same, other] = [seek, seek.max(mechanics.head_switch_ns)]
            .map(|time| time.max(mechanics.settle_ns) as f64);
        same / heads + other * (heads - 1.0) / heads
    };
    let share = |distance: u32| 2.0 * (n - f64::from(distance)) / (n * n);
    let moves: f64 = (1..used)
        .map(|distance| share(distance) * mean(distance))
        .sum();
    moves + mean(0) / n
}

/// The worst error of the rates of the zones: tracks, and the skews between them.
fn rates(profile: &Profile) -> Result<f64> {
    let drive = bare(profile)?;
    let turn_ns = 60e9 / f64::from(profile.mechanics.rpm);
    let heads = drive.geometry().heads();
    let mut worst = 0.0;
    for zone in drive.geometry().zones() {
        let Some(first) = drive.geometry().block_at(zone.first_cylinder, 0, 0) else {
            continue;
        };
        let cylinders = (zone.last_cylinder - zone.first_cylinder).min(40);
        let cylinder = zone.per_track * heads;
        let time = |count: u32| {
            let mut drive = drive.sibling(Angle::default());
            one(&mut drive, 0, Operation::Read, first, count)
        };
        let seen = time(cylinder * (cylinders + 1)) - time(cylinder);
        let skew =
            |millisectors: u64| millisectors as f64 / 1000.0 / f64::from(zone.per_track) * turn_ns;
        let heads = f64::from(heads);
        let each = heads * turn_ns
            + (heads - 1.0) * skew(zone.track_skew_millisectors)
            + skew(zone.cylinder_skew_millisectors);
        // Time for time: the rate is off by as much.
        worst = worse(worst, seen as f64, f64::from(cylinders) * each);
    }
    Ok(worst)
}
