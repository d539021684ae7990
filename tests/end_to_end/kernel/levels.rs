//! Levels that become each other, here and on a stock kernel.
//!
//! ```text
//!   here     arrays are made, filled and brought in sync; their level is changed
//!   kernel   takes them over, fills what is new, finds parity and copies right, and what we wrote;
//!            makes volumes of its own, and changes their levels
//!   here     what it wrote is read without any disk; our changes of the same volumes look the same
//! ```

use std::collections::BTreeSet;
use std::path::PathBuf;

use tests::{Kernel, Scratch, Tool, sha256};

use super::group::{Group, file, images, pattern};

const LIB: &str = include_str!("../../fixtures/raid/make/lib.sh");
const DISKS: usize = 6;
const MIB: u64 = 1 << 20;
/// Of each volume.
const SIZE: u64 = 6 * MIB;

/// What is made, and what it becomes.
const CHANGES: [(&str, &str, &str); 15] = [
    ("s4", "-i 3", "raid4"),
    ("s5", "-i 3", "raid5_n"),
    ("s6", "-i 3", "raid6_n_6"),
    ("s10", "-i 2", "raid10"),
    ("n4", "--type raid5_n -i 3", "raid4"),
    ("n6", "--type raid5_n -i 3", "raid6_n_6"),
    ("f5", "--type raid4 -i 3", "raid5_n"),
    ("f6", "--type raid4 -i 3", "raid6_n_6"),
    ("ls6", "--type raid5_ls -i 3", "raid6_ls_6"),
    ("ra6", "--type raid5_ra -i 3", "raid6_ra_6"),
    ("ls5", "--type raid6_ls_6 -i 3", "raid5_ls"),
    ("six4", "--type raid6_n_6 -i 3", "raid4"),
    ("one5", "--type raid1 -m 1", "raid5_ls"),
    ("five1", "--type raid1 -m 1", "raid4"),
    ("t0", "--type raid10 -i 2", "raid0_meta"),
];

/// Images that stock makes longer: it moves all data where only the parity has to change its place.
const RESHAPED: [&str; 2] = ["[f5_rimage_", "[n4_rimage_"];

/// What both tell of each volume; where metadata and parity lie is not the same.
const FIELDS: &str = "lv_name,segtype,stripes,data_stripes,stripe_size,region_size,lv_size";

const BOOT: &str = r#"
must vgchange -ay ours
for name in $volumes; do
    case $name in t0) ;; *) in_sync ours/$name ;; esac
done
say dmsetup status --target raid
for name in $volumes; do
    hand_over "read $name" /dev/ours/$name 0
    case $name in t0) ;; *) lvchange --syncaction check ours/$name ;; esac
done
sleep 2
for name in $volumes; do
    case $name in t0) ;; *) in_sync ours/$name ;; esac
    echo "mismatches $name" $(lvs --noheadings -o raid_mismatch_count,lv_health_status ours/$name)
    put /job/second ours/$name 0
done
must vgchange -an ours
create() {
    must lvcreate -y -Wn -Zn $2 -l 6 -n $1 theirs
    case "$2" in -i*) ;; *) in_sync theirs/$1 ;; esac
    must lvconvert -y --type $3 theirs/$1
    case $3 in raid0*) ;; *) in_sync theirs/$1 ;; esac
}
CREATE
echo "TEXT begins"
lvs -a --noheadings --units b --separator '|' -o FIELDS theirs
echo "TEXT ends"
lvs -a -o lv_name,devices,metadata_devices,lv_attr theirs
vgcfgbackup -f /tmp/text theirs >/dev/null
cat /tmp/text
must vgchange -an theirs
"#;

/// A group of ours with all volumes, of the levels that they are to become.
fn changed(name: &'static str, images: Vec<PathBuf>, content: Option<&PathBuf>) -> Group {
    let group = Group::create(name, images);
    for (volume, made, to) in CHANGES {
        group.volume(volume, &format!("{made} -l 6"));
        if let Some(content) = content {
            group.fill(volume, content);
        }
        group.bring_in_sync(volume);
        group.change(&format!("lvconvert --type {to}"), volume);
    }
    group
}

fn lines(text: &str) -> BTreeSet<String> {
    let lines = text.lines().map(|line| line.trim().to_owned());
    let is_alike = |line: &String| {
        let is_reshaped = RESHAPED.iter().any(|name| line.starts_with(name));
        line.contains('|') && !is_reshaped
    };
    lines.filter(is_alike).collect()
}

fn reported(group: &Group) -> BTreeSet<String> {
    let names: Vec<String> = group.names().collect();
    let lvs: Tool = group.ashlar_on(&names).arg("lvs");
    let lvs = lvs.args(["-a", "--noheadings", "--units", "b", "--separator", "|"]);
    lines(&lvs.args(["-o", FIELDS]).arg(group.name).succeed().text())
}

#[test]
fn the_kernel_goes_on_as_what_levels_became() {
    // Proves, in one boot: what we make of an array the kernel takes over and fills, with no parity
    // or copy wrong; what it writes then we read, without any disk; and volumes of its own that it
    // changes look like ours that we change.
    let scratch = Scratch::new("kernel-levels");
    let first = pattern("first", SIZE);
    let path = file(&scratch, "first", &first);
    let disks = images(&scratch, "ours", DISKS, 128);
    let ours = changed("ours", disks.clone(), Some(&path));
    let theirs = Group::create("theirs", images(&scratch, "theirs", DISKS, 128));
    let names: Vec<&str> = CHANGES.iter().map(|(name, ..)| *name).collect();
    let create = CHANGES
        .iter()
        .map(|(name, made, to)| format!("create {name} '{made}' {to}\n"));
    let script = BOOT.replace("CREATE", &create.collect::<String>());
    let script = script.replace("FIELDS", FIELDS);
    let second = pattern("second", SIZE / 2);
    let outcome = Kernel::new("levels")
        .disks(disks.iter().chain(&theirs.images))
        .file("second", &second)
        .succeed(&format!("{LIB}volumes='{}'\n{script}", names.join(" ")));
    for (name, _, to) in CHANGES {
        let found = &outcome.collected[&format!("read {name}")];
        assert_eq!(found.sha256, sha256(&first), "{name}: {outcome}");
        if !to.starts_with("raid0") {
            let line = format!("mismatches {name} 0");
            let mut said = outcome.text().lines();
            assert!(said.any(|said| said.trim() == line), "{line}: {outcome}");
        }
    }
    let mut held = first;
    held[..second.len()].copy_from_slice(&second);
    for (name, _, to) in CHANGES {
        assert!(ours.read(name) == held, "{name}, written by the kernel");
        if !to.starts_with("raid0") {
            ours.bring_in_sync(name);
        }
    }
    for away in 0..DISKS {
        let mut rest = disks.clone();
        rest.remove(away);
        let rest = Group::on("ours", rest);
        for (name, _, to) in CHANGES.iter().filter(|(.., to)| !to.starts_with("raid0")) {
            assert!(rest.read(name) == held, "{name}, {to}, without disk {away}");
        }
    }
    let text = outcome.text();
    let told = text.split("TEXT begins").nth(1).expect("it is told");
    let told = lines(told.split("TEXT ends").next().expect("it ends"));
    let same = changed("theirs", images(&scratch, "same", DISKS, 128), None);
    assert_eq!(told, reported(&same), "{outcome}");
}
