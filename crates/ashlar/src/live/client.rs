//! The side of a command that finds an owner.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lvm2::Uuid;

use super::console::{Console, Stream};
use super::runtime::{Standing, connect, is_held, recorded};
use super::status::VolumeStatus;
use super::wire::{Export, Exported, LINE_MAX, Lines, Next, Reply, Request, decode_reply};
use crate::apply::Answer;
use crate::{Error, Kind, Result};

/// How long an owner may take to say something while it has nothing to do.
const REPLY_MAX: Duration = Duration::from_secs(30);
/// How long an owner may be about to begin, or to end: until what was written is durable.
const BETWEEN_MAX: Duration = Duration::from_secs(30);
const BETWEEN_RETRY: Duration = Duration::from_millis(10);
/// How often to listen again while a command runs: commands may take as long as they take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A connection to the process that owns a group.
#[derive(Debug)]
pub struct Client {
    lines: Lines,
    pid: u32,
    group: String,
    uuid: Uuid,
}

/// An owner that was left, and may end.
#[derive(Debug)]
pub struct Leaving {
    uuid: Uuid,
    pid: u32,
}

impl Leaving {
    /// Whether it still has the group.
    pub fn is_there(&self) -> bool {
        is_held(self.uuid) && recorded(self.uuid).1 == Some(self.pid)
    }
}

/// Shows text; a closed terminal does not stop the command, which runs elsewhere already.
fn show(stream: Stream, text: &str, console: &mut dyn Console) {
    let _ = console.write(stream, text);
}

/// What an owner says while it serves volumes for somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Nothing, within the time.
    Nothing,
    /// A volume changed; [`Client::seen`] says that this was taken note of.
    Changed(Exported),
    /// It serves them no more.
    Gone,
}

impl Client {
    /// Connects to the process that owns the group, if one does that this user can find.
    ///
    /// One that begins or ends is waited for. Who is let in is served: the owner does not end by
    /// itself meanwhile.
    pub fn find(uuid: Uuid) -> Result<Option<Self>> {
        let end = Instant::now() + BETWEEN_MAX;
        loop {
            match connect(uuid, REPLY_MAX)? {
                Standing::Free => return Ok(None),
                Standing::Between => {}
                Standing::Owned(socket) => {
                    if let Some(client) = Self::greeted(uuid, socket, REPLY_MAX)? {
                        return Ok(Some(client));
                    }
                }
            }
            if Instant::now() >= end {
                let what = format!(
                    "a process has volume group {uuid} and lets nobody in: it begins or ends, and \
                     a disk may not answer; see with `ashlar owners', or try again"
                );
                return Err(Error::new(Kind::Locked, what));
            }
            sleep(BETWEEN_RETRY);
        }
    }

    /// A connection to an owner that says hello within `limit`; `None`: it is just ending.
    pub(super) fn greeted(uuid: Uuid, socket: UnixStream, limit: Duration) -> Result<Option<Self>> {
        let mut client = Self {
            lines: Lines::new(socket)?,
            pid: 0,
            group: String::new(),
            uuid,
        };
        match client.listen(limit)? {
            Some(Reply::Hello { pid, group, .. }) => {
                client.pid = pid;
                client.group = group;
                Ok(Some(client))
            }
            Some(Reply::Error(text)) => Err(Error::new(Kind::Refused, text)),
            Some(Reply::Ending) | None => Ok(None),
            Some(_) => Err(client.odd()),
        }
    }

    /// The owner's process number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The group's name.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Leaves it.
    pub fn leave(self) -> Leaving {
        assert!(self.pid > 0, "whoever greets has a number");
        Leaving {
            uuid: self.uuid,
            pid: self.pid,
        }
    }

    /// Runs a command there: its name, and the words behind it. Gives its exit status. An error of
    /// the kind [`Kind::Ended`] says that the command was not begun.
    pub fn run(
        &mut self,
        words: &[String],
        folder: &Path,
        console: &mut dyn Console,
    ) -> Result<u8> {
        let request = Request::Run {
            words: words.to_vec(),
            folder: folder.display().to_string(),
        };
        self.say(&request)?;
        loop {
            match self.listen(PATIENCE) {
                Ok(Some(Reply::Out(text))) => show(Stream::Out, &text, console),
                Ok(Some(Reply::Err(text))) => show(Stream::Err, &text, console),
                Ok(Some(Reply::Ask(question))) => {
                    let yes = console.ask(&question) == Answer::Yes;
                    self.say(&Request::Answer(yes))?;
                }
                Ok(Some(Reply::End(status))) => return Ok(status),
                Ok(Some(Reply::Ending)) => return Err(self.ended()),
                Ok(Some(Reply::Error(text))) => return Err(Error::new(Kind::Refused, text)),
                Ok(Some(_)) => return Err(self.odd()),
                Ok(None) => return Err(self.gone()),
                Err(error) if error.kind() == Kind::Locked => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Lets it serve volumes through `files`, until this is dropped or [`Client::end`] is said.
    pub fn export(&mut self, export: &Export, files: &[BorrowedFd<'_>]) -> Result<Vec<Exported>> {
        let line = Request::Export(export.clone()).to_line();
        let sent = self.lines.send_with(&line, files);
        sent.map_err(|error| self.unsaid(error))?;
        match self.listen(PATIENCE)? {
            Some(Reply::Exported(volumes)) => Ok(volumes),
            Some(Reply::Ending) => Err(self.ended()),
            Some(Reply::Error(text)) => Err(Error::new(Kind::Refused, text)),
            Some(_) => Err(self.odd()),
            None => Err(self.gone()),
        }
    }

    /// Lets nobody else use the volume called `name`, without its group, until what this gives is
    /// gone and every process that got it as an open file. Fails unless one uses it.
    pub fn keep_alone(mut self, name: &str) -> Result<OwnedFd> {
        let volume = name.to_owned();
        self.say(&Request::Alone { volume })?;
        match self.listen(REPLY_MAX)? {
            Some(Reply::Alone) => Ok(self.lines.into_socket()),
            Some(Reply::Ending) => Err(self.ended()),
            Some(Reply::Error(text)) => Err(Error::new(Kind::Refused, text)),
            Some(_) => Err(self.odd()),
            None => Err(self.gone()),
        }
    }

    /// Listens for news of what it serves, at most for `limit`.
    pub fn heard(&mut self, limit: Duration) -> Result<Heard> {
        match self.listen(limit) {
            Ok(Some(Reply::Changed { volume })) => Ok(Heard::Changed(volume)),
            Ok(Some(Reply::End(_)) | None) => Ok(Heard::Gone),
            Ok(Some(Reply::Error(text))) => Err(Error::new(Kind::Refused, text)),
            Ok(Some(_)) => Err(self.odd()),
            Err(error) if error.kind() == Kind::Locked => Ok(Heard::Nothing),
            Err(error) => Err(error),
        }
    }

    /// What was heard last was taken note of.
    pub fn seen(&mut self) -> Result<()> {
        self.say(&Request::Seen)
    }

    /// Ends what it serves for this connection, and waits until what was written is durable.
    pub fn end(&mut self) -> Result<()> {
        self.say(&Request::End)?;
        loop {
            match self.heard(PATIENCE)? {
                Heard::Gone => return Ok(()),
                Heard::Changed(_) => self.seen()?,
                Heard::Nothing => {
                    let what = format!(
                        "process {}, which owns the volume group, does not answer",
                        self.pid
                    );
                    return Err(Error::new(Kind::Locked, what));
                }
            }
        }
    }

    /// What it serves. `None`: it has just ended.
    pub fn status(&mut self) -> Result<Option<Vec<VolumeStatus>>> {
        self.status_within(REPLY_MAX)
    }

    /// The same, waiting at most for `limit`.
    pub(super) fn status_within(&mut self, limit: Duration) -> Result<Option<Vec<VolumeStatus>>> {
        let end = Instant::now() + limit;
        // Who is ending hears nothing any more.
        let said = self.say(&Request::Status);
        let mut all = Vec::new();
        loop {
            match self.listen(end.saturating_duration_since(Instant::now()))? {
                Some(Reply::Status { volumes, more }) => {
                    all.extend(volumes);
                    if !more {
                        return said.map(|()| Some(all));
                    }
                }
                Some(Reply::Error(text)) => return Err(Error::new(Kind::Refused, text)),
                Some(Reply::Ending) | None => return Ok(None),
                Some(_) => return Err(self.odd()),
            }
        }
    }

    /// Lets it make the volume called `name`, without its group, inactive. Fails if somebody uses
    /// it.
    pub fn deactivate(&mut self, name: &str) -> Result<()> {
        self.say(&Request::Inactive {
            volume: name.to_owned(),
        })?;
        match self.listen(PATIENCE)? {
            Some(Reply::End(0)) => Ok(()),
            Some(Reply::Error(text)) => Err(Error::new(Kind::Refused, text)),
            Some(Reply::Ending) => Err(self.ended()),
            Some(_) => Err(self.odd()),
            None => Err(self.gone()),
        }
    }

    /// Asks it to stop serving.
    pub fn stop(&mut self) -> Result<()> {
        self.say(&Request::Stop)?;
        self.listen(REPLY_MAX).map(|_| ())
    }

    fn say(&mut self, request: &Request) -> Result<()> {
        let line = request.to_line();
        if line.len() > LINE_MAX {
            let what = format!(
                "the command line has {} bytes, and process {}, which owns volume group {}, takes \
                 {LINE_MAX}; name fewer at once",
                line.len(),
                self.pid,
                self.group
            );
            return Err(Error::new(Kind::Request, what));
        }
        let said = self.lines.send(&line);
        said.map_err(|error| self.unsaid(error))
    }

    /// Why something could not be said: who is ending hears nothing any more.
    fn unsaid(&self, error: Error) -> Error {
        let source = error.cause().and_then(|cause| cause.downcast_ref());
        let is_deaf = source.is_some_and(|source: &std::io::Error| {
            matches!(
                source.kind(),
                std::io::ErrorKind::BrokenPipe | std::io::ErrorKind::ConnectionReset
            )
        });
        if is_deaf { self.ended() } else { error }
    }

    fn ended(&self) -> Error {
        let what = format!(
            "process {}, which owned volume group {}, ended before it began; run the command again",
            self.pid, self.group
        );
        Error::new(Kind::Ended, what)
    }

    /// The next reply; `None` when the owner is gone.
    fn listen(&mut self, limit: Duration) -> Result<Option<Reply>> {
        match self.lines.next(limit)? {
            Next::Line(line) => decode_reply(&line).map(Some),
            Next::Left => Ok(None),
            Next::Silence => {
                let what = format!(
                    "process {}, which owns the volume group, does not answer",
                    self.pid
                );
                Err(Error::new(Kind::Locked, what))
            }
        }
    }

    fn odd(&self) -> Error {
        let what = format!(
            "protocol error: unexpected reply from process {}, which owns volume group {}; is it \
             another version of ashlar?",
            self.pid, self.group
        );
        Error::new(Kind::Refused, what)
    }

    fn gone(&self) -> Error {
        let what = format!(
            "process {}, which owned volume group {}, has ended; check with lvs whether the \
             change was made",
            self.pid, self.group
        );
        Error::new(Kind::Incomplete, what)
    }
}
