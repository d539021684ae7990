//! The invariants of the architecture.
//!
//! ```text
//!   pure-lvm      lvm2 builds without the standard library, and so does no I/O
//!   no-lvm-words  block and dm never mention a PV, VG or LV
//!   engines-add   a target has no engine of its own: no file there is called *_uring.rs
//!   one-writer    outside lvm2 only ashlar's commit makes bytes of metadata
//!   unsafe        stands only where a rule of the machine needs it
//! ```
//!
//! `one-writer` works on names: what turns metadata into bytes that belong on a disk is called
//! `encode` in `lvm2::ondisk`, and its ring plans `RingWrite`s. In the crates that know `lvm2`,
//! only `ashlar/src/commit` and tests may use these words. To ask the compiler would take one
//! crate more.

use super::finding::Finding;
use super::source::{Source, words};

/// Paths that `lvm2` may not name, and why.
const IMPURE: &[(&str, &str)] = &[
    (
        "std",
        "lvm2 builds without the standard library: core or alloc",
    ),
    ("rustix", NO_IO),
    ("libc", NO_IO),
    ("rand", NO_IO),
];
const NO_IO: &str = "lvm2 does no I/O: that belongs to ashlar or block";

/// Words that mean a thing of LVM's, as they appear inside an identifier.
const LVM_PARTS: &[&str] = &["pv", "pvs", "vg", "vgs", "lv", "lvs"];

/// The same things spelled out.
const LVM_NAMES: &[&str] = &["physicalvolume", "volumegroup", "logicalvolume"];

/// What makes bytes of metadata.
const ENCODERS: &[&str] = &["encode", "RingWrite"];

/// Where `unsafe` may stand.
const UNSAFE_PLACES: &[&str] = &[
    "crates/block/",
    "crates/export/",
    "crates/nbd/",
    "crates/dm/src/raid/parity",
    // An allocator that counts cannot be written without it.
    "crates/testkit/src/counting.rs",
];

pub(crate) fn check(source: &Source, findings: &mut Vec<Finding>) {
    if source.path.starts_with("crates/lvm2/src/") && !source.is_test() {
        check_pure(source, findings);
    }
    if source.path.starts_with("crates/block/") || source.path.starts_with("crates/dm/") {
        check_lvm_words(source, findings);
    }
    if source.path.starts_with("crates/dm/") && source.path.contains("uring") {
        let message = "a target has no engine of its own: steps out, completions in";
        findings.push(Finding::new(&source.path, 1, "engines-add", message));
    }
    check_one_writer(source, findings);
    check_unsafe(source, findings);
}

fn check_pure(source: &Source, findings: &mut Vec<Finding>) {
    // `use std::{fs, io}` names std::fs as well: take every path of every `use` apart.
    for (line, path) in paths_of(source) {
        let first = path.split("::").next().unwrap_or_default();
        if let Some((_, message)) = IMPURE.iter().find(|(bad, _)| *bad == first) {
            findings.push(Finding::new(&source.path, line, "pure-lvm", *message));
        }
    }
}

/// Every path that the code names, `use` trees expanded: `a::{b, c::d}` gives `a::b` and `a::c::d`.
fn paths_of(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut prefixes: Vec<String> = Vec::new();
    let mut current = String::new();
    let mut line = 1;
    for c in source.code.chars().chain(['\n']) {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | ':' => {
                current.push(c);
                continue;
            }
            '{' => {
                let group = current.strip_suffix("::").map(str::to_owned);
                let outer = prefixes.last().cloned().unwrap_or_default();
                prefixes.push(group.map_or(String::new(), |path| format!("{outer}{path}::")));
                current.clear();
            }
            _ => {}
        }
        if current.contains(|c: char| c != ':') {
            let outer = prefixes.last().cloned().unwrap_or_default();
            found.push((line, format!("{outer}{}", current.trim_matches(':'))));
        }
        current.clear();
        match c {
            '}' => drop(prefixes.pop()),
            '\n' => line += 1,
            _ => {}
        }
    }
    found
}

fn check_lvm_words(source: &Source, findings: &mut Vec<Finding>) {
    for text in [&source.code, &source.comments] {
        for word in words(text) {
            if mentions_lvm(word.text) {
                let line = source.line_of(word.start);
                let message = format!("'{}' means a PV, VG or LV; say device or target", word.text);
                findings.push(Finding::new(&source.path, line, "no-lvm-words", message));
            }
        }
    }
}

fn mentions_lvm(word: &str) -> bool {
    let flat = word.replace('_', "").to_lowercase();
    let mut parts: Vec<String> = Vec::new();
    for piece in word.split('_') {
        let mut part = String::new();
        let mut previous_lower = false;
        for c in piece.chars() {
            if c.is_uppercase() && previous_lower {
                parts.push(std::mem::take(&mut part));
            }
            previous_lower = c.is_lowercase();
            part.extend(c.to_lowercase());
        }
        parts.push(part);
    }
    LVM_NAMES.iter().any(|name| flat.contains(name))
        || parts.iter().any(|part| LVM_PARTS.contains(&part.as_str()))
}

fn check_one_writer(source: &Source, findings: &mut Vec<Finding>) {
    let knows_lvm = ["crates/ashlar/", "crates/lab/", "crates/cli/"];
    let is_writer = source.path.starts_with("crates/ashlar/src/commit");
    if source.is_test() || is_writer || !knows_lvm.iter().any(|c| source.path.starts_with(c)) {
        return;
    }
    for word in source
        .words()
        .iter()
        .filter(|word| ENCODERS.contains(&word.text))
    {
        let line = source.line_of(word.start);
        let message = format!(
            "'{}': metadata is written by ashlar::commit only",
            word.text
        );
        findings.push(Finding::new(&source.path, line, "one-writer", message));
    }
}

fn check_unsafe(source: &Source, findings: &mut Vec<Finding>) {
    if UNSAFE_PLACES
        .iter()
        .any(|place| source.path.starts_with(place))
    {
        return;
    }
    for word in source.words().iter().filter(|word| word.text == "unsafe") {
        let message = format!("unsafe stands only in {}", UNSAFE_PLACES.join(", "));
        findings.push(Finding::new(
            &source.path,
            source.line_of(word.start),
            "unsafe",
            message,
        ));
    }
}

#[cfg(test)]
mod tests;
