//! What settings add to command lines.

use ashlar::host::Config;

use super::apply;
use crate::commands::{arguments_of, command_of};

/// The words that `text` adds to a line.
fn added(text: &str, name: &'static str, words: &[&str]) -> Vec<String> {
    let mut config = Config::empty();
    config.add_text(text).expect("is a configuration");
    let mut arguments = arguments_of(name, words);
    apply(command_of(name), &config, &mut arguments);
    let count = arguments.words().len() - words.len();
    arguments.words()[..count].to_vec()
}

#[test]
fn a_setting_is_as_good_as_its_option() {
    // Proves: it is added where the command has it, once, and reaches whoever runs the words.
    let test = "global/test = 1";
    assert_eq!(added(test, "vgchange", &["vg"]), ["--test"]);
    assert!(added(test, "vgchange", &["--test", "vg"]).is_empty());
    assert!(added("global/test = 0", "vgchange", &["vg"]).is_empty());
    assert_eq!(added("log/silent = 1", "vgs", &[]), ["--quiet", "--quiet"]);
    assert_eq!(added("log/verbose = 9", "vgs", &[]).len(), 4);
    assert!(added("log/verbose = -1", "vgs", &[]).is_empty());
    assert!(added("log/verbose = 2", "vgs", &["-q"]).is_empty());
}

#[test]
fn what_is_typed_counts_more() {
    // Proves: other options for the same thing silence a setting, and others' commands too.
    let mode = "activation/activation_mode = \"partial\"";
    let words = added(mode, "lvchange", &["-ay", "vg"]);
    assert_eq!(words, ["--activationmode=partial"]);
    assert!(added(mode, "lvchange", &["-ay", "--partial", "vg"]).is_empty());
    assert!(added(mode, "vgs", &[]).is_empty());
    let copies = "metadata { vgmetadatacopies = 2 pvmetadataignore = 1 }";
    let words = added(copies, "vgcreate", &["vg", "/dev/x"]);
    assert_eq!(words, ["--metadataignore=y", "--vgmetadatacopies=2"]);
    assert!(added(copies, "vgchange", &["--addtag", "t", "vg"]).is_empty());
}
