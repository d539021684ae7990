//! When there is a devices file, what is said of it, and how it is replaced.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use lvm2::Uuid;

use super::{Begins, Edit, Listing, write_atomically};
use crate::host::{Config, DevicesFileChoice, Host, Listable};

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn folder(name: &str) -> Folder {
    let path = std::env::temp_dir().join(format!("ashlar-listing-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("makes a directory");
    Folder(path)
}

#[test]
fn a_file_is_replaced_whole_and_only_its_owner_may_read_it() {
    // Proves: the folder is made, a leftover of a lost power is replaced, and nothing but the file
    // stays, with stock's permissions.
    let folder = folder("whole");
    let path = folder.0.join("devices/system.devices");
    write_atomically(&path, b"one").expect("is written");
    fs::write(folder.0.join("devices/system.devices_new"), "half").expect("writes");
    let old = fs::File::open(&path).expect("is there");
    write_atomically(&path, b"two").expect("is written");
    assert_eq!(fs::read(&path).expect("is there"), b"two");
    let text = std::io::read_to_string(old).expect("the old file");
    assert_eq!(text, "one", "it was written in place");
    let entries = fs::read_dir(folder.0.join("devices")).expect("a folder");
    assert_eq!(entries.count(), 1);
    let mode = |path: &PathBuf| fs::metadata(path).expect("is there").permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&folder.0.join("devices")), 0o700);
}

#[test]
fn what_cannot_be_replaced_stays() {
    // Proves: where the new file cannot take its place, the error comes back and no half is left.
    let folder = folder("stays");
    let path = folder.0.join("system.devices");
    fs::create_dir_all(path.join("full")).expect("makes directories");
    write_atomically(&path, b"two").expect_err("a folder is in the way");
    let entries = fs::read_dir(&folder.0).expect("a folder");
    assert_eq!(entries.count(), 1);
}

/// A host whose configuration is `settings`, with everything in this folder.
fn host(folder: &Folder, settings: &str) -> Host {
    let mut config = Config::read(&folder.0).expect("is empty");
    let locks = folder.0.join("locks");
    let text = format!("global/locking_dir=\"{}\"\n{settings}", locks.display());
    config.add_text(&text).expect("is good");
    if settings == NAMED {
        let name = DevicesFileChoice::Named("system.devices".into());
        config.overrides.devices_file = Some(name);
    }
    Host {
        config,
        ..Host::without_config()
    }
}

const WANTED: &str = "devices/use_devicesfile=1";
/// Not a setting but what `--devicesfile` says.
const NAMED: &str = "# named";

#[test]
fn a_devices_file_is_kept_where_there_is_one_or_one_is_begun() {
    // Proves: a file that is there is kept, unless files are switched off; one that is missing is
    // begun only where somebody wants or names it, by commands that begin one.
    let folder = folder("begins");
    let off = "devices/use_devicesfile=0";
    let missing = [
        ("", Begins::Yes, false),
        ("", Begins::No, false),
        (WANTED, Begins::Yes, true),
        (WANTED, Begins::No, false),
        (NAMED, Begins::Yes, true),
        (NAMED, Begins::No, false),
        (off, Begins::Yes, false),
    ];
    let is_kept = |settings, begins| {
        let listing = Listing::begin(&host(&folder, settings), begins);
        listing.expect("nobody else is there").is_some()
    };
    for (settings, begins, expected) in missing {
        assert_eq!(is_kept(settings, begins), expected, "{settings} {begins:?}");
    }
    fs::create_dir(folder.0.join("devices")).expect("is made");
    fs::write(folder.0.join("devices/system.devices"), "").expect("is written");
    for (settings, begins, _) in missing {
        assert_eq!(
            is_kept(settings, begins),
            settings != off,
            "{settings} {begins:?}"
        );
    }
}

#[test]
fn what_becomes_of_the_devices_file_is_said() {
    // Proves: the first file is announced, and not made on a host that has groups; where nothing
    // was noted nothing is said; devices that are not listed are named, and so is a file that
    // cannot be written.
    let folder = folder("said");
    let host = host(&folder, WANTED);
    let path = folder.0.join("devices/system.devices");
    let uuid = Uuid::from_random(&[1; 32]);
    let device = |node: &str| Listable {
        id: None,
        partition: 0,
        node: node.to_owned(),
    };
    let write = |has_groups, edits| {
        let listing = Listing::begin(&host, Begins::Yes).expect("nobody else is there");
        let listing = Listing {
            has_groups: Some(has_groups),
            edits,
            ..listing.expect("one is wanted")
        };
        listing.write(&host, "pvcreate")
    };
    let add = || vec![Edit::Add(device("/dev/sda"), uuid)];
    let text = || fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(write(false, Vec::new()), [""; 0]);
    let kept = "Not creating system devices file due to existing VGs.";
    assert_eq!(write(true, add()), [kept]);
    assert_eq!(text(), "");
    let made = format!("Creating devices file {}", path.display());
    assert_eq!(write(false, add()), [made]);
    assert!(text().contains("DEVNAME=/dev/sda"), "{}", text());
    assert_eq!(write(true, add()), [""; 0], "it is there by now");
    let other = Edit::Set(device("/dev/sdb"), Some(uuid));
    let unlisted = "WARNING: devices to use does not include /dev/sdb";
    assert_eq!(write(true, vec![other]), [unlisted]);
    fs::create_dir(folder.0.join("devices/system.devices_new")).expect("is made");
    let before = text();
    let said = write(true, add()).concat();
    let failed = format!("WARNING: Devices file {} is not updated: ", path.display());
    assert!(said.starts_with(&failed), "{said}");
    assert_eq!(text(), before);
}
