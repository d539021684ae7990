//! The beginning of a device: any bytes are a label or none, and a label that is found can be
//! written, where its extension is a known one, and is then found again as it was.
//!
//! The checksum of the second sector is put right first, or nothing would get past it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lvm2::ondisk::{LABEL_SCAN_SIZE, Label, checksum};

const SECTOR: usize = 512;

fuzz_target!(|bytes: &[u8]| {
    let mut head = bytes.to_vec();
    if let Some(sector) = head.get_mut(SECTOR..2 * SECTOR) {
        let sum = checksum(&sector[20..]);
        sector[16..20].copy_from_slice(&sum.to_le_bytes());
    }
    let scan = Label::scan(&head);
    assert!(scan.problems.len() <= LABEL_SCAN_SIZE / SECTOR);
    let Some(label) = scan.label else { return };
    let Ok(sector) = label.encode() else { return };
    let mut again = vec![0; LABEL_SCAN_SIZE];
    again[label.sector as usize * SECTOR..][..SECTOR].copy_from_slice(&sector);
    assert_eq!(Label::scan(&again).label, Some(label));
});
