//! Accepting and rejecting names.

use super::{Filter, Verdict};

fn filter(patterns: &[&str]) -> Filter {
    Filter::new("devices/filter", patterns).expect("compiles")
}

#[test]
fn the_first_match_decides() {
    let only_loops = filter(&["a|^/dev/loop|", "r|.*|"]);
    assert_eq!(only_loops.verdict(["/dev/loop1"]), Verdict::Accept);
    assert_eq!(only_loops.verdict(["/dev/sda"]), Verdict::Reject);
    let no_cd = filter(&["r{cdrom}"]);
    assert_eq!(no_cd.verdict(["/dev/cdrom"]), Verdict::Reject);
    assert_eq!(no_cd.verdict(["/dev/sda"]), Verdict::Accept);
}

#[test]
fn one_accepted_name_is_enough() {
    let by_id = filter(&["a/disk.by-id/", "r/.*/"]);
    let names = ["/dev/sda", "/dev/disk/by-id/ata-x"];
    assert_eq!(by_id.verdict(names), Verdict::Accept);
}

#[test]
fn a_bad_pattern_names_the_setting() {
    for bad in ["", "a", "x|y|", "a|b", "a|(|", "a(b("] {
        let error = Filter::new("devices/filter", &[bad]).expect_err(bad);
        let text = error.to_string();
        assert!(
            text.starts_with("devices/filter has an invalid pattern"),
            "{text}"
        );
    }
}
