//! What `pvs`, `vgs` and `lvs` have in common: from the options and the disks to a report.
//!
//! Which lines a report has depends on the fields that it uses: `vgs -o+lv_name` has one for each
//! volume, `lvs -o+devices` one for each segment, `pvs -o+lv_name` one for each run of extents.

use std::collections::HashMap;
use std::ptr;
use std::time::{SystemTime, UNIX_EPOCH};

use lvm2::model::LvId;

use super::Session;
use crate::args::{Arguments, Error, flags, meant};
use crate::output::fields;
use crate::output::report::{
    ColumnError, Columns, Field, FieldGroup, Format, Headings, Quotes, Report, Selection,
    SelectionError, Shape, Value, Zone,
};
use crate::output::{Binary, Group, History, Row, Style, Units};

/// What the lines of a report are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// Volume groups.
    Vg,
    /// Logical volumes.
    Lv,
    /// Segments of logical volumes.
    Segment,
    /// Physical volumes.
    Pv,
    /// Runs of extents of physical volumes.
    PvSegment,
}

/// One of the reports, before its options are known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    /// What its lines are about, unless its fields ask for more.
    pub(super) subject: Subject,
    /// Columns without `-v`, and with it.
    pub(super) columns: (&'static str, &'static str),
    /// The order of the lines.
    pub(super) sort: &'static str,
}

impl Subject {
    /// The prefix that fields may be named without.
    fn prefix(self) -> &'static str {
        match self {
            Self::Vg => "vg_",
            Self::Lv | Self::Segment => "lv_",
            Self::Pv | Self::PvSegment => "pv_",
        }
    }

    /// What the report is called in JSON and in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Vg => "vg",
            Self::Lv => "lv",
            Self::Segment => "seg",
            Self::Pv => "pv",
            Self::PvSegment => "pvseg",
        }
    }

    /// What the lines are about if these groups of fields are used.
    fn widened(self, groups: &[FieldGroup]) -> Option<Self> {
        let has = |wanted: &[FieldGroup]| groups.iter().any(|group| wanted.contains(group));
        let lv = matches!(self, Self::Lv | Self::Segment)
            || has(&FieldGroup::OF_VOLUMES)
            || has(&[FieldGroup::Segment]);
        let pv = matches!(self, Self::Pv | Self::PvSegment)
            || has(&[FieldGroup::Label, FieldGroup::Pv, FieldGroup::PvSegment]);
        let of_pvs = matches!(self, Self::Pv | Self::PvSegment);
        if lv && pv && !of_pvs {
            return None;
        }
        let pv_segments = self == Self::PvSegment || has(&[FieldGroup::PvSegment]);
        Some(if pv_segments || (lv && pv) {
            Self::PvSegment
        } else if pv {
            Self::Pv
        } else if self == Self::Segment || has(&[FieldGroup::Segment]) {
            Self::Segment
        } else if lv {
            Self::Lv
        } else {
            self
        })
    }
}

/// A report whose options have been understood.
pub(super) struct Plan {
    /// What its lines are about.
    pub(super) subject: Subject,
    asked: Subject,
    is_about_volumes: bool,
    columns: Columns,
    selection: Option<Selection>,
    shape: Shape,
    style: Style,
}

/// What the options of a report ask for.
pub(super) enum Request {
    /// A report.
    Report(Box<Plan>),
    /// A list of fields, which has been printed.
    Help,
}

/// The groups of the fields that a report uses.
fn groups(columns: &Columns, selection: Option<&Selection>) -> Vec<FieldGroup> {
    let shown = columns.shown.iter().copied().flatten();
    let sorted = columns.sorted.iter().map(|(field, _)| *field);
    let selected = selection.into_iter().flat_map(Selection::fields);
    let fields = shown.chain(sorted).chain(selected);
    fields.map(|field: &Field| field.group).collect()
}

/// Understands the options of a report.
pub(super) fn plan(
    kind: Kind,
    arguments: &Arguments,
    session: &mut Session,
) -> Result<Request, Error> {
    let style = style(arguments, session)?;
    let prefix = kind.subject.prefix();
    let (plain, verbose) = kind.columns;
    let default = if arguments.has(&flags::VERBOSE) {
        verbose
    } else {
        plain
    };
    let sort = arguments.value(&flags::SORT).unwrap_or(kind.sort);
    let options = arguments.values(&flags::OPTIONS);
    let columns = match Columns::resolve(fields::ALL, prefix, default, options, sort) {
        Ok(columns) => columns,
        Err(ColumnError::Help) => {
            session.print(&fields::help())?;
            return Ok(Request::Help);
        }
        Err(error) => return Err(Error::failed(error.to_string())),
    };
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let parse = |criteria| {
        Selection::parse(
            criteria,
            fields::ALL,
            prefix,
            now.cast_signed(),
            &style.zone,
        )
    };
    let selection = match arguments.value(&flags::SELECT).map(parse).transpose() {
        Ok(selection) => selection,
        Err(SelectionError::Help) => {
            session.print(&fields::selection_help())?;
            return Ok(Request::Help);
        }
        Err(error) => return Err(Error::failed(error.to_string())),
    };
    let groups = groups(&columns, selection.as_ref());
    let Some(subject) = kind.subject.widened(&groups) else {
        return Err(Error::failed(format!(
            "Can't report LV and PV fields at the same time in report type \"{}\".",
            kind.subject.name()
        )));
    };
    let is_about_volumes = groups
        .iter()
        .any(|group| FieldGroup::OF_VOLUMES.contains(group));
    let shape = shape(arguments)?;
    let asked = kind.subject;
    Ok(Request::Report(Box::new(Plan {
        subject,
        asked,
        is_about_volumes,
        columns,
        selection,
        shape,
        style,
    })))
}

impl Plan {
    /// What the report was asked about, before its fields widened that.
    pub(super) fn asked(&self) -> Subject {
        self.asked
    }

    /// Whether any of its fields is about a volume, which may be active.
    pub(super) fn is_about_volumes(&self) -> bool {
        self.is_about_volumes
    }

    /// Prints the report; `rows` gives its lines one after the other.
    pub(super) fn print(
        self,
        session: &mut Session,
        rows: impl FnOnce(&mut dyn FnMut(Row<'_>) -> std::io::Result<()>) -> std::io::Result<()>,
    ) -> Result<(), Error> {
        // Fields widen what lines are about, not what the report is called.
        let name = self.asked.name();
        let style = self.style;
        let mut report = Report::new(
            name,
            self.columns,
            self.selection,
            self.shape,
            session.out(),
        );
        let mut known = OfVolume::default();
        rows(&mut |row| report.push(|field| known.read(field, &row, &style)))?;
        Ok(report.finish()?)
    }
}

/// What was read of the volume that the last line was about, for the next one: of a volume with a
/// hundred thousand segments there are as many lines, and each would look at all segments again.
#[derive(Default)]
struct OfVolume {
    volume: Option<(*const Group, LvId)>,
    values: HashMap<&'static str, Value>,
}

impl OfVolume {
    fn read(&mut self, field: &'static Field, row: &Row<'_>, style: &Style) -> Value {
        // What such fields say depends on the volume alone.
        let is_of_volume = FieldGroup::OF_VOLUMES.contains(&field.group);
        let volume = row
            .volume()
            .map(|(group, lv, _)| (ptr::from_ref(group), lv));
        if !is_of_volume || volume.is_none() {
            return (field.read)(row, style);
        }
        if self.volume != volume {
            self.volume = volume;
            self.values.clear();
        }
        let value = self.values.entry(field.name);
        value.or_insert_with(|| (field.read)(row, style)).clone()
    }
}

fn style(arguments: &Arguments, session: &Session) -> Result<Style, Error> {
    let mut style = Style {
        zone: Zone::local(),
        ..Style::default()
    };
    if let Some(units) = arguments.value(&flags::UNITS) {
        style.units = Units::parse(units).map_err(|error| {
            let name = session.command();
            Error::usage(format!("{error}: {units}; `{name} --help' lists the units"))
        })?;
    }
    if arguments.has(&flags::NO_SUFFIX) {
        style.units = style.units.without_suffix();
    }
    if arguments.has(&flags::HISTORY) {
        style.history = History::Shown;
    }
    if arguments.has(&flags::BINARY) {
        style.binary = Binary::Numbers;
    }
    Ok(style)
}

fn shape(arguments: &Arguments) -> Result<Shape, Error> {
    let mut shape = Shape::default();
    if let Some(format) = arguments.value(&flags::REPORT_FORMAT) {
        shape.format = match format {
            "basic" => Format::Basic,
            "json" => Format::Json,
            "json_std" => Format::JsonStd,
            other => {
                return Err(wrong_word(
                    "reportformat",
                    other,
                    &["basic", "json", "json_std"],
                ));
            }
        };
    }
    if let Some(headings) = arguments.value(&flags::HEADINGS) {
        shape.headings = match headings {
            "none" | "0" => Headings::None,
            "abbrev" | "1" => Headings::Abbreviated,
            "full" | "2" => Headings::Full,
            other => return Err(wrong_word("headings", other, &["none", "abbrev", "full"])),
        };
    }
    if arguments.has(&flags::NO_HEADINGS) {
        shape.headings = Headings::None;
    }
    if let Some(separator) = arguments.value(&flags::SEPARATOR) {
        separator.clone_into(&mut shape.separator);
        shape.aligned = arguments.has(&flags::ALIGNED);
    }
    if arguments.has(&flags::NAME_PREFIXES) {
        let unquoted = arguments.has(&flags::UNQUOTED);
        shape.prefixes = Some(if unquoted {
            Quotes::None
        } else {
            Quotes::Single
        });
    }
    shape.turned = arguments.has(&flags::ROWS);
    shape.unbuffered = arguments.has(&flags::UNBUFFERED);
    Ok(shape)
}

/// A value that is none of those that an option takes.
pub(super) fn wrong_word(option: &str, word: &str, words: &[&'static str]) -> Error {
    let hint = meant(word, words.iter().copied());
    let list = words.join(", ");
    Error::usage(format!(
        "Invalid argument for --{option}: {word}{hint} (one of {list})"
    ))
}
