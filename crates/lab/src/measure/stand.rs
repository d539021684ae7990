//! Builds what a study measures: images, a group of them, and the ways to their bytes.
//!
//! ```text
//!   a.img ┬─ linear volume ─┬─ in this process            b.img ┐
//!         │                 ├─ NBD: server and client           ├─ striped volume
//!         │                 └─ FUSE ─ loop device         c.img ┘
//!         └─ the same bytes of the file ─┬─ in this process
//!                                        └─ loop ─ loop ─ loop
//! ```
//!
//! The group is made by the program's own commands, as a person would, and activated as by
//! programs that link the library. Servers are threads of this process: their processor time is
//! counted with the client's. Whatever cannot be built is named with its reason, and left out.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ashlar::activate::{Activator, MissingPolicy, Options};
use ashlar::host::{DeviceSource, Host};
use ashlar::scan;
use block::file::{Access as FileAccess, FileDevice};
use block::{Device, Driver, Queue};
use dm::volume::Access as VolumeAccess;
use export::fuse::{self, FuseFile};
use export::loop_device::LoopDevice;
use nbd::client::NbdDevice;
use nbd::server::{Access, Export, Exports, Listener, Server};

use super::folder::{ATTACHED, Folder};
use super::loader::{Asking, ask, failed};
use super::machine::file_system;
use super::run::{Contestant, Subject};
use super::sample::Sample;
use super::source::Blocks;
use super::spec::{Load, Medium, NATIVE, Over, Study, SubjectSpec, Way};
use crate::error::{Error, Kind, Result};

/// What the metadata of a group may take of an image, in bytes.
const BESIDE: u64 = 8 << 20;
/// Where the first extent begins unless a group says otherwise, in bytes.
const START: u64 = 1 << 20;
const GROUP: &str = "measured";
/// Threads that answer the kernel for one volume, as `attach` has them.
const THREADS: usize = 2;
/// How long a server may take to end.
const GRACE: Duration = Duration::from_secs(5);

/// Where things are.
#[derive(Debug, Clone)]
pub struct Places {
    /// The program whose commands make the group.
    pub program: PathBuf,
    /// A folder in memory.
    pub memory: PathBuf,
    /// A folder on a disk.
    pub file: PathBuf,
}

impl Places {
    /// Where images of `medium` lie.
    fn of(&self, medium: Medium) -> &Path {
        match medium {
            Medium::Memory => &self.memory,
            Medium::File => &self.file,
        }
    }

    /// The file systems of the images, in words.
    pub fn words(&self) -> String {
        let of = |medium: Medium| {
            let folder = self.of(medium).canonicalize();
            let kind = folder.map_or_else(|_| "nowhere".to_owned(), |path| file_system(&path));
            format!("{} on {kind}", medium.word())
        };
        [Medium::Memory, Medium::File].map(of).join(", ")
    }
}

/// What can be measured here. Dropped, all of it goes.
pub struct Stand {
    /// In the order of the study.
    pub contestants: Vec<Contestant>,
    /// What is not among them, and why.
    pub absent: BTreeMap<String, String>,
    /// Where the images lie, in words.
    pub words: String,
    _folder: Folder,
}

impl Stand {
    /// Builds it in the place of `medium`.
    pub fn build(study: &Study, medium: Medium, places: &Places) -> Result<Self> {
        let folder = Folder::make(places.of(medium))?;
        let mut absent = BTreeMap::new();
        let mut site = Site::build(study, &folder, &places.program, &mut absent)?;
        let mut contestants = Vec::new();
        for spec in &study.subjects {
            match site.subject(spec, &folder) {
                Ok(subject) => contestants.push(Contestant {
                    name: spec.name.clone(),
                    subject: Box::new(subject),
                }),
                Err(error) if spec.name == NATIVE => return Err(error),
                Err(error) => {
                    absent.insert(spec.name.clone(), error.to_string());
                }
            }
        }
        let calls = if site.is_direct {
            "direct I/O"
        } else {
            "the page cache"
        };
        let words = format!("{}, {calls}", file_system(folder.path()));
        Ok(Self {
            contestants,
            absent,
            words,
            _folder: folder,
        })
    }
}

/// The images, and the devices in them.
struct Site {
    image: PathBuf,
    file: Arc<dyn Device>,
    is_direct: bool,
    linear: Option<Arc<dyn Device>>,
    striped: Option<Arc<dyn Device>>,
    /// Where the measured bytes of the image begin.
    start: u64,
    size: u64,
}

impl Site {
    fn build(
        study: &Study,
        folder: &Folder,
        program: &Path,
        absent: &mut BTreeMap<String, String>,
    ) -> Result<Self> {
        let size = study.size;
        let image = folder.image("a.img", size + BESIDE)?;
        let has = |over| study.subjects.iter().any(|subject| subject.over == over);
        let (mut linear, mut striped, mut start) = (None, None, START);
        if has(Over::Linear) || has(Over::Striped) {
            match volumes(folder, program, &image, size) {
                Ok(found) => {
                    start = found.start;
                    (linear, striped) = (Some(found.linear), Some(found.striped));
                }
                Err(error) => {
                    absent.insert("volumes".to_owned(), error.to_string());
                }
            }
        }
        let file = FileDevice::open(&image, FileAccess::ReadWrite).map_err(failed)?;
        Ok(Self {
            is_direct: file.is_direct(),
            image,
            file: Arc::new(file),
            linear,
            striped,
            start,
            size,
        })
    }

    fn subject(&mut self, spec: &SubjectSpec, folder: &Folder) -> Result<DeviceSubject> {
        let lacking = || Error::new(Kind::Unsupported, "the group could not be made");
        let (under, start) = match spec.over {
            Over::File => (Arc::clone(&self.file), self.start),
            Over::Linear => (self.linear.clone().ok_or_else(lacking)?, 0),
            Over::Striped => (self.striped.clone().ok_or_else(lacking)?, 0),
        };
        let mut parts = Parts::default();
        let device = match spec.way {
            Way::Direct => under,
            Way::Loops(levels) => parts.loops(&self.image, levels)?,
            Way::NbdUnix => {
                let socket = folder.path().join(format!("{}.sock", spec.name));
                parts.serve(under, Listener::unix(socket).map_err(failed)?)?
            }
            Way::NbdTcp => {
                let listener = Listener::tcp("127.0.0.1:0").map_err(failed)?;
                parts.serve(under, listener)?
            }
            Way::Attach => parts.attach(under, &folder.path().join(ATTACHED))?,
        };
        let driver = Driver::new().map_err(failed)?;
        let queue = device.open_queue(&driver).map_err(failed)?;
        Ok(DeviceSubject {
            queue,
            driver,
            _device: device,
            region: (start, self.size),
            loops: parts.names(),
            _parts: parts,
        })
    }
}

/// A device, asked by our own loader.
struct DeviceSubject {
    // In the order in which they go.
    queue: Box<dyn Queue>,
    driver: Driver,
    _device: Arc<dyn Device>,
    region: (u64, u64),
    /// Loop devices on the way, by name.
    loops: Vec<String>,
    _parts: Parts,
}

impl Subject for DeviceSubject {
    fn measure(&mut self, load: &Load, slice_ns: u64, seed: u64) -> Result<Sample> {
        let asking = Asking {
            size: load.size,
            depth: load.depth,
            slice_ns,
            loops: &self.loops,
        };
        let mut source = Blocks::new(load, self.region, seed);
        ask(
            &mut *self.queue,
            &self.driver,
            &asking,
            &mut source,
            &mut |_| {},
        )
    }
}

/// What lies on a way, in the order in which it goes.
#[derive(Default)]
struct Parts {
    /// The topmost first.
    loops: Vec<LoopDevice>,
    file: Option<FuseFile>,
    server: Option<Served>,
}

/// A server that ends when it is dropped.
struct Served(Server);

impl Drop for Served {
    fn drop(&mut self) {
        self.0.stop(GRACE);
    }
}

impl Parts {
    fn loops(&mut self, image: &Path, levels: u8) -> Result<Arc<dyn Device>> {
        for _ in 0..levels {
            let below = self.loops.first().map_or(image, LoopDevice::path);
            let device = LoopDevice::attach(below, fuse::Access::ReadWrite, 512);
            let device = device.map_err(failed)?;
            self.loops.insert(0, device);
        }
        self.node()
    }

    fn serve(&mut self, device: Arc<dyn Device>, listener: Listener) -> Result<Arc<dyn Device>> {
        let exports = Exports::new();
        let export = Export {
            name: "measured".to_owned(),
            description: String::new(),
            access: Access::ReadWrite,
            device,
        };
        exports.add(export).map_err(failed)?;
        let server = Server::new(exports).map_err(failed)?;
        let uri = listener.uri("measured");
        server.listen(listener).map_err(failed)?;
        self.server = Some(Served(server));
        Ok(Arc::new(NbdDevice::open(&uri).map_err(failed)?))
    }

    fn attach(&mut self, device: Arc<dyn Device>, path: &Path) -> Result<Arc<dyn Device>> {
        if !rustix::process::geteuid().is_root() {
            let what = "only root can mount a volume by FUSE and put a loop device over it";
            return Err(Error::new(Kind::Unsupported, what));
        }
        let made = std::fs::File::create_new(path);
        made.map_err(|error| Error::io(format!("cannot make {}", path.display()), error))?;
        let block = device.info().logical_block.max(512);
        let options = fuse::Options {
            access: fuse::Access::ReadWrite,
            threads: THREADS,
        };
        self.file = Some(FuseFile::serve(device, path, &options).map_err(failed)?);
        let node = LoopDevice::attach(path, fuse::Access::ReadWrite, block);
        self.loops.insert(0, node.map_err(failed)?);
        self.node()
    }

    /// The topmost loop device.
    fn node(&self) -> Result<Arc<dyn Device>> {
        let node = self.loops.first().map(LoopDevice::path);
        let node = node.ok_or_else(|| Error::new(Kind::Impossible, "there is no loop device"))?;
        let device = FileDevice::open(node, FileAccess::ReadWrite).map_err(failed)?;
        Ok(Arc::new(device))
    }

    fn names(&self) -> Vec<String> {
        let name = |device: &LoopDevice| Some(device.path().file_name()?.to_str()?.to_owned());
        self.loops.iter().filter_map(name).collect()
    }
}

/// The volumes of a group that was just made.
struct Volumes {
    linear: Arc<dyn Device>,
    striped: Arc<dyn Device>,
    /// Where the bytes of the linear one begin in its image.
    start: u64,
}

fn volumes(folder: &Folder, program: &Path, image: &Path, size: u64) -> Result<Volumes> {
    let more = ["b.img", "c.img"].map(|name| folder.image(name, size / 2 + BESIDE));
    let [second, third] = more;
    let images = [image.to_owned(), second?, third?];
    let texts: Vec<&str> = images.iter().filter_map(|path| path.to_str()).collect();
    let [first, second, third] = texts.as_slice() else {
        let what = format!("{} is no text", folder.path().display());
        return Err(Error::new(Kind::Unsupported, what));
    };
    let mib = format!("{}m", size >> 20);
    let run = |words: &[&str]| command(program, folder, &images, words);
    run(&["vgcreate", GROUP, first, second, third])?;
    run(&["lvcreate", "-L", &mib, "-n", "linear", GROUP, first])?;
    let stripes = [
        "lvcreate", "-i", "2", "-I", "64k", "-L", &mib, "-n", "striped",
    ];
    run(&[&stripes, &[GROUP, second, third][..]].concat())?;

    let host = Host::without_config();
    let source = DeviceSource::choose(&texts, None).map_err(failed)?;
    let scan = scan::scan(&host, &source, &scan::Options::default()).map_err(failed)?;
    let open = |name: &str| -> Result<Arc<dyn Device>> {
        let (group, volume) = scan.find_volume(name).map_err(failed)?;
        let options = Options {
            access: VolumeAccess::ReadWrite,
            missing: MissingPolicy::Complete,
        };
        let mut activator = Activator::new(&scan, &host);
        let activated = activator.activate(group, volume, options).map_err(failed)?;
        Ok(Arc::new(activated.volume))
    };
    let (group, _) = scan
        .find_volume(&format!("{GROUP}/linear"))
        .map_err(failed)?;
    let pv = group.model.pvs().next();
    let start = pv.map_or(START, |(_, pv)| pv.pe_start.0 * 512);
    Ok(Volumes {
        linear: open(&format!("{GROUP}/linear"))?,
        striped: open(&format!("{GROUP}/striped"))?,
        start,
    })
}

/// Runs a command of the program with a configuration of its own, so that nothing of this machine
/// is read or kept.
fn command(program: &Path, folder: &Folder, images: &[PathBuf], words: &[&str]) -> Result<()> {
    let system = folder.path().join("lvm");
    let failed = |error| Error::io(format!("cannot write {}", system.display()), error);
    std::fs::create_dir_all(&system).map_err(failed)?;
    let locks = system.join("locks");
    let text = format!(
        "backup {{ backup = 0 archive = 0 }}\nglobal {{ locking_dir = \"{}\" }}\n",
        locks.display()
    );
    std::fs::write(system.join("lvm.conf"), text).map_err(failed)?;
    let list: Vec<String> = images
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    // The program may be `/proc/self/exe`, which is no name of its own.
    let output = Command::new(program)
        .arg0("ashlar")
        .args(words)
        .env("LVM_SYSTEM_DIR", &system)
        .env("ASHLAR_DEVICES", list.join(":"))
        .stdin(Stdio::null())
        .output();
    let shown = words.join(" ");
    let output = output.map_err(|error| Error::io(format!("cannot run {shown}"), error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let what = format!("{shown} failed: {}", said.trim());
    Err(Error::new(Kind::Io, what))
}
