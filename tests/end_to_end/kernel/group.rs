//! Groups that we make on images, fill and look into.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use lvm::model::LvId;
use lvm::plan::group::{NewGroup, create_group};
use lvm::plan::initialise::NewPv;
use lvm::plan::logical::{NewVolume, create_volume};
use lvm::plan::size::SizeArgument;
use lvm::plan::{Author, Change, pieces};
use lvm::{Bytes, Sectors};
use manager::activate::{self, Activator};
use manager::apply::{
    Disks, HostDisks, NewLabel, Planned, Quiet, Request, Session, find_device, find_pv,
    free_member, plan_device,
};
use manager::host::{Config, DeviceSource, DeviceSpec, Host, Sysfs};
use manager::scan::{FoundVg, Options, Scan};
use target::volume::{Access, Volume};
use tests::{Scratch, Tool, ashlar};

/// Extents are small, so that the disks are.
const EXTENT: Sectors = Sectors(1 << 11);

/// A group on images, and where it is.
pub(super) struct Group {
    pub(super) name: &'static str,
    pub(super) images: Vec<PathBuf>,
    host: Host,
    _folder: Scratch,
}

impl Group {
    /// What we take for a group of this name on images that exist.
    pub(super) fn on(name: &'static str, images: Vec<PathBuf>) -> Self {
        let folder = Scratch::new("settings");
        let mut config = Config::read(folder.join("lvm")).expect("an empty configuration");
        let locks = folder.join("locks");
        let text = format!("global/locking_dir=\"{}\"", locks.display());
        config.add_text(&text).expect("a setting");
        let host = Host {
            config,
            sysfs: Sysfs::of_host(),
        };
        Self {
            name,
            images,
            host,
            _folder: folder,
        }
    }

    /// A new group of extents of 1 MiB.
    pub(super) fn create(name: &'static str, images: Vec<PathBuf>) -> Self {
        let group = Self::on(name, images);
        let names: Vec<String> = group.names().collect();
        group.change("pvcreate", None, &mut |scan, author| {
            let mut planned = Planned::default();
            for name in &names {
                let device = find_device(scan, name)?;
                let layout = NewPv::new(author.uuid()).lay_out(&plan_device(scan, device))?;
                planned.new.push(NewLabel { device, layout });
            }
            Ok(planned)
        });
        group.change("vgcreate", Some(name), &mut |scan, author| {
            let mut members = Vec::new();
            for disk in &names {
                members.push(free_member(scan, find_pv(scan, disk)?)?);
            }
            let new = NewGroup {
                extent_size: EXTENT,
                ..NewGroup::new(name, &members)
            };
            Ok(create_group(&new, author)?.into())
        });
        group
    }

    /// Makes a volume of so many MiB; `adapt` says what it is.
    pub(super) fn volume(&self, name: &str, mib: u64, adapt: impl Fn(&mut NewVolume<'_>)) {
        let mut new = NewVolume {
            name: Some(name),
            ..NewVolume::linear(SizeArgument::extents(mib))
        };
        adapt(&mut new);
        self.plan("lvcreate", |group, author| {
            create_volume(&group.model, &new, author)
        });
    }

    /// Changes the group.
    pub(super) fn plan(
        &self,
        command: &str,
        mut plan: impl FnMut(&FoundVg, &mut Author<'_>) -> lvm::Result<Change>,
    ) {
        self.change(command, None, &mut |scan, author| {
            let found = scan.find_group(self.name)?;
            Ok(plan(found, author)?.into())
        });
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

    fn scan(&self) -> Scan {
        self.disks().scan(&self.host).expect("a scan")
    }

    fn change(
        &self,
        command: &str,
        new_group: Option<&str>,
        plan: &mut dyn FnMut(&Scan, &mut Author<'_>) -> manager::Result<Planned>,
    ) {
        let mut groups = vec![self.name.to_owned()];
        if command == "pvcreate" || new_group.is_some() {
            groups.clear();
        }
        let request = Request {
            groups,
            new_group: new_group.map(str::to_owned),
            changes_pvs: true,
            command: command.to_owned(),
            ..Request::default()
        };
        let disks = self.disks();
        let mut talk = Quiet::yes();
        let mut session = Session::new(&self.host, &disks, &mut talk);
        let result = session.change(&request, &mut |scan, author| plan(scan, author));
        result.unwrap_or_else(|error| panic!("{command}: {error}"));
    }

    fn names(&self) -> impl Iterator<Item = String> {
        self.images.iter().map(|image| image.display().to_string())
    }

    fn disks(&self) -> HostDisks {
        let spec = |path: &PathBuf| DeviceSpec { path: path.clone() };
        HostDisks {
            source: DeviceSource::Listed(self.images.iter().map(spec).collect()),
            options: Options::default(),
        }
    }

    fn ashlar(&self, command: &str) -> Tool {
        let devices: Vec<String> = self.names().collect();
        ashlar().args(["--devices", &devices.join(","), command])
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
