//! The folder that is filled, with the log of what was done, and the archive that it becomes.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use super::parts::{OWN_LOG, Part, SYSTEM_DIR, Step};
use crate::args::Error;
use crate::attachment::keeper;
use crate::commands::Session;
use crate::commands::background::log_path;

/// Lines of the system's log.
const TAIL: &str = "75";
const LOG: &str = "lvmdump.log";

/// A folder that is being filled.
pub(super) struct Bundle {
    folder: PathBuf,
    log: File,
    /// The options that say which disks there are.
    shared: Vec<String>,
    system_dir: PathBuf,
}

impl Bundle {
    /// Makes `folder`; an empty one may be there. Only its owner may look into it: texts of
    /// configuration and of the machine's log are nobody else's.
    pub(super) fn new(
        folder: &Path,
        shared: Vec<String>,
        system_dir: &Path,
        session: &mut Session,
    ) -> Result<Self, Error> {
        let shown = folder.display();
        let mut refused = |status: u8, why: &str| {
            session.error(&format!("Fatal: {why}"));
            Error::ended(status)
        };
        if folder.is_dir() {
            let is_empty = std::fs::read_dir(folder).is_ok_and(|mut all| all.next().is_none());
            if !is_empty {
                let why =
                    format!("directory {shown} already exists and is not empty or inaccessible");
                return Err(refused(5, &why));
            }
        } else if folder.symlink_metadata().is_ok() {
            return Err(refused(3, &format!("{shown} already exists")));
        } else if let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(folder) {
            return Err(refused(4, &format!("could not create {shown}: {error}")));
        }
        let log = new_file(&folder.join(LOG));
        let log = log.map_err(|error| refused(4, &format!("could not create {LOG}: {error}")))?;
        Ok(Self {
            folder: folder.to_owned(),
            log,
            shared,
            system_dir: system_dir.to_owned(),
        })
    }

    /// Tells people, and notes it down.
    pub(super) fn tell(&mut self, text: &str, session: &mut Session) -> Result<(), Error> {
        self.note(text);
        session.line(text)?;
        Ok(session.out().flush()?)
    }

    /// Notes something down. Where not even that can be done, the rest is gathered all the same.
    pub(super) fn note(&mut self, text: &str) {
        let _ = writeln!(self.log, "{text}");
    }

    /// Gathers parts.
    pub(super) fn gather(&mut self, parts: &[Part], session: &mut Session) -> Result<(), Error> {
        for part in parts {
            self.tell(part.told, session)?;
            for step in part.steps {
                if let Err(error) = self.step(*step) {
                    self.note(&error.to_string());
                }
            }
        }
        Ok(())
    }

    /// Gathers the variables that change what commands do, and no others: secrets are among them.
    pub(super) fn environment(&mut self) {
        let is_known = |name: &str| {
            ["LVM_", "ASHLAR_", "DM_"]
                .iter()
                .any(|one| name.starts_with(one))
        };
        let variables = std::env::vars_os().map(|(name, value)| {
            let [name, value] = [name, value].map(|text| text.to_string_lossy().into_owned());
            (name, value)
        });
        let lines = variables.filter(|(name, _)| is_known(name) || name == "TZ" || name == "PATH");
        let lines = lines.map(|(name, value)| format!("{name}={value}\n"));
        self.write("environment", lines.collect::<String>().as_bytes());
    }

    /// Writes bytes into a file.
    pub(super) fn write(&mut self, name: &str, bytes: &[u8]) {
        let written = self.file(name).and_then(|mut file| file.write_all(bytes));
        if let Err(error) = written {
            self.note(&format!("cannot write {name}: {error}"));
        }
    }

    fn step(&mut self, step: Step) -> std::io::Result<()> {
        match step {
            Step::Own(file, words) => self.run(file, &self.own(words), false),
            Step::Both(file, words) => self.run(file, &self.own(words), true),
            Step::Other(file, words) => {
                let words = words.iter().map(|word| self.path_for(word));
                let words: Vec<OsString> = words.collect();
                self.run(file, &words, false)
            }
            Step::Tail(file, path) => {
                let mut words = ["tail", "-n", TAIL, "--"].map(OsString::from).to_vec();
                words.push(self.path_for(path));
                self.run(file, &words, false)
            }
            Step::Copy(name, from) => {
                let to = self.folder.join(name);
                let parent = to.parent().unwrap_or(&self.folder);
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(parent)?;
                // Links become what they lead to, as that may not be in the archive.
                let mut words = ["cp", "-RL", "--preserve=timestamps", "--"]
                    .map(OsString::from)
                    .to_vec();
                words.extend([self.path_for(from), to.into_os_string()]);
                self.run(LOG, &words, true)
            }
        }
    }

    /// The words of a command of ours, which sees the same disks.
    fn own(&self, words: &[&str]) -> Vec<OsString> {
        let front = ["/proc/self/exe", "lvm"].into_iter();
        let all = front.chain(words.iter().copied()).map(OsString::from);
        all.chain(self.shared.iter().map(OsString::from)).collect()
    }

    fn path_for(&self, word: &str) -> OsString {
        match word {
            SYSTEM_DIR => self.system_dir.clone().into_os_string(),
            OWN_LOG => log_path().unwrap_or_default().into_os_string(),
            word => word.into(),
        }
    }

    /// Runs a program. What it prints goes into a file, and what it warns of into the log, or both
    /// into the file.
    fn run(&mut self, file: &str, words: &[OsString], is_both: bool) -> std::io::Result<()> {
        let shown = words.iter().map(|word| word.to_string_lossy().into_owned());
        let line = shown.collect::<Vec<_>>().join(" ");
        self.note(&line);
        let output = self.file(file)?;
        let errors = if is_both { &output } else { &self.log }.try_clone()?;
        let mut process = Process::new(&words[0]);
        if words[0] == "/proc/self/exe" {
            process.arg0(keeper::NAME);
        }
        let ended = process
            .args(&words[1..])
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .status();
        match ended {
            Ok(status) if !status.success() => self.note(&format!("{line}: {status}")),
            Ok(_) => {}
            Err(error) => self.note(&format!("{line}: {error}")),
        }
        Ok(())
    }

    /// A file of the folder, to whose end is written.
    fn file(&self, name: &str) -> std::io::Result<File> {
        let path = self.folder.join(name);
        let parent = path.parent().unwrap_or(&self.folder);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)?;
        new_file(&path)
    }

    /// Makes the archive beside the folder, and takes the folder away.
    pub(super) fn pack(self, archive: &Path) -> Result<(), Error> {
        let failed = |what: &str| {
            let (folder, archive) = (self.folder.display(), archive.display());
            Error::failed(format!(
                "Could not make {archive}: {what}. What was gathered is in {folder}."
            ))
        };
        let name = self.folder.file_name().unwrap_or_default();
        let parent = self.folder.parent().unwrap_or(Path::new("/"));
        let file = new_file(archive).map_err(|error| failed(&error.to_string()))?;
        let mut tar = Process::new("tar");
        tar.arg("-C").arg(parent).args(["-cz", "--"]).arg(name);
        let ended = tar.stdin(Stdio::null()).stdout(file).status();
        let status = ended.map_err(|error| failed(&format!("tar: {error}")))?;
        if !status.success() {
            return Err(failed(&format!("tar: {status}")));
        }
        std::fs::remove_dir_all(&self.folder)?;
        Ok(())
    }
}

/// A file that only its owner may read, to whose end is written.
fn new_file(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).open(path)
}
