//! The layout of a snapshot that nobody writes.

use std::sync::Arc;

use super::store::Run;
use crate::table::{Area, Layout, PIECES_MAX, Piece};
use crate::{Error, Kind, Result};

/// `size` bytes of `origin`, with `runs` of `store` in front of it.
pub fn view(
    name: &str,
    (origin, store): (&Arc<Layout>, &Arc<Layout>),
    size: u64,
    runs: &[Run],
) -> Result<Arc<Layout>> {
    // Each run, and what lies before it.
    if runs.len() >= PIECES_MAX / 2 {
        let what = format!(
            "{name} differs from its origin in {} places; {} are served",
            runs.len(),
            PIECES_MAX / 2
        );
        return Err(Error::new(Kind::TooComplex, what));
    }
    let mut pieces = Vec::with_capacity(2 * runs.len() + 1);
    let mut at = 0;
    let of_origin = |from: u64, to: u64| {
        (to > from).then(|| Piece::of(to - from, Area::layout(Arc::clone(origin), from)))
    };
    for run in runs {
        assert!(run.range.start() >= at, "runs are in order");
        assert!(run.range.end() <= size, "runs lie within");
        pieces.extend(of_origin(at, run.range.start()));
        let area = Area::layout(Arc::clone(store), run.start);
        pieces.push(Piece::of(run.range.len(), area));
        at = run.range.end();
    }
    pieces.extend(of_origin(at, size));
    Layout::new(name, pieces)
}
