//! Where the tour works, how large things are, and how its commands are run and shown.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use ashlar::activate::{Activator, Options};
use ashlar::host::{DeviceSource, Host};
use ashlar::scan::{self, Scan};
use block::Device;

use crate::args::Error;
use crate::demo::interrupt::Interrupt;
use crate::demo::process;
use crate::demo::story::Story;

/// The group of the tour.
pub(super) const GROUP: &str = "demo";
/// How many disks there are.
pub(super) const DISK_COUNT: usize = 6;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Everything, at a size at which speeds mean something.
    Full,
    /// Everything, as small as it can be.
    Quick,
}

/// Where the tour works.
pub(in crate::demo) struct World<'a> {
    /// The folder of its disks.
    pub(in crate::demo) disks: PathBuf,
    /// A folder for sockets, records and backups.
    pub(in crate::demo) private: &'a Path,
    pub(in crate::demo) pace: Pace,
    pub(in crate::demo) interrupt: &'a Interrupt,
}

impl World<'_> {
    /// `full`, or `quick` where little is to be done.
    pub(super) fn choose<T>(&self, full: T, quick: T) -> T {
        match self.pace {
            Pace::Full => full,
            Pace::Quick => quick,
        }
    }

    /// What the disk with this number, from 0, is called.
    pub(super) fn disk(number: usize) -> String {
        format!("disk{}.img", number + 1)
    }

    /// All disks' names.
    pub(super) fn disk_names() -> Vec<String> {
        (0..DISK_COUNT).map(Self::disk).collect()
    }

    /// This program, with these words, on the disks.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = process::this_program(&self.runtime());
        command
            .args(words)
            .current_dir(&self.disks)
            .env("ASHLAR_DEVICES", &self.disks)
            .env("LVM_SYSTEM_DIR", self.system_dir())
            .env_remove("LVM_LOCKING_DIR");
        command
    }

    /// Where attachments and owners are recorded.
    pub(super) fn runtime(&self) -> PathBuf {
        self.private.join("run")
    }

    /// Where backups of metadata go.
    pub(super) fn system_dir(&self) -> PathBuf {
        self.private.join("etc")
    }

    /// Runs a command of this program; gives what it printed.
    pub(super) fn run(&self, words: &[&str]) -> Result<String, Error> {
        self.interrupt.check()?;
        let line = typed(words);
        process::run(&mut self.command(words), &line)
    }

    /// Shows a command as it is typed, runs it, and shows what it printed.
    pub(super) fn show(&self, story: &mut Story<'_>, words: &[&str]) -> Result<(), Error> {
        story.command(&typed(words))?;
        let printed = self.run(words)?;
        story.say(printed.trim_end())
    }

    /// Looks at these disks; nothing is said about what is missing.
    pub(super) fn look(&self, disks: &[String]) -> Result<(Host, Scan), Error> {
        let mut host = Host::from_environment().map_err(|error| failed(&error))?;
        // What the machine's own configuration hides does not concern our files.
        host.config = ashlar::host::Config::empty();
        let paths = disks.iter().map(|name| self.disks.join(name));
        let paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
        let source = DeviceSource::from_environment(&paths).map_err(|error| failed(&error))?;
        let scan = scan::scan(&host, &source, &scan::Options::default());
        Ok((host, scan.map_err(|error| failed(&error))?))
    }

    /// Opens a volume of the group for reading, on these disks.
    pub(super) fn open(&self, disks: &[String], name: &str) -> Result<Arc<dyn Device>, Error> {
        let (host, scan) = self.look(disks)?;
        let found = scan.find_volume(&format!("{GROUP}/{name}"));
        let (group, lv) = found.map_err(|error| failed(&error))?;
        let activated = Activator::new(&scan, &host).activate(group, lv, Options::default());
        let activated = activated.map_err(|error| failed(&error))?;
        Ok(Arc::new(activated.volume))
    }
}

fn failed(error: &ashlar::Error) -> Error {
    Error::failed(error.to_string())
}

/// A command of this program as it is typed.
pub(super) fn typed(words: &[&str]) -> String {
    let words = words.iter().map(|word| quoted(word));
    format!("ashlar {}", words.collect::<Vec<_>>().join(" "))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    if word.contains(['?', '&', '*', ' ', '>', '|', '$']) {
        format!("'{word}'")
    } else {
        word.to_owned()
    }
}
