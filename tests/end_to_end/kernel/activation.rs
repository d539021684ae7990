//! The same script by stock LVM2 on device-mapper, and by Ashlar here under LVM2's names: what is
//! active, what is refused, asked and said.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;

use tests::{Kernel, Scratch, Tool, ashlar_path};

/// What is said of each volume.
const REPORT: &str = "lvs --noheadings --separator | -o lv_name,lv_attr,lv_active,\
    lv_active_locally,lv_active_remotely,lv_active_exclusively,lv_device_open,lv_permissions,\
    lv_suspended,lv_live_table,lv_inactive_table vg0";

/// The script. `@0` is a disk, `DEV` the folder of devices; `?` is the report, and which names
/// there are; `%` the tables of all nodes, and how they are; lines in braces are of the shell.
const SCRIPT: &[&str] = &[
    "vgcreate vg0 @0 @1",
    "lvcreate -y -L 8m -n data vg0",
    "?",
    "lvcreate -y -an -Zn -Wn -L 4m -n idle vg0",
    "lvcreate -y -an -Zn -Wn -ky -L 4m -n skip vg0",
    "lvcreate -y -an -Zn -Wn --setautoactivation n -L 4m -n later vg0",
    "lvcreate -y -pr -Zn -Wn -L 4m -n fixed vg0",
    "?",
    "vgchange -an vg0",
    "?",
    "vgchange -aay vg0",
    "?",
    "vgchange -ay vg0",
    "?",
    "vgchange -ay -K vg0",
    "?",
    "lvchange -an vg0/skip vg0/later",
    "lvchange -aey vg0/later",
    "lvchange -ay vg0/skip",
    "?",
    "{exec 9<DEV/vg0/data}",
    "?",
    "lvchange -an vg0/data",
    "vgchange -an vg0",
    "lvremove -y vg0/data",
    "lvremove -f vg0/data",
    "vgexport vg0",
    "{exec 9<&-}",
    "lvrename vg0 idle lazy",
    "lvextend -L 8m vg0/lazy",
    "?",
    "vgrename vg0 vg1",
    "vgrename vg1 vg0",
    "?",
    "lvcreate -y -s -L 4m -n snap vg0/data",
    "?",
    "lvchange -an vg0/snap",
    "lvchange -an -y vg0/snap",
    "?",
    "lvchange -ay vg0/snap",
    "?",
    "lvchange -ay -y vg0/snap",
    "?",
    "lvcreate -y -Zn -Wn --nosync --type raid1 -m1 -L 4m -n pair vg0",
    "lvcreate -y -Zn -Wn --nosync --type mirror --mirrorlog core -m1 -L 4m -n copy vg0",
    "lvcreate -y -Zn -Wn -i 2 -L 8m -n wide vg0",
    "%",
    "lvremove -y vg0/pair vg0/copy vg0/wide",
    "lvremove vg0/data",
    "lvremove -y vg0/snap",
    "lvremove vg0/data",
    "lvremove -y vg0/data",
    "lvchange -ay vg0/nosuch",
    "lvchange -ax vg0/lazy",
    "vgchange -ay vg9",
    "vgchange -ay --config activation{volume_list=[\"vg0/later\"]} vg0",
    "vgchange -an vg0",
    "vgchange -ay --config activation{volume_list=[\"vg0/later\"]} vg0",
    "?",
    "vgchange -an vg0",
    "vgexport vg0",
    "vgchange -ay vg0",
    "lvchange -ay vg0/lazy",
    "vgimport vg0",
    "?",
    "vgchange -ay vg0",
    "vgremove vg0",
    "vgremove -y vg0",
    "vgs",
];

/// What device-mapper shows of its nodes, and by which numbers it calls them.
const BY_STOCK: &str = "dmsetup table; dmsetup status; \
    dmsetup info -c --noheadings --separator : -o major,minor,name | sed 's/^/number /'";
/// The same of what is active here.
const BY_US: &str = "(ashlar nodes -a --table; ashlar nodes -a --status) \
    | sed 's:/dev/mapper/:DEV/mapper/:g'";

/// The script for a shell: each line's output, and its status, behind a line with its number; with
/// what shows the nodes.
fn script(disks: [&str; 2], dev: &str, nodes: &str) -> String {
    let mut text = String::new();
    for (number, line) in SCRIPT.iter().enumerate() {
        let line = line.replace("@0", disks[0]).replace("@1", disks[1]);
        let line = line.replace("DEV", dev);
        let shell = line
            .strip_prefix('{')
            .and_then(|line| line.strip_suffix('}'));
        let _ = writeln!(text, "echo \"## {number}\"");
        match (shell, &*line) {
            (Some(shell), _) => _ = writeln!(text, "{shell}"),
            (None, "?") => {
                let report = REPORT.replace('|', "'|'");
                let _ = writeln!(text, "{report} 2>&1; ls -1 {dev}/vg0 2>/dev/null");
                let _ = writeln!(text, "ls -1 {dev}/mapper | grep vg0");
            }
            (None, "%") => _ = writeln!(text, "{nodes}"),
            (None, line) => {
                let line = line.replace('{', "'{").replace('}', "}'");
                let _ = writeln!(text, "{line} </dev/null 2>&1; echo \"status $?\"");
            }
        }
    }
    text.push_str("exit 0\n");
    text
}

/// What stock said, with names for the numbers of nodes and disks.
fn named(output: &str) -> String {
    let numbers = output.lines().filter_map(|line| {
        let (number, name) = line.strip_prefix("number ")?.rsplit_once(':')?;
        Some((number, format!("/dev/mapper/{name}")))
    });
    let mut names: Vec<(&str, String)> = numbers.collect();
    names.extend([("254:0", "@0".to_owned()), ("254:16", "@1".to_owned())]);
    let word = |word: &str| {
        let found = names.iter().find(|(number, _)| *number == word);
        found.map_or_else(|| word.to_owned(), |(_, name)| name.clone())
    };
    let lines = output.lines().filter(|line| !line.starts_with("number "));
    let lines = lines.map(|line| line.split(' ').map(word).collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

/// What was said to each line, in the words that both have.
fn said(output: &str, disks: [&str; 2], dev: &str) -> Vec<BTreeSet<String>> {
    let mut all: Vec<BTreeSet<String>> = Vec::new();
    for line in output.lines() {
        if line.starts_with("## ") {
            all.push(BTreeSet::new());
            continue;
        }
        let line = line.replace(disks[0], "@0").replace(disks[1], "@1");
        let line = line.replace(dev, "DEV").trim().to_owned();
        if let Some(last) = all.last_mut() {
            last.insert(line);
        }
    }
    all
}

/// Whether a line is one that only one side has: Ashlar how to go on; stock the layers of
/// snapshots, and that it keeps no backups where the settings say so.
fn is_own(line: &str) -> bool {
    let is_layer = line.ends_with("-real") || line.ends_with("-cow");
    is_layer
        || line == "WARNING: This metadata update is NOT backed up."
        || line.contains("`ashlar ")
        || line.starts_with("See vgs, and name its devices")
}

#[test]
fn scripts_see_the_same_volumes_active() {
    // Proves, in one boot: a script that activates, opens, renames, copies and removes volumes sees
    // the same states and names, and is told the same, by Ashlar as by stock on device-mapper.
    let scratch = Scratch::new("kernel-activation");
    let disks: Vec<_> = ["s0", "s1", "disks/o0", "disks/o1"]
        .map(|name| {
            fs::create_dir_all(scratch.join("disks")).expect("a folder");
            scratch.sparse(name, 64 << 20)
        })
        .into();
    let theirs = ["/dev/vda", "/dev/vdb"];
    let kernel = Kernel::new("activation").copy(&disks[0]).copy(&disks[1]);
    let by_stock = kernel.succeed(&script(theirs, "/dev", BY_STOCK)).output;
    let by_stock = named(&by_stock);
    for folder in ["bin", "etc", "dev/mapper"] {
        fs::create_dir_all(scratch.join(folder)).expect("a folder");
    }
    let settings = concat!(env!("CARGO_MANIFEST_DIR"), "/kernel/lvm.conf");
    fs::copy(settings, scratch.join("etc/lvm.conf")).expect("the machine's settings");
    for line in SCRIPT.iter().chain([&"lvs"]) {
        let name = line.split(' ').next().unwrap_or_default();
        let link = scratch.join("bin").join(name);
        if name.starts_with(['v', 'l']) && !link.exists() {
            symlink(ashlar_path(), link).expect("a link");
        }
    }
    symlink(ashlar_path(), scratch.join("bin/ashlar")).expect("a link");
    let ours = [2, 3].map(|number: usize| disks[number].display().to_string());
    let ours = [&*ours[0], &*ours[1]];
    let dev = scratch.join("dev").display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", scratch.join("bin").display());
    let run = |script: &str| {
        Tool::new("sh")
            .args(["-c", script])
            .env("PATH", &path)
            .env("ASHLAR_RUNTIME_DIR", scratch.join("run"))
            .env("ASHLAR_DEVICES", scratch.join("disks"))
            .env("DM_DEV_DIR", &dev)
            .env("LVM_SYSTEM_DIR", scratch.join("etc"))
            .env("LVM_LOCKING_DIR", scratch.join("locks"))
            .run()
            .text()
    };
    let by_us = run(&script(ours, &dev, BY_US));
    // Nothing of a failed run is left.
    run("vgremove -ff vg0");
    let (theirs, ours) = (said(&by_stock, theirs, "/dev"), said(&by_us, ours, &dev));
    let mut differences = String::new();
    for (number, line) in SCRIPT.iter().enumerate() {
        let only = |one: &[BTreeSet<String>], other: &[BTreeSet<String>]| -> Vec<String> {
            let none = BTreeSet::new();
            let one = one.get(number).unwrap_or(&none);
            let lines = one.difference(other.get(number).unwrap_or(&none));
            lines.filter(|line| !is_own(line)).cloned().collect()
        };
        let (stock, ashlar) = (only(&theirs, &ours), only(&ours, &theirs));
        if !stock.is_empty() || !ashlar.is_empty() {
            let _ = writeln!(
                differences,
                "{number} {line}\n  stock:  {stock:#?}\n  ashlar: {ashlar:#?}"
            );
        }
    }
    assert!(differences.is_empty(), "{differences}");
}
