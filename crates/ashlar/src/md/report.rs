//! What arrays there are, and how they and their devices are.

use dm::raid::md::{Array, Claim, Guard, Layout, Readiness, Role, Verdict, judge};
use dm::raid::{Position, Scheme};

use crate::host::{ArrayPlace, Place};
use crate::scan::Scan;
use crate::{Error, Kind, Result};

/// An array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayReport {
    /// What people know it by: `md:host:0`.
    pub name: String,
    /// Its UUID, as mdadm writes it.
    pub uuid: String,
    /// As mdadm calls it: `raid5`.
    pub level: String,
    /// The layout's number in md, where the level has several.
    pub layout: Option<u32>,
    /// The format of its superblocks: `1.2`.
    pub metadata: &'static str,
    /// Bytes of a chunk; 0: there are none.
    pub chunk: u64,
    /// Bytes; `None`: too little is known.
    pub size: Option<u64>,
    /// Legs that it has when it is whole.
    pub legs: usize,
    /// The events of its freshest superblock.
    pub events: u64,
    /// What keeps its legs together after a cut: `none`, `bitmap`, `journal`, `ppl`.
    pub consistency: &'static str,
    /// How it is.
    pub health: Health,
    /// Why it cannot be used, or what else people should know.
    pub problem: Option<String>,
    /// Its legs by their places, those that are missing included; then other devices.
    pub members: Vec<MemberReport>,
}

/// How an array is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    /// Whether it has all its legs; `None`: too few, or nobody knows.
    pub is_whole: Option<bool>,
    /// Whether it was stopped cleanly, and all of it has been in sync.
    pub is_clean: bool,
    /// Whether it is becoming another one.
    pub is_reshaped: bool,
}

/// A device of an array, or a leg without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberReport {
    /// What people know it by; `None`: it is missing.
    pub device: Option<String>,
    /// Which leg it is.
    pub leg: Option<usize>,
    /// Its events.
    pub events: Option<u64>,
    /// What it is.
    pub standing: Standing,
}

/// What a device is to an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A leg that holds all that it should.
    InSync,
    /// A leg that is filled, so many bytes of it so far.
    Filling(u64),
    /// A leg that is not there.
    Missing,
    /// It is filled to take another leg's place.
    Replacement,
    /// It waits.
    Spare,
    /// It holds the journal.
    Journal,
    /// It failed.
    Faulty,
    /// The others went on without it.
    Away,
    /// It went on without the others.
    Disagrees,
    /// Another device is the same leg, and newer.
    Superseded,
    /// It says something else of the array.
    Foreign,
    /// Nobody can say, as there is no array.
    Unknown,
}

impl Standing {
    /// As programs say it.
    pub fn word(self) -> &'static str {
        match self {
            Self::InSync => "in_sync",
            Self::Filling(_) => "filling",
            Self::Missing => "missing",
            Self::Replacement => "replacement",
            Self::Spare => "spare",
            Self::Journal => "journal",
            Self::Faulty => "faulty",
            Self::Away => "away",
            Self::Disagrees => "disagrees",
            Self::Superseded => "superseded",
            Self::Foreign => "foreign",
            Self::Unknown => "unknown",
        }
    }
}

/// All arrays of which a device was found, by name.
pub fn reports(scan: &Scan) -> Vec<ArrayReport> {
    places(scan).map(report).collect()
}

/// The array called `name`, with or without `md:` in front, or with this UUID.
///
/// # Errors
///
/// There is none, or there are several.
pub fn find<'a>(scan: &'a Scan, name: &str) -> Result<&'a ArrayPlace> {
    let is_meant = |place: &&ArrayPlace| {
        let known = place.name.strip_prefix("md:").unwrap_or(&place.name);
        let host = known.split_once(':').map(|(_, own)| own);
        place.name == name || known == name || host == Some(name) || place.uuid_text() == name
    };
    let mut found = places(scan).filter(is_meant);
    let Some(place) = found.next() else {
        let what = format!(
            "There is no array {name} among the devices that were looked at; ashlar md list shows \
             those that there are, and --devices says where to look"
        );
        return Err(Error::new(Kind::NotFound, what));
    };
    if let Some(other) = found.next() {
        let what = format!(
            "{name} may be {} or {}: name the UUID",
            place.uuid_text(),
            other.uuid_text()
        );
        return Err(Error::new(Kind::Refused, what));
    }
    Ok(place)
}

/// Where all arrays are of which a device was found.
pub fn places(scan: &Scan) -> impl Iterator<Item = &ArrayPlace> {
    scan.devices
        .iter()
        .filter_map(|device| match &device.location.place {
            Place::Array(place) if device.location.window.is_none() => Some(&**place),
            _ => None,
        })
}

/// What is to be said of an array.
fn report(place: &ArrayPlace) -> ArrayReport {
    let claims: Vec<Claim> = place
        .members
        .iter()
        .map(|member| member.claim.clone())
        .collect();
    let judged = judge(&claims);
    let newest = if let Ok(array) = &judged {
        &claims[array.freshest]
    } else {
        let newest = claims.iter().max_by_key(|claim| claim.events);
        newest.expect("an array has members")
    };
    let array = judged.as_ref().ok();
    let level = newest.shape.level;
    ArrayReport {
        name: place.name.clone(),
        uuid: place.uuid_text(),
        level: match level {
            -1 => "linear".into(),
            level => format!("raid{level}"),
        },
        layout: match level {
            5 | 6 | 10 => newest.shape.layout,
            _ => None,
        },
        metadata: newest.place.version(),
        chunk: newest.shape.chunk,
        size: array.and_then(size),
        legs: newest.device_count as usize,
        events: newest.events,
        consistency: match (newest.guard, newest.bitmap) {
            (Guard::Journal, _) => "journal",
            (Guard::PartialParity(_), _) => "ppl",
            (Guard::None, Some(_)) => "bitmap",
            (Guard::None, None) => "none",
        },
        health: Health {
            is_whole: match array.map(|array| array.readiness) {
                Some(Readiness::Whole) => Some(true),
                Some(Readiness::Degraded | Readiness::DirtyDegraded) => Some(false),
                Some(Readiness::NotEnough) | None => None,
            },
            is_clean: newest.resync == Position::End,
            is_reshaped: newest.reshape.is_some(),
        },
        problem: problem(&judged),
        members: members(place, array),
    }
}

fn problem(judged: &dm::Result<Array>) -> Option<String> {
    let array = match judged {
        Ok(array) => array,
        Err(error) => return Some(error.to_string()),
    };
    let has_parity = matches!(
        &array.layout,
        Layout::Redundant(geometry) if matches!(geometry.scheme(), Scheme::Parity(..))
    );
    match array.readiness {
        Readiness::NotEnough => Some("too many of its legs are missing".into()),
        Readiness::DirtyDegraded if has_parity => Some(
            "a leg is missing, and it was not stopped cleanly: what is made up for that leg may be \
             wrong where it was being written"
                .into(),
        ),
        _ => None,
    }
}

fn size(array: &Array) -> Option<u64> {
    match &array.layout {
        Layout::Redundant(geometry) => Some(geometry.size()),
        Layout::Striped(zones) => Some(zones.size()),
        Layout::Linear(spans) => Some(spans.size()),
        Layout::Unknown => None,
    }
}

fn members(place: &ArrayPlace, array: Option<&Array>) -> Vec<MemberReport> {
    let of = |number: usize, standing: Standing| {
        let member = &place.members[number];
        MemberReport {
            device: Some(member.name.clone()),
            leg: match member.claim.role() {
                Role::Leg(leg) => Some(leg as usize),
                Role::Spare | Role::Faulty | Role::Journal => None,
            },
            events: Some(member.claim.events),
            standing,
        }
    };
    let Some(array) = array else {
        let all = 0..place.members.len();
        return all.map(|number| of(number, Standing::Unknown)).collect();
    };
    let legs = array
        .legs
        .iter()
        .enumerate()
        .map(|(number, leg)| match leg {
            None => MemberReport {
                device: None,
                leg: Some(number),
                events: None,
                standing: Standing::Missing,
            },
            Some(leg) => {
                let standing = match leg.valid {
                    Position::End => Standing::InSync,
                    Position::Sector(sector) => Standing::Filling(sector.saturating_mul(512)),
                };
                MemberReport {
                    leg: Some(number),
                    ..of(leg.claim, standing)
                }
            }
        });
    let others = array.verdicts.iter().enumerate();
    let others = others.filter_map(|(number, verdict)| {
        let standing = match verdict {
            Verdict::Leg(_) => return None,
            Verdict::Replacement(_) => Standing::Replacement,
            Verdict::Spare => Standing::Spare,
            Verdict::Journal => Standing::Journal,
            Verdict::Faulty => Standing::Faulty,
            Verdict::Stale => Standing::Away,
            Verdict::Disagrees => Standing::Disagrees,
            Verdict::Superseded => Standing::Superseded,
            Verdict::Foreign => Standing::Foreign,
        };
        Some(of(number, standing))
    });
    let all: Vec<MemberReport> = legs.chain(others).collect();
    let devices = all.iter().filter(|member| member.device.is_some());
    assert_eq!(
        devices.count(),
        place.members.len(),
        "each device is told of once"
    );
    all
}
