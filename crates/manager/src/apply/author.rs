//! Who makes a change: this program, on this machine, now.

use std::fs::File;
use std::io::Read;
use std::time::{SystemTime, UNIX_EPOCH};

use lvm::plan::Author;
use lvm::{UUID_LEN, Uuid};

/// The author of a change that `command` makes on this machine, with UUIDs from `uuids`.
pub fn host_author<'a>(command: &str, uuids: &'a mut dyn FnMut() -> Uuid) -> Author<'a> {
    let name = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    Author {
        generator: format!("Ashlar {}", env!("CARGO_PKG_VERSION")),
        description: after(command),
        host: text(name.nodename()),
        host_detail: Some(format!(
            "{} {} {} {} {}",
            text(name.sysname()),
            text(name.nodename()),
            text(name.release()),
            text(name.version()),
            text(name.machine())
        )),
        time: time.map_or(0, |time| time.as_secs()),
        uuids,
    }
}

/// A UUID from the kernel's random numbers.
pub(super) fn random_uuid() -> Uuid {
    let mut bytes = [0; UUID_LEN];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    // Without random numbers no new identity can be told from an old one.
    read.expect("the kernel has random numbers");
    Uuid::from_random(&bytes)
}

/// Stock's sentence in a text that holds what a command did.
pub(super) fn after(command: &str) -> String {
    format!("Created *after* executing '{command}'")
}

/// Stock's sentence in a text that holds what was there before.
pub(super) fn before(command: &str) -> String {
    format!("Created *before* executing '{command}'")
}
