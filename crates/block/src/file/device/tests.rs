//! How files are opened, and what errors of opening say.

use std::os::fd::AsFd;

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::{Errno, FdFlags, fcntl_getfd};

use super::{Claim, FileDevice, FileOptions, open_error};
use crate::file::Access;
use crate::file::tests::Named;

/// The file is not handed on to programs that are started, takes what its access says, and waits
/// for its answers again once it is open; also where it is claimed.
#[test]
fn files_are_opened_as_asked() {
    let named = Named::new("opened", 8192);
    for claim in [Claim::Shared, Claim::Exclusive] {
        for (access, mode) in [
            (Access::ReadOnly, OFlags::RDONLY),
            (Access::ReadWrite, OFlags::RDWR),
        ] {
            let mut options = FileOptions::new(access);
            options.claim = claim;
            let device = FileDevice::open_with(&named.path, options).expect("opens");
            let closes = fcntl_getfd(&device).expect("is open");
            assert!(closes.contains(FdFlags::CLOEXEC), "{claim:?}");
            let flags = fcntl_getfl(&device).expect("is open");
            assert_eq!(flags & OFlags::ACCMODE, mode, "{claim:?}");
            assert!(!flags.contains(OFlags::NONBLOCK));
            assert_eq!(device.is_direct(), flags.contains(OFlags::DIRECT));
        }
    }
}

/// What calls go past the page cache says so, and nothing else does.
#[test]
fn direct_files_say_so() {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let file = rustix::fs::memfd_create("direct", flags).expect("a file in memory");
    rustix::fs::ftruncate(&file, 8192).expect("grows");
    let caching = crate::file::Caching::PageCache;
    let device = FileDevice::from_fd(file, "m", Access::ReadWrite, caching).expect("opens");
    assert!(!device.is_direct());
    let mut shared = device.shared;
    let inner = std::sync::Arc::get_mut(&mut shared).expect("nobody else has it");
    inner.read = super::Path::Engine;
    let device = FileDevice {
        shared,
        latch: device.latch,
        tail: 0,
    };
    assert!(device.is_direct());
    assert!(device.as_fd().try_clone_to_owned().is_ok());
}

/// Each error that has a remedy names it.
#[test]
fn refusals_name_their_remedy() {
    for (errno, hint) in [
        (Errno::BUSY, "in use"),
        (Errno::ACCESS, "become root"),
        (Errno::PERM, "become root"),
        (Errno::ROFS, "read-only"),
    ] {
        let text = open_error("it", errno).to_string();
        assert!(
            text.contains("cannot open it") && text.contains(hint),
            "{text}"
        );
    }
}
