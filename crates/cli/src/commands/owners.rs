//! `owners`: which processes serve which volumes.

use ashlar::live::{MirrorStatus, SURVEY_MAX, Surveyed, VolumeStatus, survey};

use super::Session;
use crate::args::{Arguments, Command, Error, Example, flags};
use crate::attachment::{Attachment, Runtime, State};
use crate::output::report::{Cell, Dialect, Value, print_rows};

/// `owners`
pub(super) const COMMAND: Command = Command {
    name: "owners",
    summary: "List the processes that serve volumes for writing",
    operands: "[VG ...]",
    description: "A group whose volumes are served for writing, by `serve' or `attach', is owned \
        by one process, in which commands that change the group run. Lists these processes with \
        the volumes that they serve: for how many clients each is open, how much of a mirror is in \
        sync, which of its images are lost or out of sync, and where volumes are attached. Those \
        of other users are not seen, except by root in its own directory.",
    flags: &[&[flags::REPORT_FORMAT], flags::COMMON],
    examples: &[
        Example {
            line: "ashlar owners",
            does: "lists them",
        },
        Example {
            line: "ashlar owners vg0 --reportformat json",
            does: "tells a program who has vg0",
        },
    ],
    run,
};

/// The headings, and the names in JSON.
const COLUMNS: [(&str, &str); 7] = [
    ("VG", "vg_name"),
    ("PID", "owner_pid"),
    ("LV", "lv_name"),
    ("Users", "lv_users"),
    ("Cpy%Sync", "copy_percent"),
    ("Health", "lv_health_status"),
    ("Attached", "lv_attached"),
];
/// The columns that are numbers.
const NUMBERS: [usize; 3] = [1, 3, 4];

type Row = [String; COLUMNS.len()];

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let attached = attachments()?;
    let mut rows = Vec::new();
    let mut found = Vec::new();
    for owner in survey(None, SURVEY_MAX) {
        if !is_named(arguments, &owner.name) {
            continue;
        }
        if let Err(error) = &owner.volumes {
            let (who, limit) = (owner.who(), SURVEY_MAX.as_secs());
            session.fail_later(&format!(
                "{who} did not say within {limit} s what it serves: {error}"
            ));
        }
        rows.extend(rows_of(&owner, &attached));
        found.push(owner.name);
    }
    match arguments.value(&flags::REPORT_FORMAT) {
        None | Some("basic") => table(session, &rows)?,
        Some("json") => json(session, &rows, Dialect::Strings)?,
        Some("json_std") => json(session, &rows, Dialect::Strict)?,
        Some(other) => {
            return Err(Error::usage(format!(
                "Invalid argument for --reportformat: {other}"
            )));
        }
    }
    for name in arguments.operands() {
        if !found.contains(name) {
            session.fail_later(&format!("Volume group {name} has no owner."));
        }
    }
    Ok(())
}

/// What is attached now.
pub(super) fn attachments() -> Result<Vec<Attachment>, Error> {
    let all = Runtime::open().and_then(|runtime| runtime.attachments());
    let all = all.map_err(|error| Error::failed(error.to_string()))?;
    let served = all.into_iter();
    Ok(served.filter(|one| one.state == State::Served).collect())
}

fn is_named(arguments: &Arguments, group: &str) -> bool {
    let operands = arguments.operands();
    operands.is_empty() || operands.iter().any(|name| name == group)
}

/// One row for each volume; one without a volume where there is none, or none is known.
fn rows_of(owner: &Surveyed, attached: &[Attachment]) -> Vec<Row> {
    let group = &owner.name;
    let pid = owner.pid.map(|pid| pid.to_string()).unwrap_or_default();
    let row = |volume: &str, users: String, copied: String, health: String| {
        let places = attached.iter().filter(|one| one.record.volume == volume);
        let places = places.map(|one| one.record.place().display().to_string());
        let places: Vec<String> = places.collect();
        let plain = volume.strip_prefix(&format!("{group}/")).unwrap_or(volume);
        [
            group.clone(),
            pid.clone(),
            plain.to_owned(),
            users,
            copied,
            health,
            places.join(","),
        ]
    };
    let none = String::new;
    let Ok(volumes) = &owner.volumes else {
        return vec![row("", none(), none(), "unknown".to_owned())];
    };
    if volumes.is_empty() {
        return vec![row("", "0".to_owned(), none(), none())];
    }
    let mut volumes: Vec<&VolumeStatus> = volumes.iter().collect();
    volumes.sort_by(|a, b| a.name.cmp(&b.name));
    let rows = volumes.into_iter().map(|volume| {
        let users = volume.users.to_string();
        row(&volume.name, users, copied(volume), health(volume))
    });
    rows.collect()
}

/// How much of a mirror is in sync.
fn copied(volume: &VolumeStatus) -> String {
    let mut mirrors = volume.mirrors.iter();
    let mirror = mirrors.find(|mirror| Some(mirror.lv) == volume.uuid);
    let percent = mirror.map(|mirror| Value::percent(mirror.in_sync, mirror.regions));
    percent.map_or_else(String::new, |percent| percent.text.into_owned())
}

/// The images that are not used, or not yet: `data_mimage_1 lost`.
fn health(volume: &VolumeStatus) -> String {
    let images = volume.mirrors.iter().flat_map(MirrorStatus::failed);
    let images = images.map(|image| format!("{} {}", image.name, image.state.word()));
    images.collect::<Vec<_>>().join(", ")
}

fn table(session: &mut Session, rows: &[Row]) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let headings = COLUMNS.map(|(heading, _)| heading.to_owned());
    let all: Vec<&Row> = std::iter::once(&headings).chain(rows).collect();
    let width = |column: usize| all.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    for row in all {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let width = widths[column];
            if NUMBERS.contains(&column) {
                format!("{cell:>width$}")
            } else {
                format!("{cell:width$}")
            }
        });
        let cells: Vec<String> = cells.collect();
        session.line(cells.join(" ").trim_end())?;
    }
    Ok(())
}

/// As reports have it: every value a string, unless numbers are to be numbers.
fn json(session: &mut Session, rows: &[Row], dialect: Dialect) -> Result<(), Error> {
    let rows = rows.iter().map(|row| {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let cell = match dialect {
                Dialect::Strict if NUMBERS.contains(&column) => Cell::number(cell),
                _ => Cell::Text(cell),
            };
            (COLUMNS[column].1, cell)
        });
        cells.collect()
    });
    let mut text = Vec::new();
    print_rows("owner", rows.collect(), &mut text).expect("memory takes all");
    session.print(&String::from_utf8(text).expect("JSON is UTF-8"))?;
    Ok(())
}
