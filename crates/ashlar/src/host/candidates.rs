//! The list of devices to look at, before any of them is read.
//!
//! From a list by the user, everything in it is a candidate, and so is a file that a command names
//! as one of its devices: naming a device overrides filters and
//! the devices file, as with stock. Otherwise the host's block devices are: those that `/sys`
//! knows and `/dev` has, or those below `devices/scan` if that names other folders; then filters
//! and the devices file decide. What is part of an array, of a multipath device, or is a logical
//! volume itself is left out in either case, since using it by itself destroys what it is part of
//! (`devices/md_component_detection`, `devices/multipath_component_detection`,
//! `devices/scan_lvs`).
//!
//! A device is a candidate once, whatever the number of names under which it is reached.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use nbd::client::Address;

use super::config::{Config, MissingDevicesFile};
use super::devices_file::DevicesFile;
use super::filter::{Filter, Verdict};
use super::location::{DeviceId, DeviceNumber, Location, Place, Remote};
use super::regex::Regex;
use super::spec::{DeviceSource, DeviceSpec};
use super::sysfs::{PartOf, Sysfs};
use super::wwids::Wwids;
use crate::Result;
use crate::notices;
use crate::scan::{Finding, FindingKind, Severity};

/// How deep folders below `devices/scan` are entered; `/dev/disk/by-path` is at 2.
const SCAN_DEPTH_MAX: u32 = 8;
/// How many entries of a folder are looked at; guards against being pointed at a mail spool.
const FOLDER_ENTRIES_MAX: usize = 100_000;

/// This host: its configuration and its devices.
#[derive(Debug, Clone)]
pub struct Host {
    /// The configuration.
    pub config: Config,
    /// What the kernel knows.
    pub sysfs: Sysfs,
}

/// A device to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// What people know it by.
    pub name: String,
    /// How to open it.
    pub location: Location,
    /// Its number, if it is a block device.
    pub number: Option<DeviceNumber>,
    /// What it is known by across reboots.
    pub id: Option<DeviceId>,
    /// Its number on its disk, if it is a partition that the kernel knows.
    pub partition: Option<u32>,
    /// Whether it was named itself, or found where things are.
    pub origin: Origin,
    /// Whether the kernel has devices for its partitions.
    pub kernel_partitions: KernelPartitions,
    /// Why it is not to be read, if it is not.
    pub skip: Option<String>,
}

impl Candidate {
    /// Something that someone named, and of which the kernel knows nothing.
    pub(crate) fn named(name: &str, location: Location) -> Self {
        Self {
            name: name.to_owned(),
            location,
            number: None,
            id: None,
            partition: None,
            origin: Origin::Named,
            kernel_partitions: KernelPartitions::Absent,
            skip: None,
        }
    }
}

/// Who brought a candidate in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Someone named it.
    Named,
    /// It lies in a folder that someone named.
    Folder,
    /// It is one of the host's.
    Host,
}

/// Whether the kernel looks into a device's partition table itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KernelPartitions {
    /// It does: the partitions are candidates themselves.
    Present,
    /// It does not: the scan looks into the table.
    Absent,
}

/// The candidates, and what was wrong while they were gathered.
#[derive(Debug, Clone, Default)]
pub struct Candidates {
    /// The devices, each once.
    pub devices: Vec<Candidate>,
    /// What could not be used.
    pub findings: Vec<Finding>,
}

impl Host {
    /// This machine, with the configuration that the environment points to.
    pub fn from_environment() -> Result<Self> {
        Ok(Self::with_config(Config::from_environment()?))
    }

    /// This machine with this configuration.
    pub fn with_config(config: Config) -> Self {
        Self {
            config,
            sysfs: Sysfs::of_host(),
        }
    }

    /// This machine without a configuration.
    pub fn without_config() -> Self {
        Self::with_config(Config::empty())
    }

    /// The devices of `source`.
    pub fn candidates(&self, source: &DeviceSource) -> Result<Candidates> {
        match source {
            DeviceSource::Listed(specs) => Ok(self.listed(specs)),
            DeviceSource::Host(named) => self.all(named, None),
            DeviceSource::Listing(named) => {
                let added = named.iter().filter_map(|path| block_number(path));
                self.all(named, Some(added.collect()))
            }
        }
    }

    fn listed(&self, specs: &[DeviceSpec]) -> Candidates {
        let mut gathering = Gathering::new(self);
        for spec in specs {
            match spec.address() {
                Some(address) => gathering.add_remote(&spec.path.to_string_lossy(), address),
                None => gathering.add_spec(&spec.path),
            }
        }
        gathering.check();
        gathering.found
    }

    /// Those that are `added` need not be in the devices file yet, which may begin with them.
    fn all(&self, named: &[PathBuf], added: Option<BTreeSet<DeviceNumber>>) -> Result<Candidates> {
        let is_begun = added.is_some();
        let added = added.unwrap_or_default();
        let global = self.config.filter("devices/global_filter")?;
        let local = self.config.filter("devices/filter")?;
        let mut allowed = match self.config.devices_file() {
            Some(path) => DevicesFile::read(&path)?,
            None => None,
        };
        if self.config.missing_devices_file() == MissingDevicesFile::Named && !added.is_empty() {
            allowed.get_or_insert_default();
        }
        let mut gathering = Gathering::new(self);
        let missing = self.config.missing_devices_file();
        if allowed.is_some() || (is_begun && missing != MissingDevicesFile::Fine) {
            gathering.found.findings.extend(self.ignored_filters());
        }
        let preferred = self.preferred_names()?;
        let mut devices = self.host_devices(&[&global, &local], &preferred);
        for path in named {
            add_named_node(&mut devices, path);
        }
        assert!(
            devices.values().all(|names| !names.is_empty()),
            "a device has a name"
        );
        for (number, names) in devices {
            gathering.add_block(Path::new(&names[0]), number, Origin::Host);
            let Some(candidate) = gathering.found.devices.last_mut() else {
                continue;
            };
            if candidate.skip.is_some() {
                continue;
            }
            candidate.skip = match &allowed {
                // As with stock, filters have no say where there is a devices file.
                Some(file) if file.lists(candidate.id.as_ref(), candidate.partition, &names) => {
                    None
                }
                Some(_) if added.contains(&number) => None,
                Some(_) => Some("device is not in devices file".to_owned()),
                None => rejected(&[("global_filter", &global), ("filter", &local)], &names),
            };
        }
        for path in named.iter().filter(|path| path.is_file()) {
            gathering.add_spec(path);
        }
        gathering.check();
        Ok(gathering.found)
    }

    /// The host's block devices with their names, the best one first.
    fn host_devices(
        &self,
        filters: &[&Filter],
        preferred: &[Regex],
    ) -> BTreeMap<DeviceNumber, Vec<String>> {
        let dirs = self.config.scan_dirs();
        let plain = dirs == [Path::new("/dev")];
        let mut devices: BTreeMap<DeviceNumber, Vec<String>> = BTreeMap::new();
        if plain {
            for (kernel_name, number) in self.sysfs.block_devices() {
                let mapper = self
                    .sysfs
                    .dm_name(&kernel_name)
                    .map(|name| format!("/dev/mapper/{name}"));
                let node = format!("/dev/{}", kernel_name.replace('!', "/"));
                let is_it = |path: &String| block_number(Path::new(path)) == Some(number);
                if let Some(name) = mapper.into_iter().chain([node]).find(is_it) {
                    devices.insert(number, vec![name]);
                }
            }
        }
        // Links matter to these only; walking all of /dev is not free.
        let asks_for_links = filters.iter().any(|filter| !filter.is_empty());
        if !plain || asks_for_links || !preferred.is_empty() {
            let mut budget = FOLDER_ENTRIES_MAX;
            for dir in &dirs {
                walk(dir, SCAN_DEPTH_MAX, &mut budget, &mut |path, number| {
                    let names = devices.entry(number);
                    if plain && matches!(names, std::collections::btree_map::Entry::Vacant(_)) {
                        return;
                    }
                    let names = names.or_default();
                    let name = path.to_string_lossy().into_owned();
                    if !names.contains(&name) {
                        names.push(name);
                    }
                });
            }
        }
        for names in devices.values_mut() {
            put_first(names, preferred);
        }
        devices
    }

    /// What is said of filters where there is a devices file.
    fn ignored_filters(&self) -> impl Iterator<Item = Finding> {
        let set = ["devices/global_filter", "devices/filter"].into_iter();
        let set = set.filter(|path| self.config.strings(path).is_some());
        set.map(|path| {
            let name = path.trim_start_matches("devices/");
            let text = format!("{path} has no say beside the devices file");
            let in_lvm2 =
                format!("Please remove the lvm.conf {name}, it is ignored with the devices file.");
            Finding::new(FindingKind::Config, Severity::Warning, text)
                .remedy("take it out of the configuration")
                .in_lvm2(vec![in_lvm2])
        })
    }

    /// What names of devices are to be like (`devices/preferred_names`), the best first.
    fn preferred_names(&self) -> Result<Vec<Regex>> {
        let wanted = self.config.strings("devices/preferred_names");
        let wanted = wanted.unwrap_or_default().into_iter();
        wanted.map(Regex::new).collect()
    }
}

/// Puts the name in front that is most like one of these; the others keep their order.
fn put_first(names: &mut [String], preferred: &[Regex]) {
    let best = preferred
        .iter()
        .find_map(|wanted| names.iter().position(|name| wanted.is_match(name)));
    if let Some(best) = best {
        names[..=best].rotate_right(1);
    }
}

/// A node that someone named: another name of a device, or of one that has no node under the
/// kernel's name, as in containers. Filters and the devices file decide about it as about all.
fn add_named_node(devices: &mut BTreeMap<DeviceNumber, Vec<String>>, path: &Path) {
    if let Some(number) = block_number(path) {
        let names = devices.entry(number).or_default();
        let name = path.to_string_lossy().into_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
}

fn rejected(filters: &[(&str, &Filter)], names: &[String]) -> Option<String> {
    let names = || names.iter().map(String::as_str);
    let by = filters
        .iter()
        .find(|(_, filter)| filter.verdict(names()) == Verdict::Reject)?;
    Some(format!("devices/{} rejects it", by.0))
}

/// Candidates while they are gathered: each device once.
struct Gathering<'a> {
    host: &'a Host,
    seen: HashSet<Identity>,
    found: Candidates,
    /// Read when the first device asks.
    wwids: OnceCell<Wwids>,
}

/// What makes a device the same one under another name.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    File { device: u64, inode: u64 },
    Block(DeviceNumber),
    Nbd(Address),
}

impl<'a> Gathering<'a> {
    fn new(host: &'a Host) -> Self {
        Self {
            host,
            seen: HashSet::new(),
            found: Candidates::default(),
            wwids: OnceCell::new(),
        }
    }

    fn add_spec(&mut self, path: &Path) {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) => {
                notices::tell_once(&format!("Device not found for {}.", path.display()));
                return self.unusable(path, &error.to_string());
            }
        };
        if metadata.is_dir() {
            self.add_folder(path);
        } else if metadata.is_file() {
            self.add_file(path, &metadata, Origin::Named);
        } else if metadata.file_type().is_block_device() {
            self.add_block(path, number_of(metadata.rdev()), Origin::Named);
        } else {
            self.unusable(
                path,
                "it is neither a file, nor a block device, nor a directory",
            );
        }
    }

    /// An export of an NBD server. Whether it is there is found out when it is read.
    fn add_remote(&mut self, name: &str, address: Address) {
        if !self.seen.insert(Identity::Nbd(address.clone())) {
            return;
        }
        let remote = match Remote::new(address, &self.host.config) {
            Ok(remote) => remote,
            Err(error) => return self.unusable(Path::new(name), &error.to_string()),
        };
        let location = Location {
            place: Place::Nbd(remote),
            window: None,
        };
        let candidate = Candidate::named(name, location);
        self.found.devices.push(candidate);
    }

    /// The files and block devices in a folder, by name.
    fn add_folder(&mut self, folder: &Path) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.unusable(folder, &error.to_string()),
        };
        let mut paths: Vec<PathBuf> = entries
            .take(FOLDER_ENTRIES_MAX + 1)
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        if paths.len() > FOLDER_ENTRIES_MAX {
            paths.truncate(FOLDER_ENTRIES_MAX);
            let why = format!("only {FOLDER_ENTRIES_MAX} of its entries were looked at");
            self.unusable(folder, &why);
        }
        paths.sort();
        for path in paths {
            // What vanishes meanwhile, and broken links, are not images.
            let Ok(metadata) = fs::metadata(&path) else {
                continue;
            };
            if metadata.is_file() {
                self.add_file(&path, &metadata, Origin::Folder);
            } else if metadata.file_type().is_block_device() {
                self.add_block(&path, number_of(metadata.rdev()), Origin::Folder);
            }
        }
    }

    fn add_file(&mut self, path: &Path, metadata: &fs::Metadata, origin: Origin) {
        let identity = Identity::File {
            device: metadata.dev(),
            inode: metadata.ino(),
        };
        if self.seen.insert(identity) {
            self.found.devices.push(Candidate {
                name: path.to_string_lossy().into_owned(),
                location: Location::whole(path),
                number: None,
                id: None,
                partition: None,
                origin,
                kernel_partitions: KernelPartitions::Absent,
                skip: None,
            });
        }
    }

    /// A block device; one that was named or lies in a named folder brings its partitions along.
    fn add_block(&mut self, path: &Path, number: DeviceNumber, origin: Origin) {
        if !self.seen.insert(Identity::Block(number)) {
            return;
        }
        let facts = self.host.sysfs.facts(number);
        let skip = facts
            .part_of
            .as_ref()
            .and_then(|part| self.host.reason_to_skip(part))
            .or_else(|| self.reason_by_itself(number, facts.id.as_ref()));
        let kernel_partitions = if facts.partitions.is_empty() {
            KernelPartitions::Absent
        } else {
            KernelPartitions::Present
        };
        self.found.devices.push(Candidate {
            name: path.to_string_lossy().into_owned(),
            location: Location::whole(path),
            number: Some(number),
            id: facts.id,
            partition: facts.partition,
            origin,
            kernel_partitions,
            skip,
        });
        if origin == Origin::Host {
            return;
        }
        for partition in facts.partitions {
            let path = PathBuf::from(format!("/dev/{}", partition.replace('!', "/")));
            if let Some(number) = block_number(&path) {
                self.add_block(&path, number, origin);
            }
        }
    }

    /// Why a device that is part of nothing yet is not read.
    fn reason_by_itself(&self, number: DeviceNumber, id: Option<&DeviceId>) -> Option<String> {
        let config = &self.host.config;
        let is_on = |path, default| config.flag(path, default);
        if is_on("devices/ignore_suspended_devices", false) && self.host.sysfs.is_suspended(number)
        {
            return Some("it is suspended".to_owned());
        }
        let id = id.filter(|_| is_on("devices/multipath_component_detection", true))?;
        let wwids = self.wwids.get_or_init(|| Wwids::read(config));
        wwids
            .has(id)
            .then(|| "it is a path of a multipath device that is not set up".to_owned())
    }

    /// The invariant: what is found has an identity that nothing else has.
    fn check(&self) {
        assert!(
            self.found.devices.len() <= self.seen.len(),
            "each is found once"
        );
        let is_whole = |candidate: &Candidate| candidate.location.window.is_none();
        assert!(
            self.found.devices.iter().all(is_whole),
            "partitions are looked for later"
        );
    }

    fn unusable(&mut self, path: &Path, why: &str) {
        let path = path.display();
        let message = if why.starts_with("No such file or directory") {
            format!("Device not found for {path}")
        } else {
            format!("Cannot use {path}: {why}")
        };
        let remedy = "name a file, a block device or a directory of images that can be read";
        self.found
            .findings
            .push(Finding::new(FindingKind::Unreadable, Severity::Error, message).remedy(remedy));
    }
}

impl Host {
    fn reason_to_skip(&self, part: &PartOf) -> Option<String> {
        let detected = |setting: &str| self.config.flag(setting, true);
        match part {
            PartOf::Md(array) => detected("devices/md_component_detection")
                .then(|| format!("it is a component of the array {array}")),
            PartOf::Multipath(name) => detected("devices/multipath_component_detection")
                .then(|| format!("it is a path of the multipath device {name}")),
            PartOf::LogicalVolume(name) => (!self.config.flag("devices/scan_lvs", false))
                .then(|| format!("it is the logical volume {name}")),
        }
    }
}

/// Calls `found` with each block device below `dir`. Links to folders are not followed.
fn walk(dir: &Path, depth: u32, budget: &mut usize, found: &mut impl FnMut(&Path, DeviceNumber)) {
    assert!(depth <= SCAN_DEPTH_MAX, "folders have a depth");
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    for path in paths {
        let Some(left) = budget.checked_sub(1) else {
            return;
        };
        *budget = left;
        let Ok(kind) = fs::symlink_metadata(&path) else {
            continue;
        };
        if kind.is_dir() && depth > 0 {
            walk(&path, depth - 1, budget, found);
        } else if let Some(number) = block_number(&path) {
            found(&path, number);
        }
    }
}

/// The number of the block device at `path`, links followed.
pub(crate) fn block_number(path: &Path) -> Option<DeviceNumber> {
    let metadata = fs::metadata(path).ok()?;
    metadata
        .file_type()
        .is_block_device()
        .then(|| number_of(metadata.rdev()))
}

fn number_of(device: u64) -> DeviceNumber {
    DeviceNumber {
        major: rustix::fs::major(device),
        minor: rustix::fs::minor(device),
    }
}

#[cfg(test)]
mod tests;
