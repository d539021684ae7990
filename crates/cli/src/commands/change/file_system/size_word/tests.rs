//! What a size of `fsadm` may be.

use super::SizeWord;

#[test]
fn sizes_have_units_of_1024_or_are_blocks() {
    // Proves: the units of LVM2's script in both cases, and that nothing else is taken.
    let read = |word: &str| SizeWord::parse(word).ok();
    assert_eq!(read("8192"), Some(SizeWord::Blocks(8192)));
    assert_eq!(read("8192b"), Some(SizeWord::Bytes(8192)));
    assert_eq!(read("2K"), Some(SizeWord::Bytes(2048)));
    assert_eq!(read("1000m"), Some(SizeWord::Bytes(1000 << 20)));
    assert_eq!(read("1E"), Some(SizeWord::Bytes(1 << 60)));
    for word in ["", "0", "M", "12Q", "1MM", "-1M", "1.5G", "99999999999E"] {
        assert_eq!(read(word), None, "{word}");
    }
}
