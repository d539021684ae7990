//! The list cannot grow.

use super::Ratchet;

fn growth(now: &str, history: &[&str]) -> usize {
    let history: Vec<String> = history.iter().map(|&text| text.to_owned()).collect();
    Ratchet::parse(now, &history)
        .expect("a list")
        .growth()
        .len()
}

#[test]
fn entries_may_shrink_and_go() {
    assert_eq!(growth("", &["800 a.rs\n"]), 0);
    assert_eq!(
        growth("# why\n750 a.rs\n", &["760 a.rs\n", "800 a.rs\n"]),
        0
    );
}

#[test]
fn entries_may_not_grow_come_or_come_back() {
    assert_eq!(growth("780 a.rs\n", &["760 a.rs\n", "800 a.rs\n"]), 1);
    assert_eq!(growth("800 a.rs\n800 b.rs\n", &["800 a.rs\n"]), 1);
    assert_eq!(growth("800 a.rs\n", &["", "800 a.rs\n"]), 1);
}

#[test]
fn nonsense_is_refused() {
    assert!(Ratchet::parse("a.rs 800\n", &[]).is_err());
}
