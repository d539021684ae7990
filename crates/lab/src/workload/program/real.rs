//! A program's calls, made in a folder of a real file system.
//!
//! What is written are bytes of no meaning. Calls that a folder cannot be asked for (emptying the
//! memory, going past the page cache, several processes) are refused; thinking takes no time.

use std::collections::BTreeMap;
use std::fs::{self, File as Opened, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::call::{Call, Directory, File};
use crate::error::{Error, Kind, Result};

/// A folder, and what a program has made and opened in it.
#[derive(Debug)]
pub struct Folder {
    directories: BTreeMap<Directory, PathBuf>,
    files: BTreeMap<File, Opened>,
}

impl Folder {
    /// The folder `root`, which the program takes for the root of the file system.
    pub fn new(root: &Path) -> Self {
        Self {
            directories: BTreeMap::from([(Directory::ROOT, root.to_owned())]),
            files: BTreeMap::new(),
        }
    }

    /// Notes which directories `calls` made, when they were made here by somebody.
    pub fn remember(&mut self, calls: &[Call]) -> Result<()> {
        for call in calls {
            if let Call::Mkdir {
                parent,
                name,
                directory,
            } = call
            {
                let path = self.path(*parent, name)?;
                self.directories.insert(*directory, path);
            }
        }
        Ok(())
    }

    /// Makes the calls. Fails at the first that the file system refuses, or that is not for it.
    pub fn make(&mut self, calls: &[Call]) -> Result<()> {
        for (number, call) in (1_u64..).zip(calls) {
            self.make_one(call)?
                .map_err(|error| Error::io(format!("call {number}, {call:?}"), error))?;
        }
        Ok(())
    }

    /// Makes a call; the inner error is the file system's.
    fn make_one(&mut self, call: &Call) -> Result<io::Result<()>> {
        let done = match call {
            Call::Mkdir { parent, name, .. } => {
                let made = fs::create_dir(self.path(*parent, name)?);
                self.remember(std::slice::from_ref(call))?;
                made
            }
            Call::Create { parent, name, file } => {
                let path = self.path(*parent, name)?;
                let mut options = OpenOptions::new();
                self.open(
                    *file,
                    options.read(true).write(true).create_new(true),
                    &path,
                )
            }
            Call::Open { parent, name, file } => {
                let path = self.path(*parent, name)?;
                self.open(*file, OpenOptions::new().read(true).write(true), &path)
            }
            Call::Read { file, at, bytes } => {
                let mut into = vec![0; *bytes as usize];
                self.file(*file)?.read_exact_at(&mut into, *at)
            }
            Call::Write { file, at, bytes } => self
                .file(*file)?
                .write_all_at(&vec![7; *bytes as usize], *at),
            Call::Fsync { file } => self.file(*file)?.sync_all(),
            Call::Close { file } => {
                self.file(*file)?;
                self.files.remove(file);
                Ok(())
            }
            Call::Delete { parent, name } => fs::remove_file(self.path(*parent, name)?),
            Call::Sync => {
                let root = Opened::open(&self.directories[&Directory::ROOT]);
                root.and_then(|root| Ok(rustix::fs::syncfs(root)?))
            }
            Call::Think { .. } | Call::Phase { .. } | Call::Aside => Ok(()),
            other => {
                let what = format!("{other:?} cannot be asked of a folder");
                return Err(Error::new(Kind::Unsupported, what));
            }
        };
        Ok(done)
    }

    fn open(&mut self, file: File, options: &mut OpenOptions, path: &Path) -> io::Result<()> {
        self.files.insert(file, options.open(path)?);
        Ok(())
    }

    fn file(&self, file: File) -> Result<&Opened> {
        self.files.get(&file).ok_or_else(|| {
            let what = format!("file number {} is not open", file.0);
            Error::new(Kind::Impossible, what)
        })
    }

    fn path(&self, parent: Directory, name: &str) -> Result<PathBuf> {
        let parent = self.directories.get(&parent).ok_or_else(|| {
            let what = format!("there is no directory number {}", parent.0);
            Error::new(Kind::Impossible, what)
        })?;
        Ok(parent.join(name))
    }
}
