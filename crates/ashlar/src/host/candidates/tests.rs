//! The list of devices: each once, and what cannot be used is said.

use std::fs;
use std::path::PathBuf;

use super::{Host, Origin, rejected};
use crate::host::filter::Filter;
use crate::host::spec::DeviceSource;
use crate::scan::FindingKind;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ashlar-list-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("makes a directory");
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("is UTF-8").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_folder_gives_its_files_by_name_and_each_once() {
    let folder = Folder::new("folder");
    for name in ["b.img", "a.img", "c.img"] {
        fs::write(folder.path(name), "x").expect("writes");
    }
    fs::hard_link(folder.path("a.img"), folder.path("z.img")).expect("links");
    fs::create_dir(folder.path("d")).expect("makes a directory");
    fs::write(folder.path("d/inner.img"), "x").expect("writes");
    std::os::unix::fs::symlink("nowhere", folder.path("broken")).expect("links");
    let named = [folder.path("c.img"), folder.path("")];
    let source = DeviceSource::choose(&named, None).expect("parses");
    let found = Host::without_config().candidates(&source).expect("lists");
    let names: Vec<_> = found
        .devices
        .iter()
        .map(|device| device.name.clone())
        .collect();
    assert_eq!(
        names,
        ["c.img", "a.img", "b.img"].map(|name| folder.path(name))
    );
    let origins: Vec<_> = found.devices.iter().map(|device| device.origin).collect();
    assert_eq!(origins, [Origin::Named, Origin::Folder, Origin::Folder]);
    assert!(found.findings.is_empty());
}

#[test]
fn what_cannot_be_a_device_is_reported_and_does_not_hide_the_rest() {
    let folder = Folder::new("missing");
    fs::write(folder.path("a.img"), "x").expect("writes");
    let named = [
        folder.path("none.img"),
        folder.path("a.img"),
        "/dev/null".to_owned(),
    ];
    let source = DeviceSource::choose(&named, None).expect("parses");
    let found = Host::without_config().candidates(&source).expect("lists");
    assert_eq!(found.devices.len(), 1);
    assert_eq!(found.findings.len(), 2);
    assert_eq!(found.findings[0].kind, FindingKind::Unreadable);
    let text = found.findings[0].to_string();
    assert!(
        text.contains("Device not found for") && text.contains("none.img"),
        "{text}"
    );
    assert!(
        found.findings[1]
            .to_string()
            .contains("/dev/null: it is neither")
    );
}

#[test]
fn a_rejection_names_the_filter() {
    let global = Filter::new("devices/global_filter", &["r|loop|"]).expect("compiles");
    let local = Filter::new("devices/filter", &["r|.*|"]).expect("compiles");
    let filters = [("global_filter", &global), ("filter", &local)];
    let by = |name: &str| rejected(&filters, &[name.to_owned()]).expect("is rejected");
    assert_eq!(by("/dev/loop0"), "devices/global_filter rejects it");
    assert_eq!(by("/dev/sda"), "devices/filter rejects it");
}
