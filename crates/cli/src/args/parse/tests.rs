//! Tests of the parser of command lines.

use super::{Arguments, parse};
use crate::args::error::Kind;
use crate::args::table::{Command, Flag};

const ALL: Flag = Flag::switch("all", "").short('a');
const NO_HEADINGS: Flag = Flag::switch("noheadings", "");
const NO_SUFFIX: Flag = Flag::switch("nosuffix", "");
const SIZE: Flag = Flag::value("size", "Size", "").short('L');
const OPTIONS: Flag = Flag::value("options", "String", "").short('o');

const ZERO: Flag = Flag::value("zero", "y|n", "");
const FORMAT: Flag = Flag::value("reportformat", "basic|json|json_std", "");
const STRIPES: Flag = Flag::value("stripes", "Number", "");

const COMMAND: Command = Command {
    name: "lvs",
    summary: "",
    operands: "[VG]",
    description: "",
    flags: &[&[
        ALL,
        NO_HEADINGS,
        NO_SUFFIX,
        SIZE,
        OPTIONS,
        ZERO,
        STRIPES,
        FORMAT,
    ]],
    examples: &[],
    run: |_, _| Ok(()),
};

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn parsed(line: &str) -> Arguments {
    parse(&COMMAND, &words(line)).expect(line)
}

fn refused(line: &str) -> String {
    refused_words(&line.split_whitespace().collect::<Vec<_>>())
}

fn refused_words(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let error = parse(&COMMAND, &words).expect_err("a wrong line");
    assert_eq!(error.kind(), Kind::Syntax);
    error.to_string()
}

#[test]
fn short_flags_are_grouped_and_the_last_may_take_a_value() {
    let arguments = parsed("-aL 1g vg0");
    assert!(arguments.has(&ALL));
    assert_eq!(arguments.value(&SIZE), Some("1g"));
    assert_eq!(arguments.operands(), ["vg0"]);
    assert_eq!(parsed("-aL1g").value(&SIZE), Some("1g"));
}

#[test]
fn values_are_attached_or_follow_and_all_occurrences_are_kept() {
    let arguments = parsed("-o+devices --options=size --options -name vg0 -o #x");
    let values: Vec<&str> = arguments.values(&OPTIONS).collect();
    assert_eq!(values, ["+devices", "size", "-name", "#x"]);
}

#[test]
fn long_options_may_be_cut_short_and_hyphenated() {
    assert!(parsed("--nohead").has(&NO_HEADINGS));
    assert!(parsed("--no-suffix").has(&NO_SUFFIX));
    assert!(refused("--no").contains("ambiguous; possibilities: '--noheadings' '--nosuffix'"));
}

/// A value that its kind does not have is refused, and an option that was given before.
#[test]
fn wrong_values_and_repeated_options_are_refused() {
    assert_eq!(
        refused("--size 1g -L 2g"),
        "Option -L/--size may not be repeated."
    );
    assert_eq!(
        refused("--nosuffix --no-suffix"),
        "Option --nosuffix may not be repeated."
    );
    for wrong in ["Y", "", "yes", "1"] {
        let message = refused_words(&["--zero", wrong]);
        let wanted = format!("Invalid argument for --zero: {wrong}");
        assert!(message.starts_with(&wanted), "{message}");
    }
    for wrong in ["-1", "", "1x", "+", "0x1"] {
        let message = refused_words(&["--stripes", wrong]);
        let wanted = format!("Invalid argument for --stripes: {wrong} (a number)");
        assert_eq!(message, wanted);
    }
    assert_eq!(
        refused("--reportformat jsno"),
        "Invalid argument for --reportformat: jsno; did you mean json? (basic, json, json_std)"
    );
    assert_eq!(parsed("--stripes +2 --zero n").value(&ZERO), Some("n"));
}

#[test]
fn a_double_hyphen_ends_the_options() {
    let arguments = parsed("-- -a --all");
    assert!(!arguments.has(&ALL));
    assert_eq!(arguments.operands(), ["-a", "--all"]);
    assert_eq!(parsed("-").operands(), ["-"]);
}

#[test]
fn a_wrong_option_is_named_with_the_one_that_was_meant() {
    let message = refused("--noheadnigs");
    assert!(
        message.starts_with("lvs: unrecognized option '--noheadnigs'"),
        "{message}"
    );
    assert!(
        message.ends_with("did you mean '--noheadings'?"),
        "{message}"
    );
    assert!(refused("-Z").contains("invalid option -- 'Z'"));
    assert!(refused("--size").contains("requires an argument"));
    assert!(refused("-aL").contains("requires an argument -- 'L'"));
    assert!(refused("--all=yes").contains("doesn't allow an argument"));
}

#[test]
fn options_may_stand_in_front_of_the_command() {
    let line = words("-v --devices disks --config=a=1 lvs -a vg0");
    let (leading, rest) = super::split_leading(&line);
    assert_eq!(leading, ["-v", "--devices", "disks", "--config=a=1"]);
    assert_eq!(rest, ["lvs", "-a", "vg0"]);
    assert_eq!(super::split_leading(&words("--devices")).1.len(), 0);
}
