//! Tests: any bytes are carried without loss.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

use super::{from_bytes, to_bytes};

#[test]
fn utf8_is_itself() {
    // Proves: a text that is UTF-8 is not changed.
    for text in ["", "plain", "Grüße", "数"] {
        assert_eq!(from_bytes(text.as_bytes()), text);
        assert_eq!(to_bytes(text).as_ref(), text.as_bytes());
    }
}

#[test]
fn odd_bytes_come_back() {
    // Proves: Latin-1, cut-off sequences and the carriers themselves survive.
    for bytes in [
        &b"Gr\xfc\xdfe"[..],
        b"\xe6\x95",
        b"\xff\xfe\x80",
        "\u{10ff80}\u{10ffff}\u{10ff7f}".as_bytes(),
        b"\xf4\x8f\xbe",
    ] {
        assert_eq!(to_bytes(&from_bytes(bytes)).as_ref(), bytes);
    }
}

fn nasty_bytes() -> impl Strategy<Value = Vec<u8>> {
    let carrier = prop_oneof![
        Just(0xf4_u8),
        Just(0x8f),
        Just(0xbe),
        Just(0xbf),
        Just(0x80)
    ];
    vec(prop_oneof![any::<u8>(), carrier], 0..64)
}

proptest! {
    #[test]
    fn any_bytes_come_back(bytes in nasty_bytes()) {
        // Proves: nothing is lost, whatever the bytes.
        assert_eq!(to_bytes(&from_bytes(&bytes)).as_ref(), &bytes[..]);
    }
}
