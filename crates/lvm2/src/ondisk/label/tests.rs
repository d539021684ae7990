//! Tests: which sector is the label, and stock's own labels.

use proptest::collection::vec;
use proptest::prelude::{any, proptest};

use super::{Label, SECTOR};
use crate::error::Kind;
use crate::ondisk::{PvUse, checksum};
use crate::units::Bytes;

const GOLDEN: &[u8] = include_bytes!("../../../fixtures/label-golden.bin");
const TWO_AREAS: &[u8] = include_bytes!("../../../fixtures/label-two-areas.bin");
const BOOTLOADER: &[u8] = include_bytes!("../../../fixtures/label-bootloader.bin");
const NO_AREAS: &[u8] = include_bytes!("../../../fixtures/label-no-areas.bin");
const UNUSED: &[u8] = include_bytes!("../../../fixtures/label-unused.bin");

/// Sets bytes of the label in `sector` and makes its checksum right again.
fn patch(head: &mut [u8], sector: usize, at: usize, new: &[u8]) {
    let sector = &mut head[sector * SECTOR..][..SECTOR];
    sector[at..at + new.len()].copy_from_slice(new);
    let sum = checksum(&sector[20..]);
    sector[16..20].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn stock_labels_come_back_byte_for_byte() {
    // Proves: decode and encode agree with stock on every shape of header that it writes.
    for head in [GOLDEN, TWO_AREAS, BOOTLOADER, NO_AREAS, UNUSED] {
        let scan = Label::scan(head);
        assert_eq!(scan.problems, []);
        let label = scan.label.unwrap();
        let sector = label.encode().unwrap();
        assert_eq!(sector, head[label.sector as usize * SECTOR..][..SECTOR]);
        assert_eq!(
            Label::scan(&at_sector(&sector, label.sector)).label,
            Some(label)
        );
    }
}

fn at_sector(sector: &[u8], number: u64) -> Vec<u8> {
    let mut head = vec![0; 4 * SECTOR];
    head[number as usize * SECTOR..][..SECTOR].copy_from_slice(sector);
    head
}

#[test]
fn stock_headers_say_what_was_asked_for() {
    // Proves: the fields mean what pvcreate's options meant.
    let pv = |head| Label::scan(head).label.unwrap().pv;
    let golden = pv(GOLDEN);
    assert_eq!(
        golden.uuid.to_string(),
        "p2Lxs2-peRm-BqEH-b9l7-Wtgi-MjpV-0XhsiB"
    );
    assert_eq!(golden.usage(), PvUse::Used);
    assert_eq!(golden.data_areas[0].offset, Bytes(1 << 20));
    assert_eq!(golden.data_areas[0].size, Bytes(0));
    assert_eq!(golden.metadata_areas[0].size, Bytes(1044480));
    assert_eq!(pv(TWO_AREAS).metadata_areas.len(), 2);
    assert_eq!(pv(NO_AREAS).metadata_areas, []);
    assert_eq!(pv(UNUSED).usage(), PvUse::Free);
    let bootloader = Label::scan(BOOTLOADER).label.unwrap();
    assert_eq!(bootloader.sector, 3);
    let area = bootloader.pv.bootloader_area().unwrap();
    assert_eq!((area.offset, area.size), (Bytes(1 << 20), Bytes(1 << 20)));
}

#[test]
fn a_label_elsewhere_is_no_label() {
    // Proves: the sector number counts (a copied sector is not believed).
    let sector = &GOLDEN[SECTOR..2 * SECTOR];
    let scan = Label::scan(&at_sector(sector, 2));
    assert_eq!(scan.label, None);
    assert_eq!(scan.problems[0].error.kind, Kind::Label);
    assert_eq!(scan.problems[0].sector, 2);
    let mut head = vec![0; 5 * SECTOR];
    head[4 * SECTOR..].copy_from_slice(sector);
    patch(&mut head, 4, 8, &4_u64.to_le_bytes());
    assert_eq!(Label::scan(&head).label, None);
    assert_eq!(Label::scan(&head).problems, []);
}

#[test]
fn the_first_of_two_labels_counts() {
    // Proves: a second label is reported and not used, and does not hide a broken first one.
    let mut head = GOLDEN.to_vec();
    head[3 * SECTOR..].copy_from_slice(&BOOTLOADER[3 * SECTOR..]);
    let scan = Label::scan(&head);
    assert_eq!(scan.label.unwrap().sector, 1);
    assert_eq!(scan.problems.len(), 1);
    assert_eq!(scan.problems[0].sector, 3);

    // The UUID in the first one is none: that is a broken volume.
    patch(&mut head, 1, 32, b"\0");
    let scan = Label::scan(&head);
    assert_eq!(scan.label, None);
    assert_eq!(scan.problems[0].error.kind, Kind::PvHeader);

    // The first one is no label: the second one counts.
    head[SECTOR + 16] ^= 1;
    let scan = Label::scan(&head);
    assert_eq!(scan.label.unwrap().sector, 3);
    assert_eq!(scan.problems[0].error.kind, Kind::Checksum);
}

#[test]
fn damaged_labels_are_reported() {
    // Proves: each field that must be right is checked.
    let damaged = |at: usize, new: &[u8]| {
        let mut head = GOLDEN.to_vec();
        patch(&mut head, 1, at, new);
        let scan = Label::scan(&head);
        assert_eq!(scan.label, None);
        scan.problems[0].error.clone()
    };
    assert_eq!(damaged(24, b"LVM1").kind, Kind::Label);
    assert_eq!(damaged(20, &0_u32.to_le_bytes()).kind, Kind::Label);
    assert_eq!(damaged(20, &473_u32.to_le_bytes()).kind, Kind::Label);
    assert_eq!(damaged(20, &u32::MAX.to_le_bytes()).kind, Kind::Label);
    assert_eq!(damaged(20, &472_u32.to_le_bytes()).kind, Kind::PvHeader);
    assert_eq!(damaged(72, &[0xff; 440]).kind, Kind::PvHeader);
}

#[test]
fn short_devices_have_no_label() {
    // Proves: a device of a few bytes is no problem.
    for len in [0, 1, 511, 512, 1023] {
        assert_eq!(Label::scan(&GOLDEN[..len]).label, None);
    }
    assert!(Label::scan(&GOLDEN[..1024]).label.is_some());
}

proptest! {
    #[test]
    fn any_bytes_end_well(changes in vec((0_usize..2048, any::<u8>()), 0..40)) {
        // Proves: a label with any bytes changed does not make the search panic.
        let mut head = GOLDEN.to_vec();
        for (at, byte) in changes {
            head[at] = byte;
        }
        patch(&mut head, 1, 0, b"LABELONE");
        let Some(label) = Label::scan(&head).label else { return Ok(()) };
        if let Ok(sector) = label.encode() {
            assert_eq!(Label::scan(&at_sector(&sector, label.sector)).label, Some(label));
        }
    }
}
