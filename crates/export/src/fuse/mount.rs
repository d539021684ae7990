//! Puts a FUSE connection over one regular file.
//!
//! Root calls `mount(2)` itself. An ordinary user asks the set-uid helper `fusermount3`, which
//! mounts and passes the connection back through a socket; the socket is the helper's standard
//! input, so no file descriptor has to be inherited. Both mount over a *file*: what is read and
//! written there afterwards is the device, and the file comes back when the mount goes.

use std::ffi::CString;
use std::fs::OpenOptions;
use std::io::IoSliceMut;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use block::{Error, Kind, Result};
use rustix::fs::Access as Rights;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
    recvmsg, socketpair,
};

use crate::fuse::Access;
use crate::fuse::session::mode;

/// The kernel's end.
const DEVICE: &str = "/dev/fuse";
/// Where `fusermount3` looks up whether a mount is its caller's before it unmounts it.
const LIST: &str = "/etc/mtab";

/// Who mounted, and so who unmounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mounter {
    Kernel,
    Helper,
}

/// A mounted connection. It is unmounted when this is dropped.
#[derive(Debug)]
pub struct Mount {
    path: PathBuf,
    mounter: Mounter,
    mounted: bool,
}

impl Mount {
    /// Mounts over the regular file at `path`, and returns the kernel's end beside the mount: for
    /// [`super::FuseFile::answer`], in this process or another one.
    pub fn new(path: &Path, access: Access) -> Result<(Self, OwnedFd)> {
        let context = |what: &str| format!("cannot serve at {}: {what}", path.display());
        let found =
            std::fs::metadata(path).map_err(|error| Error::io(context("no file"), error))?;
        if !found.is_file() {
            return Err(Error::new(Kind::Open, context("it is not a regular file")));
        }
        require_device()?;
        require_unmounting()?;
        // The kernel resolves the path again when it unmounts, possibly from another folder.
        let path = path
            .canonicalize()
            .map_err(|error| Error::io(context("no file"), error))?;
        let (mounter, device) = if rustix::process::geteuid().is_root() {
            (Mounter::Kernel, mount_as_root(&path, access)?)
        } else {
            (Mounter::Helper, mount_as_user(&path, access)?)
        };
        Ok((
            Self {
                path,
                mounter,
                mounted: true,
            },
            device,
        ))
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the file away. Who has it open keeps it until the connection ends.
    pub fn remove(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.mounted) {
            return Ok(());
        }
        remove(&self.path, self.mounter)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Nobody is left to tell; a stale mount is cleaned up by the next detach.
        let _ = self.remove();
    }
}

/// Fails where this process may not talk to the kernel's FUSE, and says what root can do about it:
/// `fusermount3` opens the device with its caller's rights.
pub fn require_device() -> Result<()> {
    require(Path::new(DEVICE))
}

pub(super) fn require(device: &Path) -> Result<()> {
    let Err(errno) = rustix::fs::access(device, Rights::READ_OK | Rights::WRITE_OK) else {
        return Ok(());
    };
    let name = device.display();
    let what = if errno == Errno::NOENT {
        format!("there is no {name}: let root load the kernel module fuse (modprobe fuse)")
    } else if rustix::process::geteuid().is_root() {
        format!("{name} may not be opened: this container or machine forbids it")
    } else {
        format!(
            "{name} may not be opened by this user: let root allow it (chmod 0666 {name}, as udev \
             does), or use ashlar serve, which needs no FUSE"
        )
    };
    Err(Error::io(what, errno.into()).with_kind(Kind::Open))
}

/// Fails where `fusermount3` would mount for this process but not unmount, and says what root can
/// do about it. Root needs no helper.
pub fn require_unmounting() -> Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    require_list(Path::new(LIST))
}

fn require_list(list: &Path) -> Result<()> {
    rustix::fs::access(list, Rights::READ_OK).map_err(|errno| {
        let name = list.display();
        let what = format!(
            "fusermount3 unmounts nothing without {name}, which cannot be read: let root make it \
             (ln -s /proc/self/mounts {name}), or use ashlar serve, which needs no FUSE"
        );
        Error::io(what, errno.into()).with_kind(Kind::Open)
    })
}

/// Unmounts `path` whoever mounted it: what a killed server left.
pub fn remove_stale(path: &Path) -> Result<()> {
    let root = rustix::process::geteuid().is_root();
    remove(
        path,
        if root {
            Mounter::Kernel
        } else {
            Mounter::Helper
        },
    )
}

fn remove(path: &Path, mounter: Mounter) -> Result<()> {
    let context = format!("cannot unmount {}", path.display());
    match mounter {
        Mounter::Kernel => {
            let flags = UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
            match unmount(path, flags) {
                Ok(()) | Err(rustix::io::Errno::INVAL) => Ok(()),
                Err(errno) => Err(Error::io(context, errno.into())),
            }
        }
        Mounter::Helper => {
            let mut command = Command::new("fusermount3");
            command
                .args(["-u", "-q", "-z", "--"])
                .arg(path)
                .stdin(Stdio::null());
            let status = command
                .status()
                .map_err(|error| Error::io(&context, error))?;
            if status.success() {
                return Ok(());
            }
            Err(Error::new(
                Kind::Io,
                format!("{context}: fusermount3 ended with {status}"),
            ))
        }
    }
}

fn open_fuse() -> Result<OwnedFd> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .custom_flags(libc::O_CLOEXEC | libc::O_NONBLOCK);
    let file = options
        .open(DEVICE)
        .map_err(|error| Error::io(format!("cannot open {DEVICE}"), error))?;
    Ok(file.into())
}

fn mount_as_root(path: &Path, access: Access) -> Result<OwnedFd> {
    use std::os::fd::AsRawFd;
    let device = open_fuse()?;
    let mut flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOATIME;
    if access == Access::ReadOnly {
        flags |= MountFlags::RDONLY;
    }
    let options = format!(
        "fd={},rootmode={:o},user_id=0,group_id=0,allow_other,default_permissions",
        device.as_raw_fd(),
        libc::S_IFREG | mode(access)
    );
    let options = CString::new(options).expect("no NUL in numbers");
    mount("ashlar", path, "fuse.ashlar", flags, options.as_c_str()).map_err(|errno| {
        Error::io(
            format!("cannot mount over {}", path.display()),
            errno.into(),
        )
    })?;
    Ok(device)
}

fn mount_as_user(path: &Path, access: Access) -> Result<OwnedFd> {
    let context = format!("cannot mount over {} through fusermount3", path.display());
    let failed = |errno: rustix::io::Errno| Error::io(&context, errno.into());
    let (ours, theirs) = socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(failed)?;
    let mode = if access == Access::ReadOnly {
        "ro"
    } else {
        "rw"
    };
    let mut command = Command::new("fusermount3");
    command.args([
        "-o",
        &format!("{mode},nosuid,nodev,fsname=ashlar,subtype=ashlar"),
        "--",
    ]);
    command
        .arg(path)
        .env("_FUSE_COMMFD", "0")
        .stdin(Stdio::from(theirs));
    let output = command.stdout(Stdio::null()).output().map_err(|error| {
        Error::io(format!("{context} (Debian package fuse3)"), error).with_kind(Kind::Open)
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(
            Kind::Open,
            format!("{context}: {}", said.trim()),
        ));
    }
    // The helper ended, and with the command went the last copy of its end of the socket.
    drop(command);
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0_u8; 1];
    let flags = RecvFlags::CMSG_CLOEXEC;
    recvmsg(
        ours.as_fd(),
        &mut [IoSliceMut::new(&mut byte)],
        &mut control,
        flags,
    )
    .map_err(failed)?;
    let device = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    let device = device
        .ok_or_else(|| Error::new(Kind::Open, format!("{context}: it passed no connection")))?;
    rustix::io::ioctl_fionbio(&device, true).map_err(failed)?;
    Ok(device)
}
