//! How lines become words.

use super::split;

#[test]
fn lines_are_split_as_stock_splits_them() {
    // Proves: blanks part words, quotes count only where a word begins, # ends a line, and nothing
    // else means anything.
    let cases: &[(&str, &[&str])] = &[
        ("lvcreate -L4m vg\n", &["lvcreate", "-L4m", "vg"]),
        ("  vgs  \t vg0 \n", &["vgs", "vg0"]),
        ("vgs 'a b' \"c  d\"\n", &["vgs", "a b", "c  d"]),
        ("lvs a\"b c\"d\n", &["lvs", "a\"b", "c\"d"]),
        ("lvs x\\ y\n", &["lvs", "x\\", "y"]),
        ("vgs 'open\n", &["vgs", "open"]),
        ("lvs \"\"\n", &["lvs", ""]),
        ("# nothing\n", &[]),
        ("vgs # the groups\n", &["vgs"]),
        ("vgs a#b\n", &["vgs", "a#b"]),
        ("\n", &[]),
        ("'ü\" é'x", &["ü\" é", "x"]),
    ];
    for (line, words) in cases {
        assert_eq!(split(line), *words, "{line:?}");
    }
}
