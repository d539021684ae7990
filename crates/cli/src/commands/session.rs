//! What a command may use: its output, messages to people, and the disks.
//!
//! Output is buffered and goes to standard output; messages go to standard error behind two
//! spaces, as LVM2 prints them. A command that could do only a part says so with
//! [`Session::fail_later`] and goes on; its exit status is then 5.

use std::collections::HashSet;
use std::io::{self, BufWriter, Stderr, Stdout, Write};
use std::path::Path;
use std::rc::Rc;

use ashlar::host::{Config, DeviceSource, Host};
use ashlar::scan::{Finding, Options, Scan, Severity, scan};

use super::activity;
use super::dispatch::is_called_as_lvm2;
use super::warnings::{Interest, group_behind, is_of_group};
use crate::args::{Arguments, Command, Error, flags, from_settings, settings};
use crate::output::fields::{LogEntry, LogKind, LogObject};
use crate::output::records::{Weight, record};
use crate::output::report::TimeFormat;
use crate::output::{BLANKS, Live, Prefixed, Units, View, harmless};

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Only errors.
    Quiet,
    /// Warnings, too.
    Normal,
    /// What is done, too.
    Verbose,
}

impl Verbosity {
    /// What the options ask for.
    fn of(arguments: &Arguments) -> Self {
        if arguments.count(&flags::QUIET) >= 2 {
            Self::Quiet
        } else if arguments.has(&flags::VERBOSE) {
            Self::Verbose
        } else {
            Self::Normal
        }
    }
}

/// A command under way.
pub(crate) struct Session {
    out: Prefixed<BufWriter<Stdout>>,
    err: Stderr,
    /// What messages begin with.
    prefix: String,
    verbosity: Verbosity,
    failed: bool,
    /// What was found and told.
    told: HashSet<String>,
    command: &'static str,
    /// What is noted instead of being said, and what that is about.
    log: Option<Vec<LogEntry>>,
    object: LogObject,
    /// The number of the last note, also of those that are left out.
    noted: u64,
    /// Where nothing is printed.
    nowhere: io::Sink,
    /// The configuration, with the settings of the command line beside it.
    config: Option<(String, Rc<Config>)>,
}

/// What a command found when it looked.
pub(crate) struct Disks {
    /// The machine and its configuration.
    pub(crate) host: Host,
    /// Where its devices come from.
    pub(crate) source: DeviceSource,
    /// What is on the disks.
    pub(crate) scan: Scan,
}

const BUFFER: usize = 64 * 1024;
/// How times are written.
pub(super) const TIME_FORMAT: &str = "report/time_format";
/// The exit status where files of the configuration are wrong.
const STATUS_OF_FILES: u8 = 4;

impl Session {
    pub(super) fn new() -> Self {
        Self {
            out: Prefixed::new(BufWriter::with_capacity(BUFFER, io::stdout())),
            err: io::stderr(),
            prefix: BLANKS.to_owned(),
            verbosity: Verbosity::Normal,
            failed: false,
            told: HashSet::new(),
            command: "ashlar",
            log: None,
            object: LogObject::default(),
            noted: 0,
            nowhere: io::sink(),
            config: None,
        }
    }

    pub(super) fn begin(&mut self, command: &'static Command, arguments: &Arguments) {
        self.command = command.name;
        self.verbosity = Verbosity::of(arguments);
        // Whoever needs a configuration that cannot be read says so.
        if let Ok(config) = self.config(arguments) {
            let name = config.flag("log/command_names", false);
            let name = if name { self.command } else { "" };
            self.prefix = format!("{name}{}", config.string("log/prefix").unwrap_or(BLANKS));
            self.out.set(&self.prefix);
        }
    }

    /// Adds to the arguments of a command that has begun what settings say.
    pub(super) fn add_settings(&mut self, command: &'static Command, arguments: &mut Arguments) {
        if let Ok(config) = self.config(arguments) {
            from_settings::apply(command, &config, arguments);
            self.verbosity = Verbosity::of(arguments);
        }
    }

    /// The configuration, with the settings that the options add.
    pub(crate) fn config(&mut self, arguments: &Arguments) -> Result<Rc<Config>, Error> {
        if let Some((line, config)) = &self.config
            && line == arguments.line()
        {
            return Ok(Rc::clone(config));
        }
        let mut config = Config::from_environment().map_err(|error| failed(&error))?;
        let added = settings::add(&mut config, arguments);
        let complaints = config.complaints();
        for complaint in &complaints {
            if !self.told.insert(complaint.clone()) {
                continue;
            }
            if is_called_as_lvm2() {
                self.error(complaint);
            } else {
                self.tell(complaint);
            }
        }
        if !complaints.is_empty() && config.flag("config/abort_on_errors", false) {
            return Err(Error::failed("LVM_ configuration invalid."));
        }
        added?;
        self.check_time_format(&config, arguments)?;
        let config = Rc::new(config);
        self.config = Some((arguments.line().to_owned(), Rc::clone(&config)));
        Ok(config)
    }

    /// Refuses a configuration by which no time could be shown, as stock does.
    fn check_time_format(&mut self, config: &Config, arguments: &Arguments) -> Result<(), Error> {
        let Err(wrong) = TimeFormat::parse(config.text(TIME_FORMAT)) else {
            return Ok(());
        };
        let what = wrong.to_string();
        if arguments.has(&flags::CONFIG) {
            let what = format!("{what}\nUpdated config file invalid. Aborting.");
            return Err(Error::failed(what));
        }
        if self.told.insert(what.clone()) {
            self.error(&what);
        }
        Err(Error::ended(STATUS_OF_FILES))
    }

    /// The units of sizes: those of the options, else those of the configuration.
    pub(crate) fn units(&mut self, arguments: &Arguments) -> Result<Units, Error> {
        let config = self.config(arguments)?;
        let units = if let Some(units) = arguments.value(&flags::UNITS) {
            Units::parse(units).map_err(|error| {
                let name = self.command;
                Error::usage(format!("{error}: {units}; `{name} --help' lists the units"))
            })?
        } else {
            let units = config.text("global/units");
            Units::parse(units).map_err(|_| {
                let what = "Unrecognised configuration setting for global/units";
                Error::failed(format!("{what}: {units}"))
            })?
        };
        if arguments.has(&flags::NO_SUFFIX) || !config.flag("global/suffix", true) {
            return Ok(units.without_suffix());
        }
        Ok(units)
    }

    /// The name of the command.
    pub(crate) fn command(&self) -> &'static str {
        self.command
    }

    /// Standard output; nowhere while what is said is noted.
    pub(crate) fn out(&mut self) -> &mut dyn Write {
        match self.log {
            Some(_) => &mut self.nowhere,
            None => &mut self.out,
        }
    }

    /// Notes from now on what would be said, and prints nothing (`--logonly`).
    pub(super) fn begin_log(&mut self) {
        self.log = Some(Vec::new());
    }

    /// What was noted.
    pub(super) fn end_log(&mut self) -> Vec<LogEntry> {
        self.log.take().unwrap_or_default()
    }

    /// What is said next is about this.
    pub(super) fn log_object(&mut self, object: LogObject) {
        self.object = object;
    }

    /// So many objects went well, which is counted.
    pub(super) fn log_successes(&mut self, count: usize) {
        self.noted += count as u64;
    }

    /// Whether anything was counted or noted.
    pub(super) fn has_counted(&self) -> bool {
        self.noted > 0
    }

    /// Notes why a command does nothing, where that is noted: then it was said.
    pub(super) fn refused(&mut self, kind: &'static str, why: Error) -> Error {
        if self.log.is_none() {
            return why;
        }
        self.log_object(LogObject {
            kind,
            ..LogObject::default()
        });
        self.error(&why.to_string());
        why.said()
    }

    /// It did not go well for the object.
    pub(super) fn log_failure(&mut self) {
        self.note(LogKind::Failure, "failure");
    }

    /// Notes a message, where messages are noted.
    fn note(&mut self, kind: LogKind, message: &str) -> bool {
        let Some(log) = &mut self.log else {
            return false;
        };
        for line in message.lines() {
            self.noted += 1;
            log.push(LogEntry {
                number: self.noted,
                kind,
                object: self.object.clone(),
                message: line.to_owned(),
            });
        }
        true
    }

    /// Whether more is to be said.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbosity >= Verbosity::Verbose
    }

    /// Prints text, lines and tabs as they are.
    pub(crate) fn print(&mut self, text: &str) -> io::Result<()> {
        self.out().write_all(harmless(text).as_bytes())
    }

    /// Prints a line behind two spaces.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out(), "  {}", harmless(text))
    }

    /// Tells people about an error; what was printed before stays before.
    pub(crate) fn error(&mut self, message: &str) {
        if self.note(LogKind::Error, message) {
            return;
        }
        record(Weight::Error, message);
        let _ = self.out.flush();
        let prefix = &self.prefix;
        let message = harmless(message).replace('\n', &format!("\n{prefix}"));
        // Nobody can be told that standard error is closed.
        let _ = writeln!(self.err, "{prefix}{message}");
    }

    /// Tells people about something that they should know, unless they want to know nothing.
    pub(crate) fn tell(&mut self, message: &str) {
        if self.verbosity > Verbosity::Quiet && !self.note(LogKind::Warning, message) {
            self.error(message);
        }
    }

    /// The command goes on, and fails at its end.
    pub(crate) fn fail_later(&mut self, message: &str) {
        self.error(message);
        self.failed = true;
    }

    /// Looks at the disks that the options name, for a report.
    pub(crate) fn view(&mut self, arguments: &Arguments) -> Result<View, Error> {
        let config = self.config(arguments)?;
        let marks = config.flag("report/mark_hidden_devices", true);
        let mut view = View::new(self.disks(arguments)?.scan);
        if config.flag("report/two_word_unknown_device", false) {
            view.unknown_device = "unknown device";
        }
        view.groups
            .iter_mut()
            .for_each(|group| group.marks_hidden = marks);
        Ok(view)
    }

    /// The same for a report about labels: what is wrong with groups is not told.
    pub(super) fn view_of_labels(&mut self, arguments: &Arguments) -> Result<View, Error> {
        let disks = self.quiet_disks(arguments)?;
        self.tell_found(&disks, arguments, |finding| !is_of_group(finding.kind));
        Ok(View::new(disks.scan))
    }

    /// The same, with which volumes are active.
    pub(crate) fn live_view(&mut self, arguments: &Arguments) -> Result<View, Error> {
        let mut view = self.view(arguments)?;
        for warning in activity::look(&mut view) {
            self.tell(&warning);
        }
        Ok(view)
    }

    /// The same for a report, which as stock's without its driver does not know what is active.
    pub(crate) fn report_view(&mut self, arguments: &Arguments) -> Result<View, Error> {
        if arguments.value(&flags::DRIVER_LOADED) != Some("n") {
            return self.live_view(arguments);
        }
        let mut view = self.view(arguments)?;
        view.groups
            .iter_mut()
            .for_each(|group| group.live = Live::Unknown);
        Ok(view)
    }

    /// Looks at the disks that the options name, and says nothing about them.
    pub(super) fn quiet_disks(&mut self, arguments: &Arguments) -> Result<Disks, Error> {
        let config = self.config(arguments)?;
        let host = Host::with_config(Config::clone(&config));
        let listed: Vec<&str> = arguments.values(&flags::DEVICES).collect();
        let source = DeviceSource::from_environment(&listed).map_err(|error| failed(&error))?;
        let source = source.naming(arguments.named_devices(Path::new("")));
        let scan = scan(&host, &source, &Options::default()).map_err(|error| failed(&error))?;
        Ok(Disks { host, source, scan })
    }

    /// Looks at the disks that the options name. What is wrong with some of them is told, and
    /// does not hide the others.
    pub(crate) fn disks(&mut self, arguments: &Arguments) -> Result<Disks, Error> {
        let disks = self.quiet_disks(arguments)?;
        self.tell_found(&disks, arguments, |_| true);
        Ok(disks)
    }

    /// Says what is wrong with disks, of what the command and `is_wanted` want to know.
    pub(super) fn tell_found(
        &mut self,
        disks: &Disks,
        arguments: &Arguments,
        is_wanted: impl Fn(&Finding) -> bool,
    ) {
        let scan = &disks.scan;
        let interest = Interest::of(self.command, arguments, &disks.host.config);
        for (finding, lines) in interest.said(scan) {
            if !is_wanted(finding) {
                continue;
            }
            // Nobody names a server by accident, as a folder may hold a file by accident.
            let is_server = finding
                .device
                .is_some_and(|index| scan.device(index).location.path().is_none());
            let object =
                std::mem::replace(&mut self.object, log_object(scan, finding, self.command));
            for text in lines {
                self.tell_of(finding, (is_server, interest.is_loud()), &text);
            }
            self.object = object;
        }
    }

    fn tell_of(&mut self, finding: &Finding, (is_server, is_loud): (bool, bool), text: &str) {
        // The same again says nothing.
        if !self.told.insert(text.to_owned()) {
            return;
        }
        match finding.severity {
            // What was named and is not there makes the command fail; a device that cannot be
            // read may not concern it.
            Severity::Error if finding.device.is_none() && finding.group.is_none() => {
                self.fail_later(text);
            }
            Severity::Error if is_server => self.fail_later(text),
            Severity::Error => self.error(text),
            Severity::Warning if is_loud => {
                if !self.note(LogKind::Warning, text) {
                    self.error(text);
                }
            }
            Severity::Warning => self.tell(text),
            // The log has it.
            Severity::Note => {}
        }
    }

    pub(super) fn finish(&mut self) -> Result<(), Error> {
        self.out.flush()?;
        if self.failed {
            Err(Error::reported())
        } else {
            Ok(())
        }
    }
}

/// What a finding is about in a command's log: the group that it is seen in, or none of the objects
/// that the command reports.
fn log_object(scan: &Scan, finding: &Finding, command: &str) -> LogObject {
    let group = group_behind(finding).and_then(|uuid| scan.group(uuid));
    let kind = match command {
        "lvs" if group.is_none() => "lv",
        "pvs" if group.is_none() => "pv",
        _ => "vg",
    };
    LogObject {
        kind,
        name: group.map_or_else(String::new, |group| group.name.clone()),
        id: group.map_or_else(String::new, |group| group.uuid.to_string()),
        ..LogObject::default()
    }
}

/// What the library could not do, as a failure of the command.
fn failed(error: &ashlar::Error) -> Error {
    Error::failed(error.to_string())
}
