//! What `pvs`, `vgs` and `lvs` have in common: from the options and the disks to a report.
//!
//! Which lines a report has depends on the fields that it uses: `vgs -o+lv_name` has one for each
//! volume, `lvs -o+devices` one for each segment, `pvs -o+lv_name` one for each run of extents.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ptr;
use std::time::{SystemTime, UNIX_EPOCH};

use ashlar::host::Config;
use lvm2::model::LvId;

use super::Session;
use super::session::TIME_FORMAT;
use crate::args::{Arguments, Error, Flag, flags, meant};
use crate::output::fields;
use crate::output::report::{
    ColumnError, Columns, Field, FieldGroup, Fields, Format, Headings, Quotes, Report, Selection,
    SelectionError, Shape, TimeFormat, Value, Zone,
};
use crate::output::{Binary, Group, History, Row, Style};

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
    /// Types of block devices.
    DeviceType,
    /// What a command said.
    Log,
}

/// One of the reports, before its options are known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    /// What its lines are about, unless its fields ask for more.
    pub(super) subject: Subject,
    /// The settings that name its columns, without `-v` and with it.
    pub(super) columns: (&'static str, &'static str),
    /// The setting that gives the order of its lines.
    pub(super) sort: &'static str,
    /// Whether it is one of several, whose options all stand behind `--configreport`.
    pub(super) is_part: bool,
}

impl Subject {
    /// The prefix that fields may be named without.
    fn prefix(self) -> &'static str {
        match self {
            Self::Vg => "vg_",
            Self::Lv | Self::Segment => "lv_",
            Self::Pv | Self::PvSegment => "pv_",
            Self::DeviceType => "devtype_",
            Self::Log => "log_",
        }
    }

    /// The groups of fields that it is about.
    fn groups(self) -> &'static [FieldGroup] {
        use FieldGroup as G;
        match self {
            Self::Vg => &[G::Vg],
            Self::Lv => &[G::Lv, G::LvInfo, G::LvStatus, G::LvInfoStatus],
            Self::Segment => &[G::Lv, G::Segment],
            Self::Pv => &[G::Label, G::Pv],
            Self::PvSegment => &[G::Label, G::PvSegment],
            Self::DeviceType => &[G::DeviceType],
            Self::Log => &[G::Log],
        }
    }

    /// The fields that the report may use.
    fn fields(self) -> Fields {
        match self {
            Self::DeviceType => fields::OF_DEVICE_TYPES,
            Self::Log => fields::OF_LOG,
            _ => fields::ALL,
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
            Self::DeviceType => "devtype",
            Self::Log => "log",
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

impl Kind {
    /// The options that are about this report: those behind no `--configreport`, or behind its own.
    /// Where it is the only one, what has segments is the same report.
    fn asked(self, arguments: &Arguments) -> Result<Asked<'_>, Error> {
        const REPORTS: [&str; 6] = ["log", "vg", "lv", "pv", "pvseg", "seg"];
        let plain = |name| match name {
            "pvseg" if !self.is_part => "pv",
            "seg" if !self.is_part => "lv",
            name => name,
        };
        let name = plain(self.subject.name());
        let mut about = if self.is_part { "" } else { name };
        let mut options = Vec::new();
        for (option, value) in arguments.given() {
            if option == flags::CONFIG_REPORT.long {
                if !REPORTS.contains(&value) {
                    return Err(wrong_word(option, value, &REPORTS));
                }
                about = plain(value);
            } else if option == flags::OPTIONS.long && value.is_empty() {
                let error = ColumnError::Empty(String::new());
                return Err(Error::failed(error.to_string()));
            } else if about == name {
                options.push((option, value));
            }
        }
        Ok(Asked(options))
    }
}

/// Options with their values.
struct Asked<'a>(Vec<(&'static str, &'a str)>);

impl<'a> Asked<'a> {
    /// The values of `flag`.
    fn get(&self, flag: &Flag) -> Vec<&'a str> {
        let its = self.0.iter().filter(|(option, _)| *option == flag.long);
        its.map(|(_, value)| *value).collect()
    }
}

/// A report whose options have been understood.
pub(super) struct Plan {
    /// What its lines are about.
    pub(super) subject: Subject,
    asked: Subject,
    is_about_volumes: bool,
    is_about_labels: bool,
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
    let config = session.config(arguments)?;
    let style = style(arguments, &config, session)?;
    let (prefix, all) = (kind.subject.prefix(), kind.subject.fields());
    let (plain, verbose) = kind.columns;
    let default = if arguments.has(&flags::VERBOSE) {
        verbose
    } else {
        plain
    };
    let asked = kind.asked(arguments)?;
    let of_all = config.text(kind.sort);
    let sort = asked.get(&flags::SORT).last().copied().unwrap_or(of_all);
    let of_report = (prefix, kind.subject.groups());
    let compacted = format!("#{}", config.text("report/compact_output_cols"));
    let options = std::iter::once(&*compacted).chain(asked.get(&flags::OPTIONS));
    let columns = match Columns::resolve(all, of_report, config.text(default), options, sort) {
        Ok(columns) if config.flag("report/compact_output", false) => columns.all_compacted(),
        Ok(columns) => columns,
        Err(ColumnError::Help) => {
            session.print(&fields::help(all))?;
            return Ok(Request::Help);
        }
        Err(error) => return Err(Error::failed(error.to_string())),
    };
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let parse = |criteria| Selection::parse(criteria, all, prefix, now.cast_signed(), &style.zone);
    let criteria = asked.get(&flags::SELECT).last().copied();
    let selection = match criteria.map(parse).transpose() {
        Ok(selection) => selection,
        Err(SelectionError::Help) => {
            session.print(&fields::selection_help(all))?;
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
    let shape = shape(arguments, &config)?;
    let asked = kind.subject;
    Ok(Request::Report(Box::new(Plan {
        subject,
        asked,
        is_about_volumes,
        is_about_labels: asked == Subject::Pv && groups.iter().all(|of| *of == FieldGroup::Label),
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

    /// Whether it is about physical volumes, and no field needs more than their labels.
    pub(super) fn is_about_labels(&self) -> bool {
        self.is_about_labels
    }

    /// Prints the report; `rows` gives its lines one after the other.
    pub(super) fn print(&self, session: &mut Session, rows: impl Rows) -> Result<(), Error> {
        Ok(self.fill(self.report(session.out()), rows)?)
    }

    /// Whether any of these lines meets the criteria, if there are some.
    pub(super) fn is_met(&self, rows: impl Rows) -> Result<bool, Error> {
        let Some(selection) = &self.selection else {
            return Ok(true);
        };
        let mut known = OfVolume::default();
        let mut is_met = false;
        rows(&mut |row| {
            is_met |= selection.matches(&mut |field| known.read(field, &row, &self.style));
            Ok(())
        })?;
        Ok(is_met)
    }

    /// Prints it as the log of a command, with its headings also where it has no lines.
    pub(super) fn print_log(&self, session: &mut Session, rows: impl Rows) -> Result<(), Error> {
        Ok(self.fill(self.report(session.out()).of_log(), rows)?)
    }

    /// Prints it as a part of a larger report.
    pub(super) fn print_within(&self, out: &mut dyn Write, rows: impl Rows) -> io::Result<()> {
        self.fill(self.report(out).within(), rows)
    }

    /// The form of the report.
    pub(super) fn format(&self) -> Format {
        self.shape.format
    }

    fn report<'a>(&'a self, out: &'a mut dyn Write) -> Report<'a> {
        // Fields widen what lines are about, not what the report is called.
        let (name, selection) = (self.asked.name(), self.selection.as_ref());
        Report::new(name, &self.columns, selection, &self.shape, out)
    }

    fn fill(&self, mut report: Report<'_>, rows: impl Rows) -> io::Result<()> {
        let mut known = OfVolume::default();
        rows(&mut |row| report.push(|field| known.read(field, &row, &self.style)))?;
        report.finish()
    }
}

/// What gives the lines of a report, one after the other.
pub(super) trait Rows:
    FnOnce(&mut dyn FnMut(Row<'_>) -> io::Result<()>) -> io::Result<()>
{
}

impl<R> Rows for R where R: FnOnce(&mut dyn FnMut(Row<'_>) -> io::Result<()>) -> io::Result<()> {}

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

fn style(arguments: &Arguments, config: &Config, session: &mut Session) -> Result<Style, Error> {
    let mut style = Style {
        zone: Zone::local(),
        // Another one was refused where the configuration was read.
        time_format: TimeFormat::parse(config.text(TIME_FORMAT)).unwrap_or_default(),
        units: session.units(arguments)?,
        ..Style::default()
    };
    if arguments.has(&flags::HISTORY) {
        style.history = History::Shown;
    }
    if arguments.has(&flags::BINARY) || config.flag("report/binary_values_as_numeric", false) {
        style.binary = Binary::Numbers;
    }
    Ok(style)
}

fn shape(arguments: &Arguments, config: &Config) -> Result<Shape, Error> {
    let mut shape = shape_of(config)?;
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
        shape.aligned = false;
    }
    shape.aligned |= arguments.has(&flags::ALIGNED);
    if arguments.has(&flags::NAME_PREFIXES) {
        // Pairs are for programs: never padded.
        shape.aligned = false;
        shape.prefixed = true;
    }
    if arguments.has(&flags::UNQUOTED) {
        shape.quotes = Quotes::None;
    }
    shape.turned |= arguments.has(&flags::ROWS);
    // What is to be sorted has to be known whole.
    shape.unbuffered |= arguments.has(&flags::UNBUFFERED) && !arguments.has(&flags::SORT);
    Ok(shape)
}

/// The form that the configuration asks for.
fn shape_of(config: &Config) -> Result<Shape, Error> {
    let format = match config.text("report/output_format") {
        "basic" => Format::Basic,
        "json" => Format::Json,
        "json_std" => Format::JsonStd,
        other => {
            return Err(Error::failed(format!(
                "{other}: unknown report format.\nSupported report formats: basic, json, json_std."
            )));
        }
    };
    Ok(Shape {
        format,
        headings: if config.flag("report/headings", true) {
            Headings::Abbreviated
        } else {
            Headings::None
        },
        separator: config.text("report/separator").to_owned(),
        list_separator: config.text("report/list_item_separator").to_owned(),
        aligned: config.flag("report/aligned", true),
        prefixed: config.flag("report/prefixes", false),
        quotes: if config.flag("report/quoted", true) {
            Quotes::Single
        } else {
            Quotes::None
        },
        turned: config.flag("report/columns_as_rows", false),
        unbuffered: !config.flag("report/buffered", true),
    })
}

/// A value that is none of those that an option takes.
pub(super) fn wrong_word(option: &str, word: &str, words: &[&'static str]) -> Error {
    let hint = meant(word, words.iter().copied());
    let list = words.join(", ");
    Error::syntax(format!(
        "Invalid argument for --{option}: {word}{hint} (one of {list})"
    ))
}
