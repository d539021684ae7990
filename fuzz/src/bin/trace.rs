//! A trace, or a record of another program: any bytes are one or an error, and a trace that was
//! read is the same when it is written and read again.
//!
//! The checksums are put right first, or nothing would get past them.
#![no_main]

use lab::trace::import::{blktrace, iolog};
use lab::trace::{read, read_whole_part, to_iolog, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut trace = bytes.to_vec();
    mend(&mut trace);
    if let Ok(partial) = read_whole_part("fuzz", &trace) {
        let written = write(&partial.trace).expect("what was read can be written");
        let again = read("fuzz", &written).expect("what was written can be read");
        assert_eq!(again, partial.trace);
        let _ = to_iolog(&again, "file");
    }
    let _ = blktrace(&[("fuzz", bytes)]);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = iolog("fuzz", text, None);
    }
});

/// Puts the sums of header and parts right, as far as their lengths lead.
fn mend(bytes: &mut [u8]) {
    let (mut at, mut prefix, mut length_at) = (0, 14, 10);
    loop {
        let Some(field) = bytes.get(at + length_at..at + length_at + 4) else {
            return;
        };
        let length = u32::from_le_bytes(field.try_into().expect("four bytes")) as usize;
        let end = at + prefix + length;
        if bytes.len() < end + 4 {
            return;
        }
        let sum = crc32fast::hash(&bytes[at..end]);
        bytes[end..end + 4].copy_from_slice(&sum.to_le_bytes());
        (at, prefix, length_at) = (end + 4, 9, 1);
    }
}
