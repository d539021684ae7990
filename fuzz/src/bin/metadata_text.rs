//! The text of a volume group's metadata: any bytes parse or are refused, and what parses is still
//! the same after it has been printed, in either layout, and parsed again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lvm2::text::{Printer, Style, parse};

fuzz_target!(|bytes: &[u8]| {
    let Ok(root) = parse(bytes) else { return };
    for style in [Style::Raw, Style::Backup] {
        let mut printer = Printer::new(style);
        for node in &root.nodes {
            printer.node(node);
        }
        let text = printer.finish();
        let again = parse(&text).expect("what was printed parses");
        assert_eq!(root, again, "printed: {}", String::from_utf8_lossy(&text));
    }
});
