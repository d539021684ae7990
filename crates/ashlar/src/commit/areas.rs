//! Area headers: writing one, and clearing those that no group uses any more.

use std::collections::BTreeSet;

use lvm2::Uuid;
use lvm2::ondisk::{AreaHeader, AreaUse};

use super::flush_policy::{FlushPoint, FlushPolicy};
use super::open_pv::{Held, OpenPv};
use crate::{Error, Kind, Result};

/// A physical volume that did not do what it was asked.
#[derive(Debug)]
pub(super) struct Failure {
    /// Its place in the list.
    pub(super) pv: usize,
    /// What it answered.
    pub(super) error: block::Error,
}

/// Writes the header of an area: one sector.
pub(super) fn write_header(
    pv: &mut OpenPv,
    area: usize,
    header: AreaHeader,
    held: Held,
) -> block::Result<()> {
    assert_eq!(
        pv.areas[area].span.offset, header.start,
        "a header begins its area"
    );
    pv.write(header.start, &header.encode())?;
    let area = &mut pv.areas[area];
    area.header = Some(header);
    area.held = held;
    Ok(())
}

/// Flushes each of `touched` once, all of them whatever happens.
pub(super) fn flush_all(
    pvs: &mut [OpenPv],
    touched: impl IntoIterator<Item = usize>,
    flush_policy: FlushPolicy,
    point: FlushPoint,
) -> Vec<Failure> {
    let touched: BTreeSet<usize> = touched.into_iter().collect();
    let flush = |pv: usize| {
        let error = pvs[pv].flush(flush_policy, point).err()?;
        Some(Failure { pv, error })
    };
    touched.into_iter().filter_map(flush).collect()
}

/// The names of those that are wanted, each once.
pub(super) fn list(
    pvs: &[OpenPv],
    among: impl Iterator<Item = usize>,
    is_wanted: impl Fn(usize) -> bool,
) -> String {
    let wanted: BTreeSet<usize> = among.filter(|pv| is_wanted(*pv)).collect();
    let names: Vec<&str> = wanted.iter().map(|pv| pvs[*pv].name()).collect();
    names.join(", ")
}

/// Removes a group: no header points to a text of it any more. The headers with older texts go
/// first and are durable before the newest go, so that a power cut leaves the group as it was, or
/// none. Gives back the physical volumes that held a text.
pub fn erase(pvs: &mut [OpenPv], group: Uuid, flush_policy: FlushPolicy) -> Result<Vec<Uuid>> {
    let versions = |pv: &OpenPv| {
        let areas = pv.areas.iter();
        let of_group = areas.filter_map(|area| match area.held {
            Held::Version { group: held, seqno } if held == group => Some(seqno),
            _ => None,
        });
        of_group.max()
    };
    let newest = pvs.iter().filter_map(versions).max();
    let is_stale = |held: Held| match held {
        Held::Version { group: held, seqno } => held == group && Some(seqno) < newest,
        _ => false,
    };
    let mut cleared = clear_where(pvs, is_stale, flush_policy, FlushPoint::Stale)?;
    let is_newest = |held: Held| matches!(held, Held::Version { group: held, .. } if held == group);
    cleared.extend(clear_where(
        pvs,
        is_newest,
        flush_policy,
        FlushPoint::Cleared,
    )?);
    let mut areas = pvs.iter().flat_map(|pv| &pv.areas);
    assert!(areas.all(|area| !area.holds(group)), "no text is left");
    Ok(cleared.into_iter().map(|pv| pvs[pv].uuid()).collect())
}

/// Clears the areas of physical volumes that `group` no longer lists, as `members` says.
pub fn clear(
    pvs: &mut [OpenPv],
    group: Uuid,
    is_member: impl Fn(Uuid) -> bool,
    flush_policy: FlushPolicy,
) -> Result<()> {
    for pv in pvs {
        if !is_member(pv.uuid_in_text()) {
            let is_left =
                |held: Held| matches!(held, Held::Version { group: held, .. } if held == group);
            clear_where(
                std::slice::from_mut(pv),
                is_left,
                flush_policy,
                FlushPoint::Cleared,
            )?;
        }
    }
    Ok(())
}

fn clear_where(
    pvs: &mut [OpenPv],
    is_wanted: impl Fn(Held) -> bool,
    flush_policy: FlushPolicy,
    point: FlushPoint,
) -> Result<Vec<usize>> {
    let failed = |name: &str, error: block::Error| {
        let what = format!(
            "cannot clear a metadata area of {name}; check the device, then run the command again"
        );
        Error::new(Kind::Incomplete, what).because(error)
    };
    let mut touched = Vec::new();
    for (number, pv) in pvs.iter_mut().enumerate() {
        for index in 0..pv.areas.len() {
            let area = &pv.areas[index];
            let Some(header) = area.header.filter(|_| is_wanted(area.held)) else {
                continue;
            };
            let header = AreaHeader {
                committed: None,
                precommitted: None,
                usage: AreaUse::Used,
                ..header
            };
            write_header(pv, index, header, Held::Nothing)
                .map_err(|error| failed(pv.name(), error))?;
            touched.push(number);
        }
    }
    let mut left = pvs.iter().flat_map(|pv| &pv.areas);
    let is_left = left.any(|area| area.header.is_some() && is_wanted(area.held));
    assert!(!is_left, "all of them are cleared");
    match flush_all(pvs, touched.iter().copied(), flush_policy, point).pop() {
        Some(failure) => Err(failed(pvs[failure.pv].name(), failure.error)),
        None => Ok(touched),
    }
}
