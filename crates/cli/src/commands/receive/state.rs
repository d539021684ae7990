//! The note of what a target holds, as a file: written before the first byte of a stream, now and
//! then when what came is on stable storage, and in the end.
//!
//! It is replaced as a whole, by renaming. A file's note lies beside it, `FILE.received`; that of a
//! volume is where `--state` says. What is no note is never overwritten.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ashlar::stream::{Note, TEXT_MAX};
use ashlar::{Readers, replace_file};
use lvm2::Uuid;

use crate::args::Error;

/// How often the note is written, if writing it and what came takes no time.
const PERIOD: Duration = Duration::from_secs(2);
/// Writing both takes one part in so many of the time at most.
const SHARE: u32 = 20;

/// The file of a note.
pub(super) struct State {
    path: PathBuf,
    /// What it said when it was read.
    note: Option<Note>,
    due: Instant,
}

impl State {
    /// The note at `path` about the volume `target`, or about a file.
    pub(super) fn read(path: PathBuf, target: Option<Uuid>) -> Result<Self, Error> {
        let unread = || Error::failed(format!("Could not read {}", path.display()));
        let is_note = |found: &fs::Metadata| found.is_file() && found.len() <= TEXT_MAX;
        let note = match fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(unread().because(error)),
            Ok(found) if is_note(&found) => {
                let bytes = fs::read(&path).map_err(|error| unread().because(error))?;
                let text = String::from_utf8_lossy(&bytes);
                Some(Note::parse(&text).map_err(|error| unread().because(error))?)
            }
            Ok(_) => {
                let path = path.display();
                return Err(Error::failed(format!(
                    "{path} is no note of ashlar receive"
                )));
            }
        };
        if let Some(note) = note.as_ref().filter(|note| note.target != target) {
            let other = note
                .target
                .map_or_else(|| "a file".to_owned(), |uuid| format!("the volume {uuid}"));
            return Err(Error::failed(format!(
                "{} says what {other} holds, which is not the target: name another file with \
                 --state",
                path.display()
            )));
        }
        Ok(Self {
            path,
            note,
            due: Instant::now() + PERIOD,
        })
    }

    /// Where the note of the file `target` is if nobody says otherwise.
    pub(super) fn beside(target: &Path) -> PathBuf {
        let mut path = target.as_os_str().to_owned();
        path.push(".received");
        path.into()
    }

    /// Its file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What it said when it was read.
    pub(super) fn note(&self) -> Option<&Note> {
        self.note.as_ref()
    }

    /// Whether it is time to write it again.
    pub(super) fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    /// Writes `note` once `sync` has made durable what it says.
    pub(super) fn checkpoint(
        &mut self,
        note: Note,
        sync: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let begin = Instant::now();
        sync()?;
        self.write(note)?;
        self.due = Instant::now() + PERIOD.max(begin.elapsed() * SHARE);
        Ok(())
    }

    /// Replaces the file, durably.
    pub(super) fn write(&mut self, note: Note) -> Result<(), Error> {
        let mut new = self.path.as_os_str().to_owned();
        new.push(".new");
        let text = note.to_text();
        let written = replace_file(&self.path, Path::new(&new), Readers::Everybody, |out| {
            out.write_all(text.as_bytes())
        });
        written.map_err(|error| {
            let path = self.path.display();
            Error::failed(format!(
                "Could not write {path}, which says what the target holds; --state names another \
                 place"
            ))
            .because(error)
        })?;
        self.note = Some(note);
        Ok(())
    }
}
