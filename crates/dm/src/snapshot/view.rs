//! The layout of a snapshot that nobody writes.

use std::sync::Arc;

use super::store::Changes;
use crate::table::{Area, Layout, PIECES_MAX, Piece};
use crate::{Error, Kind, Result};

/// What is read where `changes`, which `store` holds, lie in front of `origin`.
pub fn view(
    name: &str,
    origin: &Arc<Layout>,
    store: &Arc<Layout>,
    changes: &Changes,
) -> Result<Arc<Layout>> {
    // Each run, and what lies before it.
    if changes.runs.len() >= PIECES_MAX / 2 {
        let what = format!(
            "{name} differs from its origin in {} places; {} are served",
            changes.runs.len(),
            PIECES_MAX / 2
        );
        return Err(Error::new(Kind::TooComplex, what));
    }
    let mut pieces = Vec::with_capacity(2 * changes.runs.len() + 1);
    let mut at = 0;
    let of_origin = |from: u64, to: u64| {
        (to > from).then(|| Piece::of(to - from, Area::layout(Arc::clone(origin), from)))
    };
    for run in &changes.runs {
        assert!(run.range.start() >= at, "runs are in order");
        pieces.extend(of_origin(at, run.range.start()));
        let area = Area::layout(Arc::clone(store), run.start);
        pieces.push(Piece::of(run.range.len(), area));
        at = run.range.end();
    }
    pieces.extend(of_origin(at, origin.size()));
    Layout::new(name, pieces)
}
