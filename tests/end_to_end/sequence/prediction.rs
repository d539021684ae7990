//! What `ashlar plan` says that a command would do, and what it then did.

use std::collections::{BTreeMap, BTreeSet};

use tests::Finished;

use super::state::{Extent, State, extents_of};

/// Extents by the full names of volumes.
type Extents = BTreeMap<String, BTreeSet<Extent>>;

/// What is said.
pub(super) struct Prediction {
    shown: Finished,
    gets: Extents,
    gives_back: Extents,
}

impl Prediction {
    /// What `plan` printed.
    pub(super) fn read(shown: Finished) -> Self {
        let (mut gets, mut gives_back) = (Extents::new(), Extents::new());
        for line in shown.text().lines() {
            let (extents, rest) = match (line.split_once(" gets "), line.split_once(" gives back "))
            {
                (Some(parts), _) => (&mut gets, parts),
                (None, Some(parts)) => (&mut gives_back, parts),
                (None, None) => continue,
            };
            let (name, runs) = rest;
            let Some((_, range)) = runs.split_once(", ") else {
                continue;
            };
            let of_volume = extents.entry(name.trim().to_owned()).or_default();
            of_volume.extend(extents_of(range.trim()));
        }
        Self {
            shown,
            gets,
            gives_back,
        }
    }

    /// The command ended as predicted, with the extents that were predicted.
    pub(super) fn check(&self, code: Option<i32>, before: &State, after: &State) {
        assert_eq!(self.shown.code, code, "{}", self.shown);
        if code != Some(0) {
            return;
        }
        if before.groups(true).len() != after.groups(true).len() {
            // Volumes of exported groups are not listed; nothing moves when they come or go.
            assert!(self.gets.is_empty(), "{}", self.shown);
            assert!(self.gives_back.is_empty(), "{}", self.shown);
            return;
        }
        let (before, after) = (before.extents(), after.extents());
        let (mut gets, mut gives_back) = (Extents::new(), Extents::new());
        let uuids: BTreeSet<&&str> = before.keys().chain(after.keys()).collect();
        for uuid in uuids {
            let (was, is) = (before.get(uuid), after.get(uuid));
            let named = is.or(was).expect("one of them has it");
            let none = BTreeSet::new();
            let was = was.map_or(&none, |held| &held.extents);
            let is = is.map_or(&none, |held| &held.extents);
            for (all, more) in [(&mut gets, is - was), (&mut gives_back, was - is)] {
                if !more.is_empty() {
                    all.insert(named.full_name.clone(), more);
                }
            }
        }
        assert_eq!(self.gets, gets, "{}", self.shown);
        assert_eq!(self.gives_back, gives_back, "{}", self.shown);
    }
}
