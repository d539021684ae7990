//! The comparison of whole command lines with stock: `cargo xtask compare`, small.

use tests::judge::{Campaign, document};

/// A few lines of `cargo xtask compare` run on both sides, and all of them end.
#[test]
fn lines_end_on_both_sides() {
    let campaign = Campaign {
        cases: 24,
        seed: 5,
        ..Campaign::default()
    };
    let report = campaign.run(|_, _| {});
    assert_eq!(report.lines, 24);
    let hung = report.classes.keys().any(|class| class.contains(" hang "));
    assert!(!hung, "{report}");
}

/// The page of what is other than in stock says what the program and the list of differences say.
#[test]
fn page_of_differences_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/lvm2-differences.md");
    let page = std::fs::read_to_string(path).expect("the page");
    assert!(page == document(), "run cargo xtask compare document");
}
