//! `ashlar:changed`: NBD clients ask where an export may differ from a snapshot.
//!
//! ```text
//!   status 1   may differ        status 0   is the same
//! ```
//!
//! Of what nobody writes that is known once. Of what is served for writing it is asked anew for
//! each reply: what a client was told to be the same was so at that moment, with every write in it
//! that had been answered. A range that was told to differ goes on to do so.

use std::sync::Arc;

use ashlar::live::{Changes, Use};
use block::{Error, Kind, Range, Result};
use dm::volume::Volume;
use lvm2::Uuid;
use nbd::server::{Context, NamedContext};
use nbd::wire::StatusExtent;

/// The name of the context.
const NAME: &str = "ashlar:changed";
/// The status of bytes that may differ.
const CHANGED: u64 = 1;

/// What differs for good.
struct Still {
    ranges: Vec<Range>,
    /// Keep others from writing to what was compared.
    _held: Vec<Volume>,
}

/// What differs as long as it is written.
struct Live(Changes);

/// The context of a volume that nobody writes as long as `held` are there; it differs in `ranges`.
pub(crate) fn still(ranges: Vec<Range>, held: Vec<Volume>) -> NamedContext {
    named(Still {
        ranges,
        _held: held,
    })
}

/// The context of a volume of a group that is owned here, compared with the snapshot `since`, or
/// with its origin; `None` where there is nothing to compare it with.
pub(crate) fn live(used: &Use, since: Option<Uuid>) -> Option<NamedContext> {
    used.changes(since).map(|changes| named(Live(changes)))
}

fn named(context: impl Context + 'static) -> NamedContext {
    NamedContext {
        name: NAME.to_owned(),
        context: Arc::new(context),
    }
}

impl Context for Still {
    fn extents(&self, range: Range, count_max: usize) -> Result<Vec<StatusExtent>> {
        Ok(extents(&self.ranges, range, count_max))
    }
}

impl Context for Live {
    fn extents(&self, range: Range, count_max: usize) -> Result<Vec<StatusExtent>> {
        let changed = self.0.now();
        let changed = changed.map_err(|error| Error::new(Kind::Io, error.to_string()))?;
        Ok(extents(&changed.to_read(), range, count_max))
    }
}

/// `range`, cut where `changed`, which is in order, begins and ends; at most `count_max` pieces.
fn extents(changed: &[Range], range: Range, count_max: usize) -> Vec<StatusExtent> {
    let first = changed.partition_point(|changed| changed.end() <= range.start());
    let mut found = Vec::new();
    let mut at = range.start();
    let mut add = |to: u64, status: u64| {
        if to > at {
            found.push(StatusExtent {
                len: to - at,
                status,
            });
            at = to;
        }
        found.len() >= count_max
    };
    for changed in &changed[first..] {
        if changed.start() >= range.end() {
            break;
        }
        let is_full = add(changed.start(), 0) || add(changed.end().min(range.end()), CHANGED);
        if is_full {
            return found;
        }
    }
    add(range.end(), 0);
    found
}

#[cfg(test)]
mod tests;
