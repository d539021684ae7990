//! RAID on the command line: the options of its commands, and what is known of such a volume.

use ashlar::apply::{ArrayFacts, array_facts};
use ashlar::scan::{FoundVg, Scan};
use dm::raid::{Action, LegState, Status};
use lvm2::model::{LvId, RaidLevel, SegmentType};
use lvm2::plan::logical::{ArrayState, Initial, NewKind, RaidOptions, RecoveryRates};
use lvm2::{Sectors, Uuid};

use super::arguments::{invalid, number, size as size_of};
use super::limits::new_region_size;
use super::volumes::{CORE_LOG, MIRROR_LOG, MIRRORS, NO_SYNC, STRIPE_SIZE, STRIPES};
use super::work::Work;
use crate::args::{Arguments, Error, Flag};

/// `--minrecoveryrate`
pub(super) const MIN_RATE: Flag = Flag::value(
    "minrecoveryrate",
    "Size",
    "RAID: what a synchronisation may always use of each image, in a second; KiB where there is \
     no unit, 0 for a default.",
);
/// `--maxrecoveryrate`
pub(super) const MAX_RATE: Flag = Flag::value(
    "maxrecoveryrate",
    "Size",
    "RAID: what a synchronisation may use of each image at most, in a second; KiB where there is \
     no unit, 0 for a default.",
);

/// The level that a `--type` names.
pub(super) fn level(name: &str) -> Option<RaidLevel> {
    RaidLevel::from_name(name)
}

/// A rate in KiB, if it was given.
pub(super) fn rate(arguments: &Arguments, flag: &Flag) -> Result<Option<u32>, Error> {
    let rate =
        size_of(arguments, flag, 'k')?.map(|rate: Sectors| u32::try_from(rate.0.div_ceil(2)));
    match rate {
        None => Ok(None),
        Some(Ok(rate)) => Ok(Some(rate)),
        Some(Err(_)) => Err(invalid(flag, arguments.value(flag).unwrap_or_default())),
    }
}

/// A new array of a level.
pub(super) fn new_array(
    arguments: &Arguments,
    work: &Work<'_>,
    level: RaidLevel,
) -> Result<NewKind, Error> {
    for flag in [&MIRROR_LOG, &CORE_LOG] {
        if arguments.has(flag) {
            let value = arguments
                .value(flag)
                .map_or(String::new(), |value| format!(" {value}"));
            return Err(Error::usage(format!(
                "Command does not accept option: --{}{value}.",
                flag.long
            )));
        }
    }
    let copies: Option<usize> = number(arguments, &MIRRORS)?;
    let options = RaidOptions {
        level,
        copies: copies.map(|copies| copies.saturating_add(1)),
        stripes: number(arguments, &STRIPES)?,
        stripe_size: size_of(arguments, &STRIPE_SIZE, 'k')?,
        region_size: new_region_size(arguments, work)?,
        initial: if arguments.has(&NO_SYNC) {
            Initial::NoSync
        } else {
            Initial::Synchronise
        },
        rates: RecoveryRates {
            min: rate(arguments, &MIN_RATE)?,
            max: rate(arguments, &MAX_RATE)?,
        },
        checksums: super::checksums::wanted(arguments)?,
    };
    options
        .check()
        .map_err(|error| Error::usage(error.context))?;
    if let (Some(min), Some(max)) = (options.rates.min, options.rates.max)
        && min > max
    {
        return Err(Error::usage(
            "Minimum recovery rate cannot be higher than maximum.",
        ));
    }
    Ok(NewKind::Raid(options))
}

/// The arrays that are at work in this process, by their volumes, and how they are, if they say so.
#[derive(Debug, Clone, Default)]
pub(super) struct AtWork(pub(super) Vec<(Uuid, Option<Status>)>);

impl AtWork {
    /// What is known of one of them that is at work.
    fn state(&self, volume: &Uuid) -> Option<ArrayState> {
        let (_, status) = self.0.iter().find(|(one, _)| one == volume)?;
        Some(status.as_ref().map_or(ArrayState::OutOfSync, known))
    }

    /// Whether a volume is one of them.
    pub(super) fn has(&self, volume: &Uuid) -> bool {
        self.0.iter().any(|(one, _)| one == volume)
    }
}

/// What an array at work knows of its images. Marks are for who has it not at work: it knows what
/// they are of. What waits for an image that is away waits for the one in its place as well.
fn known(status: &Status) -> ArrayState {
    let is_whole = |state: &LegState| matches!(state, LegState::Valid { until: u64::MAX });
    let legs = status.legs.iter().map(|(state, _)| state).enumerate();
    let others: Vec<(usize, &LegState)> = legs.filter(|(_, state)| !is_whole(state)).collect();
    let is_away = |state: &LegState| matches!(state, LegState::Missing | LegState::Untrusted(_));
    let is_still = matches!(status.action, Action::Idle | Action::Waiting);
    if !is_still || !others.iter().all(|(_, state)| is_away(state)) {
        return ArrayState::OutOfSync;
    }
    if others.is_empty() {
        return ArrayState::InSync;
    }
    let bits = others.iter().fold(0, |set, (leg, _)| set | 1 << leg);
    ArrayState::InSyncBut(bits)
}

/// The level of a volume that is an array.
pub(super) fn level_of(group: &FoundVg, id: LvId) -> Option<RaidLevel> {
    match group.model.lv(id).first() {
        Some(SegmentType::Raid(raid)) => Some(raid.level),
        _ => None,
    }
}

/// What is known of an array's images. What must not happen in any case is refused.
pub(super) fn state(
    scan: &Scan,
    group: &FoundVg,
    id: LvId,
    at_work: &AtWork,
) -> ashlar::Result<ArrayState> {
    if level_of(group, id).is_none() {
        return Ok(ArrayState::OutOfSync);
    }
    if let Some(state) = at_work.state(&group.model.lv(id).uuid) {
        return Ok(state);
    }
    match array_facts(scan, group, id)? {
        ArrayFacts::InSync => Ok(ArrayState::InSync),
        ArrayFacts::InSyncBut(images) => Ok(ArrayState::InSyncBut(images)),
        ArrayFacts::Unused => Ok(ArrayState::Unused),
        ArrayFacts::FirstIsRight => Ok(ArrayState::OutOfSync),
        ArrayFacts::Unknown => {
            let what = format!(
                "{}/{} is not in-sync, and it is not known which of its images are right: use it \
                 until it is",
                group.name,
                group.model.lv(id).name()
            );
            Err(ashlar::Error::new(ashlar::Kind::Refused, what))
        }
    }
}
