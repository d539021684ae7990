//! The table of settings: its own rules, the code that asks for them, the document made from it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use lvm2::text::{Node, parse};

use super::{Key, KeyState, all, find};
use crate::host::Config;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The value that `text` stands for.
fn admitted(key: &Key, text: &str) -> bool {
    let line = format!("a = {text}\n");
    let tree = parse(line.as_bytes()).expect("a default is a value");
    match tree.nodes.as_slice() {
        [Node::Value { value, .. }] => key.kind.admits(value),
        _ => false,
    }
}

#[test]
fn every_line_keeps_the_rules() {
    // Proves: keys are told apart, marks are known ones, and a default is of the key's own type.
    const MARKS: [&str; 8] = [
        "-",
        "advanced",
        "unsupported",
        "deprecated",
        "named",
        "command-profile",
        "metadata-profile",
        "may-be-empty",
    ];
    let mut seen = BTreeSet::new();
    for key in all() {
        assert!(seen.insert(key.path), "{} twice", key.path);
        assert!(key.path.contains('/'), "{}", key.path);
        for mark in key.marks.split(',') {
            assert!(MARKS.contains(&mark), "{}: {mark}", key.path);
        }
        let own = key.path.starts_with("ashlar/");
        assert_eq!(own, key.since == "-", "{}", key.path);
        if key.default != "undefined" {
            let fits = admitted(key, key.default);
            assert!(fits, "{}: {}", key.path, key.default);
        }
        assert_eq!(key.path.contains('<'), key.marks.contains("named"));
    }
    let of_stock = all().iter().filter(|key| key.since != "-").count();
    assert_eq!(of_stock, 267, "LVM2 2.03.16 has so many");
}

#[test]
fn types_admit_what_stock_does() {
    // Proves: a float is no switch, and a single string does for an array of them.
    let of = |path| find(path).expect("is in the table");
    assert!(admitted(of("devices/scan_lvs"), "1"));
    assert!(admitted(of("devices/scan_lvs"), "\"yes\""));
    assert!(!admitted(of("devices/scan_lvs"), "\"perhaps\""));
    assert!(!admitted(of("devices/scan_lvs"), "1.5"));
    assert!(!admitted(of("devices/pv_min_size"), "\"2048\""));
    assert!(admitted(of("devices/filter"), "\"a|.*|\""));
    assert!(!admitted(of("devices/filter"), "1"));
    assert!(!admitted(of("backup/backup_dir"), "[\"/x\"]"));
}

#[test]
fn what_is_marked_read_is_what_code_asks_for() {
    // Proves: the table and the sources agree, in both directions.
    let mut named = BTreeSet::new();
    for package in ["ashlar", "cli"] {
        collect(&root().join("crates").join(package).join("src"), &mut named);
    }
    assert!(named.len() > 20, "the sources were not found");
    let read = all().iter().filter(|key| key.state == KeyState::Read);
    let read: BTreeSet<String> = read.map(|key| key.path.to_owned()).collect();
    assert_eq!(named, read, "left: named in code; right: read, in keys.txt");
}

#[test]
#[should_panic(expected = "global/no_such_setting is read")]
#[cfg(debug_assertions)]
fn a_setting_that_is_not_in_the_table_cannot_be_read() {
    // Proves: who reads a new setting has to write its line.
    let _ = Config::empty().value("global/no_such_setting");
}

/// Adds the settings that string literals in the sources below `folder` name, tests left out.
fn collect(folder: &Path, named: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("sources") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        if stem == Some("tests") {
            continue;
        }
        if path.is_dir() {
            collect(&path, named);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).expect("a source");
            let literals = text.split('"').filter(|text| find(text).is_some());
            named.extend(literals.map(str::to_owned));
        }
    }
}

#[test]
fn the_document_is_the_table() {
    // Proves: docs/configuration.md says what the table says. ASHLAR_WRITE_DOCS=1 writes it anew.
    let path = root().join("docs/configuration.md");
    let text = document();
    if std::env::var_os("ASHLAR_WRITE_DOCS").is_some() {
        fs::write(&path, &text).expect("is written");
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    let hint = "it differs from keys.txt; ASHLAR_WRITE_DOCS=1 cargo test -p ashlar --lib host::";
    assert!(there == text, "{}: {hint}", path.display());
}

fn document() -> String {
    let count = |of: fn(&KeyState) -> bool| all().iter().filter(|key| of(&key.state)).count();
    let mut text = format!(
        "# Settings\n\n\
         Made from `crates/ashlar/src/host/config/keys.txt`; change that, and write this anew \
         with\n\
         `ASHLAR_WRITE_DOCS=1 cargo test -p ashlar --lib host::`.\n\n\
         The settings of LVM2 2.03.16, in `lvm.conf`, `lvmlocal.conf` and `--config`, and Ashlar's \
         own in the section `ashlar`.\n\
         {} are read, {} have no effect for the reason beside them.\n\
         Defaults are LVM2's; folders are those of `/etc/lvm`.\n",
        count(|state| matches!(state, KeyState::Read)),
        count(|state| matches!(state, KeyState::NoEffect(_))),
    );
    let mut section = "";
    for key in all() {
        let (of, _) = key.path.split_once('/').expect("a section");
        if of != section {
            text.extend(["\n## ", of, "\n\n"]);
            text += "| setting | type | default | since | marks | here |\n";
            text += "|---|---|---|---|---|---|\n";
            section = of;
        }
        text += &row(key);
    }
    text
}

fn row(key: &Key) -> String {
    let state = match key.state {
        KeyState::Read => "read".to_owned(),
        KeyState::NoEffect(reason) => format!("no effect: {reason}"),
    };
    let default = match key.default {
        "undefined" => String::new(),
        default => format!("`{}`", default.replace('|', "\\|")),
    };
    let marks = key.marks.trim_matches('-').replace(',', ", ");
    let since = key.since.trim_matches('-');
    let (path, kind) = (key.path, key.kind.name());
    format!("| `{path}` | {kind} | {default} | {since} | {marks} | {state} |\n")
}
