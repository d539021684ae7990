//! What `lvs` says, of stock and of ours.

use std::collections::BTreeMap;

use super::model::{Model, State};

pub(super) const FIELDS: &str =
    "lv_name,lv_attr,lv_size,origin,chunk_size,data_percent,snap_percent";
/// What is asked of volumes that nobody uses, and of their parts.
pub(super) const RESTING: &str =
    "lv_name,lv_attr,lv_size,origin,move_pv,copy_percent,segtype,seg_start,seg_size";
/// How both are asked.
pub(super) const OPTIONS: &str = "--noheadings --nosuffix --units b --separator @";
/// The place of an attribute that says whether a volume is open.
const OPEN: usize = 5;
/// The place of an attribute that says how a volume is.
const STATE: usize = 4;
/// The place of the disk that extents leave.
const MOVE_PV: usize = 4;

/// One line, field by field.
pub(super) type Row = Vec<String>;

/// Lines of all volumes, by name.
pub(super) type Rows = BTreeMap<String, Row>;

/// Reads a report.
pub(super) fn rows(text: &str) -> Rows {
    let mut rows = Rows::new();
    for line in text.lines().filter(|line| line.contains('@')) {
        let mut row: Row = line.trim().split('@').map(str::to_owned).collect();
        // Nobody has any open, or a server has all.
        row[1].replace_range(OPEN..=OPEN, "?");
        rows.insert(row[0].clone(), row);
    }
    rows
}

/// Reads a report of segments; devices have other names on the other side.
pub(super) fn resting(text: &str) -> Rows {
    let mut rows = Rows::new();
    for line in text.lines().filter(|line| line.contains('@')) {
        let mut row: Row = line.trim().split('@').map(str::to_owned).collect();
        // We look into stores that nobody has open.
        row[1].replace_range(STATE..=STATE, "?");
        row[MOVE_PV] = row[MOVE_PV].is_empty().to_string();
        rows.insert(format!("{} {}", row[0], row[MOVE_PV + 3]), row);
    }
    rows
}

/// All volumes are there with the size that they should have, and the snapshots are as full as
/// what was written makes them.
pub(super) fn assert_as_modelled(rows: &Rows, model: &Model, who: &str) {
    let names: Vec<_> = rows.keys().collect();
    let expected: Vec<_> = model.volumes.keys().collect();
    assert_eq!(names, expected, "{who}");
    for (name, volume) in &model.volumes {
        let row = &rows[name];
        let (size, percent) = (&row[2], &row[5]);
        let Some(snapshot) = &volume.snapshot else {
            assert_eq!(*size, volume.bytes.len().to_string(), "{who}: {row:?}");
            continue;
        };
        assert_eq!(*size, snapshot.store.to_string(), "{who}: {row:?}");
        assert_eq!(row[3], snapshot.origin, "{who}: {row:?}");
        assert_eq!(percent, &row[6], "{who}: {row:?}");
        let is_full = row[1].starts_with(['I', 'S']) || row[1].as_bytes()[4] == b'I';
        assert_eq!(is_full, snapshot.state == State::Full, "{who}: {row:?}");
        if snapshot.state == State::Kept {
            let percent: f64 = percent.parse().expect("a number");
            let (_, expected) = snapshot.fill();
            let near = |expected: &f64| (expected - percent).abs() <= 0.0101;
            assert!(
                expected.iter().any(near),
                "{who}: {row:?}, not {expected:?}"
            );
        }
    }
}
