//! Settings do what the options do that they stand for, and what no option does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use tests::{Finished, Scratch, ashlar};

const DISK: u64 = 48 << 20;

struct Disks {
    scratch: Scratch,
}

impl Disks {
    /// Three disks in a group, without a volume.
    fn with_group(name: &str) -> Self {
        let disks = Self::new(name);
        disks.done(&format!("vgcreate vg {}", disks.all(0..3)), "");
        disks
    }

    fn new(name: &str) -> Self {
        let scratch = Scratch::new(name);
        fs::create_dir(scratch.join("disks")).expect("a directory");
        fs::create_dir(scratch.join("etc")).expect("a directory");
        for number in 0..4 {
            scratch.sparse(&format!("disks/{number}.img"), DISK);
        }
        Self { scratch }
    }

    fn disk(&self, number: usize) -> PathBuf {
        self.scratch.join(format!("disks/{number}.img"))
    }

    fn all(&self, numbers: std::ops::Range<usize>) -> String {
        let names: Vec<String> = numbers
            .map(|number| self.disk(number).display().to_string())
            .collect();
        names.join(" ")
    }

    fn run(&self, line: &str, setting: &str) -> Finished {
        fs::write(self.scratch.join("etc/lvm.conf"), setting).expect("is written");
        ashlar()
            .env("ASHLAR_RUNTIME_DIR", self.scratch.join("run"))
            .env("LVM_SYSTEM_DIR", self.scratch.join("etc"))
            .env("LVM_LOCKING_DIR", self.scratch.join("locks"))
            .args(line.split(' '))
            .arg("--devices")
            .arg(self.scratch.join("disks"))
            .run()
    }

    fn done(&self, line: &str, setting: &str) -> Finished {
        let ended = self.run(line, setting);
        assert_eq!(ended.code, Some(0), "{ended}");
        ended
    }

    fn refused(&self, line: &str, setting: &str, said: &str) {
        let ended = self.run(line, setting);
        assert_ne!(ended.code, Some(0), "{ended}");
        assert!(ended.complaints().contains(said), "no {said:?} in {ended}");
    }

    fn value(&self, of: &str) -> String {
        self.done(of, "").text().trim().to_owned()
    }
}

#[test]
fn nothing_is_written_where_a_setting_forbids_it() {
    // Proves: global/test tries, global/metadata_read_only refuses, and neither changes a disk.
    let disks = Disks::with_group("settings-forbid");
    let before = fs::read(disks.disk(0)).expect("can be read");
    let tried = disks.done("vgchange --addtag t vg", "global/test = 1");
    assert!(tried.complaints().contains("TEST MODE"), "{tried}");
    let forbidden = "global/metadata_read_only = 1";
    let said = "while global/metadata_read_only is set";
    disks.refused("vgchange --addtag t vg", forbidden, said);
    disks.refused("lvcreate -an -l1 vg", forbidden, said);
    let free = disks.all(3..4);
    disks.refused(&format!("pvcreate {free}"), forbidden, said);
    disks.done("vgs vg", forbidden);
    assert!(before == fs::read(disks.disk(0)).expect("can be read"));
}

#[test]
fn new_volumes_are_as_settings_say() {
    // Proves: stripes, regions and the number of stripes follow the settings, and options more.
    let disks = Disks::with_group("settings-new");
    let field = |name: &str, what: &str| {
        disks.value(&format!(
            "lvs --noheadings --nosuffix --units k -o {what} vg/{name}"
        ))
    };
    disks.done("lvcreate -an -l4 -i2 -n s vg", "metadata/stripesize = 32");
    assert_eq!(field("s", "stripe_size"), "32.00");
    disks.done(
        "lvcreate -an -l4 -i2 -I16 -n t vg",
        "metadata/stripesize = 32",
    );
    assert_eq!(field("t", "stripe_size"), "16.00");
    let wrong = "metadata/stripesize = 33";
    disks.refused(
        "lvcreate -an -l4 -i2 -n u vg",
        wrong,
        "Invalid stripe size 33.00 KiB.",
    );
    let regions = "activation/raid_region_size = 1024";
    disks.done("lvcreate -an -l1 -m1 -n r vg", regions);
    assert_eq!(field("r", "region_size"), "1024.00");
    let fill = "allocation/raid_stripe_all_devices = 1";
    disks.done("lvcreate -an -l2 --type raid0 -n z vg", fill);
    assert_eq!(field("z", "stripes"), "3");
    let path = disks.done(
        "lvdisplay vg/s",
        "global/lvdisplay_shows_full_device_path = 1",
    );
    assert!(
        path.text().contains("LV Name                /dev/vg/s\n"),
        "{path}"
    );
    assert!(!path.text().contains("LV Path"), "{path}");
}

#[test]
fn new_disks_are_as_settings_say() {
    // Proves: copies of metadata, areas set aside and identities without a backup.
    let disks = Disks::new("settings-disks");
    let kept = "metadata/vgmetadatacopies = 1";
    disks.done(&format!("vgcreate vg {}", disks.all(0..2)), kept);
    assert_eq!(disks.value("vgs --noheadings -o vg_mda_copies vg"), "1");
    let uuid = "yxXiiT-2t5e-Z5A5-FFWi-iuEj-Ft5b-x8NYgP";
    let aside = disks.all(3..4);
    disks.done(
        &format!("pvcreate {aside}"),
        "metadata/pvmetadataignore = 1",
    );
    let used = format!("pvs --noheadings -o pv_mda_used_count {aside}");
    assert_eq!(disks.value(&used), "0");
    let line = format!("pvcreate --uuid {uuid} {}", disks.all(2..3));
    disks.refused(&line, "", "--restorefile is required with --uuid");
    disks.done(&line, "devices/require_restorefile_with_uuid = 0");
}

#[test]
fn disks_of_other_blocks_join_where_a_setting_allows_it() {
    // Proves: a disk with blocks of 4 KiB does not come beside one of 512 bytes unasked.
    let disks = Disks::with_group("settings-blocks");
    let made = Command::new("losetup")
        .args(["--find", "--show", "--sector-size", "4096"])
        .arg(disks.disk(3))
        .output()
        .expect("losetup runs");
    let node = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    assert!(node.starts_with("/dev/loop"), "{made:?}");
    let line = format!("vgextend vg {node} --devices {node}");
    let refused = disks.run(&line, "");
    let joined = disks.run(&line, "devices/allow_mixed_block_sizes = 1");
    let freed = Command::new("losetup").args(["-d", &node]).status();
    assert!(freed.is_ok_and(|status| status.success()));
    let said = "Devices have inconsistent logical block sizes (512 and 4096).";
    assert!(refused.complaints().contains(said), "{refused}");
    assert_eq!(joined.code, Some(0), "{joined}");
}

#[test]
fn messages_go_to_a_file() {
    // Proves: log/file has what was done and what failed, of this user alone; log/silent is quiet.
    let disks = Disks::with_group("settings-log");
    let file = disks.scratch.join("log");
    let setting = format!(
        "log {{ file = \"{}\" level = 5 silent = 1 }}",
        file.display()
    );
    let quiet = disks.done("vgchange --addtag t vg", &setting);
    assert_eq!(quiet.text(), "", "{quiet}");
    disks.run("vgs nosuch", &setting);
    let log = fs::read_to_string(&file).expect("was made");
    assert!(log.contains("Volume group \"nosuch\" not found"), "{log}");
    assert!(log.contains("Looked at 4 devices"), "{log}");
    let mode = fs::metadata(&file).expect("was made").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
