//! What clients may ask about the bytes of an export: metadata contexts, by name.
//!
//! Every export has `base:allocation`, which its device answers. More may be offered with it, such
//! as which bytes changed since a backup; this server knows only their names.

use std::fmt;
use std::sync::Arc;

use crate::wire::StatusExtent;
use crate::wire::constants::{BASE_ALLOCATION, STATE_HOLE, STATE_ZERO, STRING_LEN_MAX};
use block::{Device, Error, ExtentKind, Kind, Range, Result};

/// The most contexts offered with one export: a client that takes all of them is answered for each.
const CONTEXT_COUNT_MAX: usize = 8;
/// The number of `base:allocation`, in `SET_META_CONTEXT` and in block status. Others follow.
pub(super) const ALLOCATION_ID: u32 = 1;

/// Tells what a range of bytes is, in the terms of a metadata context.
pub trait Context: Send + Sync {
    /// The extents from the start of `range` on, at least one and at most `count_max`. It may
    /// block: other requests do not wait for it.
    fn extents(&self, range: Range, count_max: usize) -> Result<Vec<StatusExtent>>;
}

/// A context with the name that clients ask for.
#[derive(Clone)]
pub struct NamedContext {
    /// `namespace:leaf`, UTF-8 without NUL, at most 4096 bytes.
    pub name: String,
    /// What answers.
    pub context: Arc<dyn Context>,
}

impl fmt::Debug for NamedContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NamedContext({:?})", self.name)
    }
}

/// A context that a client chose.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// The number under which block status speaks of it.
    pub id: u32,
    /// `None`: `base:allocation`.
    pub(super) context: Option<NamedContext>,
}

/// Fails where contexts cannot be offered together.
pub(super) fn check(contexts: &[NamedContext]) -> Result<()> {
    let refused = |what: String| Err(Error::new(Kind::Invalid, what));
    if contexts.len() > CONTEXT_COUNT_MAX {
        return refused(format!(
            "an NBD export offers at most {CONTEXT_COUNT_MAX} metadata contexts"
        ));
    }
    for (place, NamedContext { name, .. }) in contexts.iter().enumerate() {
        let is_name = name.contains(':') && !name.contains('\0') && name.len() <= STRING_LEN_MAX;
        let is_double = contexts[..place].iter().any(|other| other.name == *name);
        if !is_name || is_double || name.starts_with("base:") {
            return refused(format!(
                "{name:.40?} cannot be the name of a metadata context"
            ));
        }
    }
    Ok(())
}

/// All contexts of an export, with their names.
pub(super) fn all(contexts: &[NamedContext]) -> impl Iterator<Item = (&str, Chosen)> {
    let base = Chosen {
        id: ALLOCATION_ID,
        context: None,
    };
    let more = contexts.iter().zip(ALLOCATION_ID + 1..);
    let more = more.map(|(named, id)| {
        let context = Some(named.clone());
        (named.name.as_str(), Chosen { id, context })
    });
    std::iter::once((BASE_ALLOCATION, base)).chain(more)
}

impl Chosen {
    /// What it says about a range of `device`.
    pub(super) fn extents(
        &self,
        device: &dyn Device,
        range: Range,
        count_max: usize,
    ) -> Result<Vec<StatusExtent>> {
        if let Some(named) = &self.context {
            return named.context.extents(range, count_max);
        }
        let extents = device.extents(range, count_max)?.into_iter();
        let told = extents.map(|extent| StatusExtent {
            len: extent.len,
            status: match extent.kind {
                ExtentKind::Data => 0,
                ExtentKind::Hole => STATE_HOLE | STATE_ZERO,
                ExtentKind::Zero => STATE_ZERO,
            },
        });
        Ok(told.collect())
    }
}
