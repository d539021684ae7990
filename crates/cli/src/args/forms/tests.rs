//! Tests of the forms of commands: answers are those of stock LVM2.

use super::{Choice, FORMS, Form, forms_of};
use crate::args::error::Kind;
use crate::args::parse::parse;
use crate::args::table::{Command, Flag};

const FLAGS: &[Flag] = &[
    Flag::value("size", "Size", "").short('L'),
    Flag::value("extents", "Extents", "").short('l'),
    Flag::value("type", "Type", ""),
    Flag::value("mirrors", "Number", "").short('m'),
    Flag::value("stripes", "Number", "").short('i'),
    Flag::value("name", "LV", "").short('n'),
    Flag::switch("snapshot", "").short('s'),
    Flag::switch("corelog", ""),
    Flag::value("raidintegrity", "y|n", ""),
    Flag::switch("thin", ""),
    Flag::value("addtag", "Tag", ""),
    Flag::value("persistent", "y|n", ""),
    Flag::value("minor", "Number", ""),
    Flag::switch("resync", ""),
    Flag::switch("mergemirrors", ""),
    Flag::value("thinpool", "LV", ""),
    Flag::value("poolmetadata", "LV", ""),
    Flag::value("select", "Criteria", "").short('S'),
    Flag::value("uuid-seed", "String", ""),
    Flag::switch("repair", ""),
    Flag::value("dump", "headers|metadata", ""),
    Flag::value("file", "File", ""),
    Flag::switch("updatemetadata", ""),
    Flag::value("reportformat", "basic|json", ""),
];

const fn command(name: &'static str) -> Command {
    Command {
        name,
        summary: "",
        operands: "NAME ...",
        description: "",
        flags: &[FLAGS],
        examples: &[],
        run: |_, _| Ok(()),
    }
}

const CREATE: Command = command("lvcreate");
const CHANGE: Command = command("lvchange");
const CONVERT: Command = command("lvconvert");
const REMOVE: Command = command("lvremove");
const PVCK: Command = command("pvck");
const VGCK: Command = command("vgck");

fn said(command: &Command, line: &str) -> Option<String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let error = parse(command, &words).err()?;
    assert_eq!(error.kind(), Kind::Form, "{line}: {error}");
    Some(error.to_string())
}

/// Lines that stock takes are taken, with options that only this program has as well.
#[test]
fn what_is_a_form_is_taken() {
    for line in [
        "-L 1g vg",
        "-l 1 -n vg/a",
        "--type linear -m 0 -i 1 -L 1 vg pv pv",
        "-m 1 -i 2 -L 1 vg",
        "--type raid5 -i 2 -l 5 vg --uuid-seed x",
        "--type raid10 -i 2 -m 1 --raidintegrity y -l 6 vg",
        "-s vg/a",
        "-s -L 1 vg/a pv",
        "--thin vg/a",
    ] {
        assert_eq!(said(&CREATE, line), None, "{line}");
    }
    for line in [
        "--addtag t --persistent n vg",
        "-S x --resync",
        "--persistent y --minor 3 vg/a",
    ] {
        assert_eq!(said(&CHANGE, line), None, "{line}");
    }
    assert_eq!(said(&REMOVE, "-S x"), None);
}

/// What lacks something is answered with stock's sentence, and what it lacks.
#[test]
fn what_is_no_form_is_told_what_it_lacks() {
    let none = "No command with matching syntax recognised.  Run 'lvcreate --help' for more \
                information. What comes nearest needs";
    let lacks = |line: &str, what: &str| {
        assert_eq!(
            said(&CREATE, line),
            Some(format!("{none} {what}, too.")),
            "{line}"
        );
    };
    lacks("-n a vg", "--size or --extents");
    lacks("-L 1", "VG");
    lacks("-L 1 -n a", "VG");
    lacks("--type raid1 vg", "--size or --extents");
    let change = said(&CHANGE, "vg/a").unwrap_or_default();
    assert!(
        change.ends_with("needs an option that says what to change, too."),
        "{change}"
    );
    assert!(said(&CHANGE, "--persistent y vg").is_some());
    assert!(said(&REMOVE, "").is_some());
}

/// Options and names that the form does not take are named.
#[test]
fn what_is_left_is_named() {
    let option = |what: &str| Some(format!("Command does not accept option: --{what}."));
    assert_eq!(
        said(&CREATE, "--type linear -m 1 -L 1 vg"),
        option("mirrors 1")
    );
    assert_eq!(said(&CREATE, "-L 1 --corelog vg"), option("mirrorlog"));
    assert_eq!(said(&CREATE, "-s -m 1 -L 1 vg/a"), option("snapshot"));
    assert_eq!(
        said(&CREATE, "--type zero -i 2 -L 1 vg"),
        option("stripes 2")
    );
    assert_eq!(said(&CHANGE, "--addtag t --resync vg"), option("resync"));
    // Of forms that take the same number of options, the first.
    let both = "--repair --file f --dump metadata pv";
    assert_eq!(said(&PVCK, both), option("repair"));
    let both = "--updatemetadata --reportformat json vg";
    assert_eq!(said(&VGCK, both), option("updatemetadata"));
    assert_eq!(
        said(&CREATE, "--type zero -L 1 vg pv"),
        Some("Command does not accept argument: pv.".to_owned())
    );
}

/// Every line of the file is read as what it says.
#[test]
fn the_file_is_read() {
    let commands = FORMS.lines().filter_map(|line| line.strip_prefix("= "));
    for command in commands {
        let forms = forms_of(command).expect(command);
        assert!(!forms.all.is_empty(), "{command}");
        let is_word = |choice: &Choice| choice.long.bytes().all(|byte| byte.is_ascii_lowercase());
        assert!(
            forms.all.iter().flat_map(Form::choices).all(is_word),
            "{command}"
        );
    }
    let rename = forms_of("lvrename").expect("its forms");
    assert_eq!(rename.all[0].names, ["VG", "LV", "LV_new"]);
    assert_eq!(rename.all[0].more_names, Some(0));
    let create = forms_of("lvcreate").expect("its forms");
    assert_eq!(create.all[2].more_names, None);
    assert_eq!(create.all[2].names, ["VG"]);
    assert!(forms_of("vgs").is_none());
}

/// The types that a form takes are those of its volume; where it names none, all.
#[test]
fn forms_say_the_types_of_volumes() {
    let types = |line: &str| {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let arguments = parse(&CONVERT, &words).expect("the line is a form");
        super::volume_types(&arguments)
    };
    assert_eq!(types("--stripes 2 vg/a"), Some("raid"));
    assert_eq!(types("-s vg/a vg/b"), Some("linear,striped"));
    assert_eq!(types("--mergemirrors vg @t"), Some("linear,raid"));
    assert_eq!(types("-m 1 vg/a pv"), None);
}

/// One option may stand beside none of several others.
#[test]
fn options_that_do_not_go_together_are_named() {
    assert_eq!(
        said(&CONVERT, "--thinpool vg/a --poolmetadata vg/b --stripes 2"),
        Some(
            "Command does not accept option combination: --poolmetadata  with --readahead \
             --stripesize --stripes "
                .to_owned()
        )
    );
}
