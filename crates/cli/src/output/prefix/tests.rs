//! Beginnings of lines.

use std::io::Write;

use super::Prefixed;

fn printed(prefix: &str, pieces: &[&str]) -> String {
    let mut bytes = Vec::new();
    let mut to = Prefixed::new(&mut bytes);
    to.set(prefix);
    for piece in pieces {
        to.write_all(piece.as_bytes()).expect("memory takes all");
    }
    String::from_utf8(bytes).expect("text")
}

#[test]
fn blanks_at_the_beginning_of_lines_are_replaced() {
    // Proves: two blanks and no more are replaced, only there, however the text is cut.
    let text = "  VG  Size\n    a  1\n b\nplain  c\n";
    assert_eq!(printed("", &[text]), "VG  Size\n  a  1\n b\nplain  c\n");
    assert_eq!(
        printed("x:", &[text]),
        "x:VG  Size\nx:  a  1\n b\nplain  c\n"
    );
    assert_eq!(printed("  ", &[text]), text);
    for cut in 0..text.len() {
        let pieces = [&text[..cut], &text[cut..]];
        assert_eq!(printed(":", &pieces), printed(":", &[text]), "{cut}");
    }
}
