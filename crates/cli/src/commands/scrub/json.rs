//! What was found, for programs: an object for each finding, and one at the end of each volume.

use ashlar::scrub::{Finding, FindingKind, Holds, LegPlace, Summary, Unchecked, Unknown};
use lvm2::SECTOR_SIZE;
use serde::Serialize;

/// A line of the output.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Told<'a> {
    Mismatch(Place<'a>),
    Unreadable(Place<'a>),
    Summary(Sums<'a>),
}

/// A finding.
#[derive(Serialize)]
pub(super) struct Place<'a> {
    volume: &'a str,
    row: Option<u64>,
    sectors: u64,
    /// The names of the legs that are wrong, where that is known.
    wrong: Vec<&'a str>,
    /// Why it is not.
    unknown: Option<&'static str>,
    legs: Vec<Leg<'a>>,
}

#[derive(Serialize)]
struct Leg<'a> {
    number: usize,
    name: &'a str,
    byte: u64,
    holds: &'static str,
    volume_byte: Option<u64>,
    volume_sector: Option<u64>,
    volume_extent: Option<u64>,
    standing: &'static str,
    disks: Vec<Disk<'a>>,
}

#[derive(Serialize)]
struct Disk<'a> {
    device: &'a str,
    byte: u64,
    extent: Option<u64>,
}

/// A summary.
#[derive(Serialize)]
pub(super) struct Sums<'a> {
    volume: &'a str,
    bytes: u64,
    compared_bytes: u64,
    mismatched_sectors: u64,
    known_sectors: u64,
    places: u64,
    unreadable_bytes: u64,
    not_compared: Vec<NotCompared>,
    left_out: Vec<LeftOut<'a>>,
}

#[derive(Serialize)]
struct NotCompared {
    why: &'static str,
    bytes: u64,
}

#[derive(Serialize)]
struct LeftOut<'a> {
    leg: &'a str,
    why: &'a str,
    bytes: u64,
}

/// A finding.
pub(super) fn finding<'a>(volume: &'a str, finding: &'a Finding) -> Told<'a> {
    let place = Place {
        volume,
        row: finding.row,
        sectors: finding.sectors(),
        wrong: match finding.kind {
            FindingKind::Mismatch(_) => finding.wrong().map(|leg| &*leg.name).collect(),
            FindingKind::Unreadable => Vec::new(),
        },
        unknown: finding.unknown().map(unknown),
        legs: finding.legs.iter().map(leg).collect(),
    };
    match finding.kind {
        FindingKind::Mismatch(_) => Told::Mismatch(place),
        FindingKind::Unreadable => Told::Unreadable(place),
    }
}

/// What came of it.
pub(super) fn summary<'a>(volume: &'a str, summary: &'a Summary) -> Told<'a> {
    let not_compared = summary.unchecked.iter().map(|(why, bytes)| NotCompared {
        why: unchecked(*why),
        bytes: *bytes,
    });
    let left_out = summary.left_out.iter().map(|left| LeftOut {
        leg: &left.leg,
        why: &left.why,
        bytes: left.bytes,
    });
    Told::Summary(Sums {
        volume,
        bytes: summary.size,
        compared_bytes: summary.checked,
        mismatched_sectors: summary.mismatches,
        known_sectors: summary.known,
        places: summary.places,
        unreadable_bytes: summary.unreadable,
        not_compared: not_compared.collect(),
        left_out: left_out.collect(),
    })
}

fn leg(place: &LegPlace) -> Leg<'_> {
    let (holds, at) = match place.holds {
        Holds::Data(at) => ("data", Some(at)),
        Holds::P => ("p", None),
        Holds::Q => ("q", None),
    };
    let disks = place.on.iter().map(|on| Disk {
        device: &on.device,
        byte: on.byte,
        extent: on.extent,
    });
    Leg {
        number: place.leg,
        name: &place.name,
        byte: place.start,
        holds,
        volume_byte: at,
        volume_sector: at.map(|at| at / SECTOR_SIZE),
        volume_extent: place.extent,
        standing: place.standing.word(),
        disks: disks.collect(),
    }
}

fn unknown(why: Unknown) -> &'static str {
    match why {
        Unknown::OneSum => "one_parity",
        Unknown::TwoCopies => "two_copies",
        Unknown::NoMajority => "no_majority",
        Unknown::SeveralLegs => "several_legs",
    }
}

fn unchecked(why: Unchecked) -> &'static str {
    match why {
        Unchecked::Reshape => "reshape",
        Unchecked::NeverSynced => "never_synced",
        Unchecked::Dirty => "dirty",
        Unchecked::TooFewLegs => "too_few_legs",
        Unchecked::Unreadable => "unreadable",
    }
}
