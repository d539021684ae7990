//! What arrays there are.

use ashlar::md::{ArrayReport, Health, MemberReport, Standing, reports};
use serde::Serialize;

use crate::args::{Arguments, Error, Flag};
use crate::commands::{Session, scrub};
use crate::output::json::line;
use crate::output::{Form, Units};

/// `--json`
pub(super) const JSON: Flag = Flag::switch(
    scrub::JSON.long,
    "list, create and check: print JSON, an object on a line for each array, or each finding; \
     sizes are bytes.",
);

pub(super) fn list(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let disks = session.disks(arguments)?;
    let all = reports(&disks.scan);
    if arguments.has(&JSON) {
        for array in &all {
            session.print(&line(&told(array)))?;
        }
        return Ok(());
    }
    for text in table(&all) {
        session.line(&text)?;
    }
    Ok(())
}

/// The columns of an array, and those of its devices.
const HEADINGS: [&str; 7] = ["Array", "Level", "Meta", "Chunk", "Size", "Log", "State"];
const LEGS: [&str; 4] = ["  Leg", "Device", "Events", "State"];

/// All arrays, as lines.
pub(super) fn table(all: &[ArrayReport]) -> Vec<String> {
    let mut arrays = vec![HEADINGS.map(str::to_owned)];
    arrays.extend(all.iter().map(row));
    let arrays = aligned(&arrays);
    let mut members = vec![LEGS.map(str::to_owned)];
    let of_array = all.iter().map(|array| array.members.len());
    members.extend(all.iter().flat_map(|array| array.members.iter().map(leg)));
    let members = aligned(&members);
    let (heading, arrays) = arrays.split_first().expect("headings are there");
    let (leg_heading, mut legs) = members.split_first().expect("headings are there");
    let mut lines = Vec::new();
    for ((array, report), count) in arrays.iter().zip(all).zip(of_array) {
        lines.push(heading.clone());
        lines.push(array.clone());
        lines.push(format!("  UUID {}", report.uuid));
        lines.extend(report.problem.iter().map(|why| format!("  WARNING: {why}")));
        lines.push(leg_heading.clone());
        let (own, others) = legs.split_at(count);
        lines.extend(own.iter().cloned());
        legs = others;
    }
    assert!(legs.is_empty(), "each device is of one array");
    lines
}

fn row(array: &ArrayReport) -> [String; 7] {
    let units = Units::default();
    let size = |bytes: u64| units.show(bytes, Form::Short);
    [
        array.name.clone(),
        array.level.clone(),
        array.metadata.to_owned(),
        match array.chunk {
            0 => "-".into(),
            chunk => size(chunk),
        },
        array.size.map_or_else(|| "-".into(), size),
        array.consistency.to_owned(),
        state(array.health).join(", "),
    ]
}

/// An array's state, in mdadm's words where it has some.
fn state(health: Health) -> Vec<&'static str> {
    let mut words = vec![if health.is_clean {
        "clean"
    } else {
        "not clean"
    }];
    match health.is_whole {
        Some(true) => {}
        Some(false) => words.push("degraded"),
        None => words.push("FAILED"),
    }
    if health.is_reshaped {
        words.push("reshaping");
    }
    words
}

fn leg(member: &MemberReport) -> [String; 4] {
    let number = member.leg.map_or_else(|| "-".into(), |leg| leg.to_string());
    let device = member.device.clone().unwrap_or_else(|| "-".into());
    let events = member
        .events
        .map_or_else(|| "-".into(), |events| events.to_string());
    [
        format!("  {number}"),
        device,
        events,
        words(member.standing),
    ]
}

/// What a device is to its array.
fn words(standing: Standing) -> String {
    match standing {
        Standing::InSync => "in sync".into(),
        Standing::Filling(bytes) => {
            let bytes = Units::default().show(bytes, Form::Short);
            format!("being filled, {bytes} so far")
        }
        Standing::Missing => "missing".into(),
        Standing::Replacement => "being filled in place of the leg".into(),
        Standing::Spare => "spare".into(),
        Standing::Journal => "the journal".into(),
        Standing::Faulty => "failed".into(),
        Standing::Away => "not believed: it was away when the others went on".into(),
        Standing::Disagrees => "not believed: it went on without the others".into(),
        Standing::Superseded => "not believed: another one is the same leg, and newer".into(),
        Standing::Foreign => "not believed: it says something else of the array".into(),
        Standing::Unknown => "nobody can say".into(),
    }
}

/// Rows with their columns under each other.
fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> Vec<String> {
    let width = |column: usize| {
        let lens = rows.iter().map(|row| row[column].chars().count());
        lens.max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..COLUMNS).map(width).collect();
    let text = |row: &[String; COLUMNS]| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        cells.join(" ").trim_end().to_owned()
    };
    rows.iter().map(text).collect()
}

#[derive(Serialize)]
struct Told<'a> {
    name: &'a str,
    uuid: &'a str,
    level: &'a str,
    layout: Option<u32>,
    metadata: &'static str,
    chunk: u64,
    size: Option<u64>,
    legs: usize,
    events: u64,
    consistency: &'static str,
    state: Vec<&'static str>,
    problem: Option<&'a str>,
    members: Vec<Member<'a>>,
}

#[derive(Serialize)]
struct Member<'a> {
    leg: Option<usize>,
    device: Option<&'a str>,
    events: Option<u64>,
    state: &'static str,
    filled: Option<u64>,
}

/// An array, for programs.
fn told(array: &ArrayReport) -> impl Serialize + '_ {
    let member = |member: &MemberReport| (member.leg, member.events, member.standing);
    let members = array.members.iter().map(|one| {
        let (leg, events, standing) = member(one);
        Member {
            leg,
            device: one.device.as_deref(),
            events,
            state: standing.word(),
            filled: match standing {
                Standing::Filling(bytes) => Some(bytes),
                _ => None,
            },
        }
    });
    Told {
        name: &array.name,
        uuid: &array.uuid,
        level: &array.level,
        layout: array.layout,
        metadata: array.metadata,
        chunk: array.chunk,
        size: array.size,
        legs: array.legs,
        events: array.events,
        consistency: array.consistency,
        state: state(array.health),
        problem: array.problem.as_deref(),
        members: members.collect(),
    }
}
