//! What the machine boots: the distribution's kernel, and a file system with stock LVM2 in it.
//!
//! ```text
//!   target/kernel/
//!     lock              who holds it may change what is here
//!     stock/            the kernel's package, unpacked: the kernel and the modules we load
//!     base-KEY.cpio     busybox, LVM2, their libraries, the modules, `tests/kernel/*`
//!     NAME.log          what the last machine of this name said
//! ```
//!
//! The package is downloaded by `apt-get` and unpacked, not installed: nobody's machine gets
//! another kernel by testing. Both are made once and kept; KEY changes with what goes in.

use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::FlockOperation;

use super::archive::Archive;
use crate::golden::sha256;
use crate::tool::Tool;

/// The package that names the distribution's present kernel.
const PACKAGE: &str = "linux-image-amd64";
/// A mirror that does not answer at once is no reason to fail.
const RETRIES: [&str; 2] = ["-o", "Acquire::Retries=5"];
const DOWNLOAD_MAX: Duration = Duration::from_mins(10);

/// What every machine has besides busybox.
const PROGRAMS: &[&str] = &["lvm", "dmsetup"];

/// Modules that are loaded or that the kernel asks for itself; and what they need.
const MODULES: &[&str] = &[
    "crc32c_generic",
    "crc32c_intel",
    "virtio_pci",
    "virtio_blk",
    "loop",
    "fuse",
    "dm_mod",
    "dm_mirror",
    "dm_zero",
    "dm_snapshot",
    "dm_integrity",
    "dm_raid",
    "linear",
    "md_linear",
    "raid0",
    "raid1",
    "raid10",
    "raid456",
    "dm_thin_pool",
    "dm_cache",
    "dm_cache_smq",
    "dm_writecache",
    "ext4",
    "xfs",
    "btrfs",
];

/// The files that go in as they are: where they stand here, and there.
const FILES: &[(&str, &str)] = &[
    ("/init", include_str!("../../kernel/init")),
    ("/sbin/collect", include_str!("../../kernel/collect")),
    ("/sbin/crash", include_str!("../../kernel/crash")),
    ("/etc/lvm/lvm.conf", include_str!("../../kernel/lvm.conf")),
];

/// What can be booted.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) kernel: PathBuf,
    pub(super) base: PathBuf,
}

impl Image {
    /// The image, made first if it is not there yet.
    pub(super) fn ready() -> &'static Self {
        static READY: LazyLock<Image> = LazyLock::new(make);
        &READY
    }
}

/// Where all that is kept.
pub(super) fn folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../target").into());
    let folder = target.join("kernel");
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    folder.canonicalize().expect("it was just made")
}

/// Puts a program and the libraries that it is linked to into an archive.
pub(super) fn add_program(archive: &mut Archive, name: &str) {
    let path = if name.contains('/') {
        PathBuf::from(name)
    } else {
        program(name)
    };
    let name = path.file_name().expect("a program").display();
    archive.file(&format!("/sbin/{name}"), &read(&path));
    let linked = Tool::new("ldd").arg(&path).run().text();
    let libraries = linked
        .split_whitespace()
        .filter(|word| word.starts_with('/'));
    for library in libraries {
        if !archive.has(library) {
            archive.file(library, &read(Path::new(library)));
        }
    }
}

fn make() -> Image {
    let folder = folder();
    let lock = File::create(folder.join("lock")).expect("the lock");
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).expect("the lock can be taken");
    // Unpacked once for each list of modules.
    let modules = sha256(MODULES.join(" ").as_bytes());
    let stock = folder.join(format!("stock-{}", &modules[..8]));
    if !stock.is_dir() {
        unpack(&folder, &stock);
    }
    let base = folder.join(format!("base-{}.cpio", key(&stock)));
    if !base.is_file() {
        let made = folder.join(format!("base.{}", std::process::id()));
        fs::write(&made, archive(&stock)).expect("there is space for it");
        for old in paths_in(&folder) {
            if old.extension().is_some_and(|kind| kind == "cpio") {
                // Another run may boot it now; it has it open.
                let _ = fs::remove_file(old);
            }
        }
        fs::rename(&made, &base).expect("it can be named");
    }
    let kernel = stock.join("vmlinuz");
    Image { kernel, base }
}

/// Downloads the kernel's package and takes from it what is needed.
fn unpack(folder: &Path, stock: &Path) {
    let work = folder.join("work");
    // What a killed run left; the lock is ours.
    let _ = fs::remove_dir_all(&work);
    fs::create_dir_all(&work).expect("a directory");
    let tool = |name: &str| Tool::new(name).within(&work).limit(DOWNLOAD_MAX);
    let named = || {
        let depends = tool("apt-cache").args(["depends", PACKAGE]).run().text();
        let mut words = depends.split_whitespace();
        words
            .find(|word| word.starts_with("linux-image-") && *word != PACKAGE)
            .map(str::to_owned)
    };
    let package = named().or_else(|| {
        tool("apt-get")
            .args(RETRIES)
            .args(["update", "-q"])
            .succeed();
        named()
    });
    let package = package.unwrap_or_else(|| panic!("apt knows no package {PACKAGE}"));
    let download = tool("apt-get").args(RETRIES);
    download.args(["download", &package]).succeed();
    let deb = paths_in(&work).pop().expect("the package was downloaded");
    let tree = work.join("tree");
    tool("dpkg-deb")
        .arg("--extract")
        .args([&deb, &tree])
        .succeed();
    let modules = [tree.join("lib/modules"), tree.join("usr/lib/modules")];
    let modules = modules.iter().find(|path| path.is_dir()).expect("modules");
    let release = paths_in(modules).pop().expect("the modules of one kernel");
    let kept = work.join("stock");
    fs::create_dir(&kept).expect("a directory");
    copy_modules(&tree, &release, &kept);
    let kernel = paths_in(&tree.join("boot")).into_iter().find(|path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with("vmlinuz")
    });
    fs::rename(kernel.expect("a kernel"), kept.join("vmlinuz")).expect("it can be moved");
    fs::rename(&kept, stock).expect("it can be moved");
    fs::remove_dir_all(&work).expect("it can be removed");
}

/// Copies the modules that are wanted and those that they need, and lists them for modprobe.
fn copy_modules(tree: &Path, release: &Path, kept: &Path) {
    let version = release.file_name().expect("a name").to_string_lossy();
    let depmod = |base: &Path| {
        Tool::new("depmod")
            .arg("-b")
            .arg(base)
            .arg(&*version)
            .succeed()
    };
    if !tree.join("lib/modules").is_dir() {
        std::os::unix::fs::symlink("usr/lib", tree.join("lib")).expect("a link");
    }
    depmod(tree);
    let list = fs::read_to_string(release.join("modules.dep")).expect("what depmod wrote");
    let to = kept.join("lib/modules").join(&*version);
    for line in list.lines() {
        let (path, needs) = line.split_once(':').expect("a module and what it needs");
        let file = path.rsplit('/').next().expect("a name");
        let name = file.split('.').next().expect("a name").replace('-', "_");
        if !MODULES.contains(&&*name) {
            continue;
        }
        for path in needs.split_whitespace().chain([path]) {
            let (from, copy) = (release.join(path), to.join(path));
            fs::create_dir_all(copy.parent().expect("a directory")).expect("a directory");
            fs::copy(&from, &copy).expect("a module can be copied");
            if copy.extension().is_some_and(|kind| kind == "xz") {
                // Busybox loads plain modules only.
                Tool::new("xz")
                    .args(["-d", "-f", "-q"])
                    .arg(&copy)
                    .succeed();
            }
        }
    }
    for list in [
        "modules.order",
        "modules.builtin",
        "modules.builtin.modinfo",
    ] {
        fs::copy(release.join(list), to.join(list)).expect("it is in the package");
    }
    depmod(kept);
}

fn archive(stock: &Path) -> Vec<u8> {
    let mut archive = Archive::default();
    for folder in ["/proc", "/sys", "/dev", "/run", "/tmp", "/mnt", "/job"] {
        archive.folder(folder);
    }
    archive.device("/dev/console", 5, 1);
    archive.file("/bin/busybox", &read(&program("busybox")));
    // The kernel and LVM2 call it by its name.
    archive.link("/sbin/modprobe", "/bin/busybox");
    for name in PROGRAMS {
        add_program(&mut archive, name);
    }
    let commands = Tool::new(program("lvm")).arg("help").run();
    let commands = commands.text() + &commands.complaints();
    for line in commands.lines() {
        if let Some(name) = line.split_whitespace().next()
            && ["pv", "vg", "lv"].iter().any(|kind| name.starts_with(kind))
        {
            archive.link(&format!("/sbin/{name}"), "lvm");
        }
    }
    for (path, content) in FILES {
        archive.file(path, content.as_bytes());
    }
    add_tree(&mut archive, stock, &stock.join("lib"));
    archive.finish()
}

fn add_tree(archive: &mut Archive, root: &Path, folder: &Path) {
    for path in paths_in(folder) {
        if path.is_dir() {
            add_tree(archive, root, &path);
        } else {
            let name = path.strip_prefix(root).expect("it lies below");
            archive.file(&name.to_string_lossy(), &read(&path));
        }
    }
}

/// A name that changes with what goes into the archive.
fn key(stock: &Path) -> String {
    let mut text = String::new();
    for (path, content) in FILES {
        text.push_str(path);
        text.push_str(content);
    }
    text.push_str(include_str!("image.rs"));
    let host = PROGRAMS
        .iter()
        .chain(&["busybox"])
        .map(|name| program(name));
    let version = paths_in(&stock.join("lib/modules"));
    for path in host.chain(version) {
        let about = fs::metadata(&path).expect("it was found");
        let time = about.modified().ok().and_then(|time| {
            let since = time.duration_since(UNIX_EPOCH).ok()?;
            Some(since.as_secs())
        });
        let path = path.display();
        writeln!(text, "{path} {} {time:?}", about.len()).expect("a string takes all");
    }
    crate::golden::sha256(text.as_bytes())[..16].to_owned()
}

/// Where a program of this machine is.
fn program(name: &str) -> PathBuf {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin:/usr/bin:/bin";
    path.split(':')
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("there is no program {name} here; run cargo xtask test once"))
}

fn paths_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
