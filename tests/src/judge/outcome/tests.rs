//! Tests of comparing outcomes.

use super::{Outcome, What, compare};

fn outcome(code: i32, stdout: &str, stderr: &str) -> Outcome {
    Outcome {
        code: Some(code),
        is_hung: false,
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
        fields: [("disk0/id".to_owned(), stderr.len().to_string())].into(),
    }
}

fn whats(command: &str, stock: &Outcome, ours: &Outcome) -> Vec<What> {
    compare(command, stock, ours)
        .into_iter()
        .map(|one| one.what)
        .collect()
}

/// Each way to differ is found: in codes, reports, messages on either stream, and fields.
#[test]
fn each_way_to_differ_is_found() {
    let stock = outcome(5, "  a\n  b\n", "  x\n");
    assert_eq!(whats("pvs", &stock, &stock), []);
    let ours = outcome(3, "  a\n  c\n", "  y y\n");
    let all = [
        What::Code,
        What::Report,
        What::Lacks,
        What::Adds,
        What::Field,
    ];
    assert_eq!(whats("pvs", &stock, &ours), all);
    let two = [
        What::Code,
        What::Lacks,
        What::Lacks,
        What::Adds,
        What::Adds,
        What::Field,
    ];
    assert_eq!(whats("lvcreate", &stock, &ours), two);
    let hung = Outcome {
        is_hung: true,
        ..stock.clone()
    };
    assert_eq!(whats("pvs", &stock, &hung), [What::Hang]);
}

/// The form of a command that stock shows is no message, and no report.
#[test]
fn the_nearest_form_is_no_message() {
    let stock = outcome(
        3,
        "  lvs -a\n  Lists.\n",
        "  Nearest similar command has syntax:\n",
    );
    let ours = outcome(3, "", "  Nearest similar command has syntax:\n");
    assert_eq!(whats("lvs", &stock, &ours), [What::Form, What::Form]);
}

/// Lines of messages may come in another order; those of reports may not.
#[test]
fn order_counts_in_reports() {
    let (one, other) = (outcome(0, "a\nb\n", ""), outcome(0, "b\na\n", ""));
    assert_eq!(whats("vgs", &one, &other), [What::Report]);
    assert_eq!(whats("vgcreate", &one, &other), []);
}

/// What differs in the text of a file is said of its values; what no value has, of the text.
#[test]
fn texts_of_files_differ_in_their_values() {
    let file = |text: &str, value: &str| Outcome {
        fields: [
            ("file/vg".to_owned(), text.to_owned()),
            ("file/vg/vg/seqno".to_owned(), value.to_owned()),
        ]
        .into(),
        ..outcome(0, "", "")
    };
    let texts = |ours: &Outcome| -> Vec<String> {
        let all = compare("vgcfgbackup", &file("seqno = 1", "1"), ours);
        all.into_iter().map(|one| one.text).collect()
    };
    let other = texts(&file("seqno = 2", "2"));
    assert_eq!(other, ["file/vg/vg/seqno: 1 -> 2"]);
    let spaced = texts(&file("seqno  = 1", "1"));
    assert_eq!(spaced, ["file/vg: seqno = 1 -> seqno  = 1"]);
}

/// What stands in an area that is set aside does not count; that it is, does.
#[test]
fn texts_that_nobody_reads_are_not_compared() {
    let with = |usage: &str, seqno: &str| {
        let mut outcome = outcome(0, "", "");
        let fields = [("disk0/area0", usage), ("disk0/area0/vg/seqno", seqno)];
        outcome.fields = fields
            .map(|(path, value)| (path.to_owned(), value.to_owned()))
            .into();
        outcome
    };
    let compared = |stock, ours| whats("vgchange", &stock, &ours);
    assert_eq!(
        compared(with("Used", "2"), with("Used", "3")),
        [What::Field]
    );
    assert_eq!(compared(with("Ignored", "2"), with("Ignored", "3")), []);
    assert_eq!(
        compared(with("Ignored", "2"), with("Used", "2")),
        [What::Field]
    );
}
