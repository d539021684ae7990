//! The map of a copy as a file beside it: what makes half a copy known as one, and goes on with it.
//!
//! It is written before the first byte of the copy, every [`PERIOD`] after what was copied is on
//! stable storage, and at the end. So a copy that was killed has a map which calls nothing finished
//! that is not there. A map that nobody asked for is removed when the copy is whole. It is replaced
//! as a whole, by renaming, and what is no map is never overwritten.
//!
//! Comments in it name the volume. Programs that do not keep them leave its size to tell volumes
//! apart.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ashlar::{Readers, replace_file};
use block::salvage::{Map, Status};

use crate::args::Error;
use crate::output::harmless;

/// How often the map is written, if writing it and what was copied takes no time.
const PERIOD: Duration = Duration::from_secs(2);
/// Writing both takes one part in so many of the time at most.
const SHARE: u32 = 20;
/// The largest file that is read as a map, in bytes: some ten million runs.
const SIZE_MAX: u64 = 512 << 20;
/// What stands before the volume's name and UUID in a comment.
const VOLUME: &str = "Volume: ";

/// Which volume is copied.
pub(super) struct Identity<'a> {
    /// Its name: `vg0/data`.
    pub(super) name: &'a str,
    pub(super) uuid: &'a str,
    /// Its size in bytes.
    pub(super) size: u64,
}

/// The file of a map.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    comments: Vec<String>,
    /// Whether it stays when the copy is whole.
    is_kept: bool,
    is_resumed: bool,
    due: Instant,
}

impl Journal {
    /// The map that `path` holds, or a new one that will be there.
    pub(super) fn named(path: &Path, of: &Identity<'_>, line: &str) -> Result<(Self, Map), Error> {
        let mut journal = Self::new(path.to_owned(), of, line);
        journal.is_kept = true;
        let found = match fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok((journal, Map::new(of.size)));
            }
            Err(error) => return Err(journal.unread().because(error)),
            Ok(found) => found,
        };
        if !found.is_file() || found.len() > SIZE_MAX {
            return Err(Error::failed(format!("{} is no map", path.display())));
        }
        let text = fs::read(path).map_err(|error| journal.unread().because(error))?;
        let text = String::from_utf8_lossy(&text);
        let map = Map::parse(&text).map_err(|error| journal.unread().because(error))?;
        journal.require(of, &text, &map)?;
        journal.is_resumed = true;
        Ok((journal, map))
    }

    /// A new map beside the file `copy`; that there is none yet is required.
    pub(super) fn beside(copy: &Path, of: &Identity<'_>, line: &str) -> Result<(Self, Map), Error> {
        let mut path = copy.as_os_str().to_owned();
        path.push(".map");
        let path = PathBuf::from(path);
        if fs::symlink_metadata(&path).is_ok() {
            let (copy, path) = (copy.display(), path.display());
            return Err(Error::failed(format!(
                "{path} is there: {copy} is an unfinished copy, it seems. --map {path} goes on \
                 with it; to begin anew, remove {path}"
            )));
        }
        Ok((Self::new(path, of, line), Map::new(of.size)))
    }

    fn new(path: PathBuf, of: &Identity<'_>, line: &str) -> Self {
        let line = harmless(line).replace('\n', " ");
        let comments = vec![
            concat!("Mapfile. Created by Ashlar ", env!("CARGO_PKG_VERSION")).to_owned(),
            format!("Command line: ashlar {line}"),
            format!("{VOLUME}{} {}", of.name, of.uuid),
        ];
        Self {
            path,
            comments,
            is_kept: false,
            is_resumed: false,
            due: Instant::now() + PERIOD,
        }
    }

    /// Refuses the map of another volume.
    fn require(&self, of: &Identity<'_>, text: &str, map: &Map) -> Result<(), Error> {
        let refused = |what: String| {
            let path = self.path.display();
            Err(Error::failed(format!(
                "{path} is the map of {what}, not of {}: name another file with --map",
                of.name
            )))
        };
        let mut comments = text.lines().filter_map(|line| line.strip_prefix("# "));
        let volume = comments.find_map(|comment| comment.strip_prefix(VOLUME));
        if let Some((name, uuid)) = volume.and_then(|volume| volume.rsplit_once(' '))
            && uuid != of.uuid
        {
            return refused(format!("{} ({})", harmless(name), harmless(uuid)));
        }
        if map.size() != of.size {
            let (size, own) = (map.size(), of.size);
            return refused(format!("{size} bytes, and {own} are to be copied"));
        }
        Ok(())
    }

    /// Its file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the copy was begun before.
    pub(super) fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// Whether it is time to write it again.
    pub(super) fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    /// Writes `map` once `sync` has made durable what it calls finished.
    pub(super) fn checkpoint(
        &mut self,
        map: &Map,
        sync: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let begin = Instant::now();
        sync()?;
        self.write(map)?;
        self.due = Instant::now() + PERIOD.max(begin.elapsed() * SHARE);
        Ok(())
    }

    /// Replaces the file.
    pub(super) fn write(&self, map: &Map) -> Result<(), Error> {
        let mut new = self.path.as_os_str().to_owned();
        new.push(".new");
        let new = PathBuf::from(new);
        let written = replace_file(&self.path, &new, Readers::Everybody, |out| {
            map.write(&self.comments, out)
        });
        written.map_err(|error| {
            let path = self.path.display();
            Error::failed(format!(
                "Could not write {path}, which says how far the copy is; --map names another place"
            ))
            .because(error)
        })
    }

    /// The copy was not begun: what was not there before is taken away.
    pub(super) fn withdraw(self) {
        if !self.is_resumed {
            // It is empty of news; should it stay, the next copy says what it is.
            let _ = fs::remove_file(&self.path);
        }
    }

    /// The copy ended well, as `map` says; whether the file is left.
    pub(super) fn finish(self, map: &Map) -> Result<bool, Error> {
        if map.bytes(Status::Finished) < map.size() || self.is_kept {
            self.write(map)?;
            return Ok(true);
        }
        fs::remove_file(&self.path).map_err(|error| {
            let path = self.path.display();
            Error::failed(format!(
                "The copy is whole, and {path} could not be removed"
            ))
            .because(error)
        })?;
        Ok(false)
    }

    fn unread(&self) -> Error {
        Error::failed(format!("Could not read the map {}", self.path.display()))
    }
}
