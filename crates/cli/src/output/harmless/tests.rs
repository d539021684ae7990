//! No order to the terminal passes.

use super::harmless;

#[test]
fn orders_to_the_terminal_are_taken_out() {
    // Escapes, bells, returns and the 8-bit controls become `?`; lines, tabs and letters stay.
    let hostile = "a\x1b]0;PWN\x07b\rc\u{9b}31m\x7f";
    assert_eq!(harmless(hostile), "a?]0;PWN?b?c?31m?");
    let plain = "  line\n\ttab, ä, 漢\n";
    assert_eq!(harmless(plain), plain);
}
