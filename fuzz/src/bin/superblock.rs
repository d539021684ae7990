//! Superblocks, as a volume is asked for before it becomes smaller: any bytes have file systems or
//! none, soon; what is found needs something, and is cut by a volume without it.
#![no_main]

use ashlar::filesystem::{End, file_systems};
use libfuzzer_sys::fuzz_target;
use lvm2::Bytes;

fuzz_target!(|bytes: &[u8]| {
    let size = Bytes(bytes.len() as u64);
    let found = file_systems(size, |at, length| {
        let start = usize::try_from(at.0).ok()?;
        Some(bytes.get(start..start.checked_add(length)?)?.to_vec())
    });
    for one in found {
        assert!(one.is_cut_at(Bytes(0)));
        if let End::At(end) = one.end {
            assert!(end.0 > 0 && !one.is_cut_at(end));
        }
    }
});
