//! One client of an owner, from its first line to its last.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::console::{Console, Stream};
use super::server::Shared;
use super::wire::{Export, Exported, Lines, Next, Reply, Request, decode_request};
use crate::Result;
use crate::apply::Answer;

/// How long a client may take to say what it wants.
const REQUEST_MAX: Duration = Duration::from_secs(10);
/// How long people may think about a question. Nobody else changes the group meanwhile.
const ANSWER_MAX: Duration = Duration::from_mins(10);
/// How long a client may take to note a change.
const SEEN_MAX: Duration = Duration::from_secs(5);
/// How often to listen again to one that has nothing to say.
const PATIENCE: Duration = Duration::from_hours(1);

/// Tells a client of changes of its volumes, and waits until it took note.
#[derive(Clone)]
pub struct Notifier {
    inner: Arc<NotifierState>,
}

struct NotifierState {
    lines: Mutex<Lines>,
    seen: Mutex<u64>,
    news: Condvar,
}

impl std::fmt::Debug for Notifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Notifier")
    }
}

impl Notifier {
    fn new(lines: Lines) -> Self {
        Self {
            inner: Arc::new(NotifierState {
                lines: Mutex::new(lines),
                seen: Mutex::new(0),
                news: Condvar::new(),
            }),
        }
    }

    /// Tells of a change. A client that does not listen learns of it when it does.
    pub fn changed(&self, volume: Exported) {
        let seen = || {
            self.inner
                .seen
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let before = *seen();
        let mut lines = self
            .inner
            .lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if lines.send(&Reply::Changed { volume }.to_line()).is_err() {
            return;
        }
        let end = Instant::now() + SEEN_MAX;
        let mut now = seen();
        while *now == before {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.inner.news.wait_timeout(now, left);
            now = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn note(&self) {
        *self
            .inner
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner) += 1;
        self.inner.news.notify_all();
    }
}

/// Does what the client behind `socket` wants, one request after the other.
pub(super) fn serve(shared: &Arc<Shared>, socket: UnixStream) -> Result<()> {
    let mut lines = Lines::new(socket)?;
    let hello = Reply::Hello {
        pid: std::process::id(),
        group: shared.group.name(),
        uuid: shared.group.uuid().to_string(),
    };
    lines.send(&hello.to_line())?;
    loop {
        let Next::Line(line) = lines.next(REQUEST_MAX)? else {
            if shared.is_ending() {
                // Nothing of what it says from now on is heard.
                lines.send(&Reply::Ending.to_line())?;
            }
            return Ok(());
        };
        let request = match decode_request(&line) {
            Ok(request) => request,
            Err(error) => {
                lines.send(&Reply::Error(error.to_string()).to_line())?;
                return Err(error);
            }
        };
        match request {
            Request::Run { words, folder } => {
                let mut console = Remote { lines: &mut lines };
                let status = shared.service.run(&words, &folder, &mut console);
                lines.send(&Reply::End(status).to_line())?;
            }
            Request::Export(wanted) => return export(shared, lines, &wanted),
            Request::Alone { volume } => return keep_alone(shared, lines, &volume),
            Request::Inactive { volume } => {
                let reply = match shared.service.deactivate(&volume) {
                    Ok(()) => Reply::End(0),
                    Err(error) => Reply::Error(error.to_string()),
                };
                lines.send(&reply.to_line())?;
            }
            Request::Status => {
                let volumes = shared.group.status();
                let reply = Reply::Status {
                    volumes,
                    more: false,
                };
                lines.send(&reply.to_line())?;
            }
            Request::Stop => {
                shared.is_stopped.store(true, Ordering::Relaxed);
                lines.send(&Reply::End(0).to_line())?;
            }
            Request::End => return Ok(()),
            Request::Answer(_) | Request::Seen => {
                let what = "nothing was asked on this control socket";
                lines.send(&Reply::Error(what.to_owned()).to_line())?;
            }
        }
    }
}

/// Keeps others away from a volume until the client is gone, and whoever has its connection.
fn keep_alone(shared: &Arc<Shared>, mut lines: Lines, volume: &str) -> Result<()> {
    match shared.group.keep_alone(volume) {
        Err(error) => lines.send(&Reply::Error(error.to_string()).to_line()),
        Ok(_alone) => {
            lines.send(&Reply::Alone.to_line())?;
            while let Next::Silence = lines.next(PATIENCE)? {}
            Ok(())
        }
    }
}

/// Serves volumes until the client says so, or is gone.
fn export(shared: &Arc<Shared>, mut lines: Lines, wanted: &Export) -> Result<()> {
    let files = lines.take_files();
    let notifier = Notifier::new(lines.writer()?);
    let served = match shared.service.export(wanted, files, notifier.clone()) {
        Ok(served) => served,
        Err(error) => return lines.send(&Reply::Error(error.to_string()).to_line()),
    };
    shared.exporting.fetch_add(1, Ordering::Relaxed);
    let begun = lines.send(&Reply::Exported(served.volumes()).to_line());
    if begun.is_ok() {
        wait_for_end(&mut lines, &notifier);
    }
    let ended = served.end();
    let before = shared.exporting.fetch_sub(1, Ordering::Relaxed);
    assert!(before > 0, "what ends was begun");
    let last = match ended {
        Ok(()) => Reply::End(0),
        Err(error) => Reply::Error(error.to_string()),
    };
    lines.send(&last.to_line())
}

fn wait_for_end(lines: &mut Lines, notifier: &Notifier) {
    loop {
        match lines.next(PATIENCE) {
            Ok(Next::Line(line)) => match decode_request(&line) {
                Ok(Request::Seen) => notifier.note(),
                // Whatever else was said: there is nothing else to say here.
                _ => return,
            },
            Ok(Next::Silence) => {}
            Ok(Next::Left) | Err(_) => return,
        }
    }
}

/// A command's lines on their way to a client.
struct Remote<'a> {
    lines: &'a mut Lines,
}

impl Console for Remote<'_> {
    // A command goes on when its client is gone, like one whose terminal was closed.
    fn write(&mut self, stream: Stream, text: &str) -> io::Result<()> {
        let text = text.to_owned();
        let reply = match stream {
            Stream::Out => Reply::Out(text),
            Stream::Err => Reply::Err(text),
        };
        let _ = self.lines.send(&reply.to_line());
        Ok(())
    }

    fn ask(&mut self, question: &str) -> Answer {
        let asked = self.lines.send(&Reply::Ask(question.to_owned()).to_line());
        let answer = asked.and_then(|()| self.lines.next(ANSWER_MAX));
        match answer {
            Ok(Next::Line(line)) => match decode_request(&line) {
                Ok(Request::Answer(true)) => Answer::Yes,
                _ => Answer::No,
            },
            _ => Answer::No,
        }
    }
}
