//! Tests: what is to be done is said for each kind of finding, and nothing is lost of its places.

use ashlar::scrub::{Blame, Finding, FindingKind, Unknown};
use block::Range;

use super::Repair;

fn finding(kind: FindingKind, sync: u64, sectors: u64) -> Finding {
    Finding {
        kind,
        len: sectors * 512,
        sync,
        row: None,
        legs: Vec::new(),
    }
}

#[test]
fn each_kind_has_its_line() {
    // Proves: known, unknown and unreadable places are told apart, and neighbours are one place.
    let mut repair = Repair::default();
    assert!(repair.is_empty() && repair.plan("vg0/data").is_empty());
    let wrong = FindingKind::Mismatch(Blame::Legs(vec![1]));
    repair.note(&finding(wrong.clone(), 4096, 1));
    repair.note(&finding(wrong, 4608, 2));
    let summed = FindingKind::Mismatch(Blame::Unknown(Unknown::OneSum));
    repair.note(&finding(summed, 1 << 20, 1));
    let copied = FindingKind::Mismatch(Blame::Unknown(Unknown::TwoCopies));
    repair.note(&finding(copied, 2 << 20, 4));
    repair.note(&finding(FindingKind::Unreadable, 2 << 20, 4));
    let places = [Range::new(4096, 1536), Range::new(1 << 20, 512)];
    assert_eq!(repair.places[..2], places);
    assert_eq!(repair.places.len(), 3);
    let plan = repair.plan("vg0/data");
    assert_eq!(plan.len(), 4);
    assert!(plan[0].starts_with("vg0/data: 3 sectors to repair: the leg that is wrong"));
    assert!(
        plan[1].contains("1 sector to repair: parity is computed"),
        "{plan:?}"
    );
    assert!(plan[2].contains("the first copy"), "{plan:?}");
}
