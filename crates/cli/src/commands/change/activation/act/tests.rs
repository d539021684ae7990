//! Tests of what is said to owners.

use super::{NAMES_MAX, lines};

/// More names than fit on a line are said on several, each once and in their order.
#[test]
fn many_names_are_said_on_several_lines() {
    let words = ["lvchange", "--activate=n"].map(str::to_owned);
    let one = lines(&words, std::iter::empty());
    assert_eq!(one, [words.to_vec()], "a line without names is said, too");
    let names: Vec<String> = (0..3000)
        .map(|number| format!("vg/{number:0>40}"))
        .collect();
    let lines = lines(&words, names.iter().cloned());
    assert_eq!(lines.len(), 3000 * 43 / NAMES_MAX + 1);
    let said: Vec<String> = lines.iter().flat_map(|line| &line[2..]).cloned().collect();
    assert_eq!(said, names);
    for line in &lines {
        assert_eq!(line[..2], words);
        let bytes: usize = line[2..].iter().map(String::len).sum();
        assert!(bytes <= NAMES_MAX, "{bytes}");
    }
}
