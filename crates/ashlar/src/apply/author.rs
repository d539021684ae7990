//! Who makes a change: this program, on this machine, now.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::time::{SystemTime, UNIX_EPOCH};

use lvm2::model::Header;
use lvm2::plan::Author;
use lvm2::{UUID_LEN, Uuid};

use super::reproducible::{NO_HOST, without_folders};
use crate::host::Config;

/// The author of a change that `command` makes on this machine, with UUIDs from `uuids`. Where
/// `config` fixes the time, the change is the same on every machine.
pub fn host_author<'a>(
    config: &Config,
    command: &str,
    uuids: &'a mut dyn FnMut() -> Uuid,
) -> Author<'a> {
    let header = header_now(config);
    Author {
        generator: header.generator.unwrap_or_default(),
        description: after(config, command),
        host: header.creation_host.unwrap_or_default(),
        host_detail: header.host_detail,
        time: header.creation_time.unwrap_or_default(),
        uuids,
    }
}

/// What a text says that is written by this program, on this machine, now; it does not say why.
pub fn header_now(config: &Config) -> Header {
    let generator = Some(format!("Ashlar {}", env!("CARGO_PKG_VERSION")));
    if let Some(time) = config.source_date() {
        return Header {
            generator,
            creation_host: Some(NO_HOST.to_owned()),
            creation_time: Some(time),
            ..Header::default()
        };
    }
    let name = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    Header {
        generator,
        creation_host: Some(text(name.nodename())),
        host_detail: Some(format!(
            "{} {} {} {} {}",
            text(name.sysname()),
            text(name.nodename()),
            text(name.release()),
            text(name.version()),
            text(name.machine())
        )),
        creation_time: Some(time.map_or(0, |time| time.as_secs())),
        ..Header::default()
    }
}

/// A UUID from the kernel's random numbers.
pub(super) fn random_uuid() -> Uuid {
    Uuid::from_random(&random_bytes::<UUID_LEN>())
}

/// The kernel's random numbers.
pub(crate) fn random_bytes<const LEN: usize>() -> [u8; LEN] {
    let mut bytes = [0; LEN];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    // Without random numbers no new identity can be told from an old one.
    read.expect("the kernel has random numbers");
    bytes
}

/// Stock's sentence in a text that holds what a command did.
pub(super) fn after(config: &Config, command: &str) -> String {
    let command = match config.source_date() {
        Some(_) => Cow::Owned(without_folders(command)),
        None => Cow::Borrowed(command),
    };
    format!("Created *after* executing '{command}'")
}

/// Stock's sentence in a text that holds what was there before.
pub(super) fn before(command: &str) -> String {
    format!("Created *before* executing '{command}'")
}
