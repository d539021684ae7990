//! What is less than stock leaves is worse, and has no other name.

use std::collections::BTreeMap;

use super::{Found, Reason, Verdict, compare, filled};
use crate::damaged::marks::Written;

fn volumes(all: &[(&str, &str)]) -> BTreeMap<String, String> {
    let volume = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    all.iter().map(volume).collect()
}

fn found(group: &[(&str, &str)], clone: &[(&str, &str)]) -> Found {
    Found {
        group: Some(volumes(group)),
        clone: Some(volumes(clone)),
        written: Written::new(),
    }
}

const WHOLE: &[(&str, &str)] = &[("lin0", "a"), ("ori", "b")];
const LESS: &[(&str, &str)] = &[("lin0", "a")];

fn is_worse(before: &Found, stock: &Found, ours: &Found) -> bool {
    let command = "vgreduce --removemissing --force vg";
    matches!(compare(before, stock, ours, command), Verdict::Worse(_))
}

/// A volume that stock leaves and we do not is worse, in the group and in its clone; so is one that
/// holds something else.
#[test]
fn what_stock_keeps_must_stay() {
    let (whole, less) = (found(WHOLE, WHOLE), found(LESS, LESS));
    let command = "vgck --updatemetadata vg";
    assert_eq!(compare(&whole, &whole, &whole, command), Verdict::Same);
    assert!(is_worse(&whole, &whole, &found(LESS, WHOLE)));
    assert!(is_worse(&whole, &whole, &found(WHOLE, LESS)));
    let other = found(&[("lin0", "a"), ("ori", "c")], WHOLE);
    assert!(is_worse(&whole, &whole, &other));
    let clone = found(WHOLE, &[("lin0", "c"), ("ori", "b")]);
    assert!(is_worse(&whole, &whole, &clone));
    let gone = Found {
        clone: None,
        ..whole.clone()
    };
    assert!(is_worse(&whole, &whole, &gone));
    let kept = compare(&found(WHOLE, LESS), &less, &found(WHOLE, LESS), command);
    assert_eq!(kept, Verdict::Better(Reason::Refused));
    let origin = found(WHOLE, LESS);
    let before = found(&[("cow", "d"), ("lin0", "a"), ("ori", "b")], LESS);
    let kept = compare(&before, &less, &origin, command);
    assert_eq!(kept, Verdict::Better(Reason::WholeOrigin));
}

/// What is written to an extent that stock does not write is worse, though all volumes are there;
/// where stock writes, too, it counts by what volumes hold.
#[test]
fn what_stock_does_not_write_must_not_be_written() {
    let whole = found(WHOLE, WHOLE);
    let mut wrote = whole.clone();
    wrote.written.insert((1, 7), "zeros".to_owned());
    assert!(is_worse(&whole, &whole, &wrote));
    assert!(!is_worse(&whole, &wrote, &whole));
    assert!(!is_worse(&whole, &wrote, &wrote));
    let mut elsewhere = whole.clone();
    elsewhere.written.insert((1, 8), "zeros".to_owned());
    assert!(is_worse(&whole, &wrote, &elsewhere));
}

/// Behind a volume's text stands what each of its extents holds.
#[test]
fn extents_are_looked_up() {
    let text = "extent_count = 4\nstripe_count = 2\n\"id0\", 5,\n\"id1\", 9";
    let left = Some(volumes(&[("str", text)]));
    let filled = filled(&left, |id, extent| format!("{id}:{extent}")).expect("a group");
    let holds: Vec<&str> = filled["str"].lines().skip(4).collect();
    let wanted = ["id0:5", "id0:6", "id1:9", "id1:10"].map(|at| format!("holds {at}"));
    assert_eq!(holds, wanted);
}
