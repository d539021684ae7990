//! Copying a volume: one salvage, whatever takes the copy, and what is said of what is not there.
//!
//! Without --partial the salvage ends with the first read that fails. Into a stream it goes in
//! order, into anything else in whatever order gets most of a disk that is dying; then a journal
//! says how far it is, and signals end it so that it can be gone on with.

use std::path::Path;

use ashlar::activate::MissingPolicy;
use block::salvage::{
    Direction, Map, OnError, Options, Rescuer, Status, salvage, salvage_in_order,
};
use block::{Device, Piece, Range};
use dm::table::{Hint, Leaf, Table};
use dm::volume::Access;

use super::bar::Bar;
use super::journal::Journal;
use super::places;
use super::signals::Signals;
use super::target::Target;
use crate::args::{Arguments, Error, Flag};
use crate::commands::open::{Opened, Opener};
use crate::commands::{Disks, Session};

/// `--retries`
pub(in crate::commands) const RETRIES: Flag = Flag::value(
    "retries",
    "Number",
    "With --partial: read blocks that could not be read so many times again, when all else is \
     there; 0 if left out.",
);
/// `--reverse`
pub(super) const REVERSE: Flag = Flag::switch(
    "reverse",
    "With --partial: begin at the end of the volume. What a disk does not give after a bad place \
     it may give before one.",
);

/// A volume that is copied, and how.
pub(in crate::commands) struct Job<'a> {
    disks: &'a Disks,
    opened: Opened,
    on_error: OnError,
    direction: Direction,
}

/// Whether all of a volume was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Outcome {
    Whole,
    Incomplete,
}

impl<'a> Job<'a> {
    /// Copies `opened`, which is one of `disks`, as the arguments say.
    pub(in crate::commands) fn new(
        disks: &'a Disks,
        opened: Opened,
        arguments: &Arguments,
    ) -> Result<Self, Error> {
        let missing = Opener::options(arguments, Access::ReadOnly)?.missing;
        let retries = arguments.value(&RETRIES);
        let count = retries.map_or(Ok(0), str::parse).map_err(|_| {
            let word = retries.unwrap_or_default();
            Error::usage(format!("--retries takes a number of times, not {word}"))
        })?;
        let is_partial = missing == MissingPolicy::Partial;
        if !is_partial && (retries.is_some() || arguments.has(&REVERSE)) {
            return Err(Error::usage(
                "--retries and --reverse are for copies that go on behind what cannot be read: \
                 add --partial",
            ));
        }
        Ok(Self {
            disks,
            opened,
            on_error: if is_partial {
                OnError::GoOn { retries: count }
            } else {
                OnError::Stop
            },
            direction: if arguments.has(&REVERSE) {
                Direction::Reverse
            } else {
                Direction::Forward
            },
        })
    }

    /// What is copied.
    pub(super) fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Copies the volume in order.
    pub(in crate::commands) fn copy_in_order(
        &self,
        session: &mut Session,
        target: &mut Target,
        bar: Bar,
    ) -> Result<Outcome, Error> {
        let mut map = Map::new(self.opened.volume.info().size);
        let mut keeper = Keeper {
            target,
            bar,
            journal: None,
            signals: None,
        };
        let copied = self.with_options(|options| {
            salvage_in_order(&self.opened.volume, &mut map, options, &mut keeper)
        });
        keeper.bar.clear();
        copied?;
        Ok(self.summary(session, &map, "the output"))
    }

    /// Copies what of the volume `map` does not call finished, and makes it durable; `goes_on` is
    /// the command that goes on with it after it was ended.
    pub(super) fn copy_to(
        &self,
        session: &mut Session,
        (mut journal, mut map): (Option<Journal>, Map),
        mut target: Target,
        to: &str,
        goes_on: &str,
    ) -> Result<Outcome, Error> {
        let signals = Signals::watch()?;
        let mut keeper = Keeper {
            target: &mut target,
            bar: Bar::new(map.size()),
            journal: journal.as_mut(),
            signals: Some(&signals),
        };
        let copied = self
            .with_options(|options| salvage(&self.opened.volume, &mut map, options, &mut keeper));
        keeper.bar.clear();
        let copied = copied.and_then(|()| {
            for (run, _) in map.runs().filter(|(_, s)| *s != Status::Finished) {
                target.blank(run.start(), run.len())?;
            }
            target.sync()
        });
        if let Err(error) = copied {
            let kept = journal.is_some_and(|mut journal| {
                let kept = journal.checkpoint(&map, || target.sync());
                kept.map_err(|failure| session.error(&failure.to_string()))
                    .is_ok()
            });
            return Err(self.ended(session, error, &map, to, kept.then_some(goes_on)));
        }
        let left = journal.map(|journal| {
            let path = journal.path().to_owned();
            Ok::<_, Error>(journal.finish(&map)?.then_some(path))
        });
        let left = left.transpose()?.flatten();
        let outcome = self.summary(session, &map, to);
        if let (Outcome::Incomplete, Some(path)) = (outcome, left) {
            session.error(&format!(
                "{} says where. When a disk is back, or to try bad blocks again with --retries: \
                 {goes_on}",
                path.display()
            ));
        }
        Ok(outcome)
    }

    fn with_options<T>(
        &self,
        work: impl FnOnce(Options<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let table = Table::compile(&self.opened.layout).map_err(|error| {
            let what = format!("{} cannot be copied", self.opened.name);
            Error::failed(what).because(error)
        })?;
        let lost = |range| match self.on_error {
            // The first read of it says what is wrong.
            OnError::Stop => Vec::new(),
            OnError::GoOn { .. } => lost(&table, range),
        };
        work(Options {
            on_error: self.on_error,
            direction: self.direction,
            lost: &lost,
        })
    }

    /// What is said of a copy that was ended.
    fn ended(
        &self,
        session: &mut Session,
        error: Error,
        map: &Map,
        to: &str,
        goes_on: Option<&str>,
    ) -> Error {
        let (from, done, size) = (&self.opened.name, map.bytes(Status::Finished), map.size());
        let is_signal = matches!(error.kind(), crate::args::Kind::Ended(_));
        let how = if is_signal {
            "was interrupted"
        } else {
            "ended early"
        };
        let mut said = format!(
            "Copying {from} to {to} {how}; {to} is incomplete: {done} of {size} bytes are there"
        );
        if let Some(command) = goes_on {
            said.push_str("\nThis goes on with it: ");
            said.push_str(command);
        }
        if is_signal {
            session.error(&said);
            return error;
        }
        if self.on_error == OnError::Stop {
            said.push_str("\n--partial goes on behind what cannot be read");
        }
        Error::failed(format!("{error}\n{said}"))
    }

    /// Says what is not there, and on which disks it was.
    fn summary(&self, session: &mut Session, map: &Map, to: &str) -> Outcome {
        let missing = map.size() - map.bytes(Status::Finished);
        if missing == 0 {
            return Outcome::Whole;
        }
        let (size, name) = (map.size(), &self.opened.name);
        let mut said =
            format!("{missing} of {size} bytes of {name} could not be read and are zeros in {to}:");
        if let Ok((group, lv)) = self.disks.scan.find_volume(name) {
            for line in places::lines(map, &self.disks.scan, group, lv) {
                said.push_str("\n  ");
                said.push_str(&line);
            }
        }
        session.error(&said);
        Outcome::Incomplete
    }
}

impl Outcome {
    /// The end of a command.
    pub(in crate::commands) fn result(self) -> Result<(), Error> {
        match self {
            Self::Whole => Ok(()),
            Self::Incomplete => Err(Error::incomplete()),
        }
    }

    /// Whether both are whole.
    pub(in crate::commands) fn and(self, other: Self) -> Self {
        if self == Self::Whole { other } else { self }
    }
}

/// The command that goes on with a copy whose map is at `map`.
pub(super) fn command_again(arguments: &Arguments, map_flag: &Flag, map: &Path) -> String {
    let mut words = vec!["ashlar".to_owned(), "cp".to_owned()];
    words.extend(arguments.options(&[map_flag]));
    words.push(format!("--{}={}", map_flag.long, map.display()));
    words.extend(arguments.operands().iter().cloned());
    let words = words.iter().map(|word| quoted(word));
    words.collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Which parts of `range` are on no disk that is there.
fn lost(table: &Table, range: Range) -> Vec<Range> {
    let (mut lost, mut hint): (Vec<Range>, _) = (Vec::new(), Hint::default());
    let mut at = range.start();
    while at < range.end() {
        let mapped = table.lookup(at, &mut hint);
        let len = mapped.len.min(range.end() - at);
        if matches!(mapped.leaf, Leaf::Error { .. }) {
            match lost.last_mut().filter(|last| last.end() == at) {
                Some(last) => *last = Range::new(last.start(), last.len() + len),
                None => lost.push(Range::new(at, len)),
            }
        }
        at += len;
    }
    lost
}

/// Takes what a salvage reads to where it belongs.
struct Keeper<'a> {
    target: &'a mut Target,
    bar: Bar,
    journal: Option<&'a mut Journal>,
    signals: Option<&'a Signals>,
}

impl Rescuer for Keeper<'_> {
    type Error = Error;

    fn store(&mut self, start: u64, piece: Piece<'_>) -> Result<(), Error> {
        match piece {
            Piece::Data(bytes) => self.target.write(start, bytes),
            Piece::Zeroes(count) => self.target.write_zeroes(start, count),
        }
    }

    fn look(&mut self, map: &Map) -> Result<(), Error> {
        let (done, left) = (map.bytes(Status::Finished), map.bytes(Status::NonTried));
        self.bar.show(done, left, || stage(map));
        if let Some(signals) = self.signals {
            signals.check()?;
        }
        if let Some(journal) = &mut self.journal
            && journal.is_due()
        {
            let target = &mut *self.target;
            journal.checkpoint(map, || target.sync())?;
        }
        Ok(())
    }
}

/// What is done besides copying, for the bar.
fn stage(map: &Map) -> String {
    let work = match map.phase() {
        Status::NonTried | Status::Finished => "",
        Status::NonTrimmed => ", trimming",
        Status::NonScraped => ", scraping",
        Status::Bad => ", trying again",
    };
    let unread = [Status::NonTrimmed, Status::NonScraped, Status::Bad];
    match unread.iter().map(|status| map.bytes(*status)).sum() {
        0_u64 => work.to_owned(),
        bytes => format!("{work}, {bytes} bytes failed so far"),
    }
}

/// Whether a file is there and has another size than the copy that a map describes.
pub(super) fn require_copy(path: &Path, size: u64, map: &Path) -> Result<(), Error> {
    let found = std::fs::metadata(path);
    let is_copy = found.is_ok_and(|found| !found.is_file() || found.len() == size);
    if is_copy {
        return Ok(());
    }
    let (path, map) = (path.display(), map.display());
    Err(Error::failed(format!(
        "{path} is not the copy that {map} belongs to: that has {size} bytes. To begin anew, \
         remove {map} or name another map"
    )))
}
