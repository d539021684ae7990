//! Groups that we make on images, fill and look into.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ashlar::activate::{self, Activator, MissingPolicy};
use ashlar::apply::{Disks, HostDisks};
use ashlar::host::{Config, DeviceSource, DeviceSpec, Host, Sysfs};
use ashlar::live::{LiveGroup, MirrorStatus};
use ashlar::scan::{Options, Scan};
use dm::volume::{Access, Volume};
use lvm2::Bytes;
use lvm2::model::{Area, LvId, Segment};
use lvm2::plan::pieces;
use tests::{LIMIT, Scratch, Tool, ashlar};

/// A group on images, and where it is.
pub(super) struct Group {
    pub(super) name: &'static str,
    pub(super) images: Vec<PathBuf>,
    host: Host,
    folder: Scratch,
}

impl Group {
    /// What we take for a group of this name on images that exist.
    pub(super) fn on(name: &'static str, images: Vec<PathBuf>) -> Self {
        let folder = Scratch::new("settings");
        let locks = folder.join("locks");
        let text = format!("global {{ locking_dir = \"{}\" }}\n", locks.display());
        fs::write(folder.join("lvm.conf"), text).expect("there is space for it");
        let host = Host {
            config: Config::read(folder.path()).expect("a configuration"),
            sysfs: Sysfs::of_host(),
        };
        Self {
            name,
            images,
            host,
            folder,
        }
    }

    /// A new group of extents of 1 MiB.
    pub(super) fn create(name: &'static str, images: Vec<PathBuf>) -> Self {
        let group = Self::on(name, images);
        let create = group.ashlar("vgcreate").args(["-s", "1m", name]);
        create.args(&group.images).succeed();
        group
    }

    /// Changes a volume, or makes one: a command and its options, then `group/volume`.
    pub(super) fn change(&self, command: &str, volume: &str) {
        let mut words = command.split(' ');
        let tool = self.ashlar(words.next().expect("a command"));
        let tool = tool.arg("-y").args(words);
        tool.arg(format!("{}/{volume}", self.name)).succeed();
    }

    /// Makes a volume with these options.
    pub(super) fn volume(&self, name: &str, options: &str) {
        let tool = self.ashlar("lvcreate").args(["-y", "-n", name]);
        tool.args(options.split(' ')).arg(self.name).succeed();
    }

    /// Fills a volume with a file.
    pub(super) fn fill(&self, volume: &str, file: &Path) {
        let to = format!("{}/{volume}", self.name);
        self.ashlar("cp").arg(file).arg(to).succeed();
    }

    /// All that a volume holds.
    pub(super) fn read(&self, volume: &str) -> Vec<u8> {
        let from = format!("{}/{volume}", self.name);
        self.ashlar("cat").arg(from).succeed().stdout
    }

    /// Requires that a volume cannot be read whole.
    pub(super) fn refuse(&self, volume: &str) {
        let from = format!("{}/{volume}", self.name);
        let finished = self.ashlar("cat").arg(from).run();
        assert_ne!(finished.code, Some(0), "{volume} is read whole");
    }

    /// What device-mapper would find on a volume's own extents, which lie in one piece.
    pub(super) fn place(&self, volume: &str) -> Place {
        let scan = self.scan();
        let found = scan.find_group(self.name).expect("the group");
        let model = &found.model;
        let id: LvId = model.lv_by_name(volume).expect("the volume");
        let size = model.lv(id).size(model.extent_size).expect("a size");
        let size = size.to_bytes().expect("a size");
        let pieces = pieces(model, id, Bytes::ZERO, size).expect("its extents");
        let [piece] = &pieces[..] else {
            panic!("{volume} lies in {} pieces", pieces.len());
        };
        let pv = scan.physical_volumes.iter().find(|pv| pv.uuid == piece.pv);
        let device = scan.device(pv.expect("a member").device);
        Place {
            image: PathBuf::from(&device.name),
            start: piece.start.0,
            len: size.0,
        }
    }

    /// Runs a volume for reading and writing, as a server would, while `act` uses it.
    pub(super) fn run(&self, volume: &str, act: impl FnOnce(&Volume)) {
        let scan = self.scan();
        let found = scan.find_group(self.name).expect("the group");
        let id = found.model.lv_by_name(volume).expect("the volume");
        let options = activate::Options {
            access: Access::ReadWrite,
            ..activate::Options::default()
        };
        let mut activator = Activator::new(&scan, &self.host);
        let activated = activator.activate(found, id, options);
        let activated = activated.unwrap_or_else(|error| panic!("{volume}: {error}"));
        act(&activated.volume);
    }

    /// Serves an origin until a snapshot is merged into it and gone.
    pub(super) fn merge(&self, origin: &str, snapshot: &str) {
        let group = LiveGroup::take(&self.host, &self.disks(), self.name).expect("is free");
        let used = group.open(origin, MissingPolicy::default());
        let used = used.expect("is opened");
        let end = Instant::now() + LIMIT;
        let is_there = || {
            let scan = self.scan();
            let found = scan.find_group(self.name).expect("the group");
            found.model.lv_by_name(snapshot).is_some()
        };
        while is_there() {
            assert!(Instant::now() < end, "{snapshot} is merged at last");
            std::thread::sleep(Duration::from_millis(50));
        }
        used.close().expect("ends");
    }

    /// Serves an array until all that it consists of is in sync.
    pub(super) fn bring_in_sync(&self, volume: &str) {
        let group = LiveGroup::take(&self.host, &self.disks(), self.name).expect("is free");
        let used = group.open(volume, MissingPolicy::default());
        let used = used.expect("is opened");
        let end = Instant::now() + LIMIT;
        loop {
            let status = group.status();
            let mut arrays = status.iter().flat_map(|one| &one.mirrors);
            if arrays.all(MirrorStatus::is_in_sync) {
                break;
            }
            assert!(
                Instant::now() < end,
                "{volume} is in sync at last: {status:?}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        used.close().expect("ends");
    }

    /// Serves an array until some of what it is to become is there, and not all.
    pub(super) fn move_some(&self, volume: &str) {
        let group = LiveGroup::take(&self.host, &self.disks(), self.name).expect("is free");
        let used = group.open(volume, MissingPolicy::default());
        let used = used.expect("is opened");
        let end = Instant::now() + LIMIT;
        loop {
            let status = group.status();
            let mut arrays = status.iter().flat_map(|one| &one.mirrors);
            if arrays.any(|one| one.in_sync > 0) {
                let mut arrays = status.iter().flat_map(|one| &one.mirrors);
                let is_over = arrays.all(MirrorStatus::is_in_sync);
                assert!(!is_over, "{volume} is not at its end yet: {status:?}");
                break;
            }
            assert!(Instant::now() < end, "{volume} gets on: {status:?}");
        }
        used.close().expect("ends");
    }

    fn scan(&self) -> Scan {
        self.disks().scan(&self.host).expect("a scan")
    }

    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.images.iter().map(|image| image.display().to_string())
    }

    fn disks(&self) -> HostDisks {
        let spec = |path: &PathBuf| DeviceSpec { path: path.clone() };
        HostDisks {
            source: DeviceSource::Listed(self.images.iter().map(spec).collect()),
            options: Options::default(),
        }
    }

    /// The names of a mirror's copies, in the order of the metadata.
    pub(super) fn copies(&self, volume: &str) -> Vec<String> {
        let scan = self.scan();
        let model = &scan.find_group(self.name).expect("the group").model;
        let id = model.lv_by_name(volume).expect("the volume");
        let areas = model.lv(id).segments.iter().flat_map(Segment::areas);
        let name = |area: &Area| match area {
            Area::Lv { lv, .. } => model.lv(*lv).name().to_owned(),
            Area::Pv { .. } => panic!("{volume} is no mirror"),
        };
        areas.map(name).collect()
    }

    fn ashlar(&self, command: &str) -> Tool {
        let devices: Vec<String> = self.names().collect();
        self.ashlar_on(&devices).arg(command)
    }

    /// The program, seeing these devices only.
    pub(super) fn ashlar_on(&self, devices: &[String]) -> Tool {
        let settings = self.folder.path();
        let tool = ashlar().env("LVM_SYSTEM_DIR", settings);
        tool.args(["--devices", &devices.join(",")])
    }
}

/// A piece of an image.
pub(super) struct Place {
    image: PathBuf,
    start: u64,
    len: u64,
}

impl Place {
    pub(super) fn image(&self) -> &Path {
        &self.image
    }

    pub(super) fn read(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len as usize];
        let file = File::open(&self.image).expect("the image");
        file.read_exact_at(&mut bytes, self.start)
            .expect("it lies within");
        bytes
    }

    pub(super) fn write(&self, at: u64, bytes: &[u8]) {
        assert!(at + bytes.len() as u64 <= self.len);
        let file = File::options().write(true).open(&self.image);
        let file = file.expect("the image");
        file.write_all_at(bytes, self.start + at)
            .expect("it lies within");
    }
}

/// Sectors that each say what they are: the golden disks' pattern.
pub(super) fn pattern(name: &str, size: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size as usize);
    for sector in 0..size / 512 {
        let line = format!("{name}.0.{sector:012}\n");
        let whole = line.bytes().cycle().take(512);
        bytes.extend(whole);
    }
    bytes
}

/// Empty images.
pub(super) fn images(scratch: &Scratch, name: &str, count: usize, mib: u64) -> Vec<PathBuf> {
    let image = |number: usize| scratch.sparse(&format!("{name}{number}.img"), mib << 20);
    (0..count).map(image).collect()
}

/// A file with this content.
pub(super) fn file(scratch: &Scratch, name: &str, content: &[u8]) -> PathBuf {
    let path = scratch.join(name);
    fs::write(&path, content).expect("there is space for it");
    path
}
