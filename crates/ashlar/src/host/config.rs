//! LVM2's configuration files, as far as they concern where devices are and who may touch them.
//!
//! ```text
//!   Overrides                        strongest: values that a program says, its options for one
//!   --config 'devices/filter=…'      texts
//!   $LVM_SYSTEM_DIR/lvm_TAG.conf     for each tag of this host (files.rs)
//!   $LVM_SYSTEM_DIR/lvmlocal.conf    what is this host's alone (its system ID)
//!   $LVM_SYSTEM_DIR/lvm.conf         weakest; /etc/lvm where the variable is not set
//! ```
//!
//! The grammar is that of the metadata; `section/key = value` stands for `section { key = value }`.
//! A file that is not there is empty. A file that cannot be parsed is an error: it may hold the
//! filter that keeps us away from a device. Settings that no code here asks for are not checked.
//! All that there are stand in one table ([`keys`]).

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dm::raid::Consistency;
use lvm2::plan::logical::ExtendPolicy;
use lvm2::text::{Section, Value, parse};

use self::files::Files;
pub use self::keys::{Key, KeyKind, KeyState};
pub use self::overrides::{DevicesFileChoice, Keeping, Overrides};
pub use self::profile::ProfileKind;
use super::filter::Filter;
use crate::{Error, Kind, Result};

mod check;
mod files;
mod keys;
mod overrides;
mod profile;
mod tree;

/// Where the files are if `LVM_SYSTEM_DIR` is not set.
const SYSTEM_DIR: &str = "/etc/lvm";

/// All configuration that was found.
#[derive(Debug, Clone)]
pub struct Config {
    /// What is stronger than all of the rest.
    pub overrides: Overrides,
    system_dir: PathBuf,
    /// Where backups and archives go if nothing else is said; below `system_dir` if `None`.
    state_dir: Option<PathBuf>,
    /// Strongest first.
    layers: Vec<Section<'static>>,
    /// How many of them are texts, not files.
    text_count: usize,
    host_tags: Vec<String>,
}

/// How much of a configuration is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The texts and profiles alone, where there are any.
    Texts,
    /// The texts over the files.
    Everything,
}

/// What it means that there is no devices file where one would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingDevicesFile {
    /// It was named with `--devicesfile`: who adds devices begins it.
    Named,
    /// The configuration switches it on: who makes the host's first physical volumes begins it.
    Wanted,
    /// Nobody has said that there should be one.
    Fine,
}

impl Config {
    /// Reads the files of this host, `LVM_SYSTEM_DIR` observed.
    pub fn from_environment() -> Result<Self> {
        let dir = std::env::var_os("LVM_SYSTEM_DIR").filter(|dir| !dir.is_empty());
        let Some(dir) = dir else {
            let mut config = Self::read(SYSTEM_DIR)?;
            config.state_dir = state_dir(rustix::process::geteuid(), |name| std::env::var_os(name));
            return Ok(config);
        };
        Self::read(dir)
    }

    /// Reads the files in `system_dir`.
    pub fn read(system_dir: impl Into<PathBuf>) -> Result<Self> {
        let system_dir = system_dir.into();
        let host = rustix::system::uname();
        let files = Files::read(&system_dir, &host.nodename().to_string_lossy())?;
        Ok(Self {
            overrides: Overrides::default(),
            system_dir,
            state_dir: None,
            layers: files.trees.into_iter().rev().collect(),
            text_count: 0,
            host_tags: files.tags,
        })
    }

    /// No files: every setting has its default.
    pub fn empty() -> Self {
        Self {
            overrides: Overrides::default(),
            system_dir: PathBuf::from(SYSTEM_DIR),
            state_dir: None,
            layers: Vec::new(),
            text_count: 0,
            host_tags: Vec::new(),
        }
    }

    /// Adds settings that are stronger than all so far (`--config`).
    ///
    /// # Errors
    ///
    /// `Config`, in stock's words: the text cannot be parsed, or sets nothing.
    pub fn add_text(&mut self, text: &str) -> Result<()> {
        let tree = parse(text.as_bytes()).map_err(|error| unread(text, &error))?;
        if tree.nodes.is_empty() {
            return Err(Error::new(Kind::Config, NOT_ADDED));
        }
        self.layers.insert(0, tree::in_form(tree));
        self.text_count += 1;
        Ok(())
    }

    /// The folder that holds the files; `backup`, `archive`, `devices` and `profile` are below it.
    pub fn system_dir(&self) -> &Path {
        &self.system_dir
    }

    /// The value of `path`, such as `devices/filter`, where it is set. The table of settings
    /// (`keys.txt`) has to say that it is read.
    pub fn value(&self, path: &str) -> Option<&Value<'static>> {
        debug_assert!(
            keys::find(path).is_some_and(|key| key.state == KeyState::Read),
            "{path} is read, and keys.txt does not say so"
        );
        self.layers
            .iter()
            .find_map(|layer| tree::value(layer, path))
    }

    /// What is wrong with what files and texts say, one sentence each (`config/checks`).
    pub fn complaints(&self) -> Vec<String> {
        if !self.flag("config/checks", true) {
            return Vec::new();
        }
        let layers = self.layers.iter().rev();
        let mut all: Vec<String> = layers.flat_map(check::complaints).collect();
        let units = self.value("global/units");
        if units.is_some_and(|units| !matches!(units, Value::String(_))) {
            all.push("WARNING: Ignoring unsupported value for global/units.".to_owned());
        }
        all
    }

    /// What is set, as a tree: by everything, or by the texts alone.
    pub fn tree(&self, reach: Reach) -> Section<'static> {
        let count = match reach {
            Reach::Texts if self.text_count > 0 => self.text_count,
            _ => self.layers.len(),
        };
        assert!(self.text_count <= self.layers.len(), "texts are layers");
        let mut layers = self.layers[..count].iter().rev().cloned();
        let mut tree = layers.next().unwrap_or_default();
        layers.for_each(|layer| tree::lay_over(&mut tree, layer));
        tree
    }

    /// All settings that there are, in the order of their table.
    pub fn keys() -> &'static [Key] {
        keys::all()
    }

    /// The setting at `path`, which may have names of choice in it.
    pub fn key(path: &str) -> Option<&'static Key> {
        check::known(path)
    }

    /// The string at `path`.
    pub fn string(&self, path: &str) -> Option<&str> {
        match self.value(path)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The string at `path`; where none is set, or an empty one, stock's default.
    pub fn text(&self, path: &str) -> &str {
        let default = || keys::find(path).map_or("", |key| key.default.trim_matches('"'));
        let set = self.string(path).filter(|text| !text.is_empty());
        set.unwrap_or_else(default)
    }

    /// The integer at `path`.
    pub fn integer(&self, path: &str) -> Option<i64> {
        match self.value(path)? {
            Value::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// The switch at `path`, or `default`.
    pub fn flag(&self, path: &str, default: bool) -> bool {
        match self.value(path) {
            Some(Value::Integer(number)) => *number != 0,
            Some(Value::String(word)) => matches!(&**word, "1" | "y" | "yes" | "on" | "true"),
            _ => default,
        }
    }

    /// The strings at `path`: of an array, or a single one.
    pub fn strings(&self, path: &str) -> Option<Vec<&str>> {
        match self.value(path)? {
            Value::Array(values) => Some(values.iter().filter_map(as_text).collect()),
            single => as_text(single).map(|text| vec![text]),
        }
    }

    /// The filter at `path` (`devices/filter`, `devices/global_filter`); empty if it is not set.
    pub fn filter(&self, path: &str) -> Result<Filter> {
        Filter::new(path, &self.strings(path).unwrap_or_default())
    }

    /// The folders whose block devices are this host's (`devices/scan`).
    pub fn scan_dirs(&self) -> Vec<PathBuf> {
        let dirs = self.strings("devices/scan").filter(|dirs| !dirs.is_empty());
        dirs.unwrap_or_else(|| vec!["/dev"])
            .into_iter()
            .map(PathBuf::from)
            .collect()
    }

    /// Bytes per second that copies of mirrors and moves may take in the owner of a group
    /// (`ashlar/copy_mib_per_second`); `None`: no limit.
    pub fn copy_rate(&self) -> Option<u64> {
        self.mib("ashlar/copy_mib_per_second")
    }

    /// Bytes of the longest piece of a move, after which it is written down that it is moved
    /// (`ashlar/pvmove_piece_mib`).
    pub fn move_piece(&self) -> u64 {
        /// 1 GiB: seconds of any disk.
        const DEFAULT: u64 = 1 << 30;
        self.mib("ashlar/pvmove_piece_mib").unwrap_or(DEFAULT)
    }

    /// When the stores of snapshots grow by themselves, and by how much
    /// (`activation/snapshot_autoextend_threshold`, `activation/snapshot_autoextend_percent`).
    pub fn snapshot_extension(&self) -> ExtendPolicy {
        let number = |path, default| self.integer(path).unwrap_or(default);
        ExtendPolicy::new(
            number("activation/snapshot_autoextend_threshold", 100),
            number("activation/snapshot_autoextend_percent", 20),
        )
    }

    /// How arrays with parity that this process writes stay consistent when power is cut and a disk
    /// is lost (`ashlar/raid_consistency`: `journal`, `none`, or `auto`, which any other word is).
    pub fn raid_consistency(&self) -> Consistency {
        let said = self.string("ashlar/raid_consistency");
        let said = || said.and_then(Consistency::from_name);
        let chosen = self.overrides.raid_consistency.or_else(said);
        chosen.unwrap_or(Consistency::Auto)
    }

    /// The tags by which extents cling (`allocation/cling_tag_list`), without their `@`.
    pub fn cling_tags(&self) -> Vec<String> {
        let tags = self.strings("allocation/cling_tag_list");
        let plain = |tag: &str| tag.strip_prefix('@').unwrap_or(tag).to_owned();
        tags.unwrap_or_default().into_iter().map(plain).collect()
    }

    /// A number of MiB, in bytes, where one is set that is more than nothing.
    fn mib(&self, path: &str) -> Option<u64> {
        let number = u64::try_from(self.integer(path)?).ok()?;
        number.checked_mul(1 << 20).filter(|bytes| *bytes > 0)
    }

    /// How long to wait for one of stock's locks that somebody else has: `usual`, or not at all
    /// (`global/wait_for_locks`).
    pub fn lock_wait(&self, usual: Duration) -> Duration {
        if self.flag("global/wait_for_locks", true) {
            usual
        } else {
            Duration::ZERO
        }
    }

    /// Where stock keeps its lock files (`global/locking_dir`).
    pub fn locking_dir(&self) -> PathBuf {
        let dir = std::env::var_os("LVM_LOCKING_DIR").filter(|dir| !dir.is_empty());
        if let Some(dir) = dir {
            return dir.into();
        }
        self.string("global/locking_dir")
            .unwrap_or("/run/lock/lvm")
            .into()
    }

    /// Where backups go (`backup/backup_dir`).
    pub fn backup_dir(&self) -> PathBuf {
        self.dir_below("backup/backup_dir", "backup")
    }

    /// Where archives go (`backup/archive_dir`).
    pub fn archive_dir(&self) -> PathBuf {
        self.dir_below("backup/archive_dir", "archive")
    }

    /// The devices file, unless it is switched off (`devices/use_devicesfile`,
    /// `devices/devicesfile`). It counts where it exists.
    pub fn devices_file(&self) -> Option<PathBuf> {
        let name = match &self.overrides.devices_file {
            Some(DevicesFileChoice::Nothing) => return None,
            Some(DevicesFileChoice::Named(name)) => name,
            None if !self.flag("devices/use_devicesfile", true) => return None,
            None => self
                .string("devices/devicesfile")
                .unwrap_or("system.devices"),
        };
        (!name.is_empty()).then(|| self.system_dir.join("devices").join(name))
    }

    /// What it means that there is no devices file.
    pub fn missing_devices_file(&self) -> MissingDevicesFile {
        match self.overrides.devices_file {
            Some(DevicesFileChoice::Named(_)) => MissingDevicesFile::Named,
            None if self.value("devices/use_devicesfile").is_some() => MissingDevicesFile::Wanted,
            _ => MissingDevicesFile::Fine,
        }
    }

    /// This host's own system ID (`global/system_id_source`); `None` if it has none.
    pub fn system_id(&self) -> Option<String> {
        let first_line = |path: &Path| {
            let text = fs::read_to_string(path).ok()?;
            let line = text
                .lines()
                .map(str::trim)
                .find(|l| !l.is_empty() && !l.starts_with('#'));
            line.map(str::to_owned)
        };
        let source = self.string("global/system_id_source").unwrap_or("none");
        let raw = match source {
            "uname" => first_line(Path::new("/proc/sys/kernel/hostname"))
                .filter(|name| !name.starts_with("localhost")),
            "machineid" => {
                let etc = Path::new(self.text("global/etc"));
                first_line(&etc.join("machine-id"))
            }
            "lvmlocal" | "lvm.conf" => self.string("local/system_id").map(str::to_owned),
            "file" => self
                .string("global/system_id_file")
                .and_then(|file| first_line(file.as_ref())),
            _ => None,
        };
        raw.map(|id| clean_system_id(&id))
            .filter(|id| !id.is_empty())
    }

    /// The tags of this host (`tags` in its files), in the order in which they were met.
    pub fn host_tags(&self) -> &[String] {
        &self.host_tags
    }

    /// System IDs of other hosts whose groups this one may use (`local/extra_system_ids`).
    pub fn extra_system_ids(&self) -> Vec<&str> {
        self.strings("local/extra_system_ids").unwrap_or_default()
    }

    fn dir_below(&self, path: &str, name: &str) -> PathBuf {
        self.string(path)
            .map_or_else(|| self.state_dir().join(name), PathBuf::from)
    }

    fn state_dir(&self) -> &Path {
        self.state_dir.as_deref().unwrap_or(&self.system_dir)
    }
}

/// Where an ordinary user keeps what stock keeps in `/etc/lvm`, which only root may write; `None`
/// for root, and for who has no home.
fn state_dir(
    user: rustix::process::Uid,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Option<PathBuf> {
    if user.is_root() {
        return None;
    }
    let absolute = |path: &PathBuf| path.is_absolute();
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(absolute);
    let home = || folder("HOME").map(|home| home.join(".local/state"));
    let state = folder("XDG_STATE_HOME").or_else(home);
    state.map(|state| state.join("ashlar"))
}

/// What is said of a text that sets nothing, and behind what else is said of one.
const NOT_ADDED: &str = "Failed to set overridden configuration entries.";

/// Why a text is no configuration, in stock's words.
fn unread(text: &str, error: &lvm2::Error) -> Error {
    let at = error.at.unwrap_or(text.len());
    let before = &text.as_bytes()[..at];
    let line = before.split(|byte| *byte == b'\n').count();
    let what = if error.context.contains("a value") {
        "expected a value"
    } else {
        "unexpected token"
    };
    let byte = at + 1;
    let what = format!("Parse error at byte {byte} (line {line}): {what}\n{NOT_ADDED}");
    Error::new(Kind::Config, what)
}

fn as_text<'a>(value: &'a Value<'_>) -> Option<&'a str> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Keeps the characters that stock allows in a system ID, from the first letter or digit on.
pub fn clean_system_id(id: &str) -> String {
    let allowed = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
    let start = id
        .find(|c: char| c.is_ascii_alphanumeric())
        .unwrap_or(id.len());
    id[start..].chars().filter(allowed).take(127).collect()
}

#[cfg(test)]
mod tests;
