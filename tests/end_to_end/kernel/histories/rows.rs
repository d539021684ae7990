//! What `lvs` says, of stock and of ours.

use std::collections::BTreeMap;

use super::model::{Model, State};

pub(super) const FIELDS: &str =
    "lv_name,lv_attr,lv_size,origin,chunk_size,data_percent,snap_percent";
/// How both are asked.
pub(super) const OPTIONS: &str = "--noheadings --nosuffix --units b --separator @";
/// The place of an attribute that says whether a volume is open.
const OPEN: usize = 5;

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
