//! Where messages go besides the screen: a file (`log/file`), the system's log (`log/syslog`), the
//! journal (`log/journal`, `--journal`).
//!
//! ```text
//!   14:10:57.063221 vgchange[21943]  Volume group "vg" successfully changed     a line of the file
//!   <28>lvm[21943]: …                                                           to /dev/log
//!   MESSAGE=…  PRIORITY=…                                                       to the journal
//! ```
//!
//! Records belong to a thread, as [`ashlar::log`] does. What cannot be written there is lost: a
//! command that has begun goes on. The levels are those of `syslog(3)`; in a file and the system's
//! log stand messages up to `log/level`.
//!
//! Source: the journal's native protocol, <https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ashlar::host::Config;

use super::harmless;
use super::report::{Instant, TimeFormat, Zone};
use crate::args::{Arguments, flags};

const SYSTEM_LOG: &str = "/dev/log";
const JOURNAL: &str = "/run/systemd/journal/socket";
/// `LOG_USER` of `syslog(3)`.
const FACILITY: u8 = 1 << 3;

/// How much a message matters: the numbers of `syslog(3)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// Something failed.
    Error = 3,
    /// It should be known, or it was asked for.
    Warning = 4,
    /// What the command is.
    Notice = 5,
    /// Each thing that was done.
    Debug = 7,
}

/// What goes to the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Journalled {
    command: bool,
    output: bool,
    debug: bool,
}

struct Records {
    /// The name and number of the process, as lines begin.
    who: String,
    zone: Zone,
    format: TimeFormat,
    file: Option<File>,
    system: Option<UnixDatagram>,
    /// `log/level`.
    level: i64,
    journal: Option<UnixDatagram>,
    journalled: Journalled,
}

thread_local! {
    static KEPT: RefCell<Option<Records>> = const { RefCell::new(None) };
}

/// Records what is said on this thread from now on, as the configuration and the options want it.
/// Gives what cannot be done, a line each.
pub(crate) fn begin(config: &Config, arguments: &Arguments) -> Vec<String> {
    begin_with(config, arguments, (SYSTEM_LOG, JOURNAL))
}

fn begin_with(config: &Config, arguments: &Arguments, sockets: (&str, &str)) -> Vec<String> {
    let mut failed = Vec::new();
    let path = config.string("log/file").filter(|path| !path.is_empty());
    let file = path.and_then(|path| {
        let is_fresh = config.flag("log/overwrite", false);
        let mut options = OpenOptions::new();
        options.create(true).mode(0o600);
        options.write(true).truncate(is_fresh).append(!is_fresh);
        let opened = options.open(path);
        let opened = opened.map_err(|error| failed.push(format!("{path}: open failed: {error}")));
        opened.ok()
    });
    let is_system = config.flag("log/syslog", false);
    let journalled = journalled(config, arguments);
    let is_journal = journalled != Journalled::default();
    let records = Records {
        who: format!("{}[{}]", arguments.command(), std::process::id()),
        zone: Zone::local(),
        format: TimeFormat::parse("%H:%M:%S").unwrap_or_default(),
        file,
        system: is_system.then(|| connected(sockets.0)).flatten(),
        level: config.integer("log/level").unwrap_or(0),
        journal: is_journal.then(|| connected(sockets.1)).flatten(),
        journalled,
    };
    let is_any = records.file.is_some() || records.system.is_some() || records.journal.is_some();
    KEPT.set(is_any.then_some(records));
    if journalled.command {
        record(Weight::Notice, arguments.line());
    }
    failed
}

/// Whether details are recorded that nobody is shown.
pub(crate) fn keeps_details() -> bool {
    KEPT.with_borrow(|kept| {
        kept.as_ref().is_some_and(|records| {
            let is_deep = records.level >= Weight::Notice as i64;
            let is_kept = records.file.is_some() || records.system.is_some();
            records.journalled.debug || (is_deep && is_kept)
        })
    })
}

/// Records lines, if they are wanted.
pub(crate) fn record(weight: Weight, text: &str) {
    KEPT.with_borrow_mut(|kept| {
        if let Some(records) = kept {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            lines.for_each(|line| records.keep(weight, &harmless(line)));
        }
    });
}

fn journalled(config: &Config, arguments: &Arguments) -> Journalled {
    let said = arguments.value(&flags::JOURNAL).into_iter();
    let set = config.strings("log/journal").unwrap_or_default();
    let mut all = Journalled::default();
    for word in said.chain(set) {
        match word {
            "command" => all.command = true,
            "output" => all.output = true,
            "debug" => all.debug = true,
            _ => {}
        }
    }
    all
}

fn connected(path: &str) -> Option<UnixDatagram> {
    let socket = UnixDatagram::unbound().ok()?;
    // Whoever reads it may be slow, and nobody waits for that.
    socket.set_nonblocking(true).ok()?;
    socket.connect(path).ok().map(|()| socket)
}

impl Records {
    fn keep(&mut self, weight: Weight, line: &str) {
        let is_wanted = self.level >= weight as i64;
        if let Some(file) = self.file.as_mut().filter(|_| is_wanted) {
            let time = clock(&self.format, &self.zone);
            let _ = writeln!(file, "{time} {}  {line}", self.who);
        }
        if let Some(system) = self.system.as_ref().filter(|_| is_wanted) {
            let pid = std::process::id();
            let text = format!("<{}>lvm[{pid}]: {line}", FACILITY | weight as u8);
            let _ = system.send(text.as_bytes());
        }
        let is_journalled = match weight {
            Weight::Error | Weight::Warning => self.journalled.output,
            Weight::Notice => self.journalled.command || self.journalled.debug,
            Weight::Debug => self.journalled.debug,
        };
        if let Some(journal) = self.journal.as_ref().filter(|_| is_journalled) {
            let priority = weight as u8;
            let text = format!("MESSAGE={line}\nPRIORITY={priority}\nSYSLOG_IDENTIFIER=lvm\n");
            let _ = journal.send(text.as_bytes());
        }
    }
}

/// The time of day, of which people know the zone, with its microseconds.
fn clock(format: &TimeFormat, zone: &Zone) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or(Duration::ZERO);
    let seconds = format.show(zone, Instant(now.as_secs().cast_signed()));
    format!("{seconds}.{:06}", now.subsec_micros())
}

#[cfg(test)]
mod tests;
