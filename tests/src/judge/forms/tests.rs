//! Tests of reading forms: parts of a text, and stock itself.

use super::{Choice, Operand, parse};

const TEXT: &str = "  lvtest - Do something

  For options listed in parentheses, any one is
  lvtest
\t( -x|--allocatable y|n,
\t  -u|--uuid,
\t     --profile String )

\t[ -A|--autobackup y|n ]
\t[ COMMON_OPTIONS ]
\t[ PV|Select ... ]

  Make one of a size.
  lvtest --repair -L|--size [+|-]Size[m|UNIT] --thinpool LV LV_new PV ...
\t[ --type linear ] (implied)
\t[    --units [Number]r|R ]
\t[ COMMON_OPTIONS ]

  Common options for command:
\t[ -f|--force ]

  Common options for lvm:
\t[ -d|--debug ]

  Common variables for lvm:
        lvtest is no form here
";

fn shown(choices: &[Choice]) -> String {
    let show = |choice: &Choice| {
        let short = choice
            .short
            .map_or(String::new(), |short| format!("{short}|"));
        let takes = choice.takes.as_deref().unwrap_or_default();
        format!("{short}{} {takes}", choice.long)
    };
    choices.iter().map(show).collect::<Vec<_>>().join(", ")
}

fn operands(operands: &[Operand]) -> String {
    let show = |operand: &Operand| {
        let (dots, needed) = (operand.repeats, operand.is_needed);
        format!("{} {dots} {needed}", operand.what)
    };
    operands.iter().map(show).collect::<Vec<_>>().join(", ")
}

/// Each part of a form is found where stock prints it.
#[test]
fn parts_of_forms_are_found() {
    let usage = parse("lvtest", TEXT);
    assert_eq!(usage.forms.len(), 2, "{usage:?}");
    assert_eq!(shown(&usage.common), "f|force , d|debug ");
    let (first, second) = (&usage.forms[0], &usage.forms[1]);
    assert_eq!(
        shown(&first.one_of),
        "x|allocatable y|n, u|uuid , profile String"
    );
    assert_eq!(shown(&first.optional), "A|autobackup y|n");
    assert_eq!(operands(&first.operands), "PV|Select true false");
    assert_eq!(
        shown(&second.needed),
        "repair , L|size [+|-]Size[m|UNIT], thinpool LV"
    );
    assert_eq!(shown(&second.optional), "type linear, units [Number]r|R");
    assert_eq!(
        operands(&second.operands),
        "LV_new false true, PV true true"
    );
}

/// Stock's own help is read whole: every line below a head is part of its form.
#[test]
fn help_of_stock_is_read_whole() {
    for (command, forms) in [
        ("lvcreate", 40),
        ("lvconvert", 30),
        ("vgchange", 8),
        ("pvs", 1),
        ("vgsplit", 2),
    ] {
        let help = crate::Tool::new("lvm")
            .env("LVM_SUPPRESS_FD_WARNINGS", "1")
            .args([command, "--longhelp"])
            .succeed()
            .text();
        let usage = parse(command, &help);
        assert!(
            usage.forms.len() >= forms,
            "{command}: {}",
            usage.forms.len()
        );
        let brackets = help.lines().filter(|line| line.starts_with('\t'));
        let count = brackets.filter(|line| line.contains("--")).count();
        let options = |form: &super::Form| form.one_of.len() + form.optional.len();
        let found = usage.forms.iter().map(options).sum::<usize>() + usage.common.len();
        assert_eq!(found, count, "{command}");
        let odd = usage.forms.iter().flat_map(|form| &form.operands);
        let odd: Vec<_> = odd
            .filter(|one| one.what.contains(['[', ']', '-']))
            .collect();
        assert!(odd.is_empty(), "{command}: {odd:?}");
    }
}
